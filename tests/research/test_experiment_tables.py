"""Tables and figures: what people read, what programs read."""

from __future__ import annotations

import csv
import io
import subprocess
import sys
from pathlib import Path

import pytest

from dualmatch.errors import MissingExtraError
from dualmatch.research.experiments import plots
from dualmatch.research.experiments.plots import Figure, Panel, Series, check_matplotlib, draw
from dualmatch.research.experiments.results import HITS, NOT_RUN, Column, Spread, Table, hits_of, spread

TABLE = Table(
    "t",
    "A | title",
    (Column("method"), Column("H@1", 1), Column("pairs", 0)),
    (("a|b", Spread(94.06, 0.12, 3, 3), 1000), ("quoted", 94.6, None), ("other", NOT_RUN, 2)),
)


def test_markdown_rounds_and_tells_what_was_not_run() -> None:
    lines = TABLE.markdown().splitlines()
    assert lines[3] == "| --- | ---: | ---: |"
    assert lines[4:] == ["| a\\|b | 94.1 ± 0.1 | 1,000 |", "| quoted | 94.6 | – |", "| other | not run | 2 |"]


def test_csv_keeps_every_digit_and_the_spread() -> None:
    rows = list(csv.reader(io.StringIO(TABLE.csv())))
    assert rows[0] == ["method", "H@1", "H@1 sd", "H@1 seeds", "pairs"]
    assert rows[1] == ["a|b", "94.06", "0.12", "3", "1000"]
    assert rows[2] == ["quoted", "94.6", "", "", ""]


def test_the_spread_of_what_was_run() -> None:
    assert spread([None, None]) == NOT_RUN
    assert spread([2.0]) == Spread(2.0, None, 1, 1)
    assert spread([1.0, None, 3.0]) == Spread(2.0, 2**0.5, 2, 3)
    assert Column("H@1", 1).show(Spread(94.08, 0.07, 3, 3)) == "94.1 ± 0.1"
    assert Column("H@1", 1).show(Spread(94.08, None, 1, 3)) == "94.1 (1 of 3 seeds)"
    ranking = {"h1": 90.0, "h10": 95.0, "mrr": 0.92}
    shown = [column.show(value) for column, value in zip(HITS, hits_of([ranking, None]), strict=True)]
    assert shown == ["90.0 (1 of 2 seeds)", "95.0 (1 of 2 seeds)", "0.920 (1 of 2 seeds)"]


LINES = Panel("title", "α", "H@1 (%)", (Series("a", (0.0, 1.0), (1.0, 2.0), (1,)), Series("b", (0.0, 1.0), (2.0, 1.0))))
BARS = Panel("bars", "setting", "seconds", (Series("x", (0.0, 1.0), (3.0, 4.0)),), categories=("normal", "less"))
GROWTH = Panel("growth", "n", "s", (Series("x", (10.0, 100.0), (1.0, 10.0)),), logarithmic=True)


def test_a_figure_is_drawn_twice_to_the_same_bytes(tmp_path: Path) -> None:
    figure = Figure("f", "caption", ((LINES, GROWTH), (BARS,)), "chosen")
    first, second = draw(figure, tmp_path / "one"), draw(figure, tmp_path / "two")
    assert [path.suffix for path in first] == [".png", ".svg"]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    assert first[0].read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in first[1].read_bytes()


def test_numbers_on_axes_are_plain() -> None:
    assert (plots._plainly(15767.4, 0), plots._plainly(0.2, 0)) == ("15,767", "0.2")


def test_lines_differ_without_colour() -> None:
    assert len(set(plots._MARKERS)) == len(plots._MARKERS) == len(plots._LINES)
    assert len(set(map(str, plots._LINES))) == len(plots._LINES)
    assert len(set(plots._HATCHES)) == len(plots._HATCHES)


def test_without_matplotlib_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(MissingExtraError, match=r"\[experiments\].*--no-figures"):
        check_matplotlib()


def test_the_command_line_loads_no_matplotlib() -> None:
    code = "import sys, dualmatch.cli.main; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
