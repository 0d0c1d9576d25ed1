"""Decoys: entities whose dates and neighbours were exchanged for others as frequent, to see what chance alone reaches.

Entities whose partner was hidden tell how those without a partner score, as long as most pairs are right. Where next to
nothing is in common, no pair is, and what each entity chose is the best of chance; decoys show that.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse as sp
from sparse_dot_topn import sp_matmul_topn

from dualmatch.encode.evidence.candidates import Scored, smoothed, weight_of
from dualmatch.encode.evidence.knowledge import Knowledge
from dualmatch.encode.evidence.sides import ABSENT, FactSides, Ids, TimeKind
from dualmatch.encode.evidence.tokens import Tokens, bearers
from dualmatch.graph.hashing import mixed

Vector = NDArray[np.float64]

_DECOYS = 500  # a side, at most


def decoy_scores(
    source: FactSides,
    target: FactSides,
    kinds: tuple[TimeKind, ...],
    known: Knowledge | None,
    tokens: Tokens,
    scored: Scored,
) -> tuple[Vector, Vector]:
    """Similarity of each decoy, of either graph, to its best candidate; log of how much is known of the two.

    Decoys that find no candidate are left out.
    """
    others = [_as_frequent(np.concatenate(both)) for both in zip(source.times, target.times, strict=True)]
    found = []
    for side, sides in enumerate((source, target)):
        decoys = _redated(sides, others)
        own = bearers(decoys, kinds, known, side, tokens)
        gather = sp.csr_matrix((np.ones(len(decoys.entity)), (decoys.entity, np.arange(len(decoys.entity)))))
        counts = (gather @ own).tocsr()
        counts.data = np.sqrt(counts.data) * tokens.weights[counts.indices]
        weight = weight_of(counts, tokens.smoothing)
        real = (scored.target, scored.source)[side]
        best = sp_matmul_topn(smoothed(counts, weight), real.T.tocsr(), top_n=1, threshold=0.0).tocoo()
        known_of = np.log(weight[best.row]) + np.log(scored.known[1 - side][best.col])
        found.append((best.data.astype(np.float64), known_of))
    return np.concatenate([part[0] for part in found]), np.concatenate([part[1] for part in found])


def _as_frequent(numbers: Ids, tie: NDArray[np.generic] | None = None) -> Ids:
    """For each number another one that is about as frequent: neighbours in the order of frequency change places.

    Equally frequent ones are ordered by `tie`, or by themselves.
    """
    count = np.bincount(numbers[numbers != ABSENT], minlength=0 if tie is None else len(tie))
    order = np.argsort(count, kind="stable") if tie is None else np.lexsort((tie, count))
    exchanged = order.copy()
    even = len(order) // 2 * 2
    exchanged[0:even:2], exchanged[1:even:2] = order[1:even:2], order[0:even:2]
    other = np.empty(len(order), dtype=np.int64)
    other[order] = exchanged
    return other


def _redated(sides: FactSides, others: list[Ids]) -> FactSides:
    """Entities of all sizes, evenly chosen, their dates and neighbours exchanged."""
    number, content = np.bincount(sides.entity, minlength=sides.n_entities), _content(sides)
    present = np.lexsort((content, number))[int((number == 0).sum()) :]
    chosen = present[np.linspace(0, len(present) - 1, min(_DECOYS, len(present))).astype(np.int64)]
    wanted = np.zeros(sides.n_entities, dtype=bool)
    wanted[chosen] = True
    decoys = sides.of_entities(wanted)
    times = [
        np.where(time == ABSENT, ABSENT, other[time]) if len(other) else time
        for time, other in zip(decoys.times, others, strict=True)
    ]
    return replace(decoys, other=_as_frequent(sides.other, content)[decoys.other], times=tuple(times))


def _content(sides: FactSides) -> NDArray[np.uint64]:
    """A number for each entity that depends on the dates of its facts and on nothing else, such as row numbers."""
    content = np.zeros(sides.n_entities, dtype=np.uint64)
    for kind, time in enumerate(sides.times):
        np.add.at(content, sides.entity, mixed(time + sides.direction * 2**40 + kind * 2**41))
    return content
