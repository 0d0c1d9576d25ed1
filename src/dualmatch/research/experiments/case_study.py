"""Appendix "Case Study": entities that time alone or relations alone get wrong and the whole gets right, and why."""

from __future__ import annotations

from typing import Final

import numpy as np

from dualmatch.explain.explain import explain_entity, time_in_words
from dualmatch.graph.arrays import Flags, Rows
from dualmatch.graph.model import TemporalGraph
from dualmatch.graph.times import UNKNOWN
from dualmatch.methods.align import decode_channels
from dualmatch.research.experiments.cells import Arrays, Result, computed
from dualmatch.research.experiments.paper import CASES, Setting
from dualmatch.research.experiments.results import NOT_RUN, Column, Report, Row, Table, columns
from dualmatch.research.experiments.subject import Subject
from dualmatch.research.experiments.workbench import Study, Workbench

_SETTING: Final[Setting] = "normal"  # the paper's cases come from training with a tenth of the pairs
CHANNELS: Final = ("time", "relations", "whole")
_OTHERS: Final = 3  # cases shown of each kind besides the paper's own
_FEW_FACTS: Final = 4  # cases are shown of entities whose facts a reader can look through
_COLUMNS: Final = columns("source entity", "time alone", "relations alone", "the whole (dualmatch)", "evidence", "why")
_TEXT: Final = (
    "Trained with all of sup_pairs. Each entity's best target among all of the other graph: by time alone "
    "(Sinkhorn of S^t), by relations alone (α = 0), by the whole at its α of smallest D, and by method evidence. "
    f"Besides the paper's two cases, those of at most {_FEW_FACTS} facts a side on which the whole is surest."
)


def case_study(study: Study) -> Report:
    """The paper's two cases where the data has them, the clearest others, and how often each happens."""
    tables, notes = [], []
    for bench in study.benches():
        subject = bench.subject
        found = choices(bench, study.seeds[0]) if "dualmatch" in study.methods else None
        if found is None:
            tables.append(Table(subject.slug, f"{subject.name}: {NOT_RUN}", _COLUMNS, ()))
            continue
        tables.append(_counts_table(subject, found))
        cases = [subject.source.entity_rows[name] for name in CASES if name in subject.source.entity_rows]
        cases += [row for kind in ("time", "relations") for row in clearest(subject, found, kind) if row not in cases]
        names = [subject.source.entities[row] for row in cases]
        explained = (_explained(bench, names) if "evidence" in study.methods else None) or {}
        rows = tuple(_case_row(subject, found, row, explained) for row in cases)
        tables.append(Table(f"{subject.slug}-cases", f"{subject.name}, the cases", _COLUMNS, rows))
        for name in (name for name in names if name in explained):
            said = "; ".join(explained[name]["shared"]) or explained[name]["reason"] or "no shared fact"
            notes.append(f"{subject.name}, {name}, by evidence: {said}.")
    return Report("case-study", "Case study", tuple(tables), notes=tuple(notes), ranked=False, text=_TEXT)


def choices(bench: Workbench, seed: int) -> Arrays | None:
    """The best target of every source entity by each channel and by the whole, with its P̂."""
    if not bench.subject.allows(_SETTING):
        return None

    def compute() -> Arrays:
        trained = computed(bench.trained(_SETTING, seed))
        chosen = float(computed(bench.decoded(_SETTING, seed))["chosen"])
        temporal, relational = bench.temporal()[0], bench.relational(trained)
        found: Arrays = {"known": trained["known"], "alpha": np.array(chosen)}
        best = {"time": bench.time_plan().best()}
        for name, alpha in (("relations", 0.0), ("whole", chosen)):
            run = bench.context(seed=seed, alphas=(alpha,))
            best[name] = decode_channels(run, temporal, relational, trained["known"]).plan.best()
        for name, each in best.items():
            found[name], found[f"{name} probability"] = each.column_of_row, each.value_of_row
        return found

    return bench.cells.arrays(bench.key("choices", "dualmatch", _SETTING, seed), compute)


def is_right(subject: Subject, found: Arrays) -> tuple[Rows, dict[str, Flags]]:
    """The tested source rows, and for each channel which of them it gets right."""
    tested = subject.tested(_SETTING)
    rows = tested[:, 0].astype(np.intp)
    return rows, {channel: found[channel][rows] == tested[:, 1] for channel in CHANNELS}


