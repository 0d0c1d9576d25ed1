"""Files to download: decisions as seeds, forbidden pairs, SSSOM and CSV, and the final links."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import polars as pl

from dualmatch.decode.verdicts import Verdict
from dualmatch.errors import OutputError
from dualmatch.explain.basis import ExplanationBasis
from dualmatch.files.table_writer import check_table
from dualmatch.graph.model import TemporalGraph
from dualmatch.links.decisions import DecisionLog
from dualmatch.links.naming import Naming
from dualmatch.links.opinions import DecisionState
from dualmatch.links.sssom import write_sssom
from dualmatch.links.write import LINK_FORMATS, link_format, with_labels

_BREAKS: Final = frozenset("\t\n\r")
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
Found = Mapping[tuple[str, str], tuple[float | None, str]]
"""Confidence and method of links, by the names of their ends."""


def accepted_unseen(now: DecisionState, runs: list[ExplanationBasis], method: str) -> Found:
    """What was accepted at once, as the first of the runs that found it says: nobody looked at it."""
    found: dict[tuple[str, str], tuple[float | None, str]]
    found = {pair: (None, method) for pair in now.accepted if now.of(pair[0]).unseen}
    for basis in reversed(runs):
        for (s, t), sure, seed in zip(
            basis.pairs.tolist(), basis.confidence.tolist(), basis.is_seed.tolist(), strict=True
        ):
            pair = basis.source.entities[s], basis.target.entities[t]
            if pair in found:
                found[pair] = sure, "seed" if seed else method
    return found


def decisions_csv(log: DecisionLog) -> bytes:
    """All decisions that were not undone, in order; a name that a spreadsheet would compute gets a ' before it.

    Column ``at_once``: whether a pair was accepted together with others, of which nobody looked at each.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(("number", "at", "verdict", "source", "target", "reviewer", "note", "at_once"))
    for row in log.live():
        names = row.source, row.target, row.reviewer, row.note
        at_once = "yes" if row.is_unseen else "no"
        writer.writerow((row.id, row.at, row.verdict.value, *(_plain(each or "") for each in names), at_once))
    return out.getvalue().encode("utf-8-sig")


def decisions_sssom(log: DecisionLog, naming: Naming, unseen: Found) -> bytes:
    """Accepted pairs, rejected ones with ``predicate_modifier: Not``, and "no match" as ``sssom:NoTermFound``.

    `unseen`: accepted pairs that are no work of a curator.
    """
    now = log.state
    rows: list[tuple[str, str | None, str]] = [(source, target, "") for source, target in now.accepted]
    rows += [(source, target, "" if target is None else "Not") for source, target in now.forbidden]
    by = [unseen.get((source, target or ""), (1.0, "review")) for source, target, _ in rows]
    table = pl.DataFrame(
        {
            "source": [row[0] for row in rows],
            "target": pl.Series([row[1] for row in rows], dtype=pl.String),
            "confidence": pl.Series([sure for sure, _ in by], dtype=pl.Float64),
            "method": [method for _, method in by],
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


def final_table(basis: ExplanationBasis, now: DecisionState, method: str, unseen: Found) -> pl.DataFrame:
    """The links of a run with decisions applied: a row for each source entity, as `align` writes them.

    What was accepted is linked, with method *review* unless it is `unseen`; "no match" is that; a link that was
    rejected, or whose target was accepted for another, leaves its source undecided.
    """
    source, target, none = basis.source.entities, basis.target.entities, basis.unlinked
    taken = {partner: name for name, partner in now.accepted}
    verdict = {int(row): none.verdict(at).value for at, row in enumerate(none.row.tolist())}
    confidence = dict(zip(none.row.tolist(), none.confidence.tolist(), strict=True))
    links = {
        s: (target[t], c, seed)
        for (s, t), c, seed in zip(basis.pairs.tolist(), basis.confidence.tolist(), basis.is_seed.tolist(), strict=True)
    }
    rows: list[tuple[str, str | None, float | None, str, str]] = []
    for row, name in enumerate(source):
        decision = now.of(name)
        partner, sure, is_seed = links.get(row, (None, confidence.get(row), False))
        if decision.partner is not None and decision.partner in basis.target.entity_rows:
            confident, by = unseen.get((name, decision.partner), (1.0, "review"))
            rows.append((name, decision.partner, confident, Verdict.LINKED.value, by))
        elif decision.alone:
            rows.append((name, None, 1.0, Verdict.NO_MATCH.value, "review"))
        elif partner is not None and (partner in decision.rejected or taken.get(partner, name) != name):
            rows.append((name, None, None, Verdict.UNDECIDED.value, "review"))
        else:
            said = Verdict.LINKED.value if partner is not None else verdict[row]
            rows.append((name, partner, sure, said, "seed" if is_seed else method))
    kinds = {"source": pl.String, "target": pl.String, "confidence": pl.Float64, "verdict": pl.String}
    table = pl.DataFrame(rows, schema=kinds | {"method": pl.String}, orient="row")
    return table.with_columns(pl.col("confidence").fill_nan(None)).sort("source", maintain_order=True)


def final_links(
    table: pl.DataFrame, name: str, naming: Naming, graphs: tuple[TemporalGraph, TemporalGraph] | None = None
) -> bytes:
    """The final links in the format that their file's name asks for; labels are those of the `graphs`."""
    path = Path(name)
    format = link_format(path)
    check_table(table, path, format)
    out = io.BytesIO()
    LINK_FORMATS[format](with_labels(table, format, graphs), out, naming)
    return out.getvalue()


def _plain(name: str) -> str:
    return f"'{name}" if name.startswith(_FORMULA) else name


_TSV: Final = "text/tab-separated-values"
EXPORTS: Final[dict[str, tuple[Callable[[DecisionLog, Naming, Found], bytes], str]]] = {
    "seeds.tsv": (lambda log, *_: pairs_tsv(log.state.accepted), _TSV),
    "rejected.tsv": (lambda log, *_: pairs_tsv(log.state.forbidden), _TSV),
    "decisions.sssom.tsv": (decisions_sssom, _TSV),
    "decisions.csv": (lambda log, *_: decisions_csv(log), "text/csv"),
}
"""What can be downloaded, by name: ``--seeds`` reads the first, ``--forbid`` the second."""
FINAL_LINKS: Final = {
    "final.tsv": _TSV,
    "final.csv": "text/csv",
    "final.jsonl": "application/x-ndjson",
    "final.parquet": "application/vnd.apache.parquet",
    "final.sssom.tsv": _TSV,
    "final.nt": "application/n-triples",
}
"""The final links, by name: every format that `align` writes."""
