"""The experiments by name, and RESULTS.md: one page of what they wrote, nothing in it typed by hand."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from dualmatch.errors import InputError
from dualmatch.files.atomic import replacing, write_text
from dualmatch.research.experiments.ablation import ablation
from dualmatch.research.experiments.accuracy import overall, sensitivity
from dualmatch.research.experiments.case_study import case_study
from dualmatch.research.experiments.comparison import baselines
from dualmatch.research.experiments.decoder import decoder
from dualmatch.research.experiments.example import example
from dualmatch.research.experiments.open_world import open_world
from dualmatch.research.experiments.results import NOT_RUN, PROTOCOLS, Report
from dualmatch.research.experiments.scalability import scalability
from dualmatch.research.experiments.statistics import datasets
from dualmatch.research.experiments.workbench import Study

FIGURES: Final = "results"  # folder beside RESULTS.md that figures and CSV files are copied to
_LINKED: Final = re.compile(r"\]\((?P<file>[^()/]+\.(?:csv|png|svg))\)")  # to a table or picture beside a page
_COPIED: Final = re.compile(rf"\]\({FIGURES}/(?P<file>[^()/]+)\)")  # the same in RESULTS.md
EXPERIMENTS: Final[dict[str, Callable[[Study], Report]]] = {
    "overall": overall,
    "baselines": baselines,
    "ablation": ablation,
    "sensitivity": sensitivity,
    "decoder": decoder,
    "scalability": scalability,
    "open-world": open_world,
    "case-study": case_study,
    "example": example,
    "datasets": datasets,
}
DRAW_FIGURES: Final = ("decoder", "scalability")


def collect_results(folder: Path, page: Path) -> list[Path]:
    """Put the pages that experiments wrote into `folder` into one page, marking those that were not run.

    Figures and CSV files go to ``results/`` beside it. Where the page is there already, what it has of experiments that
    did not write into this folder stays. An `InputError` says that no experiment has been run, or that a file which a
    page shows is gone.
    """
    pages = {name: folder / f"{name}.md" for name in EXPERIMENTS}
    texts = {name: path.read_text(encoding="utf-8") for name, path in pages.items() if path.is_file()}
    if not texts:
        raise InputError(f"{folder}: no experiment has written here; run some with -o {folder}")
    parts = [
        "# Results",
        "Written by `dualmatch experiment results` from the pages of the experiments; do not edit. How to reproduce "
        "each: [docs/experiments.md](docs/experiments.md); what we conclude: "
        "[docs/paper-figures.md](docs/paper-figures.md). "
        f"Tables as CSV and figures as SVG: [{FIGURES}/]({FIGURES}/).",
        PROTOCOLS,
    ]
    contents, sections, earlier = [], [], _sections(page)
    for name in EXPERIMENTS:
        if name not in texts and name in earlier:
            contents.append(earlier[name].link)
            sections.append(earlier[name].text)
            continue
        if name not in texts:
            contents.append(f"- {name}: {NOT_RUN}")
            sections.append(f"## {name}\n\n{NOT_RUN}")
            continue
        contents.append(f"- [{name}](#{_anchor(texts[name])})")
        text = re.sub(r"(?m)^#", "##", texts[name].strip().replace(f"{PROTOCOLS}\n\n", ""))  # said once, above
        sections.append(_LINKED.sub(rf"]({FIGURES}/\g<file>)", text))
    files = [file for name, text in texts.items() for file in _linked_files(folder, name, text)]
    write_text(page, "\n\n".join([*parts, "\n".join(contents), *sections]) + "\n")
    shown = {match["file"] for section in sections for match in _COPIED.finditer(section)}
    return [page, *_copied(files, page.parent / FIGURES, shown | {name.replace(".png", ".svg") for name in shown})]


class _Section(NamedTuple):
    link: str
    text: str


def _sections(page: Path) -> dict[str, _Section]:
    """What a page that was written before has of each experiment that was run."""
    text = page.read_text(encoding="utf-8") if page.is_file() else ""
    by_anchor = {_anchor(part): f"## {part.strip()}" for part in re.split(r"(?m)^## ", text)[1:]}
    links = re.finditer(r"(?m)^- \[(?P<name>[\w-]+)\]\(#(?P<anchor>\S+)\)$", text)
    return {link["name"]: _Section(link[0], by_anchor[link["anchor"]]) for link in links if link["anchor"] in by_anchor}


def _anchor(text: str) -> str:
    """Where GitHub and its like jump to: the title of a page or section in small letters."""
    return re.sub(r"[^\w\- ]", "", text.splitlines()[0].lstrip("# ").lower()).replace(" ", "-")


def _linked_files(folder: Path, name: str, text: str) -> list[Path]:
    """The tables and figures that a page links, figures in both kinds; not what an earlier run left beside it."""
    found = []
    for match in _LINKED.finditer(text):
        path = folder / match["file"]
        found += [path, path.with_suffix(".svg")] if path.suffix == ".png" else [path]
    missing = [path.name for path in found if not path.is_file()]
    if missing:
        raise InputError(
            f"{folder / f'{name}.md'}: {missing[0]} is not beside it; run dualmatch experiment {name} again"
        )
    return found


def _copied(files: list[Path], to: Path, kept: set[str]) -> list[Path]:
    """Copy files; tables and figures of experiments that the page does not show any more are removed."""
    to.mkdir(parents=True, exist_ok=True)
    for path in files:
        with replacing(to / path.name) as copy, path.open("rb") as file:
            shutil.copyfileobj(file, copy)
    for path in to.iterdir():
        ours = any(path.stem == name or path.stem.startswith(f"{name}-") for name in EXPERIMENTS)
        if ours and path.suffix in (".csv", ".png", ".svg") and path.name not in kept:
            path.unlink()
    return [to / path.name for path in files]
