"""What changed between two alignments, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dualmatch.graph.growth import Grown
from dualmatch.graph.model import TemporalGraph
from dualmatch.methods.alignment import Alignment

Kind = Literal["new", "lost", "other partner"]
"""What became of the link of a source entity."""
Flags = NDArray[np.bool_]
Links = dict[str, tuple[str, float]]
"""Source name → target name and confidence."""


@dataclass(frozen=True)
class LinkChange:
    """A source entity whose link is not what it was.

    Attributes
    ----------
    before, after:
        The partner's name; None where there is none.
    why:
        The first that holds: it or its partner is new; one of them has new facts; a neighbour has, or has another
        link now; none of it, and the weights of all facts have moved a little.
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
    moved = np.zeros(source.graph.n_entities, dtype=bool), np.zeros(target.graph.n_entities, dtype=bool)
    for name in changed:
        moved[0][source.graph.entity_rows[name]] = True
        for links in (before, now):
            if name in links:
                moved[1][target.graph.entity_rows[links[name][0]]] = True
    near = [
        _has_neighbour(each.graph, each.touched | each.is_new | flags)
        for each, flags in zip((source, target), moved, strict=True)
    ]
    found = []
    for name in changed:
        was, is_now = before.get(name), now.get(name)
        row = source.graph.entity_rows[name]
        partners = [target.graph.entity_rows[link[0]] for link in (is_now, was) if link is not None]
        found.append(
            LinkChange(
                kind_of(was, is_now),
                name,
                None if was is None else was[0],
                None if is_now is None else is_now[0],
                None if was is None else was[1],
                None if is_now is None else is_now[1],
                _why(row, partners, (source, target), near),
            )
        )
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


def _has_neighbour(graph: TemporalGraph, of: Flags) -> Flags:
    """Which entities have a neighbour of a kind."""
    near = np.zeros(graph.n_entities, dtype=bool)
    near[graph.head[of[graph.tail]]] = True
    near[graph.tail[of[graph.head]]] = True
    return near
