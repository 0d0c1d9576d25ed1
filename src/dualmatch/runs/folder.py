"""The folder of a run: ``dualmatch align … --run FOLDER``. It can be resumed and, once finished, read and updated.

FOLDER/lock            which process works in it; the kernel releases it when that process ends
FOLDER/run.json        the record: what the run was begun with, its finished stages with their hashes; written last
FOLDER/stages/…        a file for each finished stage (`dualmatch.runs.graph_pair`, `dualmatch.runs.stages` …)
FOLDER/links.tsv …     the results, unless they go elsewhere
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Self, TypeVar

from dualmatch.channels.relational import Checkpoint, CheckpointStore
from dualmatch.decode.assignment import FoundPairs
from dualmatch.errors import InputError, OutputError
from dualmatch.files.atomic import sync
from dualmatch.files.fingerprint import Fingerprint
from dualmatch.files.locking import LOCK, locked, locked_for_reading
from dualmatch.files.npz import load_arrays, reading_stage, write_arrays
from dualmatch.files.temporary import remove_leftovers
from dualmatch.graph.arrays import Ids
from dualmatch.methods.evidence.confidence import Confidence
from dualmatch.methods.evidence.rounds import Rounds
from dualmatch.methods.evidence.search import Found
from dualmatch.methods.evidence.state import Round, RoundState
from dualmatch.methods.run_store import CheckpointFile
from dualmatch.runs.graph_pair import GraphPair, read_graph_pair, write_graph_pair
from dualmatch.runs.record import (
    MANIFEST,
    RECORD,
    Outcome,
    RunRecord,
    Stage,
    check_free,
    check_version,
    path_within,
    read_folder_record,
    write_record,
)
from dualmatch.runs.stages import (
    check_state,
    read_confidence,
    read_rounds,
    read_search,
    write_confidence,
    write_rounds,
    write_search,
)

logger = logging.getLogger(__name__)

STAGES: Final = "stages"
LINKS: Final = "links.tsv"
"""The default name of the links."""
_RECORDS: Final = (RECORD, MANIFEST)
Content = TypeVar("Content")


class RunFolder:
    """A run's folder, locked for writing or for reading: a `dualmatch.methods.run_store.RunStore` in files."""

    def __init__(self, path: Path, record: RunRecord | None) -> None:
        self.path, self._record = path, record
        self._results: tuple[Path, ...] = ()
        self._graphs: GraphPair | None = None

    @classmethod
    @contextmanager
    def opened(cls, path: Path, *, resume: bool = False, force: bool = False) -> Iterator[Self]:
        """The folder of a run to begin or to resume; made where it does not exist.

        Refused where another process works in it, there is nothing to resume, a run would be lost, it is the folder of
        something else, or it cannot be made or written into.
        """
        if resume and force:
            raise InputError("--resume continues a run and --force starts it again; give one of them")
        _check_kind(path, resume)
        is_new = not os.path.exists(path)
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"{path}: cannot be made ({error.strerror}); choose another folder") from error
        with locked(path):
            try:
                record = None if force else read_folder_record(path)
                check_free(path, record, resume)
                yield cls(path, record)
            finally:
                if not any(os.path.exists(path / name) for name in _RECORDS):  # nothing has begun: leave nothing behind
                    with suppress(OSError):
                        os.unlink(path / LOCK)
                        if is_new:
                            path.rmdir()

    @classmethod
    @contextmanager
    def read(cls, path: Path) -> Iterator[Self]:
        """The folder of a run that is only read; any number of processes can do so at the same time.

        An `InputError` where another process is writing into it, or where its record is invalid.
        """
        with locked_for_reading(path):
            yield cls(path, read_folder_record(path))

    @property
    def own_files(self) -> tuple[Path, ...]:
        """Files that no result may replace."""
        return self.path / RECORD, self.path / LOCK

    @property
    def record(self) -> RunRecord:
        if self._record is None:
            raise ValueError("the run has not begun yet")
        return self._record

    @property
    def has_begun(self) -> bool:
        """Whether there is a run to resume."""
        return self._record is not None

    @property
    def last_stage(self) -> str | None:
        """The last finished stage, in words; None where there is none yet."""
        stages = [] if self._record is None else [*self._record.stages.items()]
        return f"{stages[-1][0]} {stages[-1][1].number or ''}".strip() if stages else None

    def begin(self, begun: RunRecord, results: Sequence[Path] = ()) -> None:
        """Begin the run, or resume it; `results` will be written in the end. An `InputError` as for `check`.

        A run that is replaced is lost from here on: begin once the input was read.
        """
        self.check(begun)
        if self._record is None:
            self._keep(begun)
            (self.path / MANIFEST).unlink(missing_ok=True)  # of the run that this one replaces
        self._results = tuple(results)
        self._tidy()

    def _keep(self, record: RunRecord) -> None:
        write_record(record, self.path / RECORD)
        self._record = record

    def check(self, now: RunRecord) -> None:
        """Refuse a run on what the one that it replaces has kept, and to resume under other terms or on other inputs.

        An `InputError` with every option and every input that is not what it was.
        """
        for name in now.hashes:
            if Path(name).is_relative_to((self.path / STAGES).resolve()):
                raise InputError(f"{name}: is kept by the run that this one would replace; give --run another folder")
        if self._record is None:
            return
        record = self._record
        check_version(self.path, record.version)
        if record.verb == "update":
            raise InputError(f"{self.path}: holds an update, which cannot be resumed; {record.way_on}")
        changed = record.differences(now)
        for name in dict.fromkeys((*record.hashes, *now.hashes)) if not changed else ():
            if now.hashes.get(name) != record.hashes.get(name):
                gone = "is gone" if now.hashes.get(name) is None else "has changed"
                changed.append(f"{name}: {gone} since the run started; bring it back as it was")
        if changed:
            listed = "\n".join(f"  {each}" for each in changed)
            raise InputError(
                f"{self.path}: the run cannot be resumed like this; give what it had, or start it again with --force "
                f"instead of --resume:\n{listed}"
            )

    def _tidy(self) -> None:
        """Remove what a killed process left: temporary files, and stages that were not finished."""
        folder = self.path / STAGES
        named = {stage.file for stage in self.record.stages.values()}
        for file in [*folder.iterdir()] if folder.is_dir() else []:
            if f"{STAGES}/{file.name}" not in named and file.suffix in (".npz", ".part") and not file.is_dir():
                with suppress(OSError):
                    file.unlink()
        for path in (self.path / RECORD, *self._results):
            remove_leftovers(Path(os.path.realpath(path)))

    @contextmanager
    def keeping(self, name: str, number: int = 0, done_with: str | None = None) -> Iterator[Path]:
        """Give a path to write a stage to, which counts once all is on the disk; then remove the one it replaces.

        Another stage, which led to this one, is removed with it.
        """
        before = [self.record.stages.get(each) for each in (name, done_with) if each is not None]
        file = self.path / STAGES / (f"{name}-{number}.npz" if number else f"{name}.npz")
        try:
            if not file.parent.is_dir():
                file.parent.mkdir()
                sync(self.path)
        except OSError as error:
            raise OutputError(f"{file.parent}: cannot be made ({error.strerror}); nothing was changed") from error
        yield file
        stage = Stage(f"{STAGES}/{file.name}", Fingerprint.of(file), number)
        self._keep(self.record.with_stage(name, stage, done_with))
        logger.info("%s: kept %s", self.path, self.last_stage)
        for each in before:
            if each is not None and each.file != stage.file:
                with suppress(OSError):
                    (self.path / each.file).unlink()

    def kept(self, name: str, read: Callable[[Path], Content]) -> Content | None:
        """A stage that was kept; None where it was not, or where its file has changed: then it is made again."""
        stage = self.record.stages.get(name)
        if stage is None:
            return None
        path = self.path / stage.file
        if not stage.content.fits(path):
            problem = "is damaged" if path.exists() else "is gone"
            logger.warning("%s: %s; going back to the stage before it", path, problem)
            return None
        with reading_stage(path):
            return read(path)

    def finish(self, outcome: Outcome | None = None) -> None:
        """Record that all results are written, and how the run went."""
        results = {path_within(self.path, path): Fingerprint.of(path) for path in self._results}
        self._keep(self.record.finished(results, outcome))

    def is_finished(self) -> bool:
        """Whether the run is finished and its results exist; an `InputError` where one was changed since."""
        if self.record.state != "finished":
            return False
        places = {self.path / name: content for name, content in self.record.results.items()}
        changed = [
            f"{path}: has changed since the run was finished; remove it, and --resume writes it again"
            for path, content in places.items()
            if path.exists() and not content.fits(path)
        ]
        if changed:
            raise InputError("\n".join(changed))
        return all(path.exists() for path in places)

    # What the stages hold.

    def kept_graphs(self) -> GraphPair | None:
        self._graphs = self.kept("graphs", read_graph_pair)
        return self._graphs

    def keep_graphs(self, pair: GraphPair) -> None:
        self._graphs = pair
        with self.keeping("graphs") as path:
            write_graph_pair(pair, path)

    def kept_round(self) -> Rounds | None:
        return self.kept("round", self._read_rounds)

    def _read_rounds(self, path: Path) -> Rounds:
        rounds = read_rounds(path)
        if self._graphs is not None and rounds.log:  # of 0.1.0 only the pairs are known
            check_state(rounds.state, (self._graphs.source, self._graphs.target), rounds.first_pairs)
        return rounds

    def keep_round(self, state: RoundState, log: tuple[Round, ...], first_pairs: Ids) -> None:
        with self.keeping("round", len(log), done_with="search") as path:
            write_rounds(state, log, first_pairs, path)

    def kept_search(self, number: int) -> Found | None:
        stage = self.record.stages.get("search")
        return self.kept("search", self._read_search) if stage is not None and stage.number == number + 1 else None

    def _read_search(self, path: Path) -> Found:
        found, graphs = read_search(path), self._graphs
        if graphs is not None and found.similarity.shape != (graphs.source.n_entities, graphs.target.n_entities):
            raise ValueError("it is about other graphs")
        return found

    def keep_search(self, found: Found, number: int) -> None:
        if self.record.verb == "update":  # which is not resumed
            return
        with self.keeping("search", number + 1) as path:
            write_search(found, path)

    def kept_confidence(self) -> Confidence | None:
        return self.kept("outcome", read_confidence)

    def keep_confidence(self, confidence: Confidence) -> None:
        with self.keeping("outcome") as path:
            write_confidence(confidence, path)

    def pseudo_seeds(self) -> FoundPairs | None:
        return self.kept("pseudo-seeds", _read_found)

    def keep_pseudo_seeds(self, found: FoundPairs) -> None:
        with self.keeping("pseudo-seeds") as path:
            write_arrays(path, {}, {"pairs": found.pairs, "confidence": found.confidence})

    @property
    def training(self) -> CheckpointStore:
        return _Training(self)


