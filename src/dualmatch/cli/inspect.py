"""`dualmatch inspect`: what was understood of files, before anything is aligned."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from dualmatch.cli import console
from dualmatch.cli.reader_options import NamesOptions, ReaderOptions, memory_option, reading_options, side_options
from dualmatch.cli.shared_options import PATH, force_option, json_option, talk_options
from dualmatch.errors import InputError, counted
from dualmatch.files.atomic import check_outputs

if TYPE_CHECKING:
    from rich.table import Table

    from dualmatch.graph.model import TemporalGraph
    from dualmatch.inspection import GraphInspection, TimeOverlap
    from dualmatch.methods.resources import Estimate
    from dualmatch.readers.columns import ColumnUse
    from dualmatch.readers.read import Reading
    from dualmatch.readers.read_options import ReadOptions
    from dualmatch.runs.input_spec import InputSpec

_OF_ENTITY: Final = {
    "id": "the entity (id)",
    "label": "its label",
    "date": "dates of the entity",
    "tail": "neighbours (tail)",
    "text": "text, not compared",
}
_MOST_COLUMNS: Final = 40


@click.command("inspect")
@click.argument("paths", nargs=-1, type=PATH, metavar="FILE | FOLDER | SOURCE TARGET")
@side_options
@reading_options
@memory_option
@json_option
@force_option
@talk_options
def inspect_command(
    paths: tuple[Path, ...],
    source: tuple[Path, ...],
    target: tuple[Path, ...],
    asked: ReaderOptions,
    memory_limit: int | None,
    json_path: str | None,
    force: bool,
    quiet: bool,
) -> None:
    """Show what was understood of one graph, or of two to be aligned.

    Facts, entities, relations, times and their precision, and what looks like a mistake; for two graphs also how
    far their times overlap, and the time, memory and disk that a run takes.

    \b
    Examples:
      dualmatch inspect people.csv
      dualmatch inspect people.csv wikidata.json.gz
      dualmatch inspect a.nt --json -
    """
    from dualmatch.inspection import inspect_graph, time_overlap
    from dualmatch.runs.graph_pair import reading_report

    asked = asked.within(memory_limit).with_names(NamesOptions(None, (), None, None), compared=True)
    spec = asked.input_spec(paths, source, target)
    check_outputs([asked.rejected], spec.files, force)
    json_output = console.JsonOutput.checked(json_path, force, (*spec.files, asked.rejected))
    readings = _read(spec, asked)
    graphs = [reading.graph for reading in readings]
    inspections = [inspect_graph(graph) for graph in graphs]
    overlap = time_overlap(graphs[0], graphs[1]) if len(graphs) == 2 else None
    estimates = [] if overlap is None else _estimates(graphs[0], graphs[1], asked.options[0].memory_limit)
    json_output.write(
        {
            "graphs": [asdict(inspection) for inspection in inspections],
            "overlap": None if overlap is None else asdict(overlap),
            "estimates": [asdict(each) for each in estimates],
            "columns": [asdict(use) for reading in readings for use in reading.columns],
            **reading_report(readings),
        }
    )
    if quiet or json_output.to_stdout:
        return
    for name, (uses, options) in _by_file(readings, spec.options).items():
        _show_columns(name, uses, options)
    console.out.print(_graphs_table(inspections))
    for inspection in inspections:
        for words in inspection.suspicious:
            console.say(f"look at {inspection.name}: {words}")
    if overlap is not None:
        console.out.print(_overlap_table(overlap, estimates))


def _read(spec: InputSpec, asked: ReaderOptions) -> tuple[Reading, ...]:
    """One graph where one file is given, else two."""
    from dualmatch.readers.read import read

    paths = spec.paths
    if len(paths) == 1 and not os.path.isdir(paths[0]) and not spec.target:
        reading = read([*paths, *spec.source], spec.options[0])
        if reading.literals is not None and reading.literals.labels:
            labelled = counted(len(reading.literals.labels), "entity has a label", "entities have a label")
            words = f"{labelled}, of {reading.graph.n_entities:,}"
            reading = replace(reading, notes=(*reading.notes, words))
        asked.report(reading.notes, reading.rejections)
        return (reading,)
    if not (paths or spec.source or spec.target):
        raise InputError("no file given; give one to look at, or the two to be aligned")
    return asked.read(spec).readings


def _estimates(source: TemporalGraph, target: TemporalGraph, limit: int | None) -> list[Estimate]:
    """What each method of `align` would cost, with one look at how fast the machine is."""
    from dualmatch.config import Config
    from dualmatch.methods.resources import estimate, quick_unit_seconds

    unit, methods = quick_unit_seconds(), ("temporal", "dualmatch", "evidence")
    return [estimate(source, target, Config.checked(method=each, memory_limit=limit), unit) for each in methods]


def _by_file(
    readings: Sequence[Reading], options: Sequence[ReadOptions]
) -> dict[str, tuple[list[ColumnUse], ReadOptions]]:
    files: dict[str, tuple[list[ColumnUse], ReadOptions]] = {}
    for reading, of_side in zip(readings, options, strict=False):  # one graph has the options of the first
        for name in dict.fromkeys(use.file for use in reading.columns):
            files.setdefault(name, ([use for use in reading.columns if use.file == name], of_side))
    return files


def _show_columns(name: str, uses: Sequence[ColumnUse], options: ReadOptions) -> None:
    """What each column was taken for, and the option that says the same, to be changed where it is wrong."""
    from rich.markup import escape
    from rich.table import Table

    from dualmatch.readers.usual_names import columns_option

    of_entities = any("id" in use.roles for use in uses)
    console.say(f"{name}: a row for each {'entity' if of_entities else 'fact'}")
    table = Table()
    for heading in ("column", "taken for"):
        table.add_column(heading, overflow="fold")
    words = _OF_ENTITY if of_entities else {}
    for use in uses[:_MOST_COLUMNS]:
        meant = ", ".join(words.get(role, role) for role in use.roles) or "not read"
        table.add_row(escape(use.column), meant + ", guessed" * use.guessed)
    console.out.print(table)
    if len(uses) > _MOST_COLUMNS:
        console.say(f"… and {counted(len(uses) - _MOST_COLUMNS, 'more column')}")
    pairs = [(role, use.column) for use in uses[:_MOST_COLUMNS] for role in use.roles]
    said = (options.columns or {}).get("relation", "")
    if isinstance(said, str) and said.startswith("="):  # of all facts, in no column
        pairs.insert(1, ("relation", said))
    console.say(f"to change that, adapt: {columns_option(pairs)}")


def _graphs_table(inspections: list[GraphInspection]) -> Table:
    from rich.markup import escape
    from rich.table import Table

    table = Table(title="What was understood")
    table.add_column("")
    for inspection in inspections:
        table.add_column(escape(inspection.name), justify="right", overflow="fold")
    rows: dict[str, Callable[[GraphInspection], str]] = {"facts": lambda each: f"{each.facts:,}"}
    if any(each.entity_dates for each in inspections):
        rows["dates of entities themselves"] = lambda each: (
            f"{each.entity_dates:,} ({counted(each.dated_entities, 'entity', 'entities')})"
        )
    if any(each.facts for each in inspections):
        rows |= {
            "facts with a time": lambda each: console.percent(each.dated_share if each.facts else None),
            "… with one end only": lambda each: console.percent(each.half_dated_share if each.facts else None),
            "… at a point in time": lambda each: console.percent(each.points_share if each.facts else None),
            "… repeating another": lambda each: f"{each.repeated_facts:,}",
        }
    rows |= {
        "entities": lambda each: f"{each.entities:,}",
        "… in no fact": lambda each: f"{each.isolated_entities:,}",
        "facts an entity: median / 90 % / most": lambda each: " / ".join(
            f"{each.degree[key]:,.0f}" for key in each.degree
        ),
        "times": lambda each: f"{each.first_time} … {each.last_time}" if each.first_time else "none",
        "distinct times": lambda each: f"{each.distinct_times:,}",
        "given to the day / month / year": lambda each: (
            " / ".join(console.percent(share) for share in each.precision.values()) or "ids"
        ),
        "relations": lambda each: f"{each.relations:,}",
    }
    for words, show in rows.items():
        table.add_row(words, *(show(inspection) for inspection in inspections))
    for place in range(max(len(each.most_frequent_relations) for each in inspections)):
        table.add_row("most frequent" if place == 0 else "", *(_relation(each, place) for each in inspections))
    return table


def _relation(inspection: GraphInspection, place: int) -> str:
    from rich.markup import escape

    if place >= len(inspection.most_frequent_relations):
        return ""
    relation = inspection.most_frequent_relations[place]
    return (
        f"{escape(relation.name)} {relation.facts:,} ({console.percent(relation.dated_facts / relation.facts)} dated)"
    )


def _overlap_table(overlap: TimeOverlap, estimates: list[Estimate]) -> Table:
    rows = {
        "years both span": f"{overlap.first} … {overlap.last}" if overlap.first else "none: check the dates",
        "source facts whose interval the target has": console.percent(overlap.source_share),
        "target facts whose interval the source has": console.percent(overlap.target_share),
        "source years the target has": console.percent(overlap.year_share),
    }
    for each in estimates:
        words = f"{_range(each.seconds)} s, {_range(each.gigabytes)} GB"
        if each.disk_gigabytes[1]:
            words += f", and {_range(each.disk_gigabytes)} GB of disk"
        rows[f"a run of method {each.method} takes about"] = words
    return console.figures_table("Together", rows)


def _range(ends: tuple[float, float]) -> str:
    low, high = (f"{end:,.0f}" if end >= 10 else f"{end:.1f}" for end in ends)
    return "under 1" if ends[1] < 1 else f"{low} – {high}"
