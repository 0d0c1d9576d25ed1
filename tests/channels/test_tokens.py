"""Tokens of some entities: the same as those entities' part of everybody's tokens, for less."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse as sp

from dualmatch.channels.evidence.candidates import (
    Scored,
    _ByToken,
    _dearest_within,
    find_candidates,
    scored_tokens,
)
from dualmatch.channels.evidence.fact_views import FactSides, TimeKind, fact_sides
from dualmatch.channels.evidence.tokens import Knowledge, SoftPairs, TokenBuilder
from dualmatch.simulate import SimulatedPair, World, simulate

PAIR = simulate(World(entities=200, mean_facts=6, year_only_share=0.3, unmatched_source=0.2, seed=11))


def sides_of(pair: SimulatedPair) -> tuple[FactSides, FactSides, tuple[TimeKind, ...]]:
    return fact_sides(pair.source, pair.target)


def knowledge(n_pairs: int) -> Knowledge:
    left, right, _ = sides_of(PAIR)
    known = PAIR.gold[:n_pairs].astype(np.int64)
    soft = SoftPairs(known[:, 0], known[:, 1], np.linspace(0.5, 1.0, n_pairs))
    return Knowledge(soft, np.arange(left.n_directed) % 7, np.arange(right.n_directed) % 5)


@pytest.mark.parametrize("known", [None, knowledge(60)], ids=["times alone", "with neighbours"])
@pytest.mark.parametrize("after_a_whole_round", [False, True])
def test_some_entities_tokens_are_their_part_of_all(known: Knowledge | None, after_a_whole_round: bool) -> None:
    left, right, kinds = sides_of(PAIR)
    rng = np.random.default_rng(3)
    among = tuple(np.sort(rng.choice(sides.n_entities, 60, replace=False)) for sides in (left, right))
    builder = TokenBuilder(left, right, kinds)
    whole = (builder if after_a_whole_round else TokenBuilder(left, right, kinds)).build(known)
    part = builder.build(known, (among[0], among[1]), whole.smoothing)
    of_all, of_some = scored_tokens(whole), scored_tokens(part)
    everything = (of_all.source @ of_all.target.T).toarray()[np.ix_(*among)]
    assert (of_some.source @ of_some.target.T).toarray() == pytest.approx(everything, abs=1e-6)
    assert part.source.shape[1] < whole.source.shape[1]


def test_a_search_of_some_entities_leaves_out_what_would_cost_several_times_its_budget(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What all entities were searched by was cheap; since then they have learnt of neighbours, and these of others."""
    left, right, kinds = sides_of(PAIR)
    among = np.arange(0, left.n_entities, 2), np.arange(0, right.n_entities, 2)
    tokens = TokenBuilder(left, right, kinds).build(knowledge(60), among, smoothing=1.0)
    dearest = float(tokens.cost.max()) + 1.0

    def products(scored: Scored) -> np.ndarray:
        return np.diff(scored.source.tocsc().indptr) * np.diff(scored.target.tocsc().indptr)

    everything = scored_tokens(tokens, dearest)
    assert everything.dearest == dearest
    every = products(everything)
    per_entity = every.sum() / (len(among[0]) + len(among[1]))
    monkeypatch.setattr("dualmatch.channels.evidence.candidates._PRODUCTS_PER_ENTITY", per_entity / 8)
    bounded = scored_tokens(tokens, dearest)
    left_over = products(bounded)
    assert 0 < left_over.sum() <= every.sum() / 2
    assert bounded.dearest < dearest
    assert ((left_over > 0) == ((every > 0) & (tokens.cost < bounded.dearest))).all()


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=12), st.integers(0, 60))
def test_tokens_are_used_from_the_cheapest_on_while_a_budget_lasts(sizes: list[tuple[int, int]], budget: int) -> None:
    source, target = (np.array([size[side] for size in sizes], dtype=np.float64) for side in (0, 1))
    cost = np.array([size[0] + 2.0 * size[1] for size in sizes])  # many cost as much as others

    def affordable(products: np.ndarray) -> float:
        """The least cost that cannot be paid together with all that is cheaper or costs as much."""
        every = [each for each in np.unique(cost) if products[cost <= each].sum() > budget]
        return min(every, default=np.inf)

    assert _dearest_within(budget, cost) == affordable(cost)
    assert _dearest_within(budget, cost, (source, target)) == affordable(source * target)


def test_candidates_of_some_entities_lie_among_them() -> None:
    left, right, kinds = sides_of(PAIR)
    among = np.arange(0, left.n_entities, 3), np.arange(1, right.n_entities, 2)
    tokens = TokenBuilder(left, right, kinds).build(knowledge(40), among, smoothing=1.0)
    found = find_candidates(scored_tokens(tokens), (left.n_entities, right.n_entities)).tocoo()
    assert found.nnz > 0
    assert found.shape == (left.n_entities, right.n_entities)
    assert set(found.row) <= set(among[0])
    assert set(found.col) <= set(among[1])


