"""`dualmatch evaluate`: an alignment file against gold pairs."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import rich_click as click

from dualmatch.cli import console
from dualmatch.cli.shared_options import (
    PATH,
    alignment_argument,
    force_option,
    gold_folder_option,
    json_option,
    talk_options,
)


@click.command("evaluate")
@alignment_argument
@click.option("--gold", required=True, type=PATH, help="True pairs: two columns of names, or of a folder's ids.")
@gold_folder_option
@json_option
@force_option
@talk_options
def evaluate_command(
    alignment: Path, gold: Path, data: Path | None, json_path: str | None, force: bool, quiet: bool
) -> None:
    """Measure how right the links of an ALIGNMENT are.

    ALIGNMENT is a file of links or the folder of a run. The gold file must hold all true pairs: a link that is not in
    it counts as wrong, seeds included.

    \b
    Examples:
      dualmatch evaluate links.tsv --gold data/mine/ref_pairs
      dualmatch evaluate links.tsv --gold true_names.tsv --json -
    """
    from dualmatch.evaluate import link_quality
    from dualmatch.links.read import read_gold
    from dualmatch.runs.folder import links_of
    from dualmatch.runs.options_file import links_file

    json_output = console.JsonOutput.checked(json_path, force)
    file = links_file(links_of(alignment))
    links, confidence = file.links
    true, no_matches = read_gold(gold, links, data), file.no_matches
    undecided = set(file.unlinked).difference(no_matches)
    quality = link_quality(links, confidence, true, no_matches, undecided)
    json_output.write(asdict(quality))
    if not quiet and not json_output.to_stdout:
        console.out.print(console.links_table(asdict(quality.abstention), quality.calibration.ece))
