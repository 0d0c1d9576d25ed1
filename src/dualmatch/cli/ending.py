"""How a call ends before, while and after it works: signals, and standard streams that are closed or narrow.

Nothing heavy is imported here: this is in force before anything else is.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from types import FrameType

INTERRUPTED = "interrupted; nothing half-written is left"
EXIT_INTERRUPTED = 130


def prepare() -> None:
    """Open standard streams that are closed, and end at once when interrupted: nothing is written yet.

    Libraries that are interrupted while they are loaded make of it what they like, a traceback mostly.
    """
    _open_streams()
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not with nohup and the like
        signal.signal(signal.SIGINT, _end_at_once)


def end_in_order() -> None:
    """From here on signals raise, so that what is half-written is removed; where `prepare` was called."""
    if signal.getsignal(signal.SIGINT) is _end_at_once:
        signal.signal(signal.SIGINT, _interrupt)
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, _end)


def leave() -> None:
    """Nothing is written any more: end at once again, and quietly where nobody reads on."""
    if signal.getsignal(signal.SIGINT) in (_interrupt, signal.default_int_handler):
        signal.signal(signal.SIGINT, _end_at_once)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _end_at_once(_number: int, _frame: FrameType | None) -> None:
    with suppress(OSError):
        os.write(2, f"dualmatch: {INTERRUPTED}\n".encode())
    os._exit(EXIT_INTERRUPTED)


def _interrupt(number: int, frame: FrameType | None) -> None:
    if not _put_off(number, frame):
        raise KeyboardInterrupt


def _end(number: int, frame: FrameType | None) -> None:
    if _put_off(number, frame):
        return
    signal.signal(number, signal.SIG_IGN)  # once is enough
    with suppress(OSError):
        os.write(2, f"dualmatch: ended by {signal.Signals(number).name}; nothing half-written is left\n".encode())
    raise SystemExit(128 + number)


def _put_off(number: int, frame: FrameType | None) -> bool:
    """Whether a library is being loaded: then the signal comes again soon, unless it is the second one already.

    Libraries that are interrupted while they are loaded swallow it, or make an error of their own of it.
    """
    while frame is not None and frame.f_code.co_filename != "<frozen importlib._bootstrap>":
        frame = frame.f_back
    if frame is None or signal.getitimer(signal.ITIMER_REAL)[0]:
        signal.setitimer(signal.ITIMER_REAL, 0)
        return False
    signal.signal(signal.SIGALRM, lambda _number, _frame: signal.raise_signal(number))
    signal.setitimer(signal.ITIMER_REAL, 0.02)
    return True


def _open_streams() -> None:
    """Fill the places of closed streams, which the next file would get; write what an encoding lacks as an escape."""
    if sys.stdin is None:
        _fill(0, os.O_RDONLY)
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115
    if sys.stdout is None:
        _fill(1, os.O_RDONLY)  # cannot be written to: by this `check_standard_output` knows it
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:
        _fill(2, os.O_WRONLY)
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _fill(number: int, how: int) -> None:
    try:
        os.fstat(number)
    except OSError:
        handle = os.open(os.devnull, how)
        if handle != number:
            os.dup2(handle, number)
            os.close(handle)
