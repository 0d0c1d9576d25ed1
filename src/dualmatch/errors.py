"""Every error a user can cause: one root, and messages that say what, where and how to fix it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

SHOWN_PROBLEMS = 5


class DualMatchError(Exception):
    """Root of all errors that dualmatch raises on purpose."""


class InputError(DualMatchError):
    """What was given cannot be used; the message says where and what to do."""


class ConfigError(DualMatchError):
    """One or more options are out of range; all of them are listed at once."""


class OutputError(DualMatchError):
    """A result could not be written; what was there before is untouched."""


class MissingExtraError(DualMatchError):
    """A method needs an optional dependency that is not installed."""


@dataclass(frozen=True)
class Problem:
    """One thing wrong in one place of a file."""

    path: Path
    line: int | None
    what: str

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.line is not None else str(self.path)
        return f"{place}: {self.what}"


def input_error(problems: Sequence[Problem], total: int | None = None) -> InputError:
    """Gather problems into one error: the first few in words, the rest as a count.

    >>> str(input_error([Problem(Path("triples_1"), 3, "two columns; a fact has three to five")]))
    'triples_1:3: two columns; a fact has three to five'
    """
    total = len(problems) if total is None else total
    lines = [str(problem) for problem in problems[:SHOWN_PROBLEMS]]
    if total > len(lines):
        more = total - len(lines)
        lines.append(f"… and {more:,} more problem{'s' * (more != 1)} of this kind")
    return InputError("\n".join(lines))
