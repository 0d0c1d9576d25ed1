"""What an experiment works with: the datasets, methods and seeds asked for, and the paper's method in shared pieces.

Each step is the one that `align` takes; kept apart here, one training serves every experiment that needs it. Nothing is
computed that a finished cell holds. The time channel is learning-free and quick, so it is held in memory only.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any, Final

import numpy as np

from dualmatch.config import TRAINED, Config, Method
from dualmatch.decode.forbidden import Forbidden
from dualmatch.decode.similarity import FactorSimilarity, Similarity, hold
from dualmatch.decode.sinkhorn import Plan
from dualmatch.evaluate import evaluate, pair_quality, paper_ranking, ranking
from dualmatch.graph.arrays import Pairs
from dualmatch.memory import peak_since
from dualmatch.methods.align import align, decode_channels, time_plan, train
from dualmatch.methods.alignment import Alignment, SoftPlan
from dualmatch.methods.context import MethodContext
from dualmatch.methods.resources import quick_unit_seconds
from dualmatch.methods.run_store import NullStore
from dualmatch.progress import Progress, Stages
from dualmatch.research.baselines import BASELINES
from dualmatch.research.baselines.run import BaselineOptions, run_baseline
from dualmatch.research.baselines.scores import SparseScores, plan_of
from dualmatch.research.experiments.cells import Arrays, Cells, Key, Result, computed
from dualmatch.research.experiments.paper import Setting
from dualmatch.research.experiments.subject import Subject

METHODS: Final[tuple[Method, ...]] = ("temporal", "dualmatch", "evidence", "fused")
QUICK: Final = {"dimension": 16, "epochs": 4}  # options of a look at whether all is well, no figures to quote


@dataclass(frozen=True, eq=False)
class Study:
    """What all experiments are given."""

    subjects: tuple[Subject, ...]
    cells: Cells
    methods: tuple[Method, ...] = METHODS
    seeds: tuple[int, ...] = (0,)
    options: Mapping[str, Any] = field(default_factory=dict)
    progress: Progress | None = None
    baselines: tuple[str, ...] = ()
    epochs: Mapping[str, int] = field(default_factory=dict)  # of baselines, where not those of the registry

    def seeds_of(self, method: Method) -> tuple[int, ...]:
        """The training seeds to run a method with: one where no randomness, none if it was not asked for."""
        seeds = self.seeds if method in TRAINED else self.seeds[:1]
        return seeds if method in self.methods else ()

    def seeds_of_baseline(self, name: str) -> tuple[int, ...]:
        """The same of a baseline."""
        return self.seeds if BASELINES[name].has_chance else self.seeds[:1]

    def benches(self) -> Iterator[Workbench]:
        """A workbench for each dataset, one at a time: each holds large matrices."""
        for subject in self.subjects:
            yield Workbench(subject, self.cells, self.options, self.progress, self.epochs)

    def absent(self, *names: str) -> list[str]:
        """Those of the paper's datasets that none of the subjects stands for."""
        return [name for name in names if name not in {subject.paper_name for subject in self.subjects}]


