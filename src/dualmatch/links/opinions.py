"""What reviewers decided about each source entity, replayed from the rows of a file of decisions.

Each reviewer has an opinion of an entity: what holds after all that they decided about it. Where opinions cannot all
be right the entity is disputed, and counts as undecided until somebody who has seen that decides again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Literal

Status = Literal["open", "accepted", "rejected", "no match", "skipped", "disputed"]


class ReviewVerdict(StrEnum):
    """What a reviewer can decide: accept and reject concern a pair, the others a source entity."""

    ACCEPT = "accept"
    REJECT = "reject"
    NO_MATCH = "none"
    SKIP = "skip"
    UNDO = "undo"


@dataclass(frozen=True)
class Decision:
    """A row of the file."""

    id: int
    at: str
    verdict: ReviewVerdict
    source: str
    target: str | None = None
    undoes: int | None = None
    reviewer: str | None = None  # None in files of 0.1.0
    note: str | None = None
    batch: int | None = None  # the same number for all that were accepted at once; below 0, each was looked at
    settles: bool = False  # whether it was made to end a dispute: nothing before it counts

    @property
    def is_unseen(self) -> bool:
        """Whether it was accepted with others, and nobody looked at it."""
        return self.batch is not None and self.batch > 0


@dataclass(frozen=True)
class Opinion:
    """What one reviewer thinks of one source entity."""

    partner: str | None = None  # accepted
    alone: bool = False  # it has no match
    rejected: frozenset[str] = frozenset()
    skipped: bool = False  # the last decision was to skip it
    unseen: bool = False  # accepted at once with others: nobody looked at the pair

    def after(self, verdict: ReviewVerdict, target: str | None, unseen: bool = False) -> Opinion:
        """The opinion after one more decision."""
        now = replace(self, skipped=verdict is ReviewVerdict.SKIP)
        if verdict is ReviewVerdict.ACCEPT and target is not None:
            unseen = unseen and (self.unseen or self.partner != target)
            return replace(now, partner=target, alone=False, rejected=self.rejected - {target}, unseen=unseen)
        if verdict is ReviewVerdict.REJECT and target is not None:
            partner = None if self.partner == target else self.partner
            unseen = self.unseen and partner is not None
            return replace(now, partner=partner, rejected=self.rejected | {target}, unseen=unseen)
        return replace(now, partner=None, alone=True, unseen=False) if verdict is ReviewVerdict.NO_MATCH else now

    @property
    def status(self) -> Status:
        if self.partner is not None:
            return "accepted"
        if self.alone:
            return "no match"
        if self.skipped:
            return "skipped"
        return "rejected" if self.rejected else "open"


@dataclass(frozen=True)
class EntityDecision(Opinion):
    """What was decided about one source entity, by all reviewers together."""

    last: int = 0  # the number of the last row about it, undone or not
    opinions: Mapping[str, Opinion] = field(default_factory=dict)  # by reviewer; "" is nobody by name

    is_disputed: bool = False  # they differ so that not all can be right

    @property
    def status(self) -> Status:
        return "disputed" if self.is_disputed else super().status

    @classmethod
    def of(cls, opinions: Mapping[str, Opinion], last: int) -> EntityDecision:
        """Put the opinions of all reviewers together."""
        told = [*opinions.values()]
        partners = {each.partner for each in told if each.partner is not None}
        rejected = frozenset[str]().union(*(each.rejected for each in told))
        alone = any(each.alone for each in told)
        if len(partners) > 1 or (partners and (alone or partners & rejected)):
            return cls(last=last, opinions=opinions, is_disputed=True)
        unseen = bool(partners) and all(each.unseen for each in told if each.partner is not None)
        skipped = any(each.skipped for each in told)
        return cls(next(iter(partners), None), alone, rejected, skipped, unseen, last, opinions)


@dataclass(eq=False)
class DecisionState:
    """What holds after a series of decisions, some of them undone; rows are added in their order.

    Examples
    --------
    >>> now = DecisionState()
    >>> now.add(Decision(1, "", ReviewVerdict.ACCEPT, "Ada", "Q7"))
    >>> now.add(Decision(2, "", ReviewVerdict.NO_MATCH, "Bob"))
    >>> now.add(Decision(3, "", ReviewVerdict.UNDO, "Bob", undoes=2))
    >>> now.accepted, now.forbidden, now.of("Bob").status
    ([('Ada', 'Q7')], [], 'open')
    """

    last: int = 0
    holder: dict[str, str] = field(default_factory=dict)
    live: dict[int, Decision] = field(default_factory=dict)
    _rows: dict[str, list[Decision]] = field(default_factory=dict)
    _entities: dict[str, EntityDecision] = field(default_factory=dict)

    def add(self, row: Decision) -> None:
        """Take one more row in."""
        before, after = self.of(row.source), self.foreseen(row)
        self._rows.setdefault(row.source, []).append(row)
        if row.undoes is None:
            self.live[row.id] = row
        else:
            self.live.pop(row.undoes, None)
        if before.partner is not None:
            self.holder.pop(before.partner, None)
        if after.partner is not None:
            self.holder[after.partner] = row.source
        self._entities[row.source] = after
        self.last = row.id

    def foreseen(self, row: Decision) -> EntityDecision:
        """What would hold of an entity after one more row."""
        rows = [*self._rows.get(row.source, ()), row]
        undone = {each.undoes for each in rows}
        opinions: dict[str, Opinion] = {}
        for each in rows:
            if each.verdict is ReviewVerdict.UNDO or each.id in undone:
                continue
            if each.settles:
                opinions.clear()
            # What was decided under no name belongs to whoever continues it.
            before = opinions.get(each.reviewer or "") or opinions.pop("", Opinion())
            opinions[each.reviewer or ""] = before.after(each.verdict, each.target, each.is_unseen)
        return EntityDecision.of(opinions, row.id)

    def of(self, source: str) -> EntityDecision:
        return self._entities.get(source, EntityDecision())

    def last_of(self, reviewer: str) -> Decision | None:
        """The last decision of a reviewer that was not undone."""
        return next((row for row in reversed([*self.live.values()]) if row.reviewer in (reviewer, None)), None)

    def together(self, row: Decision) -> int:
        """How many decisions that stand were made at once with this one, itself included."""
        return 1 if row.batch is None else sum(each.batch == row.batch for each in [*self.live.values()])

    @property
    def decided(self) -> dict[str, EntityDecision]:
        """Sources about which anything was decided."""
        return {source: each for source, each in [*self._entities.items()] if each.status != "open"}

    @property
    def disputed(self) -> dict[str, EntityDecision]:
        """Sources about which reviewers differ."""
        return {source: each for source, each in sorted(self._entities.items()) if each.is_disputed}

    @property
    def accepted(self) -> list[tuple[str, str]]:
        """Accepted pairs, by name."""
        return sorted((source, each.partner) for source, each in [*self._entities.items()] if each.partner is not None)

    @property
    def forbidden(self) -> list[tuple[str, str | None]]:
        """Rejected pairs, and sources without a match as pairs with None."""
        pairs: list[tuple[str, str | None]] = []
        for source, each in sorted(self._entities.items()):
            pairs += [(source, target) for target in sorted(each.rejected)]
            if each.alone:
                pairs.append((source, None))
        return pairs
