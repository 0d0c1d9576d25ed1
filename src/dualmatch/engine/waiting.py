"""Waiting for what a cluster computes: until it is there, or the cluster is silent or idle for too long."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any, Final

from dualmatch.engine.connection import ANSWER_SECONDS, within, worker_died_meanwhile

if TYPE_CHECKING:
    from distributed import Client

logger = logging.getLogger(__name__)

_POLL_SECONDS: Final = 2.0
_SILENT_SECONDS: Final = 30.0  # without a scheduler, before a run is given up
_IDLE_SECONDS: Final = 120.0  # without a worker at work: on a busy machine, those that died take long to start again


class StalledError(Exception):
    """Blocks wait, and no worker takes them up."""


def wait_for(client: Client, futures: list[Any]) -> None:
    """Wait until all futures are done: gathering them has no time limit.

    Raises
    ------
    TimeoutError, StalledError
        If the scheduler is silent, or no worker at work, for too long.
    """
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
            if client.status == "running":
                silent_since = None
                idle_since = (idle_since or time.monotonic()) if _is_idle(client) else None
                if idle_since is not None and time.monotonic() - idle_since > _IDLE_SECONDS:
                    raise StalledError("no worker has taken on a block for too long") from None
                continue
            silent_since = silent_since or time.monotonic()
            if client.status == "closed" or time.monotonic() - silent_since > _SILENT_SECONDS:
                raise


def _is_idle(client: Client) -> bool:
    """Whether blocks wait and no worker works, as where all have died and none has come back."""
    try:
        return not any(within(ANSWER_SECONDS, client.processing).values())
    except Exception as error:
        logger.debug("the scheduler does not say what is going on (%s)", error)
        return True


def n_threads(client: Client) -> int:
    """Threads of all workers; 1 where the scheduler does not answer."""
    try:
        of_worker: dict[str, int] = within(ANSWER_SECONDS, client.nthreads)
    except Exception as error:  # it answers again, or the step says what is wrong
        logger.debug("the scheduler does not say how many threads the workers have (%s)", error)
        return 1
    return max(sum(of_worker.values()), 1)


def is_lost(error: Exception) -> bool:
    """Whether an operand went with its worker, which only sent ones can."""
    from concurrent.futures import CancelledError

    names = ("FutureCancelledError", "CommClosedError")
    is_gone = isinstance(error, CancelledError | StalledError) or type(error).__name__ in names
    return is_gone or worker_died_meanwhile(error)
