"""JSON and TOML files of our own, read with bounds: whatever somebody made of one, it is plain data or a ValueError."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

_LONGEST: Final = 1 << 26


def read_json(path: Path) -> Any:
    """The content of a JSON file; an OSError where it cannot be read, a ValueError where it is not JSON."""
    return _read(path, json.loads)


def read_toml(path: Path) -> dict[str, Any]:
    """The content of a TOML file; raises as `read_json`."""
    data: dict[str, Any] = _read(path, tomllib.loads)
    return data


def _read(path: Path, parse: Callable[[str], Any]) -> Any:
    with path.open("rb") as file:
        data = file.read(_LONGEST + 1)
    if len(data) > _LONGEST:
        raise ValueError(f"it is longer than {_LONGEST // 2**20} MiB")
    try:
        found = parse(data.decode("utf-8-sig"))
        refuse_nul(found)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    return found


def refuse_nul(data: object) -> None:
    """A ValueError where a text holds a NUL, which no path, name or option can."""
    if isinstance(data, str) and "\0" in data:
        raise ValueError(f"{data[:80]!r} holds a NUL")
    if isinstance(data, dict):
        for item in data.items():
            refuse_nul(item)
    elif isinstance(data, list | tuple):
        for each in data:
            refuse_nul(each)
