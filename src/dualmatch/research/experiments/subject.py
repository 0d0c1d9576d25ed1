"""A dataset under study: its graphs, its pairs in the paper's three settings, and what the paper calls it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dualmatch.errors import InputError
from dualmatch.graph.arrays import Flags, Pairs
from dualmatch.graph.model import TemporalGraph
from dualmatch.graph.times import UNKNOWN
from dualmatch.readers.benchmark_folder import BenchmarkFolder, read_folder
from dualmatch.research.datasets import git_blob
from dualmatch.research.experiments.paper import Setting
from dualmatch.runs.input_spec import FOLDER_FILES

LESS: Final = 5
"""The less-seed setting has a fifth of the seeds: DICEWS 200 of 1,000, WY50K 1,000 of 5,000, WY20K 400 of 2,000."""

_KNOWN: Final = {
    ("810a115a0dd64e50e1756c646929adb428d5fff1", "602b03dd7ebf282a5827575a081fea10c4a1beee"): ("DICEWS", "DICEWS"),
    ("00501f07e86f7f53021a4c73767614413c446c90", "85179a698cb2f6b28256203d60c898b7c8bda308"): ("DICEWS-R", "DICEWS"),
    ("a320095c0dc02cf7073e1cfe1c0997e6bb377a6c", "664c542a868ee2d33ed3c06a07f5a5047ac20b97"): ("YAGO-WIKI50K", "WY50K"),
    ("927b48ad258c6e8d45c25e1ef48bc71a263a2dca", "064ce8a7e26b040ff11640e3e3d465a2eb12df88"): ("YAGO-WIKI20K", "WY20K"),
}
"""Git blob hashes of triples_1 and triples_2 → our name, and the paper's dataset whose figures stand beside ours.

