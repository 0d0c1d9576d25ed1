"""Figure "GM-Decoder analysis" and Table "worst and best H@1 when varying α": does the smallest D find the best α?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from dualmatch.research.experiments.cells import Result
from dualmatch.research.experiments.paper import GRID_SEARCH, SETTINGS, Setting
from dualmatch.research.experiments.plots import Figure, Panel, Series
from dualmatch.research.experiments.results import NOT_RUN, Column, Report, Row, Table, Value, columns, spread
from dualmatch.research.experiments.subject import Subject
from dualmatch.research.experiments.workbench import Study

TERMS: Final = {"total": "D", "relational": "relational term", "temporal": "temporal term"}
"""D and the two terms it is the sum of, weighted: k^r d^r and k^t d^t."""
LEAST_REGRET: Final = 0.05  # points of H@1 below which the chosen α counts as the best: half a digit of the tables
_FOLLOWS: Final = -0.6  # rank correlation of nine points that is below chance at one in twenty
_SEARCH_COLUMNS: Final = (
    *columns("dataset", "setting", "pairs"),
    *columns("worst H@1", "best H@1", "chosen H@1", "short of the best", digits=2),
    *columns("best α", "chosen α"),
    Column("rank correlation of H@1 and D", 2),
    *columns("quoted worst", "quoted best", "quoted chosen", digits=1),
)
_TERM_COLUMNS: Final = (
    *columns("dataset", "setting", "term"),
    *columns("at the smallest α", "least", "at the largest α", digits=1),
    Column("falls at", 0),
    Column("least at α"),
    *columns("H@1 there", "short of the best", "rank correlation with H@1", "rank correlation with α", digits=2),
)
_TEXT: Final = (
    "H@1 and D at every α of each training, by the protocol `paper`. The paper claims that H@1 and D are negatively "
    "correlated in all settings, and that the smallest D finds the best α. D is the sum of a relational and a temporal "
    "term, each weighted. Curves, terms and reasons are those of the first training seed that was run."
)


@dataclass(frozen=True)
class Curve:
    """What each α gives, in the order of α."""

    alphas: tuple[float, ...]
    hits: tuple[float, ...]  # H@1 in percent, by the protocol of the paper's tables
    distances: Mapping[str, tuple[float, ...]]  # D and its terms, by the names of `TERMS`
    chosen: int  # place of the α of smallest D
    pairs: int  # how many were ranked

    @property
    def best(self) -> int:
        """Place of the highest H@1; the smaller α where two have it."""
        return int(np.argmax(self.hits))

    def short(self, at: int) -> float:
        """Points of H@1 by which a place falls short of the best."""
        return self.hits[self.best] - self.hits[at]

    def smallest(self, term: str) -> int:
        """Place of the α that a term alone would choose."""
        return int(np.argmin(self.distances[term]))

    def falling_steps(self, term: str) -> int:
        """Steps from one α to the next at which a term falls."""
        return int((np.diff(self.distances[term]) < 0).sum())

    def follows_hits(self, term: str = "total") -> float | None:
        """Rank correlation of a term and H@1: −1 where the smaller one always has the higher H@1."""
        return rank_correlation(self.hits, self.distances[term])

    def follows_alpha(self, term: str) -> float | None:
        """Rank correlation of a term and α: −1 where it falls with every step, whatever H@1 does."""
        return rank_correlation(self.alphas, self.distances[term])


def curve_of(decoded: Result, group: str = "all") -> Curve:
    """The curve of a decoded cell, of all tested pairs or one group of them."""
    names = sorted(decoded["alphas"], key=float)
    at = [decoded["alphas"][name] for name in names]
    return Curve(
        tuple(float(name) for name in names),
        tuple(each["paper"][group]["h1"] for each in at),
        {term: tuple(each["distance"][term] for each in at) for term in TERMS},
        names.index(decoded["chosen"]),
        int(at[0]["paper"][group]["pairs"]),
    )


def rank_correlation(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Spearman's, equal values sharing the mean of their ranks; None where either is constant."""
    if len(set(one)) < 2 or len(set(other)) < 2:
        return None
    from scipy.stats import rankdata  # too slow to import for the command line's help

    return round(float(np.corrcoef(rankdata(one), rankdata(other))[0, 1]), 12)


