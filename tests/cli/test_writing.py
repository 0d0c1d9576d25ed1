"""What `align` writes: every format by name or option, standard output, the run file, and what is refused."""

from __future__ import annotations

import io
import json
import shutil
import sys
from pathlib import Path

import pytest

from conftest import refused
from dualmatch.cli.main import main
from dualmatch.errors import ConfigError
from dualmatch.links.read import read_links
from dualmatch.runs.options_file import links_file

COLUMNS = ["--columns", "head=who,relation=did,tail=whom,begin=first_day,end=last_day"]
SAMPLE = Path(__file__).parents[2] / "docs" / "sample"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("club.csv", "town.json.gz"):
        shutil.copy(SAMPLE / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def align_sample(*arguments: str) -> None:
    main(["align", "club.csv", "town.json.gz", *COLUMNS, "--method", "evidence", *arguments])


def test_every_format_by_name_and_by_option(here: Path) -> None:
    prefixes = ["--prefix", "town=http://example.org/town/", "--target-prefix", "town"]
    names = {
        "tsv": "a.tsv",
        "csv": "a.csv",
        "parquet": "a.pq",
        "jsonl": "a.jsonl",
        "sameas": "a.nt",
        "sssom": "a.sssom.tsv",
    }
    for name in names.values():
        align_sample("-q", "-o", name, *prefixes)
    align_sample("-q", "-o", "by.option", "--output-format", "sssom", *prefixes)
    assert (here / "by.option").read_bytes() == (here / names["sssom"]).read_bytes()
    pairs = read_links(here / "a.tsv")[0]
    assert len(pairs) > 50
    assert all(read_links(here / name)[0] == pairs for name in names.values() if name != "a.nt")
    assert (here / "a.nt").read_text().count("<http://example.org/town/Q") == len(pairs)
    for name in names.values():
        main(["merge", "club.csv", "town.json.gz", *COLUMNS, "--links", name, "-o", f"{name}.all.csv", "-q", *prefixes])
        assert (here / f"{name}.all.csv").read_bytes() == (here / "a.tsv.all.csv").read_bytes()


def test_standard_output_gets_the_links_and_nothing_else(
    here: Path, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    align_sample("-o", "links.sssom.tsv", "-q")
    before = sorted(here.iterdir())
    with open(1, "w", closefd=False) as out:
        monkeypatch.setattr(sys, "stdout", out)
        align_sample("-o", "-", "--output-format", "sssom")
    assert capfdbinary.readouterr() == ((here / "links.sssom.tsv").read_bytes(), b"")
    assert sorted(here.iterdir()) == before


def test_explain_after_any_format_and_the_files_may_have_moved(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    align_sample("-o", "links.sssom.tsv", "-q")
    name = read_links(here / "links.sssom.tsv")[0][0][0]
    main(["explain", "links.sssom.tsv", name])
    said = capsys.readouterr().out
    assert "  both: " in said
    (here / "moved").mkdir()
    for file in ("club.csv", "town.json.gz"):
        (here / file).rename(here / "moved" / file)
    assert "club.csv: is gone" in refused(["explain", "links.sssom.tsv", name], capsys, here)
    main(["explain", "links.sssom.tsv", name, "--folder", "moved"])
    assert capsys.readouterr().out == said
    with (here / "moved" / "club.csv").open("a") as file:
        file.write("999,a,b,c,1900,1901\n")
    assert "has changed since" in refused(["explain", "links.sssom.tsv", name, "--folder", "moved"], capsys, here)


def test_what_came_from_standard_input_has_no_companion(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((here / "club.csv").read_bytes())))
    formats = ["--format", "csv", "--format", "wikidata"]
    main(["align", "-", "town.json.gz", *COLUMNS, "--method", "evidence", "-o", "links.tsv", *formats, "-q"])
    assert (here / "links.tsv").exists()
    assert not (here / "links.tsv.why.npz").exists()


def test_a_run_file_does_the_run_again(here: Path) -> None:
    align_sample(
        "-o",
        "first.tsv",
        "-q",
        "--max-fdr",
        "0.02",
        "--min-confidence",
        "0.1",
        "--on-error",
        "skip",
        "--memory-limit",
        "1GB",
    )
    first = json.loads((here / "first.tsv.run.json").read_text())["options"]
    said = {"method": "evidence", "max_fdr": 0.02, "min_confidence": 0.1, "memory_limit": 1000000000}
    assert first.items() >= said.items()
    assert first["source"]["on_error"] == first["target"]["on_error"] == "skip"
    main(["align", "club.csv", "town.json.gz", "-o", "second.tsv", "-q", "--config", "first.tsv.run.json"])
    assert (here / "second.tsv").read_bytes() == (here / "first.tsv").read_bytes()
    assert json.loads((here / "second.tsv.run.json").read_text())["options"] == first
    call = ["align", "club.csv", "town.json.gz", "-q", "--config", "first.tsv.run.json"]
    main([*call, "-o", "third.tsv", "--max-fdr", "0.5", "--on-error", "stop"])
    third = json.loads((here / "third.tsv.run.json").read_text())["options"]
    assert third["max_fdr"] == 0.5
    assert third["source"]["on_error"] == third["target"]["on_error"] == "stop"


def test_a_summary_for_programs(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    align_sample("-o", "links.tsv", "--json", "-")
    report = json.loads(capsys.readouterr().out)
    pairs, _ = read_links(here / "links.tsv")
    assert (report["links"], report["links"] + report["undecided"] + report["no_match"]) == (len(pairs), 80)
    assert report["files"] == ["links.tsv", "links.tsv.why.npz", "links.tsv.run.json"]
    call = ["merge", "club.csv", "town.json.gz", *COLUMNS, "--links", "links.tsv", "-o", "merged.csv", "--json", "-"]
    main(call)
    report = json.loads(capsys.readouterr().out)
    assert report == {
        "facts": 640 - report["shared_facts"],
        "entities": 160 - len(pairs),
        "shared_entities": len(pairs),
        "shared_facts": 238,  # relations found to be the same have one name; dates agree as far as both go
        "files": ["merged.csv"],
        "notes": [],
        "rejected": 0,
        "left_out": {},
    }


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-o", "links.xls"], "links.xls: its name does not show its format; end it with one of .sssom.tsv"),
        (["-o", "links.tsv", "--relations", "r.json"], "r.json: its name does not show its format"),
        (["-o", "links.tsv", "--json", "links.tsv.run.json"], "is already read or written by this run"),
        (["-o", "-", "--json", "-"], "standard output is asked for twice"),
        (["-o", "links.tsv", "--on-error", "skip", "--rejected", "links.tsv"], "is already read or written by"),
        (["-o", "links.tsv", "--prefix", "wd"], "--prefix 'wd': write NAME=IRI"),
        (["-o", "links.tsv", "--source-prefix", "wd"], "prefix wd: its IRI is missing; add --prefix wd=IRI"),
        (["-o", "club.csv", "--force"], "club.csv: is already read or written by this run"),
    ],
)
def test_what_is_refused(here: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str) -> None:
    call = ["align", "club.csv", "town.json.gz", *COLUMNS, "--method", "evidence", *arguments]
    assert words in refused(call, capsys, here)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_comes_from_click(
    shell: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("_DUALMATCH_COMPLETE", f"{shell}_source")
    with pytest.raises(SystemExit) as caught:
        main([])
    assert caught.value.code == 0
    assert "_DUALMATCH_COMPLETE" in capsys.readouterr().out


def test_no_relations_in_common_are_a_file_with_a_header(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("head,relation,tail,time\nAda,met,Charles,1833\nCharles,wrote,Book,1864\n")
    main(["align", "a.csv", "a.csv", "-o", "links.tsv", "-q", "--relations", "relations.csv"])
    assert (tmp_path / "relations.csv").read_text() == "source,target,direction,score,support\n"


@pytest.mark.parametrize(
    "written",
    [
        ["-o", "links.nt", "--prefix", "ex=http://example.org/", "--source-prefix", "ex"],
        ["-o", "links.txt", "--output-format", "sssom"],
        ["-o", "links.tsv", "--output-format", "jsonl"],
    ],
    ids=["prefix", "format", "another format than its name says"],
)
def test_links_are_read_as_they_were_written(
    here: Path, capsys: pytest.CaptureFixture[str], written: list[str]
) -> None:
    """The record says how; whoever reads the links need not."""
    links = written[1]
    align_sample("-q", *written)
    align_sample("-q", "-o", "plain.tsv")
    gold, facts = str(SAMPLE / "true_pairs.tsv"), ["club.csv", "town.json.gz", *COLUMNS]
    found = []
    for name in (links, "plain.tsv"):
        main(["evaluate", name, "--gold", gold, "--json", "-"])
        found.append(json.loads(capsys.readouterr().out)["abstention"])
        main(["report", name, "-o", f"{name}.html", "--gold", gold, "-q"])
        main(["merge", *facts, "--links", name, "-o", f"{name}.merged.csv", "-q"])
    assert found[0]["precision"] == found[1]["precision"] > 0.9
    assert found[0]["recall"] == found[1]["recall"]
    assert (here / f"{links}.merged.csv").read_bytes() == (here / "plain.tsv.merged.csv").read_bytes()


def test_links_of_a_version_with_other_options_are_read(here: Path) -> None:
    """Only how the links were written counts; a run file that cannot say it is told."""
    align_sample("-q", "-o", "links.txt", "--output-format", "sssom")
    file = here / "links.txt.run.json"
    record = json.loads(file.read_text())
    record["options"]["of_tomorrow"] = 1
    file.write_text(json.dumps(record))
    assert links_file(here / "links.txt").links[0]
    record["options"]["source_prefix"] = "wd"
    file.write_text(json.dumps(record))
    with pytest.raises(ConfigError, match=r"links\.txt\.run\.json: prefix wd: its IRI is missing"):
        _ = links_file(here / "links.txt").links
    file.unlink()
    old = here / "links.txt.config.toml"  # of 0.1.0
    old.write_text('of_tomorrow = 1\noutput_format = "sssom"\n')
    assert links_file(here / "links.txt").links[0]
    old.write_text('source_prefix = "wd"\n')
    with pytest.raises(ConfigError, match=r"links\.txt\.config\.toml: prefix wd: its IRI is missing"):
        _ = links_file(here / "links.txt").links
