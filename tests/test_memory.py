"""Memory that is freed: kept for the next array to take, or given back. Each test has a process of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

_MEASURED = """
import sys
from pathlib import Path
import numpy as np, psutil
from dualmatch.engine.pages import Pages
from dualmatch.memory import keep_freed_memory, keep_less_freed_memory

process, size = psutil.Process(), 100_000_000

def grown():
    array = np.ones(size // 8)
    del array
    return process.memory_info().rss - before

before = process.memory_info().rss
if not keep_freed_memory(one_arena=True):
    sys.exit("no mallopt")
print(grown())
if sys.argv[1] == "pages":
    Pages(Path("."), 2**50, expected=1.0).close()  # a run that is expected to fit
    print(grown())
    Pages(Path("."), 64 * 1_000_000).close()
else:
    keep_less_freed_memory(1_000_000)
print(process.memory_info().rss - before)
print(grown())
"""


def _grown(tmp_path: Path, by: str) -> list[float]:
    """Megabytes by which the process has grown: with freed memory kept, and once only small blocks are."""
    command = [sys.executable, "-c", _MEASURED, by]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    if "no mallopt" in ended.stderr:
        pytest.skip("this C library has no mallopt")
    assert ended.returncode == 0, ended.stderr
    return [int(line) / 1e6 for line in ended.stdout.split()]


def test_freed_memory_is_kept_until_less_is_to_be_kept(tmp_path: Path) -> None:
    kept, given_back, after = _grown(tmp_path, "hand")
    assert kept > 90
    assert given_back < 20
    assert after < 20


def test_a_run_that_keeps_arrays_in_files_keeps_less_freed_memory(tmp_path: Path) -> None:
    kept, still_kept, given_back, after = _grown(tmp_path, "pages")
    assert min(kept, still_kept) > 90
    assert given_back < 20
    assert after < 20
