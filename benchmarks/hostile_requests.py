"""Hostile requests to a review page and to the app, as `benchmarks/attack.py requests` sends them.

Both are called as users call them, on the loopback device, in a folder of their own. Each request must get the answer
that is written beside it, a page must still answer while connections are held open for nothing, the app may write
nothing outside of its folder, and no server may say anything that looks like a traceback.
"""

from __future__ import annotations

import http.client
import itertools
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode, urlsplit

CALL = [sys.executable, "-m", "dualmatch"]
FORM = urlencode({"verdict": "skip", "source": 0, "seen": 0})
MOST_UPLOAD, BOUNDARY = 1_000_000, "----a-boundary"
MULTIPART = f"multipart/form-data; boundary={BOUNDARY}"
TABLE = b"head,relation,tail,begin\n" + b"".join(b"a%d,met,a%d,18%d\n" % (n, n * 7 % 30, 10 + n) for n in range(30))
Headers = Mapping[str, str | Sequence[str]]


@dataclass(frozen=True)
class Case:
    """A request and the answers that are right; 0 is a connection that is closed."""

    name: str
    method: str
    path: str
    expected: set[int]
    body: bytes | None = None
    changed: Mapping[str, str | Sequence[str] | None] = field(default_factory=dict)  # headers; None leaves one out


