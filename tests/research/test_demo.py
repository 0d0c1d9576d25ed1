"""The demo: everything in one folder, and again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import SMALL
from dualmatch.errors import OutputError
from dualmatch.links.read import read_links
from dualmatch.research import benchmark
from dualmatch.research.benchmark import run_demo


@pytest.fixture(autouse=True)
def small_and_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "unit_seconds", lambda: [0.5])
    monkeypatch.setattr(benchmark, "DEMO", SMALL)


def test_everything_is_there_and_the_same_when_run_again(tmp_path: Path) -> None:
    result = run_demo(tmp_path / "new" / "out")
    names = ["links.tsv", "metrics.json", "report.md", "world"]
    assert sorted(path.name for path in (tmp_path / "new" / "out").iterdir()) == names
    links = result.links.read_bytes()
    again = run_demo(tmp_path / "new" / "out")
    assert again.links.read_bytes() == links
    assert sorted(path.name for path in (tmp_path / "new" / "out").iterdir()) == names
    assert len(read_links(result.links)[0]) == result.report["abstention"]["emitted"]
    assert json.loads(result.metrics.read_text())["dataset"] == "world"


def test_the_report_is_for_someone_who_was_not_there(tmp_path: Path) -> None:
    text = run_demo(tmp_path / "out").summary.read_text()
    for words in (
        "## Input",
        "60 entities",
        "## Result",
        "of the links are right",
        "## Cost",
        "machine units",
    ):
        assert words in text


def test_a_file_in_the_way_and_foreign_files_stay(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(OutputError, match=r"file: cannot be made \(File exists\); choose another folder with -o"):
        run_demo(tmp_path / "file")
    mine = tmp_path / "out" / "world" / "thesis.tex"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    with pytest.raises(OutputError, match=r"holds thesis\.tex"):
        run_demo(tmp_path / "out")
    assert mine.read_text() == "mine"
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["world"]
