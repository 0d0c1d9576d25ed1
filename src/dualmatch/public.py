"""All public names of dualmatch; `import dualmatch` offers them and loads this module at the first use of one."""

from dualmatch.config import Config
from dualmatch.errors import ConfigError, DualMatchError, InputError, MissingExtraError, OutputError
from dualmatch.evaluate import evaluate
from dualmatch.explain.explanation import Explanation
from dualmatch.graph.literals import Literals
from dualmatch.graph.model import TemporalGraph
from dualmatch.inspection import inspect_graph
from dualmatch.links.naming import Naming
from dualmatch.links.write import write_alignment
from dualmatch.merge import merge
from dualmatch.methods.align import align
from dualmatch.methods.alignment import Alignment
from dualmatch.readers.benchmark_folder import BenchmarkFolder, read_folder
from dualmatch.readers.read import read_graph
from dualmatch.runs.companion import explain, read_explanation_basis
from dualmatch.version import __version__

__all__ = [
    "Alignment",
    "BenchmarkFolder",
    "Config",
    "ConfigError",
    "DualMatchError",
    "Explanation",
    "InputError",
    "Literals",
    "MissingExtraError",
    "Naming",
    "OutputError",
    "TemporalGraph",
    "__version__",
    "align",
    "evaluate",
    "explain",
    "inspect_graph",
    "merge",
    "read_explanation_basis",
    "read_folder",
    "read_graph",
    "write_alignment",
]
