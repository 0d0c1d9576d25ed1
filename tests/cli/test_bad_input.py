"""Bad input: exit code 2, the file and line, what to do, no traceback, and nothing written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import TINY, refused
from dualmatch.research import benchmark

MakeFolder = Callable[..., Path]
HUGE = str(10**20)


def slip(name: str, line: int, row: str) -> dict[str, str]:
    """The tiny folder's file with one line changed."""
    lines = TINY[name].splitlines()
    lines[line - 1] = row
    return {name: "\n".join(lines) + "\n"}


BAD_GRAPHS = [
    ("missing triples", {"triples_2": None}, "triples_2: no such file; check the path and the folder's layout"),
    ("empty triples", {"triples_1": "\n\n"}, "triples_1: no facts; an empty graph cannot be aligned, so write one per"),
    ("two columns", slip("triples_1", 2, "10\t1"), "triples_1:2: 2 tab-separated columns; a fact has 3 to 5: head,"),
    ("six columns", slip("triples_2", 1, "1\t2\t3\t4\t5\t6"), "triples_2:1: 6 tab-separated columns; a fact has 3 to"),
    ("spaces for tabs", slip("triples_1", 1, "10 0 11 2 3"), "triples_1:1: 1 tab-separated column; a fact has 3 to 5"),
    ("letters in head", slip("triples_1", 2, "Ada\t1\t12"), "triples_1:2: 'Ada' is not a head id; write a"),
    ("letters in relation", slip("triples_1", 1, "10\tmet\t12"), "triples_1:1: 'met' is not a relation id; write a"),
    ("letters in time", slip("triples_1", 2, "10\t1\t12\t1833x"), "triples_1:2: '1833x' is not a time id; write a"),
    ("no tail", slip("triples_1", 2, "10\t1\t"), "triples_1:2: '' is not a tail id; write a whole number from 0 up"),
    ("empty end", slip("triples_1", 2, "10\t1\t12\t1\t"), "triples_1:2: '' is not a time id; write a whole number"),
    ("huge id", slip("triples_1", 2, f"{HUGE}\t1\t12"), f"triples_1:2: '{HUGE}' is not a head id; write a"),
    ("negative id", slip("triples_1", 2, "-10\t1\t12"), "triples_1:2: '-10' is not a head id; write a"),
    ("fraction", slip("triples_1", 2, "10.0\t1\t12"), "triples_1:2: '10.0' is not a head id; write a whole number"),
    ("unknown head", slip("triples_1", 2, "20\t1\t12"), "triples_1:2: head 20 is not in ent_ids_1; add it there or"),
    ("unknown tail", slip("triples_2", 2, "20\t3\t12"), "triples_2:2: tail 12 is not in ent_ids_2; add it there or"),
    ("unknown relation", slip("triples_1", 2, "10\t3\t12"), "triples_1:2: relation 3 is not in rel_ids_1; add it"),
    ("unknown begin", slip("triples_1", 2, "10\t1\t12\t9"), "triples_1:2: time 9 is not in time_id; add it there or"),
    ("unknown end", slip("triples_1", 2, "10\t1\t12\t1\t9"), "triples_1:2: time 9 is not in time_id; add it there or"),
    ("no dates at all", {"time_id": "0\tMay\n1\tMarch\n"}, "time_id:1: 'May' is not a date; write YYYY, YYYY-MM or"),
    ("two dates", slip("time_id", 3, "1\t1834"), "time_id:3: time id 1 has another date above; give each id one date"),
    ("letters in time_id", slip("time_id", 3, "x\t1834"), "time_id:3: 'x' is not a time id; write a whole number"),
    ("one column in time_id", slip("time_id", 3, "2"), "time_id:3: 1 tab-separated column; a time has 2: time, date"),
    ("opaque beyond 32 bits", {"time_id": None, **slip("triples_1", 2, "10\t1\t12\t3000000000")},
     "triples_1:2: '3000000000' is not a time id; write a whole number from -2147483647 to 2147483647"),
    ("empty ent_ids", {"ent_ids_1": ""}, "triples_1:1: head 10 is not in ent_ids_1; add it there or fix the id"),
    ("names first in ent_ids", slip("ent_ids_1", 1, "Ada\t10"), "ent_ids_1:1: 'Ada' is not an entity id; write a"),
    ("id twice", slip("ent_ids_1", 2, "10\tLondon"), "ent_ids_1:2: id 10 is already above; give each id once"),
    ("name twice", slip("ent_ids_1", 2, "11\tAda"), "ent_ids_1:2: name Ada is already above; give each name once"),
    ("one column in rel_ids", slip("rel_ids_2", 2, "3"), "rel_ids_2:2: 1 tab-separated column; a name has 2"),
    ("not UTF-8", {"ent_ids_1": b"10\tAda\n11\tLond\xffn\n"}, "ent_ids_1:2: not UTF-8 text; convert the file to UTF-8"),
    ("UTF-16", {"triples_1": TINY["triples_1"].encode("utf-16")}, "triples_1:1: UTF-16; save it as UTF-8"),
    ("no time", {"triples_1": "10\t0\t11\n", "triples_2": "20\t2\t21\n"},
     "triples_1: no fact has a time, so time cannot distinguish its entities; without times, give seed pairs to start"),
    ("no time in common", {"triples_1": "10\t0\t11\t1\n", "triples_2": "20\t2\t21\t3\n"},
     "triples_1 and "),
]  # fmt: skip

