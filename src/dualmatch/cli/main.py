"""The `dualmatch` command: verbs, and one place where errors turn into words and exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

import click

from dualmatch.cli import console
from dualmatch.cli.align import align_command
from dualmatch.cli.benchmark import benchmark_command
from dualmatch.cli.datasets import datasets_command
from dualmatch.cli.demo import demo_command
from dualmatch.cli.evaluate import evaluate_command
from dualmatch.cli.experiment import experiment_command
from dualmatch.cli.explain import explain_command
from dualmatch.cli.inspect import inspect_command
from dualmatch.cli.merge import merge_command
from dualmatch.cli.options import ARGUMENTS
from dualmatch.cli.report import report_command
from dualmatch.cli.review import review_command
from dualmatch.cli.simulate import simulate_command
from dualmatch.cli.split import split_command
from dualmatch.cli.update import update_command
from dualmatch.errors import DualMatchError
from dualmatch.version import __version__

EXIT_USER_ERROR = 2
EXIT_INTERRUPTED = 130
EXIT_NO_READER = 141  # 128 + SIGPIPE, as a shell has it for other tools


class _NoReaderError(Exception):
    """Whoever read standard output has gone; no OSError, of which click would make an exit code of its own."""


class _Verbs(click.Group):
    def make_context(self, info_name: str | None, args: list[str], *others: Any, **options: Any) -> click.Context:
        words = tuple(args)  # parsing takes them out of the list
        with _broken_pipe_told():
            context = super().make_context(info_name, args, *others, **options)
        context.meta[ARGUMENTS] = words
        return context

    def invoke(self, ctx: click.Context) -> Any:
        with _broken_pipe_told():
            return super().invoke(ctx)


@contextmanager
def _broken_pipe_told() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise _NoReaderError from None
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):  # rich has made an exit code of it already
            raise _NoReaderError from None
        raise


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="dualmatch")
@click.option("-v", "--verbose", count=True, help="Tell more on standard error; twice: everything.")
def cli(verbose: int) -> None:
    """Find which entities of two temporal knowledge graphs are the same real-world thing.

    \b
    Examples:
      dualmatch demo                                     see it work on a simulated pair
      dualmatch inspect people.csv wikidata.json.gz      what is in them, what looks wrong
      dualmatch align people.csv wikidata.json.gz -o links.tsv
      dualmatch merge people.csv wikidata.json.gz --links links.tsv -o merged.parquet
      dualmatch evaluate links.tsv --gold gold_pairs     how right they are
      dualmatch explain links.tsv "Ada Lovelace"         why a link, or why none
      dualmatch update old.run --source-facts new.csv --run new.run
      dualmatch report links.tsv -o report.html          the run on one page
      dualmatch review links.tsv                         decide the doubtful pairs on a local page
      dualmatch benchmark FOLDER --json -                accuracy and cost, as JSON
      dualmatch experiment overall --data FOLDER         the paper's tables, ours beside them

    Exit codes: 0 done; 1 a fault of dualmatch; 2 something given is wrong (it says what); 130 interrupted; 141 whoever
    read standard output has gone.
    """
    console.set_up_logging(verbose)


for command in (
    inspect_command,
    align_command,
    evaluate_command,
    explain_command,
    report_command,
    update_command,
    review_command,
    merge_command,
    benchmark_command,
    experiment_command,
    datasets_command,
    simulate_command,
    split_command,
    demo_command,
):
    cli.add_command(command)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; a user's mistake ends in words and exit code 2, never in a traceback."""
    try:
        cli.main(args=arguments, prog_name="dualmatch", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        sys.exit(EXIT_USER_ERROR)
    except DualMatchError as error:
        console.err.print(f"dualmatch: {error}", markup=False, soft_wrap=True)
        sys.exit(EXIT_USER_ERROR)
    except (_NoReaderError, BrokenPipeError):
        _end_without_reader()
    except OSError as error:
        console.err.print(f"dualmatch: {error}", markup=False, soft_wrap=True)
        sys.exit(EXIT_USER_ERROR)
    except (KeyboardInterrupt, click.Abort):
        console.err.print("dualmatch: interrupted; nothing half-written is left")
        sys.exit(EXIT_INTERRUPTED)


def _end_without_reader() -> NoReturn:
    """End as other tools do when nobody reads on: ``dualmatch … -o - | head`` is no mistake."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is still buffered goes nowhere
    sys.exit(EXIT_NO_READER)
