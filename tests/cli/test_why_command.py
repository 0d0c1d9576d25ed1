"""`dualmatch align` with evidence, and `dualmatch explain`, as a user calls them."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import refused
from dualmatch.cli.main import main
from dualmatch.links.read import read_links

Run = Callable[..., str]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: object) -> str:
        main([str(argument) for argument in arguments])
        shown = capsys.readouterr()
        assert all("were given as seeds and are left out" in line for line in shown.err.splitlines())
        return shown.out

    return call


@pytest.fixture
def links(small_world: Path, tmp_path: Path, run: Run) -> Path:
    path = tmp_path / "links.tsv"
    run("align", small_world, "-o", path, "--method", "evidence", "-q")
    return path


def rows_of(path: Path) -> list[list[str]]:
    return [line.split("\t") for line in path.read_text().splitlines()]


def test_align_writes_links_reasons_relations_and_the_companion(small_world: Path, tmp_path: Path, run: Run) -> None:
    links, relations = tmp_path / "links.tsv", tmp_path / "relations.tsv"
    seeds = small_world / "sup_pairs"
    call = ("align", small_world, "-o", links, "--method", "evidence", "--seeds", seeds)
    out = run(*call, "--reasons", "--relations", relations)
    written = ["links.tsv", "links.tsv.run.json", "links.tsv.why.npz", "relations.tsv"]
    assert sorted(path.name for path in tmp_path.iterdir()) == written
    pairs, confidence = read_links(links)
    assert (1 - confidence).sum() < 0.5
    summary, second, following = out.splitlines()
    assert summary.startswith(
        f"{len(pairs)} links written to {links}, less than one of them expected wrong; of 60 source entities "
        f"{60 - len(pairs)} are undecided, "
    )
    assert second == f"relations written to {relations}"
    assert following.startswith("next: dualmatch report")
    header, *rows = rows_of(links)
    assert header == ["source", "target", "confidence", "verdict", "method", "runners_up", "reasons"]
    assert len(rows) == 60
    assert all((row[3], bool(row[2])) == (("linked", True) if row[1] else ("undecided", False)) for row in rows)
    assert {row[4] for row in rows} == {"seed", "evidence"}
    assert sum(row[4] == "seed" for row in rows) == len(seeds.read_text().splitlines())
    assert all(row[6] for row in rows)
    assert rows_of(relations)[0] == ["source", "target", "direction", "score", "support"]
    quality = json.loads(run("evaluate", links, "--gold", small_world / "ref_pairs", "--json", "-"))["abstention"]
    assert quality["emitted"] == len(pairs) - len(seeds.read_text().splitlines())  # seeds are left out
    assert (quality["no_match_precision"], quality["no_match_recall"]) == (None, None)  # too few to tell of any


def test_the_surest_links_only(small_world: Path, tmp_path: Path, run: Run) -> None:
    out = run("align", small_world, "-o", tmp_path / "links.tsv", "--max-fdr", "0.05", "--min-confidence", "0.3")
    assert re.search("(less than one|about [0-9]+) of them expected wrong", out)
    _, confidence = read_links(tmp_path / "links.tsv")
    assert confidence.min() >= 0.3
    assert 0 < (1 - confidence).mean() <= 0.05
    run("align", small_world, "-o", tmp_path / "many.tsv", "--method", "evidence", "--many-to-one")


def test_explain_in_words_and_as_json(links: Path, run: Run, tmp_path: Path) -> None:
    rows = rows_of(links)[1:]
    source, target = next((row[0], row[1]) for row in rows if row[1])
    out = run("explain", links, source)
    assert out.startswith(f"{source} = {target} (confidence ")
    assert "  both: " in out
    data = json.loads(run("explain", links, target, "--target", "--json", "-", "--top", 2))
    assert (data["entity"], data["match"]) == (target, source)
    assert len(data["shared"]) == 2
    assert sum(fact["weight"] for fact in data["shared"]) <= data["log_odds"] - sum(data["balance"].values())
    undecided = next(row for row in rows if not row[1])
    out = run("explain", links, undecided[0], "--json", tmp_path / "why.json")
    assert out.startswith(f"{undecided[0]}: undecided: ")
    why = json.loads((tmp_path / "why.json").read_text())
    assert (why["match"], why["verdict"], why["confidence"]) == (None, "undecided", None)
    other = next(row[1] for row in rows if row[1] not in ("", target))
    assert f"Not {other}: probability" in run("explain", links, source, "--versus", other)


def test_explain_finds_inputs_that_moved(small_world: Path, tmp_path: Path, run: Run) -> None:
    world = shutil.copytree(small_world, tmp_path / "world")
    run("align", world, "-o", tmp_path / "links.tsv", "--method", "evidence")
    name = rows_of(tmp_path / "links.tsv")[1][0]
    before = run("explain", tmp_path / "links.tsv", name)
    moved = world.rename(tmp_path / "moved")
    assert run("explain", tmp_path / "links.tsv", name, "--folder", moved) == before


def test_explain_refuses(
    links: Path, small_world: Path, tmp_path: Path, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    temporal = tmp_path / "temporal.tsv"
    run("align", small_world, "-o", temporal, "--method", "temporal")
    old = tmp_path / "old.tsv"
    old.write_text("source\ttarget\tconfidence\na\tb\t0.5\n")
    for arguments, words in (
        ([temporal, "x"], f"{temporal}: method temporal keeps no evidence to explain links with"),
        ([old, "a"], f"{old}.why.npz: no such file; it is written beside the links"),
        ([tmp_path / "none", "a"], f"{tmp_path / 'none'}: no such file"),
        ([links, "nobody at all"], "'nobody at all' is not an entity of "),
        ([links, "9" * 25], f"'{'9' * 25}' is not an entity of "),
        ([links, "x", "--json", temporal], f"{temporal}: exists already"),
        ([links, "x", "--folder", tmp_path / "gone"], f"{tmp_path / 'gone'}/triples_1: is gone"),
    ):
        assert refused(["explain", *map(str, arguments)], capsys, tmp_path).startswith(f"dualmatch: {words}")
    assert "--top" in refused(["explain", str(links), "x", "--top", "0"], capsys, tmp_path)


def test_align_refuses_before_any_work(small_world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    world = shutil.copytree(small_world, tmp_path / "world")
    nowhere, out = tmp_path / "nowhere", tmp_path / "links.tsv"
    (tmp_path / "there.tsv.why.npz").write_text("mine")
    evidence, time_only = ["--method", "evidence"], ["--method", "temporal"]
    for arguments, words in (
        ([nowhere, "-o", out, "--reasons", *time_only], "--reasons: method temporal keeps no evidence"),
        (
            [nowhere, "-o", out, "--relations", out, *time_only],
            "method temporal learns no relation alignment; use method evidence",
        ),
        ([nowhere, "-o", out, "--relations", out, *evidence], f"{out}: is already read or written by this run"),
        ([nowhere, "-o", tmp_path / "there.tsv", *evidence], f"{tmp_path / 'there.tsv.why.npz'}: exists already"),
        ([nowhere, "-o", out, "--relations", tmp_path / "no" / "r", *evidence], f"{tmp_path / 'no'}: no such folder"),
        ([world, "-o", world / "triples_1", "--force"], f"{world / 'triples_1'}: is already read or written by"),
        ([world, "-o", out, "--seeds", out, "--force"], f"{out}: is already read or written by this run"),
        (
            [nowhere, "-o", out, "--many-to-one", *time_only],
            "--many-to-one is not read by method temporal, only by evidence; leave it out, or change --method",
        ),
        (
            [nowhere, "-o", out, "--max-fdr", "0.1", *time_only],
            "--max-fdr is not read by method temporal, only by evidence",
        ),
        ([nowhere, "-o", out, "--hops", "1"], "--hops is not read by method evidence, only by temporal and dualmatch;"),
        ([nowhere, "-o", out, "--checkpoint", out], "--checkpoint keeps the state of training, and method evidence"),
        ([nowhere, "-o", out, "--threads", "2", *time_only], "--threads is for method evidence"),
        ([nowhere, "-o", out, "--max-fdr", "1.5", "--min-confidence", "-1"], "--min-confidence: "),
    ):
        said = refused(["align", *map(str, arguments)], capsys, tmp_path)
        assert said.startswith(f"dualmatch: {words}")
