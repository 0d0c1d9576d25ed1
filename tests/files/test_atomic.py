"""Files are there whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl
import pytest

from dualmatch.errors import OutputError
from dualmatch.files import atomic
from dualmatch.files.atomic import Transaction, check_writable, remove_leftover, replacing, write_text
from dualmatch.files.table_writer import TABLE_WRITERS


@pytest.fixture
def old(tmp_path: Path) -> Path:
    path = tmp_path / "result"
    path.write_text("old")
    return path


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit, MemoryError])
def test_whatever_happens_while_writing_the_old_file_stays(old: Path, error: type[BaseException]) -> None:
    with pytest.raises(error), replacing(old) as temporary:  # noqa: PT012
        temporary.write_text("half")
        raise error
    assert old.read_text() == "old"
    assert list(old.parent.iterdir()) == [old]


def test_a_full_disk_is_reported_in_words(old: Path) -> None:
    with pytest.raises(OutputError) as caught, replacing(old) as temporary:  # noqa: PT012
        temporary.write_text("half")
        raise OSError(28, "No space left on device")
    assert str(caught.value) == f"{old}: cannot be written (No space left on device); nothing was changed"
    assert list(old.parent.iterdir()) == [old]


def test_an_interrupt_before_the_renaming_leaves_the_old_file(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_descriptor: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(atomic.os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt), replacing(old) as temporary:
        temporary.write_text("new")
    assert old.read_text() == "old"
    assert list(old.parent.iterdir()) == [old]


def test_the_new_file_is_seen_only_when_it_is_whole(old: Path) -> None:
    with replacing(old) as temporary:
        temporary.write_text("new")
        assert old.read_text() == "old"
        assert temporary.parent == old.parent
    assert old.read_text() == "new"
    assert list(old.parent.iterdir()) == [old]


def test_nothing_written_is_an_error_and_changes_nothing(old: Path) -> None:
    with pytest.raises(OutputError, match="nothing was changed"), replacing(old):
        pass
    assert old.read_text() == "old"


def test_a_symbolic_link_stays_one(old: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(old)
    with replacing(link) as temporary:
        temporary.write_text("new")
    assert link.is_symlink()
    assert old.read_text() == "new"


def test_a_path_through_a_file_is_reported_in_words(old: Path) -> None:
    with pytest.raises(OutputError, match="cannot be written"), replacing(old / "below") as temporary:
        temporary.write_text("new")


def test_what_writing_would_refuse_late_is_refused_early(
    old: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_writable(tmp_path / "new", force=False)
    check_writable(old, force=True)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path, force, words in (
        (old, False, "exists already; choose another name or add --force"),
        (tmp_path, True, "is a folder; give the name of a file"),
        (pipe, True, "cannot be replaced; give the name of a file"),
        (Path(os.devnull), True, "cannot be replaced; give the name of a file"),
        (tmp_path / "none" / "x", False, "no such folder; make it first"),
        (old / "x", False, "no such folder; make it first"),
    ):
        with pytest.raises(OutputError, match=words):
            check_writable(path, force)
    monkeypatch.setattr(atomic.os, "access", lambda *_: False)
    with pytest.raises(OutputError, match="you may not write into this folder; choose another"):
        check_writable(tmp_path / "new", force=False)


def test_files_replaced_together_change_together(old: Path) -> None:
    other = old.with_name("other")
    with Transaction() as together:
        write_text(old, "new", together)
        write_text(other, "new, too", together)
        assert old.read_text() == "old"
        assert not other.exists()
        assert together.newest(old).read_text() == "new"
    assert (old.read_text(), other.read_text()) == ("new", "new, too")
    assert together.newest(old) == old
    assert sorted(old.parent.iterdir()) == [other, old]


def test_where_one_of_them_cannot_be_written_none_changes(old: Path) -> None:
    other = old.with_name("other")
    with pytest.raises(OutputError, match="No space left on device"), Transaction() as together:  # noqa: PT012
        write_text(old, "new", together)
        with replacing(other, together) as temporary:
            temporary.write_text("half")
            raise OSError(28, "No space left on device")
    assert old.read_text() == "old"
    assert list(old.parent.iterdir()) == [old]


@pytest.mark.parametrize("format", ["tsv", "csv", "parquet"])
def test_a_full_disk_is_an_os_error_of_every_table(format: str) -> None:
    table = pl.DataFrame({"name": [str(number) * 10 for number in range(2000)]})
    with pytest.raises(OSError, match="No space left on device"), Path("/dev/full").open("wb", buffering=0) as full:
        TABLE_WRITERS[format](table, full)


def test_what_a_killed_process_left_is_removed(old: Path) -> None:
    left = old.with_name(".result.4711.part")
    left.write_text("half")
    remove_leftover(old, 4712)
    assert left.exists()
    remove_leftover(old, 4711)
    assert not left.exists()


def test_an_error_after_the_last_of_them_changes_nothing_either(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_text("old")

    def both() -> None:
        with Transaction() as together:
            write_text(first, "new", together)
            assert first.read_text() == "old"
            write_text(second, "new", together)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        both()
    assert [path.name for path in tmp_path.iterdir()] == ["first"]
    assert first.read_text() == "old"


def test_a_file_outside_the_transaction_is_replaced_at_once(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    with Transaction() as together:
        write_text(first, "new", together)
        write_text(second, "new")
        assert [path.name for path in tmp_path.glob("[!.]*")] == ["second"]
    assert first.read_text() == second.read_text() == "new"
