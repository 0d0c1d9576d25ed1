"""Examples: links at high, middling and low confidence, and entities in no link, each with its reasons."""

from __future__ import annotations

from typing import Final

import numpy as np

from dualmatch.charts.markup import Html, el, joined, name_of, visible
from dualmatch.charts.tables import table
from dualmatch.decode.verdicts import Verdict
from dualmatch.explain.basis import ExplanationBasis
from dualmatch.explain.explain import explain_entity
from dualmatch.explain.explanation import Candidate, Explanation
from dualmatch.report.findings import Findings

_EACH: Final = 3
_FACTS: Final = 5


def examples(findings: Findings) -> Html:
    """Three links of each kind, explained."""
    if findings.grounds is None:
        words = f"Method {findings.method} keeps no evidence" if findings.method else "No evidence is kept"
        return el("p", f"{words} that could be told in words (OUT.why.npz); methods evidence and fused do.")
    names = [source for source, _ in findings.links]
    order = np.flatnonzero(~findings.is_seed)[np.argsort(-findings.found, kind="stable")]
    middle = max(0, (len(order) - _EACH) // 2)
    doubtful = int(np.searchsorted(-findings.confidence[order], -0.75)) if len(order) else 0
    start = doubtful if _EACH <= doubtful < len(order) - 2 * _EACH else middle
    kinds = {
        "High confidence": [names[at] for at in order[:_EACH].tolist()],
        "Middling confidence": [names[at] for at in order[start : start + _EACH].tolist()],
        "Low confidence": [names[at] for at in order[::-1][:_EACH].tolist()],
        "Undecided": _nearly_linked(findings.grounds, Verdict.UNDECIDED),
        "No match": _nearly_linked(findings.grounds, Verdict.NO_MATCH),
    }
    parts = []
    for title, chosen in kinds.items():
        if chosen:
            parts.append(el("h3", title))
            parts += [_article(explain_entity(findings.grounds, name)) for name in dict.fromkeys(chosen)]
    return joined(*parts) if parts else el("p", "There is no link to show.")


def _nearly_linked(grounds: ExplanationBasis, verdict: Verdict) -> list[str]:
    """Entities of a verdict whose best candidate is the likeliest."""
    none = grounds.unlinked
    chosen = np.flatnonzero(none.is_no_match == (verdict is Verdict.NO_MATCH))
    first = chosen[np.argsort(-none.probability[chosen], kind="stable")[:_EACH]]
    return [grounds.source.entities[row] for row in none.row[first].tolist()]


def _article(why: Explanation) -> Html:
    sure = "" if why.confidence is None else f" ({why.confidence:.3f})"
    if why.match is None:
        head = joined(name_of(why.entity), f": {why.verdict}{sure}: {visible(why.reason or '', 400)}")
    else:
        head = joined(name_of(why.entity), " = ", name_of(why.match), sure)
    others = [
        el(
            "li",
            "Candidate " if why.match is None else "Not ",
            name_of(other.name),
            f": probability {other.probability:.3f}, log-odds {other.log_odds:+.2f}",
            _sum(other) if why.match is None and place == 0 else None,
        )
        for place, other in enumerate(why.others)
    ]
    return el(
        "article",
        el("h4", head),
        None if why.match is None else _sum(why),
        el("ul", *others, class_="others") if others else None,
    )


def _sum(of: Explanation | Candidate) -> Html:
    """What adds up to the log-odds: shared facts, and what else counts."""
    facts = [(el("bdi", visible(str(fact), 400)), fact.weight) for fact in of.shared[:_FACTS]]
    if rest := of.shared[_FACTS:]:
        facts.append((el("i", f"{len(rest):,} more shared facts"), sum(fact.weight for fact in rest)))
    if not facts:
        facts.append((el("i", "no shared fact"), 0.0))
    facts += [(el("i", words), value) for words, value in of.balance.in_words()]
    rows = [(words, f"{value:+.2f}") for words, value in facts]
    return table(("what counts", "log-odds"), [*rows, (el("b", "together"), el("b", f"{of.log_odds:+.2f}"))])
