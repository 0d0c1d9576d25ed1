"""The benchmark folder reader: everything the field's files do, and nothing but a graph or an `InputError`."""

from __future__ import annotations

import logging
import re
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from conftest import TINY
from dualmatch.errors import InputError
from dualmatch.graph.model import TemporalGraph
from dualmatch.graph.times import UNKNOWN, encode_date, format_date
from dualmatch.readers.benchmark_folder import read_folder

MakeFolder = Callable[..., Path]


def facts(graph: TemporalGraph) -> list[tuple[str, str, str, str, str]]:
    """Facts by name, times as users write them."""
    show = str if graph.opaque_times else format_date
    columns = (
        graph.head.tolist(),
        graph.relation.tolist(),
        graph.tail.tolist(),
        graph.begin.tolist(),
        graph.end.tolist(),
    )
    return [
        (graph.entities[h], graph.relations[r], graph.entities[t], show(b), show(e))
        for h, r, t, b, e in zip(*columns, strict=True)
    ]


def test_rows_of_three_four_and_five_columns_mix(make_folder: MakeFolder) -> None:
    triples = (
        "10\t0\t11\t2\t3\n10\t1\t12\n10\t1\t11\t1\n12\t0\t11\t1\t0\n12\t0\t11\t4\t3\n12\t1\t11\t0\n12\t1\t10\t4\t0\n"
    )
    graph = read_folder(make_folder(triples_1=triples)).source
    assert facts(graph) == [
        ("Ada", "lived in", "London", "1835-03", "1852-11-27"),
        ("Ada", "met", "Charles", "?", "?"),
        ("Ada", "met", "London", "1833", "1833"),
        ("Charles", "lived in", "London", "1833", "?"),
        ("Charles", "lived in", "London", "?", "1852-11-27"),
        ("Charles", "met", "London", "?", "?"),
        ("Charles", "met", "Ada", "?", "?"),
    ]
    assert (graph.statistics.dated_facts, graph.statistics.half_dated_facts) == (4, 2)


def test_dates_keep_their_precision(make_folder: MakeFolder) -> None:
    graph = read_folder(make_folder()).source
    assert graph.begin.tolist() == [encode_date(1835, 3), encode_date(1833)]
    assert graph.end.tolist() == [encode_date(1852, 11, 27), encode_date(1833)]
    assert not graph.opaque_times


def test_a_bare_number_is_a_year_however_long(make_folder: MakeFolder) -> None:
    time_id = "0\t-inf\n1\t19433\n2\t1835\n3\t1852\n4\t1860\n"
    graph = read_folder(make_folder(time_id=time_id, triples_1="10\t0\t11\t1\n")).source
    assert graph.begin.tolist() == [encode_date(19433)]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("March", "'March' is not a date; write YYYY, YYYY-MM or YYYY-MM-DD, or -inf for unknown"),
        ("1987-02-30", "'1987-02-30': month 2 of 1987 has no day 30"),
        ("2005030100", "'2005030100' is not a date"),
    ],
)
def test_what_is_no_date_costs_its_date_only(
    make_folder: MakeFolder, caplog: pytest.LogCaptureFixture, text: str, why: str
) -> None:
    more = "".join(f"{number}\t{1900 + number}\n" for number in range(4, 11))
    path = make_folder(
        time_id=f"0\t-inf\n1\t1833\n2\t{text}\n3\t1852-11-27\n{more}", triples_1="10\t0\t11\t2\t3\n10\t1\t12\t1\n"
    )
    with caplog.at_level(logging.WARNING):
        folder = read_folder(path)
    assert facts(folder.source) == [
        ("Ada", "lived in", "London", "?", "1852-11-27"),
        ("Ada", "met", "Charles", "1833", "1833"),
    ]
    (said,) = caplog.messages
    assert said.startswith(f"{path}/time_id: 1 of 10 dates cannot be read and is unknown; line 3: {why}")
    with pytest.raises(InputError, match=re.escape(f"{path}/time_id:3: {why}")):
        read_folder(path, on_error="stop")


def test_a_calendar_of_which_more_than_a_fifth_is_no_date_is_refused(make_folder: MakeFolder) -> None:
    path = make_folder(time_id="0\t-inf\n1\t01/02/1833\n2\t1834\n3\t1835\n")
    with pytest.raises(InputError) as caught:
        read_folder(path)
    assert str(caught.value).splitlines()[0].startswith(f"{path}/time_id:2: '01/02/1833' is not a date")
    assert str(caught.value).endswith("dates in 'time_id' cannot be read; add --time-format %d/%m/%Y, or %m/%d/%Y")
    graph = read_folder(path, time_format="%d/%m/%Y").source
    assert {encode_date(1833, 2, 1), encode_date(1834)} <= {*graph.begin.tolist()}


