"""Speed of reading: rows or statements a second from every format, file to graph, and the machine's own unit.

    python benchmarks/reading.py [--rows 1000000] [--repeat 3]

The files are made up: 100,000 entities with names as long as IRIs are, 300 relations, intervals of days. Each figure is
the best of a few runs in a warm process; the unit is a 4096³ float32 matrix product.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

from dualmatch import read_graph
from dualmatch.research.benchmark import unit_seconds

PLACE = "http://example.org/"


def facts(rows: int) -> pl.DataFrame:
    """Facts to read: head, relation, tail as IRIs, begin, end as days."""
    draw = np.random.default_rng(0)
    begin = draw.integers(-25_000, 18_000, rows)
    days = [pl.Series(each.astype(np.int32)).cast(pl.Date).cast(pl.String) for each in (begin, begin + 500)]
    return pl.DataFrame(
        {
            "head": [f"{PLACE}entity/Q{i}" for i in draw.integers(0, 100_000, rows)],
            "relation": [f"{PLACE}prop/R{i}" for i in draw.integers(0, 300, rows)],
            "tail": [f"{PLACE}entity/Q{i}" for i in draw.integers(0, 100_000, rows)],
            "begin": days[0],
            "end": days[1],
        }
    )


def write_quoted(table: pl.DataFrame, path: Path) -> int:
    table.write_csv(path, quote_style="always")
    return table.height


def write_ntriples(table: pl.DataFrame, path: Path) -> int:
    """Plain triples: what most N-Triples files are."""
    lines = table.select(pl.format("<{}> <{}> <{}> .", "head", "relation", "tail"))
    lines.write_csv(path, include_header=False, quote_style="never")
    return table.height


def write_dated_ntriples(table: pl.DataFrame, path: Path) -> int:
    """Three statements a fact: the triple term, its begin and its end."""
    reifies = "http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies"
    with path.open("w") as file:
        for number, (head, relation, tail, begin, end) in enumerate(table.iter_rows()):
            file.write(
                f"_:s{number} <{reifies}> <<( <{head}> <{relation}> <{tail}> )>> .\n"
                f'_:s{number} <{PLACE}begin> "{begin}" .\n_:s{number} <{PLACE}end> "{end}" .\n'
            )
    return 3 * table.height


def write_wikidata(table: pl.DataFrame, path: Path) -> int:
    def time_of(date: str) -> list[dict[str, object]]:
        value = {"time": f"+{date}T00:00:00Z", "precision": 11}
        return [{"snaktype": "value", "datavalue": {"type": "time", "value": value}}]

    with path.open("w") as file:
        for (head,), group in table.group_by("head"):
            claims: dict[str, list[object]] = {}
            for _, relation, tail, begin, end in group.iter_rows():
                value = {"type": "wikibase-entityid", "value": {"id": tail}}
                main = {"snaktype": "value", "datavalue": value}
                qualifiers = {"P580": time_of(begin), "P582": time_of(end)}
                claims.setdefault(relation, []).append({"mainsnak": main, "rank": "normal", "qualifiers": qualifiers})
            file.write(json.dumps({"id": head, "claims": claims}) + ",\n")
    return table.height


def write_tsv(table: pl.DataFrame, path: Path) -> int:
    table.write_csv(path, separator="\t", quote_style="never")
    return table.height


def write_csv(table: pl.DataFrame, path: Path) -> int:
    table.write_csv(path)
    return table.height


def write_parquet(table: pl.DataFrame, path: Path) -> int:
    table.write_parquet(path)
    return table.height


# name, file, writer, share of the rows (slow formats are measured on fewer), the figure asked for
CASES: tuple[tuple[str, str, Callable[[pl.DataFrame, Path], int], float, int | None], ...] = (
    ("Parquet", "a.parquet", write_parquet, 1.0, 1_000_000),
    ("TSV", "a.tsv", write_tsv, 1.0, 500_000),
    ("CSV", "a.csv", write_csv, 1.0, None),
    ("CSV, all quoted", "quoted.csv", write_quoted, 0.3, None),
    ("N-Triples", "a.nt", write_ntriples, 0.5, 150_000),
    ("N-Triples, dated", "dated.nt", write_dated_ntriples, 0.2, 150_000),
    ("Wikidata JSON", "a.json", write_wikidata, 0.2, None),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    unit = float(np.median(unit_seconds()))
    print(f"unit {unit:.2f} s; rows or statements a second, from file to graph")
    table = facts(options.rows)
    with tempfile.TemporaryDirectory() as here:
        for name, file, write, share, asked in CASES:
            path = Path(here) / file
            rows = write(table.head(int(options.rows * share)), path)
            seconds = min(_seconds(path) for _ in range(options.repeat))
            size = path.stat().st_size / 2**20
            wanted = f"asked: {asked:,}" if asked else ""
            speed = f"{rows / seconds:12,.0f} /s {seconds:6.2f} s {seconds / unit:6.2f} units"
            print(f"{name:18} {speed} {size:7.0f} MB  {wanted}")


def _seconds(path: Path) -> float:
    start = time.perf_counter()
    read_graph(path)
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
