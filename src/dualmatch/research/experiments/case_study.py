"""Appendix "Case Study": entities that time alone or relations alone get wrong and the whole gets right, and why."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dualmatch.decode.fusion import decode
from dualmatch.decode.sinkhorn import Best
from dualmatch.explain.explain import explain_entity, time_in_words
from dualmatch.graph.model import TemporalGraph
from dualmatch.graph.times import UNKNOWN
from dualmatch.methods.align import align
from dualmatch.research.experiments.cells import Arrays, Result, computed
from dualmatch.research.experiments.paper import CASES, Setting
from dualmatch.research.experiments.report import Report
from dualmatch.research.experiments.study import Study
from dualmatch.research.experiments.subject import Subject
from dualmatch.research.experiments.tables import NOT_RUN, Column, Table, Value
from dualmatch.research.experiments.workbench import Workbench

_SETTING: Final[Setting] = "normal"
"""The paper's cases come from training with a tenth of the pairs."""
CHANNELS: Final = ("time", "relations", "whole")
_OTHERS: Final = 3
"""Cases shown of each kind besides the paper's own."""
_FEW_FACTS: Final = 4
"""Cases are shown of entities whose facts a reader can look through."""
_COLUMNS: Final = (
    Column("source entity"),
    Column("time alone"),
    Column("relations alone"),
    Column("the whole (dualmatch)"),
    Column("evidence"),
    Column("why"),
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
        explained = _explained(bench, names) if "evidence" in study.methods else None
        rows = tuple(_case_row(subject, found, row, explained) for row in cases)
        tables.append(Table(f"{subject.slug}-cases", f"{subject.name}, the cases", _COLUMNS, rows))
        notes += _reasons(subject, cases, explained)
    text = (
        "Trained with all of sup_pairs. Each entity's best target among all of the other graph: by time alone "
        "(Sinkhorn of S^t), by relations alone (α = 0), by the whole at its α of smallest D, and by method evidence. "
        f"Besides the paper's two cases, those of at most {_FEW_FACTS} facts a side on which the whole is surest."
    )
    return Report("case-study", "Case study", tuple(tables), notes=tuple(notes), ranked=False, text=text)


def choices(bench: Workbench, seed: int) -> Arrays | None:
    """The best target of every source entity by each channel and by the whole, with its P̂."""
    if not bench.subject.allows(_SETTING):
        return None

    def compute() -> Arrays:
        config, trained = bench.config(seed=seed), computed(bench.trained(_SETTING, seed))
        chosen = float(computed(bench.decoded(_SETTING, seed))["chosen"])
        relational, temporal = bench.relational(trained), bench.temporal()[0]
        found: Arrays = {"known": trained["known"], "alpha": np.array(chosen)}
        _keep(found, "time", bench.time_plan().best())
        for name, alpha in (("relations", 0.0), ("whole", chosen)):
            plan = decode(
                temporal,
                relational,
                bench.problem(trained),
                [alpha],
                sharpness=config.sharpness,
                iterations=config.sinkhorn_iterations,
                memory_limit=bench.share,
            ).plan
            _keep(found, name, plan.best())
        return found

    return bench.cells.arrays(bench.key("choices", "dualmatch", _SETTING, seed), compute)


def _keep(found: Arrays, name: str, best: Best) -> None:
    found[name], found[f"{name} probability"] = best.column_of_row, best.value_of_row


def is_right(subject: Subject, found: Arrays) -> tuple[NDArray[np.intp], dict[str, NDArray[np.bool_]]]:
    """The tested source rows, and for each channel which of them it gets right."""
    tested = subject.tested(_SETTING)
    rows = tested[:, 0].astype(np.intp)
    return rows, {channel: found[channel][rows] == tested[:, 1] for channel in CHANNELS}


def clearest(subject: Subject, found: Arrays, wrong: str) -> list[int]:
    """Source rows that one channel alone gets wrong and the whole gets right, the surest first, of few facts each."""
    rows, right = is_right(subject, found)
    few = [_fact_counts(graph) <= _FEW_FACTS for graph in (subject.source, subject.target)]
    partner = subject.tested(_SETTING)[:, 1]
    other = "relations" if wrong == "time" else "time"
    shown = ~right[wrong] & right[other] & right["whole"] & few[0][rows] & few[1][partner]
    sure = found["whole probability"][rows[shown]]
    return [int(row) for row in rows[shown][np.argsort(-sure, kind="stable")[:_OTHERS]]]


def _fact_counts(graph: TemporalGraph) -> NDArray[np.intp]:
    return np.bincount(np.concatenate([graph.head, graph.tail]), minlength=graph.n_entities)


def _counts_table(subject: Subject, found: Arrays) -> Table:
    """How often each channel alone is right, and the whole with it."""
    _, right = is_right(subject, found)
    rows: list[tuple[Value, ...]] = []
    for time_right in (True, False):
        for relations_right in (True, False):
            here = (right["time"] == time_right) & (right["relations"] == relations_right)
            whole = int((right["whole"] & here).sum())
            words = tuple("right" if each else "wrong" for each in (time_right, relations_right))
            rows.append((*words, int(here.sum()), whole, 100 * whole / max(int(here.sum()), 1)))
    columns = (Column("time alone"), Column("relations alone"), Column("tested pairs", 0))
    title = f"{subject.name}: how often the whole is right where its channels alone are right or wrong"
    more = (Column("of these the whole right", 0), Column("share, %", 1))
    return Table(f"{subject.slug}-counts", title, (*columns, *more), tuple(rows))


def _explained(bench: Workbench, names: list[str]) -> Result | None:
    """What method evidence says of some entities, with its reasons."""

    def compute() -> Result:
        subject = bench.subject
        seeds = subject.seeds(_SETTING)
        alignment = align(
            subject.source, subject.target, seeds, config=bench.config("evidence"), progress=bench.progress
        )
        answers: dict[str, Any] = {}
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


def _case_row(subject: Subject, found: Arrays, row: int, explained: Result | None) -> tuple[Value, ...]:
    source, target = subject.source, subject.target
    partner = dict(subject.gold.tolist()).get(row)
    cells: list[Value] = []
    for channel in CHANNELS:
        column = int(found[channel][row])
        verdict = "right" if column == partner else f"wrong: {target.entities[column]}"
        cells.append(verdict)
    answer = None if explained is None else explained.get(source.entities[row])
    if answer is None:
        cells.append(NOT_RUN)
    else:
        cells.append(_said(answer, None if partner is None else target.entities[partner]))
    return (source.entities[row], *cells, _why(subject, found, row, partner))


def _said(answer: Result, partner: str | None) -> str:
    """What method evidence says of an entity, how sure it is, and whether that is right."""
    said = answer["verdict"]
    if answer["match"] is not None:
        said = "right" if answer["match"] == partner else f"wrong: {answer['match']}"
    return said if answer["confidence"] is None else f"{said} ({answer['confidence']:.2f})"


def _why(subject: Subject, found: Arrays, row: int, partner: int | None) -> str:
    """What the entity has in common with the wrong choice and with its partner: times, and facts in words."""
    wrong = next((int(found[k][row]) for k in ("time", "relations") if int(found[k][row]) != partner), None)
    parts = [f"its facts: {_facts(subject.source, row)}"]
    for label, other in (("its partner's", partner), ("the wrong choice's", wrong)):
        if other is not None:
            common = _common_times(subject, row, other)
            said = f"{len(common) or 'no'} time{'s' if len(common) > 1 else ''} in common"
            parts.append(f"{label} ({said}): {_facts(subject.target, other)}")
    return "; ".join(parts)


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


def _common_times(subject: Subject, source_row: int, target_row: int) -> set[int]:
    times = []
    for graph, row in ((subject.source, source_row), (subject.target, target_row)):
        facts = (graph.head == row) | (graph.tail == row)
        times.append({*graph.begin[facts].tolist(), *graph.end[facts].tolist()} - {UNKNOWN})
    return times[0] & times[1]


def _reasons(subject: Subject, cases: list[int], explained: Result | None) -> list[str]:
    """What decided it for method evidence."""
    reasons = []
    for row in cases:
        name = subject.source.entities[row]
        answer = (explained or {}).get(name)
        if answer is not None:
            said = "; ".join(answer["shared"]) or answer["reason"] or "no shared fact"
            reasons.append(f"{subject.name}, {name}, by evidence: {said}.")
    return reasons
