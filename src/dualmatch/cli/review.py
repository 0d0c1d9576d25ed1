"""`dualmatch review`: a local page to decide doubtful pairs on."""

from __future__ import annotations

import logging
import webbrowser
from contextlib import closing
from pathlib import Path

import click

from dualmatch.cli import console
from dualmatch.cli.shared_options import (
    PATH,
    alignment_argument,
    input_folder_option,
    port_option,
    reviewer_option,
    show_labels_option,
    talk_options,
)

logger = logging.getLogger(__name__)


@click.command("review")
@alignment_argument
@click.option("--decisions", type=PATH, help="The file decisions go to.  [default: ALIGNMENT.decisions.db]")
@reviewer_option
@click.option(
    "--add-decisions",
    type=PATH,
    multiple=True,
    help="A file of another reviewer, whose decisions are added to yours; can be given several times.",
)
@port_option
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="The address to serve on; a warning follows if other machines can reach it.",
)
@click.option("--no-open", is_flag=True, help="Print the address without opening a browser.")
@input_folder_option
@show_labels_option
@talk_options
def review_command(
    alignment: Path,
    decisions: Path | None,
    reviewer: str | None,
    add_decisions: tuple[Path, ...],
    port: int,
    host: str,
    no_open: bool,
    folder: Path | None,
    show_labels: tuple[Path, ...],
    quiet: bool,
) -> None:
    """Decide the doubtful pairs of an ALIGNMENT on a local web page.

    ALIGNMENT is a file of links or the folder of a run. Every decision is saved in ALIGNMENT.decisions.db;
    dualmatch align takes it with --seeds and --forbid. The page needs the extra [review], and OUT.why.npz beside the
    links. End it with Ctrl-C.

    \b
    Examples:
      dualmatch review links.tsv
      dualmatch review links.tsv --reviewer Ada --add-decisions bob.db
      dualmatch review links.tsv --port 8080 --no-open
    """
    from dualmatch.review.serve import Endpoint, ReviewServer, open_session
    from dualmatch.runs.folder import links_of

    endpoint = Endpoint(host, port)
    if not endpoint.is_loopback:
        logger.warning(
            "%s can be reached by other machines, and what they send is not encrypted: whoever reads along can decide "
            "in your place; leave --host out to keep the page to this machine",
            host,
        )
    session = open_session(links_of(alignment), decisions, folder, show_labels, reviewer, add_decisions)
    serving = ReviewServer(session, endpoint)
    console.say(f"reviewing on {serving.address}")
    console.note(f"decisions go to {serving.session.log.path}; end with Ctrl-C")
    if not no_open:
        webbrowser.open(serving.address)
    with closing(serving.session.log):
        serving.run()
