"""Run folders: what is kept comes back as it was, only whole stages count, and one process at a time."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse as sp

from dualmatch import InputError, TemporalGraph
from dualmatch.channels.evidence.tokens import Scale
from dualmatch.channels.relational import Checkpoint
from dualmatch.config import Config
from dualmatch.decode.assignment import FoundPairs
from dualmatch.errors import OutputError
from dualmatch.files import atomic
from dualmatch.graph.literals import Literals
from dualmatch.methods.evidence import align_by_evidence
from dualmatch.methods.evidence.confidence import Confidence
from dualmatch.methods.evidence.problem import Problem
from dualmatch.methods.evidence.rounds import Rounds
from dualmatch.methods.evidence.search import Found
from dualmatch.methods.evidence.state import Round, RoundState
from dualmatch.methods.run_store import NullStore
from dualmatch.runs import record as records
from dualmatch.runs.finished import finished_run
from dualmatch.runs.folder import RunFolder
from dualmatch.runs.graph_pair import GraphPair
from dualmatch.runs.input_spec import InputSpec, ReadOptions
from dualmatch.runs.outputs import Outputs
from dualmatch.runs.record import RunRecord
from dualmatch.simulate import World, simulate

FOUND = FoundPairs(np.array([[0, 1], [2, 3]], np.int32), np.array([0.1, 0.9]))


def terms(folder: Path, **options: object) -> RunRecord:
    spec = InputSpec((Path("world"),), (ReadOptions(), ReadOptions()))
    return Outputs(folder / "links.tsv").record(Config.checked(**options), spec, folder)


def begun(folder: RunFolder) -> RunFolder:
    folder.begin(terms(folder.path), [folder.path / "links.tsv"])
    return folder


class Remembers(NullStore):
    """Remembers the last round and what the trial told."""

    def keep_round(self, state: RoundState, log: tuple[Round, ...], first_pairs: np.ndarray) -> None:
        self.last_round = Rounds(state, first_pairs, log, converged=False)

    def keep_confidence(self, confidence: Confidence) -> None:
        self.last_confidence = confidence

    def put_into(self, folder: RunFolder) -> None:
        folder.keep_round(self.last_round.state, self.last_round.log, self.last_round.first_pairs)
        folder.keep_confidence(self.last_confidence)


def assert_same(one: object, other: object) -> None:
    """Equal to the last bit, types and all, arrays and matrices within them included."""
    assert type(one) is type(other)
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        assert (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())
    elif isinstance(one, tuple) and isinstance(other, tuple):
        assert len(one) == len(other)
        for left, right in zip(one, other, strict=True):
            assert_same(left, right)
    elif hasattr(one, "indptr"):
        for part in ("data", "indices", "indptr"):
            assert_same(getattr(one, part), getattr(other, part))
    elif hasattr(one, "__dataclass_fields__"):
        for name in one.__dataclass_fields__:
            assert_same(getattr(one, name), getattr(other, name))
    else:
        assert one == other


@pytest.mark.parametrize("n_seeds", [0, 20])
@pytest.mark.parametrize("with_labels", [False, True])
def test_what_rounds_keep_comes_back_to_the_bit(tmp_path: Path, n_seeds: int, with_labels: bool) -> None:
    pair, store = simulate(World(entities=80, seed=2)), Remembers()
    said = [
        {graph.entities[row]: f"name {number * 7919 % 9973}" for number, row in enumerate(pair.gold[:, side].tolist())}
        for side, graph in enumerate((pair.source, pair.target))
    ]
    labels = [Literals.of_labels(each, graph) for each, graph in zip(said, (pair.source, pair.target), strict=True)]
    literals = (labels[0], labels[1]) if with_labels else None
    seeds = pair.gold[:n_seeds] if n_seeds else None
    problem = Problem.of(pair.source, pair.target, seeds, literals=literals)
    align_by_evidence(problem, max_rounds=2, store=store)
    assert len(store.last_round.state.by_slot[0]) > 100
    assert (store.last_round.state.model.names is not None) == with_labels
    with RunFolder.opened(tmp_path / "run") as folder:
        store.put_into(begun(folder))
        assert_same(folder.kept_round(), store.last_round)
        assert_same(folder.kept_confidence(), store.last_confidence)


def test_graphs_names_and_pairs_come_back(tmp_path: Path) -> None:
    odd = ("", "a\tb\n", "\udcff", "ß" * 10_000, "</script>")
    column = np.zeros(0, np.int32)
    graph = TemporalGraph(*[column] * 5, odd, ("r",), name="odd", opaque_times=True)
    other = TemporalGraph.from_facts([("Ada", "met", "Charles", "1833")], "other")
    literals = Literals(np.array([1], np.int32), ("label",), ("ä\udcff",)), Literals.of_labels({}, other)
    pair = GraphPair.of(graph, other, literals, FOUND.pairs[:1], None, ("a note",), 3, {"lines": 3})
    with RunFolder.opened(tmp_path / "run") as folder:
        begun(folder).keep_graphs(pair)
        kept = folder.kept_graphs()
    for name in ("source", "target", "literals", "seeds", "forbidden", "notes", "report"):
        assert_same(getattr(kept, name), getattr(pair, name))
    assert pair.report == {"notes": ["a note"], "rejected": 3, "left_out": {"lines": 3}}


def test_training_is_kept_epoch_by_epoch(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    with RunFolder.opened(tmp_path / "run") as folder:
        training = begun(folder).training
        assert training.read() is None
        for epoch in (1, 2):
            arrays = {"x": np.full(3, epoch, np.float32)}
            training.write(Checkpoint(epoch, arrays, dict(rng.bit_generator.state), "print"))
        read = training.read()
        assert read is not None
        assert (read.epoch, read.arrays["x"].tolist()) == (2, [2, 2, 2])
        assert [path.name for path in (tmp_path / "run" / "stages").iterdir()] == ["training-2.npz"]


def test_a_stage_that_the_record_does_not_name_does_not_count(tmp_path: Path) -> None:
    path = tmp_path / "run"
    with RunFolder.opened(path) as folder:
        begun(folder).keep_pseudo_seeds(FOUND)
    for left in (path / "stages" / "round-3.npz", path / "stages" / ".outcome.npz.17.part"):
        left.write_text("half")
    parts = [path / f".{name}.0123456789abcdef.part" for name in ("run.json", "links.tsv")]
    for part in parts:
        part.write_text("half")
    (path / "mine.txt").write_text("of the user")
    with RunFolder.opened(path, resume=True) as folder:
        begun(folder)
        assert folder.kept_round() is None
        assert_same(folder.pseudo_seeds(), FOUND)
    assert [each.name for each in (path / "stages").iterdir()] == ["pseudo-seeds.npz"]
    assert sorted(each.name for each in path.iterdir()) == ["lock", "mine.txt", "run.json", "stages"]


def edited(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the record of a run as somebody else might."""
    file = path / "run.json"
    data = json.loads(file.read_text())
    change(data)
    file.write_text(json.dumps(data))


