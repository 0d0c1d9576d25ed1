"""`dualmatch align`: two graphs in, links out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dualmatch.align import align
from dualmatch.cli import console
from dualmatch.cli.options import force_option, given, model_options, out_option, quiet_option
from dualmatch.cli.process import prepare_process
from dualmatch.cli.reading import Asked, graphs_argument, reading_options, refuse_own_input, side_options
from dualmatch.config import Config
from dualmatch.io.atomic import check_writable
from dualmatch.io.links import write_links


@click.command("align")
@graphs_argument
@out_option("Where to write the links: source, target, confidence; tab-separated, with a header.")
@click.option(
    "--seeds", "seeds_path", type=click.Path(path_type=Path), help="Known pairs: two columns of ids or names."
)
@click.option(
    "--checkpoint",
    type=click.Path(path_type=Path),
    help="Keep the state of training in this file after every epoch; where it exists, training goes on from it.",
)
@side_options[0]
@side_options[1]
@reading_options
@model_options(Config)
@force_option
@quiet_option
def align_command(
    paths: tuple[Path, ...],
    output: Path,
    seeds_path: Path | None,
    checkpoint: Path | None,
    source: tuple[Path, ...],
    target: tuple[Path, ...],
    asked: Asked,
    force: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Align SOURCE and TARGET, two graphs in any format, or the two graphs of a FOLDER.

    \b
    A file is a table (CSV, TSV, Parquet), RDF (.nt .nq .ttl .trig .rdf) or Wikidata's JSON, plain or .gz or .zst; - is
    standard input. A folder is a benchmark's (triples_1, triples_2, …) or OpenEA's (rel_triples_1, …).

    \b
    Examples:
      dualmatch align people.csv wikidata.json.gz -o links.tsv
      dualmatch align a.parquet b.ttl -o links.tsv --columns head=who,relation=what,tail=whom,begin=from,end=to
      dualmatch align data/yago-wiki20k -o links.tsv --seeds known_pairs.tsv
    """
    config = Config.checked(**given(options))
    prepare_process(config)
    check_writable(output, force)
    refuse_own_input(output, (*paths, *source, *target))
    asked = asked.with_rejected_beside(output, force)
    with console.progress_shown(quiet) as progress:
        if progress is not None:
            progress("read", 0, 0, "")
        data = asked.read(paths, source, target)
        seeds = None if seeds_path is None else data.read_pairs(seeds_path)
        alignment = align(data.source, data.target, seeds, config=config, progress=progress, checkpoint=checkpoint)
        write_links(alignment.links(), output)
    if not quiet:
        console.say(f"{len(alignment.pairs):,} links written to {output}")
        console.say(f"{len(alignment.unmatched):,} of {data.source.n_entities:,} source entities have no match")
