"""What an observer makes of the history: dates seen through errors, gaps and limits, rows in an order of their own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.random import Generator
from numpy.typing import NDArray

from dualmatch.graph.model import TemporalGraph
from dualmatch.graph.times import UNKNOWN, Precision, coarsen, encode_date
from dualmatch.simulate.history import NO_DAY
from dualmatch.simulate.world import World

Ints = NDArray[np.int32]


def draw_calendar(world: World) -> Ints:
    """Time codes of every day of the history at each `Precision`: (3, n_days) int32.

    >>> from dualmatch.graph.times import format_date
    >>> [format_date(code) for code in draw_calendar(World(first_year=2005))[:, 31]]
    ['2005', '2005-02', '2005-02-01']
    """
    first, stop = (np.datetime64(year - 1970, "Y") for year in (world.first_year, world.first_year + world.years))
    days = np.arange(first.astype("datetime64[D]"), stop.astype("datetime64[D]"))
    months = days.astype("datetime64[M]")
    year, month = np.divmod(months.astype(np.int64), 12)
    day = (days - months.astype("datetime64[D]")).astype(np.int64)
    codes = ((year + 1970) * encode_date(1) + (month + 1) * encode_date(0, 1) + day + 1).astype(np.int32)
    return np.stack([coarsen(codes, precision) for precision in Precision])


def observe_dates(begin: Ints, end: Ints, calendar: Ints, world: World, rng: Generator) -> tuple[Ints, Ints]:
    """The codes one observer writes down for true days `begin` and `end` (`NO_DAY` where there is none).

    Each date is wrong, missing or imprecise on its own; a point is a single date. A wrong date keeps the order of
    begin and end, as observers do.
    """
    n, last = len(begin), calendar.shape[1] - 1
    point = begin == end
    wrong, missing = rng.random((2, n)) < world.wrong_share, rng.random((2, n)) < world.missing_share
    exactness = rng.random((2, n))
    missing[1], exactness[1] = np.where(point, missing[0], missing[1]), np.where(point, exactness[0], exactness[1])
    precision = (exactness >= world.year_only_share).astype(np.intp)
    precision += exactness >= world.year_only_share + world.month_only_share

    other_begin = _another_day(begin, np.zeros_like(begin), np.where(point | (end == NO_DAY), last, end), rng)
    seen_begin = np.where(wrong[0] & (begin != NO_DAY), other_begin, begin)
    other_end = _another_day(end, np.maximum(seen_begin, 0), np.full_like(end, last), rng)
    seen_end = np.where(wrong[1] & (end != NO_DAY), other_end, end)
    seen = np.stack([seen_begin, np.where(point, seen_begin, seen_end)])
    codes = np.where((seen == NO_DAY) | missing, UNKNOWN, calendar[precision, seen]).astype(np.int32)
    return codes[0], codes[1]


def _another_day(day: Ints, first: Ints, last: Ints, rng: Generator) -> Ints:
    """A random day of first … last, not `day` itself unless there is no other."""
    length = (last - first + 1).astype(np.int64)
    step = 1 + (rng.random(len(day)) * (length - 1)).astype(np.int64)
    return (first + (day - first + step) % length).astype(np.int32)


def shuffled_rows(known: NDArray[np.intp], n_history: int, rng: Generator) -> Ints:
    """Random row of each known entity of the history, -1 for those this observer does not know: (n_history,) int32."""
    rows = np.full(n_history, -1, dtype=np.int32)
    rows[known] = rng.permutation(len(known)).astype(np.int32)
    return rows


def numbered_names(prefix: str, n: int) -> tuple[str, ...]:
    """Names such as ``s-000123``: a row number and nothing else.

    >>> numbered_names("s-", 2)
    ('s-0', 's-1')
    """
    numbers = pl.select(pl.int_range(n).cast(pl.String).str.zfill(len(str(n - 1)))).to_series()
    return tuple((prefix + numbers).to_list())


def view(columns: Sequence[Ints], n_entities: int, n_relations: int, side: str, rng: Generator) -> TemporalGraph:
    """An observer's graph: facts in random order, entities and relations named by their rows."""
    order = rng.permutation(len(columns[0]))
    head, relation, tail, begin, end = (column[order] for column in columns)
    entities = numbered_names(f"{side[0]}-", n_entities)
    relations = numbered_names(f"{side[0]}-relation-", n_relations)
    return TemporalGraph(head, relation, tail, begin, end, entities, relations, name=side)
