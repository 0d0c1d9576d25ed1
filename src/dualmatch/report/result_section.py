"""What came out: verdicts, how sure the links are, and what precision to expect from which threshold on."""

from __future__ import annotations

from typing import Final

import numpy as np

from dualmatch.charts.markup import Child, Html, el, joined
from dualmatch.charts.svg import Line, bars, lines
from dualmatch.charts.tables import percent, table
from dualmatch.config import EXPLAINED
from dualmatch.decode.verdicts import Reason, Verdict
from dualmatch.report.findings import Findings

_BINS: Final = 20
_REASONS: Final = {
    Reason.TIED: "several candidates are equally likely",
    Reason.TOO_LITTLE: "too little to tell",
    Reason.TAKEN: "its best candidate is linked to another",
    Reason.BELOW_ASKED: "its best candidate is less likely than asked for",
    Reason.NOTHING_SHARED: "nothing shared with any entity",
    Reason.NO_FACTS: "no facts",
    Reason.NO_PARTNER: "what it would share is not there",
    Reason.TOLD: "told to have none",
}
THRESHOLDS: Final = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)


def came_out(findings: Findings) -> Html:
    """Counts of verdicts, the distribution of confidence, estimated precision at each threshold."""
    found = findings.found
    parts: list[Child] = [_verdicts(findings), _reasons(findings)]
    if not len(found):
        return joined(*parts, el("p", "No link was found, so there is nothing to say of confidence."))
    counts = np.histogram(found, bins=_BINS, range=(0.0, 1.0))[0]
    labels = [f"{place / _BINS:.2f}" for place in range(_BINS)]
    parts.append(bars(labels, counts.tolist(), "Links by confidence", "confidence from"))
    if findings.method not in EXPLAINED:
        words = f"The confidence of method {findings.method} is good for ordering only; no precision follows from it."
        return joined(*parts, el("p", words, class_="note"))
    return joined(*parts, _thresholds(found))


def _verdicts(findings: Findings) -> Html:
    """How many source entities got which verdict."""
    entities = len(findings.links) + len(findings.unlinked)
    seeds = int(findings.is_seed.sum())
    counts = {
        "linked": len(findings.links),
        "– found": len(findings.links) - seeds,
        "– given as seeds": seeds,
        "undecided": len(findings.undecided),
        "no match": len(findings.no_matches),
    }
    rows = [(words, f"{count:,}", percent(count / entities if entities else None)) for words, count in counts.items()]
    return table(("source entities", "number", "share"), rows)


def _reasons(findings: Findings) -> Html | None:
    """Why source entities are in no link; None where nothing is kept that tells."""
    if findings.grounds is None or not findings.unlinked:
        return None
    none = findings.grounds.unlinked
    rows = []
    for verdict, chosen in ((Verdict.UNDECIDED, ~none.is_no_match), (Verdict.NO_MATCH, none.is_no_match)):
        counts = np.bincount(none.reason[chosen], minlength=len(Reason)).tolist()
        rows += [(verdict, words, f"{counts[reason]:,}") for reason, words in _REASONS.items() if counts[reason]]
    return joined(el("h3", "Why there is no link"), table(("verdict", "reason", "source entities"), rows, left=2))


def _thresholds(found: np.ndarray) -> Html:
    ordered = np.sort(found)[::-1]
    expected = np.cumsum(ordered) / np.arange(1, len(ordered) + 1)
    rows = []
    for threshold in THRESHOLDS:
        kept = int((ordered >= threshold).sum())
        if kept:
            rows.append((f"{threshold:g}", f"{kept:,}", percent(float(expected[kept - 1]), 2)))
    places = np.unique(np.linspace(0, len(ordered) - 1, 200).astype(int))
    # Every place stands for all links as sure as it: a threshold cannot part equals.
    last = np.searchsorted(-ordered, -ordered[places], side="right") - 1
    curve = [(float(ordered[at]), float(expected[at])) for at in last]
    low = min(0.9, float(expected[-1]) - 0.01)
    chart = lines(
        [Line("estimated precision", curve)],
        "Estimated precision of the links from a confidence on",
        x_label="confidence from",
        y_range=(low, 1.0),
        percent=True,
    )
    heads = ("keeping links from", "links", "estimated precision")
    note = "Estimated from the confidence of the links themselves, which was learnt without labels."
    return joined(
        el("h3", "Estimated precision at each threshold"), table(heads, rows), chart, el("p", note, class_="note")
    )
