"""Figures: described as data, drawn with matplotlib, which is imported only then.

Series differ by marker and line style, not by colour alone, so that they differ in black and white, too.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from dualmatch.errors import MissingExtraError
from dualmatch.files.atomic import replacing

_MARKERS: Final = ("o", "s", "^", "D", "v", "P")
_LINES: Final = ("-", "--", ":", "-.", (0, (5, 1)), (0, (3, 1, 1, 1)))
_COLOURS: Final = ("#000000", "#1f4e79", "#8c2d04", "#4d4d4d", "#54278f", "#006d2c")
_FACES: Final = ("#4d4d4d", "#ffffff", "#bdbdbd", "#737373")
_HATCHES: Final = ("", "//", "..", "xx")
_WIDTH, _HEIGHT = 4.4, 3.1
_MANY: Final = 3  # series from which on the legend stands beside the plot


@dataclass(frozen=True)
class Series:
    """A line of a plot."""

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    ringed: tuple[int, ...] = ()  # the points to look at; the figure's `ring` says why
    words: tuple[tuple[int, str], ...] = ()  # labels of some points


@dataclass(frozen=True)
class Panel:
    """One pair of axes, labelled with units; with `categories`, bars beside one another at each of them."""

    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    logarithmic: bool = False
    categories: tuple[str, ...] = ()


@dataclass(frozen=True)
class Figure:
    """Panels in rows, with a caption for the page it stands on."""

    slug: str
    caption: str
    rows: tuple[tuple[Panel, ...], ...]
    ring: str = ""


def check_matplotlib() -> None:
    """Say before the work begins that figures cannot be drawn."""
    if importlib.util.find_spec("matplotlib") is None:
        raise MissingExtraError(
            "figures need matplotlib, which is not installed; in a clone, run: pip install '.[experiments]'; or "
            "leave them out with --no-figures"
        )


def draw(figure: Figure, stem: Path) -> list[Path]:
    """Write a figure as PNG and SVG, `stem` with the ending of each; the same data gives the same picture."""
    check_matplotlib()
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas

    columns = max(len(row) for row in figure.rows)
    paths = []
    with mpl.rc_context({"svg.hashsalt": "dualmatch", "svg.fonttype": "path", "font.size": 10}):
        wide = 1.6 if any(len(panel.series) > _MANY for row in figure.rows for panel in row) else 1.0
        canvas = Canvas(figsize=(wide * _WIDTH * columns, _HEIGHT * len(figure.rows)), layout="constrained")
        FigureCanvasAgg(canvas)
        for number, row in enumerate(figure.rows):
            for place, panel in enumerate(row):
                axes = canvas.add_subplot(len(figure.rows), columns, number * columns + place + 1)
                _draw_panel(axes, panel, figure.ring)
        for kind, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
            path = stem.with_name(f"{stem.name}.{kind}")
            with replacing(path) as file:
                canvas.savefig(file, format=kind, dpi=160, metadata=metadata)
            paths.append(path)
    return paths


def _draw_panel(axes: Any, panel: Panel, ring: str) -> None:
    if panel.categories:
        _draw_bars(axes, panel)
    else:
        _draw_lines(axes, panel, ring)
    axes.set(title=panel.title, xlabel=panel.x_label, ylabel=panel.y_label)
    axes.grid(visible=True, axis="y" if panel.categories else "both", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    if any(series.words for series in panel.series):
        axes.margins(0.1, 0.2)  # room for the words: its points are named where they are
    elif len(panel.series) > _MANY:
        axes.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.02, 1.0))
    else:
        axes.legend(fontsize=8, framealpha=0.9)


def _draw_bars(axes: Any, panel: Panel) -> None:
    width = 0.8 / len(panel.series)
    for number, series in enumerate(panel.series):
        places = [x + (number - (len(panel.series) - 1) / 2) * width for x in series.x]
        face, hatch = _FACES[number % len(_FACES)], _HATCHES[number % len(_HATCHES)]
        bars = axes.bar(places, series.y, width, label=series.label, color=face, edgecolor="black", hatch=hatch)
        axes.bar_label(bars, fmt="%.3g", fontsize=8, padding=2)
    axes.set_xticks(range(len(panel.categories)), panel.categories)
    axes.margins(y=0.15)


def _draw_lines(axes: Any, panel: Panel, ring: str) -> None:
    for number, series in enumerate(panel.series):
        colour = _COLOURS[number % len(_COLOURS)]
        axes.plot(
            series.x,
            series.y,
            marker=_MARKERS[number % len(_MARKERS)],
            linestyle=_LINES[number % len(_LINES)],
            color=colour,
            markerfacecolor="white" if number % 2 else colour,
            label=series.label,
        )
        for at in series.ringed:
            axes.plot(series.x[at], series.y[at], marker="o", markersize=14, fillstyle="none", color="black")
        for at, words in series.words:
            place, below = (series.x[at], series.y[at]), (0, -12)
            axes.annotate(words, place, below, textcoords="offset points", fontsize=9, ha="center", va="top")
    if ring and any(series.ringed for series in panel.series):
        axes.plot([], [], marker="o", markersize=11, fillstyle="none", color="black", linestyle="none", label=ring)
    if panel.logarithmic:
        axes.set(xscale="log", yscale="log")
        _plain_ticks(axes, panel.series)


def _plain_ticks(axes: Any, series: Sequence[Series]) -> None:
    """Numbers as people write them, at the points measured."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

    axes.xaxis.set_major_locator(FixedLocator(sorted({x for each in series for x in each.x})))
    axes.tick_params(axis="x", labelrotation=30)
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(_plainly))


def _plainly(value: float, _place: int) -> str:
    """A number as people write it."""
    return f"{value:,.0f}" if value >= 10 else f"{value:g}"