def test_a_decade_is_from_its_first_to_its_last_year(make_folder: MakeFolder) -> None:
    lines = "10\t0\t11\t1\n10\t0\t12\t1\t2\n10\t1\t12\t2\t1\n"
    folder = read_folder(make_folder(time_id=TINY["time_id"].replace("1833", "1830s"), triples_1=lines))
    assert sorted(fact[3:] for fact in facts(folder.source)) == [
        ("1830", "1835-03"),
        ("1830", "1839"),
        ("1835-03", "1839"),
    ]


@pytest.mark.parametrize("content", [None, "", "\n \n\r\n"], ids=["absent", "empty", "blank"])
def test_without_a_calendar_ids_are_opaque_times(make_folder: MakeFolder, content: str | None) -> None:
    graph = read_folder(make_folder(time_id=content, triples_1="10\t0\t11\t3\t-2\n10\t1\t12\t0\n10\t1\t12\n")).source
    assert graph.opaque_times
    assert graph.begin.tolist() == [3, 0, UNKNOWN]
    assert graph.end.tolist() == [-2, 0, UNKNOWN]
    assert graph.statistics.reversed_intervals == 0, "ids without a calendar have no order"


def test_opaque_times_reach_to_the_ends_of_32_bits(make_folder: MakeFolder) -> None:
    lowest, highest = -(2**31) + 1, 2**31 - 1
    graph = read_folder(make_folder(time_id=None, triples_1=f"10\t0\t11\t{lowest}\t{highest}\n")).source
    assert (graph.begin[0], graph.end[0]) == (lowest, highest)
    for beyond in (lowest - 1, highest + 1):
        with pytest.raises(InputError, match=r"triples_1:2: '-?\d+' is not a time id; write a whole number from"):
            read_folder(make_folder(time_id=None, triples_1=f"10\t0\t11\t1\n10\t0\t11\t{beyond}\n"))


@pytest.mark.parametrize(
    ("listing", "relations", "used"),
    [
        pytest.param("0\tlived in\n1\tmet\n", ("lived in", "met"), ["lived in", "met"], id="id first"),
        pytest.param("lived in\t0\nmet\t1\n", ("lived in", "met"), ["lived in", "met"], id="name first"),
        pytest.param("1\tmet\n0\tlived in\n7\tx\n", ("met", "lived in", "x"), ["lived in", "met"], id="unsorted"),
        pytest.param("met\t1\n190\t0\n", ("met", "190"), ["190", "met"], id="one name is a number"),
        pytest.param("0\t190\n1\t191\n", ("190", "191"), ["190", "191"], id="all names are numbers"),
        pytest.param("190\t0\n191\t1\n", ("190", "191"), ["190", "191"], id="all names are numbers, first"),
        pytest.param("0\t1\n1\t0\n", ("1", "0"), ["1", "0"], id="both could be ids: the first are"),
        pytest.param("5\t0\n0\t1\n", ("5", "0"), ["5", "0"], id="only one holds all ids in use"),
        pytest.param(None, ("0", "1"), ["0", "1"], id="no file"),
    ],
)
def test_relation_names_come_in_either_column(
    make_folder: MakeFolder, listing: str | None, relations: tuple[str, ...], used: list[str]
) -> None:
    graph = read_folder(make_folder(rel_ids_1=listing)).source
    assert graph.relations == relations
    assert [graph.relations[row] for row in graph.relation] == used


def test_a_relation_missing_from_a_name_first_listing_is_reported_where_it_is_used(make_folder: MakeFolder) -> None:
    with pytest.raises(InputError, match=r"triples_1:2: relation 1 is not in rel_ids_1; add it there or fix the id$"):
        read_folder(make_folder(rel_ids_1="lived in\t0\nborn in\t5\n"))


def test_ids_have_gaps_come_in_any_order_and_some_are_in_no_fact(make_folder: MakeFolder) -> None:
    folder = read_folder(
        make_folder(
            ent_ids_1="900\tAda\n7\tNobody\n12\tCharles\n11\tLondon\n", triples_1="900\t0\t11\t1\n12\t1\t900\t1\n"
        )
    )
    graph = folder.source
    assert graph.entities == ("Ada", "Nobody", "Charles", "London")
    assert [fact[:3] for fact in facts(graph)] == [("Ada", "lived in", "London"), ("Charles", "met", "Ada")]
    assert folder.source_ids.tolist() == [900, 7, 12, 11]
    assert graph.statistics.isolated_entities == 1


