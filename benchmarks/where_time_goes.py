"""Shares of the processor's time that the parts of method evidence take.

python benchmarks/where_time_goes.py FOLDER
"""

import cProfile
import pstats
import sys
import time
from pathlib import Path

from dualmatch.evidence import gather_evidence
from dualmatch.io.folder import read_folder

# Functions by module and name; what one calls within another of the list counts for both.
PARTS = {
    "searching candidates": ("candidates.py", "find_candidates"),
    "building tokens": ("tokens.py", "build"),
    "balancing the plan of a round": ("rounds.py", "balanced"),
    "beliefs": ("belief.py", "believe"),
    "aligning relations": ("relations.py", "align_relations"),
    "context for rankings": ("context.py", "with_context"),
    "the placebo, its search and tokens included": ("placebo.py", "without_partners"),
}


def main() -> None:
    data = read_folder(Path(sys.argv[1]))
    profile = cProfile.Profile(time.process_time)
    profile.enable()
    evidence = gather_evidence(data.source, data.target)
    profile.disable()
    rows = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    cumulative = {(Path(file).name, name): row[3] for (file, _, name), row in rows.items()}
    whole = cumulative["evidence.py", "gather_evidence"]
    print(f"{len(evidence.rounds)} rounds, {whole:.1f} s of the processor's time (all threads)")
    for words, function in PARTS.items():
        print(f"{cumulative.get(function, 0.0) / whole:5.0%}  {words}")


if __name__ == "__main__":
    main()
