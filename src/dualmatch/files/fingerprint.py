"""SHA-256 of files, by which a file is known to be unchanged."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from dualmatch.files.compressed import as_input_error


def sha256_of(path: Path) -> str:
    """SHA-256 of a file; an `InputError` where it cannot be read."""
    with as_input_error(path), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@dataclass(frozen=True)
class Fingerprint:
    """What a file held when it was written."""

    sha256: str
    size: int

    @classmethod
    def of(cls, path: Path) -> Self:
        return cls(sha256_of(path), path.stat().st_size)

    def fits(self, path: Path) -> bool:
        """Whether the file exists and holds the same bytes."""
        return path.is_file() and path.stat().st_size == self.size and sha256_of(path) == self.sha256
