"""Figure "GM-Decoder analysis" and Table "worst and best H@1 when varying α": does the smallest D find the best α?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from dualmatch.research.experiments.cells import Result
from dualmatch.research.experiments.curve import TERMS, Curve, curve_of, why_not_best
from dualmatch.research.experiments.paper import GRID_SEARCH, SETTINGS, Setting
from dualmatch.research.experiments.plots import Figure, Panel, Series
from dualmatch.research.experiments.report import Report
from dualmatch.research.experiments.study import Study
from dualmatch.research.experiments.subject import Subject
from dualmatch.research.experiments.tables import NOT_RUN, Column, Table, Value, spread

_FOLLOWS: Final = -0.6
"""Rank correlation of nine points that is below chance at one in twenty: from there on D is said to follow H@1."""
_SEARCH_COLUMNS: Final = (
    Column("dataset"),
    Column("setting"),
    Column("pairs"),
    *(Column(name, 2) for name in ("worst H@1", "best H@1", "chosen H@1", "short of the best")),
    Column("best α"),
    Column("chosen α"),
    Column("rank correlation of H@1 and D", 2),
    *(Column(f"quoted {name}", 1) for name in ("worst", "best", "chosen")),
)
_TERM_COLUMNS: Final = (
    Column("dataset"),
    Column("setting"),
    Column("term"),
    Column("at the smallest α", 1),
    Column("least", 1),
    Column("at the largest α", 1),
    Column("falls at", 0),
    Column("least at α"),
    Column("H@1 there", 2),
    Column("short of the best", 2),
    Column("rank correlation with H@1", 2),
    Column("rank correlation with α", 2),
)
_TEXT: Final = (
    "H@1 and D at every α of each training, by the protocol `paper`. The paper claims that H@1 and D are negatively "
    "correlated in all settings, and that the smallest D finds the best α. D is the sum of a relational and a temporal "
    "term, each weighted. Curves, terms and reasons are those of the first training seed that is there."
)


def decoder(study: Study) -> Report:
    """H@1 and D at every α in every setting; where the smallest D misses the best α, by how much and why."""
    searches: list[tuple[Value, ...]] = []
    terms: list[tuple[Value, ...]] = []
    curves, figures, notes = [], [], []
    for bench in study.benches():
        subject = bench.subject
        found = {
            setting: [bench.decoded(setting, seed) for seed in study.seeds_of("dualmatch")] for setting in SETTINGS
        }
        for setting, cells in found.items():
            searches += _searches(subject, setting, cells)
        done = {setting: first for setting, cells in found.items() if (first := _first(cells)) is not None}
        if done:
            whole = {setting: curve_of(decoded) for setting, decoded in done.items()}
            terms += [row for setting, curve in whole.items() for row in _terms(subject, setting, curve)]
            curves.append(_curves_table(subject, whole))
            figures.append(_figure(subject, whole))
            notes += [f"{subject.name}: {note}" for note in (_verdict(whole), *_reasons(done))]
    for name in study.absent(("DICEWS", "WY50K")):
        missing: tuple[Value, ...] = (NOT_RUN,) * 7
        searches += [(name, setting, "all", *missing, *GRID_SEARCH[name, setting]) for setting in SETTINGS]
    title = "The worst and the best H@1 over α, and H@1 at the α of smallest D"
    tables = [Table("search", title, _SEARCH_COLUMNS, tuple(searches))]
    if terms:
        tables.append(Table("terms", "D and its terms over α", _TERM_COLUMNS, tuple(terms)))
    return Report("decoder", "GM-Decoder analysis", (*tables, *curves), tuple(figures), tuple(notes), text=_TEXT)


def _first(cells: list[Result | None]) -> Result | None:
    return next((decoded for decoded in cells if decoded is not None), None)


def _groups(decoded: Result | None) -> list[str]:
    """All pairs first, then the groups that were ranked besides."""
    groups = [] if decoded is None else list(decoded["alphas"][decoded["chosen"]]["paper"])
    return ["all", *(group for group in groups if group != "all")]


def _searches(subject: Subject, setting: Setting, cells: list[Result | None]) -> list[tuple[Value, ...]]:
    """A row for all pairs and for each group: mean ± standard deviation over the trainings."""
    published = GRID_SEARCH.get((subject.paper_name or "", setting))
    rows: list[tuple[Value, ...]] = []
    for group in _groups(_first(cells)):
        quoted = published if published is not None and group == "all" else (None,) * 3
        curves = [None if decoded is None else curve_of(decoded, group) for decoded in cells]
        known = [curve for curve in curves if curve is not None]
        rows.append(
            (
                subject.name,
                setting,
                group,
                _over(curves, lambda curve: min(curve.hits)),
                _over(curves, lambda curve: curve.hits[curve.best]),
                _over(curves, lambda curve: curve.hits[curve.chosen]),
                _over(curves, lambda curve: curve.short(curve.chosen)),
                _alphas([curve.alphas[curve.best] for curve in known]),
                _alphas([curve.alphas[curve.chosen] for curve in known]),
                _correlation(known, curves),
                *quoted,
            )
        )
    return rows


def _alphas(alphas: list[float]) -> str:
    """The α of each training, once where all have the same."""
    shown = [f"{alpha:g}" for alpha in (alphas if len(set(alphas)) > 1 else alphas[:1])]
    return ", ".join(shown) or NOT_RUN


def _correlation(known: list[Curve], curves: list[Curve | None]) -> Value:
    """Rank correlation over the trainings; none where H@1 or D is constant."""
    if known and all(curve.follows_hits() is None for curve in known):
        return None
    return _over(curves, Curve.follows_hits)


def _over(curves: list[Curve | None], figure: Callable[[Curve], float | None]) -> Value:
    return spread(None if curve is None else figure(curve) for curve in curves)


def _terms(subject: Subject, setting: Setting, curve: Curve) -> list[tuple[Value, ...]]:
    """What D and each of its terms do over α, and which α each alone would choose."""
    rows: list[tuple[Value, ...]] = []
    for term, words in TERMS.items():
        values, at = curve.distances[term], curve.smallest(term)
        steps = f"{curve.falling_steps(term)} of {len(values) - 1} steps"
        level = (values[0], min(values), values[-1], steps, f"{curve.alphas[at]:g}")
        follows = (curve.follows_hits(term), curve.follows_alpha(term))
        rows.append((subject.name, setting, words, *level, curve.hits[at], curve.short(at), *follows))
    return rows


def _verdict(whole: dict[Setting, Curve]) -> str:
    """Whether H@1 goes with D, setting by setting."""
    said = []
    for setting, curve in whole.items():
        follows = curve.follows_hits()
        if follows is None:
            said.append(f"{setting}: H@1 or D is the same at every α")
        else:
            word = "D follows H@1" if follows <= _FOLLOWS else "D does not follow H@1"
            said.append(f"{setting}: {word} (rank correlation {follows:+.2f})")
    return "; ".join(said) + "."


def _reasons(done: dict[Setting, Result]) -> list[str]:
    reasons = []
    for setting, decoded in done.items():
        for group in _groups(decoded):
            why = why_not_best(curve_of(decoded, group))
            if why is not None:
                reasons.append(f"{setting}, {group} pairs: {why}")
    return reasons


def _curves_table(subject: Subject, whole: dict[Setting, Curve]) -> Table:
    columns = [Column("α", 2)]
    for setting in whole:
        columns += [Column(f"{setting} H@1", 2), Column(f"{setting} D", 1)]
        columns += [Column(f"{setting} D relational", 1), Column(f"{setting} D temporal", 1)]
    rows = []
    for at, alpha in enumerate(next(iter(whole.values())).alphas):
        row: list[Value] = [alpha]
        for curve in whole.values():
            row += [curve.hits[at], *(curve.distances[term][at] for term in TERMS)]
        rows.append(tuple(row))
    title = f"{subject.name}, H@1 and D at every α"
    return Table(f"{subject.slug}-curves", title, tuple(columns), tuple(rows))


def _figure(subject: Subject, whole: dict[Setting, Curve]) -> Figure:
    """H@1 over α; D and its terms over α, relative to the smallest α so that one scale fits all; H@1 against D."""
    hits_row, distance_row, against_row = [], [], []
    for setting, curve in whole.items():
        ringed = (curve.chosen,)
        hits_row.append(
            Panel(
                f"{subject.name}, {setting}", "α, weight of time", "H@1 (%)", (_line("H@1", curve, curve.hits, ringed),)
            )
        )
        series = []
        for term, words in TERMS.items():
            values = curve.distances[term]
            relative = tuple(100 * (value / values[0] - 1) if values[0] else 0.0 for value in values)
            series.append(_line(words, curve, relative, ringed if term == "total" else ()))
        y_label = f"change since α = {curve.alphas[0]:g} (%)"
        distance_row.append(Panel("", "α, weight of time", y_label, tuple(series)))
        follows = curve.follows_hits()
        title = "" if follows is None else f"rank correlation {follows:+.2f}".replace("-", "−")
        ends = ((0, f"α = {curve.alphas[0]:g}"), (len(curve.alphas) - 1, f"α = {curve.alphas[-1]:g}"))
        path = Series("H@1 and D, from α to α", curve.distances["total"], curve.hits, ringed, ends)
        against_row.append(Panel(title, "graph-matching distance D", "H@1 (%)", (path,)))
    caption = (
        f"{subject.name}: H@1 (top) and the graph-matching distance D with its two terms (middle) over α, and H@1 "
        "against D (bottom), in each setting."
    )
    rows = (tuple(hits_row), tuple(distance_row), tuple(against_row))
    return Figure(subject.slug, caption, rows, "smallest D")


def _line(label: str, curve: Curve, values: tuple[float, ...], ringed: tuple[int, ...]) -> Series:
    return Series(label, curve.alphas, values, ringed)
