"""How right an alignment is: rankings under both protocols, abstention and calibration.

`paper`: Sinkhorn on the square of the tested pairs alone, as published tables report. `open`: every tested source
against all entities of the target graph, from the run's own plan; `open_reverse`: the other way round. Ties get their
average rank, so that a rank of 1.5 is no hit at 1.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from dualmatch.charts.chart import Chart
from dualmatch.charts.distributions import calibration_chart
from dualmatch.graph.arrays import Flags, Floats, Ids, Pairs, Rows
from dualmatch.methods.alignment import Alignment, SoftPlan
from dualmatch.methods.validation import KnownPairs, check_pairs

CALIBRATION_BINS = 10
LOOKS_PARTIAL: Final = 0.05
"""Share of the links that touch no true pair, above which gold may not hold all true pairs."""
EDGES_OF_ALL = (0.0, 0.001, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99, 1.0)
"""Edges of the bins for all pairs: finer where little is believed."""


@dataclass(frozen=True)
class Ranking:
    """Hits (percent) and mean reciprocal rank of some pairs."""

    h1: float
    h10: float
    mrr: float
    pairs: int


@dataclass(frozen=True)
class Abstention:
    """How right the emitted pairs are, and how right it is to leave the others without a match.

    `known` counts only links that touch an entity of a tested pair: for data whose gold is partial.
    """

    precision: float | None
    recall: float | None
    f1: float | None
    no_match_precision: float | None
    no_match_recall: float | None
    emitted: int
    known: Known | None = None


@dataclass(frozen=True)
class Known:
    precision: float | None
    recall: float | None
    f1: float | None


@dataclass(frozen=True)
class Verdicts:
    """How many sources are linked, undecided and without a match, and how right the last are."""

    linked: int
    undecided: int
    no_match: int
    no_match_precision: float | None
    no_match_recall: float | None


@dataclass(frozen=True)
class CalibrationBin:
    low: float
    high: float
    pairs: int
    confidence: float
    precision: float


@dataclass(frozen=True)
class Calibration:
    """Whether pairs of confidence c are right with frequency c."""

    ece: float | None  # expected calibration error over ten equal bins; None where nothing was emitted
    bins: tuple[CalibrationBin, ...]
    all: CalibrationOfAll | None = None

    def plot(self) -> Chart:
        """Confidence against the share of right links, with the number of links at each point."""
        points = [(each.confidence, each.precision) for each in self.bins]
        return calibration_chart(points, [each.pairs for each in self.bins])


@dataclass(frozen=True)
class CalibrationOfAll:
    """The same for every pair of the 1-to-1 assignment that touches a tested pair, whatever is believed of it."""

    pairs: int
    coverage: float  # share of the sources in a fact that have such a pair
    ece: float | None
    brier: float | None  # mean squared difference between confidence and truth
    bins: tuple[CalibrationBin, ...]


@dataclass(frozen=True)
class PairQuality:
    """Count, precision and recall of some pairs against gold."""

    count: int
    precision: float | None
    recall: float | None


@dataclass(frozen=True)
class Evaluation:
    """The accuracy of an alignment: rankings, links, calibration and verdicts (docs/formats.md, `benchmark --json`)."""

    paper: Mapping[str, Ranking]
    open: Mapping[str, Ranking]
    open_reverse: Mapping[str, Ranking]
    abstention: Abstention
    calibration: Calibration
    verdicts: Verdicts
    pseudo_seeds: PairQuality | None

    def plot_calibration(self) -> Chart:
        """How far the confidence of the links can be trusted: it against the share that is right."""
        return self.calibration.plot()


def evaluate(alignment: Alignment, gold: KnownPairs, groups: Mapping[str, Pairs] | None = None) -> Evaluation:
    """Judge an alignment against known pairs.

    Parameters
    ----------
    gold:
        All known pairs, as rows or names, seeds among them; those that were seeds of the run are not tested.
    groups:
        Named subsets of gold to rank separately; each is reduced to the tested pairs.

    Examples
    --------
    >>> from dualmatch import TemporalGraph, align, evaluate
    >>> graph = TemporalGraph.from_facts([("Ada", "met", "Charles", "1833"), ("Charles", "wrote", "Book", "1864")])
    >>> evaluation = evaluate(align(graph, graph), np.array([[0, 0], [1, 1], [2, 2]]))
    >>> evaluation.open["all"].h1, evaluation.abstention.f1
    (100.0, 1.0)
    """
    gold = check_pairs(gold, alignment.source, alignment.target, "gold")
    tested = gold[~np.isin(gold[:, 0], alignment.pairs[alignment.is_seed, 0])]
    sets = {"all": tested, **{name: common_pairs(pairs, tested) for name, pairs in (groups or {}).items()}}
    paper, open_, open_reverse = rankings(alignment.plan, sets)
    found = ~alignment.is_seed
    right = are_right(alignment.pairs[found], gold)
    return Evaluation(
        paper=paper,
        open=open_,
        open_reverse=open_reverse,
        abstention=abstention(alignment, gold, tested),
        calibration=replace(
            calibration(alignment.confidence[found], right), all=calibration_of_all(alignment, gold, tested)
        ),
        verdicts=verdicts(alignment, gold),
        pseudo_seeds=None if alignment.pseudo_seeds is None else pair_quality(alignment.pseudo_seeds, gold),
    )


@dataclass(frozen=True)
class LinkQuality:
    """How right the links of a file are."""

    abstention: Abstention
    calibration: Calibration
    seeds: int = 0  # links that were given, not found: they are left out
    unknown: int = 0  # links of which gold knows neither entity; left out where it is partial

    @property
    def gold_looks_partial(self) -> bool:
        """Whether so many links touch no true pair that gold may not hold all of them."""
        return self.unknown > LOOKS_PARTIAL * self.abstention.emitted


def link_quality(
    links: Sequence[tuple[str, str]],
    confidence: Floats,
    gold: Collection[tuple[str, str]],
    no_matches: Collection[str] = (),
    undecided: Collection[str] = (),
    seeds: Collection[str] = (),
    partial: bool = False,
) -> LinkQuality:
    """Links by name against true pairs by name.

    `no_matches`, `undecided`: source entities said to have no match, and those of which nothing is said. `seeds`:
    source entities whose link was given, not found; their links and true pairs are left out. `partial`: count only
    links that touch an entity of a true pair, since `gold` does not hold all of them; whether it is right to say "no
    match" is then not known.

    >>> link_quality([("Ada", "Q7"), ("Book", "Q1")], np.array([1.0, 0.5]), {("Ada", "Q7")}).abstention.precision
    0.5
    """
    given = set(seeds)
    true = {pair for pair in gold if pair[0] not in given}
    found = np.array([source not in given for source, _ in links], dtype=bool)
    links, confidence = (
        [link for link, is_found in zip(links, found.tolist(), strict=True) if is_found],
        confidence[found],
    )
    known = {source for source, _ in true}, {target for _, target in true}
    touches = np.array([source in known[0] or target in known[1] for source, target in links], dtype=bool)
    unknown = len(links) - int(touches.sum())
    if partial:
        links = [link for link, kept in zip(links, touches.tolist(), strict=True) if kept]
        confidence, no_matches = confidence[touches], ()
    right = np.array([link in true for link in links], dtype=bool)
    precision, recall = _share(int(right.sum()), len(links)), _share(int(right.sum()), len(true))
    of_known = precision if partial else _share(int(right.sum()), int(touches.sum()))
    left, partnered = set(no_matches), {source for source, _ in true}
    partnerless = ({*left, *undecided} | {source for source, _ in links}) - partnered
    rightly_left = len(left - partnered)
    abstained = Abstention(
        precision,
        recall,
        f1_score(precision, recall),
        _share(rightly_left, len(left)),
        _share(rightly_left, len(partnerless)) if left else None,
        len(links),
        Known(of_known, recall, f1_score(of_known, recall)),
    )
    return LinkQuality(abstained, calibration(confidence, right), int((~found).sum()), unknown)


def rankings(plan: SoftPlan, sets: Mapping[str, Pairs]) -> tuple[dict[str, Ranking], ...]:
    """Named sets of pairs, all of them in ``sets["all"]``, by the protocols `paper`, `open` and `open_reverse`."""
    tested = sets["all"]
    forward, backward = plan.ranks(tested)
    place = {(s, t): i for i, (s, t) in enumerate(tested.tolist())}
    rows = {name: np.array([place[s, t] for s, t in pairs.tolist()], dtype=np.intp) for name, pairs in sets.items()}
    return (
        {name: paper_ranking(plan, pairs) for name, pairs in sets.items()},
        {name: ranking(forward[index]) for name, index in rows.items()},
        {name: ranking(backward[index]) for name, index in rows.items()},
    )


def paper_ranking(plan: SoftPlan, pairs: Pairs) -> Ranking:
    """The `paper` protocol: the square of the pairs' sources × their partners, balanced on its own."""
    if not len(pairs):
        return ranking(np.zeros(0))
    square = plan.restricted(pairs[:, 0].astype(np.intp), pairs[:, 1].astype(np.intp))
    diagonal = np.repeat(np.arange(len(pairs))[:, None], 2, axis=1)
    return ranking(square.ranks(diagonal)[0])


