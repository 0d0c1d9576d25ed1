"""The demo: simulate a pair of graphs, align them, measure, and write it all into one folder."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dualmatch.config import Config
from dualmatch.errors import OutputError
from dualmatch.files.atomic import write_text
from dualmatch.links.write import write_alignment
from dualmatch.methods.alignment import Alignment
from dualmatch.progress import Progress
from dualmatch.research.benchmark import benchmark
from dualmatch.simulate import DEMO, simulate, write_folder


@dataclass(frozen=True, eq=False)
class DemoResult:
    """What the demo made, and where it lies."""

    alignment: Alignment
    report: dict[str, Any]
    world: Path
    links: Path
    metrics: Path
    summary: Path


def run_demo(folder: Path, progress: Progress | None = None) -> DemoResult:
    """Make ``world/``, ``links.tsv``, ``metrics.json`` and ``report.md`` in `folder`, anew where they exist."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder}: cannot be made ({error.strerror}); choose another folder with -o") from None
    world = write_folder(simulate(DEMO), folder / "world", force=True)
    run = benchmark(world, Config(), progress=progress)
    links, metrics, summary = folder / "links.tsv", folder / "metrics.json", folder / "report.md"
    write_alignment(run.alignment, links)
    write_text(metrics, json.dumps(run.report, indent=1) + "\n")
    write_text(summary, _summary(run.alignment, run.report))
    return DemoResult(run.alignment, run.report, folder / "world", links, metrics, summary)


def _summary(alignment: Alignment, report: dict[str, Any]) -> str:
    """A page for someone who was not there: what went in, what came out, how right it is, what it cost."""
    found, seconds, unit = report["abstention"], report["seconds"]["total"], report["unit_seconds"]
    ranking, verdicts = report["protocols"]["open"]["all"], report["verdicts"]
    lines = [
        "# Demo: two views of one simulated history",
        "",
        f"Made by dualmatch {alignment.version}, method `{alignment.method}`, no seed pairs.",
        "",
        "## What went in",
        f"- source: {alignment.source!r}",
        f"- target: {alignment.target!r}",
        "",
        "## What came out",
        f"- {found['emitted']:,} links (`links.tsv`: source, target, confidence and more); "
        f"{verdicts['undecided']:,} source entities are undecided, {verdicts['no_match']:,} have no match",
        f"- {found['precision']:.1%} of the links are right; they are {found['recall']:.1%} of the true pairs "
        f"(F1 {found['f1']:.3f})",
        f"- ranked against every target entity, the right one comes first for {ranking['h1']:.1f} % of the pairs",
        "",
        "## What it cost",
        f"- {seconds:.2f} s ({seconds / unit:.1f} machine units of {unit:.2f} s); peak {report['peak_mb']:,.0f} MB",
        "",
    ]
    return "\n".join(lines)
