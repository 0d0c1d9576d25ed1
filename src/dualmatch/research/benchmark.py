"""`dualmatch benchmark`: one run on a benchmark folder, its accuracy under both protocols and its cost."""

from __future__ import annotations

import time
import timeit
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from dualmatch.config import Config
from dualmatch.errors import InputError
from dualmatch.evaluate import Evaluation, common_pairs, evaluate, rankings
from dualmatch.graph.arrays import Pairs
from dualmatch.graph.literals import LiteralPair, Literals
from dualmatch.memory import peak_mb
from dualmatch.methods.align import align
from dualmatch.methods.alignment import Alignment
from dualmatch.progress import Progress, Stages
from dualmatch.readers.benchmark_folder import BenchmarkFolder, read_folder
from dualmatch.readers.shown_labels import read_labels
from dualmatch.research.baselines.run import BaselineOptions, check_baseline, run_baseline
from dualmatch.version import __version__

Setting = Literal["unsupervised", "supervised"]
STAGES: Final = ("read", "temporal", "relational", "evidence", "decode")
PROTOCOLS: Final = ("paper", "open", "open_reverse")
_ABOUT_LINKS: Final = (
    *("abstention", "calibration", "verdicts", "pseudo_seeds", "alpha", "weights", "distance", "rounds"),
)
_UNIT_SIZE: Final = 4096


@dataclass(frozen=True, eq=False)
class BenchmarkRun:
    """A measured run: the alignment, and the report as `benchmark --json` writes it (docs/formats.md)."""

    alignment: Alignment
    report: dict[str, Any]


def unit_seconds(repeats: int = 3) -> list[float]:
    """The machine's own unit: the seconds of a 4096³ float32 matrix product, measured a few times."""
    matrix = np.random.default_rng(0).random((_UNIT_SIZE, _UNIT_SIZE), dtype=np.float32)
    return timeit.repeat(lambda: matrix @ matrix, number=1, repeat=repeats)


def benchmark(
    folder: Path,
    config: Config,
    setting: Setting = "unsupervised",
    seed_pairs: int | None = None,
    group_files: Mapping[str, Path] | None = None,
    label_files: tuple[Path, Path] | None = None,
    progress: Progress | None = None,
    time_format: str | None = None,
) -> BenchmarkRun:
    """Run a method on a folder and measure its accuracy and cost.

    `setting`: ``"unsupervised"``: no seeds, all of gold is tested; ``"supervised"``: the first `seed_pairs` rows of
    ``sup_pairs`` (all, where None) are seeds and the rest of gold is tested. `group_files`: name → pair file, looked up
    in the folder first. `label_files`: labels of the source and of the target, looked up in the folder first; without
    them names are not compared. `time_format`: as for `read_folder`.
    """
    measured = _Measured(folder, setting, seed_pairs, group_files, label_files, progress, time_format)
    data, seeds = measured.data, measured.seeds
    known = seeds if len(seeds) else None
    alignment = align(data.source, data.target, known, literals=measured.literals, config=config, progress=progress)
    cost = measured.cost(alignment.seconds)
    accuracy = accuracy_of(evaluate(alignment, measured.gold, measured.groups), alignment)
    return BenchmarkRun(alignment, measured.report(config.method, config.seed, accuracy, cost))


def benchmark_baseline(
    folder: Path,
    options: BaselineOptions,
    setting: Setting = "supervised",
    seed_pairs: int | None = None,
    group_files: Mapping[str, Path] | None = None,
    progress: Progress | None = None,
    time_format: str | None = None,
) -> dict[str, Any]:
    """The report of a baseline, which ranks and gives no links: all that is about links is None."""
    if setting == "unsupervised":
        check_baseline(options, 0)
    measured = _Measured(folder, setting, seed_pairs, group_files, None, progress, time_format)
    run = run_baseline(options, measured.data.source, measured.data.target, measured.seeds, progress)
    cost = measured.cost(run.seconds)
    tested = measured.gold[len(measured.seeds) :]
    sets = {"all": tested, **{name: common_pairs(pairs, tested) for name, pairs in measured.groups.items()}}
    protocols = ({name: asdict(each) for name, each in figures.items()} for figures in rankings(run.plan, sets))
    accuracy = {"protocols": dict(zip(PROTOCOLS, protocols, strict=True)), **dict.fromkeys(_ABOUT_LINKS)}
    return measured.report(options.name, options.seed, accuracy, cost)


