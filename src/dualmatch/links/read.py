"""Links in, from every format that `dualmatch.links.write` writes; and gold pairs to compare them with.

A TSV of the three columns ``source``, ``target`` and ``confidence`` is enough; an empty target means no link. Files of
0.1.0 have no column ``verdict``: there, too, an entity without a target is undecided. Errors name the line; in Parquet,
which has no lines, the row.
"""

from __future__ import annotations

import csv
import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
import pyoxigraph
from numpy.typing import NDArray

from dualmatch.decode.verdicts import Verdict
from dualmatch.errors import FileProblem, InputError, counted, input_error
from dualmatch.files.compressed import opened, unpacked_name
from dualmatch.files.panics import panics_unprinted
from dualmatch.files.parquet_check import check_parquet
from dualmatch.files.text_lines import LINE, read_fields, read_pair_fields, refuse
from dualmatch.links.naming import BUILT_IN, Naming, decoded
from dualmatch.links.sssom import NO_TERM, curie_map, entity_of, key_values, own_prefixes
from dualmatch.links.write import LINK_EXTENSIONS, SAME_AS
from dualmatch.readers.benchmark_folder import read_folder

logger = logging.getLogger(__name__)

HEADER: Final = ("source", "target", "confidence")
COLUMNS: Final = (*HEADER, "verdict", "method", "runners_up", "reasons")
_OLD_COLUMNS: Final = (*HEADER, "method", "runners_up", "reasons")
_SCHEMA: Final = {LINE: pl.Int64, **dict.fromkeys((*HEADER, "method", "verdict"), pl.String)}
_SSSOM: Final = ("subject_id", "object_id")
_NO_CONFIDENCE: Final = "{!r} is not a confidence; write a number from 0 to 1"

Link = tuple[str, str]
Row = tuple[int, str, str | None, str | None, str | None, str | None]
"""Line, source, target (None: no link), confidence, method and verdict (None: not given)."""


class RowError(Exception):
    """What is wrong on a line; None for the line where it is the whole file. Raised where reading cannot continue."""

    def __init__(self, line: int | None, problem: str) -> None:
        self.line, self.problem = line, problem


Rows = Iterator[Row | RowError]


@dataclass(frozen=True, eq=False)
class LinksFile:
    """A file of links, parsed once, on demand.

    `dualmatch.runs.options_file.links_file` knows both for a file that a run wrote.
    """

    path: Path
    naming: Naming | None = None  # how names became IRIs, for ``owl:sameAs`` triples
    format: str | None = None  # one of `dualmatch.links.write.LINK_FORMATS`; by the file's name where None

    @cached_property
    def _table(self) -> pl.DataFrame:
        """Columns `_SCHEMA` as text: an empty target is no link, null is what the file does not say."""
        name = unpacked_name(self.path)
        by_name = next((format for end, format in LINK_EXTENSIONS.items() if name.endswith(end)), "tsv")
        format = self.format or by_name
        if format == "tsv":
            return _from_tsv(self.path)
        with opened(self.path) as file:
            data = file.read()
        rows: list[Row] = []
        problems: list[RowError] = []
        try:
            for row in _READERS[format](data, self.naming or Naming()):
                problems.append(row) if isinstance(row, RowError) else rows.append(row)
        except RowError as problem:
            problems.append(problem)
        if problems:
            raise input_error([FileProblem(self.path, each.line, each.problem) for each in problems])
        return pl.DataFrame(rows, schema=_SCHEMA, orient="row").with_columns(pl.col("target").fill_null(""))

    @cached_property
    def links(self) -> tuple[list[Link], NDArray[np.float64]]:
        """The linked pairs by name, and their confidences, 1 where a file has none."""
        table, path = self._table, self.path
        given = table["confidence"].fill_null("1").str.strip_chars()
        given = table.select(pl.when((pl.col("target") == "") & (given == "")).then(pl.lit("0")).otherwise(given))[:, 0]
        confidence = given.cast(pl.Float64, strict=False)
        wrong = table.filter(confidence.is_null() | ~confidence.is_between(0, 1))
        refuse(wrong, "confidence", path, _NO_CONFIDENCE.format)
        repeated = table.filter(~table["source"].is_first_distinct())
        refuse(repeated, "source", path, lambda name: f"{name!r} has a row above already; keep one of them")
        matched = table["target"] != ""
        links = table.filter(matched)
        return list(links.select("source", "target").iter_rows()), confidence.filter(matched).to_numpy()

    @property
    def seeds(self) -> set[str]:
        """The source entities whose pair was given, not found."""
        return set(self._table.filter(self._table["method"] == "seed")["source"].to_list())

    @property
    def unlinked(self) -> list[str]:
        """The source entities without a link: undecided ones, and those without a match."""
        return self._table.filter(self._table["target"] == "")["source"].to_list()

    @property
    def no_matches(self) -> list[str]:
        """The source entities whose verdict is *no match*."""
        without = (self._table["target"] == "") & (self._table["verdict"] == Verdict.NO_MATCH.value)
        return self._table.filter(without.fill_null(False))["source"].to_list()

    @property
    def method(self) -> str | None:
        """The method that found the links; None where the file does not say."""
        found = sorted(set(self._table["method"].drop_nulls().unique().to_list()) - {"seed"})
        return found[0] if found else None


