"""Blocks on a Dask cluster: a local one of several processes, or any that is running.

A killed worker costs time, not the run: its blocks are computed again by the others. Operands go through files where
all workers see the folder (`dualmatch.engine.exchange`), and over the network where they do not.

Whoever can reach a Dask scheduler can run code on its workers. So the local cluster listens on the loopback device
alone and, since other users of the machine can reach that too, speaks TLS with keys made for this run; docs/cluster.md
says how to reach another cluster safely.
"""

from __future__ import annotations

import asyncio
import logging
import os
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, cast

import numpy as np

from dualmatch.engine import Spans, T, spans_of, usable_cores
from dualmatch.engine.exchange import ARRAY_FILE, Stored, store
from dualmatch.errors import InputError, OutputError, in_brief
from dualmatch.files.temporary import folder_beside
from dualmatch.version import __version__

if TYPE_CHECKING:
    from distributed import Client

logger = logging.getLogger(__name__)

_RESUME: Final = "a run with --run can be resumed with --resume"
_LOOPBACK: Final = "127.0.0.1"
# An array up to this size goes along with the block: a file would cost more.
_SMALL_BYTES: Final = 2**16
# How often a step is begun anew after operands were lost with their worker, and operands are sent to dying workers.
_ATTEMPTS: Final = 5
# How long the scheduler gets to notice that a worker is dead; each time twice as long.
_PAUSE_SECONDS: Final = 0.2
_POLL_SECONDS: Final = 2.0
_ANSWER_SECONDS: Final = 30.0  # for what a scheduler or worker answers at once
_START_SECONDS: Final = 120.0  # for a local cluster to start
_SILENT_SECONDS: Final = 30.0  # without a scheduler, before a run is given up


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
        A folder that all workers see, such as one on shared storage. By default a temporary one, which the workers of
        another machine will not see: they get their operands over the network.
    least_entries:
        Sinkhorn of fewer entries than this stays in the calling process, which sums them faster than it sends them.
    connect_seconds:
        How long to wait for the scheduler's answer.

    Examples
    --------
    >>> with Cluster(workers=2) as engine:  # doctest: +SKIP
    ...     alignment = align(source, target, engine=engine)
    """

    threads: Final = 1

    def __init__(
        self,
        scheduler: str | None = None,
        workers: int | None = None,
        block_rows: int = 2**14,
        exchange: Path | None = None,
        least_entries: int = 2**25,
        connect_seconds: float = 20.0,
    ) -> None:
        self.block_rows, self.least_entries = block_rows, least_entries
        self._stack = ExitStack()
        try:
            self.client = _connected(scheduler, workers or usable_cores(), connect_seconds, self._stack)
            self._stack.callback(_leave, self.client)
            beside = Path(tempfile.gettempdir()) if exchange is None else exchange.resolve()
            self._folder = self._stack.enter_context(folder_beside(beside / "dualmatch-exchange"))
            self.shares_files = self._workers_see_files()
        except BaseException:
            self._stack.close()
            raise
        if not self.shares_files:
            logger.info("the workers do not see %s: operands go over the network", self._folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the cluster; a local one ends."""
        self._stack.close()

    def spans(self, n_rows: int) -> Spans:
        return spans_of(n_rows, self.block_rows)

    @contextmanager
    def placed(self, *operands: Any) -> Iterator[tuple[Any, ...]]:
        with ExitStack() as stack:
            yield tuple(stack.enter_context(self._placed(operand)) for operand in operands)

    @contextmanager
    def _placed(self, operand: Any) -> Iterator[Any]:
        if isinstance(operand, np.ndarray) and operand.nbytes <= _SMALL_BYTES:
            yield operand
        elif self.shares_files:
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
            for attempt in range(_ATTEMPTS):
                try:
                    return self.client.scatter(operand, broadcast=True, hash=False)
                except OSError as error:  # CommClosedError: the scheduler took a dead worker for a live one
                    waited_for_workers = isinstance(error, TimeoutError)
                    if attempt + 1 == _ATTEMPTS or waited_for_workers or self.client.status != "running":
                        raise
                    logger.warning("a worker died while operands were sent: they are sent again (%s)", error)
                    time.sleep(_PAUSE_SECONDS * 2**attempt)
        raise AssertionError("unreachable")

    def map(self, function: Callable[..., T], items: Iterable[tuple[Any, ...]]) -> list[T]:
        with self._end_in_words():
            return self._mapped(function, list(items))

    @contextmanager
    def _end_in_words(self) -> Iterator[None]:
        """Explain what ended the run where it was the cluster, and no block."""
        try:
            yield
        except Exception as error:
            if self.client.status != "running" or type(error).__name__ == "CommClosedError":
                raise InputError(
                    f"the cluster has gone away ({in_brief(error)}); start it again ({_RESUME})"
                ) from error
            if isinstance(error, StalledError):
                raise InputError(f"the cluster does nothing ({error}); see that workers run ({_RESUME})") from error
            if type(error).__name__ == "KilledWorker":
                raise InputError(
                    "every worker that took up one of the blocks died of it, as when memory runs out; give workers "
                    f"more memory, or start fewer of them on a machine ({_RESUME})"
                ) from error
            raise

    def _mapped(self, function: Callable[..., T], calls: list[tuple[Any, ...]]) -> list[T]:
        for attempt in range(_ATTEMPTS):
            arguments = [[each.future if isinstance(each, _Sent) else each for each in call] for call in calls]
            futures = [self.client.submit(_computed, function, *each, pure=False) for each in arguments]
            try:
                self._wait_for(futures)
                results: list[T] = self.client.gather(futures, errors="skip")
                if all(future.status == "finished" for future in futures):
                    return results
                return [future.result() for future in futures]  # the first error, in the order of the blocks
            except Exception as error:
                if attempt + 1 == _ATTEMPTS or not _lost(error) or self.client.status != "running":
                    raise
                logger.warning("operands were lost with their worker: the step begins anew (%s)", error)
                with suppress(Exception):
                    within(_ANSWER_SECONDS, self.client.cancel, futures)
                for sent in {id(each): each for call in calls for each in call if isinstance(each, _Sent)}.values():
                    sent.future = self._scattered(sent.value)
        raise AssertionError("unreachable")

    def _wait_for(self, futures: list[Any]) -> None:
        """Wait until all futures are done, or the cluster is silent or idle for too long: gathering has no limit."""
        from concurrent.futures import CancelledError

        from distributed import wait

        silent_since: float | None = None
        idle_since: float | None = None
        while True:
            try:
                wait(futures, timeout=_POLL_SECONDS)
                return
            except CancelledError:
                return  # the futures say so themselves
            except TimeoutError:
                if self.client.status == "running":
                    silent_since = None
                    idle_since = (idle_since or time.monotonic()) if self._is_idle() else None
                    if idle_since is not None and time.monotonic() - idle_since > _SILENT_SECONDS:
                        raise StalledError("no worker has taken up a block for too long") from None
                    continue
                silent_since = silent_since or time.monotonic()
                if self.client.status == "closed" or time.monotonic() - silent_since > _SILENT_SECONDS:
                    raise

    def _is_idle(self) -> bool:
        """Whether blocks wait and no worker works, as where all have died and none has come back."""
        try:
            return not any(within(_ANSWER_SECONDS, self.client.processing).values())
        except Exception as error:
            logger.debug("the scheduler does not say what is going on (%s)", error)
            return True

    def sees(self, files: Iterable[Path]) -> bool:
        paths = [path.resolve() for path in files]
        here, there = states_of(paths), on_all_workers(self.client, states_of, paths)
        return bool(there) and None not in here and all(each == here for each in there.values())

    def _workers_see_files(self) -> bool:
        probe = store(np.arange(3), self._folder / "probe")
        seen = self.sees([probe.folder / ARRAY_FILE])
        probe.remove()
        return seen

    def _place_stored(self, operand: Any) -> Stored:
        try:
            return store(operand, self._folder / uuid.uuid4().hex)
        except OSError as error:
            raise OutputError(
                f"{self._folder}: cannot be written into ({error.strerror or error}); give --exchange a folder with "
                "room for what the workers compute on"
            ) from error


