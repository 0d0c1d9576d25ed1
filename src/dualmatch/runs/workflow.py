"""A run from files to files: what ``dualmatch align`` and ``dualmatch update`` do between their options and messages.

A run is opened, checked and performed. Opening takes the lock of the run's folder, and every check that needs no graph
is made; only then is an engine worth starting. The folder is left as it was until the first stage begins.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from dualmatch.config import EXPLAINED, TRAINED, Config
from dualmatch.engine import Engine
from dualmatch.errors import InputError
from dualmatch.explain.basis import no_evidence
from dualmatch.files.atomic import check_outputs
from dualmatch.files.compressed import STANDARD_INPUT, check_there
from dualmatch.files.fingerprint import sha256_of
from dualmatch.graph.growth import Grown, grown
from dualmatch.graph.literals import Literals
from dualmatch.graph.model import TemporalGraph
from dualmatch.memory import peak_mb
from dualmatch.methods.align import align
from dualmatch.methods.alignment import Alignment
from dualmatch.methods.link_table import no_relations
from dualmatch.methods.update import LinkChange, changes_since, update
from dualmatch.methods.validation import check_labels
from dualmatch.progress import Progress
from dualmatch.readers.rdf import files_named_in
from dualmatch.readers.read import Reading, read
from dualmatch.readers.read_options import ReadOptions
from dualmatch.readers.rejected_lines import Rejections
from dualmatch.readers.shown_labels import with_files_shown
from dualmatch.runs.finished import FinishedRun, finished_run
from dualmatch.runs.folder import RunFolder
from dualmatch.runs.graph_pair import GraphPair
from dualmatch.runs.input_spec import InputSpec
from dualmatch.runs.options_file import CallOptions
from dualmatch.runs.outputs import Outputs
from dualmatch.runs.record import Cost, RunRecord

Words = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class AlignRun:
    """A run of ``dualmatch align``."""

    config: Config
    spec: InputSpec
    call: CallOptions
    links: Path
    relations: Path | None = None
    rejected: Path | None = None  # where lines go that reading leaves out
    checkpoint: Path | None = None  # keeps the state of training, of a run without a folder
    config_file: Path | None = None  # options were taken from it; it must not be overwritten
    folder: RunFolder | None = None
    force: bool = False  # whether files may be replaced

    def __post_init__(self) -> None:
        method = self.config.method
        if self.call.reasons and method not in EXPLAINED:
            raise InputError(f"--reasons: {no_evidence(method)}")
        if self.relations is not None and method not in EXPLAINED:
            raise InputError(no_relations(method))
        if self.checkpoint is not None and method not in TRAINED:
            raise InputError(
                f"--checkpoint keeps the state of training, and method {method} trains nothing; leave it out"
            )
        check_labels(any(each.demands_names for each in self.spec.options), method)

    @cached_property
    def outputs(self) -> Outputs:
        explained = self.config.method in EXPLAINED and not self.spec.uses_standard_input
        return Outputs(self.links, self.relations, explained, self.call)

    @property
    def files(self) -> tuple[Path | None, ...]:
        """All that the run reads or writes."""
        return (*self._inputs, self.links, self.rejected, *self.outputs.paths)

    @cached_property
    def _inputs(self) -> tuple[Path | None, ...]:
        own = () if self.folder is None else self.folder.own_files
        given = self.call.seeds, self.call.forbid, *self.call.show_labels
        return (*self.spec.files, *given, self.checkpoint, self.config_file, *own)

    def check_files(self) -> None:
        """Refuse outputs that must not be written and inputs that are not there."""
        self.outputs.check(self._inputs, self.force)
        check_outputs([self.rejected], (*self._inputs, *self.outputs.paths), self.force)
        labels = (*(each.labels for each in self.spec.options), *self.call.show_labels)
        check_there([self.call.seeds, self.call.forbid, *labels])

    def is_finished(self) -> bool:
        """Whether the folder, if any, holds this very run, finished; an `InputError` where it cannot hold it."""
        if self.folder is None:
            return False
        self.folder.check(self._begun)
        return self.folder.has_begun and self.folder.is_finished()

    @cached_property
    def _begun(self) -> RunRecord:
        """The record that the run begins with; the inputs' hashes are of the time when this is first asked for."""
        folder = Path() if self.folder is None else self.folder.path
        hashes = self.spec.hashes(also=(self.call.seeds, self.call.forbid))
        return replace(self.outputs.record(self.config, self.spec, folder), hashes=hashes)

    def perform(
        self,
        read_graphs: Callable[[InputSpec, Engine | None], GraphPair],
        engine: Engine | None,
        progress: Progress | None,
        start: float,
        command: Words,
    ) -> tuple[Alignment, GraphPair]:
        """Read, align and write.

        `read_graphs` reads both graphs and reports what was understood; `start` is when the run was called, by
        `time.perf_counter`, and `command` its words.
        """
        outputs, folder = self.outputs, self.folder
        if progress is not None:
            progress("read", 0, 0, "")
        kept = folder.kept_graphs() if folder is not None and folder.has_begun else None
        rejected = None if self.rejected is None or self.rejected.exists() else self.rejected
        has_begun = False

        def begin_and_report(stage: str, done: int, total: int, note: str) -> None:
            """The folder is left as it was until the first stage begins: `align` may refuse the graphs."""
            nonlocal has_begun
            if folder is not None and not has_begun:
                folder.begin(self._begun, outputs.paths)
                if kept is None:
                    folder.keep_graphs(graphs)
            has_begun = True
            if progress is not None:
                progress(stage, done, total, note)

        try:
            graphs = kept or read_graphs(self.spec, engine).with_pairs(self.call.seeds, self.call.forbid)
            outputs.check_names(graphs.source, graphs.target)
            with_files_shown(graphs.source, graphs.target, self.call.show_labels)  # refused now, not when first shown
            hashes = self.spec.hashes({} if folder is None else self._begun.hashes)
            read_seconds = time.perf_counter() - start
            alignment = align(
                graphs.source,
                graphs.target,
                graphs.seeds,
                forbid=graphs.forbidden,
                literals=graphs.literals,
                progress=begin_and_report,
                checkpoint=self.checkpoint,
                engine=engine,
                store=folder,
                config=self.config,
            )
        except InputError:
            if rejected is not None and not has_begun:  # reading has written it, and the run does not begin
                rejected.unlink(missing_ok=True)
            raise
        outcome = outputs.write(alignment, self.spec, hashes, _cost(alignment, read_seconds, start, command))
        if folder is not None:
            folder.finish(outcome)
        return alignment, graphs


