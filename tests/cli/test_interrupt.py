"""Ctrl-C: exit code 130, one line, and nothing half-written."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import BinaryIO

import polars as pl
import pytest

from dualmatch.cli.main import main
from dualmatch.files.table_writer import TABLE_WRITERS
from dualmatch.simulate import scale_world, simulate, write_folder

SAID = "dualmatch: interrupted; nothing half-written is left"


def test_ctrl_c_in_the_middle_of_a_run(tmp_path: Path) -> None:
    world = write_folder(simulate(scale_world(6000)), tmp_path / "world")
    out = tmp_path / "out"
    out.mkdir()
    call = [sys.executable, "-m", "dualmatch", "-v", "align", str(world), "-o", str(out / "links.tsv")]
    with subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for _ in range(2):  # both graphs are read: the work has begun
            assert "read TemporalGraph" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        said, shown = process.communicate(timeout=240)
    assert process.returncode == 130, shown or said
    assert shown.split("\n")[-2] == SAID
    assert "Traceback" not in shown
    assert said == ""
    assert list(out.iterdir()) == []


@pytest.mark.parametrize("old", [None, "old"])
def test_ctrl_c_while_writing(
    small_world: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    old: str | None,
) -> None:
    def interrupted(_table: pl.DataFrame, file: BinaryIO, **_options: object) -> None:
        file.write(b"source\ttar")
        raise KeyboardInterrupt

    links = tmp_path / "links.tsv"
    if old is not None:
        links.write_text(old)
    monkeypatch.setitem(TABLE_WRITERS, "tsv", interrupted)
    with pytest.raises(SystemExit) as caught:
        main(["align", str(small_world), "-o", str(links), "--force"])
    assert caught.value.code == 130
    assert capsys.readouterr().err.strip() == SAID
    assert [path.read_text() for path in tmp_path.iterdir()] == ([] if old is None else [old])
