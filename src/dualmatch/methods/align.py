"""Algorithm 1 on one page: the only module that knows the order of the steps."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dualmatch.channels.relational import check_training, relational_similarity
from dualmatch.config import EXPLAINED, TRAINED, Config, Method
from dualmatch.decode.assignment import FoundPairs, mutual_best
from dualmatch.decode.forbidden import Forbidden
from dualmatch.decode.fusion import Decoded, decode, decode_naively, fuse
from dualmatch.decode.similarity import FactorSimilarity, Similarity, hold
from dualmatch.decode.sinkhorn import Plan, kernel_of, sinkhorn
from dualmatch.decode.sparse_sinkhorn import sharpness_of
from dualmatch.engine import Engine
from dualmatch.errors import ConfigError, InputError
from dualmatch.graph.arrays import Pairs
from dualmatch.graph.literals import LiteralPair
from dualmatch.graph.model import TemporalGraph
from dualmatch.methods.alignment import Alignment
from dualmatch.methods.context import MethodContext
from dualmatch.methods.evidence import EvidenceResult, align_by_evidence
from dualmatch.methods.evidence.problem import Problem, default_engine
from dualmatch.methods.resources import MOST_UNDERESTIMATED, check_memory, expected_bytes
from dualmatch.methods.run_store import CheckpointFile, NullStore, RunStore
from dualmatch.methods.validation import (
    ForbiddenPairs,
    KnownPairs,
    as_reading,
    check_deciding,
    check_forbidden,
    check_graphs,
    check_labels,
    check_pairs,
    labels_of,
    pairs_of_same_ids,
    warn_of_missing_labels,
    why_time_is_no_help,
    with_more_seeds,
)
from dualmatch.progress import Progress, Stages
from dualmatch.readers.read import Reading, Source
from dualmatch.readers.read_options import Names

logger = logging.getLogger(__name__)

MOSTLY_ALONE: Final = 0.65
"""Warn where more of the source entities than this seem to have no partner."""


def align(
    source: TemporalGraph | Reading | Source,
    target: TemporalGraph | Reading | Source,
    seeds: KnownPairs | None = None,
    *,
    same_ids: bool = False,
    forbid: ForbiddenPairs | None = None,
    literals: LiteralPair | None = None,
    names: Names = "auto",
    progress: Progress | None = None,
    checkpoint: str | Path | None = None,
    engine: Engine | None = None,
    store: RunStore | None = None,
    config: Config | Mapping[str, object] | None = None,
    **options: object,
) -> Alignment:
    """Find which entities of two temporal graphs are the same.

    Parameters
    ----------
    source, target:
        The two graphs, or what `read_graph` reads: data frames, tuples, paths of files. Read them with `read_graph`
        yourself if it needs options, such as `columns`, or with `read`, which keeps labels.
    seeds:
        Known pairs, if any: (n, 2) row numbers, or tuples of rows or of names.
    same_ids:
        Also take entities with the same id on both sides as seeds, unless seeds or forbidden pairs say otherwise.
    forbid:
        Pairs that must not be linked, in the same forms. A target of -1, or of None among names, says that the source
        has no partner.
    literals:
        Labels of both graphs to compare besides the facts (method evidence only), in place of `names`.
    names:
        ``"auto"``: compare labels if both inputs have some (files, data frames or what `read` returned, not graphs);
        ``"ids"``: compare the entity names themselves; ``"none"``: compare no names.
    progress:
        Called with (stage, steps done, steps in all, a note such as the loss), such as `dualmatch.show_progress`.
    checkpoint:
        A file that training is saved to after every epoch; where it exists, training resumes from it.
    engine:
        Where blocks are computed (methods evidence and fused): in this process by default, or on a
        `dualmatch.engine.cluster.Cluster`.
    store:
        Keeps the result of every stage; what it has kept already is not computed again
        (`dualmatch.runs.folder.RunFolder` keeps it in files).
    config, options:
        A whole `Config`, a dict of options, or some of them by name (``method="temporal"``, ``hops=2`` …); by name,
        only those that the method reads.

    Returns
    -------
    Alignment

    Raises
    ------
    InputError, ConfigError
        Both say what is wrong and what to do.

    Examples
    --------
    >>> from dualmatch import TemporalGraph, align
    >>> yago = TemporalGraph.from_facts([("Ada", "met", "Charles", "1833"), ("Charles", "wrote", "Book", "1864")])
    >>> wiki = TemporalGraph.from_facts([("Q9", "P50", "Q8", "1864"), ("Q7", "P2", "Q9", "1833")])
    >>> [(s, t) for s, t, _ in align(yago, wiki, method="temporal").links()]
    [('Ada', 'Q7'), ('Book', 'Q8'), ('Charles', 'Q9')]
    """
    config = Config.checked(**_given(config) | options) if options or not isinstance(config, Config) else config
    if names not in get_args(Names):
        raise ConfigError(f"option names: {names!r}; write {', '.join(map(repr, get_args(Names)))}")
    compared = names if literals is None and (config.method in EXPLAINED or names == "ids") else "none"
    readings = as_reading(source, "source", compared), as_reading(target, "target", compared)
    source, target = readings[0].graph, readings[1].graph
    if literals is None:
        literals = labels_of(*readings)
    check_graphs(source, target, config.method)
    check_deciding(config)
    if foreign := Config.refused_options(options, config.method):
        raise ConfigError(
            "\n".join(f"option {name}: method {config.method} does not read it; leave it out" for name in foreign)
        )
    check_labels(literals is not None, config.method)
    if engine is not None and not callable(getattr(engine, "map", None)):
        raise InputError(
            f"engine: {engine!r} is not an engine; give a dualmatch.engine.cluster.Cluster, or leave it out"
        )
    check_memory(source, target, config, elsewhere=engine is not None and engine.computes_elsewhere)
    if progress is not None and not callable(progress):
        raise InputError(f"progress: {progress!r} cannot be called; give dualmatch.show_progress, or leave it out")
    if literals is not None:
        warn_of_missing_labels(literals, source, target)
    if checkpoint is not None and config.method not in TRAINED:
        raise InputError(f"a checkpoint goes with methods that train, dualmatch and fused; {config.method} does not")
    if engine is not None and config.method not in EXPLAINED:
        raise InputError(
            f"an engine goes with methods evidence and fused; {config.method} computes in this process, so leave it out"
        )
    if checkpoint is not None and store is not None:
        raise InputError("a run that is stored keeps its training, too; leave the checkpoint out")
    if store is None:
        store = NullStore(None if checkpoint is None else CheckpointFile(Path(checkpoint)))
    known = check_pairs(seeds, source, target, many_to_one=config.many_to_one)
    forbidden = check_forbidden(forbid, source, target, known)
    if same_ids:
        known = with_more_seeds(known, pairs_of_same_ids(source, target), forbidden)
    context = MethodContext(
        source, target, known, config, Stages(progress), store, literals, Forbidden(forbidden), engine
    )
    return METHODS[config.method](context)


def _temporal(context: MethodContext) -> Alignment:
    """The learning-free time channel alone: pairs that choose each other (Algorithm 1, lines 2 to 8)."""
    if reason := why_time_is_no_help(context.source, context.target):
        raise InputError(f"{reason}; give dated facts, or seed pairs and method dualmatch")
    if len(context.seeds):
        logger.warning("method temporal does not learn from seeds, it only keeps them; dualmatch and evidence do learn")
    with context.stages("temporal"):
        kernel = kernel_of(context.temporal(), context.config.sharpness, 2 * context.share)
    with context.stages("decode"):
        plan = sinkhorn(kernel, context.config.sinkhorn_iterations)
        found = context.pseudo_seeds(plan)
    return context.alignment(found, plan, pseudo_seeds=found.pairs)


def _dualmatch(context: MethodContext) -> Alignment:
    """The paper's method whole, with seeds or without (Algorithm 1)."""
    stages = context.stages
    timeless = why_time_is_no_help(context.source, context.target)
    if timeless and not len(context.seeds):
        raise InputError(f"{timeless}; without times, give seed pairs to learn from")
    check_training(context.config)
    temporal, pseudo = None, None
    with stages("temporal"):
        if timeless:
            logger.warning("%s: continuing with the relational channel alone", timeless)
        else:
            temporal = hold(context.temporal(), context.share)
            if not len(context.seeds):
                pseudo = _pseudo_seeds(context, temporal)
    known = context.seeds if pseudo is None else pseudo.pairs
    with stages("relational"):
        trained = train(context, known, pseudo=pseudo is not None)
        relational = hold(context.forbidden.lowered(trained), context.share)
    with stages("decode"):
        decoded = decode_channels(context, temporal, relational, known)
        best = decoded.plan.best()
        found = context.in_facts(mutual_best(best, best))
    return context.alignment(
        found, decoded.plan, pseudo_seeds=None if pseudo is None else pseudo.pairs, decoded=decoded
    )


