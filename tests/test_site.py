"""The documentation site builds without a warning, the tutorial runs, and no public name is missing."""

from __future__ import annotations

import re
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest

import dualmatch

DOCS = Path(__file__).parents[1] / "docs"
TOOLS = ("sphinx", "myst_nb", "numpydoc", "pydata_sphinx_theme", "ipykernel")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for tool in TOOLS:
        pytest.importorskip(tool, reason=f"{tool} is not installed: pip install '.[docs]'")
    built = tmp_path_factory.mktemp("site")
    words = ["-W", "--keep-going", "-q", "-b", "html", "-d", str(built / "trees"), str(DOCS), str(built / "html")]
    done = subprocess.run([sys.executable, "-m", "sphinx", *words], capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-3000:]
    return built / "html"


@pytest.mark.slow
def test_the_site_builds_and_the_tutorial_runs(site: Path) -> None:
    for page in DOCS.glob("*.md"):
        assert (site / f"{page.stem}.html").is_file()
    tutorial = " ".join(unescape(re.sub("<[^>]+>", " ", (site / "tutorial.html").read_text("utf-8"))).split())
    assert re.search(r"\d+ accepted, \d+ rejected", tutorial)
    assert re.search(r"\d+ links, of which \d+\.\d% are expected to be wrong", tutorial)
    found = re.findall(r'"(?:before|after review)" \d+ [\d.]+ ([\d.]+)', tutorial)
    assert float(found[1]) > float(found[0])  # the review has found more
    assert "dualmatch app" in (site / "commands.html").read_text("utf-8")


@pytest.mark.slow
def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    for page in site.glob("*.html"):
        text = page.read_text("utf-8")
        assert re.findall(r'<(?:script|img|link rel="stylesheet")[^>]+(?:src|href)="(?:https?:)?//', text) == []


def test_every_public_name_is_in_the_reference() -> None:
    listed = re.findall(r"^\.\. auto\w+:: (\w+)", (DOCS / "reference.md").read_text("utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(name for name in dualmatch.__all__ if name != "__version__")


def test_every_page_is_in_a_table_of_contents() -> None:
    entries = set()
    for page in DOCS.glob("*.md"):
        for block in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text("utf-8"), re.DOTALL):
            entries |= {re.sub(r".*<(.*)>", r"\1", line) for line in block.split("\n") if line and line[0] != ":"}
    assert entries == {page.stem for page in DOCS.glob("*.md")} - {"index"}
