"""One run of a baseline: checks, training, and the plan that its own rule ranks by."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass

from dualmatch.channels.relational import check_torch
from dualmatch.decode.similarity import Similarity, hold
from dualmatch.errors import InputError
from dualmatch.graph.arrays import Pairs
from dualmatch.graph.model import TemporalGraph
from dualmatch.memory import default_limit
from dualmatch.methods.alignment import SoftPlan
from dualmatch.methods.validation import why_time_is_no_help
from dualmatch.progress import Progress, Stages
from dualmatch.research.baselines import BASELINES, Baseline
from dualmatch.research.baselines.scores import SparseScores, plan_of
from dualmatch.research.baselines.views import Task


@dataclass(frozen=True)
class BaselineOptions:
    """Which baseline, and what of it is not as in the registry; `quick` takes few epochs."""

    name: str
    seed: int = 0
    epochs: int | None = None
    dimension: int | None = None
    memory_limit: int | None = None
    quick: bool = False

    @property
    def baseline(self) -> Baseline:
        return BASELINES[self.name]

    @property
    def epochs_run(self) -> int:
        return self.baseline.epochs(self.epochs, self.quick)


@dataclass(frozen=True, eq=False)
class BaselineRun:
    """The scores of all entities, the plan of the method's own rule, and what each stage took."""

    plan: SoftPlan
    scores: Similarity | SparseScores
    seconds: Mapping[str, float]


def check_baseline(options: BaselineOptions, n_seeds: int) -> None:
    """Refuse before any work what cannot be run."""
    baseline = options.baseline
    if not n_seeds:
        raise InputError(
            f"method {options.name} learns from seed pairs and cannot run without; give some, with --setting "
            "supervised, or choose a method that needs none (evidence, temporal, dualmatch)"
        )
    if baseline.trains:
        check_torch(options.name)


def run_baseline(
    options: BaselineOptions,
    source: TemporalGraph,
    target: TemporalGraph,
    seeds: Pairs,
    progress: Progress | None = None,
) -> BaselineRun:
    """Train on the seeds and score all pairs of entities. Nothing beside the graphs and the seeds is known to it."""
    check_baseline(options, len(seeds))
    baseline, stages = options.baseline, Stages(progress)
    if baseline.needs_times and (reason := why_time_is_no_help(source, target)):
        raise InputError(f"{reason}; method {options.name} compares times, so choose another")
    limit = options.memory_limit or default_limit()
    with stages("relational"):
        function = getattr(importlib.import_module(f"{__package__}.{baseline.module}"), baseline.function)
        task = Task(
            source,
            target,
            seeds,
            options.dimension or baseline.dimension,
            options.epochs_run,
            options.seed,
            stages.step,
        )
        scores = function(task)
    with stages("decode"):
        if not isinstance(scores, SparseScores):
            scores = hold(scores, limit // 2)
        plan = plan_of(scores, baseline.rule, limit // 2)
    return BaselineRun(plan, scores, stages.seconds)
