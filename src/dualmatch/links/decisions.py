"""Decisions of a reviewer: an append-only SQLite file, in which every decision is one durable transaction.

Nothing is ever changed or deleted: an undo is a row of its own. There are no files beside it: a copy is complete.
Entities are named as in the input files, so decisions outlive the alignment they were made on.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Final, Self

from dualmatch.errors import DualMatchError, InputError, OutputError
from dualmatch.links.opinions import Decision, DecisionState, ReviewVerdict

_MAGIC: Final = b"SQLite format 3\x00"
_APPLICATION: Final = 0x64756D61  # "duma"
_FORMAT: Final = 2
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

_SINCE_2: Final = {"reviewer": str, "note": str, "batch": int, "settles": int}
"""Columns that format 2 adds to the table of 0.1.0."""
_MAKING: Final = {
    1: _SCHEMA.strip().split(";\n"),
    2: [
        f"ALTER TABLE decisions ADD COLUMN {name} {'TEXT' if kind is str else 'INTEGER'}"
        for name, kind in _SINCE_2.items()
    ],
}
"""What makes each format out of the one before it."""
_COLUMNS: Final = {"id": int, "at": str, "verdict": str, "source": str, "target": str, "undoes": int, **_SINCE_2}
_OPTIONAL: Final = {"target", "undoes", *_SINCE_2}
_INSERT: Final = f"INSERT INTO decisions ({', '.join([*_COLUMNS][1:])}) VALUES ({', '.join('?' * (len(_COLUMNS) - 1))})"
LONGEST_NAME: Final = 80
LONGEST_NOTE: Final = 1000
_PATIENCE: Final = 2.0  # seconds to wait for a file that another program holds


class ConflictError(DualMatchError):
    """The decision rests on an outdated page, for instance because another tab has decided."""


# A damaged schema may be quoted in SQLite's message, byte by byte.
_DAMAGED: Final = (sqlite3.Error, UnicodeDecodeError)


class BusyError(DualMatchError):
    """Another program holds the file for longer than a reviewer should wait."""


class DecisionLog:
    """The file, open; safe to use from several threads, and beside other processes that have it open."""

    def __init__(self, connection: sqlite3.Connection, path: Path, reviewer: str, format: int) -> None:
        self._connection, self.path, self.reviewer = connection, path, reviewer
        self._selected = ", ".join(name if format > 1 or name not in _SINCE_2 else "NULL" for name in _COLUMNS)
        self._lock = threading.RLock()
        self._state = DecisionState()
        self._is_ahead = False  # whether the state holds rows that are not committed
        self._is_closed = False

    @classmethod
    def open(cls, path: Path, create: bool = True, reviewer: str = "") -> Self:
        """Open a file, or make it; an `InputError` where it is another file, or cannot be opened.

        `reviewer`: whose decisions are added. Without `create` the file is only read, in whichever format it is.
        """
        check_reviewer(reviewer)
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
                format = _prepare(connection, create)
            except _DAMAGED as error:
                why = f"cannot be used as a file of decisions ({error}); give another name"
                raise InputError(f"{path}: {why}") from None
            stack.pop_all()
            return cls(connection, path, reviewer, format)

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            self._connection.close()

    @property
    def state(self) -> DecisionState:
        """What holds after all decisions so far, including those of other processes."""
        with self._held():
            for row in self._rows(self._state.last):
                self._state.add(row)
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
            if self._is_closed:
                raise ConflictError(f"{self.path}: was closed in the meantime; look again")
            yield
        finally:
            self._lock.release()

    def _busy(self) -> BusyError:
        return BusyError(f"{self.path}: another program holds the file; nothing was decided, so try again in a moment")

    def decide(self, verdict: ReviewVerdict, source: str, target: str | None, seen: int, note: str = "") -> int:
        """Add a decision; it is on the disk when this returns.

        `seen` is the last decision about this source that the reviewer knew of, 0 for none. A `ConflictError` where
        there is a later one, or the target is another's partner. A decision on what is disputed settles it.
        """
        with self._transaction():
            now = self.state.of(source)
            if now.last != seen:
                raise ConflictError(f"{source!r} was decided elsewhere in the meantime; look again")
            settles = now.is_disputed and verdict is not ReviewVerdict.SKIP
            return self._insert(verdict, source, target, note=note, settles=settles)

    def accept_all(self, pairs: Sequence[tuple[str, str]], seen: int, note: str = "", whole: bool = False) -> int:
        """Accept pairs of open sources at once, as far as their targets are free; the number of them.

        `seen` is the last decision of all that the reviewer knew of. `whole`: all of them or none, each looked at.
        """
        with self._transaction():
            now = self.state
            if now.last != seen:
                raise ConflictError("decisions have changed in the meantime; look again before you accept so many")
            batch, held = -(seen + 1) if whole else seen + 1, {*now.holder}
            for source, target in pairs:
                if now.of(source).status == "open" and target not in held:
                    held.add(target)
                    self._insert(ReviewVerdict.ACCEPT, source, target, note=note, batch=batch)
            accepted = len(held) - len(now.holder)
            if whole and accepted < len(pairs):
                raise ConflictError("one of these entities was decided in the meantime; look again")
            return accepted

    def undo(self, number: int) -> None:
        """Take a decision back, with all that were accepted at once with it."""
        with self._transaction():
            live = self.state.live
            if number not in live:
                raise ConflictError("that decision was undone already, or never made; look again")
            batch = live[number].batch
            together = [live[number]] if batch is None else [row for row in live.values() if row.batch == batch]
            for row in together:
                self._insert(ReviewVerdict.UNDO, row.source, undoes=row.id)

    def add_from(self, other: DecisionLog, unnamed: str) -> tuple[int, int]:
        """Take in the decisions of another file, `unnamed` for those without a reviewer: how many, how many not.

        What this file has already is passed over, so doing it twice does no harm. Left out are decisions that would
        give a target to two sources.
        """
        there = other.rows()
        with self._transaction():
            known = {_identity(row): row.id for row in self.rows()}
            undone = {row.undoes for row in self.rows()}
            number, taken, refused, first = dict[int, int](), 0, 0, self.state.last
            for row in there:
                named = replace(row, reviewer=row.reviewer or unnamed)
                if row.undoes is None and _identity(named) in known:
                    number[row.id] = known[_identity(named)]
                    continue
                undoes = number.get(row.undoes or 0)
                if row.undoes is not None and (undoes is None or undoes in undone):
                    continue
                try:
                    batch = None if row.batch is None else row.batch + (first if row.batch > 0 else -first)
                    added = replace(named, undoes=undoes, batch=batch)
                    number[row.id] = self._write(added)
                    self._is_ahead = True
                    self._state.add(replace(added, id=number[row.id]))
                    taken += 1
                except ConflictError:
                    refused += 1
            return taken, refused

    def rows(self) -> list[Decision]:
        """All rows, in their order."""
        with self._held():
            return list(self._rows(0))

    def live(self) -> list[Decision]:
        """All decisions that were not undone, in their order."""
        with self._held():
            return [*self.state.live.values()]

    def _rows(self, after: int) -> Iterator[Decision]:
        try:
            rows = self._connection.execute(
                f"SELECT {self._selected} FROM decisions WHERE id > ? ORDER BY id", (after,)
            )
            found = rows.fetchall()
        except _DAMAGED as error:
            if _is_busy(error):
                raise self._busy() from None
            raise InputError(f"{self.path}: cannot be read ({error}); restore it from an intact copy") from None
        for row in found:
            if not _is_sound(row):
                raise InputError(f"{self.path}: decision {row[0]!r} is damaged; restore it from an intact copy")
            yield Decision(row[0], row[1], ReviewVerdict(row[2]), *row[3:-1], settles=row[-1] == 1)  # type: ignore[misc]

    def _insert(
        self,
        verdict: ReviewVerdict,
        source: str,
        target: str | None = None,
        undoes: int | None = None,
        note: str = "",
        batch: int | None = None,
        settles: bool = False,
    ) -> int:
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        by, said = self.reviewer or None, note[:LONGEST_NOTE].strip() or None
        return self._write(Decision(0, at, verdict, source, target, undoes, by, said, batch, settles))

    def _write(self, row: Decision) -> int:
        """Add a row, unless it would leave a target with two sources."""
        partner = self._state.foreseen(row).partner
        holder = None if partner is None else self._state.holder.get(partner, row.source)
        if holder not in (None, row.source):
            problem = f"{partner!r} was accepted for {holder!r} already"
            raise ConflictError(f"{problem}; change the decision about {holder!r} first")
        values = [getattr(row, name) for name in _COLUMNS if name != "id"]
        values[-1] = 1 if row.settles else None
        added = self._connection.execute(_INSERT, values)
        return int(added.lastrowid or 0)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Keep other writers out, so that a decision rests on what was read in it."""
        with self._held():
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                yield
                self._connection.execute("COMMIT")
                self._is_ahead = False
            except _DAMAGED as error:
                if _is_busy(error):
                    raise self._busy() from None
                raise OutputError(f"{self.path}: cannot be written ({error}); nothing was decided") from None
            finally:
                if self._connection.in_transaction:
                    if self._is_ahead:
                        self._state, self._is_ahead = DecisionState(), False  # it held what is not kept
                    with suppress(sqlite3.Error):  # it must not hide what went wrong first
                        self._connection.execute("ROLLBACK")


