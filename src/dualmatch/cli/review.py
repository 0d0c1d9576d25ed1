"""`dualmatch review`: a local page to decide doubtful pairs on."""

from __future__ import annotations

import logging
import webbrowser
from pathlib import Path

import click

from dualmatch.cli import console
from dualmatch.cli.options import talk_options
from dualmatch.review.serve import LOOPBACK, Place, Serving, open_session
from dualmatch.runs.finished import links_of

logger = logging.getLogger(__name__)
_PATH = click.Path(path_type=Path)


@click.command("review")
@click.argument("alignment", type=_PATH)
@click.option("--decisions", type=_PATH, help="The file decisions go to.  [default: ALIGNMENT.decisions.db]")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The port to serve on.  [default: a free one]")
@click.option(
    "--host",
    default=LOOPBACK,
    show_default=True,
    help="The address to serve on; others than this machine's own are warned of.",
)
@click.option("--no-open", is_flag=True, help="Print the address, but open no browser.")
@click.option(
    "--folder",
    type=_PATH,
    help="Where the input files lie now.  [default: where they were when the links were made]",
)
@talk_options
def review_command(
    alignment: Path, decisions: Path | None, port: int, host: str, no_open: bool, folder: Path | None, quiet: bool
) -> None:
    """Decide the doubtful pairs of an ALIGNMENT, a file of links or the folder of a run, on a local web page.

    Every decision is kept at once in ALIGNMENT.decisions.db; dualmatch align takes it with --seeds and --forbid. The
    page needs the extra [review], and OUT.why.npz beside the links. End it with Ctrl-C.

    \b
    Examples:
      dualmatch review links.tsv
      dualmatch review links.tsv --decisions mine.db --port 8080 --no-open
    """
    place = Place(host, port)
    if not place.is_loopback:
        logger.warning(
            "%s can be reached by other machines, and what they send is not encrypted: whoever reads along can decide "
            "in your place; leave --host out to keep the page to this machine",
            host,
        )
    serving = Serving(open_session(links_of(alignment), decisions, folder), place)
    console.say(f"reviewing on {serving.address}")
    console.note(f"decisions go to {serving.session.log.path}; end with Ctrl-C")
    if not no_open:
        webbrowser.open(serving.address)
    serving.run()
