"""Git's name for a file's bytes: SHA-1 over a short header and the bytes."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Final

_CHUNK: Final = 2**20


def git_blob(path: Path) -> str:
    """The hash by which git knows a file.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as here:
    ...     _ = (Path(here) / "empty").write_bytes(b"")
    ...     git_blob(Path(here) / "empty")
    'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391'
    """
    digest = hashlib.sha1(b"blob %d\0" % os.stat(path).st_size, usedforsecurity=False)
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
