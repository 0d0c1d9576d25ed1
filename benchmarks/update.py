"""What an update costs and how far it agrees with a whole run: the last facts by date arrive after the run.

    python benchmarks/update.py FOLDER [--share 0.05]

FOLDER is a benchmark folder of dated facts. Each call is a process of its own, called as a user would: `align --run`
on the earlier facts, `update` with the later ones, and `align --run` on all. Agreement counts the pairs of confidence
0.5 and above. Seconds are the calls' own (reading to the result, before it is written), next to those of the processor.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

from dualmatch.graph.model import TemporalGraph
from dualmatch.graph.times import format_date
from dualmatch.readers.benchmark_folder import read_folder
from dualmatch.research.benchmark import unit_seconds

COLUMNS = ("head", "relation", "tail", "begin", "end")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--share", type=float, default=0.05, help="of the facts that arrive later")
    arguments = parser.parse_args()
    data = read_folder(arguments.folder)
    cut = np.quantile(np.concatenate([data.source.begin, data.target.begin]), 1 - arguments.share)
    units = unit_seconds()
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        for side, graph in (("s", data.source), ("t", data.target)):
            later = graph.begin > cut
            for name, rows in (("old", ~later), ("new", later), ("all", np.ones(graph.n_facts, bool))):
                _table(graph, rows).write_csv(place / f"{side}-{name}.tsv", separator="\t")
        old = _called(place, ["align", "s-old.tsv", "t-old.tsv", "--run", "old.run"])
        new = ["--source-facts", "s-new.tsv", "--target-facts", "t-new.tsv"]
        update = _called(place, ["update", "old.run", *new, "--run", "new.run"])
        whole = _called(place, ["align", "s-all.tsv", "t-all.tsv", "--run", "all.run"])
        links = {run: _links(place / f"{run}.run") for run in ("old", "new", "all")}
    unit = float(np.median(units + unit_seconds()))
    rows = np.concatenate([data.read_pairs(arguments.folder / name) for name in ("sup_pairs", "ref_pairs")])
    gold = {(data.source.entities[s], data.target.entities[t]) for s, t in rows.tolist()}
    print(f"unit {unit:.2f} s; {arguments.share:.0%} of the facts begin after {format_date(int(cut))}")
    print("run      seconds  processor   links  wrong  agrees (of the whole run's, of both together)")
    for name, (seconds, processor), key in (("before", old, "old"), ("update", update, "new"), ("whole", whole, "all")):
        both = links[key] & links["all"]
        agrees = f"{len(both) / len(links['all']):.4f}, {len(both) / len(links[key] | links['all']):.4f}"
        wrong = len(links[key] - gold)
        print(f"{name:8} {seconds:7.1f}  {processor:9.1f}  {len(links[key]):6,}  {wrong:5}  {agrees}")
    print(f"update : whole = {update[0] / whole[0]:.3f} of the seconds, {update[1] / whole[1]:.3f} of the processor's")


def _table(graph: TemporalGraph, rows: np.ndarray) -> pl.DataFrame:
    entities, relations = np.array(graph.entities, object), np.array(graph.relations, object)
    columns = {
        "head": entities[graph.head[rows]],
        "relation": relations[graph.relation[rows]],
        "tail": entities[graph.tail[rows]],
        "begin": [format_date(code) for code in graph.begin[rows].tolist()],
        "end": [format_date(code) for code in graph.end[rows].tolist()],
    }
    return pl.DataFrame({name: pl.Series(columns[name], dtype=pl.String) for name in COLUMNS})


def _called(place: Path, words: list[str]) -> tuple[float, float]:
    """The seconds a call tells, and those of the processor."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "dualmatch", *words, "-q"], check=True, cwd=place)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    record = json.loads((place / words[words.index("--run") + 1] / "links.tsv.run.json").read_text())
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return record["outcome"]["cost"]["seconds"]["total"], processor


def _links(run: Path) -> set[tuple[str, str]]:
    table = pl.read_csv(run / "links.tsv", separator="\t", infer_schema=False, quote_char=None)
    table = table.filter(pl.col("confidence").cast(pl.Float64) >= 0.5, pl.col("target").is_not_null())
    return set(table.select("source", "target").iter_rows())


if __name__ == "__main__":
    main()
