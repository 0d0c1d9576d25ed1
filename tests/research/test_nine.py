"""All experiments, small, on simulated data: what they write, that they resume and share trainings."""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from conftest import refused
from dualmatch.cli.main import main
from dualmatch.config import Config
from dualmatch.errors import DualMatchError
from dualmatch.graph.times import parse_date
from dualmatch.research.experiments import scalability
from dualmatch.research.experiments.case_study import CHANNELS, choices, clearest, is_right
from dualmatch.research.experiments.catalogue import DRAW_FIGURES, EXPERIMENTS
from dualmatch.research.experiments.cells import Cells
from dualmatch.research.experiments.open_world import cut_world
from dualmatch.research.experiments.scalability import growth, sampled
from dualmatch.research.experiments.subject import open_subject
from dualmatch.research.experiments.workbench import QUICK, Workbench
from dualmatch.simulate import World, simulate, write_folder

HYBRID = World(
    entities=80, mean_facts=5, seed_share=0.4, undated_share=0.35, point_share=0.5, missing_share=0.2, seed=1
)
# Few facts an entity over ten years: some are first heard of after 2014-01-01.
DATED = World(entities=90, mean_facts=3, min_facts=1, seed_share=0.3, common_share=0.7, seed=2)
_UNIT_USERS = ("workbench", "results", "scalability")
pytestmark = pytest.mark.slow


def measured_here(call: list[str], **_options: object) -> subprocess.CompletedProcess[str]:
    """What a child process would print, which takes seconds to start."""
    asked = json.loads(call[-1])
    found = scalability.measure_sample(Path(asked["folder"]), asked["share"], Config.checked(**asked["config"]))
    return subprocess.CompletedProcess(call, 0, json.dumps(found), "")


@pytest.fixture(scope="module", autouse=True)
def _no_time_for_units() -> Iterator[None]:
    """The machine's unit takes a second a cell to measure, and nothing here looks at it. Samples need no process.

    Switches of the whole process stay as they are: denormal numbers that are flushed would fail other tests.
    """
    torch.set_num_threads(1)  # small tensors: threads only get in each other's way
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dualmatch.methods.resources.prepare_process", lambda _config: None)
        for name in _UNIT_USERS:
            patch.setattr(f"dualmatch.research.experiments.{name}.quick_unit_seconds", lambda: 1.0)
        patch.setattr(scalability, "subprocess", SimpleNamespace(run=measured_here))
        yield


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("worlds")
    paths = [write_folder(simulate(world), folder / name) for name, world in (("hybrid", HYBRID), ("dated", DATED))]
    return [part for path in paths for part in ("--data", str(path))]


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory, data: list[str]) -> Path:
    """All, one after the other, into one folder."""
    folder = tmp_path_factory.mktemp("experiments") / "out"
    for name in EXPERIMENTS:
        given = data[2:] if name == "scalability" else data
        given = [*given, "--methods", "temporal,evidence,lightea"] if name == "baselines" else given
        main(["experiment", name, *given, "--quick", "-o", str(folder), "-q"])
    return folder


def page(out: Path, name: str) -> str:
    return (out / f"{name}.md").read_text()


def rows_of(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text().splitlines()))


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_each_writes_a_page_and_tables(out: Path, name: str) -> None:
    text = page(out, name)
    assert "dualmatch 0." in text
    assert f"`dualmatch experiment {name}" in text
    assert str(out.parent.parent) not in text  # no path of the machine
    assert list(out.glob(f"{name}*.csv"))


def test_figures_are_drawn_where_there_are_any(out: Path) -> None:
    for name in EXPERIMENTS:
        shown = re.findall(r"!\[.*\]\((.*)\)", page(out, name))
        assert bool(shown) == (name in (*DRAW_FIGURES, "baselines"))
        for figure in shown:
            assert (out / figure).is_file()
            assert (out / figure).with_suffix(".svg").is_file()


def test_datasets_that_are_not_there_are_not_run(out: Path) -> None:
    rows = {(row["method"], row["figures"]): row for row in rows_of(out / "overall-dicews.csv")}
    assert rows["TREA", "quoted, DICEWS"]["normal H@1"] == "91.4"
    assert rows["dualmatch", "ours"]["normal H@1"] == "not run"
    assert "WY50K (dataset not available)" in page(out, "overall")


