"""Who is hidden: each pair once at most, the share asked for, whatever the order of rows or graphs."""

import numpy as np

from dualmatch.decode.hiding import SHARE, hidden
from dualmatch.decode.mixture import Scores


def world(n: int = 500) -> tuple[Scores, tuple[np.ndarray, np.ndarray], np.ndarray]:
    rng = np.random.default_rng(8)
    pairs = np.stack([rng.permutation(n), rng.permutation(n)], axis=1)
    weights = rng.random(n) + 0.5, rng.random(n) + 0.5
    return Scores(rng.normal(size=n), np.zeros(n), np.ones(n)), weights, pairs


def test_folds_hide_every_pair_once_and_half_of_them_on_either_side() -> None:
    folds = list(hidden(*world(), folds=5))
    lost = np.array([[target.sum(), source.sum()] for target, source in folds])
    assert lost.sum() == 500
    assert (sum(target | source for target, source in folds) == 1).all()
    assert not any((target & source).any() for target, source in folds)
    np.testing.assert_allclose(lost.sum(axis=1), SHARE * 500, atol=3)
    assert 0.4 < lost[:, 0].sum() / 500 < 0.6


def test_small_samples_take_all_folds_and_large_ones_one() -> None:
    for n, folds in ((300, 5), (1000, 3), (5000, 1)):
        assert len(list(hidden(*world(n)))) == folds


def test_pairs_that_do_not_tell_the_graphs_apart_are_hidden_only_where_most_are_such() -> None:
    scores, (source, target), pairs = world(200)
    target[pairs[:60, 1]] = source[pairs[:60, 0]]
    few = sum(lost | kept for lost, kept in hidden(scores, (source, target), pairs, folds=5))
    assert not few[:60].any()
    assert few[60:].all()
    target[pairs[:, 1]] = source[pairs[:, 0]]
    assert sum(lost | kept for lost, kept in hidden(scores, (source, target), pairs, folds=5)).all()


def test_neither_the_order_of_pairs_nor_swapped_graphs_change_who_is_hidden() -> None:
    scores, weights, pairs = world()
    (target, source), *_ = hidden(scores, weights, pairs, folds=2)
    (swapped_target, swapped_source), *_ = hidden(scores, weights[::-1], pairs[:, ::-1], folds=2)
    np.testing.assert_array_equal(swapped_target, source)
    np.testing.assert_array_equal(swapped_source, target)
    order = np.random.default_rng(1).permutation(len(pairs))
    shuffled = Scores(scores.score[order], scores.weight[order], scores.share[order])
    (later, _), *_ = hidden(shuffled, weights, pairs[order], folds=2)
    np.testing.assert_array_equal(later, target[order])
