"""Rounds: align what the evidence settles, learn from it, and look again, until nothing changes."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse as sp

from dualmatch.decode.belief import Beliefs, believe
from dualmatch.decode.sparse_sinkhorn import SparsePlan, sparse_sinkhorn
from dualmatch.encode.evidence.candidates import find_candidates, known_weight, scored_tokens
from dualmatch.encode.evidence.context import context_candidates, context_of, context_vectors
from dualmatch.encode.evidence.decoys import decoy_scores
from dualmatch.encode.evidence.relations import RelationAlignment, align_relations
from dualmatch.encode.evidence.sides import FactSides, Ids, TimeKind, fact_sides
from dualmatch.encode.evidence.texts import with_texts
from dualmatch.encode.evidence.tokens import Knowledge, SoftPairs, TokenBuilder, Tokens, build_tokens
from dualmatch.graph.literals import LiteralPair
from dualmatch.graph.model import TemporalGraph

logger = logging.getLogger(__name__)

Floats = NDArray[np.float64]
Part = Literal["relations", "background"]
"""What an ablation may switch off: aligning relations, or the constant background of Sinkhorn."""

# Context only orders what facts leave open, so it counts for little beside them.
_CONTEXT_WEIGHT = 0.2
# Pairs that the next round builds on: as long as 19 of 20 are expected right, and from this probability on.
_RIGHT_OF_SOFT = 0.95
_LEAST_SOFT = 0.1
SURE: Final = 0.5
"""Pairs above this probability are more likely than all other outcomes together."""
CLOSED: Final = 0.9
"""What is this sure needs no context, and can be learnt from."""
_STABLE_SHARE = 0.02
_SINKHORN_ITERATIONS = 20


@dataclass(frozen=True)
class Round:
    """What one round did."""

    number: int
    tokens: int
    candidates: int
    smoothing: float
    sharpness: float
    pairs: int
    without_partner: float | None
    changed: int
    seconds: float


@dataclass(frozen=True, eq=False)
class Evidence:
    """Outcome of the rounds.

    Attributes
    ----------
    similarity: csr float32
        Smoothed cosine of the facts; decisions rest on it alone.
    ranking: csr float32
        The same plus context for what stayed open; rank with it.
    settled, plan: SparsePlan
        Sinkhorn of `similarity` and of `ranking`.
    beliefs: Beliefs
        One-to-one pairs and all other candidates, each with how likely it is.
    first_pairs: (n, 2) int64
        Confident pairs after round 0.
    knowledge: Knowledge | None
        What the last round's tokens were built on; `tokens()` builds them again.
    """

    similarity: sp.csr_matrix
    ranking: sp.csr_matrix
    settled: SparsePlan
    plan: SparsePlan
    beliefs: Beliefs
    first_pairs: Ids
    relations: RelationAlignment
    knowledge: Knowledge | None
    source: FactSides
    target: FactSides
    kinds: tuple[TimeKind, ...]
    literals: LiteralPair | None
    rounds: tuple[Round, ...]

    @property
    def closed(self) -> Ids:
        """Pairs sure enough to be left alone, and to be learnt from: (n, 2)."""
        return self.beliefs.pairs[self.beliefs.confidence > CLOSED]

    def tokens(self) -> Tokens:
        """The last round's tokens, for explanations."""
        return build_tokens(self.source, self.target, self.kinds, self.knowledge)


def gather_evidence(
    source: TemporalGraph,
    target: TemporalGraph,
    seeds: NDArray[np.integer] | None = None,
    max_rounds: int = 8,
    n_threads: int = 2,
    progress: Callable[[int, int], None] | None = None,
    literals: LiteralPair | None = None,
    without: Collection[Part] = (),
) -> Evidence:
    """Align two graphs by the facts they share.

    Parameters
    ----------
    seeds: (n, 2) int64
        Pairs known beforehand; they stay in every round. Without them, round 0 goes by time alone.
    literals:
        Labels and other literals to look at besides the facts.
    without:
        Parts to do without, to see what they are worth.
    """
    aligned, background = "relations" not in without, "background" not in without
    left, right, kinds = fact_sides(source, target)
    left, right = with_texts((left, right), literals)
    given: Ids = np.zeros((0, 2), dtype=np.int64) if seeds is None else seeds.astype(np.int64)
    knowledge = _knowledge(left, right, given, None, aligned) if len(given) else None
    pairs, first_pairs, log = given, given, []
    builder = TokenBuilder(left, right, kinds)
    for number in range(max_rounds):
        start = time.perf_counter()
        if progress is not None:
            progress(number, max_rounds)
        tokens = builder.build(knowledge)
        similarity = _with_seeds(find_candidates(tokens, n_threads=n_threads), given)
        settled = _balanced(similarity, sharpness_of(similarity), background)
        decoys = None if len(given) else decoy_scores(left, right, kinds, knowledge, tokens)
        beliefs = believe(settled, *known_weight(tokens), given, decoys)
        sure = beliefs.pairs[beliefs.confidence > SURE]
        changed = len(np.setxor1d(_codes(pairs, target), _codes(sure, target)))
        pairs, used = sure, knowledge
        first_pairs = pairs if number == 0 else first_pairs
        knowledge = _knowledge(left, right, pairs, beliefs, aligned)
        seconds = time.perf_counter() - start
        log.append(
            Round(
                number,
                len(tokens.weights),
                similarity.nnz,
                tokens.smoothing,
                settled.sharpness,
                len(pairs),
                beliefs.without_partner,
                changed,
                seconds,
            )
        )
        logger.info("%s", log[-1])
        if changed <= _STABLE_SHARE * len(pairs) and (number or not len(given)):
            break  # a first round that adds nothing to the seeds may still have taught what relations mean
    ranking = _with_context(similarity, left, right, tokens, beliefs.pairs[beliefs.confidence > CLOSED])
    return Evidence(
        similarity=similarity,
        ranking=ranking,
        settled=settled,
        plan=_balanced(ranking, settled.sharpness, background),
        beliefs=beliefs,
        first_pairs=first_pairs,
        relations=align_relations(left, right, pairs),
        knowledge=used,
        source=left,
        target=right,
        kinds=kinds,
        literals=literals,
        rounds=tuple(log),
    )


