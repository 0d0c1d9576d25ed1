"""Align again in the background, with decisions as seeds and forbidden pairs."""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Literal

from dualmatch.errors import DualMatchError, OutputError, counted
from dualmatch.explain.basis import ExplanationBasis, basis_of
from dualmatch.files.atomic import write_text
from dualmatch.links.opinions import DecisionState
from dualmatch.links.write import LINK_EXTENSIONS
from dualmatch.memory import peak_mb
from dualmatch.methods.align import align
from dualmatch.methods.update import Kind, kind_of
from dualmatch.review.export import pairs_tsv
from dualmatch.review.session import Session
from dualmatch.runs.companion import ExplainedRun, companion_of
from dualmatch.runs.options_file import call_options_of, old_options_of, record_of
from dualmatch.runs.outputs import Outputs
from dualmatch.runs.record import Cost, read_record

logger = logging.getLogger(__name__)
State = Literal["idle", "running", "done", "failed"]
Seeds = list[tuple[str, str]]
ForbiddenPairs = list[tuple[str, str | None]]


@dataclass(frozen=True)
class Change:
    """A source entity whose link is not what it was."""

    kind: Kind
    source: int
    before: int | None
    after: int | None
    confidence: float | None  # of the link; None where there is none
    by_decision: bool
    is_rejected: bool  # the link that it had

    @property
    def why(self) -> str:
        return "decided" if self.by_decision else "the old one was rejected" if self.is_rejected else self.kind


@dataclass(frozen=True)
class RealignmentPlan:
    """What a new run would take in, and how long it would be; None where that is not known."""

    accepted: int
    unseen: int  # of these, accepted at once with others
    rejected: int
    alone: int
    kept: int  # seeds and forbidden pairs of the first run, about which nothing else was decided
    disputed: int  # left out
    seconds: float | None

    @property
    def is_empty(self) -> bool:
        """Whether nothing was decided that a run could take in."""
        return not (self.accepted or self.rejected or self.alone)

    @property
    def in_words(self) -> str:
        """How long, in words.

        >>> [RealignmentPlan(1, 0, 0, 0, 0, 0, seconds).in_words for seconds in (2.2, 95.0, None)]
        ['a few seconds', 'about 2 minutes', 'as long as the first one']
        """
        if self.seconds is None:
            return "as long as the first one"
        if self.seconds < 10:
            return "a few seconds"
        if self.seconds < 90:
            return f"about {round(self.seconds, -1):.0f} seconds"
        return f"about {counted(round(self.seconds / 60), 'minute')}"


@dataclass
class Realignment:
    """A run in the background, and the result of the last one."""

    session: Session
    links: Path  # where the new links go; it was free when the review began, and only this review writes there
    state: State = "idle"
    stage: str = ""
    done: int = 0
    total: int = 0
    words: str = ""
    changes: list[Change] = field(default_factory=list)
    seconds: float | None = None  # that the last run took
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _thread: threading.Thread | None = None

    def plan(self) -> RealignmentPlan:
        """What a run would take in if it began now."""
        basis, now = self.session.first.basis, self.session.log.state
        seeds, forbidden = decided(basis, now)
        accepted = {*seeds} & {*now.accepted}
        unseen = sum(now.of(name).unseen for name, _ in accepted)
        by_hand = [pair for pair in forbidden if pair in {*now.forbidden}]
        alone = sum(target is None for _, target in by_hand)
        kept = len(seeds) + len(forbidden) - len(accepted) - len(by_hand)
        seconds = _seconds_of(self.session.path) if self.seconds is None else self.seconds
        disputed = sum(name in basis.source.entity_rows for name in now.disputed)
        return RealignmentPlan(len(accepted), unseen, len(by_hand) - alone, alone, kept, disputed, seconds)

    def start(self) -> bool:
        """Start, unless a run is in progress already."""
        with self._lock:
            if self.state == "running":
                return False
            self.state, self.stage, self.done, self.total, self.words = "running", "", 0, 0, ""
            self._thread = threading.Thread(target=self._run, name="align again", daemon=True)
            self._thread.start()
            return True

    def wait(self, seconds: float) -> None:
        """Wait until the run has ended."""
        if self._thread is not None:
            self._thread.join(seconds)

    def _progress(self, stage: str, done: int, total: int, _note: str) -> None:
        self.stage, self.done, self.total = stage, done, total

    def _run(self) -> None:
        try:
            self._align()
        except DualMatchError as error:
            self.words, self.state = str(error), "failed"
        except Exception as error:
            logger.exception("align again")
            self.words, self.state = f"a bug in dualmatch: {error!r}; please report it", "failed"

    def _align(self) -> None:
        start = time.perf_counter()
        session, first, basis = self.session, self.session.first, self.session.first.basis
        seeds, forbidden = decided(basis, session.log.state)
        alignment = align(
            basis.source,
            basis.target,
            seeds,
            forbid=forbidden,
            literals=basis.literals,
            progress=self._progress,
            config=first.config,
        )
        cost = Cost((), {**alignment.seconds, "total": time.perf_counter() - start}, peak_mb())
        kept_seeds, kept_forbidden = self._kept(seeds, forbidden)
        call = replace(call_options_of(session.path), seeds=kept_seeds, forbid=kept_forbidden, reasons=False)
        Outputs(self.links, explained=True, call=call).write(alignment, first.spec, first.inputs, cost)
        before = session.run.basis
        after = replace(basis_of(alignment), source_ids=basis.source_ids, target_ids=basis.target_ids)
        self.stage, self.done, self.total = "reasons", 0, 0
        session.look_at(ExplainedRun(after, first.options, first.spec, first.inputs))
        self.changes = changes_between(before, after)
        self.words = (
            f"{counted(len(after.pairs), 'link')}, {len(before.pairs):,} before; {len(self.changes):,} changed; "
            f"written to {self.links.name}"
        )
        self.seconds = time.perf_counter() - start
        self.state = "done"

    def _kept(self, seeds: Seeds, forbidden: ForbiddenPairs) -> list[Path | None]:
        """Files with exactly what the run was given, so that its run file repeats the same run.

        Decisions continue, and the first run may have had seeds of its own: no existing file holds both.
        """
        files = given_of(self.links)
        try:
            texts = pairs_tsv(seeds), pairs_tsv(forbidden)
        except OutputError:  # a name that no line can hold
            return [self.session.log.path.resolve()] * 2
        for path, text in zip(files, texts, strict=True):
            write_text(path, text.decode())
        return [path.resolve() if text else None for path, text in zip(files, texts, strict=True)]