def ranking(ranks: Floats) -> Ranking:
    """Hits and MRR of average ranks.

    >>> ranking(np.array([1.0, 1.5, 11.0])).h1  # a two-fold tie at the top is no hit
    33.33333333333333
    """
    if not len(ranks):
        return Ranking(0.0, 0.0, 0.0, 0)
    h1, h10 = (100 * float((ranks <= k).mean()) for k in (1, 10))
    return Ranking(h1, h10, float((1 / ranks).mean()), len(ranks))


def abstention(alignment: Alignment, gold: Pairs, tested: Pairs) -> Abstention:
    """Precision over emitted pairs, recall over tested pairs, both without seeds; and the same of "no match"."""
    emitted = alignment.pairs[~alignment.is_seed]
    right = int(are_right(emitted, gold).sum())
    precision, recall = _share(right, len(emitted)), _share(right, len(tested))
    known = _share(right, int(_touches(emitted, tested).sum()))
    return Abstention(
        precision,
        recall,
        f1_score(precision, recall),
        *_no_match_quality(alignment, gold, alignment.unmatched),
        len(emitted),
        Known(known, recall, f1_score(known, recall)),
    )


def verdicts(alignment: Alignment, gold: Pairs) -> Verdicts:
    """Counts of the verdicts, and how right "no match" is."""
    unlinked = alignment.unlinked
    left = unlinked.row[unlinked.is_no_match]
    counts = alignment.source.n_entities - len(unlinked.row), len(unlinked.row) - len(left), len(left)
    return Verdicts(*counts, *_no_match_quality(alignment, gold, left))


