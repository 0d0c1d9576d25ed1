"""Training end to end: planted answers, determinism, checkpoints, graphs without times, unequal sizes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dualmatch.channels.relational.edges import build_structure
from dualmatch.channels.relational.layers import EncoderShape
from dualmatch.channels.relational.train import Trainer, TrainingConfig, default_epochs, relational_embeddings
from dualmatch.errors import InputError
from dualmatch.files.npz import load_arrays, write_arrays
from dualmatch.graph.model import TemporalGraph
from dualmatch.graph.times import UNKNOWN, encode_date
from dualmatch.methods.run_store import CheckpointFile

torch.set_num_threads(1)  # small tensors: threads only get in each other's way

SMALL = TrainingConfig(epochs=2, batch=8, encoder=EncoderShape(dimension=8, proxies=4))


def world(n: int, facts: int, rng: np.random.Generator, dated: bool = True) -> TemporalGraph:
    head, tail = rng.integers(n, size=(2, facts))
    year = (
        np.array([encode_date(int(y)) for y in rng.integers(1900, 2000, size=facts)])
        if dated
        else np.full(facts, UNKNOWN)
    )
    names = tuple(f"e{i}" for i in range(n))
    return TemporalGraph(head, rng.integers(6, size=facts), tail, year, year, names, tuple(f"r{i}" for i in range(6)))


def shuffled(graph: TemporalGraph, rng: np.random.Generator) -> tuple[TemporalGraph, np.ndarray]:
    """A copy with its entities, relations and facts in another order; and where each entity went."""
    went, relation, order = (
        rng.permutation(graph.n_entities),
        rng.permutation(graph.n_relations),
        rng.permutation(graph.n_facts),
    )
    columns = (went[graph.head], relation[graph.relation], went[graph.tail], graph.begin, graph.end)
    copy = TemporalGraph(*(column[order] for column in columns), graph.entities, graph.relations)
    return copy, np.stack([np.arange(graph.n_entities), went], axis=1)


@pytest.mark.parametrize("dated", [True, False])
def test_shuffled_copy_is_found_from_a_tenth_of_its_pairs(dated: bool) -> None:
    rng = np.random.default_rng(0)
    graph = world(400, 2400, rng, dated)
    copy, truth = shuffled(graph, rng)
    h_source, h_target = relational_embeddings(
        graph, copy, truth[:40], TrainingConfig(encoder=EncoderShape(dimension=64))
    )
    found = sinkhorn(h_source @ h_target.T).argmax(axis=1)
    assert (found[40:] == truth[40:, 1]).mean() >= 0.99


def sinkhorn(similarity: np.ndarray) -> np.ndarray:
    """Without it a few hubs win many rows: 41 % instead of all here."""
    p = np.exp(50 * similarity)
    for _ in range(10):
        p /= p.sum(axis=1, keepdims=True)
        p /= p.sum(axis=0)
    return p


def test_rows_have_length_one_and_sizes_may_differ() -> None:
    rng = np.random.default_rng(1)
    h_source, h_target = relational_embeddings(
        world(30, 60, rng), world(17, 40, rng), np.array([[0, 1], [2, 3]]), SMALL
    )
    assert h_source.shape == (30, 48)
    assert h_target.shape == (17, 48)
    assert h_source.dtype == np.float32
    assert np.allclose(np.linalg.norm(h_source, axis=1), 1, atol=1e-5)
    assert np.isfinite(h_target).all()


def test_one_graph_without_times_and_entities_without_facts() -> None:
    rng = np.random.default_rng(2)
    h_source, h_target = relational_embeddings(
        world(40, 20, rng, dated=False), world(30, 40, rng), np.array([[0, 0]]), SMALL
    )
    assert np.isfinite(h_source).all()
    assert np.isfinite(h_target).all()


def test_same_seed_same_bytes_other_seed_other_bytes() -> None:
    rng = np.random.default_rng(3)
    graph, other = world(30, 90, rng), world(25, 80, rng)
    pairs = np.stack([np.arange(20), np.arange(20)], axis=1)
    first, second, third = (relational_embeddings(graph, other, pairs, SMALL, seed=seed)[0] for seed in (5, 5, 6))
    assert first.tobytes() == second.tobytes() != third.tobytes()


def test_training_goes_on_from_a_checkpoint_to_the_same_bytes(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    graph, other = world(30, 90, rng), world(25, 80, rng)
    pairs = np.stack([np.arange(20), np.arange(20)], axis=1)
    steps: list[tuple[int, int, str]] = []
    whole = relational_embeddings(graph, other, pairs, SMALL, progress=lambda *step: steps.append(step))
    assert [step[:2] for step in steps] == [(done, 6) for done in range(1, 7)]
    assert all(step[2].startswith("loss ") for step in steps)
    path = tmp_path / "training.npz"
    half = TrainingConfig(epochs=1, batch=8, encoder=SMALL.encoder)
    relational_embeddings(graph, other, pairs, half, checkpoint=CheckpointFile(path))
    resumed = relational_embeddings(graph, other, pairs, SMALL, checkpoint=CheckpointFile(path))
    assert whole[0].tobytes() == resumed[0].tobytes()
    assert whole[1].tobytes() == resumed[1].tobytes()
    assert [file.name for file in tmp_path.iterdir()] == ["training.npz"]
    with pytest.raises(InputError, match="another training"):
        relational_embeddings(graph, other, pairs[:-1], SMALL, checkpoint=CheckpointFile(path))


@pytest.mark.parametrize(
    "change",
    [
        lambda about, arrays: about.update(epoch=-(10**30)),
        lambda about, arrays: about.update(epoch=0.5),
        lambda about, arrays: about.update(rng={"bit_generator": "PCG64", "state": {}}),
        lambda about, arrays: about.update(rng=[]),
        lambda about, arrays: arrays.pop(max(name for name in arrays if "square" not in name)),
        lambda about, arrays: arrays.update({name: array[:1] for name, array in arrays.items()}),
        lambda about, arrays: arrays.update({name: array.astype("U3") for name, array in arrays.items()}),
        lambda about, arrays: arrays.update(
            {name: array[..., None] if "square" in name else array for name, array in arrays.items()}
        ),
    ],
)
def test_a_checkpoint_that_was_changed_is_refused(
    tmp_path: Path, change: Callable[[dict[str, Any], dict[str, Any]], object]
) -> None:
    rng = np.random.default_rng(6)
    graph, path, pairs = world(9, 9, rng), tmp_path / "training.npz", np.array([[0, 0]])
    relational_embeddings(graph, graph, pairs, SMALL, checkpoint=CheckpointFile(path))
    stored = load_arrays(path)
    change(stored.about, stored.arrays)
    write_arrays(path, stored.about, stored.arrays)
    with pytest.raises(InputError, match=r"delete it to (start|train from scratch)"):
        relational_embeddings(graph, graph, pairs, SMALL, checkpoint=CheckpointFile(path))


def test_broken_checkpoint_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "training.npz"
    path.write_bytes(b"not a checkpoint")
    rng = np.random.default_rng(5)
    with pytest.raises(InputError, match="delete it"):
        relational_embeddings(
            world(9, 9, rng), world(9, 9, rng), np.array([[0, 0]]), SMALL, checkpoint=CheckpointFile(path)
        )


def test_no_seeds_is_an_error() -> None:
    rng = np.random.default_rng(6)
    with pytest.raises(InputError, match="without a seed pair"):
        relational_embeddings(world(9, 9, rng), world(9, 9, rng), np.empty((0, 2), np.int64), SMALL)


def test_ablation_switches_change_the_result() -> None:
    rng = np.random.default_rng(7)
    structure = build_structure(world(30, 90, rng), world(25, 80, rng))
    pairs = np.stack([np.arange(20), np.arange(20)], axis=1)
    results = set()
    for switch in (
        {},
        {"reflect_relations": False},
        {"reflect_times": False},
        {"time_aspect": False},
    ):
        trainer = Trainer(
            structure, pairs, TrainingConfig(batch=8, encoder=EncoderShape(dimension=8, proxies=4, **switch)), 0
        )
        trainer.run_epoch(1)
        results.add(trainer.features()[0].tobytes())
    assert len(results) == 4


def test_default_epochs_follow_the_published_settings_and_never_stop_before_twenty_steps() -> None:
    assert default_epochs(9782, 19493, True, 512) == 3
    assert default_epochs(2000, 19493, False, 512) == 10
    assert default_epochs(400, 19493, False, 512) == 20
    assert default_epochs(40, 400, False, 512) == 20
    assert default_epochs(40, 400, False, 8) == 10
