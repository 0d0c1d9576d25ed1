"""What changed between two alignments of the same graphs."""

from __future__ import annotations

from dataclasses import dataclass

from dualmatch.explain.basis import ExplanationBasis
from dualmatch.explain.link_changes import Kind, kind_of


@dataclass(frozen=True)
class Change:
    """A source entity whose link is not what it was."""

    kind: Kind
    source: int
    before: int | None
    after: int | None
    confidence: float
    by_decision: bool


def changes_between(before: ExplanationBasis, after: ExplanationBasis) -> list[Change]:
    """Links that are new, gone or go to another partner; what the run found itself first, the surest first."""
    old = dict(before.pairs.tolist())
    new = dict(after.pairs.tolist())
    sure = dict(zip(after.pairs[:, 0].tolist(), after.confidence.tolist(), strict=True))
    told = {*after.pairs[after.is_seed, 0].tolist(), *after.forbidden.alone.tolist()}
    found = []
    for source in sorted({*old, *new}):
        was, now = old.get(source), new.get(source)
        if was == now:
            continue
        found.append(Change(kind_of(was, now), source, was, now, sure.get(source, 0.0), source in told))
    found.sort(key=lambda change: (change.by_decision, -change.confidence))
    return found
