"""What the pairs are that method `evidence` does not rank first: who could get them?

python benchmarks/errors.py FOLDER [FOLDER …]
"""

import argparse
from pathlib import Path

import numpy as np

from dualmatch.methods.evidence import MORE_LIKELY_THAN_NOT, align_by_evidence
from dualmatch.methods.evidence.problem import Problem
from dualmatch.readers.benchmark_folder import read_folder
from dualmatch.report.against_gold import CAUSES, cause_of


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    for folder in parser.parse_args().folders:
        data = read_folder(folder)
        gold = np.concatenate([data.read_pairs(folder / part) for part in ("sup_pairs", "ref_pairs")])
        evidence = align_by_evidence(Problem.of(data.source, data.target))
        rank, _ = evidence.plan.ranks(gold)
        print(f"{folder.name}: {(rank > 1).sum():,} of {len(gold):,} pairs are not ranked first")
        pairs, confidence = evidence.pairs
        cause = cause_of(data.source, data.target, gold, pairs[confidence > MORE_LIKELY_THAN_NOT])
        for number, words in enumerate(CAUSES):
            chosen = cause == number
            missed = chosen & (rank > 1)
            near = int((rank[missed] <= 10).sum())
            print(f"  {missed.sum():6,}  {words} (of {chosen.sum():,} such pairs; {near:,} in the first ten)")


if __name__ == "__main__":
    main()
