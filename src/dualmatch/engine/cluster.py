"""Blocks on a Dask cluster: a local one of several processes, or any that is running.

A killed worker costs time, not the run: its blocks are computed again by the others. Operands go through files where
all workers see the folder (`dualmatch.engine.operands`), and over the network where they do not.
"""

from __future__ import annotations

import logging
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, Self

import numpy as np

from dualmatch.engine import Columns, Spans, T, spans_of, usable_cores
from dualmatch.engine.array_file import ArrayFile
from dualmatch.engine.array_trees import StoredArray, bytes_of, stored_in, travels, with_arrays
from dualmatch.engine.cluster_columns import ColumnsOnWorkers
from dualmatch.engine.connection import (
    ANSWER_SECONDS,
    ATTEMPTS,
    PAUSE_SECONDS,
    connected,
    leave,
    on_all_workers,
    within,
    worker_died_meanwhile,
)
from dualmatch.engine.operands import ARRAY_FILE, StoredOperand, store
from dualmatch.engine.pages import Pages
from dualmatch.engine.remote import RemoteFolder, is_url
from dualmatch.engine.waiting import StalledError, is_lost, n_threads, wait_for
from dualmatch.engine.worker import (
    SMALL_BYTES,
    computed,
    computed_in_files,
    forget_files,
    joined_in_file,
    result_files,
    states_of,
    why_unseen,
)
from dualmatch.errors import InputError, OutputError, in_brief
from dualmatch.files.temporary import folder_beside

logger = logging.getLogger(__name__)

_RESUME: Final = "a run with --run can be resumed with --resume"
_LONG_BLOCKS: Final = 16  # such blocks are worth sending from this part of the bytes on
_BATCHES: Final = 4  # of the calls of a step, for each thread of the workers
_TINY_BYTES: Final = 512  # an array up to this size goes along with each call: where it lies would be as long


@dataclass(eq=False)
class _Sent:
    """An operand on the workers, and what it was, to be sent again if they lose it."""

    value: Any
    future: Any


