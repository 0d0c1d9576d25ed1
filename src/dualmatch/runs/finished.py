"""A finished run, by its folder: where its links lie, and all that an update continues from."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from dualmatch.config import Config
from dualmatch.errors import InputError
from dualmatch.explain.link_changes import Links
from dualmatch.links.read import read_links
from dualmatch.methods.evidence.confidence import Confidence
from dualmatch.methods.evidence.rounds import Rounds
from dualmatch.methods.update import UpdateBasis
from dualmatch.runs.folder import RunFolder
from dualmatch.runs.graph_pair import GraphPair
from dualmatch.runs.manifest import Manifest, check_options, read_manifest
from dualmatch.runs.outputs import CHANGES, Outputs


def links_of(path: Path) -> Path:
    """The file of links: the path itself, or that of the finished run whose folder it is.

    An `InputError` where it is the folder of no run, or of one that is not finished.
    """
    if not os.path.isdir(path):
        return path
    manifest = read_manifest(path)
    if manifest is None:
        raise InputError(f"{path}: is a folder, and of no run; give a file of links, or the folder of align --run")
    _check_finished(path, manifest)
    return path / manifest.terms.outputs["links"]


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
        manifest = self.folder.manifest
        name = manifest.terms.outputs["links"]
        path = self.folder.path / name
        if not manifest.results[name].fits(path):
            problem = "has changed since the run was finished" if path.exists() else "is gone"
            raise InputError(f"{path}: {problem}; bring the links back as the run wrote them, or {manifest.way_on}")
        return path

    @property
    def named_links(self) -> Links:
        """The links by name; as for `links`."""
        call = self.folder.manifest.call
        pairs, confidence = read_links(self.links, call.naming, call.output_format)
        return {source: (target, sure) for (source, target), sure in zip(pairs, confidence.tolist(), strict=True)}

    @property
    def known(self) -> UpdateBasis:
        """What an update continues from; an `InputError` where it cannot."""
        path, graphs = self.folder.path, self.graphs
        if self.config.method != "evidence" or self.rounds is None or self.confidence is None:
            raise InputError(
                f"{path}: an update continues a run of method evidence; this run is of {self.config.method}"
            )
        if graphs.literals is not None:
            raise InputError(
                f"{path}: its run compared labels, which new entities come without; align again with all facts"
            )
        return UpdateBasis.from_run(self.rounds, self.confidence, graphs.seeds, graphs.forbidden)

    def outputs_in(self, folder: Path) -> Outputs:
        """What an update writes: links of the same name and format, relations and reasons if any, and changes."""
        manifest = self.folder.manifest
        call = replace(manifest.call, seeds=None, forbid=None)  # the new run keeps them by their rows
        names = {name: folder / Path(path).name for name, path in manifest.terms.outputs.items()}
        return Outputs(names["links"], names.get("relations"), explained=True, call=call, changes=folder / CHANGES)


@contextmanager
def finished_run(path: Path) -> Iterator[FinishedRun]:
    """A finished run. Its folder may be read-only; nobody can write into it until this ends, others can read it.

    An `InputError` where there is none, another process is writing into it, or one of its stages is damaged.
    """
    with RunFolder.read(path) as folder:
        if not folder.has_begun:
            raise InputError(f"{path}: no run was finished in it; align with --run first")
        manifest = folder.manifest
        _check_finished(path, manifest)
        check_options(path, manifest)
        graphs, rounds, confidence = folder.kept_graphs(), folder.kept_round(), folder.kept_confidence()
        for name, content in (("graphs", graphs), ("round", rounds), ("outcome", confidence)):
            if content is None and name in manifest.stages:
                file = path / manifest.stages[name].file
                raise InputError(f"{file}: is not what the run wrote; align again with --run and --force")
        if graphs is None:
            raise InputError(f"{path}: the run kept no graphs; align again with --run and --force")
        yield FinishedRun(folder, manifest.config, graphs, rounds, confidence)


def _check_finished(path: Path, manifest: Manifest) -> None:
    if manifest.state != "finished":
        raise InputError(f"{path}: its run is not finished; {manifest.way_on}")
