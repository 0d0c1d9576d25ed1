"""All data the core is judged by, in one table: real sets of ../shared/data and simulated families.

*again* is the test of a fixed point: the links are given back as seeds, and what share of the links changes is counted.

python benchmarks/suite.py                  run all, print the table beside the last record, say what fell
python benchmarks/suite.py --only yago      rows whose name holds a text
python benchmarks/suite.py --record         write the figures to benchmarks/suite.json
python benchmarks/suite.py --markdown       print the record as the table that docs/ shows, and run nothing

Each row runs in a process of its own. Labels of names-only rows are numbers with a tenth of their digits garbled.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dualmatch.config import Config
from dualmatch.evaluate import evaluate
from dualmatch.graph.literals import Literals
from dualmatch.graph.model import TemporalGraph
from dualmatch.memory import peak_mb
from dualmatch.methods.align import align
from dualmatch.methods.alignment import Alignment
from dualmatch.methods.validation import labels_of
from dualmatch.readers.benchmark_folder import read_folder
from dualmatch.readers.read import read
from dualmatch.readers.read_options import ReadOptions
from dualmatch.research.benchmark import benchmark, unit_seconds
from dualmatch.simulate import World, simulate, uniform_world
from dualmatch.simulate.people import PeopleWorld, simulate_people

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
RECORD = Path(__file__).with_name("suite.json")
HUBS = 200
WATCHED = {"f1": 0.005, "known_f1": 0.005, "h1": 0.5, "no_match_precision": 0.05} | {
    "ece_all": -0.01,
    "worst_bin": -0.05,
    "again": -0.01,
}
"""By how much a figure may fall, or where it is negative rise, before it is reported."""
Pairs = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class RealSet:
    """A run on a benchmark folder."""

    folder: str
    seed_pairs: int | None = None
    labels: tuple[str, str] | None = None


LABELS = ("labels_1.tsv", "labels_2.tsv")
REAL = {
    "wikidata-years": RealSet("wikidata-years"),
    "icews14-30": RealSet("icews14-30"),
    "yago-wiki20k": RealSet("yago-wiki20k"),
    "dicews-rebuilt": RealSet("dicews-rebuilt"),
    "dbp15k names": RealSet("dbp15k-ja_en", labels=LABELS),
    "dbp15k seeds": RealSet("dbp15k-ja_en", seed_pairs=4500),
    "dbp15k seeds+names": RealSet("dbp15k-ja_en", seed_pairs=4500, labels=LABELS),
}


@dataclass(frozen=True)
class Made:
    """A simulated pair."""

    source: TemporalGraph
    target: TemporalGraph
    gold: Pairs
    literals: tuple[Literals, Literals] | None = None
    seeds: Pairs | None = None


def _world(**options: Any) -> Made:
    pair = simulate(World(**options))
    return Made(pair.source, pair.target, pair.gold)


def _uniform(entities: int, known: float) -> Made:
    pair = uniform_world(entities, known)
    return Made(pair.source, pair.target, pair.gold)


def _unrelated() -> Made:
    first, second = (simulate(World(entities=2000, mean_facts=8, seed=seed)) for seed in (1, 2))
    return Made(first.source, second.target, np.zeros((0, 2), dtype=np.int64))


def _nothing_shared() -> Made:
    return _world(entities=2000, mean_facts=8, common_share=0.0, unmatched_source=0.3, unmatched_target=0.3)


def _few_seeds() -> Made:
    """No dates at all, and one pair in twenty known beforehand."""
    made = _world(entities=1000, mean_facts=8, undated_share=1.0, common_share=0.5)
    known = np.random.default_rng(0).permutation(len(made.gold))[: len(made.gold) // 20]
    return Made(made.source, made.target, made.gold, seeds=made.gold[known])


def _some_names() -> Made:
    """Facts without a date, and equal labels for half of the pairs; nobody else has one."""
    made = _world(entities=400, mean_facts=6, undated_share=1.0, common_share=0.3)
    known = made.gold[np.random.default_rng(1).permutation(len(made.gold))[: len(made.gold) // 2]]
    literals = []
    for side, graph in enumerate((made.source, made.target)):
        labels = {graph.entities[pair[side]]: f"{(int(pair[0]) * 7919 + 104_729) ** 2 % 10**10:010d}" for pair in known}
        literals.append(Literals.of_labels(labels, graph))
    return Made(made.source, made.target, made.gold, (literals[0], literals[1]))


def _names_only() -> Made:
    """Facts without a date, and labels that agree in most of their digits."""
    made = _world(entities=1000, mean_facts=6, undated_share=1.0, common_share=0.5)
    rng = np.random.default_rng(0)
    partner = {int(t): int(s) for s, t in made.gold}
    literals = []
    for side, graph in enumerate((made.source, made.target)):
        labels = {}
        for row, name in enumerate(graph.entities):
            number = row if side == 0 else partner.get(row, 10_000 + row)
            digits = np.array(list(f"{(number * 7919 + 104_729) ** 2 % 10**10:010d}"))
            garbled = rng.random(len(digits)) < 0.1
            digits[garbled] = rng.integers(0, 10, int(garbled.sum())).astype(str)
            labels[name] = "".join(digits)
        literals.append(Literals.of_labels(labels, graph))
    return Made(made.source, made.target, made.gold, (literals[0], literals[1]))


def _people(with_names: bool) -> Made:
    """Two tables of people: entity dates, places and offices, and names with slips."""
    pair = simulate_people(PeopleWorld())
    options = ReadOptions(literals=with_names)
    archive, register = (read([table], options) for table in (pair.archive, pair.register))
    rows = [{name: row for row, name in enumerate(each.graph.entities)} for each in (archive, register)]
    gold = [(rows[0][one], rows[1][two]) for one, two in pair.gold.iter_rows() if one in rows[0] and two in rows[1]]
    literals = labels_of(archive, register) if with_names else None
    return Made(archive.graph, register.graph, np.array(gold), literals)


SIMULATED: dict[str, Callable[[], Made]] = {
    "thin": lambda: _world(entities=1000, mean_facts=5, common_share=0.3),
    "thinner": lambda: _world(entities=1000, mean_facts=10, common_share=0.1),
    "hardly shared": lambda: _world(entities=1000, mean_facts=5, common_share=0.05),
    "uniform, half known": lambda: _uniform(300, 0.5),
    "uniform, little known": lambda: _uniform(300, 0.3),
    "unrelated": _unrelated,
    "nothing shared": _nothing_shared,
    "a third alone": lambda: _world(
        entities=1000, mean_facts=10, common_share=0.2, unmatched_source=0.3, unmatched_target=0.3
    ),
    "half alone": lambda: _world(
        entities=1000, mean_facts=20, common_share=0.5, unmatched_source=0.5, unmatched_target=0.5
    ),
    "thin, a third alone": lambda: _world(
        entities=2000, mean_facts=5, common_share=0.5, unmatched_source=0.3, unmatched_target=0.3
    ),
    "years only": lambda: _world(
        entities=2000, mean_facts=6, common_share=0.5, year_only_share=1.0, first_year=1950, years=60
    ),
    "few years": lambda: _world(entities=600, mean_facts=8, common_share=0.3, year_only_share=1.0, years=15),
    "mostly undated": lambda: _world(entities=600, mean_facts=6, common_share=0.3, undated_share=0.8),
    "names only": _names_only,
    "some names": _some_names,
    "few seeds, no dates": _few_seeds,
    "people": lambda: _people(True),
    "people, no names": lambda: _people(False),
}


def run(name: str) -> dict[str, Any]:
    """The figures of one row."""
    return _real(REAL[name]) if name in REAL else _simulated(SIMULATED[name]())


def _real(of: RealSet) -> dict[str, Any]:
    setting = "unsupervised" if of.seed_pairs is None else "supervised"
    labels = None if of.labels is None else (Path(of.labels[0]), Path(of.labels[1]))
    done = benchmark(DATA / of.folder, Config(), setting, of.seed_pairs, label_files=labels)
    report = done.report
    folder = read_folder(DATA / of.folder)
    gold = np.concatenate([folder.read_pairs(DATA / of.folder / name) for name in ("sup_pairs", "ref_pairs")])
    seconds, unit = report["seconds"]["total"], report["unit_seconds"]
    figures = _figures(done.alignment, gold, report, seconds, unit, report["peak_mb"])
    return {**figures, "again": _changed_again(done.alignment, _literals_of(done.alignment))}


def _simulated(made: Made) -> dict[str, Any]:
    start = time.perf_counter()
    alignment = align(made.source, made.target, made.seeds, literals=made.literals)
    seconds, unit = time.perf_counter() - start, float(np.median(unit_seconds()))
    evaluation = asdict(evaluate(alignment, made.gold.astype(np.int32)))
    report = {"protocols": {"open": evaluation["open"], "paper": evaluation["paper"]}, **evaluation}
    figures = _figures(alignment, made.gold, report, seconds, unit, peak_mb())
    return {**figures, "again": _changed_again(alignment, made.literals)}


def _figures(
    alignment: Alignment, gold: Pairs, report: dict[str, Any], seconds: float, unit: float, peak: float
) -> dict[str, Any]:
    abstention, everything = report["abstention"], report["calibration"]["all"]
    h1, wrong = _hubs(alignment, gold)
    bins = [each for each in everything["bins"] if each["pairs"] >= 100]
    return {
        "h1": report["protocols"]["open"]["all"]["h1"],
        "h10": report["protocols"]["open"]["all"]["h10"],
        "paper_h1": report["protocols"]["paper"]["all"]["h1"],
        "precision": abstention["precision"],
        "recall": abstention["recall"],
        "f1": abstention["f1"],
        "known_f1": abstention["known"]["f1"],
        "links": abstention["emitted"],
        "ece": report["calibration"]["ece"],
        "ece_all": everything["ece"],
        "coverage": everything["coverage"],
        "worst_bin": max((abs(each["confidence"] - each["precision"]) for each in bins), default=None),
        "wrong_of_all": _wrong_of_all(alignment, gold),
        "wrong_at_fdr_5": _wrong_at_fdr(alignment, gold),
        **report["verdicts"],
        "hubs_h1": h1,
        "hubs_wrong": wrong,
        "rounds": len(alignment.rounds or ()),
        "seconds": seconds,
        "units": seconds / unit,
        "peak_mb": peak,
    }


def _changed_again(alignment: Alignment, literals: tuple[Literals, Literals] | None) -> float | None:
    """Share of the links that change where they are given back as seeds, labels and all."""
    if not len(alignment.pairs):
        return None
    again = align(alignment.source, alignment.target, alignment.pairs, literals=literals)
    first, second = ({tuple(pair) for pair in each.pairs.tolist()} for each in (alignment, again))
    return len(first ^ second) / len(first)


def _literals_of(alignment: Alignment) -> tuple[Literals, Literals] | None:
    return None if alignment.evidence is None else alignment.evidence.problem.literals


def _right(pairs: Pairs, gold: Pairs) -> np.ndarray[Any, np.dtype[np.bool_]]:
    return np.isin(pairs[:, 0].astype(np.int64) << 32 | pairs[:, 1], gold[:, 0].astype(np.int64) << 32 | gold[:, 1])


def _hubs(alignment: Alignment, gold: Pairs) -> tuple[float | None, int | None]:
    """H@1, and wrong links, of the sources with most facts."""
    graph = alignment.source
    facts = np.bincount(graph.head, minlength=graph.n_entities) + np.bincount(graph.tail, minlength=graph.n_entities)
    hubs = np.argsort(-facts, kind="stable")[:HUBS]
    tested = gold[np.isin(gold[:, 0], hubs) & ~np.isin(gold[:, 0], alignment.pairs[alignment.is_seed, 0])]
    links = alignment.pairs[np.isin(alignment.pairs[:, 0], hubs)]
    if not len(tested):
        return None, None
    ranks = alignment.plan.ranks(tested)[0]
    return 100 * float((ranks <= 1).mean()), int((~_right(links, gold)).sum())


def _wrong_of_all(alignment: Alignment, gold: Pairs) -> float | None:
    return float((~_right(alignment.all_pairs, gold)).mean()) if len(alignment.all_pairs) else None


def _wrong_at_fdr(alignment: Alignment, gold: Pairs, limit: float = 0.05) -> float | None:
    """Share of wrong pairs among those that ``--max-fdr 0.05`` would give."""
    order = np.argsort(-alignment.all_confidence, kind="stable")
    expected = np.cumsum(1.0 - alignment.all_confidence[order]) / np.arange(1, len(order) + 1)
    allowed = np.flatnonzero(expected <= limit)
    if not len(allowed):
        return None
    return float((~_right(alignment.all_pairs[order[: allowed[-1] + 1]], gold)).mean())


COLUMNS = {
    "h1": ("H@1", "{:.1f}"),
    "paper_h1": ("paper", "{:.1f}"),
    "precision": ("P", "{:.3f}"),
    "recall": ("R", "{:.3f}"),
    "f1": ("F1", "{:.3f}"),
    "known_f1": ("known", "{:.3f}"),
    "ece": ("ECE", "{:.3f}"),
    "ece_all": ("ECE all", "{:.3f}"),
    "worst_bin": ("worst bin", "{:.2f}"),
    "wrong_at_fdr_5": ("fdr .05", "{:.3f}"),
    "linked": ("linked", "{:,}"),
    "undecided": ("undecided", "{:,}"),
    "no_match": ("no match", "{:,}"),
    "no_match_precision": ("right", "{:.2f}"),
    "no_match_recall": ("found", "{:.2f}"),
    "hubs_h1": ("hubs H@1", "{:.1f}"),
    "hubs_wrong": ("wrong", "{:,}"),
    "again": ("again", "{:.3f}"),
    "rounds": ("rounds", "{}"),
    "units": ("units", "{:.1f}"),
    "peak_mb": ("MB", "{:.0f}"),
}


def _cell(figures: dict[str, Any], column: str) -> str:
    value = figures.get(column)
    return "–" if value is None else COLUMNS[column][1].format(value)


def markdown(record: dict[str, Any]) -> str:
    """The table of the docs."""
    lines = ["| data | " + " | ".join(head for head, _ in COLUMNS.values()) + " |", "|---" * (len(COLUMNS) + 1) + "|"]
    for name, figures in record.items():
        lines.append(f"| {name} | " + " | ".join(_cell(figures, column) for column in COLUMNS) + " |")
    return "\n".join(lines)


def _print_row(name: str, figures: dict[str, Any], before: dict[str, Any] | None) -> None:
    print(f"{name:22s} " + " ".join(f"{_cell(figures, column):>9s}" for column in COLUMNS), flush=True)
    if before is not None:
        print(f"{'  last record':22s} " + " ".join(f"{_cell(before, column):>9s}" for column in COLUMNS), flush=True)


def _what_fell(name: str, figures: dict[str, Any], before: dict[str, Any] | None) -> list[str]:
    if before is None:
        return []
    fell = []
    for column, by in WATCHED.items():
        now, then = figures.get(column), before.get(column)
        if now is not None and then is not None and (now < then - by if by > 0 else now > then - by):
            fell.append(f"{name}: {COLUMNS[column][0]} {then:.3f} → {now:.3f}")
    return fell


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="rows whose name holds this")
    parser.add_argument("--record", action="store_true", help="write the figures down")
    parser.add_argument("--markdown", action="store_true", help="print the record as a table for docs")
    parser.add_argument("--row", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    record: dict[str, Any] = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    if asked.row:
        print(json.dumps(run(asked.row)))
        return
    if asked.markdown:
        print(markdown(record))
        return
    names = [name for name in (*REAL, *SIMULATED) if asked.only in name]
    print(f"{'':22s} " + " ".join(f"{head:>9s}" for head, _ in COLUMNS.values()))
    fell: list[str] = []
    found: dict[str, Any] = {}
    for name in names:
        if name in REAL and not (DATA / REAL[name].folder).is_dir():
            print(f"{name:22s} left out: {REAL[name].folder} is not in {DATA.parent.name}/{DATA.name}")
            continue
        done = subprocess.run(
            [sys.executable, __file__, "--row", name], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False
        )
        if done.returncode:
            print(f"{name:22s} failed; see it with --row '{name}'")
            fell.append(f"{name}: failed")
            continue
        found[name] = json.loads(done.stdout)
        _print_row(name, found[name], record.get(name))
        fell += _what_fell(name, found[name], record.get(name))
    print("\n".join(["what fell:", *fell]) if fell else "nothing fell")
    if asked.record:
        RECORD.write_text(json.dumps({**record, **found}, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
