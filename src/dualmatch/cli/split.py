"""`dualmatch split`: a benchmark with known truth from a single graph."""

from __future__ import annotations

import os
from pathlib import Path

import click

from dualmatch.cli import console
from dualmatch.cli.reader_options import ReaderOptions, memory_option, reading_options
from dualmatch.cli.shared_options import PATH, force_option, out_option, talk_options
from dualmatch.files.atomic import check_outputs


@click.command("split")
@click.argument("paths", nargs=-1, required=True, type=PATH, metavar="GRAPH…")
@out_option("Folder to write.")
@click.option(
    "--overlap",
    type=click.FloatRange(0, 1),
    default=0.5,
    show_default=True,
    help="Share of a side's facts that the other side has too; repeated facts count once.",
)
@click.option(
    "--without-partner",
    type=click.FloatRange(0, 0.9),
    default=0.0,
    show_default=True,
    help="Share of each side's entities to keep from the other side; others miss it by chance.",
)
@click.option(
    "--seeds",
    type=click.IntRange(0),
    help="True pairs given as seeds, sup_pairs; the rest are ref_pairs.  [default: 10 %]",
)
@click.option(
    "--random-seed",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Seed of the draw: the same graph, options and seed give the same folder.",
)
@click.option(
    "--keep-names",
    is_flag=True,
    help="Let the target keep its names; else entities and relations are renumbered, so that names give no pair away.",
)
@reading_options
@memory_option
@force_option
@talk_options
def split_command(
    paths: tuple[Path, ...],
    output: Path,
    overlap: float,
    without_partner: float,
    seeds: int | None,
    random_seed: int,
    keep_names: bool,
    asked: ReaderOptions,
    memory_limit: int | None,
    force: bool,
    quiet: bool,
) -> None:
    """Make a benchmark with known truth from one temporal graph.

    Its two sides have part of the facts in common. This is how DICEWS was made of ICEWS05-15, with an overlap of 0.5.
    GRAPH is one file, or several of one graph, in any format that dualmatch align reads. The folder holds both graphs
    and their true pairs, for dualmatch benchmark.

    \b
    Examples:
      dualmatch split people.csv -o people-split
      dualmatch split events.nt.gz -o hard --overlap 0.3 --without-partner 0.1
    """
    from dualmatch.readers.read import read
    from dualmatch.research.split import split_graph, write_split

    check_outputs([asked.rejected], paths, force)
    reading = read(paths, asked.within(memory_limit).options[0])
    asked.report(reading.notes, reading.rejections)
    pair = split_graph(reading.graph, overlap, without_partner, seeds, random_seed, keep_names)
    write_split(pair, Path(os.path.abspath(output)), force)
    if quiet:
        return
    for graph in (pair.source, pair.target):
        console.say(repr(graph))
    alone = " and ".join(console.percent(share) for share in pair.without_partner)
    console.say(f"{console.percent(pair.overlap)} of the facts in common; {alone} of the entities have no partner")
    console.say(f"{len(pair.gold):,} true pairs, {pair.n_seeds:,} of them seeds; written to {output}")
