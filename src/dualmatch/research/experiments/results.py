"""RESULTS.md: one page of what the experiments wrote, with their figures beside it; nothing in it is typed."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Final

from dualmatch.errors import InputError
from dualmatch.files.atomic import replacing, write_text
from dualmatch.research.experiments.report import PROTOCOLS
from dualmatch.research.experiments.tables import NOT_RUN

FIGURES: Final = "results"
"""Folder beside RESULTS.md that figures and CSV files are copied to."""
_LINKED: Final = re.compile(r"\]\((?P<file>[^()/]+\.(?:csv|png))\)")
"""A link of an experiment's page to a table or figure beside it."""
_COPIED: Final = (".csv", ".png", ".svg")


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
        Where no experiment has been run, or a file that a page shows is gone.
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
            parts.append(_LINKED.sub(rf"]({FIGURES}/\g<file>)", text))
        else:
            parts.append(f"## {name}\n\n{NOT_RUN}")
    files = [file for name in done for file in _files(folder, name)]
    write_text(page, "\n\n".join(parts) + "\n")
    return [page, *_copied(files, names, page.parent / FIGURES)]


def _anchor(folder: Path, name: str) -> str:
    """Where GitHub and its like jump to: the page's own title."""
    title = (folder / f"{name}.md").read_text(encoding="utf-8").splitlines()[0].lstrip("# ")
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def _files(folder: Path, name: str) -> list[Path]:
    """What a page shows or links: its tables, and its figures in both kinds; not what an earlier run left beside it."""
    found = []
    for match in _LINKED.finditer((folder / f"{name}.md").read_text(encoding="utf-8")):
        path = folder / match["file"]
        found += [path, path.with_suffix(".svg")] if path.suffix == ".png" else [path]
    missing = [path.name for path in found if not path.is_file()]
    if missing:
        raise InputError(
            f"{folder / f'{name}.md'}: {missing[0]} is not beside it; run dualmatch experiment {name} again"
        )
    return found


def _copied(files: list[Path], names: tuple[str, ...], to: Path) -> list[Path]:
    """Copy them; tables and figures of experiments that no page shows any more go."""
    to.mkdir(parents=True, exist_ok=True)
    for path in files:
        with replacing(to / path.name) as temporary:
            shutil.copyfile(path, temporary)
    kept = {path.name for path in files}
    for path in to.iterdir():
        is_ours = path.suffix in _COPIED and any(
            path.stem == name or path.stem.startswith(f"{name}-") for name in names
        )
        if is_ours and path.name not in kept:
            path.unlink()
    return [to / path.name for path in files]
