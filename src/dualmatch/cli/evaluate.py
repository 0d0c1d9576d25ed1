"""`dualmatch evaluate`: an alignment file against gold pairs."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from dualmatch.cli import console
from dualmatch.cli.shared_options import (
    PATH,
    alignment_argument,
    force_option,
    gold_folder_option,
    json_option,
    talk_options,
)
from dualmatch.errors import counted


@click.command("evaluate")
@alignment_argument
@click.option(
    "--gold",
    required=True,
    type=PATH,
    help="True pairs: two columns of ids, those of the links or of a benchmark folder.",
)
@gold_folder_option
@click.option(
    "--partial",
    is_flag=True,
    help="The gold file holds only some of the true pairs: count only links that touch an entity of one.",
)
@json_option
@force_option
@talk_options
def evaluate_command(
    alignment: Path, gold: Path, data: Path | None, partial: bool, json_path: str | None, force: bool, quiet: bool
) -> None:
    """Measure precision and recall of an ALIGNMENT.

    ALIGNMENT is a file of links or the folder of a run. The gold file must hold all true pairs, since a link that is
    not in it counts as wrong; if it holds only some, add --partial. Seeds of the run are left out, as links and as true
    pairs.

    \b
    Examples:
      dualmatch evaluate links.tsv --gold data/mine/all_pairs
      dualmatch evaluate links.tsv --gold some_true_names.tsv --partial
      dualmatch evaluate links.tsv --gold true_names.tsv --json -
    """
    from dualmatch.evaluate import link_quality
    from dualmatch.links.read import read_gold
    from dualmatch.runs.folder import links_of
    from dualmatch.runs.options_file import links_file

    json_output = console.JsonOutput.checked(json_path, force)
    file = links_file(links_of(alignment))
    links, confidence = file.links
    true, no_matches = read_gold(gold, links, data, file.unlinked), file.no_matches
    undecided = set(file.unlinked).difference(no_matches)
    quality = link_quality(links, confidence, true, no_matches, undecided, file.seeds, partial)
    json_output.write(asdict(quality))
    if quality.seeds:
        given = counted(quality.seeds, "link was given as a seed and is", "links were given as seeds and are")
        console.note(f"{given} left out, with their true pairs")
    if partial:
        left = counted(quality.unknown, "link touches", "links touch")
        console.note(f"{left} no entity of {gold}; left out")
    elif quality.gold_looks_partial:
        whole = gold.with_name("all_pairs")
        other = f", or give --gold {whole}" if whole.exists() else ""
        console.note(
            f"{quality.unknown:,} of {quality.abstention.emitted:,} links touch no entity of {gold} and count as wrong"
            f"; if it does not hold all true pairs, add --partial{other}"
        )
    if not quiet and not json_output.to_stdout:
        shown = asdict(quality.abstention)
        if partial or not quality.unknown:
            shown["known"] = None  # the same figures
        console.out.print(console.links_table(shown, quality.calibration.ece))
