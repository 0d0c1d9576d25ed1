"""Bombs, kills, full disks and hostile requests: how each of them ends.

    python benchmarks/attack.py [bombs] [kills] [workers] [disks] [requests] [--size 3] [--kills 20] [--seed 0]

Bombs unpack to --size GiB, or nest and repeat; each is inspected in a process of its own with 5 GB of address space.
Kills: an update, and a review that decisions are sent to, ended with SIGKILL at moments drawn; then nothing that was
answered may be lost, and the update begun anew must come to the same bytes (benchmarks/kills.py does align). Disks: a
run whose files may only grow to a limit, then resumed without one. Workers: runs on a local Dask cluster whose workers
are killed end in the same bytes, or in words. Requests: benchmarks/hostile_requests.py.
All of it is about what ends well: exit code 0 or 2, no traceback, nothing half-written.
"""

from __future__ import annotations

import argparse
import bz2
import gzip
import io
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import psutil
import zstandard

from dualmatch.links.decisions import read_decisions
from dualmatch.simulate import World, simulate, write_folder
from hostile_requests import CALL, Page, ask_hostile
from kills import killed, seconds_of

RDF = 'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/"'
SMALL_BLOCKS = """
import functools
from dualmatch.cli.main import main
from dualmatch.engine import cluster
if __name__ == "__main__":
    cluster.Cluster = functools.partial(cluster.Cluster, block_rows=200)
    main()
"""  # so that there is something for every worker to do
OPTIONS = {"list.csv": ("--list-separator", ";")}
CLOCKS = {"links.tsv.run.json", "run.json", "lock"}


def bombs(gib: int) -> Iterator[tuple[str, bytes]]:
    """Names and contents of files that are made to break a reader."""
    for name, piece in (("line", b"a"), ("breaks", b"\n"), ("nul", b"\0")):
        packed = _packed(gzip.GzipFile, piece, gib), _packed(zstandard.ZstdCompressor().stream_writer, piece, gib)
        streams = bz2.compress(piece * (1 << 22)) * (gib << 8)  # a file may have many, one after the other
        for kind in ("csv", "json", "nt"):
            yield f"{name}.{kind}.gz", packed[0]
            yield f"{name}.{kind}.zst", packed[1]
            yield f"{name}.{kind}.bz2", streams
        for kind in ("jsonld", "ttl", "rdf", "parquet"):
            yield f"{name}.{kind}.gz", packed[0]
    laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
    yield "laughs.rdf", f'<!DOCTYPE r [<!ENTITY l0 "lol">{laughs}]><rdf:RDF {RDF}>&l11;</rdf:RDF>'.encode()
    long = f"<!DOCTYPE r [<!ENTITY a '{'x' * 100_000}'>]><rdf:RDF {RDF}>{'&a;' * 100_000}</rdf:RDF>"
    yield "quadratic.rdf", long.encode()
    yield "deep.rdf", (f"<rdf:RDF {RDF}>" + "<e:a><e:b>" * 50_000).encode()
    deep = "<<( <http://e/s> <http://e/p> " * 100_000 + "<http://e/o>" + " )>>" * 100_000
    yield "deep.nt", f"<http://e/s> <http://e/p> {deep} .\n".encode()
    yield "deep.ttl", f"<http://e/s> <http://e/p> {deep} .\n".encode()
    yield "brackets.ttl", b"<http://e/s> <http://e/p> " + b"[ <http://e/p> ( " * 100_000
    yield "brackets.json", b"[\n" + b'{"a":[' * 200_000
    yield "junk.ttl", "ǅ".encode() * 200_000
    yield "literal.ttl", b'<http://e/s> <http://e/p> "' + b"x" * (40 << 20) + b'" .\n'
    yield "brackets.jsonld", b'{"@context": {"@vocab": "http://e/"}, "a": ' + b'{"a": [' * 200_000
    yield "contexts.jsonld", b'{"@context": [' + b'{"a": "http://e/"},' * 200_000 + b'{}], "a": "b"}'
    yield "remote.jsonld", b'{"@context": "http://127.0.0.1:9/context", "@id": "http://e/a", "http://e/b": "c"}'
    yield "pretty.json", b'[\n  {\n    "id": "Q1",\n    "claims": {\n' + b'      "P1": [],\n' * 6_000_000
    yield "brackets-pretty.json", b'{\n"id": "Q1",\n' + b'"claims": {\n' * 300_000
    yield "number.json", b'{\n"id": "Q1",\n"claims": ' + b"9" * 40_000_000
    yield "list.csv", b'id,name,work\ne1,Ada,"' + b"a;" * 20_000_000 + b'"\n'
    wide = b"id," + b",".join(b"c%d" % n for n in range(9_998)) + b"\n"
    yield "wide.csv", wide + (b"e%d" + b",x" * 9_998 + b"\n") * 300 % (*range(300),)
    yield "rows.parquet", _same_facts("a", 20_000_000, 10)
    yield "dictionary.parquet", _same_facts("a" * 100_000_000, 10, 9, compression="zstd")
    yield "texts.parquet", _same_facts("a" * 100_000, 5_000_000, 1, store_schema=False)
    yield "categories.parquet", _same_facts("a" * 100_000, 5_000_000, 1)
    yield "columns.csv", b",".join(b"c%d" % n for n in range(1_000_000)) + b"\n"
    yield "wrong.csv", b"head,relation,tail\n" + b"a,b\n" * 2_000_000


