"""Child processes: reading and aligning take long, and the pages must keep answering; and how far they are."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from dualmatch.app.workspace import PAIR, RUN, Pair
from dualmatch.errors import DualMatchError, InputError
from dualmatch.files.locking import writer_of
from dualmatch.methods.evidence.rounds import MAX_ROUNDS
from dualmatch.runs.options_file import RunOptions
from dualmatch.runs.record import RECORD

_PATIENCE: Final = 20.0
"""Seconds that a process has to end in order when it is asked to."""
_LONGEST_LOG: Final = 20_000
_PREFIX: Final = "dualmatch: "

StepState = Literal["done", "now", "to come"]


class NotOursError(InputError):
    """The run belongs to a process that this app cannot end."""


class Child:
    """A process that works in the folder of a pair; what it prints goes to a log there."""

    def __init__(self, pair: Pair, name: str, words: list[str]) -> None:
        self.log = pair.folder / f"{name}.log"
        handle = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
        try:
            # A session of its own: Ctrl-C in the terminal goes to the app, which ends its children in order. -P: no
            # module is looked for in the folder, whose files are somebody else's.
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", *words],
                cwd=pair.folder,
                stdin=subprocess.DEVNULL,
                stdout=handle,
                stderr=handle,
                start_new_session=True,
            )
        finally:
            os.close(handle)

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def end(self) -> None:
        """Ask it to end, and kill it if it does not."""
        with suppress(ProcessLookupError):
            self._process.terminate()
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Children:
    """The child processes of the app: at most one of a kind for each pair."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._of: dict[tuple[int, str], Child] = {}

    def understand(self, pair: Pair) -> None:
        """Read both files and write down what was understood; whatever is being read already is left."""
        self._start(pair, "understood", ["dualmatch.app.understanding"], anew=True)

    def align(self, pair: Pair) -> None:
        """Align, or resume what was interrupted under the same options; nothing where that is under way."""
        state, option = pair.state, ["--force"] if (pair.run / RECORD).exists() else []
        if state == "running":
            return
        if state == "interrupted" and (record := pair.record) is not None:
            option = ["--resume"] if _choices(record.run_options) == _choices(pair.options) else option
        source, target = map(str, pair.files)
        self._start(pair, "align", ["dualmatch", "align", source, target, "--run", RUN, "--config", PAIR, *option])

    def _start(self, pair: Pair, name: str, words: list[str], anew: bool = False) -> None:
        with self._lock:
            before = self._of.get((pair.number, name))
            if before is not None and before.is_running:
                if not anew:
                    return
                before.end()
            self._of[pair.number, name] = Child(pair, name, words)

    def is_running(self, pair: Pair, name: str) -> bool:
        with self._lock:
            child = self._of.get((pair.number, name))
        if child is not None and child.is_running:
            return True
        return name == "align" and pair.state == "running"  # begun by an app that was killed

    def has_ended(self, pair: Pair, name: str) -> bool:
        """Whether a process of this app has run and is over."""
        with self._lock:
            child = self._of.get((pair.number, name))
        return child is not None and not child.is_running

    def cancel(self, pair: Pair) -> None:
        """End the run of a pair; what it has finished is kept. A `NotOursError` where it is not ours to end."""
        with self._lock:
            child = self._of.get((pair.number, "align"))
        if child is not None and child.is_running:
            child.end()
        elif (process := writer_of(pair.run)) is not None and not _asked_to_end(process):
            raise NotOursError(
                "This run was not started by dualmatch on this machine, or by another user, so it cannot be cancelled "
                "here; end it where it was started."
            )

    def end_all(self) -> None:
        with self._lock:
            for child in self._of.values():
                if child.is_running:
                    child.end()


def _asked_to_end(process: int) -> bool:
    """Ask a process to end; false where that cannot be asked: of another user's, or one of another machine (0)."""
    if not process:  # to the system, 0 is this process and all its children
        return False
    try:
        with suppress(ProcessLookupError):  # it has just ended by itself
            os.kill(process, signal.SIGTERM)
    except PermissionError:
        return False
    return True


def _choices(options: RunOptions) -> tuple[object, ...]:
    """What a run must have been begun with to be resumed; the record names what is compared, by default, too."""
    reading = [replace(each, names=each.names or "auto") for each in options.reading]
    return reading, options.call.seeds, options.call.same_ids


def words_of(log: Path) -> tuple[str, list[str]]:
    """What a process said: why it failed, where it did, and its notes and warnings."""
    try:
        with log.open("rb") as file:
            text = file.read(_LONGEST_LOG).decode("utf-8", "replace")
    except OSError:
        return "", []
    said, failed, failure = (
        text.partition(f"\n{_PREFIX}") if not text.startswith(_PREFIX) else ("", "x", text[len(_PREFIX) :])
    )
    if not failed and "Traceback (most recent call last)" in text:
        failure = f"a bug in dualmatch; please report it with what {log.name} says"
    return failure.strip(), [line for line in said.splitlines() if line.startswith(("note: ", "warning: "))]


@dataclass(frozen=True)
class Progress:
    """The steps of a run with their states, and how many of all small steps are done."""

    steps: tuple[tuple[str, StepState], ...]
    done: int
    total: int

    @property
    def words(self) -> str:
        """The step that is under way."""
        return next((words for words, state in self.steps if state == "now"), "Done")


def progress_of(pair: Pair) -> Progress:
    """How far a run is, by what its folder has kept: so it is known even after the app was restarted."""
    try:
        record = pair.record
    except DualMatchError:
        record = None
    stages = {} if record is None else record.stages
    rounds = stages["round"].number if "round" in stages else 0
    is_done = record is not None and record.state == "finished"
    names = (
        "Reading the files",
        "Weighing what the two share"
        + (f": round {rounds + 1} of at most {MAX_ROUNDS}" if rounds and "outcome" not in stages else ""),
        "Deciding and writing",
    )
    reached = 3 if is_done else 2 if "outcome" in stages else 1 if "graphs" in stages else 0
    states: list[StepState] = ["done" if at < reached else "now" if at == reached else "to come" for at in range(3)]
    done = (0, 1 + min(rounds, MAX_ROUNDS), MAX_ROUNDS + 1, MAX_ROUNDS + 2)[reached]
    return Progress(tuple(zip(names, states, strict=True)), done, MAX_ROUNDS + 2)
