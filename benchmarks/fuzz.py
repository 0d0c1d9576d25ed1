"""Damaged and hostile files, by the thousand: does every call end in a result or in words?

    python benchmarks/fuzz.py [--cases 1000] [--first 0] [--results fuzz.jsonl] [--only NAME]
                              [--case NUMBER] [--minimise NUMBER]

A case is drawn by its number alone: which seed (a file of every format that is read, and every file that a run leaves),
how it is changed (bytes; or, in files of our own, arrays, values and rows, with hashes made to fit), and the call that
reads it. Calls run in a process of their own, many one after the other, with 15 s of CPU and 5 GB of address space
each. Wrong is: a traceback, another exit code than 0 and 2, a crash, a hang, 1.5 GB of memory, a message longer than a
screen, something left behind by a call that failed. What is wrong goes to the results, which say where to resume.
Two processes, each with results and a --first of its own, use two cores. --case shows one case, --minimise makes its
file as small as it stays wrong.
"""

from __future__ import annotations

import argparse
import bz2
import collections
import contextlib
import gzip
import hashlib
import io
import json
import os
import random
import resource
import select
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import zstandard

CPU_SECONDS, WALL_SECONDS, ADDRESS_BYTES, MEMORY_MB, LONGEST_MESSAGE = 15, 180, 5 << 30, 1500, 4000
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
FACTS = [(f"e{n % 13}", ("met", "wrote")[n % 2], f"e{n * 7 % 13}", 1800 + n * 3, 1801 + n * 5) for n in range(26)]
ODD = (
    b"\x00",
    b"\xff",
    b"\xed\xa0\x80",
    b'"',
    b"'",
    b"\n",
    b"\r",
    b"\t",
    b",",
    b"<<( ",
    b"<!ENTITY a '&a;'>",
    b"[" * 99,
)
ODD += (b"9" * 5000, b"-1", b"1e400", b"NaN", b"99999999999999999999", b"\\ud800", b"\xef\xbb\xbf", b"{" * 99, b"&lt;")


@dataclass(frozen=True)
class Target:
    """A seed file, the calls that read it, and how it may be changed besides its bytes."""

    file: str  # or a pattern of its name
    calls: tuple[tuple[str, ...], ...]
    change: Callable[[Path, random.Random], bytes] | None = None
    record: tuple[str, ...] = ()  # the record that has the file's hash, and where in it
    folder: str | None = None  # what the calls write into besides {out}


def _rdf(head: str, relation: str, tail: str) -> str:
    return f"<http://e/{head}> <http://p/{relation}> <http://e/{tail}>"


