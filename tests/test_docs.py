"""What the guide shows is what happens: its commands and its Python are run on the sample."""

from __future__ import annotations

import doctest
import re
import shlex
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

import dualmatch
from dualmatch.cli import console
from dualmatch.cli.main import main
from dualmatch.config import Config
from dualmatch.runs.options_file import links_file, read_options_file

DOCS = Path(__file__).parents[1] / "docs"
GUIDE = (DOCS / "own-data.md").read_text()
SAMPLE = ("club.csv", "town.json.gz", "true_pairs.tsv")
ELLIPSIS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.fixture
def sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in SAMPLE:
        shutil.copy(DOCS / "sample" / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(console.out, "_width", 100)
    monkeypatch.setattr("dualmatch.methods.resources.quick_unit_seconds", lambda: 0.2)  # of a machine that is idle
    return tmp_path


def test_the_guide_from_inspect_to_sssom(sample: Path, capfd: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```(console|python)\n(.*?)```", GUIDE, re.DOTALL)
    assert [kind for kind, _ in blocks].count("console") >= 7
    for kind, text in blocks:
        if kind == "python":
            exec(compile(text, "own-data.md", "exec"), {})  # the project's own text
            continue
        command, _, expected = text.removeprefix("$ ").partition("\n")
        with suppress(SystemExit):  # what it says then is compared below
            main(shlex.split(command)[1:])
        shown = capfd.readouterr()
        if expected:
            assert doctest.OutputChecker().check_output(expected, shown.err + shown.out, ELLIPSIS), shown
    without = len(links_file(sample / "links.tsv").no_matches)
    assert (sample / "links.sssom.tsv").read_text().count("sssom:NoTermFound") == without
    assert (sample / "merged.csv").exists()


def test_the_examples_of_the_api_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = (DOCS / "api.md").read_text()
    names: dict[str, object] = {}
    for text in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(compile(text, "api.md", "exec"), names)  # the project's own text
    assert (tmp_path / "links.sssom.tsv").exists()
    assert [name for name in dualmatch.__all__ if name not in page and name != "__version__"] == []


def test_the_run_file_of_the_command_line_page_is_one(tmp_path: Path) -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", (DOCS / "command-line.md").read_text(), re.DOTALL)
    (tmp_path / "run.toml").write_text(text)
    run = read_options_file(tmp_path / "run.toml")
    assert Config.checked(**run.options).max_fdr == 0.01
    assert (run.reading[0].time_format, run.reading[1].on_error) == ("%d.%m.%Y", "skip")


def test_the_sample_is_drawn_by_its_script(tmp_path: Path) -> None:
    shutil.copy(DOCS / "sample" / "make_sample.py", tmp_path)
    subprocess.run([sys.executable, str(tmp_path / "make_sample.py")], check=True)
    for name in SAMPLE:
        assert (tmp_path / name).read_bytes() == (DOCS / "sample" / name).read_bytes(), name
