"""An open world: encode graphs that have grown since the encoder was trained, without training again."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from dualmatch.channels.relational.edges import build_structure, known_times
from dualmatch.channels.relational.train import Features, Pairs, Progress, Trainer, TrainingConfig, default_epochs
from dualmatch.graph.model import TemporalGraph

GraphPair = tuple[TemporalGraph, TemporalGraph]


def carried_over_embeddings(
    before: GraphPair,
    whole: GraphPair,
    rows: tuple[NDArray[np.integer], NDArray[np.integer]],
    seeds: Pairs,
    config: TrainingConfig,
    seed: int,
    progress: Progress | None = None,
) -> tuple[Features, Features]:
    """Train on the graphs `before`, then encode `whole`; entities, relations and times not seen keep random vectors.

    Parameters
    ----------
    rows:
        For each entity of the graphs before, its row in the whole ones.
    seeds: (n, 2)
        Pairs of rows of the graphs before.
    """
    if any(then.relations != now.relations for then, now in zip(before, whole, strict=True)):
        raise ValueError("the graphs before and after must list the same relations")
    trainer = Trainer(build_structure(*before), seeds, config, seed)
    epochs = config.epochs
    if epochs is None:
        epochs = default_epochs(len(seeds), min(graph.n_entities for graph in before), False, config.batch)
    while trainer.epoch < epochs:
        trainer.run_epoch(epochs, progress)
    later = Trainer(build_structure(*whole), np.zeros((0, 2), np.int64), config, seed)
    _carry_over(trainer, later, before, whole, rows)
    return later.features()


def _carry_over(
    trained: Trainer,
    later: Trainer,
    before: GraphPair,
    whole: GraphPair,
    rows: tuple[NDArray[np.integer], NDArray[np.integer]],
) -> None:
    """Copy what was learnt to where it belongs now."""
    old, new = trained.encoder, later.encoder
    place = np.concatenate([rows[0], rows[1].astype(np.int64) + whole[0].n_entities])
    with torch.no_grad():
        new.entities[torch.from_numpy(place)] = old.entities
        new.relations.copy_(old.relations)
        if old.use_times and new.use_times:
            times = np.searchsorted(known_times(*whole), known_times(*before))
            new.times[torch.from_numpy(times)] = old.times
    new.entity_aspect.load_state_dict(old.entity_aspect.state_dict())
    new.relation_aspect.load_state_dict(old.relation_aspect.state_dict())
