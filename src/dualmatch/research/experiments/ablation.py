"""Table "ablation study": what each part is worth in the less-seed setting, the paper's parts and ours."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from scipy import special

from dualmatch.config import TRAINED, Method
from dualmatch.methods.evidence import align_by_evidence
from dualmatch.methods.evidence.problem import Part, Problem
from dualmatch.research.experiments.cells import Result
from dualmatch.research.experiments.paper import ABLATION, Setting
from dualmatch.research.experiments.results import Column, Report, Row, Spread, Table, hits_columns, hits_of, spread
from dualmatch.research.experiments.workbench import Study, Workbench, rankings_of

_SETTING: Final[Setting] = "less"
_NOTICEABLE: Final = 0.1
"""Points of H@1 below which a part is said to make no difference."""
_ONE_SEED: Final = 0.3
"""Points of H@1 by which two trainings may differ (docs/paper-figures.md): less says nothing from one seed."""
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
        at = None if decoded is None else decoded["alphas"].get(alpha or decoded["chosen"])
        return None if at is None else {"protocols": at}

    return variant


def _method(method: Method) -> Variant:
    return lambda bench, seed: bench.run(method, _SETTING, seed)


def _evidence_without(part: Part) -> Variant:
    """Method evidence with one of its parts switched off."""

    def variant(bench: Workbench, _seed: int) -> Result | None:
        subject = bench.subject

        def compute() -> Result:
            problem = Problem.of(subject.source, subject.target, subject.seeds(_SETTING), without=(part,))
            return {"protocols": rankings_of(align_by_evidence(problem).plan, subject.sets(_SETTING))}

        key = bench.key("run", "evidence", _SETTING, None, without=part)
        return bench.cells.result(key, compute) if subject.allows(_SETTING) else None

    return variant


PARTS: Final[dict[Method, dict[str, tuple[str, Variant]]]] = {
    "dualmatch": {
        "whole": ("method dualmatch", _at_alpha()),
        "− TE": ("− TE (no Temporal-Encoder: α = 0)", _at_alpha("0.0")),
        "− RE": ("− RE (no Relational-Encoder: time alone)", _method("temporal")),
        "− TAL": ("− TAL (dual aspect: no time aspect in training)", _at_alpha(time_aspect=False)),
        "− TA": ("− TA (no aggregation of times: L = 0)", _at_alpha(hops=0)),
        "− α": ("− α (α = 1)", _at_alpha("1.0")),
        "− GM-D": ("− GM-D (the naive strategy)", lambda bench, seed: bench.naive(_SETTING, seed)),
    },
    "evidence": {
        "whole": ("method evidence", _method("evidence")),
        "− relation alignment": ("evidence − relation alignment", _evidence_without("relations")),
        "− cavity": ("evidence − cavity", _evidence_without("cavity")),
        "− open support": ("evidence − open support", _evidence_without("open support")),
    },
    "fused": {
        "whole": ("method fused", _method("fused")),
        "− evidence": ("fused − evidence", _method("dualmatch")),
    },
}
"""Of each method the whole first, then what is left without each part: its row's label, and what computes it."""


def ablation(study: Study) -> Report:
    """What is lost without each part, and whether that is more than nothing."""
    tables, notes = [], []
    for bench in study.benches():
        subject, rows = bench.subject, []
        for method in PARTS:
            method_rows, method_notes = _without_each_part(bench, method, study.seeds_of(method))
            rows += method_rows
            notes += [f"{subject.name}: {note}" for note in method_notes]
        title = f"{subject.name}, {len(subject.seeds(_SETTING)):,} seeds"
        tables.append(Table(subject.slug, title, _COLUMNS, tuple(rows)))
    return Report("ablation", "Ablation study", tuple(tables), notes=tuple(notes))


def _without_each_part(bench: Workbench, method: Method, seeds: tuple[int, ...]) -> tuple[list[Row], list[str]]:
    """Rows of a method, and what each part is worth; for the paper's, first in one line which help."""
    paper_name = (bench.subject.paper_name or "") if method == "dualmatch" else ""
    quoted_whole = ABLATION["whole"].get(paper_name)
    whole = [PARTS[method]["whole"][1](bench, seed) for seed in seeds]
    rows, notes = [], []
    verdicts: dict[str, list[str]] = {}
    for part, (label, variant) in PARTS[method].items():
        runs, quoted = [variant(bench, seed) for seed in seeds], ABLATION.get(part, {}).get(paper_name)
        points = zip(map(_h1, runs), map(_h1, whole), strict=True)
        changes = (None if one is None or all_ is None else one - all_ for one, all_ in points)  # seed by seed
        change = None if part == "whole" else spread(changes)
        was = None if quoted is None or quoted_whole is None or part == "whole" else quoted.h1 - quoted_whole.h1
        shown = runs[:1] if part == "− RE" else runs  # time has no chance
        hits = hits_of([run and run["protocols"]["paper"]["all"] for run in shown])
        opened = spread(_h1(run, "open") for run in shown)
        rows.append((label, *hits, change, opened, *(quoted or (None, None, None)), was))
        if isinstance(change, Spread):
            found = verdict_of(change, method in TRAINED, len(bench.subject.tested(_SETTING)))
            verdicts.setdefault(found.kind, []).append(part.removeprefix("− "))
            name = part if method == "dualmatch" else label
            notes.append(f"{name}: {found.words}{'' if was is None else f' (quoted: {was:+.1f} on {paper_name})'}.")
    said = [f"{', '.join(parts)}: {kind}" for kind in KINDS if (parts := verdicts.get(kind))]
    short = [f"the paper's parts in short: {'; '.join(said)}."] if said and method == "dualmatch" else []
    return rows, short + notes


def _h1(run: Result | None, protocol: str = "paper") -> float | None:
    return None if run is None else run["protocols"][protocol]["all"]["h1"]


KINDS: Final = {
    "helps": "so it helps",
    "does not help": "so it does not help here",
    "makes no difference": "so it makes no difference here",
    "is within chance": "which is within chance",
}
"""What a part can be worth, and the end of a sentence that says so."""


class AblationVerdict(NamedTuple):
    """What a part is worth: one of `KINDS`, and the figures it rests on in words."""

    kind: str
    words: str


def verdict_of(change: Spread, trained: bool, pairs: int = 0) -> AblationVerdict:
    """What the change of H@1 without a part means, as far as it is more than chance.

    Several seeds: Student's 95 % interval of the mean change, seed by seed. One: what two trainings may differ by.
    """
    points, error, shown = change.mean, 0.0, ""
    if not trained:
        basis = f"{round(points * pairs / 100):+,} of {pairs:,} pairs; no randomness"
    elif change.deviation is None:
        error = _ONE_SEED
        basis = f"one seed; two trainings may differ by {_ONE_SEED:g}"
    else:
        error = float(special.stdtrit(change.seeds - 1, 0.975)) * change.deviation / math.sqrt(change.seeds)
        basis, shown = f"95 % interval over {change.seeds} seeds", f" ± {error:.2f}"
    if abs(points) + error < _NOTICEABLE or error < abs(points) < _NOTICEABLE:
        kind = "makes no difference"
    elif abs(points) <= error:
        kind = "is within chance"
    else:
        kind = "helps" if points < 0 else "does not help"
    return AblationVerdict(kind, f"H@1 {points:+.2f}{shown} points without it ({basis}), {KINDS[kind]}")
