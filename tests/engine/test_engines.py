"""Engines: wherever blocks are computed and however rows are cut, the same bytes."""

import ctypes
import errno
import gc
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from scipy import sparse as sp

from conftest import refused
from dualmatch import align
from dualmatch.channels.evidence import candidates
from dualmatch.decode import message_passing, one_to_one
from dualmatch.decode.forbidden import Forbidden
from dualmatch.decode.sparse_sinkhorn import sparse_sinkhorn
from dualmatch.engine import Engine, InProcess, arrays_of, at_once, remote, worker
from dualmatch.engine.cluster_columns import ColumnsOnWorkers
from dualmatch.engine.operands import store
from dualmatch.engine.pages import is_mapped
from dualmatch.engine.remote import RemoteFolder
from dualmatch.errors import InputError, OutputError
from dualmatch.memory import resident_bytes, trim_freed_memory
from dualmatch.methods.evidence import EvidenceResult, align_by_evidence, search
from dualmatch.methods.evidence.problem import Problem
from dualmatch.readers.read_options import ReadOptions
from dualmatch.runs.input_spec import InputSpec
from dualmatch.simulate import SimulatedPair, World, simulate

pytest.importorskip("distributed", reason="the extra [dask] is not installed")
from distributed.comm import CommClosedError

from dualmatch.engine.cluster import Cluster
from dualmatch.engine.connection import check_workers
from dualmatch.engine.worker import new_result_file, states_of

NOT_SECURED = ValueError("IOStream is not idle; cannot convert to SSL")  # tornado's, where a worker dies just then
NO_WORKER = ValueError("Can not use replicate to delete data")  # the scheduler's, where all workers have died just then
WORLD = World(entities=250, mean_facts=6, year_only_share=0.3, unmatched_source=0.2, relations_inverse=2, seed=3)


@pytest.fixture(scope="module")
def pair() -> SimulatedPair:
    return simulate(WORLD)


@pytest.fixture(scope="module")
def expected(pair: SimulatedPair) -> dict[str, bytes]:
    return content(gathered(pair, InProcess(threads=1)))


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(workers=2, block_rows=100, least_bytes=0) as engine:
        yield engine


def gathered(pair: SimulatedPair, engine: Engine, progress: Callable[[int, int], None] | None = None) -> EvidenceResult:
    return align_by_evidence(Problem.of(pair.source, pair.target, engine=engine), progress=progress)


def content(evidence: EvidenceResult) -> dict[str, bytes]:
    """All that files are written from, byte by byte."""
    arrays = {
        "pairs": evidence.pairs[0],
        "confidence": evidence.pairs[1],
        "probability": evidence.probability.data,
        "no partner": evidence.no_partner[0],
        "similarity": evidence.similarity.data,
        "candidates": evidence.similarity.indices,
        "ranking": evidence.plan.scores.data,
        "log odds": evidence.state.log_odds,
    }
    arrays |= {f"relations {number}": column for number, column in enumerate(evidence.relations.links())}
    return {name: np.ascontiguousarray(array).tobytes() for name, array in arrays.items()}


@pytest.mark.parametrize(
    "engine", [InProcess(threads=2), InProcess(1, block_rows=33), InProcess(2, block_rows=64)], ids=str
)
def test_neither_threads_nor_blocks_change_a_byte(
    engine: Engine, pair: SimulatedPair, expected: dict[str, bytes]
) -> None:
    assert content(gathered(pair, engine)) == expected


def test_nor_do_they_where_entities_are_ordered_by_token(pair: SimulatedPair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "_MANY_ENTITIES", 1)
    expected = content(gathered(pair, InProcess(threads=1)))
    assert content(gathered(pair, InProcess(2, block_rows=33))) == expected


@pytest.mark.parametrize("many_to_one", [False, True])
@pytest.mark.parametrize("n_seeds", [0, 12])
def test_small_parts_of_a_round_change_no_byte(
    pair: SimulatedPair, monkeypatch: pytest.MonkeyPatch, n_seeds: int, many_to_one: bool
) -> None:
    seeds = pair.gold[np.random.default_rng(2).permutation(len(pair.gold))[:n_seeds]]  # in no order
    forbidden = Forbidden(np.stack([pair.gold[20:40, 0], pair.gold[21:41, 1]], axis=1).astype(np.int64))

    def aligned(threads: int) -> dict[str, bytes]:
        given = (pair.source, pair.target, seeds, forbidden, InProcess(threads))
        return content(align_by_evidence(Problem.of(*given, many_to_one=many_to_one)))

    whole = aligned(threads=1)
    for module, name in ((search, "_ROWS_AT_ONCE"), (message_passing, "_AT_ONCE"), (one_to_one, "_AT_ONCE")):
        monkeypatch.setattr(module, name, 17)
    assert aligned(threads=2) == whole


