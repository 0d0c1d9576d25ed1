"""Findings: all that a report is about, gathered from the files of a run."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dualmatch.evaluate import LinkQuality, link_quality
from dualmatch.explain.basis import ExplanationBasis
from dualmatch.graph.profile import GraphProfile, profile_of
from dualmatch.links.read import LinksFile, read_gold
from dualmatch.runs.companion import companion_of, read_explanation_basis
from dualmatch.runs.options_file import links_file, run_file_of
from dualmatch.runs.record import RunRecord, read_record

Link = tuple[str, str]


@dataclass(frozen=True, eq=False)
class Findings:
    """What is known of a run.

    Attributes
    ----------
    links, confidence, is_seed:
        The links by name.
    unlinked:
        Source entities in no link.
    no_matches:
        Those of them that are said to have no match; the others are undecided.
    record:
        How the run went; None where the file was made without one.
    grounds:
        What the links rest on; None where the method keeps nothing.
    config:
        The text of the run file; None where there is none.
    gold:
        True pairs by name; None where none were given.
    """

    name: str
    method: str | None
    links: Sequence[Link]
    confidence: NDArray[np.float64]
    is_seed: NDArray[np.bool_]
    unlinked: Sequence[str]
    no_matches: Collection[str]
    record: RunRecord | None
    grounds: ExplanationBasis | None
    config: str | None
    gold: Collection[Link] | None

    @property
    def found(self) -> NDArray[np.float64]:
        """Confidence of the links that were found, not given."""
        return self.confidence[~self.is_seed]

    @property
    def undecided(self) -> list[str]:
        """Source entities of which nothing is said."""
        said = set(self.no_matches)
        return [source for source in self.unlinked if source not in said]

    @property
    def graphs(self) -> tuple[GraphProfile, GraphProfile] | None:
        """Both graphs at a glance, from the record or counted anew."""
        if self.record is not None:
            return self.record.graphs
        return None if self.grounds is None else (profile_of(self.grounds.source), profile_of(self.grounds.target))

    @property
    def quality(self) -> LinkQuality | None:
        """The links that were found against gold."""
        if self.gold is None:
            return None
        found = [link for link, seed in zip(self.links, self.is_seed.tolist(), strict=True) if not seed]
        given = {source for (source, _), seed in zip(self.links, self.is_seed.tolist(), strict=True) if seed}
        true = {link for link in self.gold if link[0] not in given}
        return link_quality(found, self.found, true, self.no_matches, self.undecided)


def gather(path: Path, gold: Path | None = None, data: Path | None = None, folder: Path | None = None) -> Findings:
    """Read what lies beside an alignment file.

    Parameters
    ----------
    gold, data:
        A file of true pairs, and the benchmark folder whose ids it uses.
    folder:
        Where the input files lie now.

    Raises
    ------
    InputError
        Where a file is missing or is not what it should be.
    """
    file = links_file(path)
    (links, confidence), seeds = file.links, file.seeds
    grounds = read_explanation_basis(path, folder) if companion_of(path).exists() else None
    run_file = run_file_of(path)
    return Findings(
        path.name,
        file.method,
        links,
        confidence,
        np.array([source in seeds for source, _ in links], dtype=bool),
        *_unlinked(file, grounds),
        read_record(path),
        grounds,
        run_file.read_text(encoding="utf-8", errors="replace") if run_file.is_file() else None,
        None if gold is None else read_gold(gold, links, data),
    )


def _unlinked(file: LinksFile, grounds: ExplanationBasis | None) -> tuple[list[str], list[str]]:
    """Source entities in no link, and those of them without a match.

    By what the links rest on where that is kept: not every format of links has a row for who is undecided.
    """
    if grounds is None:
        return file.unlinked, file.no_matches
    none, names = grounds.unlinked, grounds.source.entities
    return [names[row] for row in none.row.tolist()], [names[row] for row in none.row[none.is_no_match].tolist()]
