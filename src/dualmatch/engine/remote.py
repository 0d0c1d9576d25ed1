"""An exchange folder that no machine has as a folder of its own: object storage, or whatever else fsspec reaches.

Whoever writes a file copies it there; whoever reads one copies it from there, once, into a temporary folder of its own,
and maps it into memory as any other.
"""

from __future__ import annotations

import atexit
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from dualmatch.errors import OutputError, in_brief
from dualmatch.files.temporary import folder_beside

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

    @classmethod
    def within(cls, place: str) -> Self:
        """A new folder at a place.

        >>> RemoteFolder.within("s3://bucket/tmp").url.startswith("s3://bucket/tmp/dualmatch-exchange-")
        True
        """
        return cls(f"{place}{'' if place.endswith('/') else '/'}dualmatch-exchange-{uuid.uuid4().hex}")

    def make(self) -> None:
        with self._in_words():
            self._system.makedirs(self._path, exist_ok=True)

    def put(self, file: Path) -> None:
        """Copy a file there, under its own name."""
        with self._in_words():
            self._system.put_file(str(file), f"{self._path}/{file.name}")

    def get(self, name: str, folder: Path) -> Path:
        """Copy a file from there into a folder, where it has its name once it is whole."""
        file, part = folder / name, folder / f"{name}.{uuid.uuid4().hex}.part"
        with self._in_words():
            self._system.get_file(f"{self._path}/{name}", str(part))
            part.replace(file)
        return file

    def names(self) -> set[str]:
        """The files that are there."""
        with self._in_words():
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
            raise OutputError(
                f"--exchange {self.url}: files cannot be copied there or from there ({in_brief(error)}); give a folder "
                "that all workers see, or a URL that fsspec can write to (its library, such as s3fs, and access to it "
                "are needed in the calling process and on all workers)"
            ) from error


class LocalCopies:
    """Files of a remote folder in a temporary folder of this process; copies of what is gone there are removed.

    The folder of a killed process is removed by the next one that makes some.
    """

    def __init__(self, remote: RemoteFolder) -> None:
        self.remote = remote
        self._stack = ExitStack()
        self.folder = self._stack.enter_context(folder_beside(Path(tempfile.gettempdir()) / "dualmatch-copies"))
        self._whole: set[str] = set()  # files that are here and there
        self._looked = time.monotonic()
        self._lock = threading.Lock()
        atexit.register(self.close)

    def close(self) -> None:
        """Remove all copies."""
        atexit.unregister(self.close)
        self._stack.close()

    def path_of(self, name: str) -> Path:
        """The file of this name, copied if it is not here yet."""
        with self._lock:
            if name not in self._whole:
                self._remove_gone()
                self.remote.get(name, self.folder)
                self._whole.add(name)
        return self.folder / name

    def keep(self, path: Path) -> None:
        """Copy a file of the folder here to the folder there."""
        self.remote.put(path)
        with self._lock:
            self._whole.add(path.name)

    def _remove_gone(self) -> None:
        if time.monotonic() < self._looked + _LOOK_SECONDS:
            return
        self._looked = time.monotonic()
        for gone in self._whole - self.remote.names():
            (self.folder / gone).unlink(missing_ok=True)
            self._whole.discard(gone)
