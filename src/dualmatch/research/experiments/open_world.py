"""Table "open-world": trained on what was known before a day, tested on all that came since.

The encoder is trained on the facts before 2014-01-01 with as many random pairs of their entities as the dataset has
seeds (1,000 on DICEWS). Then both graphs are there whole: entities, relations and times not seen in training start from
random vectors, the time channel and the evidence channel simply run again. A pair is observed when both its entities
stand in a fact before that day.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dualmatch.channels.relational import carried_over_similarity
from dualmatch.config import Method
from dualmatch.evaluate import evaluate
from dualmatch.graph.arrays import Pairs
from dualmatch.graph.model import TemporalGraph
from dualmatch.graph.times import parse_date
from dualmatch.methods.align import align
from dualmatch.methods.resources import quick_unit_seconds
from dualmatch.research.experiments.cells import Arrays, Result, computed
from dualmatch.research.experiments.paper import OPEN_WORLD
from dualmatch.research.experiments.report import Report
from dualmatch.research.experiments.sampling import restricted
from dualmatch.research.experiments.study import Study
from dualmatch.research.experiments.subject import Subject
from dualmatch.research.experiments.tables import HITS, NOT_RUN, Column, Table, Value, hits_of
from dualmatch.research.experiments.workbench import Workbench, rankings_of

CUT: Final = "2014-01-01"
GROUPS: Final = ("unobserved", "observed")
_COLUMNS: Final = (
    Column("method"),
    Column("figures"),
    Column("protocol"),
    *(Column(f"{group} {hit.name}", hit.digits) for group in GROUPS for hit in HITS),
)


@dataclass(frozen=True, eq=False)
class World:
    """The graphs before the cut, and the pairs of both kinds.

    Attributes
    ----------
    before, rows:
        Both graphs of the facts before the cut, and the row that each of their entities has in the whole graph.
    seeds: (n, 2)
        Random observed pairs, rows of the whole graphs.
    sets:
        Tested pairs: all, observed, unobserved.
    """

    before: tuple[TemporalGraph, TemporalGraph]
    rows: tuple[NDArray[np.integer], NDArray[np.integer]]
    seeds: Pairs
    sets: dict[str, Pairs]

    @property
    def seeds_before(self) -> Pairs:
        """The seeds as rows of the graphs before the cut."""
        return np.stack([np.searchsorted(self.rows[k], self.seeds[:, k]) for k in (0, 1)], axis=1).astype(np.int32)


def open_world(study: Study) -> Report:
    """Observed and unobserved pairs apart."""
    tables, notes = [], []
    for bench in study.benches():
        subject = bench.subject
        why_not = _why_not(subject)
        if why_not is not None:
            notes.append(f"{subject.name}: not run, {why_not}.")
            continue
        world = cut_world(subject, 0)
        rows = (*_quoted(subject.paper_name), *_ours(bench, study))
        title = (
            f"{subject.name}: {len(world.seeds):,} seeds, {len(world.sets['unobserved']):,} unobserved and "
            f"{len(world.sets['observed']):,} observed pairs tested"
        )
        tables.append(Table(subject.slug, title, _COLUMNS, rows))
    if study.absent(("DICEWS",)):
        missing: tuple[Value, ...] = (NOT_RUN,) * 6
        rows = (*_quoted("DICEWS"), *((method, "ours", "paper", *missing) for method in study.methods))
        tables.append(Table("dicews", "DICEWS (the dataset is not here)", _COLUMNS, rows))
    return Report("open-world", "Open-world alignment", tuple(tables), notes=tuple(notes), text=(__doc__ or "").strip())


def _quoted(name: str | None) -> tuple[tuple[Value, ...], ...]:
    if name != "DICEWS":
        return ()
    return tuple(
        (method, "quoted, DICEWS", "paper", *figures["unobserved"], *figures["observed"])
        for method, figures in OPEN_WORLD.items()
    )


def _ours(bench: Workbench, study: Study) -> tuple[tuple[Value, ...], ...]:
    rows: list[tuple[Value, ...]] = []
    variants: dict[Method, tuple[str, Callable[[], list[Result | None]]]] = {
        "dualmatch": ("dualmatch, trained before the cut", lambda: [_dualmatch(bench, seed) for seed in study.seeds]),
        "temporal": ("temporal, run again", lambda: [_run_again(bench, "temporal")]),
        "evidence": ("evidence, run again with the seeds", lambda: [_run_again(bench, "evidence")]),
    }
    for method, (label, measured) in variants.items():
        if method not in study.methods:
            continue
        runs = measured()
        for protocol in ("paper", "open"):
            hits: list[Value] = []
            for group in GROUPS:
                hits += hits_of([each and each[protocol][group] for each in runs])
            rows.append((label, f"ours, {bench.subject.name}", protocol, *hits))
    return tuple(rows)


def _why_not(subject: Subject) -> str | None:
    graphs = subject.source, subject.target
    if any(graph.opaque_times for graph in graphs):
        return "its times are ids without a calendar"
    undated = sum(graph.n_facts - graph.statistics.dated_facts for graph in graphs)
    if undated:
        return f"{undated:,} of its facts have no time, so that nobody knows on which side of the cut they lie"
    if not len(subject.supervision):
        return "it has no sup_pairs, so that nobody knows how many seeds to draw"
    world = cut_world(subject, 0)
    if not len(world.sets["unobserved"]) or not len(world.seeds) or not len(world.sets["observed"]):
        return f"no pair lies on one side of {CUT}"
    return None


def cut_world(subject: Subject, seed: int) -> World:
    """Cut both graphs, and draw the seeds among the observed pairs."""
    before, rows = [], []
    for graph in (subject.source, subject.target):
        part, entities = graph_before(graph, parse_date(CUT))
        before.append(part)
        rows.append(entities)
    gold = subject.gold
    observed = np.isin(gold[:, 0], rows[0]) & np.isin(gold[:, 1], rows[1])
    rng = np.random.default_rng(seed)
    count = min(len(subject.supervision), int(observed.sum()) // 2)
    chosen = np.sort(rng.permutation(np.flatnonzero(observed))[:count])
    tested = np.ones(len(gold), dtype=bool)
    tested[chosen] = False
    sets = {"all": gold[tested], "observed": gold[tested & observed], "unobserved": gold[tested & ~observed]}
    return World((before[0], before[1]), (rows[0], rows[1]), gold[chosen], sets)


def graph_before(graph: TemporalGraph, cut: int) -> tuple[TemporalGraph, NDArray[np.integer]]:
    """The facts that begin before a day and the entities they mention, with the rows these have in the whole graph."""
    early = graph.begin < cut
    entities = np.unique(np.concatenate([graph.head[early], graph.tail[early]]))
    facts_only = TemporalGraph(
        graph.head[early],
        graph.relation[early],
        graph.tail[early],
        graph.begin[early],
        graph.end[early],
        graph.entities,
        graph.relations,
        name=f"{graph.name} before the cut",
    )
    return restricted(facts_only, entities)


def _dualmatch(bench: Workbench, seed: int) -> Result | None:
    """Rankings at the α of smallest D, of an encoder that never saw what came after the cut."""
    key = bench.key("open-world", "dualmatch", None, seed, cut=CUT)

    def train() -> Arrays:
        subject, world = bench.subject, cut_world(bench.subject, seed)
        unit, start = quick_unit_seconds(), time.perf_counter()
        whole = subject.source, subject.target
        similarity = carried_over_similarity(
            world.before, whole, world.rows, world.seeds_before, bench.config(seed=seed), bench.training_progress
        )
        return {
            "h_source": similarity.dense_source,
            "h_target": similarity.dense_target,
            "known": world.seeds,
            "seconds": np.array(time.perf_counter() - start),
            "unit_seconds": np.array(unit),
        }

    def compute() -> Result:
        trained = computed(bench.cells.arrays({**key, "cell": "open-world trained"}, train))
        return bench.decode_every(trained, cut_world(bench.subject, seed).sets)

    decoded = bench.cells.result(key, compute)
    return None if decoded is None else decoded["alphas"][decoded["chosen"]]


def _run_again(bench: Workbench, method: Method) -> Result | None:
    """A channel that learns nothing, on the whole graphs; tested on the same pairs as seed 0 of the others."""

    def compute() -> Result:
        subject, world = bench.subject, cut_world(bench.subject, 0)
        if method == "temporal":
            return rankings_of(bench.time_plan(), world.sets)
        alignment = align(
            subject.source, subject.target, world.seeds, config=bench.config(method), progress=bench.progress
        )
        groups = {group: world.sets[group] for group in GROUPS}
        found = evaluate(alignment, np.concatenate([world.seeds, world.sets["all"]]), groups)
        return {name: asdict(found)[name] for name in ("paper", "open")}

    return bench.cells.result(bench.key("open-world", method, None, None, cut=CUT), compute)