BAD_PAIRS = [
    ("one column", "10\n", ":1: 1 tab-separated column; a pair has 2: source, target"),
    ("unknown source", "10\t20\n99\t21\n", ":2: source entity 99 is not in "),
    ("unknown target", "10\t20\n11\t99\n", ":2: target entity 99 is not in "),
    ("the wrong way round", "20\t10\n", ":1: source entity 20 is not in "),
    ("source twice", "10\t20\n\n10\t21\n", ":3: source entity 10 is already in an earlier pair; pairs are 1-to-1, so"),
    ("target twice", "10\t20\n11\t20\n", ":2: target entity 20 is already in an earlier pair; pairs are 1-to-1, so"),
    ("letters among ids", "10\t20\nx11\t21\n", ":2: 'x11' is not a source id; write a whole number from 0 up"),
    ("huge", f"10\t20\n{HUGE}\t21\n", f":2: '{HUGE}' is not a source id; write a whole number from 0 up"),
    ("negative", "10\t20\n11\t-21\n", ":2: '-21' is not a target id; write a whole number from 0 up"),
    ("not UTF-8", b"10\t20\n\xff\t21\n", ":2: not UTF-8 text; convert the file to UTF-8"),
    ("missing", None, ": no such file; check the path\n"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "words"), [pytest.param(*case[1:], id=case[0]) for case in BAD_GRAPHS])
def test_bad_graphs(
    make_folder: MakeFolder,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    changes: dict[str, str | bytes | None],
    words: str,
) -> None:
    folder = make_folder(**changes)
    said = refused(["align", str(folder), "-o", str(tmp_path / "links.tsv")], capsys, tmp_path)
    assert said.startswith(f"dualmatch: {folder}/{words}")


@pytest.mark.parametrize(("content", "words"), [pytest.param(*case[1:], id=case[0]) for case in BAD_PAIRS])
def test_bad_seeds(
    make_folder: MakeFolder,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    content: str | bytes | None,
    words: str,
) -> None:
    folder = make_folder(known=content)
    call = ["align", str(folder), "-o", str(tmp_path / "links.tsv"), "--seeds", str(folder / "known")]
    assert refused(call, capsys, tmp_path).startswith(f"dualmatch: {folder}/known{words}")


@pytest.mark.parametrize("name", ["sup_pairs", "ref_pairs"])
@pytest.mark.parametrize(("content", "words"), [pytest.param(*case[1:], id=case[0]) for case in BAD_PAIRS])
def test_bad_gold(
    make_folder: MakeFolder,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    content: str | bytes | None,
    words: str,
) -> None:
    monkeypatch.setattr(benchmark, "unit_seconds", lambda: [1.0])
    other = "ref_pairs" if name == "sup_pairs" else "sup_pairs"
    folder = make_folder(**{name: content, other: ""})
    call = ["benchmark", str(folder), "--json", str(tmp_path / "report.json")]
    assert refused(call, capsys, tmp_path).startswith(f"dualmatch: {folder}/{name}{words}")


def test_an_unknown_name_in_seeds_of_names(
    make_folder: MakeFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_folder(known="Ada\tQ7\nAdda\tQ84\n")
    call = ["align", str(folder), "-o", str(tmp_path / "links.tsv"), "--seeds", str(folder / "known")]
    said = refused(call, capsys, tmp_path)
    assert said.startswith(f"dualmatch: {folder}/known:2: source entity Adda is not in ")


@pytest.mark.parametrize(("line", "row"), [(100, "x"), (1234, "x")])
def test_line_numbers_are_not_taken_for_pictures(
    make_folder: MakeFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str], line: int, row: str
) -> None:
    folder = make_folder(triples_1="10\t0\t11\t1\n" * (line - 1) + row)
    said = refused(["align", str(folder), "-o", str(tmp_path / "links.tsv")], capsys, tmp_path)
    assert said.startswith(f"dualmatch: {folder}/triples_1:{line}: 1 tab-separated column")


