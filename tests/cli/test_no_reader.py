"""Whoever reads standard output may stop reading: the end is quiet, with the exit code a shell has for it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FACTS = "head,relation,tail,time\na,r,b,1900\nc,r,d,1901\n"


@pytest.mark.parametrize(
    "arguments",
    [
        *(
            ["align", "a.csv", "a.csv", "-q", "-o", "-", "--output-format", name]
            for name in ("tsv", "parquet", "sssom")
        ),
        ["align", "a.csv", "a.csv", "-q", "-o", "links.tsv", "--json", "-"],
        ["merge", "a.csv", "a.csv", "-q", "-o", "-", "--links", "none.csv"],
        ["inspect", "a.csv", "--columns", "head=head,relation=relation,tail=tail,time=time"],
        ["inspect", "a.csv", "-q", "--json", "-"],
        ["align", "--help"],
        ["--help"],
    ],
    ids=" ".join,
)
def test_nobody_reads_on(tmp_path: Path, arguments: list[str]) -> None:
    (tmp_path / "a.csv").write_text(FACTS)
    (tmp_path / "none.csv").write_text("source,target,confidence\n")
    reading, writing = os.pipe()
    os.close(reading)
    try:
        run = subprocess.run(
            [sys.executable, "-m", "dualmatch", *arguments],
            cwd=tmp_path,
            stdout=writing,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            check=False,
        )
    finally:
        os.close(writing)
    assert (run.returncode, run.stderr) == (141, b"")
