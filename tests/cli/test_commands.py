"""The verbs, as a user calls them."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from conftest import refused
from dualmatch.cli import console
from dualmatch.cli.main import main
from dualmatch.links.read import read_links
from dualmatch.research import benchmark, demo
from dualmatch.runs.options_file import links_file
from dualmatch.simulate.chronicle import ChronicleWorld


@pytest.fixture(autouse=True)
def quick_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "unit_seconds", lambda: [0.5])


TEMPORAL = ["--method", "temporal", "--hops", "1"]


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[str, str]:
    """Standard output and standard error of a call that works."""
    main([str(argument) for argument in arguments])
    shown = capsys.readouterr()
    return shown.out, shown.err


def test_align_then_evaluate(small_world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    links = tmp_path / "links.tsv"
    out, err = run(capsys, "align", small_world, "-o", links)
    pairs, _ = read_links(links)
    without = len(links_file(links).no_matches)
    summary, following = out.splitlines()
    assert summary.startswith(f"{len(pairs)} links written to {links}, ")
    assert f"; of 60 source entities {60 - len(pairs) - without} are undecided, " in summary
    assert summary.endswith(f" and {without} probably have no match")
    assert following == f"next: dualmatch report {links} -o {tmp_path / 'report.html'}"
    run(capsys, *shlex.split(following)[2:])
    assert err == ""
    out, _ = run(capsys, "evaluate", links, "--gold", small_world / "ref_pairs")
    assert "What the links are worth" in out
    assert "recall" in out


def test_the_same_input_gives_the_same_bytes(
    small_world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("first", "second"):
        run(capsys, "align", small_world, "-o", tmp_path / name)
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()
    written = [f"{name}{end}" for name in ("first", "second") for end in ("", ".run.json", ".why.npz")]
    assert sorted(path.name for path in tmp_path.iterdir()) == written


def test_force_replaces(small_world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    links = tmp_path / "links.tsv"
    links.write_text("old")
    with pytest.raises(SystemExit) as caught:
        run(capsys, "align", small_world, "-o", links)
    assert caught.value.code == 2
    assert links.read_text() == "old"
    run(capsys, "align", small_world, "-o", links, "--force")
    assert read_links(links)[0]


@pytest.mark.parametrize("by", ["id", "name"])
def test_seeds_stand_as_given(small_world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], by: str) -> None:
    names = dict(
        line.split("\t") for side in "12" for line in (small_world / f"ent_ids_{side}").read_text().splitlines()
    )
    seeds = [line.split("\t") for line in (small_world / "sup_pairs").read_text().splitlines()]
    path = tmp_path / "seeds"
    path.write_text("".join("\t".join(s if by == "id" else names[s] for s in pair) + "\n" for pair in seeds))
    run(capsys, "align", small_world, "-o", tmp_path / "links.tsv", "--seeds", path)
    links = dict(zip(*read_links(tmp_path / "links.tsv"), strict=True))
    assert [links[names[s], names[t]] for s, t in seeds] == [1.0] * len(seeds)


def test_quiet_prints_nothing(small_world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for call in (
        ["align", small_world, "-o", tmp_path / "links.tsv"],
        ["benchmark", small_world, "--json", tmp_path / "report.json"],
        ["simulate", "-o", tmp_path / "world", "--entities", "40"],
        ["inspect", small_world],
        ["evaluate", tmp_path / "links.tsv", "--gold", small_world / "ref_pairs"],
        ["merge", small_world, "--links", tmp_path / "links.tsv", "-o", tmp_path / "merged.tsv"],
    ):
        assert run(capsys, *call, "--quiet") == ("", "")
    companions = [f"links.tsv{end}" for end in (".run.json", ".why.npz")]
    written = ["links.tsv", *companions, "merged.tsv", "report.json", "world"]
    assert sorted(path.name for path in tmp_path.iterdir()) == written


def test_warnings_are_one_line_on_standard_error_and_quiet_silences_them(
    make_folder: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_folder(triples_1="10\t0\t11\t3\t2\n10\t1\t12\t1\n")
    out, err = run(capsys, "align", folder, "-o", tmp_path / "links.tsv")
    assert err == f"warning: {folder}/triples_1: 1 facts end before they begin; both ends are kept\n"
    assert "end before" not in out
    assert run(capsys, "-v", "align", folder, "-o", tmp_path / "links.tsv", "--force", "-q") == ("", "")


def test_verbose_tells_what_was_read(small_world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, err = run(capsys, "-v", "align", small_world, "-o", tmp_path / "links.tsv")
    assert err.count("info: read TemporalGraph(") == 2
    assert "info:" not in out
    assert run(capsys, "align", small_world, "-o", tmp_path / "links.tsv", "--force", "-v")[1].count("info: read") == 2


def test_json_on_standard_output_is_all_there_is(
    small_world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, err = run(capsys, "benchmark", small_world, "--json", "-", "--group", "half=ref_pairs", *TEMPORAL)
    assert set(json.loads(out)["protocols"]["paper"]) == {"all", "half"}
    assert err == ""
    run(capsys, "align", small_world, "-o", tmp_path / "links.tsv")
    out, err = run(capsys, "evaluate", tmp_path / "links.tsv", "--gold", small_world / "all_pairs", "--json", "-")
    assert 0 < json.loads(out)["abstention"]["recall"] <= 1
    assert err == ""


def test_json_into_a_file_comes_with_the_tables(
    small_world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "report.json"
    pytest.importorskip("torch")
    trained = ["--method", "dualmatch", "--dimension", "4", "--epochs", "1", "--seed", "7"]
    supervised = ["--setting", "supervised", "--seed-pairs", 3]
    out, _ = run(capsys, "benchmark", small_world, "--json", report, *supervised, *trained)
    assert "How often the right partner comes first" in out
    assert "machine units (unit 0.50 s)" in out
    found = json.loads(report.read_text())
    assert (found["setting"], found["seed_pairs"], found["seed"]) == ("supervised", 3, 7)
    run(capsys, "align", small_world, "-o", tmp_path / "links.tsv")
    quality = tmp_path / "quality.json"
    out, _ = run(capsys, "evaluate", tmp_path / "links.tsv", "--gold", small_world / "ref_pairs", "--json", quality)
    assert "What the links are worth" in out
    assert set(json.loads(quality.read_text())) == {"abstention", "calibration", "seeds", "unknown"}


def test_a_group_may_be_called_anything(small_world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = run(capsys, "benchmark", small_world, "--group", "[/b]=ref_pairs")
    assert "[/b]" in out


def test_a_benchmark_with_labels_needs_both_files(
    small_world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for side in "12":
        names = [line.split("\t")[1] for line in (small_world / f"ent_ids_{side}").read_text().splitlines()]
        (tmp_path / side).write_text("".join(f"{name}\tlabel of {name}\n" for name in names))
    labels = [f"--labels={tmp_path / side}" for side in "12"]
    assert "give it twice: the source's file, then the target's" in refused(
        ["benchmark", str(small_world), labels[0]], capsys, tmp_path
    )
    out, _ = run(capsys, "benchmark", small_world, *labels)
    assert "undecided" in out


def test_simulate_then_align(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    world = tmp_path / "world"
    out, _ = run(capsys, "simulate", "-o", world, "--preset", "scale", "--entities", "80", "--seed", "4")
    assert out.splitlines()[-1] == f"72 true pairs; written to {world}"
    options = json.loads((world / "world.json").read_text())["world"]
    assert (options["entities"], options["seed"], options["relations_source"]) == (80, 4, 200)
    with pytest.raises(SystemExit) as caught:
        run(capsys, "simulate", "-o", world)
    assert caught.value.code == 2
    run(capsys, "simulate", "-o", world, "--force", "--entities", "50")
    run(capsys, "align", world, "-o", tmp_path / "links.tsv", "--method", "temporal", "--zero-counts")


@pytest.mark.parametrize("name", ["demo-out", "out [1] [/bold] :100: {x}"])
def test_demo_prints_where_everything_lies(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(demo, "DEMO", ChronicleWorld(people=60))
    monkeypatch.setattr(demo, "unit_seconds", lambda _repeats: [0.5])
    for _ in range(2):
        out, _ = run(capsys, "demo", "-o", tmp_path / name)
        for words in (f"{tmp_path / name}/people/register.ttl", f"{tmp_path / name}/report.html", "planted truth"):
            assert words in out
    for call in out.split("Next:\n")[1].splitlines():  # what it proposes can be done
        verb, *arguments = shlex.split(call.split("  ")[1])[1:]
        assert verb in ("explain", "review", "app")
        if verb == "explain":
            why = run(capsys, verb, *arguments)[0]
            assert arguments[1] in why
            assert why.count("\n  both: ") <= 4
    assert run(capsys, "demo", "-o", tmp_path / name, "-q") == ("", "")


def test_commands_to_copy_call_this_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its name where the shell finds it, else as it was called: after `make demo` it is in no PATH."""
    for folder in ("bin", "other one"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "dualmatch").write_text("#!/bin/sh\n")
        (tmp_path / folder / "dualmatch").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    for path, called, shown in (
        (tmp_path / "bin", str(tmp_path / "bin" / "dualmatch"), "dualmatch"),
        (tmp_path / "bin", "other one/dualmatch", "'other one/dualmatch'"),
        (tmp_path, "bin/dualmatch", "bin/dualmatch"),
        (tmp_path, str(Path(console.__file__).parents[1] / "__main__.py"), f"{sys.executable} -m dualmatch"),
        (tmp_path, "/some/pytest/__main__.py", "dualmatch"),
    ):
        monkeypatch.setenv("PATH", str(path))
        monkeypatch.setattr(sys, "argv", [called])
        assert console.program() == shown


