"""Files of what the rounds of evidence keep: their state, and how their log-odds become confidences."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse as sp

from dualmatch.channels.evidence.agreement import RelationOdds
from dualmatch.channels.evidence.dates import DateGaps
from dualmatch.channels.evidence.tokens import Scale
from dualmatch.decode.one_to_one import Candidates
from dualmatch.files.npz import Arrays, Stored, matrix_as_arrays, read_arrays, write_arrays
from dualmatch.methods.evidence.confidence import Confidence
from dualmatch.methods.evidence.rounds import Rounds
from dualmatch.methods.evidence.state import Model, Round, RoundState

_SIDES = ("source", "target")
_CERTAIN = 1e-12


def write_rounds(state: RoundState, log: Sequence[Round], first_pairs: Any, path: Path) -> None:
    """Keep the state after a round."""
    # numbers of numpy as Python's own, which JSON gives back to the bit
    rounds = [
        {name: value.item() if hasattr(value, "item") else value for name, value in asdict(each).items()}
        for each in log
    ]
    arrays = {"first_pairs": first_pairs, **state_as_arrays(state)}
    write_arrays(path, {"state": about_state(state), "log": rounds}, arrays)


def read_rounds(path: Path) -> Rounds:
    """Read what `write_rounds` wrote; of a run of 0.1.0, the pairs and how likely it held them."""
    stored = read_arrays(path)
    first_pairs = stored.arrays["first_pairs"]
    if "state" not in stored.about:
        sizes = [len(stored.arrays.get(f"known.{name}_class", ())) for name in _SIDES]
        state = state_of_chances(sp.csr_array(stored.matrix("beliefs.probability")), (sizes[0], sizes[1]))
        return Rounds(state, first_pairs, (), converged=True)
    log = tuple(Round(**row) for row in stored.about["log"])
    return Rounds(state_of(stored.about["state"], stored.arrays), first_pairs, log, converged=False)


def write_confidence(confidence: Confidence, path: Path) -> None:
    write_arrays(path, {"confidence": confidence.as_dict()}, {})


def read_confidence(path: Path) -> Confidence:
    """Read what `write_confidence` wrote; 0.1.0 kept none."""
    about = read_arrays(path).about
    return Confidence.from_dict(about["confidence"]) if "confidence" in about else Confidence.as_they_are()


def about_state(state: RoundState) -> dict[str, Any]:
    """The parts of a state that are no arrays."""
    scale = state.scale
    dearest = None if scale is None or not math.isfinite(scale.dearest) else float(scale.dearest)
    return {
        "shape": list(state.candidates.shape),
        "scale": None if scale is None else [float(scale.smoothing), dearest],
        "differ": float(state.model.gaps.differ),
    }


def state_as_arrays(state: RoundState) -> Arrays:
    """The parts that are arrays."""
    model = state.model
    arrays: Arrays = {
        "candidates.row": state.candidates.row.astype(np.int32),
        "candidates.column": state.candidates.column.astype(np.int32),
        "log_odds": state.log_odds,
        "value": state.value,
        "model.coverage": model.coverage,
        "model.gaps": model.gaps.ratio,
        **matrix_as_arrays("model.together", sp.csr_matrix(model.odds.together)),
    }
    for name, agreement in (("names", model.names), ("first_names", model.first_names)):
        if agreement is not None:
            arrays[f"model.{name}"] = agreement
    for side, name in enumerate(_SIDES):
        arrays |= {
            f"alone.{name}": state.alone[side],
            f"elsewhere.{name}": state.elsewhere[side],
            f"slots.{name}": np.stack(state.slots[side]),
            f"by_slot.{name}": state.by_slot[side],
            f"model.overlap.{name}": model.overlap[side],
            f"model.alone.{name}": model.alone[side],
            f"model.chances.{name}": model.odds.chances[side],
        }
    return arrays


def state_of(about: Mapping[str, Any], arrays: Arrays) -> RoundState:
    """The state that `about_state` and `state_as_arrays` took apart."""

    def both(name: str) -> tuple[Any, Any]:
        return arrays[f"{name}.source"], arrays[f"{name}.target"]

    model = Model(
        RelationOdds(Stored({}, arrays).matrix("model.together"), both("model.chances")),
        both("model.overlap"),
        DateGaps(float(about["differ"]), arrays["model.gaps"]),
        arrays["model.coverage"],
        both("model.alone"),
        arrays.get("model.names"),
        arrays.get("model.first_names"),
    )
    row, column = (arrays[f"candidates.{end}"].astype(np.int64) for end in ("row", "column"))
    slots = [(pair[0], pair[1]) for pair in both("slots")]
    scale = about["scale"]
    return RoundState(
        Candidates(row, column, (int(about["shape"][0]), int(about["shape"][1]))),
        arrays["log_odds"],
        arrays["value"],
        both("alone"),
        both("elsewhere"),
        (slots[0], slots[1]),
        both("by_slot"),
        model,
        None if scale is None else Scale(float(scale[0]), math.inf if scale[1] is None else float(scale[1])),
    )


def state_of_chances(chances: sp.csr_array, n_directed: tuple[int, int]) -> RoundState:
    """A state from the probabilities of some pairs, which is what 0.1.0 kept; its model is still to be learnt."""
    entries = sp.csr_array(chances).tocoo()
    chance = entries.data.astype(np.float64).clip(_CERTAIN, 1.0 - _CERTAIN)
    log_odds = np.log(chance) - np.log1p(-chance)
    row, column = entries.row.astype(np.int64), entries.col.astype(np.int64)
    return RoundState.of_pairs(row, column, log_odds, entries.shape, Model.of_sizes(*n_directed))
