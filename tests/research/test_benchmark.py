"""`dualmatch.research.benchmark`: its JSON, settings, groups and cost.

The golden file is written anew by ``python tests/test_benchmark.py`` (with src on the path).
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from conftest import SMALL
from dualmatch.config import Config
from dualmatch.errors import InputError
from dualmatch.research import benchmark as module
from dualmatch.research.benchmark import benchmark
from dualmatch.simulate import simulate, write_folder

MakeFolder = Callable[..., Path]
GOLDEN = Path(__file__).parents[1] / "golden"
SCHEMA = json.loads((GOLDEN / "benchmark.schema.json").read_text())
MASKED = ("seconds", "unit_seconds", "peak_mb", "version")


@pytest.fixture(autouse=True)
def quick_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The real unit takes seconds to measure."""
    monkeypatch.setattr(module, "unit_seconds", lambda: [0.5, 0.25, 1.0])


def checked(report: dict[str, Any]) -> dict[str, Any]:
    """The report as JSON gives it back, held against the schema."""
    plain: dict[str, Any] = json.loads(json.dumps(report, allow_nan=False))
    jsonschema.Draft202012Validator(SCHEMA).validate(plain)
    return plain


def masked(report: dict[str, Any]) -> dict[str, Any]:
    """Without what differs from run to run and machine to machine."""
    return {name: "masked" if name in MASKED else value for name, value in report.items()}


def leaves(value: Any, place: str = "") -> dict[str, Any]:
    """Every plain value by its path, so that numbers can be compared with a tolerance."""
    if isinstance(value, dict | list) and value:
        items = value.items() if isinstance(value, dict) else enumerate(value)
        return {path: leaf for key, item in items for path, leaf in leaves(item, f"{place}/{key}").items()}
    return {place: value}


def golden_report(folder: Path) -> dict[str, Any]:
    group = folder.parent / "half"
    group.write_text("".join((folder / "ref_pairs").read_text().splitlines(keepends=True)[::2]))
    return benchmark(folder, Config(method="temporal"), group_files={"half": group}).report


def test_the_report_is_the_golden_one(small_world: Path) -> None:
    found = leaves(masked(checked(golden_report(small_world))))
    golden = leaves(json.loads((GOLDEN / "benchmark.json").read_text()))
    assert list(found) == list(golden)
    for place, leaf in golden.items():
        assert found[place] == (pytest.approx(leaf, rel=1e-6) if isinstance(leaf, float) else leaf), place


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_the_schema_lets_nothing_else_through(small_world: Path) -> None:
    report = checked(benchmark(small_world, Config()).report)
    for change in (
        {"extra": 1},
        {"alpha": 2},
        {"setting": "semi"},
        {"peak_mb": None},
        {"protocols": {**report["protocols"], "open": {}}},
        {"protocols": {**report["protocols"], "open": {"all": {"h1": 101, "h10": 0, "mrr": 0, "pairs": 0}}}},
        {"abstention": {**report["abstention"], "precision": 90.0}},
        {"abstention": {**report["abstention"], "known": None}},
        {"calibration": {**report["calibration"], "all": None}},
        {"verdicts": {**report["verdicts"], "linked": -1}},
        {"seconds": {**report["seconds"], "other": 0}},
    ):
        with pytest.raises(jsonschema.ValidationError):
            checked({**report, **change})
    for name in report:
        with pytest.raises(jsonschema.ValidationError):
            checked({key: value for key, value in report.items() if key != name})


def test_the_schema_takes_the_example_of_the_contract(small_world: Path) -> None:
    report = benchmark(small_world, Config()).report
    checked({**report, "alpha": 0.25, "weights": {}, "distance": {"0.0": 0}, "rounds": [], "pseudo_seeds": None})


