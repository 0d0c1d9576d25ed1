"""The alignment file: what is written is what is read."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import sparse

from conftest import lives
from dualmatch import Alignment, Config, TemporalGraph, align
from dualmatch.decode.sparse_sinkhorn import sparse_sinkhorn
from dualmatch.decode.verdicts import Verdict
from dualmatch.errors import InputError, OutputError
from dualmatch.explain.explain import reasons
from dualmatch.links.naming import Naming
from dualmatch.links.read import LinksFile, read_links, read_name_pairs
from dualmatch.links.write import write_alignment
from dualmatch.methods.link_table import relation_table
from dualmatch.readers.benchmark_folder import read_folder
from dualmatch.runs.options_file import links_file
from dualmatch.simulate import World, shuffled_copy, simulate

WIDE = "source\ttarget\tconfidence\tverdict\tmethod\trunners_up"

NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\t\n\r"), max_size=8)
DECIMALS = st.floats(0, 1)


def alignment_of(
    sources: Sequence[str], targets: Sequence[str], pairs: Sequence[tuple[int, int]], confidence: Sequence[float]
) -> Alignment:
    """An alignment with given names; each source's best candidate has probability 1 over the targets."""
    one_fact = [np.zeros(1, np.int32)] * 3
    graphs = [TemporalGraph(*one_fact, *one_fact[:2], tuple(names), ("r",)) for names in (sources, targets)]
    plan = sparse_sinkhorn(sparse.csr_array((len(sources), len(targets))), 1.0)
    rows = np.array(pairs, dtype=np.int32).reshape(-1, 2)
    sure = np.array(confidence, float)
    is_seed = np.zeros(len(rows), bool)
    return Alignment(*graphs, rows, sure, is_seed, rows, sure, plan, Config(method="temporal"))


@settings(max_examples=100, deadline=None)
@given(
    st.lists(NAMES, min_size=1, max_size=6, unique=True),
    st.lists(NAMES.filter(bool), min_size=6, max_size=6, unique=True),
    st.data(),
)
@example(['"', "\u00a0x\u00a0", "\ufeff", ""], ["'", "\u2028", "[", "b", "c", "\u00e9"], None)
def test_links_come_back_as_they_were_written(
    sources: list[str], targets: list[str], data: st.DataObject | None
) -> None:
    matched = [True] * len(sources) if data is None else [data.draw(st.booleans()) for _ in sources]
    confidence = [0.1234565 if data is None else data.draw(DECIMALS) for _ in sources]
    pairs = [(i, i) for i, yes in enumerate(matched) if yes]
    alignment = alignment_of(sources, targets, pairs, [confidence[i] for i, _ in pairs])
    with tempfile.TemporaryDirectory() as here:
        path = Path(here) / "links.tsv"
        write_alignment(alignment, path, reasons=["; ".join([name, "(+0.1)"]) for name in sources])
        assert len(path.read_text(encoding="utf-8").rstrip("\n").split("\n")) == 1 + len(sources)
        found, read = read_links(path)
        assert links_file(path).method in ("temporal", None)
    assert dict(found) == {sources[i]: targets[i] for i, _ in pairs}
    assert [source for source, _ in found] == sorted(source for source, _ in found)
    by_source = {sources[i]: confidence[i] for i, _ in pairs}
    np.testing.assert_allclose(read, [by_source[source] for source, _ in found], rtol=0, atol=5.01e-7)


@pytest.mark.parametrize("extension", [".csv", ".parquet", ".jsonl", ".nt", ".sssom.tsv"])
def test_links_come_back_from_every_format(tmp_path: Path, extension: str) -> None:
    sources = ['say "hi"', "a\tb\nc", "é, ü", "x y/z%20", "http://e/Ada", "nobody"]
    targets = ["Q1", "[Q2]", "urn:x:3", "http://e/Q4", "Q5", "Q6"]
    alignment = alignment_of(sources, targets, [(i, i) for i in range(5)], [1.0, 0.25, 0.5, 0.125, 0.75])
    path = tmp_path / f"links{extension}"
    naming = Naming({"e": "http://e/", "x": "urn:x:"})
    write_alignment(alignment, path, ["; because"] * 6, naming=naming)
    pairs, confidence = read_links(path, naming)
    assert dict(pairs) == dict(zip(sources[:5], targets[:5], strict=True))
    if extension == ".nt":
        assert (confidence == 1).all()
        return
    assert dict(zip(pairs, confidence.tolist(), strict=True)) == {
        (sources[i], targets[i]): share for i, share in enumerate([1.0, 0.25, 0.5, 0.125, 0.75])
    }
    assert links_file(path).unlinked == ([] if extension == ".sssom.tsv" else ["nobody"])
    assert links_file(path).no_matches == []
    assert links_file(path).method == "temporal"


