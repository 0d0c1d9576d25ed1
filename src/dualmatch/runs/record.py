"""The record of a run, ``OUT.run.json``: what the run was, what it took and how it went; ``dualmatch report`` shows it.

The links and their companion are the same bytes for the same run; clocks and memory are not, so they have a file of
their own. Every method leaves one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, Self

from dualmatch.errors import InputError
from dualmatch.files.atomic import write_text
from dualmatch.graph.profile import GraphProfile, profile_of
from dualmatch.links.relation_table import relation_table
from dualmatch.methods.alignment import Alignment

_FORMAT: Final = 1
_SUFFIX: Final = ".run.json"


def record_of(path: Path) -> Path:
    """Where the record of an alignment file lies.

    >>> str(record_of(Path("out/links.tsv")))
    'out/links.tsv.run.json'
    """
    return path.with_name(path.name + _SUFFIX)


@dataclass(frozen=True)
class Cost:
    """How a run was called and what it took.

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
    graphs:
        The source and the target at a glance.
    without_partner:
        Estimated share of the source entities without a partner; None where the method does not estimate it.
    rounds:
        Fields of `dualmatch.methods.evidence.state.Round`, a mapping each; None where the method has no rounds.
    weights, distances:
        The weights of the channels, and D of all that were tried; None where the method has one channel.
    relations:
        Rows of `dualmatch.links.relation_table.relation_table`; None where the method learns none.
    """

    version: str
    method: str
    config: Mapping[str, Any]
    graphs: tuple[GraphProfile, GraphProfile]
    cost: Cost
    without_partner: float | None = None
    rounds: tuple[Mapping[str, Any], ...] | None = None
    weights: Mapping[str, float] | None = None
    distances: Mapping[str, float] | None = None
    relations: tuple[Mapping[str, Any], ...] | None = None

    @classmethod
    def of(cls, alignment: Alignment, cost: Cost) -> Self:
        evidence = alignment.evidence
        return cls(
            alignment.version,
            alignment.method,
            alignment.config.model_dump(mode="json"),
            (profile_of(alignment.source), profile_of(alignment.target)),
            cost,
            None if evidence is None else evidence.share_alone,
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
    """The record beside an alignment file; None where there is none.

    Raises
    ------
    InputError
        Where it is no record.
    """
    file = record_of(path)
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        return _record(data)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({error.strerror}); give a readable file") from None
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise InputError(f"{file}: cannot be read as the record of a run ({error!r}); align again") from None


def _record(data: Mapping[str, Any]) -> RunRecord:
    if data["format"] != _FORMAT:
        raise ValueError(f"format {data['format']}, not {_FORMAT}")
    source, target = (GraphProfile.from_dict(each) for each in data["graphs"])
    cost = data["cost"]
    peak = cost["peak_mb"]
    return RunRecord(
        str(data["version"]),
        str(data["method"]),
        dict(data["config"]),
        (source, target),
        Cost(tuple(map(str, cost["command"])), _numbers(cost["seconds"]), None if peak is None else float(peak)),
        None if data["without_partner"] is None else float(data["without_partner"]),
        _rows(data["rounds"]),
        None if data["weights"] is None else _numbers(data["weights"]),
        None if data["distances"] is None else _numbers(data["distances"]),
        _rows(data["relations"]),
    )


def _numbers(data: Mapping[str, Any]) -> dict[str, float]:
    return {str(name): float(value) for name, value in data.items()}


def _rows(data: Sequence[Mapping[str, Any]] | None) -> tuple[Mapping[str, Any], ...] | None:
    return None if data is None else tuple(dict(row) for row in data)
