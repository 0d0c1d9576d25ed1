"""Checked rows to a graph: halves of intervals joined, names numbered, facts sorted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from dualmatch.files.text_lines import LINE
from dualmatch.graph.entity_dates import EntityDates
from dualmatch.graph.model import TemporalGraph
from dualmatch.graph.ordering import fact_order, without_repeats
from dualmatch.graph.times import UNKNOWN
from dualmatch.readers.columns import FACT, INTERVAL, NAMES, numbered


def assembled(
    facts_of: list[pl.DataFrame], dates_of: list[pl.DataFrame], others: Sequence[pl.Series], name: str, is_set: bool
) -> TemporalGraph:
    """The graph of facts, dates of entities and other entities; in a set, a fact said twice counts once.

    Entities, relations, facts and dates are sorted, whatever order the files had. The lists are emptied on the way:
    their tables need not be in memory twice.
    """
    empty = pl.DataFrame(schema=dict.fromkeys(NAMES, pl.String) | dict.fromkeys(INTERVAL, pl.Int32))
    facts = pl.concat(facts_of or [empty], rechunk=True)
    dates = pl.concat(dates_of or [empty.drop("tail")], rechunk=True)
    facts_of.clear()
    dates_of.clear()
    entities, ends = numbered(pl.concat([facts["head"], facts["tail"], dates["head"], *others]))
    relations, of_relation = numbered(pl.concat([facts["relation"], dates["relation"]]))
    head, tail, dated, _ = np.split(ends, np.cumsum([facts.height, facts.height, dates.height]))
    relation, of_date = np.split(of_relation, [facts.height])
    begin, end = facts["begin"].to_numpy(), facts["end"].to_numpy()
    order = fact_order(head, relation, tail, begin, end, n_entities=len(entities), n_relations=len(relations))
    if is_set:
        order = without_repeats(order, head, relation, tail, begin, end)
    columns = head[order], relation[order], tail[order], begin[order], end[order]
    names = tuple(entities.to_list()), tuple(relations.to_list())
    of_entity = dated, of_date, dates["begin"].to_numpy(), dates["end"].to_numpy()
    once = without_repeats(np.lexsort(of_entity[::-1]), *of_entity)
    return TemporalGraph(*columns, *names, name=name, dates=EntityDates(*(column[once] for column in of_entity)))


def joined_halves(facts: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Facts as they are, and those whose begin and end stand in two rows, as one row each: that of the later half.

    Where a fact has several begins or ends, all stay as they are. Facts have a ``file`` and a ``line``, too.
    """
    has_begin, has_end = (pl.col(name) != UNKNOWN for name in INTERVAL)
    counts = (has_begin & ~has_end).sum() == 1, (has_end & ~has_begin).sum() == 1, (has_begin & has_end).sum() == 0
    is_half = (has_begin | has_end) & pl.all_horizontal(each.over(NAMES) for each in counts)
    halves = facts.filter(is_half).group_by(NAMES, maintain_order=True)
    whole = halves.agg(pl.col(INTERVAL).max(), pl.col("file", LINE).last())  # unknown is the least
    return facts.filter(~is_half), whole.select("file", LINE, *FACT)
