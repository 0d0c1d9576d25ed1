"""`dualmatch demo`: simulated graphs, aligned, measured against the planted truth, with the report as a page."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from dualmatch.config import Config
from dualmatch.errors import OutputError
from dualmatch.evaluate import evaluate
from dualmatch.explain.explain import explain_entity
from dualmatch.explain.explanation import Explanation
from dualmatch.files.atomic import write_text
from dualmatch.graph.arrays import Ids
from dualmatch.links.read import read_name_pairs
from dualmatch.memory import peak_mb
from dualmatch.methods.alignment import Alignment
from dualmatch.progress import Progress
from dualmatch.readers.read_options import ReadOptions
from dualmatch.report.findings import gather
from dualmatch.report.page import report_page
from dualmatch.research.benchmark import accuracy_of, seconds_of, unit_seconds
from dualmatch.runs.graph_pair import GraphPair
from dualmatch.runs.input_spec import InputSpec
from dualmatch.runs.options_file import CallOptions
from dualmatch.runs.workflow import AlignRun
from dualmatch.simulate.chronicle import (
    ARCHIVE_FILE,
    REGISTER_FILE,
    ChronicleWorld,
    simulate_chronicle,
    write_chronicle,
)
from dualmatch.simulate.people import TRUE_PAIRS
from dualmatch.version import __version__

DEMO = ChronicleWorld()


@dataclass(frozen=True, eq=False)
class DemoResult:
    """What the demo made, and where it lies."""

    alignment: Alignment
    graphs: GraphPair
    report: dict[str, Any]  # in the form of `dualmatch benchmark`
    files: tuple[Path, Path]  # the two graphs
    links: Path
    page: Path
    metrics: Path

    def some_links(self, count: int) -> list[Explanation]:
        """Links from the surest to the least sure, at equal steps, explained."""
        order = np.argsort(-self.alignment.confidence, kind="stable")
        rows = self.alignment.pairs[order[np.linspace(0, len(order) - 1, count).astype(int)], 0]
        return self._explained(rows)

    def some_open(self, count: int) -> list[Explanation]:
        """Undecided entities whose best candidate is the likeliest, explained."""
        none = self.alignment.unlinked
        at = np.flatnonzero(~none.is_no_match)
        return self._explained(none.row[at[np.argsort(-none.probability[at], kind="stable")[:count]]])

    def _explained(self, rows: Ids) -> list[Explanation]:
        return [explain_entity(self.alignment, self.alignment.source.entities[row]) for row in rows.tolist()]


def run_demo(folder: Path, progress: Progress | None = None) -> DemoResult:
    """Make ``people/``, ``links.tsv``, ``report.html`` and ``metrics.json`` in `folder`, anew where they exist."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder}: cannot be made ({error.strerror}); choose another folder with -o") from None
    people, links, page, metrics = (folder / name for name in ("people", "links.tsv", "report.html", "metrics.json"))
    write_chronicle(simulate_chronicle(DEMO), people, force=True)
    files = people / ARCHIVE_FILE, people / REGISTER_FILE
    options = ReadOptions(names="auto")
    spec = InputSpec(files, (options, options))
    run = AlignRun(config=Config(), spec=spec, call=CallOptions(), links=links, force=True)
    start = time.perf_counter()
    command = ("dualmatch", "align", *map(str, files), "-o", str(links))
    alignment, graphs = run.perform(lambda each, engine: each.read(engine), None, progress, start, command)
    total, peak = time.perf_counter() - start, peak_mb()
    gold = people / TRUE_PAIRS
    report = {
        "method": alignment.method,
        "setting": "unsupervised",
        "seed_pairs": 0,
        "seed": alignment.config.seed,
        "version": __version__,
        "dataset": people.name,
        **accuracy_of(evaluate(alignment, read_name_pairs(gold)), alignment),
        "seconds": seconds_of(alignment.seconds, total),
        "unit_seconds": float(median(unit_seconds(1))),
        "peak_mb": peak,
    }
    write_text(metrics, json.dumps(report, indent=1) + "\n")
    write_text(page, report_page(gather(links, gold)))
    return DemoResult(alignment, graphs, report, files, links, page, metrics)
