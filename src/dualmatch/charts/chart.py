"""A chart as inline SVG: for pages, for notebooks, and as a file of its own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from markupsafe import Markup

from dualmatch.charts.markup import el
from dualmatch.errors import InputError, OutputError

CHART_STYLE: Final = """\
.chart .bar.one { fill: var(--one); }
.chart .bar.two { fill: var(--two); fill-opacity: .3; stroke: var(--two); }
.chart .bar.rest { fill: var(--ideal); }
.chart .grid { stroke: var(--rule); stroke-width: 1; }
.chart .tick { fill: var(--faint); font: 11px system-ui, sans-serif; }
.chart .count { fill: var(--ink); font: 10px system-ui, sans-serif; }
.chart .line { fill: none; stroke-width: 2; }
.chart .one { stroke: var(--one); }
.chart .bar.one { stroke: none; }
.chart .two { stroke: var(--two); }
.chart .line.two { stroke-dasharray: 7 4; }
.chart .line.ideal { stroke: var(--ideal); stroke-dasharray: 2 4; }
.chart .fact .bar { stroke-width: 1.5; }
.chart .fact .bar.source { stroke: var(--one); fill: var(--one); }
.chart .fact .bar.target { stroke: var(--two); }
.chart .fact:not(.matching) .bar { fill: var(--paper); }
.chart .fact:not(.matching) .bar.target { stroke-dasharray: 4 2; }
.chart rect.hatch { fill: var(--two); }
.chart line.hatch { stroke: var(--paper); stroke-width: 3; }
.chart .join { fill: var(--rule); }
.chart .dot { fill: var(--paper); stroke-width: 2; }
.chart .dot.rest { stroke: var(--ideal); }
"""
"""The style sheet of charts; the colours are the page's."""
_WIDTH: Final = 720  # pixels that a chart takes at least, where it stands by itself
_COLOURS: Final = """\
.chart { --paper: #fff; --ink: #1d2330; --faint: #5b6474; --rule: #d9dde5;
  --one: #2456c9; --two: #b4500a; --ideal: #7a8290; background: var(--paper); max-width: 100%; height: auto; }
@media (prefers-color-scheme: dark) { .chart { --paper: #14171d; --ink: #e7eaf0; --faint: #a3acbb; --rule: #343b48;
  --one: #86abff; --two: #f2a35e; --ideal: #8b94a3; } }
"""


@dataclass(frozen=True)
class Chart:
    """A drawing and its title. Notebooks show it; `save` writes it to a file.

    Pages that have `CHART_STYLE` can hold it as it is.
    """

    title: str
    width: int
    height: int
    drawing: Markup

    def __html__(self) -> str:
        return el("figure", self._svg(), el("figcaption", self.title))

    def _svg(self, style: str | None = None) -> Markup:
        return el(
            "svg",
            el("title", self.title),
            None if style is None else el("style", Markup(style)),
            self.drawing,
            class_="chart",
            viewBox=f"0 0 {self.width} {self.height}",
            role="img",
            aria_label=self.title,
            xmlns=None if style is None else "http://www.w3.org/2000/svg",
            width=None if style is None else max(_WIDTH, self.width),
        )

    def _repr_svg_(self) -> str:
        return str(self._svg(_COLOURS + CHART_STYLE))

    def _repr_html_(self) -> str:
        return str(el("figure", self._svg(_COLOURS + CHART_STYLE), el("figcaption", self.title)))

    def save(self, path: str | Path) -> None:
        """Write the chart as SVG, or as a page where the name ends in ``.html``; an existing file is replaced.

        Raises
        ------
        InputError
            Where the name ends in neither.
        OutputError
            Where the file cannot be written.
        """
        kind = Path(path).suffix.lower()
        if kind not in (".svg", ".html"):
            raise InputError(f"{path}: charts are written as .svg or .html; name the file so")
        page = f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{el("i", self.title)}</title>\n'
        whole = self._repr_svg_() if kind == ".svg" else f"{page}<body>{self._repr_html_()}</body></html>"
        try:
            Path(path).write_text(f"{whole}\n", encoding="utf-8")
        except OSError as error:
            raise OutputError(f"{path}: cannot be written ({error.strerror})") from None
