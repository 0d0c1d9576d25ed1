"""Method `evidence` on simulated worlds: sparse to dense, 5 to 95 % of the facts shared, up to half of them alone.

python benchmarks/evidence_worlds.py [--entities 1000] [--seeds 0,1,2]
"""

import argparse

import numpy as np

from dualmatch import align, evaluate
from dualmatch.simulate import World, simulate

# Facts an entity, share of the facts in common, share of the entities without a partner.
WORLDS = (
    (5, 0.05, 0.1),
    (5, 0.3, 0.1),
    (5, 0.5, 0.1),
    (5, 0.5, 0.3),
    (5, 0.9, 0.1),
    (10, 0.2, 0.3),
    (20, 0.05, 0.1),
    (20, 0.5, 0.5),
    (20, 0.5, 0.0),
    (20, 0.95, 0.0),
    (60, 0.05, 0.3),
    (60, 0.5, 0.1),
    (60, 0.5, 0.5),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entities", type=int, default=1000)
    parser.add_argument("--seeds", default="0,1,2")
    arguments = parser.parse_args()
    seeds = [int(seed) for seed in arguments.seeds.split(",")]
    print("means over seeds; alone: share without a partner, and what the run made of it")
    print("facts  common  alone  estimate    H@1  precision  recall     F1    ECE  pairs")
    for facts, common, alone in WORLDS:
        rows = np.array([_measured(facts, common, alone, arguments.entities, seed) for seed in seeds])
        estimate, h1, precision, recall, f1, ece, pairs = np.nanmean(rows, axis=0)
        shares = f"{precision:9.3f}  {recall:6.3f}  {f1:5.3f}  {ece:5.3f}"
        print(f"{facts:5}  {common:6}  {alone:5}  {estimate:8.2f}  {h1:5.1f}  {shares}  {pairs:5.0f}", flush=True)


def _measured(facts: float, common: float, alone: float, entities: int, seed: int) -> list[float]:
    world = World(
        entities=entities,
        mean_facts=facts,
        common_share=common,
        unmatched_source=alone,
        unmatched_target=alone,
        seed=seed,
    )
    pair = simulate(world)
    alignment = align(pair.source, pair.target, method="evidence")
    found = evaluate(alignment, pair.gold)
    links, rounds = found.abstention, alignment.rounds or ()
    values = (links.precision, links.recall, links.f1, found.calibration.ece)
    estimate = rounds[-1].without_partner if rounds else None
    numbers = [np.nan if value is None else value for value in (estimate, found.open["all"].h1, *values)]
    return [*numbers, float(len(alignment.pairs))]


if __name__ == "__main__":
    main()
