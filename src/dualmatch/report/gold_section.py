"""Against gold: metrics, a calibration plot, and what is wrong, grouped by cause."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

import numpy as np

from dualmatch.charts.markup import Child, Html, el, joined, name_of
from dualmatch.charts.svg import Line, lines
from dualmatch.charts.tables import percent, table
from dualmatch.decode.verdicts import Verdict
from dualmatch.evaluate import CAUSES, Calibration, cause_of
from dualmatch.explain.basis import ExplanationBasis
from dualmatch.report.findings import Findings, Link

_SHOWN: Final = 5
ALONE: Final = "it has no true partner"
OTHER: Final = "another is its true partner"


def against_gold(findings: Findings) -> Html | None:
    """None where no gold pairs were given."""
    quality, gold = findings.quality, findings.gold
    if quality is None or gold is None:
        return None
    found = quality.abstention
    rows = [
        ("links found", f"{found.emitted:,}"),
        ("of these right (precision)", percent(found.precision)),
        ("of all true pairs found (recall)", percent(found.recall)),
        ("F1", "–" if found.f1 is None else f"{found.f1:.3f}"),
        ("of “no match” right", percent(found.no_match_precision)),
        (
            "confidence is off by, on average (ECE)",
            "–" if quality.calibration.ece is None else f"{quality.calibration.ece:.3f}",
        ),
    ]
    shown = table(("measure", "value"), rows)
    verdicts = _verdicts(findings, gold)
    return joined(
        shown, verdicts, _strangers(findings, gold), _calibration(quality.calibration), _wrong(findings, gold)
    )


def _verdicts(findings: Findings, gold: Collection[Link]) -> Html:
    """What was said of source entities with and without a true partner; seeds are left aside."""
    found = [source for (source, _), seed in zip(findings.links, findings.is_seed.tolist(), strict=True) if not seed]
    partnered = {source for source, _ in gold}
    said = {Verdict.LINKED: found, Verdict.UNDECIDED: findings.undecided, Verdict.NO_MATCH: findings.no_matches}
    rows = []
    for verdict, sources in said.items():
        having = sum(source in partnered for source in sources)
        rows.append((verdict, f"{len(sources):,}", f"{having:,}", f"{len(sources) - having:,}"))
    heads = ("verdict", "source entities", "with a true partner", "without one")
    return joined(el("h3", "Verdicts"), table(heads, rows))


def _strangers(findings: Findings, gold: Collection[Link]) -> Html | None:
    """Gold pairs that no alignment of these graphs could hold: most likely slips in the file."""
    if findings.grounds is None:
        return None
    rows = findings.grounds.source.entity_rows, findings.grounds.target.entity_rows
    unknown = [pair for pair in gold if pair[0] not in rows[0] or pair[1] not in rows[1]]
    if not unknown:
        return None
    words = f"{len(unknown):,} gold pairs name an entity that is not in its graph, and count as not found, such as "
    return el("p", words, name_of(unknown[0][0]), " = ", name_of(unknown[0][1]), ".", class_="note")


def _calibration(calibration: Calibration) -> Html | None:
    if not calibration.bins:
        return None
    chart = lines(
        [
            Line("as it should be", [(0.0, 0.0), (1.0, 1.0)], "ideal"),
            Line("as it is", [(each.confidence, each.precision) for each in calibration.bins], "one", dots=True),
        ],
        "Calibration: share of right links against their confidence",
        x_label="confidence",
        x_range=(0.0, 1.0),
        y_range=(0.0, 1.0),
        percent=True,
    )
    rows = [
        (f"{each.low:.1f} to {each.high:.1f}", f"{each.pairs:,}", percent(each.confidence), percent(each.precision))
        for each in calibration.bins
    ]
    return joined(chart, table(("confidence", "links", "on average", "right"), rows))


def _wrong(findings: Findings, gold: Collection[Link]) -> Html:
    true, partner = set(gold), dict(gold)
    wrong = [
        (link, confidence)
        for link, confidence, seed in zip(
            findings.links, findings.confidence.tolist(), findings.is_seed.tolist(), strict=True
        )
        if not seed and link not in true
    ]
    wrong.sort(key=lambda row: (-row[1], row[0]))
    given = set(findings.links)
    missed = [pair for pair in gold if pair not in given]
    causes = _causes(findings.grounds, sorted(true), findings.links)
    by_cause: dict[str, list[Sequence[Child]]] = {}
    for (source, target), confidence in wrong:
        cause = causes.get((source, partner[source]), OTHER) if source in partner else ALONE
        truth = name_of(partner[source]) if source in partner else "–"
        by_cause.setdefault(cause, []).append((name_of(source), name_of(target), truth, f"{confidence:.3f}"))
    parts: list[Child] = [el("h3", f"Wrong links by cause ({len(wrong):,})")]
    if causes:
        parts.append(el("p", "The cause is what stands between the entity and its true partner.", class_="note"))
    for cause, rows in sorted(by_cause.items(), key=lambda item: -len(item[1])):
        heads = ("source", "linked with", "true partner", "confidence")
        parts += [el("h4", f"{cause}: {len(rows):,}"), table(heads, rows[:_SHOWN], left=3)]
    if not wrong:
        parts.append(el("p", "None."))
    parts.append(el("h3", f"True pairs that were not found ({len(missed):,})"))
    counts = {cause: sum(causes.get(pair) == cause for pair in missed) for cause in CAUSES}
    if causes:
        parts.append(table(("cause", "pairs"), [(cause, f"{count:,}") for cause, count in counts.items()]))
    return joined(*parts)


def _causes(grounds: ExplanationBasis | None, gold: Sequence[Link], links: Sequence[Link]) -> dict[Link, str]:
    """What stands in the way of each true pair; nothing where the graphs are not at hand."""
    if grounds is None:
        return {}
    rows = grounds.source.entity_rows, grounds.target.entity_rows
    known = [pair for pair in gold if pair[0] in rows[0] and pair[1] in rows[1]]
    true, found = (
        np.array([(rows[0][s], rows[1][t]) for s, t in some], dtype=np.int64).reshape(-1, 2) for some in (known, links)
    )
    cause = cause_of(grounds.source, grounds.target, true, found)
    return {pair: CAUSES[number] for pair, number in zip(known, cause.tolist(), strict=True)}
