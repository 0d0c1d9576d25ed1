"""`dualmatch update`: new facts have arrived; align again from the finished run."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import Any

import click

from dualmatch.cli import console
from dualmatch.cli.engine import EngineOptions, engine_options
from dualmatch.cli.json_output import JsonOutput
from dualmatch.cli.options import called_with, force_option, json_option, talk_options
from dualmatch.cli.reader_options import Asked, reading_options, said_of
from dualmatch.errors import InputError
from dualmatch.explain.explain import reasons as reasons_of
from dualmatch.explain.link_changes import LinkChange, changes_since
from dualmatch.files.atomic import check_outputs, replacing_together
from dualmatch.files.compressed import STANDARD_INPUT
from dualmatch.files.fingerprint import sha256_of
from dualmatch.files.tables import write_table
from dualmatch.graph.growth import Grown, grown
from dualmatch.graph.model import TemporalGraph
from dualmatch.links.write import check_names
from dualmatch.memory import peak_mb
from dualmatch.methods.alignment import Alignment
from dualmatch.methods.update import update
from dualmatch.readers.rdf.document import files_named_in
from dualmatch.readers.read import Reading, read
from dualmatch.readers.rejected_lines import Rejections
from dualmatch.runs.changes_file import CHANGES, change_table
from dualmatch.runs.companion import input_hashes
from dualmatch.runs.finished import finished_run
from dualmatch.runs.folder import RunFolder
from dualmatch.runs.input_spec import Recipe, Sides
from dualmatch.runs.inputs import RunInputs
from dualmatch.runs.manifest import Terms
from dualmatch.runs.record import Cost

_PATH = click.Path(path_type=Path)


@click.command("update")
@click.argument("finished", metavar="RUN", type=_PATH)
@click.option("--source-facts", type=_PATH, multiple=True, help="New facts of the source; may be repeated.")
@click.option("--target-facts", type=_PATH, multiple=True, help="New facts of the target; may be repeated.")
@click.option("--run", "new", type=_PATH, required=True, help="The folder of the new run; RUN stays as it is.")
@reading_options
@engine_options
@json_option
@force_option
@talk_options
def update_command(
    finished: Path,
    source_facts: tuple[Path, ...],
    target_facts: tuple[Path, ...],
    new: Path,
    asked: Asked,
    engine: EngineOptions,
    json_path: str | None,
    force: bool,
    quiet: bool,
) -> None:
    """Align again after new facts, entities and times have arrived, from a finished RUN (align --run).

    Links above a confidence of 0.9 stay, and are evidence for the rest. What was left open, and what is new, looks for
    a partner once more; nothing is learnt again. It takes a fraction of a whole run, and the new run can be updated in
    turn. Once much has changed, align anew: a pair that new facts speak against stays as long as it is only updated.

    Beside the links, NEW/changes.tsv tells every link that is new, lost or has another partner, and why.

    \b
    Examples:
      dualmatch update monday.run --source-facts tuesday.csv --run tuesday.run
      dualmatch update monday.run --source-facts a.tsv --target-facts b.ttl --run tuesday.run --json -
    """
    start = time.perf_counter()
    facts = source_facts, target_facts
    if not source_facts and not target_facts:
        raise InputError("there are no new facts; give --source-facts FILE, --target-facts FILE or both")
    if all(STANDARD_INPUT in files for files in facts):
        raise InputError("standard input can be read once only; give one side as a file")
    if new.resolve() == finished.resolve():
        raise InputError(f"{new}: is the run that is updated; give --run another folder")
    with (
        finished_run(finished) as before,
        RunFolder.opened(new, force=force) as folder,
        engine.opened(before.config) as blocks,
        console.progress_shown(quiet) as progress,
    ):
        known, links_before = before.known, before.links
        outputs, changes_path = before.outputs_in(new), new / CHANGES
        asked = asked.over(before.folder.manifest.recipe.options).with_rejected_beside(outputs.links)
        files = (*source_facts, *target_facts, links_before)
        taken = (*folder.own_files, *files)
        outputs.check(taken, force)
        check_outputs([asked.rejected, changes_path], (*taken, *outputs.paths), force)
        json_output = JsonOutput.asked_for(json_path, force, (*taken, *outputs.paths, changes_path, asked.rejected))
        if progress is not None:
            progress("read", 0, 0, "")
        arrived = _read(facts, asked, before.inputs)
        source, target = grown(before.inputs.source, arrived.source), grown(before.inputs.target, arrived.target)
        outputs.check_names(source.graph, target.graph)
        check_names(source.graph, target.graph, changes_path)
        recipe = Recipe((new,), asked.options)
        hashes = {str(path.resolve()): sha256_of(path) for path in files if path != STANDARD_INPUT}
        terms = Terms.of(before.config, recipe, outputs, new)
        folder.begin(terms, hashes, (*outputs.paths, changes_path), verb="update")
        read_seconds = time.perf_counter() - start
        alignment = update(known, source, target, before.config, engine=blocks, progress=progress, keeper=folder)
        folder.keep_inputs(_inputs(alignment, arrived))
        changes = changes_since(before.named_links, alignment, source, target)
        words = reasons_of(alignment) if outputs.call.reasons else None
        seconds = {"read": read_seconds, **alignment.seconds, "total": time.perf_counter() - start}
        with replacing_together():
            outputs.write(alignment, words, recipe, input_hashes(recipe), Cost(called_with(), seconds, peak_mb()))
            write_table(change_table(changes), changes_path)
        folder.finish()
    written = [str(path) for path in (*outputs.paths, changes_path)]
    new_facts = [_said(source, before.inputs.source), _said(target, before.inputs.target)]
    said = _summary(alignment, changes) | {"new_facts": new_facts, "seconds": seconds, "files": written}
    json_output.write(said | said_of(arrived.notes, arrived.rejections))
    if not quiet and not json_output.to_stdout:
        _summarise(said, outputs.links, changes_path)


def _summary(alignment: Alignment, changes: list[LinkChange]) -> dict[str, Any]:
    kinds, reasons = (Counter(getattr(change, name) for change in changes) for name in ("kind", "why"))
    return {"links": len(alignment.pairs), "changes": dict(kinds), "why": dict(reasons)}


def _summarise(said: dict[str, Any], links: Path, changes: Path) -> None:
    for side, new in zip(("source", "target"), said["new_facts"], strict=True):
        console.say(
            f"{side}: {new['facts']:,} new facts ({new['known']:,} more were known or repeated), "
            f"{new['entities']:,} new entities"
        )
    listed = ", ".join(f"{said['changes'].get(kind, 0):,} {kind}" for kind in ("new", "lost", "other partner"))
    console.say(f"{said['links']:,} links written to {links}: {listed} (see {changes})")


def _read(facts: tuple[tuple[Path, ...], tuple[Path, ...]], asked: Asked, inputs: RunInputs) -> Sides:
    """The new facts of both sides; what was guessed and left out is told."""
    nothing = Reading(TemporalGraph.from_facts([]), None, Rejections(), ())
    first, second = (
        read(files, options, files_before=files_named_in(graph.entities)) if files else nothing
        for files, options, graph in zip(facts, asked.options, (inputs.source, inputs.target), strict=True)
    )
    arrived = Sides((first, second))
    asked.tell(arrived.notes, arrived.rejections)
    return arrived


def _inputs(alignment: Alignment, arrived: Sides) -> RunInputs:
    """What the new run aligned, for those who go on from it."""
    return RunInputs(
        alignment.source,
        alignment.target,
        seeds=alignment.pairs[alignment.is_seed],
        forbidden=alignment.forbidden.pairs.astype("int32"),
        notes=arrived.notes,
        rejected=arrived.rejections.total,
    )


def _said(grown_graph: Grown, before: TemporalGraph) -> dict[str, int]:
    graph = grown_graph.graph
    facts = graph.n_facts - before.n_facts
    return {"facts": facts, "known": grown_graph.n_known, "entities": graph.n_entities - before.n_entities}
