"""The `dualmatch` command: verbs, and one place where errors turn into words and exit codes."""

from __future__ import annotations

import sys

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
from dualmatch.cli.simulate import simulate_command
from dualmatch.cli.split import split_command
from dualmatch.errors import DualMatchError
from dualmatch.version import __version__

EXIT_USER_ERROR = 2
EXIT_INTERRUPTED = 130


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
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
      dualmatch benchmark FOLDER --json -                accuracy and cost, as JSON
      dualmatch experiment overall --data FOLDER         the paper's tables, ours beside them

    Exit codes: 0 done; 1 a fault of dualmatch; 2 something given is wrong (it says what); 130 interrupted.
    """
    console.set_up_logging(verbose)


for command in (
    inspect_command,
    align_command,
    evaluate_command,
    explain_command,
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
    except click.ClickException as error:
        error.show()
        sys.exit(EXIT_USER_ERROR)
    except DualMatchError as error:
        console.err.print(f"dualmatch: {error}", markup=False, soft_wrap=True)
        sys.exit(EXIT_USER_ERROR)
    except OSError as error:
        console.err.print(f"dualmatch: {error}", markup=False, soft_wrap=True)
        sys.exit(EXIT_USER_ERROR)
    except (KeyboardInterrupt, click.Abort):
        console.err.print("dualmatch: interrupted; nothing half-written is left")
        sys.exit(EXIT_INTERRUPTED)