def read_links(
    path: str | Path, naming: Naming | None = None, format: str | None = None
) -> tuple[list[Link], NDArray[np.float64]]:
    """Read the linked pairs of a file, by name, and their confidences; parameters as in `LinksFile`."""
    return LinksFile(Path(path), naming, format).links


def read_name_pairs(path: str | Path) -> list[Link]:
    """Read a gold file: two columns of ids, with or without a header; CSV if its name says so, else TSV."""
    table = read_pair_fields(Path(path))
    return list(table.select("source", "target").iter_rows())


def read_gold(
    path: Path, links: Sequence[Link], folder: Path | None = None, unlinked: Sequence[str] | None = None
) -> list[Link]:
    """The true pairs of a file, by name.

    `links`: what they will be compared with: pairs of which no entity occurs there are most likely ids. `folder`: the
    benchmark folder that ids are of; by default the folder the file lies in, if that is one. With the `unlinked`
    sources, there is a warning where names of pairs occur nowhere.
    """
    if not path.exists():
        raise InputError(f"{path}: no such file; --gold takes a file of true pairs")
    if folder is None and (path.parent / "triples_1").exists():
        folder = path.parent
    if folder is None:
        pairs = read_name_pairs(path)
    else:
        data = read_folder(folder, with_times=False)  # however its dates are written
        pairs = [(data.source.entities[s], data.target.entities[t]) for s, t in data.pairs_at(path).tolist()]
    if not pairs:
        raise InputError(f"{path}: no pairs; there is nothing to compare with")
    known = {name for link in links for name in link}
    if folder is None and links and known.isdisjoint(name for pair in pairs for name in pair):
        raise InputError(
            f"{path}: none of its entities occurs in the alignment; if these are a folder's ids, add --data FOLDER"
        )
    known.update(unlinked or ())
    unknown = [pair for pair in pairs if known.isdisjoint(pair)] if unlinked is not None else []
    if unknown:
        logger.warning(
            "%s: %s of %s name no entity of the alignment, %r and %r among them",
            *(path, f"{len(unknown):,}", counted(len(pairs), "pair"), *unknown[0]),
        )
    return pairs


