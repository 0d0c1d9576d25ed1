"""The alignment file: what is written is what is read."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dualmatch.align import align
from dualmatch.errors import InputError, OutputError
from dualmatch.io.folder import read_folder
from dualmatch.io.links import read_links, read_name_pairs, write_links

NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\t\n\r"), max_size=8)
LINKS = st.lists(st.tuples(NAMES, NAMES, st.floats(0, 1)), max_size=6, unique_by=lambda link: link[0])


@settings(max_examples=150, deadline=None)
@given(LINKS)
@example([('"', "\u00a0x\u00a0", 1.0), ("\ufeff", "\u2028", 1e-9), ("", "", 0.1234565)])
def test_links_come_back_as_they_were_written(links: list[tuple[str, str, float]]) -> None:
    with tempfile.TemporaryDirectory() as here:
        path = Path(here) / "links.tsv"
        write_links(links, path)
        pairs, confidence = read_links(path)
    assert pairs == [(source, target) for source, target, _ in links]
    np.testing.assert_allclose(confidence, [value for *_, value in links], rtol=0, atol=5.01e-7)


def test_six_decimals_a_header_and_names_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "links.tsv"
    write_links([('say "hi"', "a, b", 1.0), ("x", "y", 1 / 3), ("é", "z", 1e-12)], path)
    assert path.read_bytes().decode() == (
        'source\ttarget\tconfidence\nsay "hi"\ta, b\t1.000000\nx\ty\t0.333333\né\tz\t0.000000\n'
    )


def test_an_alignment_writes_its_links_sorted_by_name(tmp_path: Path, small_world: Path) -> None:
    data = read_folder(small_world)
    write_links(align(data.source, data.target).links(), tmp_path / "links.tsv")
    pairs, confidence = read_links(tmp_path / "links.tsv")
    assert len(pairs) > 10
    assert pairs == sorted(pairs)
    assert ((confidence >= 0) & (confidence <= 1)).all()


@pytest.mark.parametrize("name", ["a\tb", "a\nb", "a\r"])
def test_a_name_that_would_tear_its_line_is_refused(tmp_path: Path, name: str) -> None:
    for links in ([(name, "x", 0.5)], [("x", name, 0.5)]):
        with pytest.raises(OutputError, match="holds a tab or line break"):
            write_links(links, tmp_path / "links.tsv")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("", ":1", "no alignment file; its first line must be source <tab> target <tab> confidence"),
        ("\na\tb\t0.5\n", ":2", "no alignment file; its first line must be source <tab> target <tab> confidence"),
        ("source\ttarget\tconfidence\na\tb\n", ":2", "2 tab-separated columns; an alignment has 3"),
        ("source\ttarget\tconfidence\n\na\tb\t1.5\n", ":3", "'1.5' is no confidence; write a number from 0 to 1"),
        ("source\ttarget\tconfidence\na\tb\tnan\n", ":2", "'nan' is no confidence; write a number from 0 to 1"),
        ("source\ttarget\tconfidence\na\tb\thigh\n", ":2", "'high' is no confidence; write a number from 0 to 1"),
        ("source\ttarget\tconfidence\na\tb\t\n", ":2", "'' is no confidence; write a number from 0 to 1"),
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
