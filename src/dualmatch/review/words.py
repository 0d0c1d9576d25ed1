"""Decisions as reviewers see them: in words."""

from __future__ import annotations

from collections.abc import Mapping

from markupsafe import Markup

from dualmatch.charts.markup import joined
from dualmatch.errors import counted
from dualmatch.graph.model import TemporalGraph
from dualmatch.links.opinions import Decision, EntityDecision, Opinion, Verdict

_MOST_REJECTED = 3


def in_words(row: Decision, together: int, target: TemporalGraph) -> Markup:
    """A decision; `together`: how many were accepted with it."""
    if together > 1:
        return Markup(f"{counted(together, 'pair')} accepted {'at once' if row.is_unseen else 'together'}")
    partner = "" if row.target is None else target.shown(row.target).html()
    return {
        Verdict.ACCEPT: joined("accepted as ", partner),
        Verdict.REJECT: joined("not ", partner),
        Verdict.NO_MATCH: Markup("no match"),
        Verdict.SKIP: Markup("skipped"),
        Verdict.UNDO: Markup("undone"),
    }[row.verdict]


def opinion_in_words(opinion: Opinion, target: TemporalGraph) -> Markup:
    """What a reviewer, or all together, think of an entity."""
    if opinion.partner is not None:
        return joined("accepted as ", target.shown(opinion.partner).html())
    if opinion.status == "rejected":
        names = [target.shown(each).html() for each in sorted(opinion.rejected)[:_MOST_REJECTED]]
        more = len(opinion.rejected) - len(names)
        return joined("not ", Markup(", ").join(names), f" and {more:,} more" if more > 0 else None)
    return Markup(opinion.status)


def opinions_in_words(decision: EntityDecision, target: TemporalGraph) -> Mapping[str, Markup]:
    """What each reviewer thinks of an entity; a file of 0.1.0 names none."""
    return {
        who or "unnamed": opinion_in_words(each, target)
        for who, each in sorted(decision.opinions.items())
        if each.status != "open"
    }