@pytest.mark.parametrize("name", ["nowhere", "x" * 300])
def test_no_such_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    said = refused(["align", str(tmp_path / name), "-o", str(tmp_path / "links.tsv")], capsys, tmp_path)
    assert said == (
        f"dualmatch: {tmp_path / name}: no such folder; give a benchmark folder (triples_1, triples_2, ent_ids_1, …)\n"
    )


def test_no_such_alignment_or_gold(make_folder: MakeFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = make_folder(links="source\ttarget\tconfidence\nAda\tQ7\tmaybe\n")
    for alignment, gold, words in (
        (folder / "none", folder / "ref_pairs", "none: no such file; check the path"),
        (folder / "links", folder / "ref_pairs", "links:2: 'maybe' is not a confidence; write a number from 0 to 1"),
        (folder / "ref_pairs", folder / "ref_pairs", "ref_pairs:1: 2 tab-separated columns, as in all lines; an ali"),
    ):
        said = refused(["evaluate", str(alignment), "--gold", str(gold)], capsys, tmp_path)
        assert said.startswith(f"dualmatch: {folder}/{words}")
        assert said.count("\n") == 1


@pytest.mark.parametrize("option", ["--seeds", "--labels"])
def test_a_missing_file_is_told_before_the_graphs_are_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    (tmp_path / "broken.csv").write_text("not a graph")
    call = ["align", *[str(tmp_path / "broken.csv")] * 2, "-o", str(tmp_path / "links.tsv"), option, "nowhere.tsv"]
    assert refused(call, capsys, tmp_path) == "dualmatch: nowhere.tsv: no such file; check the path\n"


def test_missing_links_are_told_before_the_graphs_are_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "broken.csv").write_text("not a graph")
    call = ["merge", *[str(tmp_path / "broken.csv")] * 2, "-o", str(tmp_path / "all.tsv"), "--links", "nowhere.tsv"]
    assert refused(call, capsys, tmp_path) == "dualmatch: nowhere.tsv: no such file; check the path\n"


def test_all_config_errors_at_once(make_folder: MakeFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = [
        "align",
        str(make_folder()),
        "-o",
        str(tmp_path / "links.tsv"),
        "--hops",
        "9",
        "--sharpness",
        "-1",
        "--seed",
    ]
    said = refused([*call, "-3", "--method", "dualmatch"], capsys, tmp_path)
    assert [line.removeprefix("dualmatch: ").split(":")[0] for line in said.splitlines()] == [
        *("--seed", "--hops", "--sharpness")
    ]


def test_all_world_errors_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = ["simulate", "-o", str(tmp_path / "world"), "--entities", "2", "--degree-skew", "5", "--years", "0"]
    said = refused(call, capsys, tmp_path)
    assert [line.removeprefix("dualmatch: ").split(":")[0] for line in said.splitlines()] == [
        *("entities", "degree_skew", "years")
    ]


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        (["high"], "'high': write NAME=FILE"),
        (["=x"], "'=x': write NAME=FILE"),
        (["x="], "'x=': write NAME=FILE"),
        (["all=ref_pairs"], "'all' is taken: it names all tested pairs"),
        (["a=ref_pairs", "a=sup_pairs"], "'a' is given twice; give each group its own name"),
    ],
)
def test_bad_groups(
    make_folder: MakeFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str], groups: list[str], words: str
) -> None:
    call = ["benchmark", str(make_folder()), *(part for group in groups for part in ("--group", group))]
    assert f"Invalid value for --group: {words}" in refused(call, capsys, tmp_path)


def test_an_output_that_exists_or_has_no_folder_is_refused_before_reading(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    there = tmp_path / "there"
    there.write_text("mine")
    nowhere = str(tmp_path / "no folder of graphs")
    for call in (
        ["align", nowhere, "-o", str(there)],
        ["benchmark", nowhere, "--json", str(there)],
        ["evaluate", nowhere, "--gold", nowhere, "--json", str(there)],
    ):
        said = refused(call, capsys, tmp_path)
        assert said == f"dualmatch: {there}: exists already; choose another name or add --force to replace it\n"
        said = refused([*call[:-1], str(tmp_path / "none" / "x")], capsys, tmp_path)
        assert said == f"dualmatch: {tmp_path / 'none'}: no such folder; make it first\n"
        assert "is a folder; give the name of a file" in refused([*call[:-1], str(tmp_path)], capsys, tmp_path)


def test_options_are_called_as_they_are_typed(
    small_world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = refused(
        ["align", str(small_world), "-o", str(tmp_path / "links.tsv"), "--max-fdr", "3", "--min-confidence", "-1"],
        capsys,
        tmp_path,
    )
    assert "--min-confidence: input should be greater than or equal to 0 (given: -1.0)\n--max-fdr: input" in said
    assert "option" not in said
