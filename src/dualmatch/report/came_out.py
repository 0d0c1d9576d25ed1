"""What came out: links and "no match", how sure they are, and what precision to expect from which threshold on."""

from __future__ import annotations

from typing import Final

import numpy as np

from dualmatch.config import EXPLAINED
from dualmatch.report.findings import Findings
from dualmatch.report.markup import Html, el, joined
from dualmatch.report.svg import Line, bars, lines
from dualmatch.report.tables import percent, table

_BINS: Final = 20
THRESHOLDS: Final = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)


def came_out(findings: Findings) -> Html:
    """Counts, the distribution of confidence, estimated precision at each threshold."""
    found, seeds = findings.found, int(findings.is_seed.sum())
    entities = len(findings.links) + len(findings.unmatched)
    rows = [
        (words, f"{count:,}", percent(count / entities if entities else None))
        for words, count in (
            ("matched", len(found)),
            ("given as seeds", seeds),
            ("no match", len(findings.unmatched)),
        )
    ]
    parts = [table(("source entities", "number", "share"), rows)]
    if not len(found):
        return joined(*parts, el("p", "No link was found, so there is nothing to say of confidence."))
    counts = np.histogram(found, bins=_BINS, range=(0.0, 1.0))[0]
    labels = [f"{place / _BINS:.2f}" for place in range(_BINS)]
    parts.append(bars(labels, counts.tolist(), "Links by confidence", "confidence from"))
    if findings.method not in EXPLAINED:
        words = f"The confidence of method {findings.method} is good for ordering only; no precision follows from it."
        return joined(*parts, el("p", words, class_="note"))
    return joined(*parts, _thresholds(found))


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
