"""How a run grows with the graphs: method `evidence` on the fixed world of 10⁴, 10⁵ and 10⁶ entities a side.

    python benchmarks/growth.py 10000 100000 [1000000]

For each size: the seconds of reading a benchmark folder, of the whole run (reading, aligning, writing the links), the
machine's unit, the peak of memory, F1 against the planted truth, and the exponent from one size to the next.
Each run is a process of its own, called as a user would.
"""

import argparse
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

from dualmatch.simulate import scale_world, simulate, write_folder

MEASURE = """
import sys, time
start = time.perf_counter()
from dualmatch.readers.benchmark_folder import read_folder
read_folder(sys.argv[1])
print(time.perf_counter() - start)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", nargs="+", type=int)
    parser.add_argument("--folder", type=Path, help="where to put the worlds (default: a temporary folder)")
    arguments = parser.parse_args()
    print("entities a side  facts a side   read s  whole s  unit s   units  read:whole  peak GB     F1  exponent")
    with tempfile.TemporaryDirectory() as temporary:
        before: tuple[int, float] | None = None
        for size in arguments.sizes:
            before = _measured(size, (arguments.folder or Path(temporary)) / f"world{size}", before)


def _measured(size: int, folder: Path, before: tuple[int, float] | None) -> tuple[int, float]:
    if not folder.exists():
        write_folder(simulate(scale_world(size)), folder)
    read = float(_output([sys.executable, "-c", MEASURE, str(folder)]))
    result = json.loads(_output([sys.executable, "-m", "dualmatch", "benchmark", str(folder), "-q", "--json", "-"]))
    whole, unit = result["seconds"]["total"], result["unit_seconds"]
    facts = sum(1 for _ in (folder / "triples_1").open())
    exponent = "" if before is None else f"{math.log(whole / before[1]) / math.log(size / before[0]):.2f}"
    print(
        f"{size:15,}  {facts:12,}  {read:7.1f}  {whole:7.1f}  {unit:6.2f}  {whole / unit:6.0f}  {whole / read:9.1f}x  "
        f"{result['peak_mb'] / 1e3:7.2f}  {result['abstention']['f1']:.3f}  {exponent:>8}",
        flush=True,
    )
    return size, whole


def _output(command: list[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    main()
