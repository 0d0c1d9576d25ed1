"""What reviewing teaches: an oracle answers from gold, for pairs of the queue and for random ones.

python benchmarks/oracle.py FOLDER [--reviewed 200] [--step 50] [--random 3]

After every step, the graphs are aligned again with the answers as seeds and forbidden entities, and the queue is made
anew. Open H@1 is measured only on true pairs that were given in no arm.
"""

import argparse
from pathlib import Path

import numpy as np

from dualmatch.evaluate import ranking
from dualmatch.explain.basis import basis_of
from dualmatch.graph.arrays import NO_PARTNER
from dualmatch.graph.model import TemporalGraph
from dualmatch.methods.align import align
from dualmatch.methods.alignment import Alignment
from dualmatch.readers.benchmark_folder import read_folder
from dualmatch.review.queue import queue_of

Arm = list[tuple[list[int], Alignment]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--reviewed", type=int, default=200)
    parser.add_argument("--step", type=int, default=50)
    parser.add_argument("--random", type=int, default=3, help="random arms, each with its own seed")
    asked = parser.parse_args()
    data = read_folder(asked.folder)
    gold = np.concatenate([data.read_pairs(asked.folder / part) for part in ("sup_pairs", "ref_pairs")])
    first = align(data.source, data.target)
    oracle = Oracle(data.source, data.target, gold)
    steps = range(asked.step, asked.reviewed + 1, asked.step)
    arms: dict[str, Arm] = {"queue": oracle.by_queue(first, steps)}
    for seed in range(asked.random):
        arms[f"random {seed}"] = oracle.at_random(first, steps, np.random.default_rng(seed))
    given = np.unique([source for arm in arms.values() for reviewed, _ in arm for source in reviewed])
    tested = gold[~np.isin(gold[:, 0], given)]
    print(f"{asked.folder.name}: {len(tested):,} of {len(gold):,} true pairs were given in no arm; open H@1 on them:")
    print(f"  reviewed 0: {_h1(first, tested):.3f}")
    for name, arm in arms.items():
        points = [f"{len(reviewed)}: {_h1(alignment, tested):.3f}" for reviewed, alignment in arm]
        new = len(np.setdiff1d(arm[-1][0], first.pairs[_right(first, gold), 0]))
        print(f"  {name}: {', '.join(points)} ({new} of the reviewed were not linked rightly before)")


class Oracle:
    """Answers from gold: the true partner, or that there is none."""

    def __init__(self, source: TemporalGraph, target: TemporalGraph, gold: np.ndarray) -> None:
        self.source, self.target = source, target
        self.partner = dict(gold.tolist())

    def by_queue(self, alignment: Alignment, steps: range) -> Arm:
        reviewed: list[int] = []
        arm: Arm = []
        for size in steps:
            order = queue_of(basis_of(alignment)).order
            fresh = order[~np.isin(order, reviewed)]
            reviewed = [*reviewed, *fresh[: size - len(reviewed)].tolist()]
            alignment = self._again(reviewed)
            arm.append((reviewed, alignment))
        return arm

    def at_random(self, alignment: Alignment, steps: range, rng: np.random.Generator) -> Arm:
        order = rng.permutation(alignment.source.n_entities)[: steps[-1]].tolist()
        return [(order[:size], self._again(order[:size])) for size in steps[-1:]]

    def _again(self, reviewed: list[int]) -> Alignment:
        seeds = [(source, self.partner[source]) for source in reviewed if source in self.partner]
        alone = [(source, NO_PARTNER) for source in reviewed if source not in self.partner]
        return align(self.source, self.target, np.array(seeds), forbid=np.array(alone, dtype=np.int64).reshape(-1, 2))


def _right(alignment: Alignment, gold: np.ndarray) -> np.ndarray:
    true = set(map(tuple, gold.tolist()))
    return np.array([tuple(pair) in true for pair in alignment.pairs.tolist()], dtype=bool)


def _h1(alignment: Alignment, tested: np.ndarray) -> float:
    return ranking(alignment.plan.ranks(tested)[0]).h1


if __name__ == "__main__":
    main()
