"""Files that 0.1.0 wrote (`tests/golden/0.1.0/make.sh`) are read by every later version."""

from __future__ import annotations

import csv
import json
import re
import shutil
from pathlib import Path

import pytest

from dualmatch import explain, read_explanation_basis
from dualmatch.cli.main import main
from dualmatch.decode.verdicts import Verdict
from dualmatch.links.read import read_links
from dualmatch.runs.options_file import links_file
from reviewing import Client, served

GOLDEN = Path(__file__).parent / "golden" / "0.1.0"
LINKS = ("links.tsv", "links.csv", "links.parquet", "links.jsonl", "links.sssom.tsv")


def rows_of(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text().splitlines(), delimiter="\t"))


@pytest.fixture
def golden(tmp_path: Path) -> Path:
    """A copy of the golden folder: some commands write beside what they read."""
    return Path(shutil.copytree(GOLDEN, tmp_path / "0.1.0"))


@pytest.mark.parametrize("name", LINKS)
def test_links_are_evaluated_as_then(golden: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["evaluate", str(golden / name), "--gold", str(golden / "gold.tsv"), "--json", "-"])
    found = json.loads(capsys.readouterr().out)["abstention"]
    then = json.loads((golden / "evaluate.json").read_text())["abstention"]
    assert found["emitted"] == then["emitted"] == 54
    assert (found["precision"], found["recall"]) == (then["precision"], then["recall"])


@pytest.mark.parametrize("name", LINKS)
def test_who_was_in_no_link_is_undecided_now(golden: Path, name: str) -> None:
    unlinked = [row["source"] for row in rows_of(golden / "links.tsv") if not row["target"]]
    assert links_file(golden / name).unlinked == unlinked
    assert links_file(golden / name).no_matches == []


@pytest.mark.parametrize("name", LINKS)
def test_links_are_explained(golden: Path, name: str) -> None:
    """Each with the partner and the confidence it had; the weights are new, and add up to it."""
    grounds = read_explanation_basis(golden / name, golden)
    for row in rows_of(golden / "links.tsv"):
        why = explain(grounds, row["source"])
        assert (why.match or "") == row["target"]
        if why.match is None:
            assert (why.verdict, why.confidence) == (Verdict.UNDECIDED, None)
            continue
        assert why.confidence == pytest.approx(float(row["confidence"]), abs=1e-6)
        assert why.shared
        assert sum(fact.weight for fact in why.shared) + why.balance.total == pytest.approx(why.log_odds)


