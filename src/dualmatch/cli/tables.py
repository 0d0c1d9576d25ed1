"""Tables a newcomer understands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.markup import escape
from rich.table import Table

PROTOCOL_WORDS = {
    "paper": "among tested partners",
    "open": "among all targets",
    "open_reverse": "among all sources",
}


def ranking_table(protocols: Mapping[str, Mapping[str, Mapping[str, float]]]) -> Table:
    """H@1, H@10 and MRR a protocol and group."""
    table = Table(title="How often the right partner comes first")
    table.add_column("protocol")
    table.add_column("pairs of")
    for heading in ("first (H@1)", "in the first ten (H@10)", "MRR", "pairs"):
        table.add_column(heading, justify="right")
    for protocol, groups in protocols.items():
        for name, ranking in groups.items():
            words = f"{protocol}: {PROTOCOL_WORDS[protocol]}"
            figures = (
                f"{ranking['h1']:.1f} %",
                f"{ranking['h10']:.1f} %",
                f"{ranking['mrr']:.3f}",
                f"{ranking['pairs']:,}",
            )
            table.add_row(words, escape(name), *figures)
    return table


def links_table(abstention: Mapping[str, Any], ece: float | None) -> Table:
    """What the emitted links are worth."""
    table = Table(title="What the links are worth", show_header=False)
    table.add_column()
    table.add_column(justify="right")
    table.add_row("links given", f"{abstention['emitted']:,}")
    table.add_row("of these right (precision)", percent(abstention["precision"]))
    table.add_row("of all true pairs found (recall)", percent(abstention["recall"]))
    table.add_row("F1", "–" if abstention["f1"] is None else f"{abstention['f1']:.3f}")
    if abstention.get("no_match_recall") is not None:
        table.add_row("of the entities without a partner left alone", percent(abstention["no_match_recall"]))
    table.add_row("confidence is off by, on average (ECE)", "–" if ece is None else f"{ece:.3f}")
    return table


def verdicts_table(verdicts: Mapping[str, Any]) -> Table:
    """How many sources are linked, undecided and without a match."""
    table = Table(title="What is said of the source entities", show_header=False)
    table.add_column()
    table.add_column(justify="right")
    for name, words in (("linked", "linked"), ("undecided", "undecided"), ("no_match", "no match")):
        table.add_row(words, f"{verdicts[name]:,}")
    table.add_row("of “no match” right", percent(verdicts["no_match_precision"]))
    table.add_row("of the entities without a partner said to have none", percent(verdicts["no_match_recall"]))
    return table


def cost_line(report: Mapping[str, Any]) -> str:
    """Seconds, machine units and memory of a run."""
    seconds, unit = report["seconds"]["total"], report["unit_seconds"]
    return f"{seconds:.1f} s = {seconds / unit:.1f} machine units (unit {unit:.2f} s), peak {report['peak_mb']:,.0f} MB"


def percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f} %"
