"""`dualmatch evaluate`: an alignment file against gold pairs."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from dualmatch.cli import console
from dualmatch.cli.options import force_option, json_option
from dualmatch.cli.tables import links_table
from dualmatch.evaluate import link_quality
from dualmatch.io.atomic import check_writable, replacing
from dualmatch.io.gold import read_gold
from dualmatch.io.links import read_links


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
def evaluate_command(alignment: Path, gold: Path, folder: Path | None, json_path: str | None, force: bool) -> None:
    """Say how right the links of an ALIGNMENT file are.

    \b
    Examples:
      dualmatch evaluate links.tsv --gold data/mine/ref_pairs
      dualmatch evaluate links.tsv --gold true_names.tsv --json -
    """
    to_file = Path(json_path) if json_path not in (None, "-") else None
    if to_file is not None:
        check_writable(to_file, force)
    links, confidence = read_links(alignment)
    quality = link_quality(links, confidence, read_gold(gold, links, folder))
    text = json.dumps(asdict(quality), indent=1) + "\n"
    if json_path == "-":
        click.echo(text, nl=False)
        return
    if to_file is not None:
        with replacing(to_file) as temporary:
            temporary.write_text(text, encoding="utf-8")
    console.out.print(links_table(asdict(quality.abstention), quality.calibration.ece))