@cache
def _graphs() -> dict[str, bytes]:
    """A few facts in every format."""
    table = "head,relation,tail,begin,end\n" + "".join(",".join(map(str, fact)) + "\n" for fact in FACTS)
    turtle = "@prefix : <http://e/> .\n" + "".join(
        f':{h} :{r} :{t} {{| :begin "{b}" ; :end "{e}" |}} .\n' for h, r, t, b, e in FACTS
    )
    xml = f'<!DOCTYPE r [<!ENTITY e "http://e/">]><rdf:RDF xmlns:rdf="{RDF}" xmlns:p="http://p/">'
    xml += "".join(
        f'<rdf:Description rdf:about="&e;{h}"><p:{r} rdf:resource="http://e/{t}"/></rdf:Description>\n'
        for h, r, t, _, _ in FACTS
    )
    lines = []
    for h, r, t, begin, end in FACTS:
        value = {"snaktype": "value", "datavalue": {"type": "wikibase-entityid", "value": {"id": t}}}
        times = {
            name: [{"snaktype": "value", "datavalue": {"value": {"time": f"+{year}-00-00T00:00:00Z", "precision": 9}}}]
            for name, year in (("P580", begin), ("P582", end))
        }
        lines.append(json.dumps({"id": h, "claims": {r: [{"mainsnak": value, "rank": "normal", "qualifiers": times}]}}))
    triples = "".join(
        f'{_rdf(h, r, t)} .\n_:x{n} <{RDF}reifies> <<( {_rdf(h, r, t)} )>> .\n_:x{n} <http://p/begin> "{b}" .\n'
        for n, (h, r, t, b, _) in enumerate(FACTS)
    )
    parquet = io.BytesIO()
    pl.read_csv(table.encode()).write_parquet(parquet)
    found = {
        "g.csv": table.encode(),
        "quoted.csv": table.replace("e1,", '"e,1",').encode(),
        "g.tsv": table.replace(",", "\t").encode(),
        "g.parquet": parquet.getvalue(),
        "g.nt": triples.encode(),
        "g.nq": "".join(f"{_rdf(h, r, t)} <http://g/{b}> .\n" for h, r, t, b, _ in FACTS).encode(),
        "g.ttl": turtle.encode(),
        "g.trig": f"{turtle} :g {{ :a :b :c }}\n".encode(),
        "g.rdf": f"{xml}</rdf:RDF>".encode(),
        "g.jsonld": json.dumps(
            {"@context": {"@vocab": "http://e/"}, "@id": "http://e/a", "met": {"@id": "b"}}
        ).encode(),
        "array.json": ("[" + ",".join(lines) + "]").encode(),
        "g.json": ("[\n" + ",\n".join(lines) + "\n]\n").encode(),
        "people.csv": PEOPLE.encode(),
        "members.csv": MEMBERS.encode(),
        "since.tsv": SINCE.encode(),
        "merged.csv": (table.replace("end\n", "end,said_by\n").replace("e1,", ",", 1)).encode(),
        "wild.ttl": WILD.encode(),
        "wikibase.ttl": WIKIBASE.encode(),
        "maps.jsonld": MAPS.encode(),
        "entity.json": _entity_data().encode(),
    }
    found["g.csv.gz"], found["g.nt.zst"] = gzip.compress(found["g.csv"]), zstandard.compress(found["g.nt"])
    found["g.ttl.bz2"] = bz2.compress(found["g.ttl"])
    return found


DATES = (
    "1815-12-10",
    "circa 1830",
    "1830s",
    "183X",
    "1830/1831",
    "01 January 2019",
    "20130401",
    "44 BCE",
    "unknown",
    "",
)
PEOPLE = "id,name,born,died,place,work\n" + "".join(
    f"e{n},Name {n},{1800 + n}-02-03,{date},{('Rome', 'Bonn')[n % 2]},{('poet; clerk', 'clerk', '')[n % 3]}\n"
    for n, date in enumerate(DATES)
)
MEMBERS = "person,area,party,from,to,personLabel\n" + "".join(
    f" e{n} ,north,{('red', '')[n % 2]},{1900 + n},{('', 1950 + n)[n % 2]},Name {n}\n" for n in range(8)
)
SINCE = (
    "".join(f'e{n}\tr\te{n + 1}\t<occurs{("Since", "Until")[n % 2]}>\t"18{n}0-##-##"\n' for n in range(9)) + "a\tr\tb\n"
)
WILD = """@prefix : <http://e/> . @prefix time: <http://www.w3.org/2006/time#> .
@prefix org: <http://www.w3.org/ns/org#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> . @prefix prov: <http://www.w3.org/ns/prov#> .
@prefix crm: <http://www.cidoc-crm.org/cidoc-crm/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:e1 :born "1815-12-10"^^xsd:date ; :died "1852"^^xsd:gYear ; rdfs:label "x"@zh-classical , "e1"@en .
:e2 :in :e3 ; time:hasTime [ time:hasBeginning [ time:inDateTime [ time:year "1830" ; time:month "--05" ] ] ;
 time:hasEnd [ time:inXSDgYear "1831"^^xsd:gYear ] ] .
:e4 prov:startedAtTime "1830-05-01T09:00:00Z"^^xsd:dateTime ; prov:used :e5 .
:e6 crm:P98_brought_into_life :e1 ; crm:P4_has_time-span [ crm:P82a_begin_of_the_begin "1830-05-01"^^xsd:date ] .
:m a org:Membership ; org:member :e1 ; org:memberDuring "1830/1835" .
:e7 :seen "1830~"^^<http://id.loc.gov/datatypes/edtf/EDTF> . << :e1 :knows :e2 >> :since "1830" .
"""
WIKIBASE = """@prefix wd: <http://www.wikidata.org/entity/> . @prefix p: <http://www.wikidata.org/prop/> .
@prefix ps: <http://www.wikidata.org/prop/statement/> . @prefix psv: <http://www.wikidata.org/prop/statement/value/> .
@prefix pq: <http://www.wikidata.org/prop/qualifier/> . @prefix pqv: <http://www.wikidata.org/prop/qualifier/value/> .
@prefix wdt: <http://www.wikidata.org/prop/direct/> . @prefix wds: <http://www.wikidata.org/entity/statement/> .
@prefix wikibase: <http://wikiba.se/ontology#> . @prefix v: <http://www.wikidata.org/value/> .
wd:Q1 p:P39 wds:a ; wdt:P31 wd:Q5 ; wdt:P569 "1815-12-10T00:00:00Z" .
wds:a ps:P39 wd:Q2 ; pq:P580 "1830-01-01T00:00:00Z" ; pqv:P580 v:x ; wikibase:rank wikibase:NormalRank .
v:x wikibase:timeValue "1830-01-01T00:00:00Z" ; wikibase:timePrecision "9" .
"""
MAPS = """{"@context": {"@vocab": "http://e/", "label": {"@id": "http://www.w3.org/2000/01/rdf-schema#label",
 "@container": "@language"}}, "@id": "http://e/a", "met": {"@id": "http://e/b"}, "born": "1815-12-10",
 "label": {"en": "a", "zh-classical": ["b"]}}"""


