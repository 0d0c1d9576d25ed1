"""The way to a Dask cluster: start or reach one and ask its workers, each step with a time limit.

Whoever can reach a Dask scheduler can run code on its workers. So the local cluster listens on the loopback interface
alone and, since other users of the machine can reach that too, speaks TLS with keys made for this run; docs/cluster.md
says how to reach another cluster safely.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from dualmatch.engine import T
from dualmatch.errors import InputError, in_brief
from dualmatch.version import __version__

if TYPE_CHECKING:
    from distributed import Client

logger = logging.getLogger(__name__)

_LOOPBACK: Final = "127.0.0.1"
# How often a step is begun anew after operands were lost with their worker, and dying workers are asked.
ATTEMPTS: Final = 5
# How long the scheduler gets to notice that a worker is dead; each time twice as long.
PAUSE_SECONDS: Final = 0.2
ANSWER_SECONDS: Final = 30.0  # for what a scheduler or worker answers at once
_START_SECONDS: Final = 120.0  # for a local cluster to start
_SEND_SECONDS: Final = 0.001  # between two messages to the scheduler
# A local cluster has no dashboard, so no profiles and loads are taken, which cost a twentieth of a core. All threads of
# a worker have one heap: glibc limits the heap of each further thread to 64 MB, and would reuse no larger array.
_OF_LOCAL_CLUSTER: Final = {
    "distributed.nanny.pre-spawn-environ.MALLOC_ARENA_MAX": 1,
    "distributed.scheduler.http.routes": [],
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.tick.cycle": "5s",
    "distributed.admin.system-monitor.interval": "5s",
}


def connected(scheduler: str | None, workers: int, connect_seconds: float, stack: ExitStack) -> Client:
    """A client of the scheduler, or of a local cluster that ends with `stack`."""
    try:
        import dask
        from distributed import Client, LocalCluster
        from distributed.security import Security
    except ModuleNotFoundError:
        raise InputError("engine dask needs the extra [dask]; in a clone, run: pip install '.[dask]'") from None
    logging.getLogger("distributed").setLevel(logging.ERROR)  # it reports every connection
    if scheduler is None:
        security = Security.temporary()
        stack.enter_context(dask.config.set(_OF_LOCAL_CLUSTER))
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
        return _without_delay(Client(stack.enter_context(_started(start)), security=security))
    try:  # whatever listens there: something silent, or something that answers junk
        client = within(connect_seconds + 5.0, partial(Client, scheduler, timeout=connect_seconds))
    except Exception as error:
        raise InputError(
            f"--scheduler {scheduler}: no Dask scheduler answers there ({in_brief(error)}); check the address"
        ) from None
    try:
        check_workers(client, scheduler)
    except BaseException:
        leave(client)
        raise
    return _without_delay(client)


def _without_delay(client: Client) -> Client:
    """The client, sending to the scheduler once in a millisecond.

    By default it sends once in ten at most, so a step that follows another at once would wait for that. Dask sets this
    back where it connects again.
    """
    if hasattr(client.scheduler_comm, "interval"):
        client.scheduler_comm.interval = _SEND_SECONDS
    return client


def _started(start: Callable[[], Any]) -> Any:
    """The local cluster; started again where a worker dies while it starts."""
    for attempt in range(ATTEMPTS):
        try:
            return within(_START_SECONDS, start)
        except (RuntimeError, OSError, ValueError) as error:
            if attempt + 1 == ATTEMPTS:
                raise InputError(
                    f"the workers of a local cluster do not start ({in_brief(error)}); start fewer with --workers, or "
                    "leave --engine dask out"
                ) from None
            logger.warning("a worker died while it started: the cluster is started again (%s)", in_brief(error))
    raise AssertionError("unreachable")


def leave(client: Client) -> None:
    """Close the connection; a scheduler that died first must not hide what the caller raises, nor raise by itself."""
    try:
        client.close()
    except (Exception, asyncio.CancelledError) as error:
        with suppress(Exception, asyncio.CancelledError):
            client.close()  # what was half done is done; else the client tries it when it is collected
        logger.debug("the connection to the scheduler was lost before it could be closed (%s)", error)


def check_workers(client: Client, scheduler: str) -> None:
    """Refuse a cluster without workers, or whose workers would compute something else, or nothing at all."""
    if not within(ANSWER_SECONDS, client.scheduler_info)["workers"]:
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
            f"--scheduler {scheduler}: its workers have dualmatch {others}, and this is {__version__}, which may give "
            "other results; install one version everywhere"
        )


def version_here() -> str:
    """The version of dualmatch where it is called."""
    return __version__


def within(seconds: float, call: Callable[..., T], *arguments: Any) -> T:
    """What a call returns; a TimeoutError where it takes longer. Dask's own calls may wait forever."""
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


def worker_died_meanwhile(error: Exception) -> bool:
    """Whether a ValueError says that a worker died at a bad moment.

    tornado raises one where the connection ends before TLS is agreed on, and the scheduler where none is left to copy
    an operand to.
    """
    return isinstance(error, ValueError) and any(words in str(error) for words in ("IOStream", "use replicate"))


def on_all_workers(client: Client, function: Callable[..., T], *arguments: Any) -> dict[str, T]:
    """What a function returns on each worker; asked again if one dies in the meantime."""
    for attempt in range(ATTEMPTS):
        try:
            return within(ANSWER_SECONDS, lambda: client.run(function, *arguments))
        except (OSError, ValueError) as error:  # CommClosedError, TimeoutError
            if not isinstance(error, OSError) and not worker_died_meanwhile(error):
                raise
            if attempt + 1 == ATTEMPTS or client.status != "running":
                raise InputError(
                    f"the workers of the cluster do not answer ({in_brief(error)}); check that they run, and try again"
                ) from None
            time.sleep(PAUSE_SECONDS * 2**attempt)
    raise AssertionError("unreachable")