class Page:
    """A server that runs, by what it printed."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self.host, self.token = parts.netloc, parts.query.removeprefix("token=")
        self.place = (str(parts.hostname), parts.port or 0)
        self.headers: dict[str, str | Sequence[str]] = {
            "Host": self.host,
            "Cookie": f"dualmatch_{parts.port}={self.token}",
            "Origin": f"http://{self.host}",
            "Sec-Fetch-Site": "same-origin",
            "Content-Type": "application/x-www-form-urlencoded",
        }

    def status(self, method: str, path: str, body: bytes | None = None, **changed: str | Sequence[str] | None) -> int:
        connection = http.client.HTTPConnection(self.host, timeout=60)
        connection._validate_path = lambda _: None  # type: ignore[attr-defined]  # hostile ones go out as they are
        headers = {**self.headers, **{name.replace("_", "-"): value for name, value in changed.items()}}
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in headers.items():
                for each in [value] if isinstance(value, str) else value or ():
                    connection.putheader(name, each)
            if body is not None and "Content-Length" not in headers:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            return connection.getresponse().status
        except (OSError, http.client.HTTPException):
            return 0
        finally:
            connection.close()


@contextmanager
def served(*arguments: str, said: list[str] | None = None) -> Iterator[Page]:
    """A command that serves a page, ended with Ctrl-C; what it wrote to standard error goes to `said`."""
    with subprocess.Popen([*CALL, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield Page(process.stdout.readline().split()[-1])
        finally:
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)
            if said is not None:
                said.append(errors)


def of_every_page(write: str) -> list[Case]:
    """What no page answers; `write` is an address that forms go to."""
    form = FORM.encode()
    posts = {
        "another origin": ({"Origin": "http://evil.example"}, {403}),
        "origin null": ({"Origin": "null"}, {403}),
        "another site": ({"Sec-Fetch-Site": "cross-site"}, {403}),
        "same site, not origin": ({"Sec-Fetch-Site": "same-site"}, {403}),
        "no origin": ({"Origin": None, "Sec-Fetch-Site": None}, {403}),
        "write under another name": ({"Host": "evil.example"}, {421}),
        "write without a token": ({"Cookie": None}, {403}),
        "100 GB declared": ({"Content-Length": str(10**11)}, {0, 400, 408, 413, 415}),
        "length no number": ({"Content-Length": "1e3"}, {0, 400}),
        "two lengths": ({"Content-Length": ["3", "5"]}, {0, 400}),
        "length and chunks": ({"Content-Length": "4", "Transfer-Encoding": "chunked"}, {0, 400, 408, 413, 415}),
    }
    gets = {
        "rebinding": ({"Host": "evil.example"}, {421}),
        "two hosts": ({"Host": ["127.0.0.1", "evil.example"]}, {0, 400, 421}),
        "no host": ({"Host": None}, {0, 400, 421}),
        "no token": ({"Cookie": None}, {403}),
        "another token": ({"Cookie": "dualmatch_1=x"}, {403}),
        "100 kB of cookies": ({"Cookie": "a=" + "b" * 100_000}, {0, 400, 403, 431}),
        "another protocol": ({"Upgrade": "websocket", "Connection": "Upgrade"}, {200, 400}),
    }
    paths = [
        *("/static/../../../../etc/passwd", "/static/%2e%2e/%2e%2e/app.py", "/static/..%2f..%2fserve.py"),
        *("/static//etc/passwd", "/static/%00", "/..", "//evil.example/", "/%0d%0aSet-Cookie:%20a=b", "/static/"),
        *(f"/{'9' * 5000}/", f"/pair/{'9' * 5000}", "/pair/-1", "/pair/x", "/1/links.tsv/../../../../etc/passwd"),
    ]
    return [
        *(Case(name, "GET", "/", right, changed=headers) for name, (headers, right) in gets.items()),
        *(Case(name, "POST", write, right, form, headers) for name, (headers, right) in posts.items()),
        *(Case(f"path {path[:50]}", "GET", path, {404, 405, 400}) for path in paths),
        *(Case(f"method {each}", each, write, {405}, form) for each in ("PUT", "DELETE", "PATCH", "OPTIONS", "TRACE")),
        Case("70 kB of address", "GET", "/?" + "a" * 70_000, {0, 200, 400, 414, 431}),
        Case("a wrong token in the address", "GET", "/?token=x", {403}, changed={"Cookie": None}),
    ]


def of_a_review() -> list[Case]:
    return [
        Case("a large form", "POST", "/decide", {413}, b"x=" + b"y" * 20_000),
        Case("another verdict", "POST", "/decide", {400}, b"verdict=undo&source=0&seen=0"),
        Case("no form", "POST", "/decide", {415}, b"{}", {"Content-Type": "application/json"}),
        Case("a source that is none", "POST", "/decide", {400, 404}, b"verdict=skip&source=999999999&seen=0"),
        Case("bytes that are no text", "POST", "/decide", {400, 404}, b"verdict=skip&source=%ff&seen=0"),
        Case("in order", "POST", "/decide", {303}, FORM.encode()),
    ]


def multipart(*parts: tuple[str, str, bytes], more: bytes = b"") -> bytes:
    """A form of (field, name of a file, content); `more`: headings that every part gets."""
    start = f"--{BOUNDARY}\r\n".encode()
    body = b"".join(
        start
        + f'Content-Disposition: form-data; name="{name}"; filename="{file}"\r\n'.encode()
        + more
        + b"\r\n"
        + content
        + b"\r\n"
        for name, file, content in parts
    )
    return body + f"--{BOUNDARY}--\r\n".encode()


def of_the_app() -> list[Case]:
    both = [("source", "a.csv", TABLE), ("target", "b.csv", TABLE)]
    climbing = [("source", "../../../a.csv", TABLE), ("target", "/etc/\\..\\b.csv", TABLE)]
    large = [("source", "a.csv", b"a" * (MOST_UPLOAD + 1)), ("target", "b.csv", TABLE)]
    uploads: dict[str, tuple[bytes, set[int]]] = {
        "a file too large": (multipart(*large), {413}),
        "a form too large": (multipart(*large) + b"x" * 6 * MOST_UPLOAD, {0, 413}),
        "a script": (multipart(("source", "a.sh", TABLE), both[1]), {422}),
        "no name": (multipart(("source", "", TABLE), both[1]), {400}),
        "one side": (multipart(both[0]), {400}),
        "twice the same side": (multipart(both[0], both[0]), {400}),
        "cut off": (multipart(*both)[:-40], {400}),
        "no boundary in it": (b"a" * 1000, {400}),
        "a thousand parts": (multipart(*both * 500), {400}),
        "a thousand headings": (multipart(*both, more=b"X-A: b\r\n" * 1000), {400}),
        "a heading of 100 kB": (multipart(*both, more=b"X-A: " + b"b" * 100_000 + b"\r\n"), {400}),
        "names that climb": (multipart(*climbing), {303}),
        "names of 5,000 letters": (multipart(("source", "a" * 5000 + ".csv", TABLE), both[1]), {303, 400}),
        "files of noise": (multipart(("source", "a.parquet", b"\0\xff" * 999), ("target", "b.csv.gz", TABLE)), {303}),
    }
    return [
        *(
            Case(name, "POST", "/upload", right, body, {"Content-Type": MULTIPART})
            for name, (body, right) in uploads.items()
        ),
        Case("an upload that is none", "POST", "/upload", {415}, FORM.encode()),
        Case("a form larger than one", "POST", "/1/read", {413}, b"side=source&x=" + b"y" * 20_000),
        Case("a reading that is none", "POST", "/1/read", {400, 422}, b"side=source&format=../x&columns=%00"),
        Case("links that are not there", "GET", "/1/links.tsv", {404, 422}),
        Case("a report that is not there", "GET", "/1/report", {404, 422}),
        Case("a review that is not there", "GET", "/1/review/", {404, 422}),
        Case("a pair that is not there", "POST", "/77/align", {404}, b""),
        Case("in order", "GET", "/1/", {200}),
    ]


def asked(page: Page, cases: Sequence[Case]) -> int:
    """Send the requests; gives how many got another answer than they should."""
    wrong = 0
    for case in cases:
        status = page.status(case.method, case.path, case.body, **case.changed)
        if status not in case.expected:
            wrong += 1
            print(f"WRONG {case.name}: {status}, not {sorted(case.expected)}")
    print(f"{len(cases) - wrong} of {len(cases)} requests answered as they should be")
    return wrong


def pressed(page: Page, connections: int = 600) -> int:
    """Hold connections open with nothing, and with headers that come one byte at a time; then ask."""
    wrong = 0
    with ExitStack() as held:
        silent = [held.enter_context(socket.create_connection(page.place, timeout=30)) for _ in range(connections)]
        slow = [held.enter_context(socket.create_connection(page.place, timeout=30)) for _ in range(20)]
        start, closed = time.monotonic(), set[int]()
        for letter in itertools.cycle(b"GET / HTTP/1.1\r\nX-A: bbbbbbb"):
            for number, each in enumerate(slow):
                try:
                    each.sendall(bytes([letter]))
                except OSError:
                    closed.add(number)
            if len(closed) == len(slow) or time.monotonic() - start > 40:
                break
            time.sleep(0.5)
        seconds = time.monotonic() - start
        wrong += len(closed) < len(slow)
        print(f"{len(closed)} of {len(slow)} connections with slow headers closed within {seconds:.0f} s")
        silent += [held.enter_context(socket.create_connection(page.place, timeout=30)) for _ in range(connections)]
        start = time.monotonic()
        status, seconds = page.status("GET", "/"), time.monotonic() - start
        wrong += status != 200
        print(f"beside {connections} new silent connections: {status} after {seconds:.1f} s")
    with ThreadPoolExecutor(50) as many:
        answers = [*many.map(lambda _: page.status("GET", "/"), range(300))]
    wrong += answers.count(200) < 300
    print(f"300 requests, 50 at once: {answers.count(200)} answered")
    return wrong


def ask_hostile(place: Path, world: Path) -> int:
    """All requests to both pages; gives how many ended otherwise than they should."""
    links, said = place / "links.tsv", list[str]()
    subprocess.run([*CALL, "align", str(world), "-o", str(links), "-q"], check=True)
    print("review:")
    with served("review", str(links), "--no-open", said=said) as page:
        wrong = asked(page, [*of_every_page("/decide"), *of_a_review()]) + pressed(page)
    print("app:")
    folder = place / "app"
    before = {*place.rglob("*")}
    with served("app", "--folder", str(folder), "--max-upload", str(MOST_UPLOAD), "--no-open", said=said) as page:
        wrong += asked(page, [*of_every_page("/upload"), *of_the_app()]) + pressed(page)
    strays = [path for path in {*place.rglob("*")} - before if folder not in (path, *path.parents)]
    if strays:
        print(f"WRONG: written outside of the folder: {strays[:3]}")
    odd = [path.name for path in folder.rglob("*") if path.is_file() and len(path.name) > 80]
    tracebacks = sum("Traceback" in each for each in said)
    if tracebacks:
        print("WRONG: a traceback on standard error:", *(each[-1500:] for each in said if "Traceback" in each))
    return wrong + bool(strays) + bool(odd) + tracebacks
