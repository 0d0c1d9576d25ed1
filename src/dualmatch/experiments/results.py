"""RESULTS.md: one page of what the experiments wrote, with their figures beside it; nothing in it is typed."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Final

from dualmatch.errors import InputError
from dualmatch.experiments.report import PROTOCOLS
from dualmatch.experiments.tables import NOT_RUN
from dualmatch.io.atomic import replacing, write_text

FIGURES: Final = "results"
"""Folder beside RESULTS.md that figures and CSV files are copied to."""


def collect(folder: Path, names: tuple[str, ...], page: Path) -> list[Path]:
    """Put the pages of experiments into one, in their order; those that were not run are said to be.

    Parameters
    ----------
    folder:
        Where the experiments wrote to.
    page:
        The page to write; figures and CSV files go to ``results/`` beside it.

    Raises
    ------
    InputError
        Where no experiment has been run.
    """
    done = [name for name in names if (folder / f"{name}.md").is_file()]
    if not done:
        raise InputError(f"{folder}: no experiment has written here; run some with -o {folder}")
    parts = [
        "# Results",
        "Made by `dualmatch experiment results` from what the experiments themselves wrote; do not edit. How to redo "
        "each of them, and what we make of it: [docs/experiments.md](docs/experiments.md). Tables as CSV and figures "
        f"as SVG: [{FIGURES}/]({FIGURES}/).",
        PROTOCOLS,
        "\n".join(
            f"- [{name}](#{_anchor(folder, name)})" if name in done else f"- {name}: {NOT_RUN}" for name in names
        ),
    ]
    for name in names:
        if name in done:
            text = (folder / f"{name}.md").read_text(encoding="utf-8").strip()
            text = re.sub(r"(?m)^#", "##", text.replace(f"{PROTOCOLS}\n\n", ""))  # said once, above
            parts.append(re.sub(r"!\[([^\]]*)\]\(([^)/]+)\)", rf"![\1]({FIGURES}/\2)", text))
        else:
            parts.append(f"## {name}\n\n{NOT_RUN}")
    write_text(page, "\n\n".join(parts) + "\n")
    return [page, *_copied(folder, done, page.parent / FIGURES)]


def _anchor(folder: Path, name: str) -> str:
    """Where GitHub and its like jump to: the page's own title."""
    title = (folder / f"{name}.md").read_text(encoding="utf-8").splitlines()[0].lstrip("# ")
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def _copied(folder: Path, done: list[str], to: Path) -> list[Path]:
    """Figures and CSV files of the experiments that were run."""
    to.mkdir(parents=True, exist_ok=True)
    copies = []
    for path in sorted(folder.iterdir()):
        stem = path.stem
        if path.suffix in (".csv", ".png", ".svg") and any(
            stem == name or stem.startswith(f"{name}-") for name in done
        ):
            with replacing(to / path.name) as temporary:
                shutil.copyfile(path, temporary)
            copies.append(to / path.name)
    return copies