def test_pseudo_seeds_stand_beside_the_papers(out: Path) -> None:
    rows = {row["figures"]: row for row in rows_of(out / "overall-pseudo-seeds.csv")}
    assert rows["quoted, DICEWS"]["pseudo-seeds"] == "8168"
    assert int(rows["ours, dated"]["pseudo-seeds"]) > 40
    assert 0 < float(rows["ours, dated"]["right, %"]) <= 100


def test_the_planted_answer_is_found(out: Path) -> None:
    """Both worlds tell nearly all entities apart by their dates, so a method that works is nearly always right."""
    for name in ("hybrid", "dated"):
        rows = {(row["method"], row["protocol"]): row for row in rows_of(out / f"overall-{name}.csv")}
        for method in ("temporal", "dualmatch", "evidence", "fused"):
            assert float(rows[method, "paper"]["unsupervised H@1"]) > 85, method


def test_the_chosen_weight_has_the_smallest_distance(out: Path) -> None:
    for row in rows_of(out / "decoder-search.csv"):
        if row["dataset"] not in ("hybrid", "dated"):
            assert row["chosen H@1"] == "not run"
            continue
        if row["pairs"] != "all":
            assert row["dataset"] == "hybrid"
            continue
        curve = rows_of(out / f"decoder-{row['dataset']}-curves.csv")
        distances = {float(at["α"]): float(at[f"{row['setting']} D"]) for at in curve}
        hits = {float(at["α"]): float(at[f"{row['setting']} H@1"]) for at in curve}
        assert min(distances, key=lambda alpha: (distances[alpha], alpha)) == float(row["chosen α"])
        assert float(row["chosen H@1"]) == hits[float(row["chosen α"])]
        terms = {
            each["term"]: each
            for each in rows_of(out / "decoder-terms.csv")
            if each["setting"] == row["setting"] and each["dataset"] == row["dataset"]
        }
        assert terms["D"]["least at α"] == row["chosen α"]
        assert float(terms["D"]["short of the best"]) == pytest.approx(float(row["short of the best"]))
        assert float(row["short of the best"]) == pytest.approx(max(hits.values()) - hits[float(row["chosen α"])])


def test_the_ablation_removes_what_it_says(out: Path) -> None:
    """− TE is the decoder at α = 0 and − α the one at α = 1, on the very same training."""
    ablation = {row["variant"]: row for row in rows_of(out / "ablation-dated.csv")}
    curve = {float(row["α"]): row for row in rows_of(out / "decoder-dated-curves.csv")}
    assert ablation["− TE (no Temporal-Encoder: α = 0)"]["paper H@1"] == curve[0.0]["less H@1"]
    assert ablation["− α (α = 1)"]["paper H@1"] == curve[1.0]["less H@1"]
    overall = {(row["method"], row["protocol"]): row for row in rows_of(out / "overall-dated.csv")}
    assert ablation["method dualmatch"]["paper H@1"] == overall["dualmatch", "paper"]["less H@1"]
    assert ablation["− RE (no Relational-Encoder: time alone)"]["paper H@1"] == overall["temporal", "paper"]["less H@1"]
    for variant in ("− TAL", "− TA", "− GM-D"):
        assert any(name.startswith(variant) for name in ablation)
    for part in ("relation alignment", "cavity", "open support"):
        assert float(ablation[f"evidence − {part}"]["paper H@1"]) > 0


def test_trainings_are_shared(out: Path) -> None:
    """Each training is made once, however many experiments ask for it: three settings, − TAL, and the open world."""
    names = [path.name for path in (out / "cells").glob("*.npz")]
    for world, count in (("hybrid", 4), ("dated", 4)):
        assert sum(name.startswith(f"trained-{world}") for name in names) == count
    assert sum(name.startswith("open-world-trained-dated") for name in names) == 1


