"""The options of a run: as plain data in its record, and in a file that ``--config`` takes.

Such a file is the record of a run (``OUT.run.json``, `dualmatch.runs.record`) or TOML written by hand or by 0.1.0
(``OUT.config.toml``). Options of `Config` and `CallOptions` stand at the top; tables ``[source]`` and ``[target]`` say
how each side is read (`ReadOptions`). The call says which graphs to read and where to write. Paths are relative to the
file's own folder, so that it can be used from anywhere, and be moved together with the files it names.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from dualmatch.config import Config, options_in_words
from dualmatch.errors import ConfigError, InputError, in_brief
from dualmatch.files.compressed import STANDARD_INPUT
from dualmatch.files.plain_data import read_json, read_toml
from dualmatch.links.naming import Naming
from dualmatch.links.read import LinksFile
from dualmatch.readers.read_options import ReadOptions


@dataclass(frozen=True)
class CallOptions:
    """Options that are neither the method's nor the readers': what a run starts from and how links are written."""

    seeds: Path | None = None  # a file of known pairs, or of decisions
    forbid: Path | None = None  # a file of forbidden pairs, or of decisions
    same_ids: bool = False  # entities of one id on both sides are seeds
    reasons: bool = False
    show_labels: tuple[Path, ...] = ()  # files of labels to show: one for both sides, or one for each; never compared
    output_format: str | None = None  # by the output's name where None
    prefix: Mapping[str, str] = field(default_factory=dict)  # these three as in `Naming`
    source_prefix: str = "source"
    target_prefix: str = "target"

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid")

    def __post_init__(self) -> None:
        _ = self.naming  # refuses wrong prefixes

    @property
    def naming(self) -> Naming:
        return Naming(self.prefix, self.source_prefix, self.target_prefix)

    def over(self, given: Mapping[str, Any]) -> CallOptions:
        """These options with those of a call over them; prefixes are added."""
        prefix = {**self.prefix, **given.get("prefix", {})}
        return replace(self, **{**given, "prefix": prefix})

    def moved(self, to: Callable[[Path], Path]) -> CallOptions:
        """The same with every path changed."""
        seeds, forbid = (None if path is None else to(path) for path in (self.seeds, self.forbid))
        return replace(self, seeds=seeds, forbid=forbid, show_labels=tuple(map(to, self.show_labels)))

    def as_dict(self, exclude_defaults: bool = False) -> dict[str, Any]:
        data: dict[str, Any] = _CALL.dump_python(self, mode="json", exclude_defaults=exclude_defaults)
        return data

    @classmethod
    def from_dict(cls, data: object) -> CallOptions:
        """What `as_dict` gave; a `pydantic.ValidationError` or an `InputError` where it is invalid."""
        return _CALL.validate_python(data)


_CALL: Final = TypeAdapter(CallOptions)
_CALL_NAMES: Final = frozenset(each.name for each in fields(CallOptions))
_SIDES: Final = ("source", "target")
Options = TypeVar("Options", CallOptions, ReadOptions)


@dataclass(frozen=True)
class RunOptions:
    """The options of a run, apart from which graphs it reads and where it writes."""

    options: Mapping[str, Any] = field(default_factory=dict)  # of `Config`, by name
    reading: tuple[ReadOptions, ReadOptions] = (ReadOptions(), ReadOptions())
    call: CallOptions = field(default_factory=CallOptions)

    def moved(self, to: Callable[[Path], Path]) -> RunOptions:
        """The same with every path changed, except standard input."""

        def place(path: Path) -> Path:
            return path if path == STANDARD_INPUT else to(path)

        source, target = (
            each if each.labels is None else replace(each, labels=place(each.labels)) for each in self.reading
        )
        return RunOptions(self.options, (source, target), self.call.moved(place))

    def as_dict(self, folder: Path) -> dict[str, Any]:
        """Plain data for a file in this folder: what is not the default, and every option of the method."""
        placed = self.moved(partial(_relative_to, folder))
        data = {name: value for name, value in self.options.items() if value is not None}
        data |= placed.call.as_dict(exclude_defaults=True)
        sides = zip(_SIDES, (side.as_dict() for side in placed.reading), strict=True)
        return data | {name: side for name, side in sides if side}


def options_of(config: Config) -> dict[str, Any]:
    """The options that the method reads, as plain data: what the files of a run keep."""
    options = config.model_dump(mode="json")
    return _without(options, Config.foreign_options(options, config.method))


def config_of(options: Mapping[str, Any]) -> Config:
    """The config of a run by the options it kept; 0.1.0 kept those of other methods too."""
    return Config.checked(**_without(options, Config.foreign_options(options, options["method"])))


def record_of(path: Path) -> Path:
    """Where the record of an alignment file lies.

    >>> str(record_of(Path("out/links.tsv")))
    'out/links.tsv.run.json'
    """
    return path.with_name(f"{path.name}.run.json")


def old_options_of(path: Path) -> Path:
    """Where 0.1.0 wrote the options of an alignment file."""
    return path.with_name(f"{path.name}.config.toml")


def read_options_file(path: Path) -> RunOptions:
    """Read a file of options; an `InputError` where it is not one, a `ConfigError` with all that is wrong in it."""
    problems: list[str] = []
    run = _options_in(_read(path), problems)
    unknown = sorted(set(run.options) - set(Config.model_fields))
    problems[:0] = [f"there is no option {name}; see dualmatch align --help-all" for name in unknown]
    try:
        Config.checked(**_without(run.options, unknown))
    except ConfigError as error:
        problems[len(unknown) : len(unknown)] = str(error).splitlines()
    _refuse(path, problems)
    return run.moved(lambda given: path.parent / given)


def options_from(data: Mapping[str, Any], folder: Path) -> RunOptions:
    """The options in plain data whose paths are relative to a folder; those of `Config` are not checked."""
    problems: list[str] = []
    run = _options_in(data, problems).moved(lambda given: Path(os.path.normpath(folder / given)))
    if problems:
        raise ConfigError("\n".join(problems))
    return run


def _options_in(data: Mapping[str, Any], problems: list[str]) -> RunOptions:
    call = _checked(CallOptions, {name: each for name, each in data.items() if name in _CALL_NAMES}, "", problems)
    source, target = (_checked(ReadOptions, data.get(name, {}), f"[{name}] ", problems) for name in _SIDES)
    return RunOptions(_without(data, [*_CALL_NAMES, *_SIDES]), (source, target), call)


def call_options_of(links: Path) -> CallOptions:
    """How an alignment file was written, by the record or the options beside it; the defaults where there are none.

    Options of the method are ignored, so that links of a version with other options can be read. Raises as
    `read_options_file`.
    """
    for path in (record_of(links), old_options_of(links)):
        data = _read(path, of_version_0_1_0={}) if path.is_file() else {}
        if data:
            break
    problems: list[str] = []
    call = _checked(CallOptions, {name: value for name, value in data.items() if name in _CALL_NAMES}, "", problems)
    _refuse(path, problems)
    return RunOptions(call=call).moved(lambda given: path.parent / given).call


def links_file(path: Path) -> LinksFile:
    """A file of links with the names and in the format that it was written in."""
    call = call_options_of(path)
    return LinksFile(path, call.naming, call.output_format)


def _without(options: Mapping[str, Any], names: list[str]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name not in names}


def _refuse(path: Path, problems: list[str]) -> None:
    if problems:
        raise ConfigError("\n".join(f"{path}: {problem}" for problem in problems))


def _read(path: Path, of_version_0_1_0: dict[str, Any] | None = None) -> dict[str, Any]:
    """The options in TOML, or in a record (JSON, by its name); records of 0.1.0 do not hold them all."""
    is_record = path.suffix == ".json"
    try:
        if not is_record:
            return read_toml(path)
        record = read_json(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); give a file of options") from None
    except ValueError as error:
        problem = "cannot be read as the record of a run" if is_record else "is not TOML"
        raise InputError(f"{path}: {problem} ({in_brief(error)}); {'align again' if is_record else 'fix it'}") from None
    options = record.get("options", of_version_0_1_0) if isinstance(record, dict) else of_version_0_1_0
    if not isinstance(options, dict):
        raise InputError(f"{path}: holds no options; give a record of 0.2.0 or later, or the OUT.config.toml of 0.1.0")
    return options


def _relative_to(folder: Path, path: Path) -> Path:
    """A path relative to a folder; absolute where there is no way from one to the other, as between drives."""
    whole = path.parent.resolve() / path.name
    try:
        return Path(os.path.relpath(whole, folder.resolve()))
    except ValueError:
        return whole


def _checked(kind: type[Options], data: object, where: str, problems: list[str]) -> Options:
    """Options of a kind; what is wrong is added to the problems, and the defaults stand in for it."""
    try:
        return kind.from_dict(data)
    except ValidationError as error:
        problems += [f"{where}{line}" for line in options_in_words(error).splitlines()]
    except InputError as error:
        problems.append(f"{where}{error}")
    return kind()
