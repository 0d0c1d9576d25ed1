"""What a computation costs: seconds, CPU seconds of all its threads, memory, and the machine's unit beside them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from dualmatch.memory import peak_since
from dualmatch.methods.resources import quick_unit_seconds
from dualmatch.research.experiments.cells import Result


@dataclass
class Cost:
    """Filled in when the computation has ended."""

    unit: float
    seconds: float = 0.0
    cpu: float = 0.0
    peak_mb: float | None = None

    @contextmanager
    def counted(self, sign: int = 1) -> Iterator[None]:
        """Count what is done within; with a sign of −1, leave it out of what is counted around it."""
        seconds, cpu = time.perf_counter(), time.process_time()
        yield
        self.seconds += sign * (time.perf_counter() - seconds)
        self.cpu += sign * (time.process_time() - cpu)

    def figures(self) -> Result:
        """As cells keep it, but for the seconds: they have them stage by stage."""
        return {"cpu_seconds": self.cpu, "unit_seconds": self.unit, "peak_mb": self.peak_mb}


@contextmanager
def measured() -> Iterator[Cost]:
    """Measure what is done within."""
    cost = Cost(quick_unit_seconds())
    with peak_since() as peak, cost.counted():
        yield cost
    cost.peak_mb = peak()
