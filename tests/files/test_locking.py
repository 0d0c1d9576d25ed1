"""Who holds the lock of a folder: the file says so, and others can write it."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dualmatch.files.locking import LOCK, writer_of


@contextmanager
def held(folder: Path, text: str) -> Iterator[None]:
    with (folder / LOCK).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(text)
        file.flush()
        yield


@contextmanager
def process(*words: str) -> Iterator[int]:
    with subprocess.Popen([sys.executable, "-c", "input()", *words], stdin=subprocess.PIPE) as child:
        yield child.pid
        child.communicate(b"\n")


def said(process: object, machine: str | None = None) -> str:
    return json.dumps({"process": process, "machine": machine or socket.gethostname()})


@pytest.mark.parametrize("number", [-1, 0, 1, True, 1.5, "77", None, [], 1 << 31, 10**40, -(10**40)])
def test_a_number_that_is_no_process_is_none_to_end(tmp_path: Path, number: object) -> None:
    with held(tmp_path, said(number)):
        assert writer_of(tmp_path) == 0
    assert writer_of(tmp_path) is None


@pytest.mark.skipif(not os.path.exists("/proc/self"), reason="only /proc says what a process runs")
def test_only_our_own_processes_are_named(tmp_path: Path) -> None:
    with process("dualmatch") as ours, process("another") as other:
        for text, found in ((said(ours), ours), (said(other), 0), (said(ours, "elsewhere"), 0), ("{", 0)):
            with held(tmp_path, text):
                assert writer_of(tmp_path) == found
