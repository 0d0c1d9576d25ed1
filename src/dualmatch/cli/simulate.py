"""`dualmatch simulate`: a planted world as a benchmark folder, or as files that people have."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any, Final

import click

from dualmatch.cli.shared_options import declared, force_option, given, out_option, talk_options
from dualmatch.errors import ConfigError
from dualmatch.option_texts import WORLD_OPTIONS

_WORLD: Final = [
    click.option(f"--{name.replace('_', '-')}", name, type=type(default), help=f"{text}  [default: {default}]")
    for name, (default, text) in WORLD_OPTIONS.items()
]


@click.command("simulate")
@out_option("Folder to write.")
@click.option(
    "--preset",
    type=click.Choice(["plain", "varied", "scale", "people", "demo"]),
    default="plain",
    show_default=True,
    help="Start from the plain defaults below, a small world of varied dates, or the fixed world for measuring growth. "
    "people: two tables of people, 2,000 each, a third of them in both; demo: the demo's people, places and offices, a "
    "table and RDF (these take --entities, --common-share, --missing-share, --wrong-share, --year-only-share and "
    "--seed, with defaults of their own).",
)
@click.option(
    "--format",
    "table_format",
    type=click.Choice(["csv", "tsv", "parquet"]),
    help="Format of the tables that --preset people writes.  [default: csv]",
)
@declared(_WORLD)
@force_option
@talk_options
def simulate_command(
    output: Path, preset: str, table_format: str | None, force: bool, quiet: bool, **options: Any
) -> None:
    """Make two observers' graphs of one history, and the true pairs.

    The same options give the same folder, byte for byte.

    \b
    Examples:
      dualmatch simulate -o world --entities 2000 --common-share 0.5
      dualmatch simulate -o people --preset people
      dualmatch simulate -o lives --preset demo
      dualmatch simulate -o big --preset scale --entities 100000
    """
    if preset == "people":
        _simulate_people(output, table_format or "csv", force, quiet, given(options))
        return
    if table_format is not None:
        raise ConfigError("--format: only --preset people writes tables of several formats")
    if preset == "demo":
        _simulate_demo(output, force, quiet, given(options))
        return
    from dualmatch.cli import console
    from dualmatch.simulate import VARIED, World, scale_world, simulate, write_folder

    start = {"plain": World(), "varied": VARIED, "scale": scale_world(10_000)}[preset]
    pair = simulate(World(**{**start.model_dump(), **given(options)}))
    write_folder(pair, output, force=force)
    if not quiet:
        for graph in (pair.source, pair.target):
            console.say(repr(graph))
        console.say(f"{len(pair.gold):,} true pairs; written to {output}")


def _simulate_people(output: Path, table_format: str, force: bool, quiet: bool, options: dict[str, Any]) -> None:
    from dualmatch.cli import console
    from dualmatch.simulate.people import TRUE_PAIRS, PeopleWorld, simulate_people, write_people

    pair = simulate_people(PeopleWorld(**_own(options, "people", PeopleWorld)))
    write_people(pair, output, table_format, force=force)
    if not quiet:
        console.say(
            f"{pair.archive.height:,} people in each table, {len(pair.gold):,} true pairs (with places and offices)"
        )
        console.say(f"written to {output}: archive.{table_format}, register.{table_format}, {TRUE_PAIRS}")


def _simulate_demo(output: Path, force: bool, quiet: bool, options: dict[str, Any]) -> None:
    from dualmatch.cli import console
    from dualmatch.simulate.chronicle import (
        ARCHIVE_FILE,
        REGISTER_FILE,
        ChronicleWorld,
        simulate_chronicle,
        write_chronicle,
    )
    from dualmatch.simulate.people import TRUE_PAIRS

    pair = simulate_chronicle(ChronicleWorld(**_own(options, "demo", ChronicleWorld)))
    write_chronicle(pair, output, force=force)
    if not quiet:
        pairs = f"{pair.gold.height:,} true pairs (with places and offices)"
        console.say(f"{pair.world.people:,} people on each side, {pairs}")
        console.say(f"written to {output}: {ARCHIVE_FILE}, {REGISTER_FILE}, {TRUE_PAIRS}")


def _own(options: dict[str, Any], preset: str, world: type) -> dict[str, Any]:
    """The options by the names of a world of people; others are refused."""
    options = {{"entities": "people"}.get(name, name): value for name, value in options.items()}
    known = {each.name for each in fields(world)}
    if foreign := [name for name in options if name not in known]:
        words = (f"--{name.replace('_', '-')}: is not an option of --preset {preset}" for name in foreign)
        raise ConfigError("\n".join(words))
    return options