def why_not_best(curve: Curve) -> str | None:
    """By how much the chosen α falls short of the best, and which term of D made the choice; None if it does not."""
    best, chosen = curve.best, curve.chosen
    short = curve.short(chosen)
    if short < LEAST_REGRET:
        return None
    change = {term: values[chosen] - values[best] for term, values in curve.distances.items()}
    share = 100 * -change["total"] / curve.distances["total"][best]
    driver = min(("relational", "temporal"), key=lambda term: change[term])
    against = "relational" if driver == "temporal" else "temporal"
    whose = f"the {driver} term's, against the {against} one" if change[against] > 0 else f"mostly the {driver} term's"
    alone = [
        f"the {term} term would choose α = {curve.alphas[at]:g} ({curve.short(at):.2f} short of the best)"
        for term, at in ((term, curve.smallest(term)) for term in ("relational", "temporal"))
    ]
    return (
        f"the chosen α = {curve.alphas[chosen]:g} is {short:.2f} points ({round(short * curve.pairs / 100):,} of "
        f"{curve.pairs:,} pairs) short of the best, α = {curve.alphas[best]:g}. From the best to the chosen α D falls "
        f"by {-change['total']:,.1f} ({share:.2f} %): relational term {change['relational']:+,.1f}, temporal term "
        f"{change['temporal']:+,.1f}; so the choice is {whose}. Alone {', and '.join(alone)}. {_reason(curve, driver)}"
    )


def _reason(curve: Curve, driver: str) -> str:
    """What the term that made the choice follows, as far as the curve shows it."""
    steps, falls, rises = len(curve.alphas) - 1, curve.falling_steps(driver), int((np.diff(curve.hits) > 0).sum())
    hits = curve.follows_hits(driver)
    seen = f"The {driver} term falls at {falls} of {steps} steps of α, H@1 rises at {rises}"
    seen += "" if hits is None else f"; their rank correlation is {hits:+.2f}"
    if driver == "temporal" and falls >= steps - 1:
        return (
            f"{seen}: it falls with α whatever H@1 does, because S^t is built from the times that this term compares: "
            "more weight on them lowers the term, right or wrong."
        )
    return f"{seen}: it measures how well all choices correspond, with a partner or without, not which are right."


def decoder(study: Study) -> Report:
    """H@1 and D at every α in every setting; where the smallest D misses the best α, by how much and why."""
    searches: list[Row] = []
    terms: list[Row] = []
    curves, figures, notes = [], [], []
    for bench in study.benches():
        subject = bench.subject
        done: dict[Setting, Result] = {}
        for setting in SETTINGS:
            cells = [bench.decoded(setting, seed) for seed in study.seeds_of("dualmatch")]
            known = [decoded for decoded in cells if decoded is not None]
            done |= {setting: known[0]} if known else {}
            searches += [_search(subject, setting, cells, group) for group in _groups(known)]
        if done:
            whole = {setting: curve_of(decoded) for setting, decoded in done.items()}
            terms += [row for setting, curve in whole.items() for row in _terms(subject, setting, curve)]
            curves.append(_curves_table(subject, whole))
            figures.append(_figure(subject, whole))
            reasons = [
                f"{setting}, {group} pairs: {why}"
                for setting, decoded in done.items()
                for group in _groups([decoded])
                if (why := why_not_best(curve_of(decoded, group))) is not None
            ]
            notes += [f"{subject.name}: {note}" for note in (_verdict(whole), *reasons)]
    for name in study.absent("DICEWS", "WY50K"):
        searches += [(name, setting, "all", *[NOT_RUN] * 7, *GRID_SEARCH[name, setting]) for setting in SETTINGS]
    title = "The worst and the best H@1 over α, and H@1 at the α of smallest D"
    tables = [Table("search", title, _SEARCH_COLUMNS, tuple(searches))]
    if terms:
        tables.append(Table("terms", "D and its terms over α", _TERM_COLUMNS, tuple(terms)))
    return Report("decoder", "GM-Decoder analysis", (*tables, *curves), tuple(figures), tuple(notes), text=_TEXT)


def _groups(known: list[Result]) -> list[str]:
    """All pairs first, then the groups that were ranked besides."""
    ranked = known[0]["alphas"][known[0]["chosen"]]["paper"] if known else {}
    return ["all", *(group for group in ranked if group != "all")]


