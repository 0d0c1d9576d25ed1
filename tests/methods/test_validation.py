"""Known pairs in every form users have them in."""

import numpy as np
import pytest

from dualmatch import ConfigError, InputError, TemporalGraph, align
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
        (np.array([[2**32, 0]]), "source row is outside 0…2"),
        ([("a", "b"), ("a", "c")], "source entity 'a' is in 2 pairs"),
        ([("a", "b"), ("c",)], "not all pairs have two parts; give a source and a target for each"),
        ([("a", "x")], "1 target entity is not in left: 'x'; fix the names"),
    ],
)
def test_what_is_no_set_of_pairs_is_refused(pairs: object, words: str) -> None:
    with pytest.raises(InputError, match=words):
        check_pairs(pairs, GRAPH, GRAPH)


@pytest.mark.parametrize("forbid", [[("a",)], [5], [(1.5, 0)]])
def test_what_is_no_forbidden_pair_is_refused(forbid: object) -> None:
    with pytest.raises(InputError, match="forbidden pairs: "):
        align(GRAPH, GRAPH, forbid=forbid)


def test_options_that_the_method_does_not_read_are_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        align(GRAPH, GRAPH, alphas=(1.0,), hops=1, min_confidence=0.2)
    assert str(caught.value).splitlines() == [
        "option hops: method evidence does not read it; leave it out",
        "option alphas: method evidence does not read it; leave it out",
    ]