def _no_match_quality(alignment: Alignment, gold: Pairs, left: Rows) -> tuple[float | None, float | None]:
    """Precision and recall of leaving some source rows without a match."""
    partnerless = np.setdiff1d(np.arange(alignment.source.n_entities), gold[:, 0])
    rightly_left = len(np.intersect1d(left, partnerless))
    return _share(rightly_left, len(left)), _share(rightly_left, len(partnerless))


def calibration(confidence: Floats, right: Flags) -> Calibration:
    """Ten equal-width bins of confidence: mean confidence against share of right pairs, weighted by size."""
    bins = _bins(confidence, right, np.arange(CALIBRATION_BINS + 1) / CALIBRATION_BINS)
    return Calibration(_ece(bins), bins)


def calibration_of_all(alignment: Alignment, gold: Pairs, tested: Pairs) -> CalibrationOfAll:
    """Calibration of every pair that was found, however unlikely; see `calibration.all` in docs/formats.md."""
    pairs, confidence = alignment.all_pairs, alignment.all_confidence
    in_a_fact = np.flatnonzero(alignment.source.is_in_a_fact)
    asked = np.setdiff1d(in_a_fact, alignment.pairs[alignment.is_seed, 0])
    coverage = _share(int(np.isin(asked, pairs[:, 0]).sum()), len(asked))
    kept = _touches(pairs, tested)
    right, chance = are_right(pairs[kept], gold), confidence[kept]
    bins = _bins(chance, right, np.array(EDGES_OF_ALL))
    brier = float(((chance - right) ** 2).mean()) if len(chance) else None
    return CalibrationOfAll(len(chance), coverage or 0.0, _ece(bins), brier, bins)


def _bins(confidence: Floats, right: Flags, edges: Floats) -> tuple[CalibrationBin, ...]:
    """Bins between edges that hold a pair; the last includes its upper edge."""
    number = np.minimum(np.searchsorted(edges, confidence, side="right") - 1, len(edges) - 2)
    found = []
    for k, (low, high) in enumerate(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)):
        inside = number == k
        if inside.any():
            mean = float(confidence[inside].mean())
            found.append(CalibrationBin(low, high, int(inside.sum()), mean, float(right[inside].mean())))
    return tuple(found)


def _ece(bins: Sequence[CalibrationBin]) -> float | None:
    """Expected calibration error; None where there is no pair."""
    total = sum(each.pairs for each in bins)
    return sum(each.pairs * abs(each.confidence - each.precision) for each in bins) / total if total else None


def _touches(pairs: Pairs, tested: Pairs) -> Flags:
    """Which pairs have an entity of a tested pair in them."""
    touches: Flags = np.isin(pairs[:, 0], tested[:, 0]) | np.isin(pairs[:, 1], tested[:, 1])
    return touches


def pair_quality(pairs: Pairs, gold: Pairs) -> PairQuality:
    """How many pairs, how many of them in gold, and how much of gold they reach."""
    right = int(are_right(pairs, gold).sum())
    return PairQuality(len(pairs), _share(right, len(pairs)), _share(right, len(gold)))


def are_right(pairs: Pairs, gold: Pairs) -> Flags:
    """Which pairs stand in gold."""
    return np.isin(_keys(pairs), _keys(gold))


def common_pairs(pairs: Pairs, among: Pairs) -> Pairs:
    """Those of `pairs` that stand in `among`, in their own order."""
    return pairs[are_right(pairs, among)]


def f1_score(precision: float | None, recall: float | None) -> float | None:
    if not precision or not recall:
        return None if precision is None or recall is None else 0.0
    return 2 * precision * recall / (precision + recall)


def _keys(pairs: Pairs) -> Ids:
    return (pairs[:, 0].astype(np.int64) << 32) | pairs[:, 1].astype(np.int64)


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
