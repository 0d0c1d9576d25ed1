"""All public names of dualmatch; `import dualmatch` offers them and loads this module at the first use of one.

Every error that these names raise on purpose is a `DualMatchError`. ``read_grounds`` of 0.1.0 is now
`read_explanation_basis`.
"""

from pathlib import Path

from dualmatch.charts.chart import Chart
from dualmatch.config import Config
from dualmatch.decode.verdicts import Verdict
from dualmatch.errors import ConfigError, DualMatchError, InputError, MissingExtraError, OutputError
from dualmatch.evaluate import Evaluation, evaluate
from dualmatch.explain.explanation import Explanation
from dualmatch.graph.literals import Literals
from dualmatch.graph.model import TemporalGraph
from dualmatch.inspection import inspect_graph, time_overlap
from dualmatch.links.naming import Naming
from dualmatch.links.read import read_links, read_name_pairs
from dualmatch.links.write import write_alignment
from dualmatch.merge import merge
from dualmatch.methods.align import align
from dualmatch.methods.alignment import Alignment
from dualmatch.progress import Progress, show_progress
from dualmatch.readers.benchmark_folder import BenchmarkFolder, read_folder
from dualmatch.readers.read import Reading, read, read_graph
from dualmatch.readers.read_options import ReadOptions, TimePredicates
from dualmatch.runs.companion import explain, read_explanation_basis
from dualmatch.version import __version__

__all__ = [
    "Alignment",
    "BenchmarkFolder",
    "Chart",
    "Config",
    "ConfigError",
    "DualMatchError",
    "Evaluation",
    "Explanation",
    "InputError",
    "Literals",
    "MissingExtraError",
    "Naming",
    "OutputError",
    "Progress",
    "ReadOptions",
    "Reading",
    "TemporalGraph",
    "TimePredicates",
    "Verdict",
    "__version__",
    "align",
    "evaluate",
    "explain",
    "inspect_graph",
    "merge",
    "read",
    "read_explanation_basis",
    "read_folder",
    "read_graph",
    "read_links",
    "read_name_pairs",
    "show_progress",
    "time_overlap",
    "write_alignment",
    "write_report",
]


def write_report(
    alignment: str | Path,
    output: str | Path,
    *,
    gold: str | Path | None = None,
    data: str | Path | None = None,
    force: bool = False,
) -> None:
    """Write the report of an alignment file, or of the folder of a run, as one HTML page.

    Parameters
    ----------
    gold, data:
        A file of true pairs, and the benchmark folder whose ids it uses.
    force:
        Replace the output where it exists.
    """
    from dualmatch.files.atomic import check_outputs, write_text
    from dualmatch.report.findings import gather
    from dualmatch.report.page import report_page
    from dualmatch.runs.folder import links_of

    links = links_of(Path(alignment))
    page, truth = Path(output), None if gold is None else Path(gold)
    check_outputs([page], (links, truth), force)
    write_text(page, report_page(gather(links, truth, None if data is None else Path(data))))
