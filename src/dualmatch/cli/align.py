"""`dualmatch align`: two graphs in, links with a confidence out."""

from __future__ import annotations

import os
import shlex
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from dualmatch.cli import console
from dualmatch.cli.engine_options import EngineOptions, engine_options
from dualmatch.cli.help import PanelCommand, help_all_option
from dualmatch.cli.method_options import ALIGN_METHODS, NO_FUSED, config_of, method_options
from dualmatch.cli.reader_options import (
    NamesOptions,
    ReaderOptions,
    graphs_argument,
    names_options,
    reading_options,
    side_options,
)
from dualmatch.cli.shared_options import (
    PATH_AS_TYPED,
    called_with,
    force_option,
    given,
    json_option,
    naming_options,
    path_option,
    show_labels_option,
    talk_options,
)
from dualmatch.errors import InputError
from dualmatch.files.atomic import STANDARD_OUTPUT
from dualmatch.option_texts import METHOD_OPTIONS

if TYPE_CHECKING:
    from dualmatch.methods.alignment import Alignment
    from dualmatch.runs.outputs import Outputs

LINK_FORMATS: Final = ("tsv", "csv", "parquet", "jsonl", "sameas", "sssom")
_DECIDING: Final = ("min_confidence", "max_fdr", "many_to_one")
_PANELS: Final = {
    "Input": "columns formats time_formats list_separators on_error max_errors source target time_predicates "
    "namespaces",
    "Output": "output output_format reasons relations_path json_path rejected force",
    "Deciding": f"method {' '.join(_DECIDING)} seeds same_ids forbid",
    "Names": "names no_names labels label_languages show_labels prefixes source_prefix target_prefix",
    "Running": "run_path resume config_path memory_limit kind threads scheduler workers exchange quiet verbose help "
    "help_all",
    "The paper's method (temporal, dualmatch)": " ".join(
        [name for name in METHOD_OPTIONS if name not in (*_DECIDING, "memory_limit")] + ["checkpoint"]
    ),
}

_EVERYDAY: Final = (
    "columns formats time_formats on_error output reasons force method min_confidence max_fdr seeds forbid names "
    "no_names labels run_path resume config_path quiet verbose help help_all"
)


def _check_output(context: click.Context, _option: click.Parameter, output: Path | None) -> Path | None:
    """Refuse a call without a place for the links before anything is loaded; options that are given come first."""
    if output is None and context.params.get("run_path") is None and not context.params.get("resume"):
        raise click.UsageError("Missing option '-o' / '--output', or '--run' for a run with a folder of its own.")
    return output


