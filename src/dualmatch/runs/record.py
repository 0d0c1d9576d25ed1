"""The record of a run: options, inputs with their hashes, finished stages, results, cost, and how it went.

``OUT.run.json`` lies beside the links; ``--config`` takes it. A run with a folder keeps ``FOLDER/run.json`` besides,
which is replaced as a whole after every stage: a stage counts only once the record names its file with its hash.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal, Self

import polars as pl
from pydantic import TypeAdapter

from dualmatch.config import Config
from dualmatch.engine import usable_cores
from dualmatch.errors import ConfigError, InputError, in_brief
from dualmatch.files.atomic import Transaction, write_text
from dualmatch.files.compressed import STANDARD_INPUT
from dualmatch.files.fingerprint import Fingerprint
from dualmatch.files.plain_data import read_json
from dualmatch.graph.profile import GraphProfile, profile_of
from dualmatch.methods.alignment import Alignment
from dualmatch.methods.evidence.state import Round
from dualmatch.methods.link_table import RELATION_COLUMNS, relation_table
from dualmatch.readers.read_options import ReadOptions
from dualmatch.runs.input_spec import InputSpec
from dualmatch.runs.options_file import CallOptions, RunOptions, config_of, options_from, options_of, record_of
from dualmatch.version import __version__

RECORD: Final = "run.json"
MANIFEST: Final = "manifest.json"
"""The record of a folder of 0.1.0."""
_FORMAT: Final = 2
_THREADS: Final = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_INVALID: Final = (ValueError, KeyError, TypeError, ConfigError, InputError)
_LARGEST: Final = 1e15
_STAGE_FILE: Final = re.compile(r"stages/[a-z-]+[0-9]*\.npz")
# How to show options of reading that have no plain default, and options that users type in another way.
_USUAL: Final = {
    "format": "by the names of the files",
    "columns": "guessed",
    "time_format": "ISO dates",
    "time_predicates": "the usual ones",
    "label_languages": "all",
}
_TYPED: Final = {
    "graphs": "graphs",
    "threads": "threads",  # of the machine
    "links": "-o",
    "literals": "--use-labels",
    "time_predicates": "--time-predicate",
    "label_languages": "--label-language",
    "namespaces": "--namespace",
}
State = Literal["running", "finished"]
Verb = Literal["align", "update"]


@dataclass(frozen=True)
class Stage:
    """A finished stage: its file in the folder, and what that must hold."""

    file: str
    content: Fingerprint
    number: int = 0  # how many are done, of stages that come again: searches, rounds and epochs

    def __post_init__(self) -> None:
        if not _STAGE_FILE.fullmatch(self.file):
            raise ValueError(f"{self.file[:80]!r} is not in stages/")


@dataclass(frozen=True)
class Cost:
    """How a run was called, and its time and memory."""

    command: tuple[str, ...] = ()  # empty where the run was no command
    seconds: Mapping[str, float] = field(default_factory=dict)  # by stage, with "total"
    peak_mb: float | None = None


@dataclass(frozen=True)
class Outcome:
    """How a run went; None is what its method does not have."""

    graphs: tuple[GraphProfile, GraphProfile]
    cost: Cost
    without_partner: float | None  # estimated share of the source entities
    rounds: tuple[Mapping[str, Any], ...] | None  # fields of `dualmatch.methods.evidence.state.Round`
    weights: Mapping[str, float] | None  # of the channels
    distances: Mapping[str, float] | None  # D of all weights that were tried
    relations: tuple[Mapping[str, Any], ...] | None  # rows of `relation_table`

    def __post_init__(self) -> None:
        """Refuse rows that a report could not draw."""
        check_rows("rounds", self.rounds or (), [each.name for each in fields(Round)])
        check_rows("relations", self.relations or (), ("score", "support"), ("source", "target", "direction"))

    @classmethod
    def of(cls, alignment: Alignment, cost: Cost) -> Self:
        return cls(
            (profile_of(alignment.source), profile_of(alignment.target)),
            cost,
            None if alignment.evidence is None else alignment.evidence.share_alone,
            None if alignment.rounds is None else tuple(asdict(each) for each in alignment.rounds),
            None if alignment.weights is None else dict(alignment.weights),
            None if alignment.distances is None else dict(alignment.distances),
            None if alignment.relations is None else tuple(relation_table(alignment).iter_rows(named=True)),
        )


def check_rows(name: str, rows: Iterable[Mapping[str, Any]], numbers: Iterable[str], texts: Iterable[str] = ()) -> None:
    """A ValueError where a row has no finite number, or no text, in one of these columns."""
    for row in rows:
        for column in numbers:
            if not isinstance(row.get(column), int | float) or not abs(row[column]) < _LARGEST:
                raise ValueError(f"{name}: {column} is not a number in some row")
        for column in texts:
            if not isinstance(row.get(column), str):
                raise ValueError(f"{name}: {column} is not text in some row")


@dataclass(frozen=True)
class RunRecord:
    """What is known of a run."""

    options: dict[str, Any]  # as `RunOptions.as_dict` gives them
    folder: str = "."  # where the record was written: paths in it are relative to this
    inputs: dict[str, list[str]] = field(default_factory=dict)  # which files were read: `InputSpec.files_as_dict`
    hashes: dict[str, str | None] = field(default_factory=dict)  # `InputSpec.hashes`
    outputs: dict[str, str] = field(default_factory=dict)  # links and relations
    machine: dict[str, Any] = field(default_factory=dict)  # what trained vectors depend on
    verb: Verb = "align"  # an interrupted update is begun anew: it has no stages to resume from
    state: State = "running"
    stages: dict[str, Stage] = field(default_factory=dict)
    results: dict[str, Fingerprint] = field(default_factory=dict)  # by path
    outcome: Outcome | None = None
    version: str = __version__
    format: int = _FORMAT

    @classmethod
    def of(
        cls, config: Config, spec: InputSpec, call: CallOptions, outputs: Mapping[str, Path | None], folder: Path
    ) -> Self:
        """The record of a run that begins, for a file in this folder."""
        options = options_of(config)
        limit = options.pop("memory_limit")
        if "memory_limit" in config.model_fields_set:  # the default is the machine's, not the run's
            options["memory_limit"] = limit
        return cls(
            RunOptions(options, spec.options, call).as_dict(folder),
            str(folder.resolve()),
            spec.files_as_dict(),
            outputs={name: path_within(folder, path) for name, path in outputs.items() if path is not None},
            machine={"threads": _threads(), "memory_limit": limit},
        )

    @property
    def method(self) -> str:
        return str(self.options["method"])

    @cached_property
    def run_options(self) -> RunOptions:
        """The options, with absolute paths; a `ConfigError` where this version does not know one of reading or call."""
        return options_from(self.options, Path(self.folder))

    @property
    def config(self) -> Config:
        """A `ConfigError` where this version does not know an option."""
        return config_of(self.run_options.options)

    @property
    def spec(self) -> InputSpec:
        return InputSpec.from_dict({**self.inputs, "options": self.run_options.reading})

    @property
    def call(self) -> CallOptions:
        return self.run_options.call

    def terms(self) -> dict[str, Any]:
        """Every option; a run can be resumed only under the same. What differs by side is given for each."""
        inputs = {"graphs": self.inputs["paths"], "source": self.inputs["source"], "target": self.inputs["target"]}
        terms: dict[str, Any] = inputs | options_of(self.config) | self.call.as_dict() | self.outputs
        del terms["show_labels"]  # changes nothing but what people see
        source, target = (vars(ReadOptions()) | _USUAL | each.as_dict() for each in self.run_options.reading)
        for name, value in source.items():
            terms[name] = value if value == target[name] else {"source": value, "target": target[name]}
        if self.method == "evidence":
            del terms["memory_limit"]  # neither blocks nor threads change a byte of it
            return terms
        return terms | self.machine

    def differences(self, now: RunRecord) -> list[str]:
        """Each option that is not what it was, with both values."""
        before, after = self.terms(), now.terms()
        return [
            f"{_typed(name)}: {_shown(before.get(name))} when the run started, {_shown(after.get(name))} now"
            for name in dict.fromkeys((*before, *after))
            if before.get(name) != after.get(name)
        ]

    def with_stage(self, name: str, stage: Stage, done_with: str | None = None) -> RunRecord:
        """With one more stage, the last one of all, and without another."""
        others = {other: each for other, each in self.stages.items() if other not in (name, done_with)}
        return replace(self, stages={**others, name: stage})

    def finished(self, results: Mapping[str, Fingerprint], outcome: Outcome | None) -> RunRecord:
        return replace(self, state="finished", results=dict(results), outcome=outcome)

    @property
    def way_on(self) -> str:
        """How to complete a run that was interrupted, in words."""
        option = "--force" if self.verb == "update" else "--resume"
        return f"repeat the call of dualmatch {self.verb}, with {option}"


def write_record(record: RunRecord, path: Path, together: Transaction | None = None) -> None:
    """Replace a record."""
    write_text(path, json.dumps(asdict(record), ensure_ascii=False, allow_nan=False, indent=1) + "\n", together)


def relations_beside(links: Path) -> pl.DataFrame | None:
    """Which relations say the same, by the record beside an alignment file; None where it does not say."""
    record = read_record(links)
    known = None if record is None or record.outcome is None else record.outcome.relations
    return None if known is None else pl.DataFrame([dict(row) for row in known], schema=RELATION_COLUMNS)


def read_record(links: Path) -> RunRecord | None:
    """The record beside an alignment file; None where there is none, an `InputError` where it is not a record."""
    path = record_of(links)
    try:
        return _record(read_json(path))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); give a readable file") from None
    except _INVALID as error:
        raise InputError(f"{path}: cannot be read as the record of a run ({in_brief(error)}); align again") from None


def read_folder_record(folder: Path) -> RunRecord | None:
    """The record of a run's folder; None where there is none.

    That of a finished run of another version may have options that this one does not know: see `check_options`. An
    `InputError` where it is not a record, or is that of an unfinished run of another version.
    """
    path = next((path for path in (folder / RECORD, folder / MANIFEST) if path.exists()), folder / RECORD)
    try:
        record = _record(read_json(path))
        if record.version == __version__:
            _ = record.config, record.spec, record.terms()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); give a readable folder") from None
    except _INVALID as error:
        raise InputError(
            f"{path}: is not the record of a run ({in_brief(error)}); start the run again with --force"
        ) from None
    if record.state != "finished":
        check_version(folder, record.version)
    elif record.outputs.get("links") not in record.results:
        raise InputError(
            f"{path}: is not the record of a finished run (it names no links); start the run again with --force"
        )
    return record


def _record(data: dict[str, Any]) -> RunRecord:
    """A record from plain data; a ValueError, KeyError or TypeError where it is not one."""
    if data["format"] == 1:
        data = _of_manifest(data) if "terms" in data else _of_version_0_1_0(data)
    if data["format"] != _FORMAT:
        raise ValueError(f"format {data['format']}, which this version does not know")
    record = TypeAdapter(RunRecord).validate_python(data)
    _ = record.method
    return record


def _of_version_0_1_0(data: dict[str, Any]) -> dict[str, Any]:
    """A record of 0.1.0, which held how the run went and the method's options only."""
    outcome = {each.name: data[each.name] for each in fields(Outcome)}
    return {"options": data["config"], "outcome": outcome, "version": data["version"], "format": _FORMAT}


