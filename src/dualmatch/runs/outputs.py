"""What a run of ``dualmatch align`` or ``update`` writes: checked before the work begins, written when it is done.

The links and their companion are the same bytes for the same run. Clocks and memory are not: they go to the record of
the run, ``OUT.run.json``, with its options and how it went, for ``dualmatch report``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, Self

import polars as pl
from pydantic import TypeAdapter

from dualmatch.errors import InputError
from dualmatch.explain.explain import reasons
from dualmatch.files.atomic import STANDARD_OUTPUT, Transaction, check_outputs, write_text
from dualmatch.files.table_writer import TABLE_EXTENSIONS, check_table, format_by_name, write_table
from dualmatch.graph.model import TemporalGraph
from dualmatch.graph.profile import GraphProfile, profile_of
from dualmatch.links.write import check_names, link_format, link_table, relation_table, write_links
from dualmatch.methods.alignment import Alignment
from dualmatch.methods.update import LinkChange
from dualmatch.runs.companion import companion_of, write_companion
from dualmatch.runs.input_spec import InputSpec
from dualmatch.runs.options_file import CallOptions, options_file_of, options_of, write_options_file

CHANGES: Final = "changes.tsv"
"""The file of changes in the folder of an update."""
_FORMAT: Final = 1  # of the record


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


def write_record(record: RunRecord, path: Path, together: Transaction | None = None) -> None:
    """Write a record to a file."""
    text = json.dumps({"format": _FORMAT, **asdict(record)}, ensure_ascii=False, allow_nan=False, indent=1)
    write_text(path, text.encode("utf-8", "backslashreplace").decode() + "\n", together)


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


@dataclass(frozen=True)
class Outputs:
    """Where the results of one run go."""

    links: Path  # or - for standard output: then nothing goes beside it
    relations: Path | None = None
    explained: bool = False  # whether the companion goes beside the links
    call: CallOptions = field(default_factory=CallOptions)
    changes: Path | None = None  # where an update writes what it changed

    @property
    def paths(self) -> list[Path]:
        """The files that are written."""
        if self.links == STANDARD_OUTPUT:
            return [] if self.relations is None else [self.relations]
        companion = companion_of(self.links) if self.explained else None
        beside = (companion, options_file_of(self.links), record_of(self.links))
        return [path for path in (self.links, self.relations, *beside, self.changes) if path is not None]

    def check(self, inputs: Iterable[Path | None], force: bool) -> None:
        """Refuse early what writing would refuse late, and what would overwrite an input or another output."""
        link_format(self.links, self.call.output_format)
        if self.relations is not None:
            format_by_name(self.relations, TABLE_EXTENSIONS)
        check_outputs(dict.fromkeys([self.links, *self.paths]), inputs, force)

    def check_names(self, source: TemporalGraph, target: TemporalGraph) -> None:
        """Refuse, before the graphs are aligned, names that the outputs could not hold."""
        call = self.call
        check_names(source, target, self.links, call.output_format, call.naming, call.reasons)
        if self.relations is not None:
            for graph in (source, target):
                check_table(pl.DataFrame({"name": pl.Series(graph.relations, dtype=pl.String)}), self.relations)
        if self.changes is not None:
            check_names(source, target, self.changes)

    def write(
        self,
        alignment: Alignment,
        spec: InputSpec,
        inputs: Mapping[str, str | None],
        cost: Cost | None = None,
        changes: Sequence[LinkChange] = (),
    ) -> None:
        """Write everything; nothing, where a name cannot be written or the disk is full.

        `inputs` are the hashes of the spec's files.
        """
        tables = [] if self.relations is None else [(relation_table(alignment), self.relations)]
        tables += [] if self.changes is None else [(_change_table(changes), self.changes)]
        for table, path in tables:
            check_table(table, path)
        words = reasons(alignment) if self.call.reasons else None
        with Transaction() as together:
            write_links(link_table(alignment, words), self.links, self.call.output_format, self.call.naming, together)
            for table, path in tables:
                write_table(table, path, together)
            if self.links != STANDARD_OUTPUT:
                if self.explained:
                    write_companion(alignment, self.links, spec, inputs, together)
                write_options_file(options_file_of(self.links), alignment.config, spec.options, self.call, together)
                record = RunRecord.of(alignment, cost or Cost(seconds=alignment.seconds))
                write_record(record, record_of(self.links), together)


def _change_table(changes: Sequence[LinkChange]) -> pl.DataFrame:
    numbers = dict.fromkeys(("confidence_before", "confidence"), pl.Float64)
    columns = dict.fromkeys(("source", "before", "after", "kind"), pl.String) | numbers | {"why": pl.String}
    rows = [[getattr(change, name) for name in columns] for change in changes]
    return pl.DataFrame(rows, schema=columns, orient="row")
