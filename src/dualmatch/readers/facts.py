"""Rows of any file to a graph: check names and times, reject rows that fail, number the rest."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from dualmatch.errors import InputError, counted
from dualmatch.files.compressed import shown
from dualmatch.files.text_lines import LINE
from dualmatch.graph.entity_dates import EntityDates
from dualmatch.graph.literals import LABEL, NAMING
from dualmatch.graph.model import TemporalGraph
from dualmatch.graph.ordering import fact_order, without_repeats
from dualmatch.graph.times import UNKNOWN, ends_before_begin, format_date
from dualmatch.readers.columns import INTERVAL, NAMES, POINT, ROLE, ColumnUse, TableShape, numbered, table_shape
from dualmatch.readers.read_options import ReadOptions
from dualmatch.readers.rejected_lines import OfRow, Rejections
from dualmatch.readers.rows import Mask, Rows, is_filled
from dualmatch.readers.time_column import WRONG, Codes, TimeParser
from dualmatch.readers.unread_dates import INTERVALS, NOT_A_DATE, REVERSED, UnreadDates
from dualmatch.readers.usual_names import listed

logger = logging.getLogger(__name__)

LITERAL: Final = "literals"
"""What `Collector.left_out` calls values that are neither entities nor dates."""

COARSE: Final = "coarse times"
NOT_A_VALUE: Final = "values that cannot be read"
_UNKNOWN: Final = "taken as unknown"
_SPOILT: Final = {
    COARSE: ("time coarser than a year is", "times coarser than a year are", _UNKNOWN),
    NOT_A_DATE: ("time that is no date is", "times that are no dates are", _UNKNOWN),
    REVERSED: ("interval that ends before it begins is", "intervals that end before they begin are", _UNKNOWN),
    NOT_A_VALUE: ("value that cannot be read is", "values that cannot be read are", "left out"),
}
"""What costs itself only in a Wikibase, however many there are: one of them, several, and their fate."""

MOST_COLUMNS: Final = 10_000
_INTERVAL: Final = tuple(map(pl.col, INTERVAL))


class Collector:
    """Collect what the files of one side hold: facts, entity dates, literals, rejected lines, and notes for the user.

    Blank nodes are named by the number of their file; `files_before` of the side were read at another time. What
    columns of tables of entities hold is decided as it was for the graph `known` by then.

    >>> collector = Collector(ReadOptions())
    >>> table = pl.DataFrame({"line": [1], "head": ["Ada"], "relation": ["met"], "tail": ["Charles"], "time": ["1833"]})
    >>> collector.add(Rows(Path("facts.tsv"), table, lambda row: ""))
    >>> collector.graph("facts.tsv").n_facts
    1
    """

    def __init__(
        self,
        options: ReadOptions,
        files_before: int = 0,
        known: TemporalGraph | None = None,
        keeps_texts: bool | None = None,
    ) -> None:
        self.options, self.files_before = options, files_before
        self.keeps_texts = options.literals if keeps_texts is None else keeps_texts
        """Whether literals that are no names are kept, too."""
        self.rejections = Rejections(options.on_error, options.max_errors)
        self.times = TimeParser(options.time_format)
        self.unread_dates = UnreadDates(self.times)
        self.are_sets: list[bool] = []
        """For each file, whether repeating a fact adds nothing, as in RDF; in a table each row counts."""
        self.notes: list[str] = []
        self.left_out: Counter[str] = Counter()
        """How much was understood and left out, by kind, in words."""
        self.spoilt: Counter[str] = Counter()
        """How many values of a Wikibase count as unknown, by kind."""
        self.columns: list[ColumnUse] = []
        """What columns of tables were taken for."""
        self.literal_tables: list[pl.DataFrame] = []
        """What is compared, or kept for other reasons."""
        self.label_tables: list[pl.DataFrame] = []
        """Labels that are not compared: they are shown only."""
        self.known_kinds: dict[str, str] = {}
        """What a column of a table of entities holds, by its name, where that is known already."""
        if known is not None:
            for kind, relations in (("date", known.dates.relation), ("tail", known.relation)):
                self.known_kinds |= {known.relations[row]: kind for row in np.unique(relations).tolist()}
        self.entity_rows: list[tuple[Rows, TableShape]] = []
        """Rows of the table of entities that is being read."""
        self._facts: list[pl.DataFrame] = []
        self._dates: list[pl.DataFrame] = []
        self._halves: list[pl.DataFrame] = []
        """Facts whose begin and end may stand in two rows."""
        self._entities: list[pl.Series] = []
        self._bytes = 0
        self.unknown_dates = 0
        """Dates of entities that were left out: neither their begin nor their end is known."""

    def note(self, text: str) -> None:
        """Keep a note on what was guessed or left out, for the user to see."""
        logger.info(text)
        self.notes.append(text)

    def note_unknown(self, path: Path, kind: str, count: int, first: str = "") -> None:
        """Report values of a Wikibase that count as unknown, if there are any."""
        self.spoilt[kind] += count
        if count:
            one, many, fate = _SPOILT[kind]
            self.note(f"{shown(path)}: {counted(count, one, many)} {fate}{first and f', the first{first}'}")

    def shape_of(self, header: Sequence[str], path: Path, line: int | None = None) -> TableShape:
        """Where a table whose first row, at `line`, is `header` holds what, as the options say; guesses are noted."""
        if len(header) > MOST_COLUMNS:
            place = shown(path) if line is None else f"{shown(path)}:{line}"
            raise InputError(f"{place}: {len(header):,} columns, more than any table has; is its --format right?")
        shape = table_shape(header, self.options.columns, shown(path), line)
        if shape.note and not shape.id_is_name:  # there the rows may show that another column is the id
            self.note(shape.note)
        names = [name.strip() for name in header] if shape.has_header else [*map(str, range(1, len(header) + 1))]
        for column, name in enumerate(names):
            roles = [role for role, at in shape.places.items() if at == column and role not in shape.relations]
            if shape.kinds is None:
                self.use_column(path, name, *roles, *(["tail"] if str(column) in shape.relations else []))
            elif roles:  # those of others are not known yet
                self.use_column(path, name, *("id" if role == "head" else role for role in roles))
        return shape

    def use_column(self, path: Path, name: str, *roles: str) -> None:
        """Record what a column was taken for."""
        asked = (self.options.columns or {}).values()
        guessed = bool(roles) and not any(name == each if isinstance(each, str) else name in each for each in asked)
        self.columns.append(ColumnUse(shown(path), name, roles, guessed))

    def add_table(self, rows: Rows, shape: TableShape) -> None:
        """Add rows of a table of facts; rows of a table of entities wait for its end, when its columns are known."""
        if shape.kinds is not None:
            self._kept(rows.table)
            self.entity_rows.append((rows, shape))
            return
        if LABEL in rows.table.columns:
            self.add_literals(rows.table.select("head", pl.lit(LABEL), LABEL))
        if shape.may_lack_tail:
            times = [name for name in (*INTERVAL, POINT) if name in rows.table.columns]
            dated = ~is_filled(rows.table["tail"])
            dated &= np.any([is_filled(rows.table[name]) for name in times], axis=0)
            self.add_dates(rows.part(dated, pl.col("head", "relation", *times)))
            rows = rows.part(~dated, pl.col(*NAMES, *times))
        if ROLE in rows.table.columns:
            self._halves.append(self._kept(self._checked(self._by_role(rows), NAMES)))
            return
        separator = self.options.list_separator
        if not shape.relations:
            self.add(rows.split("tail", separator))
            return
        rejected = np.zeros(rows.table.height, dtype=bool)
        begin, end = self._interval(rows, rejected)  # once, however many facts a row has
        rows = replace(rows, table=rows.table.with_columns(begin=pl.Series(begin), end=pl.Series(end)))
        for column, name in shape.relations.items():
            relation = pl.col("relation") if "relation" in shape.places else pl.lit(name).alias("relation")
            tail = pl.col(column).alias("tail")
            part = rows.part(~rejected, pl.col("head"), relation, tail, *_INTERVAL).split("tail", separator)
            self.add(part.part(is_filled(part.table["tail"]), pl.col(*NAMES), *_INTERVAL))

    def _by_role(self, rows: Rows) -> Rows:
        """With begin and end in place of a time and what it is, as ``occursSince``; white space and quotes go."""
        said = rows.table[ROLE].str.strip_chars(" <>\"'")
        roles = {text: self.options.time_predicates.role_of(text) for text in said.drop_nulls().unique()}
        role = said.replace_strict(roles, default=None, return_dtype=pl.String)
        time = rows.table[POINT].str.extract(r"""^\s*["']?([^"']*)""")
        rejected = np.zeros(len(time), dtype=bool)
        wrong = is_filled(time) & role.is_null().to_numpy()
        why = "{!r} does not say whether its time is a begin, an end or a point; write since, until or at"
        self.reject(rows, wrong, rejected, lambda row: why.format(said[row]))
        sides = {side: pl.when(role.is_in([side, POINT])).then(time).alias(side) for side in INTERVAL}
        return rows.part(~rejected, pl.col(NAMES), *sides.values())

    def check_room(self, *tables: pl.DataFrame) -> int:
        """The bytes of tables; an `InputError` where they and all that was read before exceed the memory limit."""
        size, limit = sum(int(table.estimated_size()) for table in tables), self.options.memory_limit
        if limit is not None and self._bytes + size > limit:
            raise InputError(
                f"the files of a side hold more than the memory limit of {limit / 1e9:.1f} GB has room for; give it "
                "more (--memory-limit), or less to read"
            )
        return size

    def _kept(self, table: pl.DataFrame) -> pl.DataFrame:
        self._bytes += self.check_room(table)
        return table

    def add_literals(self, table: pl.DataFrame) -> None:
        """Keep literals, if wanted: columns of entities, attributes and values, without white space around them."""
        table.columns = ["entity", "attribute", "value"]
        table = table.with_columns(pl.all().cast(pl.String).str.strip_chars())
        self.keep_literals(table.filter((pl.col("entity") != "") & (pl.col("value") != "")))

    def keep_literals(self, table: pl.DataFrame) -> None:
        """Keep all that is said, if wanted, else the labels: ``entity``, ``attribute``, ``value``, ``language``."""
        if self.options.literals:
            is_wanted = pl.lit(self.keeps_texts) | pl.col("attribute").is_in(NAMING)
            self.literal_tables.append(self._kept(table.filter(is_wanted)))
        else:
            self.label_tables.append(self._kept(table.filter(pl.col("attribute") == LABEL)))

    def add(self, rows: Rows) -> None:
        """Check rows, reject those that fail, keep the rest; white space around names is dropped."""
        self._facts.append(self._kept(self._checked(rows, NAMES)))

    def add_dates(self, rows: Rows) -> None:
        """Check dates of single entities (``head``, ``relation`` and the date, no ``tail``), as `add` checks facts."""
        unread = self.unread_dates.total
        checked = self._checked(rows, NAMES[:2])
        dated = checked.filter((pl.col("begin") != UNKNOWN) | (pl.col("end") != UNKNOWN))
        self.unknown_dates += checked.height - dated.height - (self.unread_dates.total - unread)
        self._dates.append(self._kept(dated))

    def add_entities(self, names: pl.Series) -> None:
        """Keep entities of which nothing else may be known."""
        self._entities.append(names)

    def _checked(self, rows: Rows, names: tuple[str, ...]) -> pl.DataFrame:
        """Names without white space around them, begin and end, of the rows that can be used."""
        table = rows.table.select(pl.col(names).str.strip_chars())
        rejected = np.zeros(table.height, dtype=bool)
        for name in names:
            blank = (table[name].str.len_bytes().fill_null(0) == 0).to_numpy()
            self.reject(rows, blank, rejected, lambda _, name=name: f"no {name}; every fact needs one")  # type: ignore[misc]
        begin, end = self._interval(rows, rejected)
        checked = table.with_columns(begin=pl.Series(begin), end=pl.Series(end))
        return checked.filter(~rejected) if rejected.any() else checked

    def end_of_file(self, path: Path) -> None:
        """Report dates that count as unknown; an `InputError` where too much of the file cannot be used."""
        problems = []
        for check in (self.rejections.end_of_file, lambda: self.unread_dates.end_of_file(path)):
            try:
                for note in check() or ():
                    self.note(note)
            except InputError as error:
                problems.append(str(error))
        if problems:
            raise InputError("\n".join(problems))

    def _interval(self, rows: Rows, rejected: Mask) -> tuple[Codes, Codes]:
        """Begin and end of rows; what is no time is unknown or rejects its row, as the options say."""
        unknown = np.full(rows.table.height, UNKNOWN, dtype=np.int32)
        spans = {name: self._spans(rows, name, rejected) for name in (*INTERVAL, POINT) if name in rows.table.columns}
        point = spans.get(POINT, (unknown, unknown))
        begin, end = spans.get("begin", point)[0], spans.get("end", point)[1]
        known = (begin != UNKNOWN) & (end != UNKNOWN)
        is_reversed = (end < begin) & known
        at = np.flatnonzero(is_reversed)  # few: only these are looked at closely
        is_reversed[at] = ends_before_begin(begin[at], end[at])

        def ends_early(row: int) -> str:
            first, last = (format_date(int(codes[row])) for codes in (begin, end))
            return f"ends in {last}, before it begins in {first}; fix one of the two"

        self._fail_dates(rows, INTERVALS, int(known.sum()), is_reversed, rejected, ends_early, lambda _: "")
        if len(at):
            begin, end = (np.where(is_reversed, UNKNOWN, codes).astype(np.int32) for codes in (begin, end))
        return begin, end

    def _spans(self, rows: Rows, column: str, rejected: Mask) -> tuple[Codes, Codes]:
        """The first and the last date that each text of a time column may mean."""
        given = rows.table[column]
        if given.dtype == pl.Int32:
            return given.to_numpy(), given.to_numpy()
        spans = self.times.spans(given)
        own = (use.column for use in self.columns if column in use.roles and use.file == shown(rows.path))
        name = rows.date_column or next((each for each in own if not each.isdecimal()), column)
        dates, wrong = int((spans[0] != UNKNOWN).sum()), spans[0] == WRONG
        self._fail_dates(rows, name, dates, wrong, rejected, lambda row: self.times.why_wrong(given[row]), given.item)
        for codes in spans:
            codes[wrong] = UNKNOWN
        return spans

    def _fail_dates(
        self, rows: Rows, column: str, total: int, wrong: Mask, rejected: Mask, why: OfRow, text: OfRow
    ) -> None:
        """Count dates that cannot be used, or reject their rows."""
        if self.options.on_error == "dates":
            self.unread_dates.add(column, total, *_failures(rows, wrong & ~rejected, why), text)
        else:
            self.reject(rows, wrong, rejected, why)

    def reject(self, rows: Rows, wrong: Mask, rejected: Mask, why: OfRow) -> None:
        """Reject rows that are wrong, unless they were already; `rejected` is brought up to date."""
        are_values = rows.date_column is not None  # in a table of entities a date costs itself only
        self.rejections.add(rows.path, *_failures(rows, wrong & ~rejected, why), rows.text, are_values)
        rejected |= wrong

    @property
    def counts(self) -> dict[str, int]:
        """All that was left out, by kind."""
        lines = Counter({"lines": self.rejections.total - self.rejections.values, "values": self.rejections.values})
        unknown = Counter({"unknown dates": self.unknown_dates})
        return dict(sorted((+(self.left_out + self.spoilt + lines + self.unread_dates.counts + unknown)).items()))

    def graph(self, name: str) -> TemporalGraph:
        """The graph of all rows kept; entities, relations, facts and dates are sorted, whatever order the files had."""
        if self._halves:
            self._facts.append(_joined(pl.concat(self._halves)))
        is_empty = not sum(table.height for table in (*self._facts, *self._dates))
        if is_empty:  # labels name nothing
            self.left_out["labels"] += sum(int(each["attribute"].is_in(NAMING).sum()) for each in self.literal_tables)
        kinds = ", ".join(f"{kind} ({count:,})" for kind, count in sorted(self.left_out.items()) if count)
        left_out = kinds and f"left out: {kinds}"
        if is_empty:
            texts = [each.column for each in self.columns if "text" in each.roles]
            if texts:  # the notes that say so are not shown
                left_out += (
                    f"{left_out and '; '}text, not compared: {listed(texts)}; if it holds dates or neighbours, say so: "
                )
                left_out += f"--columns date={texts[0][:40]} or tail={texts[0][:40]}"
            raise InputError(f"{name}: no facts; an empty graph cannot be aligned{left_out and f' ({left_out})'}")
        if left_out:
            self.note(f"{name}: {left_out}")
        if self.unknown_dates:
            words = counted(self.unknown_dates, "date of an entity is", "dates of entities are")
            self.note(f"{name}: {words} unknown, and left out")
        none = pl.Series([], dtype=pl.Int32)
        empty = pl.DataFrame(dict.fromkeys(NAMES, none.cast(pl.String)) | {"begin": none, "end": none})
        facts = pl.concat([empty, *self._facts], rechunk=True)
        dates = pl.concat([empty.drop("tail"), *self._dates], rechunk=True)
        self._facts.clear()
        self._dates.clear()
        entities, ends = numbered(pl.concat([facts["head"], facts["tail"], dates["head"], *self._entities]))
        relations, of_relation = numbered(pl.concat([facts["relation"], dates["relation"]]))
        head, tail, dated, _ = np.split(ends, np.cumsum([facts.height, facts.height, dates.height]))
        relation, of_date = np.split(of_relation, [facts.height])
        begin, end = facts["begin"].to_numpy(), facts["end"].to_numpy()
        order = fact_order(head, relation, tail, begin, end, n_entities=len(entities), n_relations=len(relations))
        if self.are_sets and all(self.are_sets):
            order = without_repeats(order, head, relation, tail, begin, end)
        columns = head[order], relation[order], tail[order], begin[order], end[order]
        names = tuple(entities.to_list()), tuple(relations.to_list())
        of_entity = dated, of_date, dates["begin"].to_numpy(), dates["end"].to_numpy()
        once = without_repeats(np.lexsort(of_entity[::-1]), *of_entity)
        return TemporalGraph(*columns, *names, name=name, dates=EntityDates(*(column[once] for column in of_entity)))


def _joined(facts: pl.DataFrame) -> pl.DataFrame:
    """Begin and end of one fact in two rows, as one; where a fact has several of either, they stay as they are."""
    has_begin, has_end = (pl.col(name) != UNKNOWN for name in INTERVAL)
    counts = (has_begin & ~has_end).sum() == 1, (has_end & ~has_begin).sum() == 1, (has_begin & has_end).sum() == 0
    is_half = (has_begin | has_end) & pl.all_horizontal(each.over(NAMES) for each in counts)
    halves = facts.filter(is_half)
    whole = halves.group_by(NAMES, maintain_order=True).agg(pl.col(INTERVAL).max())  # unknown is the least
    wrong = whole.filter(ends_before_begin(whole["begin"].to_numpy(), whole["end"].to_numpy()))
    return pl.concat(
        [
            facts.filter(~is_half),
            whole.join(wrong, on=NAMES, how="anti"),
            halves.join(wrong, on=NAMES, how="semi"),
        ]
    )


def _failures(rows: Rows, wrong: Mask, why: OfRow) -> tuple[list[tuple[int, int | None]], OfRow]:
    """Row and line of each wrong row, and why it is wrong: where a format has no lines, with where to look."""
    at = np.flatnonzero(wrong)
    lines = rows.table[LINE].gather(at).to_list()
    if not lines or lines[0] is not None:
        return list(zip(at.tolist(), lines, strict=True)), why
    return [(row, None) for row in at.tolist()], lambda row: f"{rows.text(row)}: {why(row)} ({rows.place(row)})"