def _entity_data() -> str:
    """What Special:EntityData gives: labels, aliases, a date, a coarse one, a deprecated statement."""
    julian = "http://www.wikidata.org/entity/Q1985786"
    dates = {"+1815-12-10T00:00:00Z": 11, "-13798000000-00-00T00:00:00Z": 3, "+00000001917-12-06T00:00:00Z": 9}
    claims = [
        {
            "mainsnak": {
                "snaktype": "value",
                "datatype": "time",
                "datavalue": {"type": "time", "value": {"time": time, "precision": precision, "calendarmodel": julian}},
            },
            "rank": "normal" if precision > 3 else "deprecated",
        }
        for time, precision in dates.items()
    ]
    label = {"en": {"language": "en", "value": "Ada"}}
    entity = {"id": "Q7259", "labels": label, "aliases": {"en": [*label.values()]}, "claims": {"P569": claims}}
    return json.dumps({"entities": {"Q7259": entity}}, indent=1)


LINKS = ("links.tsv", "links.csv", "links.parquet", "links.jsonl", "links.nt", "links.sssom.tsv")
READ_WITH = {
    "people.csv": ("--list-separator", ";"),
    "members.csv": ("--columns", "head=person,tail=area,tail=party,begin=from,end=to"),
    "since.tsv": ("--columns", "head=1,relation=2,tail=3,role=4,time=5"),
}
FOLDER = (
    "ent_ids_1",
    "ent_ids_2",
    "rel_ids_1",
    "rel_ids_2",
    "triples_1",
    "triples_2",
    "time_id",
    "dates_1",
    "ref_pairs",
)


STAGES = {
    "run": ("graphs", "round", "outcome"),
    "begun": ("graphs", "round"),
    "trained": ("graphs", "pseudo-seeds", "training"),
}
GRAPHS = "{seeds}/g.csv", "{seeds}/other.csv"
RESUMED = {
    "begun": ("align", *GRAPHS),
    "trained": ("align", *GRAPHS, "--method", "dualmatch", "--epochs", "3", "--dimension", "8"),
}


def _begun(place: Path, folder: str) -> None:
    """A run that is not finished: as if it had been killed before its results were written."""
    from dualmatch.cli.main import main

    main([*(each.format(seeds=place) for each in RESUMED[folder]), "--run", str(place / folder), "-q"])
    record = place / folder / "run.json"
    data = json.loads(record.read_text())
    data |= {"state": "running", "results": {}, "outcome": None}
    data["stages"].pop("outcome", None)
    record.write_text(json.dumps(data))
    for path in [*(place / folder).glob("links.tsv*"), *(place / folder / "stages").glob("outcome*")]:
        path.unlink()


