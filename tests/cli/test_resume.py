"""Runs that survive: killed after every stage and at random, then resumed, they end in the same bytes."""

from __future__ import annotations

import io
import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from conftest import refused
from dated_people import people
from dualmatch.cli.main import main
from dualmatch.runs import folder as run_folder
from dualmatch.runs import record as records
from dualmatch.runs.record import RECORD, RunRecord
from dualmatch.simulate import World, simulate, write_folder
from dualmatch.simulate.benchmark_writer import write_benchmark_files

# Imports once and forks a process for each life of the run. Each dies by SIGKILL: right after the next stage has come
# to count ("stages"), or at a moment drawn from the time that a whole life takes ("moments").
LIVES = """
import os, random, signal, sys, time
from dualmatch.cli.main import main
from dualmatch.runs import folder as run_folder

how, lives, run, *call = sys.argv[1:]
write, moments = run_folder.write_record, random.Random(7)

def write_and_die(record, path):
    write(record, path)
    os.kill(os.getpid(), signal.SIGKILL)

def live(seconds=None):
    resume = ["--resume"] if os.path.exists(f"{run}/lock") else []
    child = os.fork()
    if not child:
        main([*call, *resume])
        os._exit(0)
    if seconds is not None:
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

if how == "stages":
    run_folder.write_record = write_and_die
    while live() == -signal.SIGKILL:
        stages = run_folder.read_folder_record(run_folder.Path(run)).stages
        print(*(f"{name} {stage.number}" for name, stage in stages.items()))
else:
    for _ in range(int(lives)):
        print(live(moments.uniform(0.1, 0.9) * float(how)))
    print(live())
"""
RUNS = (".run.json", RECORD, "lock")
"""Files with clocks and processes in them, which no two runs share."""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_folder(
        simulate(World(entities=100, mean_facts=6, year_only_share=0.3, wrong_share=0.05, seed=4)),
        tmp_path_factory.mktemp("drawn") / "world",
    )


def results(run: Path) -> dict[str, bytes]:
    return {
        path.name: path.read_bytes()
        for path in sorted(run.iterdir())
        if path.is_file() and not path.name.endswith(RUNS)
    }


def call(world: Path, run: Path, *options: str) -> list[str]:
    return ["align", str(world), "--run", str(run), "-q", *options]


def without_kill(world: Path, run: Path, *options: str) -> dict[str, bytes]:
    main(call(world, run, *options))
    written = results(run)
    shutil.rmtree(run)
    return written


