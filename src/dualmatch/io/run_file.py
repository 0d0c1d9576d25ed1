"""The run file: the options of a run as TOML, written beside its output and fed back with ``--config``.

Options of `Config` stand at the top; tables ``[source]`` and ``[target]`` say how each side is read (`ReadOptions`).
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from dualmatch.config import Config, options_in_words
from dualmatch.errors import ConfigError, InputError
from dualmatch.io.atomic import write_text
from dualmatch.io.intake import ReadOptions
from dualmatch.version import __version__

_SUFFIX = ".config.toml"


@dataclass(frozen=True)
class RunFile:
    """What a file of options says.

    Attributes
    ----------
    options:
        Options of `Config` by name, not checked yet: those of a command line may come over them.
    reading:
        How to read the source and the target.
    """

    options: Mapping[str, Any] = field(default_factory=dict)
    reading: tuple[ReadOptions, ReadOptions] = (ReadOptions(), ReadOptions())


def run_file_of(path: Path) -> Path:
    """Where the options of an alignment file lie.

    >>> str(run_file_of(Path("out/links.tsv")))
    'out/links.tsv.config.toml'
    """
    return path.with_name(path.name + _SUFFIX)


def read_run_file(path: Path) -> RunFile:
    """Read a run file.

    Raises
    ------
    InputError, ConfigError
        Where it is no TOML, or an option is unknown.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); give a TOML file of options") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: is no TOML ({error}); mend it") from None
    sides = [_side(path, name, data.pop(name, {})) for name in ("source", "target")]
    unknown = sorted(set(data) - set(Config.model_fields))
    if unknown:
        raise ConfigError(
            "\n".join(f"{path}: there is no option {name}; see dualmatch align --help" for name in unknown)
        )
    return RunFile(data, (sides[0], sides[1]))


def write_run_file(path: Path, config: Config, reading: tuple[ReadOptions, ReadOptions]) -> None:
    """Write every option of a run, defaults and all, so that it can be done again."""
    options = config.model_dump(mode="json", exclude_none=True)
    if "memory_limit" not in config.model_fields_set:
        del options["memory_limit"]  # the default is the machine's, not the run's
    lines = [f"# Options of a run of dualmatch {__version__}; feed them back with --config.", *_lines(options)]
    for name, side in zip(("source", "target"), reading, strict=True):
        if data := side.as_dict():
            lines += ["", f"[{name}]", *_lines(data)]
    write_text(path, "\n".join(lines) + "\n")


def _side(path: Path, name: str, data: object) -> ReadOptions:
    try:
        return ReadOptions.from_dict(data)
    except ValidationError as error:
        raise ConfigError(f"{path}: [{name}] {options_in_words(error)}") from None


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
