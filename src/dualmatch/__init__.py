"""dualmatch: find which entities of two temporal knowledge graphs are the same real-world thing."""

from dualmatch.align import align
from dualmatch.alignment import Alignment
from dualmatch.config import Config
from dualmatch.errors import ConfigError, DualMatchError, InputError, MissingExtraError, OutputError
from dualmatch.evaluate import evaluate
from dualmatch.explain import explain
from dualmatch.explanation import Explanation
from dualmatch.graph.literals import Literals
from dualmatch.graph.model import TemporalGraph
from dualmatch.inspection import inspect_graph
from dualmatch.io.export import write_alignment
from dualmatch.io.folder import BenchmarkFolder, read_folder
from dualmatch.io.naming import Naming
from dualmatch.io.read import read_graph
from dualmatch.io.why import read_grounds
from dualmatch.merge import merge
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
    "read_folder",
    "read_graph",
    "read_grounds",
    "write_alignment",
]
