"""What native code prints is held back where it panics, and only there."""

from __future__ import annotations

import os
import sys

import polars as pl
import pytest

from dualmatch.files.panics import panics_unprinted


def test_a_panic_prints_nothing_and_all_else_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    dates = pl.Series([2**31 - 1], dtype=pl.Int32).cast(pl.Date)
    with pytest.raises(pl.exceptions.PanicException), panics_unprinted():
        dates.cast(pl.String)
    with pytest.raises(KeyError), panics_unprinted():
        {}[os.write(2, b"one\n")]
    with panics_unprinted():
        os.write(2, b"two\n")
    os.write(2, b"three\n")
    assert capfd.readouterr().err == "one\ntwo\nthree\n"


def test_no_standard_error_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    with panics_unprinted():
        pass
