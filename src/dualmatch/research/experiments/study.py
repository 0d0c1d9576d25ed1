"""What an experiment is given: the datasets, the methods and seeds asked for, and where finished cells lie."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from dualmatch.config import Method
from dualmatch.progress import Progress
from dualmatch.research.experiments.cells import Cells
from dualmatch.research.experiments.subject import Subject
from dualmatch.research.experiments.workbench import Workbench

METHODS: Final[tuple[Method, ...]] = ("temporal", "dualmatch", "evidence", "fused")
QUICK: Final = {"dimension": 16, "epochs": 4}
"""Options of a quick run: a look at whether all is well, no figures to quote."""


@dataclass(frozen=True, eq=False)
class Study:
    """The same for all experiments."""

    subjects: tuple[Subject, ...]
    cells: Cells
    methods: tuple[Method, ...] = METHODS
    seeds: tuple[int, ...] = (0,)
    options: Mapping[str, Any] = field(default_factory=dict)
    progress: Progress | None = None

    @property
    def quick(self) -> bool:
        return bool(self.options)

    def seeds_of(self, method: Method) -> tuple[int, ...]:
        """The training seeds to run a method with: none for one that was not asked for."""
        return self.seeds if method in self.methods else ()

    def benches(self) -> Iterator[Workbench]:
        """A workbench for each dataset, one at a time: each holds large matrices."""
        for subject in self.subjects:
            yield Workbench(subject, self.cells, self.options, self.progress)

    def absent(self, names: tuple[str, ...]) -> list[str]:
        """Those of the paper's datasets that nothing given stands for."""
        return [name for name in names if name not in {subject.paper_name for subject in self.subjects}]
