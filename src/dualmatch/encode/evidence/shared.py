"""Shared facts: the similarity of a pair, told by the facts of both entities that bear the tokens they share.

A shared token adds its product to the smoothed cosine. One fact known to both graphs bears many tokens (its times,
with its relation, with its neighbour), so the tokens go to pairs of facts: each to that pair of facts which has most
in common. The weights of the fact pairs add up to the similarity.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse as sp

from dualmatch.encode.evidence.candidates import scored_tokens
from dualmatch.encode.evidence.knowledge import Knowledge
from dualmatch.encode.evidence.sides import FactSides, Ids, TimeKind, fact_sides
from dualmatch.encode.evidence.texts import with_texts
from dualmatch.encode.evidence.tokens import Tokens, bearers, build_tokens
from dualmatch.graph.literals import LiteralPair
from dualmatch.graph.model import TemporalGraph
from dualmatch.graph.names import ranks_of

Floats = NDArray[np.float64]

# A token borne by more pairs of facts than this goes to one of the pairs that rarer tokens have singled out.
_MOST_PAIRS = 4096
# Sums of the same numbers in another order must compare equal.
_DECIMALS = 9


@dataclass(frozen=True, eq=False)
class SharedFacts:
    """Pairs of facts that make two entities similar, the weightiest first.

    Attributes
    ----------
    source_side, target_side: (n,) int64
        Fact sides (`FactSides`): the fact's row, plus n_facts where the entity is its tail.
    weight: (n,) float64
        What the pair of facts adds to the similarity.
    texts: float
        What labels and other literals add; it belongs to no fact.
    """

    source_side: Ids
    target_side: Ids
    weight: Floats
    texts: float = 0.0

    @property
    def similarity(self) -> float:
        """All of it together."""
        return float(self.weight.sum()) + self.texts

    def first(self, n: int) -> SharedFacts:
        """The n weightiest."""
        return SharedFacts(self.source_side[:n], self.target_side[:n], self.weight[:n], self.texts)


@dataclass(frozen=True, eq=False)
class BorneFacts:
    """The distinct facts of some entities, in the order of their words, and the tokens each bears.

    Attributes
    ----------
    sides: (n,) int64
        Fact sides, grouped by entity.
    span: entity → slice of `sides`
    tokens: (n, n_tokens) csr
    """

    sides: Ids
    span: dict[int, slice]
    tokens: sp.csr_matrix

    def of(self, entity: int) -> Ids:
        """The sides of an entity."""
        return self.sides[self.span.get(entity, slice(0, 0))]

    def bearing(self, entity: int, columns: NDArray[np.integer]) -> tuple[Ids, Ids]:
        """Which of the entity's facts bears which of some sorted tokens: (place in `of`, place in `columns`)."""
        span = self.span.get(entity, slice(0, 0))
        pointers = self.tokens.indptr[span.start : span.stop + 1]
        index = self.tokens.indices[pointers[0] : pointers[-1]]
        fact = np.repeat(np.arange(len(pointers) - 1), np.diff(pointers))
        place = np.searchsorted(columns, index).clip(max=len(columns) - 1)
        inside = columns[place] == index
        return fact[inside], place[inside].astype(np.int64)


class Scoring:
    """The last round's tokens of two graphs, and which facts bear them."""

    def __init__(
        self,
        source: TemporalGraph,
        target: TemporalGraph,
        knowledge: Knowledge | None,
        literals: LiteralPair | None = None,
    ) -> None:
        self.graphs = source, target
        self.knowledge = knowledge
        self.kinds: tuple[TimeKind, ...]
        left, right, self.kinds = fact_sides(source, target)
        left, right = with_texts((left, right), literals)
        self.sides: tuple[FactSides, FactSides] = left, right
        self.tokens: Tokens = build_tokens(left, right, self.kinds, knowledge)
        self._n_text_tokens = sum(len(keys) for keys in self.tokens.keys[: len(left.texts)])
        self.scored = scored_tokens(self.tokens)
        self._ranks = [(ranks_of(graph.entities), ranks_of(graph.relations)) for graph in self.graphs]
        self._rows = [_rows_by_entity(sides) for sides in self.sides]

    def facts(self, side: int, entities: Iterable[int]) -> BorneFacts:
        """The distinct facts of some entities of the source (0) or target (1) graph."""
        graph, sides = self.graphs[side], self.sides[side]
        listed, first_row = self._rows[side]
        nothing = np.zeros(0, dtype=np.int64)
        theirs = [listed[first_row[entity] : first_row[entity + 1]] for entity in sorted(set(entities))]
        rows = _distinct_in_order(np.concatenate([nothing, *theirs]), sides, graph, *self._ranks[side])
        chosen = sides.at(rows)
        entity, first, count = np.unique(sides.entity[rows], return_index=True, return_counts=True)
        span = {e: slice(f, f + n) for e, f, n in zip(entity.tolist(), first.tolist(), count.tolist(), strict=True)}
        return BorneFacts(rows, span, bearers(chosen, self.kinds, self.knowledge, side, self.tokens))

    def shared(self, source: int, target: int, of_source: BorneFacts, of_target: BorneFacts) -> SharedFacts:
        """What two entities share; `of_source` and `of_target` hold their facts among others."""
        columns, weight = _shared_tokens(self.scored.source, source, self.scored.target, target)
        borne = columns >= self._n_text_tokens  # texts come first
        texts, columns, weight = float(weight[~borne].sum()), columns[borne], weight[borne]
        if not len(columns):
            return SharedFacts(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), texts)
        left, right = of_source.bearing(source, columns), of_target.bearing(target, columns)
        first, second, total = _by_fact_pair(left, right, weight)
        return SharedFacts(of_source.of(source)[first], of_target.of(target)[second], total, texts)