def _seconds_of(links: Path) -> float | None:
    """How long a run took but for reading its files, which a new run need not."""
    record = read_record(links)
    if record is None or record.outcome is None or "total" not in record.outcome.cost.seconds:
        return None
    seconds = record.outcome.cost.seconds
    return seconds["total"] - seconds.get("read", 0.0)


def given_of(links: Path) -> tuple[Path, Path]:
    """The files with the seeds and the forbidden pairs of a new run.

    >>> [path.name for path in given_of(Path("links.reviewed.tsv"))]
    ['links.reviewed.tsv.seeds.tsv', 'links.reviewed.tsv.forbidden.tsv']
    """
    return links.with_name(f"{links.name}.seeds.tsv"), links.with_name(f"{links.name}.forbidden.tsv")


def decided(basis: ExplanationBasis, now: DecisionState) -> tuple[Seeds, ForbiddenPairs]:
    """Seeds and forbidden pairs by name: decisions, and those of the first run as far as nothing else was decided."""
    source, target = basis.source, basis.target
    given = [(source.entities[s], target.entities[t]) for s, t in basis.pairs[basis.is_seed].tolist()]
    accepted = [(s, t) for s, t in now.accepted if s in source.entity_rows and t in target.entity_rows]
    taken = {t for _, t in accepted}
    undisputed = [(s, t) for s, t in given if now.of(s).status in ("open", "skipped") and t not in taken]
    forbidden = [(s, t) for s, t in now.forbidden if s in source.entity_rows and (t is None or t in target.entity_rows)]
    known = {*accepted, *undisputed}
    known_sources = {s for s, _ in known}
    for s, t in basis.forbidden.pairs.tolist():
        pair = source.entities[s], None if t < 0 else target.entities[t]
        if pair not in known and not (pair[1] is None and pair[0] in known_sources):
            forbidden.append(pair)
    return sorted(known), forbidden


def changes_between(before: ExplanationBasis, after: ExplanationBasis) -> list[Change]:
    """Links that are new, gone or go to another partner; what the run found itself first, the surest first."""
    old, new = dict(before.pairs.tolist()), dict(after.pairs.tolist())
    sure = dict(zip(after.pairs[:, 0].tolist(), after.confidence.tolist(), strict=True))
    given = {*after.pairs[after.is_seed, 0].tolist(), *after.forbidden.alone.tolist()}
    forbidden = {(source, target) for source, target in after.forbidden.pairs.tolist()}
    changes = []
    for source in sorted({*old, *new}):
        was, now = old.get(source), new.get(source)
        if was != now:
            is_rejected = (source, was) in forbidden
            by_decision = source in given or (is_rejected and now is None)
            changes.append(Change(kind_of(was, now), source, was, now, sure.get(source), by_decision, is_rejected))
    return sorted(changes, key=lambda change: (change.by_decision, -(change.confidence or 0.0)))


def free_name(links: Path) -> Path:
    """A free file name beside the old links, for those of the new run.

    >>> free_name(Path("/nowhere/links.sssom.tsv")).name
    'links.reviewed.sssom.tsv'
    """
    end = next((end for end in LINK_EXTENSIONS if links.name.endswith(end)), "")
    stem = links.name.removesuffix(end)
    for number in count(1):
        path = links.with_name(f"{stem}.reviewed{'' if number == 1 else f'-{number}'}{end}")
        beside = companion_of(path), old_options_of(path), record_of(path), *given_of(path)
        if not any(each.exists() for each in (path, *beside)):
            break
    return path
