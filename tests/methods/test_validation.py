"""Known pairs in every form users have them in."""

import numpy as np
import pytest

from dualmatch import InputError, TemporalGraph
from dualmatch.methods.validation import check_pairs

GRAPH = TemporalGraph.from_facts([("a", "r", "b", "2000"), ("b", "r", "c", "2001")], name="left")


@pytest.mark.parametrize("pairs", [np.array([[0, 1], [2, 0]]), [(0, 1), (2, 0)], [("a", "b"), ("c", "a")]])
def test_rows_tuples_of_rows_and_names_are_the_same(pairs: object) -> None:
    assert check_pairs(pairs, GRAPH, GRAPH).tolist() == [[0, 1], [2, 0]]


@pytest.mark.parametrize("pairs", [None, [], np.zeros((0, 2), int)])
def test_no_pairs(pairs: object) -> None:
    assert check_pairs(pairs, GRAPH, GRAPH).shape == (0, 2)


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        (np.array([[0, 1, 2], [0, 1, 2]]), r"shape \(2, 3\); give two columns"),
        (np.array([[2**32, 0]]), "source row lies outside 0…2"),
        ([("a", "b"), ("a", "c")], "source entity 'a' stands in 2 pairs"),
        ([("a", "x")], "1 target entities are not in left, 'x' among them; mend the names"),
    ],
)
def test_what_is_no_set_of_pairs_is_refused(pairs: object, words: str) -> None:
    with pytest.raises(InputError, match=words):
        check_pairs(pairs, GRAPH, GRAPH)
