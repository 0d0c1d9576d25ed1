"""Resources of a run: estimates of seconds and memory, the memory check, and process-wide settings for training."""

from __future__ import annotations

import logging
import math
import time
from dataclasses import dataclass
from typing import Final

import numpy as np

from dualmatch.channels.evidence.fact_views import time_kinds
from dualmatch.config import EXPLAINED, TRAINED, Config
from dualmatch.errors import InputError
from dualmatch.graph.model import TemporalGraph
from dualmatch.graph.times import UNKNOWN
from dualmatch.memory import keep_freed_memory

_GIB: Final = 2**30
_GB: Final = 10**9
_UNIT_SIZE: Final = 2048


@dataclass(frozen=True)
class Estimate:
    """Estimated cost of a run, from low to high: graphs of one size differ by that much."""

    method: str
    seconds: tuple[float, float]
    gigabytes: tuple[float, float]
    disk_gigabytes: tuple[float, float] = (0.0, 0.0)  # in temporary files, where the memory limit is too low for all


# (units, bytes) at the cheapest and the dearest of the graphs measured: YAGO-WIKI20K, DICEWS-R and simulated worlds.
# Memory of method evidence is estimated by `_evidence_bytes`.
_PER_CELL: Final = {
    "temporal": ((1e-7, 5e-7), (6.0, 45.0)),
    "dualmatch": ((1e-6, 2.5e-6), (20.0, 55.0)),
    "fused": ((1e-6, 2.5e-6), (20.0, 55.0)),
}
_EVIDENCE_UNITS_PER_FACT: Final = (3e-5, 4e-4)
_BASE_BYTES: Final = 2.6e8
# Method evidence, fitted to measured peaks (docs/costs.md): bytes of an entity's token, of which a side of a fact
# has one in each family; and of an entity, for its candidates. Other graphs may take this much more or less.
_PER_TOKEN: Final = 32.0
_PER_ENTITY: Final = 3500.0
_ESTIMATE_WITHIN: Final = 1.5
MOST_UNDERESTIMATED: Final = 8.0
"""How many times its estimate a run of method evidence may take: where all dates are years, it took seven times."""
# Where large arrays are kept in files: bytes of memory for a side of a fact, the share of the expected bytes that is in
# files at most, and how much longer a run takes.
_PER_SIDE_PAGED: Final = 150.0
_PER_SIDE_SHARED: Final = 50.0  # the same for the process that calls workers, which compute on those files
_PAGED_BASE_BYTES: Final = 5e8  # the program, and the parts that it works on
_SHARE_ON_DISK: Final = 0.6
_SLOWER_PAGED: Final = 1.5
_DEPTH: Final = 2


def estimate(source: TemporalGraph, target: TemporalGraph, config: Config, unit: float | None = None) -> Estimate:
    """Estimate the cost of aligning two graphs; the machine's `unit`, in seconds, is measured where None."""
    unit = quick_unit_seconds() if unit is None else unit
    if config.method == "evidence":
        size, units = sum(graph.n_facts + len(graph.dates) for graph in (source, target)), _EVIDENCE_UNITS_PER_FACT
        expected, limit = expected_bytes(source, target), config.memory_limit
        low, high = (expected / _GIB * factor for factor in (1 / _ESTIMATE_WITHIN, _ESTIMATE_WITHIN))
        if expected > limit:
            least = min(_PAGED_BASE_BYTES + least_bytes(source, target, config), limit)
            seconds = size * units[0] * unit, _SLOWER_PAGED * size * units[1] * unit
            disk = low * _SHARE_ON_DISK, high * _SHARE_ON_DISK
            return Estimate(config.method, seconds, (least / _GIB, limit / _GIB), disk)
    else:
        size, (units, size_bytes) = source.n_entities * target.n_entities, _PER_CELL[config.method]
        least = least_bytes(source, target, config)
        # What grows with the entities is computed in blocks above the limit: it takes longer, not more.
        most = max(config.memory_limit, least)
        low, high = ((_BASE_BYTES + min(max(size * each, least), most)) / _GIB for each in size_bytes)
    return Estimate(config.method, (size * units[0] * unit, size * units[1] * unit), (low, high))


def least_bytes(source: TemporalGraph, target: TemporalGraph, config: Config, *, elsewhere: bool = False) -> float:
    """Lower bound of the memory of a run, besides the program itself, however small its blocks are.

    `elsewhere`: whether the workers of a cluster compute, and this process has only what they need to be told.
    """
    if config.method in EXPLAINED:
        per_side = _PER_SIDE_SHARED if elsewhere and config.method not in TRAINED else _PER_SIDE_PAGED
        least = per_side * sum(2 * graph.n_facts + len(graph.dates) for graph in (source, target))
    else:
        least = _temporal_bytes(source) + _temporal_bytes(target)
    if config.method in TRAINED:
        least = max(least, _training_bytes(source.n_entities + target.n_entities, config))
    return least


