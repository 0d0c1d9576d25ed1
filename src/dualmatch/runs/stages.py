"""Files of what the rounds of evidence keep: their state, what a round has found, and the correction of log-odds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse as sp

from dualmatch.channels.evidence.agreement import RelationOdds
from dualmatch.channels.evidence.date_evidence import DateAgreement
from dualmatch.channels.evidence.dates import N_GAPS, DateGaps
from dualmatch.channels.evidence.tokens import Scale
from dualmatch.channels.names import N_DEGREES
from dualmatch.decode.one_to_one import Candidates
from dualmatch.files.npz import Arrays, Stored, load_arrays, matrix_as_arrays, write_arrays
from dualmatch.graph.model import TemporalGraph
from dualmatch.graph.times import Precision
from dualmatch.methods.evidence.confidence import Confidence
from dualmatch.methods.evidence.rounds import Rounds
from dualmatch.methods.evidence.search import Found
from dualmatch.methods.evidence.state import COVERAGES, SIZE_CLASSES, Model, Round, RoundState
from dualmatch.runs.record import check_rows

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
    stored = load_arrays(path)
    first_pairs = stored.array("first_pairs", "whole", None, 2)
    if "state" not in stored.about:
        sizes = [len(stored.arrays.get(f"known.{name}_class", ())) for name in _SIDES]
        state = state_of_chances(sp.csr_array(stored.matrix("beliefs.probability")), (sizes[0], sizes[1]))
        return Rounds(state, first_pairs, (), converged=True)
    check_rows("rounds", stored.about["log"], [each.name for each in fields(Round)])
    log = tuple(Round(**row) for row in stored.about["log"])
    return Rounds(state_of(stored.about["state"], stored.arrays), first_pairs, log, converged=False)


def write_search(found: Found, path: Path) -> None:
    """Keep what a round has found."""
    about = {"scale": _about_scale(found.scale), "tokens": int(found.n_tokens)}
    write_arrays(path, about, matrix_as_arrays("similarity", found.similarity))


def read_search(path: Path) -> Found:
    """Read what `write_search` wrote; an error where its parts do not fit together."""
    stored = load_arrays(path)
    scale, n_tokens = _scale_of(stored.about["scale"]), stored.about["tokens"]
    if scale is None or type(n_tokens) is not int or n_tokens < 0:
        raise ValueError("the scale of the search, or its number of tokens, is missing")
    similarity = stored.matrix("similarity")
    if similarity.dtype != np.float32 or not similarity.has_canonical_format:
        raise ValueError("similarity is of another type, or its columns are not in order")
    return Found(similarity, scale, n_tokens)


def write_confidence(confidence: Confidence, path: Path) -> None:
    write_arrays(path, {"confidence": confidence.as_dict()}, {})


def read_confidence(path: Path) -> Confidence:
    """Read what `write_confidence` wrote; 0.1.0 kept none."""
    about = load_arrays(path).about
    return Confidence.from_dict(about["confidence"]) if "confidence" in about else Confidence.as_they_are()


def about_state(state: RoundState) -> dict[str, Any]:
    """The parts of a state that are no arrays."""
    return {
        "shape": list(state.candidates.shape),
        "scale": _about_scale(state.scale),
        "differ": float(state.model.gaps.differ),
    }


def _about_scale(scale: Scale | None) -> list[float | None] | None:
    if scale is None:
        return None
    return [float(scale.smoothing), float(scale.dearest) if math.isfinite(scale.dearest) else None]


def _scale_of(about: Any) -> Scale | None:
    if about is None:
        return None
    smoothing, dearest = float(about[0]), math.inf if about[1] is None else float(about[1])
    if not isinstance(about, list) or not 0 <= smoothing < 1e15 or not dearest >= 0:  # NaN is neither
        raise ValueError("its scale is not made of numbers from 0 on")
    return Scale(smoothing, dearest)


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
    if model.dates is not None:
        arrays["model.dates.gaps"] = model.dates.gaps
        for side, name in enumerate(_SIDES):
            arrays[f"model.dates.rate.{name}"] = model.dates.rate[side]
            arrays[f"model.dates.present.{name}"] = model.dates.present[side]
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
    """The state that `about_state` and `state_as_arrays` took apart; an error where its parts do not fit together."""
    stored = Stored({}, arrays)
    shape = int(about["shape"][0]), int(about["shape"][1])
    scale, differ = _scale_of(about["scale"]), float(about["differ"])
    if not 0 <= differ <= 1:  # NaN is neither
        raise ValueError("its rates are not numbers from 0 to 1")

    def both(name: str, *sizes: int | None, kind: str = "chance") -> tuple[Any, Any]:
        """Two rows of numbers of these sizes."""
        source, target = (stored.array(f"{name}.{_SIDES[side]}", kind, size) for side, size in enumerate(sizes))
        return source, target

    chances = both("model.chances", None, None)
    directed = len(chances[0]), len(chances[1])
    if any(each.min(initial=1.0) <= 0.0 for each in chances):
        raise ValueError("model.chances holds a relation that no fact can have")
    classes = len(SIZE_CLASSES) + 1
    overlap, alone = both("model.overlap", *directed), both("model.alone", classes, classes)
    if any(each.max(initial=0.0) >= 1.0 for each in (*overlap, *alone)) or min(each.min() for each in alone) <= 0.0:
        raise ValueError("model.overlap or model.alone holds a certainty, which is never learnt")
    names, first_names = (
        stored.array(name, "chance", None, N_DEGREES) if name in arrays else None
        for name in ("model.names", "model.first_names")
    )
    model = Model(
        RelationOdds(stored.matrix("model.together", directed), chances),
        overlap,
        DateGaps(differ, stored.array("model.gaps", "positive", len(Precision), N_GAPS)),
        stored.array("model.coverage", "chance", len(COVERAGES)),
        alone,
        names,
        first_names,
        _date_agreement(stored) if "model.dates.gaps" in arrays else None,
    )
    row = stored.array("candidates.row", "whole", None, below=shape[0]).astype(np.int64)
    column = stored.array("candidates.column", "whole", len(row), below=shape[1]).astype(np.int64)
    if (np.diff(row * shape[1] + column) <= 0).any():
        raise ValueError("the candidates are not in order")
    slots = [stored.array(f"slots.{side}", "whole", 2, None) for side in _SIDES]
    if any(each[0].size and each[0].max() >= len(row) for each in slots):
        raise ValueError("slots are of no candidate")
    return RoundState(
        Candidates(row, column, shape),
        stored.array("log_odds", "real", len(row)),
        stored.array("value", "real", len(row)),
        both("alone", *shape),
        both("elsewhere", *shape),
        ((slots[0][0], slots[0][1]), (slots[1][0], slots[1][1])),
        both("by_slot", *(each.shape[1] for each in slots), kind="real"),
        model,
        scale,
    )


def _date_agreement(stored: Stored) -> DateAgreement:
    present = [stored.array(f"model.dates.present.{side}", "chance", None) for side in _SIDES]
    sizes = len(present[0]), len(present[1])
    rates = [stored.array(f"model.dates.rate.{side}", "chance", *sizes) for side in _SIDES]
    gaps = stored.array("model.dates.gaps", "positive", len(Precision), N_GAPS)
    return DateAgreement((rates[0], rates[1]), gaps, (present[0], present[1]))


def check_state(
    state: RoundState, graphs: tuple[TemporalGraph, TemporalGraph], first_pairs: NDArray[np.integer] | None = None
) -> None:
    """Raise a ValueError where a state, or the pairs of its first round, are not about these graphs."""
    sizes = tuple(graph.n_entities for graph in graphs), tuple(2 * graph.n_relations for graph in graphs)
    fits = (state.candidates.shape, tuple(len(each) for each in state.model.odds.chances)) == sizes
    if (dates := state.model.dates) is not None:
        fits &= dates.rate[0].shape == tuple(len(np.unique(graph.dates.relation)) for graph in graphs)
    if not fits or (first_pairs is not None and (first_pairs >= sizes[0]).any()):
        raise ValueError("it is about other graphs")


def state_of_chances(chances: sp.csr_array, n_directed: tuple[int, int]) -> RoundState:
    """A state from the probabilities of some pairs, which is what 0.1.0 kept; its model is still to be learnt."""
    entries = sp.csr_array(chances).tocoo()
    chance = entries.data.astype(np.float64).clip(_CERTAIN, 1.0 - _CERTAIN)
    log_odds = np.log(chance) - np.log1p(-chance)
    row, column = entries.row.astype(np.int64), entries.col.astype(np.int64)
    return RoundState.of_pairs(row, column, log_odds, entries.shape, Model.of_sizes(*n_directed))
