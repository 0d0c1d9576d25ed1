"""Table "ablation study": what each part is worth in the less-seed setting, the paper's parts and ours."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
from scipy import special

from dualmatch.config import TRAINED, Method
from dualmatch.evaluate import are_right, f1_score
from dualmatch.methods.alignment import MORE_LIKELY_THAN_NOT
from dualmatch.methods.evidence import align_by_evidence
from dualmatch.methods.evidence.problem import Part, Problem
from dualmatch.research.experiments.cells import Result
from dualmatch.research.experiments.paper import ABLATION, Hits, Setting
from dualmatch.research.experiments.report import Report
from dualmatch.research.experiments.study import Study
from dualmatch.research.experiments.tables import HITS, Column, Spread, Table, Value, hits_of, spread
from dualmatch.research.experiments.workbench import Workbench

_SETTING: Final[Setting] = "less"
_NOTICEABLE: Final = 0.1
"""Points of H@1 below which a part is said to make no difference."""
_ONE_SEED: Final = 0.3
"""Points of H@1 that two trainings of the same may differ by (docs/relational.md): less says nothing from one seed."""
_COLUMNS: Final = (
    Column("variant"),
    *(Column(f"paper {hit.name}", hit.digits) for hit in HITS),
    Column("change of H@1", 2),
    Column("open H@1", 1),
    *(Column(f"quoted {hit.name}", hit.digits) for hit in HITS),
    Column("quoted change", 1),
)

KINDS: Final = ("earns its place", "does not earn its place", "makes no difference", "cannot be told from chance")

Variant = Callable[[Workbench, int], Result | None]


def _at_alpha(alpha: str) -> Variant:
    def variant(bench: Workbench, seed: int) -> Result | None:
        decoded = bench.decoded(_SETTING, seed)
        return None if decoded is None else decoded["alphas"].get(alpha)

    return variant


def _run(decoded: Result | None) -> Result | None:
    return None if decoded is None else decoded["alphas"][decoded["chosen"]]


PAPER_PARTS: Final[dict[str, tuple[str, Variant]]] = {
    "whole": ("whole", lambda bench, seed: _run(bench.decoded(_SETTING, seed))),
    "− TE": ("no Temporal-Encoder: α = 0", _at_alpha("0.0")),
    "− RE": ("no Relational-Encoder: time alone", lambda bench, _: _protocols(bench.run("temporal", _SETTING))),
    "− TAL": (
        "dual aspect: no time aspect in training",
        lambda bench, seed: _run(bench.decoded(_SETTING, seed, time_aspect=False)),
    ),
    "− TA": (
        "no aggregation of times: L = 0",
        lambda bench, seed: _run(bench.decoded(_SETTING, seed, hops=0)),
    ),
    "− α": ("α = 1", _at_alpha("1.0")),
    "− GM-D": ("the naive strategy", lambda bench, seed: _protocols(bench.naive(_SETTING, seed))),
}
OUR_PARTS: Final[dict[Method, dict[str, Variant]]] = {
    "evidence": {
        "evidence": lambda bench, _: _protocols(bench.run("evidence", _SETTING)),
        "− relation alignment": lambda bench, _: _protocols(evidence_without(bench, "relations")),
        "− cavity": lambda bench, _: _protocols(evidence_without(bench, "cavity")),
        "− open support": lambda bench, _: _protocols(evidence_without(bench, "open support")),
    },
    "fused": {
        "fused": lambda bench, seed: _protocols(bench.run("fused", _SETTING, seed)),
        "− evidence": lambda bench, seed: _protocols(bench.run("dualmatch", _SETTING, seed)),
    },
}


def ablation(study: Study) -> Report:
    """What is lost without each part, and whether that is more than nothing."""
    tables, notes = [], []
    for bench in study.benches():
        subject = bench.subject
        # A method that was not asked for is not run, however many of its cells other experiments have left.
        paper_rows, paper_notes = _paper_rows(bench, study.seeds_of("dualmatch"))
        our_rows, our_notes = _our_rows(bench, study)
        title = f"{subject.name}, {len(subject.seeds(_SETTING)):,} seeds"
        tables.append(Table(subject.slug, title, _COLUMNS, (*paper_rows, *our_rows)))
        notes += [f"{subject.name}: {note}" for note in (*paper_notes, *our_notes)]
    return Report("ablation", "Ablation study", tuple(tables), notes=tuple(notes))


def _paper_rows(bench: Workbench, seeds: tuple[int, ...]) -> tuple[list[tuple[Value, ...]], list[str]]:
    quoted = {part: figures.get(bench.subject.paper_name or "") for part, figures in ABLATION.items()}
    whole, quoted_whole = _runs(PAPER_PARTS["whole"][1], bench, seeds), quoted["whole"]
    rows, notes = [], []
    verdicts: dict[str, list[str]] = {}
    for part, (words, variant) in PAPER_PARTS.items():
        runs, published = _runs(variant, bench, seeds), quoted[part]
        change = None if part == "whole" else _change(runs, whole)
        was = None
        if published is not None and quoted_whole is not None and part != "whole":
            was = published.h1 - quoted_whole.h1
        label = "method dualmatch" if part == "whole" else f"{part} ({words})"
        rows.append(_row(label, runs[:1] if part == "− RE" else runs, change, published, was))  # time has no chance
        if isinstance(change, Spread):
            found = verdict_of(change, trained=True)
            verdicts.setdefault(found.kind, []).append(part.removeprefix("− "))
            published_words = "" if was is None else f" (quoted: {was:+.1f} on {bench.subject.paper_name})"
            notes.append(f"{part}: {found.words}{published_words}.")
    return rows, [*_in_short(verdicts), *notes]


def _in_short(verdicts: dict[str, list[str]]) -> list[str]:
    """Which of the paper's parts earn their place, in one line."""
    said = [f"{', '.join(parts)}: {kind}" for kind in KINDS if (parts := verdicts.get(kind))]
    return [f"the paper's parts in short: {'; '.join(said)}."] if said else []


