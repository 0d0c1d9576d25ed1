"""Decisions of a reviewer: an append-only SQLite file, in which every decision is one durable transaction.

Nothing is ever changed or deleted: an undo is a row of its own. There are no files beside it: a copy is complete.
Entities are named as in the input files, so decisions outlive the alignment they were made on.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Final, Literal, Self

from dualmatch.errors import DualMatchError, InputError, OutputError

_MAGIC: Final = b"SQLite format 3\x00"
_APPLICATION: Final = 0x64756D61  # "duma"
_FORMAT: Final = 1
_SCHEMA: Final = """
CREATE TABLE decisions (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  at TEXT NOT NULL,
  verdict TEXT NOT NULL CHECK (verdict IN ('accept', 'reject', 'none', 'skip', 'undo')),
  source TEXT NOT NULL,
  target TEXT CHECK ((verdict IN ('accept', 'reject')) = (target IS NOT NULL)),
  undoes INTEGER UNIQUE REFERENCES decisions (id) CHECK ((verdict = 'undo') = (undoes IS NOT NULL))
);
CREATE TRIGGER kept BEFORE UPDATE ON decisions BEGIN SELECT RAISE(ABORT, 'decisions are append-only'); END;
CREATE TRIGGER all_kept BEFORE DELETE ON decisions BEGIN SELECT RAISE(ABORT, 'decisions are append-only'); END;
"""


def _plain(statement: str) -> str:
    return " ".join(statement.split()).removesuffix(";")


_STATEMENTS: Final = {_plain(each) for each in _SCHEMA.strip().split(";\n")}
_SQLITES_OWN: Final = {"CREATE TABLE sqlite_sequence(name,seq)"}
_COLUMNS: Final = "id, at, verdict, source, target, undoes"
_TYPES: Final = {(int, str, str, str, target, undoes) for target in (str, type(None)) for undoes in (int, type(None))}
_PATIENCE: Final = 2.0  # seconds to wait for a file that another program holds
Status = Literal["open", "accepted", "rejected", "no match", "skipped"]


class Verdict(StrEnum):
    """What a reviewer can decide: accept and reject concern a pair, the others a source entity."""

    ACCEPT = "accept"
    REJECT = "reject"
    NO_MATCH = "none"
    SKIP = "skip"
    UNDO = "undo"


class ConflictError(DualMatchError):
    """The decision rests on what is no longer so, for instance because of another tab."""


class BusyError(DualMatchError):
    """Another program holds the file for longer than a reviewer should wait."""


@dataclass(frozen=True)
class Decision:
    """A row of the file."""

    id: int
    at: str
    verdict: Verdict
    source: str
    target: str | None
    undoes: int | None


@dataclass(frozen=True)
class EntityDecision:
    """What was decided about one source entity."""

    partner: str | None = None  # accepted
    alone: bool = False  # it has no match
    rejected: frozenset[str] = frozenset()
    skipped: bool = False  # its last decision was to skip it
    last: int = 0  # the number of the last row about it, undone or not

    @property
    def status(self) -> Status:
        if self.partner is not None:
            return "accepted"
        if self.alone:
            return "no match"
        if self.skipped:
            return "skipped"
        return "rejected" if self.rejected else "open"


@dataclass(eq=False)
class DecisionState:
    """What holds after a series of decisions, some of them undone; rows are added in their order.

    Examples
    --------
    >>> now = DecisionState()
    >>> now.add(1, "accept", "Ada", "Q7", None)
    >>> now.add(2, "none", "Bob", None, None)
    >>> now.add(3, "undo", "Bob", None, 2)
    >>> now.accepted, now.forbidden, now.of("Bob").status
    ([('Ada', 'Q7')], [], 'open')
    """

    last: int = 0
    holder: dict[str, str] = field(default_factory=dict)
    _rows: dict[str, list[tuple[int, str, str | None]]] = field(default_factory=dict)
    _entities: dict[str, EntityDecision] = field(default_factory=dict)
    _live: dict[int, str] = field(default_factory=dict)

    def add(self, number: int, verdict: str, source: str, target: str | None, undoes: int | None) -> None:
        """Take one more row in."""
        self._rows.setdefault(source, []).append((number, verdict, target))
        if undoes is None:
            self._live[number] = source
        else:
            self._live.pop(undoes, None)
        before, after = self.of(source), self._replayed(source)
        if before.partner is not None:
            self.holder.pop(before.partner, None)
        if after.partner is not None:
            self.holder[after.partner] = source
        self._entities[source] = after
        self.last = number

    def _replayed(self, source: str) -> EntityDecision:
        partner, alone, skipped, rejected = None, False, False, set[str]()
        for number, verdict, target in self._rows[source]:
            if number not in self._live:
                continue
            skipped = verdict == "skip"
            if verdict == "accept" and target is not None:
                partner, alone = target, False
                rejected.discard(target)
            elif verdict == "reject" and target is not None:
                rejected.add(target)
                partner = None if partner == target else partner
            elif verdict == "none":
                partner, alone = None, True
        return EntityDecision(partner, alone, frozenset(rejected), skipped, self._rows[source][-1][0])

    def of(self, source: str) -> EntityDecision:
        return self._entities.get(source, EntityDecision())

    @property
    def last_live(self) -> tuple[int, str] | None:
        """The last decision that was not undone: its number, and the source it is about."""
        return next(reversed(self._live.items()), None)

    @property
    def decided(self) -> dict[str, EntityDecision]:
        """Sources about which anything was decided."""
        return {source: each for source, each in self._entities.items() if each.status != "open"}

    @property
    def accepted(self) -> list[tuple[str, str]]:
        """Accepted pairs, by name."""
        return sorted((source, each.partner) for source, each in self._entities.items() if each.partner is not None)

    @property
    def forbidden(self) -> list[tuple[str, str | None]]:
        """Rejected pairs, and sources without a match as pairs with None."""
        pairs: list[tuple[str, str | None]] = []
        for source, each in sorted(self._entities.items()):
            pairs += [(source, target) for target in sorted(each.rejected)]
            if each.alone:
                pairs.append((source, None))
        return pairs


class DecisionLog:
    """The file, open; safe to use from several threads, and beside other processes that have it open."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection, self.path = connection, path
        self._lock = threading.RLock()
        self._state = DecisionState()

    @classmethod
    def open(cls, path: Path, create: bool = True) -> Self:
        """Open a file, or make it; an `InputError` where it is another file, or cannot be opened."""
        if path.exists() and not is_decisions(path) and path.stat().st_size:
            raise InputError(f"{path}: is not a file of decisions; give another name")
        if not create and not path.exists():
            raise InputError(f"{path}: no such file; dualmatch review makes it")
        with ExitStack() as stack:
            try:
                # An absolute path: SQLite takes :memory: and the empty name for no file at all.
                whole = path.absolute()
                connection = sqlite3.connect(whole, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
                stack.callback(connection.close)
                connection.execute("PRAGMA trusted_schema = OFF")  # somebody else may have made the file
                connection.execute("PRAGMA journal_mode = DELETE")
                connection.execute("PRAGMA synchronous = EXTRA")  # as FULL, and the journal's end reaches the disk, too
                _prepare(connection)
            except sqlite3.Error as error:
                why = f"cannot be used as a file of decisions ({error}); give another name"
                raise InputError(f"{path}: {why}") from None
            stack.pop_all()
            return cls(connection, path)

    def close(self) -> None:
        self._connection.close()

    @property
    def state(self) -> DecisionState:
        """What holds after all decisions so far, including those of other processes."""
        with self._held():
            for row in self._rows(self._state.last):
                self._state.add(row.id, row.verdict, row.source, row.target, row.undoes)
            return self._state

    @property
    def last_known(self) -> DecisionState:
        """The state when it was last read; the file is not looked at."""
        return self._state

    @contextmanager
    def _held(self) -> Iterator[None]:
        """Keep the connection to this thread; others that wait for a locked file must not queue up behind it."""
        if not self._lock.acquire(timeout=_PATIENCE):
            raise self._busy()
        try:
            yield
        finally:
            self._lock.release()

    def _busy(self) -> BusyError:
        return BusyError(f"{self.path}: another program holds the file; nothing was decided, so try again in a moment")

    def decide(self, verdict: Verdict, source: str, target: str | None, seen: int) -> int:
        """Add a decision; it is on the disk when this returns.

        `seen` is the last decision about this source that the reviewer knew of, 0 for none. A `ConflictError` where
        there is a later one, or the target is another's partner.
        """
        with self._transaction():
            now = self.state
            if now.of(source).last != seen:
                raise ConflictError(f"{source!r} was decided elsewhere in the meantime; look again")
            holder = now.holder.get(target) if verdict is Verdict.ACCEPT and target is not None else None
            if holder is not None and holder != source:
                problem = f"{target!r} was accepted for {holder!r} already"
                raise ConflictError(f"{problem}; decide {holder!r} otherwise first")
            return self._insert(verdict, source, target, None)

    def undo(self, seen: int) -> int:
        """Take the last decision back; `seen` is the one that the reviewer means."""
        with self._transaction():
            last = self.state.last_live
            if last is None:
                raise ConflictError("there is nothing to undo")
            if last[0] != seen:
                raise ConflictError("there is a later decision by now; look again before you undo it")
            return self._insert(Verdict.UNDO, last[1], None, seen)

    def live(self) -> list[Decision]:
        """All decisions that were not undone, in their order."""
        with self._held():
            rows = list(self._rows(0))
        undone = {row.undoes for row in rows}
        return [row for row in rows if row.verdict is not Verdict.UNDO and row.id not in undone]

    def _rows(self, after: int) -> Iterator[Decision]:
        try:
            rows = self._connection.execute(f"SELECT {_COLUMNS} FROM decisions WHERE id > ? ORDER BY id", (after,))
            found = rows.fetchall()
        except sqlite3.Error as error:
            if _is_busy(error):
                raise self._busy() from None
            raise InputError(f"{self.path}: cannot be read ({error}); restore it from an intact copy") from None
        for row in found:
            if tuple(map(type, row)) not in _TYPES or row[2] not in [*Verdict]:
                raise InputError(f"{self.path}: decision {row[0]!r} is damaged; restore it from an intact copy")
            yield Decision(row[0], row[1], Verdict(row[2]), *row[3:])

    def _insert(self, verdict: Verdict, source: str, target: str | None, undoes: int | None) -> int:
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        row = self._connection.execute(
            "INSERT INTO decisions (at, verdict, source, target, undoes) VALUES (?, ?, ?, ?, ?)",
            (at, verdict.value, source, target, undoes),
        )
        return int(row.lastrowid or 0)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Keep other writers out, so that a decision rests on what was read in it."""
        with self._held():
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                yield
                self._connection.execute("COMMIT")
            except sqlite3.Error as error:
                if _is_busy(error):
                    raise self._busy() from None
                raise OutputError(f"{self.path}: cannot be written ({error}); nothing was decided") from None
            finally:
                if self._connection.in_transaction:
                    with suppress(sqlite3.Error):  # it must not hide what went wrong first
                        self._connection.execute("ROLLBACK")


def _prepare(connection: sqlite3.Connection) -> None:
    if _is_ours(connection):
        return
    connection.execute("BEGIN IMMEDIATE")
    if not _is_ours(connection):  # another process may have been faster
        for statement in _SCHEMA.strip().split(";\n"):
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {_APPLICATION}")
        connection.execute(f"PRAGMA user_version = {_FORMAT}")
    connection.execute("COMMIT")


def _is_busy(error: sqlite3.Error) -> bool:
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _is_ours(connection: sqlite3.Connection) -> bool:
    """Whether the file holds decisions already; an error where it holds something else."""
    marks = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")]
    if marks == [_APPLICATION, _FORMAT]:
        made = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
        if not {_plain(str(each[0])) for each in made} <= _STATEMENTS | _SQLITES_OWN:
            raise sqlite3.DatabaseError("its tables are not those of decisions")
        return True
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if tables or any(marks):
        connection.close()
        raise sqlite3.DatabaseError("it holds something else, or is of another version of dualmatch")
    return False


def is_decisions(path: Path) -> bool:
    """Whether a file is a database, as decisions are; a file of pairs is text."""
    try:
        with path.open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


def read_decisions(path: Path) -> DecisionState:
    """What holds after all decisions of a file."""
    with closing(DecisionLog.open(path, create=False)) as log:
        return log.state
