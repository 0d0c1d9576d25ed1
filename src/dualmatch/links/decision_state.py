"""Standings: what stands after a series of decisions, some of them taken back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Status = Literal["open", "accepted", "rejected", "no match", "skipped"]


@dataclass(frozen=True)
class Standing:
    """What was decided about one source entity.

    Attributes
    ----------
    partner:
        Its accepted partner, if any.
    alone:
        Whether it was said to have no match.
    rejected:
        Targets it was said not to be.
    skipped:
        Whether it was put off, and nothing else was said since.
    last:
        The number of the last row about it, undone or not; 0 where there is none.
    """

    partner: str | None = None
    alone: bool = False
    rejected: frozenset[str] = frozenset()
    skipped: bool = False
    last: int = 0

    @property
    def status(self) -> Status:
        if self.partner is not None:
            return "accepted"
        if self.alone:
            return "no match"
        if self.skipped:
            return "skipped"
        return "rejected" if self.rejected else "open"


_Row = tuple[int, str, str | None]


@dataclass(eq=False)
class Standings:
    """The standing of every source entity; rows are added in their order.

    Examples
    --------
    >>> now = Standings()
    >>> now.add(1, "accept", "Ada", "Q7", None)
    >>> now.add(2, "none", "Bob", None, None)
    >>> now.add(3, "undo", "Bob", None, 2)
    >>> now.accepted, now.forbidden, now.of("Bob").status
    ([('Ada', 'Q7')], [], 'open')
    """

    last: int = 0
    holder: dict[str, str] = field(default_factory=dict)
    _rows: dict[str, list[_Row]] = field(default_factory=dict)
    _undone: set[int] = field(default_factory=set)
    _standing: dict[str, Standing] = field(default_factory=dict)
    _live: dict[int, str] = field(default_factory=dict)

    def add(self, number: int, verdict: str, source: str, target: str | None, undoes: int | None) -> None:
        """Take one more row in."""
        rows = self._rows.setdefault(source, [])
        rows.append((number, verdict, target))
        if undoes is not None:
            self._undone.add(undoes)
            self._live.pop(undoes, None)
        else:
            self._live[number] = source
        before, after = self.of(source), self._stands(rows)
        if before.partner is not None:
            self.holder.pop(before.partner, None)
        if after.partner is not None:
            self.holder[after.partner] = source
        self._standing[source] = after
        self.last = number

    def _stands(self, rows: list[_Row]) -> Standing:
        partner, alone, skipped, rejected = None, False, False, set[str]()
        for number, verdict, target in rows:
            if number in self._undone or verdict == "undo":
                continue
            skipped = verdict == "skip"
            if verdict == "accept" and target is not None:
                partner, alone = target, False
                rejected.discard(target)
            elif verdict == "reject" and target is not None:
                rejected.add(target)
                partner = None if partner == target else partner
            elif verdict == "none":
                partner, alone = None, True
        return Standing(partner, alone, frozenset(rejected), skipped, rows[-1][0])

    def of(self, source: str) -> Standing:
        return self._standing.get(source, Standing())

    @property
    def last_live(self) -> tuple[int, str] | None:
        """The last decision that was not taken back: its number, and the source it is about."""
        return next(reversed(self._live.items()), None)

    @property
    def decided(self) -> dict[str, Standing]:
        """Sources about which anything stands."""
        return {source: each for source, each in self._standing.items() if each.status != "open"}

    @property
    def accepted(self) -> list[tuple[str, str]]:
        """Accepted pairs, by name."""
        pairs = ((source, each.partner) for source, each in self._standing.items())
        return sorted((source, partner) for source, partner in pairs if partner is not None)

    @property
    def forbidden(self) -> list[tuple[str, str | None]]:
        """Rejected pairs, and sources without a match as pairs with None."""
        pairs: list[tuple[str, str | None]] = []
        for source, each in sorted(self._standing.items()):
            pairs += [(source, target) for target in sorted(each.rejected)]
            if each.alone:
                pairs.append((source, None))
        return pairs
