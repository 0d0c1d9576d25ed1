"""Other systems of the field, written anew from their published descriptions, so that all are measured alike.

The registry holds plain data only: `dualmatch --help` lists the names without loading numpy or torch. Epochs are fixed
here beforehand; no baseline ever sees a tested pair. docs/baselines.md says what was left out of each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal


@dataclass(frozen=True)
class Baseline:
    """What a baseline is, and how it is run; its function is `function` of `module`."""

    title: str  # in tables; a row of the paper's table of this name (or of `quoted`) stands beside it
    module: str
    function: str
    rule: Literal["greedy", "csls", "sinkhorn"]  # what the method itself ranks by
    dimension: int
    published: int = 0  # epochs; 0 where nothing is trained
    affordable: int = 0  # epochs that a run takes unless others are asked for
    has_chance: bool = True
    needs_times: bool = False
    quoted: str | None = None

    @property
    def trains(self) -> bool:
        """Whether it needs the extra [gnn]."""
        return self.published > 0

    def epochs(self, asked: int | None = None, quick: bool = False) -> int:
        """How many epochs a run takes; a quick one a fiftieth of them."""
        if not self.trains:
            return 0
        return asked if asked is not None else max(2, self.affordable // 50) if quick else self.affordable


BASELINES: Final = {
    "lightea": Baseline("LightEA", "propagation", "light_ea", "sinkhorn", 512),
    "lighttea": Baseline("LightTEA", "propagation", "light_tea", "sinkhorn", 512, needs_times=True),
    "paris": Baseline("PARIS", "paris", "paris", "greedy", 0, has_chance=False),
    "gcn-align": Baseline("GCN-Align", "convolutional", "gcn_align", "greedy", 100, 2000, 2000),
    "dual-amn": Baseline("Dual-AMN", "attentive", "dual_amn", "csls", 100, 20, 20),
    "rrea": Baseline("RREA", "attentive", "rrea", "csls", 100, 1200, 1200),
    "mraea": Baseline("MRAEA", "attentive", "mraea", "greedy", 100, 5000, 1200),
    "tea-gnn": Baseline("TEA-GNN", "attentive", "tea_gnn", "csls", 100, 6000, 1200, needs_times=True),
    "stea": Baseline("STEA", "attentive", "stea", "csls", 100, 1200, 400, needs_times=True),
    "mtranse": Baseline("MTransE", "translational", "mtranse", "greedy", 100, 2000, 300),
    "jape": Baseline("JAPE", "translational", "jape", "greedy", 100, 1000, 300),
    "aligne": Baseline("AlignE", "translational", "aligne", "greedy", 100, 500, 500),
    "mugnn": Baseline("MuGNN without rules", "multichannel", "mugnn", "greedy", 128, 500, 500, quoted="MuGNN"),
    "ke-gcn": Baseline("KE-GCN (TransE)", "convolutional", "ke_gcn", "greedy", 200, 20000, 2000, quoted="KE-GCN"),
    "hyperka": Baseline("HyperKA", "hyperbolic", "hyperka", "csls", 75, 800, 400),
    "trea": Baseline(
        "TREA (reconstruction)", "attentive", "trea", "csls", 100, 60, 60, needs_times=True, quoted="TREA"
    ),
}
"""By the name that `--method` takes."""
