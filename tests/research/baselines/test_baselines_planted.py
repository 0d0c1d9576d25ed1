"""Every baseline finds planted pairs from a fifth of them, the same each time, whatever the order of the input."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch

from dualmatch.decode.similarity import Similarity
from dualmatch.errors import InputError, MissingExtraError
from dualmatch.evaluate import paper_ranking
from dualmatch.graph.model import TemporalGraph
from dualmatch.research.baselines import BASELINES, hyperbolic, multichannel, translational
from dualmatch.research.baselines.run import BaselineOptions, BaselineRun, run_baseline
from dualmatch.research.baselines.scores import SparseScores
from dualmatch.simulate import SimulatedPair, World, simulate

EASY = World(entities=60, mean_facts=12, common_share=0.9, missing_share=0.05, seed_share=0.2, seed=3)
EPOCHS = {
    **{"gcn-align": 40, "dual-amn": 20, "rrea": 20, "mraea": 60, "tea-gnn": 8, "stea": 15, "trea": 12, "ke-gcn": 40},
    **{"mtranse": 50, "jape": 100, "aligne": 20, "mugnn": 40, "hyperka": 350},
}
LEAST_H10 = {"mtranse": 60.0, "jape": 60.0, "aligne": 60.0, "mugnn": 50.0, "hyperka": 40.0}  # the others: 80


@pytest.fixture(scope="module", autouse=True)
def _small_steps() -> Iterator[None]:
    """An epoch of a small graph is one step where a real one takes a dozen, so those are larger here."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(translational, "_RATE", 0.1)
        patch.setattr(translational, "_BATCH", 200)
        patch.setattr(multichannel, "_RATE", 0.01)
        patch.setattr(hyperbolic, "_RATE", 0.0015)
        patch.setattr(hyperbolic, "_NEAR", 0.5)
        patch.setattr(hyperbolic, "_WARM_UP", 0)
        yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def easy() -> SimulatedPair:
    return simulate(EASY)


def run(name: str, pair: SimulatedPair, epochs: int | None = None, seed: int = 0) -> BaselineRun:
    options = BaselineOptions(name, seed, epochs or EPOCHS.get(name), dimension=32)
    return run_baseline(options, pair.source, pair.target, pair.seeds)


def values(found: BaselineRun) -> np.ndarray:
    scores = found.scores
    return scores.entries.toarray() if isinstance(scores, SparseScores) else _all_rows(scores)


def _all_rows(similarity: Similarity) -> np.ndarray:
    return np.asarray(similarity.rows(np.arange(similarity.shape[0])))


@pytest.mark.parametrize("name", BASELINES)
def test_a_planted_pair_is_found_far_above_chance(name: str, easy: SimulatedPair) -> None:
    found = paper_ranking(run(name, easy).plan, easy.test)
    assert found.h10 >= LEAST_H10.get(name, 80.0), found
    chance = 1 / len(easy.test)
    assert found.mrr >= 8 * chance, found


@pytest.mark.parametrize("name", BASELINES)
def test_the_same_seed_gives_the_same_bytes(name: str, easy: SimulatedPair) -> None:
    one, other, third = (values(run(name, easy, 2, seed)) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, other)
    assert np.array_equal(one, third) != BASELINES[name].has_chance


def shuffled(graph: TemporalGraph, rng: np.random.Generator) -> tuple[TemporalGraph, np.ndarray]:
    """The same graph with its entities, relations and facts in another order, and the new row of each entity."""
    row, relation_row = rng.permutation(graph.n_entities), rng.permutation(graph.n_relations)
    facts = rng.permutation(graph.n_facts)
    entities, relations = np.empty(graph.n_entities, object), np.empty(graph.n_relations, object)
    entities[row], relations[relation_row] = graph.entities, graph.relations
    columns = {"head": row[graph.head], "relation": relation_row[graph.relation], "tail": row[graph.tail]}
    columns |= {"begin": graph.begin, "end": graph.end}
    moved = {name: column[facts] for name, column in columns.items()}
    return replace(graph, **moved, entities=tuple(entities), relations=tuple(relations)), row


@pytest.mark.parametrize("name", ["lightea", "lighttea", "paris"])
def test_the_order_of_the_input_does_not_matter(name: str, easy: SimulatedPair) -> None:
    """Their only chance is in the labels of the seeds and in projections, which keep their order."""
    rng = np.random.default_rng(5)
    (source, row), (target, column) = shuffled(easy.source, rng), shuffled(easy.target, rng)
    seeds = np.stack([row[easy.seeds[:, 0]], column[easy.seeds[:, 1]]], axis=1).astype(np.int32)
    moved = replace(easy, source=source, target=target, gold=seeds)
    options = BaselineOptions(name, dimension=32)
    found = run_baseline(options, moved.source, moved.target, seeds)
    np.testing.assert_allclose(values(found)[np.ix_(row, column)], values(run(name, easy)), atol=1e-4)


def test_entities_without_facts_and_undated_facts_do_no_harm() -> None:
    """Every division is guarded: no score is NaN."""
    pair = simulate(World(entities=30, mean_facts=4, undated_share=0.3, seed_share=0.2, seed=1))
    alone = replace(pair.source, entities=(*pair.source.entities, "nobody", "nobody else"))
    for name in BASELINES:
        found = run_baseline(BaselineOptions(name, epochs=1, dimension=8), alone, pair.target, pair.seeds)
        assert np.isfinite(values(found)).all(), name


def test_what_cannot_run_is_refused_in_words(easy: SimulatedPair, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="rrea learns from seed pairs and cannot run without"):
        run_baseline(BaselineOptions("rrea"), easy.source, easy.target, easy.seeds[:0])
    timeless = TemporalGraph.from_facts([("Ada", "met", "Charles")])
    with pytest.raises(InputError, match=r"no fact has a time.*method stea compares times"):
        run_baseline(BaselineOptions("stea"), timeless, timeless, np.array([[0, 0]], np.int32))
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"method rrea needs torch.*\[gnn\]"):
        run_baseline(BaselineOptions("rrea"), easy.source, easy.target, easy.seeds)


def test_epochs_are_fixed_beforehand() -> None:
    for name, baseline in BASELINES.items():
        assert baseline.affordable <= baseline.published, name
        assert baseline.epochs() == baseline.affordable
        assert baseline.epochs(7) == (7 if baseline.trains else 0)
        assert baseline.epochs(quick=True) <= max(2, baseline.affordable // 50)
