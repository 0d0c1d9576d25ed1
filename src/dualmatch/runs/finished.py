"""A finished run, read: what `dualmatch update` continues from."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from dualmatch.config import Config
from dualmatch.errors import InputError
from dualmatch.links.read import read_links
from dualmatch.methods.evidence.confidence import Confidence
from dualmatch.methods.evidence.rounds import Rounds
from dualmatch.methods.update import Links, UpdateBasis
from dualmatch.runs.folder import RunFolder, check_finished
from dualmatch.runs.graph_pair import GraphPair
from dualmatch.runs.outputs import CHANGES, Outputs
from dualmatch.runs.record import check_options


@dataclass(frozen=True, eq=False)
class FinishedRun:
    """What a finished run kept; `rounds` and `confidence` are None where the method has no rounds."""

    folder: RunFolder
    config: Config
    graphs: GraphPair
    rounds: Rounds | None
    confidence: Confidence | None

    @property
    def links(self) -> Path:
        """Where the links lie; an `InputError` where they are not what the run wrote."""
        record = self.folder.record
        name = record.outputs["links"]
        path = self.folder.path / name
        if not record.results[name].fits(path):
            problem = "has changed since the run was finished" if path.exists() else "is gone"
            raise InputError(f"{path}: {problem}; restore the links as the run wrote them, or {record.way_on}")
        return path

    @property
    def named_links(self) -> Links:
        """The links by name; as for `links`."""
        call = self.folder.record.call
        pairs, confidence = read_links(self.links, call.naming, call.output_format)
        for side, graph in enumerate((self.graphs.source, self.graphs.target)):
            if strange := next((pair[side] for pair in pairs if pair[side] not in graph.entity_rows), None):
                raise InputError(
                    f"{self.links}: {strange!r} is not an entity of {graph.name}; align again with --force"
                )
        return {source: (target, sure) for (source, target), sure in zip(pairs, confidence.tolist(), strict=True)}

    @property
    def known(self) -> UpdateBasis:
        """What an update continues from; an `InputError` where it cannot."""
        path, graphs = self.folder.path, self.graphs
        if self.config.method != "evidence" or self.rounds is None or self.confidence is None:
            raise InputError(
                f"{path}: an update continues a run of method evidence; this run is of {self.config.method}"
            )
        given = graphs.seeds, graphs.forbidden, graphs.literals
        return UpdateBasis.from_run(self.rounds, self.confidence, *given)

    def outputs_in(self, folder: Path) -> Outputs:
        """What an update writes: links of the same name and format, relations and reasons if any, and changes."""
        record = self.folder.record
        call = replace(record.call, seeds=None, forbid=None)  # the new run keeps them by their rows
        names = {name: folder / Path(path).name for name, path in record.outputs.items()}
        return Outputs(names["links"], names.get("relations"), explained=True, call=call, changes=folder / CHANGES)


@contextmanager
def finished_run(path: Path) -> Iterator[FinishedRun]:
    """A finished run. Its folder may be read-only; nobody can write into it until this ends, others can read it.

    An `InputError` where there is none, another process is writing into it, or one of its stages is damaged.
    """
    with RunFolder.read(path) as folder:
        if not folder.has_begun:
            raise InputError(f"{path}: no run was finished in it; align with --run first")
        record = folder.record
        check_finished(path, record)
        check_options(path, record)
        graphs, rounds, confidence = folder.kept_graphs(), folder.kept_round(), folder.kept_confidence()
        for name, content in (("graphs", graphs), ("round", rounds), ("outcome", confidence)):
            if content is None and name in record.stages:
                file = path / record.stages[name].file
                raise InputError(f"{file}: is not what the run wrote; align again with --run and --force")
        if graphs is None:
            raise InputError(f"{path}: the run kept no graphs; align again with --run and --force")
        yield FinishedRun(folder, record.config, graphs, rounds, confidence)
