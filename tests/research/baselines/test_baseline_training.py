"""Hand-made gradients, the originals' optimiser constants, and negatives that know nothing of tested pairs."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from dualmatch.channels.relational.edges import build_structure
from dualmatch.graph.model import TemporalGraph
from dualmatch.research.baselines import poincare, translational
from dualmatch.research.baselines.edge_attention import EdgeGraph, EdgeVectors
from dualmatch.research.baselines.hyperbolic import _met
from dualmatch.research.baselines.row_products import inner, squares
from dualmatch.research.baselines.training import (
    WeightedPattern,
    adagrad,
    dots,
    manhattan,
    rmsprop,
    truncated_normal,
    weighted_sum,
)
from dualmatch.research.baselines.views import Task, bridged_adjacency
from dualmatch.simulate import World, simulate


def doubles(*shape: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).requires_grad_(True)


@pytest.fixture
def pattern() -> WeightedPattern:
    row, column = np.array([0, 0, 2, 2, 2, 3]), np.array([1, 4, 0, 1, 4, 2])
    return WeightedPattern(row, column, (5, 5))


def test_gradients_of_sparse_products(pattern: WeightedPattern) -> None:
    assert torch.autograd.gradcheck(lambda w, x: weighted_sum(pattern, w, x), (doubles(6), doubles(5, 3, seed=1)))
    assert torch.autograd.gradcheck(lambda a, b: dots(pattern, a, b), (doubles(5, 3), doubles(5, 3, seed=1)))


def test_gradient_of_the_l1_distance() -> None:
    left, right = torch.tensor([0, 1, 1, 3]), torch.tensor([2, 2, 0, 3])
    assert torch.autograd.gradcheck(lambda x: manhattan(x, left, right)[:3], (doubles(4, 3),))
    x = doubles(4, 3)
    expected = (x[left] - x[right]).abs().sum(1)
    torch.testing.assert_close(manhattan(x, left, right), expected)


def small() -> tuple[TemporalGraph, TemporalGraph]:
    pair = simulate(World(entities=12, mean_facts=4, seed=1))
    return pair.source, pair.target


def test_reflection_with_a_weight_an_edge_is_its_dense_twin() -> None:
    structure = build_structure(*small())
    graph = EdgeGraph(structure.edges)
    vectors = EdgeVectors(graph, structure.relation_sets)
    n, n_edges, n_sets = structure.n_entities, structure.edges.n_edges, structure.relation_sets.n_sets
    h, v, weight = doubles(n, 3), doubles(n_sets, 3, seed=1), doubles(n_edges, seed=2)

    def reflected(h: torch.Tensor, v: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return vectors.reflect(weight, h, v, vectors.project(h, v))

    far, edge_vector = h[graph.pattern.column], v[vectors.set_of_edge]
    message = far - 2 * (far * edge_vector).sum(1, keepdim=True) * edge_vector
    expected = torch.zeros_like(h).index_add(0, graph.pattern.row, weight[:, None] * message)
    torch.testing.assert_close(reflected(h, v, weight), expected)
    assert torch.autograd.gradcheck(reflected, (h, v, weight))
    attention = graph.softmax(weight)
    torch.testing.assert_close(
        torch.zeros(n, dtype=torch.float64).index_add(0, graph.pattern.row, attention)[graph.pattern.row.unique()],
        torch.ones(len(graph.pattern.row.unique()), dtype=torch.float64),
    )


def one_step(optimiser: torch.optim.Optimizer, x: torch.Tensor) -> float:
    (3 * x).sum().backward()
    optimiser.step()
    return float(x.detach())


def test_optimisers_have_the_constants_of_the_originals() -> None:
    x = torch.zeros(1, requires_grad=True)
    assert one_step(adagrad([x], 0.01), x) == pytest.approx(-0.01 * 3 / np.sqrt(0.1 + 9), rel=1e-5)
    x = torch.zeros(1, requires_grad=True)
    assert one_step(rmsprop([x], 0.005), x) == pytest.approx(-0.005 * 3 / (np.sqrt(0.1 * 9) + 1e-7), rel=1e-5)


def test_truncated_normal_stays_within_two_deviations() -> None:
    values = truncated_normal(200, 50, 0.1, torch.Generator().manual_seed(0)).detach()
    assert float(values.abs().max()) <= 0.2
    assert 0.08 < float(values.std()) < 0.1


def task_of(pair_seed: int = 1) -> Task:
    pair = simulate(World(entities=40, mean_facts=5, seed_share=0.2, seed=pair_seed))
    return Task(pair.source, pair.target, pair.seeds, 8, 1)


def test_swapped_triples_have_the_partner_in_place() -> None:
    task = task_of()
    partner = {**dict(task.seeds.tolist()), **dict(task.seeds[:, ::-1].tolist())}
    expected = {tuple(triple) for triple in task.triples.tolist()}
    expected |= {(partner[h], r, t) for h, r, t in task.triples.tolist() if h in partner}
    expected |= {(h, r, partner[t]) for h, r, t in task.triples.tolist() if t in partner}
    assert {tuple(triple) for triple in translational.swapped_triples(task).tolist()} == expected


def test_neighbours_are_of_the_same_graph() -> None:
    task = task_of()
    vectors = torch.nn.functional.normalize(torch.randn(task.n, 4, generator=torch.Generator().manual_seed(0)), dim=1)
    lists = translational.nearest_in_graph(task, vectors, 5, block=7)
    drawn = translational.near_entities(task, lists, np.arange(task.n), 6)
    assert ((drawn < task.n_source) == (np.arange(task.n) < task.n_source)[:, None]).all()
    assert (drawn != np.arange(task.n)[:, None]).all()
    dot = (vectors[: task.n_source] @ vectors[: task.n_source].T).fill_diagonal_(-2)
    assert {*lists[0][3].tolist()} == {*dot[3].topk(5).indices.tolist()}


def test_the_poincare_ball() -> None:
    x, y = (poincare.exp0(doubles(6, 4, seed=seed)) for seed in (0, 1))
    torch.testing.assert_close(poincare.exp0(poincare.log0(x)), x)
    torch.testing.assert_close(poincare.mobius_add(-x, poincare.mobius_add(x, y)), y)  # left cancellation
    distance = poincare.poincare((x - y).square().sum(1), x.square().sum(1), y.square().sum(1))
    torch.testing.assert_close(distance, 2 * torch.atanh(poincare.mobius_add(-x, y).norm(dim=1)))
    r, t = (poincare.exp0(0.3 * doubles(2, 4, seed=seed)) for seed in (2, 3))
    pattern = WeightedPattern(np.array([0, 0, 1]), np.array([5, 2, 2]), (2, 6))
    moved = poincare.mobius_add(x[pattern.column], r[pattern.row])
    of = t[pattern.row]
    expected = poincare.poincare((moved - of).square().sum(1), moved.square().sum(1), of.square().sum(1))
    torch.testing.assert_close(poincare.moved_distance(pattern, r, t, x), expected)


def test_gradients_in_the_poincare_ball() -> None:
    x, y, z, one = ((0.2 * doubles(n, 4, seed=n + k)).detach().requires_grad_(True) for k, n in enumerate((5, 5, 5, 1)))
    pattern = WeightedPattern(np.array([0, 0, 1, 4]), np.array([3, 2, 2, 0]), (5, 5))
    for function in (poincare.exp0, poincare.log0, squares):
        assert torch.autograd.gradcheck(function, (x,))
    for function in (poincare.mobius_add, poincare.pair_distance, inner):
        assert torch.autograd.gradcheck(function, (x, y))
    assert torch.autograd.gradcheck(poincare.mobius_add, (x, one))
    assert torch.autograd.gradcheck(lambda x, y: poincare.far_distance(pattern, x, y), (x, y))
    assert torch.autograd.gradcheck(lambda r, t, x: poincare.moved_distance(pattern, r, t, x), (x, y, z))


def test_maps_of_the_ball_are_their_plain_twins() -> None:
    x, y = (poincare.exp0(doubles(6, 4, seed=seed)) for seed in (0, 1))
    xy, xx, yy = ((a * b).sum(1, keepdim=True) for a, b in ((x, y), (x, x), (y, y)))
    expected = ((1 + 2 * xy + yy) * x + (1 - xx) * y) / (1 + 2 * xy + xx * yy)
    torch.testing.assert_close(poincare.mobius_add(x, y), expected)
    far = torch.full((1, 3), 9.0, dtype=torch.float64)  # beyond what tanh tells from 1
    at_edge = poincare.exp0(far)
    assert float(at_edge.norm()) == pytest.approx(1 - 1e-5)
    assert float(poincare.mobius_add(at_edge, at_edge).norm()) <= 1 - 1e-5 + 1e-9
    zero = torch.zeros(1, 3, dtype=torch.float64, requires_grad=True)
    poincare.mobius_add(poincare.exp0(zero), poincare.log0(zero)).sum().backward()
    torch.testing.assert_close(zero.grad, torch.full_like(zero, 2.0))  # a bias starts at 0 and learns


def test_single_precision_is_enough_in_the_ball() -> None:
    """HyperKA was published in double precision."""
    exact = [(0.3 * doubles(40, 75, seed=seed)).detach().requires_grad_(True) for seed in (0, 1)]
    rounded = [x.detach().float().requires_grad_(True) for x in exact]
    with torch.no_grad():
        exact[1][0] = exact[0][0] + 1e-4  # near to each other
        rounded[1][0] = exact[1][0]
    for pair in (exact, rounded):
        x, y = (poincare.exp0(each / 4) for each in pair)
        (poincare.pair_distance(poincare.mobius_add(x, y), y) + poincare.pair_distance(x, y)).sum().backward()
    for one, other in zip(exact, rounded, strict=True):
        assert one.grad is not None
        assert other.grad is not None
        assert float((one.grad - other.grad).norm() / one.grad.norm()) < 1e-3


def test_rows_keep_only_the_columns_that_they_meet() -> None:
    adjacency = bridged_adjacency(task_of())
    rows = np.array([1, 4, 30])
    met, restricted = _met(adjacency[rows])
    assert {*met.tolist()} >= {*rows.tolist()}  # every entity has a loop
    expected = adjacency.toarray()[rows]
    np.testing.assert_array_equal(restricted.toarray(), expected[:, met])
    assert not np.delete(expected, met, axis=1).any()


def test_edges_between_seeds_are_in_both_graphs() -> None:
    task = task_of()
    found, own = bridged_adjacency(task).toarray() > 0, task.neighbours.toarray() > 0
    partner = np.arange(task.n)
    partner[task.seeds[:, 0]], partner[task.seeds[:, 1]] = task.seeds[:, 1], task.seeds[:, 0]
    seeds = np.flatnonzero(partner != np.arange(task.n))
    among = np.ix_(seeds, seeds)
    expected = own | np.eye(task.n, dtype=bool)
    expected[among] |= own[np.ix_(partner[seeds], partner[seeds])]
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(found, found.T)


def test_similarity_in_the_ball_orders_by_distance() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.uniform(-0.3, 0.3, (5, 4)), rng.uniform(-0.3, 0.3, (6, 4))
    found = poincare.PoincareSimilarity(x, y).rows(np.arange(5))
    a, b = (torch.from_numpy(side) for side in (x, y))
    squared = (a[:, None] - b).square().sum(2)
    distance = poincare.poincare(squared, a.square().sum(1)[:, None], b.square().sum(1)).numpy()
    np.testing.assert_array_equal(np.argsort(-found, axis=1), np.argsort(distance, axis=1))
    assert found.min() >= 0
    assert found.max() <= 1