@pytest.mark.parametrize("file", ["../victim.npz", "stages/../../victim.npz", "/etc/passwd", "victim.npz", "stages/"])
def test_a_stage_outside_its_folder_is_refused(tmp_path: Path, file: str) -> None:
    path, victim = tmp_path / "run", tmp_path / "victim.npz"
    victim.write_text("precious")
    with RunFolder.opened(path) as folder:
        begun(folder).keep_pseudo_seeds(FOUND)
    edited(path, lambda data: data["stages"]["pseudo-seeds"].update(file=file))
    with pytest.raises(InputError, match="is not in stages/"), RunFolder.opened(path, resume=True):
        pass
    assert victim.read_text() == "precious"


def test_links_in_place_of_lock_and_stages_are_not_followed(tmp_path: Path) -> None:
    path, elsewhere = tmp_path / "run", tmp_path / "elsewhere"
    elsewhere.mkdir()
    for name in ("precious.npz", "lock"):
        (elsewhere / name).write_text("precious")
    with RunFolder.opened(path) as folder:
        begun(folder)
    (path / "lock").unlink()
    (path / "lock").symlink_to(elsewhere / "lock")
    with pytest.raises(OutputError, match="symbolic links"), RunFolder.opened(path, resume=True):
        pass
    (path / "lock").unlink()
    (path / "stages").symlink_to(elsewhere)
    with pytest.raises(InputError, match="is a link to another folder"), RunFolder.opened(path, resume=True):
        pass
    assert {each.read_text() for each in elsewhere.iterdir()} == {"precious"}


