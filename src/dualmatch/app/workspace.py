"""The folder of the app: a numbered folder for each pair of files. What is known of a pair is in its files only.

FOLDER/lock               which process serves it
FOLDER/1/pair.json        the two files, their names and how to read them; ``dualmatch align --config`` takes it
FOLDER/1/source/…         the file of the source, and target/… that of the target
FOLDER/1/seeds-….tsv      known pairs to begin with, where they were given
FOLDER/1/true_pairs.tsv   where the truth is known: of the sample
FOLDER/1/understood.json  what was understood of the files (`dualmatch.app.understanding`)
FOLDER/1/run/…            the run (``dualmatch align --run``): links, record, decisions
FOLDER/1/….log            what the last child process printed
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any, Final, Literal, Self

from dualmatch.errors import ConfigError, DualMatchError, InputError, OutputError
from dualmatch.files.atomic import sync, write_text
from dualmatch.files.fingerprint import sha256_of
from dualmatch.files.locking import LOCK, locked, writer_of
from dualmatch.files.plain_data import read_json
from dualmatch.files.temporary import folder_beside
from dualmatch.links.decisions import read_decisions
from dualmatch.readers.read_options import Names
from dualmatch.review.serve import decisions_of
from dualmatch.runs.folder import links_of
from dualmatch.runs.options_file import RunOptions, options_from, record_of
from dualmatch.runs.record import RunRecord, read_folder_record
from dualmatch.simulate.chronicle import (
    ARCHIVE_FILE,
    REGISTER_FILE,
    ChronicleWorld,
    simulate_chronicle,
    write_chronicle,
)
from dualmatch.simulate.people import TRUE_PAIRS

State = Literal["new", "running", "interrupted", "finished"]

DEFAULT_FOLDER: Final = "dualmatch-app"
SIDES: Final = ("source", "target")
PAIR: Final = "pair.json"
RUN: Final = "run"
LONGEST_CALLED: Final = 200
NUMBER: Final = re.compile("[1-9][0-9]{0,8}")
_KEPT: Final = re.compile(r"(source|target)/[A-Za-z0-9_-]{1,60}(\.[a-z0-9]{1,10}){1,2}")
_REVIEWED: Final = re.compile(r"links\.reviewed(-\d+)?\.tsv")  # as `dualmatch.review.realign.free_name` calls them


class NoPairError(InputError):
    """There is no pair of that number."""


@dataclass(frozen=True)
class Pair:
    """Two files to align, or that were aligned."""

    folder: Path

    @property
    def number(self) -> int:
        return int(self.folder.name)

    @cached_property
    def _about(self) -> dict[str, Any]:
        path = self.folder / PAIR
        try:
            about = read_json(path)
            if len(about["files"]) != 2 or not all(map(_KEPT.fullmatch, about["files"])):
                raise ValueError("it names no two files of its folder")
            return dict(about)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"{path}: cannot be read ({error}); remove {self.folder}, and give both files again"
            ) from None

    @property
    def files(self) -> tuple[Path, Path]:
        """The files of the source and of the target, relative to the folder."""
        source, target = self._about["files"]
        return Path(source), Path(target)

    @property
    def names(self) -> tuple[str, str]:
        """What the files were called by whoever gave them; text of theirs, to be made safe to show."""
        match self._about.get("called"):
            case [str(source), str(target)] if source and target:
                return source[:LONGEST_CALLED], target[:LONGEST_CALLED]
        return self.files[0].name, self.files[1].name

    @cached_property
    def options(self) -> RunOptions:
        """How to read and align the files; paths are absolute."""
        try:
            return options_from(self._about.get("options", {}), self.folder)
        except (ConfigError, AttributeError, TypeError) as error:
            raise InputError(f"{self.folder / PAIR}: has invalid options ({error}); fix it") from None

    @property
    def seeds_called(self) -> str:
        """What the file of known pairs was called; empty where there is none."""
        path, called = self.options.call.seeds, self._about.get("seeds")
        return "" if path is None else called[:LONGEST_CALLED] if isinstance(called, str) and called else path.name

    def with_options(self, options: RunOptions, seeds_called: str | None = None) -> Pair:
        """The same with other options, once they are on the disk."""
        called = self.seeds_called if seeds_called is None else seeds_called
        _write_about(self.folder, self.files, self.names, options, called)
        return Pair(self.folder)

    def with_choices(self, names: Names, same_ids: bool, seeds: tuple[Path, str] | None, keep: bool) -> Pair:
        """The same with other choices of what to compare and what to begin with.

        `seeds`: a file of known pairs, which is moved here, and what it was called; without one, that of before stays
        if `keep`.
        """
        before, called = self.options, self.seeds_called
        place = before.call.seeds if keep else None
        if seeds is not None:
            file, called = seeds
            # A name of its own for each content: a run is resumed only with the pairs that it was begun with.
            place = self.folder / f"seeds-{sha256_of(file)[:12]}{''.join(file.suffixes)}"
            sync(file)
            file.rename(place)
            sync(self.folder)
        source, target = (replace(each, names=None if names == "auto" else names) for each in before.reading)
        call = replace(before.call, seeds=place, same_ids=same_ids)
        changed = self.with_options(RunOptions(before.options, (source, target), call), called if place else "")
        for old in self.folder.glob("seeds-*"):
            if old != place:
                old.unlink(missing_ok=True)
        return changed

    @property
    def gold(self) -> Path | None:
        """The true pairs, where they are known."""
        path = self.folder / TRUE_PAIRS
        return path if path.is_file() else None

    @property
    def run(self) -> Path:
        return self.folder / RUN

    @property
    def record(self) -> RunRecord | None:
        """The record of the run; None where it has not begun."""
        return read_folder_record(self.run)

    @property
    def state(self) -> State:
        if writer_of(self.run) is not None:
            return "running"
        with suppress(DualMatchError):  # not a valid record: to be replaced
            record = self.record
            if record is not None:
                return "finished" if record.state == "finished" else "interrupted"
        return "new"

    @property
    def links(self) -> Path:
        """The links of the finished run; an `InputError` where there are none."""
        if self.state != "finished":
            raise InputError("These two files are not aligned yet.")
        return links_of(self.run)

    @property
    def results(self) -> list[Path]:
        """The links of the finished run, and of those that a review began after it, in their order."""
        first = self.links
        found = [path for path in self.run.iterdir() if _REVIEWED.fullmatch(path.name) and record_of(path).is_file()]
        written = {path: path.stat().st_mtime_ns for path in (first, *found)}
        return [first, *sorted((path for path in found if written[path] >= written[first]), key=written.__getitem__)]

    @property
    def is_reviewed(self) -> bool:
        """Whether anything was decided about the links."""
        with suppress(DualMatchError):
            path = decisions_of(self.links)
            return path.exists() and bool(read_decisions(path).decided)
        return False


def _write_about(
    folder: Path, files: tuple[Path, Path], called: tuple[str, str], options: RunOptions, seeds_called: str = ""
) -> None:
    about: dict[str, Any] = {"files": [str(file) for file in files]}
    if any(name != file.name for name, file in zip(called, files, strict=True)):
        about["called"] = called
    if seeds_called:
        about["seeds"] = seeds_called
    about["options"] = options.as_dict(folder)
    write_text(folder / PAIR, json.dumps(about, ensure_ascii=False, indent=1) + "\n")


class Workspace:
    """All pairs of a folder, which this process has to itself."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._adding = threading.Lock()

    @classmethod
    @contextmanager
    def opened(cls, folder: Path | None) -> Iterator[Self]:
        """The workspace in a folder, by default a new one in the working directory; an empty one is removed again."""
        folder = _free_folder() if folder is None else folder
        is_new = not os.path.exists(folder)
        try:
            folder.mkdir(exist_ok=True, parents=True)
        except OSError as error:
            raise OutputError(f"{folder}: cannot be used as a folder ({error.strerror}); choose another") from None
        with locked(folder):
            try:
                yield cls(folder.resolve())
            finally:
                if is_new and set(os.listdir(folder)) == {LOCK}:
                    with suppress(OSError):
                        os.unlink(folder / LOCK)
                        folder.rmdir()

    def pairs(self) -> list[Pair]:
        """All pairs, the newest first."""
        found = [Pair(self.folder / name) for name in os.listdir(self.folder) if NUMBER.fullmatch(name)]
        return sorted((each for each in found if (each.folder / PAIR).is_file()), key=lambda each: -each.number)

    def pair(self, number: int) -> Pair:
        """A pair by its number; a `NoPairError` where there is none."""
        pair = Pair(self.folder / str(number))
        if not NUMBER.fullmatch(str(number)) or not (pair.folder / PAIR).is_file():
            raise NoPairError("There are no such files here.")
        return pair

    @contextmanager
    def draft(self) -> Iterator[Path]:
        """A folder for files that arrive, removed at the end of the block unless `add` has made a pair of it."""
        with folder_beside(self.folder / "pair") as path:
            for side in SIDES:
                (path / side).mkdir()
            yield path

    def add(self, draft: Path, files: tuple[Path, Path], called: tuple[str, str] | None = None) -> Pair:
        """Make a pair of a draft; it is on the disk as a whole, or not at all."""
        _write_about(draft, files, called or (files[0].name, files[1].name), RunOptions())
        for path in (*(draft / file for file in files), *(draft / side for side in SIDES), draft):
            sync(path)
        with self._adding:
            taken = [int(name) for name in os.listdir(self.folder) if NUMBER.fullmatch(name)]
            place = self.folder / str(max(taken, default=0) + 1)
            draft.rename(place)
            sync(self.folder)
        return Pair(place)

    def add_sample(self) -> Pair:
        """The pair of `dualmatch demo`: invented people, places and offices, with the truth known."""
        with self.draft() as draft:
            drawn = write_chronicle(simulate_chronicle(ChronicleWorld()), draft / "drawn")
            files = Path("source", ARCHIVE_FILE), Path("target", REGISTER_FILE)
            for file in files:
                (drawn / file.name).rename(draft / file)
            (drawn / TRUE_PAIRS).rename(draft / TRUE_PAIRS)
            for left in drawn.iterdir():
                left.unlink()
            drawn.rmdir()
            return self.add(draft, files)


def _free_folder() -> Path:
    names = (DEFAULT_FOLDER if number == 1 else f"{DEFAULT_FOLDER}-{number}" for number in count(1))
    return Path(next(name for name in names if not os.path.lexists(name)))