def _of_manifest(data: dict[str, Any]) -> dict[str, Any]:
    """A manifest of 0.1.0, whose paths are absolute."""
    data = dict(data)
    terms = data.pop("terms")
    reading = dict(zip(("source", "target"), terms["recipe"]["options"], strict=True))
    options = {name: value for name, value in terms["config"].items() if value is not None and name != "memory_limit"}
    return data | {
        "options": options | terms["call"] | reading,
        "inputs": {name: terms["recipe"][name] for name in ("paths", "source", "target")},
        "hashes": data.pop("inputs"),
        "outputs": terms["outputs"],
        "machine": {"threads": terms["threads"], "memory_limit": terms["config"].get("memory_limit")},
        "format": _FORMAT,
    }


def check_version(folder: Path, version: str) -> None:
    """Refuse to resume a run of another version; what such a run has finished can still be read."""
    if version != __version__:
        raise InputError(
            f"{folder}: this run was started with dualmatch {version}, and this is {__version__}, which may give "
            "other results; finish it with that version, or start it again with --force"
        )


def check_options(folder: Path, record: RunRecord) -> None:
    """Refuse to update a run with options that this version does not know; its links can still be read."""
    try:
        _ = record.config, record.spec
    except _INVALID as error:
        raise InputError(
            f"{folder}: this run of dualmatch {record.version} has options that {__version__} does not know "
            f"({in_brief(error)}); continue with that version, or align again"
        ) from None


