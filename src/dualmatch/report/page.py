"""The report: one HTML file with everything in it, for light and dark screens and for paper."""

from __future__ import annotations

import shlex

from markupsafe import Markup

from dualmatch.charts.markup import percent, templates
from dualmatch.report import against_gold, figures
from dualmatch.report.findings import Findings
from dualmatch.version import __version__


def report_page(findings: Findings, menu: Markup | None = None) -> str:
    """The whole page; it loads nothing from anywhere, and holds no script. `menu`: of the pages around it."""
    made = templates("dualmatch.report", findings=findings, figures=figures, gold=against_gold)
    record, outcome = findings.record, findings.outcome
    page = made.get_template("report.html").render(
        menu=menu or "",
        tiles=_tiles(findings),
        version=__version__ if record is None else record.version,
        command=None if outcome is None else shlex.join(outcome.cost.command),
    )
    return f"{page}\n"


def _tiles(findings: Findings) -> list[tuple[str, str]]:
    """The headline figures."""
    found, quality, outcome = findings.found, findings.quality, findings.outcome
    shown = [
        ("linked", f"{len(findings.links):,}"),
        ("undecided", f"{len(findings.undecided):,}"),
        ("no match", f"{len(findings.no_matches):,}"),
    ]
    if len(found) and findings.is_calibrated:
        shown.append(("expected wrong", percent(float((1 - found).mean()))))
    if quality is not None:
        shown += [("right", percent(quality.abstention.precision)), ("found", percent(quality.abstention.recall))]
    if outcome is not None and "total" in outcome.cost.seconds:
        shown.append(("seconds", f"{outcome.cost.seconds['total']:.1f}"))
    return shown
