"""Decisions as files to download: seeds, forbidden pairs, SSSOM and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from typing import Final

import polars as pl

from dualmatch.errors import OutputError
from dualmatch.links.decisions import DecisionLog
from dualmatch.links.naming import Naming
from dualmatch.links.sssom import write_sssom

_BREAKS: Final = frozenset("\t\n\r")
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


def decisions_csv(log: DecisionLog) -> bytes:
    """All decisions that were not undone, in order; a name that a spreadsheet would compute gets a ' before it."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(("number", "at", "verdict", "source", "target"))
    for row in log.live():
        writer.writerow((row.id, row.at, row.verdict.value, _plain(row.source), _plain(row.target or "")))
    return out.getvalue().encode("utf-8-sig")


def decisions_sssom(log: DecisionLog, naming: Naming) -> bytes:
    """Accepted pairs, rejected ones with ``predicate_modifier: Not``, and "no match" as ``sssom:NoTermFound``."""
    now = log.state
    rows: list[tuple[str, str | None, str]] = [(source, target, "") for source, target in now.accepted]
    rows += [(source, target, "" if target is None else "Not") for source, target in now.forbidden]
    table = pl.DataFrame(
        {
            "source": [row[0] for row in rows],
            "target": pl.Series([row[1] for row in rows], dtype=pl.String),
            "confidence": [1.0] * len(rows),
            "method": ["review"] * len(rows),
            "predicate_modifier": [row[2] for row in rows],
        }
    ).sort("source", "target", nulls_last=True)
    out = io.BytesIO()
    write_sssom(table, out, naming)
    return out.getvalue()


def pairs_tsv(pairs: list[tuple[str, str]] | list[tuple[str, str | None]]) -> bytes:
    """Pairs by name, one a line; refused where a name does not fit on a line."""
    for pair in pairs:
        for name in pair:
            if name is not None and not _BREAKS.isdisjoint(name):
                raise OutputError(
                    f"{name[:60]!r} holds a tab or line break, which a table of pairs cannot; take SSSOM, CSV or the "
                    "file of decisions itself"
                )
    return "".join(f"{source}\t{target or ''}\n" for source, target in pairs).encode()


def _plain(name: str) -> str:
    return f"'{name}" if name.startswith(_FORMULA) else name


_TSV: Final = "text/tab-separated-values"
EXPORTS: Final[dict[str, tuple[Callable[[DecisionLog, Naming], bytes], str]]] = {
    "seeds.tsv": (lambda log, _: pairs_tsv(log.state.accepted), _TSV),
    "rejected.tsv": (lambda log, _: pairs_tsv(log.state.forbidden), _TSV),
    "decisions.sssom.tsv": (decisions_sssom, _TSV),
    "decisions.csv": (lambda log, _: decisions_csv(log), "text/csv"),
}
"""What can be downloaded, by name: ``--seeds`` reads the first, ``--forbid`` the second."""