@contextmanager
def opened_folder(
    path: Path | None, resume: bool, force: bool, note: Callable[[str], None]
) -> Iterator[RunFolder | None]:
    """The folder of a run, locked; None where it has none. An interrupted run notes how to resume it."""
    if path is None:
        yield None
        return
    with RunFolder.opened(path, resume=resume, force=force) as folder:
        try:
            yield folder
        except KeyboardInterrupt:
            if folder.has_begun:
                note(f"{path}: resume it with the same call and --resume")
            raise


@dataclass(frozen=True, eq=False)
class UpdateRun:
    """A run of ``dualmatch update``."""

    before: FinishedRun
    folder: RunFolder
    facts: tuple[tuple[Path, ...], tuple[Path, ...]]  # new files of the source and of the target
    options: tuple[ReadOptions, ReadOptions]  # how to read them
    rejected: Path | None  # where lines go that reading leaves out
    force: bool

    @classmethod
    @contextmanager
    def folders(cls, finished: Path, new: Path, force: bool) -> Iterator[tuple[FinishedRun, RunFolder]]:
        """The finished run and the folder of the new one, both locked."""
        if new.resolve() == finished.resolve():
            raise InputError(f"{new}: is the run that is updated; give --run another folder")
        with finished_run(finished) as before, RunFolder.opened(new, force=force) as folder:
            yield before, folder

    @cached_property
    def outputs(self) -> Outputs:
        return self.before.outputs_in(self.folder.path)

    @property
    def files(self) -> tuple[Path | None, ...]:
        """All that the run reads or writes."""
        return (*self._inputs, *self.outputs.paths, self.rejected)

    @cached_property
    def _inputs(self) -> tuple[Path, ...]:
        return (*self.folder.own_files, *self.facts[0], *self.facts[1], self.before.links)

    def check_files(self) -> None:
        """Refuse a run that cannot be updated, and outputs that must not be written."""
        _ = self.before.known
        self.outputs.check(self._inputs, self.force)
        check_outputs([self.rejected], (*self._inputs, *self.outputs.paths), self.force)

    def perform(
        self,
        report: Callable[[Words, Rejections], None],
        engine: Engine | None,
        progress: Progress | None,
        start: float,
        command: Words,
    ) -> UpdateResult:
        """Read the new facts, align again and write; as `AlignRun.perform`, where `report` prints what was read."""
        if progress is not None:
            progress("read", 0, 0, "")
        before, outputs, new = self.before, self.outputs, self.folder.path
        known, links = before.known, before.named_links  # refused where they do not fit, before anything is written
        arrived = self._arrived()
        report(arrived.notes, arrived.rejections)
        source = grown(before.graphs.source, arrived.source)
        target = grown(before.graphs.target, arrived.target)
        outputs.check_names(source.graph, target.graph)
        spec = InputSpec((new,), self.options)
        files = (*self.facts[0], *self.facts[1], before.links)
        hashes: dict[str, str | None] = {
            str(path.resolve()): sha256_of(path) for path in files if path != STANDARD_INPUT
        }
        begun = outputs.record(before.config, spec, new)
        self.folder.begin(replace(begun, hashes=hashes, verb="update"), outputs.paths)
        read_seconds = time.perf_counter() - start
        labels = _labels(arrived.readings[0], source), _labels(arrived.readings[1], target)
        alignment = update(
            known,
            source,
            target,
            before.config,
            literals=labels,
            engine=engine,
            progress=progress,
            store=self.folder,
        )
        seeds, forbidden = alignment.pairs[alignment.is_seed], alignment.forbidden.pairs.astype("int32")
        graphs = alignment.source, alignment.target
        literals = None if alignment.evidence is None else alignment.evidence.problem.literals
        self.folder.keep_graphs(GraphPair.of(*graphs, literals, seeds, forbidden, **arrived.report))
        changes = changes_since(links, alignment, source, target)
        cost = _cost(alignment, read_seconds, start, command)
        self.folder.finish(outputs.write(alignment, spec, spec.hashes(), cost, changes))
        new_facts = [_new_facts(source, before.graphs.source), _new_facts(target, before.graphs.target)]
        return UpdateResult(alignment, changes, new_facts, dict(cost.seconds), arrived)

    def _arrived(self) -> GraphPair:
        nothing = Reading(TemporalGraph.from_facts([]), None, Rejections(), ())
        graphs = self.before.graphs.source, self.before.graphs.target
        first, second = (
            read(files, options, files_before=files_named_in(graph.entities), known=graph) if files else nothing
            for files, options, graph in zip(self.facts, self.options, graphs, strict=True)
        )
        return GraphPair((first, second))


@dataclass(frozen=True, eq=False)
class UpdateResult:
    """The result of an update; `new_facts` counts facts and entities of the source and of the target."""

    alignment: Alignment
    changes: list[LinkChange]
    new_facts: list[dict[str, int]]
    seconds: dict[str, float]
    arrived: GraphPair


def _labels(reading: Reading, grown: Grown) -> Literals | None:
    """New labels by the rows of the graph that has grown."""
    return None if reading.literals is None else reading.literals.moved(grown.graph.rows_of(reading.graph.entities))


def _new_facts(after: Grown, before: TemporalGraph) -> dict[str, int]:
    facts, entities = after.graph.n_facts - before.n_facts, after.graph.n_entities - before.n_entities
    facts += len(after.graph.dates) - len(before.dates)
    return {"facts": facts, "known": after.n_known, "entities": entities}


def _cost(alignment: Alignment, read_seconds: float, start: float, command: Words) -> Cost:
    seconds = {"read": read_seconds, **alignment.seconds, "total": time.perf_counter() - start}
    return Cost(command, seconds, peak_mb())
