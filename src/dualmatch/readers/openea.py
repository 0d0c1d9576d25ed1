"""OpenEA's folders: ``rel_triples_1/2`` and ``attr_triples_1/2``, all by name, and ``ent_links``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import polars as pl

from dualmatch.errors import InputError
from dualmatch.files.compressed import opened
from dualmatch.files.text_lines import read_fields
from dualmatch.readers.delimited import table_rows
from dualmatch.readers.options import Intake, ReadOptions
from dualmatch.readers.read import Reading, literals_of

COLUMNS: Final = {3: {}, 4: {"time": "4"}, 5: {"begin": "4", "end": "5"}}
"""Width of a file → its time columns; OpenEA's own files have three columns and no times."""


def is_openea(folder: Path) -> bool:
    """Whether a folder is laid out as OpenEA's are."""
    return os.path.isfile(folder / "rel_triples_1")


def read_openea(folder: Path, side: str, options: ReadOptions) -> Reading:
    """One graph (side ``"1"`` or ``"2"``) of a folder, its literals where they are asked for."""
    path = folder / f"rel_triples_{side}"
    intake = Intake(options)
    with opened(path) as file:
        columns = {"head": "1", "relation": "2", "tail": "3", **_time_columns(path)}
        for rows in table_rows(file, path, "\t", columns, intake.rejections, intake.note):
            intake.facts.add(rows)
    intake.rejections.end_of_file()
    graph = intake.facts.graph(str(path))
    literals = literals_of(graph, _attributes(folder, side) if options.literals else (), options)
    return Reading(graph, literals, intake.rejections, tuple(intake.notes))


def _attributes(folder: Path, side: str) -> list[pl.DataFrame]:
    path = folder / f"attr_triples_{side}"
    if not path.exists():
        return []
    table = read_fields(path, ("entity", "attribute", "value"), 3, "an attribute")
    return [table.select("entity", "attribute", "value")]


def _time_columns(path: Path) -> dict[str, str]:
    with opened(path) as file:
        width = file.readline().count(b"\t") + 1
    if width not in COLUMNS:
        raise InputError(
            f"{path}:1: {width} tab-separated columns; a fact has 3 to 5: head, relation, tail, begin, end"
        )
    return COLUMNS[width]
