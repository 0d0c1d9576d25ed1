"""What a run of ``dualmatch align`` writes: checked before the work begins, written when all of it is done."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from dualmatch.files.atomic import STANDARD_OUTPUT, check_outputs, replacing_together
from dualmatch.files.tables import TABLE_EXTENSIONS, check_table, format_by_name, write_table
from dualmatch.graph.model import TemporalGraph
from dualmatch.links.relation_table import relation_table
from dualmatch.links.write import check_names, link_format, write_alignment
from dualmatch.methods.alignment import Alignment
from dualmatch.runs.companion import companion_of, write_companion
from dualmatch.runs.input_spec import Recipe
from dualmatch.runs.options_file import CallOptions, run_file_of, write_run_file
from dualmatch.runs.record import Cost, RunRecord, record_of, write_record


@dataclass(frozen=True)
class Outputs:
    """Where the results of one run go.

    Attributes
    ----------
    links:
        The alignment file, or ``-`` for standard output: then nothing goes beside it.
    relations:
        The relation file, where it is asked for.
    explained:
        Whether the companion that ``dualmatch explain`` reads goes beside the links.
    call:
        How links are written, and what else the run file must hold.
    """

    links: Path
    relations: Path | None = None
    explained: bool = False
    call: CallOptions = field(default_factory=CallOptions)

    @property
    def companion(self) -> Path | None:
        return companion_of(self.links) if self.explained and self.links != STANDARD_OUTPUT else None

    @property
    def run_file(self) -> Path | None:
        return None if self.links == STANDARD_OUTPUT else run_file_of(self.links)

    @property
    def record(self) -> Path | None:
        return None if self.links == STANDARD_OUTPUT else record_of(self.links)

    @property
    def paths(self) -> list[Path]:
        """The files that are written."""
        links = None if self.links == STANDARD_OUTPUT else self.links
        files = (links, self.relations, self.companion, self.run_file, self.record)
        return [path for path in files if path is not None]

    def check(self, inputs: Iterable[Path | None], force: bool) -> None:
        """Refuse early what writing would refuse late, and what would overwrite an input or another output."""
        link_format(self.links, self.call.output_format)
        if self.relations is not None:
            format_by_name(self.relations, TABLE_EXTENSIONS)
        check_outputs(self.paths, inputs, force)

    def check_names(self, source: TemporalGraph, target: TemporalGraph) -> None:
        """Refuse, before the graphs are aligned, names that the outputs could not hold."""
        call = self.call
        check_names(source, target, self.links, call.output_format, call.naming, call.reasons)
        if self.relations is not None:
            for graph in (source, target):
                check_table(pl.DataFrame({"name": pl.Series(graph.relations, dtype=pl.String)}), self.relations)

    def write(
        self,
        alignment: Alignment,
        reasons: Sequence[str] | None,
        recipe: Recipe,
        inputs: Mapping[str, str | None],
        cost: Cost | None = None,
    ) -> None:
        """Write everything; nothing, where a name cannot be written or the disk is full.

        Parameters
        ----------
        reasons:
            A text for each source row, for the column ``reasons``.
        recipe, inputs:
            Where the graphs came from, and the hashes of its files.
        cost:
            How the run was called and what it took.
        """
        relations = None if self.relations is None else relation_table(alignment)
        if relations is not None and self.relations is not None:
            check_table(relations, self.relations)
        with replacing_together():
            write_alignment(alignment, self.links, reasons, self.call.output_format, self.call.naming)
            if relations is not None and self.relations is not None:
                write_table(relations, self.relations)
            if self.companion is not None:
                write_companion(alignment, self.links, recipe, inputs)
            if self.run_file is not None:
                write_run_file(self.run_file, alignment.config, recipe.options, self.call)
            if self.record is not None:
                write_record(RunRecord.of(alignment, cost or Cost(seconds=alignment.seconds)), self.record)
