"""The paper's method in pieces that experiments share: one training serves all that is asked of it.

Nothing is computed here that a finished cell holds already. The time channel is learning-free and quick, so it is held
in memory only; trained vectors are cells of their own, and so is what each α gives on them.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from dualmatch.channels.relational import relational_similarity
from dualmatch.channels.temporal import temporal_similarity
from dualmatch.config import TRAINED, Config, Method
from dualmatch.decode.assignment import mutual_best
from dualmatch.decode.fusion import decode, decode_naively
from dualmatch.decode.graph_matching import MatchingProblem, matching_problem
from dualmatch.decode.similarity import FactorSimilarity, Similarity, hold
from dualmatch.decode.sinkhorn import Plan, kernel_of, sinkhorn
from dualmatch.evaluate import evaluate, pair_quality, paper_ranking, ranking
from dualmatch.graph.arrays import Pairs
from dualmatch.methods.align import align
from dualmatch.methods.alignment import SoftPlan
from dualmatch.methods.resources import quick_unit_seconds
from dualmatch.progress import Progress
from dualmatch.research.experiments.cells import Arrays, Cells, Key, Result, computed
from dualmatch.research.experiments.paper import Setting
from dualmatch.research.experiments.subject import Subject


@dataclass(eq=False)
class Workbench:
    """Cells of one dataset.

    Attributes
    ----------
    options:
        Options of every run that are not the defaults, such as those of a quick run.
    """

    subject: Subject
    cells: Cells
    options: Mapping[str, Any] = field(default_factory=dict)
    progress: Progress | None = None
    _temporal: tuple[int, Similarity, float] | None = None

    def config(self, method: Method = "dualmatch", **options: Any) -> Config:
        return Config.checked(method=method, **{**self.options, **options})

    @property
    def share(self) -> int:
        """Bytes that one matrix may take, as in `align`."""
        return self.config().memory_limit // 4

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

    # Methods as `align` has them

    def run(self, method: Method, setting: Setting, seed: int = 0) -> Result | None:
        """A whole run of a method: rankings under all protocols, links, pseudo-seeds, seconds."""
        if not self.subject.allows(setting):
            return None
        if method == "dualmatch":
            return self._as_run(self.decoded(setting, seed))
        chance = seed if method in TRAINED else None
        key = self.key("run", method, setting, chance)
        return self.cells.result(key, lambda: self._run(method, setting, seed))

    def _run(self, method: Method, setting: Setting, seed: int) -> Result:
        if method == "temporal":
            return self._by_time(setting)
        subject, unit = self.subject, quick_unit_seconds()
        seeds = subject.seeds(setting)
        alignment = align(
            subject.source,
            subject.target,
            seeds if len(seeds) else None,
            config=self.config(method, seed=seed),
            progress=self.progress,
        )
        evaluation = evaluate(alignment, subject.gold, subject.groups(setting))
        report = asdict(evaluation)
        return {
            "protocols": {name: report[name] for name in ("paper", "open", "open_reverse")},
            "abstention": report["abstention"],
            "ece": evaluation.calibration.ece,
            "pseudo_seeds": report["pseudo_seeds"],
            "weights": None if alignment.weights is None else dict(alignment.weights),
            "seconds": dict(alignment.seconds),
            "unit_seconds": unit,
        }

    def _by_time(self, setting: Setting) -> Result:
        """The time channel learns nothing from seeds: they only leave the test, so one S^t serves all settings."""
        unit = quick_unit_seconds()
        plan, pseudo = self.time_plan(), self.pseudo_seeds()
        return {
            "protocols": self.rankings(plan, setting),
            "pseudo_seeds": None if pseudo is None else asdict(pair_quality(pseudo["pairs"], self.subject.gold)),
            "seconds": {"temporal": self.temporal()[1]},
            "unit_seconds": unit,
        }

    @staticmethod
    def _as_run(decoded: Result | None) -> Result | None:
        """What the chosen α gives, in the shape of a run."""
        if decoded is None:
            return None
        at = decoded["alphas"][decoded["chosen"]]
        return {"protocols": {name: at[name] for name in ("paper", "open")}, **decoded}

    # The paper's method, step by step

    def temporal(self, hops: int = 2) -> tuple[Similarity, float]:
        """S^t, held, and the seconds it took."""
        if self._temporal is None or self._temporal[0] != hops:
            self._temporal = None  # let the memory go first
            start = time.perf_counter()
            similarity = temporal_similarity(
                self.subject.source, self.subject.target, hops, self.config().zero_counts, self.share
            )
            held = hold(similarity, self.share)
            self._temporal = hops, held, time.perf_counter() - start
        return self._temporal[1], self._temporal[2]

    def time_plan(self, hops: int = 2) -> Plan:
        """Sinkhorn of S^t: the time channel alone."""
        config = self.config()
        return sinkhorn(kernel_of(self.temporal(hops)[0], config.sharpness, self.share), config.sinkhorn_iterations)

    def pseudo_seeds(self) -> Arrays | None:
        """Pairs that choose each other by time alone, and the seconds that finding them took."""

        def compute() -> Arrays:
            self.temporal()
            start = time.perf_counter()
            forward = self.time_plan()
            backward = sinkhorn(forward.kernel, forward.iterations, first="columns")
            pairs = mutual_best(forward.best(), backward.best()).pairs
            return {"pairs": pairs, "seconds": np.array(time.perf_counter() - start)}

        return self.cells.arrays(self.key("pseudo-seeds", "temporal", None), compute)

    def trained(self, setting: Setting, seed: int, **options: Any) -> Arrays | None:
        """Vectors of all entities after training: h_source, h_target, the pairs learnt from, and the seconds."""

        def compute() -> Arrays:
            subject, config = self.subject, self.config(seed=seed, **options)
            pseudo = self.pseudo_seeds() if setting == "unsupervised" else None
            known: Pairs = subject.seeds(setting) if pseudo is None else pseudo["pairs"]
            unit, start = quick_unit_seconds(), time.perf_counter()
            similarity = relational_similarity(
                subject.source,
                subject.target,
                known,
                config,
                pseudo=pseudo is not None,
                progress=self.training_progress,
            )
            seconds = time.perf_counter() - start
            return {
                "h_source": similarity.dense_source,
                "h_target": similarity.dense_target,
                "known": known,
                "seconds": np.array(seconds),
                "unit_seconds": np.array(unit),
            }

        return self.cells.arrays(self.key("trained", "dualmatch", setting, seed, **options), compute)

    def decoded(self, setting: Setting, seed: int, hops: int = 2, **options: Any) -> Result | None:
        """Every α on one training: rankings by both protocols, D with its terms, and the α of smallest D."""
        if not self.subject.allows(setting):
            return None
        more = {} if hops == 2 else {"hops": hops}
        key = self.key("decoded", "dualmatch", setting, seed, **options, **more)
        return self.cells.result(key, lambda: self._decode(setting, seed, hops, **options))

    def _decode(self, setting: Setting, seed: int, hops: int, **options: Any) -> Result:
        trained = computed(self.trained(setting, seed, **options))
        sets = {"all": self.subject.tested(setting), **self.subject.groups(setting)}
        result = self.decode_every(trained, sets, hops)
        pseudo = self.pseudo_seeds() if setting == "unsupervised" else None
        if pseudo is not None:
            result["pseudo_seeds"] = asdict(pair_quality(pseudo["pairs"], self.subject.gold))
            result["seconds"]["temporal"] += float(pseudo["seconds"])
        return result

    def decode_every(self, trained: Arrays, sets: Mapping[str, Pairs], hops: int = 2) -> Result:
        """Every α on one training, and what each step took; the seconds of evaluating are left out."""
        config = self.config()
        temporal, temporal_seconds = self.temporal(hops)
        relational = self.relational(trained)
        unit, start = quick_unit_seconds(), time.perf_counter()
        problem = self.problem(trained)
        watching = 0.0
        alphas: dict[str, Result] = {}

        def watch(alpha: float, plan: Plan) -> None:
            nonlocal watching
            began = time.perf_counter()
            alphas[str(alpha)] = rankings_of(plan, sets)
            watching += time.perf_counter() - began

        decoded = decode(
            temporal,
            relational,
            problem,
            config.alphas,
            sharpness=config.sharpness,
            iterations=config.sinkhorn_iterations,
            memory_limit=self.share,
            watch=watch,
        )
        seconds = time.perf_counter() - start - watching
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
            "seconds": {"temporal": temporal_seconds, "relational": float(trained["seconds"]), "decode": seconds},
            "unit_seconds": unit,
            "unit_seconds_training": float(trained["unit_seconds"]),
        }

    def problem(self, trained: Arrays) -> MatchingProblem:
        """What D compares; the pairs learnt from share a label in its kernels."""
        config, known = self.config(), trained["known"]
        return matching_problem(
            self.subject.source, self.subject.target, known, config.wl_iterations, config.zero_counts
        )

    def relational(self, trained: Arrays) -> Similarity:
        """S^r of trained vectors, held."""
        return hold(FactorSimilarity(trained["h_source"], trained["h_target"]), self.share)

    def naive(self, setting: Setting, seed: int) -> Result | None:
        """The Naive Strategy in place of the GM-Decoder, on the same training."""
        if not self.subject.allows(setting):
            return None

        def compute() -> Result:
            trained = computed(self.trained(setting, seed))
            temporal, _ = self.temporal()
            plan = decode_naively(temporal, self.relational(trained), self.config().hops, self.share).plan
            return {"protocols": self.rankings(plan, setting)}

        return self.cells.result(self.key("naive", "dualmatch", setting, seed), compute)

    def rankings(self, plan: SoftPlan, setting: Setting) -> Result:
        """H@1, H@10 and MRR of the tested pairs and their groups, by both protocols."""
        sets = {"all": self.subject.tested(setting), **self.subject.groups(setting)}
        return rankings_of(plan, sets)

    def training_progress(self, done: int, total: int, note: str) -> None:
        """Progress of a training, for the callback of the whole."""
        if self.progress is not None:
            self.progress("relational", done, total, note)


def rankings_of(plan: SoftPlan, sets: Mapping[str, Pairs]) -> Result:
    """H@1, H@10 and MRR of named sets of pairs, by the protocols `paper` and `open`.

    Parameters
    ----------
    sets:
        Name → pairs; all of them stand in ``sets["all"]``.
    """
    everyone = sets["all"]
    rank_of_source = np.zeros(int(everyone[:, 0].max(initial=-1)) + 1)
    rank_of_source[everyone[:, 0]] = plan.ranks(everyone)[0]
    return {
        "paper": {name: asdict(paper_ranking(plan, pairs)) for name, pairs in sets.items()},
        "open": {name: asdict(ranking(rank_of_source[pairs[:, 0]])) for name, pairs in sets.items()},
    }
