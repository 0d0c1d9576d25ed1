"""The public datasets of the field: who made them, where they lie, and how to know that a file is the right one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dualmatch.errors import InputError

COMMIT: Final = "f2ba7137b9b83412227fee0d8838e16c00c5383f"
ORIGIN: Final = f"https://raw.githubusercontent.com/ZJU-DAILY/DualMatch/{COMMIT}/data"
URL_VARIABLE: Final = "DUALMATCH_DATASETS_URL"
"""Environment variable with the address of a mirror of `ORIGIN`."""
CACHE_VARIABLE: Final = "DUALMATCH_DATASETS"
"""Environment variable with the folder that datasets are kept in."""
TERMS: Final = "compiled by the TEA-GNN authors (CC BY-NC 4.0), published again with DualMatch (Apache-2.0)"


@dataclass(frozen=True)
class RemoteFile:
    """A file of a dataset.

    Attributes
    ----------
    blob:
        Git's hash of its bytes; None where it is not known, and only the commit vouches for it.
    size:
        Bytes; None where not known.
    """

    name: str
    blob: str | None = None
    size: int | None = None


@dataclass(frozen=True)
class Dataset:
    """A dataset that can be fetched.

    Attributes
    ----------
    folder:
        Its folder in the public repository.
    about:
        What it is, and what to mind.
    """

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


def _files(triples_1: RemoteFile, triples_2: RemoteFile) -> tuple[RemoteFile, ...]:
    """A dataset of which only the facts' hashes are known."""
    names = ("ent_ids_1", "ent_ids_2", "rel_ids_1", "rel_ids_2", "time_id", "sup_pairs", "ref_pairs")
    return (*(RemoteFile(name) for name in names), triples_1, triples_2)


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
            _files(
                RemoteFile("triples_1", "810a115a0dd64e50e1756c646929adb428d5fff1"),
                RemoteFile("triples_2", "602b03dd7ebf282a5827575a081fea10c4a1beee"),
            ),
        ),
        Dataset(
            "YAGO-WIKI50K",
            "YAGO-WIKI50K",
            "YAGO and Wikidata, all facts dated; WY50K in the paper",
            _files(
                RemoteFile("triples_1", "a320095c0dc02cf7073e1cfe1c0997e6bb377a6c"),
                RemoteFile("triples_2", "664c542a868ee2d33ed3c06a07f5a5047ac20b97"),
            ),
        ),
    )
}


def cache_folder() -> Path:
    """Where datasets are kept: $DUALMATCH_DATASETS, or dualmatch/datasets in the user's cache folder."""
    if given := os.environ.get(CACHE_VARIABLE):
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "dualmatch" / "datasets"


def origin() -> str:
    """Where datasets come from: the public repository, or a mirror."""
    return (os.environ.get(URL_VARIABLE) or ORIGIN).rstrip("/")


def dataset_called(name: str) -> Dataset:
    """A dataset by name, in any case of letters.

    Raises
    ------
    InputError
        With the names there are.
    """
    for dataset in DATASETS.values():
        if dataset.name.lower() == name.lower():
            return dataset
    raise InputError(f"{name}: no such dataset; there are {', '.join(DATASETS)}")


def fetched(name: str) -> Path | None:
    """The folder of a dataset that was fetched; None where it was not, or there is none of the name."""
    known = {dataset.name.lower(): dataset for dataset in DATASETS.values()}.get(name.lower())
    return known.path if known is not None and known.is_fetched else None


def fetched_folders() -> Iterator[Path]:
    """The folders of all datasets that were fetched."""
    return (dataset.path for dataset in DATASETS.values() if dataset.is_fetched)
