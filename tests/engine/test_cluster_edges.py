"""Clusters at their edges: addresses that are silent or lie, workers that die while they start or never come back."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from dualmatch.errors import InputError

pytest.importorskip("distributed")
from distributed.comm import CommClosedError

from dualmatch.engine import connection
from dualmatch.engine.cluster import Cluster
from dualmatch.engine.connection import on_all_workers, within
from dualmatch.engine.waiting import wait_for


@contextmanager
def listening(answer: bytes | None) -> Iterator[str]:
    """An address on the loopback device that accepts; and says nothing, or always the same."""
    held: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                    held.append(connection)
                    if answer is not None:
                        connection.sendall(answer)
                except OSError:
                    return

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield f"tcp://127.0.0.1:{server.getsockname()[1]}"
        finally:
            server.shutdown(socket.SHUT_RDWR)
            for each in held:
                each.close()
    thread.join(10)


@pytest.mark.parametrize("answer", [None, b"HTTP/1.1 400 Bad Request\r\n\r\n" * 50, b"\xff" * 4096, b"\0" * 4096])
def test_an_address_that_is_silent_or_answers_junk_is_refused(answer: bytes | None) -> None:
    with listening(answer) as address, pytest.raises(InputError, match="no Dask scheduler answers there"):
        Cluster(address, connect_seconds=1.0)


def test_a_call_that_never_returns_is_left_behind() -> None:
    with pytest.raises(TimeoutError, match=r"no answer within 0\.1 s"):
        within(0.1, threading.Event().wait)
    assert within(5.0, lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        within(5.0, lambda: 1 // 0)


def test_a_cluster_whose_workers_die_while_they_start_is_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[int] = []

    def start() -> str:
        tries.append(1)
        if len(tries) < 3:
            raise RuntimeError("Nanny failed to start.")
        return "started"

    assert connection._started(start) == "started"
    tries[:] = [1] * -99
    monkeypatch.setattr(connection, "ATTEMPTS", 2)
    with pytest.raises(InputError, match="do not start"):
        connection._started(start)


class Deaf:
    """A client whose workers die while they are asked."""

    status = "running"

    def __init__(self, failures: int) -> None:
        self.failures = failures

    def run(self, function: Any, *arguments: Any) -> dict[str, Any]:
        self.failures -= 1
        if self.failures >= 0:
            raise CommClosedError("in <TCP …>: Stream is closed")
        return {"worker": function(*arguments)}

    def processing(self) -> dict[str, tuple[str, ...]]:
        return {}


def test_workers_that_die_while_they_are_asked_are_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "PAUSE_SECONDS", 0.0)
    client: Any = Deaf(2)
    assert on_all_workers(client, str, 7) == {"worker": "7"}
    deaf: Any = Deaf(99)
    with pytest.raises(InputError, match="workers of the cluster do not answer"):
        on_all_workers(deaf, str, 7)


def test_blocks_that_no_worker_takes_up_are_not_waited_for_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    import distributed

    def waiting(*_: object, **__: object) -> None:
        raise TimeoutError

    monkeypatch.setattr(distributed, "wait", waiting)
    monkeypatch.setattr("dualmatch.engine.waiting._IDLE_SECONDS", 0.05)
    idle = Cluster.__new__(Cluster)
    idle.client = Deaf(0)  # type: ignore[assignment]
    with pytest.raises(InputError, match="the cluster makes no progress"), idle._end_in_words():
        wait_for(idle.client, [])
