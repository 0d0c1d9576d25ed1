"""Findings: what a report shows, gathered from the files of a run."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from dualmatch.config import EXPLAINED, READ_BY
from dualmatch.evaluate import LinkQuality, link_quality
from dualmatch.explain.basis import ExplanationBasis
from dualmatch.graph.profile import GraphProfile, profile_of
from dualmatch.graph.shown_name import shown_name
from dualmatch.links.read import LinksFile, read_gold
from dualmatch.methods.summary import Summary, reasons_of
from dualmatch.runs.companion import companion_of, read_explanation_basis
from dualmatch.runs.options_file import links_file, old_options_of
from dualmatch.runs.record import Outcome, RunRecord, read_record

Link = tuple[str, str]


@dataclass(frozen=True, eq=False)
class Findings:
    """What is known of a run.

    `links`, `confidence`, `is_seed`: the links by name. `record`, `basis`, `config`, `gold`: how the run went, what the
    links rest on, its options as text, and true pairs by name; None where there is no such file.
    """

    name: str
    method: str | None
    links: Sequence[Link]
    confidence: NDArray[np.float64]
    is_seed: NDArray[np.bool_]
    unlinked: Sequence[str]  # source entities in no link
    no_matches: Collection[str]  # those of them with the verdict "no match"; the others are undecided
    record: RunRecord | None
    basis: ExplanationBasis | None
    config: str | None
    gold: Collection[Link] | None
    folder: Path = Path()  # of the links

    @property
    def outcome(self) -> Outcome | None:
        """How the run went."""
        return None if self.record is None else self.record.outcome

    def source_name(self, name: str) -> Markup:
        """A source entity as people see it."""
        return shown_name(name, self.basis and self.basis.source.labels.get(name)).html()

    def target_name(self, name: str) -> Markup:
        """A target entity as people see it."""
        return shown_name(name, self.basis and self.basis.target.labels.get(name)).html()

    @property
    def found(self) -> NDArray[np.float64]:
        """Confidence of the links that were found, not given as seeds."""
        return self.confidence[~self.is_seed]

    @cached_property
    def found_links(self) -> list[Link]:
        """Links that were found, not given as seeds."""
        return [self.links[at] for at in np.flatnonzero(~self.is_seed).tolist()]

    @cached_property
    def undecided(self) -> list[str]:
        """Source entities without a verdict."""
        without_match = set(self.no_matches)
        return [source for source in self.unlinked if source not in without_match]

    @property
    def summary(self) -> Summary:
        """The result in a sentence."""
        wrong = float((1 - self.found).sum()) if self.is_calibrated and len(self.found) else None
        why = {} if self.basis is None else reasons_of(self.basis.unlinked, no_match=False)
        return Summary(len(self.links), wrong, len(self.undecided), len(self.no_matches), why)

    @property
    def is_calibrated(self) -> bool:
        """Whether confidence is a probability: that of other methods only orders pairs."""
        return self.method in EXPLAINED

    @property
    def graphs(self) -> tuple[GraphProfile, GraphProfile] | None:
        """Both graphs at a glance, from the record or counted again."""
        if self.outcome is not None:
            return self.outcome.graphs
        return None if self.basis is None else (profile_of(self.basis.source), profile_of(self.basis.target))

    @cached_property
    def quality(self) -> LinkQuality | None:
        """The links that were found against gold."""
        if self.gold is None:
            return None
        given = {self.links[at][0] for at in np.flatnonzero(self.is_seed).tolist()}
        return link_quality(self.found_links, self.found, self.gold, self.no_matches, self.undecided, given)


def gather(
    path: Path,
    gold: Path | None = None,
    data: Path | None = None,
    folder: Path | None = None,
    show_labels: Sequence[Path] = (),
) -> Findings:
    """Read an alignment file and the files beside it.

    `gold`, `data`: a file of true pairs, and the benchmark folder whose ids it uses. `folder`: where the input files
    are now. `show_labels`: as in `read_run`.

    Raises InputError where a file is missing or cannot be read.
    """
    file = links_file(path)
    (links, confidence), seeds, record = file.links, file.seeds, read_record(path)
    basis = read_explanation_basis(path, folder, show_labels) if companion_of(path).exists() else None
    return Findings(
        path.name,
        file.method,
        links,
        confidence,
        np.array([source in seeds for source, _ in links], dtype=bool),
        *_unlinked(file, basis),
        record,
        basis,
        _options_in_words(path, record),
        None if gold is None else read_gold(gold, links, data, file.unlinked),
        path.resolve().parent,
    )


def _options_in_words(path: Path, record: RunRecord | None) -> str | None:
    """The options that the method of a run reads, one a line; 0.1.0 wrote a file of all."""
    if old_options_of(path).is_file() and (record is None or not record.inputs):
        return old_options_of(path).read_text(encoding="utf-8", errors="replace")
    if record is None:
        return None
    foreign = [name for name, methods in READ_BY.items() if record.method not in methods]
    return "".join(
        f"{name} = {json.dumps(value, ensure_ascii=False)}\n"
        for name, value in record.options.items()
        if name not in foreign
    )


def _unlinked(file: LinksFile, basis: ExplanationBasis | None) -> tuple[list[str], list[str]]:
    """Source entities in no link, and those of them without a match.

    From the explanation basis where it is kept: not every format of links has rows for undecided entities.
    """
    if basis is None:
        return file.unlinked, file.no_matches
    none, names = basis.unlinked, basis.source.entities
    return [names[row] for row in none.row.tolist()], [names[row] for row in none.row[none.is_no_match].tolist()]
