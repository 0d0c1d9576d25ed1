"""Parquet whose headers lie is refused before native code believes them; everything that is written today passes."""

from __future__ import annotations

import gzip
import io
import random
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from dualmatch import InputError, read_graph
from dualmatch.files.parquet_check import check_parquet
from dualmatch.links.read import read_links
from dualmatch.readers.read import read
from dualmatch.readers.read_options import ReadOptions

LINKS = Path(__file__).parents[1] / "golden" / "0.1.0" / "links.parquet"
TABLE = pl.DataFrame(
    {
        "head": [str(number % 99) for number in range(3000)],
        "relation": ["r", None, "s"] * 1000,
        "tail": [[number, None] if number % 3 else [] for number in range(3000)],
        "begin": [None if number % 2 else 1.5 for number in range(3000)],
    }
)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"compression": "uncompressed"},
        {"row_group_size": 100, "compression": "gzip"},
        {"data_page_size": 200, "statistics": False},
    ],
)
@pytest.mark.parametrize("rows", [0, 1, 3000])
def test_what_polars_writes_passes(options: dict[str, Any], rows: int, tmp_path: Path) -> None:
    TABLE.head(rows).write_parquet(tmp_path / "table.parquet", **options)
    check_parquet(tmp_path / "table.parquet")
    check_parquet((tmp_path / "table.parquet").read_bytes())


@pytest.mark.parametrize("offset", [168, 475, 627, 1208])
def test_a_negative_number_of_values_does_not_end_the_process(tmp_path: Path, offset: int) -> None:
    content = bytearray(LINKS.read_bytes())
    content[offset] = 0x25  # polars then asks for 2**61 bytes, and aborts
    (tmp_path / "links.parquet").write_bytes(content)
    with pytest.raises(InputError, match="not a readable Parquet"):
        read_links(tmp_path / "links.parquet")
    with pytest.raises(InputError, match=r"not a readable Parquet file \(an impossible number of values of a page"):
        read_graph(tmp_path / "links.parquet")


def test_damaged_files_are_read_or_refused(tmp_path: Path) -> None:
    draw, path = random.Random(17), tmp_path / "links.parquet"
    for _ in range(300):
        content = bytearray(LINKS.read_bytes())
        for _ in range(draw.choice((1, 1, 1, 8))):
            content[draw.randrange(len(content))] = draw.randrange(256)
        path.write_bytes(content[: draw.choice((len(content), len(content), draw.randrange(len(content))))])
        try:
            read_links(path)
        except InputError as error:
            assert len(str(error)) < 3500  # noqa: PT017


def test_headers_that_promise_too_much_are_refused() -> None:
    out = io.BytesIO()
    TABLE.write_parquet(out)
    content = out.getvalue()
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    for bad in (b"", b"PAR1", content[:-1], content[:4] + content[-8:], b"PAR1" + b"\xff" * 8 + b"PAR1"):
        with pytest.raises(ValueError, match="it"):
            check_parquet(bad)
    for at in range(footer, len(content) - 8, 7):
        changed = content[:at] + b"\xff" + content[at + 1 :]
        try:
            check_parquet(changed)
        except ValueError:
            continue


def bomb(path: Path, text: str, rows: int, groups: int = 1, **options: Any) -> None:
    """A file of facts that are all the same, as small as it gets."""
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    column = pyarrow.DictionaryArray.from_arrays(pyarrow.array(np.zeros(rows, np.int32)), pyarrow.array([text]))
    table = pyarrow.table(dict.fromkeys(("head", "relation", "tail"), column))
    with parquet.ParquetWriter(path, table.schema, **options) as writer:
        for _ in range(groups):
            writer.write_table(table, row_group_size=rows)


@pytest.mark.parametrize(
    ("text", "rows", "groups", "options", "why"),
    [
        ("a", 4_000_000, 4, {}, "far more than its size"),
        ("a" * 20_000_000, 10, 3, {"compression": "zstd"}, "far more than its size"),
        ("a" * 20_000, 1_000_000, 1, {"compression": "none"}, "far more than its size"),
        ("a" * 20_000, 1_000_000, 1, {"store_schema": False}, "far more than its size"),
    ],
    ids=["rows", "a dictionary", "a category repeated", "a text repeated"],
)
def test_a_bomb_is_refused(
    tmp_path: Path, text: str, rows: int, groups: int, options: dict[str, Any], why: str
) -> None:
    bomb(tmp_path / "bomb.parquet", text, rows, groups, **options)
    assert (tmp_path / "bomb.parquet").stat().st_size < 500_000
    with pytest.raises(InputError, match=why):
        read_graph(tmp_path / "bomb.parquet")


@pytest.mark.parametrize("kind", [pl.String, pl.Categorical])
def test_one_long_text_among_short_ones_cannot_be_repeated_without_end(tmp_path: Path, kind: Any) -> None:
    names = [str(number) for number in range(100)] + ["a" * 3000] * 30_000
    table = pl.DataFrame({"head": names, "relation": names, "tail": names}).cast(kind)
    table.write_parquet(tmp_path / "bomb.parquet")
    with pytest.raises(InputError, match="far longer than the file"):
        read_graph(tmp_path / "bomb.parquet")


def test_what_does_not_fit_into_the_memory_limit_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    TABLE.select("head", pl.col("relation").fill_null("r"), tail="head").write_parquet(path, compression="uncompressed")
    assert read([path], ReadOptions(memory_limit=10**6)).graph.n_facts
    for limit in (100_000, 5000, 10):
        with pytest.raises(InputError, match=r"not fit into memory|more than the memory limit"):
            read([path], ReadOptions(memory_limit=limit))
    (tmp_path / "table.parquet.gz").write_bytes(gzip.compress(path.read_bytes()))
    with pytest.raises(InputError, match="does not fit into memory"):
        read([tmp_path / "table.parquet.gz"], ReadOptions(memory_limit=1000))


def test_lists_in_lists_without_end_are_refused() -> None:
    footer = b"\x19" * 4000  # a list of one list of one list …
    with pytest.raises(ValueError, match="nested too deep"):
        check_parquet(b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1")
