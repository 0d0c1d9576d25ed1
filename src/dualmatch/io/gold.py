"""An alignment file against gold pairs, by names."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dualmatch.errors import InputError
from dualmatch.evaluate import Abstention, Calibration, calibration, f1_score
from dualmatch.io.folder import read_folder
from dualmatch.io.links import read_links, read_name_pairs


@dataclass(frozen=True)
class LinkQuality:
    """How right the links of a file are."""

    abstention: Abstention
    calibration: Calibration


def evaluate_links(alignment: Path, gold: Path, folder: Path | None = None) -> LinkQuality:
    """Compare an alignment file with a gold file.

    Parameters
    ----------
    gold:
        Two columns: entity names, or the ids of `folder`.
    folder:
        The benchmark folder behind the gold file; by default the folder it lies in, if that is one. With a folder,
        an entity that is in neither graph is an error.
    """
    links, confidence = read_links(alignment)
    if not gold.exists():
        raise InputError(f"{gold}: no such file; --gold takes a file of true pairs")
    if folder is None and (gold.parent / "triples_1").exists():
        folder = gold.parent
    pairs = _gold_names(gold, folder) if folder is not None else read_name_pairs(gold)
    if not pairs:
        raise InputError(f"{gold}: no pairs; there is nothing to compare with")
    true = set(pairs)
    right = np.array([link in true for link in links], dtype=bool)
    precision = float(right.mean()) if len(links) else None
    recall = int(right.sum()) / len(true)
    found = Abstention(precision, recall, f1_score(precision, recall), None, None, len(links))
    return LinkQuality(found, calibration(confidence, right))


def _gold_names(gold: Path, folder: Path) -> list[tuple[str, str]]:
    data = read_folder(folder)
    return [(data.source.entities[s], data.target.entities[t]) for s, t in data.read_pairs(gold).tolist()]
