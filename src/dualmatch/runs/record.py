"""The record of a run, ``OUT.run.json``: its options, what it cost and how it went; ``dualmatch report`` shows it.

The links and their companion are the same bytes for the same run; clocks and memory are not, so they have a file of
their own. Every method writes one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, Self

from pydantic import TypeAdapter

from dualmatch.errors import InputError
from dualmatch.files.atomic import write_text
from dualmatch.graph.profile import GraphProfile, profile_of
from dualmatch.links.write import relation_table
from dualmatch.methods.alignment import Alignment
from dualmatch.runs.options_file import options_of

_FORMAT: Final = 1


def record_of(path: Path) -> Path:
    """Where the record of an alignment file lies.

    >>> str(record_of(Path("out/links.tsv")))
    'out/links.tsv.run.json'
    """
    return path.with_name(f"{path.name}.run.json")


@dataclass(frozen=True)
class Cost:
    """How a run was called, and its time and memory."""

    command: tuple[str, ...] = ()  # empty where the run was no command
    seconds: Mapping[str, float] = field(default_factory=dict)  # by stage, with "total"
    peak_mb: float | None = None


@dataclass(frozen=True)
class RunRecord:
    """How a run went; None is what its method does not have."""

    version: str
    method: str
    config: Mapping[str, Any]  # what the method reads; 0.1.0 kept options of other methods too
    graphs: tuple[GraphProfile, GraphProfile]
    cost: Cost
    without_partner: float | None  # estimated share of the source entities
    rounds: tuple[Mapping[str, Any], ...] | None  # fields of `dualmatch.methods.evidence.state.Round`
    weights: Mapping[str, float] | None  # of the channels
    distances: Mapping[str, float] | None  # D of all weights that were tried
    relations: tuple[Mapping[str, Any], ...] | None  # rows of `relation_table`

    @classmethod
    def of(cls, alignment: Alignment, cost: Cost) -> Self:
        return cls(
            alignment.version,
            alignment.method,
            options_of(alignment.config),
            (profile_of(alignment.source), profile_of(alignment.target)),
            cost,
            None if alignment.evidence is None else alignment.evidence.share_alone,
            None if alignment.rounds is None else tuple(asdict(each) for each in alignment.rounds),
            None if alignment.weights is None else dict(alignment.weights),
            None if alignment.distances is None else dict(alignment.distances),
            None if alignment.relations is None else tuple(relation_table(alignment).iter_rows(named=True)),
        )


def write_record(record: RunRecord, path: Path) -> None:
    """Write a record to a file."""
    text = json.dumps({"format": _FORMAT, **asdict(record)}, ensure_ascii=False, allow_nan=False, indent=1)
    write_text(path, text.encode("utf-8", "backslashreplace").decode() + "\n")


def read_record(path: Path) -> RunRecord | None:
    """The record beside an alignment file; None where there is none, an `InputError` where it is no record."""
    file = record_of(path)
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        if data["format"] != _FORMAT:
            raise ValueError(f"format {data['format']}, not {_FORMAT}")
        return TypeAdapter(RunRecord).validate_python(data)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({error.strerror}); give a readable file") from None
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        problem = repr(error).splitlines()[0]
        raise InputError(f"{file}: cannot be read as the record of a run ({problem}); align again") from None