@pytest.fixture(scope="module")
def decided() -> Alignment:
    """An alignment with every verdict in it; one source was told to have no partner."""
    pair = simulate(
        World(entities=400, mean_facts=8, common_share=0.3, unmatched_source=0.2, unmatched_target=0.2, seed=2)
    )
    alignment = align(pair.source, pair.target, forbid=[(pair.source.entities[int(pair.gold[0, 0])], None)])
    assert set(alignment.verdicts) == set(Verdict)
    return alignment


VERDICT_FORMATS = (".tsv", ".csv", ".parquet", ".jsonl")


@pytest.mark.parametrize("extension", VERDICT_FORMATS)
def test_every_table_has_the_verdicts(decided: Alignment, tmp_path: Path, extension: str) -> None:
    path = tmp_path / f"links{extension}"
    write_alignment(decided, path)
    names = np.array(decided.source.entities)
    expected = {name: (str(verdict), None) for name, verdict in zip(names.tolist(), decided.verdicts, strict=True)}
    none = decided.unlinked
    chances = zip(names[none.row].tolist(), none.confidence.tolist(), strict=True)
    expected |= {name: ("no match", round(chance, 6)) for name, chance in chances if chance == chance}
    expected |= {source: ("linked", round(chance, 6)) for source, _, chance in decided.links()}
    rows = {
        ".parquet": lambda: pl.read_parquet(path).iter_rows(named=True),
        ".jsonl": lambda: map(json.loads, path.read_text().splitlines()),
        ".csv": lambda: pl.read_csv(path).iter_rows(named=True),
        ".tsv": lambda: pl.read_csv(path, separator="\t", quote_char=None).iter_rows(named=True),
    }[extension]()
    found = {}
    for row in rows:
        assert (row["target"] is None) == (row["verdict"] != "linked")
        found[row["source"]] = (row["verdict"], None if row["confidence"] is None else round(row["confidence"], 6))
    assert found == expected


@pytest.mark.parametrize("extension", [*VERDICT_FORMATS, ".sssom.tsv"])
def test_who_has_no_match_comes_back_and_undecided_ones_are_no_such_thing(
    decided: Alignment, tmp_path: Path, extension: str
) -> None:
    path = tmp_path / f"links{extension}"
    write_alignment(decided, path)
    names = np.array(decided.source.entities)
    none = decided.unlinked
    without = sorted(names[none.row[none.is_no_match]].tolist())
    assert 5 < len(without) < len(none.row)
    assert sorted(links_file(path).no_matches) == without
    left = without if extension == ".sssom.tsv" else sorted(names[none.row].tolist())
    assert sorted(links_file(path).unlinked) == left
    assert len(read_links(path)[0]) == len(decided.pairs)


def test_sssom_says_no_term_found_of_no_match_only(decided: Alignment, tmp_path: Path) -> None:
    path = tmp_path / "links.sssom.tsv"
    write_alignment(decided, path)
    table = pl.read_csv(path, separator="\t", comment_prefix="#")
    none = decided.unlinked
    unfound = table.filter(pl.col("object_id") == "sssom:NoTermFound")
    expected = {
        decided.source.entities[row]: round(chance, 6)
        for row, chance in zip(none.row.tolist(), none.confidence.tolist(), strict=True)
        if chance == chance
    }
    assert dict(zip(LinksFile(path).unlinked, unfound["confidence"], strict=True)) == expected
    assert table.height == len(decided.pairs) + len(expected)
    assert 1.0 in expected.values()  # told


OLD = "source\ttarget\tconfidence\tmethod\trunners_up"


