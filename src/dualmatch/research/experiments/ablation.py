"""Table "ablation study": what each part is worth in the less-seed setting, the paper's parts and ours."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np
from scipy import special

from dualmatch.config import TRAINED, Method
from dualmatch.evaluate import are_right, f1_score
from dualmatch.methods.evidence import MORE_LIKELY_THAN_NOT, align_by_evidence
from dualmatch.methods.evidence.problem import Part, Problem
from dualmatch.research.experiments.cells import Result
from dualmatch.research.experiments.paper import ABLATION, Hits, Setting
from dualmatch.research.experiments.results import (
    Column,
    Report,
    Row,
    Spread,
    Table,
    Value,
    hits_columns,
    hits_of,
    spread,
)
from dualmatch.research.experiments.workbench import Study, Workbench, rankings_of

_SETTING: Final[Setting] = "less"
_NOTICEABLE: Final = 0.1
"""Points of H@1 below which a part is said to make no difference."""
_ONE_SEED: Final = 0.3
"""Points of H@1 that two trainings of the same may differ by (docs/relational.md): less says nothing from one seed."""
_COLUMNS: Final = (
    Column("variant"),
    *hits_columns("paper"),
    Column("change of H@1", 2),
    Column("open H@1", 1),
    *hits_columns("quoted"),
    Column("quoted change", 1),
)

Variant = Callable[[Workbench, int], Result | None]


def _at_alpha(alpha: str | None = None, **options: Any) -> Variant:
    """The method dualmatch at one α, by default that of smallest D, trained and decoded with some options."""

    def variant(bench: Workbench, seed: int) -> Result | None:
        decoded = bench.decoded(_SETTING, seed, **options)
        return None if decoded is None else decoded["alphas"].get(alpha or decoded["chosen"])

    return variant


def _method(method: Method) -> Variant:
    return lambda bench, seed: _protocols(bench.run(method, _SETTING, seed))


def _evidence_without(part: Part) -> Variant:
    return lambda bench, _seed: _protocols(evidence_without(bench, part))


def _protocols(run: Result | None) -> Result | None:
    return None if run is None else run["protocols"]


PAPER_PARTS: Final[dict[str, tuple[str, Variant]]] = {
    "whole": ("method dualmatch", _at_alpha()),
    "− TE": ("− TE (no Temporal-Encoder: α = 0)", _at_alpha("0.0")),
    "− RE": ("− RE (no Relational-Encoder: time alone)", _method("temporal")),
    "− TAL": ("− TAL (dual aspect: no time aspect in training)", _at_alpha(time_aspect=False)),
    "− TA": ("− TA (no aggregation of times: L = 0)", _at_alpha(hops=0)),
    "− α": ("− α (α = 1)", _at_alpha("1.0")),
    "− GM-D": ("− GM-D (the naive strategy)", lambda bench, seed: _protocols(bench.naive(_SETTING, seed))),
}
OUR_PARTS: Final[dict[Method, dict[str, Variant]]] = {
    "evidence": {
        "evidence": _method("evidence"),
        "− relation alignment": _evidence_without("relations"),
        "− cavity": _evidence_without("cavity"),
        "− open support": _evidence_without("open support"),
    },
    "fused": {"fused": _method("fused"), "− evidence": _method("dualmatch")},
}


def ablation(study: Study) -> Report:
    """What is lost without each part, and whether that is more than nothing."""
    tables, notes = [], []
    for bench in study.benches():
        subject = bench.subject
        paper_rows, paper_notes = _paper_rows(bench, study.seeds_of("dualmatch"))
        our_rows, our_notes = _our_rows(bench, study)
        title = f"{subject.name}, {len(subject.seeds(_SETTING)):,} seeds"
        tables.append(Table(subject.slug, title, _COLUMNS, (*paper_rows, *our_rows)))
        notes += [f"{subject.name}: {note}" for note in (*paper_notes, *our_notes)]
    return Report("ablation", "Ablation study", tuple(tables), notes=tuple(notes))


def _paper_rows(bench: Workbench, seeds: tuple[int, ...]) -> tuple[list[Row], list[str]]:
    """A row for each of the paper's parts, and what it is worth; first in one line which parts earn their place."""
    paper_name = bench.subject.paper_name or ""
    whole, quoted_whole = [PAPER_PARTS["whole"][1](bench, seed) for seed in seeds], ABLATION["whole"].get(paper_name)
    rows, notes = [], []
    verdicts: dict[str, list[str]] = {}
    for part, (label, variant) in PAPER_PARTS.items():
        runs, quoted = [variant(bench, seed) for seed in seeds], ABLATION[part].get(paper_name)
        change = None if part == "whole" else _change(runs, whole)
        was = None if quoted is None or quoted_whole is None or part == "whole" else quoted.h1 - quoted_whole.h1
        rows.append(_row(label, runs[:1] if part == "− RE" else runs, change, quoted, was))  # time has no chance
        if isinstance(change, Spread):
            found = verdict_of(change, trained=True)
            verdicts.setdefault(found.kind, []).append(part.removeprefix("− "))
            notes.append(f"{part}: {found.words}{'' if was is None else f' (quoted: {was:+.1f} on {paper_name})'}.")
    said = [f"{', '.join(parts)}: {kind}" for kind in KINDS if (parts := verdicts.get(kind))]
    return rows, [*([f"the paper's parts in short: {'; '.join(said)}."] if said else []), *notes]