def test_evidence_fills_its_part_of_the_report(small_world: Path) -> None:
    report = checked(benchmark(small_world, Config(method="evidence")).report)
    assert (report["alpha"], report["weights"], report["distance"]) == (None, None, None)
    assert [step["number"] for step in report["rounds"]] == list(range(len(report["rounds"])))
    assert report["rounds"]
    assert None not in report["abstention"].values()
    counts = report["verdicts"]
    assert counts["linked"] + counts["undecided"] + counts["no_match"] == 60
    assert counts["linked"] == report["abstention"]["emitted"]
    everything = report["calibration"]["all"]
    assert sum(part["pairs"] for part in everything["bins"]) == everything["pairs"] >= 54
    assert everything["coverage"] >= 0.9
    assert sum(part["pairs"] for part in report["calibration"]["bins"]) == report["abstention"]["emitted"] > 0
    strict = checked(benchmark(small_world, Config(method="evidence", min_confidence=0.95, max_fdr=0.01)).report)
    assert 0 < strict["abstention"]["emitted"] <= report["abstention"]["emitted"]
    assert {part["low"] for part in strict["calibration"]["bins"]} == {0.9}


def test_unsupervised_tests_all_of_gold(small_world: Path) -> None:
    report = checked(benchmark(small_world, Config()).report)
    gold = sum(len((small_world / name).read_text().splitlines()) for name in ("sup_pairs", "ref_pairs"))
    assert (report["setting"], report["seed_pairs"]) == ("unsupervised", 0)
    assert {protocol["all"]["pairs"] for protocol in report["protocols"].values()} == {gold}
    assert report["dataset"] == "small"


@pytest.mark.parametrize(("seed_pairs", "seeds"), [(None, 5), (2, 2), (5, 5)])
def test_supervised_tests_what_is_no_seed(small_world: Path, seed_pairs: int | None, seeds: int) -> None:
    run = benchmark(small_world, Config(), "supervised", seed_pairs)
    report = checked(run.report)
    assert (report["setting"], report["seed_pairs"]) == ("supervised", seeds)
    assert {protocol["all"]["pairs"] for protocol in report["protocols"].values()} == {54 - seeds}
    assert int(run.alignment.is_seed.sum()) == seeds
    assert report["abstention"]["emitted"] == len(run.alignment.pairs) - seeds
    first = [tuple(map(int, line.split("\t"))) for line in (small_world / "sup_pairs").read_text().splitlines()][:seeds]
    ids = run.alignment.pairs[run.alignment.is_seed] + [0, run.alignment.source.n_entities]
    assert sorted(map(tuple, ids.tolist())) == sorted(first)


def test_groups_are_cut_down_to_the_tested_pairs(small_world: Path, tmp_path: Path) -> None:
    seeds, rest = ((small_world / name).read_text().splitlines() for name in ("sup_pairs", "ref_pairs"))
    (tmp_path / "mixed").write_text("\n".join([*seeds[:2], *rest[:7]]))
    (tmp_path / "wrong").write_text("\t".join([rest[0].split("\t")[0], rest[1].split("\t")[1]]))
    groups = {"mixed": tmp_path / "mixed", "wrong": tmp_path / "wrong", "inside": Path("ref_pairs")}
    report = checked(benchmark(small_world, Config(), "supervised", group_files=groups).report)
    for protocol in report["protocols"].values():
        assert {name: figures["pairs"] for name, figures in protocol.items()} == {
            **{"all": len(rest), "mixed": 7, "wrong": 0, "inside": len(rest)}
        }
        assert protocol["inside"] == protocol["all"]


def test_a_group_file_is_looked_up_in_the_folder_first(
    make_folder: MakeFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "group").write_text("10\t20\n11\t21\n")
    folder = make_folder(group="12\t22\n")
    groups = {"there": Path("group"), "here": (tmp_path / "group").absolute()}
    found = benchmark(folder, Config(), group_files=groups).report["protocols"]["open"]
    assert (found["there"]["pairs"], found["here"]["pairs"]) == (1, 2)


def labels_of(folder: Path, name: str) -> list[str]:
    """A line for each entity of one side: its name, and the number that its partner has, too."""
    pairs = [
        line.split("\t") for file in ("sup_pairs", "ref_pairs") for line in (folder / file).read_text().splitlines()
    ]
    number = {entity: at for at, pair in enumerate(pairs) for entity in pair}
    rows = [line.split("\t") for line in (folder / name).read_text().splitlines()]
    return [f"{entity}\tNo. {number[row]:02} {row}" for row, entity in rows if row in number]


