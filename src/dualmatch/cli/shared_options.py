"""Options that several commands share, declared once."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import rich_click as click

Command = Callable[..., Any]
PATH: Final = click.Path(path_type=Path)
ARGUMENTS: Final = "dualmatch.arguments"

alignment_argument = click.argument("alignment", type=PATH)
folder_argument = click.argument("folder", type=PATH)
force_option = click.option("--force", is_flag=True, help="Replace the output where it exists already.")
gold_folder_option = click.option(
    "--data",
    type=PATH,
    help="The benchmark folder whose ids the gold file uses.  [default: the gold file's own folder, if it is one]",
)
input_folder_option = click.option(
    "--folder",
    type=PATH,
    help="Where the input files lie now.  [default: where they were when the links were made]",
)
json_option = click.option(
    "--json",
    "json_path",
    metavar="FILE|-",
    help="Write the result, or a summary of it, as JSON; - is standard output, and nothing else goes there.",
)


def declared(options: Sequence[Callable[[Command], Command]], command: Command) -> Command:
    """Add options to a command, in their order."""
    for option in reversed(options):
        command = option(command)
    return command


def out_option(what: str, default: str | None = None) -> Callable[[Command], Command]:
    """-o / --output, required unless it has a default."""
    required = default is None
    return click.option(
        "-o", "--output", type=PATH, required=required, default=default, show_default=not required, help=what
    )


def _silence(_context: click.Context, _option: click.Parameter, quiet: bool) -> bool:
    if quiet:
        from dualmatch.cli import console

        console.silence()
    return quiet


def _be_verbose(_context: click.Context, _option: click.Parameter, verbose: int) -> None:
    if verbose:
        from dualmatch.cli import console

        console.be_verbose(verbose)


def talk_options(command: Command) -> Command:
    """-q, which the command gets as ``quiet``, and -v."""
    quiet = click.option(
        "-q", "--quiet", is_flag=True, callback=_silence, help="No progress, no warnings, nothing on standard output."
    )
    verbose = click.option(
        "-v",
        "--verbose",
        count=True,
        callback=_be_verbose,
        expose_value=False,
        help="Print more on standard error; twice: everything.",
    )
    return quiet(verbose(command))


def naming_options(command: Command) -> Command:
    """How names become IRIs; the command gets the options that the call gives as one argument, ``naming``."""

    @functools.wraps(command)
    def with_naming(
        prefixes: Sequence[str], source_prefix: str | None, target_prefix: str | None, **others: Any
    ) -> Any:
        from dualmatch.links.naming import parse_prefixes

        naming = {"prefix": parse_prefixes(prefixes), "source_prefix": source_prefix, "target_prefix": target_prefix}
        return command(naming=given(naming), **others)

    prefix = click.option(
        "--prefix",
        "prefixes",
        multiple=True,
        metavar="NAME=IRI",
        help="What a prefix stands for, in SSSOM and sameAs; may be repeated.",
    )
    by_side = [
        click.option(
            f"--{side}-prefix",
            metavar="NAME",
            help=f"Prefix of {side} names that are no IRIs, in SSSOM and sameAs.  [default: urn:dualmatch:{side}:]",
        )
        for side in ("source", "target")
    ]
    return declared([prefix, *by_side], with_naming)


def called_with() -> tuple[str, ...]:
    """The words of the call that runs."""
    context = click.get_current_context(silent=True)
    return () if context is None else ("dualmatch", *context.meta.get(ARGUMENTS, ()))


def given(options: dict[str, Any]) -> dict[str, Any]:
    """The options the user set."""
    return {name: value for name, value in options.items() if value is not None}