@pytest.mark.parametrize("mangle", ["crlf", "bom", "blank lines", "no last newline", "spaces around ids"])
def test_what_editors_do_to_files_changes_nothing(make_folder: MakeFolder, mangle: str) -> None:
    change = {
        "crlf": lambda text: text.replace("\n", "\r\n"),
        "bom": lambda text: "\ufeff" + text,
        "blank lines": lambda text: "\n" + text.replace("\n", "\n \n") + "\n\n",
        "no last newline": lambda text: text.rstrip("\n"),
        "spaces around ids": lambda text: text,
    }[mangle]
    mangled = {name: change(text) for name, text in TINY.items()}
    if mangle == "spaces around ids":
        mangled |= {"triples_1": " 10 \t0\t11\t2\t3 \n10\t1\t 12\t1\n", "sup_pairs": " 10\t20 \n"}
    plain, other = read_folder(make_folder()), read_folder(make_folder(**mangled))
    assert facts(other.source) == facts(plain.source)
    assert facts(other.target) == facts(plain.target)
    np.testing.assert_array_equal(other.read_pairs(other.path / "sup_pairs"), [[0, 0]])


def test_repeated_facts_are_kept_and_counted(make_folder: MakeFolder) -> None:
    graph = read_folder(make_folder(triples_1=TINY["triples_1"] * 3)).source
    assert (graph.n_facts, graph.statistics.repeated_facts) == (6, 4)


def test_an_end_before_its_begin_is_counted_and_reported_and_both_ends_stay(
    make_folder: MakeFolder, caplog: pytest.LogCaptureFixture
) -> None:
    dates = "0\t-inf\n1\t1900\n2\t1900-03\n3\t1900-03-05\n4\t1899-12-31\n"
    reversed_facts = "10\t0\t11\t1\t4\n10\t0\t11\t2\t4\n10\t0\t11\t3\t4\n"
    not_reversed = (
        "10\t0\t11\t3\t1\n10\t0\t11\t3\t2\n10\t0\t11\t2\t1\n10\t0\t11\t4\t1\n10\t0\t11\t3\t0\n10\t0\t11\t0\t4\n"
    )
    with caplog.at_level(logging.WARNING):
        folder = read_folder(
            make_folder(
                time_id=dates, triples_1=reversed_facts + not_reversed, triples_2="20\t2\t21\t1\n20\t3\t22\t1\n"
            )
        )
    assert folder.source.statistics.reversed_intervals == 3
    assert caplog.messages == [f"{folder.path / 'triples_1'}: 3 facts end before they begin; both ends are kept"]
    assert [fact[3:] for fact in facts(folder.source)[:4]] == [
        ("1900", "1899-12-31"),
        ("1900-03", "1899-12-31"),
        ("1900-03-05", "1899-12-31"),
        ("1900-03-05", "1900"),
    ]


def test_names_arrive_as_they_are(make_folder: MakeFolder) -> None:
    names = ("\"Ada\" 'the' Countess", "\u00a0London\u00a0", " Charles\u2028{0} %s \x85")
    listing = "".join(f"{i}\t{name}\n" for i, name in zip((10, 11, 12), names, strict=True))
    folder = read_folder(make_folder(ent_ids_1=listing))
    assert folder.source.entities == names
    by_name = folder.path / "by_name"
    by_name.write_text("".join(f"{name}\t{other}\n" for name, other in zip(names, ("Q7", "Q84", "Q46"), strict=True)))
    assert folder.read_pairs(by_name).tolist() == [[0, 0], [1, 1], [2, 2]]


def test_without_listings_ids_are_names(make_folder: MakeFolder) -> None:
    folder = read_folder(make_folder(ent_ids_1=None, ent_ids_2=None, rel_ids_1=None, rel_ids_2=None))
    assert folder.source.entities == ("10", "11", "12")
    assert folder.target.relations == ("2", "3")
    assert folder.read_pairs(folder.path / "ref_pairs").tolist() == [[1, 1], [2, 2]]


