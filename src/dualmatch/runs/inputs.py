"""What a run aligns, read and ready: graphs, literals, seeds and forbidden pairs; and the file that keeps it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from dualmatch.files.fingerprint import sha256_of
from dualmatch.files.npz import Arrays, read_arrays, write_arrays
from dualmatch.graph.literals import LiteralPair
from dualmatch.graph.model import TemporalGraph
from dualmatch.graph.pairs import Pairs
from dualmatch.runs.companion import input_hashes
from dualmatch.runs.input_spec import Recipe, Sides
from dualmatch.runs.kept_graphs import KeptGraphs
from dualmatch.runs.options_file import CallOptions


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
    graphs = KeptGraphs(inputs.source, inputs.target, inputs.literals)
    pairs = {"seeds": inputs.seeds, "forbidden": inputs.forbidden}
    given: Arrays = {name: rows for name, rows in pairs.items() if rows is not None}
    about = {"graphs": graphs.about(), "notes": [*inputs.notes], "rejected": inputs.rejected}
    write_arrays(path, about, graphs.as_arrays() | given)


def read_run_inputs(path: Path) -> RunInputs:
    """What `write_run_inputs` kept."""
    stored = read_arrays(path)
    about = stored.about
    seeds, forbidden = (stored.arrays.get(name) for name in ("seeds", "forbidden"))
    return RunInputs(*KeptGraphs.of(stored), seeds, forbidden, tuple(about["notes"]), int(about["rejected"]))