class Cluster:
    """An engine of several processes.

    Parameters
    ----------
    scheduler:
        Address of a running cluster (``tcp://…``, ``tls://…``); a local one is started where None.
    workers, block_rows:
        Processes of the local cluster, by default one a core; rows of a block, on which no result depends.
    exchange:
        A folder that all workers see, such as one on shared storage, or the URL of a place that fsspec reaches, such as
        ``s3://bucket/tmp``. By default a temporary folder, which the workers of another machine will not see: they get
        their operands over the network.
    least_entries:
        Sinkhorn of fewer entries than this stays in the calling process, which sums them faster than it sends them.
    least_bytes:
        Work on arrays stays there, too, where they have fewer bytes together.
    connect_seconds:
        How long to wait for the scheduler's answer.

    Examples
    --------
    >>> with Cluster(workers=2) as engine:  # doctest: +SKIP
    ...     alignment = align(source, target, engine=engine)
    """

    threads: Final = 1
    column_threads: Final = 1

    def __init__(
        self,
        scheduler: str | None = None,
        workers: int | None = None,
        block_rows: int = 2**14,
        exchange: Path | str | None = None,
        least_entries: int = 2**25,
        least_bytes: int = 2**24,
        connect_seconds: float = 20.0,
    ) -> None:
        self.block_rows, self.least_entries, self.least_bytes = block_rows, least_entries, least_bytes
        self._stack = ExitStack()
        try:
            self._remote = RemoteFolder.within(exchange) if isinstance(exchange, str) and is_url(exchange) else None
            if self._remote is not None:  # removed last, when no worker writes any more
                self._stack.callback(self._remote.remove_all)
                self._remote.make()
            self.client = connected(scheduler, workers or usable_cores(), connect_seconds, self._stack)
            self._stack.callback(leave, self.client)
            is_here = exchange is not None and self._remote is None
            beside = Path(exchange).resolve() if exchange is not None and is_here else Path(tempfile.gettempdir())
            self._folder = self._stack.enter_context(folder_beside(beside / "dualmatch-exchange"))
            self._copied: set[str] = set()  # files that are in the remote folder
            self.shares_files = self._workers_see_files() if self._remote is None else self._workers_see_copies()
            pages = Pages(self._folder, sys.maxsize, shared=True, least_bytes=SMALL_BYTES)
            self._pages = self._stack.enter_context(pages)
            if scheduler is not None:  # its workers live on
                self._stack.callback(self._close_files_there)
        except BaseException:
            self._stack.close()
            raise
        if not self.shares_files:
            logger.info("the workers do not see %s: operands go over the network", self._folder)

    def _close_files_there(self) -> None:
        """Let the workers forget what they have mapped: a file that is removed takes up disk until nobody has it."""
        if self.client.status == "running":
            with suppress(Exception):
                within(ANSWER_SECONDS, self.client.run, forget_files, self._remote or self._folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the cluster; a local one ends."""
        self._stack.close()

    @property
    def computes_elsewhere(self) -> bool:
        return self.shares_files

    def spans(self, n_rows: int) -> Spans:
        return spans_of(n_rows, self.block_rows)

    @contextmanager
    def placed(self, *operands: Any) -> Iterator[tuple[Any, ...]]:
        with ExitStack() as stack:
            yield tuple(stack.enter_context(self._placed(operand)) for operand in operands)

    @contextmanager
    def _placed(self, operand: Any) -> Iterator[Any]:
        if isinstance(operand, np.ndarray) and operand.nbytes <= SMALL_BYTES:
            yield operand
        elif self.shares_files and self._remote is None:
            stored = self._place_stored(operand)
            try:
                yield stored
            finally:
                stored.remove()
        else:
            sent = _Sent(operand, self._scattered(operand))
            try:
                yield sent
            finally:
                sent.future.release()

    def _scattered(self, operand: Any) -> Any:
        with self._end_in_words():
            for attempt in range(ATTEMPTS):
                try:
                    return self.client.scatter(operand, broadcast=True, hash=False)
                except (OSError, ValueError) as error:  # CommClosedError: a dead worker was taken for a live one
                    waited_for_workers = isinstance(error, TimeoutError)
                    if not isinstance(error, OSError) and not worker_died_meanwhile(error):
                        raise
                    if attempt + 1 == ATTEMPTS or waited_for_workers or self.client.status != "running":
                        raise
                    logger.warning("a worker died while operands were sent: they are sent again (%s)", error)
                    time.sleep(PAUSE_SECONDS * 2**attempt)
        raise AssertionError("unreachable")

    def map(self, function: Callable[..., T], items: Iterable[tuple[Any, ...]]) -> list[T]:
        with self._end_in_words():
            return self._mapped(function, list(items))

    def each(self, function: Callable[..., T], items: Iterable[tuple[Any, ...]]) -> Iterator[T]:
        """As `map`; arrays among the arguments, and in the results, go through files that the workers see.

        Where they see none, or the arrays are small, the blocks are computed in this process: that takes less time.
        """
        return self._each(function, list(items), self.least_bytes)

    def _each(self, function: Callable[..., T], calls: list[tuple[Any, ...]], least_bytes: int) -> Iterator[T]:
        owner = getattr(function, "__self__", None)  # a method goes as a function of its object
        if not calls or not self.shares_files or bytes_of((owner, calls)) < least_bytes:
            yield from (function(*call) for call in calls)
            return
        plain = function if owner is None else getattr(function, "__func__", function)
        held = self._pages.paged((owner, calls))  # until all is computed: the files go with the arrays
        self._remove_gone()
        with self._file_of_small_arrays() as file:
            sent = with_arrays(held, partial(self._as_stored, file), {}, cached=travels)
            self._close(file)
            step = uuid.uuid4().hex
            given = [(plain, self._exchange, step, sent[0], batch) for batch in self._batches(sent[1])]
            results = self._in_files(computed_in_files, given, step)
        for batch in results:
            yield from self._with_files(batch)

    def _batches(self, calls: list[Any]) -> list[list[Any]]:
        """Calls in a few batches for each thread: the scheduler takes as long for a small task as for a large one."""
        if len(calls) < 2:
            return [calls]
        n_batches = min(len(calls), _BATCHES * n_threads(self.client))
        edges = [len(calls) * number // n_batches for number in range(n_batches + 1)]
        return [calls[first:last] for first, last in pairwise(edges)]

    def joined(self, columns: list[list[np.ndarray]], shifts: list[list[int]]) -> list[np.ndarray]:
        """Parts of columns as one array each, with a number added to each part; joined by the workers."""
        held = self._pages.paged(columns)
        self._remove_gone()
        with self._file_of_small_arrays() as file:
            sent = with_arrays(held, partial(self._as_stored, file), {})
            self._close(file)
            step = uuid.uuid4().hex
            calls = [(self._exchange, step, parts, each) for parts, each in zip(sent, shifts, strict=True)]
            results = self._in_files(joined_in_file, calls, step)
        found: list[np.ndarray] = self._with_files(results)
        return found

    @property
    def _exchange(self) -> Path | RemoteFolder:
        """Where workers find files, and put them."""
        return self._remote or self._folder

    @contextmanager
    def _file_of_small_arrays(self) -> Iterator[ArrayFile]:
        """A file for arrays that all calls of a step are given, for as long as they need it."""
        with self._pages.in_words(), ArrayFile(self._folder / f"{uuid.uuid4().hex}.npy") as file:
            try:
                yield file
            finally:
                file.remove()
                if self._remote is not None and not file.is_empty:
                    self._remote.remove(file.path.name)

    def _close(self, file: ArrayFile) -> None:
        file.close()
        if self._remote is not None and not file.is_empty:
            self._remote.put(file.path)

    def long_blocks(self, function: Callable[..., T], items: Iterable[tuple[Any, ...]]) -> Iterator[T]:
        """As `each`, for smaller arrays, too, as each block takes long.

        Workers that see no common folder get the object whose method it is over the network.
        """
        owner = getattr(function, "__self__", None)
        if self.shares_files or owner is None:
            yield from self._each(function, list(items), self.least_bytes // _LONG_BLOCKS)
            return
        with self._placed(owner) as sent:
            yield from self.map(getattr(function, "__func__", function), [(sent, *item) for item in items])

    def on_columns(self, function: Callable[..., T], items: Iterable[tuple[Any, ...]]) -> list[T]:
        return [self.paged(result) for result in self.each(function, items)]

    def call(self, function: Callable[..., T], *arguments: Any) -> T:
        return self.on_columns(function, [arguments])[0]

    def _as_stored(self, file: ArrayFile, array: np.ndarray) -> StoredArray | np.ndarray:
        """Where workers find an array; those that are in no file yet, and not tiny, are written to one for all."""
        stored = StoredArray.of(array) if self._pages.holds(array) else None
        if stored is None:
            return array if array.nbytes < _TINY_BYTES or array.dtype.hasobject else file.append(array)
        if self._remote is not None and stored.path.name not in self._copied:
            self._remote.put(stored.path)
            self._copied.add(stored.path.name)
        return stored

    def _in_files(self, function: Callable[..., Any], calls: list[tuple[Any, ...]], step: str) -> list[Any]:
        """What workers compute, its arrays in files of the step; what others wrote that have died is removed."""
        results: list[Any] = []
        try:
            results = self.map(function, calls)
        finally:
            used = {stored.path for stored in stored_in(results)}
            for path in result_files(self._folder, step):
                if path not in used:
                    path.unlink(missing_ok=True)
        return results

    def _with_files(self, result: Any) -> Any:
        """What a worker has computed, with its arrays from their file."""
        files: dict[Path, np.ndarray] = {}

        def from_worker(stored: StoredArray) -> np.ndarray:
            if stored.path not in files:
                path = stored.path
                if self._remote is not None:
                    path = self._remote.get(path.name, self._folder)
                    self._copied.add(path.name)
                files[stored.path] = self._pages.mapped(path)
            return stored.of_file(files[stored.path])

        return with_arrays(result, lambda each: each, {}, stored=from_worker)

    def _remove_gone(self) -> None:
        """Remove copies of files whose arrays nobody uses any more."""
        while self._pages.removed:
            name = self._pages.removed.popleft()
            if self._remote is not None and name in self._copied:
                self._copied.discard(name)
                self._remote.remove(name)

    def paged(self, value: T) -> T:
        return self._pages.paged(value) if self.shares_files else value

    def columns(self) -> Columns:
        return ColumnsOnWorkers(self, self.least_bytes) if self.shares_files else Columns()

    @contextmanager
    def within(self, limit: int, expected: float) -> Iterator[Self]:
        """The cluster itself: what its workers compute on is in files anyway, which this process lets go of."""
        if expected > limit and not self.shares_files:
            logger.warning("workers see no common folder, so this process holds everything; give --exchange one")
        with self._pages.limited_to(limit):
            yield self

    @contextmanager
    def _end_in_words(self) -> Iterator[None]:
        """Explain what ended the run where it was the cluster, and no block."""
        try:
            yield
        except Exception as error:
            is_closed = type(error).__name__ == "CommClosedError" or worker_died_meanwhile(error)
            if self.client.status != "running" or is_closed:
                raise InputError(
                    f"the cluster has gone away ({in_brief(error)}); start it again ({_RESUME})"
                ) from error
            if isinstance(error, StalledError):
                raise InputError(f"the cluster makes no progress ({error}); check its workers ({_RESUME})") from error
            if type(error).__name__ == "KilledWorker":
                raise InputError(
                    "every worker that took on one of the blocks died, as when memory runs out; give workers "
                    f"more memory, or start fewer of them on a machine ({_RESUME})"
                ) from error
            raise

    def _mapped(self, function: Callable[..., T], calls: list[tuple[Any, ...]]) -> list[T]:
        for attempt in range(ATTEMPTS):
            arguments = [[each.future if isinstance(each, _Sent) else each for each in call] for call in calls]
            futures = [self.client.submit(computed, function, *each, pure=False) for each in arguments]
            try:
                wait_for(self.client, futures)
                results: list[T] = self.client.gather(futures, errors="skip")
                if all(future.status == "finished" for future in futures):
                    return results
                return [future.result() for future in futures]  # the first error, in the order of the blocks
            except Exception as error:
                if attempt + 1 == ATTEMPTS or not is_lost(error) or self.client.status != "running":
                    raise
                logger.warning("operands were lost with their worker: the step starts again (%s)", error)
                with suppress(Exception):
                    within(ANSWER_SECONDS, self.client.cancel, futures)
                for sent in {id(each): each for call in calls for each in call if isinstance(each, _Sent)}.values():
                    sent.future = self._scattered(sent.value)
            finally:
                # At once: what waits for the collector would be computed again, from files that are gone, wherever the
                # worker that holds it dies.
                for future in futures:
                    future.release()
        raise AssertionError("unreachable")

    def sees(self, files: Iterable[Path]) -> bool:
        paths = [path.resolve() for path in files]
        here, there = states_of(paths), on_all_workers(self.client, states_of, paths)
        return bool(there) and None not in here and all(each == here for each in there.values())

    def _workers_see_files(self) -> bool:
        probe = store(np.arange(3), self._folder / "probe")
        seen = self.sees([probe.folder / ARRAY_FILE])
        probe.remove()
        return seen

    def _workers_see_copies(self) -> bool:
        """Whether all workers can read what this process copies to the remote folder."""
        assert self._remote is not None
        probe = self._folder / f"{uuid.uuid4().hex}.npy"
        np.save(probe, np.arange(3), allow_pickle=False)
        self._remote.put(probe)
        why = on_all_workers(self.client, why_unseen, self._remote, probe.name)
        self._remote.remove(probe.name)
        probe.unlink()
        if unseen := [each for each in why.values() if each is not None]:
            raise InputError(
                f"--exchange {self._remote.url}: {len(unseen)} of {len(why)} workers cannot read there ({unseen[0]}); "
                "install what fsspec needs for it on every worker, and give them access"
            )
        return bool(why)

    def _place_stored(self, operand: Any) -> StoredOperand:
        try:
            return store(operand, self._folder / uuid.uuid4().hex)
        except OSError as error:
            raise OutputError(
                f"{self._folder}: cannot be written into ({error.strerror or error}); give --exchange a folder with "
                "room for what the workers compute on"
            ) from error
