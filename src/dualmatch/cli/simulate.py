"""`dualmatch simulate`: a planted world as a benchmark folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import rich_click as click

from dualmatch.cli import console
from dualmatch.cli.shared_options import Command, declared, force_option, given, out_option, talk_options
from dualmatch.errors import ConfigError
from dualmatch.simulate import (
    DEMO,
    PeopleWorld,
    World,
    scale_world,
    simulate,
    simulate_people,
    write_folder,
    write_people,
)
from dualmatch.simulate.people import TABLE_FORMATS, TRUE_PAIRS


def _world_options(command: Command) -> Command:
    """An option for each field of `World`, with its description and default; unset ones arrive as None."""
    options = []
    for name, field in World.model_fields.items():
        words = f"{str(field.description)[:1].upper()}{str(field.description)[1:]}.  [default: {field.default}]"
        kind = int if field.annotation is int else float
        options.append(click.option(f"--{name.replace('_', '-')}", name, type=kind, default=None, help=words))
    return declared(options)(command)


@click.command("simulate")
@out_option("Folder to write.")
@click.option(
    "--preset",
    type=click.Choice(["plain", "demo", "scale", "people"]),
    default="plain",
    show_default=True,
    help="Start from the plain defaults below, the demo's world, or the fixed world for measuring growth; people: two "
    "tables of people, 2,000 each, a third of them in both (takes --entities, --common-share and --seed).",
)
@click.option(
    "--format",
    "table_format",
    type=click.Choice(TABLE_FORMATS),
    help="Of the tables that --preset people writes.  [default: csv]",
)
@_world_options
@force_option
@talk_options
def simulate_command(
    output: Path, preset: str, table_format: str | None, force: bool, quiet: bool, **options: Any
) -> None:
    """Make two graphs that are two observers' views of one history, with the true pairs known.

    The same options give the same folder, byte for byte.

    \b
    Examples:
      dualmatch simulate -o world --entities 2000 --common-share 0.5
      dualmatch simulate -o people --preset people
      dualmatch simulate -o big --preset scale --entities 100000
    """
    if preset == "people":
        _simulate_people(output, table_format or "csv", force, quiet, given(options))
        return
    if table_format is not None:
        raise ConfigError("--format: only --preset people writes tables; the others write a benchmark folder")
    start = {"plain": World(), "demo": DEMO, "scale": scale_world(10_000)}[preset]
    pair = simulate(World(**{**start.model_dump(), **given(options)}))
    write_folder(pair, output, force=force)
    if not quiet:
        for graph in (pair.source, pair.target):
            console.say(repr(graph))
        console.say(f"{len(pair.gold):,} true pairs; written to {output}")


def _simulate_people(output: Path, table_format: str, force: bool, quiet: bool, options: dict[str, Any]) -> None:
    fields = {"entities": "people", "common_share": "common_share", "seed": "seed"}
    foreign = [f"--{name.replace('_', '-')}: is no option of --preset people" for name in options if name not in fields]
    if foreign:
        raise ConfigError("\n".join(foreign))
    pair = simulate_people(PeopleWorld(**{fields[name]: value for name, value in options.items()}))
    write_people(pair, output, table_format, force=force)
    if not quiet:
        console.say(
            f"{pair.archive.height:,} people in either table, {len(pair.gold):,} true pairs (with places and offices)"
        )
        console.say(f"written to {output}: archive.{table_format}, register.{table_format}, {TRUE_PAIRS}")