def _read_found(path: Path) -> FoundPairs:
    stored = load_arrays(path)
    pairs = stored.array("pairs", "whole", None, 2)
    return FoundPairs(pairs, stored.array("confidence", "real", len(pairs)))


class _Training:
    """Checkpoints of training as a stage."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder

    def read(self) -> Checkpoint | None:
        return self._folder.kept("training", lambda path: CheckpointFile(path).read())

    def write(self, checkpoint: Checkpoint) -> None:
        with self._folder.keeping("training", checkpoint.epoch) as path:
            CheckpointFile(path).write(checkpoint)


def _check_kind(path: Path, resume: bool) -> None:
    """Refuse what is no folder, and the folder of something else: a run's files must not be mixed with others."""
    if os.path.exists(path) and not os.path.isdir(path):
        raise InputError(f"{path}: is not a folder; give a run a folder of its own")
    if os.path.islink(path / STAGES):  # files in it are removed
        raise InputError(f"{path / STAGES}: is a link to another folder; give a run a folder of its own")
    held = set(os.listdir(path)) if os.path.isdir(path) else set()
    if resume and not held & {*_RECORDS, LOCK}:
        raise InputError(f"{path}: no run was started in it, so there is nothing to resume; leave --resume out")
    strange = sorted(name for name in held - {*_RECORDS, LOCK, STAGES} if not name.startswith(f".{RECORD}."))
    if strange and held.isdisjoint(_RECORDS):
        shown = ", ".join(strange[:3]) + (" …" if len(strange) > 3 else "")
        raise InputError(f"{path}: holds other files ({shown}); give a run a folder of its own")


def links_of(path: Path) -> Path:
    """The file of links: the path itself, or that of the finished run whose folder it is.

    An `InputError` where it is the folder of no run, or of one that is not finished.
    """
    if not os.path.isdir(path):
        return path
    record = read_folder_record(path)
    if record is None:
        raise InputError(f"{path}: is a folder, but not of a run; give a file of links, or the folder of align --run")
    check_finished(path, record)
    return path / record.outputs["links"]


def check_finished(path: Path, record: RunRecord) -> None:
    """Refuse a run that is not."""
    if record.state != "finished":
        raise InputError(f"{path}: its run is not finished; {record.way_on}")
