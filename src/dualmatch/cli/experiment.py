"""`dualmatch experiment`: the paper's tables and figures, reproduced."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from dualmatch.cli import console
from dualmatch.cli.method_options import METHODS
from dualmatch.cli.reader_options import time_format_option
from dualmatch.cli.shared_options import out_option, path_option, talk_options
from dualmatch.errors import InputError
from dualmatch.research.baselines import BASELINES

if TYPE_CHECKING:
    from dualmatch.research.experiments.subject import Subject

EXPERIMENTS: Final = (
    *("overall", "baselines", "ablation", "sensitivity", "decoder", "scalability", "open-world", "case-study"),
    *("example", "datasets"),
)
RESULTS: Final = "results"
ALL_METHODS: Final = (*METHODS, *BASELINES)
ALL_BASELINES: Final = "baselines"
_WITH_BASELINES: Final = ("overall", ALL_BASELINES, "sensitivity")


def _numbers(_context: click.Context, _option: click.Parameter, text: str) -> tuple[int, ...]:
    parts = text.split(",")
    if not all(part.strip().isdigit() for part in parts):
        raise click.BadParameter(f"{text!r}: write whole numbers separated by commas, such as 0,1,2")
    return tuple(dict.fromkeys(int(part) for part in parts))


def _methods(_context: click.Context, option: click.Parameter, text: str) -> tuple[str, ...]:
    """Methods and baselines in the order of their registries."""
    asked = [part.strip().lower() for part in text.split(",") if part.strip()]
    wrong = [name for name in asked if name not in (*ALL_METHODS, ALL_BASELINES)] or ([] if asked else [text])
    if wrong:
        raise click.BadParameter(
            f"{wrong[0]!r} is not a method; choose among {', '.join(METHODS)}, the baselines "
            f"{', '.join(BASELINES)}, or {ALL_BASELINES} for all of these"
        )
    return tuple(
        method for method in ALL_METHODS if method in asked or (ALL_BASELINES in asked and method in BASELINES)
    )


def _epochs(_context: click.Context, _option: click.Parameter, texts: tuple[str, ...]) -> dict[str, int]:
    asked = {}
    for text in texts:
        name, _, number = text.partition("=")
        if name not in BASELINES or not BASELINES[name].trains or not number.isdigit() or not int(number):
            trained = ", ".join(each for each in BASELINES if BASELINES[each].trains)
            raise click.BadParameter(f"{text!r}: write NAME=N, a baseline that trains ({trained}) and a number")
        asked[name] = int(number)
    return asked


@click.command("experiment")
@click.argument("name", type=click.Choice([*EXPERIMENTS, RESULTS]), metavar="NAME")
@click.option(
    "--data",
    "folders",
    multiple=True,
    help="A benchmark folder, or the name of a fetched dataset; may be repeated.  [default: all fetched datasets]",
)
@time_format_option
@out_option("Folder for tables, figures and finished cells; a rerun with the same one resumes.", "experiments-out")
@click.option(
    "--seeds",
    default="0",
    show_default=True,
    callback=_numbers,
    help="Training seeds, separated by commas; tables show mean ± standard deviation.",
)
@click.option(
    "--methods",
    default=",".join(METHODS),
    show_default=True,
    callback=_methods,
    help="Methods to run, separated by commas; overall, baselines and sensitivity also take baselines: "
    f"{', '.join(BASELINES)}, or {ALL_BASELINES} for all of them.",
)
@click.option(
    "--epochs",
    multiple=True,
    metavar="NAME=N",
    callback=_epochs,
    help="How many epochs a baseline is trained, such as rrea=400; may be repeated.  [default: as docs/baselines.md]",
)
@click.option(
    "--redo",
    multiple=True,
    type=click.Choice(ALL_METHODS),
    metavar="METHOD",
    help="Compute the cells of this method again, though they are finished; may be repeated.",
)
@click.option(
    "--finished", is_flag=True, help="Compute nothing: make the tables from finished cells, the rest is not run."
)
@click.option(
    "--quick", is_flag=True, help="Small vectors and few epochs, for a quick check; the figures mean nothing."
)
@click.option("--figures/--no-figures", default=True, help="Draw the figures; they need matplotlib.  [default: yes]")
@path_option(
    "--page",
    "Where NAME = results writes its page, figures beside it.  [default: RESULTS.md in the output folder]",
)
@talk_options
def experiment_command(
    name: str,
    folders: tuple[str, ...],
    time_format: str | None,
    output: Path,
    seeds: tuple[int, ...],
    methods: tuple[str, ...],
    epochs: dict[str, int],
    redo: tuple[str, ...],
    finished: bool,
    quick: bool,
    figures: bool,
    page: Path | None,
    quiet: bool,
) -> None:
    """Reproduce a table or figure of the paper, with its figures.

    \b
    NAME   overall, ablation, sensitivity, decoder, scalability, open-world,
           case-study, example or datasets; baselines runs other systems
           beside ours; results puts all that were run into one page.

    Writes NAME.md, a CSV for each table, and the figures. Every finished cell (a dataset, a
    method, a setting, a seed) is kept in cells/ of the output folder: an interrupted experiment is resumed where it
    stopped, and experiments share their trainings.

    \b
    Examples:
      dualmatch experiment example
      dualmatch experiment overall --data dicews --methods temporal,evidence -o out
      dualmatch experiment baselines --data dicews --methods evidence,lightea -o out
      dualmatch experiment decoder --data yago --data dicews -o out
      dualmatch experiment overall --data dicews --seeds 0,1 --redo evidence -o out
      dualmatch experiment results -o out --page RESULTS.md
    """
    if name == RESULTS:
        from dualmatch.research.experiments.catalogue import collect_results

        written = collect_results(output, page or output / "RESULTS.md")
        if not quiet:
            console.say(f"{written[0]}; {len(written) - 1} files beside it")
        return
    if page is not None:
        raise InputError("--page goes with NAME = results")
    from dualmatch.channels.relational import check_torch
    from dualmatch.config import TRAINED, Config
    from dualmatch.methods.resources import prepare_process
    from dualmatch.research.experiments import catalogue
    from dualmatch.research.experiments.cells import Cells
    from dualmatch.research.experiments.plots import check_matplotlib
    from dualmatch.research.experiments.results import check_folder, how_made
    from dualmatch.research.experiments.workbench import QUICK, Study

    own, baselines = (
        tuple(each for each in METHODS if each in methods),
        tuple(each for each in BASELINES if each in methods),
    )
    if baselines and name not in _WITH_BASELINES:
        raise InputError(
            f"experiment {name} takes no baselines ({', '.join(baselines)}); overall, baselines and sensitivity do"
        )
    if name == ALL_BASELINES and not baselines:
        baselines = tuple(BASELINES)
    if figures and name in catalogue.DRAW_FIGURES:
        check_matplotlib()
    subjects = _subjects(folders, time_format) if name != "example" else ()
    check_folder(output)
    trained = [each for each in baselines if BASELINES[each].trains]
    if trained and not finished:
        check_torch(trained[0])
    if (trained or TRAINED & set(own)) and not finished:
        prepare_process(Config(method="dualmatch"))
    with console.progress_shown(quiet) as progress:
        study = Study(
            subjects,
            Cells(output / "cells", frozenset(redo), finished, console.note),
            own,
            seeds,
            QUICK if quick else {},
            progress,
            baselines,
            epochs,
        )
        report = catalogue.EXPERIMENTS[name](study)
    report = report if figures else replace(report, figures=(), charts=())
    folders_used = [subject.path for subject in subjects]
    made = how_made(name, folders_used, _arguments(seeds, methods, epochs, quick, time_format), study.cells)
    paths = report.write(output, made)
    if not quiet:
        console.say(report.markdown(made))
        console.note(f"written: {', '.join(str(path) for path in paths)}")


def _subjects(given: tuple[str, ...], time_format: str | None) -> tuple[Subject, ...]:
    """The folders given, each once; without any, the datasets that were fetched."""
    from dualmatch.research.datasets import fetched_folders
    from dualmatch.research.experiments.subject import open_subjects

    paths = []
    for text in given:
        path = Path(text) if Path(text).is_dir() else fetched_folders().get(text.lower())
        if path is None:
            raise InputError(f"{text}: no such folder, and no fetched dataset; see dualmatch datasets list")
        paths.append(path)
    if not given:
        paths = list(fetched_folders().values())
        if not paths:
            console.note("no dataset is given with --data, and none was fetched: everything that needs one is not run")
    return open_subjects(paths, time_format)


def _arguments(
    seeds: tuple[int, ...], methods: tuple[str, ...], epochs: dict[str, int], quick: bool, time_format: str | None
) -> list[str]:
    """Options that the figures depend on, where they are not the defaults."""
    arguments = ["--seeds", ",".join(map(str, seeds))] if seeds != (0,) else []
    if set(BASELINES) <= set(methods):
        methods = (*(each for each in methods if each not in BASELINES), ALL_BASELINES)
    arguments += ["--methods", ",".join(methods)] if methods != METHODS else []
    arguments += ["--time-format", time_format] if time_format else []
    arguments += [part for name, number in epochs.items() for part in ("--epochs", f"{name}={number}")]
    return [shlex.quote(part) for part in (*arguments, *(["--quick"] if quick else []))]
