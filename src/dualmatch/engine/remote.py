"""An exchange folder that no machine has as a folder of its own: object storage, or whatever else fsspec reaches.

Whoever writes a file copies it there; whoever reads one copies it from there, once, into a temporary folder of its own,
and maps it into memory as any other.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from dualmatch.errors import InputError, in_brief

_LOOK_SECONDS: Final = 5.0  # between two looks at which files are gone


def is_url(place: str) -> bool:
    """Whether a text names a place for fsspec, and no folder.

    >>> is_url("s3://bucket/tmp"), is_url("/shared/tmp")
    (True, False)
    """
    return "://" in place


@dataclass(frozen=True)
class RemoteFolder:
    """A folder of one run, by its URL."""

    url: str

    def make(self) -> None:
        with self._in_words():
            self._system.makedirs(self._path, exist_ok=True)

    def put(self, file: Path) -> None:
        """Copy a file there, under its own name."""
        with self._in_words():
            self._system.put_file(str(file), f"{self._path}/{file.name}")

    def get(self, name: str, folder: Path) -> Path:
        """Copy a file from there into a folder, where it has its name once it is whole."""
        file, part = folder / name, folder / f"{name}.{os.getpid()}.part"
        self._system.get_file(f"{self._path}/{name}", str(part))
        part.replace(file)
        return file

    def names(self) -> set[str]:
        """The files that are there."""
        self._system.invalidate_cache()
        return {each.rsplit("/", 1)[-1] for each in self._system.ls(self._path, detail=False)}

    def remove(self, name: str) -> None:
        with suppress(Exception):  # what cannot be removed now goes with the folder
            self._system.rm_file(f"{self._path}/{name}")

    def remove_all(self) -> None:
        with suppress(Exception):
            self._system.rm(self._path, recursive=True)

    @property
    def _system(self) -> Any:
        return self._located[0]

    @property
    def _path(self) -> str:
        return str(self._located[1]).rstrip("/")

    @property
    def _located(self) -> tuple[Any, str]:
        import fsspec.core  # comes with dask

        located: tuple[Any, str] = fsspec.core.url_to_fs(self.url)
        return located

    @contextmanager
    def _in_words(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # of whatever library fsspec calls
            raise InputError(
                f"--exchange {self.url}: cannot be written into ({in_brief(error)}); give a folder that all workers "
                "see, or a URL that fsspec can write to (its library, such as s3fs, must be installed everywhere)"
            ) from error


class LocalCopies:
    """Files of a remote folder in a temporary folder of this process; copies of what is gone there are removed."""

    def __init__(self, remote: RemoteFolder) -> None:
        self.remote, self.folder = remote, Path(tempfile.mkdtemp(prefix="dualmatch-copies-"))
        self._looked = time.monotonic()
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)

    def path_of(self, name: str) -> Path:
        """The file of this name, copied if it is not here yet."""
        file = self.folder / name
        if file.exists():
            return file
        if time.monotonic() > self._looked + _LOOK_SECONDS:
            self._looked = time.monotonic()
            for gone in {each.name for each in self.folder.iterdir()} - self.remote.names():
                (self.folder / gone).unlink(missing_ok=True)
        return self.remote.get(name, self.folder)