def time_plan(context: MethodContext, temporal: Similarity) -> Plan:
    """Sinkhorn of S^t: the time channel alone."""
    return sinkhorn(kernel_of(temporal, context.config.sharpness, context.share), context.config.sinkhorn_iterations)


def _pseudo_seeds(context: MethodContext, temporal: Similarity) -> FoundPairs:
    found = context.store.pseudo_seeds()
    if found is None:
        found = context.pseudo_seeds(time_plan(context, temporal))
        context.store.keep_pseudo_seeds(found)
    return found


def train(context: MethodContext, known: Pairs, pseudo: bool) -> FactorSimilarity:
    """S^r of the relational channel trained on known pairs, or on pseudo-seeds."""
    return relational_similarity(
        context.source,
        context.target,
        known,
        context.config,
        pseudo=pseudo,
        progress=context.stages.step,
        checkpoint=context.store.training,
    )


def decode_channels(
    context: MethodContext,
    temporal: Similarity | None,
    relational: Similarity,
    known: Pairs,
    watch: Callable[[float, Plan], None] | None = None,
) -> Decoded:
    """P̂ of both channels by the decoder of the options; `watch` is called with each α tried and its plan."""
    config = context.config
    if config.decoder == "naive":
        return decode_naively(temporal, relational, config.hops, context.share)
    problem = None if temporal is None else context.problem(known)
    return decode(
        temporal,
        relational,
        problem,
        config.alphas,
        sharpness=config.sharpness,
        iterations=config.sinkhorn_iterations,
        memory_limit=context.share,
        progress=context.stages.step,
        watch=watch,
    )


