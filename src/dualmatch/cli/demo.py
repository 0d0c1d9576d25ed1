"""`dualmatch demo`: all steps on a simulated pair, for a first look."""

from __future__ import annotations

from pathlib import Path

import rich_click as click

from dualmatch.cli import console
from dualmatch.cli.shared_options import out_option, talk_options


@click.command("demo")
@out_option("Folder for everything the demo makes; run again, it is made anew.", default="demo-out")
@talk_options
def demo_command(output: Path, quiet: bool) -> None:
    """Align a simulated pair of graphs and show how right the links are.

    One history of 1,500 people and places is seen by two observers with their own vocabularies; some dates are wrong,
    missing or known only to the year, and one entity in ten is known to one observer only. No seed pair is given.

    \b
    Examples:
      dualmatch demo
      dualmatch demo -o look-here
    """
    from dualmatch.research.benchmark import run_demo

    with console.progress_shown(quiet) as progress:
        result = run_demo(output, progress)
    if quiet:
        return
    report = result.report
    console.say(f"The two graphs (in {result.world})")
    for graph in (result.alignment.source, result.alignment.target):
        console.say(f"  {graph!r}")
    console.out.print(console.ranking_table(report["protocols"]))
    console.out.print(console.links_table(report["abstention"], report["calibration"]["ece"]))
    console.say(f"Links: {result.links} (source, target, confidence); the first of them:")
    for source, target, confidence in result.alignment.links()[:5]:
        console.say(f"  {source}\t{target}\t{confidence:.3f}")
    console.say(f"Report: {result.summary}; figures as JSON: {result.metrics}")
    console.say(f"It took {console.cost_line(report)}.")