def clearest(subject: Subject, found: Arrays, wrong: str) -> list[int]:
    """Source rows that one channel alone gets wrong and the whole gets right, the surest first, of few facts each."""
    rows, right = is_right(subject, found)
    few = [
        np.bincount(np.concatenate([graph.head, graph.tail]), minlength=graph.n_entities) <= _FEW_FACTS
        for graph in (subject.source, subject.target)
    ]
    partner = subject.tested(_SETTING)[:, 1]
    other = "relations" if wrong == "time" else "time"
    shown = ~right[wrong] & right[other] & right["whole"] & few[0][rows] & few[1][partner]
    sure = found["whole probability"][rows[shown]]
    return [int(row) for row in rows[shown][np.argsort(-sure, kind="stable")[:_OTHERS]]]


def _counts_table(subject: Subject, found: Arrays) -> Table:
    """How often each channel alone is right, and the whole with it."""
    _, right = is_right(subject, found)
    rows: list[Row] = []
    for time_right in (True, False):
        for relations_right in (True, False):
            here = (right["time"] == time_right) & (right["relations"] == relations_right)
            whole = int((right["whole"] & here).sum())
            words = tuple("right" if each else "wrong" for each in (time_right, relations_right))
            rows.append((*words, int(here.sum()), whole, 100 * whole / max(int(here.sum()), 1)))
    counts = columns("tested pairs", "of these the whole right", digits=0)
    heading = (*columns("time alone", "relations alone"), *counts, Column("share, %", 1))
    title = f"{subject.name}: how often the whole is right where its channels alone are right or wrong"
    return Table(f"{subject.slug}-counts", title, heading, tuple(rows))


def _explained(bench: Workbench, names: list[str]) -> Result | None:
    """What method evidence says of some entities, with its reasons."""

    def compute() -> Result:
        alignment = bench.align("evidence", bench.subject.seeds(_SETTING))
        answers: Result = {}
        for name in names:
            why = explain_entity(alignment, name)
            answers[name] = {
                "verdict": str(why.verdict),
                "match": why.match,
                "confidence": why.confidence,
                "shared": [f"{fact} ({fact.weight:+.2f})" for fact in why.shared[:2]],
                "reason": why.reason,
            }
        return answers

    return bench.cells.result(bench.key("explained", "evidence", _SETTING, None, entities=tuple(names)), compute)


def _case_row(subject: Subject, found: Arrays, row: int, explained: Result) -> Row:
    """What each channel and method evidence choose for an entity, and the facts that they chose by."""
    name, target = subject.source.entities[row], subject.target.entities
    partner = dict(subject.gold.tolist()).get(row)
    chosen = [int(found[channel][row]) for channel in CHANNELS]
    cells = ["right" if column == partner else f"wrong: {target[column]}" for column in chosen]
    evidence = NOT_RUN
    if answer := explained.get(name):
        evidence = answer["verdict"]
        if answer["match"] is not None:
            is_partner = partner is not None and answer["match"] == target[partner]
            evidence = "right" if is_partner else f"wrong: {answer['match']}"
        evidence += "" if answer["confidence"] is None else f" ({answer['confidence']:.2f})"
    why = [f"its facts: {_facts(subject.source, row)}"]
    wrong = next((column for column in chosen[:2] if column != partner), None)
    for label, other in (("its partner's", partner), ("the wrong choice's", wrong)):
        if other is not None:
            common = len(_times(subject.source, row) & _times(subject.target, other))
            said = f"{common or 'no'} time{'s' if common > 1 else ''} in common"
            why.append(f"{label} ({said}): {_facts(subject.target, other)}")
    return (name, *cells, evidence, "; ".join(why))


def _facts(graph: TemporalGraph, row: int, most: int = 2) -> str:
    """The first few facts of an entity in words."""
    facts = np.flatnonzero((graph.head == row) | (graph.tail == row))
    shown = []
    for fact in facts[:most].tolist():
        head, tail = graph.entities[graph.head[fact]], graph.entities[graph.tail[fact]]
        when = time_in_words(int(graph.begin[fact]), int(graph.end[fact]), graph.opaque_times)
        shown.append(f"({head}, {graph.relations[graph.relation[fact]]}, {tail}{', ' if when else ''}{when})")
    rest = len(facts) - len(shown)
    return ", ".join(shown) + (f" and {rest:,} more" if rest else "") if shown else "none"


def _times(graph: TemporalGraph, row: int) -> set[int]:
    facts = (graph.head == row) | (graph.tail == row)
    return {*graph.begin[facts].tolist(), *graph.end[facts].tolist()} - {UNKNOWN}
