"""`dualmatch merge`: both graphs under one set of ids."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from dualmatch.cli import console
from dualmatch.cli.reader_options import ReaderOptions, graphs_argument, memory_option, reading_options, side_options
from dualmatch.cli.shared_options import (
    force_option,
    json_option,
    naming_options,
    out_option,
    path_option,
    talk_options,
)
from dualmatch.errors import counted
from dualmatch.files.atomic import STANDARD_OUTPUT, check_outputs
from dualmatch.files.compressed import check_there


@click.command("merge")
@graphs_argument
@out_option("Where to write the facts: .tsv, .csv or .parquet; - is standard output (TSV).")
@path_option(
    *("--links", "The file that align wrote, in any format, or the folder of align --run.", "links_path"), required=True
)
@click.option(
    "--keep",
    type=click.Choice(["source", "target"]),
    default="source",
    show_default=True,
    help="Whose names linked entities take, and relations that mean the same.",
)
@click.option(
    "--keep-relations",
    is_flag=True,
    help="Let relations keep their names on both sides, also where the run found that they mean the same.",
)
@click.option(
    "--min-confidence",
    type=click.FloatRange(0, 1),
    default=0.0,
    show_default=True,
    help="Leave links below this confidence out.",
)
@path_option("--entities", "Also write each id with the names behind it, and a label, here.")
@naming_options
@side_options
@reading_options
@memory_option
@json_option
@force_option
@talk_options
def merge_command(
    paths: tuple[Path, ...],
    output: Path,
    links_path: Path,
    keep: Any,
    keep_relations: bool,
    min_confidence: float,
    entities: Path | None,
    source: tuple[Path, ...],
    target: tuple[Path, ...],
    asked: ReaderOptions,
    memory_limit: int | None,
    naming: dict[str, Any],
    json_path: str | None,
    force: bool,
    quiet: bool,
) -> None:
    """Write both graphs as one: linked entities share an id.

    Relations that the run found to mean the same (OUTPUT.run.json beside the links) share a name. A fact of both
    sides is written once; every fact says which side it comes from.

    \b
    Examples:
      dualmatch merge people.csv town.nt --links links.tsv -o merged.parquet
      dualmatch merge data/mine --links links.tsv -o all.tsv --entities ids.tsv
    """
    from dualmatch.files.table_writer import TABLE_EXTENSIONS, check_table, format_by_name, write_table
    from dualmatch.links.read import read_links
    from dualmatch.merge import merge
    from dualmatch.runs.folder import links_of
    from dualmatch.runs.options_file import call_options_of
    from dualmatch.runs.record import relations_beside

    for path in (output, entities):
        if path is not None:
            format_by_name(path, TABLE_EXTENSIONS)
    links_path = links_of(links_path)
    asked = asked.within(memory_limit).with_rejected_beside(output).with_labels()
    spec = asked.input_spec(paths, source, target)
    inputs, outputs = (*spec.files, links_path), (output, entities, asked.rejected)
    check_outputs(outputs, inputs, force)
    json_output = console.JsonOutput.checked(json_path, force, (*inputs, *outputs))
    check_there([links_path])
    call = call_options_of(links_path).over(naming)
    pairs, confidence = read_links(links_path, call.naming, call.output_format)
    graphs = asked.read(spec, compares=False)
    sure = [pair for pair, share in zip(pairs, confidence.tolist(), strict=True) if share >= min_confidence]
    known = None if keep_relations else relations_beside(links_path)
    merged = merge(graphs.source, graphs.target, sure, keep, known, graphs.literals)
    labels = merged.entities["label"].count() if "label" in merged.entities.columns else 0
    if not labels and "label" in merged.entities.columns:
        merged = replace(merged, entities=merged.entities.drop("label"))
    tables = [(merged.facts, output), *([] if entities is None else [(merged.entities, entities)])]
    for table, path in tables:
        check_table(table, path)
    for table, path in tables:
        write_table(table, path)
    shared = int((merged.facts["said_by"] == "both").sum())
    entities_in_all, shared_entities = merged.entities["id"].n_unique(), len({target_name for _, target_name in sure})
    report = {
        "facts": merged.facts.height,
        "entities": entities_in_all,
        "shared_entities": shared_entities,
        "shared_facts": shared,
        "files": [str(path) for path in (output, entities) if path is not None and path != STANDARD_OUTPUT],
        **graphs.report,
    }
    json_output.write(report)
    if not quiet and not json_output.to_stdout and output != STANDARD_OUTPUT:
        facts, entities_said = counted(merged.facts.height, "fact"), counted(entities_in_all, "entity", "entities")
        console.say(f"{facts} about {entities_said} written to {output}")
        console.say(
            f"{counted(shared_entities, 'entity', 'entities')} and {counted(shared, 'fact')} come from both sides"
        )
        if labels:
            where = "are not in it; --entities FILE lists them" if entities is None else f"are in {entities}"
            console.say(f"labels ({labels:,}) {where}; other texts are left out")