def _fused(context: MethodContext) -> Alignment:
    """All channels through one decoder: evidence decides, and what it leaves open is ranked with the paper's channels.

    The relational channel is trained on what evidence is sure of. Links are those of evidence: their confidence is
    learnt from entities whose partner was hidden, and those are settled ones, which the other channels are not asked
    about.
    """
    stages = context.stages
    timeless = why_time_is_no_help(context.source, context.target)
    check_training(context.config)
    evidence = _gathered(context)
    closed = evidence.settled
    if not len(closed):
        logger.warning("evidence is sure of no pair, so there is nothing to train on: continuing with evidence alone")
        return context.of_evidence(evidence)
    channels: dict[str, Similarity] = {}
    with stages("temporal"):
        if not timeless:
            channels["temporal"] = context.temporal()
    with stages("relational"):
        trained = train(context, closed.astype(np.int32), pseudo=not len(context.seeds))
        channels["relational"] = context.forbidden.lowered(trained)
    with stages("decode"):
        problem = None if timeless else context.problem(closed)
        open_rows, open_columns = (
            np.setdiff1d(np.flatnonzero(graph.is_in_a_fact), closed[:, side])
            for side, graph in enumerate((context.source, context.target))
        )
        similarity = with_settled(sparse.csr_array(evidence.similarity), closed)
        fused = fuse(
            similarity, channels, open_rows, open_columns, problem, sharpness_of(similarity), progress=stages.step
        )
    return context.of_evidence(evidence, fused)


def with_settled(similarity: sparse.csr_array, settled: NDArray[np.integer]) -> sparse.csr_array:
    """Similarities in which settled pairs are as alike as can be, and alone in their rows and columns."""
    entries = similarity.tocoo()
    free = ~(np.isin(entries.row, settled[:, 0]) | np.isin(entries.col, settled[:, 1]))
    row, column = np.append(entries.row[free], settled[:, 0]), np.append(entries.col[free], settled[:, 1])
    value = np.append(entries.data[free], np.ones(len(settled))).astype(np.float32)
    return sparse.csr_array((value, (row, column)), shape=similarity.shape)


def _gathered(context: MethodContext) -> EvidenceResult:
    """Rounds of shared dated facts, training-free."""
    labelled = context.literals is not None and all(len(side.entity) for side in context.literals)
    by_time_alone = not len(context.seeds) and not labelled
    if by_time_alone and (reason := why_time_is_no_help(context.source, context.target, at_any_precision=True)):
        raise InputError(f"{reason}; without times, give seed pairs to start from, or labels of both")
    with context.stages("evidence"), engine_within_limit(context) as engine:
        given = context.seeds, context.forbidden, engine, context.literals, context.config.many_to_one
        problem = Problem.of(context.source, context.target, *given)
        evidence = align_by_evidence(problem, progress=context.stages.step, store=context.store)
    warn_of_doubts(evidence)
    return evidence


@contextmanager
def engine_within_limit(context: MethodContext) -> Iterator[Engine | None]:
    """The engine that was given; where the run may take more memory than allowed, one that can keep arrays in files."""
    engine, limit = context.engine, context.config.memory_limit
    expected = expected_bytes(context.source, context.target)
    if expected <= limit / MOST_UNDERESTIMATED:
        yield engine
        return
    if expected > limit:
        logger.info("large arrays are kept in files, to stay within a memory limit of %.1f GB", limit / 1e9)
    engine = engine or default_engine(context.source, context.target)
    with engine.within(limit, expected) as paging:
        yield paging


def warn_of_doubts(evidence: EvidenceResult) -> None:
    """Warn of what makes a result less than certain."""
    if not evidence.converged:
        logger.warning("pairs still changed in round %d; take links of low confidence with care", len(evidence.rounds))
    alone = evidence.share_alone
    if alone > MOSTLY_ALONE:
        logger.warning(
            "%.0f %% of the source entities seem to have no partner: the graphs have little in common; give seed "
            "pairs, or keep only links of high confidence (--min-confidence)",
            100 * alone,
        )


METHODS: Final[dict[Method, Callable[[MethodContext], Alignment]]] = {
    "temporal": _temporal,
    "dualmatch": _dualmatch,
    "evidence": lambda context: context.of_evidence(_gathered(context)),
    "fused": _fused,
}


def _given(config: Config | Mapping[str, object] | None) -> dict[str, object]:
    if isinstance(config, Config):
        return {name: getattr(config, name) for name in config.model_fields_set}
    if config is None or isinstance(config, Mapping):
        return {str(name): value for name, value in (config or {}).items()}
    raise ConfigError(f"config: {config!r} holds no options; give a Config, or a dict of options")
