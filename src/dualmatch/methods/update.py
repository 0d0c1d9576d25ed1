"""Update: align again after new facts have arrived, from what a finished run knows; and what changed, and why.

The rounds continue where they ended: pairs that the run was sure of are the evidence for the rest, what it left open
and what is new looks for a partner, and what new facts contradict is given up. The calibration of the run is kept.
(The paper's open-world setting.)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal, Self

import numpy as np
from numpy.typing import NDArray

from dualmatch.config import Config
from dualmatch.decode.forbidden import Forbidden
from dualmatch.engine import Engine
from dualmatch.errors import InputError
from dualmatch.graph.arrays import NO_PARTNER, Flags, Floats, Ids
from dualmatch.graph.growth import Grown
from dualmatch.graph.literals import LiteralPair, Literals
from dualmatch.methods.align import engine_within_limit, warn_of_doubts
from dualmatch.methods.alignment import Alignment
from dualmatch.methods.context import MethodContext
from dualmatch.methods.evidence import align_by_evidence, same_as_before
from dualmatch.methods.evidence.confidence import Confidence
from dualmatch.methods.evidence.learning import learnt, names_learnt
from dualmatch.methods.evidence.problem import Problem
from dualmatch.methods.evidence.rounds import Rounds
from dualmatch.methods.evidence.search import SETTLED
from dualmatch.methods.evidence.state import Model, RoundState
from dualmatch.methods.run_store import NullStore, RunStore
from dualmatch.progress import Progress, Stages

Kind = Literal["new", "lost", "other partner"]
"""What became of the link of a source entity."""
Links = dict[str, tuple[str, float]]
"""Source name → target name and confidence."""
_MAX_ROUNDS: Final = 6


@dataclass(frozen=True, eq=False)
class UpdateBasis:
    """What a finished run of method evidence knows, by the row numbers of its graphs."""

    state: RoundState  # where its rounds ended
    confidence: Confidence
    first_pairs: Ids  # (n, 2): pairs believed after its first round
    seeds: Ids  # (n, 2)
    forbidden: Ids  # (n, 2)
    literals: LiteralPair | None = None  # labels that the run compared

    @classmethod
    def of(cls, alignment: Alignment) -> Self:
        """What an alignment knows that is still in memory."""
        evidence = alignment.evidence
        if evidence is None:
            raise InputError(f"an update needs a run of method evidence; {alignment.method} keeps no state")
        return cls(
            evidence.open_state,
            evidence.confidence,
            evidence.first_pairs,
            alignment.pairs[alignment.is_seed].astype(np.int64),
            alignment.forbidden.pairs.astype(np.int64),
            evidence.problem.literals,
        )

    @classmethod
    def from_run(
        cls,
        rounds: Rounds,
        confidence: Confidence,
        seeds: NDArray[np.integer] | None,
        forbidden: NDArray[np.integer] | None,
        literals: LiteralPair | None,
    ) -> Self:
        """What a finished run has kept."""
        none = np.zeros((0, 2), dtype=np.int64)
        return cls(
            rounds.state,
            confidence,
            rounds.first_pairs,
            none if seeds is None else seeds.astype(np.int64),
            none if forbidden is None else forbidden.astype(np.int64),
            literals,
        )

    def at(self, source: Grown, target: Grown) -> UpdateBasis:
        """The same by the row numbers of the graphs that have grown; what is known of relations is left behind."""
        shape = source.graph.n_entities, target.graph.n_entities
        rows = source.row_of, target.row_of

        def moved(pairs: Ids) -> Ids:
            target_row = np.where(pairs[:, 1] == NO_PARTNER, NO_PARTNER, rows[1][pairs[:, 1]])
            return np.stack([rows[0][pairs[:, 0]], target_row], axis=1)

        old = self.state
        n_directed = 2 * source.graph.n_relations, 2 * target.graph.n_relations
        model = replace(Model.of_sizes(*n_directed), coverage=old.model.coverage, alone=old.model.alone)
        c = old.candidates
        state = RoundState.of_pairs(rows[0][c.row], rows[1][c.column], old.log_odds, shape, model, old.scale)

        def placed(chance: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
            """Chances of entities at their rows now; of an entity that is new, nothing is known."""
            now = np.full(shape[0], 0.5), np.full(shape[1], 0.5)
            now[0][rows[0]], now[1][rows[1]] = chance
            return now

        state = replace(state, alone=placed(old.alone), elsewhere=placed(old.elsewhere))
        pairs = moved(self.first_pairs), moved(self.seeds), moved(self.forbidden)
        literals = self.literals
        if literals is not None:
            literals = literals[0].moved(rows[0]), literals[1].moved(rows[1])
        return UpdateBasis(state, self.confidence, *pairs, literals)


def update(
    known: UpdateBasis,
    source: Grown,
    target: Grown,
    config: Config,
    *,
    literals: tuple[Literals | None, Literals | None] = (None, None),
    engine: Engine | None = None,
    progress: Progress | None = None,
    store: RunStore | None = None,
) -> Alignment:
    """Align two graphs that have grown, from what a finished run knows; options are those of the run.

    `literals` are new labels of the graphs that have grown; they are compared where the run compared labels.

    Examples
    --------
    >>> from dualmatch import TemporalGraph, align
    >>> from dualmatch.graph.growth import grown
    >>> from dualmatch.simulate import World, simulate
    >>> pair = simulate(World(entities=100, seed=1))
    >>> before = align(pair.source, pair.target)
    >>> more = TemporalGraph.from_facts([("Ada", "met", pair.source.entities[0], "1833")])
    >>> nothing = TemporalGraph.from_facts([])
    >>> after = update(
    ...     UpdateBasis.of(before), grown(pair.source, more), grown(pair.target, nothing), before.config
    ... )
    >>> len(after.pairs) == len(before.pairs)
    True
    """
    stages = Stages(progress)
    now = known.at(source, target)
    seeds, forbidden = now.seeds.astype(np.int32), Forbidden(now.forbidden)
    labels = None
    if now.literals is not None:
        labels = now.literals[0].joined(literals[0]), now.literals[1].joined(literals[1])
    as_before = source.is_as_before and target.is_as_before and known.state.has_slots
    if labels is not None and known.literals is not None:
        as_before &= [*map(len, labels)] == [*map(len, known.literals)]
    context = MethodContext(source.graph, target.graph, seeds, config, stages, NullStore(), labels, forbidden, engine)
    with stages("evidence"), engine_within_limit(context) as within:
        problem = Problem.of(source.graph, target.graph, now.seeds, forbidden, within, labels, config.many_to_one)
        if as_before:
            evidence = same_as_before(problem, known.state, known.first_pairs, known.confidence, store)
        else:
            start = reopened(problem, now.state, (source.touched, target.touched))
            if known.state.model.names is not None:
                start = names_learnt(problem, start)
            evidence = align_by_evidence(
                problem,
                start=learnt(problem, start),
                first_pairs=now.first_pairs,
                confidence=now.confidence,
                max_rounds=_MAX_ROUNDS,
                progress=stages.step,
                store=store,
            )
    warn_of_doubts(evidence)
    return context.of_evidence(evidence)


def reopened(problem: Problem, state: RoundState, touched: tuple[Flags, Flags]) -> RoundState:
    """The state in which no pair but seeds is settled that has new facts: both its entities are searched again."""
    c = state.candidates
    has_new = (touched[0][c.row] | touched[1][c.column]) & ~problem.is_given(c.row, c.column)
    return replace(state, log_odds=np.where(has_new, np.minimum(state.log_odds, SETTLED), state.log_odds))


@dataclass(frozen=True)
class LinkChange:
    """A source entity whose link is not what it was.

    `before`, `after`: the partner's name; None where there is none. `why`: the first that holds: it or its partner is
    new; one of them has new facts; a neighbour has, or has another link now; none of it, and the weights of all facts
    have moved a little.
    """

    kind: Kind
    source: str
    before: str | None
    after: str | None
    confidence_before: float | None
    confidence: float | None
    why: str


def changes_since(before: Links, after: Alignment, source: Grown, target: Grown) -> list[LinkChange]:
    """All links that are new, gone, or go to another partner; by name of the source."""
    now: Links = {s: (t, c) for s, t, c in after.links()}
    changed = sorted(name for name in {*before, *now} if before.get(name, ("",))[0] != now.get(name, ("",))[0])
    moved = changed, [links[name][0] for name in changed for links in (before, now) if name in links]
    near = [_near(each, each.graph.rows_of(names)) for each, names in zip((source, target), moved, strict=True)]
    found = []
    for name in changed:
        was, is_now = before.get(name), now.get(name)
        (old, old_confidence), (new, confidence) = was or (None, None), is_now or (None, None)
        partners = [target.graph.entity_rows[partner] for partner in (new, old) if partner is not None]
        why = _why(source.graph.entity_rows[name], partners, (source, target), near)
        found.append(LinkChange(kind_of(was, is_now), name, old, new, old_confidence, confidence, why))
    return found


def kind_of(before: object | None, after: object | None) -> Kind:
    """The kind of a change; None where there is no link.

    >>> kind_of(None, "Q7"), kind_of("Q7", None), kind_of("Q7", "Q9")
    ('new', 'lost', 'other partner')
    """
    return "new" if before is None else "lost" if after is None else "other partner"


def _why(row: int, partners: list[int], grown: tuple[Grown, Grown], near: list[Flags]) -> str:
    source, target = grown
    if source.is_new[row]:
        return "the entity is new"
    if any(target.is_new[partner] for partner in partners):
        return "its partner is new"
    if source.touched[row]:
        return "it has new facts"
    if any(target.touched[partner] for partner in partners):
        return "its partner has new facts"
    if near[0][row] or any(near[1][partner] for partner in partners):
        return "a neighbour has new facts or another link"
    return "all facts weigh a little different now"


def _near(grown: Grown, moved: Ids) -> Flags:
    """Which entities have a neighbour that is new, has new facts or another link."""
    graph, of = grown.graph, grown.touched | grown.is_new
    of[moved] = True
    near = np.zeros(graph.n_entities, dtype=bool)
    near[graph.head[of[graph.tail]]] = True
    near[graph.tail[of[graph.head]]] = True
    return near
