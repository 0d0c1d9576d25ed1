"""The manifest of a run folder: what the run was begun with, and which of its stages are finished.

It is replaced as a whole after every stage. A stage counts only once the manifest names its file with its hash.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal, Self

from pydantic import TypeAdapter

from dualmatch.config import Config
from dualmatch.engine import usable_cores
from dualmatch.errors import ConfigError, InputError, in_brief
from dualmatch.files.atomic import write_text
from dualmatch.files.compressed import STANDARD_INPUT
from dualmatch.files.fingerprint import Fingerprint
from dualmatch.files.plain_data import read_json
from dualmatch.runs.input_spec import InputSpec
from dualmatch.runs.options_file import CallOptions, config_of, options_of
from dualmatch.runs.outputs import Outputs
from dualmatch.version import __version__

MANIFEST: Final = "manifest.json"
_FORMAT: Final = 1
_THREADS: Final = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_STAGE_FILE: Final = re.compile(r"stages/[a-z-]+[0-9]*\.npz")
State = Literal["running", "finished"]
Verb = Literal["align", "update"]


@dataclass(frozen=True)
class Terms:
    """What a run was begun with; it can be resumed only under the same."""

    config: dict[str, Any]
    call: dict[str, Any]
    recipe: dict[str, Any]  # the `InputSpec`
    outputs: dict[str, str]  # links and relations; relative to the run's folder where they lie in it
    threads: str  # cores and threads that numerical libraries may use, in words

    @classmethod
    def of(cls, config: Config, spec: InputSpec, outputs: Outputs, folder: Path) -> Self:
        paths = {"links": outputs.links, "relations": outputs.relations}
        placed = {name: path_within(folder, path) for name, path in paths.items() if path is not None}
        return cls(options_of(config), outputs.call.moved(Path.resolve).as_dict(), spec.as_dict(), placed, _threads())

    def options(self) -> dict[str, Any]:
        """Every option under the name users know."""
        recipe = self.recipe
        options = {"graphs": recipe["paths"], "source": recipe["source"], "target": recipe["target"]}
        options |= self.config | self.call | self.outputs
        for side, reading in zip(("source", "target"), recipe["options"], strict=True):
            options |= {f"{side} {name}": value for name, value in reading.items()}
        if self.config["method"] == "evidence":
            del options["memory_limit"]  # neither blocks nor threads change a byte of it
        else:
            options["threads"] = self.threads
        return options

    def differences(self, now: Terms) -> list[str]:
        """Each option that is not what it was, with both values."""
        before, after = self.options(), now.options()
        return [
            f"{name}: {_shown(before.get(name))} when the run began, {_shown(after.get(name))} now"
            for name in dict.fromkeys((*before, *after))
            if before.get(name) != after.get(name)
        ]


@dataclass(frozen=True)
class Stage:
    """A finished stage: its file in the folder, and what that must hold."""

    file: str
    content: Fingerprint
    number: int = 0  # how many are done, of stages that come again: rounds and epochs

    def __post_init__(self) -> None:
        if not _STAGE_FILE.fullmatch(self.file):
            raise ValueError(f"{self.file[:80]!r} does not lie in stages/")


@dataclass(frozen=True)
class Manifest:
    """What is known of a run."""

    terms: Terms
    inputs: dict[str, str | None]  # `InputSpec.hashes`
    verb: Verb = "align"  # an interrupted update is begun anew: it has no stages to resume from
    state: State = "running"
    stages: dict[str, Stage] = field(default_factory=dict)
    results: dict[str, Fingerprint] = field(default_factory=dict)  # by path, relative where it lies in the folder
    version: str = __version__
    format: int = _FORMAT

    def with_stage(self, name: str, stage: Stage) -> Manifest:
        """With one more stage, the last one of all."""
        others = {other: each for other, each in self.stages.items() if other != name}
        return replace(self, stages={**others, name: stage})

    def finished(self, results: Mapping[str, Fingerprint]) -> Manifest:
        return replace(self, state="finished", results=dict(results))

    @property
    def way_on(self) -> str:
        """How to complete a run that was interrupted, in words."""
        option = "--force" if self.verb == "update" else "--resume"
        return f"give its call of dualmatch {self.verb} again, with {option}"

    @property
    def config(self) -> Config:
        options = dict(self.terms.config)
        if options["method"] == "evidence":
            options.pop("memory_limit", None)  # of the machine it ran on; no byte depends on it
        return config_of(options)

    @property
    def spec(self) -> InputSpec:
        return InputSpec.from_dict(self.terms.recipe)

    @property
    def call(self) -> CallOptions:
        return CallOptions.from_dict(self.terms.call)


def read_manifest(folder: Path) -> Manifest | None:
    """The manifest of a folder; None where there is none.

    That of a finished run of another version may have options that this one does not know: see `check_options`. An
    `InputError` where it is no manifest, or that of an unfinished run of another version.
    """
    path = folder / MANIFEST
    try:
        data = read_json(path)
        version, format = str(data["version"]), data["format"]
        manifest = TypeAdapter(Manifest).validate_python(data) if format == _FORMAT else None
        if manifest is not None and version == __version__:
            _ = manifest.config, manifest.spec, manifest.call
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); give a readable folder") from None
    except (ValueError, KeyError, TypeError, ConfigError, InputError) as error:
        raise InputError(
            f"{path}: is no manifest of a run ({in_brief(error)}); begin the run anew with --force"
        ) from None
    if manifest is None or manifest.state != "finished":
        check_version(folder, version)
    if manifest is None:
        raise InputError(f"{path}: is of format {format}, which this version does not know; begin anew with --force")
    return manifest


def check_version(folder: Path, version: str) -> None:
    """Refuse to resume a run of another version; what such a run has finished can still be read."""
    if version != __version__:
        raise InputError(
            f"{folder}: this run was begun with dualmatch {version}, and this is {__version__}, which may come to "
            "other results; finish it with that version, or begin it anew with --force"
        )


def check_options(folder: Path, manifest: Manifest) -> None:
    """Refuse to update a run with options that this version does not know; its links can still be read."""
    try:
        _ = manifest.config, manifest.spec, manifest.call
    except (ValueError, KeyError, TypeError, ConfigError, InputError) as error:
        raise InputError(
            f"{folder}: this run of dualmatch {manifest.version} has options that {__version__} does not know "
            f"({in_brief(error)}); continue with that version, or align again"
        ) from None


def check_free(path: Path, manifest: Manifest | None, resume: bool) -> None:
    """Refuse to begin where a run would be lost."""
    if manifest is None or resume:
        return
    if manifest.state == "finished":
        raise InputError(f"{path}: holds a finished run; choose another folder, or replace it with --force")
    if manifest.verb == "update":
        raise InputError(f"{path}: holds an interrupted update; {manifest.way_on}")
    raise InputError(f"{path}: holds an interrupted run; resume it with --resume, or begin it anew with --force")


def write_manifest(manifest: Manifest, folder: Path) -> None:
    """Replace the manifest."""
    write_text(folder / MANIFEST, json.dumps(asdict(manifest), indent=1, allow_nan=False) + "\n")


def path_within(folder: Path, path: Path) -> str:
    """Relative to the folder where it lies in it, so that the folder can be moved; else absolute."""
    place, root = Path(os.path.realpath(path)), Path(os.path.realpath(folder))
    return str(place.relative_to(root) if place.is_relative_to(root) else place)


def _threads() -> str:
    cores = usable_cores()
    limits = [f"{name}={os.environ[name]}" for name in _THREADS if name in os.environ]
    return ", ".join([f"{cores} core{'s' * (cores != 1)}", *limits])


def _shown(value: Any) -> str:
    if value is None or value in ([], {}, ""):
        return "none"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return "standard input" if value == str(STANDARD_INPUT) else text
