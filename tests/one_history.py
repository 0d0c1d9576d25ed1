"""One history, written in every form a user may have it in."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from dualmatch.graph.model import TemporalGraph
from dualmatch.graph.times import UNKNOWN, ends_before_begin, format_date

Fact = tuple[str, str, str, str, str]
ENTITY, PROPERTY = "http://www.wikidata.org/entity/", "http://example.org/"


def facts_for_all_forms(graph: TemporalGraph, shuffle: int) -> list[Fact]:
    """Facts of a graph with Wikidata's names, each once, in some order; times are empty where unknown.

    Facts that end before they begin are left out: tables refuse them.
    """
    kept = np.flatnonzero(~ends_before_begin(graph.begin, graph.end))
    columns = (graph.head[kept], graph.relation[kept], graph.tail[kept], graph.begin[kept], graph.end[kept])
    facts = {
        (f"Q{head + 1}", f"P{relation + 1}", f"Q{tail + 1}", _date(begin), _date(end))
        for head, relation, tail, begin, end in zip(*(column.tolist() for column in columns), strict=True)
    }
    return [sorted(facts)[i] for i in np.random.default_rng(shuffle).permutation(len(facts))]


def write_csv(facts: Sequence[Fact], path: Path) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerow(["row", "wer", "was", "wen", "von", "note", "bis"])
        for number, (head, relation, tail, begin, end) in enumerate(facts):
            writer.writerow([number, head, relation, tail, begin, 'said "so",\nonce', end])


def write_parquet(facts: Sequence[Fact], path: Path) -> None:
    names = ("head", "relation", "tail", "begin", "end")
    table = pl.DataFrame(facts, schema=dict.fromkeys(names, pl.String), orient="row")
    table.with_columns(pl.col("begin", "end").replace("", None)).write_parquet(path)


def write_turtle(facts: Sequence[Fact], path: Path) -> None:
    lines = [f"@prefix wd: <{ENTITY}> .", f"@prefix : <{PROPERTY}> ."]
    for head, relation, tail, begin, end in facts:
        times = " ; ".join(f':{name} "{time}"' for name, time in (("begin", begin), ("end", end)) if time)
        lines.append(f"wd:{head} :{relation} wd:{tail}" + (f" {{| {times} |}}" if times else "") + " .")
    path.write_text("\n".join(lines))


def write_nquads(facts: Sequence[Fact], path: Path) -> None:
    lines = []
    for number, (head, relation, tail, begin, end) in enumerate(facts):
        lines.append(f"<{ENTITY}{head}> <{PROPERTY}{relation}> <{ENTITY}{tail}> <{PROPERTY}g{number}> .")
        for name, time in (("validFrom", begin), ("validUntil", end)):
            if time:
                lines.append(f'<{PROPERTY}g{number}> <{PROPERTY}{name}> "{time}" .')
    path.write_text("\n".join(lines) + "\n")


def write_wikidata(facts: Sequence[Fact], path: Path) -> None:
    claims: dict[str, dict[str, list[object]]] = {}
    for head, relation, tail, begin, end in facts:
        qualifiers = {name: [_snak(time)] for name, time in (("P580", begin), ("P582", end)) if time}
        value = {"type": "wikibase-entityid", "value": {"id": tail}}
        statement = {"mainsnak": {"snaktype": "value", "datavalue": value}, "rank": "normal", "qualifiers": qualifiers}
        claims.setdefault(head, {}).setdefault(relation, []).append(statement)
    entities = [json.dumps({"type": "item", "id": head, "claims": said}) for head, said in claims.items()]
    path.write_text("[\n" + ",\n".join(entities) + "\n]\n")


def write_folder_side(facts: Sequence[Fact], folder: Path, side: str, times: dict[str, int]) -> None:
    for name, parts in (("ent_ids", (0, 2)), ("rel_ids", (1,))):
        names = sorted(
            {fact[part] for fact in facts for part in parts}, key=lambda name: name[::-1]
        )  # any order will do
        numbers = {name: number for number, name in enumerate(names)}
        (folder / f"{name}_{side}").write_text("".join(f"{i}\t{name}\n" for name, i in numbers.items()))
        facts = [tuple(numbers[p] if i in parts else p for i, p in enumerate(fact)) for fact in facts]  # type: ignore[misc]
    rows = [(*fact[:3], times[fact[3]], times[fact[4]]) for fact in facts]
    (folder / f"triples_{side}").write_text("".join("\t".join(map(str, row)) + "\n" for row in rows))


def write_folder(source: Sequence[Fact], target: Sequence[Fact], folder: Path) -> None:
    folder.mkdir()
    dates = sorted({time for fact in (*source, *target) for time in fact[3:]})
    times = {date: number for number, date in enumerate(dates)}
    (folder / "time_id").write_text("".join(f"{i}\t{date or '-inf'}\n" for date, i in times.items()))
    write_folder_side(source, folder, "1", times)
    write_folder_side(target, folder, "2", times)


FORMS: dict[str, Callable[[Sequence[Fact], Path], None]] = {
    "csv": write_csv,
    "parquet": write_parquet,
    "ttl": write_turtle,
    "nq": write_nquads,
    "json": write_wikidata,
}
READ_WITH = {
    "csv": ["--columns", "head=wer,relation=was,tail=wen,begin=von,end=bis"],
    "ttl": ["--namespace", ENTITY, "--namespace", PROPERTY],
    "nq": ["--namespace", ENTITY, "--namespace", PROPERTY],
}


def _date(code: int) -> str:
    return "" if code == UNKNOWN else format_date(int(code))


def _snak(date: str) -> dict[str, object]:
    year, *rest = date.split("-")
    month, day = [*rest, "00", "00"][:2]
    value = {"time": f"+{year}-{month}-{day}T00:00:00Z", "precision": 9 + len(rest)}
    return {"snaktype": "value", "datavalue": {"type": "time", "value": value}}
