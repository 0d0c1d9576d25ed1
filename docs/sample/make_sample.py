"""Make the sample of docs/own-data.md: one simulated history, seen by a club's table and by a Wikibase of its town.

Nobody in it is real. `python docs/sample/make_sample.py` writes the same bytes again.
"""

import csv
import gzip
import json
from pathlib import Path

from dualmatch.graph.times import UNKNOWN, format_date
from dualmatch.simulate import World, simulate

HERE = Path(__file__).parent
WORLD = World(
    entities=80,
    mean_facts=8,
    common_share=0.8,
    relations_source=6,
    relations_target=5,
    first_year=1890,
    years=60,
    point_share=0.4,
    undated_share=0.1,
    half_known_share=0.2,
    year_only_share=0.15,
    seed=7,
)
FIRST = ["Anka", "Bero", "Cilla", "Dov", "Ebba", "Falk", "Gita", "Hanno", "Ilsa", "Joro"]
LAST = ["Amsel", "Birk", "Dorn", "Erle", "Farn", "Ginster", "Holm", "Iltis"]
ROLES = ["taught", "married", "hired", "wrote to", "sold a house to", "sang with"]


def main() -> None:
    pair = simulate(WORLD)
    source, target = pair.source, pair.target
    people = {row: f"{FIRST[row % 10]} {LAST[row // 10]}" for row in range(source.n_entities)}
    with (HERE / "club.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["no", "who", "did", "whom", "first_day", "last_day"])
        columns = zip(source.head, source.relation, source.tail, source.begin, source.end, strict=True)
        for number, (head, relation, tail, begin, end) in enumerate(columns, start=1):
            writer.writerow([number, people[head], ROLES[relation], people[tail], _date(begin), _date(end)])
    entities: dict[int, dict[str, list[object]]] = {}
    for head, relation, tail, begin, end in zip(
        target.head, target.relation, target.tail, target.begin, target.end, strict=True
    ):
        value = {"type": "wikibase-entityid", "value": {"id": f"Q{tail + 101}"}}
        statement: dict[str, object] = {"mainsnak": {"snaktype": "value", "datavalue": value}, "rank": "normal"}
        qualifiers = {name: _snak(code) for name, code in (("P580", begin), ("P582", end)) if code != UNKNOWN}
        entities.setdefault(int(head), {}).setdefault(f"P{relation + 11}", []).append(
            {**statement, "qualifiers": qualifiers}
        )
    lines = [
        json.dumps({"type": "item", "id": f"Q{head + 101}", "claims": claims}) for head, claims in entities.items()
    ]
    dump = "[\n" + ",\n".join(lines) + "\n]\n"
    (HERE / "town.json.gz").write_bytes(gzip.compress(dump.encode(), mtime=0))
    pairs = [f"{people[s]}\tQ{t + 101}\n" for s, t in pair.gold.tolist()]
    (HERE / "true_pairs.tsv").write_text("".join(sorted(pairs)))


def _date(code: int) -> str:
    return "" if code == UNKNOWN else format_date(int(code))


def _snak(code: int) -> list[dict[str, object]]:
    year, *rest = format_date(int(code)).split("-")
    month, day = [*rest, "00", "00"][:2]
    value = {"time": f"+{year}-{month}-{day}T00:00:00Z", "precision": 9 + len(rest)}
    return [{"snaktype": "value", "datavalue": {"type": "time", "value": value}}]


if __name__ == "__main__":
    main()