def _same_facts(text: str, rows: int, groups: int, **options: Any) -> bytes:
    """A Parquet file of facts that are all the same, as small as it gets."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    column, out = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array([text])), io.BytesIO()
    table = pa.table(dict.fromkeys(("head", "relation", "tail"), column))
    with pq.ParquetWriter(out, table.schema, **options) as writer:
        for _ in range(groups):
            writer.write_table(table, row_group_size=rows)
    return out.getvalue()


def _packed(opened: object, piece: bytes, gib: int) -> bytes:
    out = io.BytesIO()
    file = opened(fileobj=out, mode="wb") if opened is gzip.GzipFile else opened(out, closefd=False)  # type: ignore[operator]
    with file:
        for _ in range(gib << 8):
            file.write(piece * (1 << 22))
    return out.getvalue()


def drop_bombs(place: Path, gib: int) -> int:
    count = wrong = 0
    for name, content in bombs(gib):
        (place / name).write_bytes(content)
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (5 << 30, 5 << 30))  # noqa: E731
        call = [*CALL, "inspect", str(place / name), *OPTIONS.get(name, ())]
        with (place / "said").open("w+") as said:
            process = subprocess.Popen(call, stdout=subprocess.DEVNULL, stderr=said, preexec_fn=limit)
            _, status, used = os.wait4(process.pid, 0)
            said.seek(0)
            errors = said.read()
        code, seconds, peak = os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
        is_wrong = code not in (0, 2) or "Traceback" in errors or seconds > 15 or peak > 1500
        count, wrong = count + 1, wrong + is_wrong
        last = (errors.strip().splitlines() or [""])[-1][:90]
        print(f"{'WRONG ' * is_wrong}{name}: exit {code}, {seconds:.1f} s, {peak:.0f} MB: {last}", flush=True)
        (place / name).unlink()
    print(f"{count - wrong} of {count} bombs ended in words, within 15 s of CPU and 1.5 GB")
    return wrong


def world_of(place: Path) -> tuple[Path, Path]:
    """A world, and a few facts that arrive later."""
    pair = simulate(World(entities=1500, mean_facts=6, seed=4))
    folder = write_folder(pair, place / "world")
    graph = pair.source
    rows = [f"{graph.entities[n]},{graph.relations[0]},{graph.entities[n + 1]},{1900 + n % 90}\n" for n in range(40)]
    (place / "new.csv").write_text("head,relation,tail,begin\n" + "".join(rows))
    return folder, place / "new.csv"


def results_of(run: Path) -> dict[str, bytes]:
    return {
        path.name: path.read_bytes() for path in sorted(run.iterdir()) if path.is_file() and path.name not in CLOCKS
    }


def kill_updates(place: Path, kills: int, draw: random.Random) -> int:
    world, new = world_of(place)
    old, updated = place / "old.run", place / "new.run"
    subprocess.run([*CALL, "align", str(world), "--run", str(old), "-q"], check=True)
    untouched = results_of(old)
    call = [*CALL, "update", str(old), "--source-facts", str(new), "--run", str(updated), "-q", "--force"]
    (_, working), wrong = seconds_of(call, updated), 0
    expected = results_of(updated)
    number = 0
    while number < kills:
        shutil.rmtree(updated)
        if not killed(call, updated, draw.random() * working):
            continue  # it was done before
        number += 1
        done = subprocess.run(call, check=False, capture_output=True)
        is_wrong = done.returncode != 0 or results_of(updated) != expected or results_of(old) != untouched
        is_wrong |= bool([*updated.rglob("*.part"), *old.rglob("*.part")])
        wrong += is_wrong
        print(f"update, kill {number}: {'WRONG' if is_wrong else 'same bytes, the old run untouched'}")
    return wrong


def kill_reviews(place: Path, kills: int, draw: random.Random) -> int:
    links, wrong = place / "old.run" / "links.tsv", 0
    for number in range(kills):
        decisions = place / f"decisions-{number}.db"
        call = [*CALL, "review", str(links), "--no-open", "--decisions", str(decisions)]
        with subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
            assert process.stdout is not None
            page = Page(process.stdout.readline().split()[-1])
            killing = threading.Timer(draw.random() * 3, process.kill)  # often in the middle of a decision
            killing.start()
            answered = 0
            for source in range(10_000):
                body = urlencode({"verdict": "skip", "source": source, "seen": 0}).encode()
                if page.status("POST", "/decide", body) != 303:
                    break
                answered += 1
            killing.join()
        kept = len(read_decisions(decisions).decided)
        wrong += kept < answered
        print(f"review, kill {number + 1}: {answered} answered, {kept} kept{', WRONG' * (kept < answered)}")
    return wrong


def fill_disks(place: Path) -> int:
    world, _ = world_of(place)
    run, wrong = place / "run", 0
    call = [*CALL, "align", str(world), "--run", str(run), "-q"]
    subprocess.run(call, check=True)
    expected = results_of(run)
    for limit in (0, 1000, 10_000, 50_000, 100_000, 200_000, 400_000, 800_000):
        shutil.rmtree(run)

        def full(limit: int = limit) -> None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        done = subprocess.run(call, capture_output=True, text=True, preexec_fn=full, check=False)
        is_wrong = done.returncode not in (0, 2) or "Traceback" in done.stderr or bool([*place.rglob("*.part")])
        begun = (run / "run.json").exists()
        subprocess.run([*call, "--resume"] if begun else call, check=False)
        is_wrong |= results_of(run) != expected
        wrong += is_wrong
        print(f"files of {limit:,} bytes at most: exit {done.returncode}, then {'WRONG' if is_wrong else 'same bytes'}")
    return wrong


def kill_workers(place: Path, runs: int, draw: random.Random) -> int:
    """Runs on a local cluster of three, whose workers are killed: once, or again and again."""
    world, _ = world_of(place)
    plain, links, wrong = place / "plain.tsv", place / "links.tsv", 0
    subprocess.run([*CALL, "align", str(world), "-o", str(plain), "-q"], check=True)
    call = [sys.executable, "-c", SMALL_BLOCKS, "align", str(world), "-o", str(links), "-q", "--force"]
    number = 0
    while number < runs:
        links.unlink(missing_ok=True)
        kills, every = 0, (0.0, 0.0, 1.5, 0.5)[number % 4]  # seconds between kills; 0: one kill
        with subprocess.Popen(
            [*call, "--engine", "dask", "--workers", "3"], stderr=subprocess.PIPE, text=True
        ) as process:
            due, end = 0.0, time.monotonic() + 300
            while process.poll() is None and time.monotonic() < end:
                living = workers_of(process.pid)
                due = due or (time.monotonic() + draw.uniform(0, 6) if living else 0.0)  # since they start
                if living and time.monotonic() > due:
                    draw.choice(living).kill()
                    kills += 1
                    due = time.monotonic() + every if every and kills < 10 else end
                time.sleep(0.02)
            process.kill()
            assert process.stderr is not None
            said, code = process.stderr.read(), process.wait()
        if not kills:
            continue  # it was done before
        number += 1
        same = links.exists() and links.read_bytes() == plain.read_bytes()
        is_wrong = not (code == 0 and same) and not (code == 2 and not links.exists() and "Traceback" not in said)
        wrong += is_wrong
        words = "same bytes" if code == 0 and same else f"exit {code}: {' '.join(said.split())[-120:]}"
        print(f"workers, run {number}, {kills} killed: {'WRONG ' * is_wrong}{words}", flush=True)
    return wrong


def workers_of(process: int) -> list[psutil.Process]:
    """The workers of a local cluster that runs in a process."""
    found = []
    with suppress(psutil.Error):
        for child in psutil.Process(process).children():
            with suppress(psutil.Error):
                if "spawn_main" in " ".join(child.cmdline()):
                    found.append(child)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = ("bombs", "kills", "workers", "disks", "requests")
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"of {', '.join(kinds)} (default: all)")
    parser.add_argument("--size", type=int, default=3, help="GiB that bombs unpack to")
    parser.add_argument("--kills", type=int, default=20, help="of updates, of reviews, and runs on a cluster")
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    given = parser.parse_args()
    draw, wrong = random.Random(given.seed), 0
    for kind in given.kinds or kinds:
        with tempfile.TemporaryDirectory() as temporary:
            place = Path(temporary)
            if kind == "bombs":
                wrong += drop_bombs(place, given.size)
            elif kind == "kills":
                wrong += kill_updates(place, given.kills, draw) + kill_reviews(place, given.kills, draw)
            elif kind == "workers":
                wrong += kill_workers(place, given.kills, draw)
            elif kind == "disks":
                wrong += fill_disks(place)
            elif kind == "requests":
                wrong += ask_hostile(place, world_of(place)[0])
            else:
                parser.error(f"{kind} is none of {', '.join(kinds)}")
    print("all ended well" if not wrong else f"{wrong} did not end well")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
