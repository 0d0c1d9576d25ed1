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
from dualmatch.links.decisions import ConflictError, DecisionLog, is_decisions, read_decisions
from dualmatch.links.opinions import Decision, DecisionState, ReviewVerdict


@pytest.fixture
def log(tmp_path: Path) -> Iterator[DecisionLog]:
    with closing(DecisionLog.open(tmp_path / "decisions.db")) as log:
        yield log


def test_every_verdict_has_its_say(log: DecisionLog) -> None:
    first = log.decide(ReviewVerdict.ACCEPT, "Ada", "Q1", 0)
    log.decide(ReviewVerdict.REJECT, "Bob", "Q2", 0)
    log.decide(ReviewVerdict.NO_MATCH, "Cleo", None, 0)
    log.decide(ReviewVerdict.SKIP, "Dora", None, 0)
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
    log.decide(ReviewVerdict.REJECT, "Ada", "Q1", first)
    assert log.state.of("Ada").status == "rejected"
    assert log.state.holder == {}
    log.close()
    again = read_decisions(log.path)
    assert again.forbidden == [("Ada", "Q1"), ("Bob", "Q2"), ("Cleo", None)]
    assert again.accepted == []


def test_undo_takes_back_any_decision_once(log: DecisionLog) -> None:
    first = log.decide(ReviewVerdict.ACCEPT, "Ada", "Q1", 0)
    second = log.decide(ReviewVerdict.NO_MATCH, "Ada", None, first)
    third = log.decide(ReviewVerdict.SKIP, "Bob", None, 0)
    log.undo(second)
    assert log.state.of("Ada").partner == "Q1"
    assert log.state.of("Ada").last == third + 1
    assert log.state.of("Bob").status == "skipped"
    log.undo(first)
    assert log.state.of("Ada").status == "open"
    for number in (first, second, 99):
        with pytest.raises(ConflictError, match="undone already"):
            log.undo(number)
    assert [row.id for row in log.live()] == [third]


def test_an_undo_gives_no_target_to_two(log: DecisionLog) -> None:
    first = log.decide(ReviewVerdict.ACCEPT, "Ada", "Q1", 0)
    second = log.decide(ReviewVerdict.NO_MATCH, "Ada", None, first)
    log.decide(ReviewVerdict.ACCEPT, "Bob", "Q1", 0)
    with pytest.raises(ConflictError, match="'Q1' was accepted for 'Bob' already"):
        log.undo(second)
    assert log.state.accepted == [("Bob", "Q1")]


def test_many_at_once_and_back(log: DecisionLog) -> None:
    log.decide(ReviewVerdict.NO_MATCH, "Ada", None, 0)
    held = log.decide(ReviewVerdict.ACCEPT, "Bob", "Q2", 0)
    pairs = [("Ada", "Q1"), ("Cleo", "Q3"), ("Dora", "Q2"), ("Eve", "Q5"), ("Fay", "Q5")]
    with pytest.raises(ConflictError, match="decisions have changed in the meantime"):
        log.accept_all(pairs, held - 1)
    assert log.accept_all(pairs, held, "from 0.9") == 2
    assert log.state.accepted == [("Bob", "Q2"), ("Cleo", "Q3"), ("Eve", "Q5")]
    rows = log.live()[-2:]
    assert {row.note for row in rows} == {"from 0.9"}
    assert rows[0].batch == rows[1].batch is not None
    log.undo(rows[1].id)
    assert log.state.accepted == [("Bob", "Q2")]
    assert log.accept_all(pairs, log.state.last) == 2


def reviewers(path: Path, *names: str) -> list[DecisionLog]:
    return [DecisionLog.open(path, reviewer=name) for name in names]


def test_who_decided_and_why_is_kept(tmp_path: Path) -> None:
    (log,) = reviewers(tmp_path / "d.db", "ada")
    log.decide(ReviewVerdict.ACCEPT, "Ada", "Q1", 0, "  the same birthday ")
    (row,) = log.live()
    assert (row.reviewer, row.note, row.batch, row.settles) == ("ada", "the same birthday", None, False)
    with pytest.raises(InputError, match="--reviewer"):
        reviewers(tmp_path / "d.db", "x" * 81)


@pytest.mark.parametrize(
    ("one", "other", "status"),
    [
        (("accept", "Q1"), ("accept", "Q1"), "accepted"),
        (("accept", "Q1"), ("reject", "Q2"), "accepted"),
        (("accept", "Q1"), ("skip", None), "accepted"),
        (("reject", "Q1"), ("none", None), "no match"),
        (("reject", "Q1"), ("reject", "Q2"), "rejected"),
        (("accept", "Q1"), ("accept", "Q2"), "disputed"),
        (("accept", "Q1"), ("reject", "Q1"), "disputed"),
        (("accept", "Q1"), ("none", None), "disputed"),
    ],
)
def test_reviewers_agree_or_differ(
    tmp_path: Path, one: tuple[str, str | None], other: tuple[str, str | None], status: str
) -> None:
    for number, order in enumerate(((one, other), (other, one))):
        ada, bob = reviewers(tmp_path / f"{number}.db", "ada", "bob")
        first = ada.decide(ReviewVerdict(order[0][0]), "Ada", order[0][1], 0)
        bob.decide(ReviewVerdict(order[1][0]), "Ada", order[1][1], first)
        now = ada.state
        assert now.of("Ada").status == status
        assert [*now.disputed] == (["Ada"] if status == "disputed" else [])
        if status == "disputed":
            assert now.accepted == now.forbidden == []
            assert {*now.of("Ada").opinions} == {"ada", "bob"}


