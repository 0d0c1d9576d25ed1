"""Worlds of another kind than `World` draws: no hubs, no fame, every fact as likely as every other."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from dualmatch.graph.arrays import Pairs
from dualmatch.graph.model import TemporalGraph

_RELATIONS: Final = 6
_FACTS_AN_ENTITY: Final = 4
_DAYS: Final = 60 * 365


class UniformPair(NamedTuple):
    """Two views of one uniform history; `gold` holds (n, 2) rows source → target of the entities both know."""

    source: TemporalGraph
    target: TemporalGraph
    gold: Pairs


def uniform_world(entities: int, known_share: float, seed: int = 0) -> UniformPair:
    """Heads, tails, six relations and days of sixty years drawn evenly, four facts an entity.

    Parameters
    ----------
    known_share:
        Share of the facts that each side knows, drawn for each side by itself. A tenth of the entities are known to
        one side only, and another tenth to the other.

    Examples
    --------
    >>> pair = uniform_world(60, 0.8)
    >>> {pair.source.entities[s][1:] == pair.target.entities[t][1:] for s, t in pair.gold}
    {True}
    """
    rng = np.random.default_rng(seed)
    n_facts = _FACTS_AN_ENTITY * entities
    head, relation, tail = (rng.integers(0, size, n_facts) for size in (entities, _RELATIONS, entities))
    day = np.datetime64("1950-01-01") + rng.integers(0, _DAYS, n_facts)
    tenth = entities // 10
    graphs = []
    for side, low, high in (("s", tenth, entities), ("t", 0, entities - tenth)):
        inside = (np.minimum(head, tail) >= low) & (np.maximum(head, tail) < high)
        known = np.flatnonzero((rng.random(n_facts) < known_share) & inside)
        columns = (column[known].tolist() for column in (head, relation, tail))
        facts = zip(*columns, day[known].astype(str).tolist(), strict=True)
        graphs.append(TemporalGraph.from_facts((f"{side}{h}", f"{side}r{r}", f"{side}{t}", d) for h, r, t, d in facts))
    row = {name[1:]: number for number, name in enumerate(graphs[1].entities)}
    gold = [(number, row[name[1:]]) for number, name in enumerate(graphs[0].entities) if name[1:] in row]
    return UniformPair(graphs[0], graphs[1], np.array(gold, dtype=np.int32).reshape(-1, 2))
