"""`dualmatch report`: an alignment as a page to read."""

from __future__ import annotations

from pathlib import Path

import click

from dualmatch.cli import console
from dualmatch.cli.shared_options import (
    PATH,
    alignment_argument,
    force_option,
    gold_folder_option,
    input_folder_option,
    out_option,
    show_labels_option,
    talk_options,
)
from dualmatch.files.atomic import check_outputs, write_text


@click.command("report")
@alignment_argument
@out_option("The HTML file to write.")
@click.option(
    "--gold", type=PATH, help="All true pairs, two columns of ids as in the links: adds precision and recall."
)
@gold_folder_option
@input_folder_option
@show_labels_option
@force_option
@talk_options
def report_command(
    alignment: Path,
    output: Path,
    gold: Path | None,
    data: Path | None,
    folder: Path | None,
    show_labels: tuple[Path, ...],
    force: bool,
    quiet: bool,
) -> None:
    """Show an ALIGNMENT on one page that needs nothing but a browser.

    ALIGNMENT is a file of links or the folder of a run. The page is made from what dualmatch align wrote beside the
    links: OUT.run.json and, for examples with reasons, OUT.why.npz and the input files.

    \b
    Examples:
      dualmatch report links.tsv -o report.html
      dualmatch report links.tsv -o report.html --gold data/mine/ref_pairs
    """
    from dualmatch.report.findings import gather
    from dualmatch.report.page import report_page
    from dualmatch.runs.companion import companion_of
    from dualmatch.runs.folder import links_of
    from dualmatch.runs.options_file import old_options_of, record_of

    alignment = links_of(alignment)
    beside = (alignment, companion_of(alignment), old_options_of(alignment), record_of(alignment))
    check_outputs([output], (*beside, gold, *show_labels), force)
    write_text(output, report_page(gather(alignment, gold, data, folder, show_labels)))
    if not quiet:
        console.say(f"report written to {output}")
