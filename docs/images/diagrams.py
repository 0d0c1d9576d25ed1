"""Diagrams of the method pages, as charts: boxes that arrows join."""

from __future__ import annotations

from itertools import pairwise

from markupsafe import Markup

from dualmatch.charts.chart import Chart
from dualmatch.charts.markup import el, joined

WIDTH = 720
_LINE, _HEAD, _PAD = 15, 17, 9
_MARKER = el(
    "defs",
    el(
        "marker",
        el("path", d="M0,0 L8,4 L0,8 Z", style="fill: var(--faint)"),
        id="head",
        viewBox="0 0 8 8",
        refX=7,
        refY=4,
        markerWidth=7,
        markerHeight=7,
        orient="auto",
    ),
)


def box(x: float, y: float, width: float, title: str, *lines: str, colour: str = "one", height: float = 0) -> Markup:
    """A box with a title and small lines below it."""
    text = _HEAD + _LINE * len(lines)
    height = height or text + 2 * _PAD
    top, middle = y + (height - text) / 2, x + width / 2
    style = f"fill: var(--{colour}); fill-opacity: .09; stroke: var(--{colour}); stroke-width: 1.5"
    return joined(
        el("rect", x=x, y=y, width=width, height=height, rx=7, style=style),
        words(middle, top + 13, title, size=13, colour="ink", bold=True),
        *(words(middle, top + _HEAD + _LINE * at + 11, line) for at, line in enumerate(lines)),
    )


def words(x: float, y: float, text: str, *, size: int = 11, colour: str = "faint", bold: bool = False) -> Markup:
    """Text around a middle."""
    style = f"fill: var(--{colour}); font: {'600 ' if bold else ''}{size}px system-ui, sans-serif"
    return el("text", text, x=x, y=y, text_anchor="middle", style=style)


def arrow(*points: tuple[float, float]) -> Markup:
    """A line through points, with a head at its end."""
    path = " ".join(f"{x:g},{y:g}" for x, y in points)
    style = "fill: none; stroke: var(--faint); stroke-width: 1.5"
    return el("polyline", points=path, style=style, marker_end="url(#head)")


def frame(x: float, y: float, width: float, height: float, title: str) -> Markup:
    """A dashed frame around boxes, with its title at the upper left."""
    style = "fill: none; stroke: var(--faint); stroke-dasharray: 4 4"
    label = "fill: var(--ink); font: 600 12px system-ui, sans-serif"
    rect = el("rect", x=x, y=y, width=width, height=height, rx=9, style=style)
    return joined(rect, el("text", title, x=x + 12, y=y + 19, style=label))


def run_of_evidence() -> Chart:
    """The steps of a run of method evidence."""
    row, high = 48, 62
    steps = [
        (140, 116, "Search", "the five best", "candidates of each"),
        (284, 116, "Support", "which pairs speak", "for each other"),
        (428, 126, "Match", "pass beliefs on,", "one partner each"),
        (582, 116, "Learn", "relations, dates,", "what is shared"),
    ]
    below = row + high + 26
    last, second = 190, 56
    ends = [
        (20, 190, "Trial", "pairs made poor: how often", "are they found again?"),
        (270, 190, "Closing", "links taken for granted,", "the rest looked at again"),
        (520, 190, "Verdicts", "linked, undecided,", "no match"),
    ]
    drawing = joined(
        _MARKER,
        frame(128, 14, 584, below - 2, "A round"),
        box(4, row, 104, "Start", "dates, seeds", "or names", height=high),
        *(box(x, row, width, *lines, height=high) for x, width, *lines in steps),
        arrow((108, row + high / 2), (138, row + high / 2)),
        *(
            arrow((x + width, row + high / 2), (after - 2, row + high / 2))
            for (x, width, *_), (after, *_) in pairwise(steps)
        ),
        arrow((640, row + high), (640, below - 4), (198, below - 4), (198, row + high + 2)),
        words(420, below + 9, "again, until at most 1 % of the pairs change"),
        arrow((640, below - 4), (640, 168), (115, 168), (115, last - 2)),
        *(box(x, last, width, *lines, colour="two", height=second) for x, width, *lines in ends),
        *(arrow((x + width, last + 28), (after - 2, last + 28)) for (x, width, *_), (after, *_) in pairwise(ends)),
    )
    return Chart("A run of the evidence matcher, step by step", WIDTH, last + second + 4, drawing)


def parts_of_dualmatch() -> Chart:
    """The three parts of the paper's method."""
    drawing = joined(
        _MARKER,
        box(4, 28, 110, "Source graph", "dated facts", colour="ideal"),
        box(4, 178, 110, "Target graph", "dated facts", colour="ideal"),
        box(166, 20, 214, "Temporal encoder", "who acts at the same times?", "no training", height=66),
        box(
            166,
            170,
            214,
            "Relational encoder",
            "graph neural network over",
            "neighbours, relations and times",
            height=66,
        ),
        arrow((114, 46), (164, 46)),
        arrow((114, 205), (164, 205)),
        arrow((114, 62), (140, 62), (140, 186), (164, 186)),
        arrow((114, 189), (130, 189), (130, 70), (164, 70)),
        arrow((273, 86), (273, 168)),
        words(273 + 84, 123, "pairs that agree most:", colour="ink"),
        words(273 + 84, 138, "pseudo-seeds, to train on", colour="ink"),
        arrow((380, 53), (486, 53), (486, 100)),
        arrow((380, 203), (486, 203), (486, 174)),
        words(434, 45, "Sᵗ", size=14, colour="ink", bold=True),
        words(434, 222, "Sʳ", size=14, colour="ink", bold=True),
        box(
            442,
            102,
            160,
            "GM-Decoder",
            "Sinkhorn of α·Sᵗ + Sʳ;",
            "the graph-matching",
            "distance D chooses α",
            colour="two",
        ),
        arrow((602, 138), (640, 138)),
        box(642, 112, 74, "Pairs", "ranked", colour="ideal", height=52),
    )
    return Chart("The three parts of DualMatch", WIDTH, 256, drawing)


def relational_encoder() -> Chart:
    """What happens within the relational encoder."""
    aspects = [("Entity", "its neighbours", 8), ("Relation", "its relations", 76), ("Time", "its times", 144)]
    drawing = [_MARKER]
    for name, of, y in aspects:
        drawing += [
            box(4, y, 126, f"{name} aspect", f"of {of}", colour="ideal", height=54),
            arrow((130, y + 27), (150, y + 27)),
            box(152, y, 194, "2 layers", "sum over neighbours, reflected", "and weighted by attention", height=54),
            arrow((346, y + 27), (366, y + 27)),
            box(368, y, 116, "Proxies, gate", "where both graphs", "meet", height=54),
        ]
    drawing += [
        arrow((484, 35), (508, 35), (508, 74), (530, 74)),
        arrow((484, 103), (530, 103)),
        arrow((484, 171), (508, 171), (508, 132), (530, 132)),
        box(532, 60, 184, "Embedding h", "[entity ‖ (relation + time) / 2]", height=86),
        arrow((624, 146), (624, 168)),
        box(532, 170, 184, "Loss", "pairs together, others apart", colour="two"),
        words(248, 218, "The entity and the time aspect share their weights."),
    ]
    return Chart("Inside the relational encoder", WIDTH, 226, joined(*drawing))
