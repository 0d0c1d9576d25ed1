"""`dualmatch merge`: both graphs under one set of ids."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dualmatch.cli import console
from dualmatch.cli.options import force_option, out_option, quiet_option
from dualmatch.cli.reading import Asked, graphs_argument, reading_options, refuse_own_input, side_options
from dualmatch.io.atomic import check_writable
from dualmatch.io.export import STANDARD_OUTPUT, check_table_name, write_table
from dualmatch.io.links import read_links
from dualmatch.merge import merge


@click.command("merge")
@graphs_argument
@out_option("Where to write the facts: .tsv, .csv or .parquet; - is standard output (TSV).")
@click.option(
    "--links", "links_path", type=click.Path(path_type=Path), required=True, help="The file that align wrote."
)
@click.option(
    "--keep",
    type=click.Choice(["source", "target"]),
    default="source",
    show_default=True,
    help="Whose names linked entities take.",
)
@click.option(
    "--min-confidence",
    type=click.FloatRange(0, 1),
    default=0.0,
    show_default=True,
    help="Leave links below this confidence out.",
)
@click.option("--entities", type=click.Path(path_type=Path), help="Also write each id with the names behind it here.")
@side_options[0]
@side_options[1]
@reading_options
@force_option
@quiet_option
def merge_command(
    paths: tuple[Path, ...],
    output: Path,
    links_path: Path,
    keep: Any,
    min_confidence: float,
    entities: Path | None,
    source: tuple[Path, ...],
    target: tuple[Path, ...],
    asked: Asked,
    force: bool,
    quiet: bool,
) -> None:
    """Write both graphs as one: linked entities share an id, and every fact says which side said it.

    \b
    Examples:
      dualmatch merge people.csv wikidata.json.gz --links links.tsv -o merged.parquet
      dualmatch merge data/mine --links links.tsv -o merged.tsv --keep target --entities ids.tsv
    """
    for path in (output, *([] if entities is None else [entities])):
        check_table_name(path)
        if path != STANDARD_OUTPUT:
            check_writable(path, force)
        refuse_own_input(path, (*paths, *source, *target, links_path))
    asked = asked.with_rejected_beside(output, force)
    sides = asked.read(paths, source, target)
    pairs, confidence = read_links(links_path)
    sure = [pair for pair, share in zip(pairs, confidence.tolist(), strict=True) if share >= min_confidence]
    merged = merge(sides.source, sides.target, sure, keep)
    write_table(merged.facts, output)
    if entities is not None:
        write_table(merged.entities, entities)
    if not quiet and output != STANDARD_OUTPUT:
        shared = int((merged.facts["said_by"] == "both").sum())
        console.say(f"{merged.facts.height:,} facts about {merged.entities.height:,} entities written to {output}")
        console.say(f"{len(sure):,} entities and {shared:,} facts come from both sides")
