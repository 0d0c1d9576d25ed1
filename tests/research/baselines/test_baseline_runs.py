"""`dualmatch benchmark --method BASELINE` and `dualmatch experiment baselines`."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import jsonschema
import pytest
import torch

from conftest import SMALL, refused
from dualmatch.cli.main import main
from dualmatch.research.baselines import BASELINES, run
from dualmatch.research.experiments import comparison
from dualmatch.research.experiments.comparison import Measured
from dualmatch.research.experiments.paper import OVERALL
from dualmatch.simulate import World, simulate, write_folder

SCHEMA = json.loads((Path(__file__).parents[2] / "golden" / "benchmark.schema.json").read_text())


@pytest.fixture(autouse=True)
def _no_time_for_units(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.set_num_threads(1)
    monkeypatch.setattr("dualmatch.methods.resources.prepare_process", lambda _config: None)
    monkeypatch.setattr("dualmatch.research.benchmark.unit_seconds", lambda: [0.5])
    for name in ("workbench", "results"):
        monkeypatch.setattr(f"dualmatch.research.experiments.{name}.quick_unit_seconds", lambda: 1.0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_folder(simulate(SMALL), tmp_path / "small")


@pytest.mark.parametrize(("name", "options"), [("LightEA", []), ("gcn-align", ["--epochs", "3"]), ("paris", [])])
def test_benchmark(name: str, options: list[str], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    group = folder / "half"
    group.write_text("".join((folder / "ref_pairs").read_text().splitlines(keepends=True)[::2]))
    command = ["benchmark", str(folder), "--setting", "supervised", "--method", name, *options]
    main([*command, "--group", "half=half", "--json", "-", "-q"])
    report = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator(SCHEMA).validate(report)
    assert report["method"] == name.lower()
    tested, half = (report["protocols"]["paper"][part]["pairs"] for part in ("all", "half"))
    assert tested == len((folder / "ref_pairs").read_text().splitlines())
    assert 0 < half < tested
    assert report["abstention"] is report["calibration"] is report["verdicts"] is report["alpha"] is None
    assert report["seconds"]["relational"] > 0
    main(command)  # for people: rankings and cost, no table of links
    shown = capsys.readouterr().out
    assert "H@1" in shown
    assert "precision" not in shown


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--method", "rrea"], "method rrea learns from seed pairs and cannot run without; give some, with --setting"),
        (["--method", "rrea", "--setting", "supervised", "--hops", "1"], "--hops: not read by method rrea"),
        (["--method", "lightea", "--setting", "supervised", "--epochs", "1"], "--epochs: not read by method lightea"),
        (["--method", "paris", "--setting", "supervised", "--dimension", "9"], "--dimension: not read by method paris"),
        (["--method", "rrea", "--setting", "supervised", "--epochs", "-1"], "--epochs: input should be greater"),
        (["--method", "paris", "--setting", "supervised", "--labels", "a", "--labels", "b"], "--labels is not read by"),
        (["--method", "bootea"], "'bootea' is not one of"),
    ],
)
def test_refusals(arguments: list[str], words: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(["benchmark", str(folder), *arguments], capsys, folder)
    assert words in " ".join(said.split())


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_experiment_baselines(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    asked = ["--methods", "temporal,dualmatch,evidence,lightea,gcn-align,paris,rrea", "--seeds", "0,1"]
    asked += ["--epochs", "rrea=3"]
    command = ["experiment", "baselines", "--data", str(folder), "-o", str(out), *asked, "--quick", "-q"]
    main(command)
    rows = {(row["method"], row["protocol"]): row for row in rows_of(out / "baselines-small.csv")}
    assert float(rows["LightEA", "paper"]["normal H@1"]) > 5
    assert rows["LightEA", "paper"]["normal H@1 seeds"] == "2"
    assert rows["PARIS", "paper"]["normal H@1 seeds"] == "1"
    assert rows["GCN-Align", "open"]["figures"] == "ours, small, 40 of 2,000 epochs"
    assert rows["RREA", "paper"]["figures"] == "ours, small, 3 of 1,200 epochs"
    assert rows["RREA", "paper, Sinkhorn"]["less H@1"] != ""
    assert rows["PARIS", "paper, Sinkhorn"]["less H@1"] == ""
    costs = rows_of(out / "baselines-small-cost.csv")
    named = {"temporal", "dualmatch", "evidence", "LightEA", "GCN-Align", "PARIS", "RREA"}
    assert {row["method"] for row in costs} == named
    assert all(float(row["seconds"]) > 0 and float(row["CPU seconds"]) > 0 for row in costs)
    chart = (out / "baselines-small-normal.svg").read_text()
    assert all(f">{name}</text>" in chart for name in named)
    # a rerun computes nothing, and writes the same; overall has the same figures
    before = (out / "baselines-small.csv").read_bytes()
    monkeypatch.setattr("dualmatch.research.experiments.workbench.run_baseline", None)
    main(command)
    assert (out / "baselines-small.csv").read_bytes() == before
    main(["experiment", "overall", *command[2:]])
    shared = {(row["method"], row["protocol"]): row for row in rows_of(out / "overall-small.csv")}
    assert shared["RREA", "open"]["less MRR"] == rows["RREA", "open"]["less MRR"]
    assert shared["GCN-Align", "paper"]["unsupervised H@1"] == ""
    # results of another folder join a page that is there
    main(["experiment", "example", "-o", str(tmp_path / "other"), "-q"])
    page = ["--page", str(tmp_path / "RESULTS.md"), "-q"]
    main(["experiment", "results", "-o", str(out), *page])
    first = (tmp_path / "RESULTS.md").read_text()
    main(["experiment", "results", "-o", str(tmp_path / "other"), *page])
    text = (tmp_path / "RESULTS.md").read_text()
    assert "- example: not run" in first
    assert "- [example](#example-of-calculation)" in text
    assert all(part in text for part in first.split("\n\n") if part.startswith("| "))
    shown = re.findall(r"\]\((results/[^)]+)\)", text)
    assert "results/baselines-small-less.svg" in shown
    assert all((tmp_path / each).is_file() for each in shown)


def test_experiment_sensitivity(tmp_path: Path) -> None:
    world = World(entities=80, mean_facts=5, seed_share=0.4, undated_share=0.35, missing_share=0.2, seed=1)
    folder, out = write_folder(simulate(world), tmp_path / "hybrid"), tmp_path / "out"
    asked = ["--methods", "lightea,paris", "--no-figures", "--quick", "-q"]
    main(["experiment", "sensitivity", "--data", str(folder), "-o", str(out), *asked])
    rows = {(row["method"], row["protocol"]): row for row in rows_of(out / "sensitivity-hybrid.csv")}
    assert {method for method, _ in rows} == {"LightEA", "PARIS"}
    assert all(float(row["high H@10"]) > 0 for row in rows.values())


def test_baselines_are_for_some_experiments_only(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["experiment", "ablation", "--data", str(folder), "--methods", "rrea", "-o", str(tmp_path / "out")]
    said = refused(command, capsys, folder)
    assert "experiment ablation takes no baselines (rrea); overall, baselines and sensitivity do" in said


def test_every_quoted_baseline_is_in_the_table() -> None:
    assert {each.quoted or each.title for each in BASELINES.values()} >= {*OVERALL} - {"DualMatch"}
    assert all(run.BaselineOptions(name).baseline is each for name, each in BASELINES.items())


def test_what_is_far_from_the_quoted_is_named() -> None:
    class Bench:
        class subject:  # noqa: N801
            name, paper_name = "DICEWS-R", "DICEWS"

    def ran(method: str, h1: float) -> Measured:
        return Measured(method, "normal", "–", [{"protocols": {"paper": {"all": {"h1": h1}}}, "seconds": {}}])

    found = [ran("MTransE", 11.0), ran("GCN-Align", 23.0), ran("RREA", 60.0), ran("LightEA", 78.0)]
    (said,) = comparison.notes(Bench, found)  # type: ignore[arg-type]
    assert "over 3 baselines: 1.00" in said
    assert said.endswith("more than 5 points apart: RREA 60.0 (quoted 72.2).")
