"""`dualmatch evaluate`: an alignment file against gold pairs."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

import click

from dualmatch.cli import console
from dualmatch.cli.options import json_option
from dualmatch.cli.tables import links_table
from dualmatch.io.gold import evaluate_links


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
def evaluate_command(alignment: Path, gold: Path, folder: Path | None, json_path: str | None) -> None:
    """Say how right the links of an ALIGNMENT file are.

    \b
    Examples:
      dualmatch evaluate links.tsv --gold data/mine/ref_pairs
      dualmatch evaluate links.tsv --gold true_names.tsv --json -
    """
    quality = evaluate_links(alignment, gold, folder)
    if json_path is None:
        console.out.print(links_table(asdict(quality.abstention), quality.calibration.ece))
        return
    text = json.dumps(asdict(quality), indent=1) + "\n"
    if json_path == "-":
        sys.stdout.write(text)
    else:
        Path(json_path).write_text(text, encoding="utf-8")
