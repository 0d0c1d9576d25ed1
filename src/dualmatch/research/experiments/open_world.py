"""Table "open-world": trained on facts before a day, tested on all facts.

The encoder is trained on the facts before 2014-01-01 with as many random pairs of their entities as the dataset has
seeds (1,000 on DICEWS). Then both graphs are complete: entities, relations and times not seen in training start from
random vectors, the time channel and the evidence channel simply run again. A pair is observed when both its entities
stand in a fact before that day.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from itertools import chain
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dualmatch.channels.relational import carried_over_similarity
from dualmatch.config import Method
from dualmatch.evaluate import evaluate
from dualmatch.graph.arrays import Pairs
from dualmatch.graph.model import TemporalGraph
from dualmatch.graph.times import parse_date
from dualmatch.research.experiments.cells import Arrays, Result, computed
from dualmatch.research.experiments.paper import OPEN_WORLD
from dualmatch.research.experiments.results import NOT_RUN, Report, Row, Table, columns, hits_columns, hits_of
from dualmatch.research.experiments.subject import Subject, restricted
from dualmatch.research.experiments.workbench import Study, Workbench, rankings_of, trained_vectors

CUT: Final = "2014-01-01"
GROUPS: Final = ("unobserved", "observed")
_COLUMNS: Final = (*columns("method", "figures", "protocol"), *hits_columns(*GROUPS))
_QUOTED: Final = tuple(
    (method, "quoted, DICEWS", "paper", *figures["unobserved"], *figures["observed"])
    for method, figures in OPEN_WORLD.items()
)
_VARIANTS: Final[dict[Method, str]] = {
    "dualmatch": "dualmatch, trained before the cut",
    "temporal": "temporal, run again",
    "evidence": "evidence, run again with the seeds",
}


@dataclass(frozen=True, eq=False)
class CutWorld:
    """The graphs before the cut, and the pairs of both kinds."""

    before: tuple[TemporalGraph, TemporalGraph]
    rows: tuple[NDArray[np.integer], NDArray[np.integer]]  # of each entity of `before` in its whole graph
    seeds: Pairs  # random observed pairs, rows of the whole graphs
    sets: dict[str, Pairs]  # tested pairs: all, observed, unobserved

    @property
    def seeds_before(self) -> Pairs:
        """The seeds as rows of the graphs before the cut."""
        return np.stack([np.searchsorted(self.rows[k], self.seeds[:, k]) for k in (0, 1)], axis=1).astype(np.int32)


def open_world(study: Study) -> Report:
    """Observed and unobserved pairs apart."""
    tables, notes = [], []
    for bench in study.benches():
        subject = bench.subject
        if (why_not := _why_not(subject)) is not None:
            notes.append(f"{subject.name}: not run, {why_not}.")
            continue
        world = cut_world(subject, 0)
        rows = (*(_QUOTED if subject.paper_name == "DICEWS" else ()), *_ours(bench, study))
        title = (
            f"{subject.name}: {len(world.seeds):,} seeds, {len(world.sets['unobserved']):,} unobserved and "
            f"{len(world.sets['observed']):,} observed pairs tested"
        )
        tables.append(Table(subject.slug, title, _COLUMNS, rows))
    if study.absent("DICEWS"):
        ours = ((method, "ours", "paper", *[NOT_RUN] * 6) for method in study.methods)
        tables.append(Table("dicews", "DICEWS (dataset not available)", _COLUMNS, (*_QUOTED, *ours)))
    return Report("open-world", "Open-world alignment", tuple(tables), notes=tuple(notes), text=(__doc__ or "").strip())


def _ours(bench: Workbench, study: Study) -> list[Row]:
    rows: list[Row] = []
    for method, label in _VARIANTS.items():
        if method in study.methods:
            trained = method == "dualmatch"
            runs = [_dualmatch(bench, seed) for seed in study.seeds] if trained else [_run_again(bench, method)]
            for protocol in ("paper", "open"):
                hits = (hits_of([run and run[protocol][group] for run in runs]) for group in GROUPS)
                rows.append((label, f"ours, {bench.subject.name}", protocol, *chain.from_iterable(hits)))
    return rows


def _why_not(subject: Subject) -> str | None:
    graphs = subject.source, subject.target
    if any(graph.opaque_times for graph in graphs):
        return "its times are ids without a calendar"
    undated = sum(graph.n_facts - graph.statistics.dated_facts for graph in graphs)
    if undated:
        return f"{undated:,} of its facts have no time, so it is unknown on which side of the cut they lie"
    if not len(subject.supervision):
        return "it has no sup_pairs, so it is unknown how many seeds to draw"
    world = cut_world(subject, 0)
    if not len(world.sets["unobserved"]) or not len(world.seeds) or not len(world.sets["observed"]):
        return f"no pair lies on one side of {CUT}"
    return None


def cut_world(subject: Subject, seed: int) -> CutWorld:
    """Cut both graphs, and draw the seeds among the observed pairs."""
    (source, source_rows), (target, target_rows) = (
        graph_before(graph, parse_date(CUT)) for graph in (subject.source, subject.target)
    )
    gold = subject.gold
    observed = np.isin(gold[:, 0], source_rows) & np.isin(gold[:, 1], target_rows)
    rng = np.random.default_rng(seed)
    count = min(len(subject.supervision), int(observed.sum()) // 2)
    chosen = np.sort(rng.permutation(np.flatnonzero(observed))[:count])
    tested = np.ones(len(gold), dtype=bool)
    tested[chosen] = False
    sets = {"all": gold[tested], "observed": gold[tested & observed], "unobserved": gold[tested & ~observed]}
    return CutWorld((source, target), (source_rows, target_rows), gold[chosen], sets)


def graph_before(graph: TemporalGraph, cut: int) -> tuple[TemporalGraph, NDArray[np.integer]]:
    """The facts that begin before a day and the entities they mention, with the rows these have in the whole graph."""
    early = graph.begin < cut
    facts = {name: getattr(graph, name)[early] for name in ("head", "relation", "tail", "begin", "end")}
    entities = np.unique(np.concatenate([facts["head"], facts["tail"]]))
    return restricted(replace(graph, **facts, name=f"{graph.name} before the cut"), entities), entities


def _dualmatch(bench: Workbench, seed: int) -> Result | None:
    """Rankings at the α of smallest D, of an encoder that never saw what came after the cut."""
    key = bench.key("open-world", "dualmatch", None, seed, cut=CUT)

    def train() -> Arrays:
        subject, world, run = bench.subject, cut_world(bench.subject, seed), bench.context(seed=seed)
        whole = subject.source, subject.target
        with run.stages("relational"):
            return trained_vectors(
                world.seeds,
                lambda: carried_over_similarity(
                    world.before, whole, world.rows, world.seeds_before, run.config, run.stages.step
                ),
            )

    def compute() -> Result:
        trained = computed(bench.cells.arrays({**key, "cell": "open-world trained"}, train))
        return bench.decode_every(trained, cut_world(bench.subject, seed).sets)

    decoded = bench.cells.result(key, compute)
    return None if decoded is None else decoded["alphas"][decoded["chosen"]]


def _run_again(bench: Workbench, method: Method) -> Result | None:
    """A channel that learns nothing, on the whole graphs; tested on the same pairs as seed 0 of the others."""

    def compute() -> Result:
        world = cut_world(bench.subject, 0)
        if method == "temporal":
            return rankings_of(bench.time_plan(), world.sets)
        groups = {group: world.sets[group] for group in GROUPS}
        gold = np.concatenate([world.seeds, world.sets["all"]])
        found = asdict(evaluate(bench.align(method, world.seeds), gold, groups))
        return {name: found[name] for name in ("paper", "open")}

    return bench.cells.result(bench.key("open-world", method, None, None, cut=CUT), compute)
