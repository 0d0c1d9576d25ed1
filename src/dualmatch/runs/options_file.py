"""The options of a run: as plain data in its files, and as TOML beside its output, to be given back with ``--config``.

In ``OUT.config.toml``, options of `Config` and `CallOptions` stand at the top; tables ``[source]`` and ``[target]`` say
how each side is read (`ReadOptions`). The call says which graphs to read and where to write. Paths are relative to the
file's own folder, so that it can be used from anywhere, and be moved together with the files it names.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, ClassVar, Final, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from dualmatch.config import Config, options_in_words
from dualmatch.errors import ConfigError, InputError, in_brief
from dualmatch.files.atomic import Transaction, write_text
from dualmatch.files.compressed import STANDARD_INPUT
from dualmatch.files.plain_data import read_toml
from dualmatch.links.naming import Naming
from dualmatch.links.read import LinksFile
from dualmatch.readers.read_options import ReadOptions
from dualmatch.version import __version__


@dataclass(frozen=True)
class CallOptions:
    """Options that are neither the method's nor the readers': what a run starts from and how links are written."""

    seeds: Path | None = None  # a file of known pairs, or of decisions
    forbid: Path | None = None  # a file of forbidden pairs, or of decisions
    same_ids: bool = False  # entities of one id on both sides are seeds
    reasons: bool = False
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

    def in_folder(self, paths: Sequence[Path]) -> CallOptions:
        """The same with the pair files of the folder that holds both graphs, where it has files of these names."""
        if len(paths) != 1:
            return self
        return self.moved(lambda path: paths[0] / path if (paths[0] / path).is_file() else path)

    def moved(self, to: Callable[[Path], Path]) -> CallOptions:
        """The same with every path changed."""
        seeds, forbid = (None if path is None else to(path) for path in (self.seeds, self.forbid))
        return replace(self, seeds=seeds, forbid=forbid)

    def as_dict(self, exclude_defaults: bool = False) -> dict[str, Any]:
        data: dict[str, Any] = _CALL.dump_python(self, mode="json", exclude_defaults=exclude_defaults)
        return data

    @classmethod
    def from_dict(cls, data: object) -> CallOptions:
        """What `as_dict` gave; a `pydantic.ValidationError` or an `InputError` where it is none."""
        return _CALL.validate_python(data)


_CALL: Final = TypeAdapter(CallOptions)
_CALL_NAMES: Final = frozenset(each.name for each in fields(CallOptions))
Options = TypeVar("Options", CallOptions, ReadOptions)


@dataclass(frozen=True)
class RunOptions:
    """What a file of options says."""

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


def options_of(config: Config) -> dict[str, Any]:
    """The options that the method reads, as plain data: what the files of a run keep."""
    options = config.model_dump(mode="json")
    return _without(options, Config.foreign_options(options, config.method))


def config_of(options: Mapping[str, Any]) -> Config:
    """The config of a run by the options it kept; 0.1.0 kept those of other methods too."""
    return Config.checked(**_without(options, Config.foreign_options(options, options["method"])))


def options_file_of(path: Path) -> Path:
    """Where the options of an alignment file lie.

    >>> str(options_file_of(Path("out/links.tsv")))
    'out/links.tsv.config.toml'
    """
    return path.parent / f"{path.name}.config.toml"


def read_options_file(path: Path) -> RunOptions:
    """Read a file of options; an `InputError` where it is no TOML, a `ConfigError` with all that is wrong in it."""
    data = _read_toml(path)
    of_sides = [data.pop(name, {}) for name in ("source", "target")]
    of_call = {name: data.pop(name) for name in [*data] if name in _CALL_NAMES}
    unknown = sorted(set(data) - set(Config.model_fields))
    problems = [f"there is no option {name}; see dualmatch align --help" for name in unknown]
    data = _without(data, unknown)
    try:
        Config.checked(**data)
    except ConfigError as error:
        problems += str(error).splitlines()
    call = _checked(CallOptions, of_call, "", problems)
    source, target = (
        _checked(ReadOptions, each, f"[{name}] ", problems)
        for name, each in zip(("source", "target"), of_sides, strict=True)
    )
    _refuse(path, problems)
    return RunOptions(data, (source, target), call).moved(lambda given: path.parent / given)


def call_options_of(links: Path) -> CallOptions:
    """How an alignment file was written, by the options beside it; the defaults where there are none.

    Options of the method are ignored, so that links of a version with other options can be read. Raises as
    `read_options_file`.
    """
    path = options_file_of(links)
    if not path.is_file():
        return CallOptions()
    problems: list[str] = []
    given = {name: value for name, value in _read_toml(path).items() if name in _CALL_NAMES}
    call = _checked(CallOptions, given, "", problems)
    _refuse(path, problems)
    return RunOptions(call=call).moved(lambda given: path.parent / given).call


def links_file(path: Path) -> LinksFile:
    """A file of links with the names and in the format that it was written in."""
    call = call_options_of(path)
    return LinksFile(path, call.naming, call.output_format)


def write_options_file(
    path: Path,
    config: Config,
    reading: tuple[ReadOptions, ReadOptions],
    call: CallOptions,
    together: Transaction | None = None,
) -> None:
    """Write every option of a run, including defaults, so that it can be repeated."""
    options = {name: value for name, value in options_of(config).items() if value is not None}
    if "memory_limit" not in config.model_fields_set:
        del options["memory_limit"]  # the default is the machine's, not the run's
    placed = RunOptions({}, reading, call).moved(lambda given: _relative_to(path.parent, given))
    options |= placed.call.as_dict(exclude_defaults=True)
    lines = [f"# Options of a run of dualmatch {__version__}; feed them back with --config.", *_lines(options)]
    for name, side in zip(("source", "target"), placed.reading, strict=True):
        if data := side.as_dict():
            lines += ["", f"[{name}]", *_lines(data)]
    write_text(path, "\n".join(lines) + "\n", together)


def _without(options: Mapping[str, Any], names: list[str]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name not in names}


def _refuse(path: Path, problems: list[str]) -> None:
    if problems:
        raise ConfigError("\n".join(f"{path}: {problem}" for problem in problems))


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return read_toml(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); give a TOML file of options") from None
    except ValueError as error:
        raise InputError(f"{path}: is no TOML ({in_brief(error)}); fix it") from None


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


def _lines(table: Mapping[str, Any]) -> list[str]:
    return [f"{name} = {_toml(value)}" for name, value in table.items()]


def _toml(value: Any) -> str:
    """A value as TOML; strings, numbers and lists are written as in JSON."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(name)} = {_toml(each)}" for name, each in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(_toml(each) for each in value) + "]"
    text = json.dumps(value, ensure_ascii=False)
    return "".join(each if each.isprintable() else f"\\U{ord(each):08x}" for each in text)