def test_names_are_compared_where_files_of_labels_are_given(small_world: Path, tmp_path: Path) -> None:
    files = tmp_path / "labels_1.tsv", tmp_path / "labels_2.tsv"
    for file, name in zip(files, ("ent_ids_1", "ent_ids_2"), strict=True):
        file.write_text("\n".join(labels_of(small_world, name)) + "\n")
    plain, named = benchmark(small_world, Config()), benchmark(small_world, Config(), label_files=files)
    for run, compared in ((plain, False), (named, True)):
        checked(run.report)
        assert run.alignment.evidence is not None
        assert (run.alignment.evidence.state.model.names is not None) == compared
    with pytest.raises(InputError, match=r"labels_2\.tsv: names no entity of .*give the source's labels first"):
        benchmark(small_world, Config(), label_files=files[::-1])


def test_labels_are_looked_up_in_the_folder_first(make_folder: MakeFolder, tmp_path: Path) -> None:
    folder = make_folder(labels_1="Ada\tAda Lovelace\n", labels_2="Q7\tAda Lovelace\n")
    run = benchmark(folder, Config(), label_files=(Path("labels_1"), Path("labels_2")))
    assert run.alignment.evidence is not None
    assert run.alignment.evidence.problem.names is not None


def test_the_parts_add_up_to_the_total(small_world: Path) -> None:
    report = benchmark(small_world, Config()).report
    seconds = report["seconds"]
    parts = [value for name, value in seconds.items() if name != "total" and value is not None]
    assert sum(parts) == pytest.approx(seconds["total"], rel=1e-9)
    assert min(parts) >= 0
    assert (seconds["temporal"], seconds["relational"]) == (None, None)
    assert report["unit_seconds"] == 0.5


def test_the_unit_is_measured_as_often_as_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(module, "_UNIT_SIZE", 8)
    assert len(module.unit_seconds()) == 3
    assert min(module.unit_seconds(2)) > 0


@pytest.mark.parametrize(
    ("setting", "seed_pairs", "changes", "words"),
    [
        ("unsupervised", 5, {}, "--seed-pairs goes with --setting supervised; an unsupervised run has no seeds"),
        ("supervised", 0, {}, "sup_pairs: holds 1 pairs; --seed-pairs must be between 1 and that"),
        ("supervised", -1, {}, "sup_pairs: holds 1 pairs; --seed-pairs must be between 1 and that"),
        ("supervised", 2, {}, "sup_pairs: holds 1 pairs; --seed-pairs must be between 1 and that"),
        ("supervised", None, {"sup_pairs": ""}, "sup_pairs: no pairs; a supervised run needs seeds"),
        ("supervised", None, {"ref_pairs": ""}, "ref_pairs: no pair is left to test; add true pairs or lower"),
        ("unsupervised", None, {"ref_pairs": "", "sup_pairs": ""}, "ref_pairs: no pair is left to test"),
        ("unsupervised", None, {"ref_pairs": None}, "ref_pairs: no such file; check the path"),
        ("unsupervised", None, {"ref_pairs": "10\t21\n"}, "ref_pairs: source entity Ada is also in sup_pairs"),
        ("unsupervised", None, {"ref_pairs": "11\t20\n"}, "ref_pairs: target entity Q7 is also in sup_pairs"),
    ],
)
def test_what_cannot_be_measured_is_refused_before_aligning(
    make_folder: MakeFolder,
    monkeypatch: pytest.MonkeyPatch,
    setting: Any,
    seed_pairs: int | None,
    changes: dict[str, str | None],
    words: str,
) -> None:
    monkeypatch.setattr(module, "align", lambda *_, **__: pytest.fail("aligned all the same"))
    with pytest.raises(InputError, match=words):
        benchmark(make_folder(**changes), Config(), setting, seed_pairs)


def test_progress_goes_through_the_stages_in_order(small_world: Path) -> None:
    seen: list[str] = []
    benchmark(small_world, Config(), progress=lambda stage, *_: seen.append(stage))
    assert list(dict.fromkeys(seen)) == ["read", "evidence", "decode"]


def test_two_runs_agree(small_world: Path) -> None:
    first, second = (benchmark(small_world, Config(method="temporal")) for _ in range(2))
    assert masked(first.report) == masked(second.report)
    np.testing.assert_array_equal(first.alignment.pairs, second.alignment.pairs)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as here:
        report = golden_report(write_folder(simulate(SMALL), Path(here) / "small"))
    (GOLDEN / "benchmark.json").write_text(json.dumps(masked(report), indent=1) + "\n")
