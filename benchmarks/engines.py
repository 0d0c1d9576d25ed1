"""One pair of graphs in one thread, in all threads and on a local Dask cluster: the same bytes, and what each takes.

    python benchmarks/engines.py FOLDER [--workers 2]

Each run is a process of its own, called as a user would; seconds are from reading to the result, the start of Python
and of the cluster left out of the first and counted in the second figure.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FILES = ("links.tsv", "relations.tsv", "links.tsv.why.npz")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args()
    calls = {
        "one thread": ["--threads", "1"],
        "all threads": [],
        "dask": ["--engine", "dask", "--workers", str(asked.workers)],
    }
    print("engine        seconds  with its start  files that differ from those of one thread")
    with tempfile.TemporaryDirectory() as temporary:
        expected: dict[str, bytes] = {}
        for name, options in calls.items():
            place = Path(temporary) / name.replace(" ", "-")
            place.mkdir()
            files = ["-o", str(place / FILES[0]), "--relations", str(place / FILES[1])]
            start = time.perf_counter()
            command = [sys.executable, "-m", "dualmatch", "align", str(asked.folder), *files, *options, "-q"]
            subprocess.run(command, check=True)
            whole = time.perf_counter() - start
            record = json.loads((place / "links.tsv.run.json").read_text())
            found = {file: (place / file).read_bytes() for file in FILES}
            expected = expected or found
            other = [file for file in FILES if found[file] != expected[file]]
            seconds = record["outcome"]["cost"]["seconds"]["total"]
            print(f"{name:12}  {seconds:7.1f}  {whole:14.1f}  {', '.join(other) or 'none'}", flush=True)


if __name__ == "__main__":
    main()
