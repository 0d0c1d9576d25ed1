"""Training of the Relational-Encoder: seed pairs in, comparable features of every entity out."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dualmatch.channels.relational import Checkpoint, CheckpointStore
from dualmatch.channels.relational.edges import Structure, build_structure, known_times
from dualmatch.channels.relational.layers import Encoder, EncoderShape, drop
from dualmatch.channels.relational.loss import LossShape, pair_loss
from dualmatch.errors import InputError
from dualmatch.graph.arrays import Dense
from dualmatch.graph.model import TemporalGraph

logger = logging.getLogger(__name__)

GraphPair = tuple[TemporalGraph, TemporalGraph]
Progress = Callable[[int, int, str], None]
Pairs = NDArray[np.integer]
RowsOfBoth = tuple[NDArray[np.integer], NDArray[np.integer]]

_FEW = 0.05  # seeds an entity below which seeds count as few
_LEAST_STEPS = 20


@dataclass(frozen=True)
class TrainingConfig:
    """How the encoder is trained; `epochs` None follows `default_epochs`."""

    epochs: int | None = None
    batch: int = 512
    learning_rate: float = 0.005
    dropout: float = 0.3
    device: str = "cpu"
    encoder: EncoderShape = field(default_factory=EncoderShape)
    loss: LossShape = field(default_factory=LossShape)


def default_epochs(n_seeds: int, n_entities: int, pseudo: bool, batch: int) -> int:
    """3 with pseudo-seeds (many, and some wrong), 10 with seeds for about a tenth of the entities, 20 with few.

    At least 20 steps are taken, as many as the published settings amount to, which small graphs would not reach.

    >>> default_epochs(9_782, 19_493, pseudo=True, batch=512), default_epochs(40, 400, pseudo=False, batch=512)
    (3, 20)
    """
    by_rule = 3 if pseudo else (10 if n_seeds >= _FEW * n_entities else 20)
    steps_an_epoch = -(-n_seeds // batch)
    return max(by_rule, -(-_LEAST_STEPS // steps_an_epoch))


def _epochs(config: TrainingConfig, seeds: Pairs, graphs: GraphPair, pseudo: bool) -> int:
    if config.epochs is not None:
        return config.epochs
    return default_epochs(len(seeds), min(graph.n_entities for graph in graphs), pseudo, config.batch)


def relational_embeddings(
    source: TemporalGraph,
    target: TemporalGraph,
    seeds: Pairs,
    config: TrainingConfig | None = None,
    *,
    pseudo: bool = False,
    seed: int = 0,
    progress: Progress | None = None,
    checkpoint: CheckpointStore | None = None,
) -> tuple[Dense, Dense]:
    """Train on the seed pairs and encode both graphs, in rows of length 1, so that S^r = h_s @ h_t.T.

    `pseudo`: whether the seeds were found rather than given; it decides the number of epochs. `seed`: the same seed,
    input and thread count give the same bytes on a CPU. `progress`: called with (steps done, steps in all, the loss in
    words) after every step. `checkpoint`: written after every epoch; training resumes from what it holds.

    >>> graph = TemporalGraph.from_facts([("Ada", "lived in", "London", "1835", "1852")])
    >>> h_source, h_target = relational_embeddings(graph, graph, np.array([[0, 0]]), TrainingConfig(epochs=1))
    >>> h_source.shape
    (2, 768)
    """
    config = config or TrainingConfig()
    if not len(seeds):
        raise InputError("the relational encoder cannot train without a seed pair; give seeds, or graphs with times")
    trainer = Trainer(build_structure(source, target), seeds, config, seed)
    saved = None if checkpoint is None else checkpoint.read()
    if saved is not None:
        trainer.restore(saved)
    epochs = _epochs(config, seeds, (source, target), pseudo)
    if trainer.epoch > epochs:
        raise InputError(
            f"the checkpoint has {trainer.epoch} epochs behind it, {epochs} were asked for; delete it to start again"
        )
    while trainer.epoch < epochs:
        trainer.run_epoch(epochs, progress)
        if checkpoint is not None:
            checkpoint.write(trainer.state())
    return trainer.features()


class Trainer:
    """An encoder with its optimiser, one epoch at a time."""

    def __init__(self, structure: Structure, seeds: Pairs, config: TrainingConfig, seed: int) -> None:
        self.structure, self.config, self.seed = structure, config, seed
        self.device = torch.device(config.device)
        self.rng = np.random.default_rng(seed)
        generator = torch.Generator().manual_seed(int(self.rng.integers(2**62)))
        self.encoder = Encoder(structure, config.encoder, generator, self.device)
        self.trained = {name: each for name, each in self.encoder.named_parameters() if each.requires_grad}
        self.optimiser = torch.optim.RMSprop(list(self.trained.values()), lr=config.learning_rate)
        self.seeds = np.asarray(seeds, dtype=np.int64) + np.array([0, structure.n_source])
        self.epoch = 0

    def run_epoch(self, epochs: int, progress: Progress | None = None) -> None:
        """One pass of `epochs` over the shuffled seeds, the last, smaller batch included."""
        steps = -(-len(self.seeds) // self.config.batch)
        losses = []
        for step, batch in enumerate(self._batches(), start=1):
            self.optimiser.zero_grad(set_to_none=True)
            everyone = drop(self.encoder(), self.config.dropout, self.rng)
            loss = pair_loss(everyone, batch, self.structure.n_source, self.config.loss)
            loss.backward()  # type: ignore[no-untyped-call]
            self.optimiser.step()
            losses.append(float(loss.detach()))
            if progress is not None:
                progress(self.epoch * steps + step, epochs * steps, f"loss {losses[-1]:.1f}")
        self.epoch += 1
        logger.info("epoch %d of %d: mean loss %.3f", self.epoch, epochs, np.mean(losses))

    def _batches(self) -> Iterator[Tensor]:
        shuffled = self.rng.permutation(self.seeds)
        for start in range(0, len(shuffled), self.config.batch):
            yield torch.from_numpy(shuffled[start : start + self.config.batch]).to(self.device)

    @torch.no_grad()
    def features(self) -> tuple[Dense, Dense]:
        """Rows of length 1, without dropout: source, target."""
        everyone = torch.nn.functional.normalize(self.encoder(), dim=1).cpu().numpy()
        return everyone[: self.structure.n_source], everyone[self.structure.n_source :]

    def state(self) -> Checkpoint:
        """What `restore` needs to resume with the same bytes."""
        arrays = {name: parameter.detach().cpu().numpy() for name, parameter in self.trained.items()}
        for name, parameter in self.trained.items():
            if parameter in self.optimiser.state:  # a parameter that never had a gradient has none
                arrays[f"square.{name}"] = self.optimiser.state[parameter]["square_avg"].cpu().numpy()
        return Checkpoint(self.epoch, arrays, dict(self.rng.bit_generator.state), self._fingerprint())

    def restore(self, checkpoint: Checkpoint) -> None:
        """Resume from a checkpoint of the same graphs, seeds and config."""
        if checkpoint.fingerprint != self._fingerprint():
            raise InputError(
                "the checkpoint is of another training (other graphs, seeds, options, --seed); delete it to start again"
            )
        arrays = checkpoint.arrays
        for name, parameter in self.trained.items():
            for values in (arrays.get(name), arrays.get(f"square.{name}", arrays.get(name))):
                if values is None or values.dtype != np.float32 or values.shape != tuple(parameter.shape):
                    raise InputError(f"the checkpoint is damaged (array {name}); delete it to start anew")
        try:
            self.rng.bit_generator.state = checkpoint.rng
        except (TypeError, ValueError, KeyError, OverflowError):
            raise InputError("the checkpoint is damaged (its generator); delete it to start anew") from None
        with torch.no_grad():
            for name, parameter in self.trained.items():
                parameter.copy_(torch.from_numpy(arrays[name]))
                square = arrays.get(f"square.{name}")
                if square is not None:
                    state = {"step": torch.tensor(0.0), "square_avg": torch.from_numpy(square).to(self.device)}
                    self.optimiser.state[parameter] = state
        self.epoch = checkpoint.epoch

    def _fingerprint(self) -> str:
        """Epochs and device are left out: training longer, or elsewhere, may resume from here."""
        config = {name: value for name, value in asdict(self.config).items() if name not in ("epochs", "device")}
        digest = hashlib.sha256(repr((self.seed, self.structure.n_source, sorted(config.items()))).encode())
        structure = self.structure
        members = (structure.relation_sets.members, structure.time_sets.members)
        sparse = (*members, structure.near_entities, structure.near_relations, structure.near_times)
        arrays = [self.seeds, structure.edges.indptr, structure.edges.neighbour]
        arrays += [structure.relation_sets.of_edge, structure.time_sets.of_edge]
        arrays += [part for matrix in sparse for part in (np.array(matrix.shape), matrix.indptr, matrix.indices)]
        for values in arrays:
            digest.update(np.ascontiguousarray(values).tobytes())
        return digest.hexdigest()


def flush_denormals() -> None:
    """Flush numbers too small for float32 to zero in this process: they slow products tenfold and mean nothing."""
    torch.set_flush_denormal(True)


def carried_over_embeddings(
    before: GraphPair,
    whole: GraphPair,
    rows: RowsOfBoth,
    seeds: Pairs,
    config: TrainingConfig,
    seed: int,
    progress: Progress | None = None,
) -> tuple[Dense, Dense]:
    """Train on the graphs `before`, then encode `whole`, which lists the same relations.

    Entities and times that were not seen keep random vectors. `rows` holds the row in `whole` of each entity `before`;
    `seeds` are pairs of rows `before`.
    """
    if any(then.relations != now.relations for then, now in zip(before, whole, strict=True)):
        raise ValueError("the graphs before and after must list the same relations")
    trainer = Trainer(build_structure(*before), seeds, config, seed)
    epochs = _epochs(config, seeds, before, False)
    while trainer.epoch < epochs:
        trainer.run_epoch(epochs, progress)
    later = Trainer(build_structure(*whole), np.zeros((0, 2), np.int64), config, seed)
    _carry_over(trainer, later, before, whole, rows)
    return later.features()


def _carry_over(trained: Trainer, later: Trainer, before: GraphPair, whole: GraphPair, rows: RowsOfBoth) -> None:
    """Copy what was learnt to its new rows."""
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
