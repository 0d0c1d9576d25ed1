"""What was found when 0.1.0 was attacked, tried on any version: what each attack ends in.

    python benchmarks/findings.py                          # the package as it is installed
    git worktree add old 9a169d0                           # 0.1.0
    python benchmarks/findings.py --package old/src --only F1 F3

A line a finding: held, where the call ends with exit code 0 or 2 (130 after Ctrl-C) and without a traceback; else what
it ended in. Findings that take a cluster, a terminal or a page under pressure are tests only (tests/engine,
tests/review).
"""

import argparse
import gzip
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

CPU_SECONDS, BYTES = 20, 6_000_000_000
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
    """A companion whose first list of places has one far beyond its end."""
    with np.load(companion) as stored:
        arrays = {name: stored[name].copy() for name in stored.files}
    name = next(each for each in arrays if "indices" in each and arrays[each].size > 3)
    arrays[name][arrays[name].size // 2] = 10**6
    np.savez_compressed(companion, **arrays)


def text(content: str) -> Callable[[Path], None]:
    return lambda path: path.write_text(content) and None


# finding: file to make and how, the call
CASES: dict[str, tuple[str | None, Callable[[Path], None] | None, list[str]]] = {
    "F1 entities of entities": (
        "f.rdf",
        text(f'<!DOCTYPE r [{LAUGHS}]><rdf:RDF xmlns:rdf="{RDF}" xmlns:e="http://e/"><e:a e:p="&l9;"/></rdf:RDF>'),
        ["inspect", "f.rdf"],
    ),
    "F2 a gibibyte in one line": ("f.csv.gz", one_line, ["inspect", "f.csv.gz"]),
    "F3 nested triple terms": ("f.nt", deep_triple, ["inspect", "f.nt"]),
    "F5 a place out of range": ("links.tsv.why.npz", far_candidate, ["explain", "links.tsv", "b3", "--target"]),
    "F6 half a character": ("f.json", text(HALF), ["inspect", "f.json"]),
    "F7 dates out of range": ("f.parquet", late_date, ["inspect", "f.parquet"]),
    "F8 junk on one line": ("f.ttl", text(TRIPLE + "ǅ" * 200_000 + "\n"), ["inspect", "f.ttl"]),
    "F9 blank lines first": ("f.csv", text("\n \r\n" * 800_000 + FACTS.format("a")), ["inspect", "f.csv"]),
    "F10 a long literal": ("f.ttl", text(f'<http://e/s> <http://e/p> "{"A" * (17 << 20)}" .\n'), ["inspect", "f.ttl"]),
    "F11 standard output closed": (None, None, [*ALIGN, "new.tsv"]),
    "F12 a narrow encoding": ("f.csv", text(FACTS.format("é")), ["inspect", "f.csv"]),
    "F13 -o of a folder": (None, None, [*ALIGN, "."]),
    "F14 NUL in a path": ("f.toml", text('seeds = "a\\u0000b"\n'), [*ALIGN, "new.tsv", "--config", "f.toml"]),
    "F15 a million threads": (None, None, [*ALIGN, "new.tsv", "--threads", "99999999"]),
    "F24 Ctrl-C while loading": (None, None, [*ALIGN, "new.tsv"]),
}


def limited(memory: bool) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    if memory:
        resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))


def ended(name: str, call: list[str], here: Path, package: Path | None) -> str:
    """How a call ended, in words."""
    environment = {**os.environ, **({} if package is None else {"PYTHONPATH": str(package)})}
    if name.startswith("F12"):
        environment["PYTHONIOENCODING"] = "ascii"
    code = (INTERRUPT if name.startswith("F24") else "") + MAIN
    command = [sys.executable, "-c", code, *call]
    if name.startswith("F11"):
        command = ["sh", "-c", 'exec "$@" >&-', "sh", *command]
    limits = partial(limited, memory=not name.startswith("F15"))  # where threads without number may start
    run = subprocess.run(command, cwd=here, env=environment, capture_output=True, check=False, preexec_fn=limits)
    errors = run.stderr.decode(errors="replace")
    if "Traceback" in errors:
        return f"a traceback: {errors.strip().splitlines()[-1][:70]}"
    if run.returncode < 0:
        return {-9: f"more than {CPU_SECONDS} s of CPU"}.get(run.returncode, f"killed by signal {-run.returncode}")
    return "held" if run.returncode in (0, 2, 130) else f"exit code {run.returncode}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--package", type=lambda typed: Path(typed).resolve(), help="a folder with another dualmatch")
    parser.add_argument("--only", nargs="+", metavar="FINDING", help="such as F1 F3")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        for side in "ab":
            (here / f"{side}.csv").write_text(FACTS.format(side))
        if not options.only or "F5" in options.only:
            ended("", [*ALIGN, "links.tsv", "-q"], here, options.package)
        for name, (file, make, call) in CASES.items():
            if options.only and name.split()[0] not in options.only:
                continue
            if file is not None and make is not None:
                make(here / file)
            print(f"{name:28} {ended(name, call, here, options.package)}", flush=True)


if __name__ == "__main__":
    main()
