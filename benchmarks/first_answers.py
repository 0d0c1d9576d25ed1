"""The head of the review queue, where the truth is known: what is listed there, and what answering it gains.

python benchmarks/first_answers.py FOLDER [FOLDER ...] [--reviewed 200]
python benchmarks/first_answers.py --worlds 6

For the default queue, and for the order of 0.1.0 (what an answer teaches, whatever it costs): how often what is
proposed is right, or another candidate that is listed; how many of the proposals are wrong or not linked; and F1 after
an oracle has answered for the first entities and the graphs were aligned again, over all links, and over those of
entities that no order asked about. "By looking only" is F1 where the oracle answers as a person who looks at the page
and searches nowhere: where no candidate is right, it rejects all that are listed.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dualmatch.explain.basis import ExplanationBasis, basis_of
from dualmatch.graph.arrays import NO_PARTNER
from dualmatch.graph.model import TemporalGraph
from dualmatch.methods.align import align
from dualmatch.readers.benchmark_folder import read_folder
from dualmatch.review.pair_view import candidates_of
from dualmatch.review.queue import Queue, Tab, queue_of, waiting
from queue_orders import world


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="*")
    parser.add_argument("--worlds", type=int, default=0, help="simulated worlds, as in queue_orders.py")
    parser.add_argument("--reviewed", type=int, default=200)
    parser.add_argument("--look-only", action="store_true", help="do not align again")
    asked = parser.parse_args()
    for name, source, target, gold in data_sets(asked.folders, asked.worlds):
        study = Study(source, target, dict(gold.tolist()))
        print(f"{name}: {len(gold):,} true pairs", flush=True)
        for line in study.lines(asked.reviewed, asked.look_only):
            print(f"  {line}", flush=True)


def data_sets(folders: list[Path], worlds: int) -> Iterator[tuple[str, TemporalGraph, TemporalGraph, np.ndarray]]:
    for folder in folders:
        data = read_folder(folder)
        gold = np.concatenate([data.read_pairs(folder / part) for part in ("sup_pairs", "ref_pairs")])
        yield folder.name, data.source, data.target, gold
    for seed in range(worlds):
        pair = world(seed)
        yield f"world {seed}", pair.source, pair.target, pair.gold


@dataclass(frozen=True, eq=False)
class Study:
    source: TemporalGraph
    target: TemporalGraph
    partner: dict[int, int]

    def lines(self, reviewed: int, look_only: bool) -> Iterator[str]:
        basis = basis_of(align(self.source, self.target))
        chosen = {name: order[:reviewed].tolist() for name, order in orders(queue_of(basis)).items()}
        asked = {source for rows in chosen.values() for source in rows}
        pairs = basis.pairs.tolist()
        yield f"before: F1 {self.f1(pairs):.3f}, of the others {self.f1(pairs, asked):.3f}; {len(pairs):,} links"
        for name, rows in chosen.items():
            yield f"{name}: {self.head(basis, rows)}"
            if look_only:
                continue
            known, seen = self.again(rows), self.again(rows, basis)
            others = self.f1(known, asked)
            yield f"  F1 {self.f1(known):.3f}, of the others {others:.3f}; by looking only {self.f1(seen):.3f}"

    def head(self, basis: ExplanationBasis, rows: list[int]) -> str:
        queue = queue_of(basis)
        proposed = [self.partner.get(row) == int(queue.proposed[row]) for row in rows]
        listed = [self.partner.get(row) in {each.row for each in candidates_of(basis, row)} for row in rows]
        right = np.mean([one or other for one, other in zip(proposed, listed, strict=True)])
        missing = np.mean([not (right and queue.linked[row]) for right, row in zip(proposed, rows, strict=True)])
        alone = np.mean([row not in self.partner for row in rows])
        return (
            f"{len(rows)} entities, proposal or a candidate right {right:.1%} (proposal {np.mean(proposed):.1%}), no "
            f"partner {alone:.1%}; proposals wrong or not linked {missing:.1%}"
        )

    def again(self, rows: list[int], looked_at: ExplanationBasis | None = None) -> list[list[int]]:
        """Links after answers about some entities; of a person who only looks at what is listed, or who knows all."""
        seeds, forbidden = [], []
        for row in rows:
            true = self.partner.get(row)
            candidates = None if looked_at is None else {each.row for each in candidates_of(looked_at, row)}
            if true is not None and (candidates is None or true in candidates):
                seeds.append((row, true))
            elif true is None:
                forbidden.append((row, NO_PARTNER))
            else:
                forbidden += [(row, each) for each in candidates or ()]
        answers = np.array(forbidden, dtype=np.int64).reshape(-1, 2)
        return align(
            self.source, self.target, np.array(seeds, dtype=np.int64).reshape(-1, 2), forbid=answers
        ).pairs.tolist()

    def f1(self, pairs: list[list[int]], apart_from: set[int] | None = None) -> float:
        """In percent; without some source entities."""
        left = apart_from or set()
        links = [(source, target) for source, target in pairs if source not in left]
        right = sum(self.partner.get(source) == target for source, target in links)
        true = sum(source not in left for source in self.partner)
        return 100 * 2 * right / (len(links) + true)


def orders(queue: Queue) -> dict[str, np.ndarray]:
    """Source rows in the order of each way to ask."""
    return {
        "the queue": queue.tabs[Tab.DOUBTFUL],
        "order of 0.1.0": np.argsort(-taught(queue), kind="stable"),
    }


def taught(queue: Queue) -> np.ndarray:
    """What 0.1.0 ordered by: doubt, full for whatever has no link and no likely candidate, times open neighbours."""
    chance, basis = queue.probability, queue.basis
    middling = 4 * chance * (1 - chance)
    doubt = np.where(queue.linked, middling, np.maximum(middling, 1 - chance))
    settled = np.zeros(basis.target.n_entities)
    np.maximum.at(settled, basis.pairs[:, 1], basis.confidence)
    here, there = waiting(basis.source, 1 - chance)[0], waiting(basis.target, 1 - settled)[0]
    return doubt * np.where(queue.proposed >= 0, np.minimum(here, there[queue.proposed]), 0.0)


if __name__ == "__main__":
    main()