def make_seeds(place: Path) -> None:
    """Write all seeds into a folder."""
    from dualmatch.cli.main import main
    from dualmatch.links.decisions import DecisionLog
    from dualmatch.links.opinions import ReviewVerdict
    from dualmatch.simulate import World, simulate, write_folder

    for name, content in _graphs().items():
        (place / name).write_bytes(content)
    other = (
        _graphs()["g.csv"].replace(b"e", b"q").replace(b"hqad,rqlation,tail,bqgin,qnd", b"head,relation,tail,begin,end")
    )
    (place / "other.csv").write_bytes(other)
    (place / "gold.tsv").write_text("".join(f"e{n}\tq{n}\n" for n in range(13)))
    (place / "seeds.tsv").write_text("e0\tq0\ne1\tq1\n")
    (place / "labels.tsv").write_text("".join(f"e{n}\tName {n}\n" for n in range(13)))
    write_folder(simulate(World(entities=30, mean_facts=4, seed=1)), place / "folder")
    entity, _ = (place / "folder" / "ent_ids_1").read_text().split(None, 1)
    (place / "folder" / "dates_1").write_text(f"{entity}\t0\t1\n{entity}\t0\t1\t2\n")
    graphs = [str(place / "g.csv"), str(place / "other.csv")]
    for name in LINKS:
        main(["align", *graphs, "-o", str(place / name), "-q"])
    main(["align", *graphs, "--run", str(place / "run"), "-q"])
    for name in RESUMED:
        _begun(place, name)
    (place / "config.toml").write_text('method = "evidence"\nmin_confidence = 0.4\nseeds = "seeds.tsv"\n[source]\n')
    log = DecisionLog.open(place / "decisions.db")
    log.decide(ReviewVerdict.ACCEPT, "e0", "q0", 0)
    log.decide(ReviewVerdict.NO_MATCH, "e1", None, 0)
    log.close()


@cache
def targets() -> dict[str, Target]:
    """Every seed with its calls; {file} is the seed, {out} a place that is emptied, {seeds} where seeds are."""
    found = {}
    for name in _graphs():
        calls = tuple(
            (*call, *READ_WITH.get(name, ()))
            for call in (("inspect", "{file}"), ("inspect", "{file}", "--on-error", "skip", "--use-labels"))
        )
        found[name] = Target(name, (*calls, ("align", "{file}", "other.csv", "-o", "{out}/l.tsv")), _by_format(name))
    for name in FOLDER:
        found[f"folder/{name}"] = Target(f"folder/{name}", (("inspect", "folder"),))
    for name in LINKS:
        calls = (
            ("evaluate", "{file}", "--gold", "gold.tsv"),
            ("report", "{file}", "-o", "{out}/r.html"),
            ("merge", "g.csv", "other.csv", "--links", "{file}", "-o", "{out}/m.tsv"),
        )
        found[name] = Target(name, calls, _by_format(name))
    why = tuple(("explain", "links.tsv", *more) for more in (("e3",), ("q3", "--target")))
    found["companion"] = Target(
        "links.tsv.why.npz", why, changed_npz, ("links.tsv.run.json", "results", "links.tsv.why.npz")
    )
    record = ("report", "links.tsv", "-o", "{out}/r.html"), ("evaluate", "links.tsv", "--gold", "gold.tsv")
    found["record"] = Target("links.tsv.run.json", (*record, *why), changed_json)
    update = ("update", "run", "--source-facts", "other.csv", "--run", "{out}/new")
    reading = (update, ("report", "run", "-o", "{out}/r.html"))
    found["run"] = Target("run/run.json", reading, changed_json)
    for folder, stages in STAGES.items():
        calls = reading if folder == "run" else ((*RESUMED[folder], "--run", folder, "--resume"),)
        for stage in stages:
            place = (f"{folder}/run.json", "stages", stage, "content")
            file = f"{folder}/stages/{stage}*.npz"
            found[f"{folder}/{stage}"] = Target(file, calls, changed_npz, place, None if folder == "run" else folder)
        if folder != "run":
            found[folder] = Target(f"{folder}/run.json", calls, changed_json, folder=folder)
    align = ("align", "g.csv", "other.csv", "-o", "{out}/l.tsv")
    found["decisions"] = Target(
        "decisions.db", ((*align, "--seeds", "{file}"), (*align, "--forbid", "{file}")), changed_sqlite
    )
    found["seeds"] = Target("seeds.tsv", ((*align, "--seeds", "{file}"), (*align, "--forbid", "{file}")))
    shown = ("report", "links.tsv", "-o", "{out}/r.html", "--show-labels", "{file}")
    found["labels"] = Target("labels.tsv", ((*align, "--labels", "{file}", "--labels", "labels.tsv"), shown))
    found["gold"] = Target("gold.tsv", (("evaluate", "links.tsv", "--gold", "{file}"),))
    found["config"] = Target("config.toml", ((*align, "--config", "{file}"),))
    return found


