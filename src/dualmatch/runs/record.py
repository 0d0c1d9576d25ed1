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
    """How a run was called, and its time and memory.

    Attributes
    ----------
    command:
        The words of the call; empty where the run was no command.
    seconds:
        By stage, with "total".
    """

    command: tuple[str, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    peak_mb: float | None = None


@dataclass(frozen=True)
class RunRecord:
    """How a run went.

    Attributes
    ----------
    config:
        The options that the method reads; 0.1.0 kept those of other methods too.
    without_partner:
        Estimated share of the source entities without a partner; None where the method does not estimate it.
    rounds:
        Fields of `dualmatch.methods.evidence.state.Round`, a mapping each; None where the method has no rounds.
    weights, distances:
        The weights of the channels, and D of all that were tried; None where the method has one channel.
    relations:
        Rows of `dualmatch.links.write.relation_table`; None where the method learns none.
    """

    version: str
    method: str
    config: Mapping[str, Any]
    graphs: tuple[GraphProfile, GraphProfile]
    cost: Cost
    without_partner: float | None
    rounds: tuple[Mapping[str, Any], ...] | None
    weights: Mapping[str, float] | None
    distances: Mapping[str, float] | None
    relations: tuple[Mapping[str, Any], ...] | None

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
