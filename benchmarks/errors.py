"""What the pairs are that method `evidence` does not rank first: who could get them?

python benchmarks/errors.py FOLDER [FOLDER …]
"""

import argparse
from pathlib import Path

import numpy as np
from scipy import sparse

from dualmatch.evidence import Evidence, gather_evidence
from dualmatch.graph.model import TemporalGraph
from dualmatch.io.folder import read_folder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    for folder in parser.parse_args().folders:
        data = read_folder(folder)
        gold = np.concatenate([data.read_pairs(folder / part) for part in ("sup_pairs", "ref_pairs")])
        evidence = gather_evidence(data.source, data.target)
        rank, _ = evidence.plan.ranks(gold)
        print(f"{folder.name}: {(rank > 1).sum():,} of {len(gold):,} pairs are not ranked first")
        for words, chosen in _causes(data.source, data.target, gold, evidence).items():
            missed = chosen & (rank > 1)
            near = int((rank[missed] <= 10).sum())
            print(f"  {missed.sum():6,}  {words} (of {chosen.sum():,} such pairs; {near:,} in the first ten)")


def _causes(
    source: TemporalGraph, target: TemporalGraph, gold: np.ndarray, evidence: Evidence
) -> dict[str, np.ndarray]:
    """Each pair under the first that holds."""
    in_facts = source.is_in_a_fact[gold[:, 0]] & target.is_in_a_fact[gold[:, 1]]
    truth = sparse.csr_array((np.ones(len(gold)), (gold[:, 0], gold[:, 1])), (source.n_entities, target.n_entities))
    believed = evidence.beliefs.pairs[evidence.beliefs.confidence > 0.5]
    found = sparse.csr_array((np.ones(len(believed)), (believed[:, 0], believed[:, 1])), truth.shape)
    ours, theirs = _neighbours(source)[gold[:, 0]], _neighbours(target)[gold[:, 1]]
    shared = np.asarray((ours @ truth).multiply(theirs).sum(axis=1)).ravel()
    aligned = np.asarray((ours @ found.multiply(truth).tocsr()).multiply(theirs).sum(axis=1)).ravel()
    rest = in_facts & (shared > 0)
    return {
        "one of the two is in no fact": ~in_facts,
        "share no neighbour, were every other pair known": in_facts & (shared == 0),
        "share only neighbours that are not aligned": rest & (aligned == 0),
        "share an aligned neighbour": rest & (aligned > 0),
    }


def _neighbours(graph: TemporalGraph) -> sparse.csr_array:
    head, tail = np.concatenate([graph.head, graph.tail]), np.concatenate([graph.tail, graph.head])
    matrix = sparse.csr_array((np.ones(len(head)), (head, tail)), (graph.n_entities, graph.n_entities))
    matrix.sum_duplicates()
    matrix.data[:] = 1.0
    return matrix


if __name__ == "__main__":
    main()
