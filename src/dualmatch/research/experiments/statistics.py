"""Table "Statistics": the datasets at hand beside those of the paper."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dualmatch.graph.times import UNKNOWN
from dualmatch.research.experiments.paper import DATASETS, STATISTICS
from dualmatch.research.experiments.results import NOT_RUN, Column, Report, Row, Table, columns
from dualmatch.research.experiments.subject import Subject
from dualmatch.research.experiments.workbench import Study

_COLUMNS: Final = (
    *columns("dataset", "figures"),
    *columns("entities", "relations", "times", "facts", "true pairs", "of these seeds", digits=0),
    Column("undated facts, %", 1),
    *columns("entities in no fact", "entities without a partner", digits=0),
    Column("facts both sides have, %", 1),
)
_COMPARED: Final = ("entities", "relations", "facts", "true pairs")
"""What the paper and we count alike; its times are the entries of a list, ours those that facts have."""
_NOTE: Final = (
    "Two numbers: source – target. Facts both sides have: the share of a side's facts that, with both entities "
    "replaced by their true partners and relations of the same name, stand on the other side too "
    "(2·|common| / (|source| + |target|)); – where the two sides name their relations differently."
)


def datasets(study: Study) -> Report:
    """Counts of each dataset, source – target, and how far its two graphs say the same."""
    rows: list[Row] = []
    notes: list[str] = []
    for subject in study.subjects:
        ours = _ours(subject)
        if subject.paper_name is not None:
            rows.append(_quoted(subject.paper_name))
            notes += _slips(subject, rows[-1], ours)
        rows.append(ours)
    for name in study.absent(*DATASETS):
        rows += [_quoted(name), (name, "ours", *[NOT_RUN] * (len(_COLUMNS) - 2))]
    table = Table("datasets", "Statistics", _COLUMNS, tuple(rows), _NOTE)
    return Report("datasets", "Datasets", (table,), notes=tuple(notes), ranked=False)


def _quoted(name: str) -> Row:
    it = STATISTICS[name]
    return (name, "quoted", _two(it.entities), _two(it.relations), it.times, _two(it.facts), it.pairs, *[None] * 5)


def _slips(subject: Subject, quoted: Row, ours: Row) -> list[str]:
    """Where the paper prints other counts than its own files have."""
    if subject.name.endswith("-R"):
        return []
    return [
        f"{subject.name}: the paper prints {column.show(quoted[at])} {column.name}, its files have "
        f"{column.show(ours[at])}."
        for at, column in enumerate(_COLUMNS)
        if column.name in _COMPARED and quoted[at] != ours[at]
    ]


def _ours(subject: Subject) -> Row:
    graphs = subject.source, subject.target
    known = [graph.statistics for graph in graphs]
    codes = np.unique(np.concatenate([part for graph in graphs for part in (graph.begin, graph.end)]))
    undated = [100 * (1 - each.dated_facts / max(each.facts, 1)) for each in known]
    return (
        subject.name,
        "ours",
        _two(each.entities for each in known),
        _two(each.relations for each in known),
        int((codes != UNKNOWN).sum()),
        _two(each.facts for each in known),
        len(subject.gold),
        len(subject.supervision),
        f"{undated[0]:.1f} – {undated[1]:.1f}",
        _two(each.isolated_entities for each in known),
        _two(graph.n_entities - len(np.unique(subject.gold[:, side])) for side, graph in enumerate(graphs)),
        common_share(subject),
    )


def common_share(subject: Subject) -> float | None:
    """2·|Q_s ∩ Q_t| / (|Q_s| + |Q_t|) in percent, true partners being one entity; None without common relations."""
    source, target = subject.source, subject.target
    relation_rows = {name: row for row, name in enumerate(source.relations)}
    relation = np.array([relation_rows.get(name, -1) for name in target.relations], dtype=np.int64)
    if not (relation >= 0).any():
        return None
    partner = np.full(target.n_entities, -1, dtype=np.int64)
    partner[subject.gold[:, 1]] = subject.gold[:, 0]
    own = _distinct(source.head, source.relation, source.tail, source.begin, source.end)
    other = _distinct(partner[target.head], relation[target.relation], partner[target.tail], target.begin, target.end)
    common = own.join(other, on=own.columns, how="semi").height
    return 200 * common / (source.n_facts + target.n_facts)


def _distinct(*facts: NDArray[np.integer]) -> pl.DataFrame:
    return pl.DataFrame({str(number): column.astype(np.int64) for number, column in enumerate(facts)}).unique()


def _two(numbers: Iterable[int]) -> str:
    return " – ".join(f"{number:,}" for number in numbers)
