"""The demo: everything in one folder, and again; names a person can judge, and figures that are measured."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from dualmatch.errors import OutputError
from dualmatch.links.read import read_links, read_name_pairs
from dualmatch.research import demo
from dualmatch.research.demo import run_demo
from dualmatch.simulate.chronicle import ChronicleWorld

NAMES = ["links.tsv", "links.tsv.run.json", "links.tsv.why.npz", "metrics.json", "people", "report.html"]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "unit_seconds", lambda _repeats: [0.5])


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "DEMO", ChronicleWorld(people=60))


def test_everything_is_there_and_the_same_when_run_again(tmp_path: Path, small: None) -> None:
    result = run_demo(tmp_path / "new" / "out")
    assert sorted(path.name for path in (tmp_path / "new" / "out").iterdir()) == NAMES
    links = result.links.read_bytes()
    again = run_demo(tmp_path / "new" / "out")
    assert again.links.read_bytes() == links
    assert sorted(path.name for path in (tmp_path / "new" / "out").iterdir()) == NAMES
    assert len(read_links(result.links)[0]) == result.report["abstention"]["emitted"]
    metrics = json.loads(result.metrics.read_text())
    jsonschema.validate(
        metrics, json.loads((Path(__file__).parents[1] / "golden" / "benchmark.schema.json").read_text())
    )
    assert "Against gold" in result.page.read_text()


def test_the_figures_are_those_of_the_planted_truth_and_leave_something_to_decide(tmp_path: Path) -> None:
    result = run_demo(tmp_path / "out")
    truth = set(read_name_pairs(tmp_path / "out" / "people" / "true_pairs.tsv"))
    links = {(source, target) for source, target, _ in result.alignment.links()}
    found = result.report["abstention"]
    assert found["precision"] == len(links & truth) / len(links) >= 0.9
    assert found["recall"] == len(links & truth) / len(truth) >= 0.8
    assert result.report["verdicts"]["undecided"] > 50
    shown = result.some_links(6)
    sure = [why.confidence or 0.0 for why in shown]
    assert sure == sorted(sure, reverse=True)
    assert sum(why.label is not None for why in shown) >= 4
    assert all(why.verdict == "undecided" for why in result.some_open(3))


def test_a_file_in_the_way_and_foreign_files_stay(tmp_path: Path, small: None) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(OutputError, match=r"file: cannot be made \(File exists\); choose another folder with -o"):
        run_demo(tmp_path / "file")
    mine = tmp_path / "out" / "people" / "thesis.tex"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    with pytest.raises(OutputError, match=r"holds thesis\.tex"):
        run_demo(tmp_path / "out")
    assert mine.read_text() == "mine"
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["people"]
