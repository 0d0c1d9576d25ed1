"""A benchmark with known truth from a single temporal graph, by the procedure DICEWS was made with.

The facts are drawn to two sides of equal size that have a given share of them in common, o = 2 |Q_s ∩ Q_t| / (|Q_s| +
|Q_t|) (Zhu et al., IJCAI 2017). Of N facts each side gets N / (2 − o): of the 461,329 facts of ICEWS05-15 that is
307,552 or 307,553 a side at o = 0.5, as DICEWS has them. An entity that is drawn to both sides is a true pair.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.random import Generator

from dualmatch.errors import InputError
from dualmatch.graph.arrays import Flags, Pairs, Rows
from dualmatch.graph.entity_dates import EntityDates
from dualmatch.graph.model import TemporalGraph
from dualmatch.graph.ordering import fact_order, without_repeats
from dualmatch.simulate.benchmark_writer import BENCHMARK_FILES, replacing_folder, write_benchmark_files


@dataclass(frozen=True, eq=False)
class SplitPair:
    """Two sides of one graph, with the truth."""

    source: TemporalGraph
    target: TemporalGraph
    gold: Pairs  # all true pairs in random order; the first `n_seeds` of them are seeds
    n_seeds: int
    common_facts: int  # facts that both sides have

    @property
    def overlap(self) -> float:
        """2 |Q_s ∩ Q_t| / (|Q_s| + |Q_t|) as drawn."""
        return 2 * self.common_facts / (self.source.n_facts + self.target.n_facts)

    @property
    def without_partner(self) -> tuple[float, float]:
        """Share of the entities of each side that the other side does not have."""
        source, target = (1 - len(self.gold) / graph.n_entities for graph in (self.source, self.target))
        return source, target


def split_graph(
    graph: TemporalGraph,
    overlap: float = 0.5,
    without_partner: float = 0.0,
    seeds: int | None = None,
    random_seed: int = 0,
    keep_names: bool = False,
) -> SplitPair:
    """Draw the facts of a graph to two sides.

    `overlap`: o, the share of a side's facts that the other side has too; repeated facts count once. `without_partner`:
    share of each side's entities that is kept from the other side on purpose. Entities of few facts may miss one side
    by chance besides. `seeds`: true pairs given as seeds; a tenth of them where None. `keep_names`: let both sides call
    entities and relations by the same names; else the target's say nothing.

    >>> graph = TemporalGraph.from_facts([(f"e{k % 7}", "r", f"e{k % 5}", str(1900 + k)) for k in range(60)])
    >>> pair = split_graph(graph, overlap=0.5)
    >>> pair.source.n_facts, pair.target.n_facts, pair.overlap
    (40, 40, 0.5)
    """
    for name, value, most in (("overlap", overlap, 1.0), ("without_partner", without_partner, 0.9)):
        if not 0 <= value <= most:
            raise InputError(f"{name}: {value:g} is outside 0…{most:g}")
    rng = np.random.default_rng(random_seed)
    columns = graph.head, graph.relation, graph.tail, graph.begin, graph.end
    order = fact_order(*columns, n_entities=graph.n_entities, n_relations=graph.n_relations)
    facts = without_repeats(order, *columns)  # in an order that does not depend on the input's
    only_source, only_target = _kept_apart(graph, without_partner, rng)
    first, second, common = _drawn(graph, facts, only_source, only_target, overlap, rng)
    dates, other_dates = _drawn_dates(graph, only_source, only_target, overlap, rng)
    source, source_entities = _side(graph, first, dates, "source", rng, hidden=False)
    target, target_entities = _side(graph, second, other_dates, "target", rng, hidden=not keep_names)
    _, *rows = np.intersect1d(source_entities, target_entities, assume_unique=True, return_indices=True)
    gold = rng.permutation(np.stack(rows, axis=1)).astype(np.int32)
    if not len(gold):
        raise InputError(f"{graph.name}: no entity is on both sides; give a larger graph or a larger overlap")
    n_seeds = round(len(gold) / 10) if seeds is None else seeds
    if not 0 <= n_seeds < len(gold):
        raise InputError(f"seeds: {n_seeds:,} of {len(gold):,} true pairs leave none to test; ask for fewer")
    return SplitPair(source, target, gold, n_seeds, common)


def write_split(pair: SplitPair, path: Path, force: bool = False) -> None:
    """Write the two sides as a benchmark folder; a failure leaves nothing behind."""
    with replacing_folder(path, BENCHMARK_FILES, force, "split") as draft:
        write_benchmark_files(draft, pair.source, pair.target, pair.gold[: pair.n_seeds], pair.gold[pair.n_seeds :])


def _kept_apart(graph: TemporalGraph, share: float, rng: Generator) -> tuple[Flags, Flags]:
    """Entities that only the source may have, and that only the target may have.

    With k of n entities on one side only, that side has n − k in all: the share is k / (n − k).
    """
    there = rng.permutation(np.flatnonzero(graph.is_in_a_fact))
    count = round(len(there) * share / (1 + share))
    source, target = np.zeros(graph.n_entities, dtype=bool), np.zeros(graph.n_entities, dtype=bool)
    source[there[:count]] = True
    target[there[count : 2 * count]] = True
    return source, target


def _drawn(
    graph: TemporalGraph, facts: Rows, only_source: Flags, only_target: Flags, overlap: float, rng: Generator
) -> tuple[Rows, Rows, int]:
    """The facts of either side, and how many both have.

    With a and b facts bound to the source and to the target and r free ones, of which c are common:
    c = o (a + b + r + c) / 2, so c = o (a + b + r) / (2 − o).
    """
    to_source = only_source[graph.head[facts]] | only_source[graph.tail[facts]]
    to_target = only_target[graph.head[facts]] | only_target[graph.tail[facts]]
    bound_source, bound_target = facts[to_source & ~to_target], facts[to_target & ~to_source]
    free = rng.permutation(facts[~to_source & ~to_target])
    usable = len(bound_source) + len(bound_target) + len(free)
    common = round(overlap * usable / (2 - overlap))
    if common > len(free):
        most = 2 * len(free) / (usable + len(free)) if usable else 0.0
        raise InputError(
            f"overlap: {overlap:g} cannot be reached with so many entities kept from one side; {most:.2f} is the most"
        )
    rest = len(free) - common
    # Sides of equal size, as far as what is bound to one of them allows.
    more = int(np.clip((rest + len(bound_target) - len(bound_source)) // 2, 0, rest))
    source = np.concatenate([bound_source, free[: common + more]])
    target = np.concatenate([bound_target, free[:common], free[common + more :]])
    if not len(source) or not len(target):
        raise InputError(f"{graph.name}: {len(facts)} facts are too few to split; give a larger graph")
    return source, target, common


def _drawn_dates(
    graph: TemporalGraph, only_source: Flags, only_target: Flags, overlap: float, rng: Generator
) -> tuple[EntityDates, EntityDates]:
    """The dates of entities of either side; on average, as large a share of them is common as of the facts."""
    entity = graph.dates.entity
    ordered = np.lexsort(graph.dates.rows.T[::-1])  # an order that does not depend on the input's
    draw = np.empty(len(entity))
    draw[ordered] = rng.random(len(entity))
    common = draw < overlap / (2 - overlap)
    left = draw < (1 + overlap / (2 - overlap)) / 2
    at_source = only_source[entity] | (~only_target[entity] & (common | left))
    at_target = only_target[entity] | (~only_source[entity] & (common | ~left))
    return graph.dates.at(np.flatnonzero(at_source)), graph.dates.at(np.flatnonzero(at_target))


def _side(
    graph: TemporalGraph, facts: Rows, dates: EntityDates, name: str, rng: Generator, hidden: bool
) -> tuple[TemporalGraph, Rows]:
    """The graph of some facts, entities, relations and facts in random order; and the old row of each entity."""
    ends = graph.head[facts], graph.tail[facts], dates.entity
    entities = rng.permutation(np.unique(np.concatenate(ends)))
    relations = rng.permutation(np.unique(np.append(graph.relation[facts], dates.relation)))
    entity_row, relation_row = np.zeros(graph.n_entities, np.int32), np.zeros(graph.n_relations, np.int32)
    entity_row[entities], relation_row[relations] = np.arange(len(entities)), np.arange(len(relations))
    facts = rng.permutation(facts)
    names = [graph.entities[row] for row in entities.tolist()], [graph.relations[row] for row in relations.tolist()]
    if hidden:
        names = [f"entity {at}" for at in range(len(entities))], [f"relation {at}" for at in range(len(relations))]
    head, tail = entity_row[graph.head[facts]], entity_row[graph.tail[facts]]
    columns = head, relation_row[graph.relation[facts]], tail, graph.begin[facts], graph.end[facts]
    name = f"{graph.name} ({name})"
    own = dates.renumbered(entity_row, relation_row)
    return TemporalGraph(*columns, *map(tuple, names), name=name, opaque_times=graph.opaque_times, dates=own), entities
