"""`dualmatch report`: an alignment as a page to read."""

from __future__ import annotations

from pathlib import Path

import click

from dualmatch.cli import console
from dualmatch.cli.options import force_option, out_option, talk_options
from dualmatch.files.atomic import check_outputs, write_text
from dualmatch.report.findings import gather
from dualmatch.report.page import report_page
from dualmatch.runs.companion import companion_of
from dualmatch.runs.finished import links_of
from dualmatch.runs.options_file import run_file_of
from dualmatch.runs.record import record_of

_PATH = click.Path(path_type=Path)


@click.command("report")
@click.argument("alignment", type=_PATH)
@out_option("The HTML file to write.")
@click.option("--gold", type=_PATH, help="All true pairs, two columns of names or ids: adds how right the links are.")
@click.option(
    "--data",
    type=_PATH,
    help="The benchmark folder whose ids the gold file uses.  [default: the gold file's own folder, if it is one]",
)
@click.option(
    "--folder",
    type=_PATH,
    help="Where the input files lie now.  [default: where they were when the links were made]",
)
@force_option
@talk_options
def report_command(
    alignment: Path, output: Path, gold: Path | None, data: Path | None, folder: Path | None, force: bool, quiet: bool
) -> None:
    """Show an ALIGNMENT, a file of links or the folder of a run, on one page that needs nothing but a browser.

    It reads what dualmatch align wrote beside the links: OUT.run.json, OUT.config.toml and, for examples with reasons,
    OUT.why.npz and the input files.

    \b
    Examples:
      dualmatch report links.tsv -o report.html
      dualmatch report links.tsv -o report.html --gold data/mine/ref_pairs
    """
    alignment = links_of(alignment)
    beside = (alignment, companion_of(alignment), run_file_of(alignment), record_of(alignment))
    check_outputs([output], (*beside, gold), force)
    write_text(output, report_page(gather(alignment, gold, data, folder)))
    if not quiet:
        console.say(f"report written to {output}")
