"""Bombs, kills, full disks and hostile requests: what becomes of each.

    python benchmarks/attack.py [bombs] [kills] [disks] [requests] [--size 3] [--kills 20] [--seed 0]

Bombs unpack to --size GiB, or nest and repeat; each is inspected in a process of its own with 5 GB of address space.
Kills: an update, and a review that decisions are sent to, ended with SIGKILL at moments drawn; then nothing that was
answered may be lost, and the update begun anew must come to the same bytes (benchmarks/kills.py does align). Disks: a
run whose files may only grow to a limit, then resumed without one. Requests go to a review page on the loopback device.
All of it is about what ends well: exit code 0 or 2, no traceback, nothing half-written.
"""

from __future__ import annotations

import argparse
import gzip
import http.client
import io
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import zstandard

from dualmatch.links.decisions import read_decisions
from dualmatch.simulate import World, simulate, write_folder

CALL = [sys.executable, "-m", "dualmatch"]
RDF = 'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/"'
CLOCKS = {"links.tsv.run.json", "run.json", "lock"}


def bombs(gib: int) -> Iterator[tuple[str, bytes]]:
    """Names and contents of files that are made to break a reader."""
    for name, piece in (("line", b"a"), ("breaks", b"\n"), ("nul", b"\0")):
        packed = _packed(gzip.GzipFile, piece, gib), _packed(zstandard.ZstdCompressor().stream_writer, piece, gib)
        for kind in ("csv", "json", "nt"):
            yield f"{name}.{kind}.gz", packed[0]
            yield f"{name}.{kind}.zst", packed[1]
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
    yield "columns.csv", b",".join(b"c%d" % n for n in range(1_000_000)) + b"\n"
    yield "wrong.csv", b"head,relation,tail\n" + b"a,b\n" * 2_000_000


def _packed(opened: object, piece: bytes, gib: int) -> bytes:
    out = io.BytesIO()
    file = opened(fileobj=out, mode="wb") if opened is gzip.GzipFile else opened(out, closefd=False)  # type: ignore[operator]
    with file:
        for _ in range(gib << 8):
            file.write(piece * (1 << 22))
    return out.getvalue()


def drop_bombs(place: Path, gib: int) -> int:
    wrong = 0
    for name, content in bombs(gib):
        (place / name).write_bytes(content)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (5 << 30, 5 << 30))  # noqa: E731
        done = subprocess.run(
            [*CALL, "inspect", str(place / name)], capture_output=True, text=True, preexec_fn=limit, check=False
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        is_wrong = done.returncode not in (0, 2) or "Traceback" in done.stderr or seconds > 15
        wrong += is_wrong
        last = (done.stderr.strip().splitlines() or [""])[-1][:90]
        peak = after.ru_maxrss / 1024  # of all so far
        print(
            f"{'WRONG ' * is_wrong}{name}: exit {done.returncode}, {seconds:.1f} s, peak so far {peak:.0f} MB: {last}"
        )
        (place / name).unlink()
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
    start = time.monotonic()
    subprocess.run(call, check=True)
    whole, expected, wrong = time.monotonic() - start, results_of(updated), 0
    for number in range(kills):
        shutil.rmtree(updated)
        with subprocess.Popen(call, stderr=subprocess.DEVNULL) as process:
            time.sleep(draw.random() * whole)
            process.kill()
        done = subprocess.run(call, check=False, capture_output=True)
        is_wrong = done.returncode != 0 or results_of(updated) != expected or results_of(old) != untouched
        is_wrong |= bool([*updated.rglob("*.part"), *old.rglob("*.part")])
        wrong += is_wrong
        print(f"update, kill {number + 1}: {'WRONG' if is_wrong else 'same bytes, the old run untouched'}")
    return wrong


def kill_reviews(place: Path, kills: int, draw: random.Random) -> int:
    links, wrong = place / "old.run" / "links.tsv", 0
    for number in range(kills):
        decisions = place / f"decisions-{number}.db"
        call = [*CALL, "review", str(links), "--no-open", "--decisions", str(decisions)]
        with subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
            assert process.stdout is not None
            address = urlsplit(process.stdout.readline().split()[-1])
            headers = _headers(address.netloc, address.query.removeprefix("token="))
            answered, end = 0, time.monotonic() + draw.random() * 3
            for source in range(10_000):
                if time.monotonic() > end:
                    break
                body = urlencode({"verdict": "skip", "source": source, "seen": 0})
                answered += _status(address.netloc, "POST", "/decide", headers, body) == 303
            process.send_signal(signal.SIGKILL)
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


def _headers(host: str, token: str) -> dict[str, str]:
    port = host.rpartition(":")[2]
    kind = {"Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin"}
    return {"Host": host, "Cookie": f"dualmatch_{port}={token}", "Origin": f"http://{host}", **kind}


def _status(host: str, method: str, path: str, headers: dict[str, str], body: str | None = None) -> int:
    connection = http.client.HTTPConnection(host, timeout=30)
    try:
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in headers.items():
            connection.putheader(name, value)
        if body is not None and "Content-Length" not in headers:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body.encode() if body else None)
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        connection.close()


