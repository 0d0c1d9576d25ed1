"""A planted pair of graphs, and the simplest one: a graph and its shuffled copy."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import polars as pl
from numpy.random import Generator
from numpy.typing import NDArray

from dualmatch.graph.arrays import Pairs
from dualmatch.graph.model import TemporalGraph
from dualmatch.graph.times import UNKNOWN, Precision, coarsen, encode_date
from dualmatch.simulate.history import NO_DAY, draw_history, draw_vocabularies
from dualmatch.simulate.world import World

logger = logging.getLogger(__name__)
Ints = NDArray[np.int32]

_RELATIONS: Final = 6
_FACTS_AN_ENTITY: Final = 4
_DAYS: Final = 60 * 365


@dataclass(frozen=True, eq=False)
class SimulatedPair:
    """Two observers' graphs of one history, and the truth.

    `relation_gold` (m, 3) int32: true relation pairs: source row, target row, 1 where the target's runs the other way.
    """

    source: TemporalGraph
    target: TemporalGraph
    gold: Pairs  # (n, 2) int32: rows source → target of every entity both know, in random order
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
        dates=graph.dates.renumbered(entity_row, relation_row),
    )
    return copy, np.stack([np.arange(graph.n_entities), entity_row], axis=1).astype(np.int32)


class UniformPair(NamedTuple):
    """Two views of one uniform history; `gold` holds (n, 2) rows source → target of the entities both know."""

    source: TemporalGraph
    target: TemporalGraph
    gold: Pairs


def uniform_world(entities: int, known_share: float, seed: int = 0) -> UniformPair:
    """Heads, tails, six relations and days of sixty years drawn evenly, four facts an entity.

    `known_share`: share of the facts that each side knows, drawn for each side by itself. A tenth of the entities are
    known to one side only, and another tenth to the other.

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


# What an observer makes of the history: dates seen through errors, gaps and limits, rows in an order of their own.


def draw_calendar(world: World) -> Ints:
    """Time codes of every day of the history at each `Precision`: (3, n_days) int32.

    >>> from dualmatch.graph.times import format_date
    >>> [format_date(code) for code in draw_calendar(World(first_year=2005))[:, 31]]
    ['2005', '2005-02', '2005-02-01']
    """
    first, stop = (np.datetime64(year - 1970, "Y") for year in (world.first_year, world.first_year + world.years))
    days = np.arange(first.astype("datetime64[D]"), stop.astype("datetime64[D]"))
    months = days.astype("datetime64[M]")
    year, month = np.divmod(months.astype(np.int64), 12)
    day = (days - months.astype("datetime64[D]")).astype(np.int64)
    codes = ((year + 1970) * encode_date(1) + (month + 1) * encode_date(0, 1) + day + 1).astype(np.int32)
    return np.stack([coarsen(codes, precision) for precision in Precision])


def observe_dates(begin: Ints, end: Ints, calendar: Ints, world: World, rng: Generator) -> tuple[Ints, Ints]:
    """The codes one observer writes down for true days `begin` and `end` (`NO_DAY` where there is none).

    Each date is wrong, missing or imprecise on its own; a point is a single date. A wrong date keeps the order of
    begin and end, as observers do.
    """
    n, last = len(begin), calendar.shape[1] - 1
    point = begin == end
    wrong, missing = rng.random((2, n)) < world.wrong_share, rng.random((2, n)) < world.missing_share
    exactness = rng.random((2, n))
    missing[1], exactness[1] = np.where(point, missing[0], missing[1]), np.where(point, exactness[0], exactness[1])
    precision = (exactness >= world.year_only_share).astype(np.intp)
    precision += exactness >= world.year_only_share + world.month_only_share

    other_begin = _another_day(begin, np.zeros_like(begin), np.where(point | (end == NO_DAY), last, end), rng)
    seen_begin = np.where(wrong[0] & (begin != NO_DAY), other_begin, begin)
    other_end = _another_day(end, np.maximum(seen_begin, 0), np.full_like(end, last), rng)
    seen_end = np.where(wrong[1] & (end != NO_DAY), other_end, end)
    seen = np.stack([seen_begin, np.where(point, seen_begin, seen_end)])
    codes = np.where((seen == NO_DAY) | missing, UNKNOWN, calendar[precision, seen]).astype(np.int32)
    return codes[0], codes[1]


def _another_day(day: Ints, first: Ints, last: Ints, rng: Generator) -> Ints:
    """A random day of first … last, not `day` itself unless there is no other."""
    length = (last - first + 1).astype(np.int64)
    step = 1 + (rng.random(len(day)) * (length - 1)).astype(np.int64)
    return (first + (day - first + step) % length).astype(np.int32)


def shuffled_rows(known: NDArray[np.intp], n_history: int, rng: Generator) -> Ints:
    """Random row of each known entity of the history, -1 for those this observer does not know: (n_history,) int32."""
    rows = np.full(n_history, -1, dtype=np.int32)
    rows[known] = rng.permutation(len(known)).astype(np.int32)
    return rows


def numbered_names(prefix: str, n: int) -> tuple[str, ...]:
    """Names such as ``s-000123``: a row number and nothing else.

    >>> numbered_names("s-", 2)
    ('s-0', 's-1')
    """
    numbers = pl.select(pl.int_range(n).cast(pl.String).str.zfill(len(str(n - 1)))).to_series()
    return tuple((prefix + numbers).to_list())


def view(columns: Sequence[Ints], n_entities: int, n_relations: int, side: str, rng: Generator) -> TemporalGraph:
    """An observer's graph: facts in random order, entities and relations named by their rows."""
    order = rng.permutation(len(columns[0]))
    head, relation, tail, begin, end = (column[order] for column in columns)
    entities = numbered_names(f"{side[0]}-", n_entities)
    relations = numbered_names(f"{side[0]}-relation-", n_relations)
    return TemporalGraph(head, relation, tail, begin, end, entities, relations, name=side)