def test_a_second_run_computes_nothing_and_writes_the_same(
    out: Path, data: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {path: path.stat().st_mtime_ns for path in (out / "cells").iterdir()}
    first = page(out, "overall"), (out / "overall-dated.csv").read_bytes()
    monkeypatch.setattr("dualmatch.research.experiments.workbench.align", None)  # whoever calls it fails
    monkeypatch.setattr("dualmatch.research.experiments.workbench.decode_channels", None)
    main(["experiment", "overall", *data, "--quick", "-o", str(out), "-q"])
    assert {path: path.stat().st_mtime_ns for path in (out / "cells").iterdir()} == before
    assert (page(out, "overall"), (out / "overall-dated.csv").read_bytes()) == first


def test_redo_computes_one_method_again(out: Path, data: list[str]) -> None:
    cells = {path: path.stat().st_mtime_ns for path in (out / "cells").iterdir()}
    methods = ["--methods", "temporal,evidence"]
    main(["experiment", "overall", *data, "--quick", "-o", str(out), "-q", "--redo", "evidence", *methods])
    changed = [path.name for path in (out / "cells").iterdir() if cells[path] != path.stat().st_mtime_ns]
    assert len(changed) == 6
    assert all(name.startswith("run-") and "evidence" in name for name in changed)


def test_methods_that_were_not_asked_for_are_not_run(data: list[str], tmp_path: Path) -> None:
    """`--methods evidence` does without torch and without hours of training, whatever the experiment."""
    for name in ("decoder", "ablation", "case-study", "scalability"):
        main(
            [
                "experiment",
                name,
                *data[2:],
                "--quick",
                "-o",
                str(tmp_path),
                "-q",
                "--no-figures",
                "--methods",
                "evidence",
            ]
        )
    cells = sorted(path.name.split("-dimension")[0] for path in (tmp_path / "cells").iterdir())
    assert cells
    assert not [name for name in cells if "evidence" not in name]


def test_a_setting_without_seeds_is_not_run(data: list[str], tmp_path: Path) -> None:
    """A fifth of three seeds is none: the other two settings are run all the same."""
    few = tmp_path / "few"
    shutil.copytree(data[3], few)
    (few / "sup_pairs").write_text("".join((few / "sup_pairs").read_text().splitlines(keepends=True)[:3]))
    for name in ("overall", "ablation", "decoder", "case-study"):
        main(["experiment", name, "--data", str(few), "--quick", "-o", str(tmp_path), "-q", "--no-figures"])
    for row in rows_of(tmp_path / "overall-few.csv"):
        assert row["less H@1"] == "not run"
        assert float(row["normal H@1"]) > 50
        assert float(row["unsupervised H@1"]) > 50
    assert {row["paper H@1"] for row in rows_of(tmp_path / "ablation-few.csv")} == {"not run"}


def test_a_folder_that_cannot_be_written_is_told_before_any_work(
    data: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("in the way")
    said = refused(["experiment", "overall", *data, "-o", str(tmp_path / "file" / "out")], capsys, tmp_path)
    assert "cannot be written to (Not a directory); choose another folder with -o" in said
    assert "…" not in said  # no cell was begun


def test_two_folders_of_one_name_are_refused(
    data: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both would write overall-dated.csv."""
    shutil.copytree(data[1], tmp_path / "dated")
    said = refused(
        ["experiment", "datasets", *data, "--data", str(tmp_path / "dated"), "-o", str(tmp_path / "o")],
        capsys,
        tmp_path,
    )
    assert "both are called dated" in said
    shutil.rmtree(tmp_path / "dated")
    shutil.copytree(data[3], tmp_path / "dated")  # the very same data is no other
    main(["experiment", "datasets", *data, "--data", str(tmp_path / "dated"), "-o", str(tmp_path / "o"), "-q"])


def test_no_folder_passes_for_a_dataset_that_it_is_not(data: list[str], tmp_path: Path) -> None:
    shutil.copytree(data[3], tmp_path / "DICEWS")
    subject = open_subject(tmp_path / "DICEWS")
    assert (subject.name, subject.paper_name, subject.slug) == ("DICEWS (other facts)", None, "dicews-other-facts")


def test_methods_are_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for wrong in ("", "temporal,nothing"):
        said = refused(["experiment", "example", "--methods", wrong, "-o", str(tmp_path)], capsys, tmp_path)
        assert "is not a method; choose among" in said


def test_what_is_not_finished_is_not_run(data: list[str], tmp_path: Path) -> None:
    for name in EXPERIMENTS:
        main(["experiment", name, *data, "--finished", "-o", str(tmp_path), "-q", "--no-figures"])
    assert not (tmp_path / "cells").exists()
    rows = rows_of(tmp_path / "overall-dated.csv")
    assert {row["unsupervised H@1"] for row in rows} == {"not run"}
    assert {row["paper H@1"] for row in rows_of(tmp_path / "ablation-dated.csv")} == {"not run"}
    assert "24 of its cells not run yet" in page(tmp_path, "overall")  # two worlds, four methods, three settings


def test_results_are_what_the_experiments_wrote(out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["experiment", "results", "-o", str(out), "--page", str(tmp_path / "RESULTS.md")])
    text = (tmp_path / "RESULTS.md").read_text()
    for name in EXPERIMENTS:
        tables = [line for line in page(out, name).splitlines() if line.startswith("|")]
        assert "\n".join(tables[:3]) in text
    for figure in re.findall(r"!\[.*\]\((.*)\)", text):
        assert (tmp_path / figure).is_file()
    assert (tmp_path / "results" / "overall-dated.csv").read_bytes() == (out / "overall-dated.csv").read_bytes()
    assert "RESULTS.md" in capsys.readouterr().out
    assert text.count("ranks among the tested partners") == 1


def test_results_hold_what_the_pages_show_and_nothing_older(out: Path, tmp_path: Path) -> None:
    """A table of a dataset that is no longer given stays in the folder, but is not among the results."""
    left, kept = tmp_path / "results" / "overall-long-gone.csv", tmp_path / "results" / "mine.csv"
    left.parent.mkdir()
    for path in (out / "ablation-long-gone.csv", left, kept):
        path.write_text("method\n")
    main(["experiment", "results", "-o", str(out), "--page", str(tmp_path / "RESULTS.md"), "-q"])
    (out / "ablation-long-gone.csv").unlink()
    text = (tmp_path / "RESULTS.md").read_text()
    there = {path.name for path in left.parent.iterdir()}
    assert left.name not in there
    assert "ablation-long-gone.csv" not in there
    linked = set(re.findall(r"\]\(results/([^)]+)\)", text))
    assert there - {"mine.csv"} == linked | {name.replace(".png", ".svg") for name in linked}
    assert "overall-dated.csv" in linked


def test_results_say_which_file_is_gone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["experiment", "example", "-o", str(tmp_path), "-q"])
    (tmp_path / "example-a.csv").unlink()
    said = refused(["experiment", "results", "-o", str(tmp_path), "--page", str(tmp_path / "R.md")], capsys, tmp_path)
    assert "example-a.csv is not beside it; run dualmatch experiment example again" in said


def test_results_say_what_was_not_run(tmp_path: Path) -> None:
    main(["experiment", "example", "-o", str(tmp_path), "-q"])
    main(["experiment", "results", "-o", str(tmp_path), "-q"])
    text = (tmp_path / "RESULTS.md").read_text()
    assert "- overall: not run" in text
    assert "## Example of calculation" in text


def bench_of(data: list[str], out: Path, number: int) -> Workbench:
    return Workbench(open_subject(Path(data[2 * number + 1])), Cells(out / "cells", finished_only=True), QUICK)


def test_the_open_world_is_cut_at_the_day(data: list[str]) -> None:
    subject = open_subject(Path(data[3]))
    world = cut_world(subject, 0)
    cut = parse_date("2014-01-01")
    for before, rows, whole in zip(world.before, world.rows, (subject.source, subject.target), strict=True):
        assert before.begin.max() < cut
        assert before.n_facts == int((whole.begin < cut).sum())
        assert [whole.entities[row] for row in rows] == list(before.entities)
    seen = [set(rows.tolist()) for rows in world.rows]
    for source, target in world.sets["observed"].tolist():
        assert source in seen[0]
        assert target in seen[1]
    for source, target in world.sets["unobserved"].tolist():
        assert source not in seen[0] or target not in seen[1]
    assert len(world.sets["observed"]) + len(world.sets["unobserved"]) + len(world.seeds) == len(subject.gold)
    names = [world.before[k].entities[row] for row in world.seeds_before[:, 0].tolist() for k in (0,)]
    assert names == [subject.source.entities[row] for row in world.seeds[:, 0].tolist()]


def test_open_world_tells_both_groups(out: Path) -> None:
    rows = [row for row in rows_of(out / "open-world-dated.csv") if row["protocol"] == "paper"]
    assert [row["method"].split(",")[0] for row in rows] == ["dualmatch", "temporal", "evidence"]
    assert all(float(row["observed H@1"]) > 50 for row in rows)
    assert "hybrid: not run" in page(out, "open-world")


def test_cases_are_wrong_where_they_are_said_to_be(data: list[str], out: Path) -> None:
    bench = bench_of(data, out, 1)
    found = choices(bench, 0)
    assert found is not None
    rows, right = is_right(bench.subject, found)
    gold = dict(bench.subject.gold.tolist())
    for channel in CHANNELS:
        assert right[channel].tolist() == [found[channel][row] == gold[row] for row in rows.tolist()]
    for kind in ("time", "relations"):
        for row in clearest(bench.subject, found, kind):
            assert found[kind][row] != gold[row]
            assert found["whole"][row] == gold[row]
    counts = rows_of(out / "case-study-dated-counts.csv")
    assert sum(int(row["tested pairs"]) for row in counts) == len(rows)


def test_what_evidence_says_of_the_cases(data: list[str], out: Path) -> None:
    bench = bench_of(data, out, 1)
    gold = {bench.subject.source.entities[s]: bench.subject.target.entities[t] for s, t in bench.subject.gold.tolist()}
    rows = rows_of(out / "case-study-dated-cases.csv")
    assert rows
    for row in rows:
        said = re.fullmatch(r"(right|wrong: (?P<wrong>.*)|no match) \(\d\.\d\d\)|undecided", row["evidence"])
        assert said is not None, row["evidence"]
        assert said["wrong"] is None or said["wrong"] != gold.get(row["source entity"])
        assert f"{row['source entity']}, by evidence: " in page(out, "case-study")


def test_growth_is_the_slope_of_the_logarithms() -> None:
    by_share = {share: {"entities": [share, share], "seconds": {"total": share**1.5}} for share in (20, 40, 100)}
    assert growth(by_share, "total") == pytest.approx(1.5)


def test_a_sample_is_measured_in_a_process_of_its_own(
    data: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scalability, "subprocess", subprocess)
    bench = Workbench(open_subject(Path(data[3])), Cells(tmp_path / "cells"), QUICK)
    found = sampled(bench, "evidence", 50)
    assert found is not None
    assert found["entities"] == [44, 44]
    assert 50 < found["peak_mb"] < 2000
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    with pytest.raises(DualMatchError, match="the run of evidence on a sample of 20 % failed: no message"):
        sampled(bench, "evidence", 20)


def test_samples_tell_time_and_memory(out: Path) -> None:
    rows = {row["what"]: row for row in rows_of(out / "scalability-dated-samples.csv")}
    assert float(rows["entities, mean of both sides"]["50 %"]) == pytest.approx(45, abs=2)
    for method in ("dualmatch", "evidence"):
        assert float(rows[f"{method}: total, s"]["100 %"]) > 0
        assert float(rows[f"{method}: peak memory, GB"]["100 %"]) > 0.05
        assert float(rows[f"{method}: H@1 (open), %"]["100 %"]) > 70


def test_the_split_by_time_sensitivity_follows_its_rule(data: list[str]) -> None:
    subject = open_subject(Path(data[1]))
    groups = subject.groups("less")
    assert len(groups["high"]) + len(groups["low"]) == len(subject.tested("less"))
    for source, target in groups["high"].tolist():
        for graph, row in ((subject.source, source), (subject.target, target)):
            slots = [
                time
                for head, tail, begin, end in zip(graph.head, graph.tail, graph.begin, graph.end, strict=True)
                for time in (begin, end)
                if row in (head, tail)
            ]
            assert np.mean([time != np.iinfo(np.int32).min for time in slots]) > 0.5


def test_a_cell_tells_what_it_is_of(out: Path) -> None:
    keys = [
        json.loads(path.read_text())["key"] for path in (out / "cells").glob("decoded-dated-dualmatch-less-seed-0-*")
    ]
    assert all((key["method"], key["setting"], key["seed"]) == ("dualmatch", "less", 0) for key in keys)
    more = sorted([sorted(set(key["options"]) - set(QUICK)) for key in keys])
    assert more == [[], ["hops"], ["time_aspect"]]
