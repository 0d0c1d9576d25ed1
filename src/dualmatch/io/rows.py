"""Rows of links as writers take them."""

from __future__ import annotations

from typing import NamedTuple


class LinkRow(NamedTuple):
    """A source entity and the target entity found for it.

    Attributes
    ----------
    target, confidence:
        None where the source entity has no match.
    method:
        What found it: a method's name, or ``"seed"`` for a pair that was given.
    """

    source: str
    target: str | None
    confidence: float | None
    method: str = ""
