"""The review page under pressure: a locked or damaged file, connections that say nothing, clients that go away."""

from __future__ import annotations

import socket
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from dualmatch import InputError
from dualmatch.links.decisions import DecisionLog, read_decisions
from dualmatch.links.opinions import ReviewVerdict
from dualmatch.review import requests, serve
from dualmatch.review.serve import ReviewServer
from reviewing import Client


@pytest.mark.parametrize("lock", ["IMMEDIATE", "EXCLUSIVE"])
def test_a_locked_file_is_answered_kindly_and_holds_nobody_else_up(
    serving: ReviewServer, client: Client, lock: str
) -> None:
    with closing(sqlite3.connect(serving.session.log.path, isolation_level=None)) as other:
        other.execute(f"BEGIN {lock}")
        answer = client.post("/decide", verdict="skip", source=0, seen=0)
        assert answer.status == 503
        assert "another program holds the file" in answer.text
        assert "Not possible" in answer.text
        assert client.ask("/static/review.css").status == 200
        assert client.ask("/prepared").status == 200
        other.execute("ROLLBACK")
    assert client.post("/decide", verdict="skip", source=0, seen=0).status == 303


def test_a_file_that_is_damaged_while_it_is_open_is_reported_on_a_page(serving: ReviewServer, client: Client) -> None:
    assert client.post("/decide", verdict="skip", source=0, seen=0).status == 303
    with serving.session.log.path.open("r+b") as file:
        file.seek(16)
        file.write(b"\xff" * 4000)
    for answer in (client.ask("/"), client.post("/decide", verdict="skip", source=1, seen=0)):
        assert answer.status == 422
        assert "restore it from an intact copy" in answer.text or "cannot be written" in answer.text


@pytest.mark.parametrize("number", ["9" * 5000, "-1", "x", "1e3", "²"])
def test_a_number_that_is_none_is_no_page(client: Client, number: str) -> None:
    answer = client.ask(f"/pair/{number.encode().hex() if not number.isascii() else number}")
    assert answer.status == 404
    assert "Not possible" in answer.text


def until(holds: Callable[[], bool], seconds: float = 30.0) -> bool:
    """Wait for something to hold."""
    end = time.monotonic() + seconds
    while not holds() and time.monotonic() < end:
        time.sleep(0.05)
    return holds()


def open_connections(serving: ReviewServer) -> int:
    return len(serving._server.server_state.connections)


@pytest.mark.parametrize("said", [b"", b"GET / HTTP/1.1\r\nHost: x\r\n", b"GET /prepared HTTP/1.1\r\n"])
def test_connections_that_send_no_request_are_closed(
    serving: ReviewServer, client: Client, monkeypatch: pytest.MonkeyPatch, said: bytes
) -> None:
    monkeypatch.setattr(requests, "REQUEST_SECONDS", 0.5)
    address = urlsplit(serving.address)
    held = [socket.create_connection((address.hostname, address.port), timeout=120) for _ in range(5)]
    try:
        for each in held:
            each.sendall(said)
        assert [each.recv(1) for each in held] == [b""] * 5
    except ConnectionResetError:
        pass  # closed as well
    finally:
        for each in held:
            each.close()
    assert client.ask("/prepared").status == 200


def test_silent_connections_make_room_for_those_that_ask(
    serving: ReviewServer, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests, "most_connections", lambda: 8)
    address = urlsplit(serving.address)
    held = [socket.create_connection((address.hostname, address.port), timeout=120) for _ in range(30)]
    try:
        assert until(lambda: 0 < open_connections(serving) <= 8)
        assert client.ask("/prepared").status == 200
        assert open_connections(serving) <= 9
    finally:
        for each in held:
            each.close()


def test_a_client_that_goes_away_within_a_form_leaves_no_traceback(
    serving: ReviewServer, client: Client, capfd: pytest.CaptureFixture[str]
) -> None:
    address = urlsplit(serving.address)
    head = (
        f"POST /decide HTTP/1.1\r\nHost: {client.host}\r\nCookie: {client.cookie}\r\nOrigin: http://{client.host}\r\n"
        "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\nverdict=skip"
    )
    with socket.create_connection((address.hostname, address.port), timeout=120) as away:
        away.sendall(head.encode())
        assert until(lambda: open_connections(serving) > 0)
        time.sleep(0.3)
    assert until(lambda: open_connections(serving) == 0)
    assert client.ask("/prepared").status == 200
    assert "Traceback" not in capfd.readouterr().err


def test_decisions_are_kept_in_a_file_whatever_it_is_called(
    links: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    session = serve.open_session(links, Path(":memory:"))
    session.log.decide(ReviewVerdict.SKIP, "Ada", None, 0)
    session.log.close()
    assert read_decisions(tmp_path / ":memory:").of("Ada").status == "skipped"


SPOILT = (
    "INSERT INTO decisions (at, verdict, source) VALUES ('now', 'maybe', 'Ada')",
    "INSERT INTO decisions (at, verdict, source) VALUES ('now', 'skip', x'00ff')",
    "INSERT INTO decisions (at, verdict, source, target) VALUES ('now', 'accept', 'Ada', x'ff')",
    "ALTER TABLE decisions ADD COLUMN more TEXT",
    "ALTER TABLE decisions RENAME COLUMN source TO target_",
    "CREATE VIEW more AS SELECT 1",
    "CREATE TRIGGER more AFTER INSERT ON decisions BEGIN SELECT 1; END",
    "DROP TABLE decisions",
)


@pytest.mark.parametrize("change", SPOILT)
def test_a_spoilt_file_of_decisions_is_refused(tmp_path: Path, change: str) -> None:
    path = tmp_path / "decisions.db"
    log = DecisionLog.open(path)
    log.decide(ReviewVerdict.SKIP, "Ada", None, 0)
    log.close()
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA ignore_check_constraints = ON")
        other.execute(change)
    with pytest.raises(InputError, match=r"decisions\.db: "):
        read_decisions(path)
