"""Labels to show: of each entity or relation the one in the language that a reader most likely has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import polars as pl

from dualmatch.errors import InputError
from dualmatch.files.text_lines import read_fields
from dualmatch.graph.literals import LABEL
from dualmatch.graph.model import TemporalGraph

PREFERRED: Final = ("en", "mul")  # Wikidata's "mul" holds for every language
_COLUMNS: Final = ("entity", "attribute", "value", "language")
_OTHER: Final = 1_000


def labels_to_show(
    tables: Sequence[pl.DataFrame], graph: TemporalGraph, languages: Sequence[str] = ()
) -> dict[str, str]:
    """One label of each name of a graph that has some in `tables` (``entity``, ``attribute``, ``value``, ``language``).

    Languages that were asked for come first, in their order; then English, labels without a language, and the language
    that most labels have. Of several in one language the first by the alphabet is taken.
    """
    empty = pl.DataFrame(schema=dict.fromkeys(_COLUMNS, pl.String))
    said = pl.concat([empty, *tables], how="diagonal").filter(pl.col("attribute") == LABEL)
    if said.is_empty():
        return {}
    names = pl.DataFrame({"entity": pl.Series([*graph.entities, *graph.relations], dtype=pl.String)})
    said = said.with_columns(language=pl.col("language").fill_null("").str.to_lowercase())
    places = {each: _place(each, languages) for each in said["language"].unique()}
    rank = pl.col("language").replace_strict(places, return_dtype=pl.Int64)
    said = said.with_columns(rank=rank, frequency=-pl.len().over("language").cast(pl.Int64))
    said = said.join(names, on="entity", how="semi").sort("entity", "rank", "frequency", "language", "value")
    first = said.unique("entity", keep="first", maintain_order=True)
    return dict(zip(first["entity"], first["value"], strict=True))


def preferred(labels: Mapping[str, object], languages: Sequence[str] = ()) -> str | None:
    """The language to show of those that labels are in, by the same rule; None where there is none.

    >>> preferred({"de": "Wien", "en-gb": "Vienna"}), preferred({"de": "Wien", "en": "Vienna"}, ["de"]), preferred({})
    ('en-gb', 'de', None)
    """
    return min(labels, key=lambda language: (_place(language.lower(), languages), language), default=None)


def _place(language: str, languages: Sequence[str]) -> int:
    """The place of a language among those that are preferred; ``en-gb`` comes next to ``en``."""
    for at, wanted in enumerate([*(each.lower() for each in languages), *PREFERRED, ""]):
        if language == wanted or (wanted and language.startswith(f"{wanted}-")):
            return 2 * at + (language != wanted)
    return _OTHER


def read_labels(path: Path) -> pl.DataFrame:
    """A file of names and labels as columns ``entity``, ``attribute`` and ``value``."""
    table = read_fields(path, ("entity", "value"), 2, "a label")
    return table.select("entity", pl.lit(LABEL).alias("attribute"), "value")


def read_label_files(files: Sequence[Path]) -> list[pl.DataFrame]:
    """The labels to show of a file for both sides, or of one for each."""
    if len(files) > 2:
        raise InputError(f"--show-labels is given {len(files)} times; once for both sides, or once for each")
    return [read_labels(path).filter(pl.col("value").str.strip_chars() != "") for path in files]


def with_files_shown(
    source: TemporalGraph, target: TemporalGraph, files: Sequence[Path]
) -> tuple[TemporalGraph, TemporalGraph]:
    """Graphs with the labels of a file for both, or of one for each, over those they have.

    An `InputError` where a file names nothing of its graphs.
    """
    if not files:
        return source, target
    tables = read_label_files(files)
    labels = [labels_to_show([table], graph) for table, graph in ((tables[0], source), (tables[-1], target))]
    of_file = [labels] if len(files) == 1 else [[each] for each in labels]
    useless = [
        f"{path}: none of its {table['entity'].n_unique():,} names is an entity or relation of "
        f"{'either graph' if len(files) == 1 else graph.name}; check how names are written, and which side it is for "
        "(given twice, the first is the source's)"
        for path, table, graph, found in zip(files, tables, (source, target), of_file, strict=False)
        if not any(found)
    ]
    if useless:
        raise InputError("\n".join(useless))
    return source.with_labels(labels[0]), target.with_labels(labels[1])
