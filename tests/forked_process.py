"""Child processes of the app, forked from one that has imported what they need.

An interpreter that starts for every click spends most of its time on imports. What runs afterwards is the same module
with the same words, in a process and a session of its own.
"""

from __future__ import annotations

import multiprocessing
import os
import runpy
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.reduction import DupFd
from pathlib import Path
from types import SimpleNamespace

import pytest

from dualmatch.app import child
from dualmatch.methods import resources

_SERVER = multiprocessing.get_context("forkserver")
_SERVER.set_forkserver_preload(
    [
        "dualmatch.app.workspace",
        "dualmatch.cli.align",
        "dualmatch.inspection",
        "dualmatch.links.write",
        "dualmatch.methods.align",
        "dualmatch.readers.table_head",
        "dualmatch.runs.workflow",
        "psutil",
        "rich.progress",
        "scipy.optimize",
    ]
)
_PYTHON = sys.executable


class _Handle:
    """An open file that a forked process inherits."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __getstate__(self) -> object:
        return DupFd(self.number)

    def __setstate__(self, kept: object) -> None:
        self.number = kept.detach()  # type: ignore[attr-defined]


class ForkedProcess:
    """As much of `subprocess.Popen` as the app asks of ``python -P -m module …``."""

    def __init__(self, call: list[str], *, cwd: Path, stdout: int, **_as_the_app_gives_it: object) -> None:
        _, _, _, module, *words = call
        given = module, words, str(cwd), _Handle(stdout), resources.quick_unit_seconds()
        self._lock = threading.Lock()
        self._process = _SERVER.Process(target=_run, args=given, daemon=True)
        self._process.start()

    def poll(self) -> int | None:
        with self._lock:  # the answer can be read once
            return self._process.exitcode

    def wait(self, timeout: float = float("inf")) -> int:
        end = time.monotonic() + timeout
        while (code := self.poll()) is None:
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired("a forked process", timeout)
            time.sleep(0.01)
        return code

    def terminate(self) -> None:
        self._process.terminate()

    def kill(self) -> None:
        self._process.kill()


def _run(module: str, words: list[str], folder: str, log: _Handle, unit: float) -> None:
    os.setsid()
    os.chdir(folder)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for stream in (1, 2):
        os.dup2(log.number, stream)
    sys.argv = [module, *words]
    resources.quick_unit_seconds = lambda: unit  # measured by the tests' own process
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _begun(call: list[str], **options: object) -> object:
    begin = ForkedProcess if call[0] == _PYTHON else subprocess.Popen
    return begin(call, **options)  # type: ignore[call-overload]


@contextmanager
def forked_children() -> Iterator[None]:
    """Within, an app that is served from this process forks its children; another interpreter is started as it is."""
    names = {name: getattr(subprocess, name) for name in ("DEVNULL", "TimeoutExpired")}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(child, "subprocess", SimpleNamespace(Popen=_begun, **names))
        yield