def test_a_cluster_changes_no_byte(cluster: Cluster, pair: SimulatedPair, expected: dict[str, bytes]) -> None:
    assert cluster.shares_files
    assert content(gathered(pair, cluster)) == expected
    gc.collect()
    assert not list(cluster._folder.iterdir())


def test_arrays_go_through_a_url_where_workers_share_no_folder(
    pair: SimulatedPair, expected: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files are copied there and from there, also where a worker is new; copies of what is not used any more go."""
    bucket, copies = tmp_path / "bucket", tmp_path / "copies"
    copies.mkdir()
    monkeypatch.setenv("TMPDIR", str(copies))  # of the workers
    most = 0
    with Cluster(workers=2, block_rows=100, least_bytes=0, exchange=f"file://{bucket}") as engine:
        assert engine.shares_files
        assert bucket not in engine._folder.parents

        def count_and_kill(number: int, _total: int) -> None:
            nonlocal most
            most = max(most, len(list(bucket.glob("*/*.npy"))))
            if number == 1:
                os.kill(next(iter(engine.client.run(os.getpid).values())), signal.SIGKILL)

        assert content(gathered(pair, engine, count_and_kill)) == expected
        opened = {each.parent for paths in engine.client.run(opened_files).values() for each in paths}
        assert opened
        assert all(each.parent == copies for each in opened)  # not the files of the calling process
        gc.collect()
        engine._remove_gone()
        assert most > 10
        assert not list(bucket.glob("*/*.npy"))
    assert not list(bucket.iterdir())


def opened_files() -> list[Path]:
    """Files that a worker has open."""
    return list(worker._open_files)


def test_copies_of_two_runs_and_of_many_threads_do_not_meet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each run has a folder; what is gone there goes here, and nothing that another thread is about to have."""
    monkeypatch.setattr(remote, "_LOOK_SECONDS", 0.0)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folders = [RemoteFolder.within(f"file://{tmp_path}/bucket") for _ in range(2)]
    for each in folders:
        each.make()
        np.save(tmp_path / "one.npy", np.arange(10))
        each.put(tmp_path / "one.npy")
    own, other = (worker._copies_of(each) for each in folders)
    kept = other.path_of("one.npy")
    found = at_once([lambda: own.path_of("one.npy").read_bytes() for _ in range(4)], 4)
    assert len(set(found)) == 1
    path = own.folder / "five.npy"
    np.save(path, np.arange(5))
    own.keep(path)
    folders[0].remove("one.npy")
    (own.folder / "half.npy").touch()
    np.save(tmp_path / "two.npy", np.arange(2))
    folders[0].put(tmp_path / "two.npy")
    own.path_of("two.npy")
    assert {each.name for each in own.folder.iterdir()} == {"two.npy", "half.npy", path.name}
    worker.forget_files(folders[0])
    assert not own.folder.exists()
    assert kept.exists()
    worker.forget_files(folders[1])


def test_workers_that_cannot_read_at_a_url_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RemoteFolder, "put", lambda _self, _file: None)  # so that nothing is there
    with pytest.raises(InputError, match=r"2 of 2 workers cannot read there \(.*[.]npy\)"):
        Cluster(workers=2, exchange=f"file://{tmp_path}/bucket")


def test_a_url_that_cannot_be_used_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match=r"--exchange file:.*cannot be copied there.*s3fs"):
        Cluster(workers=1, exchange=f"file://{tmp_path}/file/folder")
    with pytest.raises(OutputError, match=r"--exchange nowhere:.*cannot be copied there.*nowhere"):
        Cluster(workers=1, exchange="nowhere://bucket")


