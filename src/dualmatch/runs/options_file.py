"""The run file: the options of a run as TOML, written beside its output and fed back with ``--config``.

Options of `Config` and `CallOptions` stand at the top; tables ``[source]`` and ``[target]`` say how each side is read
(`ReadOptions`). Which graphs to read and where to write is said by the call. Paths in it are relative to its own
folder, so that it can be fed back from anywhere, and be moved together with the files it names.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, ClassVar, Final, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from dualmatch.config import Config, options_in_words
from dualmatch.errors import ConfigError, InputError
from dualmatch.files.atomic import write_text
from dualmatch.files.compressed import STANDARD_INPUT
from dualmatch.links.naming import Naming
from dualmatch.links.read import LinksFile
from dualmatch.readers.options import ReadOptions
from dualmatch.version import __version__

_SUFFIX = ".config.toml"


@dataclass(frozen=True)
class CallOptions:
    """Options of a run that are neither the method's nor the readers': what it starts from and how links are written.

    Parameters
    ----------
    seeds:
        The file of known pairs, or of decisions.
    forbid:
        The file of forbidden pairs, or of decisions.
    reasons:
        Whether links come with reasons.
    output_format:
        The format of the links; by the output's name where None.
    prefix, source_prefix, target_prefix:
        As `dualmatch.links.naming.Naming` takes them.
    """

    seeds: Path | None = None
    forbid: Path | None = None
    reasons: bool = False
    output_format: str | None = None
    prefix: Mapping[str, str] = field(default_factory=dict)
    source_prefix: str = "source"
    target_prefix: str = "target"

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid")

    def __post_init__(self) -> None:
        _ = self.naming  # refuses prefixes that cannot be

    @property
    def naming(self) -> Naming:
        return Naming(self.prefix, self.source_prefix, self.target_prefix)

    def over(self, given: Mapping[str, Any]) -> CallOptions:
        """These, and what a call gives over them; prefixes are added."""
        prefix = {**self.prefix, **given.get("prefix", {})}
        return replace(self, **{**given, "prefix": prefix})


@dataclass(frozen=True)
class RunFile:
    """What a file of options says.

    Attributes
    ----------
    options:
        Options of `Config` by name; those of a command line may come over them.
    reading:
        How to read the source and the target.
    call:
        All other options.
    """

    options: Mapping[str, Any] = field(default_factory=dict)
    reading: tuple[ReadOptions, ReadOptions] = (ReadOptions(), ReadOptions())
    call: CallOptions = field(default_factory=CallOptions)

    def moved(self, to: Callable[[Path], Path]) -> RunFile:
        """The same with every path changed, but for standard input."""

        def place(path: Path | None) -> Path | None:
            return path if path is None or path == STANDARD_INPUT else to(path)

        source, target = (replace(each, labels=place(each.labels)) for each in self.reading)
        call = replace(self.call, seeds=place(self.call.seeds), forbid=place(self.call.forbid))
        return RunFile(self.options, (source, target), call)


_CALL: Final = frozenset(each.name for each in fields(CallOptions))
Options = TypeVar("Options", CallOptions, ReadOptions)


def run_file_of(path: Path) -> Path:
    """Where the options of an alignment file lie.

    >>> str(run_file_of(Path("out/links.tsv")))
    'out/links.tsv.config.toml'
    """
    return path.parent / (path.name + _SUFFIX)


def read_run_file(path: Path) -> RunFile:
    """Read a run file.

    Raises
    ------
    InputError, ConfigError
        Where it is no TOML; with every option that is unknown or wrong.
    """
    data = _read_toml(path)
    of_sides = [data.pop(name, {}) for name in ("source", "target")]
    of_call = {name: data.pop(name) for name in [*data] if name in _CALL}
    problems: list[str] = []
    for name in sorted(set(data) - set(Config.model_fields)):
        problems.append(f"there is no option {name}; see dualmatch align --help")
        del data[name]
    try:
        Config.checked(**data)
    except ConfigError as error:
        problems += str(error).splitlines()
    call = _checked(CallOptions, of_call, "", problems)
    sides = [
        _checked(ReadOptions, each, f"[{name}] ", problems)
        for name, each in zip(("source", "target"), of_sides, strict=True)
    ]
    if problems:
        raise ConfigError("\n".join(f"{path}: {problem}" for problem in problems))
    run_file = RunFile(data, (sides[0], sides[1]), call)
    return run_file.moved(lambda given: path.parent / given)


def call_options_of(links: Path) -> CallOptions:
    """How an alignment file was written, by the run file beside it; the defaults where there is none.

    Options of the method are not looked at, so that links of a version with other options can be read.

    Raises
    ------
    InputError, ConfigError
        As `read_run_file`.
    """
    path = run_file_of(links)
    if not path.is_file():
        return CallOptions()
    problems: list[str] = []
    call = _checked(
        CallOptions, {name: value for name, value in _read_toml(path).items() if name in _CALL}, "", problems
    )
    if problems:
        raise ConfigError("\n".join(f"{path}: {problem}" for problem in problems))
    return RunFile(call=call).moved(lambda given: path.parent / given).call


def links_file(path: Path) -> LinksFile:
    """A file of links with the names and in the format that it was written in (`call_options_of`)."""
    call = call_options_of(path)
    return LinksFile(path, call.naming, call.output_format)


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); give a TOML file of options") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: is no TOML ({error}); mend it") from None


def write_run_file(path: Path, config: Config, reading: tuple[ReadOptions, ReadOptions], call: CallOptions) -> None:
    """Write every option of a run, defaults and all, so that it can be done again."""
    options = config.model_dump(mode="json", exclude_none=True)
    if "memory_limit" not in config.model_fields_set:
        del options["memory_limit"]  # the default is the machine's, not the run's
    placed = RunFile({}, reading, call).moved(lambda given: _seen_from(path.parent, given))
    options |= TypeAdapter(CallOptions).dump_python(placed.call, mode="json", exclude_defaults=True)
    lines = [f"# Options of a run of dualmatch {__version__}; feed them back with --config.", *_lines(options)]
    for name, side in zip(("source", "target"), placed.reading, strict=True):
        if data := side.as_dict():
            lines += ["", f"[{name}]", *_lines(data)]
    write_text(path, "\n".join(lines) + "\n")


def _seen_from(folder: Path, path: Path) -> Path:
    """A path relative to a folder; whole where there is no way from one to the other, as between drives."""
    whole = path.parent.resolve() / path.name
    try:
        return Path(os.path.relpath(whole, folder.resolve()))
    except ValueError:
        return whole


def _checked(kind: type[Options], data: object, where: str, problems: list[str]) -> Options:
    """Options of a kind; what is wrong is added to the problems, and the defaults stand in for it."""
    try:
        return TypeAdapter(kind).validate_python(data)
    except ValidationError as error:
        problems += [f"{where}{line}" for line in options_in_words(error).splitlines()]
    except InputError as error:
        problems.append(f"{where}{error}")
    return kind()


def _lines(table: Mapping[str, Any]) -> Iterator[str]:
    for name, value in table.items():
        yield f"{name} = {_toml(value)}"


def _toml(value: Any) -> str:
    """A value as TOML; strings, numbers and lists are written as in JSON."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(name)} = {_toml(each)}" for name, each in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(_toml(each) for each in value) + "]"
    text = json.dumps(value, ensure_ascii=False)
    return "".join(each if each.isprintable() else f"\\U{ord(each):08x}" for each in text)
