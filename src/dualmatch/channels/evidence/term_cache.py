"""Terms that are the same for every pair of a finished run, kept from one question about a pair to the next."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

TermCache = dict[Hashable, Any]
Term = TypeVar("Term")


def once(kept: TermCache | None, name: Hashable, compute: Callable[[], Term]) -> Term:
    """What was kept under a name, else what is computed now; nothing is kept where `kept` is None, as in rounds.

    >>> kept = {}
    >>> once(kept, "n", lambda: 1), once(kept, "n", lambda: 2), once(None, "n", lambda: 3)
    (1, 1, 3)
    """
    if kept is None:
        return compute()
    if name not in kept:
        kept[name] = compute()
    term: Term = kept[name]
    return term