@dataclass(frozen=True, eq=False)
class Columns:
    """Something that holds arrays, with a step that gives some."""

    large: np.ndarray
    matrix: sp.csr_matrix
    words: str = "sent along"

    def scaled(self, factor: float, vector: np.ndarray) -> tuple[np.ndarray, sp.csr_matrix, str]:
        return self.large * factor + vector, self.matrix * factor, self.words


def test_large_arrays_go_to_workers_and_back_through_files(cluster: Cluster) -> None:
    large, matrix = np.arange(50_000.0), sp.random(300, 300, 0.3, "csr", rng=np.random.default_rng(1))
    kept = cluster.paged(Columns(large, matrix))
    assert is_mapped(kept.large)
    parts = list(cluster.each(kept.scaled, [(factor, large) for factor in (1.0, 2.0, 3.0)]))
    for factor, (values, product, words) in zip((1.0, 2.0, 3.0), parts, strict=True):
        assert is_mapped(values)
        assert np.array_equal(values, large * factor + large)
        assert (product != matrix * factor).nnz == 0
        assert words == "sent along"
    del kept, parts, values, product
    gc.collect()
    assert not list(cluster._folder.iterdir())


def test_a_step_of_many_calls_is_a_few_tasks(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    large, tasks = np.arange(20_000.0), []
    mapped = cluster._mapped
    monkeypatch.setattr(cluster, "_mapped", lambda function, calls: tasks.append(len(calls)) or mapped(function, calls))
    found = list(cluster.each(np.add, [(large, float(number)) for number in range(100)]))
    assert tasks == [8]  # four for each of two workers
    assert all(np.array_equal(each, large + number) for number, each in enumerate(found))


def test_tables_are_joined_in_one_step_and_small_ones_here(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    joins: list[int] = []
    join = cluster.joined
    monkeypatch.setattr(cluster, "joined", lambda columns, shifts: joins.append(len(columns)) or join(columns, shifts))
    tables = [ColumnsOnWorkers(cluster, least_bytes=100_000) for _ in range(4)]
    for number, size in enumerate((20_000, 10, 30_000)):
        for shift in (0, 5):
            tables[number].append([np.arange(size), np.full(size, 0.5)], [shift, 0])
    tables[3].append([np.zeros(0, dtype=np.int64)])  # no rows
    found = arrays_of(*tables)
    assert joins == [4]  # two columns of each large table
    for (numbers, halves), size in zip(found[:3], (20_000, 10, 30_000), strict=True):
        assert numbers.tolist() == [*range(size), *range(5, size + 5)]
        assert len(halves) == 2 * size
        assert set(halves.tolist()) == {0.5}
    assert found[3][0].tolist() == []
    assert arrays_of(ColumnsOnWorkers(cluster, 1)) == [[]]


def freed_memory_kept(_: int, size: int) -> int:
    """Bytes by which this process has grown once an array of a size was freed."""
    before = psutil.Process().memory_info().rss
    array = np.ones(size // 8)
    del array
    return psutil.Process().memory_info().rss - before


def own_memory() -> int:
    resident, mapped = resident_bytes()
    return resident - mapped


def test_workers_keep_freed_memory_up_to_a_bound(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    if not hasattr(ctypes.CDLL(None), "mallopt"):
        pytest.skip("this C library keeps no freed memory")
    monkeypatch.setattr(cluster, "least_bytes", 0)
    cluster.client.run(trim_freed_memory)  # of the tests before
    assert max(cluster.on_columns(freed_memory_kept, [(0, 100_000_000), (1, 100_000_000)])) > 90_000_000

    before = cluster.client.run(own_memory)
    for name in ("_MOST_UNMAPPED", "_TRIM_SECONDS"):
        cluster.client.run(setattr, worker, name, 0)
    try:
        cluster.on_columns(freed_memory_kept, [(number, 8_000) for number in range(8)])
        after = cluster.client.run(own_memory)
    finally:
        for name in ("_MOST_UNMAPPED", "_TRIM_SECONDS"):
            cluster.client.run(setattr, worker, name, getattr(worker, name))
    assert min(after[name] - before[name] for name in before) < -90_000_000


def test_a_worker_keeps_freed_memory_for_the_time_of_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[object] = []
    monkeypatch.setattr(worker, "keep_freed_memory", lambda *, one_arena: said.append(one_arena))
    monkeypatch.setattr(worker, "keep_less_freed_memory", said.append)
    worker._keep_freed_memory.cache_clear()
    for step in ("first", "second"):
        assert worker.computed_in_files(np.add, tmp_path, step, None, [(1, 2)]) == [3]
    assert said == [True]
    worker.forget_files(tmp_path)  # as at the end of a run on workers that others have started
    assert said == [True, 0]
    worker.computed_in_files(np.add, tmp_path, "of the next run", None, [(1, 2)])
    assert said == [True, 0, True]
    worker._keep_freed_memory.cache_clear()


def test_files_of_a_step_are_none_where_the_folder_is_gone(tmp_path: Path) -> None:
    (tmp_path / "a-1.npy").touch()
    (tmp_path / "ab-1.npy").touch()
    assert worker.result_files(tmp_path, "a") == [tmp_path / "a-1.npy"]
    assert worker.result_files(tmp_path / "gone", "a") == []


def test_the_client_sends_to_the_scheduler_without_delay(cluster: Cluster) -> None:
    assert cluster.client.scheduler_comm.interval <= 0.001


def test_workers_that_share_no_files_leave_it_to_this_process(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(cluster, "shares_files", False)
    large = np.arange(50_000.0)
    assert cluster.paged(large) is large
    assert list(cluster.each(os.getpid, [(), ()])) == [os.getpid()] * 2
    with cluster.within(10**9, 10**10) as engine:
        assert engine is cluster
    assert "give --exchange one" in caplog.text


def test_a_cluster_keeps_the_limit_of_the_calling_process_while_it_is_asked_to(cluster: Cluster) -> None:
    before = cluster._pages.limit
    with cluster.within(10**9, 10**10):
        assert cluster._pages.limit == 10**9
    assert cluster._pages.limit == before


def test_sinkhorn_in_blocks_changes_no_byte(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    similarity = sp.random(300, 250, 0.05, "csr", rng=np.random.default_rng(1))
    here = sparse_sinkhorn(sp.csr_array(similarity), 20.0, iterations=3)
    monkeypatch.setattr(cluster, "least_entries", 0)
    there = sparse_sinkhorn(sp.csr_array(similarity), 20.0, iterations=3, engine=cluster)
    assert there.entries.data.tobytes() == here.entries.data.tobytes()
    assert there.u.tobytes() + there.v.tobytes() == here.u.tobytes() + here.v.tobytes()


def test_a_worker_killed_in_the_middle_costs_nothing_but_time(
    cluster: Cluster, pair: SimulatedPair, expected: dict[str, bytes]
) -> None:
    killed = threading.Event()

    def progress(done: int, total: int) -> None:
        if done == 2 and not killed.is_set():
            kill_one(cluster, after=0.05)
            killed.set()

    assert content(gathered(pair, cluster, progress)) == expected
    assert killed.is_set()


def kill_one(cluster: Cluster, after: float) -> None:
    process = next(iter(cluster.client.run(os.getpid).values()))

    def kill() -> None:
        time.sleep(after)
        os.kill(process, signal.SIGKILL)

    threading.Thread(target=kill).start()


def slow_sum(vector: np.ndarray, factor: float) -> float:
    time.sleep(0.2)
    return float(vector.sum() * factor)


def test_operands_lost_on_the_network_are_sent_again(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers that share no files keep operands in memory; with the last of them the operands are gone."""
    monkeypatch.setattr(cluster, "shares_files", False)
    with cluster.placed(np.arange(20_000.0)) as (placed,):
        for process in cluster.client.run(os.getpid).values():
            os.kill(process, signal.SIGKILL)
        total = float(np.arange(20_000.0).sum())
        assert cluster.map(slow_sum, [(placed, factor) for factor in (1.0, 2.0, 3.0)]) == [total, 2 * total, 3 * total]


def without_workers(folder: Path) -> Cluster:
    """An engine that places operands in a folder, with nobody to compute on them."""
    engine = object.__new__(Cluster)
    engine.shares_files, engine._folder, engine._remote = True, folder, None
    return engine


@dataclass
class ClosingConnections:
    """A client that cannot send its first operands, and the futures it hands out in the end."""

    errors: list[Exception]
    status: str = "running"
    sent: int = 0

    def scatter(self, operand: object, **_: object) -> "ClosingConnections":
        self.sent += 1
        if self.errors:
            raise self.errors.pop(0)
        return self

    def release(self) -> None:
        self.sent = 0


def closing(engine: Cluster, errors: list[Exception], status: str = "running") -> ClosingConnections:
    engine.shares_files = False
    engine.client = client = ClosingConnections(errors, status)
    return client


def test_operands_are_sent_again_over_a_closed_connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where a worker died that the scheduler still counts on."""
    pauses: list[float] = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    engine, operand = without_workers(tmp_path), np.arange(20_000.0)
    errors = [CommClosedError("in <TLS>"), OSError("Timed out trying to connect"), NOT_SECURED, NO_WORKER]
    client = closing(engine, errors)
    with engine.placed(operand):
        assert client.sent == 5
    assert client.sent == 0
    assert pauses == [0.2, 0.4, 0.8, 1.6]


@pytest.mark.parametrize(
    ("errors", "status", "sent", "raised"),
    [
        ([CommClosedError("in <TLS>")] * 9, "running", 5, InputError),
        ([NOT_SECURED] * 9, "running", 5, InputError),
        ([NO_WORKER] * 9, "running", 5, InputError),
        ([ValueError("of the operand itself")], "running", 1, ValueError),
        ([TimeoutError("No valid workers found")] * 9, "running", 1, TimeoutError),
        ([CommClosedError("in <TLS>")] * 9, "closed", 1, InputError),
    ],
    ids=["always", "never secured", "no worker left", "another error", "no workers", "no scheduler"],
)
def test_operands_are_not_sent_again_for_ever(
    errors: list[Exception],
    status: str,
    sent: int,
    raised: type[Exception],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(time, "sleep", lambda _: None)
    engine = without_workers(tmp_path)
    client = closing(engine, [*errors], status)
    with pytest.raises(raised), engine.placed(np.arange(20_000.0)):
        pass
    assert client.sent == sent


def test_without_shared_files_no_byte_changes_either(
    cluster: Cluster, pair: SimulatedPair, expected: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "shares_files", False)
    assert content(gathered(pair, cluster)) == expected


def failing(row: int) -> int:
    raise ArithmeticError(f"row {row}")


def test_an_error_in_a_block_is_told_as_it_is(cluster: Cluster) -> None:
    with pytest.raises(ArithmeticError, match="row 1"):
        cluster.map(failing, [(1,)])


def test_a_step_that_has_ended_leaves_nothing_on_the_cluster(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would be computed again where a worker dies, long after its files are gone."""
    monkeypatch.setattr("dualmatch.engine.waiting._POLL_SECONDS", 0.05)  # waiting ends in errors that hold on to frames
    gc.collect()
    gc.disable()
    try:
        cluster.map(slept, [(0.3,), (0.3,)])
        deadline = time.monotonic() + 20
        while known := cluster.client.run_on_scheduler(n_tasks):
            assert time.monotonic() < deadline, known
            time.sleep(0.05)
    finally:
        gc.enable()


def slept(seconds: float) -> None:
    time.sleep(seconds)


@pytest.mark.parametrize("fails", [False, True])
def test_what_a_worker_wrote_before_it_died_is_removed(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    """Another has computed it again, into a file of its own."""
    mapped = cluster.map

    def map_and_leave(function: Any, items: Any) -> list[Any]:
        calls = list(items)
        results = mapped(function, calls)
        new_result_file(cluster._folder, calls[0][2]).write_bytes(b"half of an array")
        if fails:
            raise ZeroDivisionError
        return results

    monkeypatch.setattr(cluster, "map", map_and_leave)
    with pytest.raises(ZeroDivisionError) if fails else nullcontext():
        twice = cluster.on_columns(np.multiply, [(np.ones(10_000), 2.0)])
        assert twice[0].sum() == 20_000
    twice = []
    gc.collect()
    assert not list(cluster._folder.iterdir())


def n_tasks(dask_scheduler: object) -> int:
    return len(dask_scheduler.tasks)  # type: ignore[attr-defined]


def test_results_are_fetched_once(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("distributed.Future.result")  # all of them were gathered already
    assert cluster.map(slow_sum, [(np.ones(3), 1.0), (np.ones(3), 2.0)]) == [3.0, 6.0]


def test_files_of_the_same_name_elsewhere_are_not_taken_for_ours(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = tmp_path / "facts.tsv"
    ours.write_text("ours")
    assert cluster.sees([ours])
    monkeypatch.setattr(cluster.client, "run", lambda *_: {"worker": [(4, 1)]})
    assert not cluster.sees([ours])
    assert states_of([tmp_path, tmp_path / "none"]) == [None, None]


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_files_that_a_workers_user_may_not_read_are_not_seen(tmp_path: Path) -> None:
    (tmp_path / "facts.tsv").write_text("ours")
    tmp_path.chmod(0o700)
    code = f"import os; from pathlib import Path; from dualmatch.engine.worker import states_of; os.setuid(65534); \
print(states_of([Path({str(tmp_path / 'facts.tsv')!r})]))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout == "[None]\n"


def test_a_full_exchange_folder_is_told(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("dualmatch.engine.cluster.store", full)
    with pytest.raises(OutputError, match=r"No space left on device.*--exchange"), cluster.placed(sp.eye(3).tocsr()):
        pass


def test_nothing_stays_placed_where_the_second_operand_cannot_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved, save = [], np.save

    def full(path: Path, *rest: object, **options: object) -> None:
        saved.append(path)
        if len(saved) > 2:  # the first operand is one file, the second three
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        save(path, *rest, **options)

    monkeypatch.setattr("dualmatch.engine.operands.np.save", full)
    first, second = np.arange(20_000.0), sp.eye(3).tocsr()
    with pytest.raises(OutputError, match="No space left"), without_workers(tmp_path).placed(first, second):
        pass
    assert len({path.parent for path in saved}) == 2
    assert not list(tmp_path.iterdir())


@dataclass
class OtherWorkers:
    """A cluster whose workers say this when they are asked for their version."""

    version: str | Exception

    def scheduler_info(self) -> dict[str, object]:
        return {"workers": {"one": {}}}

    def run(self, _: object) -> dict[str, str]:
        if isinstance(self.version, Exception):
            raise self.version
        return {"one": self.version}


@pytest.mark.parametrize(
    ("version", "words"),
    [("0.0.1", "workers have dualmatch 0.0.1"), (ModuleNotFoundError("dualmatch"), "cannot run dualmatch")],
)
def test_workers_that_would_compute_something_else_are_refused(version: str | Exception, words: str) -> None:
    with pytest.raises(InputError, match=words):
        check_workers(OtherWorkers(version), "tcp://there:8786")  # type: ignore[arg-type]


def test_the_local_cluster_is_for_this_run_alone(cluster: Cluster) -> None:
    """On loopback, and only for who has the keys of the run: other users of the machine can reach loopback too."""
    address = cluster.client.scheduler.address
    assert address.startswith("tls://127.0.0.1:")
    with pytest.raises(InputError, match="no Dask scheduler answers"):
        Cluster(scheduler=address.replace("tls", "tcp"), connect_seconds=2)


def test_an_address_where_nobody_answers_is_an_input_error() -> None:
    with pytest.raises(InputError, match="no Dask scheduler answers"):
        Cluster(scheduler="tcp://127.0.0.1:9", connect_seconds=0.5)


def test_an_engine_is_refused_where_it_would_do_nothing(pair: SimulatedPair) -> None:
    with pytest.raises(InputError, match="methods evidence and fused"):
        align(pair.source, pair.target, method="temporal", engine=InProcess())


@pytest.mark.parametrize(
    "operand",
    [np.arange(12.0).reshape(3, 4), np.zeros((0, 4), np.float32), sp.random(9, 5, 0.3, "csr"), sp.csr_matrix((3, 0))],
    ids=["array", "empty array", "matrix", "empty matrix"],
)
def test_stored_operands_come_back_as_they_were(operand: object, tmp_path: Path) -> None:
    back = store(operand, tmp_path / "operand").load()
    if sp.issparse(operand):
        assert (back != operand).nnz == 0
        back = back.toarray()
    assert back.shape == operand.shape
    assert back.tobytes() == (operand.toarray() if sp.issparse(operand) else operand).tobytes()


def test_workers_read_the_files_they_see(cluster: Cluster, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    files = tmp_path / "a.tsv", tmp_path / "b.tsv"
    for path in files:
        path.write_text(
            "head\trelation\ttail\tbegin\tend\nAda\tmet\tCharles\t1835\t1833\nCharles\twrote\tBook\t1864\t1864\n"
        )
    skipping = ReadOptions(on_error="skip")
    caplog.set_level("WARNING", "dualmatch")  # another test may have silenced it
    spec = InputSpec(files, (skipping, skipping))
    here, there = spec.read(), spec.read(cluster)
    warned = [
        record.getMessage()
        for record in caplog.records
        if record.levelname == "WARNING" and record.name.startswith("dualmatch")
    ]
    assert len(warned) == 4
    assert warned[:2] == warned[2:]
    assert there.rejections.total == here.rejections.total == 2
    assert there.source.entities == here.source.entities
    assert there.target.begin.tobytes() == here.target.begin.tobytes()
    with pytest.raises(InputError, match=r"a\.tsv:2"):
        InputSpec(files, (ReadOptions(), ReadOptions())).read(cluster)
    assert not cluster.sees([tmp_path / "nowhere"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--workers", "2"], "--workers goes with --engine dask"),
        (["--engine", "dask", "--threads", "2"], "--threads goes with --engine process"),
        (["--engine", "dask", "--workers", "2", "--scheduler", "tcp://127.0.0.1:9"], "already has its workers"),
        (["--engine", "dask", "--exchange", "nowhere"], "no such folder"),
        (["--engine", "dask", "--method", "temporal"], "method evidence"),
        (["--threads", "2", "--method", "temporal"], "--threads is for method evidence"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    options: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.tsv").write_text("head\trelation\ttail\ttime\nAda\tmet\tCharles\t1833\n")
    arguments = ["align", str(tmp_path / "a.tsv"), str(tmp_path / "a.tsv"), "-o", str(tmp_path / "links.tsv")]
    assert words in " ".join(refused([*arguments, *options], capsys, tmp_path).split())


def dying(_: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_block_that_kills_its_workers_ends_in_words(cluster: Cluster) -> None:
    """As one does that needs more memory than there is."""
    with pytest.raises(InputError, match="died, as when memory runs out"):
        cluster.map(dying, [(1,)])


def test_a_cluster_that_lives_on_keeps_no_file_and_ends_in_words_when_it_dies() -> None:
    from distributed import Client

    def files_open() -> int:  # in here it is sent as it is: the worker cannot import this file
        from dualmatch.engine import operands, worker

        return len(worker._open_files) + int(operands._loaded.cache_info().currsize)

    with started("scheduler", "--host", "127.0.0.1", "--port", "0") as scheduler:
        assert scheduler.stderr is not None
        address = next(line.split()[-1] for line in scheduler.stderr if "Scheduler at:" in line)
        with (
            started("worker", address, "--nthreads", "1"),
            Client(with_a_worker(address)) as client,
        ):
            with Cluster(scheduler=address, connect_seconds=2, least_bytes=0) as engine:
                assert list(engine.each(np.sum, [(np.ones(20_000),)])) == [20_000]
                with engine.placed(np.ones(20_000)) as (placed,):
                    assert engine.map(np.sum, [(placed,)]) == [20_000]
                assert sum(client.run(files_open).values()) == 2
            assert sum(client.run(files_open).values()) == 0
            with Cluster(scheduler=address, connect_seconds=2) as engine:
                threading.Timer(0.3, scheduler.kill).start()
                with pytest.raises(InputError, match="the cluster has gone away"):
                    engine.map(slow_sum, [(np.ones(3), 1.0)] * 1000)


@contextmanager
def started(part: str, *options: str) -> Iterator[subprocess.Popen[str]]:
    """A part of a cluster as one is started by hand."""
    call = [sys.executable, "-m", f"distributed.cli.dask_{part}", *options, "--no-dashboard"]
    with subprocess.Popen(call, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def with_a_worker(address: str) -> str:
    """The address, once a worker is there."""
    from distributed import Client

    with Client(address) as client:
        client.wait_for_workers(1, timeout=120)
    return address


def test_calls_that_have_not_begun_are_left_undone_after_an_error() -> None:
    begun = []

    def call(number: int) -> int:
        begun.append(number)
        if number == 0:
            raise MemoryError
        time.sleep(0.01)
        return number

    with pytest.raises(MemoryError):
        at_once([partial(call, number) for number in range(200)], threads=2)
    assert len(begun) < 200
