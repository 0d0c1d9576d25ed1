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

from dualmatch.cli import console
from dualmatch.cli.main import main

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
    assert (sample / "links.sssom.tsv").read_text().count("sssom:NoTermFound") == 5
    assert (sample / "merged.csv").exists()


def test_the_sample_is_drawn_by_its_script(tmp_path: Path) -> None:
    shutil.copy(DOCS / "sample" / "make_sample.py", tmp_path)
    subprocess.run([sys.executable, str(tmp_path / "make_sample.py")], check=True)
    for name in SAMPLE:
        assert (tmp_path / name).read_bytes() == (DOCS / "sample" / name).read_bytes(), name