def test_a_dispute_is_settled_by_who_decides_on_it(tmp_path: Path) -> None:
    ada, bob, cleo = reviewers(tmp_path / "d.db", "ada", "bob", "cleo")
    last = bob.decide(ReviewVerdict.NO_MATCH, "Ada", None, ada.decide(ReviewVerdict.ACCEPT, "Ada", "Q1", 0))
    last = cleo.decide(ReviewVerdict.SKIP, "Ada", None, last)
    assert ada.state.of("Ada").status == "disputed"
    settled = cleo.decide(ReviewVerdict.ACCEPT, "Ada", "Q2", last)
    assert ada.state.accepted == [("Ada", "Q2")]
    again = ada.decide(ReviewVerdict.ACCEPT, "Ada", "Q1", settled)  # whoever is not content can dispute it again
    assert bob.state.of("Ada").status == "disputed"
    ada.undo(again)
    assert ada.state.last_of("cleo") == cleo.live()[-1]
    ada.undo(settled)
    assert ada.state.of("Ada").status == "disputed"


def test_a_target_that_a_dispute_set_free_is_not_given_back_twice(tmp_path: Path) -> None:
    ada, bob = reviewers(tmp_path / "d.db", "ada", "bob")
    other = bob.decide(ReviewVerdict.NO_MATCH, "Ada", None, ada.decide(ReviewVerdict.ACCEPT, "Ada", "Q1", 0))
    ada.decide(ReviewVerdict.ACCEPT, "Bob", "Q1", 0)
    with pytest.raises(ConflictError, match="'Q1' was accepted for 'Bob' already"):
        bob.undo(other)


def test_a_file_of_0_1_0_is_read_as_it_is_and_continued(tmp_path: Path) -> None:
    kept = Path(__file__).parents[1] / "golden" / "0.1.0" / "links.tsv.decisions.db"
    path = tmp_path / "old.db"
    path.write_bytes(kept.read_bytes())
    before = read_decisions(path)
    assert path.read_bytes() == kept.read_bytes()  # looking changes nothing
    assert before.decided
    (ada,) = reviewers(path, "ada")
    assert ada.state.accepted == before.accepted
    assert ada.state.forbidden == before.forbidden
    assert all(row.reviewer is None for row in ada.live())
    source = next(iter(before.decided))
    ada.decide(ReviewVerdict.ACCEPT, source, "new partner", ada.state.of(source).last)
    assert ada.state.of(source).status == "accepted"  # whoever continues the file disputes nobody
    assert {*ada.state.of(source).opinions} == {"ada"}


def test_decisions_of_others_are_taken_in_once(tmp_path: Path) -> None:
    (ada,), (bob,) = reviewers(tmp_path / "ada.db", "ada"), reviewers(tmp_path / "bob.db", "bob")
    ada.decide(ReviewVerdict.ACCEPT, "Ada", "Q1", 0)
    ada.decide(ReviewVerdict.ACCEPT, "Bob", "Q2", 0)
    bob.decide(ReviewVerdict.NO_MATCH, "Ada", None, 0)
    undone = bob.decide(ReviewVerdict.SKIP, "Bob", None, 0)
    bob.undo(undone)
    bob.decide(ReviewVerdict.ACCEPT, "Cleo", "Q2", 0)
    bob.accept_all([("Dora", "Q4"), ("Eve", "Q5")], bob.state.last)
    assert ada.add_from(bob, "bob.db") == (5, 1)  # Q2 is Bob's
    now = ada.state
    assert now.of("Ada").status == "disputed"
    assert now.of("Bob").status == "accepted"
    assert now.of("Cleo").status == "open"
    assert ada.add_from(bob, "bob.db")[0] == 0
    assert read_decisions(ada.path).accepted == now.accepted == [("Bob", "Q2"), ("Dora", "Q4"), ("Eve", "Q5")]
    ada.undo(ada.live()[-1].id)
    assert ada.state.accepted == [("Bob", "Q2")]
    assert ada.add_from(bob, "bob.db")[0] == 0  # what was undone here stays undone


