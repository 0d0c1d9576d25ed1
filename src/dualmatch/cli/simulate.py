"""`dualmatch simulate`: a planted world as a benchmark folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dualmatch.cli import console
from dualmatch.cli.options import force_option, given, model_options, out_option, talk_options
from dualmatch.simulate import DEMO, World, scale_world, simulate, write_folder

PRESETS = ("plain", "demo", "scale")


@click.command("simulate")
@out_option("Folder to write.")
@click.option(
    "--preset",
    type=click.Choice(PRESETS),
    default="plain",
    show_default=True,
    help="Start from the plain defaults below, the demo's world, or the fixed world for measuring growth.",
)
@model_options(World)
@force_option
@talk_options
def simulate_command(output: Path, preset: str, force: bool, quiet: bool, **options: Any) -> None:
    """Make two graphs that are two observers' views of one history, with the true pairs known.

    \b
    Examples:
      dualmatch simulate -o world --entities 2000 --common-share 0.5
      dualmatch simulate -o big --preset scale --entities 100000
    """
    start = {"plain": World(), "demo": DEMO, "scale": scale_world(10_000)}[preset]
    pair = simulate(World(**{**start.model_dump(), **given(options)}))
    write_folder(pair, output, force=force)
    if not quiet:
        for graph in (pair.source, pair.target):
            console.say(repr(graph))
        console.say(f"{len(pair.gold):,} true pairs; written to {output}")
