"""Packed files: recognised by their bytes, whatever they are called."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
import zstandard

from dualmatch import InputError
from dualmatch.links.read import read_links
from dualmatch.readers.read import read_graph
from io_facts import facts_of

TABLE = b"head\trelation\ttail\ttime\nAda\tmet\tCharles\t1833\n"
ADA = [("Ada", "met", "Charles", "1833", "1833")]
PACKERS = {"gzip": gzip.compress, "bzip2": bz2.compress, "zstd": zstandard.compress}


@pytest.mark.parametrize("name", ["a.tsv", "a.tsv.gz", "a.tsv.zst"])
@pytest.mark.parametrize("pack", PACKERS.values(), ids=PACKERS)
def test_packed_tables_under_any_name(tmp_path: Path, pack: Callable[[bytes], bytes], name: str) -> None:
    (tmp_path / name).write_bytes(pack(TABLE))
    assert facts_of(read_graph(tmp_path / name)) == ADA


@pytest.mark.parametrize("pack", PACKERS.values(), ids=PACKERS)
def test_packed_standard_input(monkeypatch: pytest.MonkeyPatch, pack: Callable[[bytes], bytes]) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(pack(TABLE))))
    assert facts_of(read_graph("-", format="tsv")) == ADA


@pytest.mark.parametrize("pack", PACKERS.values(), ids=PACKERS)
def test_packed_parquet_and_links_without_the_ending(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    packed = io.BytesIO()
    pl.DataFrame({"head": ["Ada"], "relation": ["met"], "tail": ["Charles"], "year": [1833]}).write_parquet(packed)
    (tmp_path / "a.parquet").write_bytes(pack(packed.getvalue()))
    assert facts_of(read_graph(tmp_path / "a.parquet")) == ADA
    for name in ("links.tsv", "links.tsv.gz"):
        (tmp_path / name).write_bytes(pack(b"source\ttarget\tconfidence\na\tb\t0.5\n"))
        assert read_links(tmp_path / name)[0] == [("a", "b")]
    (tmp_path / "links.csv.gz").write_bytes(pack(b"source,target,confidence\na,b,0.5\n"))
    assert read_links(tmp_path / "links.csv.gz")[0] == [("a", "b")]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.tsv.gz", TABLE, "is not compressed as its name says; rename it without .gz, or make it again"),
        ("a.tsv.zst", TABLE, "broken or cut off, it cannot be unpacked"),
        ("a.tsv.bz2", TABLE, "is not compressed as its name says; rename it without .bz2, or make it again"),
        ("a.tsv.bz2", bz2.compress(TABLE)[:-5], "broken or cut off, it cannot be unpacked"),
        ("a.tsv.bz2", bz2.compress(TABLE * 99)[:-40] + b"x" * 40, "broken or cut off, it cannot be unpacked"),
        ("a.tsv", lzma.compress(TABLE), "is packed with xz, which is not supported; unpack it"),
        ("a.tsv", b"PK\x03\x04\x14\x00", "is packed with zip, which is not supported; unpack it"),
    ],
)
def test_what_is_packed_otherwise_is_reported(tmp_path: Path, name: str, content: bytes, words: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_graph(tmp_path / name)
    assert str(caught.value).startswith(f"{tmp_path / name}: {words}")


def test_many_streams_of_bzip2_are_one_file(tmp_path: Path) -> None:
    (tmp_path / "a.tsv.bz2").write_bytes(bz2.compress(TABLE[:9]) + bz2.compress(b"") + bz2.compress(TABLE[9:]))
    assert facts_of(read_graph(tmp_path / "a.tsv.bz2")) == ADA


def test_text_that_begins_like_bzip2_is_text(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_bytes(TABLE.replace(b"head", b"BZhead"))
    graph = read_graph(tmp_path / "a.tsv", columns={"head": "BZhead"})
    assert facts_of(graph) == ADA
