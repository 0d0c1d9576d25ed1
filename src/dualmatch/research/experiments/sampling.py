"""A part of two graphs, with its share of the true pairs: what growth is measured on."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dualmatch.config import Config
from dualmatch.evaluate import ranking
from dualmatch.graph.arrays import Pairs
from dualmatch.graph.model import TemporalGraph
from dualmatch.memory import peak_mb
from dualmatch.methods.align import align
from dualmatch.methods.resources import quick_unit_seconds
from dualmatch.research.experiments.subject import open_subject


@dataclass(frozen=True, eq=False)
class Sample:
    """Two smaller graphs and the pairs left of gold."""

    source: TemporalGraph
    target: TemporalGraph
    gold: Pairs


def sample(source: TemporalGraph, target: TemporalGraph, gold: Pairs, share: float, rng: Generator) -> Sample:
    """Keep a share of the pairs and of the entities without a partner on each side, and the facts between them.

    Examples
    --------
    >>> graph = TemporalGraph.from_facts([("a", "r", "b", "1990"), ("c", "r", "d", "1991")])
    >>> whole = sample(graph, graph, np.arange(4).repeat(2).reshape(-1, 2), 1.0, np.random.default_rng(0))
    >>> whole.source.n_facts, len(whole.gold)
    (2, 4)
    """
    kept = np.sort(rng.permutation(len(gold))[: round(share * len(gold))])
    sides = []
    for side, graph in enumerate((source, target)):
        alone = np.setdiff1d(np.arange(graph.n_entities), gold[:, side])
        some = rng.permutation(alone)[: round(share * len(alone))]
        sides.append(restricted(graph, np.sort(np.concatenate([gold[kept, side], some]))))
    rows = [np.searchsorted(entities, gold[kept, side]) for side, (_, entities) in enumerate(sides)]
    return Sample(sides[0][0], sides[1][0], np.stack(rows, axis=1).astype(np.int32))


def restricted(graph: TemporalGraph, entities: NDArray[np.integer]) -> tuple[TemporalGraph, NDArray[np.integer]]:
    """The graph of some entities, sorted rows, and the facts between them; relations stay as they are."""
    row = np.full(graph.n_entities, -1, dtype=np.int64)
    row[entities] = np.arange(len(entities))
    facts = (row[graph.head] >= 0) & (row[graph.tail] >= 0)
    part = TemporalGraph(
        row[graph.head[facts]].astype(np.int32),
        graph.relation[facts],
        row[graph.tail[facts]].astype(np.int32),
        graph.begin[facts],
        graph.end[facts],
        tuple(graph.entities[at] for at in entities.tolist()),
        graph.relations,
        name=graph.name,
        opaque_times=graph.opaque_times,
    )
    return part, entities


def measure_sample(folder: Path, share: float, config: Config) -> dict[str, Any]:
    """Align a sample without seeds: seconds of each stage, the process's peak memory, and H@1 (open) to see it works.

    To be called in a process of its own, as its peak memory is told.
    """
    subject = open_subject(folder)
    part = sample(subject.source, subject.target, subject.gold, share, np.random.default_rng(config.seed))
    unit, start = quick_unit_seconds(), time.perf_counter()
    alignment = align(part.source, part.target, config=config)
    total, peak = time.perf_counter() - start, peak_mb()
    return {
        "entities": [part.source.n_entities, part.target.n_entities],
        "facts": [part.source.n_facts, part.target.n_facts],
        "seconds": {**alignment.seconds, "total": total},
        "unit_seconds": unit,
        "peak_mb": peak,
        "h1": ranking(alignment.plan.ranks(part.gold)[0]).h1,
    }
