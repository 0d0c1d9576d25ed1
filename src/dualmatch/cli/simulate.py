"""`dualmatch simulate`: a planted world as a benchmark folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import rich_click as click

from dualmatch.cli.shared_options import declared, force_option, given, out_option, talk_options
from dualmatch.option_texts import WORLD_OPTIONS

_WORLD: Final = [
    click.option(f"--{name.replace('_', '-')}", name, type=type(default), help=f"{text}  [default: {default}]")
    for name, (default, text) in WORLD_OPTIONS.items()
]


@click.command("simulate")
@out_option("Folder to write.")
@click.option(
    "--preset",
    type=click.Choice(["plain", "demo", "scale"]),
    default="plain",
    show_default=True,
    help="Start from the plain defaults below, the demo's world, or the fixed world for measuring growth.",
)
@declared(_WORLD)
@force_option
@talk_options
def simulate_command(output: Path, preset: str, force: bool, quiet: bool, **options: Any) -> None:
    """Make two graphs that are two observers' views of one history, with the true pairs known.

    The same options give the same folder, byte for byte.

    \b
    Examples:
      dualmatch simulate -o world --entities 2000 --common-share 0.5
      dualmatch simulate -o big --preset scale --entities 100000
    """
    from dualmatch.cli import console
    from dualmatch.simulate import DEMO, World, scale_world, simulate, write_folder

    start = {"plain": World(), "demo": DEMO, "scale": scale_world(10_000)}[preset]
    pair = simulate(World(**{**start.model_dump(), **given(options)}))
    write_folder(pair, output, force=force)
    if not quiet:
        for graph in (pair.source, pair.target):
            console.say(repr(graph))
        console.say(f"{len(pair.gold):,} true pairs; written to {output}")