def _our_rows(bench: Workbench, study: Study) -> tuple[list[Row], list[str]]:
    rows, notes = [], []
    pairs = len(bench.subject.tested(_SETTING))
    for method, parts in OUR_PARTS.items():
        seeds = study.seeds_of(method)
        whole = [parts[method](bench, seed) for seed in seeds]
        for part, variant in parts.items():
            runs = [variant(bench, seed) for seed in seeds]
            change = None if part == method else _change(runs, whole)
            rows.append(_row(f"method {method}" if part == method else f"{method} {part}", runs, change, None, None))
            if isinstance(change, Spread):
                notes.append(f"{method} {part}: {verdict_of(change, method in TRAINED, pairs).words}.")
    return rows, notes


def _row(label: str, runs: list[Result | None], change: Value, quoted: Hits | None, quoted_change: float | None) -> Row:
    hits = hits_of([each and each["paper"]["all"] for each in runs])
    opened = spread(None if each is None else each["open"]["all"]["h1"] for each in runs)
    return (label, *hits, change, opened, *(quoted or (None, None, None)), quoted_change)


def _change(runs: list[Result | None], whole: list[Result | None]) -> Value:
    """Points of H@1 against the whole, seed by seed."""
    return spread(
        None if part is None or all_ is None else part["paper"]["all"]["h1"] - all_["paper"]["all"]["h1"]
        for part, all_ in zip(runs, whole, strict=True)
    )


KINDS: Final = {
    "earns its place": "so it earns its place",
    "does not earn its place": "so here it does not earn its place",
    "makes no difference": "so here it makes no difference",
    "cannot be told from chance": "which cannot be told from chance",
}
"""What a part can be worth, and the end of a sentence that says so."""


class Verdict(NamedTuple):
    """What a part is worth: one of `KINDS`, and the figures it rests on in words."""

    kind: str
    words: str


def verdict_of(change: Spread, trained: bool, pairs: int = 0) -> Verdict:
    """What the change of H@1 without a part means, as far as it is more than chance.

    Several seeds: Student's 95 % interval of the mean change, seed by seed. One: what two trainings may differ by.

    >>> verdict_of(Spread(-0.5, 0.1, 3, 3), trained=True).words
    'H@1 -0.50 ± 0.25 points without it (95 % interval over 3 seeds), so it earns its place'
    >>> verdict_of(Spread(-0.2, None, 1, 1), trained=True).kind
    'cannot be told from chance'
    """
    points, error, shown = change.mean, 0.0, ""
    if not trained:
        basis = f"{round(points * pairs / 100):+,} of {pairs:,} pairs; there is no chance in it"
    elif change.deviation is None:
        error = _ONE_SEED
        basis = f"one seed; two trainings of the same may differ by {_ONE_SEED:g}"
    else:
        error = float(special.stdtrit(change.seeds - 1, 0.975)) * change.deviation / math.sqrt(change.seeds)
        basis, shown = f"95 % interval over {change.seeds} seeds", f" ± {error:.2f}"
    if abs(points) + error < _NOTICEABLE or error < abs(points) < _NOTICEABLE:
        kind = "makes no difference"
    elif abs(points) <= error:
        kind = "cannot be told from chance"
    else:
        kind = "earns its place" if points < 0 else "does not earn its place"
    return Verdict(kind, f"H@1 {points:+.2f}{shown} points without it ({basis}), {KINDS[kind]}")


def evidence_without(bench: Workbench, part: Part) -> Result | None:
    """Method evidence with one of its parts switched off."""
    if not bench.subject.allows(_SETTING):
        return None

    def compute() -> Result:
        subject = bench.subject
        seeds, tested = subject.seeds(_SETTING), subject.tested(_SETTING)
        evidence = align_by_evidence(Problem.of(subject.source, subject.target, seeds, without=(part,)))
        pairs, confidence = evidence.pairs
        linked = pairs[confidence > MORE_LIKELY_THAN_NOT]
        found = linked[~np.isin(linked[:, 0], seeds[:, 0])].astype(np.int32)
        right = int(are_right(found, subject.gold).sum())
        precision, recall = right / max(len(found), 1), right / len(tested)
        return {
            "protocols": rankings_of(evidence.plan, subject.sets(_SETTING)),
            "abstention": {"precision": precision, "recall": recall, "f1": f1_score(precision, recall)},
        }

    return bench.cells.result(bench.key("run", "evidence", _SETTING, None, without=part), compute)
