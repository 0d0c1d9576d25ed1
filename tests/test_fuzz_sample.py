"""A fixed sample of benchmarks/fuzz.py, from every target: each call ends in a result or in words."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import fuzz

CASES_EACH = 3


@pytest.fixture(scope="module")
def seeds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("seeds")
    fuzz.make_seeds(place)
    return place


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("target", sorted(fuzz.targets()))
def test_damaged_files_end_in_a_result_or_in_words(
    seeds: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    work = Path(shutil.copytree(seeds, tmp_path / "work"))
    monkeypatch.chdir(work)
    monkeypatch.setattr(fuzz, "MEMORY_MB", 10**6)  # the peak is that of all tests
    found = {}
    for number in range(CASES_EACH):
        case = fuzz.Case(number, seeds, target)
        found[number] = case.run(work, case.content)
        case.restore(work, seeds)
    assert set(found.values()) <= {"0", "2"}, found


def test_a_case_is_drawn_by_its_number_alone(seeds: Path) -> None:
    one, same = fuzz.Case(7, seeds), fuzz.Case(7, seeds)
    assert (one.name, one.call, one.fits) == (same.name, same.call, same.fits)
    assert one.content == same.content or one.target.change is not None  # archives have the hour in them


def test_a_process_that_dies_is_replaced_and_its_case_named(
    seeds: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "dying.py"
    script.write_text(
        "import os, sys\nfirst, last = map(int, sys.argv[2:4])\n"
        "for n in range(first, last):\n"
        "    print(n, 'csv', 'begins', flush=True)\n"
        "    if n == 1: os.abort()\n"
        "    print(n, 'csv', '2', flush=True)\n"
    )
    monkeypatch.setattr(fuzz, "__file__", str(script))
    found = list(fuzz.fuzz(0, 3, seeds))
    assert found == [(0, "csv", "2"), (1, "csv", f"crash: {-os.WTERMSIG(6)}"), (2, "csv", "2")]
