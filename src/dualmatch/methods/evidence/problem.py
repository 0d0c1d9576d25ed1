"""The problem: two graphs, and what is given about them, as the rounds see them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from dualmatch.channels.evidence.agreement import Side, sides_of
from dualmatch.channels.evidence.dated_entities import DatedPair, dated_entities
from dualmatch.channels.evidence.dates import gaps_by_chance
from dualmatch.channels.evidence.fact_views import FactSides, TimeKind, fact_sides
from dualmatch.channels.evidence.ties import Ties
from dualmatch.channels.evidence.tokens import TokenBuilder
from dualmatch.channels.names import Names
from dualmatch.decode.forbidden import Forbidden
from dualmatch.decode.one_to_one import Unmatched
from dualmatch.engine import Engine, InProcess
from dualmatch.graph.arrays import Flags, Floats, Ids
from dualmatch.graph.literals import LiteralPair
from dualmatch.graph.model import TemporalGraph
from dualmatch.methods.evidence.state import both, size_class

Part = Literal["relations", "cavity", "open support"]
"""What an ablation may do without: learning which relations say the same, the cavity of the messages, and support from
neighbours whose partner is not known yet."""

_FEW_SEEDS: Final = 0.2  # of the smaller graph
_WORTH_THREADS: Final = 20_000  # facts and entities of both graphs
_OF_GRAPHS: Final = ("ties", "sides", "gap_chance", "dated", "classes", "_fact_sides", "keys")  # made of arrays


@dataclass(frozen=True, eq=False)
class Problem:
    """Two graphs to align."""

    source: TemporalGraph
    target: TemporalGraph
    given: Ids  # (n, 2): seeds, sorted by source
    forbidden: Forbidden
    engine: Engine
    literals: LiteralPair | None = None  # labels of both graphs, where they are to be compared
    many_to_one: bool = False  # whether several sources may have one target; then a target is never closed
    without: frozenset[Part] = frozenset()

    @classmethod
    def of(
        cls,
        source: TemporalGraph,
        target: TemporalGraph,
        seeds: NDArray[np.integer] | None = None,
        forbidden: Forbidden | None = None,
        engine: Engine | None = None,
        literals: LiteralPair | None = None,
        many_to_one: bool = False,
        without: Collection[Part] = (),
    ) -> Problem:
        """Two graphs, with defaults for the rest."""
        given = np.zeros((0, 2), dtype=np.int64) if seeds is None else seeds.astype(np.int64)
        given = given[np.argsort(given[:, 0], kind="stable")]
        return cls(
            source,
            target,
            given,
            Forbidden(given[:0]) if forbidden is None else forbidden,
            default_engine(source, target) if engine is None else engine,
            literals,
            many_to_one,
            frozenset(without),
        )

    def keep_in_files(self) -> None:
        """Move what was computed of the graphs to files, if memory has become short since."""
        names = [name for name in _OF_GRAPHS if name in self.__dict__]
        self.__dict__.update(zip(names, self.engine.paged(tuple(self.__dict__[name] for name in names)), strict=True))

    def granting(self, pairs: Ids) -> Problem:
        """The same problem with these pairs as seeds; what was computed of the graphs is shared."""
        granted = replace(self, given=pairs)
        for name in (*_OF_GRAPHS, "builder", "names"):
            if name in self.__dict__:
                granted.__dict__[name] = self.__dict__[name]
        return granted

    @property
    def shape(self) -> tuple[int, int]:
        return self.source.n_entities, self.target.n_entities

    @cached_property
    def ties(self) -> tuple[Ties, Ties]:
        source, target = self.engine.on_columns(
            Ties.indexed, [(graph.columns,) for graph in (self.source, self.target)]
        )
        return source, target

    @cached_property
    def sides(self) -> tuple[Side, Side]:
        """What the facts of both graphs say."""
        opaque = self.source.opaque_times or self.target.opaque_times
        return sides_of(*self.ties, opaque, self.engine)

    @cached_property
    def gap_chance(self) -> Floats:
        """How far apart the begins of two facts with one neighbour are by chance: (n_precisions, N_GAPS)."""
        source, target = self.engine.on_columns(gaps_by_chance, [(side.ties, side.begin) for side in self.sides])
        return 0.5 * (source + target)

    @cached_property
    def dated(self) -> DatedPair | None:
        """The entity dates of both graphs, where both have some."""
        return dated_entities(self.source, self.target)

    @cached_property
    def classes(self) -> tuple[Ids, Ids]:
        """The size class of each entity, by its facts and dates."""
        return both(lambda side: size_class(np.diff(self.ties[side].first_fact_of_entity) + self.n_dates[side]))

    @cached_property
    def n_dates(self) -> tuple[Ids, Ids]:
        """How many dates of its own each entity has."""
        graphs = self.source, self.target
        return both(lambda side: np.bincount(graphs[side].dates.entity, minlength=self.shape[side]))

    @cached_property
    def n_ties(self) -> tuple[Ids, Ids]:
        """How many ties and dates of its own each entity has."""
        return both(lambda side: np.diff(self.ties[side].first_tie) + self.n_dates[side])

    @cached_property
    def _fact_sides(self) -> tuple[FactSides, FactSides, tuple[TimeKind, ...]]:
        return fact_sides(self.source.columns, self.target.columns, self.engine)

    @property
    def views(self) -> tuple[FactSides, FactSides]:
        """The facts as tokens are made of them."""
        return self._fact_sides[:2]

    @cached_property
    def builder(self) -> TokenBuilder:
        return TokenBuilder(*self._fact_sides, self.engine)

    @cached_property
    def names(self) -> Names | None:
        """The labels, where both graphs have some."""
        names = None if self.literals is None else Names(self.literals, self.shape, self.engine.threads)
        return names if names else None

    @property
    def has_few_seeds(self) -> bool:
        """Whether there are seeds, and so few that what they know together says little."""
        return 0 < len(self.given) < _FEW_SEEDS * min(self.shape)

    @cached_property
    def keys(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """A hash of each entity's name: what is drawn by it does not depend on the order of the input."""
        return self.engine.paged((self.source.entity_hashes, self.target.entity_hashes))

    def is_given(self, row: Ids, column: Ids) -> Flags:
        """Which of some pairs are seeds; a seed is the only candidate of its source."""
        partner = np.full(self.shape[0], -1, dtype=np.int64)
        partner[self.given[:, 0]] = self.given[:, 1]
        given: Flags = partner[row] == column
        return given

    def open_partners(self, unmatched: Unmatched) -> Unmatched:
        """Whose partner counts as not found yet; nobody's where that is to be done without."""
        return Unmatched.nobody(self.shape) if "open support" in self.without else unmatched


def default_engine(*graphs: TemporalGraph) -> InProcess:
    """Threads for large graphs; for small ones, starting and waiting for them takes longer than they save."""
    size = sum(graph.n_facts + graph.n_entities for graph in graphs)
    return InProcess() if size >= _WORTH_THREADS else InProcess(threads=1)
