"""Which distance should choose α? Regret of D and of its terms on simulated worlds, where no test pair is spent.

    python benchmarks/alpha_rules.py

Regret: H@1 (open) at the best α less H@1 at the α the rule chooses.
"""

import numpy as np

from dualmatch import Config
from dualmatch.channels.relational import relational_similarity
from dualmatch.channels.temporal import temporal_similarity
from dualmatch.decode.assignment import mutual_best
from dualmatch.decode.fusion import decode
from dualmatch.decode.graph_matching import Distance, matching_problem
from dualmatch.decode.similarity import hold
from dualmatch.decode.sinkhorn import kernel_of, sinkhorn
from dualmatch.simulate import SimulatedPair, World, simulate

LIMIT = 2**31
SIZE = {"entities": 1200, "relations_source": 40, "relations_target": 30}
YEARS = {"year_only_share": 1.0}
WORLDS = [
    World(**SIZE, seed=0, mean_facts=8, common_share=0.5),
    World(**SIZE, seed=1, mean_facts=8, common_share=0.5, years=60, **YEARS, undated_share=0.3, point_share=0.5),
    World(
        **SIZE, seed=2, mean_facts=12, common_share=0.4, years=100, **YEARS,
        undated_share=0.4, point_share=0.3, half_known_share=0.3,
    ),
    World(**SIZE, seed=3, mean_facts=6, common_share=0.7, month_only_share=1.0),
    World(**SIZE, seed=4, mean_facts=20, common_share=0.3, years=5, wrong_share=0.1),
]  # fmt: skip
RULES = {
    "D": lambda distance: distance.total,
    "relational term": lambda distance: distance.relational,
    "temporal term": lambda distance: distance.temporal,
}


def main() -> None:
    regrets: dict[str, list[float]] = {rule: [] for rule in RULES}
    for number, world in enumerate(WORLDS):
        pair = simulate(world)
        for n_seeds in (0, 20, 120):
            hits, distances = curve(pair, n_seeds)
            for rule, term in RULES.items():
                chosen = min(distances, key=lambda alpha, term=term: term(distances[alpha]))
                regrets[rule].append(max(hits.values()) - hits[chosen])
            words = ", ".join(f"{rule} {values[-1]:.2f}" for rule, values in regrets.items())
            print(f"world {number}, {n_seeds:3} seeds: best H@1 {max(hits.values()):.2f}; regret {words}", flush=True)
    print("mean regret:", {rule: round(float(np.mean(values)), 3) for rule, values in regrets.items()})


def curve(pair: SimulatedPair, n_seeds: int) -> tuple[dict[float, float], dict[float, Distance]]:
    """H@1 and D at each α."""
    config = Config(method="dualmatch", dimension=64)
    temporal = hold(temporal_similarity(pair.source, pair.target, memory_limit=LIMIT), LIMIT)
    kernel = kernel_of(temporal, config.sharpness, LIMIT)
    found = mutual_best(sinkhorn(kernel).best(), sinkhorn(kernel, first="columns").best()).pairs
    seeds = pair.gold[:n_seeds] if n_seeds else found
    trained = relational_similarity(pair.source, pair.target, seeds, config, pseudo=n_seeds == 0)
    relational = hold(trained, LIMIT)
    problem = matching_problem(pair.source, pair.target, seeds)
    hits, distances = {}, {}
    for alpha in config.alphas:
        decoded = decode(temporal, relational, problem, [alpha], memory_limit=LIMIT)
        ranks, _ = decoded.plan.ranks(pair.gold[n_seeds:])
        hits[alpha], distances[alpha] = 100 * float((ranks <= 1).mean()), decoded.distances[alpha]
    return hits, distances


if __name__ == "__main__":
    main()