def _from_tsv(path: Path) -> pl.DataFrame:
    table = read_fields(path, COLUMNS, len(HEADER), "an alignment")
    header = tuple(name for name in table.row(0)[1:] if name is not None) if table.height else ()
    columns = _OLD_COLUMNS if header[len(HEADER) : len(HEADER) + 1] == ("method",) else COLUMNS
    if header != columns[: len(header)] or len(header) < len(HEADER):
        line = table[LINE][0] if table.height else 1
        raise InputError(f"{path}:{line}: not a file of links; its first line must be {' <tab> '.join(HEADER)} …")
    table = table.slice(1)
    missing = table[COLUMNS[len(header) - 1]].is_null()
    extra = table[COLUMNS[len(header)]].is_not_null() if len(header) < len(COLUMNS) else ~missing & missing
    problem = f"the header names {len(header)} columns, this row has another number; fix it"
    refuse(table.filter(missing | extra), "source", path, lambda _: problem)
    if columns is _OLD_COLUMNS:
        named = dict(zip(COLUMNS, columns, strict=False))
        table = table.drop(COLUMNS[-1]).rename(named).with_columns(verdict=pl.lit(None, dtype=pl.String))
    return table


def _from_csv(data: bytes, _: Naming) -> Rows:
    for line, fields in _records(_text(data).split("\n"), ",", HEADER, 1):
        yield RowError(line, fields) if isinstance(fields, str) else _row(line, fields)


def _from_sssom(data: bytes, _: Naming) -> Rows:
    """An IRI is a name of its own; in older files, a label is the name, where there is one."""
    lines = _text(data).split("\n")
    head = next((number for number, line in enumerate(lines) if not line.startswith("#")), len(lines))
    prefixes = {**BUILT_IN, **curie_map(lines[:head])}
    # 0.1.0 wrote NoTermFound for every entity without a link
    own = own_prefixes(lines[:head])
    is_ours = any(line.startswith("#mapping_tool: dualmatch") for line in lines[:head])
    says_no_match = not any(line.startswith('#mapping_tool_version: "0.1.') for line in lines[:head])
    for line, fields in _records(lines[head:], "\t", _SSSOM, head + 1):
        if isinstance(fields, str):
            yield RowError(line, fields)
            continue
        if fields.get("predicate_modifier") == "Not":
            continue  # a mapping that does not hold
        curies = [fields[name].partition(":") for name in _SSSOM]
        unknown = [f"{prefix}{colon}{local}" for prefix, colon, local in curies if prefix not in prefixes]
        if unknown:
            yield RowError(line, f"{unknown[0]!r} has no prefix of the curie_map; add it there, or correct the CURIE")
            continue
        if is_ours and "source_names" in own:
            names = key_values(fields.get("other") or "")
            source, target = (
                names.get(f"{end}_name") or entity_of(fields[f"{end}_id"], prefixes, own.get(f"{side}_names", ""))
                for side, end in (("source", "subject"), ("target", "object"))
            )
        else:
            source, target = (
                (is_ours and fields.get(f"{end}_label"))
                or prefixes[prefix] + (decoded(local) if is_ours and says_no_match else local)
                for end, (prefix, _, local) in zip(("subject", "object"), curies, strict=True)
            )
        linked = fields["object_id"] != NO_TERM
        method = (fields.get("comment") or "").removeprefix("method ").split(";")[0]
        verdict = None if linked or not says_no_match else Verdict.NO_MATCH.value
        yield line, source, target if linked else None, fields.get("confidence") or None, method or None, verdict


def _from_parquet(data: bytes, _: Naming) -> Rows:
    try:
        check_parquet(data)
        with panics_unprinted():
            table = pl.read_parquet(data)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError):
        raise RowError(None, "not a readable Parquet file; align again") from None
    if missing := _missing(table.columns, HEADER):
        raise RowError(None, missing)
    table = table.select(name for name in (*HEADER, "method", "verdict") if name in table.columns)
    for name, kind in table.schema.items():
        if not (
            kind in (pl.String, pl.Null, pl.Boolean) or kind.is_numeric() or isinstance(kind, pl.Categorical | pl.Enum)
        ):
            raise RowError(None, f"column {name} holds {str(kind)[:80]}, and no names or numbers; align again")
    for number, fields in enumerate(table.iter_rows(named=True), start=1):
        yield _row(number, fields)


