"""The report: one HTML file with everything in it, for light and dark screens and for paper."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from dualmatch.charts import distributions
from dualmatch.charts.chart import CHART_STYLE
from dualmatch.charts.markup import percent, templates
from dualmatch.report import against_gold, figures
from dualmatch.report.findings import Findings
from dualmatch.version import __version__

DOUBTFUL = 0.9
"""Links below this confidence are worth a look."""


@dataclass(frozen=True)
class Surroundings:
    """The pages that a report is one of: what it is about, their menu, where pairs are reviewed, links downloaded."""

    title: str
    menu: Markup
    review: str
    links: str


def report_page(findings: Findings, around: Surroundings | None = None) -> str:
    """The whole page; it loads nothing from anywhere, and holds no script. Alone, it names commands as next steps."""
    made = templates(
        "dualmatch.report", findings=findings, figures=figures, gold=against_gold, charts=distributions, around=around
    )
    record, outcome = findings.record, findings.outcome
    page = made.get_template("report.html").render(
        chart_style=Markup(CHART_STYLE),
        sentence=findings.summary.sentence(),
        tiles=_tiles(findings),
        steps=_next_steps(findings) if around is None else [],
        is_doubtful=_is_doubtful(findings),
        version=__version__ if record is None else record.version,
        command=None if outcome is None else shlex.join(outcome.cost.command),
    )
    return f"{page}\n".encode("utf-8", "backslashreplace").decode()  # a record may hold half a character


def _next_steps(findings: Findings) -> list[tuple[str, str]]:
    """What to do with the result, each with its command."""
    links, inputs = findings.name, [] if findings.record is None else findings.record.inputs.get("paths", [])
    inputs = [_beside(each, findings.folder) for each in inputs]
    steps = []
    if _is_doubtful(findings):
        steps.append(("Decide what is doubtful or open", ["dualmatch", "review", links]))
    if findings.links and inputs and "-" not in inputs:
        steps.append(
            ("Put both graphs together", ["dualmatch", "merge", *inputs, "--links", links, "-o", "merged.parquet"])
        )
    if findings.method is not None and not findings.is_calibrated:
        steps.append(("Get reasons and calibrated confidence", ["dualmatch", "align", *inputs, "-o", "evidence.tsv"]))
    return [(words, shlex.join(call)) for words, call in steps]


def _is_doubtful(findings: Findings) -> bool:
    """Whether there is something to decide, and evidence to decide by."""
    return findings.basis is not None and bool(findings.undecided or (findings.found < DOUBTFUL).any())


def _beside(path: str, folder: Path) -> str:
    """A path as it is called from the folder of the links, where it lies below it."""
    return str(Path(path).relative_to(folder)) if Path(path).is_relative_to(folder) else path


def _tiles(findings: Findings) -> list[tuple[str, str]]:
    """The headline figures, each with what it is a part of."""
    found, quality = findings.found, findings.quality
    of = f"of {len(findings.links) + len(findings.unlinked):,} source entities"
    shown = [
        (f"{len(findings.links):,}", f"linked, {of}"),
        (f"{len(findings.undecided):,}", f"undecided, {of}"),
        (f"{len(findings.no_matches):,}", f"probably without a match, {of}"),
    ]
    if len(found) and findings.is_calibrated:
        wrong = 1 - found
        shown.append((f"{wrong.sum():,.0f}", f"links expected wrong, {percent(float(wrong.mean()))} of those found"))
    if quality is not None:
        result = quality.abstention
        shown.append((percent(result.precision), f"of the {result.emitted:,} links found are right, by the gold pairs"))
        given = {findings.links[at][0] for at in findings.is_seed.nonzero()[0].tolist()}
        tested = sum(source not in given for source, _ in findings.gold or ())
        shown.append((percent(result.recall), f"of the {tested:,} gold pairs are found"))
    return shown
