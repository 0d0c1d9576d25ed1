"""A planted pair of graphs, and the simplest one: a graph and its shuffled copy."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.random import Generator

from dualmatch.graph.arrays import Pairs
from dualmatch.graph.model import TemporalGraph
from dualmatch.simulate.history import draw_history, draw_vocabularies
from dualmatch.simulate.observer import draw_calendar, observe_dates, shuffled_rows, view
from dualmatch.simulate.world import World

logger = logging.getLogger(__name__)

_RELATIONS: Final = 6
_FACTS_AN_ENTITY: Final = 4
_DAYS: Final = 60 * 365


@dataclass(frozen=True, eq=False)
class SimulatedPair:
    """Two observers' graphs of one history, and the truth.

    Attributes
    ----------
    gold: (n, 2) int32
        Rows source → target of every entity both know, in random order.
    relation_gold: (m, 3) int32
        True relation pairs: source row, target row, 1 where the target's runs the other way.
    """

    source: TemporalGraph
    target: TemporalGraph
    gold: Pairs
    relation_gold: Pairs
    world: World

    @property
    def n_seeds(self) -> int:
        return round(self.world.seed_share * len(self.gold))

    @property
    def seeds(self) -> Pairs:
        """The share of the truth that is given away (`sup_pairs`)."""
        return self.gold[: self.n_seeds]

    @property
    def test(self) -> Pairs:
        """The rest of the truth (`ref_pairs`)."""
        return self.gold[self.n_seeds :]


def simulate(world: World) -> SimulatedPair:
    """Draw a history and have two observers write it down; same options, same bytes.

    Examples
    --------
    >>> pair = simulate(World(entities=200, common_share=0.5, year_only_share=0.3, seed=1))
    >>> pair.source.n_facts, pair.gold.shape
    (1000, (180, 2))
    """
    rng = np.random.default_rng(world.seed)
    calendar = draw_calendar(world)
    history = draw_history(world, calendar.shape[1], rng)
    words = draw_vocabularies(world, rng)
    sizes = world.sizes
    n_source, n_history = sizes.both + sizes.source_only, sizes.both + sizes.source_only + sizes.target_only

    graphs, rows = [], []
    target_entities = np.r_[: sizes.both, n_source:n_history]
    for side, facts, entities, relation_of, n_relations in (
        ("source", history.known_to_source(), np.arange(n_source), words.source, world.relations_source),
        ("target", history.known_to_target(), target_entities, words.target, world.relations_target),
    ):
        row = shuffled_rows(entities, n_history, rng)
        relation = relation_of[history.relation[facts]]
        head, tail = row[history.head[facts]], row[history.tail[facts]]
        if side == "target":
            turned = words.inverse[relation]
            head, tail = np.where(turned, tail, head), np.where(turned, head, tail)
        begin, end = observe_dates(history.begin[facts], history.end[facts], calendar, world, rng)
        graphs.append(view((head, relation, tail, begin, end), len(entities), n_relations, side, rng))
        rows.append(row[: sizes.both])
        logger.info("simulated %s: %d entities, %d facts", side, len(entities), len(facts))
    gold = rng.permutation(np.stack(rows, axis=1))
    return SimulatedPair(graphs[0], graphs[1], gold, words.pairs(), world)


def shuffled_copy(graph: TemporalGraph, rng: Generator) -> tuple[TemporalGraph, Pairs]:
    """The same graph with entities, relations and facts in another order, names and all.

    Returns
    -------
    copy, gold:
        gold is (n_entities, 2) int32, rows of `graph` → rows of the copy.

    Examples
    --------
    >>> graph = TemporalGraph.from_facts([("Ada", "lived in", "London", "1835"), ("Ada", "met", "Charles", "1833")])
    >>> copy, gold = shuffled_copy(graph, np.random.default_rng(0))
    >>> all(graph.entities[old] == copy.entities[new] for old, new in gold)
    True
    """
    entity_order, relation_order = rng.permutation(graph.n_entities), rng.permutation(graph.n_relations)
    fact_order = rng.permutation(graph.n_facts)
    entity_row, relation_row = np.argsort(entity_order), np.argsort(relation_order)
    copy = TemporalGraph(
        entity_row[graph.head][fact_order].astype(np.int32),
        relation_row[graph.relation][fact_order].astype(np.int32),
        entity_row[graph.tail][fact_order].astype(np.int32),
        graph.begin[fact_order],
        graph.end[fact_order],
        tuple(graph.entities[i] for i in entity_order.tolist()),
        tuple(graph.relations[i] for i in relation_order.tolist()),
        name=f"{graph.name} (shuffled)",
        opaque_times=graph.opaque_times,
    )
    return copy, np.stack([np.arange(graph.n_entities), entity_row], axis=1).astype(np.int32)


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