def changed_bytes(content: bytes, draw: random.Random) -> bytes:
    """A few changes of bytes."""
    data = bytearray(content)
    for _ in range(draw.choice((1, 1, 2, 5))):
        at, length = draw.randrange(len(data) + 1), draw.choice((1, 1, 4, 40, 400))
        kind = draw.randrange(8)
        if kind == 0 and data:
            data[at % len(data)] ^= 1 << draw.randrange(8)
        elif kind == 1 and data:
            data[at % len(data)] = draw.randrange(256)
        elif kind == 2:
            del data[at : at + length]
        elif kind == 3:
            data[at:at] = data[at : at + length] * draw.choice((1, 3, 50))
        elif kind == 4:
            data[at : at + draw.choice((0, length))] = draw.choice(ODD)
        elif kind == 5:
            data[at:at] = draw.randbytes(length)
        elif kind == 6:
            other = draw.randrange(len(data) + 1)
            data[at : at + length], data[other : other + length] = data[other : other + length], data[at : at + length]
        elif draw.random() < 0.3:
            del data[at:]
    return bytes(data)


def _by_format(name: str) -> Callable[[Path, random.Random], bytes] | None:
    if ".parquet" in name:
        return changed_parquet
    return changed_packed if name.endswith((".gz", ".zst", ".bz2")) else None


def changed_packed(path: Path, draw: random.Random) -> bytes:
    """The content changed, and packed again."""
    pack, unpack = {
        ".gz": (gzip.compress, gzip.decompress),
        ".zst": (zstandard.compress, zstandard.decompress),
        ".bz2": (bz2.compress, bz2.decompress),
    }[path.suffix]
    return pack(changed_bytes(unpack(path.read_bytes()), draw))


def changed_parquet(path: Path, draw: random.Random) -> bytes:
    """A column of another type, or with values at the edges."""
    table, out = pl.read_parquet(path), io.BytesIO()
    column = draw.choice(table.columns)
    edges = [2**31 - 1, -(2**31), 2**63 - 1, 0]
    made = draw.choice(
        [
            pl.Series(edges, dtype=pl.Int64),
            pl.Series(edges[:2] * 2, dtype=pl.Int32).cast(pl.Date),
            pl.Series(edges, dtype=pl.Int64).cast(pl.Datetime(draw.choice(("ms", "us", "ns")))),
            pl.Series([1e300, float("nan"), float("inf"), 0.5]),
            pl.Series([b"\xff", b"", None, b"x"]),
            pl.Series([[1], [], None, [2, 3]]),
            pl.Series([{"a": 1}] * 4),
            pl.Series([True, None, False, True]),
            pl.Series(["\0", "", None, "\u202e" * 5000]),
            pl.Series([None] * 4),
        ]
    )
    table.head(4).with_columns(made.alias(column)).write_parquet(out)
    return out.getvalue()