def check_reviewer(name: str) -> None:
    """Refuse a name that cannot be kept with decisions."""
    if len(name) > LONGEST_NAME or not name.isprintable():
        raise InputError(f"--reviewer: give a name of at most {LONGEST_NAME} letters")


def _prepare(connection: sqlite3.Connection, write: bool) -> int:
    """Make the table, or bring it up to date; without `write`, only look. The format."""
    format = _format_of(connection)
    if format == _FORMAT or (format and not write):
        return format
    connection.execute("BEGIN IMMEDIATE")
    format = _format_of(connection)  # another process may have been faster
    for statement in (*(() if format else _MAKING[1]), *(_MAKING[2] if format < _FORMAT else ())):
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {_APPLICATION}")
    connection.execute(f"PRAGMA user_version = {_FORMAT}")
    connection.execute("COMMIT")
    return _FORMAT


def _is_busy(error: Exception) -> bool:
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _is_sound(row: tuple[object, ...]) -> bool:
    kinds = zip(row, _COLUMNS.items(), strict=True)
    return row[2] in [*ReviewVerdict] and all(
        type(value) is kind or (value is None and name in _OPTIONAL) for value, (name, kind) in kinds
    )


def _identity(row: Decision) -> tuple[object, ...]:
    return row.at, row.reviewer, row.verdict, row.source, row.target


def _format_of(connection: sqlite3.Connection) -> int:
    """The format of a file that holds decisions already, 0 for an empty one; an error where it holds something else."""
    marks = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")]
    if marks[0] == _APPLICATION and marks[1] in _MAKING:
        if not _tables(connection) <= _tables_of(marks[1]):
            raise sqlite3.DatabaseError("its tables are not those of decisions")
        return int(marks[1])
    if any(marks) or _tables(connection):
        connection.close()
        raise sqlite3.DatabaseError("it holds something else, or is of another version of dualmatch")
    return 0


def _tables(connection: sqlite3.Connection) -> set[str]:
    """The statements that made whatever the file holds, on one line each."""
    made = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    return {" ".join(str(each[0]).split()) for each in made}


@cache
def _tables_of(format: int) -> set[str]:
    with closing(sqlite3.connect(":memory:")) as fresh:
        for number in range(1, format + 1):
            for statement in _MAKING[number]:
                fresh.execute(statement)
        return _tables(fresh)


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
