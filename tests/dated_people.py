"""Planted worlds of people known by their dates of birth and death only."""

from dataclasses import dataclass

import numpy as np

from dualmatch import Alignment, TemporalGraph

FIRST, LAST = 1750, 1950
Row = tuple[str, str, str | None, str]


@dataclass(frozen=True)
class People:
    """Two sides, the true pairs by name, and those of them that share a date known to the day."""

    source: TemporalGraph
    target: TemporalGraph
    gold: dict[str, str]
    findable: set[str]
    rows: tuple[list[Row], list[Row]]


def people(
    shared: int = 350,
    alone: int = 150,
    wrong: float = 0.1,
    missing: float = 0.0,
    years_only: float = 0.2,
    seed: int = 0,
) -> People:
    """Dates go wrong and missing on either side; `years_only` is a share of the target's."""
    rng = np.random.default_rng(seed)
    start, days = np.datetime64(f"{FIRST}-01-01"), 365 * (LAST - FIRST)
    rows: tuple[list[Row], list[Row]] = ([], [])
    gold, findable = {}, set()
    numbers = rng.permutation(10**6)[: 2 * (shared + 2 * alone)].reshape(2, -1)
    for at in range(shared + 2 * alone):
        born = start + rng.integers(days)
        true = born, born + rng.integers(365 * 20, 365 * 90)
        names = f"person {numbers[0][at]}", f"Q{numbers[1][at]}"
        sides = (0, 1) if at < shared else (at % 2,)
        said: list[list[str | None]] = [[None, None], [None, None]]
        for side in sides:
            for field, (relation, date) in enumerate(
                zip((("born", "died"), ("P569", "P570"))[side], true, strict=True)
            ):
                if rng.random() < missing:
                    continue
                text = str(start + rng.integers(days) if rng.random() < wrong else date)
                text = text[:4] if side == 1 and rng.random() < years_only else text
                said[side][field] = text
                rows[side].append((names[side], relation, None, text))
        if at < shared:
            gold[names[0]] = names[1]
            if any(one is not None and one == other for one, other in zip(*said, strict=True)):
                findable.add(names[0])
    for side in (0, 1):
        rng.shuffle(rows[side])  # type: ignore[arg-type]
    graphs = [TemporalGraph.from_facts(rows[side], name) for side, name in enumerate(("source", "target"))]
    return People(graphs[0], graphs[1], gold, findable, rows)


def links(alignment: Alignment) -> dict[str, str]:
    return {source: target for source, target, _ in alignment.links()}
