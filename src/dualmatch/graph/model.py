"""The temporal knowledge graph: columns of facts, and names at the edge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import astuple, dataclass, field, fields
from functools import cached_property
from operator import attrgetter
from typing import Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dualmatch.charts.chart import Chart
from dualmatch.charts.distributions import Years, times_chart
from dualmatch.charts.markup import SHOWN_ROWS, frame_html, visible
from dualmatch.errors import InputError
from dualmatch.graph.arrays import Flags, Ids, Ints
from dualmatch.graph.entity_dates import EntityDates, int32_column
from dualmatch.graph.fact_columns import FactColumns, all_times
from dualmatch.graph.frames import fact_table
from dualmatch.graph.hashing import text_hashes
from dualmatch.graph.shown_name import ShownName, shown_name
from dualmatch.graph.times import UNKNOWN, ends_before_begin, format_date
from dualmatch.graph.written_dates import parse_span


@dataclass(frozen=True)
class GraphStatistics:
    """Counts that describe a graph at a glance."""

    entities: int
    isolated_entities: int
    relations: int
    facts: int
    repeated_facts: int
    dated_facts: int
    half_dated_facts: int
    reversed_intervals: int
    distinct_times: int
    distinct_intervals: int
    first_time: int
    last_time: int
    entity_dates: int = 0


@dataclass(frozen=True, eq=False, repr=False)
class TemporalGraph:
    """Facts (head, relation, tail, [begin, end]) as int32 columns, one row a fact.

    Parameters
    ----------
    head, relation, tail:
        Row numbers into `entities` and `relations`.
    begin, end:
        Time codes (`dualmatch.graph.times`), `UNKNOWN` where not known. A point in time has begin = end; a fact
        without time has neither.
    entities, relations:
        The names users know. Entities that occur in no fact are allowed.
    dates:
        Dates of single entities (born, founded) beside the facts, their relations numbered in `relations` too.
    name:
        What to call the graph in messages.
    opaque_times:
        True when times are bare ids without a calendar.
    labels:
        What people see in place of names, of entities and relations. No method reads them: see `align` for names that
        are compared.

    Examples
    --------
    >>> graph = TemporalGraph.from_facts([("Ada", "lived in", "London", "1835", "1852")])
    >>> graph.n_facts, graph.entities
    (1, ('Ada', 'London'))
    """

    head: Ints
    relation: Ints
    tail: Ints
    begin: Ints
    end: Ints
    entities: tuple[str, ...]
    relations: tuple[str, ...]
    name: str = field(default="graph", kw_only=True)
    opaque_times: bool = field(default=False, kw_only=True)
    dates: EntityDates = field(default_factory=EntityDates.none, kw_only=True)
    labels: Mapping[str, str] = field(default_factory=dict, kw_only=True)

    def __post_init__(self) -> None:
        for column in ("head", "relation", "tail", "begin", "end"):
            try:
                object.__setattr__(self, column, int32_column(getattr(self, column), column))
            except InputError as error:
                raise InputError(f"{self.name}: {error}") from None
        if len({len(getattr(self, f.name)) for f in fields(self)[:5]}) != 1:
            raise InputError(f"{self.name}: the fact columns differ in length")
        sizes = {"head": len(self.entities), "tail": len(self.entities), "relation": len(self.relations)}
        sizes |= {"dates.entity": len(self.entities), "dates.relation": len(self.relations)}
        for column, size in sizes.items():
            values = attrgetter(column)(self)
            if len(values) and (values.min() < 0 or values.max() >= size):
                raise InputError(f"{self.name}: column {column} holds a number outside 0…{size - 1}")
        for kind, names in (("entity", self.entities), ("relation", self.relations)):
            if len(set(names)) < len(names):
                raise InputError(f"{self.name}: {kind} names repeat; give each {kind} a name of its own")

    @classmethod
    def from_facts(cls, facts: Iterable[Sequence[str | None]], name: str = "graph") -> Self:
        """Build a graph from plain tuples of 3 (no time), 4 (a point) or 5 (begin, end) texts.

        A tail of None with a date is a date of the entity itself.

        >>> TemporalGraph.from_facts([("Ada", "born", None, "1815-12-10")])
        TemporalGraph('graph': 1 entities (0 in no fact), 1 relations, 0 facts, 1 entity dates, 1 times in \
1 intervals, 1815-12-10 … 1815-12-10)
        """
        entities: dict[str, int] = {}
        relations: dict[str, int] = {}
        rows: list[tuple[int, int, int, int, int]] = []
        dates: list[tuple[int, int, int, int]] = []
        if not isinstance(facts, Iterable):
            raise InputError(f"{name}: {facts!r} holds no facts; give tuples (head, relation, tail[, begin[, end]])")
        for number, fact in enumerate(facts, start=1):
            if not 3 <= len(fact) <= 5:
                raise InputError(
                    f"{name}: fact {number} has {len(fact)} parts; give (head, relation, tail[, begin[, end]])"
                )
            try:
                begin, end = parse_span(str(fact[3])) if len(fact) > 3 else (UNKNOWN, UNKNOWN)
                end = parse_span(str(fact[4]))[1] if len(fact) > 4 else end
            except ValueError as error:
                raise InputError(f"{name}: fact {number}: {error}") from None
            is_date = fact[2] is None and (begin != UNKNOWN or end != UNKNOWN)
            for part, value in zip(("head", "relation", "tail"), fact[: 2 if is_date else 3], strict=False):
                if is_missing(value):
                    raise InputError(f"{name}: fact {number}: no {part}; every fact needs one")
            head = entities.setdefault(str(fact[0]), len(entities))
            relation = relations.setdefault(str(fact[1]), len(relations))
            if is_date:
                dates.append((head, relation, begin, end))
                continue
            tail = entities.setdefault(str(fact[2]), len(entities))
            rows.append((head, relation, tail, begin, end))
        head_, relation_, tail_, begin_, end_ = np.array(rows, dtype=np.int32).reshape(-1, 5).T
        names = tuple(entities), tuple(relations)
        return cls(head_, relation_, tail_, begin_, end_, *names, name=name, dates=EntityDates.of_rows(dates))

    @property
    def n_entities(self) -> int:
        return len(self.entities)

    @property
    def n_relations(self) -> int:
        return len(self.relations)

    @property
    def n_facts(self) -> int:
        return len(self.head)

    @property
    def has_times(self) -> bool:
        """Whether any fact has at least one known end, or any entity a date."""
        return bool(len(self.dates) or ((self.begin != UNKNOWN) | (self.end != UNKNOWN)).any())

    @cached_property
    def is_in_a_fact(self) -> Flags:
        """(n_entities,) bool: whether any fact or date says anything about the entity."""
        mentioned = np.zeros(self.n_entities, dtype=bool)
        mentioned[self.head] = mentioned[self.tail] = mentioned[self.dates.entity] = True
        return mentioned

    @cached_property
    def entity_rows(self) -> dict[str, int]:
        """Row number of each entity name."""
        return {name: row for row, name in enumerate(self.entities)}

    @property
    def is_empty(self) -> bool:
        """Whether there is neither a fact nor a date of an entity."""
        return not self.n_facts and not len(self.dates)

    @cached_property
    def times(self) -> tuple[Ints, Ints]:
        """Begins and ends of all facts, then those of all entity dates: (n_facts + n_dates,) each."""
        return all_times(self.begin, self.end, self.dates)

    def with_facts(self, rows: NDArray[np.integer], dates: NDArray[np.integer] | None = None) -> Self:
        """The same entities and relations with some of the facts only, and some of the entity dates (None: all)."""
        part = copy(self)  # what is right of all facts is right of some, so nothing is checked again
        of_names = {"entity_rows", "entity_hashes", "relation_hashes"}
        for name in set(vars(part)) - {each.name for each in fields(self)} - of_names:
            del vars(part)[name]
        for name in ("head", "relation", "tail", "begin", "end"):
            object.__setattr__(part, name, getattr(self, name)[rows])
        object.__setattr__(part, "dates", self.dates if dates is None else self.dates.at(dates))
        return part

    @cached_property
    def entity_hashes(self) -> NDArray[np.uint64]:
        """A hash of each entity's name."""
        return text_hashes(self.entities)

    @cached_property
    def relation_hashes(self) -> NDArray[np.uint64]:
        """A hash of each relation's name."""
        return text_hashes(self.relations)

    @property
    def columns(self) -> FactColumns:
        """What the graph says, without its names."""
        facts = self.head, self.relation, self.tail, self.begin, self.end, self.dates
        return FactColumns(*facts, self.entity_hashes, self.relation_hashes, self.opaque_times)

    def with_labels(self, labels: Mapping[str, str]) -> Self:
        """The same with labels to show; those of other names are left out, and new ones replace old ones.

        >>> graph = TemporalGraph.from_facts([("Q7259", "P69", "Q1")]).with_labels({"Q7259": "Ada Lovelace"})
        >>> str(graph.shown(0)), str(graph.shown(1))
        ('Ada Lovelace [Q7259]', 'Q1')
        """
        known = {*self.entities, *self.relations} if labels else set()
        labelled = copy(self)  # nothing else changes, so nothing is checked again
        own = {name: label for name, label in labels.items() if name in known}
        object.__setattr__(labelled, "labels", {**self.labels, **own})
        return labelled

    def shown(self, entity: int | str) -> ShownName:
        """How people see an entity, given by its row or by its name; a relation by its name."""
        name = entity if isinstance(entity, str) else self.entities[entity]
        return shown_name(name, self.labels.get(name))

    def rows_of(self, names: Iterable[str]) -> Ids:
        """Row number of each of some entity names; -1 where there is none.

        >>> TemporalGraph.from_facts([("Ada", "met", "Charles")]).rows_of(["Charles", "Mary"]).tolist()
        [1, -1]
        """
        return np.array([self.entity_rows.get(name, -1) for name in names], dtype=np.int64)

    @cached_property
    def statistics(self) -> GraphStatistics:
        known_begin, known_end = self.begin != UNKNOWN, self.end != UNKNOWN
        begin, end = self.times
        times = np.unique(np.concatenate(self.times))
        times, dated = times[times != UNKNOWN], (begin != UNKNOWN) | (end != UNKNOWN)
        return GraphStatistics(
            entities=self.n_entities,
            isolated_entities=int((~self.is_in_a_fact).sum()),
            relations=self.n_relations,
            facts=self.n_facts,
            repeated_facts=self.n_facts - _distinct_rows(self.head, self.relation, self.tail, self.begin, self.end),
            dated_facts=int((known_begin | known_end).sum()),
            half_dated_facts=int((known_begin ^ known_end).sum()),
            reversed_intervals=self.reversed_intervals,
            distinct_times=len(times),
            distinct_intervals=_distinct_rows(begin[dated], end[dated]),
            first_time=int(times[0]) if len(times) else UNKNOWN,
            last_time=int(times[-1]) if len(times) else UNKNOWN,
            entity_dates=len(self.dates),
        )

    @property
    def reversed_intervals(self) -> int:
        """How many facts and entity dates end before they begin; ids without a calendar have no order."""
        return 0 if self.opaque_times else int(ends_before_begin(*self.times).sum())

    def to_polars(self) -> pl.DataFrame:
        """The facts as a data frame: head, relation, tail, begin and end, as text; see `fact_table`.

        >>> TemporalGraph.from_facts([("Ada", "met", "Charles", "1833")]).to_polars().rows()
        [('Ada', 'met', 'Charles', '1833', '1833')]
        """
        return fact_table(self)

    def plot_times(self, other: TemporalGraph | None = None) -> Chart:
        """When facts begin; with another graph, both over the same years.

        Raises
        ------
        InputError
            Where no fact has a time.
        """
        from dualmatch.graph.profile import profile_of  # which describes graphs, and so needs this module

        graphs = [self] if other is None else [self, other]
        lines = [(graph.name, profile_of(graph).timeline) for graph in graphs]
        dated = [Years(visible(name, 40), *astuple(line)) for name, line in lines if line is not None]
        if not dated:
            raise InputError(f"no fact of {' or '.join(graph.name for graph in graphs)} has a time")
        return times_chart(dated, "time id" if self.opaque_times else "year")

    def _repr_html_(self) -> str:
        head = self.with_facts(np.arange(min(self.n_facts, SHOWN_ROWS)), np.arange(min(len(self.dates), SHOWN_ROWS)))
        shown = dict.fromkeys(("head", "relation", "tail"), self.shown)
        return frame_html(repr(self), fact_table(head), self.n_facts + len(self.dates), **shown)

    def __repr__(self) -> str:
        s = self.statistics
        show = str if self.opaque_times else format_date
        span = f"{show(s.first_time)} … {show(s.last_time)}" if s.distinct_times else "none"
        share = f" ({s.dated_facts / s.facts:.0%} dated)" if s.facts else ""
        return (
            f"TemporalGraph({self.name!r}: {s.entities:,} entities ({s.isolated_entities:,} in no fact), "
            f"{s.relations:,} relations, {s.facts:,} facts{share}, "
            f"{f'{s.entity_dates:,} entity dates, ' if s.entity_dates else ''}"
            f"{s.distinct_times:,} times in {s.distinct_intervals:,} intervals, {span})"
        )


AnyGraph = TemporalGraph | FactColumns
"""A graph, or what it says without its names."""


def _distinct_rows(*columns: Ints) -> int:
    """Count distinct rows."""
    return pl.DataFrame({str(number): column for number, column in enumerate(columns)}).n_unique()


def is_missing(value: object) -> bool:
    """Whether a value is missing: None, NaN, or the NA and NaT of pandas.

    >>> [is_missing(value) for value in (None, float("nan"), "nan", 0)]
    [True, True, False, False]
    """
    if value is None or isinstance(value, str):
        return value is None
    try:
        return bool(value != value)
    except TypeError:  # pandas' NA
        return True
    except ValueError:  # an array
        return False