@dataclass(eq=False)
class Workbench:
    """Cells of one dataset, computed with `options` where they are not the defaults, such as those of a quick run."""

    subject: Subject
    cells: Cells
    options: Mapping[str, Any] = field(default_factory=dict)
    progress: Progress | None = None
    epochs: Mapping[str, int] = field(default_factory=dict)
    _temporal: tuple[int, Similarity, MeasuredCost] | None = None

    def config(self, method: Method = "dualmatch", **options: Any) -> Config:
        return Config.checked(method=method, **{**self.options, **options})

    def key(self, cell: str, method: str, setting: Setting | None, seed: int | None = None, **options: Any) -> Key:
        """What a cell is of; a method without chance has no seed."""
        return {
            "cell": cell,
            "dataset": self.subject.name,
            "inputs": self.subject.inputs,
            "method": method,
            "setting": setting,
            "seed": seed,
            "options": {**self.options, **options},
        }

    def align(self, method: Method, seeds: Pairs, seed: int = 0) -> Alignment:
        config, known = self.config(method, seed=seed), seeds if len(seeds) else None
        return align(self.subject.source, self.subject.target, known, config=config, progress=self.progress)

    def run(self, method: Method, setting: Setting, seed: int = 0) -> Result | None:
        """A run of a method: rankings by the protocols, links, pseudo-seeds, seconds."""
        if not self.subject.allows(setting):
            return None
        if method == "dualmatch":
            decoded = self.decoded(setting, seed)
            return None if decoded is None else {"protocols": decoded["alphas"][decoded["chosen"]], **decoded}
        key = self.key("run", method, setting, seed if method in TRAINED else None)
        if method == "temporal":
            return self.cells.result(key, lambda: self._by_time(setting))
        return self.cells.result(key, lambda: self._aligned(method, setting, seed))

    def _aligned(self, method: Method, setting: Setting, seed: int) -> Result:
        with measured() as cost:
            alignment = self.align(method, self.subject.seeds(setting), seed)
        evaluation = evaluate(alignment, self.subject.gold, self.subject.groups(setting))
        report = asdict(evaluation)
        return {
            "protocols": {name: report[name] for name in ("paper", "open", "open_reverse")},
            "abstention": report["abstention"],
            "ece": evaluation.calibration.ece,
            "pseudo_seeds": report["pseudo_seeds"],
            "weights": None if alignment.weights is None else dict(alignment.weights),
            "seconds": dict(alignment.seconds),
            **cost.figures(),
        }

    def _by_time(self, setting: Setting) -> Result:
        """The time channel learns nothing from seeds: they only leave the test, so one S^t serves all settings."""
        _, temporal = self.temporal()
        with measured() as cost:
            plan = self.time_plan()
        seconds = {"temporal": temporal.seconds, "decode": cost.seconds}
        return {
            "protocols": rankings_of(plan, self.subject.sets(setting)),
            "pseudo_seeds": self._pseudo_seed_quality(),
            "seconds": seconds,
            **cost.figures(),
            "cpu_seconds": temporal.cpu + cost.cpu,
        }

    def baseline(self, name: str, setting: Setting, seed: int = 0) -> Result | None:
        """A run of a baseline: rankings by its own rule, and of the same scores through Sinkhorn; its cost."""
        if setting == "unsupervised" or not self.subject.allows(setting):
            return None
        has_chance = BASELINES[name].has_chance
        dimension = self.options.get("dimension")
        options = BaselineOptions(
            name, seed if has_chance else 0, self.epochs.get(name), dimension, quick=bool(self.options)
        )
        key = self.key("baseline", name, setting, seed if has_chance else None)
        key = {**key, "options": {**self.options, "epochs": options.epochs_run}}
        return self.cells.result(key, lambda: self._baseline(options, setting))

    def _baseline(self, options: BaselineOptions, setting: Setting) -> Result:
        subject = self.subject
        source, target, seeds = subject.source, subject.target, subject.seeds(setting)
        with measured() as cost:
            run = run_baseline(options, source, target, seeds, self.progress)
        sets = subject.sets(setting)
        limit, sparse = self.config().memory_limit // 2, isinstance(run.scores, SparseScores)
        own = rankings_of(run.plan, sets)
        by_sinkhorn = None if sparse else own
        if not sparse and options.baseline.rule != "sinkhorn":
            by_sinkhorn = rankings_of(plan_of(run.scores, "sinkhorn", limit), sets)
        return {
            "protocols": own,
            "by_sinkhorn": by_sinkhorn,
            "seconds": dict(run.seconds),
            **cost.figures(),
        }

    def context(self, **options: Any) -> MethodContext:
        """What each step of `align` needs: no seeds, nothing forbidden, nothing kept."""
        subject, nothing = self.subject, self.subject.gold[:0]
        config, stages = self.config(**options), Stages(self.progress)
        return MethodContext(
            subject.source, subject.target, nothing, config, stages, NullStore(), None, Forbidden(nothing)
        )

    def temporal(self, hops: int = 2) -> tuple[Similarity, MeasuredCost]:
        """S^t, held, and what it cost."""
        if self._temporal is None or self._temporal[0] != hops:
            self._temporal = None  # let the memory go first
            run = self.context(hops=hops)
            with measured() as cost, run.stages("temporal"):
                held = hold(run.temporal(), run.share)
            self._temporal = hops, held, cost
        return self._temporal[1:]

    def time_plan(self) -> Plan:
        """Sinkhorn of S^t: the time channel alone."""
        return time_plan(self.context(), self.temporal()[0])

    def pseudo_seeds(self) -> Arrays | None:
        """Pairs that choose each other by time alone, and the seconds that finding them took."""

        def compute() -> Arrays:
            self.temporal()
            with measured() as cost:
                pairs = self.context().pseudo_seeds(self.time_plan()).pairs
            return {"pairs": pairs, "seconds": np.array(cost.seconds), "cpu_seconds": np.array(cost.cpu)}

        return self.cells.arrays(self.key("pseudo-seeds", "temporal", None), compute)

    def _pseudo_seed_quality(self) -> Result:
        return asdict(pair_quality(computed(self.pseudo_seeds())["pairs"], self.subject.gold))

    def trained(self, setting: Setting, seed: int, **options: Any) -> Arrays | None:
        """Vectors of all entities after training: h_source, h_target, the pairs learnt from, and the seconds."""

        def compute() -> Arrays:
            run, unsupervised = self.context(seed=seed, **options), setting == "unsupervised"
            known = computed(self.pseudo_seeds())["pairs"] if unsupervised else self.subject.seeds(setting)
            with run.stages("relational"):
                return trained_vectors(known, lambda: train(run, known, pseudo=unsupervised))

        return self.cells.arrays(self.key("trained", "dualmatch", setting, seed, **options), compute)

    def relational(self, trained: Arrays) -> Similarity:
        """S^r of trained vectors, held."""
        return hold(FactorSimilarity(trained["h_source"], trained["h_target"]), self.context().share)

    def decoded(self, setting: Setting, seed: int, hops: int = 2, **options: Any) -> Result | None:
        """Every α on one training: rankings by both protocols, D with its terms, and the α of smallest D."""
        if not self.subject.allows(setting):
            return None

        def compute() -> Result:
            trained = computed(self.trained(setting, seed, **options))
            result = self.decode_every(trained, self.subject.sets(setting), hops)
            if setting == "unsupervised":
                result["pseudo_seeds"] = self._pseudo_seed_quality()
                found = computed(self.pseudo_seeds())
                result["seconds"]["temporal"] += float(found["seconds"])
                result["cpu_seconds"] += float(found["cpu_seconds"])
            return result

        more = {} if hops == 2 else {"hops": hops}
        return self.cells.result(self.key("decoded", "dualmatch", setting, seed, **options, **more), compute)

    def decode_every(self, trained: Arrays, sets: Mapping[str, Pairs], hops: int = 2) -> Result:
        """Every α on one training, and the seconds of each step; those of ranking the pairs are left out."""
        temporal, of_time = self.temporal(hops)
        relational = self.relational(trained)
        alphas: dict[str, Result] = {}

        def watch(alpha: float, plan: Plan) -> None:
            with cost.counted(sign=-1):
                alphas[str(alpha)] = rankings_of(plan, sets)

        with measured() as cost:
            decoded = decode_channels(self.context(hops=hops), temporal, relational, trained["known"], watch)
        for alpha, distance in decoded.distances.items():
            alphas[str(alpha)]["distance"] = {
                "total": distance.total,
                "relational": distance.relational_weight * distance.relational,
                "temporal": distance.temporal_weight * distance.temporal,
            }
        return {
            "alphas": alphas,
            "chosen": str(decoded.alpha),
            "pseudo_seeds": None,
            "seconds": {
                "temporal": of_time.seconds,
                "relational": float(trained["seconds"]),
                "decode": cost.seconds,
            },
            **cost.figures(),
            "cpu_seconds": of_time.cpu + float(trained["cpu_seconds"]) + cost.cpu,
            "unit_seconds_training": float(trained["unit_seconds"]),
        }

    def naive(self, setting: Setting, seed: int) -> Result | None:
        """The Naive Strategy in place of the GM-Decoder, on the same training."""
        if not self.subject.allows(setting):
            return None

        def compute() -> Result:
            trained = computed(self.trained(setting, seed))
            run, temporal = self.context(decoder="naive"), self.temporal()[0]
            plan = decode_channels(run, temporal, self.relational(trained), trained["known"]).plan
            return {"protocols": rankings_of(plan, self.subject.sets(setting))}

        return self.cells.result(self.key("naive", "dualmatch", setting, seed), compute)


