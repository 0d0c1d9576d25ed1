"""The result of a run: pairs with a confidence, a verdict for every source, and what is needed to judge them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse as sp

from dualmatch.channels.evidence.relations import RelationAlignment
from dualmatch.charts.chart import Chart
from dualmatch.charts.distributions import confidence_chart, rounds_chart, verdict_shares
from dualmatch.charts.markup import frame_html
from dualmatch.config import EXPLAINED, Config
from dualmatch.decode.assignment import NO_SIMILARITY
from dualmatch.decode.forbidden import Forbidden
from dualmatch.decode.fusion import Decoded, FusedPlan
from dualmatch.decode.shortlist import (
    BestCandidates,
    RunnersUp,
    best_candidates,
    runners_up,
    shortlist,
)
from dualmatch.decode.sinkhorn import Best
from dualmatch.decode.verdicts import Unlinked, Verdict, unlinked
from dualmatch.errors import InputError, MissingExtraError
from dualmatch.graph.arrays import Flags, Floats, Pairs, Rows
from dualmatch.graph.model import TemporalGraph
from dualmatch.graph.ordering import ranks_of
from dualmatch.methods.evidence import MORE_LIKELY_THAN_NOT, EvidenceResult
from dualmatch.methods.evidence.state import Round
from dualmatch.methods.link_table import link_table, relation_table
from dualmatch.version import __version__

if TYPE_CHECKING:
    import pandas as pd


class SoftPlan(Protocol):
    """P̂ before any top-1: what rankings are read from."""

    def best(self) -> Best: ...

    def ranks(self, pairs: NDArray[np.integer]) -> tuple[Floats, Floats]: ...

    def restricted(self, rows: Rows, columns: Rows) -> SoftPlan: ...


@dataclass(frozen=True, eq=False, repr=False)
class Alignment:
    """Which source entity is which target entity.

    Attributes
    ----------
    pairs: (n, 2) int32
        Source and target rows, sorted by source; 1-to-1, unless `many_to_one` was asked for.
    confidence: (n,) float64 in [0, 1]
    is_seed: (n,) bool
        Pairs that were given, not found.
    all_pairs, all_confidence: (m, 2) int32, (m,) float64
        All pairs that were found, however unlikely; `pairs` was chosen from these.
    plan:
        The soft scores of the run.
    pseudo_seeds: (m, 2) int32 or None
        The pairs the run found by time alone before anything else.
    decoded:
        What the GM-Decoder chose and why: α, and D with both kernels for every α tried.
    evidence:
        What the rounds of methods evidence and fused ended with. Runners-up, relations and explanations come from it.
    fused:
        The weights of method fused, and D of all that were tried.
    seconds:
        What each stage took.
    forbidden:
        Pairs that the run must not link.
    """

    source: TemporalGraph
    target: TemporalGraph
    pairs: Pairs
    confidence: Floats
    is_seed: Flags
    all_pairs: Pairs
    all_confidence: Floats
    plan: SoftPlan
    config: Config
    pseudo_seeds: Pairs | None = None
    decoded: Decoded | None = None
    evidence: EvidenceResult | None = None
    fused: FusedPlan | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)
    version: str = __version__
    forbidden: Forbidden = field(default_factory=lambda: Forbidden(np.zeros((0, 2), np.int32)))

    @property
    def method(self) -> str:
        return self.config.method

    @property
    def unmatched(self) -> NDArray[np.intp]:
        """Source rows in no pair: undecided, or without a match."""
        return np.setdiff1d(np.arange(self.source.n_entities), self.pairs[:, 0])

    @property
    def weights(self) -> Mapping[str, float] | None:
        """The weight of each channel, where the method has several."""
        if self.fused is not None:
            return self.fused.weights
        alpha = None if self.decoded is None else self.decoded.alpha
        return None if alpha is None else {"temporal": alpha, "relational": 1.0}

    @property
    def distances(self) -> Mapping[str, float] | None:
        """D of every weight tried: by α, or by the weights of the channels beside evidence."""
        if self.fused is not None:
            tried = {", ".join(map(str, key)): value.total for key, value in self.fused.distances.items()}
        else:
            tried = {} if self.decoded is None else {str(key): d.total for key, d in self.decoded.distances.items()}
        return tried or None

    @property
    def rounds(self) -> tuple[Round, ...] | None:
        """What each round of evidence did."""
        return None if self.evidence is None else self.evidence.rounds

    @property
    def estimated_fdr(self) -> float | None:
        """Expected share of wrong pairs among those found, by their own confidence.

        None where none was found, and where the confidence only orders pairs (methods temporal and dualmatch).
        """
        found = self.confidence[~self.is_seed]
        return float((1.0 - found).mean()) if len(found) and self.config.method in EXPLAINED else None

    @property
    def relations(self) -> RelationAlignment | None:
        """Which relations mean the same; None where the method learns none."""
        return None if self.evidence is None else self.evidence.relations

    @cached_property
    def candidates(self) -> sp.csr_array | None:
        """(n_source, n_target) csr: the few best of each source and of each target, with their probability."""
        if self.evidence is None:
            return None
        return shortlist(self.evidence.probability, ranks_of(self.source.entities), ranks_of(self.target.entities))

    @cached_property
    def runners_up(self) -> RunnersUp:
        """Up to three candidates of each source that it did not get; none where the method keeps none."""
        listed = sp.csr_array((self.source.n_entities, self.target.n_entities), dtype=np.float64)
        if self.candidates is not None:
            listed = self.candidates
        return runners_up(listed, ranks_of(self.target.entities), self.pairs)

    @cached_property
    def unlinked(self) -> Unlinked:
        """Why each source in no pair has none, and how sure it is that it has no partner."""
        return unlinked(
            self._best_candidates(),
            self.pairs,
            self.source.is_in_a_fact,
            self.target.n_entities,
            None if self.evidence is None else self.evidence.no_partner[0],
            self.config.many_to_one,
            MORE_LIKELY_THAN_NOT if self._is_asked_for_more else 1.0,
            self.forbidden.alone,
        )

    @property
    def _is_asked_for_more(self) -> bool:
        """Whether links were left out because more was asked for than the method's own threshold."""
        asked = self.config.min_confidence is not None or self.config.max_fdr is not None
        return asked and self.config.method in EXPLAINED

    @cached_property
    def verdicts(self) -> tuple[Verdict, ...]:
        """Of each source row."""
        verdicts = np.full(self.source.n_entities, Verdict.LINKED, dtype=object)
        verdicts[self.unlinked.row] = np.where(self.unlinked.is_no_match, Verdict.NO_MATCH, Verdict.UNDECIDED)
        return tuple(verdicts.tolist())

    def _best_candidates(self) -> BestCandidates:
        if self.candidates is not None:
            return best_candidates(self.candidates, ranks_of(self.target.entities))
        best = self.plan.best()
        column = np.where(best.similarity_of_row > NO_SIMILARITY, best.column_of_row, -1).astype(np.int64)
        probability = best.value_of_row.astype(np.float64).clip(0.0, 1.0)
        return BestCandidates(column, probability, np.zeros(len(column), dtype=bool))

    def links(self) -> list[tuple[str, str, float]]:
        """(source name, target name, confidence) of each pair, sorted by source name."""
        rows = [
            (self.source.entities[s], self.target.entities[t], c)
            for (s, t), c in zip(self.pairs.tolist(), self.confidence.tolist(), strict=True)
        ]
        return sorted(rows)

    def to_polars(self) -> pl.DataFrame:
        """A row for each source entity: the table that files of links hold (`dualmatch.methods.link_table`).

        >>> from dualmatch import align
        >>> graph = [("Ada", "met", "Charles", "1833"), ("Charles", "wrote", "Book", "1864")]
        >>> align(graph, graph).to_polars().select("source", "target", "verdict").row(0)
        ('Ada', 'Ada', 'linked')
        """
        return link_table(self)

    def to_pandas(self) -> pd.DataFrame:
        """The same for pandas, which must be installed; runners-up are lists of dicts.

        Raises
        ------
        MissingExtraError
            Where there is no pandas.
        """
        try:
            import pandas as pd
        except ImportError:
            raise MissingExtraError("to_pandas needs pandas; install it, or use to_polars") from None
        table = self.to_polars()
        return pd.DataFrame({name: table[name].to_list() for name in table.columns}, columns=table.columns)

    def relations_to_polars(self) -> pl.DataFrame:
        """Which relations mean the same: source, target, direction (same or inverse), score and support."""
        return relation_table(self)

    def plot_confidence(self) -> Chart:
        """How many of the links that were found have how much confidence.

        >>> from dualmatch import align
        >>> align([("Ada", "met", "Charles", "1833")], [("Q1", "P1", "Q2", "1833")]).plot_confidence().title
        'Links by confidence'
        """
        return confidence_chart(self.confidence[~self.is_seed])

    def plot_verdicts(self) -> Chart:
        """How many source entities are linked, undecided and without a match."""
        without = int(self.unlinked.is_no_match.sum())
        return verdict_shares(len(self.pairs), len(self.unmatched) - without, without)

    def plot_rounds(self) -> Chart:
        """How many pairs each round believed, and how many of them changed.

        Raises
        ------
        InputError
            For methods that take no rounds.
        """
        if not self.rounds:
            raise InputError(f"method {self.method} takes no rounds, so there is nothing to draw")
        return rounds_chart([asdict(each) for each in self.rounds])

    def _repr_html_(self) -> str:
        shown = {"source": self.source.shown, "target": self.target.shown, "runners_up": self.target.shown}
        return frame_html(repr(self), self.to_polars(), self.source.n_entities, **shown)

    def __repr__(self) -> str:
        found, without = len(self.pairs) - int(self.is_seed.sum()), int(self.unlinked.is_no_match.sum())
        return (
            f"Alignment({self.method}: {found:,} pairs found, {int(self.is_seed.sum()):,} seeds; of "
            f"{self.source.n_entities:,} source entities {len(self.unmatched) - without:,} undecided, "
            f"{without:,} without a match)"
        )
