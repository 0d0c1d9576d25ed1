"""N-Triples and N-Quads: what is split without the parser is what the parser says, and lines keep their numbers."""

from __future__ import annotations

import io
from pathlib import Path

import polars as pl
import pyoxigraph
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dualmatch import InputError
from dualmatch.files import compressed as opening
from dualmatch.readers.rdf.quads import read_quads
from dualmatch.readers.rdf.triple_lines import REIFIES, plain_lines
from dualmatch.readers.read import read_graph
from dualmatch.readers.rejected_lines import Rejections
from io_facts import facts_of

LANG_STRING = "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"
ODD = st.text(
    st.sampled_from("aZ09-._~:/?#[]@!$&'()*+,;=%41 <>\"\\{}|^`é\u00a0\u200e\u3042中\U0001f600\x00\t"), max_size=6
)
HOSTS = st.sampled_from(["e", "e.org", "e:80", "u@e", "[::1]", "", "e.org:x"])
IRIS = st.one_of(
    st.builds("<http://{}/{}>".format, HOSTS, ODD),
    st.builds(
        "<{}>".format, st.builds("{}{}".format, st.sampled_from(["urn:x:", "https://e", "mailto:", "//e/", ""]), ODD)
    ),
)
BLANKS = st.builds("_:{}".format, st.one_of(st.sampled_from(["a", "b0", "0", "a.b", "0" * 24, "f" * 30, "-"]), ODD))
LITERALS = st.builds(
    '"{}"{}'.format,
    ODD,
    st.sampled_from(["", "@en", "@en-GB", "@e", "^^<http://e/t>", f"^^<{LANG_STRING}>", "^^<t>", "^^x", "@"]),
)
NODES = st.one_of(IRIS, BLANKS)
TERMS = st.one_of(NODES, LITERALS, st.builds("<<( {} {} {} )>>".format, NODES, IRIS, st.one_of(NODES, LITERALS)))
SPACES = st.sampled_from([" ", " ", " ", "  ", "\t", ""])
PREDICATES = st.one_of(IRIS, st.just(f"<{REIFIES}>"))


@st.composite
def line(draw: st.DrawFn) -> str:
    parts = [draw(NODES), draw(PREDICATES), draw(TERMS)] + ([draw(NODES)] if draw(st.booleans()) else [])
    return "".join(part + draw(SPACES) for part in parts) + "."


def by_the_parser(text: str, has_graphs: bool) -> tuple[str | None, ...] | None:
    """What pyoxigraph makes of a line: s, p, o and g, or node, s, p and o; None where it is no statement."""
    format = pyoxigraph.RdfFormat.N_QUADS if has_graphs else pyoxigraph.RdfFormat.N_TRIPLES
    try:
        (quad,) = pyoxigraph.parse(text.encode(), format=format)
    except (SyntaxError, ValueError):
        return None
    name = lambda term: f"_:{term.value}" if isinstance(term, pyoxigraph.BlankNode) else term.value  # noqa: E731
    if isinstance(quad.object, pyoxigraph.Triple):
        inner = quad.object
        return name(quad.subject), name(inner.subject), name(inner.predicate), name(inner.object)
    graph = None if isinstance(quad.graph_name, pyoxigraph.DefaultGraph) else name(quad.graph_name)
    return name(quad.subject), name(quad.predicate), name(quad.object), graph


@settings(max_examples=500, deadline=None)
@given(line(), st.booleans())
@example("<http://e/a> <http://e/r> _:b .", False)
@example('<http://e/a> <http://e/r> "x y"@en <http://e/g> .', True)
@example(f"_:s <{REIFIES}> <<( <http://e/a> <http://e/r> <http://e/b> )>> .", False)
@example("<http://e/a> <http://e/r> <http://e/b> <http://e/g> .", False)
@example(f'<http://e/a> <http://e/r> "x"^^<{LANG_STRING}> .', False)
@example(f'<http://e/a> <http://e/r> "x"^^<{LANG_STRING.replace("lang", "dirLang")}> .', True)
@example("<urn:x:é> <https://e?q#f> <http://e/%41> .", True)
def test_lines_that_are_split_are_what_the_parser_says(text: str, has_graphs: bool) -> None:
    ((found, others),) = plain_lines(io.BytesIO(text.encode()), has_graphs)
    if others:
        assert (found.plain.height, found.reified.height, others) == (0, 0, [(1, text.encode())])
        return
    expected = by_the_parser(text, has_graphs)
    if found.plain.height:
        assert found.plain.select("s", "p", "o", "g").rows() == [expected]
        assert found.plain["literal"].to_list() == ['"' in text]
    else:
        assert found.reified.select("node", "s", "p", "o").rows() == [expected]


