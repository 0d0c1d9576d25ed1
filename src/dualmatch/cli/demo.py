"""`dualmatch demo`: all steps on a simulated pair, for a first look."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from dualmatch.cli import console
from dualmatch.cli.shared_options import out_option, talk_options

if TYPE_CHECKING:
    from dualmatch.research.demo import DemoResult

_LINKS, _OPEN = 6, 3  # how many are printed
_FEW: Final = 4  # shared facts of a link to be explained first
_FORMATS: Final = ("a table of events", "RDF, with ids and words of its own")


@click.command("demo")
@out_option("Folder for everything the demo makes; another demo there is replaced.", default="demo-out")
@talk_options
def demo_command(output: Path, quiet: bool) -> None:
    """Align two simulated graphs of people, places and offices.

    An archive's table and a register in RDF know the same towns, and some of the same people. Some names are
    misspelt; dates are off, missing or known to the year only, and three people in ten are in one of them only. No pair
    is given. The links are measured against the truth, which the simulation knows.

    \b
    Examples:
      dualmatch demo
      dualmatch demo -o look-here
    """
    from dualmatch.research.demo import run_demo

    with console.progress_shown(quiet) as progress:
        result = run_demo(output, progress)
    if not quiet:
        _show(result)


def _show(result: DemoResult) -> None:
    from dualmatch.graph.shown_name import shown_name
    from dualmatch.methods.summary import Summary

    say, found = console.say, result.report["abstention"]
    say("Two graphs of people, places and offices, simulated:")
    width = max(len(str(path)) for path in result.files)
    for path, graph, words in zip(result.files, (result.graphs.source, result.graphs.target), _FORMATS, strict=True):
        say(f"  {path!s:<{width}}  {graph.n_entities:,} entities, {graph.n_facts:,} facts: {words}")
    say("\nSome of the links, the surest first, each with its strongest reason:")
    links = result.some_links(_LINKS)
    for why in links:
        reason = f": {why.shared[0].fact}" if why.shared else ""
        here, there = shown_name(why.entity, why.label), shown_name(why.match or "", why.match_label)
        say(f"  {why.confidence:.3f}  {here} = {there}{reason}")
    say("Some that stay open:")
    for why in result.some_open(_OPEN):
        say(f"  {shown_name(why.entity, why.label)}: {why.reason}")
    say("")
    say(f"{Summary.of(result.alignment).sentence()}.")
    say(
        f"Measured against the planted truth: {console.percent(found['precision'])} of the links are right, "
        f"{console.percent(found['recall'])} of the true pairs are found."
    )
    program, file = console.program(), shlex.quote(str(result.links))
    simple = min(links, key=lambda why: why.label is None or len(why.shared) > _FEW)  # a town shares dozens
    say(f"\nLinks: {result.links}; figures: {result.metrics}; the run on one page: {result.page}\nNext:")
    steps = {
        f"{program} explain {file} {shlex.quote(simple.entity)}": "why a link",
        f"{program} review {file}": "decide what is open, on a local page",
        f"{program} app": "all of this with files of your own, in the browser",
    }
    width = max(map(len, steps))
    for call, words in steps.items():
        say(f"  {call:<{width}}  {words}")
