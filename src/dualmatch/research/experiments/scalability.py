"""Figure and Table "scalability": seconds of each component by setting and by size, memory, and how fast they grow."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np

from dualmatch.config import Method
from dualmatch.errors import DualMatchError
from dualmatch.research.experiments.cells import Result
from dualmatch.research.experiments.paper import SAMPLES, SCALABILITY, SETTINGS
from dualmatch.research.experiments.plots import Figure, Panel, Series
from dualmatch.research.experiments.report import Report
from dualmatch.research.experiments.study import Study
from dualmatch.research.experiments.tables import NOT_RUN, Column, Table, Value
from dualmatch.research.experiments.workbench import Workbench

COMPONENTS: Final = ("relational", "temporal", "decode")
QUICK_SAMPLES: Final = (50, 100)
_PARTS: Final[dict[Method, tuple[str, ...]]] = {"dualmatch": (*COMPONENTS, "total"), "evidence": ("total",)}


def scalability(study: Study) -> Report:
    """Components by setting from the trainings other experiments share; samples each in a process of its own."""
    tables, figures, notes = [], [], []
    sizes = QUICK_SAMPLES if study.quick else SAMPLES
    for bench in study.benches():
        name = bench.subject.name
        tables.append(_settings_table(bench, study))
        samples = {
            method: {share: sampled(bench, method, share) for share in sizes}
            for method in _PARTS
            if method in study.methods
        }
        tables.append(_samples_table(bench, samples, sizes))
        done = {
            method: {share: found for share, found in by_share.items() if found is not None}
            for method, by_share in samples.items()
        }
        if any(len(by_share) > 1 for by_share in done.values()):
            figures.append(_figure(bench, done))
        for method, by_share in done.items():
            if len(by_share) == len(sizes):
                most = max(found["peak_mb"] for found in by_share.values())
                exponent = growth(by_share, "total")
                notes.append(
                    f"{name}, {method}: total time grows as n^{exponent:.2f}; peak memory {most / 1024:.1f} GB."
                )
        figures += _settings_figure(bench, study)
    for name in study.absent(("DICEWS", "WY50K")):
        rows = tuple(_quoted_row(name, part, sizes) for part in COMPONENTS)
        tables.append(Table(name.lower(), f"{name} (the dataset is not here)", _sample_columns(sizes), rows))
    text = (
        "Samples keep a share of the true pairs and of the entities without a partner, and the facts between what is "
        "kept; runs without seeds, seed 0. n is the mean number of entities a side. The quoted seconds were measured "
        "on an RTX 3090 and in a setting that the paper does not name; ours on a CPU. Growth exponent: b of seconds ∝ "
        "n^b, by least squares on logarithms, of the quoted seconds too."
    )
    return Report("scalability", "Scalability", tuple(tables), tuple(figures), tuple(notes), ranked=False, text=text)


def sampled(bench: Workbench, method: Method, share: int) -> Result | None:
    """A run on a sample, by a child process."""
    config = bench.config(method)

    def compute() -> Result:
        options = config.model_dump(mode="json", exclude_defaults=True, exclude={"memory_limit"})
        asked = {"folder": str(bench.subject.path.resolve()), "share": share / 100, "config": options}
        call = [sys.executable, "-m", "dualmatch.research.experiments.sampled_run", json.dumps(asked)]
        done = subprocess.run(call, capture_output=True, text=True, check=False, env=_own_environment())
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise DualMatchError(f"the run of {method} on a sample of {share} % failed: {last}")
        result: Result = json.loads(done.stdout)
        return result

    return bench.cells.result(bench.key("sample", method, "unsupervised", None, share=share), compute)


def _own_environment() -> dict[str, str]:
    """The environment of a child that finds this very package."""
    package = str(Path(__file__).parents[2])
    paths = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def growth(by_share: dict[int, Result], part: str) -> float:
    """The exponent b of seconds ∝ n^b, by least squares on logarithms."""
    size = [float(np.mean(found["entities"])) for found in by_share.values()]
    return _exponent(size, [found["seconds"][part] for found in by_share.values()])


def _exponent(size: Sequence[float], seconds: Sequence[float]) -> float:
    return float(np.polyfit(np.log(size), np.log(seconds), 1)[0])


def _settings_table(bench: Workbench, study: Study) -> Table:
    rows: list[tuple[Value, ...]] = []
    for setting in SETTINGS:
        found = bench.run("dualmatch", setting, study.seeds[0]) if "dualmatch" in study.methods else None
        if found is None:
            rows.append((setting, len(bench.subject.seeds(setting)), *[NOT_RUN] * 5))
            continue
        seconds = [found["seconds"][part] for part in COMPONENTS]
        unit = found["unit_seconds"]
        units = seconds[0] / found["unit_seconds_training"] + (seconds[1] + seconds[2]) / unit
        rows.append((setting, len(bench.subject.seeds(setting)), *seconds, sum(seconds), units))
    columns = (Column("setting"), Column("seeds", 0), *(Column(f"{part}, s", 1) for part in COMPONENTS))
    title = f"{bench.subject.name}, method dualmatch: seconds of each component by setting"
    return Table(
        f"{bench.subject.slug}-settings",
        title,
        (*columns, Column("total, s", 1), Column("total, machine units", 0)),
        tuple(rows),
    )


def _sample_columns(sizes: tuple[int, ...]) -> tuple[Column, ...]:
    return (Column("what"), *(Column(f"{share} %", 1) for share in sizes), Column("growth exponent", 2))


def _quoted_row(name: str, part: str, sizes: tuple[int, ...]) -> tuple[Value, ...]:
    quoted = dict(zip(SAMPLES, SCALABILITY[name][part], strict=True))
    exponent = _exponent(list(quoted), list(quoted.values()))  # shares of the entities grow as their numbers do
    return (f"quoted, {name}: {part}, s", *(quoted.get(share) for share in sizes), exponent)


def _samples_table(bench: Workbench, samples: dict[Method, dict[int, Result | None]], sizes: tuple[int, ...]) -> Table:
    rows: list[tuple[Value, ...]] = []
    if bench.subject.paper_name in SCALABILITY:
        rows += [_quoted_row(bench.subject.paper_name, part, sizes) for part in COMPONENTS]
    if samples:  # all methods have the same samples: whichever was run tells their size
        sizes_of = {share: next(filter(None, (each[share] for each in samples.values())), None) for share in sizes}
        rows.append(_line("entities, mean of both sides", sizes_of, lambda found: float(np.mean(found["entities"]))))
    for method, by_share in samples.items():
        done = {share: found for share, found in by_share.items() if found is not None}
        for part in _PARTS[method]:
            exponent = growth(done, part) if len(done) > 1 else None
            label = f"{method}: {part}, s"
            rows.append((*_line(label, by_share, partial(_seconds, part=part))[:-1], exponent))
        rows.append(_line(f"{method}: total, machine units", by_share, _units))
        rows.append(_line(f"{method}: peak memory, GB", by_share, lambda found: found["peak_mb"] / 1024))
        rows.append(_line(f"{method}: H@1 (open), %", by_share, lambda found: found["h1"]))
    title = f"{bench.subject.name}: samples of the entities"
    return Table(f"{bench.subject.slug}-samples", title, _sample_columns(sizes), tuple(rows))


def _seconds(found: Result, part: str) -> float:
    return float(found["seconds"][part])


def _units(found: Result) -> float:
    return float(found["seconds"]["total"] / found["unit_seconds"])


def _line(label: str, by_share: dict[int, Result | None], figure: Callable[[Result], float]) -> tuple[Value, ...]:
    return (label, *(NOT_RUN if found is None else figure(found) for found in by_share.values()), None)


def _figure(bench: Workbench, done: dict[Method, dict[int, Result]]) -> Figure:
    series = []
    for method, by_share in done.items():
        if len(by_share) < 2:
            continue
        size = tuple(float(np.mean(found["entities"])) for found in by_share.values())
        for part in _PARTS[method]:
            seconds = tuple(found["seconds"][part] for found in by_share.values())
            label = f"{method}: {part} (∝ n^{growth(by_share, part):.2f})"
            series.append(Series(label, size, seconds))
    name = bench.subject.name
    panel = Panel(name, "entities a side, n", "seconds", tuple(series), logarithmic=True)
    caption = f"{name}: seconds of each component against the number of entities (both axes logarithmic)."
    return Figure(f"{bench.subject.slug}-samples", caption, ((panel,),))


def _settings_figure(bench: Workbench, study: Study) -> list[Figure]:
    if "dualmatch" not in study.methods:
        return []
    runs = {setting: bench.run("dualmatch", setting, study.seeds[0]) for setting in SETTINGS}
    done = {setting: run for setting, run in runs.items() if run is not None}
    if not done:
        return []
    places = tuple(float(at) for at in range(len(done)))
    series = tuple(Series(part, places, tuple(run["seconds"][part] for run in done.values())) for part in COMPONENTS)
    name = bench.subject.name
    panel = Panel(f"{name}, method dualmatch", "setting", "seconds", series, categories=tuple(done))
    caption = f"{name}: seconds of each component in each setting."
    return [Figure(f"{bench.subject.slug}-settings", caption, ((panel,),))]
