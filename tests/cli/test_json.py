"""--json: every command that has it writes one whole object, whose keys the docs name, to a file or standard output."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any, NoReturn

import pytest

from dualmatch.cli.main import cli, load_verb, main
from dualmatch.research import benchmark

SAMPLE = Path(__file__).parents[2] / "docs" / "sample"
DOCS = Path(__file__).parents[2] / "docs"
SIDES = ["club.csv", "town.json.gz", "--columns", "head=who,relation=did,tail=whom,begin=first_day,end=last_day"]
READING = {"notes", "rejected", "left_out"}
KEYS = {
    "inspect": {"graphs", "overlap", "estimates", "columns"} | READING,
    "align": {"method", "version", "links", "seeds", "undecided", "no_match", "estimated_fdr", "seconds", "files"}
    | READING,
    "merge": {"facts", "entities", "shared_entities", "shared_facts", "files"} | READING,
    "update": {"links", "changes", "why", "new_facts", "seconds", "files"} | READING,
    "evaluate": {"abstention", "calibration", "seeds", "unknown"},
    "explain": {
        "entity",
        "verdict",
        "match",
        "confidence",
        "is_seed",
        "log_odds",
        "shared",
        "reason",
        "category",
        "others",
        "balance",
        "more_shared",
        "label",
        "match_label",
        "texts",
        "needed",
    },
}


@pytest.fixture(scope="module")
def aligned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample, its links, and a run of it in a folder; copy it before you change it."""
    folder = tmp_path_factory.mktemp("sample")
    for name in ("club.csv", "town.json.gz", "true_pairs.tsv"):
        shutil.copy(SAMPLE / name, folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        main(["align", *SIDES, "-o", "links.tsv", "-q"])
        main(["align", *SIDES, "--run", "old.run", "-q"])
    return folder


@pytest.fixture
def here(aligned: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(aligned, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


CALLS = {
    "inspect": ["inspect", *SIDES],
    "align": ["align", *SIDES, "-o", "other.tsv"],
    "merge": ["merge", *SIDES, "--links", "links.tsv", "-o", "merged.tsv", "--entities", "ids.csv"],
    "update": ["update", "old.run", "--source-facts", "club.csv", "--run", "new.run", "--force"],
    "evaluate": ["evaluate", "links.tsv", "--gold", "true_pairs.tsv"],
    "explain": ["explain", "links.tsv", "Anka Dorn"],
}


def strictly(text: str) -> dict[str, Any]:
    """JSON as other programs read it: no NaN, no infinity."""

    def refuse(constant: str) -> NoReturn:
        pytest.fail(f"{constant} is no JSON")

    parsed: dict[str, Any] = json.loads(text, parse_constant=refuse)
    return parsed


def test_these_are_all_commands_with_json() -> None:
    have = {name for name in cli.commands if any("--json" in each.opts for each in load_verb(name).params)}
    assert have == {*CALLS, "benchmark"}


@pytest.mark.parametrize("verb", CALLS)
def test_one_object_whose_keys_the_docs_name(here: Path, capsys: pytest.CaptureFixture[str], verb: str) -> None:
    main([*CALLS[verb], "--json", "-"])
    printed = strictly(capsys.readouterr().out)
    assert set(printed) == KEYS[verb]
    docs = (DOCS / "formats.md").read_text() + (DOCS / "explain.md").read_text()
    named = set(re.findall(r"`(\w+)`", docs))
    assert set(printed) <= named
    main([*CALLS[verb], "--json", "report.json", "--force"])
    capsys.readouterr()
    written = strictly((here / "report.json").read_text())
    for changing in ("seconds", "estimates"):
        printed.pop(changing, None)
        written.pop(changing, None)
    assert written == printed


def test_what_reading_has_to_say_is_in_it(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "a.csv").write_text("head,relation,tail,year\na,r,b,1900\nc,r,d,1901\ne,r,f,soon\n")
    more = ["--on-error", "skip", "--json", "-", "-q"]
    main(["inspect", "a.csv", *more])
    main(["align", "a.csv", "a.csv", "-o", "l.tsv", *more])
    main(["merge", "a.csv", "a.csv", "--links", "l.tsv", "-o", "-", *more[:3], "m.json", "-q"])
    inspected, rest = capsys.readouterr().out.split("\n}\n", 1)
    aligned = rest.split("\n}\n", 1)[0]
    reports = [strictly(f"{text}}}") for text in (inspected, aligned)] + [strictly((here / "m.json").read_text())]
    assert [report["rejected"] for report in reports] == [1, 2, 2]
    assert [report["left_out"] for report in reports] == [{"lines": 1}, {"lines": 2}, {"lines": 2}]
    assert reports[0]["columns"][3] == {"file": "a.csv", "column": "year", "roles": ["time"], "guessed": True}
    assert [len(report["notes"]) for report in reports] == [1, 2, 2]
    assert all("guessed that head is 'head'" in report["notes"][0] for report in reports)
    assert reports[2]["files"] == []


def test_benchmark(small_world: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    schema = json.loads((Path(__file__).parents[1] / "golden" / "benchmark.schema.json").read_text())
    validate = pytest.importorskip("jsonschema").validate
    monkeypatch.setattr(benchmark, "unit_seconds", lambda: [1.0])
    main(["benchmark", str(small_world), "--json", "-", "-q"])
    validate(strictly(capsys.readouterr().out), schema)