def test_what_nobody_looked_at_is_known(tmp_path: Path) -> None:
    (ada,), (bob,) = reviewers(tmp_path / "ada.db", "ada"), reviewers(tmp_path / "bob.db", "bob")
    bob.accept_all([("Dora", "Q4"), ("Eve", "Q5"), ("Hal", "Q8")], 0)
    bob.accept_all([("Finn", "Q6"), ("Gus", "Q7")], 3, whole=True)
    ada.decide(ReviewVerdict.ACCEPT, "Eve", "Q5", 0)
    ada.add_from(bob, "bob.db")
    unseen = {source for source, _ in ada.state.accepted if ada.state.of(source).unseen}
    assert unseen == {"Dora", "Hal"}  # Ada has seen Eve's, and Bob looked at two together
    bob.decide(ReviewVerdict.REJECT, "Hal", "Q8", 3)
    bob.decide(ReviewVerdict.ACCEPT, "Dora", "Q4", 1)
    assert not any(bob.state.of(source).unseen for source in ("Hal", "Dora"))
    ada.undo(ada.live()[-1].id)
    assert [source for source, _ in ada.state.accepted] == ["Dora", "Eve", "Hal"]  # a batch of its own


@pytest.fixture
def other(log: DecisionLog) -> Iterator[DecisionLog]:
    """The same file, open once more."""
    with closing(DecisionLog.open(log.path)) as other:
        yield other


def test_what_another_tab_did_is_noticed(log: DecisionLog, other: DecisionLog) -> None:
    first = log.decide(ReviewVerdict.ACCEPT, "Ada", "Q1", 0)
    with pytest.raises(ConflictError, match="'Ada' was decided elsewhere"):
        other.decide(ReviewVerdict.REJECT, "Ada", "Q1", 0)
    with pytest.raises(ConflictError, match="'Q1' was accepted for 'Ada' already"):
        other.decide(ReviewVerdict.ACCEPT, "Bob", "Q1", 0)
    other.undo(first)
    log.decide(ReviewVerdict.ACCEPT, "Bob", "Q1", 0)
    assert other.state.holder == {"Q1": "Bob"}
    assert [row.verdict for row in other.live()] == ["accept"]


def test_nothing_can_be_changed_or_deleted(log: DecisionLog) -> None:
    log.decide(ReviewVerdict.ACCEPT, "Ada", "Q1", 0)
    raw = sqlite3.connect(log.path)
    for statement in ("UPDATE decisions SET target = 'Q2'", "DELETE FROM decisions"):
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            raw.execute(statement)
    for row in ("'x', 'perhaps', 'a', NULL", "'x', 'accept', 'a', NULL", "'x', 'none', 'a', 'b'"):
        with pytest.raises(sqlite3.IntegrityError):
            raw.execute(f"INSERT INTO decisions (at, verdict, source, target) VALUES ({row})")
    raw.close()


def test_a_disk_that_takes_nothing_is_told(log: DecisionLog) -> None:
    log.decide(ReviewVerdict.SKIP, "Ada", None, 0)
    for limit in ("query_only = ON", "max_page_count = 1"):
        log._connection.execute(f"PRAGMA {limit}")
        with pytest.raises(OutputError, match=r"decisions\.db: cannot be written \(.*nothing was decided"):
            log.decide(ReviewVerdict.ACCEPT, "Bob", "Q" * 100_000, 0)
        log._connection.execute("PRAGMA query_only = OFF")
    assert [row.source for row in log.live()] == ["Ada"]
    log._connection.execute("PRAGMA max_page_count = 1000000")
    log.decide(ReviewVerdict.ACCEPT, "Bob", "Q2", 0)


def test_many_threads_and_one_winner(log: DecisionLog) -> None:
    outcomes: list[str] = []

    def click(number: int) -> None:
        try:
            log.decide(ReviewVerdict.ACCEPT, "Ada", f"Q{number}", 0)
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
            log.decide(ReviewVerdict.ACCEPT, f"{name}{number}", f"Q{name}{number}", 0)


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
        "    log.decide(ReviewVerdict.ACCEPT, f'e{n}', f'Q{n}', 0); print(n, flush=True)\n"
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
            last = one_by_one.last_of("")
            if last is not None:
                one_by_one.add(Decision(number, "", ReviewVerdict.UNDO, last.source, undoes=last.id))
                kept.pop()
            continue
        target = f"Q{who % 2}" if verdict in ("accept", "reject") else None
        if verdict == "accept" and one_by_one.holder.get(target or "", f"e{who}") != f"e{who}":
            continue
        kept.append(Decision(number, "", ReviewVerdict(verdict), f"e{who}", target))
        one_by_one.add(kept[-1])
    afresh = DecisionState()
    for row in kept:
        afresh.add(row)
    assert one_by_one.accepted == afresh.accepted
    assert one_by_one.forbidden == afresh.forbidden
    assert one_by_one.holder == afresh.holder
    statuses = {source: each.status for source, each in one_by_one.decided.items()}
    assert statuses == {source: each.status for source, each in afresh.decided.items()}


def test_a_schema_that_is_no_text_is_refused_in_words(tmp_path: Path) -> None:
    """SQLite quotes it in its message (found by benchmarks/fuzz.py)."""
    path = tmp_path / "decisions.db"
    DecisionLog.open(path).close()
    whole = path.read_bytes()
    assert b"CREATE TABLE decisions" in whole
    path.write_bytes(whole.replace(b"CREATE TABLE decisions", b"CR\xffATE TABLE decisions"))
    with pytest.raises(InputError, match="cannot be used as a file of decisions"):
        DecisionLog.open(path, create=False)