def _from_json_lines(data: bytes, _: Naming) -> Rows:
    for number, line in enumerate(_text(data).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            fields = json.loads(line)
            if "\\u" in line:
                json.dumps(fields, ensure_ascii=False).encode()  # half a character has no bytes
        except (ValueError, RecursionError):
            yield RowError(number, "not valid JSON; each line is an object of its own")
            continue
        if not isinstance(fields, dict):
            yield RowError(number, 'not a JSON object; write {"source": …, "target": …, "confidence": …}')
        elif missing := _missing(fields, HEADER):
            yield RowError(number, missing)
        else:
            yield _row(number, fields)


def _from_same_as(data: bytes, naming: Naming) -> Rows:
    """Line by line, as N-Triples are: the parser does not give the line of a statement."""
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        try:
            quads = [*pyoxigraph.parse(line, format=pyoxigraph.RdfFormat.N_TRIPLES)]
        except (SyntaxError, ValueError):
            yield RowError(number, f"no N-Triples; a link is <source> <{SAME_AS}> <target> .")
            continue
        for quad in quads:
            if quad.predicate.value != SAME_AS:
                continue
            ends: tuple[Any, Any] = quad.subject, quad.object
            if not all(isinstance(end, pyoxigraph.NamedNode) for end in ends):
                yield RowError(number, f"{ends[0]} is linked with {ends[1]}; a link is between two IRIs")
                continue
            source, target = naming.name(ends[0].value, "source"), naming.name(ends[1].value, "target")
            yield number, source, target, None, None, None


def _row(line: int, fields: Mapping[str, Any]) -> Row | RowError:
    source, target, confidence = (fields[name] for name in HEADER)
    if not isinstance(source, str) or not isinstance(target, str | None):
        return RowError(line, "source and target must be names, in quotes; a target may be null where there is no link")
    if not isinstance(confidence, str | int | float | None) or isinstance(confidence, bool):
        return RowError(line, _NO_CONFIDENCE.format(confidence))
    given = (confidence, fields.get("method"), fields.get("verdict"))
    confidence, method, verdict = (None if each is None else str(each) for each in given)
    return line, source, target, confidence, method, verdict


def _records(
    lines: Sequence[str], separator: str, needed: Sequence[str], first: int
) -> Iterator[tuple[int, dict[str, str] | str]]:
    """(line, fields) of a table with a header, or (line, what is wrong); `first` is the number of its first line."""
    reader = csv.reader((f"{line}\n" for line in lines), delimiter=separator, strict=True)
    header: list[str] | None = None
    line = first
    try:
        for record in reader:
            begun, line = line, first + reader.line_num
            if not any(record):
                continue
            if header is None:
                header = [name.strip() for name in record]
                if missing := _missing(header, needed):
                    raise RowError(begun, missing)
            elif len(record) != len(header):
                yield begun, f"{len(record)} columns where the header has {len(header)}; fix the line"
            else:
                yield begun, dict(zip(header, record, strict=True))
    except csv.Error:
        raise RowError(line, "quotes that do not end, or text after them; fix them") from None
    if header is None:
        raise RowError(first, f"no columns; the first line must name {', '.join(needed)}")


def _missing(columns: Sequence[str] | Mapping[str, Any], needed: Sequence[str]) -> str:
    missing = [name for name in needed if name not in columns]
    if not missing:
        return ""
    return f"no {' and no '.join(missing)}; links have {', '.join(needed)}, so give a file that align wrote"


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise RowError(line, "not UTF-8 text; convert the file to UTF-8") from None


_READERS: Final[dict[str, Callable[[bytes, Naming], Rows]]] = {
    "csv": _from_csv,
    "parquet": _from_parquet,
    "jsonl": _from_json_lines,
    "sameas": _from_same_as,
    "sssom": _from_sssom,
}