def ask_hostile(place: Path) -> int:
    world, _ = world_of(place)
    links = place / "links.tsv"
    subprocess.run([*CALL, "align", str(world), "-o", str(links), "-q"], check=True)
    call, wrong = [*CALL, "review", str(links), "--no-open"], 0
    with subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = urlsplit(process.stdout.readline().split()[-1])
        host, right = address.netloc, _headers(address.netloc, address.query.removeprefix("token="))
        form = urlencode({"verdict": "skip", "source": 0, "seen": 0})
        cases: list[tuple[str, str, str, dict[str, str], str | None, set[int]]] = [
            ("rebinding", "GET", "/", {**right, "Host": "evil.example"}, None, {421}),
            ("no token", "GET", "/", {"Host": host}, None, {403}),
            ("another token", "GET", "/", {**right, "Cookie": "dualmatch_1=x"}, None, {403}),
            ("another origin", "POST", "/decide", {**right, "Origin": "http://evil.example"}, form, {403}),
            ("another site", "POST", "/decide", {**right, "Sec-Fetch-Site": "cross-site"}, form, {403}),
            ("another method", "PUT", "/decide", right, form, {405}),
            ("5,000 digits", "GET", "/pair/" + "9" * 5000, right, None, {404}),
            ("no number", "GET", "/pair/x", right, None, {404}),
            ("traversal", "GET", "/static/../../../../etc/passwd", right, None, {404}),
            ("traversal, encoded", "GET", "/static/%2e%2e/%2e%2e/app.py", right, None, {404}),
            ("a large form", "POST", "/decide", right, "x=" + "y" * 20_000, {413}),
            ("100 GB declared", "POST", "/decide", {**right, "Content-Length": str(10**11)}, "x=y", {0, 408, 413}),
            ("another verdict", "POST", "/decide", right, "verdict=undo&source=0&seen=0", {400}),
            ("in order", "POST", "/decide", right, form, {303}),
        ]
        for name, method, path, headers, body, expected in cases:
            status = _status(host, method, path, headers, body)
            wrong += status not in expected
            print(f"{name}: {status}{f', WRONG: not {expected}' * (status not in expected)}")
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
        wrong += "Traceback" in said
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = ("bombs", "kills", "disks", "requests")
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"of {', '.join(kinds)} (default: all)")
    parser.add_argument("--size", type=int, default=3, help="GiB that bombs unpack to")
    parser.add_argument("--kills", type=int, default=20, help="of updates, and of reviews")
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
            elif kind == "disks":
                wrong += fill_disks(place)
            elif kind == "requests":
                wrong += ask_hostile(place)
            else:
                parser.error(f"{kind} is none of {', '.join(kinds)}")
    print("all ended well" if not wrong else f"{wrong} did not end well")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
