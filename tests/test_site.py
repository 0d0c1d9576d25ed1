"""The site builds without a warning, its notebooks run, its links lead somewhere, and no public name is missing."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html import unescape
from pathlib import Path
from urllib.parse import unquote

import pytest

import dualmatch

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
NOTEBOOKS = ("tutorial", "demo")
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


def text_of(page: Path) -> str:
    return " ".join(unescape(re.sub("<[^>]+>", " ", page.read_text("utf-8"))).split())


@pytest.mark.slow
def test_the_site_builds_and_the_tutorial_runs(site: Path) -> None:
    for page in DOCS.glob("*.md"):
        assert (site / f"{page.stem}.html").is_file()
    tutorial = text_of(site / "tutorial.html")
    assert re.search(r"\d+ accepted, \d+ rejected", tutorial)
    assert re.search(r"\d+ links, of which \d+\.\d% are expected to be wrong", tutorial)
    found = re.findall(r'"(?:before|after review)" \d+ [\d.]+ ([\d.]+)', tutorial)
    assert float(found[1]) > float(found[0])  # the review has found more
    assert "dualmatch app" in (site / "commands.html").read_text("utf-8")


@pytest.mark.slow
def test_the_notebook_of_the_demo_tells_what_the_demo_prints(site: Path) -> None:
    page, text = (site / "demo.html").read_text("utf-8"), text_of(site / "demo.html")
    assert page.count('<svg class="chart"') == 6  # times, verdicts, confidence, reasons, a timeline, calibration
    (right,) = re.findall(r"right: ([\d.]+)% of the links", text)
    (found,) = re.findall(r"found: ([\d.]+)% of the 437 true pairs", text)
    assert float(right) > 97
    assert float(found) > 85
    assert re.search(r"\[A\d+\] = .+ \[register:R\d+\] \(confidence 0\.[6-9]", text)


@pytest.mark.slow
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebooks_can_be_downloaded_with_their_results(site: Path, name: str) -> None:
    (path,) = re.findall(rf'href="(_downloads/\w+/{name}\.ipynb)"', (site / f"{name}.html").read_text("utf-8"))
    cells = json.loads((site / path).read_text("utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert len(code) == (DOCS / f"{name}.md").read_text("utf-8").count("{code-cell}")
    assert sum(bool(cell["outputs"]) for cell in code) >= len(code) - 1


@pytest.mark.slow
def test_every_link_of_the_site_leads_somewhere(site: Path) -> None:
    pages = {page.name: page.read_text("utf-8") for page in site.glob("*.html")}
    names = {name: set(re.findall(r'\bid="([^"]+)"', text)) for name, text in pages.items()}
    dead = []
    for name, text in pages.items():
        for address in re.findall(r'(?:href|src)="([^"]+)"', text):
            path, _, part = unquote(unescape(address)).partition("#")
            if re.match(r"[a-z]+:|//", path):
                continue
            path = path.partition("?")[0] or name
            if not (site / path).exists() or (part and path in pages and part not in names[path]):
                dead.append(f"{name}: {address}")
    assert dead == []


def test_links_and_pictures_of_the_sources_exist() -> None:
    dead, shown = [], set()
    for page in [*DOCS.glob("*.md"), *ROOT.glob("*.md")]:
        text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
        for address in re.findall(r'\]\(([^)\s]+)\)|(?:srcset|src)="([^"]+)"', text):
            path = "".join(address).partition("#")[0]
            if path and not path.startswith(("http:", "https:")) and not (page.parent / path).exists():
                dead.append(f"{page.name}: {path}")
            shown.add(Path(path).name)
    assert dead == []
    pictures = {path.name for path in (DOCS / "images").iterdir() if path.suffix in (".png", ".svg")}
    light = {name for name in pictures if "-dark." not in name}
    assert {name.replace(".", "-dark.") for name in light} == pictures - light  # each has a twin for dark pages
    assert light <= shown  # and none is left over


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