class StalledError(Exception):
    """Blocks wait, and no worker takes them up."""


def within(seconds: float, call: Callable[..., T], *arguments: Any) -> T:
    """What a call returns; a TimeoutError where it takes longer. Dask's own calls may wait for ever."""
    ended: list[tuple[bool, Any]] = []

    def run() -> None:
        try:
            ended.append((True, call(*arguments)))
        except BaseException as error:
            ended.append((False, error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if not ended:
        raise TimeoutError(f"no answer within {seconds:g} s")
    is_done, result = ended[0]
    if not is_done:
        raise result
    return cast(T, result)


def on_all_workers(client: Client, function: Callable[..., T], *arguments: Any) -> dict[str, T]:
    """What a function returns on each worker; asked again where one dies meanwhile."""
    for attempt in range(_ATTEMPTS):
        try:
            return within(_ANSWER_SECONDS, lambda: client.run(function, *arguments))
        except OSError as error:  # CommClosedError, TimeoutError
            if attempt + 1 == _ATTEMPTS or client.status != "running":
                raise InputError(
                    f"the workers of the cluster do not answer ({in_brief(error)}); see that they run, and try again"
                ) from None
            time.sleep(_PAUSE_SECONDS * 2**attempt)
    raise AssertionError("unreachable")


def _computed(function: Callable[..., T], *arguments: Any) -> T:
    """On a worker: the block, with what is stored read from its files."""
    return function(*(each.load() if isinstance(each, Stored) else each for each in arguments))


def states_of(paths: list[Path]) -> list[tuple[int, int] | None]:
    """Size and time of each file, by which two machines know that they see the same one; None where it is not theirs.

    Another machine may have a file of its own under the same path, or one that its user may not read.
    """
    states: list[tuple[int, int] | None] = []
    for path in paths:
        try:
            with path.open("rb") as file:
                status = os.fstat(file.fileno())
            states.append((status.st_size, status.st_mtime_ns))
        except OSError:
            states.append(None)
    return states


def _lost(error: Exception) -> bool:
    """Whether an operand went with its worker, which only sent ones can."""
    from concurrent.futures import CancelledError

    return isinstance(error, CancelledError | StalledError) or type(error).__name__ in (
        "FutureCancelledError",
        "CommClosedError",
    )


def _connected(scheduler: str | None, workers: int, connect_seconds: float, stack: ExitStack) -> Client:
    try:
        import dask
        from distributed import Client, LocalCluster
        from distributed.security import Security
    except ModuleNotFoundError:
        raise InputError("engine dask needs the extra [dask]: pip install 'dualmatch[dask]'") from None
    logging.getLogger("distributed").setLevel(logging.ERROR)  # it reports every connection
    if scheduler is None:
        security = Security.temporary()
        stack.enter_context(dask.config.set({"distributed.scheduler.http.routes": []}))
        start = partial(
            LocalCluster,
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            host=f"tls://{_LOOPBACK}",
            security=security,
            scheduler_kwargs={"dashboard": False, "dashboard_address": f"{_LOOPBACK}:0"},
            memory_limit=0,  # the operands are mapped files: what they take is not the worker's to give back
            silence_logs=logging.ERROR,
        )
        return Client(stack.enter_context(_started(start)), security=security)
    try:  # whatever listens there: something silent, or something that answers junk
        client = within(connect_seconds + 5.0, partial(Client, scheduler, timeout=connect_seconds))
    except Exception as error:
        raise InputError(
            f"--scheduler {scheduler}: no Dask scheduler answers there ({in_brief(error)}); check the address"
        ) from None
    try:
        check_workers(client, scheduler)
    except BaseException:
        _leave(client)
        raise
    return client


def _started(start: Callable[[], Any]) -> Any:
    """The local cluster; started again where a worker dies while it starts."""
    for attempt in range(_ATTEMPTS):
        try:
            return within(_START_SECONDS, start)
        except (RuntimeError, OSError) as error:
            if attempt + 1 == _ATTEMPTS:
                raise InputError(
                    f"the workers of a local cluster do not start ({in_brief(error)}); start fewer with --workers, or "
                    "leave --engine dask out"
                ) from None
            logger.warning("a worker died while it started: the cluster is started again (%s)", in_brief(error))
    raise AssertionError("unreachable")


def _leave(client: Client) -> None:
    """Close the connection; a scheduler that died first must not hide what the caller raises, nor raise by itself."""
    try:
        client.close()
    except (Exception, asyncio.CancelledError) as error:
        with suppress(Exception, asyncio.CancelledError):
            client.close()  # what was half done is done; else the client tries it when it is collected
        logger.debug("the connection to the scheduler was lost before it could be closed (%s)", error)


def check_workers(client: Client, scheduler: str) -> None:
    """Refuse a cluster without workers, or whose workers would compute something else, or nothing at all."""
    if not within(_ANSWER_SECONDS, client.scheduler_info)["workers"]:
        raise InputError(f"--scheduler {scheduler}: the cluster has no workers; start some (dask worker {scheduler})")
    try:
        versions = set(on_all_workers(client, version_here).values())
    except InputError:
        raise
    except Exception as error:  # whatever a worker makes of a module that it does not have
        raise InputError(
            f"--scheduler {scheduler}: its workers cannot run dualmatch ({error}); install version {__version__} there"
        ) from None
    if versions != {__version__}:
        others = ", ".join(sorted(versions - {__version__}))
        raise InputError(
            f"--scheduler {scheduler}: its workers have dualmatch {others}, and this is {__version__}, which may come "
            "to other results; install one version everywhere"
        )


def version_here() -> str:
    """The version of dualmatch where it is called."""
    return __version__