def test_a_seed_is_explained_as_one(golden: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, target = (golden / "seeds.tsv").read_text().splitlines()[0].split("\t")
    main(["explain", str(golden / "seeded.tsv"), source, "--folder", str(golden)])
    assert capsys.readouterr().out.startswith(f"{source} = {target} (given as a seed)")


def test_a_run_that_keeps_its_graphs_is_explained_wherever_it_lies(
    golden: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    linked = next(row for row in rows_of(golden / "updated.run" / "links.tsv") if row["target"])
    main(["explain", str(golden / "updated.run"), linked["source"]])
    assert capsys.readouterr().out.startswith(f"{linked['source']} = {linked['target']} (confidence ")


@pytest.mark.parametrize("name", [*LINKS, "seeded.tsv", "temporal.tsv", "finished.run"])
def test_links_are_reported(golden: Path, name: str) -> None:
    page = golden / "page.html"
    call = ["report", str(golden / name), "-o", str(page), "-q", "--folder", str(golden)]
    main([*call, "--gold", str(golden / "gold.tsv")])
    text = page.read_text()
    links = golden / name / "links.tsv" if name.endswith(".run") else golden / name
    linked, undecided = len(read_links(links)[0]), len(links_file(links).unlinked)
    tiles = re.findall(r"<li><b>([^<]*)</b> (\w+)", text)
    assert tiles[:2] == [(f"{linked}", "linked"), (f"{undecided}", "undecided")]
    assert tiles[2][0] == "0"  # no match: 0.1.0 could not tell
    assert "Made by dualmatch 0.1.0" in text
    assert ("Pairs believed after each round" in text) == (name != "temporal.tsv")
    assert ("<b>together</b>" in text) == (name != "temporal.tsv")


def test_a_review_goes_on_with_its_decisions(golden: Path) -> None:
    rows = rows_of(golden / "links.tsv")
    linked, alone = [row for row in rows if row["target"]], [row for row in rows if not row["target"]]
    with served(golden / "links.tsv", folder=golden) as serving:
        client, session = Client(serving.address), serving.session
        assert session.decided().is_decided.sum() == 4
        now, place = session.log.state, session.run.basis.source.entity_rows
        assert [now.of(row["source"]).status for row in linked[:4]] == ["accepted", "rejected", "skipped", "open"]
        assert now.of(alone[0]["source"]).status == "no match"
        assert "3 of 60 decided, 1 skipped" in client.ask("/?tab=all").text
        page = client.ask(f"/pair/{place[linked[0]['source']]}").text
        assert f"Decided: accepted as {linked[0]['target']}" in re.sub(r"</?(bdi|span)[^>]*>", "", page)
        assert f"Linked with {linked[0]['target']}, confidence {float(linked[0]['confidence']):.3f}" in page
        assert "Undecided: " in client.ask(f"/pair/{place[alone[0]['source']]}").text
        source = place[linked[4]["source"]]
        assert client.post("/decide", verdict="skip", source=source, seen=0).status == 303
        assert session.decided().is_decided.sum() == 5


def test_decisions_are_seeds_and_forbidden_pairs(golden: Path) -> None:
    decisions, out = str(golden / "links.tsv.decisions.db"), golden / "again.tsv"
    graphs = [str(golden / name) for name in ("source.csv", "target.csv")]
    main(["align", *graphs, "-o", str(out), "-q", "--seeds", decisions, "--forbid", decisions])
    rows = rows_of(golden / "links.tsv")
    accepted, rejected = [row for row in rows if row["target"]][:2]
    alone = next(row for row in rows if not row["target"])
    again = {row["source"]: row for row in rows_of(out)}
    assert (again[accepted["source"]]["target"], again[accepted["source"]]["method"]) == (accepted["target"], "seed")
    assert again[rejected["source"]]["target"] != rejected["target"]
    assert again[alone["source"]]["verdict"] == "no match"


def test_a_finished_run_is_updated(golden: Path) -> None:
    """One new entity with facts that both graphs have; everything else stays."""
    before = {row["source"]: row["target"] for row in rows_of(golden / "finished.run" / "links.tsv")}
    (source, target), (other, partner) = [pair for pair in before.items() if pair[1]][:2]
    header = "head,relation,tail,begin,end\n"
    for name, new, ends in (("s", "newcomer", (source, other)), ("t", "Q newcomer", (target, partner))):
        facts = [f"{new},{name}-relation-00,{end},2014-0{n}-17,2014-0{n}-17\n" for n, end in enumerate(ends, start=3)]
        (golden / f"{name}.csv").write_text(header + "".join(facts))
    call = ["update", str(golden / "finished.run"), "--run", str(golden / "new.run"), "-q"]
    main([*call, "--source-facts", str(golden / "s.csv"), "--target-facts", str(golden / "t.csv")])
    after = {row["source"]: row["target"] for row in rows_of(golden / "new.run" / "links.tsv")}
    assert after.pop("newcomer") == "Q newcomer"
    assert after == before


def test_a_run_on_a_part_is_updated_as_then(golden: Path) -> None:
    call = ["update", str(golden / "part.run"), "--run", str(golden / "new.run"), "-q"]
    main([*call, "--source-facts", str(golden / "source-new.csv")])
    found, _ = read_links(golden / "new.run" / "links.tsv")
    then, _ = read_links(golden / "updated.run" / "links.tsv")
    gold = {tuple(line.split("\t")) for line in (golden / "gold.tsv").read_text().splitlines()}
    assert set(found) <= gold
    assert len(found) >= len(then)
