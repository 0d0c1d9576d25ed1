"""Help: every verb has an example, every option says what it does, and neither waits for a heavy library."""

from __future__ import annotations

import re
import subprocess
import sys
from inspect import cleandoc
from typing import get_args

import click
import pytest
from click.testing import CliRunner
from pydantic_core import PydanticUndefined

from dualmatch.cli import align, experiment, method_options, reader_options
from dualmatch.cli.main import VERBS, cli, load_verb, main
from dualmatch.config import Config, Method
from dualmatch.links.write import LINK_FORMATS
from dualmatch.option_texts import METHOD_OPTIONS, WORLD_OPTIONS
from dualmatch.readers.read import FORMATS
from dualmatch.readers.rejected_lines import DEFAULT_LIMIT
from dualmatch.research.experiments.catalogue import EXPERIMENTS
from dualmatch.review.serve import LOOPBACK
from dualmatch.simulate import World
from dualmatch.version import __version__

YOUR_DATA = ["app", "align", "inspect", "explain", "report", "review", "merge", "evaluate", "update", "demo"]
RESEARCH = ["benchmark", "experiment", "datasets", "split", "simulate"]
ALL_VERBS = [*YOUR_DATA, *RESEARCH]
OPTIONS = [
    pytest.param(option, id=f"{name} {option.opts[-1]}")
    for name, command in (("dualmatch", cli), *((verb, load_verb(verb)) for verb in ALL_VERBS))
    for option in command.params
    if isinstance(option, click.Option) and not option.hidden
]
HEAVY = {"numpy", "scipy", "polars", "pydantic", "torch", "starlette", "uvicorn", "jinja2", "matplotlib", "dask"}


def shown(*arguments: str) -> str:
    return printed(*arguments, "--help", width=110)


def printed(*arguments: str, width: int) -> str:
    result = CliRunner().invoke(cli, arguments, terminal_width=width)
    assert result.exit_code == 0
    return result.output


def test_these_are_all_verbs() -> None:
    assert {panel: [*verbs] for panel, verbs in VERBS.items()} == {"Your data": YOUR_DATA, "Research": RESEARCH}
    assert {*cli.commands} == {*ALL_VERBS}


def test_verbs_for_your_data_and_for_research_are_listed_apart() -> None:
    text = shown()
    of_data, _, of_research = text[text.index("Your data:") :].partition("Research:")
    assert re.findall(r"^  (\w+) ", of_data, re.MULTILINE) == YOUR_DATA
    assert re.findall(r"^  (\w+) ", of_research.partition("Options:")[0], re.MULTILINE) == RESEARCH


@pytest.mark.parametrize("verb", ALL_VERBS)
def test_the_list_says_what_the_verb_says_of_itself(verb: str) -> None:
    words = next(verbs[verb] for verbs in VERBS.values() if verb in verbs)
    assert words == " ".join((load_verb(verb).help or "").partition("\n\n")[0].split())


@pytest.mark.parametrize("verb", ALL_VERBS)
@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_every_verb_shows_an_example(verb: str, flag: str) -> None:
    result = CliRunner().invoke(cli, [verb, flag])
    assert result.exit_code == 0
    assert re.search(rf"Examples: *\n +dualmatch {verb}", result.output)


def test_nothing_is_cut_or_torn_at_80_columns() -> None:
    overview = CliRunner().invoke(cli, ["--help"], terminal_width=80).output
    for verbs in VERBS.values():
        for verb, words in verbs.items():
            assert re.search(rf"^  {verb} +{re.escape(words)} *$", overview, re.MULTILINE), f"{verb}: {words}"
    for command in (cli, *map(load_verb, ALL_VERBS)):
        for block in re.findall(r"\x08\n(.*?)(?:\n\n|\Z)", cleandoc(command.help or ""), re.DOTALL):
            assert max(map(len, block.splitlines())) <= 80, block


@pytest.mark.parametrize("option", OPTIONS)
def test_every_option_is_documented(option: click.Option) -> None:
    words = re.sub(r"\[default: .*\]", "", option.help or "")
    assert len(re.findall(r"\w+", words)) >= 3, f"{option.opts} has no help"


def test_an_option_without_help_would_be_noticed() -> None:
    for words in (None, "", ".  [default: 3]"):
        with pytest.raises(AssertionError):
            test_every_option_is_documented(click.Option(["--bare"], help=words))


@pytest.mark.parametrize("verb", ALL_VERBS)
def test_defaults_are_shown_in_one_way(verb: str) -> None:
    text = printed(verb, "--help-all" if verb == "align" else "--help", width=10_000)
    brackets = re.findall(r"  (\[[^\]]*\])$", text, re.MULTILINE)
    assert all(re.match(r"\[(default: .+|required|[\dx].*)\]$", each) for each in brackets), brackets
    assert not re.search(r"\]  \[", text.partition("Options:")[2])
    assert "[default: 5; x>=1]" in printed("explain", "--help", width=200)
    assert "[default: cores; 1<=x<=1024]" in printed("update", "--help", width=200)


def test_examples_name_options_that_exist() -> None:
    for verb in ALL_VERBS:
        command = load_verb(verb)
        known = {name for option in command.params for name in option.opts}
        examples = " ".join(re.findall(rf"^ *dualmatch {verb} .*$", command.help or "", re.MULTILINE))
        assert set(re.findall(r"(?<= )--?[a-z][a-z-]*", examples)) <= known


