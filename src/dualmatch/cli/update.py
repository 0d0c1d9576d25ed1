"""`dualmatch update`: new facts have arrived; align again from the finished run."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dualmatch.cli import console
from dualmatch.cli.engine_options import EngineOptions, engine_options
from dualmatch.cli.reader_options import ReaderOptions, memory_option, reading_options
from dualmatch.cli.shared_options import PATH, called_with, force_option, json_option, talk_options
from dualmatch.errors import InputError, counted
from dualmatch.files.compressed import STANDARD_INPUT

if TYPE_CHECKING:
    from dualmatch.runs.outputs import Outputs


@click.command("update")
@click.argument("finished", metavar="RUN", type=PATH)
@click.option("--source-facts", type=PATH, multiple=True, help="New facts of the source; may be repeated.")
@click.option("--target-facts", type=PATH, multiple=True, help="New facts of the target; may be repeated.")
@click.option("--run", "new", type=PATH, required=True, help="The folder of the new run; RUN stays as it is.")
@reading_options
@memory_option
@engine_options
@json_option
@force_option
@talk_options
def update_command(
    finished: Path,
    source_facts: tuple[Path, ...],
    target_facts: tuple[Path, ...],
    new: Path,
    asked: ReaderOptions,
    memory_limit: int | None,
    engine: EngineOptions,
    json_path: str | None,
    force: bool,
    quiet: bool,
) -> None:
    """Align again after new facts have arrived, from a finished RUN.

    RUN is the folder of align --run. New facts may bring new entities and times. The rounds resume where RUN ended,
    so they are few; old links are weighed again, and new facts can overturn them. It takes a fraction of a whole run,
    and the new run can be updated in turn. Confidence is still judged by the test that RUN did on its own pairs: align
    from scratch once much has changed.

    Beside the links, NEW/changes.tsv lists every link that is new, lost or has another partner, and why.

    \b
    Examples:
      dualmatch update monday.run --source-facts tuesday.csv --run tuesday.run
      dualmatch update old.run --source-facts a.csv --target-facts b.nt --run new
    """
    start = time.perf_counter()
    facts = source_facts, target_facts
    if not source_facts and not target_facts:
        raise InputError("there are no new facts; give --source-facts FILE, --target-facts FILE or both")
    if all(STANDARD_INPUT in files for files in facts):
        raise InputError("standard input can be read once only; give one side as a file")
    from dualmatch.runs.workflow import UpdateRun

    with UpdateRun.folders(finished, new, force) as (before, folder):
        if memory_limit is not None:
            before = replace(before, config=before.config.model_copy(update={"memory_limit": memory_limit}))
        asked = (
            asked.over(before.folder.record.spec.options)
            .within(before.config.memory_limit)
            .with_rejected_beside(before.outputs_in(new).links)
        )
        run = UpdateRun(before, folder, facts, asked.options, asked.rejected, force)
        run.check_files()
        json_output = console.JsonOutput.checked(json_path, force, run.files)
        method = before.config.method
        with engine.opened(method) as blocks, console.progress_shown(quiet) as progress:
            result = run.perform(asked.report, blocks, progress, start, called_with())
    summary: dict[str, Any] = {
        "links": len(result.alignment.pairs),
        "changes": dict(Counter(change.kind for change in result.changes)),
        "why": dict(Counter(change.why for change in result.changes)),
        "new_facts": result.new_facts,
        "seconds": result.seconds,
        "files": [str(path) for path in run.outputs.paths],
    }
    json_output.write(summary | result.arrived.report)
    if not quiet and not json_output.to_stdout:
        _print_summary(summary, run.outputs)


def _print_summary(summary: dict[str, Any], outputs: Outputs) -> None:
    for side, new in zip(("source", "target"), summary["new_facts"], strict=True):
        console.say(
            f"{side}: {counted(new['facts'], 'new fact')} ({counted(new['known'], 'more was', 'more were')} known or "
            f"repeated), {counted(new['entities'], 'new entity', 'new entities')}"
        )
    listed = ", ".join(f"{summary['changes'].get(kind, 0):,} {kind}" for kind in ("new", "lost", "other partner"))
    console.say(f"{counted(summary['links'], 'link')} written to {outputs.links}: {listed} (see {outputs.changes})")