def expected_bytes(source: TemporalGraph, target: TemporalGraph) -> float:
    """The peak of a run of method evidence, program and graphs included."""
    return _BASE_BYTES + _evidence_bytes(source, target)


def _evidence_bytes(source: TemporalGraph, target: TemporalGraph) -> float:
    """Peak memory of the rounds of evidence, besides the program and the graphs.

    A side of a fact has one token in each family: its times, with and without its relation and its neighbour, and
    those two by themselves. Entities hold their candidates.
    """
    n_sides = sum(2 * graph.n_facts + len(graph.dates) for graph in (source, target))
    kinds = time_kinds(source, target)
    n_families = 2 * len(kinds) + 3 + sum(kind.moment != "interval" for kind in kinds)
    return _PER_TOKEN * n_sides * n_families + _PER_ENTITY * (source.n_entities + target.n_entities)


def _temporal_bytes(graph: TemporalGraph) -> float:
    """A^t alone, a number and its column for each time of each entity: while it is compared, it is held three times.

    Features of further hops are counted once they are computed (`dualmatch.channels.temporal`).
    """
    begin, end = graph.times
    dated = (begin != UNKNOWN) | (end != UNKNOWN)
    times = np.stack([begin[dated], end[dated]], axis=1).astype(np.int64)
    interval = np.unique(times, axis=0, return_inverse=True)[1].ravel() if len(times) else np.zeros(0, np.int64)
    size = int(interval.max(initial=-1)) + 1
    heads, tails = np.append(graph.head, graph.dates.entity)[dated], graph.tail[dated[: graph.n_facts]]
    keys = (entity.astype(np.int64) * size + interval[: len(entity)] for entity in (heads, tails))
    entries = sum(len(np.unique(key)) for key in keys)
    return 3.0 * 8.0 * entries


def _training_bytes(entities: int, config: Config) -> float:
    """Numbers that the encoder holds for each entity when a step of training turns back.

    The vectors, their gradients and the optimiser's squares; in each aspect the input of every layer, what it sums and
    gives, all layers side by side, and the gate over them; at the end all aspects side by side, as they are, with
    dropout, and their gradient.
    """
    layers = _DEPTH + 1
    aspect = 1 + 2 * _DEPTH + 2 * layers
    vectors = 3 + (2 + config.time_aspect) * aspect + 3 * 2 * layers
    return 4.0 * config.dimension * vectors * entities


def check_memory(source: TemporalGraph, target: TemporalGraph, config: Config, *, elsewhere: bool = False) -> None:
    """Refuse a run that cannot keep within its memory limit; `elsewhere` as for `least_bytes`.

    Raises
    ------
    InputError
        With what it needs, and what to do.
    """
    least = least_bytes(source, target, config, elsewhere=elsewhere)
    if least <= config.memory_limit:
        return
    needed = least + (_PAGED_BASE_BYTES if config.method in EXPLAINED else 0.0)
    facts, enough = source.n_facts + target.n_facts, math.ceil(needed / _GB * 10) / 10
    raise InputError(
        f"a run of method {config.method} on {facts:,} facts takes at least about {least / _GB:.1f} GB, and the memory "
        f"limit is {config.memory_limit / _GB:.1f} GB; give it more (memory_limit, --memory-limit {enough:g}GB)"
        f"{_what_fits(source, target, config)} or align a part of the graphs"
    )


def _what_fits(source: TemporalGraph, target: TemporalGraph, config: Config) -> str:
    """The method to offer in the place of one that is too large."""
    needed = least_bytes(source, target, Config(method="evidence"))
    if config.method == "evidence" or needed > config.memory_limit:
        return ","
    return ", take --method evidence, which keeps what does not fit in files,"


def quick_unit_seconds() -> float:
    """The machine's unit, a 4096³ product, from the best of a few 2048³ ones."""
    matrix = np.random.default_rng(0).random((_UNIT_SIZE, _UNIT_SIZE), dtype=np.float32)
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        matrix @ matrix
        seconds.append(time.perf_counter() - start)
    return min(seconds) * 2**3


logger = logging.getLogger(__name__)


def prepare_process(config: Config) -> None:
    """Make large arrays fast: keep freed memory; for training, flush denormal numbers, too.

    Every step of training, and every pass over all facts, frees and allocates the same few hundred megabytes. A run
    that keeps arrays in files, as memory is short, gives freed memory back (`dualmatch.engine.pages`). Method temporal
    is left alone: its blocks grow with the memory limit.
    """
    if config.method not in {*EXPLAINED, *TRAINED}:
        return
    if not keep_freed_memory(one_arena=config.method not in TRAINED):
        logger.info("this C library keeps no freed memory; large arrays will be slower")
    if config.method not in TRAINED:
        return
    try:
        from dualmatch.channels.relational.train import flush_denormals
    except ModuleNotFoundError:
        return  # without torch, align says what to install
    flush_denormals()
