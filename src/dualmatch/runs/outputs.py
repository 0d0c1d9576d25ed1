"""What a run of ``dualmatch align`` or ``update`` writes: checked before the work begins, written when it is done.

The links and their companion are the same bytes for the same run; the record, which holds clocks, is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import polars as pl

from dualmatch.config import Config
from dualmatch.explain.explain import reasons
from dualmatch.files.atomic import STANDARD_OUTPUT, Transaction, check_outputs
from dualmatch.files.fingerprint import Fingerprint
from dualmatch.files.table_writer import TABLE_EXTENSIONS, check_table, format_by_name, write_table
from dualmatch.graph.model import TemporalGraph
from dualmatch.links.write import check_names, link_format, write_links
from dualmatch.methods.alignment import Alignment
from dualmatch.methods.link_table import link_table, relation_table
from dualmatch.methods.update import LinkChange
from dualmatch.runs.companion import companion_of, write_companion
from dualmatch.runs.input_spec import InputSpec
from dualmatch.runs.options_file import CallOptions, record_of
from dualmatch.runs.record import Cost, Outcome, RunRecord, path_within, write_record

CHANGES: Final = "changes.tsv"
"""The file of changes in the folder of an update."""


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
        beside = (companion, record_of(self.links))
        return [path for path in (self.links, self.relations, *beside, self.changes) if path is not None]

    def record(self, config: Config, spec: InputSpec, folder: Path) -> RunRecord:
        """The record of a run that begins, for a file in this folder."""
        return RunRecord.of(config, spec, self.call, {"links": self.links, "relations": self.relations}, folder)

    def check(self, inputs: Iterable[Path | None], force: bool) -> None:
        """Refuse early what writing would refuse late, and what would overwrite an input or another output."""
        link_format(self.links, self.call.output_format)
        if self.relations is not None:
            format_by_name(self.relations, TABLE_EXTENSIONS)
        there = [] if self.links in self.paths else [self.links]  # a path given twice is listed twice, and refused
        check_outputs([*there, *self.paths], inputs, force)

    def check_names(self, source: TemporalGraph, target: TemporalGraph) -> None:
        """Refuse, before the graphs are aligned, names that the outputs could not hold."""
        call = self.call
        check_names(source, target, self.links, call.output_format, call.reasons)
        if self.relations is not None:
            for graph in (source, target):
                check_table(pl.DataFrame({"name": pl.Series(graph.relations, dtype=pl.String)}), self.relations)
        if self.changes is not None:
            check_names(source, target, self.changes)

    def write(
        self,
        alignment: Alignment,
        spec: InputSpec,
        hashes: Mapping[str, str | None],
        cost: Cost | None = None,
        changes: Sequence[LinkChange] = (),
    ) -> Outcome:
        """Write everything; nothing, where a name cannot be written or the disk is full.

        `hashes` are those of the spec's files. Returns what the record holds of how the run went.
        """
        tables = [] if self.relations is None else [(relation_table(alignment), self.relations)]
        tables += [] if self.changes is None else [(_change_table(changes), self.changes)]
        for table, path in tables:
            check_table(table, path)
        words = reasons(alignment) if self.call.reasons else None
        outcome = Outcome.of(alignment, cost or Cost(seconds=alignment.seconds))
        with Transaction() as together:
            call, graphs = self.call, (alignment.source, alignment.target)
            write_links(link_table(alignment, words), self.links, call.output_format, call.naming, together, graphs)
            for table, path in tables:
                write_table(table, path, together)
            if self.links != STANDARD_OUTPUT:
                if self.explained:
                    write_companion(alignment, self.links, together)
                file = record_of(self.links)
                written = {path_within(file.parent, path): together.newest(path) for path in self.paths if path != file}
                results = {name: Fingerprint.of(path) for name, path in written.items()}
                begun = replace(self.record(alignment.config, spec, file.parent), hashes=dict(hashes))
                write_record(begun.finished(results, outcome), file, together)
        return outcome


def _change_table(changes: Sequence[LinkChange]) -> pl.DataFrame:
    numbers = dict.fromkeys(("confidence_before", "confidence"), pl.Float64)
    columns = dict.fromkeys(("source", "before", "after", "kind"), pl.String) | numbers | {"why": pl.String}
    rows = [[getattr(change, name) for name in columns] for change in changes]
    return pl.DataFrame(rows, schema=columns, orient="row")
