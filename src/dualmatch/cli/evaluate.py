"""`dualmatch evaluate`: an alignment file against gold pairs."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from dualmatch.cli import console
from dualmatch.cli.json_output import JsonOutput
from dualmatch.cli.options import force_option, json_option, talk_options
from dualmatch.cli.tables import links_table
from dualmatch.evaluate import link_quality
from dualmatch.links.gold import read_gold
from dualmatch.runs.finished import links_of
from dualmatch.runs.options_file import links_file


@click.command("evaluate")
@click.argument("alignment", type=click.Path(path_type=Path))
@click.option(
    "--gold",
    required=True,
    type=click.Path(path_type=Path),
    help="True pairs: two columns of names, or of a folder's ids.",
)
@click.option(
    "--data",
    "folder",
    type=click.Path(path_type=Path),
    help="The benchmark folder whose ids the gold file uses.  [default: the gold file's own folder, if it is one]",
)
@json_option
@force_option
@talk_options
def evaluate_command(
    alignment: Path, gold: Path, folder: Path | None, json_path: str | None, force: bool, quiet: bool
) -> None:
    """Say how right the links of an ALIGNMENT are, a file or the folder of a run.

    The gold file must hold all true pairs: a link that is not in it counts as wrong, seeds and all.

    \b
    Examples:
      dualmatch evaluate links.tsv --gold data/mine/ref_pairs
      dualmatch evaluate links.tsv --gold true_names.tsv --json -
    """
    json_output = JsonOutput.asked_for(json_path, force)
    alignment = links_of(alignment)
    file = links_file(alignment)
    links, confidence = file.links
    true, no_matches = read_gold(gold, links, folder), file.no_matches
    undecided = set(file.unlinked).difference(no_matches)
    quality = link_quality(links, confidence, true, no_matches, undecided)
    json_output.write(asdict(quality))
    if not quiet and not json_output.to_stdout:
        console.out.print(links_table(asdict(quality.abstention), quality.calibration.ece))
