"""`dualmatch app`: everything on a local page, from two files to reviewed links."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import click

from dualmatch.cli import console
from dualmatch.cli.shared_options import path_option, port_option, reviewer_option, show_labels_option, talk_options
from dualmatch.errors import InputError


@click.command("app")
@path_option(
    "--folder",
    "Where files and runs are kept; one that an earlier call used is continued.  [default: a new dualmatch-app in the "
    "working directory]",
)
@port_option
@click.option(
    "--max-upload",
    "most",
    default="2GB",
    show_default=True,
    metavar="SIZE",
    help="The largest file that the page takes, such as 500MB.",
)
@click.option("--no-open", is_flag=True, help="Print the address without opening a browser.")
@reviewer_option
@show_labels_option
@talk_options
def app_command(
    folder: Path | None,
    port: int,
    most: str,
    no_open: bool,
    reviewer: str | None,
    show_labels: tuple[Path, ...],
    quiet: bool,
) -> None:
    """Align two files on a local page: drop, look, align, review.

    Nothing leaves this machine: the page is served to it alone, and what you give it is kept in --folder. Runs in there
    are those of dualmatch align --run, for every other command. The page needs the extra [review]. End it with Ctrl-C.

    \b
    Examples:
      dualmatch app
      dualmatch app --folder parish-books --reviewer Ada
      dualmatch app --folder parish-books --port 8080 --no-open
    """
    from dualmatch.app.serve import AppServer
    from dualmatch.app.workspace import Workspace
    from dualmatch.links.decisions import check_reviewer
    from dualmatch.memory import parse_bytes
    from dualmatch.readers.shown_labels import read_label_files
    from dualmatch.review.serve import Endpoint

    try:
        bytes_allowed = parse_bytes(most)
    except ValueError as error:
        raise InputError(f"--max-upload: {error}") from None
    check_reviewer(reviewer or "")
    read_label_files(show_labels)
    with Workspace.opened(folder) as workspace:
        serving = AppServer(workspace, Endpoint(port=port), bytes_allowed, reviewer, show_labels)
        console.say(f"the app is on {serving.address}")
        console.note(f"files and runs are kept in {workspace.folder}; end with Ctrl-C")
        if not no_open:
            webbrowser.open(serving.address)
        serving.run()
