"""Finished cells: read instead of computed, told apart by their key, whole or not there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dualmatch.research.experiments import cells as cells_module
from dualmatch.research.experiments.cells import (
    UNKNOWN,
    Arrays,
    Cells,
    Provenance,
    Result,
    cell_name,
    here,
    provenance_in_words,
)

KEY = {"cell": "run", "dataset": "d", "inputs": "abc", "method": "evidence", "setting": "less", "options": {}}


class Counted:
    """A computation that counts how often it was made."""

    def __init__(self) -> None:
        self.made = 0

    def result(self) -> Result:
        self.made += 1
        return {"h1": 1 / 3, "made": self.made, "pair": (1, 2)}

    def arrays(self) -> Arrays:
        self.made += 1
        return {"x": np.arange(3), "seconds": np.array(1.5)}


def test_a_second_run_reads_what_the_first_one_found(tmp_path: Path) -> None:
    work = Counted()
    first = Cells(tmp_path / "cells").result(KEY, work.result)
    second = Cells(tmp_path / "cells").result(KEY, work.result)
    assert first == second == {"h1": 1 / 3, "made": 1, "pair": [1, 2]}
    assert work.made == 1


def test_arrays_are_kept_to_the_bit(tmp_path: Path) -> None:
    work = Counted()
    first, second = (Cells(tmp_path).arrays(KEY, work.arrays) for _ in range(2))
    assert first is not None
    assert second is not None
    assert work.made == 1
    np.testing.assert_array_equal(first["x"], second["x"])
    assert float(second["seconds"]) == 1.5


@pytest.mark.parametrize(
    "change", [{"inputs": "abd"}, {"method": "fused"}, {"setting": "normal"}, {"seed": 1}, {"options": {"hops": 0}}]
)
def test_whatever_changes_in_the_key_is_another_cell(tmp_path: Path, change: dict[str, Any]) -> None:
    work, cells = Counted(), Cells(tmp_path)
    cells.result(KEY, work.result)
    cells.result({**KEY, **change}, work.result)
    assert work.made == 2


@pytest.mark.parametrize("name", ["CELL_FORMAT", "__version__"])
def test_another_format_or_version_computes_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    work = Counted()
    Cells(tmp_path).result(KEY, work.result)
    monkeypatch.setattr(cells_module, name, "another")
    Cells(tmp_path).result(KEY, work.result)
    assert work.made == 2


def test_redo_computes_the_cells_of_a_method_once(tmp_path: Path) -> None:
    other = {**KEY, "method": "temporal"}
    for key in (KEY, other):
        Cells(tmp_path).result(key, Counted().result)
    work, again = Counted(), Cells(tmp_path, redo=frozenset({"evidence"}))
    for _ in range(2):
        again.result(KEY, work.result)
    again.result(other, work.result)
    assert work.made == 1


def test_only_finished_cells_are_told_where_nothing_may_be_computed(tmp_path: Path) -> None:
    work = Counted()
    reader = Cells(tmp_path, redo=frozenset({"evidence"}), finished_only=True)
    assert reader.result(KEY, work.result) is None
    assert reader.arrays(KEY, work.arrays) is None
    assert reader.not_run == {"run: d, evidence, less"}
    Cells(tmp_path).result(KEY, work.result)
    assert reader.result(KEY, work.result) is not None
    assert work.made == 1


def test_an_interrupted_cell_leaves_nothing(tmp_path: Path) -> None:
    def interrupted() -> Result:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Cells(tmp_path / "cells").result(KEY, interrupted)
    assert not (tmp_path / "cells").exists()


@pytest.mark.parametrize("left", [b"", b"{", b'{"key": 1}', b"[]"])
def test_a_damaged_cell_is_computed_again(tmp_path: Path, caplog: pytest.LogCaptureFixture, left: bytes) -> None:
    cells, work = Cells(tmp_path), Counted()
    cells.path(KEY, ".json").write_bytes(left)
    cells.path(KEY, ".npz").write_bytes(left)
    cells.result(KEY, work.result)
    cells.arrays(KEY, work.arrays)
    assert work.made == 2
    assert caplog.text.count("no finished cell") == 2
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".json", ".npz"]


def test_a_cell_tells_what_computed_it(tmp_path: Path) -> None:
    """Versions stay the same while code changes; a cell from before this was recorded says so."""
    work = Counted()
    first, second = Cells(tmp_path), Cells(tmp_path)
    for cells in (first, second):
        cells.result(KEY, work.result)
    assert first.made == second.made == {"run: d, evidence, less": here()}
    path = first.path(KEY, ".json")
    path.write_text(json.dumps({"key": {}, "result": {"h1": 1.0}}))
    older = Cells(tmp_path)
    assert older.result(KEY, work.result) == {"h1": 1.0}
    assert older.made == {"run: d, evidence, less": UNKNOWN}
    assert "code not recorded; on" in provenance_in_words(older.made.values())
    assert work.made == 1


def test_what_is_begun_is_announced(tmp_path: Path) -> None:
    said: list[str] = []
    cells = Cells(tmp_path, announce=said.append)
    for _ in range(2):
        cells.result(KEY, Counted().result)
    assert said == ["run: d, evidence, less …"]


def test_a_key_and_its_provenance_in_words() -> None:
    key = {"cell": "run", "dataset": "WY20K", "inputs": "ab12", "method": "evidence", "seed": None}
    assert cell_name(key) == "run: WY20K, evidence"
    old, new = Provenance("aa", "2 cores"), Provenance("bb", "2 cores")
    assert provenance_in_words([old, new, new]) == "code aa (1 cell), bb (2 cells); on 2 cores"
