"""One round: tokens on what is known, candidates, Sinkhorn, beliefs; and the next one on what is believed then."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse as sp

from dualmatch.decode.belief import CLOSED, LEAST_SAMPLE, MOST_LIKE_DECOYS, SURE, Beliefs, believe, logit
from dualmatch.decode.forbidding import Forbidden
from dualmatch.decode.mixture import Learnt, Scores
from dualmatch.decode.sharpness import sharpness_of
from dualmatch.decode.sparse_sinkhorn import UNTIL_LITTLE_MOVES, SparsePlan, sparse_sinkhorn
from dualmatch.encode.evidence.candidates import Scored, find_candidates, scored_tokens
from dualmatch.encode.evidence.context import with_context
from dualmatch.encode.evidence.decoys import decoy_scores
from dualmatch.encode.evidence.knowledge import Knowledge, SoftPairs
from dualmatch.encode.evidence.relations import align_relations
from dualmatch.encode.evidence.sides import FactSides, Ids, TimeKind
from dualmatch.encode.evidence.tokens import Scale, TokenBuilder
from dualmatch.engine import Engine
from dualmatch.placebo import without_partners

Floats = NDArray[np.float64]
Part = Literal["relations", "background"]
"""What an ablation may switch off: aligning relations, or the constant background of Sinkhorn."""

# Pairs that the next round builds on: as long as 19 of 20 are expected right, and from this probability on.
_RIGHT_OF_SOFT = 0.95
_LEAST_SOFT = 0.1


@dataclass(frozen=True)
class Round:
    """What one round did; a round that is not whole looked only at what was open."""

    number: int
    whole: bool
    tokens: int
    candidates: int
    smoothing: float
    sharpness: float
    pairs: int
    without_partner: float | None
    changed: int
    seconds: float


@dataclass(frozen=True, eq=False)
class Basis:
    """What the next round goes on from.

    Attributes
    ----------
    scale:
        What the tokens of all entities told.
    weights: two (n_entities,) float64
        How much is known of each source and each target entity.
    similarity: csr float32
        Of the candidates.
    """

    scale: Scale
    weights: tuple[Floats, Floats]
    similarity: sp.csr_matrix
    beliefs: Beliefs

    @property
    def sure(self) -> Ids:
        """Pairs more likely right than not: (n, 2)."""
        return self.beliefs.pairs[self.beliefs.confidence > SURE]


@dataclass(frozen=True, eq=False)
class Look(Basis):
    """What one round saw: on what knowledge, which candidates, and what to believe of them."""

    knowledge: Knowledge | None
    n_tokens: int
    plan: SparsePlan

    def summary(self, number: int, whole: bool, changed: int, seconds: float) -> Round:
        return Round(
            number,
            whole,
            self.n_tokens,
            self.similarity.nnz,
            self.scale.smoothing,
            self.plan.sharpness,
            int((self.beliefs.confidence > SURE).sum()),
            self.beliefs.without_partner,
            changed,
            seconds,
        )


class Looking:
    """Rounds over one pair of graphs.

    Parameters
    ----------
    given: (n, 2) int64
        Seeds; they stay in every round.
    model:
        What tells true pairs, where it was learnt before: then it is not learnt again, and nothing is taken for chance.
    columns_close:
        Whether the target of a closed pair, too, is looked at no more.
    """

    def __init__(
        self,
        left: FactSides,
        right: FactSides,
        kinds: tuple[TimeKind, ...],
        given: Ids,
        engine: Engine,
        without: Collection[Part] = (),
        forbidden: Forbidden | None = None,
        model: Learnt | None = None,
        columns_close: bool = True,
    ) -> None:
        self.aligned, self.background = "relations" not in without, "background" not in without
        self.forbidden = Forbidden(given[:0]) if forbidden is None else forbidden
        self.left, self.right, self.kinds, self.given, self.engine = left, right, kinds, given, engine
        self.builder = TokenBuilder(left, right, kinds)
        self.scored: Scored | None = None  # of the last round
        self.model, self.columns_close = model, columns_close
        # until a round finds that most pairs are more than decoys reach
        self.may_be_chance = model is None and not len(given)

    def first(self) -> Look:
        """Round 0: by time alone, or by the seeds."""
        return self._look(self._knowledge(self.given, None) if len(self.given) else None, None)

    def again(self, before: Basis, whole: bool) -> Look:
        """The next round. One that is not whole looks only at what the round before left open; the rest stays."""
        knowledge = self._knowledge(before.sure, before.beliefs)
        return self._look(knowledge, None if whole or self.may_be_chance else before)

    def _look(self, knowledge: Knowledge | None, before: Basis | None) -> Look:
        self.scored = None  # before the next ones take as much memory again
        among = None if before is None else _open(before.beliefs, self.columns_close)
        smoothing, dearest = (None, None) if before is None else before.scale
        tokens = self.builder.build(knowledge, among, smoothing)
        self.scored = scored = scored_tokens(tokens, dearest=dearest)
        found = find_candidates(scored, (self.left.n_entities, self.right.n_entities), engine=self.engine)
        found = self.forbidden.left_out_of(found)
        if before is None or among is None:
            found = similarity = _with_seeds(found, self.given)
            weights = scored.known
        else:
            similarity = _renewed(before.similarity, found, among)
            weights = (
                _placed(before.weights[0], scored.known[0], among[0]),
                _placed(before.weights[1], scored.known[1], among[1]),
            )
        plan = self.balanced(similarity, sharpness_of(found))
        decoys = None
        if self.may_be_chance:
            reached, weight = decoy_scores(self.left, self.right, self.kinds, knowledge, tokens, scored)
            decoys = Scores(logit(reached), weight, np.ones(len(reached)))  # no rivals are known of
        beliefs = believe(plan, weights, self.given, decoys=decoys, model=self.model, engine=self.engine)
        self.may_be_chance &= not beliefs.learnt or beliefs.like_decoys > MOST_LIKE_DECOYS
        scale = Scale(tokens.smoothing, scored.dearest)
        return Look(scale, weights, similarity, beliefs, knowledge, len(tokens.weights), plan)

    def changed(self, before: Ids, after: Ids) -> int:
        """How many pairs stand in one of two lists only."""
        old, new = (pairs[:, 0] * self.right.n_entities + pairs[:, 1] for pairs in (before, after))
        return len(np.setxor1d(old, new))

    def ranking(self, look: Look, closed: Ids) -> sp.csr_matrix:
        """The last round's similarity, with context for what is in no `closed` pair."""
        # Where the look was kept and not made here, its tokens are built again: they follow from its knowledge.
        scored = scored_tokens(self.builder.build(look.knowledge)) if self.scored is None else self.scored
        return with_context(look.similarity, (self.left, self.right), scored, closed, self.engine)

    def final_beliefs(self, look: Look) -> Beliefs:
        """The last round's beliefs, measured against what entities reach whose partner never was."""
        if not look.beliefs.learnt:
            return look.beliefs
        chance = without_partners(
            (self.left, self.right),
            self.kinds,
            look.plan,
            look.weights,
            look.beliefs,
            self.given,
            look.scale,
            self.engine,
            relations=self.aligned,
            forbidden=self.forbidden,
        )
        if len(chance.score) < LEAST_SAMPLE:
            return look.beliefs
        return believe(look.plan, look.weights, self.given, chance=chance)

    def _knowledge(self, pairs: Ids, beliefs: Beliefs | None) -> Knowledge:
        relations = align_relations(self.left, self.right, pairs if self.aligned else pairs[:0], self.engine)
        if beliefs is None:
            soft = SoftPairs(pairs[:, 0], pairs[:, 1], np.ones(len(pairs)))
        else:
            entries = beliefs.probability.tocoo()
            least = _least_for_share(entries.data, _RIGHT_OF_SOFT) if beliefs.learnt else _LEAST_SOFT
            kept = entries.data >= max(_LEAST_SOFT, least)
            soft = SoftPairs(entries.row[kept].astype(np.int64), entries.col[kept].astype(np.int64), entries.data[kept])
        return Knowledge(soft, relations.source_class, relations.target_class)

    def balanced(self, similarity: sp.csr_matrix, sharpness: float) -> SparsePlan:
        """Sinkhorn until little moves."""
        return sparse_sinkhorn(sp.csr_array(similarity), sharpness, UNTIL_LITTLE_MOVES, self.background, self.engine)


