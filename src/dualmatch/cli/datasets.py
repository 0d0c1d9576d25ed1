"""`dualmatch datasets`: public datasets, listed, fetched and found."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from dualmatch.cli import console
from dualmatch.cli.shared_options import talk_options
from dualmatch.errors import InputError

if TYPE_CHECKING:
    from dualmatch.research.datasets import FileProgress


@click.group("datasets")
def datasets_command() -> None:
    """List, fetch and find the public datasets of the field.

    They are other people's and not part of dualmatch. They are kept in the cache folder of your account, or in
    $DUALMATCH_DATASETS.

    \b
    Examples:
      dualmatch datasets list
      dualmatch datasets fetch YAGO-WIKI20K
      dualmatch datasets path YAGO-WIKI20K
    """


@datasets_command.command("list", short_help="List the datasets, and which are here.")
@talk_options
def list_command(quiet: bool) -> None:
    """List the datasets: what they are, where they come from, whether they are here.

    \b
    Examples:
      dualmatch datasets list
    """
    if quiet:
        return
    from rich.table import Table

    from dualmatch.research.datasets import COMMIT, DATASETS, TERMS, cache_folder, origin

    table = Table(title="Datasets")
    for heading in ("name", "what", "files", "size", "hashes known", "here"):
        table.add_column(heading, overflow="fold")
    for dataset in DATASETS.values():
        sizes, blobs = [file.size for file in dataset.files], sum(file.blob is not None for file in dataset.files)
        size = f"{sum(each or 0 for each in sizes) / 1e6:.1f} MB" if all(sizes) else "not known"
        here = "yes" if dataset.is_fetched else "no"
        count = len(dataset.files)
        table.add_row(dataset.name, dataset.about, str(count), size, f"{blobs} of {count}", here)
    console.out.print(table)
    console.say(f"from {origin()} (commit {COMMIT[:12]}); {TERMS}")
    console.say(f"kept in {cache_folder()}")


@datasets_command.command("fetch")
@click.argument("name")
@click.option("--offline", is_flag=True, help="Never touch the network: only check that everything is here.")
@talk_options
def fetch_command(name: str, offline: bool, quiet: bool) -> None:
    """Fetch dataset NAME into the cache folder and print its folder.

    Files that are here are kept; a download that broke off is resumed; a file whose hash is wrong is refused.

    \b
    Examples:
      dualmatch datasets fetch YAGO-WIKI20K
      dualmatch datasets fetch dicews --offline
    """
    from dualmatch.research.datasets import dataset_called, fetch

    dataset = dataset_called(name)
    with _download_shown(quiet) as progress:
        path = fetch(dataset, offline, progress)
    if not quiet:
        click.echo(path)


@datasets_command.command("path")
@click.argument("name")
@talk_options
def path_command(name: str, quiet: bool) -> None:
    """Print the folder of a dataset that was fetched.

    \b
    Examples:
      dualmatch datasets path YAGO-WIKI20K
    """
    from dualmatch.research.datasets import dataset_called

    dataset = dataset_called(name)
    if not dataset.is_fetched:
        raise InputError(f"{dataset.name} is not here; fetch it: dualmatch datasets fetch {dataset.name}")
    if not quiet:
        click.echo(dataset.path)


@contextmanager
def _download_shown(quiet: bool) -> Iterator[FileProgress | None]:
    """Show a bar for each file on standard error while it is a terminal; else a line when a file is there."""
    if quiet:
        yield None
        return
    if not console.err.is_terminal:

        def report(name: str, received: int, total: int) -> None:
            if received == total:
                console.note(f"{name}: {received:,} bytes")

        yield report
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    with Progress(TextColumn("{task.description}"), BarColumn(), DownloadColumn(), console=console.err) as bars:
        tasks = {}

        def show(name: str, received: int, total: int) -> None:
            if name not in tasks:
                tasks[name] = bars.add_task(name)
            bars.update(tasks[name], completed=received, total=total or None)

        yield show
