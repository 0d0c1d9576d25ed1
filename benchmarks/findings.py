"""What was found when 0.1.0 was attacked, tried on any version: what each attack ends in.

    python benchmarks/findings.py                          # the package as it is installed
    git worktree add old 9a169d0                           # 0.1.0
    python benchmarks/findings.py --package old/src --only F1 F3

A line a finding: held, where the call ends with exit code 0 or 2 (130 after Ctrl-C) and without a traceback, and
nothing was lost; else what it ended in.
"""

import argparse
import ctypes
import gzip
import json
import os
import pty
import resource
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from hostile_requests import FORM, Page

CPU_SECONDS, WALL_SECONDS, BYTES = 20, 60, 6_000_000_000
GOLDEN = Path(__file__).parents[1] / "tests" / "golden" / "0.1.0"
FACTS = "head,relation,tail,begin\n" + "".join(f"{{0}}{n},met,{{0}}{n * 7 % 30},18{10 + n}\n" for n in range(30))
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
TRIPLE = "<http://e/s> <http://e/p> <http://e/o> .\n"
SNAK = '{"snaktype": "value", "datavalue": {"type": "wikibase-entityid", "value": {"id": "Q2"}}}'
HALF = f'{{"id": "Q\\ud800", "claims": {{"P1": [{{"mainsnak": {SNAK}, "rank": "normal"}}]}}}}\n'
LAUGHS = '<!ENTITY l0 "lol">' + "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
INTERRUPT = """
import os, signal, sys
class Interrupt:
    def find_spec(self, name, *_):
        if name == "polars":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupt())
"""
TERMINATE = """
import os, pathlib, signal, time
pathlib.Path.replace = lambda *_: (os.kill(os.getpid(), signal.SIGTERM), time.sleep(1))
"""
FORESEEN = """
import os
os.symlink("victim.txt", f".foreseen.tsv.{os.getpid()}.part")
"""
MAIN = "import runpy, sys; sys.argv[0] = 'dualmatch'; runpy.run_module('dualmatch', run_name='__main__')"
ALIGN = ["align", "a.csv", "b.csv", "-o"]


def deep_triple(path: Path) -> None:
    start, depth = "<http://e/s> <http://e/p> ", 40_000
    path.write_text(f"{start}{f'<<( {start}' * depth}<http://e/o>{' )>>' * depth} .\n")


def late_date(path: Path) -> None:
    days = pl.Series([2**31 - 1], dtype=pl.Int32).cast(pl.Date)
    pl.DataFrame({"head": ["a"], "relation": ["r"], "tail": ["b"], "begin": days}).write_parquet(path)


def one_line(path: Path) -> None:
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(1024):
            file.write(b"a" * 2**20)


