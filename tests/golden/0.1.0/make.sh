#!/usr/bin/env bash
# How these files were made, by dualmatch 0.1.0 (commit 9a169d0). They are never made again: later versions read them.
set -euo pipefail
cd "$(dirname "$0")"
dualmatch=${DUALMATCH:-dualmatch}
python=${PYTHON:-python}
"$python" - <<'PY'
import csv
from dualmatch.graph.times import UNKNOWN, format_date
from dualmatch.simulate import World, simulate

pair = simulate(World(entities=60, mean_facts=6, common_share=0.6, undated_share=0.1, year_only_share=0.2, seed=5))
for name, graph in (("source.csv", pair.source), ("target.csv", pair.target)):
    with open(name, "w", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["head", "relation", "tail", "begin", "end"])
        for h, r, t, b, e in zip(graph.head, graph.relation, graph.tail, graph.begin, graph.end, strict=True):
            dates = ["" if code == UNKNOWN else format_date(code) for code in (b, e)]
            rows.writerow([graph.entities[h], graph.relations[r], graph.entities[t], *dates])
names = sorted(f"{pair.source.entities[s]}\t{pair.target.entities[t]}\n" for s, t in pair.gold.tolist())
open("gold.tsv", "w").write("".join(names))
open("seeds.tsv", "w").write("".join(names[:5]))
PY
for name in links.tsv links.csv links.parquet links.jsonl; do
  "$dualmatch" align source.csv target.csv -o "$name" -q
done
for name in links.nt links.sssom.tsv; do
  "$dualmatch" align source.csv target.csv -o "$name" -q --prefix ex=http://example.org/ --source-prefix ex --target-prefix ex
done
"$dualmatch" align source.csv target.csv -o seeded.tsv -q --seeds seeds.tsv --reasons --relations relations.tsv
"$dualmatch" align source.csv target.csv -o temporal.tsv -q --method temporal
"$dualmatch" align source.csv target.csv --run finished.run -q
head -n 150 source.csv > source-part.csv
"$dualmatch" align source-part.csv target.csv --run part.run -q
{ head -n 1 source.csv; tail -n +151 source.csv; } > source-new.csv
"$dualmatch" update part.run --source-facts source-new.csv --run updated.run -q
"$python" - <<'PY'
from pathlib import Path
from dualmatch.io.decisions import DecisionLog, Verdict

log = DecisionLog.open(Path("links.tsv.decisions.db"))
rows = [line.split("\t") for line in Path("links.tsv").read_text().splitlines()[1:]]
linked = [row for row in rows if row[1]]
alone = [row for row in rows if not row[1]]
log.decide(Verdict.ACCEPT, linked[0][0], linked[0][1], 0)
log.decide(Verdict.REJECT, linked[1][0], linked[1][1], 0)
log.decide(Verdict.NO_MATCH, alone[0][0], None, 0)
log.decide(Verdict.SKIP, linked[2][0], None, 0)
last = log.decide(Verdict.ACCEPT, linked[3][0], linked[3][1], 0)
log.undo(last)
log.close()
PY