@pytest.mark.parametrize("many", [10**9, 1], ids=["in order", "by token"])
def test_the_best_of_each_row_are_those_of_the_dense_product(monkeypatch: pytest.MonkeyPatch, many: int) -> None:
    monkeypatch.setattr("dualmatch.channels.evidence.candidates._MANY_ENTITIES", many)
    scored = scored_tokens(TokenBuilder(*sides_of(PAIR)).build(knowledge(60)))
    found = find_candidates(scored, n_candidates=3).toarray()
    dense = (scored.source @ scored.target.T).toarray()
    for sums, kept in ((dense, found), (dense.T, found.T)):
        best = -np.sort(-sums, axis=1)[:, :3]
        assert -np.sort(-kept, axis=1)[:, :3] == pytest.approx(best, abs=1e-6)
    assert found[found > 0] == pytest.approx(dense[found > 0], abs=1e-6)


def test_entities_with_the_same_frequent_token_stand_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dualmatch.channels.evidence.candidates._MANY_ENTITIES", 1)
    tokens = np.array([[0, 1, 0], [1, 1, 0], [0, 0, 0], [1, 0, 0], [0, 1, 1]], dtype=np.float32)
    by_token = _ByToken.of(sp.csr_matrix(tokens))
    assert by_token.entity is not None
    assert by_token.entity.tolist() == [2, 3, 0, 1, 4]  # none; token 0; token 1, which most have
    assert by_token.matrix.toarray().tolist() == tokens[by_token.entity].T.tolist()
    nothing = _ByToken.of(sp.csr_matrix((4, 3), dtype=np.float32))
    assert nothing.matrix.nnz == 0


@pytest.mark.parametrize("many", [10**9, 1], ids=["in order", "by token"])
@pytest.mark.parametrize("among", [(np.zeros(0, np.int64), np.arange(5)), (np.zeros(0, np.int64),) * 2])
def test_nobody_has_no_tokens_in_common(
    monkeypatch: pytest.MonkeyPatch, among: tuple[np.ndarray, np.ndarray], many: int
) -> None:
    monkeypatch.setattr("dualmatch.channels.evidence.candidates._MANY_ENTITIES", many)
    left, right, kinds = sides_of(PAIR)
    tokens = TokenBuilder(left, right, kinds).build(None, among, smoothing=1.0)
    assert find_candidates(scored_tokens(tokens), (left.n_entities, right.n_entities)).nnz == 0


@pytest.mark.parametrize("among", [None, (np.arange(0, 150, 2), np.arange(1, 150, 3))], ids=["all", "some"])
def test_tokens_made_of_parts_of_the_pairs_are_those_of_all(
    monkeypatch: pytest.MonkeyPatch, among: tuple[np.ndarray, np.ndarray] | None
) -> None:
    left, right, kinds = sides_of(PAIR)
    rng = np.random.default_rng(5)  # an entity in several pairs, pairs in the order of their sources
    drawn = [np.sort(rng.integers(0, left.n_entities, 300)), rng.integers(0, right.n_entities, 300)]
    known = replace(knowledge(1), pairs=SoftPairs(drawn[0], drawn[1], rng.uniform(0.1, 1.0, 300)))
    whole = TokenBuilder(left, right, kinds).build(known, among, smoothing=1.0)
    monkeypatch.setattr("dualmatch.channels.evidence.tokens._SIDES_AT_ONCE", 500)
    assert len(known.pairs.cut(TokenBuilder(left, right, kinds)._n_sides)) > 5
    in_parts = TokenBuilder(left, right, kinds).build(known, among, smoothing=1.0)
    for one, other in ((whole.source, in_parts.source), (whole.target, in_parts.target)):
        assert one.shape == other.shape
        assert all(getattr(one, part).tobytes() == getattr(other, part).tobytes() for part in ("data", "indices"))
        assert one.indptr.tolist() == other.indptr.tolist()
    assert whole.cost.tolist() == in_parts.cost.tolist()


def test_pairs_are_cut_into_parts_of_about_as_many_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dualmatch.channels.evidence.tokens._SIDES_AT_ONCE", 10)
    n_sides = np.array([1, 2, 20, 0]), np.array([3, 1])
    pairs = SoftPairs(np.array([0, 0, 1, 2, 3]), np.array([0, 1, 1, 0, 1]), np.linspace(0.2, 1.0, 5))
    parts = pairs.cut(n_sides)
    assert len(parts) == 4  # 34 sides
    assert np.concatenate([part.source for part in parts]).tolist() == pairs.source.tolist()
    assert np.concatenate([part.target for part in parts]).tolist() == pairs.target.tolist()
    assert np.concatenate([part.weight for part in parts]).tolist() == pairs.weight.tolist()
    none = SoftPairs(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
    assert [len(part) for part in none.cut(n_sides)] == [0]
