"""Orders of the review queue on simulated worlds, where the truth is planted: what 100 answers at once teach.

python benchmarks/queue_orders.py [--worlds 6] [--reviewed 100]

For each order an oracle answers for the first entities, the graphs are aligned again, and open H@1 is measured on the
pairs that were given in no order. No real data is looked at.
"""

from __future__ import annotations

import argparse

import numpy as np

from dualmatch.evaluate import ranking
from dualmatch.explain.basis import ExplanationBasis, basis_of
from dualmatch.graph.arrays import NO_PARTNER
from dualmatch.graph.model import TemporalGraph
from dualmatch.methods.align import align
from dualmatch.methods.alignment import Alignment
from dualmatch.review.queue import queue_of
from dualmatch.simulate import SimulatedPair, World, simulate


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=6)
    parser.add_argument("--reviewed", type=int, default=100)
    asked = parser.parse_args()
    gains: dict[str, list[float]] = {}
    for seed in range(asked.worlds):
        for name, gain in compare(world(seed), asked.reviewed, seed).items():
            gains.setdefault(name, []).append(gain)
    for name, each in gains.items():
        print(f"{name}: mean {np.mean(each):+.2f} points ({', '.join(f'{gain:+.2f}' for gain in each)})", flush=True)


def world(seed: int) -> SimulatedPair:
    """Few facts, half of them dated, half in common, with hubs: two thirds are found without help."""
    facts = {"mean_facts": 3, "min_facts": 1, "common_share": 0.5, "undated_share": 0.5, "degree_skew": 0.8}
    return simulate(World(entities=2000, seed=100 + seed, **facts))


def compare(pair: SimulatedPair, reviewed: int, seed: int) -> dict[str, float]:
    first = align(pair.source, pair.target)
    chosen = {name: order[:reviewed] for name, order in orders(basis_of(first), seed).items()}
    given = np.unique(np.concatenate(list(chosen.values())))
    tested = pair.gold[~np.isin(pair.gold[:, 0], given)]
    before = _h1(first, tested)
    print(f"world {seed}: {before:.2f} on {len(tested):,} pairs before", flush=True)
    return {name: _h1(answered(pair, rows), tested) - before for name, rows in chosen.items()}


def orders(basis: ExplanationBasis, seed: int) -> dict[str, np.ndarray]:
    """Source rows, by the queue and by what else it could be."""
    queue = queue_of(basis)
    middling = 4 * queue.probability * (1 - queue.probability)
    doubt = np.where(queue.linked, middling, np.maximum(middling, 1.0 - queue.probability))
    settled = np.zeros(basis.target.n_entities)
    np.maximum.at(settled, basis.pairs[:, 1], basis.confidence)
    here, there = waiting(basis.source, 1 - queue.probability), waiting(basis.target, 1 - settled)
    both = np.where(queue.proposed >= 0, np.minimum(here, there[queue.proposed]), 0.0)
    scores = {
        "doubt × open neighbours, source only": doubt * here,
        "doubt × open neighbours, the smaller of both sides": doubt * both,
        "doubt alone": doubt,
        "open neighbours alone": here,
    }
    rng = np.random.default_rng(seed)
    return {
        "the queue": queue.order,
        **{name: np.argsort(-score, kind="stable") for name, score in scores.items()},
        "random": rng.permutation(len(doubt)),
        "random again": rng.permutation(len(doubt)),
    }


def waiting(graph: TemporalGraph, open_share: np.ndarray) -> np.ndarray:
    """How many neighbours of each entity are open, each counted by how open it is."""
    both = np.stack([np.concatenate([graph.head, graph.tail]), np.concatenate([graph.tail, graph.head])])
    ends = np.unique(both, axis=1)
    return np.bincount(ends[0], open_share[ends[1]], minlength=graph.n_entities)


def answered(pair: SimulatedPair, rows: np.ndarray) -> Alignment:
    partner = dict(pair.gold.tolist())
    seeds = [(row, partner[row]) for row in rows.tolist() if row in partner]
    alone = [(row, NO_PARTNER) for row in rows.tolist() if row not in partner]
    return align(pair.source, pair.target, np.array(seeds), forbid=np.array(alone, dtype=np.int64).reshape(-1, 2))


def _h1(alignment: Alignment, tested: np.ndarray) -> float:
    return ranking(alignment.plan.ranks(tested)[0]).h1


if __name__ == "__main__":
    main()