def test_most_lines_of_a_usual_file_are_split() -> None:
    usual = [
        "<http://www.wikidata.org/entity/Q42> <http://www.wikidata.org/prop/P39> <http://wikidata.org/s-1> .",
        '<http://dbpedia.org/resource/Zürich_(city)> <http://www.w3.org/2000/01/rdf-schema#label> "Zürich"@de .',
        '_:b1 <http://e/begin> "1835-03-01"^^<http://www.w3.org/2001/XMLSchema#date> .',
        f"_:b1 <{REIFIES}> <<( <http://e/a> <http://e/r> <http://e/b> )>> .",
    ]
    ((found, others),) = plain_lines(io.BytesIO("".join(f"{each}\n" for each in usual).encode()), False)
    assert (found.plain.height, found.reified.height, others) == (3, 1, [])


FILE = (
    "\ufeff# a comment\r\n"
    "<http://e/a> <http://e/r> <http://e/b> .\r\n"
    "\r\n"
    "   \r\n"
    "<http://e/b>\t<http://e/r>   <http://e/c> . # another\r\n"
    '_:x <http://e/says> "a \\"quote\\"" .\r\n'
    "<http://e/c> <http://e/r> _:000000000000000000000001 .\r\n"
    "<http://e/d> <http://e/r> <http://e/a> ."
)


@pytest.mark.parametrize("size", [1, 30, 100, 10**6])
def test_blocks_of_any_size_say_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(opening.blocks, "__defaults__", (size, opening.LONGEST_LINE))
    path = tmp_path / "a.nt"
    path.write_bytes(FILE.encode())
    with path.open("rb") as file:
        quads = read_quads(file, path, "ntriples", Rejections(), "2-")
    assert sorted(quads.plain.select("s", "o").rows()) == [
        ("_:2-x", 'a "quote"'),
        ("http://e/a", "http://e/b"),
        ("http://e/b", "http://e/c"),
        ("http://e/c", "_:2-.1"),
        ("http://e/d", "http://e/a"),
    ]


def test_a_value_that_looks_like_a_blank_node_stays_as_it_is(tmp_path: Path) -> None:
    with io.BytesIO(b'_:a <http://e/r> "_:a" .\n_:a <http://e/r> _:a .\n') as file:
        table = read_quads(file, tmp_path, "ntriples", Rejections(), "1-").plain
    assert table.sort("literal").select("s", "o").rows() == [("_:1-a", "_:1-a"), ("_:1-a", "_:a")]


def test_wrong_lines_keep_their_numbers(tmp_path: Path) -> None:
    path = tmp_path / "a.nt"
    good = "<http://e/a> <http://e/r> <http://e/b> .\n"
    path.write_text(good * 3 + "nonsense\n" + "# comment\n\n" + good + "<http://e/a> <r> <http://e/b> .\n" + good)
    with pytest.raises(InputError) as caught:
        read_graph(path)
    assert [line.removeprefix(f"{path}:").split(":")[0] for line in str(caught.value).splitlines()[:2]] == ["4", "8"]
    assert facts_of(read_graph(path, on_error="skip")) == [("http://e/a", "http://e/r", "http://e/b", "?", "?")]


def test_bytes_that_are_no_text_are_reported_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "a.nt"
    path.write_bytes(b"<http://e/a> <http://e/r> <http://e/b> .\n" * 2 + b'<http://e/a> <http://e/r> "\xff" .\n')
    with pytest.raises(InputError, match=r"a\.nt:3: not valid N-Triples: "):
        read_graph(path)


