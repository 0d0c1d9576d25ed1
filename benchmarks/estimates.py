"""The memory that is estimated before a run of method evidence, against its actual peak.

    python benchmarks/estimates.py [FOLDER …]

Benchmark folders or, without any, worlds that the calculation was not fitted to: few and many facts, intervals, years.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from dualmatch.methods.resources import expected_bytes
from dualmatch.readers.benchmark_folder import read_folder
from dualmatch.simulate import World, simulate, write_folder

WORLDS = {
    "3,000 entities, 60 facts each": World(entities=3000, mean_facts=60),
    "20,000 entities, 5 facts each": World(entities=20_000, mean_facts=5),
    "20,000 entities, 8 facts each, half of them intervals": World(entities=20_000, mean_facts=8, point_share=0.5),
    "30,000 entities, 10 facts each, years only": World(entities=30_000, mean_facts=10, year_only_share=1.0),
    "40,000 entities, 20 facts each, a fifth in common": World(entities=40_000, mean_facts=20, common_share=0.2),
}


def main() -> None:
    print("expected MiB  peak MiB  ratio  graphs")
    for folder in sys.argv[1:]:
        _measure(Path(folder), Path(folder).name)
    with tempfile.TemporaryDirectory() as temporary:
        for number, (words, world) in enumerate(() if sys.argv[1:] else WORLDS.items()):
            _measure(write_folder(simulate(world), Path(temporary) / str(number)), words)


def _measure(folder: Path, words: str) -> None:
    data = read_folder(folder)
    expected = expected_bytes(data.source, data.target) / 2**20
    command = [sys.executable, "-m", "dualmatch", "benchmark", str(folder), "-q", "--json", "-"]
    peak = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["peak_mb"]
    print(f"{expected:12,.0f}  {peak:8,.0f}  {expected / peak:5.2f}  {words}", flush=True)


if __name__ == "__main__":
    main()