def _our_rows(bench: Workbench, study: Study) -> tuple[list[tuple[Value, ...]], list[str]]:
    rows, notes = [], []
    pairs = len(bench.subject.tested(_SETTING))
    for method, parts in OUR_PARTS.items():
        trained = method in TRAINED
        seeds = study.seeds_of(method)[: None if trained else 1]
        whole = _runs(parts[method], bench, seeds)
        for part, variant in parts.items():
            runs = _runs(variant, bench, seeds)
            change = None if part == method else _change(runs, whole)
            rows.append(_row(f"method {method}" if part == method else f"{method} {part}", runs, change, None, None))
            if isinstance(change, Spread):
                notes.append(f"{method} {part}: {verdict_of(change, trained, pairs).words}.")
    return rows, notes


def _runs(variant: Variant, bench: Workbench, seeds: tuple[int, ...]) -> list[Result | None]:
    return [variant(bench, seed) for seed in seeds]


def _row(
    label: str, runs: list[Result | None], change: Value, quoted: Hits | None, quoted_change: float | None
) -> tuple[Value, ...]:
    hits = hits_of([each and each["paper"]["all"] for each in runs])
    opened = spread(None if each is None else each["open"]["all"]["h1"] for each in runs)
    return (label, *hits, change, opened, *(quoted or (None, None, None)), quoted_change)


def _change(runs: list[Result | None], whole: list[Result | None]) -> Value:
    """Points of H@1 against the whole, seed by seed."""
    return spread(
        None if part is None or all_ is None else part["paper"]["all"]["h1"] - all_["paper"]["all"]["h1"]
        for part, all_ in zip(runs, whole, strict=True)
    )


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
    points, error = change.mean, 0.0
    if not trained:
        basis = f"{round(points * pairs / 100):+,} of {pairs:,} pairs; there is no chance in it"
    elif change.deviation is None:
        error = _ONE_SEED
        basis = f"one seed; two trainings of the same may differ by {_ONE_SEED:g}"
    else:
        error = float(special.stdtrit(change.seeds - 1, 0.975)) * change.deviation / math.sqrt(change.seeds)
        basis = f"95 % interval over {change.seeds} seeds"
    shown = f" ± {error:.2f}" if change.deviation is not None and trained else ""
    if abs(points) + error < _NOTICEABLE:
        kind, so = KINDS[2], "so here it makes no difference"
    elif abs(points) <= error:
        kind, so = KINDS[3], "which cannot be told from chance"
    elif abs(points) < _NOTICEABLE:
        kind, so = KINDS[2], "so here it makes no difference"
    elif points < 0:
        kind, so = KINDS[0], "so it earns its place"
    else:
        kind, so = KINDS[1], "so here it does not earn its place"
    return Verdict(kind, f"H@1 {points:+.2f}{shown} points without it ({basis}), {so}")


def _protocols(run: Result | None) -> Result | None:
    return None if run is None else run["protocols"]


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
            "protocols": bench.rankings(evidence.plan, _SETTING),
            "abstention": {"precision": precision, "recall": recall, "f1": f1_score(precision, recall)},
        }

    return bench.cells.result(bench.key("run", "evidence", _SETTING, None, without=part), compute)
