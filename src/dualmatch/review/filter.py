"""Which entities of the queue are wanted: what the address of a page says, and every form of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Final
from urllib.parse import urlencode

from dualmatch.links.opinions import Status
from dualmatch.review.queue import VERDICTS, Tab

STATUSES: Final[tuple[Status, ...]] = ("open", "accepted", "rejected", "no match", "skipped", "disputed")
NOT_MINE: Final = "not by me"
"""A status of its own: entities that this reviewer has no opinion of yet, whatever others decided."""
NOT_SEEN: Final = "not looked at"
"""Another: entities that are open, or whose link was accepted at once with others."""
_LONGEST_SEARCH: Final = 200


@dataclass(frozen=True)
class Filter:
    """Which entities of the queue are wanted; every field is one of a few words, a number, or a text to search for.

    `outcome`: the verdict of the run. Decisions of the reviewer have verdicts of their own, in the same forms.
    `low`, `high`: the probability of what is proposed, in percent; `high` itself is out, but for 100.
    """

    tab: str = Tab.DOUBTFUL.value
    q: str = ""
    outcome: str = "all"
    low: int = 0
    high: int = 100
    relation: str = ""
    status: str = "open"  # what the reviewers decided

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Filter:
        """From the query of a page or the fields of a form; impossible values are ignored."""
        tab, status, outcome = query.get("tab", ""), query.get("status", "open"), query.get("outcome", "all")
        low, high = _percent(query.get("low", ""), 0), _percent(query.get("high", ""), 100)
        return cls(
            tab if tab in [*Tab] else Tab.DOUBTFUL.value,
            query.get("q", "")[:_LONGEST_SEARCH].strip(),
            outcome if outcome in VERDICTS else "all",
            low if low < high else 0,
            high if low < high else 100,
            query.get("relation", "")[:_LONGEST_SEARCH],
            status if status in (*STATUSES, NOT_MINE, NOT_SEEN, "all") else "open",
        )

    @property
    def fields(self) -> dict[str, str]:
        """The fields that are not at their default, for forms."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return {each.name: str(values[each.name]) for each in fields(self) if values[each.name] != each.default}

    @property
    def query(self) -> str:
        """The same for an address."""
        return urlencode(self.fields)

    @property
    def is_narrowed(self) -> bool:
        """Whether it wants less than its tab has, whatever was decided."""
        return bool({*self.fields} - {"tab", "status"})

    def but(self, **changes: object) -> str:
        """The query with some fields changed."""
        return replace(self, **changes).query  # type: ignore[arg-type]


def _percent(text: str, default: int) -> int:
    return min(100, int(text)) if text.isascii() and text.isdigit() and len(text) < 4 else default
