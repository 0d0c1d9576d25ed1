"""The report: one HTML file with everything in it, for light and dark screens and for paper."""

from __future__ import annotations

from importlib.resources import files

from dualmatch.charts.markup import Html, el, joined, visible
from dualmatch.charts.tables import percent
from dualmatch.config import EXPLAINED
from dualmatch.report.examples import examples
from dualmatch.report.findings import Findings
from dualmatch.report.gold_section import against_gold
from dualmatch.report.input_section import went_in
from dualmatch.report.result_section import came_out
from dualmatch.report.run_section import convergence, cost, relations
from dualmatch.version import __version__


def report_page(findings: Findings) -> str:
    """The whole page; it asks for nothing from anywhere, and holds no script."""
    sections = {
        "What went in": went_in(findings),
        "What came out": came_out(findings),
        "Against gold": against_gold(findings),
        "Convergence by round": convergence(findings),
        "Relations that say the same": relations(findings),
        "Examples with reasons": examples(findings),
        "Cost, command and options": cost(findings),
    }
    shown = {title: content for title, content in sections.items() if content is not None}
    title = f"Alignment {visible(findings.name)}"
    body = el(
        "body",
        el("header", el("h1", title), el("p", _made_by(findings)), _tiles(findings)),
        el("nav", el("ol", *(el("li", el("a", name, href=f"#{_id(name)}")) for name in shown)), aria_label="Contents"),
        el(
            "main",
            *(
                el(
                    "section",
                    el("h2", name, id=f"{_id(name)}-title"),
                    content,
                    id=_id(name),
                    aria_labelledby=f"{_id(name)}-title",
                )
                for name, content in shown.items()
            ),
        ),
    )
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", http_equiv="Content-Security-Policy", content="default-src 'none'; style-src 'unsafe-inline'"),
        el("meta", name="color-scheme", content="light dark"),
        el("title", title),
        el("style", Html(files("dualmatch.report").joinpath("report.css").read_text(encoding="utf-8"))),
    )
    return f"<!doctype html>\n{el('html', head, body, lang='en')}\n"


def _made_by(findings: Findings) -> str:
    version = __version__ if findings.record is None else findings.record.version
    return f"Made by dualmatch {version}, method {findings.method or 'unknown'}."


def _tiles(findings: Findings) -> Html:
    """The few figures one looks at first."""
    found = findings.found
    tiles = [
        ("linked", f"{len(findings.links):,}"),
        ("undecided", f"{len(findings.undecided):,}"),
        ("no match", f"{len(findings.no_matches):,}"),
    ]
    if len(found) and findings.method in EXPLAINED:
        tiles.append(("expected wrong", percent(float((1 - found).mean()))))
    if (quality := findings.quality) is not None:
        tiles += [("right", percent(quality.abstention.precision)), ("found", percent(quality.abstention.recall))]
    if findings.record is not None and "total" in findings.record.cost.seconds:
        tiles.append(("seconds", f"{findings.record.cost.seconds['total']:.1f}"))
    return el("ul", *(el("li", el("b", value), joined(" ", name)) for name, value in tiles), class_="tiles")


def _id(title: str) -> str:
    return title.lower().replace(" ", "-").replace(",", "")
