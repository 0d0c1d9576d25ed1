"""dualmatch: find which entities of two temporal knowledge graphs are the same real-world thing."""

from dualmatch.align import align
from dualmatch.alignment import Alignment
from dualmatch.config import Config
from dualmatch.errors import ConfigError, DualMatchError, InputError, MissingExtraError, OutputError
from dualmatch.evaluate import evaluate
from dualmatch.explain import explain
from dualmatch.explanation import Explanation
from dualmatch.graph.model import TemporalGraph
from dualmatch.io.folder import BenchmarkFolder, read_folder
from dualmatch.io.links import write_alignment
from dualmatch.io.why import read_grounds
from dualmatch.version import __version__

__all__ = [
    "Alignment",
    "BenchmarkFolder",
    "Config",
    "ConfigError",
    "DualMatchError",
    "Explanation",
    "InputError",
    "MissingExtraError",
    "OutputError",
    "TemporalGraph",
    "__version__",
    "align",
    "evaluate",
    "explain",
    "read_folder",
    "read_grounds",
    "write_alignment",
]
