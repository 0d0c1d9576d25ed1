"""Method `evidence` with labels on simulated worlds: few or more facts, names that recur, labels with slips.

python benchmarks/labels.py [--entities 1000]
"""

import argparse

import numpy as np

from dualmatch import Literals, align, evaluate
from dualmatch.simulate import SimulatedPair, World, simulate

SYLLABLES = ("an", "be", "dor", "el", "fa", "gri", "ho", "is", "ka", "lo", "mi", "ra", "so", "tu", "ver", "wen")
# Facts an entity, share of the facts in common, distinct names, share of labels with a slip.
WORLDS = (
    (2, 0.8, 18_000, 0.0),
    (2, 0.8, 18_000, 0.3),
    (2, 0.8, 18_000, 0.8),
    (6, 0.5, 18_000, 0.3),
    (6, 0.5, 400, 0.3),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entities", type=int, default=1000)
    entities = parser.parse_args().entities
    print("facts  common   names  slips  without: precision  recall  with labels: precision  recall")
    for facts, common, names, slips in WORLDS:
        world = World(
            entities=entities,
            mean_facts=facts,
            common_share=common,
            min_facts=1,
            missing_share=0.3,
            year_only_share=0.5,
            seed=1,
        )
        pair = simulate(world)
        shares = []
        for literals in (None, labels(pair, names, slips, np.random.default_rng(2))):
            alignment = align(pair.source, pair.target, method="evidence", literals=literals)
            links = evaluate(alignment, pair.gold).abstention
            shares += [np.nan if links.precision is None else links.precision, links.recall]
        figures = "{:18.3f}  {:6.3f}  {:22.3f}  {:6.3f}".format(*shares)
        print(f"{facts:5}  {common:6}  {names:6}  {slips:5}  {figures}", flush=True)


def labels(pair: SimulatedPair, distinct: int, slips: float, rng: np.random.Generator) -> tuple[Literals, Literals]:
    """Labels of both graphs: partners have the same, but for case and slips."""
    size = int(np.sqrt(distinct))
    parts = [["".join(rng.choice(SYLLABLES, length)) for _ in range(size)] for length in (2, 3)]
    source, target = (
        [" ".join(str(rng.choice(part)) for part in parts) for _ in graph.entities]
        for graph in (pair.source, pair.target)
    )
    for s, t in pair.gold.tolist():
        target[t] = slipped(source[s], rng) if rng.random() < slips else source[s].upper()
    return (
        Literals.of_labels(dict(zip(pair.source.entities, source, strict=True)), pair.source),
        Literals.of_labels(dict(zip(pair.target.entities, target, strict=True)), pair.target),
    )


def slipped(text: str, rng: np.random.Generator) -> str:
    """One character changed or left out."""
    place = int(rng.integers(1, len(text) - 1))
    return text[:place] + ("" if rng.random() < 0.5 else str(rng.choice([*"abcdefgh"]))) + text[place + 1 :]


if __name__ == "__main__":
    main()
