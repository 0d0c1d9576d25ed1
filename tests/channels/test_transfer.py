"""An open world: what was learnt stays where it belongs, what is new starts at random."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from dualmatch.channels.relational.edges import build_structure, known_times
from dualmatch.channels.relational.layers import EncoderShape
from dualmatch.channels.relational.train import (
    Trainer,
    TrainingConfig,
    _carry_over,
    carried_over_embeddings,
    relational_embeddings,
)
from dualmatch.graph.model import TemporalGraph
from dualmatch.graph.times import parse_date
from dualmatch.research.experiments.open_world import graph_before
from dualmatch.simulate import World, simulate

torch.set_num_threads(1)

SMALL = TrainingConfig(epochs=3, batch=16, encoder=EncoderShape(dimension=8, proxies=4))
PAIR = simulate(World(entities=60, mean_facts=4, min_facts=1, seed=4))


def cut(graph: TemporalGraph, day: str = "2013-01-01") -> tuple[TemporalGraph, np.ndarray]:
    return graph_before(graph, parse_date(day))


def test_where_nothing_is_new_nothing_changes() -> None:
    """Trained on all there is, carried over to the same: the features of plain training."""
    graphs = PAIR.source, PAIR.target
    rows = tuple(np.arange(graph.n_entities) for graph in graphs)
    seeds = PAIR.gold[:20]
    carried = carried_over_embeddings(graphs, graphs, rows, seeds, SMALL, seed=3)
    plain = relational_embeddings(*graphs, seeds, SMALL, seed=3)
    for one, other in zip(carried, plain, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


def test_known_vectors_go_where_they_belong_and_new_ones_are_random() -> None:
    (source, source_rows), (target, target_rows) = cut(PAIR.source), cut(PAIR.target)
    before, whole = (source, target), (PAIR.source, PAIR.target)
    assert source.n_entities < PAIR.source.n_entities
    nobody = np.zeros((0, 2), np.int64)
    old, new = (Trainer(build_structure(*graphs), nobody, SMALL, seed=1) for graphs in (before, whole))
    with torch.no_grad():
        for parameter in old.encoder.parameters():
            parameter.add_(100.0)
    _carry_over(old, new, before, whole, (source_rows, target_rows))
    place = np.concatenate([source_rows, target_rows + PAIR.source.n_entities])
    entities = new.encoder.entities.detach().numpy()
    np.testing.assert_array_equal(entities[place], old.encoder.entities.detach().numpy())
    unseen = np.setdiff1d(np.arange(len(entities)), place)
    assert len(unseen) > 0
    assert (np.abs(entities[unseen]) < 5).all()
    times = np.isin(known_times(*whole), known_times(*before))
    assert (new.encoder.times.detach().numpy()[times] > 50).all()
    assert (np.abs(new.encoder.times.detach().numpy()[~times]) < 5).all()


def test_graphs_must_list_the_same_relations() -> None:
    other = TemporalGraph.from_facts([("a", "r", "b", "1990")])
    with pytest.raises(ValueError, match="same relations"):
        carried_over_embeddings((other, other), (PAIR.source, PAIR.target), (np.arange(2),) * 2, PAIR.gold, SMALL, 0)