def _search(subject: Subject, setting: Setting, cells: list[Result | None], group: str) -> Row:
    """A row of all pairs or one group: mean ± standard deviation over the trainings."""
    published = GRID_SEARCH.get((subject.paper_name or "", setting)) if group == "all" else None
    curves = [None if decoded is None else curve_of(decoded, group) for decoded in cells]
    known = [curve for curve in curves if curve is not None]

    def over(figure: Callable[[Curve], float | None]) -> Value:
        return spread(None if curve is None else figure(curve) for curve in curves)

    def alphas(place: Callable[[Curve], int]) -> str:
        """The α of each training, once where all have the same."""
        shown = [f"{curve.alphas[place(curve)]:g}" for curve in known]
        return ", ".join(shown if len(set(shown)) > 1 else shown[:1]) or NOT_RUN

    constant = bool(known) and all(curve.follows_hits() is None for curve in known)
    return (
        *(subject.name, setting, group),
        over(lambda curve: min(curve.hits)),
        over(lambda curve: curve.hits[curve.best]),
        over(lambda curve: curve.hits[curve.chosen]),
        over(lambda curve: curve.short(curve.chosen)),
        alphas(lambda curve: curve.best),
        alphas(lambda curve: curve.chosen),
        None if constant else over(Curve.follows_hits),
        *(published or (None, None, None)),
    )


def _terms(subject: Subject, setting: Setting, curve: Curve) -> list[Row]:
    """What D and each of its terms do over α, and which α each alone would choose."""
    rows: list[Row] = []
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
        words = "H@1 or D is the same at every α"
        if (follows := curve.follows_hits()) is not None:
            words = f"D {'follows' if follows <= _FOLLOWS else 'does not follow'} H@1 (rank correlation {follows:+.2f})"
        said.append(f"{setting}: {words}")
    return "; ".join(said) + "."


def _curves_table(subject: Subject, whole: dict[Setting, Curve]) -> Table:
    heading, rows = [Column("α", 2)], []
    for setting in whole:
        distances = (f"{setting} D", f"{setting} D relational", f"{setting} D temporal")
        heading += [Column(f"{setting} H@1", 2), *columns(*distances, digits=1)]
    for at, alpha in enumerate(next(iter(whole.values())).alphas):
        figures = ((curve.hits[at], *(curve.distances[term][at] for term in TERMS)) for curve in whole.values())
        rows.append((alpha, *(value for each in figures for value in each)))
    title = f"{subject.name}, H@1 and D at every α"
    return Table(f"{subject.slug}-curves", title, tuple(heading), tuple(rows))


def _figure(subject: Subject, whole: dict[Setting, Curve]) -> Figure:
    """H@1 over α; D and its terms over α, relative to the smallest α so that one scale fits all; H@1 against D."""
    hits_row, distance_row, against_row = [], [], []
    for setting, curve in whole.items():
        ringed, weight = (curve.chosen,), "α, weight of time"
        hits = Series("H@1", curve.alphas, curve.hits, ringed)
        hits_row.append(Panel(f"{subject.name}, {setting}", weight, "H@1 (%)", (hits,)))
        series = []
        for term, words in TERMS.items():
            values = curve.distances[term]
            relative = tuple(100 * (value / values[0] - 1) if values[0] else 0.0 for value in values)
            series.append(Series(words, curve.alphas, relative, ringed if term == "total" else ()))
        distance_row.append(Panel("", weight, f"change since α = {curve.alphas[0]:g} (%)", tuple(series)))
        follows = curve.follows_hits()
        title = "" if follows is None else f"rank correlation {follows:+.2f}".replace("-", "−")
        ends = ((0, f"α = {curve.alphas[0]:g}"), (len(curve.alphas) - 1, f"α = {curve.alphas[-1]:g}"))
        path = Series("H@1 and D, from α to α", curve.distances["total"], curve.hits, ringed, ends)
        against_row.append(Panel(title, "graph-matching distance D", "H@1 (%)", (path,)))
    caption = (
        f"{subject.name}: H@1 (top) and the graph-matching distance D with its two terms (middle) over α, and H@1 "
        "against D (bottom), in each setting."
    )
    return Figure(subject.slug, caption, (tuple(hits_row), tuple(distance_row), tuple(against_row)), "smallest D")
