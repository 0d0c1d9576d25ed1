"""Shares of the processor's time that the parts of method evidence take.

python benchmarks/where_time_goes.py FOLDER
"""

import cProfile
import pstats
import sys
import time
from pathlib import Path

from dualmatch.methods.evidence import align_by_evidence
from dualmatch.methods.evidence.problem import Problem
from dualmatch.readers.benchmark_folder import read_folder

# Functions by module and name; what one calls within another of the list counts for both.
PARTS = {
    "searching candidates": ("candidates.py", "find_candidates"),
    "building tokens": ("tokens.py", "build"),
    "finding which pairs support each other": ("support.py", "find_support"),
    "weighing support": ("propagation.py", "evidence"),
    "matching one to one": ("one_to_one.py", "match"),
    "learning the model": ("learning.py", "learnt"),
    "the trial, its search and all included": ("confidence.py", "run_trial"),
}


def main() -> None:
    data = read_folder(Path(sys.argv[1]))
    profile = cProfile.Profile(time.process_time)
    profile.enable()
    evidence = align_by_evidence(Problem.of(data.source, data.target))
    profile.disable()
    rows = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    cumulative = {(Path(file).name, name): row[3] for (file, _, name), row in rows.items()}
    whole = cumulative["__init__.py", "align_by_evidence"]
    print(f"{len(evidence.rounds)} rounds, {whole:.1f} s of the processor's time (all threads)")
    for words, function in PARTS.items():
        print(f"{cumulative.get(function, 0.0) / whole:5.0%}  {words}")


if __name__ == "__main__":
    main()