def test_the_lock_goes_with_its_process(tmp_path: Path) -> None:
    path = tmp_path / "run"
    hold = (
        "import sys, time; from pathlib import Path; from dualmatch.files.locking import locked\n"
        "with locked(Path(sys.argv[1])): print('held', flush=True); time.sleep(60)"
    )
    path.mkdir()
    with subprocess.Popen([sys.executable, "-c", hold, str(path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        words = f"another run is at work in it .process {process.pid} on "
        with pytest.raises(InputError, match=words), RunFolder.opened(path, force=True):
            pass
        process.send_signal(signal.SIGKILL)
    with RunFolder.opened(path) as folder:
        begun(folder)


def test_a_finished_run_gives_all_it_came_to(tmp_path: Path) -> None:
    path, pair, store = tmp_path / "run", simulate(World(entities=60)), Remembers()
    align_by_evidence(Problem.of(pair.source, pair.target), max_rounds=1, store=store)
    with RunFolder.opened(path) as folder:
        begun(folder).keep_graphs(GraphPair.of(pair.source, pair.target))
        store.put_into(folder)
        (path / "links.tsv").write_text("links")
        with pytest.raises(InputError, match="another run is at work"), finished_run(path):
            pass
    with pytest.raises(InputError, match="is not finished"), finished_run(path):
        pass
    with RunFolder.opened(path, resume=True) as folder:
        begun(folder).finish()
    with finished_run(path) as run:
        assert run.config == folder.record.config
        assert run.links.read_text() == "links"
        assert_same(run.rounds, store.last_round)
        assert_same(run.confidence, store.last_confidence)
        assert_same(run.graphs.source.head, pair.source.head)
    (path / "stages" / "outcome.npz").write_bytes(b"")
    with pytest.raises(InputError, match=r"outcome\.npz: is not what the run wrote"), finished_run(path):
        pass


def finished(path: Path) -> Path:
    pair = simulate(World(entities=20))
    with RunFolder.opened(path) as folder:
        begun(folder).keep_graphs(GraphPair.of(pair.source, pair.target))
        (path / "links.tsv").write_text("links")
        folder.finish()
    return path


def test_who_reads_a_run_keeps_others_from_writing_only(tmp_path: Path) -> None:
    path = finished(tmp_path / "run")
    with finished_run(path), finished_run(path) as run:
        assert run.graphs.source.n_entities == 20
        with pytest.raises(InputError, match="run: an update is reading it; wait"), RunFolder.opened(path, force=True):
            pass
    with (
        RunFolder.opened(path, resume=True),
        pytest.raises(InputError, match=f"at work in it .process {os.getpid()} on "),
        finished_run(path),
    ):
        pass


def test_a_run_on_a_read_only_disk_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = finished(tmp_path / "run")
    really_open = os.open

    def read_only(file: Path, flags: int, *mode: int) -> int:
        if flags & (os.O_RDWR | os.O_WRONLY | os.O_CREAT):
            raise OSError(30, os.strerror(30))
        return really_open(file, flags, *mode)

    def no_locks(*_: object) -> None:
        raise OSError(37, os.strerror(37))

    monkeypatch.setattr("dualmatch.files.locking.os.open", read_only)
    with finished_run(path) as run:
        assert run.links.read_text() == "links"
    with monkeypatch.context() as patched:
        patched.setattr("dualmatch.files.locking.fcntl.flock", no_locks)
        with finished_run(path) as run:
            assert run.links.read_text() == "links"
    (path / "lock").unlink()
    with finished_run(path) as run:
        assert run.links.read_text() == "links"
    assert not (path / "lock").exists()


def test_threads_count_only_where_they_change_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for method, differs in (("evidence", False), ("fused", True)):
        before = terms(tmp_path, method=method, memory_limit=10**9)
        monkeypatch.setattr(records, "_threads", lambda: "64 cores")
        now = terms(tmp_path, method=method, memory_limit=2 * 10**9)
        monkeypatch.undo()
        named = {each.split(":")[0] for each in before.differences(now)}
        assert named == ({"--memory-limit", "threads"} if differs else set())


@pytest.mark.parametrize("number", [28, 122, 30, 13])
def test_a_disk_that_fills_up_leaves_the_run_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    path = tmp_path / "run"
    with RunFolder.opened(path) as folder:
        begun(folder).keep_pseudo_seeds(FOUND)
        before = {each: each.read_bytes() for each in path.rglob("*") if each.is_file()}
        for failing in range(2):  # the stage's own file, then the record
            calls = []

            def full(handle: int, failing: int = failing, calls: list[int] = calls) -> None:
                calls.append(handle)
                if len(calls) > 2 * failing:
                    raise OSError(number, os.strerror(number))

            with monkeypatch.context() as patched:
                patched.setattr(atomic.os, "fsync", full)
                with pytest.raises(OutputError, match=os.strerror(number)):
                    folder.keep_pseudo_seeds(FoundPairs(FOUND.pairs[:1], FOUND.confidence[:1]))
        left = {each: each.read_bytes() for each in path.rglob("*") if each.is_file()}
    assert left.keys() == before.keys()
    assert left[path / "run.json"] == before[path / "run.json"]
    assert json.loads(left[path / "run.json"])["state"] == "running"


def test_a_folder_that_cannot_be_made_is_told_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="cannot be made"), RunFolder.opened(tmp_path / "file" / "run"):
        pass

    def read_only(*_: object) -> int:
        raise OSError(30, os.strerror(30))

    (tmp_path / "run").mkdir()
    monkeypatch.setattr("dualmatch.files.locking.os.open", read_only)
    with pytest.raises(OutputError, match="Read-only file system"), RunFolder.opened(tmp_path / "run"):
        pass


def test_a_search_is_kept_for_its_own_round_and_graphs(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    similarity = sp.csr_matrix(np.array([[0.5, 0.0], [0.25, 1.0]], dtype=np.float32))
    found = Found(similarity, Scale(0.5, 9.0), 3)
    with RunFolder.opened(tmp_path / "run") as folder:
        begun(folder)
        assert folder.kept_search(2) is None
        folder.keep_search(found, 2)
        assert folder.last_stage == "search 3"
        assert_same(folder.kept_search(2), found)
        assert folder.kept_search(1) is None
        assert folder.kept_search(3) is None
        file = folder.path / "stages" / "search-3.npz"
        content = file.read_bytes()
        file.write_bytes(content[:-1])
        assert folder.kept_search(2) is None
        assert "search-3.npz: is damaged" in caplog.text
        file.write_bytes(content)
        pair = simulate(World(entities=80, seed=2))
        folder.keep_graphs(GraphPair.of(pair.source, pair.target))
        with pytest.raises(InputError, match="about other graphs"):
            folder.kept_search(2)