def far_candidate(companion: Path) -> None:
    """A companion whose first list of indices has one far beyond its end."""
    with np.load(companion) as stored:
        arrays = {name: stored[name].copy() for name in stored.files}
    name = next(each for each in arrays if "indices" in each and arrays[each].size > 3)
    arrays[name][arrays[name].size // 2] = 10**6
    np.savez_compressed(companion, **arrays)


def text(content: str) -> Callable[[Path], None]:
    return lambda path: path.write_text(content) and None


# finding: file to make and how, the call
CASES: dict[str, tuple[str | None, Callable[[Path], None] | None, list[str]]] = {
    "F1 XML entities within entities": (
        "f.rdf",
        text(f'<!DOCTYPE r [{LAUGHS}]><rdf:RDF xmlns:rdf="{RDF}" xmlns:e="http://e/"><e:a e:p="&l9;"/></rdf:RDF>'),
        ["inspect", "f.rdf"],
    ),
    "F2 a gibibyte in one line": ("f.csv.gz", one_line, ["inspect", "f.csv.gz"]),
    "F3 nested triple terms": ("f.nt", deep_triple, ["inspect", "f.nt"]),
    "F5 an index out of range": ("links.tsv.why.npz", far_candidate, ["explain", "links.tsv", "b3", "--target"]),
    "F6 an unpaired surrogate": ("f.json", text(HALF), ["inspect", "f.json"]),
    "F7 dates out of range": ("f.parquet", late_date, ["inspect", "f.parquet"]),
    "F8 junk on one line": ("f.ttl", text(TRIPLE + "ǅ" * 200_000 + "\n"), ["inspect", "f.ttl"]),
    "F9 blank lines first": ("f.csv", text("\n \r\n" * 800_000 + FACTS.format("a")), ["inspect", "f.csv"]),
    "F10 a long literal": ("f.ttl", text(f'<http://e/s> <http://e/p> "{"A" * (17 << 20)}" .\n'), ["inspect", "f.ttl"]),
    "F11 standard output closed": (None, None, [*ALIGN, "new.tsv"]),
    "F12 a narrow encoding": ("f.csv", text(FACTS.format("é")), ["inspect", "f.csv"]),
    "F13 -o names a folder": (None, None, [*ALIGN, "."]),
    "F14 NUL in a path": ("f.toml", text('seeds = "a\\u0000b"\n'), [*ALIGN, "new.tsv", "--config", "f.toml"]),
    "F15 a million threads": (None, None, [*ALIGN, "new.tsv", "--threads", "99999999"]),
    "F4 one wrong byte in Parquet": (
        "f.parquet",
        lambda path: _with_byte(path, GOLDEN / "links.parquet", 168, 0x25),
        ["evaluate", "f.parquet", "--gold", str(GOLDEN / "gold.tsv")],
    ),
    "F18 an unknown verdict": (
        "f.db",
        lambda path: _with_verdict(path),
        ["align", str(GOLDEN / "source.csv"), str(GOLDEN / "target.csv"), "--seeds", "f.db", "-o", "n.tsv"],
    ),
    "F19 texts for numbers in the record": (
        "links.tsv.run.json",
        lambda path: path.write_text(json.dumps(_without_numbers(json.loads(path.read_text())))) and None,
        ["report", "links.tsv", "-o", "r.html"],
    ),
    "F24 Ctrl-C while loading": (None, None, [*ALIGN, "new.tsv"]),
}


def _with_byte(path: Path, of: Path, offset: int, byte: int) -> None:
    content = bytearray(of.read_bytes())
    content[offset] = byte
    path.write_bytes(content)


def _with_verdict(path: Path) -> None:
    shutil.copy(GOLDEN / "links.tsv.decisions.db", path)
    with closing(sqlite3.connect(path, isolation_level=None)) as file:
        file.execute("PRAGMA ignore_check_constraints = ON")
        file.execute("INSERT INTO decisions (at, verdict, source) VALUES ('now', 'maybe', 'x')")


def _without_numbers(data: Any) -> Any:
    """The same record, with texts in place of what each round counted."""
    if isinstance(data, dict):
        return {
            name: [dict.fromkeys(each, "x") for each in value] if name == "rounds" else _without_numbers(value)
            for name, value in data.items()
        }
    return data


class Version:
    """A version of the package, tried in a folder."""

    def __init__(self, package: Path | None, here: Path) -> None:
        self.here, self.environment = here, {**os.environ, **({} if package is None else {"PYTHONPATH": str(package)})}

    def command(self, call: list[str], first: str = "") -> list[str]:
        """`first`: Python to run before the program."""
        return [sys.executable, "-c", first + MAIN, *call]

    def ended(self, name: str, call: list[str]) -> str:
        """How a call ended, in words."""
        environment = {**self.environment, **({"PYTHONIOENCODING": "ascii"} if name.startswith("F12") else {})}
        command = self.command(call, INTERRUPT if name.startswith("F24") else "")
        if name.startswith("F11"):
            command = ["sh", "-c", 'exec "$@" >&-', "sh", *command]
        limits = partial(limited, memory=not name.startswith("F15"))  # where threads without number may start
        run = subprocess.run(
            command, cwd=self.here, env=environment, capture_output=True, check=False, preexec_fn=limits
        )
        return in_words(run.returncode, run.stderr.decode(errors="replace"))

    def run(self, call: list[str], first: str = "", **options: Any) -> tuple[int, str]:
        """Exit code and standard error; "hang" after a minute."""
        settings = {"cwd": self.here, "env": self.environment, "stdout": subprocess.DEVNULL} | options
        with subprocess.Popen(self.command(call, first), stderr=subprocess.PIPE, **settings) as process:
            try:
                errors = process.communicate(timeout=WALL_SECONDS)[1]
            except subprocess.TimeoutExpired:
                process.kill()
                return -9, "hang"
        return process.returncode, errors.decode(errors="replace")

    @contextmanager
    def reviewed(self, *options: str, **more: Any) -> Iterator[Page]:
        command = self.command(["review", "links.tsv", "--no-open", *options])
        with subprocess.Popen(
            command, cwd=self.here, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, **more
        ) as process:
            assert process.stdout is not None
            try:
                yield Page(process.stdout.readline().decode().split()[-1])
            finally:
                process.send_signal(signal.SIGINT)
                with suppress(subprocess.TimeoutExpired):
                    process.wait(20)
                process.kill()


def limited(memory: bool) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    if memory:
        resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))


