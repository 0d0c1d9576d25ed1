"""A disk that is full or read-only: a clear error, exit code 2, and the old results as they were."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import refused
from dualmatch.cli.main import main

# No file may grow beyond so many bytes: writing more fails as on a full disk, and no rights are needed for it.
LIMITED = """
import resource, signal, sys
from dualmatch.cli.main import main
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
main(sys.argv[2:])
"""


def files(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def limited(size: int, *arguments: str) -> str:
    command = [sys.executable, "-c", LIMITED, str(size), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done
    assert "Traceback" not in done.stderr
    return done.stderr


@pytest.mark.parametrize("name", ["links.tsv", "links.parquet"])
def test_no_room_for_the_links(small_world: Path, tmp_path: Path, name: str) -> None:
    links = tmp_path / name
    call = ["align", str(small_world), "-o", str(links), "-q"]
    main(call)
    before = files(tmp_path)
    said = limited(500, *call, "--force", "--max-fdr", "0")
    assert f"dualmatch: {links}: cannot be written (File too large" in said
    assert "nothing was changed" in said
    assert files(tmp_path) == before


def test_no_room_for_what_goes_beside_the_links(small_world: Path, tmp_path: Path) -> None:
    """The links fit, their companion does not: the old links stay with the old companion."""
    links = tmp_path / "links.tsv"
    call = ["align", str(small_world), "-o", str(links), "-q"]
    main(call)
    before = files(tmp_path)
    room = links.stat().st_size + 100
    assert room < (tmp_path / "links.tsv.why.npz").stat().st_size
    assert "links.tsv.why.npz: cannot be written" in limited(room, *call, "--force", "--min-confidence", "0.4")
    assert files(tmp_path) == before


def test_no_room_for_a_stage_and_then_there_is(small_world: Path, tmp_path: Path) -> None:
    whole, run = tmp_path / "whole", tmp_path / "run"
    main(["align", str(small_world), "--run", str(whole), "-q"])
    call = ["align", str(small_world), "--run", str(run), "-q"]
    room = (whole / "stages" / "graphs.npz").stat().st_size + 100
    said = limited(room, *call)
    assert f"{run / 'stages' / 'round-1.npz'}: cannot be written (File too large)" in said
    assert sorted(path.name for path in (run / "stages").iterdir()) == ["graphs.npz"]
    main([*call, "--resume"])
    assert (run / "links.tsv").read_bytes() == (whole / "links.tsv").read_bytes()


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 512 kB, where it is allowed to mount one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(disk)], capture_output=True, text=True, check=False
    )
    if mount.returncode:
        pytest.skip(f"no disk can be mounted here: {mount.stderr.strip()}")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_a_real_disk_that_is_full_and_then_read_only(
    small_world: Path, tiny_disk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tiny_disk / "run"
    call = ["align", str(small_world), "--run", str(run), "-q"]
    main(call)
    before = {name: data for name, data in files(run).items() if "links" in name}
    filler = tiny_disk / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError:
            pass
    again = [*call, "--force", "--max-fdr", "0"]
    assert "(No space left on device)" in refused(again, capsys, run)
    elsewhere = ["align", str(small_world), "-o", str(tiny_disk / "links.tsv"), "-q"]
    assert "cannot be written (No space left on device" in refused(elsewhere, capsys, tiny_disk)
    filler.unlink()
    subprocess.run(["mount", "-o", "remount,ro", str(tiny_disk)], check=True)
    assert "(Read-only file system)" in refused(again, capsys, tiny_disk)
    assert "no permission to write into this folder" in refused(elsewhere, capsys, tiny_disk)
    assert {name: data for name, data in files(run).items() if "links" in name} == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_the_right_to_write(
    small_world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "closed").mkdir(mode=0o555)
    said = refused(["align", str(small_world), "--run", str(tmp_path / "closed" / "run")], capsys, tmp_path)
    assert "cannot be made (Permission denied)" in said
