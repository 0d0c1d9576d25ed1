"""Public datasets of the field: who made them, where they come from, and the cache folder they are fetched into.

A file is received as ``.NAME.part`` and renamed once its size and hash are right. When the network fails, what was
received stays there, and the next fetch resumes from it.
"""

from __future__ import annotations

import fcntl
import hashlib
import http
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from dualmatch.errors import InputError, OutputError
from dualmatch.files.atomic import sync

COMMIT: Final = "f2ba7137b9b83412227fee0d8838e16c00c5383f"
ORIGIN: Final = f"https://raw.githubusercontent.com/ZJU-DAILY/DualMatch/{COMMIT}/data"
URL_VARIABLE: Final = "DUALMATCH_DATASETS_URL"  # with the address of a mirror of ORIGIN
CACHE_VARIABLE: Final = "DUALMATCH_DATASETS"  # with the folder that datasets are kept in
TERMS: Final = "compiled by the TEA-GNN authors (CC BY-NC 4.0), published again with DualMatch (Apache-2.0)"

FileProgress = Callable[[str, int, int], None]
"""Called with the file's name, the bytes received and the bytes in all (0 where not known)."""

_CHUNK: Final = 2**16
_TIMEOUT: Final = 30.0
_RANGE_REFUSED: Final = 416


def git_blob(path: Path) -> str:
    """The hash by which git knows a file: SHA-1 over a short header and the bytes."""
    header = b"blob %d\0" % os.stat(path).st_size
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.sha1(header, usedforsecurity=False)).hexdigest()


@dataclass(frozen=True)
class RemoteFile:
    """A file of a dataset, its git hash and its size in bytes; None where only the commit vouches for them."""

    name: str
    blob: str | None = None
    size: int | None = None

    def is_at(self, path: Path) -> bool:
        return path.is_file() and self.blob in (None, git_blob(path))

    def what_is_wrong(self, path: Path) -> str | None:
        """In what a received file differs from the published one."""
        if self.size is not None and path.stat().st_size != self.size:
            return f"{path.stat().st_size:,} bytes came, {self.size:,} were expected"
        if self.blob is not None and (blob := git_blob(path)) != self.blob:
            return f"its hash is {blob}, not {self.blob}"
        return None


@dataclass(frozen=True)
class Dataset:
    """A dataset that can be fetched: its folder in the public repository, and what to know about it."""

    name: str
    folder: str
    about: str
    files: tuple[RemoteFile, ...]

    @property
    def path(self) -> Path:
        """Where it is kept once fetched."""
        return cache_folder() / self.name

    @property
    def is_fetched(self) -> bool:
        """Whether all its files are there; they were checked when they came."""
        return all((self.path / file.name).is_file() for file in self.files)

    def url(self, file: RemoteFile) -> str:
        return f"{origin()}/{self.folder}/{file.name}"


def _files(triples_1: str, triples_2: str) -> tuple[RemoteFile, ...]:
    """Files of a dataset of which only the facts' hashes are known."""
    names = ("ent_ids_1", "ent_ids_2", "rel_ids_1", "rel_ids_2", "time_id", "sup_pairs", "ref_pairs")
    return *map(RemoteFile, names), RemoteFile("triples_1", triples_1), RemoteFile("triples_2", triples_2)


