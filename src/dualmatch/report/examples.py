"""Examples: links at high, middling and low confidence, and entities without a match, each with its reasons."""

from __future__ import annotations

from typing import Final

import numpy as np

from dualmatch.explain import explain
from dualmatch.explanation import TEXTS_ALIKE, Candidate, Explanation
from dualmatch.report.findings import Findings
from dualmatch.report.markup import Html, el, joined, name_of, visible

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
        "No match": _nearly_matched(findings),
    }
    parts = []
    for title, chosen in kinds.items():
        if chosen:
            parts.append(el("h3", title))
            parts += [_article(explain(findings.grounds, name)) for name in dict.fromkeys(chosen)]
    return joined(*parts) if parts else el("p", "There is no link to show.")


def _nearly_matched(findings: Findings) -> list[str]:
    """Entities without a match whose best candidate was the likeliest."""
    if findings.grounds is None:
        return []
    none = findings.grounds.no_matches
    first = np.argsort(-none.probability, kind="stable")[:_EACH]
    return [findings.grounds.source.entities[row] for row in none.row[first].tolist()]


def _article(why: Explanation) -> Html:
    if why.match is None:
        head = joined(name_of(why.entity), f": no match ({why.confidence:.3f}): {visible(why.no_match or '', 400)}")
    else:
        head = joined(name_of(why.entity), " = ", name_of(why.match), f" ({why.confidence:.3f})")
    others = [
        el(
            "li",
            "Candidate " if why.match is None else "Not ",
            name_of(other.name),
            f": probability {other.probability:.3f}, similarity {other.similarity:.3f}",
            _shared(other) if why.match is None else None,
        )
        for other in why.others
    ]
    return el(
        "article",
        el("h4", head),
        None if why.match is None else _shared(why),
        el("ul", *others, class_="others") if others else None,
    )


def _shared(of: Explanation | Candidate) -> Html:
    facts = [(visible(str(fact), 400), fact.weight) for fact in of.shared[:_FACTS]]
    if of.texts:
        facts.insert(0, (TEXTS_ALIKE, of.texts))
    rows = [el("li", el("bdi", words), " ", el("b", f"+{weight:.3f}")) for words, weight in facts]
    if len(of.shared) > _FACTS:
        rows.append(el("li", f"… and {len(of.shared) - _FACTS:,} more"))
    return el("ul", *rows) if rows else el("p", "Nothing is shared.")