def changed_npz(path: Path, draw: random.Random) -> bytes:
    """An array, or a value of what is said about them, changed; the archive is intact."""
    with np.load(path) as stored:
        arrays = {name: stored[name] for name in stored.files}
    name = draw.choice(sorted(arrays))
    if name == "about" or draw.random() < 0.2:
        text = json.dumps(_with_another(json.loads(arrays["about"].tobytes()), draw)).encode()
        arrays["about"] = np.frombuffer(text, np.uint8)
    else:
        array = arrays[name].copy()
        if array.size and draw.random() < 0.6:
            values = [-1, 0, 1, array.size, 2**31 - 1, -(2**31), 10**9, 0.5, float("nan"), float("inf")]
            with np.errstate(all="ignore"):
                array.flat[draw.randrange(array.size)] = np.array(draw.choice(values)).astype(array.dtype)
        else:
            kinds = (np.float64, np.int64, np.uint8, np.complex128, "U3", bool)
            array = draw.choice(
                [
                    array[: len(array) // 2],
                    array[..., None],
                    np.append(array, array),
                    array[::-1],
                    *map(array.astype, kinds),
                ]
            )
        arrays[name] = array
    out = io.BytesIO()
    np.savez_compressed(out, **arrays)
    return out.getvalue()


def changed_json(path: Path, draw: random.Random) -> bytes:
    """A value replaced or removed."""
    return json.dumps(_with_another(json.loads(path.read_text()), draw)).encode()


def _with_another(data: Any, draw: random.Random) -> Any:
    at = data
    while True:
        keys = [*at] if isinstance(at, dict) else [*range(len(at))]
        if not keys:
            return data
        key = draw.choice(keys)
        if isinstance(at[key], dict | list) and at[key] and draw.random() < 0.8:
            at = at[key]
            continue
        if isinstance(at, dict) and draw.random() < 0.2:
            del at[key]
        else:
            at[key] = draw.choice(
                ["x", "", "\0", "../../x", None, -1, 10**30, 0.5, True, [], {}, [[]], "x" * 9999, "\ud800"]
            )
        return data


def changed_sqlite(path: Path, draw: random.Random) -> bytes:
    """Rows and tables changed with SQL."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(shutil.copy(path, folder))
        with contextlib.closing(sqlite3.connect(copy, isolation_level=None)) as database:
            database.execute("PRAGMA ignore_check_constraints = ON")
            values = ("'x'", "NULL", "x'00ff'", "-1", "9e99", "'skip'", "'undo'", "'e0'", "''")
            row = ", ".join(draw.choice(values) for _ in range(5))
            statements = (
                f"INSERT INTO decisions (at, verdict, source, target, undoes) VALUES ({row})",
                "ALTER TABLE decisions ADD COLUMN more",
                "DROP TRIGGER kept",
                "CREATE VIEW more AS SELECT 1",
                f"PRAGMA user_version = {draw.randrange(9)}",
                f"PRAGMA application_id = {draw.randrange(9)}",
            )
            with contextlib.suppress(sqlite3.Error):
                database.execute(draw.choice(statements))
        return copy.read_bytes()


@cache
def _drawn_from() -> list[str]:
    """Names of targets; a run that is resumed takes ten times as long as another call, and is drawn less often."""
    known = targets()
    return [name for name in sorted(known) for _ in range(1 if known[name].folder else 4)]


class Case:
    """One case: its target, content and call, drawn by its number."""

    def __init__(self, number: int, seeds: Path, only: str | None = None) -> None:
        draw = random.Random(number)
        known = targets()
        self.number, self.name = number, only or draw.choice(_drawn_from())
        self.target = known[self.name]
        self.seeds, path = seeds, next(seeds.glob(self.target.file))
        self.file = str(path.relative_to(seeds))
        change = self.target.change if draw.random() < 0.6 else None
        self.content = change(path, draw) if change else changed_bytes(path.read_bytes(), draw)
        self.call = draw.choice(self.target.calls)
        self.fits = draw.random() < 0.8

    def put_into(self, work: Path, content: bytes) -> None:
        """Write the changed file, and its hash into the record that has it."""
        (work / self.file).write_bytes(content)
        if self.target.record and self.fits:
            record = work / self.target.record[0]
            data = json.loads(record.read_text())
            at = data
            for key in self.target.record[1:-1]:
                at = at[key]
            at[self.target.record[-1]] = {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content)}
            record.write_text(json.dumps(data))

    def restore(self, work: Path, seeds: Path) -> None:
        for name in (self.file, *self.target.record[:1]):
            shutil.copy(seeds / name, work / name)
        if self.target.folder is not None:
            shutil.rmtree(work / self.target.folder)
            shutil.copytree(seeds / self.target.folder, work / self.target.folder)

    def run(self, work: Path, content: bytes) -> str:
        """What becomes of the call, in one word or a few: "0", "2", or what is wrong."""
        out = work / "out"
        if not out.is_dir() or any(out.iterdir()):
            shutil.rmtree(out, ignore_errors=True)
            out.mkdir()
        self.put_into(work, content)
        before = self._files(work)
        found = _called([each.format(file=self.file, out="out", seeds=self.seeds) for each in self.call])
        left = self._files(work) - before
        if found == "2" and (left or any(out.iterdir())):
            return f"left behind: {sorted(map(str, [*left, *out.iterdir()]))[:3]}"
        return found

    def _files(self, work: Path) -> set[str]:
        """What is there before and after a call that fails; stages of a run that is resumed may be new."""
        may_change = str(work / "out"), str(work / (self.target.folder or "out"))
        return {
            os.path.join(folder, name)
            for folder, folders, files in os.walk(work)
            for name in (*folders, *files)
            if not folder.startswith(may_change) or name.endswith(".part")
        }


class _HangError(BaseException):
    pass


def _called(arguments: list[str]) -> str:
    from dualmatch.cli.main import main

    def hang(*_: object) -> None:
        raise _HangError

    said, code = io.StringIO(), 0
    signal.signal(signal.SIGVTALRM, hang)
    signal.setitimer(signal.ITIMER_VIRTUAL, CPU_SECONDS)
    try:
        with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO(), "utf-8")), contextlib.redirect_stderr(said):
            main(arguments)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except _HangError:
        return "hang"
    except BaseException as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return f"traceback: {type(error).__name__} at {Path(where.filename).name}:{where.lineno}"
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    if code not in (0, 2):
        return f"exit code {code}"
    if peak > MEMORY_MB:
        return f"{peak:.0f} MB"
    return str(code) if len(said.getvalue()) < LONGEST_MESSAGE else "a message longer than a screen"


def _keep_what_does_not_change() -> None:
    """Templates and schemas are made once a process: a program makes them once a call."""
    import jinja2

    from dualmatch.readers import read_options
    from dualmatch.runs import input_spec, record

    for module in (read_options, input_spec, record):
        module.TypeAdapter = cache(module.TypeAdapter)  # type: ignore[attr-defined]
    compiled = jinja2.Environment.compile
    kept: dict[Any, Any] = {}

    def compile_once(self: Any, source: Any, name: Any = None, *rest: Any, **more: Any) -> Any:
        if (source, name) not in kept:
            kept[source, name] = compiled(self, source, name, *rest, **more)
        return kept[source, name]

    jinja2.Environment.compile = compile_once  # type: ignore[method-assign]


def work_off(numbers: Iterator[int], seeds: Path, only: str | None) -> None:
    """In a process of its own: the cases one after the other, each said before and after."""
    from dualmatch.methods import resources

    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_BYTES, ADDRESS_BYTES))
    _keep_what_does_not_change()
    resources.quick_unit_seconds = lambda: 1.0  # how fast the machine is need not be measured with every call
    say = os.fdopen(os.dup(1), "w", buffering=1)
    with tempfile.TemporaryDirectory() as place:
        work = Path(shutil.copytree(seeds, Path(place) / "work"))
        os.chdir(work)
        for number in numbers:
            case = Case(number, seeds, only)
            print(number, case.name, "begins", file=say)
            found = case.run(work, case.content)
            print(number, case.name, found, file=say)
            case.restore(work, seeds)
            if found.endswith("MB"):
                return  # the peak stays: the next cases need another process


def fuzz(first: int, last: int, seeds: Path, only: str | None = None) -> Iterator[tuple[int, str, str]]:
    """(case, target, what became of it), in order; a process that dies or hangs is replaced."""
    at = first
    while at < last:
        call = [sys.executable, __file__, "--worker", str(at), str(last), "--seeds", str(seeds)]
        call += ["--only", only] if only else []
        one = dict.fromkeys(("POLARS_MAX_THREADS", "OMP_NUM_THREADS"), "1")  # files are small
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        with subprocess.Popen(call, env={**os.environ, **one}, text=True, **pipes) as process:
            assert process.stdout is not None
            name, is_running = "", False
            while True:
                ready, _, _ = select.select([process.stdout], [], [], WALL_SECONDS)
                line = process.stdout.readline() if ready else ""
                if not line:
                    break
                number, name, found = line.rstrip("\n").split(" ", 2)
                is_running = found == "begins"
                if not is_running:
                    yield int(number), name, found
                    at = int(number) + 1
            process.kill()
        if is_running or process.returncode not in (0, -signal.SIGKILL):
            yield at, name, f"crash: {process.returncode}" if ready else "hang"
            at += 1


def minimised(number: int, seeds: Path, only: str | None) -> bytes:
    """The content of a case without what it is as wrong without."""

    def outcome(content: bytes) -> str:
        with tempfile.NamedTemporaryFile() as file:
            file.write(content)
            file.flush()
            call = [sys.executable, __file__, "--case", str(number), "--content", file.name, "--seeds", str(seeds)]
            done = subprocess.run(
                [*call, *(["--only", only] if only else [])], capture_output=True, text=True, check=False
            )
            return done.stdout.strip() if done.returncode == 0 else f"crash: {done.returncode}"

    content = Case(number, seeds, only).content
    wanted, size = outcome(content), len(content)
    while size >= 1:
        for start in range(len(content) - size, -1, -size):
            shorter = content[:start] + content[start + size :]
            if outcome(shorter) == wanted:
                content = shorter
        size //= 2
    return content


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="number of the first case, where there are no results yet")
    parser.add_argument("--results", type=Path, default=Path("fuzz.jsonl"))
    parser.add_argument("--only", help="one target, by name", choices=sorted(targets()))
    parser.add_argument("--case", type=int, help="run this case alone and print what becomes of it")
    parser.add_argument("--minimise", type=int, help="make the file of this case small")
    parser.add_argument("--content", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--seeds", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--worker", type=int, nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        seeds = given.seeds or Path(place)
        if given.seeds is None:
            make_seeds(seeds)
        if given.worker:
            work_off(iter(range(*given.worker)), seeds, given.only)
        elif given.minimise is not None:
            path = Path(f"case-{given.minimise}.min")
            path.write_bytes(minimised(given.minimise, seeds, given.only))
            print(f"{path}: {path.stat().st_size:,} bytes")
        elif given.case is not None:
            case = Case(given.case, seeds, given.only)
            os.chdir(seeds)
            print(case.run(seeds, given.content.read_bytes() if given.content else case.content))
        else:
            _report(given, seeds)


def _report(given: argparse.Namespace, seeds: Path) -> None:
    kept = [json.loads(line) for line in given.results.read_text().splitlines()] if given.results.exists() else []
    first = kept[-1]["next"] if kept else given.first
    count: collections.Counter[str] = collections.Counter(kept[-1]["count"] if kept else {})
    with given.results.open("a") as results:
        for number, name, found in fuzz(first, first + given.cases, seeds, given.only):
            kind = found.partition(":")[0]
            count[kind] += 1
            if kind not in ("0", "2") or number % 100 == 99 or number == first + given.cases - 1:
                row = {"case": number, "target": name, "found": found, "next": number + 1, "count": count}
                print(json.dumps(row), file=results, flush=True)
            if kind not in ("0", "2"):
                print(f"{number} {name}: {found}", flush=True)
    print(f"{count.total():,} cases: " + ", ".join(f"{kind} {n:,}" for kind, n in sorted(count.items())))


if __name__ == "__main__":
    main()
