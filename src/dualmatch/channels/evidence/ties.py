"""Ties: all facts between an entity and one neighbour, seen from the entity.

Evidence is counted by tie and not by fact: two actors who met on twelve days share one acquaintance, and twelve
coincidences between them are not twelve independent ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from dualmatch.graph.arrays import Flags, Floats, Ids, Ints
from dualmatch.graph.hashing import mixed
from dualmatch.graph.model import AnyGraph
from dualmatch.graph.ordering import order_by, without_repeats

Lookup = Callable[[Ids], Ids]
"""Gives the places of some numbers in a list, -1 where they are not in it."""

MOST_FACTS: Final = 4
"""Facts of a tie that are compared; which, is decided by a hash of their dates, so both graphs keep the same ones."""

SHORT_TABLE: Final = 2**24
"""Numbers below this are looked up in a table."""
_IN_CACHE: Final = 2**16  # shorter lists are searched by halving: they fit into the processor's cache


@dataclass(frozen=True, eq=False)
class Ties:
    """The ties of one graph and their facts; every fact is listed twice, once from each of its ends.

    Facts of an entity with itself are left out, and repeated facts count once.
    """

    n_entities: int
    n_directed: int
    entity: Ids  # (n_ties,): sorted by entity, then neighbour
    neighbour: Ids  # (n_ties,)
    mirror: Ids  # (n_ties,): the same tie seen from the neighbour
    first_tie: Ids  # (n_entities + 1,): where the ties of each entity begin
    first_fact: Ids  # (n_ties + 1,): where the facts of each tie begin
    tie: Ids  # (n_facts,): of each listed fact, as the following
    relation: Ids  # read backwards, from tail to head, it is n_relations + r
    begin: Ids
    end: Ids
    side: Ids  # row of the fact in the graph; plus the graph's number of facts where the entity is its tail

    @classmethod
    def of(cls, graph: AnyGraph, most_facts: int = MOST_FACTS) -> Self:
        """The ties of a graph.

        >>> from dualmatch import TemporalGraph
        >>> graph = TemporalGraph.from_facts([("Ada", "met", "Charles", "1833"), ("Ada", "wrote", "Charles", "1843")])
        >>> ties = Ties.of(graph)
        >>> ties.entity.tolist(), ties.neighbour.tolist(), np.diff(ties.first_fact).tolist()
        ([0, 1], [1, 0], [2, 2])
        """
        given = graph.head, graph.tail, graph.relation, graph.begin, graph.end
        columns = [column.astype(np.int64) for column in given]
        fact = without_repeats(order_by(columns[0] * graph.n_entities + columns[1], *columns[2:]), *columns)
        fact = fact[columns[0][fact] != columns[1][fact]]
        head, tail, relation, begin, end = (column[fact] for column in columns)
        side = np.concatenate([fact, fact + graph.n_facts])
        entity, neighbour = np.concatenate([head, tail]), np.concatenate([tail, head])
        directed = np.concatenate([relation, relation + graph.n_relations])
        begin, end = np.tile(begin, 2), np.tile(end, 2)
        # Within a tie by a hash of the dates, so that both graphs keep the same dates of ties that are too long.
        drawn = mixed(begin) ^ mixed(mixed(end).view(np.int64))
        between = entity * graph.n_entities + neighbour
        order = order_by(between, drawn, begin, end, _by_words(graph, fact, most_facts))
        entity, neighbour = entity[order], neighbour[order]
        new = np.ones(len(order), dtype=bool)
        new[1:] = (np.diff(entity) != 0) | (np.diff(neighbour) != 0)
        tie = np.cumsum(new) - 1
        kept = np.arange(len(order)) - np.flatnonzero(new)[tie] < most_facts
        entity, neighbour, tie, order = entity[new], neighbour[new], tie[kept], order[kept]
        return cls(
            n_entities=graph.n_entities,
            n_directed=2 * graph.n_relations,
            entity=entity,
            neighbour=neighbour,
            mirror=order_by(neighbour * graph.n_entities + entity),  # every tie is there from both ends
            first_tie=np.searchsorted(entity, np.arange(graph.n_entities + 1)),
            first_fact=np.searchsorted(tie, np.arange(len(entity) + 1)),
            tie=tie,
            relation=directed[order],
            begin=begin[order],
            end=end[order],
            side=side[order],
        )

    def at(self, ties: Flags) -> Self:
        """Some of the ties, each with the same tie seen from the neighbour; rows stay those of the whole graph."""
        facts = ties[self.tie]
        number = np.cumsum(ties) - 1
        entity, tie = self.entity[ties], number[self.tie[facts]]
        return replace(
            self,
            entity=entity,
            neighbour=self.neighbour[ties],
            mirror=number[self.mirror[ties]],
            first_tie=np.searchsorted(entity, np.arange(self.n_entities + 1)),
            first_fact=np.searchsorted(tie, np.arange(len(entity) + 1)),
            tie=tie,
            relation=self.relation[facts],
            begin=self.begin[facts],
            end=self.end[facts],
            side=self.side[facts],
        )

    @property
    def n_ties(self) -> int:
        return len(self.entity)

    @property
    def n_facts(self) -> int:
        return len(self.tie)

    def ties_of(self, entities: Ids) -> Ids:
        """How many ties each of some entities has."""
        return self.first_tie[entities + 1] - self.first_tie[entities]

    def facts_of(self, ties: Ids) -> Ids:
        """How many listed facts each of some ties has."""
        return self.first_fact[ties + 1] - self.first_fact[ties]

    def sums(self, values: Floats) -> Floats:
        """Sum over the facts of each tie: (n_ties,). Every tie has a fact, and its facts stand together."""
        total: Floats = values[self.first_fact[:-1]]
        several, n_facts = self._several
        if len(several):
            facts = expanded(self.first_fact[several], n_facts)[1]
            total[several] = np.add.reduceat(values[facts], np.cumsum(n_facts) - n_facts)
        return total

    @cached_property
    def _several(self) -> tuple[Ids, Ids]:
        """Ties of several facts, which are few in most graphs; and how many these have."""
        n_facts = np.diff(self.first_fact)
        several = np.flatnonzero(n_facts > 1)
        return several, n_facts[several]

    @cached_property
    def first_fact_of_entity(self) -> Ids:
        """Where the facts of each entity begin: (n_entities + 1,)."""
        return self.first_fact[self.first_tie]

    @cached_property
    def places(self) -> Places:
        """Where each (entity, neighbour), as one number, stands among the ties."""
        return Places(self.entity * self.n_entities + self.neighbour)

    @classmethod
    def indexed(cls, graph: AnyGraph) -> Self:
        """The ties of a graph, with what `find` and `sums` need computed already."""
        ties = cls.of(graph)
        ties.places.of(np.zeros(1, dtype=np.int64))
        _ = ties._several
        return ties

    def find(self, entity: Ids, neighbour: Ids) -> Ids:
        """The tie of each (entity, neighbour), -1 where there is none."""
        return self.places.of(entity * self.n_entities + neighbour)


def _by_words(graph: AnyGraph, fact: Ids, most_facts: int) -> NDArray[np.uint64]:
    """A number for each fact, listed from both ends, that is the same from either and depends on its words alone.

    It orders facts of one tie and one date where a tie is too long; where none is, nothing is computed.
    """
    if not len(fact):
        return np.zeros(0, dtype=np.uint64)
    low, high = np.minimum(graph.head[fact], graph.tail[fact]), np.maximum(graph.head[fact], graph.tail[fact])
    between = np.sort(low.astype(np.int64) * graph.n_entities + high)
    if len(between) <= most_facts or not (between[most_facts:] == between[:-most_facts]).any():
        return np.zeros(2 * len(fact), dtype=np.uint64)
    words = mixed(graph.relation_hashes.view(np.int64))[graph.relation[fact]]
    words ^= graph.entity_hashes[graph.head[fact]]
    return np.tile(words, 2)


def find_pairs(row: Ids, column: Ids, n_columns: int, wanted_row: Ids, wanted_column: Ids) -> Ids:
    """Places of some pairs in a list sorted by row, then column; -1 where they are not in it."""
    return places_in(row * n_columns + column, wanted_row * n_columns + wanted_column)


def places_in(known: Ids, wanted: Ids) -> Ids:
    """Places of some numbers in a sorted list of distinct ones, -1 where they are not in it.

    >>> places_in(np.array([2, 5, 7]), np.array([7, 3, 2])).tolist()
    [2, -1, 0]
    """
    return lookup(known, len(wanted))(wanted)


def lookup(known: Ids, n_wanted: int) -> Lookup:
    """As `places_in`, for numbers that come part by part, so many in all."""
    if len(known) > _IN_CACHE and n_wanted > len(known) // 8:
        return Places(known).of
    return partial(_found_in, known)


def _found_in(known: Ids, wanted: Ids) -> Ids:
    if not len(known):
        return np.full(len(wanted), -1, dtype=np.int64)
    place = np.searchsorted(known, wanted).clip(max=len(known) - 1)
    return np.where(known[place] == wanted, place, -1)


@dataclass(frozen=True, eq=False)
class Places:
    """Places of numbers in a sorted list of distinct ones: as `places_in`, for a long list that is asked often.

    A table says where the numbers with the same upper bits begin. Few share them, so a search reads a few places and
    not, as in the whole list, one far from the last with every halving: ten times as fast for ten million numbers.

    >>> Places(np.array([2, 5, 7])).of(np.array([7, 3, 2, -9, 99])).tolist()
    [2, -1, 0, -1, -1]
    """

    known: Ids

    @property
    def _low(self) -> int:
        return int(self.known[0]) if len(self.known) else 0

    @cached_property
    def _shift(self) -> int:
        span = int(self.known[-1]) - self._low if len(self.known) else 0
        return max(span.bit_length() - len(self.known).bit_length(), 0)

    @cached_property
    def _first(self) -> NDArray[np.integer]:
        sizes = np.bincount((self.known - self._low) >> self._shift, minlength=1)
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32 if len(self.known) < 2**31 else np.int64)

    def of(self, wanted: Ids) -> Ids:
        """The place of each number, -1 where it is not in the list."""
        place = np.full(len(wanted), -1, dtype=np.int64)
        part = (wanted - self._low) >> self._shift
        left = np.flatnonzero((part >= 0) & (part < len(self._first) - 1))  # numbers that are still sought
        low, high, sought = self._first[part[left]], self._first[part[left] + 1], wanted[left]
        while len(left):
            open_ = np.flatnonzero(low < high)
            left, low, high, sought = left[open_], low[open_], high[open_], sought[open_]
            middle = low + ((high - low) >> 1)
            value = self.known[middle]
            found = np.flatnonzero(value == sought)
            place[left[found]] = middle[found]
            more = np.flatnonzero((value != sought) & (high - low > 1))
            left, low, high, sought, middle = (each[more] for each in (left, low, high, sought, middle))
            before = value[more] < sought
            low, high = np.where(before, middle + 1, low), np.where(before, high, middle)
        return place


def marked(numbers: Ids, size: int) -> Flags:
    """Which of the numbers below `size` are among some.

    >>> marked(np.array([2, 0, 2]), 4).tolist()
    [True, False, True, False]
    """
    flags = np.zeros(size, dtype=bool)
    flags[numbers] = True
    return flags


def distinct(values: Ids) -> Ids:
    """The distinct ones of some numbers, sorted; faster than `np.unique` where most of them are."""
    ordered = np.sort(values)
    new = np.ones(len(ordered), dtype=bool)
    new[1:] = ordered[1:] != ordered[:-1]
    return ordered[new]


def numbered(keys: Ids) -> tuple[Ids, Ids | Ints]:
    """The distinct ones of some keys, none negative, in order; and which of them each is.

    >>> [part.tolist() for part in numbered(np.array([7, 3, 7]))]
    [[3, 7], [1, 0, 1]]
    """
    largest = int(keys.max(initial=-1))
    if largest >= SHORT_TABLE:
        return np.unique(keys, return_inverse=True)
    known = np.flatnonzero(marked(keys, largest + 1))
    table = np.zeros(largest + 1, dtype=np.int32)
    table[known] = np.arange(len(known), dtype=np.int32)
    return known, table[keys]


def expanded(first: Ids, count: Ids) -> tuple[Ids, Ids]:
    """For each i, the numbers first[i] … first[i] + count[i] − 1: (which i, which number), in order.

    >>> [part.tolist() for part in expanded(np.array([10, 20]), np.array([1, 2]))]
    [[0, 1, 1], [10, 20, 21]]
    """
    which = np.repeat(np.arange(len(count)), count)
    within = np.arange(len(which)) - np.repeat(np.cumsum(count) - count, count)
    return which, first[which] + within
