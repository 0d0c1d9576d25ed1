"""The `dualmatch` command: its verbs, and one place where errors turn into words and exit codes.

A verb is imported when it is called: `--version`, `--help` and wrong options need none of the heavy libraries.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any, Final, NoReturn

import click
from click.exceptions import NoArgsIsHelpError

from dualmatch.cli.ending import EXIT_INTERRUPTED, INTERRUPTED, end_in_order
from dualmatch.cli.help import HelpContext, PanelGroup
from dualmatch.cli.shared_options import ARGUMENTS
from dualmatch.errors import DualMatchError, in_brief, on_one_screen, visible_text
from dualmatch.version import __version__

EXIT_USER_ERROR = 2
EXIT_NO_READER = 141  # 128 + SIGPIPE, as a shell has it for other tools

VERBS: Final = {
    "Your data": {
        "app": "Align two files on a local page: drop, look, align, review.",
        "align": "Align two graphs, in any formats, or the two graphs of a FOLDER.",
        "inspect": "Show what was understood of one graph, or of two to be aligned.",
        "explain": "Explain why ENTITY was given its partner in an ALIGNMENT, or none.",
        "report": "Show an ALIGNMENT on one page that needs nothing but a browser.",
        "review": "Decide the doubtful pairs of an ALIGNMENT on a local web page.",
        "merge": "Write both graphs as one: linked entities share an id.",
        "evaluate": "Measure precision and recall of an ALIGNMENT.",
        "update": "Align again after new facts have arrived, from a finished RUN.",
        "demo": "Align two simulated graphs of people, places and offices.",
    },
    "Research": {
        "benchmark": "Measure a method on a benchmark FOLDER, whose pairs are known.",
        "experiment": "Reproduce a table or figure of the paper, with its figures.",
        "datasets": "List, fetch and find the public datasets of the field.",
        "split": "Make a benchmark with known truth from one temporal graph.",
        "simulate": "Make two observers' graphs of one history, and the true pairs.",
    },
}
"""Every verb by its panel, with the line that `dualmatch --help` shows."""


def load_verb(name: str) -> click.Command:
    """The command of a verb, from the module of its name."""
    command: click.Command = getattr(import_module(f"dualmatch.cli.{name}"), f"{name}_command")
    for each in (command, *getattr(command, "commands", {}).values()):
        each.context_class = HelpContext
    return command


class _NoReaderError(Exception):
    """Nobody reads standard output any more; no OSError, which click would turn into an exit code of its own."""


class _Verbs(PanelGroup):
    context_class = HelpContext

    def make_context(self, info_name: str | None, args: list[str], *others: Any, **options: Any) -> Any:
        words = tuple(args)  # parsing takes them out of the list
        with _broken_pipe_caught():
            context = super().make_context(info_name, args, *others, **options)
        context.meta[ARGUMENTS] = words
        return context

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        name, command, rest = super().resolve_command(ctx, args)
        verb = command if command is None else load_verb(str(command.name))
        end_in_order()
        return name, verb, rest

    def invoke(self, ctx: click.Context) -> Any:
        with _broken_pipe_caught():
            return super().invoke(ctx)


@contextmanager
def _broken_pipe_caught() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise _NoReaderError from None
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):  # rich has made an exit code of it already
            raise _NoReaderError from None
        raise


_OPTION: Final = re.compile(r"^option ([a-z_]+):", re.MULTILINE)  # as Python calls it


@click.group(
    cls=_Verbs,
    panels=VERBS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(__version__, prog_name="dualmatch")
@click.option("-v", "--verbose", count=True, help="Print more on standard error; twice: everything.")
def cli(verbose: int) -> None:
    """Find which entities of two temporal knowledge graphs are the same real-world thing.

    Exit codes: 0 done; 1 a bug in dualmatch; 2 a mistake in what was given (the message says which); 130 interrupted;
    129, 143 ended by SIGHUP, SIGTERM; 141 standard output was closed.

    \b
    Examples:
      dualmatch demo                                  see it work, in seconds
      dualmatch app                                   all of it on a local page
      dualmatch inspect people.csv wikidata.json.gz   what was understood
      dualmatch align people.csv wikidata.json.gz -o links.tsv
      dualmatch report links.tsv -o report.html       the run on one page
      dualmatch review links.tsv                      decide what is doubtful
      dualmatch explain links.tsv "Ada Lovelace"      why a link, or why none
      dualmatch evaluate links.tsv --gold gold.tsv    precision and recall
      dualmatch merge a.csv b.ttl --links links.tsv -o merged.parquet
    """
    from dualmatch.cli import console

    console.set_up_logging(verbose)


for verbs in VERBS.values():
    for verb, words in verbs.items():
        cli.add_command(click.Command(name=verb, help=words))  # stands in for the verb until it is called


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; a user's mistake ends in words and exit code 2, never in a traceback."""
    try:
        cli.main(args=arguments, prog_name="dualmatch", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        _show(error)
        sys.exit(EXIT_USER_ERROR)
    except (_NoReaderError, BrokenPipeError):
        _end_without_reader()
    except (DualMatchError, OSError) as error:
        _print_error(_OPTION.sub(lambda found: f"--{found[1].replace('_', '-')}:", str(error)))
        sys.exit(EXIT_USER_ERROR)
    except MemoryError as error:
        _print_error(f"memory ran out ({in_brief(error)}); give smaller files, or a machine with more of it")
        sys.exit(EXIT_USER_ERROR)
    except (KeyboardInterrupt, click.Abort):
        _print_error(INTERRUPTED)
        sys.exit(EXIT_INTERRUPTED)


def _show(error: click.ClickException) -> None:
    """Print what is wrong and how the verb is called, without rich, which takes longer to load than the rest."""
    context = getattr(error, "ctx", None)
    with suppress(OSError):  # nobody reads standard error either
        if context is None or isinstance(error, NoArgsIsHelpError):
            error.show()
            return
        path, pieces = context.command_path, " ".join(context.command.collect_usage_pieces(context))
        problem = visible_text(on_one_screen(error.format_message()))
        click.echo(f"Usage: {path} {pieces}\nTry '{path} --help' for help.\n\nError: {problem}", err=True)


def _print_error(text: str) -> None:
    from dualmatch.cli import console

    with suppress(OSError, SystemExit):  # nobody reads standard error either: rich makes an exit code of it
        console.err.print(f"dualmatch: {on_one_screen(text)}", markup=False, soft_wrap=True)


def _end_without_reader() -> NoReturn:
    """End as other tools do when nobody reads on: ``dualmatch … -o - | head`` is not a mistake."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is still buffered goes nowhere
    sys.exit(EXIT_NO_READER)