DICEWS-R is DICEWS with its facts drawn anew by the published procedure: its figures are never called DICEWS's.
"""


@dataclass(frozen=True, eq=False)
class Subject:
    """A benchmark folder that experiments run on; files are read when they are needed."""

    path: Path
    name: str  # what our figures on it are called
    paper_name: str | None  # the dataset of the paper to compare with, if there is one
    inputs: str  # hash of everything that is read, and how
    time_format: str | None = None  # as in `read_folder`

    @property
    def slug(self) -> str:
        """The name as part of a file's."""
        return re.sub(r"[^\w.-]+", "-", self.name.lower()).strip("-")

    @cached_property
    def data(self) -> BenchmarkFolder:
        return read_folder(self.path, time_format=self.time_format)

    @property
    def source(self) -> TemporalGraph:
        return self.data.source

    @property
    def target(self) -> TemporalGraph:
        return self.data.target

    @cached_property
    def supervision(self) -> Pairs:
        """sup_pairs: what seeds are taken from."""
        return self.data.read_pairs("sup_pairs")

    @cached_property
    def gold(self) -> Pairs:
        """All true pairs."""
        return np.concatenate([self.supervision, self.data.read_pairs("ref_pairs")])

    def seeds(self, setting: Setting) -> Pairs:
        """The first rows of sup_pairs: all, a fifth, or none of them."""
        count = len(self.supervision)
        return self.supervision[: {"normal": count, "less": count // LESS, "unsupervised": 0}[setting]]

    def allows(self, setting: Setting) -> bool:
        """Whether there is such a setting: those with seeds need at least one."""
        return setting == "unsupervised" or len(self.seeds(setting)) > 0

    def tested(self, setting: Setting) -> Pairs:
        """All true pairs that are no seeds."""
        return self.gold[len(self.seeds(setting)) :]

    def groups(self, setting: Setting) -> dict[str, Pairs]:
        """Tested pairs by time sensitivity; empty where no pair is lowly sensitive."""
        tested = self.tested(setting)
        high = time_sensitive(self.source)[tested[:, 0]] & time_sensitive(self.target)[tested[:, 1]]
        return {} if high.all() or not high.any() else {"high": tested[high], "low": tested[~high]}

    def sets(self, setting: Setting) -> dict[str, Pairs]:
        """All tested pairs, and their groups."""
        return {"all": self.tested(setting), **self.groups(setting)}

    def published_group(self, group: str, setting: Setting) -> Path | None:
        """The published list of a group's pairs, where the folder has it."""
        stem = {"high": "time_sensitive_link", "low": "not_sensitive_link"}[group]
        path = self.path / (stem + {"normal": "", "less": "1", "unsupervised": "2"}[setting])
        return path if path.exists() else None

    def sample(self, share: float, rng: Generator) -> tuple[TemporalGraph, TemporalGraph, Pairs]:
        """A share of the pairs and of the entities without a partner on each side, and the facts between them."""
        gold = self.gold
        kept = np.sort(rng.permutation(len(gold))[: round(share * len(gold))])
        parts, rows = [], []
        for side, graph in enumerate((self.source, self.target)):
            alone = np.setdiff1d(np.arange(graph.n_entities), gold[:, side])
            some = rng.permutation(alone)[: round(share * len(alone))]
            entities = np.sort(np.concatenate([gold[kept, side], some]))
            parts.append(restricted(graph, entities))
            rows.append(np.searchsorted(entities, gold[kept, side]))
        return parts[0], parts[1], np.stack(rows, axis=1).astype(np.int32)


def open_subject(path: Path, time_format: str | None = None) -> Subject:
    """A folder as a subject, called by what its files are, not by what it is named."""
    if not path.is_dir():
        raise InputError(f"{path}: no such folder; give a benchmark folder (triples_1, triples_2, sup_pairs, …)")
    files = {name: path / name for name in (*FOLDER_FILES, "sup_pairs", "ref_pairs")}
    for name in ("triples_1", "triples_2", "sup_pairs", "ref_pairs"):
        if not files[name].is_file():
            raise InputError(f"{files[name]}: no such file; experiments need graphs and true pairs")
    blobs = {name: git_blob(file) if file.is_file() else "" for name, file in files.items()}
    read = "".join(f"{name}\0{blob}\0" for name, blob in blobs.items()) + (time_format or "")
    inputs = hashlib.sha256(read.encode()).hexdigest()[:32]
    own = path.resolve().name
    if own.lower() in {name.lower() for names in _KNOWN.values() for name in names}:
        own = f"{own} (other facts)"  # it must not pass for a dataset that its facts are not
    name, paper_name = _KNOWN.get((blobs["triples_1"], blobs["triples_2"]), (own, None))
    return Subject(path, name, paper_name, inputs, time_format)


def open_subjects(paths: Iterable[Path], time_format: str | None = None) -> tuple[Subject, ...]:
    """Folders as subjects, the same data once; two of one name would write into one file, so they are refused."""
    subjects = {subject.inputs: subject for subject in (open_subject(path, time_format) for path in paths)}
    by_slug: dict[str, Subject] = {}
    for subject in subjects.values():
        other = by_slug.setdefault(subject.slug, subject)
        if other is not subject:
            raise InputError(
                f"{other.path} and {subject.path}: both are called {subject.name} in tables and files, and differ; "
                "rename one folder, or run them into folders of their own (-o)"
            )
    return tuple(subjects.values())


def time_sensitive(graph: TemporalGraph) -> Flags:
    """Entities with more than half of the time slots of their facts known; begin and end are two slots."""
    known = (graph.begin != UNKNOWN).astype(np.float64) + (graph.end != UNKNOWN)
    ends = np.concatenate([graph.head, graph.tail])
    slots = 2.0 * np.bincount(ends, minlength=graph.n_entities)
    dated = np.bincount(ends, np.concatenate([known, known]), minlength=graph.n_entities)
    return np.asarray(2 * dated > slots)


def restricted(graph: TemporalGraph, entities: NDArray[np.integer]) -> TemporalGraph:
    """The graph of some entities, sorted rows, and the facts between them; relations stay as they are."""
    row = np.full(graph.n_entities, -1, dtype=np.int32)
    row[entities] = np.arange(len(entities))
    facts = (row[graph.head] >= 0) & (row[graph.tail] >= 0)
    head, relation, tail, begin, end = (
        column[facts] for column in (row[graph.head], graph.relation, row[graph.tail], graph.begin, graph.end)
    )
    names = tuple(graph.entities[at] for at in entities.tolist())
    return replace(graph, head=head, relation=relation, tail=tail, begin=begin, end=end, entities=names)