@pytest.fixture(scope="module")
def plain_results(world: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What a run without options writes, wherever its folder is."""
    return without_kill(world, tmp_path_factory.mktemp("plain") / "run")


def with_relations(run: Path) -> list[str]:
    return ["--relations", str(run / "relations.tsv")]


def lives(how: str, lives: int, run: Path, call: list[str]) -> list[str]:
    command = [sys.executable, "-c", LIVES, how, str(lives), str(run), *call]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout.splitlines()


def test_killed_after_every_stage(world: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    options = with_relations(run)
    expected = without_kill(world, run, *options)
    stages = lives("stages", 0, run, call(world, run, *options))
    assert stages[:3] == ["", "graphs 0", "graphs 0 round 1"]
    assert stages[-1].endswith("outcome 0")  # once when the outcome was kept, once when all results were written
    assert stages[-1] == stages[-2]
    assert results(run) == expected
    assert sorted(expected) == ["links.tsv", "links.tsv.why.npz", "relations.tsv"]


def test_dates_of_entities_survive_every_stage(tmp_path: Path) -> None:
    data, run = tmp_path / "people", tmp_path / "run"
    data.mkdir()
    world, none = people(shared=80, alone=20), np.zeros((0, 2), np.int32)
    write_benchmark_files(data, world.source, world.target, none, none)
    expected = without_kill(data, run)
    assert expected["links.tsv"].count(b"linked") > 60
    assert lives("stages", 0, run, call(data, run))[-1].endswith("outcome 0")
    assert results(run) == expected


def test_killed_at_random_three_times(world: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    options = with_relations(run)
    start = time.perf_counter()
    expected = without_kill(world, run, *options)
    whole = time.perf_counter() - start
    codes = lives(str(whole), 3, run, call(world, run, *options))
    assert set(codes[:3]) <= {str(-signal.SIGKILL), "0"}
    assert codes[0] == str(-signal.SIGKILL)
    assert codes[3] == "0"
    assert results(run) == expected
    assert not list(run.rglob("*.part"))


class Death(BaseException):
    """What stands for a kill, where a process of its own would take too long."""


@pytest.fixture
def dying(monkeypatch: pytest.MonkeyPatch) -> Callable[[list[str]], int]:
    """Run a call, dying after every stage, until it is done; gives how often it died."""

    def until_done(arguments: list[str]) -> int:
        def write_and_die(record: RunRecord, path: Path) -> None:
            records.write_record(record, path)
            raise Death

        deaths = 0
        monkeypatch.setattr(run_folder, "write_record", write_and_die)
        while True:
            try:
                main([*arguments, *(["--resume"] if deaths else [])])
            except Death:
                deaths += 1
                assert deaths < 100, "every life ends with the same stage"
            else:
                return deaths

    return until_done


def test_with_labels_seeds_forbidden_pairs_and_reasons(
    world: Path, tmp_path: Path, dying: Callable[[list[str]], int]
) -> None:
    pairs = (world / "ref_pairs").read_text().splitlines()
    (tmp_path / "seeds").write_text("\n".join(pairs[:10]) + "\n")
    (tmp_path / "forbid").write_text("\n".join(pairs[10:14]) + "\n")
    names = [line.split("\t")[1] for side in "12" for line in (world / f"ent_ids_{side}").read_text().splitlines()]
    (tmp_path / "labels").write_text("".join(f"{name}\tlabel {number % 40}\n" for number, name in enumerate(names)))
    files = [f"--{name}={tmp_path / name}" for name in ("seeds", "forbid", "labels")]
    run = tmp_path / "run"
    options = [*files, *with_relations(run), "--reasons", "--many-to-one", "-o", str(run / "links.csv")]
    expected = without_kill(world, run, *options)
    assert dying(call(world, run, *options)) > 4
    assert results(run) == expected
    assert sum(b",seed," in line for line in expected["links.csv"].splitlines()) == 10


def test_killed_within_rounds(
    world: Path,
    plain_results: dict[str, bytes],
    tmp_path: Path,
    dying: Callable[[list[str]], int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where searching takes long, what was found is kept before the rest of the round, and dropped after it."""
    lives = dying(call(world, tmp_path / "run"))
    run = tmp_path / "searched"
    monkeypatch.setattr("dualmatch.methods.evidence.rounds.LEAST_KEPT_SEARCH", 1)
    more_lives = dying(call(world, run))
    assert results(run) == plain_results
    record = json.loads((run / RECORD).read_text())
    assert "search" not in record["stages"]
    assert not list(run.glob("stages/search*"))
    assert more_lives == lives + record["stages"]["round"]["number"]


@pytest.mark.parametrize(
    ("method", "stages"),
    [
        ("temporal", ["graphs"]),
        ("dualmatch", ["graphs", "pseudo-seeds", "training"]),
        ("fused", ["graphs", "round", "outcome", "training"]),  # which runs of 0.1.0 may be of
    ],
)
def test_other_methods(
    small_world: Path,
    tmp_path: Path,
    dying: Callable[[list[str]], int],
    method: str,
    stages: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if method != "temporal":
        pytest.importorskip("torch")
    # It would hold for all tests after this one.
    monkeypatch.setattr("dualmatch.methods.resources.prepare_process", lambda _config: None)
    monkeypatch.setattr("dualmatch.cli.align.ALIGN_METHODS", ("temporal", "dualmatch", "fused"))
    run = tmp_path / "run"
    (tmp_path / "options.toml").write_text(f'method = "{method}"\n')
    options = ["--config", str(tmp_path / "options.toml")]
    if method != "temporal":
        options += ["--epochs", "2", "--dimension", "4", "--wl-iterations", "2"]
    if method == "dualmatch":
        options += ["--alphas", "0,1"]
    expected = without_kill(small_world, run, *options)
    dying(call(small_world, run, *options))
    assert results(run) == expected
    assert [*json.loads((run / RECORD).read_text())["stages"]] == stages


def interrupted(world: Path, run: Path, monkeypatch: pytest.MonkeyPatch, *options: str) -> None:
    """Leave a run that has kept its graphs and one round."""
    written = []

    def write_and_die(record: RunRecord, path: Path) -> None:
        records.write_record(record, path)
        written.append(record)
        if len(written) == 3:
            raise Death

    with monkeypatch.context() as patched:
        patched.setattr(run_folder, "write_record", write_and_die)
        with pytest.raises(Death):
            main(call(world, run, *options))


def test_changed_options_are_named_all_at_once(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    interrupted(world, run, monkeypatch, "--max-fdr", "0.1")
    said = refused(call(world, run, "--resume", "--many-to-one", "--reasons"), capsys, tmp_path)
    assert "  --max-fdr: 0.1 when the run started, none now" in said
    assert "  --many-to-one: false when the run started, true now" in said
    assert "  --reasons: false when the run started, true now" in said
    assert said.count("when the run started") == 3
    said = refused(call(world, run, "--resume", "--max-fdr", "0.1", "-o", str(tmp_path / "x.tsv")), capsys, tmp_path)
    assert f"  -o: links.tsv when the run started, {tmp_path / 'x.tsv'} now" in said
    reading = ["--max-errors", "5", "--format", "csv", "--format", "tsv", "--time-predicate", "begin=b"]
    said = refused(call(world, run, "--resume", "--max-fdr", "0.1", *reading), capsys, tmp_path)
    assert "  --max-errors: 1000 when the run started, 5 now" in said
    assert '  --format: by the names of the files when the run started, {"source": "csv", "target": "tsv"} now' in said
    assert "  --time-predicate: the usual ones when the run started, {" in said
    assert said.count("when the run started") == 3
    main(call(world, run, "--resume", "--max-fdr", "0.1", "--memory-limit", "4GB"))  # changes no byte of evidence


def test_changed_and_missing_inputs_are_named(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    data, run, seeds = tmp_path / "data", tmp_path / "run", tmp_path / "seeds"
    shutil.copytree(world, data)
    shutil.copy(data / "ref_pairs", seeds)
    interrupted(data, run, monkeypatch, "--seeds", str(seeds))
    facts = (data / "triples_2").read_text().splitlines(keepends=True)
    (data / "triples_2").write_text("".join(facts[1:]))
    (data / "time_id").unlink()
    seeds.write_text("".join(seeds.read_text().splitlines(keepends=True)[1:]))
    said = refused(call(data, run, "--seeds", str(seeds), "--resume"), capsys, tmp_path)
    for path, what in ((data / "triples_2", "changed"), (data / "time_id", "gone"), (seeds, "changed")):
        assert f"{path}: {'is' if what == 'gone' else 'has'} {what} since the run started" in said
    assert "triples_1" not in said


def test_another_version_is_refused_by_name(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    interrupted(world, run, monkeypatch)
    told = json.loads((run / RECORD).read_text())
    (run / RECORD).write_text(json.dumps({**told, "version": "0.0.7"}))
    assert "started with dualmatch 0.0.7" in refused(call(world, run, "--resume"), capsys, tmp_path)
    (run / RECORD).write_text("{")
    assert "is not the record of a run" in refused(call(world, run, "--resume"), capsys, tmp_path)


@pytest.mark.parametrize("stage", ["graphs", "round"])
@pytest.mark.parametrize("harm", ["flipped", "gone"])
def test_a_damaged_stage_is_named_and_made_again(
    world: Path,
    plain_results: dict[str, bytes],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    stage: str,
    harm: str,
) -> None:
    run = tmp_path / "run"
    interrupted(world, run, monkeypatch)
    (file,) = (run / "stages").glob(f"{stage}*")
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data) if harm == "flipped" else file.unlink()
    capsys.readouterr()
    main([word for word in call(world, run, "--resume") if word != "-q"])
    what, said = "is damaged" if harm == "flipped" else "is gone", capsys.readouterr().err
    assert f"note: {run}: resuming after its stage round 1" in said
    assert f"warning: {file}: {what}; going back to the stage before it" in said
    assert results(run) == plain_results


def test_a_folder_is_begun_resumed_and_replaced_as_asked(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    assert "no run was started in it" in refused(call(world, run, "--resume"), capsys, tmp_path)
    interrupted(world, run, monkeypatch)
    assert "resume it with --resume, or start it again with --force" in refused(call(world, run), capsys, tmp_path)
    assert "is not finished" in refused(["report", str(run), "-o", str(tmp_path / "r.html")], capsys, tmp_path)
    main(call(world, run, "--force", "--max-fdr", "0.2"))
    assert "holds a finished run" in refused(call(world, run), capsys, tmp_path)
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file() and path.name != "lock"}
    main(["align", str(world), "--run", str(run), "--max-fdr", "0.2", "--resume"])
    assert "finished already; its links are in" in capsys.readouterr().out
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file() and path.name != "lock"} == before
    (run / "links.tsv.why.npz").unlink()
    main(call(world, run, "--max-fdr", "0.2", "--resume"))
    assert (run / "links.tsv.why.npz").read_bytes() == before[run / "links.tsv.why.npz"]
    (run / "links.tsv").write_text("mine")
    assert "has changed since the run was finished" in refused(
        call(world, run, "--max-fdr", "0.2", "--resume"), capsys, tmp_path
    )


def test_bad_input_leaves_no_run_and_loses_none(
    small_world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, bad, ok, seeds, timeless = (tmp_path / name for name in ("run", "bad.csv", "ok.csv", "seeds", "no_times.csv"))
    bad.write_text("head,relation,tail\na,b,c\na,b\n")
    ok.write_text("head,relation,tail\na,b,c\n")
    seeds.write_text("nobody\tnowhere\n")
    files = ["align", str(bad), str(ok), "--run", str(run)]
    calls = [files, [*files, "--on-error", "skip", "--seeds", str(seeds)], call(small_world, run, f"--seeds={seeds}")]
    timeless.write_text("head,relation,tail\na,b,c\na,b\n")
    calls.append(["align", str(timeless), str(ok), "--run", str(run), "--on-error", "skip"])  # by `align`
    for arguments in calls:
        assert "interrupted" not in refused(arguments, capsys, tmp_path)
    main(call(small_world, run))
    for arguments in calls:
        refused([*arguments, "--force"], capsys, tmp_path)
    main(["evaluate", str(run), "--gold", str(small_world / "ref_pairs"), "--json", "-"])
    assert json.loads(capsys.readouterr().out)["abstention"]["f1"] > 0
    main(["align", str(small_world), "--run", str(run), "--resume"])
    assert "finished already" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--resume", "-o", "x.tsv"], "say which with --run FOLDER"),
        (["--run", "run", "--resume", "--force"], "give one of them"),
        (["--run", "run", "-o", "-"], "give -o a file"),
        (["--run", "run", "--checkpoint", "c.npz"], "leave --checkpoint out"),
        (["--run", "file"], "is not a folder"),
        (["--run", "full"], "holds other files (mine)"),
        (["--run", "run", "-o", "run/lock"], "is already read or written by this run"),
    ],
)
def test_what_does_not_go_together(
    small_world: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").touch()
    assert words in refused(["align", str(small_world), *options], capsys, tmp_path)


def test_the_folder_stands_for_its_links(world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, moved = tmp_path / "run", tmp_path / "moved"
    main(call(world, run, "-o", str(run / "links.csv")))
    run.rename(moved)
    main(["evaluate", str(moved), "--gold", str(world / "ref_pairs"), "--json", "-"])
    assert json.loads(capsys.readouterr().out)["abstention"]["f1"] > 0.5
    main(["report", str(moved), "-o", str(tmp_path / "report.html"), "-q"])
    name = (moved / "links.csv").read_text().splitlines()[1].split(",")[0]
    main(["explain", str(moved), name])
    assert name in capsys.readouterr().out
    said = refused(["explain", str(tmp_path), name], capsys, moved)
    assert "is a folder, but not of a run" in said


def test_two_runs_are_kept_apart(world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    with run_folder.RunFolder.opened(run):
        said = refused(call(world, run), capsys, run)
    assert "another run is at work in it (process" in said
    assert not run.exists()
    main(call(world, run))


def test_what_came_from_standard_input_is_taken_from_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs, run = Path(__file__).parents[2] / "docs" / "sample", tmp_path / "run"
    columns = ["--columns", "head=who,relation=did,tail=whom,begin=first_day,end=last_day"]
    options = ["align", "-", str(docs / "club.csv"), "--format", "csv", *columns, "--run", str(run), "-q"]

    def write_and_die(record: RunRecord, path: Path) -> None:
        records.write_record(record, path)
        if "graphs" in record.stages:
            raise Death

    with monkeypatch.context() as patched:
        patched.setattr(run_folder, "write_record", write_and_die)
        patched.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((docs / "club.csv").read_bytes())))
        with pytest.raises(Death):
            main(options)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    main([*options, "--resume"])
    assert (run / "links.tsv").read_text().count("\n") > 10