def _rows_by_entity(sides: FactSides) -> tuple[Ids, Ids]:
    """All sides, entity by entity, and where each entity's begin: (n_sides,), (n_entities + 1,)."""
    count = np.bincount(sides.entity, minlength=sides.n_entities)
    return np.argsort(sides.entity, kind="stable"), np.concatenate([[0], np.cumsum(count)])


def _distinct_in_order(rows: Ids, sides: FactSides, graph: TemporalGraph, entity_rank: Ids, relation_rank: Ids) -> Ids:
    """Sides sorted by entity, then by what the fact says; of equal facts the first."""
    fact = rows % graph.n_facts
    columns = (
        graph.end[fact],
        graph.begin[fact],
        sides.direction[rows],
        relation_rank[graph.relation[fact]],
        entity_rank[sides.other[rows]],
        sides.entity[rows],
    )
    order = np.lexsort(columns)
    new = np.ones(len(order), dtype=bool)
    if len(order):
        new[1:] = np.any([np.diff(column[order]) != 0 for column in columns], axis=0)
    distinct: Ids = rows[order[new]]
    return distinct


def _shared_tokens(left: sp.csr_matrix, source: int, right: sp.csr_matrix, target: int) -> tuple[Ids, Floats]:
    """Sorted token columns that both entities have, and the product of their values."""
    (first, first_value), (second, second_value) = (
        (matrix.indices[a:b], matrix.data[a:b])
        for matrix, a, b in (
            (left, *left.indptr[source : source + 2]),
            (right, *right.indptr[target : target + 2]),
        )
    )
    columns, at_first, at_second = np.intersect1d(first, second, assume_unique=True, return_indices=True)
    weight = first_value[at_first].astype(np.float64) * second_value[at_second].astype(np.float64)
    kept = weight > 0
    return columns[kept].astype(np.int64), weight[kept]


def _by_fact_pair(left: tuple[Ids, Ids], right: tuple[Ids, Ids], weight: Floats) -> tuple[Ids, Ids, Floats]:
    """Give each token to one pair of facts that bear it: (fact of the source, fact of the target, summed weight)."""
    n_tokens, n_right = len(weight), 1 + int(right[0].max())
    (fact_left, token_left), (fact_right, token_right) = _by_token(left), _by_token(right)
    count_left, count_right = (np.bincount(token, minlength=n_tokens) for token in (token_left, token_right))
    begin_left, begin_right = np.cumsum(count_left) - count_left, np.cumsum(count_right) - count_right
    few = count_left * count_right <= _MOST_PAIRS
    rare = np.flatnonzero(few[token_left])
    # Every pair of facts that bear the same token: each left fact, repeated for the right ones.
    repeats = count_right[token_left[rare]]
    within = np.arange(repeats.sum()) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    token = np.repeat(token_left[rare], repeats)
    pair = np.repeat(fact_left[rare], repeats) * n_right + fact_right[begin_right[token] + within]
    pairs, number = np.unique(pair, return_inverse=True)
    affinity = np.bincount(number, weight[token] / (count_left * count_right)[token], minlength=len(pairs))
    affinity = affinity.round(_DECIMALS)
    order = np.lexsort((number, -affinity[number], token))
    best = order[np.unique(token[order], return_index=True)[1]]
    total: Floats = np.bincount(number[best], weight[token[best]], minlength=len(pairs)).astype(np.float64)
    for common in np.flatnonzero(~few).tolist():  # hubs: few tokens of few entities
        of_left = fact_left[begin_left[common] : begin_left[common] + count_left[common]]
        of_right = fact_right[begin_right[common] : begin_right[common] + count_right[common]]
        bearing = np.isin(pairs // n_right, of_left) & np.isin(pairs % n_right, of_right)
        if not bearing.any():
            pairs = np.append(pairs, of_left.min() * n_right + of_right.min())
            total, affinity, bearing = np.append(total, 0.0), np.append(affinity, 0.0), np.append(bearing, True)
        total[np.flatnonzero(bearing)[np.argmax(affinity[bearing])]] += weight[common]
    chosen = np.flatnonzero(total)
    chosen = chosen[np.lexsort((pairs[chosen], -total[chosen].round(_DECIMALS)))]
    return pairs[chosen] // n_right, pairs[chosen] % n_right, total[chosen]


def _by_token(bearing: tuple[Ids, Ids]) -> tuple[Ids, Ids]:
    fact, token = bearing
    order = np.lexsort((fact, token))
    return fact[order], token[order]
