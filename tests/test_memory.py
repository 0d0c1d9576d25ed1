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
from dualmatch.memory import give_back_freed_memory, keep_freed_memory

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
    Pages(Path("."), 2**50).close()
else:
    give_back_freed_memory()
print(process.memory_info().rss - before)
print(grown())
"""


def _grown(tmp_path: Path, by: str) -> list[float]:
    """Megabytes by which the process has grown: with freed memory kept, and after it was given back."""
    command = [sys.executable, "-c", _MEASURED, by]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    if "no mallopt" in ended.stderr:
        pytest.skip("this C library has no mallopt")
    assert ended.returncode == 0, ended.stderr
    return [int(line) / 1e6 for line in ended.stdout.split()]


def test_freed_memory_is_kept_until_it_is_given_back(tmp_path: Path) -> None:
    kept, given_back, after = _grown(tmp_path, "hand")
    assert kept > 90
    assert given_back < 20
    assert after < 20


def test_a_run_that_keeps_arrays_in_files_gives_freed_memory_back(tmp_path: Path) -> None:
    kept, still_kept, given_back, after = _grown(tmp_path, "pages")
    assert min(kept, still_kept) > 90
    assert given_back < 20
    assert after < 20
