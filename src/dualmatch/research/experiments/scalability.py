"""Figure and Table "scalability": seconds of each component by setting and by size, memory, and how fast they grow.

Samples are aligned in processes of their own, so that the memory of each can be measured: this module, started with one
JSON object as its argument, prints one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from dualmatch.config import Config, Method
from dualmatch.errors import DualMatchError
from dualmatch.evaluate import ranking
from dualmatch.memory import peak_mb
from dualmatch.methods.align import align
from dualmatch.methods.resources import prepare_process, quick_unit_seconds
from dualmatch.research.experiments.cells import Result
from dualmatch.research.experiments.paper import SAMPLES, SCALABILITY, SETTINGS, Setting
from dualmatch.research.experiments.plots import Figure, Panel, Series
from dualmatch.research.experiments.results import NOT_RUN, Column, Report, Row, Table, columns
from dualmatch.research.experiments.subject import open_subject
from dualmatch.research.experiments.workbench import Study, Workbench

COMPONENTS: Final = ("relational", "temporal", "decode")
QUICK_SAMPLES: Final = (50, 100)
_PARTS: Final[dict[Method, tuple[str, ...]]] = {"dualmatch": (*COMPONENTS, "total"), "evidence": ("total",)}
_TEXT: Final = (
    "Samples keep a share of the true pairs and of the entities without a partner, and the facts between what is "
    "kept; runs without seeds, seed 0. n is the mean number of entities a side. The quoted seconds were measured "
    "on an RTX 3090 and in a setting that the paper does not name; ours on a CPU. Growth exponent: b of seconds ∝ "
    "n^b, by least squares on logarithms, of the quoted seconds too."
)

ByShare = dict[int, Result]  # by the share of the entities in percent


def scalability(study: Study) -> Report:
    """Components by setting from the trainings other experiments share; samples each in a process of its own."""
    tables, figures, notes = [], [], []
    sizes = QUICK_SAMPLES if study.options else SAMPLES
    for bench in study.benches():
        name = bench.subject.name
        by_setting = {
            setting: bench.run("dualmatch", setting, study.seeds[0]) if "dualmatch" in study.methods else None
            for setting in SETTINGS
        }
        tables.append(_settings_table(bench, by_setting))
        found: dict[Method, ByShare] = {}
        for method in (method for method in _PARTS if method in study.methods):
            runs = {share: sampled(bench, method, share) for share in sizes}
            found[method] = {share: run for share, run in runs.items() if run is not None}
        tables.append(_samples_table(bench, found, sizes))
        if any(len(by_share) > 1 for by_share in found.values()):
            figures.append(_samples_figure(bench, found))
        for method, by_share in found.items():
            if len(by_share) == len(sizes):
                grows, most = growth(by_share, "total"), max(run["peak_mb"] for run in by_share.values())
                notes.append(f"{name}, {method}: total time grows as n^{grows:.2f}; peak memory {most / 1024:.1f} GB.")
        if any(by_setting.values()):
            figures.append(_settings_figure(bench, {each: run for each, run in by_setting.items() if run is not None}))
    for name in study.absent("DICEWS", "WY50K"):
        title = f"{name} (dataset not available)"
        tables.append(Table(name.lower(), title, _sample_columns(sizes), _quoted_rows(name, sizes)))
    return Report("scalability", "Scalability", tuple(tables), tuple(figures), tuple(notes), ranked=False, text=_TEXT)


def sampled(bench: Workbench, method: Method, share: int) -> Result | None:
    """A run on a sample, by a child process."""

    def compute() -> Result:
        options = bench.config(method).model_dump(mode="json", exclude_defaults=True, exclude={"memory_limit"})
        asked = {"folder": str(bench.subject.path.resolve()), "share": share / 100, "config": options}
        asked |= {"time_format": bench.subject.time_format}
        package = str(Path(__file__).parents[3])  # the child must find this very package
        paths = os.pathsep.join([package, *filter(None, [os.environ.get("PYTHONPATH")])])
        call = [sys.executable, "-m", __name__, json.dumps(asked)]
        done = subprocess.run(
            call, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": paths}
        )
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise DualMatchError(f"the run of {method} on a sample of {share} % failed: {last}")
        return dict(json.loads(done.stdout))

    return bench.cells.result(bench.key("sample", method, "unsupervised", None, share=share), compute)


def measure_sample(folder: Path, share: float, config: Config, time_format: str | None = None) -> Result:
    """Align a sample without seeds: seconds of each stage, peak memory of the process, and H@1 (open) as a check."""
    subject = open_subject(folder, time_format)
    source, target, gold = subject.sample(share, np.random.default_rng(config.seed))
    unit, start = quick_unit_seconds(), time.perf_counter()
    alignment = align(source, target, config=config)
    total, peak = time.perf_counter() - start, peak_mb()
    return {
        "entities": [source.n_entities, target.n_entities],
        "facts": [source.n_facts, target.n_facts],
        "seconds": {**alignment.seconds, "total": total},
        "unit_seconds": unit,
        "peak_mb": peak,
        "h1": ranking(alignment.plan.ranks(gold)[0]).h1,
    }


def growth(by_share: ByShare, part: str) -> float:
    """The exponent b of seconds ∝ n^b, by least squares on logarithms."""
    return _exponent([_size(run) for run in by_share.values()], [run["seconds"][part] for run in by_share.values()])


def _exponent(size: Sequence[float], seconds: Sequence[float]) -> float:
    return float(np.polyfit(np.log(size), np.log(seconds), 1)[0])


def _size(run: Result) -> float:
    return float(np.mean(run["entities"]))


def _settings_table(bench: Workbench, by_setting: dict[Setting, Result | None]) -> Table:
    rows: list[Row] = []
    for setting, run in by_setting.items():
        figures: Row = (NOT_RUN,) * 5
        if run is not None:
            relational, temporal, decode = (run["seconds"][part] for part in COMPONENTS)
            units = relational / run["unit_seconds_training"] + (temporal + decode) / run["unit_seconds"]
            figures = (relational, temporal, decode, relational + temporal + decode, units)
        rows.append((setting, len(bench.subject.seeds(setting)), *figures))
    seconds = columns(*(f"{part}, s" for part in COMPONENTS), "total, s", digits=1)
    heading = (Column("setting"), Column("seeds", 0), *seconds, Column("total, machine units", 0))
    title = f"{bench.subject.name}, method dualmatch: seconds of each component by setting"
    return Table(f"{bench.subject.slug}-settings", title, heading, tuple(rows))


def _sample_columns(sizes: tuple[int, ...]) -> tuple[Column, ...]:
    return (Column("what"), *columns(*(f"{share} %" for share in sizes), digits=1), Column("growth exponent", 2))


def _quoted_rows(name: str, sizes: tuple[int, ...]) -> tuple[Row, ...]:
    rows = []
    for part, seconds in SCALABILITY[name].items():
        quoted = dict(zip(SAMPLES, seconds, strict=True))
        exponent = _exponent(list(quoted), list(quoted.values()))  # shares of the entities grow as their numbers do
        rows.append((f"quoted, {name}: {part}, s", *(quoted.get(share) for share in sizes), exponent))
    return tuple(rows)


def _samples_table(bench: Workbench, found: dict[Method, ByShare], sizes: tuple[int, ...]) -> Table:
    name = bench.subject.paper_name
    rows = [*_quoted_rows(name, sizes)] if name in SCALABILITY else []

    def add(label: str, figures: dict[int, float], exponent: float | None = None) -> None:
        rows.append((label, *(figures.get(share, NOT_RUN) for share in sizes), exponent))

    if found:  # all methods have the same samples: whichever was run has their size
        add(
            "entities, mean of both sides",
            {share: _size(run) for runs in found.values() for share, run in runs.items()},
        )
    for method, runs in found.items():
        for part in _PARTS[method]:
            exponent = growth(runs, part) if len(runs) > 1 else None
            add(f"{method}: {part}, s", {share: run["seconds"][part] for share, run in runs.items()}, exponent)
        units = {share: run["seconds"]["total"] / run["unit_seconds"] for share, run in runs.items()}
        add(f"{method}: total, machine units", units)
        add(f"{method}: peak memory, GB", {share: run["peak_mb"] / 1024 for share, run in runs.items()})
        add(f"{method}: H@1 (open), %", {share: run["h1"] for share, run in runs.items()})
    title = f"{bench.subject.name}: samples of the entities"
    return Table(f"{bench.subject.slug}-samples", title, _sample_columns(sizes), tuple(rows))


def _samples_figure(bench: Workbench, found: dict[Method, ByShare]) -> Figure:
    series = []
    for method, runs in found.items():
        if len(runs) > 1:
            size = tuple(_size(run) for run in runs.values())
            for part in _PARTS[method]:
                seconds = tuple(run["seconds"][part] for run in runs.values())
                series.append(Series(f"{method}: {part} (∝ n^{growth(runs, part):.2f})", size, seconds))
    name = bench.subject.name
    panel = Panel(name, "entities a side, n", "seconds", tuple(series), logarithmic=True)
    caption = f"{name}: seconds of each component against the number of entities (both axes logarithmic)."
    return Figure(f"{bench.subject.slug}-samples", caption, ((panel,),))


def _settings_figure(bench: Workbench, done: dict[Setting, Result]) -> Figure:
    places = tuple(float(at) for at in range(len(done)))
    series = tuple(Series(part, places, tuple(run["seconds"][part] for run in done.values())) for part in COMPONENTS)
    name = bench.subject.name
    panel = Panel(f"{name}, method dualmatch", "setting", "seconds", series, categories=tuple(done))
    return Figure(f"{bench.subject.slug}-settings", f"{name}: seconds of each component in each setting.", ((panel,),))


if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    config = Config.checked(**asked["config"])
    prepare_process(config)
    json.dump(measure_sample(Path(asked["folder"]), asked["share"], config, asked["time_format"]), sys.stdout)