@pytest.mark.parametrize("more", ["", "\treasons"], ids=["plain", "reasons"])
def test_files_without_verdicts_are_read(tmp_path: Path, more: str) -> None:
    """As 0.1.0 wrote them: an entity without a target has a confidence there, and counts as undecided."""
    path, why = tmp_path / "links.tsv", "\tbecause" if more else ""
    rows = ["a\tb\t0.5\tseed\t[]", 'c\t\t0.9\tevidence\t[["d",0.1]]']
    path.write_text("".join(f"{line}\n" for line in (OLD + more, *(row + why for row in rows))))
    pairs, confidence = read_links(path)
    assert (pairs, confidence.tolist()) == ([("a", "b")], [0.5])
    assert (links_file(path).unlinked, links_file(path).no_matches) == (["c"], [])
    assert (links_file(path).seeds, links_file(path).method) == ({"a"}, "evidence")


def test_runners_up_and_reasons_where_a_format_holds_them(tmp_path: Path) -> None:
    alignment = align(*lives(), method="evidence")
    for name in ("a.parquet", "a.jsonl", "a.csv", "a.sssom.tsv"):
        write_alignment(alignment, tmp_path / name, reasons(alignment))
    parquet = {row["source"]: row for row in pl.read_parquet(tmp_path / "a.parquet").iter_rows(named=True)}
    lines = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    table = {row["source"]: row for row in pl.read_csv(tmp_path / "a.csv").iter_rows(named=True)}
    assert [each["target"] for each in parquet["Twin"]["runners_up"]] == ["Q10", "Q8"]
    for row in lines:
        pairs = [[each["target"], each["probability"]] for each in parquet[row["source"]]["runners_up"]]
        assert row["runners_up"] == pairs == json.loads(table[row["source"]]["runners_up"])
        assert row["reasons"] == parquet[row["source"]]["reasons"] == table[row["source"]]["reasons"]
    assert (table["Loner"]["target"], table["Loner"]["verdict"]) == (None, "undecided")
    sssom = (tmp_path / "a.sssom.tsv").read_text()
    assert f"\tmethod evidence; {table['Ada']['reasons']}\n" in sssom
    assert "Loner" not in sssom


def test_six_decimals_a_header_and_names_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "links.tsv"
    write_alignment(alignment_of(["x", 'say "hi"', "é"], ["y", "a, b", "z"], [(1, 1), (2, 2)], [1.0, 1 / 3]), path)
    assert path.read_bytes().decode() == (
        "source\ttarget\tconfidence\tverdict\tmethod\trunners_up\n"
        'say "hi"\ta, b\t1.000000\tlinked\ttemporal\t[]\nx\t\t\tundecided\ttemporal\t[]\n'
        "é\tz\t0.333333\tlinked\ttemporal\t[]\n"
    )


def test_every_source_has_a_row_runners_up_are_json_and_seeds_are_told(tmp_path: Path) -> None:
    source, target = lives()
    target = replace(target, entities=tuple('Q"8"' if name == "Q8" else name for name in target.entities))
    alignment = align(source, target, [("Ada", "Q1")], method="evidence")
    write_alignment(alignment, tmp_path / "links.tsv")
    lines = [line.split("\t") for line in (tmp_path / "links.tsv").read_text().splitlines()[1:]]
    rows = {line[0]: line[1:] for line in lines}
    assert [line[0] for line in lines] == sorted(source.entities)
    assert rows["Ada"] == ["Q1", "1.000000", "linked", "seed", "[]"]
    assert (rows["Book"][0], rows["Book"][3]) == ("Q4", "evidence")
    assert rows["Nobody"] == ["", "", "undecided", "evidence", "[]"]
    assert rows["Twin"][:3] == ["", "", "undecided"]
    assert [name for name, _ in json.loads(rows["Twin"][4])] == ['Q"8"', "Q10"]
    assert len(read_links(tmp_path / "links.tsv")[0]) == len(alignment.pairs)


