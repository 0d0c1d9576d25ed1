"""`dualmatch update`: new facts have arrived; align again from the finished run."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import click
import polars as pl

from dualmatch.cli import console
from dualmatch.cli.engine import EngineOptions, engine_options
from dualmatch.cli.json_output import JsonOutput
from dualmatch.cli.options import called_with, force_option, json_option, talk_options
from dualmatch.cli.reading import Asked, reading_options
from dualmatch.errors import InputError
from dualmatch.graph.growing import Grown, grown
from dualmatch.graph.model import TemporalGraph
from dualmatch.io.atomic import check_outputs
from dualmatch.io.fingerprint import sha256_of
from dualmatch.io.finished_run import FinishedRun, finished_run
from dualmatch.io.intake import ReadOptions
from dualmatch.io.links import read_links
from dualmatch.io.manifest import Terms
from dualmatch.io.outputs import Outputs
from dualmatch.io.read import read
from dualmatch.io.record import Cost
from dualmatch.io.run_folder import LINKS, RunFolder
from dualmatch.io.run_inputs import RunInputs
from dualmatch.io.sides import Recipe
from dualmatch.io.tables_out import write_table
from dualmatch.io.why import input_hashes
from dualmatch.memory import peak_mb
from dualmatch.update import Known, update
from dualmatch.update_changes import LinkChange, Links, changes_since

_PATH = click.Path(path_type=Path)
_CHANGES = "changes.tsv"


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
    if not source_facts and not target_facts:
        raise InputError("there are no new facts; give --source-facts FILE, --target-facts FILE or both")
    if new.resolve() == finished.resolve():
        raise InputError(f"{new}: is the run that is updated; give --run another folder")
    outputs = Outputs(new / LINKS, explained=True)
    changes_path = new / _CHANGES
    with finished_run(finished) as before, RunFolder.opened(new, force=force) as folder:
        known = _known(before)
        own = (*folder.own_files, *source_facts, *target_facts)
        outputs.check(own, force)
        check_outputs([asked.rejected, changes_path], (*own, *outputs.paths), force)
        json_output = JsonOutput.asked_for(json_path, force, (*own, *outputs.paths, changes_path))
        with engine.opened(before.config) as blocks, console.progress_shown(quiet) as progress:
            if progress is not None:
                progress("read", 0, 0, "")
            inputs = before.inputs
            base = asked.over(before.folder.manifest.recipe.options)
            source = _grown(inputs.source, source_facts, base, 0)
            target = _grown(inputs.target, target_facts, base, 1)
            links = _links(before)
            recipe = Recipe((new,), (ReadOptions(), ReadOptions()))
            files = (*source_facts, *target_facts, before.links)
            hashes = {str(path.resolve()): sha256_of(path) for path in files}
            folder.begin(Terms.of(before.config, recipe, outputs, new), hashes, (*outputs.paths, changes_path))
            now = known.at(source, target)
            folder.keep_inputs(
                RunInputs(
                    source.graph, target.graph, seeds=now.seeds.astype("int32"), forbidden=now.forbidden.astype("int32")
                )
            )
            read_seconds = time.perf_counter() - start
            alignment = update(known, source, target, before.config, engine=blocks, progress=progress, keeper=folder)
            changes = changes_since(links, alignment, source, target)
            seconds = {"read": read_seconds, **alignment.seconds, "total": time.perf_counter() - start}
            outputs.write(alignment, None, recipe, input_hashes(recipe), Cost(called_with(), seconds, peak_mb()))
            write_table(_table(changes), changes_path)
            folder.finish()
    kinds = Counter(change.kind for change in changes)
    json_output.write(
        {
            "links": len(alignment.pairs),
            "changes": dict(kinds),
            "why": dict(Counter(change.why for change in changes)),
            "new_facts": [_said(source, inputs.source), _said(target, inputs.target)],
            "seconds": seconds,
            "files": [*map(str, outputs.paths), str(changes_path)],
        }
    )
    if not quiet and not json_output.to_stdout:
        for name, each, old in (("source", source, inputs.source), ("target", target, inputs.target)):
            told = _said(each, old)
            console.say(
                f"{name}: {told['facts']:,} new facts ({told['known']:,} were known), {told['entities']:,} new entities"
            )
        listed = ", ".join(f"{kinds[kind]:,} {kind}" for kind in ("new", "lost", "other partner"))
        console.say(f"{len(alignment.pairs):,} links written to {outputs.links}: {listed} (see {changes_path})")


def _known(before: FinishedRun) -> Known:
    """What the run knows; an `InputError` where an update cannot go on from it."""
    path, inputs, standing, outcome = before.folder.path, before.inputs, before.standing, before.outcome
    if before.config.method != "evidence" or standing is None or outcome is None:
        raise InputError(f"{path}: an update goes on from method evidence; this run is of {before.config.method}")
    if inputs.literals is not None:
        raise InputError(
            f"{path}: its run looked at labels, which new entities come without; align again with all facts"
        )
    return Known.from_run(standing, outcome, inputs.seeds, inputs.forbidden)


def _grown(graph: TemporalGraph, files: tuple[Path, ...], asked: Asked, side: int) -> Grown:
    if not files:
        return grown(graph, TemporalGraph.from_facts([]))
    reading = read(files, asked.options[side])
    asked.tell(reading.notes, reading.rejections)
    return grown(graph, reading.graph)


def _links(before: FinishedRun) -> Links:
    pairs, confidence = read_links(before.links, before.folder.manifest.call.naming)
    return {source: (target, sure) for (source, target), sure in zip(pairs, confidence.tolist(), strict=True)}


def _said(grown_graph: Grown, before: TemporalGraph) -> dict[str, int]:
    graph = grown_graph.graph
    facts = graph.n_facts - before.n_facts
    return {"facts": facts, "known": grown_graph.n_known, "entities": graph.n_entities - before.n_entities}


def _table(changes: list[LinkChange]) -> pl.DataFrame:
    columns = ("source", "before", "after", "kind", "confidence_before", "confidence", "why")
    return pl.DataFrame(
        {
            name: pl.Series(
                [getattr(change, name) for change in changes],
                dtype=pl.Float64 if name.startswith("confidence") else pl.String,
            )
            for name in columns
        }
    )
