"""Links in other formats than TSV: what is wrong comes with its line; only links are taken for links."""

from __future__ import annotations

import tempfile
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import refused
from dualmatch import InputError
from dualmatch.links.read import read_links

SAME = "<http://www.w3.org/2002/07/owl#sameAs>"
SSSOM = "#curie_map:\n#  ex: http://e/\nsubject_id\tobject_id\tconfidence\n"
JSON = '{"source": "a", "target": "b", "confidence": 1}\n'

WRONG = {
    "CSV without a column": ("a.csv", "source,target\na,b\n", ":1: no confidence; links have source, target, confid"),
    "CSV without any": ("a.csv", "a,b\n", ":1: no source and no target and no confidence; links have"),
    "CSV of nothing": ("a.csv", "\n", ":1: no columns; the first line must name source, target, confidence"),
    "JSON half a character": ("a.jsonl", JSON.replace("b", "\\ud800"), ":1: not valid JSON"),
    "CSV header only": ("a.csv", "who,whom,sure\n", ":1: no source and no target and no confidence"),
    "CSV open quotes": ("a.csv", 'source,target,confidence\na,b,1\n"a,b,1\n', ":3: quotes that do not end"),
    "CSV torn row": ("a.csv", 'source,target,confidence\n"a\nb",b,1\na,b\n', ":4: 2 columns where the header has 3"),
    "CSV confidence": ("a.csv", "source,target,confidence\na,b,1\n\nc,d,2\n", ":4: '2' is not a confidence; write"),
    "CSV repeated": ("a.csv", "source,target,confidence\na,b,1\na,c,1\n", ":3: 'a' has a row above already"),
    "CSV not UTF-8": ("a.csv", b"source,target,confidence\na,\xff,1\n", ":2: not UTF-8 text"),
    "no Parquet": ("a.parquet", "no Parquet", ": not a readable Parquet file; align again"),
    "JSON without a key": ("a.jsonl", JSON + '{"source": "a"}\n', ":2: no target and no confidence; links have"),
    "JSON number for a name": ("a.jsonl", JSON + "\n" + JSON.replace('"a"', "1"), ":3: source and target must be"),
    "JSON list": ("a.jsonl", "[]\n", ':1: not a JSON object; write {"source": …'),
    "no JSON": ("a.jsonl", JSON + "nonsense\n", ":2: not valid JSON; each line is an object of its own"),
    "JSON confidence": ("a.jsonl", JSON.replace("1", "[1]"), ":1: [1] is not a confidence; write a number from 0 to 1"),
    "JSON yes for confidence": ("a.jsonl", JSON.replace("1", "true"), ":1: True is not a confidence; write a number"),
    "JSON not UTF-8": ("a.jsonl", JSON.encode() + b"\xff\n", ":2: not UTF-8 text"),
    "no N-Triples": ("a.nt", f"# links\n<http://e/a> {SAME} <http://e/b> .\nnonsense\n", ":3: no N-Triples; a link is"),
    "N-Triples literal": ("a.nt", f'\n<http://e/a> {SAME} "b" .\n', ':2: <http://e/a> is linked with "b"; a link is'),
    "N-Triples repeated": ("a.nt", f"<http://e/a> {SAME} <http://e/b> .\n" * 2, ":2: 'http://e/a' has a row above"),
    "SSSOM without columns": ("a.sssom.tsv", "#a: b\na\tb\nc\td\n", ":2: no subject_id and no object_id; links have"),
    "SSSOM of metadata only": ("a.sssom.tsv", "#curie_map: {}\n", ":2: no columns; the first line must name"),
    "SSSOM unknown prefix": ("a.sssom.tsv", SSSOM + "ex:a\tex:b\t1\nno:a\tex:b\t1\n", ":5: 'no:a' has no prefix of"),
    "SSSOM torn row": ("a.sssom.tsv", SSSOM + "ex:a\tex:b\n", ":4: 2 columns where the header has 3"),
    "SSSOM confidence": ("a.sssom.tsv", SSSOM + "ex:a\tex:b\thigh\n", ":4: 'high' is not a confidence"),
}  # fmt: skip


@pytest.mark.parametrize(("name", "content", "words"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_told_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, content: str | bytes, words: str
) -> None:
    path, gold = tmp_path / name, tmp_path / "gold"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    gold.write_text("a\tb\n")
    said = refused(["evaluate", str(path), "--gold", str(gold)], capsys, tmp_path)
    assert said.startswith(f"dualmatch: {path}{words}")


def test_parquet_names_the_row(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    links = pl.DataFrame({"source": ["a", "b", "a"], "target": ["x", None, "y"], "confidence": [0.5, 0.5, 0.5]})
    links.write_parquet(path)
    with pytest.raises(InputError, match=r"a\.parquet:3: 'a' has a row above already"):
        read_links(path)
    links.with_columns(source=pl.Series([1, 2, 3])).write_parquet(path)
    with pytest.raises(InputError, match=r"a\.parquet:1: source and target must be names"):
        read_links(path)
    links.clear().drop("target").write_parquet(path)
    with pytest.raises(InputError, match=r"a\.parquet: no target; links have source, target, confidence"):
        read_links(path)


def test_all_problems_are_counted_in_the_order_of_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("[]\nnonsense\n" * 4)
    with pytest.raises(InputError) as caught:
        read_links(path)
    said = str(caught.value).splitlines()
    assert [line.removeprefix(f"{path}:").split(":")[0] for line in said[:5]] == ["1", "2", "3", "4", "5"]
    assert said[5].startswith("… and 3 more problems")


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(["a.csv", "a.jsonl", "a.nt", "a.sssom.tsv", "a.tsv", "a.parquet"]),
    st.one_of(
        st.binary(max_size=80),
        st.text(st.sampled_from('source,target,confidence\n\t\r"{}[]:<>#._ab1'), max_size=120).map(str.encode),
    ),
)
def test_anything_is_links_or_an_input_error(name: str, content: bytes) -> None:
    with tempfile.TemporaryDirectory() as here:
        (Path(here) / name).write_bytes(content)
        try:
            pairs, confidence = read_links(Path(here) / name)
        except InputError:
            return
        assert len(pairs) == len(confidence)
