"""Baselines in the overall table: measured beside quoted, what each run cost, and accuracy against seconds."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Final, NamedTuple

from dualmatch.research.baselines import BASELINES
from dualmatch.research.experiments.cells import Result
from dualmatch.research.experiments.decoder import rank_correlation
from dualmatch.research.experiments.paper import OVERALL, SETTINGS, Setting
from dualmatch.research.experiments.plots import Figure, Panel, Series
from dualmatch.research.experiments.results import HITS, Column, Row, Table, columns, hits_of, spread
from dualmatch.research.experiments.workbench import Study, Workbench

SEEDED: Final[tuple[Setting, ...]] = ("normal", "less")
FAR: Final = 5.0  # points of H@1 that call for an explanation
_PROTOCOLS: Final = {"paper": "protocols", "open": "protocols", "paper, Sinkhorn": "by_sinkhorn"}
COSTS: Final = (
    *columns("method", "setting", "epochs"),
    Column("paper H@1", 1),
    *columns("seconds", "CPU seconds", "machine units", digits=1),
    Column("peak MB", 0),
)
COST_NOTE: Final = (
    "Seconds from the graphs in memory to the plan, evaluation left out; a machine unit is a 4096³ float32 matrix "
    "product. *N of M epochs*: M are the published ones, N were fixed beforehand. “paper, Sinkhorn”: the same scores "
    "through this project's decoder instead of the method's own rule."
)


class Measured(NamedTuple):
    """All runs of a method in a setting."""

    method: str
    setting: Setting
    epochs: str
    runs: list[Result]

    def mean(self, name: str) -> float | None:
        values = [run[name] for run in self.runs if run.get(name) is not None]
        return statistics.fmean(values) if values else None

    @property
    def h1(self) -> float:
        return statistics.fmean(run["protocols"]["paper"]["all"]["h1"] for run in self.runs)

    @property
    def seconds(self) -> float:
        return statistics.fmean(sum(run["seconds"].values()) for run in self.runs)


def baseline_rows(bench: Workbench, study: Study, name: str) -> list[Row]:
    """H@1, H@10 and MRR of a baseline in the settings that have seeds."""
    baseline, rows = BASELINES[name], []
    figures = f"ours, {bench.subject.name}" + (f", {_epochs(study, name)}" if baseline.trains else "")
    runs = {setting: _runs(bench, study, name, setting) for setting in SEEDED}
    for protocol, kind in _PROTOCOLS.items():
        hits: list[object] = []
        for setting in SETTINGS:
            if setting == "unsupervised":
                hits += [None] * len(HITS)
                continue
            found = [run and run[kind] and run[kind][protocol.partition(",")[0]]["all"] for run in runs[setting]]
            left_out = any(run is not None and run[kind] is None for run in runs[setting])
            hits += [None] * len(HITS) if left_out else hits_of(found)
        rows.append((baseline.title, figures, protocol, *hits))
    return rows  # type: ignore[return-value]


def _epochs(study: Study, name: str) -> str:
    baseline = BASELINES[name]
    run = baseline.epochs(quick=bool(study.options))
    return f"{run:,} of {baseline.published:,} epochs" if baseline.trains else "no training"


def _runs(bench: Workbench, study: Study, name: str, setting: Setting) -> Sequence[Result | None]:
    return [bench.baseline(name, setting, seed) for seed in study.seeds_of_baseline(name)]


def measured(bench: Workbench, study: Study) -> list[Measured]:
    """What was run: methods and baselines, by setting."""
    found = []
    for setting in SETTINGS:
        for method in study.methods:
            runs = [bench.run(method, setting, seed) for seed in study.seeds_of(method)]
            found.append(Measured(method, setting, "–", [run for run in runs if run is not None]))
        for name in study.baselines:
            some = [run for run in _runs(bench, study, name, setting) if run is not None]
            found.append(Measured(BASELINES[name].title, setting, _epochs(study, name), some))
    return [each for each in found if each.runs]


def cost_table(bench: Workbench, found: Sequence[Measured]) -> Table:
    rows: list[Row] = []
    for each in found:
        unit = each.mean("unit_seconds") or 0.0
        units = each.seconds / unit if unit else None
        hits = spread(run["protocols"]["paper"]["all"]["h1"] for run in each.runs)
        cost = each.seconds, each.mean("cpu_seconds"), units, each.mean("peak_mb")
        rows.append((each.method, each.setting, each.epochs, hits, *cost))
    title = f"{bench.subject.name}: what each run cost"
    return Table(f"{bench.subject.slug}-cost", title, COSTS, tuple(rows), COST_NOTE)


def notes(bench: Workbench, found: Sequence[Measured]) -> list[str]:
    """How our H@1 compares with the quoted ones: their rank correlation, and every one that is far off."""
    said, paper_name = [], bench.subject.paper_name
    rows = {each.title: each.quoted or each.title for each in BASELINES.values()}
    for setting in SEEDED:
        pairs = [
            (each.method, each.h1, quoted.h1)
            for each in found
            if each.setting == setting and (row := rows.get(each.method)) in OVERALL
            if (quoted := OVERALL[row].get((paper_name or "", setting))) is not None
        ]
        if len(pairs) < 3:
            continue
        follows = rank_correlation([ours for _, ours, _ in pairs], [theirs for *_, theirs in pairs])
        far = [f"{name} {ours:.1f} (quoted {theirs:.1f})" for name, ours, theirs in pairs if abs(ours - theirs) > FAR]
        words = "no" if follows is None else f"{follows:.2f}"
        said.append(
            f"{bench.subject.name}, {setting}: rank correlation of our H@1 with the quoted one over {len(pairs)} "
            f"baselines: {words}; more than {FAR:g} points apart: {', '.join(far) or 'none'}."
        )
    return said


def cost_figure(bench: Workbench, found: Sequence[Measured]) -> Figure | None:
    """H@1 over seconds, a point a method, in each setting."""
    panels = []
    for setting in SETTINGS:
        some = [each for each in found if each.setting == setting]
        if some:
            some.sort(key=lambda each: -each.h1)  # numbered from the best, so that points that lie close can be read
            series = tuple(
                Series(f"{number} {each.method}", (each.seconds,), (each.h1,), words=((0, str(number)),))
                for number, each in enumerate(some, start=1)
            )
            title = f"{bench.subject.name}, {setting}"
            panels.append(Panel(title, "seconds", "H@1 (%), paper protocol", series, logarithmic_x=True))
    if not panels:
        return None
    caption = (
        f"{bench.subject.name}: H@1 (paper protocol) against seconds on a logarithmic scale, numbered from the best."
    )
    return Figure(f"{bench.subject.slug}-cost", caption, tuple((panel,) for panel in panels))
