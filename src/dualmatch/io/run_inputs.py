"""What a run aligns, read and ready: graphs, literals, seeds and forbidden pairs; and the file that keeps it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

import numpy as np

from dualmatch.graph.literals import LiteralPair, Literals
from dualmatch.graph.model import TemporalGraph
from dualmatch.io.arrays import Arrays, Stored, read_arrays, texts_as_arrays, write_arrays
from dualmatch.io.fingerprint import sha256_of
from dualmatch.io.folder import Pairs
from dualmatch.io.run_file import CallOptions
from dualmatch.io.sides import Recipe, Sides
from dualmatch.io.why import input_hashes

_COLUMNS: Final = ("head", "relation", "tail", "begin", "end")
_SIDES: Final = ("source", "target")


@dataclass(frozen=True, eq=False)
class RunInputs:
    """All that `dualmatch.align` is given but options.

    Attributes
    ----------
    seeds, forbidden: (n, 2) int32 or None
        Rows of the graphs; None where no file was given.
    notes, rejected:
        What was guessed when the graphs were read, and how many lines were left out.
    """

    source: TemporalGraph
    target: TemporalGraph
    literals: LiteralPair | None = None
    seeds: Pairs | None = None
    forbidden: Pairs | None = None
    notes: tuple[str, ...] = ()
    rejected: int = 0

    @classmethod
    def of(cls, sides: Sides, call: CallOptions) -> Self:
        """What was read, with the pairs of the files that the call names."""
        return cls(
            sides.source,
            sides.target,
            sides.literals,
            None if call.seeds is None else sides.read_pairs(call.seeds),
            None if call.forbid is None else sides.read_forbidden(call.forbid),
            sides.notes,
            sides.rejections.total,
        )

    @property
    def said(self) -> dict[str, Any]:
        """What reading had to say, for JSON."""
        return {"notes": [*self.notes], "rejected": self.rejected}


def run_hashes(recipe: Recipe, call: CallOptions) -> dict[str, str | None]:
    """SHA-256 of every file that a run reads, pairs included, by its whole path; None where it is not there."""
    pairs = (path for path in (call.seeds, call.forbid) if path is not None)
    return input_hashes(recipe) | {str(path.resolve()): sha256_of(path) for path in pairs}


def write_run_inputs(inputs: RunInputs, path: Path) -> None:
    """Keep them in a file."""
    graphs = (inputs.source, inputs.target)
    arrays: Arrays = {}
    for side, graph in zip(_SIDES, graphs, strict=True):
        arrays |= {f"{side}.{column}": getattr(graph, column) for column in _COLUMNS}
        arrays |= texts_as_arrays(f"{side}.entities", graph.entities)
        arrays |= texts_as_arrays(f"{side}.relations", graph.relations)
    for side, literals in zip(_SIDES, inputs.literals or (), strict=False):
        arrays[f"{side}.literals.entity"] = literals.entity
        arrays |= texts_as_arrays(f"{side}.literals.attribute", literals.attribute)
        arrays |= texts_as_arrays(f"{side}.literals.value", literals.value)
    for name, pairs in (("seeds", inputs.seeds), ("forbidden", inputs.forbidden)):
        if pairs is not None:
            arrays[name] = pairs
    about = {
        "graphs": [{"name": graph.name, "opaque_times": graph.opaque_times} for graph in graphs],
        "notes": [*inputs.notes],
        "rejected": inputs.rejected,
    }
    write_arrays(path, about, arrays)


def read_run_inputs(path: Path) -> RunInputs:
    """What `write_run_inputs` kept."""
    stored = read_arrays(path)
    source, target = (_graph(stored, number) for number in range(2))
    literals = None
    if "source.literals.entity" in stored.arrays:
        literals = _literals(stored, "source"), _literals(stored, "target")
    about = stored.about
    seeds, forbidden = (stored.arrays.get(name) for name in ("seeds", "forbidden"))
    return RunInputs(source, target, literals, seeds, forbidden, tuple(about["notes"]), int(about["rejected"]))


def _graph(stored: Stored, number: int) -> TemporalGraph:
    side, about = _SIDES[number], stored.about["graphs"][number]
    head, relation, tail, begin, end = (stored.arrays[f"{side}.{column}"] for column in _COLUMNS)
    return TemporalGraph(
        *(head, relation, tail, begin, end),
        stored.texts(f"{side}.entities"),
        stored.texts(f"{side}.relations"),
        name=about["name"],
        opaque_times=about["opaque_times"],
    )


def _literals(stored: Stored, side: str) -> Literals:
    entity = stored.arrays[f"{side}.literals.entity"].astype(np.int32)
    attribute, value = (stored.texts(f"{side}.literals.{column}") for column in ("attribute", "value"))
    return Literals(entity, attribute, value)
