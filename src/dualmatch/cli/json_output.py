"""--json FILE|-: results for programs to read."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import click

from dualmatch.errors import InputError
from dualmatch.files.atomic import STANDARD_OUTPUT, check_outputs, write_text


@dataclass(frozen=True)
class JsonOutput:
    """Where the JSON goes: standard output, a file, or nowhere."""

    to_stdout: bool
    file: Path | None

    @classmethod
    def asked_for(cls, path: str | None, force: bool, taken: Iterable[Path | None] = ()) -> Self:
        """Read the option; a file that must not be written is refused before any work is done.

        Parameters
        ----------
        taken:
            What else the run reads and writes; where standard output is among it, JSON cannot go there.
        """
        taken = tuple(taken)
        if path == "-" and STANDARD_OUTPUT in taken:
            raise InputError("standard output is asked for twice, by -o - and by --json -; give one of them a file")
        file = Path(path) if path not in (None, "-") else None
        check_outputs([file], taken, force)
        return cls(path == "-", file)

    def write(self, report: dict[str, Any]) -> None:
        text = json.dumps(report, indent=1, allow_nan=False) + "\n"
        if self.to_stdout:
            click.echo(text, nl=False)
        elif self.file is not None:
            write_text(self.file, text)