@click.command(
    "align",
    cls=PanelCommand,
    panels={name: words.split() for name, words in _PANELS.items()},
    everyday=_EVERYDAY.split(),
    more="More options (the paper's method, RDF, clusters): dualmatch align --help-all",
)
@graphs_argument
@path_option(
    "-o",
    "Where to write the links, a row for each source entity: .tsv, .csv, .parquet, .jsonl, .nt (owl:sameAs) or "
    ".sssom.tsv; - is standard output (TSV), where nothing else is printed.  [default: links.tsv of the --run folder]",
    "--output",
    callback=_check_output,
)
@path_option(
    "--run",
    "Keep the result of every stage in this folder, so that a run that was killed can be resumed.",
    "run_path",
    metavar="FOLDER",
)
@click.option(
    "--resume",
    is_flag=True,
    help="Resume the run that was interrupted in the folder of --run, to the same bytes; files and options must be "
    "the same.",
)
@click.option(
    "--output-format", type=click.Choice(LINK_FORMATS), help="Format of the links.  [default: by the output's name]"
)
@naming_options
@path_option(
    "--seeds",
    "Known pairs: two columns of ids or names, or the accepted pairs of a file of decisions (dualmatch review). With a "
    "FOLDER, a bare name is looked up there first: --seeds sup_pairs; ./sup_pairs is that of the working directory.",
    type=PATH_AS_TYPED,
)
@click.option(
    "--same-ids/--no-same-ids",
    default=None,
    help="Take entities that have the same id on both sides, such as one IRI, as seeds.  [default: no]",
)
@path_option(
    "--forbid",
    "Pairs that must not be linked: two columns of ids or names, an empty second one for an entity without any "
    "partner; or what a file of decisions rejects. Looked up as --seeds.",
    type=PATH_AS_TYPED,
)
@path_option(
    "--checkpoint",
    "Keep the state of training in this file after every epoch; where it exists, training resumes from it.",
)
@click.option(
    "--reasons/--no-reasons",
    default=None,
    help="Add a column with the top three reasons of each link, in words.  [default: no]",
)
@path_option(
    "--relations",
    "Also write which relations mean the same: source, target, direction, score, support.",
    "relations_path",
)
@path_option(
    "--config",
    "Take options from the OUTPUT.run.json of another run, or from a TOML file; options given here take precedence.",
    "config_path",
)
@names_options
@show_labels_option
@side_options
@reading_options
@method_options(ALIGN_METHODS)
@engine_options
@json_option
@force_option
@talk_options
@help_all_option
def align_command(
    paths: tuple[Path, ...],
    output: Path | None,
    run_path: Path | None,
    resume: bool,
    output_format: str | None,
    naming: dict[str, Any],
    seeds: str | None,
    same_ids: bool | None,
    forbid: str | None,
    checkpoint: Path | None,
    reasons: bool | None,
    relations_path: Path | None,
    config_path: Path | None,
    names: NamesOptions,
    show_labels: tuple[Path, ...],
    source: tuple[Path, ...],
    target: tuple[Path, ...],
    asked: ReaderOptions,
    json_path: str | None,
    engine: EngineOptions,
    force: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Align two graphs, in any formats, or the two graphs of a FOLDER.

    A file is a table (CSV, TSV, Parquet), RDF (.nt .nq .ttl .trig .rdf .jsonld) or Wikidata's JSON, plain or .gz, .bz2
    or .zst; - is standard input. A folder is a benchmark's (triples_1, triples_2, …) or OpenEA's (rel_triples_1, …).

    Beside the links OUTPUT.run.json is written, the record of the run: for dualmatch report, and to repeat the run with
    --config. Method evidence also writes OUTPUT.why.npz, which dualmatch explain and review read.

    A long run is given a folder of its own with --run. Killed at any moment, it is resumed by the same call with
    --resume.

    \b
    Examples:
      dualmatch align people.csv wikidata.json.gz -o links.tsv
      dualmatch align a.csv b.ttl -o links.tsv --columns id=key,label=name
      dualmatch align data/yago-wiki20k -o links.tsv --seeds sup_pairs
      dualmatch align data/mine -o new.tsv --seeds links.db --forbid links.db
      dualmatch align data/mine -o links.tsv --max-fdr 0.01 --reasons
      dualmatch align a.parquet b.parquet -o links.tsv --engine dask
      dualmatch align a.ttl b.nt -o links.sssom.tsv --prefix ex=http://example.org/
      dualmatch align data/large --run large.run
      dualmatch align data/large --run large.run --resume
    """
    start = time.perf_counter()
    output = _links_path(output, run_path, resume, checkpoint)
    from dualmatch.config import EXPLAINED
    from dualmatch.methods.resources import prepare_process
    from dualmatch.methods.validation import check_labels
    from dualmatch.runs.options_file import RunOptions, read_options_file
    from dualmatch.runs.workflow import AlignRun, opened_folder

    run_file = RunOptions() if config_path is None else read_options_file(config_path)
    config = config_of(options, run_file.options, ALIGN_METHODS)
    if config.method not in ALIGN_METHODS:
        raise InputError(NO_FUSED)
    engine.check(config.method)
    prepare_process(config)
    call = {
        "seeds": _pair_file(seeds, paths),
        "same_ids": same_ids,
        "forbid": _pair_file(forbid, paths),
        "reasons": reasons,
        "show_labels": show_labels or None,
        "output_format": output_format,
        **naming,
    }
    check_labels(names.languages is not None, config.method)
    asked = (
        asked.over(run_file.reading)
        .within(config.memory_limit)
        .with_names(names, config.method in EXPLAINED)
        .with_rejected_beside(output)
    )
    with opened_folder(run_path, resume, force, console.note) as folder:
        run = AlignRun(
            config=config,
            spec=asked.input_spec(paths, source, target),
            call=run_file.call.over(given(call)),
            links=output,
            relations=relations_path,
            rejected=asked.rejected,
            checkpoint=checkpoint,
            config_file=config_path,
            folder=folder,
            force=force or (folder is not None and folder.has_begun),
        )
        run.check_files()
        json_output = console.JsonOutput.checked(json_path, run.force, run.files)
        if run.is_finished():
            json_output.write({"finished": True, "files": [str(path) for path in run.outputs.paths]})
            if not quiet and not json_output.to_stdout:
                console.say(f"this run is finished already; its links are in {output}")
            return
        if folder is not None and folder.last_stage is not None:
            console.note(f"{folder.path}: resuming after its stage {folder.last_stage}")
        read_graphs = partial(asked.read, same_ids=run.call.same_ids)
        with engine.opened(config.method) as blocks, console.progress_shown(quiet) as progress:
            alignment, graphs = run.perform(read_graphs, blocks, progress, start, called_with())
    json_output.write({**_summary(alignment, run.outputs), **graphs.report})
    if not quiet and not json_output.to_stdout and output != STANDARD_OUTPUT:
        _print_summary(alignment, run.outputs)


def _links_path(output: Path | None, run: Path | None, resume: bool, checkpoint: Path | None) -> Path:
    """Where the links go; what does not go together is refused."""
    if run is None:
        if resume or output is None:  # `_check_output` has refused a call that has neither
            raise InputError("--resume continues the run of a folder; say which with --run FOLDER")
        return output
    if output == STANDARD_OUTPUT:
        raise InputError("a run with a folder keeps its links in a file; give -o a file, or leave it out")
    if checkpoint is not None:
        raise InputError("a run with a folder keeps its training there, too; leave --checkpoint out")
    from dualmatch.runs.folder import LINKS

    return run / LINKS if output is None else output


def _pair_file(typed: str | None, paths: tuple[Path, ...]) -> Path | None:
    """A file of pairs: by a bare name that of the FOLDER that holds both graphs, where it has one."""
    if typed is None:
        return None
    in_folder = paths[0] / typed if len(paths) == 1 else Path(typed)
    if os.path.basename(typed) != typed or not in_folder.is_file():
        return Path(typed)
    if os.path.exists(typed) and not os.path.samefile(typed, in_folder):
        console.note(f"{in_folder} is taken; write {os.path.join(os.curdir, typed)} for that of the working directory")
    return in_folder


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


def _print_summary(alignment: Alignment, outputs: Outputs) -> None:
    from dualmatch.methods.summary import Summary

    console.say(Summary.of(alignment).sentence(f" written to {outputs.links}"))
    if outputs.relations is not None:
        console.say(f"relations written to {outputs.relations}")
    page = outputs.links.with_name("report.html")
    console.say(f"next: {console.program()} {shlex.join(['report', str(outputs.links), '-o', str(page)])}")
