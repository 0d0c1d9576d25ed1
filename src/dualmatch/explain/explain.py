"""Why a pair, or why none: shared dated facts with their weights, and what other candidates lack."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence

import numpy as np

from dualmatch.decode.shortlist import ordered
from dualmatch.decode.verdicts import Reason, Verdict
from dualmatch.errors import InputError
from dualmatch.explain.basis import Grounds, grounds_of
from dualmatch.explain.describe import balance_of, fact_of, shared_in_words, sides_of_entity
from dualmatch.explain.explanation import Candidate, Explanation, Lack, SharedFact
from dualmatch.graph.model import TemporalGraph
from dualmatch.methods.alignment import Alignment
from dualmatch.methods.evidence.pair_evidence import PairEvidence

OTHERS = 3
"""Other candidates an explanation tells of."""
REASONS = 3
"""Facts the column ``reasons`` of an alignment file tells of."""
_BATCH = 20_000
_LEAST_TOLD = 0.005
# Below this, a probability would be told as 0.000.
_TOLD = 0.0005
# Names to look through for one that was meant; in more it would take seconds.
_SEARCHED = 50_000


def explain_entity(
    alignment: Alignment | Grounds, entity: str, *, target: bool = False, versus: str | None = None
) -> Explanation:
    """Say why an entity was given its partner, or none; parameters as in `dualmatch.explain`."""
    grounds = _grounds(alignment)
    if target:
        grounds = grounds.flipped()
    row = _row_of(entity, grounds.source, grounds.source_ids)
    rival = None if versus is None else _row_of(versus, grounds.target, grounds.target_ids)
    return _Explainer(grounds, row, rival).explanation()


def reasons(alignment: Alignment | Grounds, top: int = REASONS) -> list[str]:
    """For each source entity, in the order of rows: its weightiest shared facts, or why it has no link.

    Reasons are separated by "; ".
    """
    grounds = _grounds(alignment)
    texts = [""] * grounds.source.n_entities
    for source, shared, names in _most_shared(grounds, top):
        weights = [(str(fact), fact.weight) for fact in shared]
        if names >= _LEAST_TOLD:
            weights.append(("labels alike", names))
        texts[source] = "; ".join(f"{words} ({weight:+.2f})" for words, weight in weights)
    for source in grounds.pairs[grounds.is_seed, 0].tolist():
        texts[source] = "; ".join(part for part in ("given as a seed", texts[source]) if part)
    none = grounds.unlinked
    for at, row in enumerate(none.row.tolist()):
        texts[row] = none.in_words(at, grounds.target.entities)
    return texts


def _most_shared(grounds: Grounds, top: int) -> Iterator[tuple[int, tuple[SharedFact, ...], float]]:
    """The weightiest shared facts of every pair, by source row, and what names add."""
    for start in range(0, len(grounds.pairs), _BATCH):
        batch = grounds.pairs[start : start + _BATCH]
        for source, evidence in zip(batch[:, 0].tolist(), grounds.evidence(batch), strict=True):
            yield source, shared_in_words(grounds, evidence.first(top)), evidence.names


class _Explainer:
    """One question: an entity, its partner if it has one, and the candidates to compare with."""

    def __init__(self, grounds: Grounds, row: int, rival: int | None) -> None:
        self.grounds, self.row = grounds, row
        at = np.flatnonzero(grounds.pairs[:, 0] == row)
        # Read backwards, a many-to-one alignment may hold several: the surest of them.
        self.at = int(at[np.argmax(grounds.confidence[at])]) if len(at) else None
        self.match = None if self.at is None else int(grounds.pairs[self.at, 1])
        self.probabilities = self._probabilities()
        self.others = self._others() if rival is None else [rival]
        if rival is not None and rival == self.match:
            raise InputError(f"{grounds.target.entities[rival]!r} is the partner itself; compare with another entity")
        told = self.others if self.match is None else [self.match, *self.others]
        asked = np.array([(row, other) for other in told], dtype=np.int64).reshape(-1, 2)
        self.evidence = dict(zip(told, grounds.evidence(asked), strict=True))

    def explanation(self) -> Explanation:
        grounds = self.grounds
        name = grounds.source.entities[self.row]
        others = tuple(self._candidate(other) for other in self.others)
        if self.at is None or self.match is None:
            none = grounds.unlinked
            at = int(np.searchsorted(none.row, self.row))
            words, category = none.in_words(at, grounds.target.entities), Reason(none.reason[at]).name.lower()
            verdict = none.verdict(at)
            confidence = float(none.confidence[at]) if verdict is Verdict.NO_MATCH else None
            return Explanation(name, verdict, None, confidence, False, 0.0, (), words, category, others)
        evidence = self.evidence[self.match]
        return Explanation(
            name,
            Verdict.LINKED,
            grounds.target.entities[self.match],
            float(grounds.confidence[self.at]),
            bool(grounds.is_seed[self.at]),
            evidence.log_odds,
            shared_in_words(grounds, evidence),
            None,
            None,
            others,
            balance_of(evidence),
        )

    def _probabilities(self) -> dict[int, float]:
        """Candidates by probability, the best first."""
        row = self.grounds.candidates[[self.row]]
        entries = ordered(row, self.grounds.target_ranks)
        return dict(zip(entries.column.tolist(), entries.value.tolist(), strict=True))

    def _others(self) -> list[int]:
        listed = [other for other in self.probabilities if other != self.match][:OTHERS]
        least = 1 if self.match is None else 0  # the best candidate of all, however unlikely
        return [other for at, other in enumerate(listed) if at < least or self.probabilities[other] >= _TOLD]

    def _candidate(self, other: int) -> Candidate:
        evidence = self.evidence[other]
        probability = min(1.0, self.probabilities.get(other, 0.0))
        return Candidate(
            self.grounds.target.entities[other],
            probability,
            evidence.log_odds,
            shared_in_words(self.grounds, evidence),
            self._lacks(evidence),
            balance_of(evidence),
        )

    def _lacks(self, evidence: PairEvidence) -> tuple[Lack, ...]:
        """Against the match: facts that weigh less with this candidate. Without one: facts it does not share."""
        source = self.grounds.source
        here = _by_side(evidence)
        if self.match is None:
            missing = (side for side in sides_of_entity(source, self.row).tolist() if side not in here)
            return tuple(
                sorted((Lack(fact_of(source, side), None) for side in missing), key=lambda lack: str(lack.fact))
            )
        with_match = _by_side(self.evidence[self.match])
        short = {side: weight - here.get(side, 0.0) for side, weight in with_match.items()}
        return tuple(
            Lack(fact_of(source, side), less)
            for side, less in sorted(short.items(), key=lambda item: -round(item[1], 9))
            if less > _LEAST_TOLD
        )


def _by_side(evidence: PairEvidence) -> dict[int, float]:
    weights: dict[int, float] = {}
    for side, weight in zip(evidence.source_side.tolist(), evidence.weight.tolist(), strict=True):
        weights[side] = weights.get(side, 0.0) + weight
    return weights


def _grounds(alignment: Alignment | Grounds) -> Grounds:
    return alignment if isinstance(alignment, Grounds) else grounds_of(alignment)


def _row_of(entity: str, graph: TemporalGraph, ids: np.ndarray | None) -> int:
    """Row of an entity by its name or, where no name is meant, by its id."""
    if entity in graph.entity_rows:
        return graph.entity_rows[entity]
    if ids is not None and entity.isascii() and entity.isdigit():
        rows = np.flatnonzero(ids == int(entity)) if len(entity) < 19 else np.zeros(0, np.intp)
        if len(rows):
            return int(rows[0])
    raise InputError(f"{entity!r} is no entity of {graph.name}; {_hint(entity, graph.entities)}")


def _hint(entity: str, names: Sequence[str]) -> str:
    near = difflib.get_close_matches(entity, names, n=3) if len(names) <= _SEARCHED else []
    return f"did you mean {' or '.join(map(repr, near))}?" if near else "give a name or id that its files hold"
