"""The paper's appendix "Example of Calculation": its graph, and its matrices quoted as printed (two decimals)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dualmatch.graph.model import TemporalGraph

ENTITIES = (
    "Federal Judge (Argentina)",
    "Nordic Council",
    "France",
    "Javier Solana",
    "Japan",
    "Head of Government (Ukraine)",
)
TIMES = ("2010-04-24", "2007-09-29", "2005-04-16", "2007-05-10", "2005-07-20")
RELATIONS = (
    "Reject judicial cooperation",
    "Make an appeal or request",
    "Sign formal agreement",
    "Host a visit",
    "Make a visit",
)
# Edges 0→2, 1→2, 2→3, 4→5, 5→4; the times of the outgoing edges are 0, 2, 1, –, 4, 3.
EDGES = ((0, 2, 0), (1, 2, 2), (2, 3, 1), (4, 5, 4), (5, 4, 3))
FACTS = [(ENTITIES[h], RELATIONS[k], ENTITIES[t], TIMES[m]) for k, (h, t, m) in enumerate(EDGES)]


def graph() -> TemporalGraph:
    """The example's graph, with its entities numbered as in the appendix."""
    plain = TemporalGraph.from_facts(FACTS)
    number = np.array([ENTITIES.index(name) for name in plain.entities], dtype=np.int32)
    return TemporalGraph(
        number[plain.head], plain.relation, number[plain.tail], plain.begin, plain.end, ENTITIES, plain.relations
    )


def time_columns(interval: NDArray[np.int64]) -> NDArray[np.int64]:
    """Column of each of the appendix's times 0…4 in our numbering of intervals."""
    columns = np.zeros(len(TIMES), dtype=np.int64)
    for fact, (_, _, time) in enumerate(EDGES):
        columns[time] = interval[fact]
    return columns


A_T = np.array(
    [
        [0.40, 0.15, 0.15, 0.15, 0.15],
        [0.15, 0.15, 0.40, 0.15, 0.15],
        [0.15, 0.40, 0.15, 0.15, 0.15],
        [0.20, 0.20, 0.20, 0.20, 0.20],
        [0.15, 0.15, 0.15, 0.15, 0.40],
        [0.15, 0.15, 0.15, 0.40, 0.15],
    ]
)
A = np.array(
    [
        [0, 0, 1, 0, 0, 0],
        [0, 0, 1, 0, 0, 0],
        [0, 0, 0, 1, 0, 0],
        [0, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 1],
        [0, 0, 0, 0, 1, 0],
    ]
)
H_T = np.array(
    [
        [0.40, 0.15, 0.15, 0.15, 0.15, 0.15, 0.40, 0.15, 0.15, 0.15],
        [0.15, 0.15, 0.40, 0.15, 0.15, 0.15, 0.40, 0.15, 0.15, 0.15],
        [0.15, 0.40, 0.15, 0.15, 0.15, 0.20, 0.20, 0.20, 0.20, 0.20],
        [0.20, 0.20, 0.20, 0.20, 0.20, 0.00, 0.00, 0.00, 0.00, 0.00],
        [0.15, 0.15, 0.15, 0.15, 0.40, 0.15, 0.15, 0.15, 0.40, 0.15],
        [0.15, 0.15, 0.15, 0.40, 0.15, 0.15, 0.15, 0.15, 0.15, 0.40],
    ]
)
H_R = np.array(
    [
        [0.30, 0.44, 0.33, 0.40, 0.61, 0.35, 0.70, 0.85, 0.32, 0.56],
        [0.81, 0.61, 0.97, 0.84, 0.53, 0.00, 0.76, 0.44, 0.19, 0.45],
        [0.44, 0.51, 0.70, 0.72, 0.59, 0.21, 0.38, 0.88, 0.90, 0.67],
        [0.13, 0.21, 0.77, 0.25, 0.44, 0.71, 0.66, 0.37, 0.35, 0.61],
        [0.33, 0.33, 0.70, 0.29, 0.79, 0.51, 0.78, 0.60, 0.24, 0.59],
        [0.65, 0.94, 0.77, 1.00, 0.50, 0.56, 0.50, 0.38, 0.54, 0.34],
    ]
)
P_T = np.array(
    [
        [0.50, 0.44, 0.39, 0.20, 0.37, 0.37],
        [0.44, 0.50, 0.39, 0.20, 0.37, 0.37],
        [0.39, 0.39, 0.45, 0.20, 0.39, 0.39],
        [0.20, 0.20, 0.20, 0.20, 0.20, 0.20],
        [0.37, 0.37, 0.39, 0.20, 0.50, 0.37],
        [0.37, 0.37, 0.39, 0.20, 0.37, 0.50],
    ]
)
P = np.array(
    [
        [2.70, 2.72, 3.00, 2.24, 2.72, 2.81],
        [2.72, 3.97, 3.41, 2.42, 2.98, 3.75],
        [3.00, 3.41, 4.03, 2.59, 3.02, 3.67],
        [2.24, 2.42, 2.59, 2.49, 2.61, 2.60],
        [2.72, 2.98, 3.02, 2.61, 3.04, 2.97],
        [2.81, 3.75, 3.67, 2.60, 2.97, 4.26],
    ]
)
D_TEMPORAL, D_BOTH = 4.61, 667.57
H1_TEMPORAL, H1_BOTH = 100.0, 66.7
