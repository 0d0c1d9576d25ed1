"""How it went: rounds, α against D, relations that say the same, what it cost, and how to do it again."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any, Final

from dualmatch.charts.markup import Child, Html, el, joined, name_of, visible
from dualmatch.charts.svg import Line, bars, lines
from dualmatch.charts.tables import pairs, table
from dualmatch.report.findings import Findings
from dualmatch.runs.record import RunRecord

_NOT_KEPT: Final = "There is no record of this run (OUT.run.json) beside the links; align again to see it here."
_MOST_RELATIONS: Final = 200


def convergence(findings: Findings) -> Html:
    """What each round did."""
    record = findings.record
    if record is None:
        return el("p", _NOT_KEPT)
    parts: list[Child] = []
    if record.rounds:
        parts += [
            lines(
                [
                    Line("pairs believed", [(r["number"], r["pairs"]) for r in record.rounds], "one", dots=True),
                    Line("pairs changed", [(r["number"], r["changed"]) for r in record.rounds], "two", dots=True),
                ],
                "Pairs after each round, and how many of them changed",
                x_label="round",
                y_range=(0.0, 1.05 * max(1, *(max(r["pairs"], r["changed"]) for r in record.rounds))),
            ),
            table(
                ("round", "looked at", "tokens", "candidates", "pairs", "changed", "without partner", "seconds"),
                [_round(each) for each in record.rounds],
                left=2,
            ),
        ]
    else:
        parts.append(el("p", f"Method {record.method} has no rounds."))
    if record.distances:
        parts += [el("h3", "α against D"), _distances(record)]
    return joined(*parts)


def _round(row: Mapping[str, Any]) -> tuple[Child, ...]:
    """One row of the table; records of earlier versions have more fields, which are passed over."""
    alone = row["without_partner"]
    return (
        str(row["number"]),
        "everything" if row["whole"] else "what was open",
        *(f"{row[name]:,}" for name in ("tokens", "candidates", "pairs", "changed")),
        "–" if alone is None else f"{100 * alone:.0f} %",
        f"{row['seconds']:.2f}",
    )


def _distances(record: RunRecord) -> Html:
    """D of every weight tried: the smallest was chosen."""
    tried = dict(record.distances or {})
    best = min(tried, key=tried.__getitem__)
    words = el("p", "D is the graph-matching distance; the weights with the smallest were taken: ", el("b", best), ".")
    if all(_is_number(key) for key in tried):
        points = sorted((float(key), value) for key, value in tried.items())
        return joined(words, lines([Line("D", points, dots=True)], "D of every α tried", x_label="α"))
    return joined(words, bars(list(tried), list(tried.values()), "D of the weights tried", "weights"))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def relations(findings: Findings) -> Html:
    """Which relations say the same, the best supported first."""
    record = findings.record
    if record is None:
        return el("p", _NOT_KEPT)
    if record.relations is None:
        return el("p", f"Method {record.method} learns no relation alignment.")
    ordered = sorted(record.relations, key=lambda row: (-row["support"], -row["score"], row["source"], row["target"]))
    rows = [
        (
            name_of(row["source"]),
            name_of(row["target"]),
            row["direction"],
            f"{row['score']:.3f}",
            f"{row['support']:,}",
        )
        for row in ordered[:_MOST_RELATIONS]
    ]
    if not rows:
        return el("p", "No two relations were taken for the same.")
    more = len(ordered) - len(rows)
    rest = el("p", f"… and {more:,} more; align with --relations FILE for all of them.") if more else None
    return joined(table(("source", "target", "direction", "score", "pairs in support"), rows, left=3), rest)


def cost(findings: Findings) -> Html:
    """Seconds by stage, memory, the command and the options."""
    record = findings.record
    parts: list[Child] = []
    if record is None:
        parts.append(el("p", _NOT_KEPT))
    else:
        seconds = [(stage, f"{value:.2f} s") for stage, value in record.cost.seconds.items()]
        peak = record.cost.peak_mb
        parts.append(
            pairs(
                [*seconds, ("highest memory", "–" if peak is None else f"{peak:,.0f} MB"), ("version", record.version)]
            )
        )
        if record.cost.command:
            parts += [el("h3", "Command"), el("pre", visible(shlex.join(record.cost.command), 10_000), tabindex="0")]
    if findings.config is not None:
        shown = "\n".join(visible(line, 1000) for line in findings.config.splitlines())
        parts += [el("h3", "Options (OUT.config.toml)"), el("pre", shown, tabindex="0")]
    return joined(*parts)
