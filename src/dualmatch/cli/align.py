"""`dualmatch align`: two graphs in, links out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dualmatch.align import align
from dualmatch.alignment import Alignment
from dualmatch.cli import console
from dualmatch.cli.options import folder_argument, force_option, given, model_options, out_option, quiet_option
from dualmatch.cli.process import prepare_process
from dualmatch.cli.tables import percent
from dualmatch.config import EXPLAINED, Config
from dualmatch.errors import InputError
from dualmatch.explain import reasons
from dualmatch.grounds import no_evidence
from dualmatch.io.folder import read_folder
from dualmatch.io.outputs import Outputs
from dualmatch.io.relations import no_relations
from dualmatch.io.why import FOLDER_FILES, input_hashes


@click.command("align")
@folder_argument
@out_option("Where to write the links: a row for each source entity, tab-separated, with a header.")
@click.option(
    "--seeds", "seeds_path", type=click.Path(path_type=Path), help="Known pairs: two columns of ids or names."
)
@click.option(
    "--checkpoint",
    type=click.Path(path_type=Path),
    help="Keep the state of training in this file after every epoch; where it exists, training goes on from it.",
)
@click.option(
    "--reasons", "with_reasons", is_flag=True, help="Add a column with the top three reasons of each link, in words."
)
@click.option(
    "--relations",
    "relations_path",
    type=click.Path(path_type=Path),
    help="Also write which relations say the same: source, target, direction, score, support.",
)
@model_options(Config)
@force_option
@quiet_option
def align_command(
    folder: Path,
    output: Path,
    seeds_path: Path | None,
    checkpoint: Path | None,
    with_reasons: bool,
    relations_path: Path | None,
    force: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Align the two graphs of a benchmark FOLDER.

    \b
    FOLDER holds triples_1, triples_2 (head, relation, tail[, time | begin, end] as tab-separated ids) and
    optionally ent_ids_1/2, rel_ids_1/2 (names) and time_id (dates).

    With methods evidence and fused, OUTPUT.why.npz is written beside the links: dualmatch explain reads it.

    \b
    Examples:
      dualmatch align data/yago-wiki20k -o links.tsv
      dualmatch align data/mine -o links.tsv --seeds known_pairs.tsv
      dualmatch align data/mine -o links.tsv --max-fdr 0.01 --reasons --relations relations.tsv
    """
    config = Config.checked(**given(options))
    has_evidence = config.method in EXPLAINED
    if with_reasons and not has_evidence:
        raise InputError(f"--reasons: {no_evidence(config.method)}")
    if relations_path is not None and not has_evidence:
        raise InputError(no_relations(config.method))
    prepare_process(config)
    outputs = Outputs(output, relations_path, explained=has_evidence)
    inputs = [*(folder / name for name in FOLDER_FILES), seeds_path, checkpoint]
    outputs.check([path for path in inputs if path is not None], force)
    with console.progress_shown(quiet) as progress:
        if progress is not None:
            progress("read", 0, 0, "")
        data = read_folder(folder)
        hashes = input_hashes(folder) if has_evidence else {}
        seeds = None if seeds_path is None else data.read_pairs(seeds_path)
        alignment = align(data.source, data.target, seeds, config=config, progress=progress, checkpoint=checkpoint)
        outputs.write(alignment, reasons(alignment) if with_reasons else None, folder, hashes)
    if not quiet:
        _summarise(alignment, outputs)


def _summarise(alignment: Alignment, outputs: Outputs) -> None:
    console.say(f"{len(alignment.pairs):,} links written to {outputs.links}")
    unmatched, sources = len(alignment.unmatched), alignment.source.n_entities
    console.say(f"{unmatched:,} of {sources:,} source entities have no match")
    if alignment.estimated_fdr is not None and (alignment.evidence is not None or alignment.config.max_fdr is not None):
        console.say(
            f"{percent(alignment.estimated_fdr)} of the links found are expected to be wrong, by their confidence"
        )
    if outputs.relations is not None:
        console.say(f"relations written to {outputs.relations}")