def _open(beliefs: Beliefs, columns_close: bool = True) -> tuple[Ids, Ids]:
    """Rows and columns in no closed pair; all columns where those stay open."""
    closed = beliefs.pairs[beliefs.confidence > CLOSED]
    rows, columns = (
        np.setdiff1d(np.arange(size), closed[:, side]) for side, size in enumerate(beliefs.probability.shape)
    )
    return rows, columns if columns_close else np.arange(beliefs.probability.shape[1])


def _placed(values: Floats, some: Floats, places: Ids) -> Floats:
    """A copy with some values put in their places."""
    copy = values.copy()
    copy[places] = some
    return copy


def _renewed(similarity: sp.csr_matrix, found: sp.csr_matrix, among: tuple[Ids, Ids]) -> sp.csr_matrix:
    """Candidates with those between some rows and columns replaced by what was found there now."""
    rows, columns = np.zeros(similarity.shape[0], dtype=bool), np.zeros(similarity.shape[1], dtype=bool)
    rows[among[0]], columns[among[1]] = True, True
    old, new = similarity.tocoo(), found.tocoo()
    kept = ~(rows[old.row] & columns[old.col])
    places = np.append(old.row[kept], new.row), np.append(old.col[kept], new.col)
    renewed = sp.csr_matrix((np.append(old.data[kept], new.data), places), shape=similarity.shape)
    renewed.sort_indices()
    return renewed


def _least_for_share(probability: Floats, share: float) -> float:
    """The threshold above which this share is expected right: where little is sure, guesses must not pile up."""
    ordered = np.sort(probability[probability >= _LEAST_SOFT])[::-1]
    enough = np.flatnonzero(np.cumsum(ordered) >= share * np.arange(1, len(ordered) + 1))
    return float(ordered[enough[-1]]) if len(enough) else np.inf


def _with_seeds(similarity: sp.csr_matrix, seeds: Ids) -> sp.csr_matrix:
    """Seeds at similarity 1, alone in their rows and columns."""
    if len(seeds) == 0:
        return similarity
    entries = similarity.tocoo()
    free = ~(np.isin(entries.row, seeds[:, 0]) | np.isin(entries.col, seeds[:, 1]))
    row, column = np.append(entries.row[free], seeds[:, 0]), np.append(entries.col[free], seeds[:, 1])
    value = np.append(entries.data[free], np.ones(len(seeds))).astype(np.float32)
    merged = sp.csr_matrix((value, (row, column)), shape=similarity.shape)
    merged.sort_indices()
    return merged
