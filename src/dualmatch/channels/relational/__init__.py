"""Relational-Encoder: the triple-aspect GNN of the paper and its training.

torch is imported when a training starts, never before: everything else of dualmatch works without it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from dualmatch.config import Config
from dualmatch.decode.similarity import FactorSimilarity
from dualmatch.errors import InputError, MissingExtraError
from dualmatch.graph.arrays import Dense, Pairs
from dualmatch.graph.model import TemporalGraph

if TYPE_CHECKING:
    from dualmatch.channels.relational.train import TrainingConfig

ALIKE_VOCABULARIES: Final = 0.5


def check_torch(method: str) -> None:
    """Report at once that torch is missing."""
    try:
        import torch  # noqa: F401
    except ModuleNotFoundError:
        raise MissingExtraError(
            f"method {method} needs torch, which is not installed; in a clone, run: pip install '.[gnn]'"
        ) from None


def check_training(config: Config) -> None:
    """Report at once what would stop a training later: torch or the device is missing."""
    check_torch(config.method)
    import torch

    try:
        torch.empty(0, device=config.device)
    except (RuntimeError, AssertionError) as error:
        raise InputError(
            f"option device: {config.device!r} is not available here ({str(error).splitlines()[0]}); use cpu"
        ) from None


def relational_similarity(
    source: TemporalGraph,
    target: TemporalGraph,
    seeds: Pairs,
    config: Config,
    *,
    pseudo: bool,
    progress: Callable[[int, int, str], None] | None = None,
    checkpoint: CheckpointStore | None = None,
) -> FactorSimilarity:
    """S^r: train the encoder on seed pairs, then compare all entities by cosine (see `train.relational_embeddings`)."""
    check_training(config)
    from dualmatch.channels.relational.train import relational_embeddings

    training = _training(source, target, config)
    return FactorSimilarity(
        *relational_embeddings(
            source, target, seeds, training, pseudo=pseudo, seed=config.seed, progress=progress, checkpoint=checkpoint
        )
    )


def carried_over_similarity(
    before: tuple[TemporalGraph, TemporalGraph],
    whole: tuple[TemporalGraph, TemporalGraph],
    rows: tuple[NDArray[np.integer], NDArray[np.integer]],
    seeds: Pairs,
    config: Config,
    progress: Callable[[int, int, str], None] | None = None,
) -> FactorSimilarity:
    """S^r of graphs that have grown since the encoder was trained; parameters as in `train.carried_over_embeddings`."""
    check_training(config)
    from dualmatch.channels.relational.train import carried_over_embeddings

    training = _training(*before, config)
    return FactorSimilarity(*carried_over_embeddings(before, whole, rows, seeds, training, config.seed, progress))


def _training(source: TemporalGraph, target: TemporalGraph, config: Config) -> TrainingConfig:
    from dualmatch.channels.relational.layers import EncoderShape
    from dualmatch.channels.relational.loss import LossShape
    from dualmatch.channels.relational.train import TrainingConfig

    reflection = config.reflection
    if reflection == "auto":
        # Reflecting by a relation's vector means the same on both sides only where relations correspond one to one.
        # Vocabularies of different size cannot; then reflection only blurs what neighbours say (docs/relational.md).
        fewer, more = sorted((source.n_relations, target.n_relations))
        reflection = "all" if fewer >= ALIKE_VOCABULARIES * more else "none"
    return TrainingConfig(
        epochs=config.epochs,
        batch=config.batch,
        learning_rate=config.learning_rate,
        dropout=config.dropout,
        device=config.device,
        loss=LossShape(both_graphs=config.negatives == "both"),
        encoder=EncoderShape(
            dimension=config.dimension,
            reflect_relations=reflection == "all",
            reflect_times=reflection in ("all", "times"),
            time_aspect=config.time_aspect,
        ),
    )


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """The state of a training between two epochs: all it needs to resume as if it had never stopped."""

    epoch: int  # epochs done
    arrays: dict[str, Dense]  # parameters and optimiser state by name
    rng: dict[str, Any]  # state of the numpy bit generator
    fingerprint: str  # hash of graphs, seeds and config: another training must not resume from here


class CheckpointStore(Protocol):
    """Somewhere to keep the latest checkpoint."""

    def read(self) -> Checkpoint | None: ...

    def write(self, checkpoint: Checkpoint) -> None: ...