DATASETS: Final = {
    dataset.name: dataset
    for dataset in (
        Dataset(
            "YAGO-WIKI20K",
            "YAGO-WIKI20K",
            "YAGO and Wikidata, years as intervals, many facts undated; WY20K in the paper",
            (
                RemoteFile("ent_ids_1", "c7cef8de4a855e8e4b0e36703124ae433f4ce205", 476_761),
                RemoteFile("ent_ids_2", "78eeb5e507d2e6466ddcba772000dc33bc693c30", 901_904),
                RemoteFile("rel_ids_1", "2f646ab86c94b3761bcfa26a76b665e2f18e45ae", 516),
                RemoteFile("rel_ids_2", "5d20019f5efce7590fab5fdc6440494a1b97c80b", 2_389),
                RemoteFile("time_id", "d45b34a984203e6b2c1cb50eff62a12b17a6aa90", 3_511),
                RemoteFile("sup_pairs", "560d34f9b592e96d8f274d47eb2700d04159f163", 20_891),
                RemoteFile("ref_pairs", "b1e9eb7b7c91975ceb247be55f43abb21998b2e8", 201_568),
                RemoteFile("triples_1", "927b48ad258c6e8d45c25e1ef48bc71a263a2dca", 1_777_804),
                RemoteFile("triples_2", "064ce8a7e26b040ff11640e3e3d465a2eb12df88", 3_284_742),
                RemoteFile("time_sensitive_link", "4a51a66025b82b247df2cdaf96168525bf08412c", 80_639),
                RemoteFile("time_sensitive_link1", "10abd1f1e207a168429a2c1c146b72ed9af948c7", 88_214),
                RemoteFile("time_sensitive_link2", "758c29c80f319204fffd4eb2de8e7fdf44b9f50c", 90_833),
                RemoteFile("not_sensitive_link", "954b40002581982d8b9999120f7095888ecbd139", 120_929),
                RemoteFile("not_sensitive_link1", "5aeb928bbe5229d4b39e6a70acd55d153bc56887", 130_365),
                RemoteFile("not_sensitive_link2", "514f877859de6ad05531133d9b7b45377f823445", 131_626),
            ),
        ),
        Dataset(
            "DICEWS",
            "ICEWS05-15",
            "two samples of the events of ICEWS05-15, days; its time_id gives a wrong date for 353 of 4,017 days, the "
            "same on both sides",
            _files("810a115a0dd64e50e1756c646929adb428d5fff1", "602b03dd7ebf282a5827575a081fea10c4a1beee"),
        ),
        Dataset(
            "YAGO-WIKI50K",
            "YAGO-WIKI50K",
            "YAGO and Wikidata, all facts dated; WY50K in the paper",
            _files("a320095c0dc02cf7073e1cfe1c0997e6bb377a6c", "664c542a868ee2d33ed3c06a07f5a5047ac20b97"),
        ),
    )
}


