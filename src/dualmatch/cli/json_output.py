"""--json FILE|-: results for programs to read."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import click

from dualmatch.io.atomic import check_writable, write_text


@dataclass(frozen=True)
class JsonOutput:
    """Where the JSON goes: standard output, a file, or nowhere."""

    to_stdout: bool
    file: Path | None

    @classmethod
    def asked_for(cls, path: str | None, force: bool) -> Self:
        """Read the option; a file that must not be written is refused before any work is done."""
        file = Path(path) if path not in (None, "-") else None
        if file is not None:
            check_writable(file, force)
        return cls(path == "-", file)

    def write(self, report: dict[str, Any]) -> None:
        text = json.dumps(report, indent=1) + "\n"
        if self.to_stdout:
            click.echo(text, nl=False)
        elif self.file is not None:
            write_text(self.file, text)