def _balanced(similarity: sp.csr_matrix, sharpness: float, background: bool = True) -> SparsePlan:
    """Sinkhorn until little moves: entities that share a weak candidate take longer to part than the paper's ten."""
    return sparse_sinkhorn(sp.csr_array(similarity), sharpness, _SINKHORN_ITERATIONS, background)


def sharpness_of(similarity: sp.csr_matrix) -> float:
    """c such that a candidate at noise level weighs as much as the whole background: exp(c·noise) = entities.

    Noise is what second-best candidates reach: their 0.9 quantile over the rows and columns that have one.
    """
    seconds = np.concatenate([_second_best(similarity), _second_best(similarity.T.tocsr())])
    if len(seconds) == 0:
        return float(np.log(max(similarity.shape)) / 0.5)
    entities = float(np.sqrt(float(similarity.shape[0]) * similarity.shape[1]))
    return float(np.log(max(entities, 2.0)) / max(float(np.quantile(seconds, 0.9)), 0.05))


def _second_best(matrix: sp.csr_matrix) -> Floats:
    """The second largest entry of each row that has two, equal to the largest where that one comes twice."""
    lengths = np.diff(matrix.indptr)
    filled = np.flatnonzero(lengths)
    if len(filled) == 0:
        return np.zeros(0)
    starts, values = matrix.indptr[filled], matrix.data.astype(np.float64)
    row = np.repeat(np.arange(len(filled)), lengths[filled])
    is_best = np.flatnonzero(values == np.maximum.reduceat(values, starts)[row])
    first = is_best[np.unique(row[is_best], return_index=True)[1]]
    values[first] = -np.inf
    seconds: Floats = np.maximum.reduceat(values, starts)[lengths[filled] >= 2]
    return seconds


def _knowledge(
    left: FactSides, right: FactSides, pairs: Ids, beliefs: Beliefs | None, aligned: bool = True
) -> Knowledge:
    relations = align_relations(left, right, pairs if aligned else pairs[:0])  # from no pair, no relation is alike
    if beliefs is None:
        soft = SoftPairs(pairs[:, 0], pairs[:, 1], np.ones(len(pairs)))
    else:
        entries = beliefs.probability.tocoo()
        least = _least_for_share(entries.data, _RIGHT_OF_SOFT) if beliefs.learnt else _LEAST_SOFT
        kept = entries.data >= max(_LEAST_SOFT, least)
        soft = SoftPairs(entries.row[kept].astype(np.int64), entries.col[kept].astype(np.int64), entries.data[kept])
    return Knowledge(soft, relations.source_class, relations.target_class)


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


def _with_context(
    similarity: sp.csr_matrix, left: FactSides, right: FactSides, tokens: Tokens, closed: Ids
) -> sp.csr_matrix:
    """Context added where neither entity is settled."""
    open_rows, open_columns = np.ones(similarity.shape[0], dtype=bool), np.ones(similarity.shape[1], dtype=bool)
    open_rows[closed[:, 0]] = False
    open_columns[closed[:, 1]] = False
    vectors = context_vectors(left, right, scored_tokens(tokens))
    rows, columns = np.flatnonzero(open_rows), np.flatnonzero(open_columns)
    context = context_candidates(*vectors, rows, columns, similarity.shape)
    entries = similarity.tocoo()
    both = open_rows[entries.row] & open_columns[entries.col]
    listed = sp.coo_matrix((entries.data[both], (entries.row[both], entries.col[both])), shape=similarity.shape)
    values = np.maximum(context_of(*vectors, listed), 0.0)
    context = context.maximum(sp.csr_matrix((values, (listed.row, listed.col)), shape=similarity.shape))
    ranking = (similarity + np.float32(_CONTEXT_WEIGHT) * context).tocsr()
    ranking.sort_indices()
    return ranking


def _codes(pairs: Ids, target: TemporalGraph) -> Ids:
    return pairs[:, 0] * target.n_entities + pairs[:, 1]