def check_free(path: Path, record: RunRecord | None, resume: bool) -> None:
    """Refuse to begin where a run would be lost."""
    if record is None or resume:
        return
    if record.state == "finished":
        raise InputError(f"{path}: holds a finished run; choose another folder, or replace it with --force")
    if record.verb == "update":
        raise InputError(f"{path}: holds an interrupted update; {record.way_on}")
    raise InputError(f"{path}: holds an interrupted run; resume it with --resume, or start it again with --force")


def path_within(folder: Path, path: Path) -> str:
    """Relative to the folder where it lies in it, so that the folder can be moved; else absolute.

    A file that is a symbolic link keeps its own name: the companion and the record lie beside that.
    """
    place, root = Path(os.path.realpath(path.parent), path.name), Path(os.path.realpath(folder))
    return str(place.relative_to(root) if place.is_relative_to(root) else place)


def _threads() -> str:
    """Cores and threads that numerical libraries may use, in words."""
    cores = usable_cores()
    limits = [f"{name}={os.environ[name]}" for name in _THREADS if name in os.environ]
    return ", ".join([f"{cores} core{'s' * (cores != 1)}", *limits])


def _typed(name: str) -> str:
    """An option as users type it."""
    return _TYPED.get(name) or f"--{name.replace('_', '-')}"


def _shown(value: Any) -> str:
    if value is None or value in ([], (), {}, ""):
        return "none"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return "standard input" if value == str(STANDARD_INPUT) else text
