"""Runs with a folder of their own, as the command line starts them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from dualmatch.cli import console
from dualmatch.cli.reader_options import Asked
from dualmatch.engine import Engine
from dualmatch.errors import InputError
from dualmatch.files.atomic import STANDARD_OUTPUT
from dualmatch.runs.folder import LINKS, RunFolder
from dualmatch.runs.input_spec import Recipe
from dualmatch.runs.inputs import RunInputs
from dualmatch.runs.outputs import Outputs


def links_path(output: Path | None, run: Path | None, resume: bool, checkpoint: Path | None) -> Path:
    """Where the links go; what does not go together is refused."""
    if run is None:
        if resume:
            raise InputError("--resume goes on with the run of a folder; say which with --run FOLDER")
        if output is None:
            raise click.UsageError("Missing option '-o' / '--output', or '--run' for a run with a folder of its own.")
        return output
    if output == STANDARD_OUTPUT:
        raise InputError("a run with a folder keeps its links in a file; give -o a file, or leave it out")
    if checkpoint is not None:
        raise InputError("a run with a folder keeps its training there, too; leave --checkpoint out")
    return run / LINKS if output is None else output


def inputs_of(
    folder: RunFolder | None, asked: Asked, recipe: Recipe, outputs: Outputs, engine: Engine | None
) -> RunInputs:
    """What is aligned: read, or found in the folder, where it is kept."""
    kept = None if folder is None else folder.inputs()
    inputs = RunInputs.of(asked.read(recipe, engine), outputs.call) if kept is None else kept
    outputs.check_names(inputs.source, inputs.target)
    if folder is not None and kept is None:
        folder.keep_inputs(inputs)
    return inputs


@contextmanager
def run_folder(path: Path | None, resume: bool, force: bool) -> Iterator[RunFolder | None]:
    """The folder of the run, locked; None where it has none."""
    if path is None:
        yield None
        return
    with RunFolder.opened(path, resume=resume, force=force) as folder:
        try:
            yield folder
        except KeyboardInterrupt:
            if folder.has_begun:
                console.note(f"{path}: the same call with --resume goes on")
            raise