def test_a_wrong_last_line_is_one_problem(tmp_path: Path) -> None:
    path = tmp_path / "a.nt"
    path.write_text(
        "<http://e/a> <http://e/r> <http://e/b> .\n<< <http://e/a> <http://e/r> <http://e/b> >> <http://e/p> _:b .\n"
    )
    with pytest.raises(InputError) as caught:
        read_graph(path)
    said, way_out = str(caught.value).splitlines()
    assert way_out == "fix this line, or leave it out with --on-error skip"
    assert said.startswith(
        f"{path}:2: a quoted triple as a subject, as the old RDF-star draft had it; read the file with"
    )


def test_no_lines_no_statements() -> None:
    assert [*plain_lines(io.BytesIO(b""), True)] == []
    ((found, others),) = plain_lines(io.BytesIO(b"\n\n"), True)
    assert found.plain.schema == pl.Schema(
        {**dict.fromkeys("spog", pl.String), "literal": pl.Boolean, "tag": pl.String}
    )
    assert (found.plain.height, others) == (0, [])


GOOD = "<http://e/a> <http://e/r> <http://e/{}> .\n"
ODD_BUT_RIGHT = GOOD.format(r"\u00e9")


@pytest.mark.parametrize("opened", ["<http://e/a> <http://e/r> <http://e/b .", '"open <http://e/r> <http://e/b> .'])
def test_what_a_line_leaves_open_swallows_no_other(tmp_path: Path, opened: str) -> None:
    path = tmp_path / "a.nt"
    path.write_text(f"{opened}\n{GOOD.format('b')}{ODD_BUT_RIGHT}{GOOD.format('c')}")
    rejections = Rejections("skip")
    with path.open("rb") as file:
        quads = read_quads(file, path, "ntriples", rejections)
    assert sorted(quads.plain["o"]) == ["http://e/b", "http://e/c", "http://e/é"]
    assert [(each.line, each.text) for each in rejections.kept] == [(1, opened)]
    assert "the line ends before its statement does" in rejections.kept[0].why


@pytest.mark.parametrize("end", ["\r", "\n", "\r\n"])
def test_every_line_end_ends_a_line(tmp_path: Path, end: str) -> None:
    path = tmp_path / "a.nt"
    path.write_bytes(f"# c\n{GOOD.format('b')}nonsense\n{ODD_BUT_RIGHT}".replace("\n", end).encode())
    rejections = Rejections("skip")
    with path.open("rb") as file:
        quads = read_quads(file, path, "ntriples", rejections)
    assert sorted(quads.plain["o"]) == ["http://e/b", "http://e/é"]
    assert [(each.line, each.text) for each in rejections.kept] == [(3, "nonsense")]


def test_a_wrong_line_counts_once_and_says_no_other_place(tmp_path: Path) -> None:
    path = tmp_path / "a.nt"
    path.write_text(GOOD.format("b") + ODD_BUT_RIGHT + "<http://e/a> bad://x> y <http://e/c> .\n<http://e/a> <x\n")
    rejections = Rejections("skip")
    with path.open("rb") as file:
        read_quads(file, path, "ntriples", rejections)
    assert [each.line for each in rejections.kept] == [3, 4]
    assert rejections.total == 2
    assert not any("column" in each.why or "error" in each.why for each in rejections.kept)


@pytest.mark.parametrize("space", ["\u00a0", "\x0b", "\x0c", "\u2028"])
def test_other_spaces_are_no_spaces(tmp_path: Path, space: str) -> None:
    with io.BytesIO(f"{space}\n{GOOD.format('b')}".encode()) as file:
        read_quads(file, tmp_path, "ntriples", rejections := Rejections("skip"))
    assert [each.line for each in rejections.kept] == [1]


def test_a_line_that_is_no_text_leaves_the_others_alone(tmp_path: Path) -> None:
    bad = b'<http://e/a> <http://e/r> "\xff" .\n'
    with io.BytesIO(GOOD.format("b").encode() + bad + ODD_BUT_RIGHT.encode()) as file:
        quads = read_quads(file, tmp_path, "ntriples", rejections := Rejections("skip"))
    assert sorted(quads.plain["o"]) == ["http://e/b", "http://e/é"]
    assert [(each.line, each.why) for each in rejections.kept] == [
        (2, "not valid N-Triples: not UTF-8 text; convert the file to UTF-8")
    ]
