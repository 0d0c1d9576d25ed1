"""Files are there whole or not at all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from dualmatch.errors import OutputError
from dualmatch.files import atomic, temporary
from dualmatch.files.atomic import Transaction, check_writable, replacing, write_text
from dualmatch.files.table_writer import TABLE_WRITERS


@pytest.fixture
def old(tmp_path: Path) -> Path:
    path = tmp_path / "result"
    path.write_text("old")
    return path


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit, MemoryError])
def test_whatever_happens_while_writing_the_old_file_stays(old: Path, error: type[BaseException]) -> None:
    with pytest.raises(error), replacing(old) as file:  # noqa: PT012
        file.write(b"half")
        raise error
    assert old.read_text() == "old"
    assert list(old.parent.iterdir()) == [old]


def test_a_full_disk_is_reported_in_words(old: Path) -> None:
    with pytest.raises(OutputError) as caught, replacing(old) as file:  # noqa: PT012
        file.write(b"half")
        raise OSError(28, "No space left on device")
    assert str(caught.value) == f"{old}: cannot be written (No space left on device); nothing was changed"
    assert list(old.parent.iterdir()) == [old]


def test_an_interrupt_before_the_renaming_leaves_the_old_file(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_descriptor: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(atomic.os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt), replacing(old) as file:
        file.write(b"new")
    assert old.read_text() == "old"
    assert list(old.parent.iterdir()) == [old]


def test_the_new_file_is_seen_only_when_it_is_whole(old: Path) -> None:
    with replacing(old) as file:
        file.write(b"new")
        assert old.read_text() == "old"
        assert {path.parent for path in old.parent.iterdir()} == {old.parent}
    assert old.read_text() == "new"
    assert list(old.parent.iterdir()) == [old]


def test_a_symbolic_link_stays_one(old: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(old)
    with replacing(link) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert old.read_text() == "new"


def test_a_path_through_a_file_is_reported_in_words(old: Path) -> None:
    with pytest.raises(OutputError, match="cannot be written"), replacing(old / "below") as file:
        file.write(b"new")


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
        (tmp_path / ("é" * 200), False, "longer than the 255 bytes that a name may have; choose another"),
    ):
        with pytest.raises(OutputError, match=words):
            check_writable(path, force)
    monkeypatch.setattr(atomic.os, "access", lambda *_: False)
    with pytest.raises(OutputError, match="no permission to write into this folder; choose another"):
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
        with replacing(other, together) as file:
            file.write(b"half")
            raise OSError(28, "No space left on device")
    assert old.read_text() == "old"
    assert list(old.parent.iterdir()) == [old]


def test_where_a_rename_fails_the_files_already_replaced_are_named(
    old: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "folder"
    with pytest.raises(OutputError) as caught, Transaction() as together:  # noqa: PT012
        write_text(old, "new", together)
        write_text(folder, "new, too", together)
        folder.mkdir()
    assert str(caught.value).startswith(f"{folder}: cannot be written (Is a directory); replaced before that: {old};")
    assert old.read_text() == "new"
    assert sorted(tmp_path.iterdir()) == [folder, old]

    def unsynced(_folder: Path) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(atomic, "sync", unsynced)
    with pytest.raises(OutputError, match=f"replaced before that: {old}; write"):
        write_text(old, "newer")


@pytest.mark.parametrize("format", ["tsv", "csv", "parquet"])
def test_a_full_disk_is_an_os_error_of_every_table(format: str) -> None:
    table = pl.DataFrame({"name": [str(number) * 10 for number in range(2000)]})
    with pytest.raises(OSError, match="No space left on device"), Path("/dev/full").open("wb", buffering=0) as full:
        TABLE_WRITERS[format](table, full)


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_what_a_killed_process_left_is_removed_by_the_next_and_nothing_else(old: Path, end: signal.Signals) -> None:
    write = (
        "import sys, time; from pathlib import Path; from dualmatch.files.atomic import replacing\n"
        "with replacing(Path(sys.argv[1])) as file: print('half', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", write, str(old)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        (left,) = set(old.parent.iterdir()) - {old}
        write_text(old, "new")
        assert left.exists()  # its process lives
        process.send_signal(end)
    others = [
        old.with_name(name) for name in (".result.4711.part", f".other.{'0' * 16}.part", f".result.{'g' * 16}.part")
    ]
    for each in others:
        each.write_text("not ours")
    write_text(old, "newer")
    assert not left.exists()
    assert sorted(old.parent.iterdir()) == sorted([old, *others])
    assert old.read_text() == "newer"


def test_names_cannot_be_foreseen_and_links_are_not_followed(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = set()
    for _ in range(3):
        with replacing(old) as file:
            names |= {path.name for path in old.parent.iterdir()} - {old.name}
            file.write(b"new")
    assert len(names) == 3
    victim = old.with_name("victim")
    victim.write_text("precious")
    monkeypatch.setattr(temporary.os, "urandom", bytes)  # as if it were foreseen
    old.with_name(f".result.{'0' * 16}.part").symlink_to(victim)
    with pytest.raises(OutputError, match="nothing was changed"):
        write_text(old, "newest")
    assert (victim.read_text(), old.read_text()) == ("precious", "new")
    assert not old.is_symlink()


def test_a_folder_of_a_dead_process_is_removed(tmp_path: Path) -> None:
    place = tmp_path / "exchange"
    make = (
        "import os, sys; from pathlib import Path; from dualmatch.files.temporary import folder_beside\n"
        "with folder_beside(Path(sys.argv[1])) as folder: (folder / 'x').write_text('x'); os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", make, str(place)], check=False).returncode == -signal.SIGKILL
    (left,) = tmp_path.iterdir()
    with temporary.folder_beside(place) as folder:
        assert [*tmp_path.iterdir()] == [folder]
        assert folder != left
        assert folder.stat().st_mode & 0o777 == 0o700
    assert not [*tmp_path.iterdir()]


def test_a_folder_that_is_taken_for_a_leftover_before_it_is_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where two workers of a cluster make one at the same moment."""
    opened, made = os.open, []

    def removed_first(path: Path, flags: int, *more: int, dir_fd: int | None = None) -> int:
        if flags & os.O_DIRECTORY and not made:
            made.append(path)
            os.rmdir(path)
        return opened(path, flags, *more, dir_fd=dir_fd)

    monkeypatch.setattr(temporary.os, "open", removed_first)
    with temporary.folder_beside(tmp_path / "copies") as folder:
        assert folder.is_dir()
        assert made
        assert folder not in made
    assert not list(tmp_path.iterdir())


def test_a_name_as_long_as_a_name_can_be_is_written(tmp_path: Path) -> None:
    path = tmp_path / ("é" * 127)
    write_text(path, "new")
    assert [*tmp_path.iterdir()] == [path]


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
