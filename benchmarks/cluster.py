"""One pair of graphs in this process and on local Dask clusters: the same links, and what each process takes.

    python benchmarks/cluster.py FOLDER --workers 1 2 4 [--memory-limit 1.5GB] [--kill-every 60] [--without-process]

Seconds are from reading to the result; CPU seconds and peaks of resident memory (mapped files included) are those of
the calling process and of each worker, what workers sent is Dask's own count, and *steps* are what the workers compute
one after the other. *Parallel* is the share of all CPU seconds that the workers spent; the scheduler of a local cluster
is part of the calling process. Where one worker was measured before n, and there are n cores, the share that is not
parallel follows from their seconds by Amdahl's law, t(n) / t(1) = s + (1 − s) / n: it counts steps that one worker
makes while others wait, too. With --kill-every one worker, drawn at random, is killed every so many seconds.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import signal
import statistics
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from dualmatch.config import Config
from dualmatch.engine import Engine, usable_cores
from dualmatch.engine.cluster import Cluster
from dualmatch.memory import trim_freed_memory
from dualmatch.methods.align import align
from dualmatch.methods.resources import prepare_process
from dualmatch.readers.benchmark_folder import read_folder
from dualmatch.research.benchmark import unit_seconds


class Watch:
    """CPU seconds and peaks of this process and of all that it starts, read four times a second.

    Looking for new processes takes some milliseconds of this one's time, so it is done every two seconds only.
    """

    def __init__(self, kill_every: float | None, engine: Cluster | None) -> None:
        self.caller, self.kill_every, self.engine = psutil.Process(), kill_every, engine
        self.cpu: dict[int, float] = {}
        self.peak: dict[int, int] = {}
        self._workers, self._look_again = self.caller.children(recursive=True), 0.0
        self._at_start = {each.pid: _cpu_seconds(each) for each in (self.caller, *self._workers)}
        self.kills = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def end(self) -> None:
        self._ended.set()
        self._thread.join()
        self._look()

    def _run(self) -> None:
        kill_at = time.monotonic() + (self.kill_every or float("inf"))
        while not self._ended.wait(0.25):
            self._look()
            if time.monotonic() > kill_at and self.engine is not None and self.kill_every is not None:
                kill_at = time.monotonic() + self.kill_every
                with suppress(Exception):  # a worker that is just starting does not answer
                    os.kill(random.choice(list(self.engine.client.run(os.getpid).values())), signal.SIGKILL)
                    self.kills += 1

    def _look(self) -> None:
        if time.monotonic() > self._look_again:
            self._workers, self._look_again = self.caller.children(recursive=True), time.monotonic() + 2.0
        for each in (self.caller, *self._workers):
            with suppress(psutil.Error):
                self.cpu[each.pid] = _cpu_seconds(each) - self._at_start.get(each.pid, 0.0)
                self.peak[each.pid] = max(self.peak.get(each.pid, 0), each.memory_info().rss)


def _cpu_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def sent_bytes(dask_worker: object) -> int:
    return int(getattr(dask_worker, "transfer_outgoing_bytes_total", 0))


def timed_steps(cluster: Cluster) -> list[float]:
    """Seconds of each step that the workers compute from here on."""
    seconds: list[float] = []
    mapped = cluster._mapped

    def timed(function: Callable[..., Any], calls: list[tuple[Any, ...]]) -> list[Any]:
        start = time.perf_counter()
        try:
            return mapped(function, calls)
        finally:
            seconds.append(time.perf_counter() - start)

    cluster._mapped = timed  # type: ignore[method-assign]
    return seconds


def measure(
    name: str, folder: Path, limit: str | None, engine: Engine | None, kill_every: float | None
) -> tuple[str, float]:
    cluster = engine if isinstance(engine, Cluster) else None
    steps = [] if cluster is None else timed_steps(cluster)
    trim_freed_memory()  # of the run before
    watch, start = Watch(kill_every, cluster), time.perf_counter()
    data = read_folder(folder)
    options = {} if limit is None else {"memory_limit": limit}
    links = align(data.source, data.target, engine=engine, **options).links()
    seconds = time.perf_counter() - start
    watch.end()
    digest = hashlib.sha256("".join(f"{s}\t{t}\t{c!r}\n" for s, t, c in links).encode()).hexdigest()[:12]
    own = watch.caller.pid
    others = sorted((pid for pid in watch.cpu if pid != own and watch.cpu[pid] > 2), key=lambda pid: -watch.cpu[pid])
    total = sum(watch.cpu[pid] for pid in (own, *others))
    sent = [] if cluster is None else [f"{each / 1e6:.0f}" for each in cluster.client.run(sent_bytes).values()]
    print(
        f"{name:12} {seconds:8.1f} s  CPU: caller {watch.cpu[own]:7.1f}, workers "
        f"{', '.join(f'{watch.cpu[pid]:.1f}' for pid in others) or '-'}; parallel {1 - watch.cpu[own] / total:.1%}; "
        f"peak GB: caller {watch.peak[own] / 1e9:.2f}, workers "
        f"{', '.join(f'{watch.peak[pid] / 1e9:.2f}' for pid in others) or '-'}; sent MB: {', '.join(sent) or '-'}; "
        f"{len(steps)} steps of {sum(steps):.1f} s; {watch.kills} kills; {len(links):,} links, {digest}",
        flush=True,
    )
    return digest, seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2], help="none: this process alone")
    parser.add_argument("--memory-limit", help="of the calling process")
    parser.add_argument("--kill-every", type=float, help="seconds")
    parser.add_argument("--without-process", action="store_true", help="clusters only")
    asked = parser.parse_args()
    digests, seconds_of = set(), {}
    units = unit_seconds()
    prepare_process(Config())  # as the command line does
    if not asked.without_process:
        digests.add(measure("process", asked.folder, asked.memory_limit, None, None)[0])
    for workers in asked.workers:
        with Cluster(workers=workers) as engine:
            name = f"{workers} worker{'s' * (workers > 1)}"
            digest, seconds = measure(name, asked.folder, asked.memory_limit, engine, asked.kill_every)
        digests.add(digest)
        seconds_of[workers] = seconds
        if 1 in seconds_of and 1 < workers <= usable_cores():
            share = (workers * seconds / seconds_of[1] - 1) / (workers - 1)
            print(f"{name}: {seconds_of[1] / seconds:.2f} times as fast as one, so {share:.1%} are not parallel")
    print(
        f"unit {statistics.median(units + unit_seconds()):.2f} s; links {'the same' if len(digests) == 1 else 'DIFFER'}"
    )


if __name__ == "__main__":
    main()
