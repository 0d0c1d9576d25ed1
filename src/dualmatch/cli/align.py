"""`dualmatch align`: two graphs in, links with a confidence out."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from dualmatch.cli import console
from dualmatch.cli.engine import EngineOptions, engine_options
from dualmatch.cli.json_output import JsonOutput
from dualmatch.cli.naming_options import naming_options
from dualmatch.cli.options import (
    called_with,
    force_option,
    given,
    json_option,
    model_options,
    talk_options,
)
from dualmatch.cli.reader_options import Asked, graphs_argument, reading_options, side_options
from dualmatch.cli.run_options import inputs_of, links_path, run_folder
from dualmatch.cli.tables import percent
from dualmatch.config import EXPLAINED, Config
from dualmatch.errors import InputError
from dualmatch.explain.basis import no_evidence
from dualmatch.explain.explain import reasons as reasons_of
from dualmatch.files.atomic import STANDARD_OUTPUT, check_outputs
from dualmatch.files.compressed import check_there
from dualmatch.links.write import LINK_FORMATS, no_relations
from dualmatch.memory import peak_mb
from dualmatch.methods.align import align
from dualmatch.methods.alignment import Alignment
from dualmatch.methods.resources import prepare_process
from dualmatch.methods.validation import check_deciding, check_labels
from dualmatch.runs.companion import input_hashes
from dualmatch.runs.inputs import run_hashes
from dualmatch.runs.manifest import Terms
from dualmatch.runs.options_file import RunFile, read_run_file
from dualmatch.runs.outputs import Outputs
from dualmatch.runs.record import Cost

_PATH = click.Path(path_type=Path)


@click.command("align")
@graphs_argument
@click.option(
    "-o",
    "--output",
    type=_PATH,
    help="Where to write the links, a row for each source entity: .tsv, .csv, .parquet, .jsonl, .nt (owl:sameAs) or "
    ".sssom.tsv; - is standard output (TSV), and nothing else goes there.  [default with --run: its links.tsv]",
)
@click.option(
    "--run",
    "run_path",
    type=_PATH,
    metavar="FOLDER",
    help="Keep the result of every stage in this folder, so that a run that was killed goes on with --resume.",
)
@click.option(
    "--resume",
    is_flag=True,
    help="Go on with the run that was interrupted in the folder of --run, to the same bytes; files and options must be "
    "the same.",
)
@click.option(
    "--output-format", type=click.Choice([*LINK_FORMATS]), help="Format of the links.  [default: by the output's name]"
)
@naming_options
@click.option(
    "--seeds",
    type=_PATH,
    help="Known pairs: two columns of ids or names, or the accepted pairs of a file of decisions (dualmatch review).",
)
@click.option(
    "--forbid",
    type=_PATH,
    help="Pairs that must not come out: two columns of ids or names, an empty second one for an entity without any "
    "partner; or what a file of decisions rejects.",
)
@click.option(
    "--checkpoint",
    type=_PATH,
    help="Keep the state of training in this file after every epoch; where it exists, training goes on from it.",
)
@click.option(
    "--reasons/--no-reasons",
    default=None,
    help="Add a column with the top three reasons of each link, in words.  [default: no]",
)
@click.option(
    "--relations",
    "relations_path",
    type=_PATH,
    help="Also write which relations say the same: source, target, direction, score, support.",
)
@click.option(
    "--config",
    "config_path",
    type=_PATH,
    help="Take options from this TOML file, such as the OUTPUT.config.toml of another run; those given here win.",
)
@click.option(
    "--labels",
    type=_PATH,
    multiple=True,
    help="A file of names and labels, two tab-separated columns, to look at besides the facts (method evidence). Given "
    "twice: the source's, then the target's.",
)
@click.option(
    "--use-labels/--no-use-labels",
    default=None,
    help="Compare the labels that RDF, Wikidata and OpenEA files hold, besides the facts (method evidence).  "
    "[default: no]",
)
@side_options
@reading_options
@model_options(Config)
@engine_options
@json_option
@force_option
@talk_options
def align_command(
    paths: tuple[Path, ...],
    output: Path | None,
    run_path: Path | None,
    resume: bool,
    output_format: str | None,
    naming: dict[str, Any],
    seeds: Path | None,
    forbid: Path | None,
    checkpoint: Path | None,
    reasons: bool | None,
    relations_path: Path | None,
    config_path: Path | None,
    labels: tuple[Path, ...],
    use_labels: bool | None,
    source: tuple[Path, ...],
    target: tuple[Path, ...],
    asked: Asked,
    json_path: str | None,
    engine: EngineOptions,
    force: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Align SOURCE and TARGET, two graphs in any format, or the two graphs of a FOLDER.

    \b
    A file is a table (CSV, TSV, Parquet), RDF (.nt .nq .ttl .trig .rdf) or Wikidata's JSON, plain or .gz or .zst; - is
    standard input. A folder is a benchmark's (triples_1, triples_2, …) or OpenEA's (rel_triples_1, …).

    Beside the links are written OUTPUT.config.toml, the options of the run, to be fed back with --config, and
    OUTPUT.run.json, how the run went, for dualmatch report. With methods evidence and fused, OUTPUT.why.npz is too:
    dualmatch explain and review read it.

    A long run is given a folder of its own with --run. Killed at any moment, the same call with --resume goes on.

    \b
    Examples:
      dualmatch align people.csv wikidata.json.gz -o links.tsv
      dualmatch align a.parquet b.ttl -o links.tsv --columns head=who,relation=what,tail=whom,begin=from,end=to
      dualmatch align data/yago-wiki20k -o links.tsv --seeds known_pairs.tsv
      dualmatch align data/mine -o better.tsv --seeds decisions.db --forbid decisions.db
      dualmatch align data/mine -o links.tsv --max-fdr 0.01 --reasons --relations relations.tsv
      dualmatch align big.parquet bigger.parquet -o links.tsv --engine dask --scheduler tls://cluster:8786
      dualmatch align people.csv town.nt -o links.sssom.tsv --prefix ex=http://example.org/ --source-prefix ex
      dualmatch align data/large --run large.run
      dualmatch align data/large --run large.run --resume
    """
    start = time.perf_counter()
    output = links_path(output, run_path, resume, checkpoint)
    run_file = RunFile() if config_path is None else read_run_file(config_path)
    config = Config.checked(**{**run_file.options, **given(options)})
    asked_for = {"seeds": seeds, "forbid": forbid, "reasons": reasons, "output_format": output_format, **naming}
    call = run_file.call.over(given(asked_for))
    has_evidence = config.method in EXPLAINED
    if call.reasons and not has_evidence:
        raise InputError(f"--reasons: {no_evidence(config.method)}")
    if relations_path is not None and not has_evidence:
        raise InputError(no_relations(config.method))
    check_deciding(config)
    prepare_process(config)
    asked = asked.over(run_file.reading).with_labels(labels, use_labels).with_rejected_beside(output)
    recipe = asked.recipe(paths, source, target)
    check_labels(any(each.literals or each.labels for each in recipe.options), config.method)
    outputs = Outputs(output, relations_path, has_evidence and not recipe.uses_standard_input, call)
    inputs = (*recipe.files, call.seeds, call.forbid, checkpoint, config_path)
    with (
        engine.opened(config) as blocks,
        run_folder(run_path, resume, force) as folder,
        console.progress_shown(quiet) as progress,
    ):
        force = force or (folder is not None and folder.has_begun)
        own = () if folder is None else folder.own_files
        outputs.check((*inputs, *own), force)
        check_outputs([asked.rejected], (*inputs, *own, *outputs.paths), force)
        json_output = JsonOutput.asked_for(json_path, force, (*inputs, *own, output, asked.rejected, *outputs.paths))
        check_there([call.seeds, call.forbid, *(each.labels for each in recipe.options)])
        if folder is not None:
            folder.begin(Terms.of(config, recipe, outputs, folder.path), run_hashes(recipe, call), outputs.paths)
            if folder.is_finished and folder.results_are_there():
                json_output.write({"finished": True, "files": [str(path) for path in outputs.paths]})
                if not quiet and not json_output.to_stdout:
                    console.say(f"this run is finished already; its links are in {output}")
                return
            if folder.last_stage is not None:
                console.note(f"{folder.path}: going on after its stage {folder.last_stage}")
        if progress is not None:
            progress("read", 0, 0, "")
        given_graphs = inputs_of(folder, asked, recipe, outputs, blocks)
        hashed = {} if folder is None else folder.manifest.inputs
        hashes = input_hashes(recipe, hashed) if outputs.explained else {}
        read = time.perf_counter() - start
        alignment = align(
            given_graphs.source,
            given_graphs.target,
            given_graphs.seeds,
            forbid=given_graphs.forbidden,
            literals=given_graphs.literals,
            progress=progress,
            checkpoint=checkpoint,
            engine=blocks,
            keeper=folder,
            config=config,
        )
        words = reasons_of(alignment) if call.reasons else None
        seconds = {"read": read, **alignment.seconds, "total": time.perf_counter() - start}
        outputs.write(alignment, words, recipe, hashes, Cost(called_with(), seconds, peak_mb()))
        if folder is not None:
            folder.finish()
    json_output.write({**_summary(alignment, outputs), **given_graphs.said})
    if not quiet and not json_output.to_stdout and output != STANDARD_OUTPUT:
        _summarise(alignment, outputs)


def _summary(alignment: Alignment, outputs: Outputs) -> dict[str, Any]:
    return {
        "method": alignment.method,
        "version": alignment.version,
        "links": len(alignment.pairs),
        "seeds": int(alignment.is_seed.sum()),
        "undecided": int((~alignment.unlinked.is_no_match).sum()),
        "no_match": int(alignment.unlinked.is_no_match.sum()),
        "estimated_fdr": alignment.estimated_fdr,
        "seconds": dict(alignment.seconds),
        "files": [str(path) for path in outputs.paths],
    }


def _summarise(alignment: Alignment, outputs: Outputs) -> None:
    console.say(f"{len(alignment.pairs):,} links written to {outputs.links}")
    without, left = int(alignment.unlinked.is_no_match.sum()), len(alignment.unmatched)
    console.say(
        f"of {alignment.source.n_entities:,} source entities {left - without:,} are undecided, "
        f"{without:,} have no match"
    )
    if alignment.estimated_fdr is not None:
        console.say(
            f"{percent(alignment.estimated_fdr)} of the links found are expected to be wrong, by their confidence"
        )
    if outputs.relations is not None:
        console.say(f"relations written to {outputs.relations}")