def test_align_lists_its_options_in_groups_everyday_ones_first() -> None:
    text = printed("align", "--help-all", width=110)
    panels = ["Input:", "Output:", "Deciding:", "Names:", "Running:", "The paper's method (temporal, dualmatch):"]
    places = [text.index(f"\n{panel}") for panel in panels]
    assert places == sorted(places)
    assert "\nOptions:" not in text  # no option is left over
    parts = [text[first:last] for first, last in zip(places, [*places[1:], len(text)], strict=True)]
    firsts = [re.findall(r"(--[a-z][a-z-]*)", part)[0] for part in parts]
    assert firsts == ["--columns", "--output", "--method", "--names", "--run", "--seed"]
    assert "--hops" in parts[-1]


def test_align_shows_everyday_options_and_all_of_them_when_asked() -> None:
    brief, full = (printed("align", flag, width=80) for flag in ("--help", "--help-all"))
    assert len(brief.splitlines()) <= 100
    assert brief.endswith("\nMore options (the paper's method, RDF, clusters): dualmatch align --help-all\n")
    assert "More options" not in full
    of_brief, of_full = (set(re.findall(r"^  (?:-\w, )?(--[a-z-]+)", text, re.MULTILINE)) for text in (brief, full))
    assert of_brief < of_full
    assert {"--columns", "--output", "--seeds", "--run", "--help", "--help-all"} <= of_brief
    assert not of_brief & {"--hops", "--scheduler", "--time-predicate", "--checkpoint"}
    declared = {
        each.opts[-1] for each in load_verb("align").params if isinstance(each, click.Option) and not each.hidden
    }
    assert of_full == {*declared, "--help"}
    assert "Known pairs: two columns" in brief  # the first sentence of its help, and the default
    assert "looked up there first" not in brief
    assert "[default: guessed]" in " ".join(brief.split())


def test_options_written_out_are_those_of_the_config() -> None:
    assert {"method", *METHOD_OPTIONS} == {*Config.model_fields}
    assert get_args(Method) == method_options.METHODS
    simple = {int: click.INT, float: click.FLOAT, bool: click.BOOL, str: click.STRING}
    declared = {each.name: each.type for each in load_verb("align").params}
    for name, (default, text) in METHOD_OPTIONS.items():
        field, kind = Config.model_fields[name], declared[name]
        assert field.description == text
        assert default == (None if field.default is PydanticUndefined else field.default), name
        if isinstance(kind, click.Choice):
            assert tuple(kind.choices) == get_args(field.annotation), name
        elif name not in ("memory_limit", "alphas"):  # texts, which the config parses
            assert kind is simple[(get_args(field.annotation) or (field.annotation,))[0]], name


def test_options_of_a_world_are_those_of_the_command() -> None:
    assert [*WORLD_OPTIONS] == [*World.model_fields]
    declared = {each.name: each.type for each in load_verb("simulate").params}
    for name, (default, _) in WORLD_OPTIONS.items():
        assert World.model_fields[name].annotation is type(default)
        assert declared[name] is (click.INT if isinstance(default, int) else click.FLOAT)


def test_choices_written_out_are_those_of_the_registries() -> None:
    assert tuple(FORMATS) == reader_options.FORMATS
    assert tuple(LINK_FORMATS) == align.LINK_FORMATS
    assert tuple(EXPERIMENTS) == experiment.EXPERIMENTS
    assert f"[default: {DEFAULT_LIMIT}]" in next(o.help for o in load_verb("align").params if o.name == "max_errors")  # type: ignore[attr-defined]
    assert next(o.default for o in load_verb("review").params if o.name == "host") == LOOPBACK


def test_the_exit_codes_are_listed() -> None:
    words = " ".join(shown().split())
    assert (
        "Exit codes: 0 done; 1 a bug in dualmatch; 2 a mistake in what was given (the message says which); 130" in words
    )


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--version"])
    assert capsys.readouterr().out == f"dualmatch, version {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--version"], 0),
        (["--help"], 0),
        *([[verb, "--help"], 0] for verb in ALL_VERBS if verb != "simulate"),  # whose options come from a model
        (["fly"], 2),
        (["align", "x", "-o", "y", "--hops", "many"], 2),
        (["align", "x", "-o", "y", "--method", "fused"], 2),
        (["align", "--colour", "red"], 2),
        (["merge", "x", "y"], 2),
    ],
)
def test_help_and_wrong_options_load_nothing_heavy(arguments: list[str], code: int) -> None:
    program = f"""
import sys
from dualmatch.cli.main import main
try:
    main({arguments!r})
    code = 0
except SystemExit as end:
    code = end.code
print(code, *sorted({HEAVY!r} & set(sys.modules)), file=sys.stderr)
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stderr.splitlines()[-1] == str(code)


@pytest.mark.parametrize("arguments", [[], ["fly"], ["align"], ["align", "x", "-o", "y", "--hops", "many"]])
def test_a_wrong_call_ends_in_two(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "Usage: dualmatch" in capsys.readouterr().err


def test_help_writes_symbols_and_defaults_as_they_are() -> None:
    words = " ".join(printed("align", "--help-all", width=110).split())
    assert "d: length of the relational encoder" in words
    assert "h: refinements of the WL kernels" in words
    assert "None]" not in words
    assert "(0" not in words
    assert re.search(r"separated by commas\. \[default: 0[\d.,]+\]", words)
    assert "similarity), for methods temporal and dualmatch" in words
    assert "this many times, for methods temporal and dualmatch" in words


def test_both_ways_to_leave_names_out_are_shown() -> None:
    assert "'none' nothing, as --no-names." in " ".join(shown("align").split())


@pytest.mark.parametrize("verb", [None, *(verb for verb in ALL_VERBS if verb != "datasets")])  # a group
def test_options_that_are_counted_take_no_value(verb: str | None) -> None:
    text = shown(*([] if verb is None else [verb]))
    assert re.search(r"-v, --verbose +Print more", text)
    assert "<>" not in text
