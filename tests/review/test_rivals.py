"""What tells candidates from the pair that is shown: said as it is, for facts, dates and labels."""

from __future__ import annotations

import numpy as np
import pytest

from dualmatch import TemporalGraph, align
from dualmatch.explain.basis import basis_of
from dualmatch.methods.evidence.pair_evidence import Balance, PairEvidence
from dualmatch.review.pair_view import pair_view
from dualmatch.review.rivals import Shared, differences

GRAPH = TemporalGraph.from_facts(
    [
        ("Ada", "child of", "Dora"),
        ("Ada", "married", "Ben", "1813"),
        ("Ada", "lived in", "Rome", "1800"),
        ("Ada", "died in", "Rome", "1843"),
        ("Ada", "born", None, "1790"),
    ]
)
CHILD, MARRIED, LIVED, DIED, BORN = 0, 1, 2, 3, 2 * GRAPH.n_facts


def shared(weights: dict[int, float], *unnamed: int, names: float = 0.0) -> Shared:
    """What counts, and facts that match and count for next to nothing."""
    sides = np.array([*weights], dtype=np.int64)
    evidence = PairEvidence(sides, sides, np.array([*weights.values()], dtype=float), Balance(names=names))
    matching = [side for side, weight in weights.items() if weight >= 0]
    return Shared(evidence, np.array([*matching, *unnamed], dtype=np.int64), ("A. Low", "Ada Low"))


@pytest.mark.parametrize(
    ("candidate", "pair", "said"),
    [
        (shared({CHILD: 6.0}), shared({CHILD: 6.2}), []),  # both have it, and it hardly counts less
        (shared({CHILD: 4.0}), shared({CHILD: 6.0}), [("counts less", "child of → Dora", -2.0)]),
        (shared({CHILD: 6.0}), shared({CHILD: 4.0}), [("counts more", "child of → Dora", 2.0)]),
        (shared({}), shared({CHILD: 6.0}), [("lacks", "child of → Dora", -6.0)]),
        (shared({CHILD: 6.0}), shared({}), [("has", "child of → Dora", 6.0)]),
        (shared({}), shared({CHILD: 0.4}), []),
        (shared({}, CHILD), shared({CHILD: 6.0}), [("counts less", "child of → Dora", -6.0)]),
        (shared({CHILD: 6.0}), shared({}, CHILD), [("counts more", "child of → Dora", 6.0)]),
        # Facts with the same neighbour count once: neither has one that the other lacks.
        (shared({LIVED: 2.0}), shared({DIED: 5.0}), [("counts less", "lived in → Rome, in 1800", -3.0)]),
        (shared({BORN: -4.0}), shared({BORN: 2.0}), [("contradicts", "born, in 1790", -6.0)]),
        (shared({BORN: -4.0}), shared({}), [("contradicts", "born, in 1790", -4.0)]),
        (shared({BORN: 2.0}), shared({BORN: -4.0}), [("has", "born, in 1790", 6.0)]),
        (shared({}), shared({BORN: -4.0}), [("does not contradict", "born, in 1790", 4.0)]),
        (shared({BORN: -4.0}), shared({BORN: -1.0}), [("contradicts more", "born, in 1790", -3.0)]),
        (shared({BORN: -1.0}), shared({BORN: -4.0}), [("contradicts less", "born, in 1790", 3.0)]),
        (shared({}, names=1.0), shared({}, names=4.0), [("labels count less", ("A. Low", "Ada Low"), -3.0)]),
        (shared({}, names=1.0), shared({}, names=-4.0), [("labels count more", ("A. Low", "Ada Low"), 5.0)]),
        (shared({}, names=1.0), shared({}, names=1.4), []),
        (
            shared({MARRIED: 3.0}, names=-2.0),
            shared({CHILD: 1.0, BORN: 0.1}),
            [
                ("has", "married → Ben, in 1813", 3.0),
                ("labels count less", ("A. Low", "Ada Low"), -2.0),
                ("lacks", "child of → Dora", -1.0),
            ],
        ),
    ],
)
def test_what_is_said_of_a_candidate(candidate: Shared, pair: Shared, said: list[tuple[str, object, float]]) -> None:
    found = differences(GRAPH, candidate, pair)
    assert [(each.how, each.texts or str(each.fact), pytest.approx(each.weight)) for each in found] == said


def test_a_candidate_does_not_lack_what_its_own_page_lists() -> None:
    """Two candidates share the parent; one has the marriage, too."""
    facts = [("Ada", "child of", "Dora"), ("Ada", "married", "Ben", "1813"), ("Dora", "lived in", "Rome", "1800")]
    more = [("Dora", "met", "Ben", "1801"), ("Ben", "lived in", "Rome", "1802")]
    source = TemporalGraph.from_facts([*facts, *more])
    target = TemporalGraph.from_facts([*facts, *more, ("Eve", "child of", "Dora")])
    basis = basis_of(align(source, target))
    ada, partner, rival = source.entity_rows["Ada"], target.entity_rows["Ada"], target.entity_rows["Eve"]
    said = {each.row: each.apart for each in pair_view(basis, ada, partner).candidates}
    own = {str(row.left.fact) for row in pair_view(basis, ada, rival).rows}
    assert "child of → Dora" in own
    assert ("lacks", "married → Ben, in 1813") in [(each.how, str(each.fact)) for each in said[rival]]
    assert not own & {str(each.fact) for each in said[rival] if each.how == "lacks"}
    assert said[partner] == ()
    other_way = {each.row: each.apart for each in pair_view(basis, ada, rival).candidates}
    assert ("has", "married → Ben, in 1813") in [(each.how, str(each.fact)) for each in other_way[partner]]
