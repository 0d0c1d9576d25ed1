"""Baselines measured here: beside the quoted figures, what each run cost, and accuracy against CPU seconds."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Final, NamedTuple

from dualmatch.charts.chart import Chart
from dualmatch.charts.scatter import Point, scatter
from dualmatch.config import Method
from dualmatch.research.baselines import BASELINES
from dualmatch.research.experiments.cells import Result
from dualmatch.research.experiments.decoder import rank_correlation
from dualmatch.research.experiments.paper import OVERALL, Setting
from dualmatch.research.experiments.results import (
    HITS,
    Column,
    Report,
    Row,
    Table,
    Value,
    columns,
    hits_columns,
    hits_of,
    spread,
)
from dualmatch.research.experiments.workbench import Study, Workbench

SEEDED: Final[tuple[Setting, ...]] = ("normal", "less")
FAR: Final = 5.0  # points of H@1 that call for an explanation
_PROTOCOLS: Final = {"paper": "protocols", "open": "protocols", "paper, Sinkhorn": "by_sinkhorn"}
_QUOTED: Final = {each.title: each.quoted or each.title for each in BASELINES.values()}
_WITH_TIMES: Final = {each.title for each in BASELINES.values() if each.needs_times}
_KEY: Final = (("dualmatch's own", "one"), ("uses times", "two"), ("relations only", "rest"))
_COSTS: Final = (
    *columns("method", "setting", "epochs"),
    Column("paper H@1", 1),
    *columns("CPU seconds", "seconds", "machine units", digits=1),
    Column("peak MB", 0),
)
_COST_NOTE: Final = (
    "From the graphs in memory to the plan, evaluation left out. CPU seconds of all threads do not depend on what else "
    "the machine does; seconds do, and a machine unit, a 4096³ float32 matrix product just before, makes up for some "
    "of it. *N of M epochs*: M are the published ones, N were fixed beforehand."
)
_TEXT: Final = (
    "Other systems, written anew and run on the same seeds, tested pairs and machine. `docs/baselines.md` has what was "
    "left out of each, and why some differ from the quoted figures. Each is ranked by its own rule; “paper, Sinkhorn” "
    "ranks the same scores through this project's decoder."
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


def baselines(study: Study) -> Report:
    """Every baseline with seeds, beside its quoted row and our methods; cost; a chart for each setting."""
    tables, charts, findings = [], [], []
    for bench in study.benches():
        subject = bench.subject
        sizes = (f"{setting} setting {len(subject.seeds(setting)):,} seeds" for setting in SEEDED)
        heading = (*columns("method", "figures", "protocol"), *hits_columns(*SEEDED))
        tables.append(
            Table(subject.slug, f"{subject.name}: {', '.join(sizes)}", heading, rows_of(bench, study, SEEDED))
        )
        found = _measured(bench, study)
        tables += [_cost_table(bench, found)] if found else []
        findings += notes(bench, found)
        charts += _charts(bench, found)
    title = "Other systems, measured here"
    return Report("baselines", title, tuple(tables), notes=tuple(findings), text=_TEXT, charts=tuple(charts))


def rows_of(bench: Workbench, study: Study, settings: Sequence[Setting]) -> tuple[Row, ...]:
    """Quoted rows, each followed by what was measured of the same baseline; other baselines; our methods."""
    rows: list[Row] = []
    left = {_QUOTED[BASELINES[name].title]: name for name in study.baselines}
    for quoted in quoted_rows(bench.subject.paper_name, settings):
        rows.append(quoted)
        if (name := left.pop(str(quoted[0]), None)) is not None:
            rows += _baseline_rows(bench, study, name, settings)
    for name in left.values():
        rows += _baseline_rows(bench, study, name, settings)
    for method in study.methods:
        for protocol in ("paper", "open"):
            hits = method_hits(bench, study, method, protocol, [(setting, "all") for setting in settings])
            rows.append((method, f"ours, {bench.subject.name}", protocol, *hits))
    return tuple(rows)


def quoted_rows(name: str | None, settings: Sequence[Setting]) -> list[Row]:
    """The paper's rows about a dataset."""
    rows: list[Row] = []
    for method, figures in OVERALL.items():
        found = [figures.get((name or "", setting)) for setting in settings]
        if any(found):
            rows.append((method, f"quoted, {name}", "paper", *(x for each in found for x in (each or [None] * 3))))
    return rows