def test_pairs_of_whole_numbers_are_ids_even_where_names_are_numbers(make_folder: MakeFolder) -> None:
    folder = read_folder(make_folder(ent_ids_1="10\t11\n11\t12\n12\t10\n"))
    assert folder.read_pairs(folder.path / "ref_pairs").tolist() == [[1, 1], [2, 2]]


@pytest.mark.parametrize("kind", [str, Path])
def test_pair_files_are_looked_up_in_the_folder(
    make_folder: MakeFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: type
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = read_folder(make_folder().relative_to(tmp_path))
    elsewhere = {"ref_pairs": "10\t22\n", "known": "12\t20\n"}
    for name, content in elsewhere.items():
        (tmp_path / name).write_text(content)
    assert folder.read_pairs(kind("ref_pairs")).tolist() == [[1, 1], [2, 2]]
    assert folder.read_pairs(kind(folder.path / "ref_pairs")).tolist() == [[1, 1], [2, 2]]
    assert folder.read_pairs(kind("known")).tolist() == folder.read_pairs(kind(tmp_path / "known")).tolist() == [[2, 0]]
    assert folder.pairs_at(Path("ref_pairs")).tolist() == [[0, 2]]
    with pytest.raises(InputError, match=f"^{folder.path}/gold: no such file"):
        folder.read_pairs(kind("gold"))


def test_an_empty_pair_file_is_no_pairs(make_folder: MakeFolder) -> None:
    folder = read_folder(make_folder(sup_pairs=""))
    assert folder.read_pairs(folder.path / "sup_pairs").shape == (0, 2)


def test_braces_in_a_path_do_not_disturb_messages(make_folder: MakeFolder, tmp_path: Path) -> None:
    folder = make_folder(sup_pairs="99\t20\n").rename(tmp_path / "{0}{name}%s")
    with pytest.raises(InputError) as caught:
        read_folder(folder).read_pairs(folder / "sup_pairs")
    assert str(caught.value) == (
        f"{folder}/sup_pairs:1: source entity 99 is not in {folder}/triples_1; fix it or leave the pair out"
    )


def test_many_problems_are_shown_five_at_a_time(make_folder: MakeFolder) -> None:
    with pytest.raises(InputError) as caught:
        read_folder(make_folder(triples_1="10\tx\t11\n" * 12))
    lines = str(caught.value).splitlines()
    assert [line.rpartition("triples_1:")[2].split(":")[0] for line in lines[:5]] == ["1", "2", "3", "4", "5"]
    assert lines[5:] == ["… and 7 more problems of this kind"]


FILES = st.sampled_from(sorted(TINY))
IDS = st.sampled_from(["0", "1", "2", "10", "11", "20", "21", "-1", "99", "x", "", "1.5", str(2**31), str(2**64), "٣"])
WORDS = st.sampled_from(["Ada", "met", "1835-03", "-inf", "~", "2005-13", '"', "\u00a0", "\ufeff", "\r"])
ROWS = st.lists(st.lists(IDS | WORDS, max_size=6).map("\t".join), max_size=5).map("\n".join).map(str.encode)
MANGLED = st.tuples(st.sampled_from(sorted(TINY)), st.integers(0, 60), st.binary(max_size=3))


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(FILES, st.binary(max_size=60) | st.text(max_size=60).map(str.encode) | ROWS, max_size=3))
@example({"ent_ids_1": b""})
@example({"rel_ids_2": b"\n"})
@example({"triples_1": b"10\t0\t11\t", "time_id": b""})
@example({"sup_pairs": b"99999999999999999999\t20"})
@example({"sup_pairs": "٣\t20".encode()})
def test_any_bytes_give_a_graph_or_an_input_error(contents: dict[str, bytes]) -> None:
    read_or_refuse(contents)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(MANGLED)
def test_any_slip_in_a_sound_file_gives_a_graph_or_an_input_error(slip: tuple[str, int, bytes]) -> None:
    name, at, insert = slip
    content = TINY[name].encode()
    read_or_refuse({name: content[:at] + insert + content[at + 1 :]})


def read_or_refuse(contents: dict[str, bytes]) -> None:
    with tempfile.TemporaryDirectory() as here:
        folder = Path(here)
        for name, content in {**{name: text.encode() for name, text in TINY.items()}, **contents}.items():
            (folder / name).write_bytes(content)
        try:
            data = read_folder(folder)
            pairs = data.read_pairs(folder / "sup_pairs")
        except InputError as refusal:
            message = str(refusal)
        else:
            message = f"{folder}: {data.source!r}"
            assert pairs.shape[1] == 2
    assert message.startswith(here)
