"""Memory that is freed: kept for the next array to take, or given back. What is measured has its own process."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from dualmatch import memory

_MEASURED = """
import sys
from pathlib import Path
import numpy as np, psutil
from dualmatch.engine.pages import Pages
from dualmatch.memory import keep_freed_memory, keep_freed_memory_again, keep_less_freed_memory

process, size = psutil.Process(), 100_000_000

def grown():
    array = np.ones(size // 8)
    del array
    return process.memory_info().rss - before

before = process.memory_info().rss
if not keep_freed_memory(one_arena=True):
    sys.exit("keeps none")
print(grown())
if sys.argv[1] == "pages":
    Pages(Path("."), 2**50, expected=1.0).close()  # a run that is expected to fit
    print(grown())
    pages = Pages(Path("."), 64 * 1_000_000)
    print(process.memory_info().rss - before)
    print(grown())
    pages.close()
else:
    keep_less_freed_memory(1_000_000)
    print(process.memory_info().rss - before)
    print(grown())
    keep_freed_memory_again()
print(grown())
"""


def _grown(tmp_path: Path, by: str) -> list[float]:
    """Megabytes by which the process has grown: with freed memory kept, and once only small blocks are."""
    command = [sys.executable, "-c", _MEASURED, by]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    if "keeps none" in ended.stderr:
        pytest.skip("this C library keeps no freed memory")
    assert ended.returncode == 0, ended.stderr
    return [int(line) / 1e6 for line in ended.stdout.split()]


def test_freed_memory_is_kept_until_less_is_to_be_kept_and_again_after(tmp_path: Path) -> None:
    kept, given_back, less, again = _grown(tmp_path, "hand")
    assert min(kept, again) > 90
    assert max(given_back, less) < 20


def test_a_run_that_keeps_arrays_in_files_keeps_less_freed_memory(tmp_path: Path) -> None:
    kept, still_kept, given_back, less, again = _grown(tmp_path, "pages")
    assert min(kept, still_kept, again) > 90
    assert max(given_back, less) < 20


class _CLibrary:
    """A C library that keeps blocks of up to some size, and what it was asked for."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.asked: list[tuple[int, int]] = []

    def mallopt(self, parameter: int, value: int) -> int:
        self.asked.append((parameter, value))
        return int(value <= self.most)


@pytest.mark.parametrize(("most", "kept"), [(2**30, 2**30), (2**25, 2**25), (0, None)])
def test_an_older_c_library_keeps_smaller_blocks_or_none(
    most: int, kept: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = _CLibrary(most)
    monkeypatch.setattr(memory, "_c_library", lambda: library)
    monkeypatch.setattr(memory, "_kept", [])
    assert memory.keep_freed_memory(one_arena=True) == (kept is not None)
    arenas = [value for parameter, value in library.asked if parameter == memory._M_ARENA_MAX]
    assert arenas == ([] if kept is None else [1])
    library.asked.clear()
    memory.keep_less_freed_memory(2**20)
    memory.keep_freed_memory_again()
    thresholds = [value for parameter, value in library.asked if parameter == memory._M_MMAP_THRESHOLD]
    assert thresholds == ([] if kept is None else [2**20, kept])


def test_freed_memory_is_given_back_no_more_often_than_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    trims: list[int] = []
    monkeypatch.setattr(memory, "_c_library", lambda: SimpleNamespace(malloc_trim=trims.append))
    monkeypatch.setattr(memory, "_trimmed", [float("-inf")])
    memory.trim_freed_memory(3600.0)
    memory.trim_freed_memory(3600.0)
    assert len(trims) == 1
    memory.trim_freed_memory()
    assert len(trims) == 2