def method_hits(
    bench: Workbench, study: Study, method: Method, protocol: str, groups: Sequence[tuple[Setting, str]]
) -> list[Value]:
    """H@1, H@10 and MRR over seeds, of groups of pairs that each belong to a setting."""
    hits: list[Value] = []
    for setting, group in groups:
        runs = [bench.run(method, setting, seed) for seed in study.seeds_of(method)]
        hits += hits_of([run and run["protocols"][protocol][group] for run in runs])
    return hits


def _baseline_rows(bench: Workbench, study: Study, name: str, settings: Sequence[Setting]) -> list[Row]:
    """Figures of a baseline by its own rule and through Sinkhorn; – where it has no seeds, one row if it never ran."""
    baseline, rows = BASELINES[name], []
    figures = f"ours, {bench.subject.name}" + (f", {_epochs(study, name)}" if baseline.trains else "")
    runs = {setting: _runs(bench, study, name, setting) for setting in settings}
    for protocol, kind in _PROTOCOLS.items():
        hits: list[Value] = []
        for setting, some in runs.items():
            found = [run and run[kind] and run[kind][protocol.partition(",")[0]]["all"] for run in some]
            left_out = setting == "unsupervised" or any(run is not None and run[kind] is None for run in some)
            hits += [None] * len(HITS) if left_out else hits_of(found)
        rows.append((baseline.title, figures, protocol, *hits))
    return rows if any(run is not None for some in runs.values() for run in some) else rows[:1]


def _epochs(study: Study, name: str) -> str:
    baseline = BASELINES[name]
    run = baseline.epochs(study.epochs.get(name), quick=bool(study.options))
    return f"{run:,} of {baseline.published:,} epochs" if baseline.trains else "no training"


def _runs(bench: Workbench, study: Study, name: str, setting: Setting) -> Sequence[Result | None]:
    return [bench.baseline(name, setting, seed) for seed in study.seeds_of_baseline(name)]


def _measured(bench: Workbench, study: Study) -> list[Measured]:
    """What was run: methods and baselines, by setting."""
    found = []
    for setting in SEEDED:
        for method in study.methods:
            runs = [bench.run(method, setting, seed) for seed in study.seeds_of(method)]
            found.append(Measured(method, setting, "–", [run for run in runs if run is not None]))
        for name in study.baselines:
            some = [run for run in _runs(bench, study, name, setting) if run is not None]
            found.append(Measured(BASELINES[name].title, setting, _epochs(study, name), some))
    return [each for each in found if each.runs]


def _cost_table(bench: Workbench, found: Sequence[Measured]) -> Table:
    rows: list[Row] = []
    for each in found:
        unit = each.mean("unit_seconds")
        hits = spread(run["protocols"]["paper"]["all"]["h1"] for run in each.runs)
        cost = each.mean("cpu_seconds"), each.seconds, unit and each.seconds / unit, each.mean("peak_mb")
        rows.append((each.method, each.setting, each.epochs, hits, *cost))
    title = f"{bench.subject.name}: what each run cost"
    return Table(f"{bench.subject.slug}-cost", title, _COSTS, tuple(rows), _COST_NOTE)


def notes(bench: Workbench, found: Sequence[Measured]) -> list[str]:
    """How our H@1 compares with the quoted ones: their rank correlation, and every one that is far off."""
    said, paper_name = [], bench.subject.paper_name
    for setting in SEEDED:
        pairs = [
            (each.method, each.h1, quoted.h1)
            for each in found
            if each.setting == setting and (row := _QUOTED.get(each.method)) in OVERALL
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


def _charts(bench: Workbench, found: Sequence[Measured]) -> list[tuple[str, Chart]]:
    """H@1 over CPU seconds, a point a method, in each setting."""
    charts = []
    for setting in SEEDED:
        points = [
            Point(each.method, max(cpu, 0.1), each.h1, _style(each.method))
            for each in sorted(found, key=lambda each: -each.h1)
            if each.setting == setting and (cpu := each.mean("cpu_seconds")) is not None
        ]
        if len(points) > 2:  # fewer compare nothing
            subject, seeds = bench.subject, len(bench.subject.seeds(setting))
            title = f"{subject.name}, {seeds:,} seeds: H@1 (%, protocol paper) against CPU seconds, logarithmic scale"
            charts.append((f"{subject.slug}-{setting}", scatter(points, _KEY, title, "CPU seconds", "H@1, %")))
    return charts


def _style(method: str) -> str:
    return "one" if method not in _QUOTED else "two" if method in _WITH_TIMES else "rest"