def test_a_terminal_sees_the_stages(
    small_world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = StringIO()
    monkeypatch.setattr(console, "err", Console(file=terminal, force_terminal=True, emoji=False))
    out, _ = run(capsys, "align", small_world, "-o", tmp_path / "links.tsv")
    assert out.count("\n") == 2
    for words in ("reading the graphs", "weighing shared evidence", "matching"):
        assert words in terminal.getvalue()
    terminal.truncate(0)
    run(capsys, "align", small_world, "-o", tmp_path / "links.tsv", "--force", "--quiet")
    assert terminal.getvalue().strip("\0") == ""


def test_a_reader_that_goes_away_is_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "links.tsv").write_text("source\ttarget\tconfidence\na\tb\t0.5\n")
    (tmp_path / "gold.tsv").write_text("a\tb\n")
    reading, writing = os.pipe()
    os.close(reading)
    call = ["evaluate", str(tmp_path / "links.tsv"), "--gold", str(tmp_path / "gold.tsv"), "--json", "-"]
    ran = subprocess.run(
        [sys.executable, "-m", "dualmatch", *call], stdout=writing, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(writing)
    assert (ran.returncode, ran.stderr) == (141, "")


def test_weights_are_given_with_commas(small_world: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    method = ["--method", "dualmatch", "--dimension", "4", "--epochs", "1"]
    main_or_exit = ["align", str(small_world), "-o", str(tmp_path / "links.tsv"), *method, "--alphas", "0, 0.5,1"]
    main(main_or_exit)
    assert (tmp_path / "links.tsv").exists()
    with pytest.raises(SystemExit) as caught:
        main([*main_or_exit, "--force", "--alphas", "-1"])
    assert caught.value.code == 2
