"""Algorithm 1 on one page: the only module that knows the order of the steps."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence

import numpy as np

from dualmatch.alignment import Alignment, Pairs
from dualmatch.config import Config
from dualmatch.decode.sinkhorn import kernel_of, sinkhorn
from dualmatch.encode.seeds import PseudoSeeds, mutual_best
from dualmatch.encode.temporal import temporal_similarity
from dualmatch.errors import InputError
from dualmatch.graph.matrices import shared_intervals
from dualmatch.graph.model import TemporalGraph
from dualmatch.stages import Progress, Stages

logger = logging.getLogger(__name__)

Seeds = Pairs | Iterable[tuple[str, str]]


def align(
    source: TemporalGraph,
    target: TemporalGraph,
    seeds: Seeds | None = None,
    *,
    progress: Progress | None = None,
    config: Config | None = None,
    **options: object,
) -> Alignment:
    """Find which entities of two temporal graphs are the same.

    Parameters
    ----------
    source, target:
        The two graphs.
    seeds:
        Known pairs, if any: (n, 2) row numbers or (source name, target name) tuples.
    progress:
        Called with (stage, steps done, steps in all).
    config, options:
        A whole `Config`, or some of its options by name (``method="temporal"``, ``hops=2`` …).

    Returns
    -------
    Alignment

    Raises
    ------
    InputError, ConfigError
        Both say what is wrong and what to do.

    Examples
    --------
    >>> from dualmatch import TemporalGraph, align
    >>> yago = TemporalGraph.from_facts([("Ada", "met", "Charles", "1833"), ("Charles", "wrote", "Book", "1864")])
    >>> wiki = TemporalGraph.from_facts([("Q9", "P50", "Q8", "1864"), ("Q7", "P2", "Q9", "1833")])
    >>> [(s, t) for s, t, _ in align(yago, wiki).links()]
    [('Ada', 'Q7'), ('Book', 'Q8'), ('Charles', 'Q9')]
    """
    config = config if config is not None and not options else Config.checked(**{**_given(config), **options})
    seed_pairs = check_seeds(seeds, source, target)
    _check_graphs(source, target)
    return _temporal(source, target, seed_pairs, config, Stages(progress))


def _temporal(source: TemporalGraph, target: TemporalGraph, seeds: Pairs, config: Config, stages: Stages) -> Alignment:
    """The learning-free time channel alone: pairs that choose each other (Algorithm 1, lines 2 to 8)."""
    with stages("temporal"):
        similarity = temporal_similarity(source, target, config.hops, config.zero_counts, config.memory_limit // 3)
        kernel = kernel_of(similarity, config.sharpness, config.memory_limit // 2)
    with stages("decode"):
        plan = sinkhorn(kernel, config.sinkhorn_iterations)
        backward = sinkhorn(kernel, config.sinkhorn_iterations, first="columns")
        found = mutual_best(plan.best(), backward.best())
        pairs, confidence, is_seed = _with_seeds(found, seeds)
    return Alignment(
        source, target, pairs, confidence, is_seed, plan, config, pseudo_seeds=found.pairs, seconds=dict(stages.seconds)
    )


def _with_seeds(found: PseudoSeeds, seeds: Pairs) -> tuple[Pairs, np.ndarray, np.ndarray]:
    """Seeds stand as given; what was found for their entities gives way."""
    free = ~np.isin(found.pairs[:, 0], seeds[:, 0]) & ~np.isin(found.pairs[:, 1], seeds[:, 1])
    pairs = np.concatenate([seeds, found.pairs[free]])
    confidence = np.concatenate([np.ones(len(seeds)), found.confidence[free]])
    is_seed = np.arange(len(pairs)) < len(seeds)
    order = np.argsort(pairs[:, 0], kind="stable")
    return pairs[order], confidence[order], is_seed[order]


def check_seeds(seeds: Seeds | None, source: TemporalGraph, target: TemporalGraph) -> Pairs:
    """Seeds as (n, 2) rows; unknown entities and entities given twice are errors."""
    if seeds is None:
        return np.zeros((0, 2), np.int32)
    if isinstance(seeds, np.ndarray) and np.issubdtype(seeds.dtype, np.integer):
        pairs = seeds.reshape(-1, 2).astype(np.int32)
    else:
        pairs = _rows_of_names([(str(s), str(t)) for s, t in seeds], source, target)
    for side, graph, column in (("source", source, pairs[:, 0]), ("target", target, pairs[:, 1])):
        if len(column) and (column.min() < 0 or column.max() >= graph.n_entities):
            raise InputError(f"seeds: a {side} row lies outside 0…{graph.n_entities - 1}")
        values, counts = np.unique(column, return_counts=True)
        if (counts > 1).any():
            name = graph.entities[int(values[counts > 1][0])]
            raise InputError(f"seeds: {side} entity {name!r} stands in {int(counts.max())} pairs; seeds are 1-to-1")
    return pairs


def _rows_of_names(names: Sequence[tuple[str, str]], source: TemporalGraph, target: TemporalGraph) -> Pairs:
    for side, graph, position in (("source", source, 0), ("target", target, 1)):
        unknown = [pair[position] for pair in names if pair[position] not in graph.entity_rows]
        if unknown:
            raise InputError(
                f"seeds: {len(unknown)} {side} entities are not in {graph.name}, {unknown[0]!r} among them"
            )
    rows = [(source.entity_rows[s], target.entity_rows[t]) for s, t in names]
    return np.array(rows, dtype=np.int32).reshape(-1, 2)


def _check_graphs(source: TemporalGraph, target: TemporalGraph) -> None:
    for graph in (source, target):
        if graph.n_facts == 0:
            raise InputError(f"{graph.name}: no facts; an empty graph cannot be aligned")
    for graph in (source, target):
        if not graph.has_times:
            raise InputError(
                f"{graph.name}: no fact has a time, so time cannot tell its entities apart; "
                "give dated facts, or seed pairs and a method that uses them"
            )
    intervals = shared_intervals(source, target)
    if not len(np.intersect1d(intervals.source[intervals.source >= 0], intervals.target[intervals.target >= 0])):
        raise InputError(f"{source.name} and {target.name} have no time in common; check their date formats and spans")


def _given(config: Config | None) -> dict[str, object]:
    return {} if config is None else {name: getattr(config, name) for name in config.model_fields_set}
