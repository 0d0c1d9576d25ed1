"""The section against gold: verdicts, calibration, and what is wrong, grouped by cause."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dualmatch.charts.markup import Child, percent
from dualmatch.decode.verdicts import Verdict
from dualmatch.evaluate import Calibration
from dualmatch.graph.arrays import Ids
from dualmatch.graph.model import TemporalGraph
from dualmatch.report.figures import Rows
from dualmatch.report.findings import Findings, Link

CAUSES: Final = (
    "one of the two is in no fact",
    "no neighbour of one is the true partner of a neighbour of the other",
    "the neighbours they share were not linked either",
    "a neighbour they share is linked, which was not enough",
)
"""Why a true pair was not found: how much its entities have in common."""
_ALONE: Final = "it has no true partner"
_OTHER: Final = "another is its true partner"


@dataclass(frozen=True)
class Errors:
    """Wrong links and true pairs that were not found, by cause; without causes where the graphs are not available."""

    n_wrong: int
    n_missed: int
    wrong_by_cause: dict[str, list[Sequence[Child]]]
    missed_by_cause: dict[str, int]


def verdicts_by_gold(findings: Findings) -> Rows:
    """Verdicts on source entities with and without a true partner; seeds are left aside."""
    partnered = {source for source, _ in findings.gold or ()}
    by_verdict = {
        Verdict.LINKED: [source for source, _ in findings.found_links],
        Verdict.UNDECIDED: findings.undecided,
        Verdict.NO_MATCH: findings.no_matches,
    }
    rows = []
    for verdict, sources in by_verdict.items():
        having = sum(source in partnered for source in sources)
        rows.append((verdict, len(sources), having, len(sources) - having))
    return rows


def unknown_pairs(findings: Findings) -> list[Link]:
    """Gold pairs that no alignment of these graphs could hold: most likely errors in the file."""
    if findings.basis is None:
        return []
    rows = findings.basis.source.entity_rows, findings.basis.target.entity_rows
    return [pair for pair in findings.gold or () if pair[0] not in rows[0] or pair[1] not in rows[1]]


def calibration_rows(calibration: Calibration) -> Rows:
    """The same in numbers."""
    return [
        (f"{each.low:.1f} to {each.high:.1f}", f"{each.pairs:,}", percent(each.confidence), percent(each.precision))
        for each in calibration.bins
    ]


def errors_of(findings: Findings) -> Errors:
    """Group wrong links and missed pairs by what separates an entity from its true partner."""
    gold = findings.gold or ()
    true, partner, given = set(gold), dict(gold), set(findings.links)
    found = zip(findings.found_links, findings.found.tolist(), strict=True)
    wrong = sorted((row for row in found if row[0] not in true), key=lambda row: (-row[1], row[0]))
    missed = [pair for pair in gold if pair not in given]
    causes = _causes(findings, sorted(true))
    by_cause: dict[str, list[Sequence[Child]]] = {}
    for (source, target), sure in wrong:
        cause = causes.get((source, partner[source]), _OTHER) if source in partner else _ALONE
        truth = findings.target_name(partner[source]) if source in partner else "–"
        names = findings.source_name(source), findings.target_name(target)
        by_cause.setdefault(cause, []).append((*names, truth, f"{sure:.3f}"))
    return Errors(
        len(wrong),
        len(missed),
        dict(sorted(by_cause.items(), key=lambda item: -len(item[1]))),
        {cause: sum(causes.get(pair) == cause for pair in missed) for cause in CAUSES} if causes else {},
    )


def _causes(findings: Findings, gold: Sequence[Link]) -> dict[Link, str]:
    """What makes each true pair hard to find; empty where the graphs are not available."""
    if findings.basis is None:
        return {}
    graphs = findings.basis.source, findings.basis.target
    rows = graphs[0].entity_rows, graphs[1].entity_rows
    known = [pair for pair in gold if pair[0] in rows[0] and pair[1] in rows[1]]
    true, found = (
        np.array([(rows[0][s], rows[1][t]) for s, t in some], dtype=np.int64).reshape(-1, 2)
        for some in (known, findings.links)
    )
    return {pair: CAUSES[at] for pair, at in zip(known, cause_of(*graphs, true, found).tolist(), strict=True)}


def cause_of(
    source: TemporalGraph, target: TemporalGraph, gold: NDArray[np.integer], found: NDArray[np.integer]
) -> Ids:
    """For each true pair of gold, (n, 2), the place in `CAUSES` of what makes it hard to find: the first that holds.

    Of the pairs that were found, (m, 2), the true ones count as aligned.

    Examples
    --------
    >>> graph = TemporalGraph.from_facts([("Ada", "met", "Charles"), ("Mary", "met", "Percy")])
    >>> every = np.array([[0, 0], [1, 1], [2, 2], [3, 3]])
    >>> [CAUSES[cause] for cause in cause_of(graph, graph, every, every[:1])[1:3]]
    ['a neighbour they share is linked, which was not enough', 'the neighbours they share were not linked either']
    """
    shape = source.n_entities, target.n_entities
    truth, believed = (sparse.csr_array((np.ones(len(p)), (p[:, 0], p[:, 1])), shape) for p in (gold, found))
    ours, theirs = _neighbours(source)[gold[:, 0]], _neighbours(target)[gold[:, 1]]
    shared = np.asarray((ours @ truth).multiply(theirs).sum(axis=1)).ravel()
    aligned = np.asarray((ours @ sparse.csr_array(believed.multiply(truth))).multiply(theirs).sum(axis=1)).ravel()
    in_facts = source.is_in_a_fact[gold[:, 0]] & target.is_in_a_fact[gold[:, 1]]
    return np.select([~in_facts, shared == 0, aligned == 0], [0, 1, 2], 3).astype(np.int64)


def _neighbours(graph: TemporalGraph) -> sparse.csr_array:
    head, tail = np.concatenate([graph.head, graph.tail]), np.concatenate([graph.tail, graph.head])
    matrix = sparse.csr_array((np.ones(len(head)), (head, tail)), (graph.n_entities, graph.n_entities))
    matrix.sum_duplicates()
    matrix.data[:] = 1.0
    return matrix