def in_words(code: int, errors: str) -> str:
    if "Traceback" in errors:
        return f"a traceback: {errors.strip().splitlines()[-1][:70]}"
    if errors == "hang":
        return f"more than {WALL_SECONDS} s"
    if code < 0:
        return {-9: f"more than {CPU_SECONDS} s of CPU"}.get(code, f"killed by signal {-code}")
    return "held" if code in (0, 2, 130) else f"exit code {code}"


def stage_elsewhere(version: Version) -> str:
    call = [*ALIGN[:3], "--run", "elsewhere", "-q"]
    version.run(call)
    victim = version.here / "victim.txt"
    victim.write_text("dear")
    record = next(
        path for name in ("run.json", "manifest.json") if (path := version.here / "elsewhere" / name).exists()
    )
    data = json.loads(record.read_text())
    data["state"] = "running"
    for stage in data["stages"].values():
        stage["file"] = "../victim.txt"
    record.write_text(json.dumps(data))
    code, errors = version.run([*call, "--resume"])
    return in_words(code, errors) if victim.exists() else "a file outside of the folder is deleted"


def locked_elsewhere(version: Version) -> str:
    with version.reviewed() as page:
        page.status("POST", "/decide", FORM.encode())
        with closing(sqlite3.connect(version.here / "links.tsv.decisions.db", isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            answers: list[int] = []
            post = threading.Thread(target=lambda: answers.append(page.status("POST", "/decide", FORM.encode())))
            post.start()
            time.sleep(0.5)
            start = time.monotonic()
            page.status("GET", "/static/review.css")
            seconds = time.monotonic() - start
            post.join()
            other.execute("ROLLBACK")
    if seconds > 5:
        return f"all pages hang for {seconds:.0f} s, then status {answers[0]}"
    return f"a bare {answers[0]}" if answers[0] in (0, 500) else "held"


def half_open(version: Version) -> str:
    few = partial(resource.setrlimit, resource.RLIMIT_NOFILE, (128, 128))
    with version.reviewed(preexec_fn=few) as page, ExitStack() as held:
        for _ in range(140):
            with suppress(OSError):
                each = held.enter_context(socket.create_connection(page.place, timeout=5))
                each.sendall(b"GET / HTTP/1.1\r\n")
        time.sleep(15)  # long enough for whoever has a time limit
        ask = threading.Thread(target=lambda: answers.append(page.status("GET", "/")), daemon=True)
        answers: list[int] = []
        ask.start()
        ask.join(20)
    return "held" if answers == [200] else f"140 half-open connections shut everybody out ({answers or 'no answer'})"


def long_number(version: Version) -> str:
    with version.reviewed() as page:
        status = page.status("GET", "/pair/" + "9" * 5000)
    return "held" if status == 404 else f"{status}, a traceback"


def left_behind(version: Version) -> str:
    version.run([*ALIGN, "ended.tsv"], TERMINATE)
    left = [path.name for path in version.here.glob(".*.part")]
    return f"left behind: {left[0]}" if left else "held"


def foreseen(version: Version) -> str:
    victim = version.here / "victim.txt"
    victim.write_text("dear")
    version.run([*ALIGN, "foreseen.tsv"], FORESEEN)
    return "held" if victim.read_text() == "dear" else "a file is overwritten through a link"


def raw_names(version: Version) -> str:
    start = "\x1b]0;owned"
    for side in "ab":
        (version.here / f"raw-{side}.csv").write_text(FACTS.format(start + side))
    version.run(["align", "raw-a.csv", "raw-b.csv", "-o", "raw.tsv"])
    master, terminal = pty.openpty()
    version.run(["explain", "raw.tsv", f"{start}a3"], stdout=terminal)
    os.close(terminal)
    shown = b""
    with suppress(OSError), closing(os.fdopen(master, "rb", 0)) as screen:
        while piece := screen.read(1 << 16):
            shown += piece
    if b"owned" not in shown:
        return "nothing was shown"
    return "control sequences are sent" if start.encode() in shown else "held"


def lying_scheduler(version: Version) -> str:
    """An address that says nothing, and one that answers junk."""
    for answer in (b"\xff" * 4096, b""):
        with socket.create_server(("127.0.0.1", 0)) as server, ExitStack() as held:
            threading.Thread(target=_serve, args=(server, answer, held), daemon=True).start()
            address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
            found = in_words(*version.run([*ALIGN, "dask.tsv", "--engine", "dask", "--scheduler", address]))
        if found != "held":
            return found
    return "held"


def _serve(server: socket.socket, answer: bytes, held: ExitStack) -> None:
    with suppress(OSError):
        while True:
            connection = held.enter_context(server.accept()[0])
            connection.sendall(answer)


def in_memory(version: Version) -> str:
    with version.reviewed("--decisions", ":memory:") as page:
        status = page.status("POST", "/decide", FORM.encode())
    kept = (version.here / ":memory:").exists()
    return "held" if status != 303 or kept else "a decision is answered and lost"


def read_only(version: Version) -> str:
    run = version.here / "theirs"
    version.run([*ALIGN[:3], "--run", "theirs", "-q"])
    (version.here / "more.csv").write_text("head,relation,tail,begin\na3,met,a4,1900\n")
    paths = [run, *run.rglob("*")]
    for path in paths:
        path.chmod(0o555 if path.is_dir() else 0o444)
    call = ["update", "theirs", "--source-facts", "more.csv", "--run", "new"]
    code, errors = version.run(call, preexec_fn=bound_by_permissions)
    for path in paths:
        path.chmod(0o755)
    return in_words(code, errors) if code != 2 else f"refused: {errors.strip()[-90:]}"


def bound_by_permissions() -> None:
    """Root, too, may do only what files allow."""
    if not os.geteuid():
        drop_from_bounding_set, dac_override = 24, 1
        ctypes.CDLL(None).prctl(drop_from_bounding_set, dac_override, 0, 0, 0)


TRIED: dict[str, Callable[[Version], str]] = {
    "F16 a stage outside the run's folder": stage_elsewhere,
    "F17 a file locked elsewhere": locked_elsewhere,
    "F20 half-open connections": half_open,
    "F21 a number of 5,000 digits": long_number,
    "F22 SIGTERM while writing": left_behind,
    "F23 a predictable temporary name": foreseen,
    "F25 control characters in names": raw_names,
    "F26 a scheduler that answers junk": lying_scheduler,
    "F27 decisions kept in memory": in_memory,
    "F28 a read-only run": read_only,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--package", type=lambda typed: Path(typed).resolve(), help="a folder with another dualmatch")
    parser.add_argument("--only", nargs="+", metavar="FINDING", help="such as F1 F3")
    options = parser.parse_args()
    for name in sorted((*CASES, *TRIED), key=lambda each: int(each.split()[0][1:])):
        if options.only and name.split()[0] not in options.only:
            continue
        with tempfile.TemporaryDirectory() as folder:
            here = Path(folder)
            version = Version(options.package, here)
            for side in "ab":
                (here / f"{side}.csv").write_text(FACTS.format(side))
            if name.split()[0] in ("F5", "F17", "F19", "F20", "F21", "F27"):
                version.run([*ALIGN, "links.tsv", "-q"])
            if name in TRIED:
                found = TRIED[name](version)
            else:
                file, make, call = CASES[name]
                if file is not None and make is not None:
                    make(here / file)
                found = version.ended(name, call)
        print(f"{name:32} {found}", flush=True)


if __name__ == "__main__":
    main()