class _Measured:
    """A folder that was read, and the clock that has run since."""

    def __init__(
        self,
        folder: Path,
        setting: Setting,
        seed_pairs: int | None,
        group_files: Mapping[str, Path] | None,
        label_files: tuple[Path, Path] | None,
        progress: Progress | None,
        time_format: str | None,
    ) -> None:
        if setting == "unsupervised" and seed_pairs is not None:
            raise InputError("--seed-pairs goes with --setting supervised; an unsupervised run has no seeds")
        self.folder, self.setting = folder, setting
        self.unit = unit_seconds()
        self.start = time.perf_counter()
        self.stages = Stages(progress)
        with self.stages("read"):
            self.data = read_folder(folder, time_format=time_format)
            supervision, reference = self.data.read_pairs("sup_pairs"), self.data.read_pairs("ref_pairs")
            self.gold = _gold(supervision, reference, self.data)
            self.seeds = _seeds(supervision, setting, seed_pairs, folder)
            if len(self.seeds) == len(self.gold):
                raise InputError(
                    f"{folder / 'ref_pairs'}: no pair is left to test; add true pairs or lower --seed-pairs"
                )
            self.literals = None if label_files is None else _labels(self.data, label_files, folder)
            self.groups = {name: self.data.read_pairs(path) for name, path in (group_files or {}).items()}

    def cost(self, seconds: Mapping[str, float]) -> dict[str, Any]:
        """Stop the clock."""
        total, peak = time.perf_counter() - self.start, peak_mb()
        unit = self.unit + unit_seconds()
        return {
            "seconds": seconds_of({**self.stages.seconds, **seconds}, total),
            "unit_seconds": float(np.median(unit)),
            "peak_mb": peak,
        }

    def report(self, method: str, seed: int, accuracy: dict[str, Any], cost: dict[str, Any]) -> dict[str, Any]:
        return {
            "method": method,
            "setting": self.setting,
            "seed_pairs": len(self.seeds),
            "seed": seed,
            "version": __version__,
            "dataset": self.folder.resolve().name,
            **accuracy,
            **cost,
        }


def _seeds(supervision: Pairs, setting: Setting, seed_pairs: int | None, folder: Path) -> Pairs:
    if setting == "unsupervised":
        return supervision[:0]
    if not len(supervision):
        raise InputError(f"{folder / 'sup_pairs'}: no pairs; a supervised run needs seeds, so add some there")
    if seed_pairs is not None and not 0 < seed_pairs <= len(supervision):
        raise InputError(
            f"{folder / 'sup_pairs'}: holds {len(supervision)} pairs; --seed-pairs must be between 1 and that"
        )
    return supervision[:seed_pairs]


def _labels(data: BenchmarkFolder, files: tuple[Path, Path], folder: Path) -> LiteralPair:
    """Labels from two files, looked up in the folder first, which must be about its entities."""
    literals = []
    for path, graph in zip(files, (data.source, data.target), strict=True):
        found = Literals.of(read_labels(folder / path if (folder / path).exists() else path), graph)
        if not len(found):
            raise InputError(f"{path}: names no entity of {graph.name}; give the source's labels first")
        literals.append(found)
    return literals[0], literals[1]


def _gold(supervision: Pairs, reference: Pairs, data: BenchmarkFolder) -> Pairs:
    """All true pairs; `read_pairs` has made sure that each file for itself is 1-to-1."""
    for side, graph, column in (("source", data.source, 0), ("target", data.target, 1)):
        both = np.intersect1d(supervision[:, column], reference[:, column])
        if len(both):
            raise InputError(
                f"{data.path / 'ref_pairs'}: {side} entity {graph.entities[both[0]]} is also in sup_pairs; "
                "gold pairs are 1-to-1, so take it out of one of them"
            )
    return np.concatenate([supervision, reference])


def accuracy_of(evaluation: Evaluation, alignment: Alignment) -> dict[str, Any]:
    """An evaluation in the form of the report; what does not apply to the method is None."""
    report, decoded, rounds = asdict(evaluation), alignment.decoded, alignment.rounds
    return {
        "protocols": {name: report[name] for name in PROTOCOLS},
        **{name: report[name] for name in ("abstention", "calibration", "verdicts", "pseudo_seeds")},
        "alpha": None if decoded is None else decoded.alpha,
        "weights": None if alignment.weights is None else dict(alignment.weights),
        "distance": None if alignment.distances is None else dict(alignment.distances),
        "rounds": None if rounds is None else [asdict(step) for step in rounds],
    }


def seconds_of(measured: Mapping[str, float], total: float) -> dict[str, float | None]:
    """The parts, adding up to the total: what lies between them counts as decoding."""
    parts: dict[str, float | None] = {stage: measured.get(stage) for stage in STAGES}
    rest = total - sum(part for part in parts.values() if part is not None)
    parts["decode"] = (parts["decode"] or 0.0) + rest
    parts["total"] = total
    return parts
