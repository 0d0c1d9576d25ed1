"""Files of what the rounds of evidence keep: where they stand, and what they ended with."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from scipy import sparse as sp

from dualmatch.decode.belief import Beliefs
from dualmatch.decode.mixture import Learnt
from dualmatch.encode.evidence.knowledge import Knowledge, SoftPairs
from dualmatch.encode.evidence.relations import RelationAlignment
from dualmatch.encode.evidence.tokens import Scale
from dualmatch.io.arrays import Arrays, Stored, matrix_as_arrays, read_arrays, write_arrays
from dualmatch.keeping import Outcome, Standing
from dualmatch.rounds import Round


def write_standing(standing: Standing, path: Path) -> None:
    arrays = {
        "weights.source": standing.weights[0],
        "weights.target": standing.weights[1],
        "first_pairs": standing.first_pairs,
        **matrix_as_arrays("similarity", standing.similarity),
        **_beliefs_as_arrays(standing.beliefs),
        **knowledge_as_arrays(standing.knowledge),
    }
    about = {
        "n_tokens": int(standing.n_tokens),
        "smoothing": float(standing.scale.smoothing),
        "dearest": float(standing.scale.dearest) if math.isfinite(standing.scale.dearest) else None,
        "sharpness": float(standing.sharpness),
        "may_be_chance": bool(standing.may_be_chance),
        "beliefs": _about_beliefs(standing.beliefs),
        "log": _about_log(standing.log),
    }
    write_arrays(path, about, arrays)


def read_standing(path: Path) -> Standing:
    stored = read_arrays(path)
    about, arrays = stored.about, stored.arrays
    return Standing(
        knowledge_of(arrays),
        about["n_tokens"],
        Scale(about["smoothing"], math.inf if about["dearest"] is None else about["dearest"]),
        (arrays["weights.source"], arrays["weights.target"]),
        stored.matrix("similarity"),
        about["sharpness"],
        _beliefs(stored),
        arrays["first_pairs"],
        _log(about["log"]),
        about["may_be_chance"],
    )


def write_outcome(outcome: Outcome, path: Path) -> None:
    relations = outcome.relations
    arrays = {
        "relations.source_class": relations.source_class,
        "relations.target_class": relations.target_class,
        **matrix_as_arrays("relations.similarity", relations.similarity),
        **matrix_as_arrays("relations.support", relations.support),
        **matrix_as_arrays("ranking", outcome.ranking),
        **_beliefs_as_arrays(outcome.beliefs),
    }
    write_arrays(path, {"beliefs": _about_beliefs(outcome.beliefs), "log": _about_log(outcome.log)}, arrays)


def read_outcome(path: Path) -> Outcome:
    stored = read_arrays(path)
    relations = RelationAlignment(
        stored.matrix("relations.similarity"),
        stored.arrays["relations.source_class"],
        stored.arrays["relations.target_class"],
        stored.matrix("relations.support"),
    )
    return Outcome(_beliefs(stored), stored.matrix("ranking"), relations, _log(stored.about["log"]))


def _beliefs_as_arrays(beliefs: Beliefs) -> Arrays:
    return {
        "beliefs.pairs": beliefs.pairs,
        "beliefs.confidence": beliefs.confidence,
        "beliefs.partner": beliefs.partner,
        **matrix_as_arrays("beliefs.probability", beliefs.probability),
    }


def _about_beliefs(beliefs: Beliefs) -> dict[str, Any]:
    without, model = beliefs.without_partner, beliefs.model
    return {
        "without_partner": None if without is None else float(without),
        "like_decoys": float(beliefs.like_decoys),
        "model": None if model is None else model.as_dict(),
    }


def _beliefs(stored: Stored) -> Beliefs:
    pairs, confidence, partner = (stored.arrays[f"beliefs.{part}"] for part in ("pairs", "confidence", "partner"))
    probability = sp.csr_array(stored.matrix("beliefs.probability"))
    about = stored.about["beliefs"]
    model = None if about["model"] is None else Learnt.from_dict(about["model"])
    return Beliefs(pairs, confidence, probability, partner, about["without_partner"], about["like_decoys"], model)


def knowledge_as_arrays(known: Knowledge | None) -> Arrays:
    """What a round builds on, for the files of a run and for the companion of its links; nothing where it is None."""
    if known is None:
        return {}
    return {
        "known.source": known.pairs.source,
        "known.target": known.pairs.target,
        "known.weight": known.pairs.weight,
        "known.source_class": known.source_class,
        "known.target_class": known.target_class,
    }


def knowledge_of(arrays: Mapping[str, Any]) -> Knowledge | None:
    """What `knowledge_as_arrays` took apart."""
    if "known.source" not in arrays:
        return None
    pairs = SoftPairs(*(arrays[f"known.{part}"] for part in ("source", "target", "weight")))
    return Knowledge(pairs, arrays["known.source_class"], arrays["known.target_class"])


def _about_log(log: Sequence[Round]) -> list[dict[str, Any]]:
    """Numbers of numpy as Python's own, which JSON gives back to the bit."""
    return [
        {name: value.item() if hasattr(value, "item") else value for name, value in asdict(each).items()}
        for each in log
    ]


def _log(rows: Sequence[Mapping[str, Any]]) -> tuple[Round, ...]:
    return tuple(Round(**row) for row in rows)
