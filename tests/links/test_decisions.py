"""Decisions: append-only, durable, one at a time, whoever else writes."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dualmatch import InputError, OutputError
from dualmatch.links.decisions import ConflictError, DecisionLog, DecisionState, Verdict, is_decisions, read_decisions


@pytest.fixture
def log(tmp_path: Path) -> Iterator[DecisionLog]:
    with closing(DecisionLog.open(tmp_path / "decisions.db")) as log:
        yield log


def test_every_verdict_has_its_say(log: DecisionLog) -> None:
    first = log.decide(Verdict.ACCEPT, "Ada", "Q1", 0)
    log.decide(Verdict.REJECT, "Bob", "Q2", 0)
    log.decide(Verdict.NO_MATCH, "Cleo", None, 0)
    log.decide(Verdict.SKIP, "Dora", None, 0)
    now = log.state
    assert [now.of(name).status for name in ("Ada", "Bob", "Cleo", "Dora", "Eve")] == [
        "accepted",
        "rejected",
        "no match",
        "skipped",
        "open",
    ]
    assert now.accepted == [("Ada", "Q1")]
    assert now.forbidden == [("Bob", "Q2"), ("Cleo", None)]
    log.decide(Verdict.REJECT, "Ada", "Q1", first)
    assert log.state.of("Ada").status == "rejected"
    assert log.state.holder == {}
    log.close()
    again = read_decisions(log.path)
    assert again.forbidden == [("Ada", "Q1"), ("Bob", "Q2"), ("Cleo", None)]
    assert again.accepted == []


def test_undo_takes_back_the_last_and_only_the_last(log: DecisionLog) -> None:
    first = log.decide(Verdict.ACCEPT, "Ada", "Q1", 0)
    second = log.decide(Verdict.NO_MATCH, "Ada", None, first)
    with pytest.raises(ConflictError, match="later decision"):
        log.undo(first)
    third = log.undo(second)
    assert log.state.of("Ada").partner == "Q1"
    assert log.state.of("Ada").last == third
    log.undo(first)
    assert log.state.of("Ada").status == "open"
    with pytest.raises(ConflictError, match="nothing to undo"):
        log.undo(first)
    assert log.live() == []


@pytest.fixture
def other(log: DecisionLog) -> Iterator[DecisionLog]:
    """The same file, open once more."""
    with closing(DecisionLog.open(log.path)) as other:
        yield other


def test_what_another_tab_did_is_noticed(log: DecisionLog, other: DecisionLog) -> None:
    first = log.decide(Verdict.ACCEPT, "Ada", "Q1", 0)
    with pytest.raises(ConflictError, match="'Ada' was decided elsewhere"):
        other.decide(Verdict.REJECT, "Ada", "Q1", 0)
    with pytest.raises(ConflictError, match="'Q1' was accepted for 'Ada' already"):
        other.decide(Verdict.ACCEPT, "Bob", "Q1", 0)
    other.undo(first)
    log.decide(Verdict.ACCEPT, "Bob", "Q1", 0)
    assert other.state.holder == {"Q1": "Bob"}
    assert [row.verdict for row in other.live()] == ["accept"]


def test_nothing_can_be_changed_or_deleted(log: DecisionLog) -> None:
    log.decide(Verdict.ACCEPT, "Ada", "Q1", 0)
    raw = sqlite3.connect(log.path)
    for statement in ("UPDATE decisions SET target = 'Q2'", "DELETE FROM decisions"):
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            raw.execute(statement)
    for row in ("'x', 'perhaps', 'a', NULL", "'x', 'accept', 'a', NULL", "'x', 'none', 'a', 'b'"):
        with pytest.raises(sqlite3.IntegrityError):
            raw.execute(f"INSERT INTO decisions (at, verdict, source, target) VALUES ({row})")
    raw.close()


def test_a_disk_that_takes_nothing_is_told(log: DecisionLog) -> None:
    log.decide(Verdict.SKIP, "Ada", None, 0)
    for limit in ("query_only = ON", "max_page_count = 1"):
        log._connection.execute(f"PRAGMA {limit}")
        with pytest.raises(OutputError, match=r"decisions\.db: cannot be written \(.*nothing was decided"):
            log.decide(Verdict.ACCEPT, "Bob", "Q" * 100_000, 0)
        log._connection.execute("PRAGMA query_only = OFF")
    assert [row.source for row in log.live()] == ["Ada"]
    log._connection.execute("PRAGMA max_page_count = 1000000")
    log.decide(Verdict.ACCEPT, "Bob", "Q2", 0)


def test_many_threads_and_one_winner(log: DecisionLog) -> None:
    outcomes: list[str] = []

    def click(number: int) -> None:
        try:
            log.decide(Verdict.ACCEPT, "Ada", f"Q{number}", 0)
            outcomes.append("decided")
        except ConflictError:
            outcomes.append("refused")

    threads = [threading.Thread(target=click, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["decided", *["refused"] * 7]
    assert len(log.live()) == 1


def _accept(path: Path, name: str) -> None:
    with closing(DecisionLog.open(path)) as log:
        for number in range(10):
            log.decide(Verdict.ACCEPT, f"{name}{number}", f"Q{name}{number}", 0)


def test_two_processes_lose_nothing(log: DecisionLog) -> None:
    start = multiprocessing.get_context("spawn")
    worker = start.Process(target=_accept, args=(log.path, "there"))
    worker.start()
    _accept(log.path, "here")
    worker.join()
    assert worker.exitcode == 0
    assert len(log.state.accepted) == 20


def test_what_was_answered_survives_a_kill(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from dualmatch.links.decisions import *\n"
        "log = DecisionLog.open(Path(sys.argv[1]))\n"
        "for n in range(10**6):\n"
        "    log.decide(Verdict.ACCEPT, f'e{n}', f'Q{n}', 0); print(n, flush=True)\n"
    )
    path = tmp_path / "decisions.db"
    process = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for _ in range(20):
        answered = int(process.stdout.readline())
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert set(range(answered + 1)) <= {int(source[1:]) for source, _ in read_decisions(path).accepted}


@pytest.mark.parametrize("content", [b"source\ttarget\n", b"SQLite format 3\x00" + b"\xff" * 200])
def test_another_file_is_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "mine.db"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"mine\.db: .*file of decisions"):
        DecisionLog.open(path)
    assert path.read_bytes() == content


def test_another_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "mine.db"
    raw = sqlite3.connect(path)
    raw.execute("CREATE TABLE mine (x)")
    raw.close()
    assert is_decisions(path)
    before = path.read_bytes()
    with pytest.raises(InputError, match="holds something else"):
        DecisionLog.open(path)
    assert path.read_bytes() == before
    with pytest.raises(InputError, match="no such file"):
        read_decisions(tmp_path / "none.db")
    with pytest.raises(InputError, match="cannot be used"):
        DecisionLog.open(tmp_path / "no" / "such.db")


ROWS = st.lists(
    st.tuples(st.sampled_from(["accept", "reject", "none", "skip", "undo"]), st.integers(0, 3)), max_size=25
)


@given(ROWS)
@settings(max_examples=200)
def test_undone_decisions_are_as_if_never_made(rows: list[tuple[str, int]]) -> None:
    """Taking rows in one by one, undos and all, ends where the rows that stand would end by themselves."""
    one_by_one, kept = DecisionState(), []
    for number, (verdict, who) in enumerate(rows, start=1):
        if verdict == "undo":
            last = one_by_one.last_live
            if last is not None:
                one_by_one.add(number, "undo", last[1], None, last[0])
                kept.pop()
            continue
        target = f"Q{who % 2}" if verdict in ("accept", "reject") else None
        if verdict == "accept" and one_by_one.holder.get(target or "", f"e{who}") != f"e{who}":
            continue
        one_by_one.add(number, verdict, f"e{who}", target, None)
        kept.append((number, verdict, f"e{who}", target))
    afresh = DecisionState()
    for number, verdict, source, target in kept:
        afresh.add(number, verdict, source, target, None)
    assert one_by_one.accepted == afresh.accepted
    assert one_by_one.forbidden == afresh.forbidden
    assert one_by_one.holder == afresh.holder
    statuses = {source: each.status for source, each in one_by_one.decided.items()}
    assert statuses == {source: each.status for source, each in afresh.decided.items()}
