"""Help: every verb has an example, every option says what it does."""

from __future__ import annotations

import re
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from dualmatch.cli.main import cli, main
from dualmatch.version import __version__

VERBS = (
    *(
        "inspect",
        "align",
        "evaluate",
        "explain",
        "report",
        "update",
        "review",
        "merge",
        "benchmark",
        "experiment",
        "datasets",
        "simulate",
        "split",
        "demo",
    ),
)
OPTIONS = [
    pytest.param(option, id=f"{name} {option.opts[-1]}")
    for name, command in (("dualmatch", cli), *cli.commands.items())
    for option in command.params
    if isinstance(option, click.Option)
]


def test_these_are_all_verbs() -> None:
    assert set(cli.commands) == set(VERBS)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_every_verb_shows_an_example(verb: str, flag: str) -> None:
    result = CliRunner().invoke(cli, [verb, flag])
    assert result.exit_code == 0
    assert re.search(rf"Examples:\n +dualmatch {verb}", result.output)


@pytest.mark.parametrize("option", OPTIONS)
def test_every_option_is_documented(option: click.Option) -> None:
    words = re.sub(r"\[default: .*\]", "", option.help or "")
    assert len(re.findall(r"\w+", words)) >= 3, f"{option.opts} has no help"


def test_an_option_without_help_would_be_noticed() -> None:
    for words in (None, "", ".  [default: 3]"):
        with pytest.raises(AssertionError):
            test_every_option_is_documented(click.Option(["--bare"], help=words))


def test_examples_name_options_that_exist() -> None:
    for verb, command in cli.commands.items():
        known = {name for option in command.params for name in option.opts}
        examples = " ".join(re.findall(rf"^ *dualmatch {verb} .*$", command.help or "", re.MULTILINE))
        assert set(re.findall(r"(?<= )--?[a-z][a-z-]*", examples)) <= known


def test_the_exit_codes_are_told() -> None:
    output = CliRunner().invoke(cli, ["--help"]).output
    assert "Exit codes: 0 done; 1 a fault of dualmatch; 2 something given is wrong (it says what); 130" in " ".join(
        output.split()
    )


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--version"])
    assert capsys.readouterr().out == f"dualmatch, version {__version__}\n"


def test_help_loads_no_extra() -> None:
    extras = {"torch", "starlette", "uvicorn", "jinja2"}
    code = f"import sys, dualmatch.cli.main; sys.exit(not {extras}.isdisjoint(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("arguments", [[], ["fly"], ["align"], ["align", "x", "-o", "y", "--hops", "many"]])
def test_a_wrong_call_ends_in_two(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "Usage: dualmatch" in capsys.readouterr().err


def test_help_writes_symbols_and_defaults_as_they_are() -> None:
    words = " ".join(CliRunner().invoke(cli, ["align", "--help"]).output.split())
    assert "d: length of the relational encoder" in words
    assert "h: refinements of the WL kernels" in words
    assert "None]" not in words
    assert "(0" not in words
    assert re.search(r"separated by commas\. \[default: 0[\d.,]+\]", words)
    assert "similarity), for methods temporal and dualmatch" in words
    assert "this many times, for methods temporal and dualmatch" in words
