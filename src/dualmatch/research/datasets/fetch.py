"""Fetch the files of a dataset: what is there already is kept, what broke off goes on, what is wrong is refused.

A file is written under another name (``.NAME.part``) and gets its own only when its size and hash are right, so that
what bears a file's name is the file. What was received stays there when the network fails, and the next try goes on
from it.
"""

from __future__ import annotations

import fcntl
import http.client
import os
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from dualmatch.errors import InputError, OutputError
from dualmatch.files.atomic import sync
from dualmatch.research.datasets.blobs import git_blob
from dualmatch.research.datasets.registry import Dataset, RemoteFile

FileProgress = Callable[[str, int, int], None]
"""Called with the file's name, the bytes received and the bytes in all (0 where not known)."""

_CHUNK: Final = 2**16
_TIMEOUT: Final = 30.0
_RANGE_REFUSED: Final = 416


def fetch(dataset: Dataset, offline: bool = False, progress: FileProgress | None = None) -> Path:
    """Fetch what is missing of a dataset.

    Parameters
    ----------
    offline:
        Never touch the network: what is missing is an error.

    Raises
    ------
    InputError
        Where there is no network, or a file is not the one it should be.
    """
    missing = [file for file in dataset.files if not _is_there(dataset.path / file.name, file)]
    if missing and offline:
        names = ", ".join(file.name for file in missing)
        raise InputError(f"{dataset.name}: {names} not in {dataset.path}, and --offline forbids to fetch; leave it out")
    if missing:
        try:
            dataset.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"{dataset.path}: cannot be made ({error.strerror}); see DUALMATCH_DATASETS") from None
        with _alone(dataset.path):
            for file in missing:
                _fetch_file(dataset, file, progress)
    return dataset.path


def _is_there(path: Path, file: RemoteFile) -> bool:
    """Whether a file is there and right; one that was changed since is fetched again."""
    return path.is_file() and (file.blob is None or git_blob(path) == file.blob)


def _fetch_file(dataset: Dataset, file: RemoteFile, progress: FileProgress | None) -> None:
    url = dataset.url(file)
    if not url.startswith(("https://", "http://")):
        raise InputError(f"{url}: no web address; mend DUALMATCH_DATASETS_URL")
    place = dataset.path / file.name
    part = dataset.path / f".{file.name}.part"
    try:
        _receive(url, part, file, progress)
        _keep(url, part, place, file)
    except urllib.error.HTTPError as error:
        raise InputError(
            f"{url}: the server answers {error.code} {error.reason}; try again later, or put the files of "
            f"{dataset.name} into {dataset.path} by hand"
        ) from None
    except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError, ssl.SSLError) as error:
        reason = getattr(error, "reason", error)
        raise InputError(
            f"{url}: cannot be reached ({reason}); is there a network? What was received is kept, and the same "
            f"command goes on from it. Without a network, put the files of {dataset.name} into {dataset.path} by hand"
        ) from None
    except OSError as error:
        raise OutputError(
            f"{part}: cannot be written ({error.strerror}); what was received is kept. Make room, or choose another "
            "folder with DUALMATCH_DATASETS"
        ) from None


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep a second fetch from writing into the same files; the lock ends with the process, however that ends."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise InputError(f"{folder}: another fetch is at work here; wait for it and try again") from None
    finally:
        os.close(handle)


def _keep(url: str, part: Path, place: Path, file: RemoteFile) -> None:
    """Give a file its name where it is the right one."""
    wrong = _what_is_wrong(part, file)
    if wrong is not None:
        part.unlink(missing_ok=True)
        raise InputError(f"{url}: {wrong}, so it was thrown away; try again, and if it stays so tell us")
    sync(part)
    part.replace(place)
    sync(place.parent)


def _receive(url: str, part: Path, file: RemoteFile, progress: FileProgress | None) -> None:
    """Receive a file, from where an earlier try broke off."""
    if file.blob is None:
        part.unlink(missing_ok=True)  # nobody could tell whether what comes fits what is there
    have = part.stat().st_size if part.is_file() else 0
    if have and have == file.size:
        return  # all of it came, and then something happened
    request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        answer = urllib.request.urlopen(request, timeout=_TIMEOUT)
    except urllib.error.HTTPError as error:
        if error.code != _RANGE_REFUSED or not have:
            raise
        part.unlink()  # what is there is no beginning of the file
        answer = urllib.request.urlopen(url, timeout=_TIMEOUT)
    with answer:
        if answer.headers.get_content_type() == "text/html":
            raise ConnectionError("a web page came instead of the file: perhaps a network that wants you to log in")
        goes_on = answer.status == http.HTTPStatus.PARTIAL_CONTENT
        if goes_on and not answer.headers.get("Content-Range", "").startswith(f"bytes {have}-"):
            part.unlink()
            raise ConnectionError("the server sent another part of the file than was asked for")
        received = have if goes_on else 0
        length = answer.headers.get("Content-Length")
        total = received + int(length) if length and length.isdigit() else file.size or 0
        with part.open("ab" if goes_on else "wb") as out:
            while chunk := answer.read(_CHUNK):
                out.write(chunk)
                received += len(chunk)
                if progress is not None:
                    progress(file.name, received, total)
            out.flush()
            os.fsync(out.fileno())
    if received < total:
        raise ConnectionError(f"the connection broke off after {received:,} of {total:,} bytes")


def _what_is_wrong(part: Path, file: RemoteFile) -> str | None:
    if file.size is not None and part.stat().st_size != file.size:
        return f"{part.stat().st_size:,} bytes came, {file.size:,} were expected"
    if file.blob is not None and (blob := git_blob(part)) != file.blob:
        return f"its hash is {blob}, not {file.blob}"
    return None