def test_row_order_changes_no_byte_of_the_file(tmp_path: Path) -> None:
    pair = simulate(World(entities=200, mean_facts=8, year_only_share=0.3, seed=5))
    rng = np.random.default_rng(3)
    shuffled = [shuffled_copy(graph, rng)[0] for graph in (pair.source, pair.target)]
    relations = []
    for name, graphs in (("plain", (pair.source, pair.target)), ("shuffled", shuffled)):
        alignment = align(*graphs, method="evidence")
        write_alignment(alignment, tmp_path / name, reasons(alignment))
        relations.append(relation_table(alignment).rows())
    assert len(relations[0]) > 10
    assert relations[0] == relations[1]
    assert (tmp_path / "plain").read_bytes() == (tmp_path / "shuffled").read_bytes()


def test_an_alignment_writes_its_links_sorted_by_name(tmp_path: Path, small_world: Path) -> None:
    data = read_folder(small_world)
    write_alignment(align(data.source, data.target), tmp_path / "links.tsv")
    pairs, confidence = read_links(tmp_path / "links.tsv")
    assert len(pairs) > 10
    assert pairs == sorted(pairs)
    assert ((confidence >= 0) & (confidence <= 1)).all()


@pytest.mark.parametrize("name", ["a\tb", "a\nb", "a\r"])
def test_a_name_that_would_tear_its_line_is_refused(tmp_path: Path, name: str) -> None:
    for names in (([name], ["x"]), (["x"], [name])):
        with pytest.raises(OutputError, match="holds a tab or line break"):
            write_alignment(alignment_of(*names, [(0, 0)], [0.5]), tmp_path / "links.tsv")
    assert list(tmp_path.iterdir()) == []


def test_a_partner_without_a_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="the partner of 'x' has an empty name, which would mean no link"):
        write_alignment(alignment_of(["x"], [""], [(0, 0)], [0.5]), tmp_path / "links.tsv")
    write_alignment(alignment_of(["x"], [""], [], []), tmp_path / "links.tsv")
    assert read_links(tmp_path / "links.tsv")[0] == []


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("", ":1", "not a file of links; its first line must be source <tab> target <tab> confidence"),
        ("\na\tb\t0.5\n", ":2", "not a file of links; its first line must be source <tab> target <tab> confidence"),
        ("source\ttarget\tconfidence\na\tb\n", ":2", "2 tab-separated columns; an alignment has 3"),
        ("source\ttarget\tconfidence\n\na\tb\t1.5\n", ":3", "'1.5' is not a confidence; write a number from 0 to 1"),
        ("source\ttarget\tconfidence\na\tb\tnan\n", ":2", "'nan' is not a confidence; write a number from 0 to 1"),
        ("source\ttarget\tconfidence\na\tb\thigh\n", ":2", "'high' is not a confidence; write a number from 0 to 1"),
        ("source\ttarget\tconfidence\na\tb\t1\tx\n", ":2", "the header names 3 columns, this row has another number"),
        (f"{WIDE}\na\tb\t1\n", ":2", "the header names 6 columns, this row has another number"),
        (f"{WIDE}\na\tb\t1\tlinked\tx\t[]\t\n", ":2", "the header names 6 columns, this row has another number"),
        (f"{WIDE}\twhy\n", ":1", "not a file of links; its first line must be source"),
        (f"{WIDE}\na\t\t2\tlinked\tx\t[]\n", ":2", "'2' is not a confidence"),
        ("source\ttarget\tconfidence\na\tb\t\n", ":2", "'' is not a confidence; write a number from 0 to 1"),
    ],
)
def test_what_is_no_alignment_file_is_told_by_line(tmp_path: Path, text: str, place: str, words: str) -> None:
    path = tmp_path / "links.tsv"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_links(path)
    assert str(caught.value).startswith(f"{path}{place}: {words}")


def test_windows_line_ends_and_spaces_are_no_matter(tmp_path: Path) -> None:
    path = tmp_path / "links.tsv"
    path.write_bytes(b"\xef\xbb\xbfsource\ttarget\tconfidence\r\na\tb\t0.5 \r\n")
    pairs, confidence = read_links(path)
    assert (pairs, confidence.tolist()) == ([("a", "b")], [0.5])


def test_name_pairs_need_two_columns(tmp_path: Path) -> None:
    path = tmp_path / "gold"
    path.write_text("a\tb\nc\td\te\n")
    with pytest.raises(InputError, match=r"gold:2: 3 tab-separated columns; a pair has 2: source, target$"):
        read_name_pairs(path)
