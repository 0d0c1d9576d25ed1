"""Table "Overall EA results": three settings, our methods beside the twelve baselines and DualMatch as published."""

from __future__ import annotations

from typing import Final

from dualmatch.config import TRAINED, Method
from dualmatch.research.experiments.paper import OVERALL, PSEUDO_SEEDS, SETTINGS
from dualmatch.research.experiments.report import Report
from dualmatch.research.experiments.study import Study
from dualmatch.research.experiments.tables import HITS, NOT_RUN, Column, Table, Value, hits_of
from dualmatch.research.experiments.workbench import Workbench

_PAPER_DATASETS: Final = ("DICEWS", "WY50K")
_COLUMNS: Final = (
    Column("method"),
    Column("figures"),
    Column("protocol"),
    *(Column(f"{setting} {hit.name}", hit.digits) for setting in SETTINGS for hit in HITS),
)
_FINDS_PSEUDO_SEEDS: Final[tuple[Method, ...]] = ("temporal", "dualmatch")
_PROTOCOLS: Final = ("paper", "open")


def overall(study: Study) -> Report:
    """Every method in every setting, mean ± standard deviation over seeds where there is chance in it."""
    tables = []
    for bench in study.benches():
        name = bench.subject.paper_name
        rows = [*_quoted(name), *_ours(bench, study)]
        tables.append(Table(bench.subject.slug, _title(bench), _COLUMNS, tuple(rows)))
    for name in study.absent(_PAPER_DATASETS):
        missing: tuple[Value, ...] = (NOT_RUN,) * (3 * len(SETTINGS))
        rows = [*_quoted(name), *((method, "ours", "paper", *missing) for method in study.methods)]
        tables.append(Table(name.lower(), f"{name} (the dataset is not here)", _COLUMNS, tuple(rows)))
    tables.append(_pseudo_seeds(study))
    return Report("overall", "Overall results", tuple(tables))


def _pseudo_seeds(study: Study) -> Table:
    """Pairs that the time channel teaches the encoder with where there are no seeds; the paper tells their number."""
    rows: list[tuple[Value, ...]] = []
    for bench in study.benches():
        name = bench.subject.paper_name
        if name is not None:
            rows.append((f"quoted, {name}", PSEUDO_SEEDS[name], None, None))
        rows.append((f"ours, {bench.subject.name}", *_quality(bench, study)))
    rows += [(f"quoted, {name}", PSEUDO_SEEDS[name], None, None) for name in study.absent(_PAPER_DATASETS)]
    columns = (Column("figures"), Column("pseudo-seeds", 0), Column("right, %", 1), Column("of all true pairs, %", 1))
    return Table("pseudo-seeds", "Pseudo-seeds of the unsupervised setting", columns, tuple(rows))


def _quality(bench: Workbench, study: Study) -> tuple[Value, Value, Value]:
    """How many pseudo-seeds, and how right they are; time alone finds them, whichever method asks for them."""
    method = next((each for each in _FINDS_PSEUDO_SEEDS if each in study.methods), None)
    found = None if method is None else bench.run(method, "unsupervised", study.seeds[0])
    if found is None:
        return NOT_RUN, NOT_RUN, NOT_RUN
    precision, recall = (
        None if (share := found["pseudo_seeds"][name]) is None else 100 * share for name in ("precision", "recall")
    )
    return found["pseudo_seeds"]["count"], precision, recall


def _title(bench: Workbench) -> str:
    subject = bench.subject
    normal, less = len(subject.seeds("normal")), len(subject.seeds("less"))
    return f"{subject.name}: normal setting {normal:,} seeds, less-seed setting {less:,}, unsupervised none"


def _quoted(name: str | None) -> list[tuple[Value, ...]]:
    rows: list[tuple[Value, ...]] = []
    for method, figures in OVERALL.items():
        found = [figures.get((name or "", setting)) for setting in SETTINGS]
        if any(found):
            hits = [value for each in found for value in (each or (None, None, None))]
            rows.append((method, f"quoted, {name}", "paper", *hits))
    return rows


def _ours(bench: Workbench, study: Study) -> list[tuple[Value, ...]]:
    rows: list[tuple[Value, ...]] = []
    for method in study.methods:
        seeds = study.seeds if method in TRAINED else study.seeds[:1]
        runs = {setting: [bench.run(method, setting, seed) for seed in seeds] for setting in SETTINGS}
        for protocol in _PROTOCOLS:
            hits: list[Value] = []
            for setting in SETTINGS:
                hits += hits_of([each and each["protocols"][protocol]["all"] for each in runs[setting]])
            rows.append((method, f"ours, {bench.subject.name}", protocol, *hits))
    return rows
