"""Validation of what `align` is given: graphs or what can be read as one, seeds as rows or names."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from dualmatch.config import EXPLAINED, TRAINED, Config, Method
from dualmatch.decode.forbidden import Forbidden
from dualmatch.errors import InputError, counted
from dualmatch.graph.arrays import NO_PARTNER, Ints, Pairs
from dualmatch.graph.frames import ArrowFrame, is_frame, pairs_of
from dualmatch.graph.literals import LiteralPair, Literals
from dualmatch.graph.matrices import shared_intervals
from dualmatch.graph.model import TemporalGraph
from dualmatch.graph.times import UNKNOWN, Precision, coarsen
from dualmatch.readers.read import Reading, Source, literals_of, python_words, read
from dualmatch.readers.read_options import Names, ReadOptions
from dualmatch.readers.rejected_lines import Rejections

logger = logging.getLogger(__name__)

_AT_ONCE: Final = 2**20  # times of which the distinct ones are found in one go

ForbiddenPairs = NDArray[np.integer] | ArrowFrame | Iterable[tuple[str, str | None]] | Iterable[tuple[int, int]]
KnownPairs = NDArray[np.integer] | ArrowFrame | Iterable[tuple[str, str]] | Iterable[tuple[int, int]]


def as_reading(given: TemporalGraph | Reading | Source, side: Literal["source", "target"], names: Names) -> Reading:
    """A graph, or what `read` gave, as it is; a file, a data frame or tuples as `read` reads them.

    Messages call these by their side. Labels are kept as `names` has it; a graph that is given has none but its ids.
    """
    options = ReadOptions(names=names)
    if isinstance(given, Reading):
        return given if names == "auto" else replace(given, literals=literals_of(given.graph, (), options))
    if isinstance(given, TemporalGraph):
        return Reading(given, literals_of(given, (), options), Rejections(), ())
    is_path = isinstance(given, str | os.PathLike)
    try:
        with nullcontext() if is_path else python_words():
            return read([given], options, None if is_path else side)
    except InputError as error:
        raise InputError(str(error) if is_path or str(error).startswith(side) else f"{side}: {error}") from None


def labels_of(source: Reading, target: Reading) -> LiteralPair | None:
    """The labels of both sides, where both have some."""
    if source.literals is None or target.literals is None or not source.literals.labels or not target.literals.labels:
        return None
    return source.literals, target.literals


def check_pairs(
    pairs: KnownPairs | None,
    source: TemporalGraph,
    target: TemporalGraph,
    what: str = "seeds",
    many_to_one: bool = False,
) -> Pairs:
    """Known pairs as (n, 2) rows; unknown entities are errors, and so are entities given twice.

    With `many_to_one` several sources may have one target. Messages call the pairs `what`.
    """
    listed: Any = pairs_of(pairs, what) if is_frame(pairs) else pairs
    try:
        given = np.asarray([] if listed is None else listed if isinstance(listed, np.ndarray) else [*listed])
    except (TypeError, ValueError):
        raise InputError(f"{what}: not all pairs have two parts; give a source and a target for each") from None
    if given.size == 0:
        return np.zeros((0, 2), np.int32)
    if given.ndim != 2 or given.shape[1] != 2:
        raise InputError(f"{what}: an array of shape {given.shape}; give two columns, source and target")
    by_row = np.issubdtype(given.dtype, np.integer)
    rows = given if by_row else _rows_of_names(given, source, target, what)
    for side, graph, column in (("source", source, rows[:, 0]), ("target", target, rows[:, 1])):
        if column.min() < 0 or column.max() >= graph.n_entities:
            raise InputError(f"{what}: a {side} row is outside 0…{graph.n_entities - 1}; give rows of {graph.name}")
        values, counts = np.unique(column, return_counts=True)
        if (counts > 1).any() and not (many_to_one and side == "target"):
            name, times = graph.entities[int(values[counts > 1][0])], int(counts[counts > 1][0])
            raise InputError(f"{what}: {side} entity {name!r} is in {times} pairs; pairs are 1-to-1, keep one of them")
    return rows.astype(np.int32)


def _rows_of_names(names: NDArray[Any], source: TemporalGraph, target: TemporalGraph, what: str) -> NDArray[np.int64]:
    columns = []
    for side, graph, given in (("source", source, names[:, 0]), ("target", target, names[:, 1])):
        rows = graph.rows_of(given.tolist())
        if (rows < 0).any():
            first = str(given[rows < 0][0])
            number = int((rows < 0).sum())
            raise InputError(
                f"{what}: {counted(number, f'{side} entity is', f'{side} entities are')} not in {graph.name}: "
                f"{first!r}{' among them' * (number > 1)}; fix the names or leave their pairs out"
            )
        columns.append(rows)
    return np.stack(columns, axis=1)


def pairs_of_same_ids(source: TemporalGraph, target: TemporalGraph) -> Pairs:
    """Entities that have one id on both sides, as (n, 2) rows; blank nodes have none."""
    names = [name for name in source.entities if name in target.entity_rows and not name.startswith("_:")]
    return np.stack([source.rows_of(names), target.rows_of(names)], axis=1).astype(np.int32)


def with_more_seeds(seeds: Pairs, more: Pairs, forbidden: Pairs) -> Pairs:
    """Seeds, and of more pairs those that neither they nor the forbidden pairs contradict."""
    free = ~np.isin(more[:, 0], seeds[:, 0]) & ~np.isin(more[:, 1], seeds[:, 1])
    return np.concatenate([seeds, more[free & Forbidden(forbidden).allows(more)]])


def check_forbidden(
    forbidden: ForbiddenPairs | None, source: TemporalGraph, target: TemporalGraph, seeds: Pairs
) -> Pairs:
    """Forbidden pairs as (n, 2) rows, a target of -1 for a source without partner; what seeds say is an error."""
    listed: Any = pairs_of(forbidden, "forbidden pairs") if is_frame(forbidden) else forbidden
    try:
        given = [] if listed is None else [(s, NO_PARTNER if t is None else t) for s, t in listed]
    except (TypeError, ValueError):
        raise InputError("forbidden pairs: give a source and a target for each, None where it has no partner") from None
    rows = np.array(
        [(_row(s, source, "source"), NO_PARTNER if t == NO_PARTNER else _row(t, target, "target")) for s, t in given],
        dtype=np.int32,
    ).reshape(-1, 2)
    rows = np.unique(rows, axis=0)
    both = np.flatnonzero(~Forbidden(rows).allows(seeds))
    if len(both):
        s, t = seeds[both[0]].tolist()
        raise InputError(
            f"{counted(len(both), 'seed is', 'seeds are')} forbidden: {source.entities[s]!r} with "
            f"{target.entities[t]!r}{' among them' * (len(both) > 1)}; take such pairs out of one of the two"
        )
    return rows


def _row(entity: str | int, graph: TemporalGraph, side: str) -> int:
    """Row of an entity that is given by name or by row."""
    if isinstance(entity, str):
        if entity not in graph.entity_rows:
            raise InputError(f"forbidden pairs: {side} entity {entity!r} is not in {graph.name}; fix the name")
        return graph.entity_rows[entity]
    if not isinstance(entity, int | np.integer) or not 0 <= entity < graph.n_entities:
        raise InputError(f"forbidden pairs: a {side} row is outside 0…{graph.n_entities - 1}; give rows or names")
    return int(entity)


def check_graphs(source: TemporalGraph, target: TemporalGraph, method: Method) -> None:
    """An empty graph cannot be aligned, nor can an encoder learn from a graph without edges."""
    for graph in (source, target):
        if graph.is_empty:
            raise InputError(f"{graph.name}: no facts; an empty graph cannot be aligned")
        if not graph.n_facts and method in TRAINED:
            raise InputError(
                f"{graph.name}: dates of entities and no fact between two of them, from which method {method} could "
                "learn; use method evidence"
            )


def check_deciding(config: Config) -> None:
    """Refuse options that need a confidence that is a probability where the method has none."""
    if config.method in EXPLAINED:
        return
    if config.many_to_one:
        raise InputError(
            f"many_to_one works with methods evidence and fused; {config.method} gives 1-to-1 pairs, so leave it out"
        )
    if config.max_fdr is not None:
        raise InputError(
            f"max_fdr works with methods evidence and fused; the confidence of {config.method} only orders pairs, so "
            "leave it out"
        )


def check_labels(wanted: bool, method: Method) -> None:
    """Refuse labels where the method does not compare them."""
    if wanted and method not in EXPLAINED:
        raise InputError(f"method {method} does not look at labels; use method evidence, or leave the labels out")


def warn_of_missing_labels(literals: LiteralPair, source: TemporalGraph, target: TemporalGraph) -> None:
    """Labels are compared: those of one side alone say nothing. An `InputError` where they are not labels."""
    if not (isinstance(literals, tuple | list) and [type(each) for each in literals] == [Literals, Literals]):
        raise InputError("literals: give a pair, the Literals of the source and of the target")
    without = [graph.name for graph, said in zip((source, target), literals, strict=True) if not len(said)]
    if without:
        logger.warning(
            "labels help only where both sides have some, and there are none for the entities of %s",
            " and ".join(without),
        )


def why_time_is_no_help(source: TemporalGraph, target: TemporalGraph, at_any_precision: bool = False) -> str | None:
    """Why time cannot distinguish entities, in words; None where it can.

    With `at_any_precision`, a year and a day of it may meet; otherwise only equal intervals do.
    """
    for graph in (source, target):
        if not graph.has_times:
            return f"{graph.name}: no fact has a time, so time cannot distinguish its entities"
    if at_any_precision:
        common = np.intersect1d(known_years(source), known_years(target))
    else:
        intervals = shared_intervals(source, target)
        common = np.intersect1d(intervals.source[intervals.source >= 0], intervals.target[intervals.target >= 0])
    if not len(common):
        return f"{source.name} and {target.name} have no time in common; check their date formats and spans"
    return None


def known_years(graph: TemporalGraph) -> Ints:
    """The years in which a fact or an entity date begins or ends, sorted; opaque times as they are."""
    times = [each for column in graph.times for each in np.split(column, range(_AT_ONCE, len(column), _AT_ONCE))]
    known = np.unique(np.concatenate([np.unique(each[each != UNKNOWN]) for each in times]))  # few of many facts
    return known if graph.opaque_times else np.unique(coarsen(known, Precision.YEAR))