def trained_vectors(known: Pairs, training: Callable[[], FactorSimilarity]) -> Arrays:
    """Train on known pairs and measure it."""
    with measured() as cost:
        similarity = training()
    return {
        "h_source": similarity.dense_source,
        "h_target": similarity.dense_target,
        "known": known,
        "seconds": np.array(cost.seconds),
        "cpu_seconds": np.array(cost.cpu),
        "unit_seconds": np.array(cost.unit),
    }


def rankings_of(plan: SoftPlan, sets: Mapping[str, Pairs]) -> Result:
    """H@1, H@10 and MRR of named sets of pairs, all of them in ``sets["all"]``, by the protocols `paper` and `open`."""
    everyone = sets["all"]
    rank_of_source = np.zeros(int(everyone[:, 0].max(initial=-1)) + 1)
    rank_of_source[everyone[:, 0]] = plan.ranks(everyone)[0]
    return {
        "paper": {name: asdict(paper_ranking(plan, pairs)) for name, pairs in sets.items()},
        "open": {name: asdict(ranking(rank_of_source[pairs[:, 0]])) for name, pairs in sets.items()},
    }


@dataclass
class MeasuredCost:
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
def measured() -> Iterator[MeasuredCost]:
    """Measure what is done within."""
    cost = MeasuredCost(quick_unit_seconds())
    with peak_since() as peak, cost.counted():
        yield cost
    cost.peak_mb = peak()
