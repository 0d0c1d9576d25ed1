"""`dualmatch benchmark`: accuracy and cost of a method on a benchmark folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dualmatch.cli import console
from dualmatch.cli.method_options import baseline_options, config_of, method_options
from dualmatch.cli.reader_options import time_format_option
from dualmatch.cli.shared_options import folder_argument, force_option, json_option, path_option, talk_options
from dualmatch.errors import InputError
from dualmatch.research.baselines import BASELINES

if TYPE_CHECKING:
    from dualmatch.research.benchmark import Setting


@click.command("benchmark")
@folder_argument
@click.option(
    "--setting",
    type=click.Choice(["unsupervised", "supervised"]),
    default="unsupervised",
    show_default=True,
    help="Without seeds, testing all gold pairs; or with the first rows of sup_pairs as seeds, testing the rest.",
)
@click.option("--seed-pairs", type=int, help="How many rows of sup_pairs are seeds (supervised only).  [default: all]")
@click.option(
    "--group", "groups", multiple=True, metavar="NAME=FILE", help="Also rank the pairs of FILE alone; may be repeated."
)
@path_option(
    "--labels",
    "Labels of the source's entities, and, given again, of the target's; names are not compared without them.",
    multiple=True,
    metavar="FILE",
)
@time_format_option
@method_options(baselines=True)
@json_option
@force_option
@talk_options
def benchmark_command(
    folder: Path,
    setting: Setting,
    seed_pairs: int | None,
    groups: tuple[str, ...],
    labels: tuple[Path, ...],
    time_format: str | None,
    json_path: str | None,
    force: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Measure a method on a benchmark FOLDER, whose pairs are known.

    The folder has sup_pairs and ref_pairs. Prints how often the right partner comes first, precision and recall of the
    links, and what the run cost.

    \b
    Examples:
      dualmatch benchmark data/yago-wiki20k --group high=time_sensitive_link2
      dualmatch benchmark data/dicews --setting supervised --seed-pairs 200 --json -
      dualmatch benchmark data/dicews --setting supervised --method lightea
      dualmatch benchmark data/ja_en --labels labels_1.tsv --labels labels_2.tsv
    """
    from dualmatch.config import Config
    from dualmatch.methods.resources import prepare_process
    from dualmatch.research.benchmark import benchmark, benchmark_baseline

    baseline = baseline_options(options) if options["method"] in BASELINES else None
    config = config_of(options) if baseline is None else None
    if config is not None or (baseline is not None and baseline.baseline.trains):
        prepare_process(config or Config(method="dualmatch"))
    json_output = console.JsonOutput.checked(json_path, force)
    group_files, label_files = _group_files(groups), _label_files(labels)
    if baseline is not None and label_files:
        raise InputError(f"--labels is not read by method {baseline.name}; leave it out, or choose method evidence")
    with console.progress_shown(quiet) as progress:
        if baseline is not None:
            report = benchmark_baseline(folder, baseline, setting, seed_pairs, group_files, progress, time_format)
        elif config is not None:
            run = benchmark(folder, config, setting, seed_pairs, group_files, label_files, progress, time_format)
            report = run.report
    json_output.write(report)
    if not quiet and not json_output.to_stdout:
        console.out.print(console.ranking_table(report["protocols"]))
        if config is not None:
            links, calibration = report["abstention"], report["calibration"]
            console.out.print(console.links_table(links, calibration["ece"], calibration.get("all")))
            console.out.print(console.verdicts_table(report["verdicts"]))
        console.say(console.cost_line(report))


def _label_files(labels: tuple[Path, ...]) -> tuple[Path, Path] | None:
    if not labels:
        return None
    if len(labels) != 2:
        raise click.BadParameter("give it twice: the source's file, then the target's", param_hint="--labels")
    return labels[0], labels[1]


def _group_files(groups: tuple[str, ...]) -> dict[str, Path]:
    files: dict[str, Path] = {}
    for text in groups:
        name, equals, path = text.partition("=")
        if not (name and equals and path):
            raise click.BadParameter(f"{text!r}: write NAME=FILE", param_hint="--group")
        if name == "all":
            raise click.BadParameter("'all' is taken: it names all tested pairs", param_hint="--group")
        if name in files:
            raise click.BadParameter(f"{name!r} is given twice; give each group its own name", param_hint="--group")
        files[name] = Path(path)
    return files
