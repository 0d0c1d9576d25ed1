"""Table "Overall EA results": three settings, our methods beside the twelve baselines and DualMatch as published."""

from __future__ import annotations

from typing import Final

from dualmatch.config import Method
from dualmatch.research.experiments.paper import OVERALL, PSEUDO_SEEDS, SETTINGS
from dualmatch.research.experiments.results import NOT_RUN, Column, Report, Row, Table, columns, hits_columns, hits_of
from dualmatch.research.experiments.workbench import Study, Workbench

_PAPER_DATASETS: Final = ("DICEWS", "WY50K")
_COLUMNS: Final = (*columns("method", "figures", "protocol"), *hits_columns(*SETTINGS))


def overall(study: Study) -> Report:
    """Every method in every setting, mean ± standard deviation over seeds where there is chance in it."""
    tables = []
    for bench in study.benches():
        subject = bench.subject
        normal, less = len(subject.seeds("normal")), len(subject.seeds("less"))
        title = f"{subject.name}: normal setting {normal:,} seeds, less-seed setting {less:,}, unsupervised none"
        tables.append(Table(subject.slug, title, _COLUMNS, (*_quoted(subject.paper_name), *_ours(bench, study))))
    for name in study.absent(*_PAPER_DATASETS):
        ours = ((method, "ours", "paper", *[NOT_RUN] * (3 * len(SETTINGS))) for method in study.methods)
        title = f"{name} (the dataset is not here)"
        tables.append(Table(name.lower(), title, _COLUMNS, (*_quoted(name), *ours)))
    tables.append(_pseudo_seeds(study))
    return Report("overall", "Overall results", tuple(tables))


def _quoted(name: str | None) -> list[Row]:
    rows: list[Row] = []
    for method, figures in OVERALL.items():
        found = [figures.get((name or "", setting)) for setting in SETTINGS]
        if any(found):
            rows.append((method, f"quoted, {name}", "paper", *(x for each in found for x in (each or [None] * 3))))
    return rows


def _ours(bench: Workbench, study: Study) -> list[Row]:
    rows: list[Row] = []
    for method in study.methods:
        runs = [[bench.run(method, setting, seed) for seed in study.seeds_of(method)] for setting in SETTINGS]
        for protocol in ("paper", "open"):
            hits = [hits_of([run and run["protocols"][protocol]["all"] for run in each]) for each in runs]
            rows.append((method, f"ours, {bench.subject.name}", protocol, *(value for each in hits for value in each)))
    return rows


def _pseudo_seeds(study: Study) -> Table:
    """Pairs that the time channel teaches the encoder with where there are no seeds; the paper gives their number."""
    rows: list[Row] = []
    for bench in study.benches():
        if (name := bench.subject.paper_name) is not None:
            rows.append((f"quoted, {name}", PSEUDO_SEEDS[name], None, None))
        rows.append((f"ours, {bench.subject.name}", *_quality(bench, study)))
    rows += [(f"quoted, {name}", PSEUDO_SEEDS[name], None, None) for name in study.absent(*_PAPER_DATASETS)]
    heading = (Column("figures"), Column("pseudo-seeds", 0), *columns("right, %", "of all true pairs, %", digits=1))
    return Table("pseudo-seeds", "Pseudo-seeds of the unsupervised setting", heading, tuple(rows))


def _quality(bench: Workbench, study: Study) -> Row:
    """How many pseudo-seeds, and how right they are; time alone finds them, whichever method asks for them."""
    finders: tuple[Method, ...] = ("temporal", "dualmatch")
    method = next((each for each in finders if each in study.methods), None)
    run = None if method is None else bench.run(method, "unsupervised", study.seeds[0])
    if run is None:
        return NOT_RUN, NOT_RUN, NOT_RUN
    found = run["pseudo_seeds"]
    shares = (None if found[name] is None else 100 * found[name] for name in ("precision", "recall"))
    return found["count"], *shares
