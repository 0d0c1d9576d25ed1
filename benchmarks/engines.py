"""Pairs of graphs in one thread, in all threads, with arrays in files, and on a local Dask cluster: the same bytes.

    python benchmarks/engines.py FOLDER … [--workers 2] [--seeds sup_pairs]

Each run is a process of its own, called as a user would; seconds are from reading to the result, the start of Python
and of the cluster left out of the first and counted in the second figure. Arrays are kept in files by a memory limit of
half of what the run is expected to take.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from dualmatch.config import Config
from dualmatch.methods.resources import expected_bytes, least_bytes
from dualmatch.readers.benchmark_folder import read_folder

FILES = ("links.tsv", "relations.tsv", "links.tsv.why.npz")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seeds", help="file of known pairs in each folder; graphs without dates need some")
    asked = parser.parse_args()
    print("data                engine        seconds  with its start     links  files that differ from the first")
    for folder in asked.folders:
        calls = {
            "one thread": ["--threads", "1"],
            "all threads": [],
            "in files": ["--memory-limit", str(low_limit(folder))],
            "dask": ["--engine", "dask", "--workers", str(asked.workers)],
        }
        seeds = [] if asked.seeds is None else ["--seeds", asked.seeds]
        compare(folder, {name: [*options, *seeds] for name, options in calls.items()})


def low_limit(folder: Path) -> int:
    """Bytes that are not enough to keep everything in memory."""
    graphs = read_folder(folder)
    given = graphs.source, graphs.target
    return int(max(0.5 * expected_bytes(*given), 1.05 * least_bytes(*given, Config())))


def compare(folder: Path, calls: dict[str, list[str]]) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        expected: dict[str, bytes] = {}
        for name, options in calls.items():
            place = Path(temporary) / name.replace(" ", "-")
            place.mkdir()
            files = ["-o", str(place / FILES[0]), "--relations", str(place / FILES[1])]
            start = time.perf_counter()
            command = [sys.executable, "-m", "dualmatch", "align", str(folder), *files, *options, "-q"]
            subprocess.run(command, check=True)
            whole = time.perf_counter() - start
            record = json.loads((place / "links.tsv.run.json").read_text())
            found = {file: (place / file).read_bytes() for file in FILES}
            expected = expected or found
            other = [file for file in FILES if found[file] != expected[file]]
            seconds, n_links = record["outcome"]["cost"]["seconds"]["total"], found[FILES[0]].count(b"\n") - 1
            print(
                f"{folder.name:18}  {name:12} {seconds:7.1f}  {whole:14.1f}  {n_links:8,}  {', '.join(other) or '-'}",
                flush=True,
            )


if __name__ == "__main__":
    main()
