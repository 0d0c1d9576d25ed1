"""`dualmatch update` as its user calls it."""

import json
from pathlib import Path

import polars as pl
import pytest

from conftest import refused
from dualmatch.cli.main import main
from dualmatch.graph.times import format_date
from dualmatch.simulate import World, simulate


def called(*words: object) -> None:
    main([*map(str, words), "-q"])


def pairs_of(run: Path) -> list[tuple[str, str]]:
    table = pl.read_csv(run / "links.tsv", separator="\t", infer_schema=False, quote_char=None)
    return list(table.select("source", "target").iter_rows())


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run on the earlier facts, and files of the later ones."""
    place = tmp_path_factory.mktemp("update")
    pair = simulate(World(entities=200, mean_facts=8, seed=8))
    for side, graph in (("s", pair.source), ("t", pair.target)):
        rows = [
            (graph.entities[h], graph.relations[r], graph.entities[t], format_date(b), format_date(e))
            for h, r, t, b, e in zip(
                *(column.tolist() for column in (graph.head, graph.relation, graph.tail, graph.begin, graph.end)),
                strict=True,
            )
        ]
        rows.sort(key=lambda row: row[3])
        for name, part in (("old", rows[:-80]), ("new", rows[-80:])):
            table = pl.DataFrame(part, schema=["head", "relation", "tail", "begin", "end"], orient="row")
            table.write_csv(place / f"{side}-{name}.tsv", separator="\t")
    called("align", place / "s-old.tsv", place / "t-old.tsv", "--run", place / "old.run")
    return place


def test_a_run_is_updated_into_a_run(place: Path, tmp_path: Path) -> None:
    new = tmp_path / "new.run"
    before = {path: path.read_bytes() for path in (place / "old.run").rglob("*") if path.is_file()}
    facts = "--source-facts", place / "s-new.tsv", "--target-facts", place / "t-new.tsv"
    called("update", place / "old.run", *facts, "--run", new, "--json", tmp_path / "said.json")
    said = json.loads((tmp_path / "said.json").read_text())
    assert [each["facts"] for each in said["new_facts"]] == [80, 80]
    changes = pl.read_csv(new / "changes.tsv", separator="\t", infer_schema=False)
    assert changes.height == sum(said["changes"].values())
    assert set(changes["why"]) == set(said["why"])
    assert {path: path.read_bytes() for path in (place / "old.run").rglob("*") if path.is_file()} == before
    name = pl.read_csv(new / "links.tsv", separator="\t", infer_schema=False)["source"][0]
    called("explain", new, name)
    called("report", new, "-o", tmp_path / "report.html")
    called("update", new, "--source-facts", place / "s-new.tsv", "--run", tmp_path / "third.run")
    assert pairs_of(tmp_path / "third.run") == pairs_of(new)  # all facts were known


def test_the_same_update_gives_the_same_bytes(place: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        called("update", place / "old.run", "--source-facts", place / "s-new.tsv", "--run", tmp_path / name)
    for file in ("links.tsv", "changes.tsv", "stages/graphs.npz"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_what_cannot_be_updated_is_refused(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, facts = str(place / "old.run"), ["--source-facts", str(place / "s-new.tsv")]
    new = ["--run", str(tmp_path / "new.run")]
    assert "there are no new facts" in refused(["update", old, *new], capsys, tmp_path)
    assert "is the run that is updated" in refused(["update", old, *facts, "--run", old], capsys, place)
    assert "no run was begun in it" in refused(["update", str(tmp_path), *facts, *new], capsys, tmp_path)
    missing = ["--source-facts", str(tmp_path / "none.tsv")]
    assert "none.tsv: no such file" in refused(["update", old, *missing, *new], capsys, tmp_path)
    (tmp_path / "bad.tsv").write_text("head\trelation\ttail\ttime\nAda\tmet\tCharles\tyesterday\n")
    bad = ["--source-facts", str(tmp_path / "bad.tsv")]
    assert "bad.tsv:2" in refused(["update", old, *bad, *new], capsys, tmp_path)


def test_runs_of_other_kinds_are_refused(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = place / "s-old.tsv", place / "t-old.tsv"
    (tmp_path / "labels.tsv").write_text("s-000\tAda\nt-000\tAda\n")
    called("align", *files, "--method", "temporal", "--run", tmp_path / "temporal.run")
    called("align", *files, "--labels", tmp_path / "labels.tsv", "--run", tmp_path / "labels.run")
    facts = ["--source-facts", str(place / "s-new.tsv"), "--run", str(tmp_path / "new.run")]
    said = refused(["update", str(tmp_path / "temporal.run"), *facts], capsys, tmp_path)
    assert "this run is of temporal" in said
    assert "looked at labels" in refused(["update", str(tmp_path / "labels.run"), *facts], capsys, tmp_path)
