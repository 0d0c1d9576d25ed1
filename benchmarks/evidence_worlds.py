"""Method `evidence` on simulated worlds: sparse to dense, 5 to 95 % of the facts shared, up to half of them alone.

python benchmarks/evidence_worlds.py [--entities 1000] [--seeds 0,1,2] [--worlds hard|uniform]
"""

import argparse

import numpy as np

from dualmatch import TemporalGraph, align, evaluate
from dualmatch.simulate import World, simulate, uniform_world

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

# Few facts and many without a partner; little in common, or nothing at all. The first number: entities.
HARD_WORLDS = (
    (400, 4, 0.3, 0.3),
    (1500, 4, 0.3, 0.3),
    (1000, 10, 0.1, 0.1),
    (300, 10, 0.3, 0.5),
    (60, 8, 0.5, 0.2),
    (500, 5, 0.0, 0.1),
    (1000, 5, 0.0, 0.1),
    (2000, 8, 0.0, 0.3),
)

# Without hubs (`uniform_world`): entities, and the share of all facts that each side knows.
UNIFORM_WORLDS = tuple((entities, share) for share in (0.8, 0.5, 0.3, 0.2) for entities in (60, 150, 300))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entities", type=int, default=1000)
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--worlds", choices=("plain", "hard", "uniform"), default="plain")
    arguments = parser.parse_args()
    seeds = [int(seed) for seed in arguments.seeds.split(",")]
    print("means over seeds; alone: share without a partner, and what the run made of it; wrong: share of the links")
    print("entities  facts  common  alone  estimate    H@1  wrong  expected  recall    ECE  links")
    worlds = UNIFORM_WORLDS if arguments.worlds == "uniform" else HARD_WORLDS
    if arguments.worlds == "plain":
        worlds = tuple((arguments.entities, *world) for world in WORLDS)
    for world in worlds:
        pairs = (uniform_world(*world, seed) if len(world) == 2 else _simulated(*world, seed) for seed in seeds)
        rows = np.array([_measured(*pair) for pair in pairs])
        estimate, h1, wrong, expected, recall, ece, links = np.nanmean(rows, axis=0)
        shares = f"{wrong:5.3f}  {expected:8.3f}  {recall:6.3f}  {ece:5.3f}"
        entities, facts, common, alone = world if len(world) == 4 else (world[0], 4, world[1], 0.11)
        print(
            f"{entities:8}  {facts:5}  {common:6}  {alone:5}  {estimate:8.2f}  {h1:5.1f}  {shares}  {links:5.0f}",
            flush=True,
        )


Pair = tuple[TemporalGraph, TemporalGraph, np.ndarray]


def _simulated(entities: int, facts: float, common: float, alone: float, seed: int) -> Pair:
    world = World(
        entities=entities,
        mean_facts=facts,
        common_share=common,
        unmatched_source=alone,
        unmatched_target=alone,
        seed=seed,
    )
    pair = simulate(world)
    return pair.source, pair.target, pair.gold


def _measured(source: TemporalGraph, target: TemporalGraph, gold: np.ndarray) -> list[float]:
    alignment = align(source, target, method="evidence")
    found = evaluate(alignment, gold)
    links, rounds = found.abstention, alignment.rounds or ()
    wrong = None if links.precision is None else 1 - links.precision
    estimate = rounds[-1].without_partner if rounds else None
    values = (estimate, found.open["all"].h1, wrong, alignment.estimated_fdr, links.recall, found.calibration.ece)
    return [*(np.nan if value is None else value for value in values), float(len(alignment.pairs))]


if __name__ == "__main__":
    main()
