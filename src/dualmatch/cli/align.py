"""`dualmatch align`: two graphs in, links out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dualmatch.align import align
from dualmatch.cli import console
from dualmatch.cli.options import folder_argument, force_option, given, model_options, out_option, quiet_option
from dualmatch.cli.process import prepare_process
from dualmatch.config import Config
from dualmatch.io.atomic import check_writable
from dualmatch.io.folder import read_folder
from dualmatch.io.links import write_links


@click.command("align")
@folder_argument
@out_option("Where to write the links: source, target, confidence; tab-separated, with a header.")
@click.option(
    "--seeds", "seeds_path", type=click.Path(path_type=Path), help="Known pairs: two columns of ids or names."
)
@click.option(
    "--checkpoint",
    type=click.Path(path_type=Path),
    help="Keep the state of training in this file after every epoch; where it exists, training goes on from it.",
)
@model_options(Config)
@force_option
@quiet_option
def align_command(
    folder: Path,
    output: Path,
    seeds_path: Path | None,
    checkpoint: Path | None,
    force: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Align the two graphs of a benchmark FOLDER.

    \b
    FOLDER holds triples_1, triples_2 (head, relation, tail[, time | begin, end] as tab-separated ids) and
    optionally ent_ids_1/2, rel_ids_1/2 (names) and time_id (dates).

    \b
    Examples:
      dualmatch align data/yago-wiki20k -o links.tsv
      dualmatch align data/mine -o links.tsv --seeds known_pairs.tsv
    """
    config = Config.checked(**given(options))
    prepare_process(config)
    check_writable(output, force)
    with console.progress_shown(quiet) as progress:
        if progress is not None:
            progress("read", 0, 0, "")
        data = read_folder(folder)
        seeds = None if seeds_path is None else data.read_pairs(seeds_path)
        alignment = align(data.source, data.target, seeds, config=config, progress=progress, checkpoint=checkpoint)
        write_links(alignment.links(), output)
    if not quiet:
        console.say(f"{len(alignment.pairs):,} links written to {output}")
        console.say(f"{len(alignment.unmatched):,} of {data.source.n_entities:,} source entities have no match")