def cache_folder() -> Path:
    """Where datasets are kept: $DUALMATCH_DATASETS, or dualmatch/datasets in the user's cache folder."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(os.environ.get(CACHE_VARIABLE) or base / "dualmatch" / "datasets")


def origin() -> str:
    """Where datasets come from: the public repository, or a mirror."""
    return (os.environ.get(URL_VARIABLE) or ORIGIN).rstrip("/")


def dataset_called(name: str) -> Dataset:
    """A dataset by name, in any case of letters; an `InputError` lists the names there are."""
    found = {known.lower(): dataset for known, dataset in DATASETS.items()}.get(name.lower())
    if found is None:
        raise InputError(f"{name}: no such dataset; there are {', '.join(DATASETS)}")
    return found


def fetched_folders() -> dict[str, Path]:
    """The folders of all datasets that were fetched, by their names in lower case."""
    return {name.lower(): dataset.path for name, dataset in DATASETS.items() if dataset.is_fetched}


def fetch(dataset: Dataset, offline: bool = False, progress: FileProgress | None = None) -> Path:
    """Fetch the missing files of a dataset; one that was changed since is fetched again.

    `offline` forbids the network: then missing files are an error.
    """
    missing = [file for file in dataset.files if not file.is_at(dataset.path / file.name)]
    if missing and offline:
        names = ", ".join(file.name for file in missing)
        raise InputError(f"{dataset.name}: {names} not in {dataset.path}, and --offline forbids fetching; leave it out")
    if missing:
        try:
            dataset.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"{dataset.path}: cannot be made ({error.strerror}); see {CACHE_VARIABLE}") from None
        with _locked(dataset.path):
            for file in missing:
                _fetch_file(dataset, file, progress)
    return dataset.path


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep a second fetch from writing into the same files; the lock ends with the process, however that ends."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise InputError(f"{folder}: another fetch is at work here; wait for it and try again") from None
    finally:
        os.close(handle)


def _fetch_file(dataset: Dataset, file: RemoteFile, progress: FileProgress | None) -> None:
    from requests.exceptions import HTTPError, RequestException

    url, part = dataset.url(file), dataset.path / f".{file.name}.part"
    if not url.startswith(("https://", "http://")):
        raise InputError(f"{url}: not a web address; correct {URL_VARIABLE}")
    by_hand = f"put the files of {dataset.name} into {dataset.path} by hand"
    try:
        _receive(url, part, file, progress)
        if wrong := file.what_is_wrong(part):
            part.unlink()
            raise InputError(f"{url}: {wrong}, so it was discarded; try again, and report it if it happens again")
        sync(part)
        part.replace(dataset.path / file.name)
        sync(dataset.path)
    except HTTPError as error:
        answer = str(error).partition(" for url")[0]
        raise InputError(f"{url}: the server answers {answer}; try again later, or {by_hand}") from None
    except (RequestException, ConnectionError) as error:
        raise InputError(
            f"{url}: cannot be reached ({error}); is there a network? What was received is kept, and the same command "
            f"resumes from it. Without a network, {by_hand}"
        ) from None
    except OSError as error:
        raise OutputError(
            f"{part}: cannot be written ({error.strerror}); what was received is kept. Make room, or choose another "
            f"folder with {CACHE_VARIABLE}"
        ) from None


def _receive(url: str, part: Path, file: RemoteFile, progress: FileProgress | None) -> None:
    """Receive a file, from where an earlier try broke off."""
    from pooch import HTTPDownloader
    from requests.exceptions import HTTPError

    if file.blob is None:
        part.unlink(missing_ok=True)  # without a hash, nothing would show that the pieces do not fit
    have = part.stat().st_size if part.is_file() else 0
    if have and have == file.size:
        return  # all of it came, and then something happened
    # Ranges count the bytes that are sent, so they must not be compressed.
    headers = {"Accept-Encoding": "identity", **({"Range": f"bytes={have}-"} if have else {})}
    out = _PartFile(part, file, have, progress)
    options = {"headers": headers, "timeout": _TIMEOUT, "hooks": {"response": out.begin}}
    try:
        HTTPDownloader(chunk_size=_CHUNK, **options)(url, out, None)
    except HTTPError as error:
        if not have or getattr(error.response, "status_code", None) != _RANGE_REFUSED:
            raise
        part.unlink()  # what is there is no beginning of the file
        return _receive(url, part, file, progress)
    if out.received < out.total:
        raise ConnectionError(f"the connection broke off after {out.received:,} of {out.total:,} bytes")


@dataclass
class _PartFile:
    """What pooch writes a download to, behind the bytes `received` before or from the start."""

    path: Path
    file: RemoteFile
    received: int
    progress: FileProgress | None
    total: int = 0

    def begin(self, answer: Any, **_options: object) -> None:
        """Check an answer of the server, a `requests.Response`, before anything of it is written."""
        if answer.is_redirect or not answer.ok:
            return
        if answer.headers.get("Content-Type", "").startswith("text/html"):
            raise ConnectionError("a web page came instead of the file: perhaps the network requires a login")
        resumes = answer.status_code == http.HTTPStatus.PARTIAL_CONTENT
        if resumes and not answer.headers.get("Content-Range", "").startswith(f"bytes {self.received}-"):
            self.path.unlink()
            raise ConnectionError("the server sent another part of the file than was asked for")
        if not resumes:
            self.path.write_bytes(b"")
            self.received = 0
        length = answer.headers.get("Content-Length", "")
        self.total = self.received + int(length) if length.isdigit() else self.file.size or 0
        answer.raw.enforce_content_length = False  # keep the last bytes of an answer that breaks off

    def write(self, chunk: bytes) -> None:
        with self.path.open("ab") as out:
            out.write(chunk)
        self.received += len(chunk)
        if self.progress is not None:
            self.progress(self.file.name, self.received, self.total)

    def flush(self) -> None:
        """Do nothing: every chunk is written at once."""
