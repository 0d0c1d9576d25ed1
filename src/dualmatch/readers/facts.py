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
from dualmatch.graph.times import UNKNOWN
from dualmatch.readers.columns import FACT, INTERVAL, NAMES, POINT, ROLE, TableShape, numbered, table_shape
from dualmatch.readers.read_options import ReadOptions
from dualmatch.readers.row_checks import RowChecks
from dualmatch.readers.rows import Rows, is_filled
from dualmatch.readers.unread_dates import NOT_A_DATE, REVERSED
from dualmatch.readers.usual_names import columns_option, in_quotes, listed
from dualmatch.readers.whole_numbers import FractionIds

logger = logging.getLogger(__name__)

LITERAL: Final = "literals"
"""What `Collector.left_out` calls values that are neither entities nor dates."""

COARSE: Final = "coarse times"
NOT_A_VALUE: Final = "values that cannot be read"
_UNKNOWN: Final = "taken as unknown"
_SPOILT: Final = {
    COARSE: ("time coarser than a year is", "times coarser than a year are", _UNKNOWN),
    NOT_A_DATE: ("time that is not a date is", "times that are not dates are", _UNKNOWN),
    REVERSED: ("interval that ends before it begins is", "intervals that end before they begin are", _UNKNOWN),
    NOT_A_VALUE: ("value that cannot be read is", "values that cannot be read are", "left out"),
}
"""What costs itself only in a Wikibase, however many there are: one of them, several, and their fate."""

MOST_COLUMNS: Final = 10_000
_INTERVAL: Final = tuple(map(pl.col, INTERVAL))


class Collector(RowChecks):
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
        super().__init__(options)
        self.files_before, self.known = files_before, known
        self.keeps_texts = options.literals if keeps_texts is None else keeps_texts
        """Whether literals other than names are kept, too."""
        self.are_sets: list[bool] = []
        """For each file, whether repeating a fact adds nothing, as in RDF; in a table each row counts."""
        self.notes: list[str] = []
        self.left_out: Counter[str] = Counter()
        """How much was understood and left out, by kind, in words."""
        self.spoilt: Counter[str] = Counter()
        """How many values of a Wikibase count as unknown, by kind."""
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
        """Facts, with their lines, whose begin and end may stand in two rows."""
        self._half_files: list[Path] = []
        self._ids: FractionIds | None = None
        """Those of the table of facts that is being read."""
        self._id_columns: dict[str, Sequence[str]] = {}
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
        names = [name.strip() for name in header] if shape.has_header else [*map(str, range(1, shape.width + 1))]
        for column, name in enumerate(names):
            roles = [role for role, at in shape.places.items() if at == column and role not in shape.relations]
            if shape.kinds is None:
                self.use_column(path, name, *roles, *(["tail"] if str(column) in shape.relations else []))
            elif roles:  # those of others are not known yet
                self.use_column(path, name, *("id" if role == "head" else role for role in roles))
        if shape.kinds is None:
            tails = [*shape.relations] or ["tail"]
            kept = [self._facts, self._dates, self._halves, self.literal_tables, self.label_tables]
            self._ids = FractionIds({column: names[shape.places[column]] for column in ("head", *tails)}, kept)
            self._id_columns = {"head": ["head"], "tail": tails, "entity": ["head"]}
        return shape

    def add_table(self, rows: Rows, shape: TableShape) -> None:
        """Add rows of a table of facts; rows of a table of entities wait for its end, when its columns are known."""
        if shape.kinds is not None:
            self._kept(rows.table)
            self.entity_rows.append((rows, shape))
            return
        if self._ids is not None:
            self._ids.see(rows.table)
        if LABEL in rows.table.columns:
            self.add_literals(rows.table.select("head", pl.lit(LABEL), LABEL))
        if shape.may_lack_tail:
            times = [name for name in (*INTERVAL, POINT) if name in rows.table.columns]
            dated = ~is_filled(rows.table["tail"])
            dated &= np.any([is_filled(rows.table[name]) for name in times], axis=0)
            self.add_dates(rows.part(dated, pl.col("head", "relation", *times)))
            rows = rows.part(~dated, pl.col(*NAMES, *times))
        if ROLE in rows.table.columns:
            self._halves.append(self._kept(self.checked(self._by_role(rows), NAMES, LINE)))
            self._half_files.append(rows.path)
            return
        separator = self.options.list_separator
        if not shape.relations:
            self.add(rows.split("tail", separator))
            return
        rejected = np.zeros(rows.table.height, dtype=bool)
        begin, end = self.interval(rows, rejected)  # once, however many facts a row has
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
        self._facts.append(self._kept(self.checked(rows, NAMES)))

    def add_dates(self, rows: Rows) -> None:
        """Check dates of single entities (``head``, ``relation`` and the date, no ``tail``), as `add` checks facts."""
        unread = self.unread_dates.total
        checked = self.checked(rows, NAMES[:2])
        dated = checked.filter((pl.col("begin") != UNKNOWN) | (pl.col("end") != UNKNOWN))
        self.unknown_dates += checked.height - dated.height - (self.unread_dates.total - unread)
        self._dates.append(self._kept(dated))

    def add_entities(self, names: pl.Series) -> None:
        """Keep entities of which nothing else may be known."""
        self._entities.append(names)

    def end_of_file(self, path: Path) -> None:
        """Report dates that count as unknown; an `InputError` where too much of the file cannot be used."""
        if self._ids is not None and (note := self._ids.write(self._id_columns)):
            self.note(f"{shown(path)}: {note}")
        self._ids = None
        problems = []
        for check in (self.rejections.end_of_file, lambda: self.unread_dates.end_of_file(path)):
            try:
                for note in check() or ():
                    self.note(note)
            except InputError as error:
                problems.append(str(error))
        if problems:
            raise InputError("\n".join(problems))

    @property
    def counts(self) -> dict[str, int]:
        """All that was left out, by kind."""
        lines = Counter({"lines": self.rejections.total - self.rejections.values, "values": self.rejections.values})
        unknown = Counter({"unknown dates": self.unknown_dates})
        return dict(sorted((+(self.left_out + self.spoilt + lines + self.unread_dates.counts + unknown)).items()))

    def _join_halves(self) -> None:
        if not self._halves:
            return
        files = self._half_files
        marked = [table.with_columns(file=pl.lit(number, pl.UInt32)) for number, table in enumerate(self._halves)]
        self._halves = []
        loose, whole = _joined_halves(pl.concat(marked))
        self._facts.append(loose.select(FACT))
        for number, path in enumerate(files):
            part = whole.filter(pl.col("file") == number).select(LINE, *FACT)
            self.add(Rows(path, part, lambda row, part=part: " ".join(part.row(row)[1:4])))  # type: ignore[misc]
            if path not in files[number + 1 :]:
                self.end_of_file(path)

    def graph(self, name: str) -> TemporalGraph:
        """The graph of all rows kept; entities, relations, facts and dates are sorted, whatever order the files had."""
        self._join_halves()
        is_empty = not sum(table.height for table in (*self._facts, *self._dates))
        if is_empty:  # labels name nothing
            self.left_out["labels"] += sum(int(each["attribute"].is_in(NAMING).sum()) for each in self.literal_tables)
        unknown = Counter({"unknown dates": self.unknown_dates})
        counts = self.left_out + self.spoilt + unknown if is_empty else self.left_out  # of these there are notes
        kinds = ", ".join(f"{kind} ({count:,})" for kind, count in sorted(counts.items()) if count)
        left_out = kinds and f"left out: {kinds}"
        if is_empty:
            texts = [each.column for each in self.columns if "text" in each.roles]
            if texts:  # the notes that say so are not shown
                left_out += (
                    f"{left_out and '; '}text, not compared: {listed(texts)}; if it holds dates or neighbours, say so: "
                )
                left_out += f"{columns_option([('date', texts[0])])} or tail={in_quotes(texts[0])}"
            raise InputError(f"{name}: no facts; an empty graph cannot be aligned{left_out and f' ({left_out})'}")
        if left_out:
            self.note(f"{name}: {left_out}")
        if self.unknown_dates:
            words = counted(self.unknown_dates, "date of an entity is", "dates of entities are")
            self.note(f"{name}: {words} unknown, and left out")
        is_set = bool(self.are_sets) and all(self.are_sets)
        return _assembled(self._facts, self._dates, self._entities, name, is_set)


def _assembled(
    facts_of: list[pl.DataFrame], dates_of: list[pl.DataFrame], others: Sequence[pl.Series], name: str, is_set: bool
) -> TemporalGraph:
    """The graph of facts, dates of entities and other entities; in a set, a fact said twice counts once.

    Entities, relations, facts and dates are sorted, whatever order the files had. The lists are emptied on the way:
    their tables need not be in memory twice.
    """
    empty = pl.DataFrame(schema=dict.fromkeys(NAMES, pl.String) | dict.fromkeys(INTERVAL, pl.Int32))
    facts = pl.concat(facts_of or [empty], rechunk=True)
    dates = pl.concat(dates_of or [empty.drop("tail")], rechunk=True)
    facts_of.clear()
    dates_of.clear()
    entities, ends = numbered(pl.concat([facts["head"], facts["tail"], dates["head"], *others]))
    relations, of_relation = numbered(pl.concat([facts["relation"], dates["relation"]]))
    head, tail, dated, _ = np.split(ends, np.cumsum([facts.height, facts.height, dates.height]))
    relation, of_date = np.split(of_relation, [facts.height])
    begin, end = facts["begin"].to_numpy(), facts["end"].to_numpy()
    order = fact_order(head, relation, tail, begin, end, n_entities=len(entities), n_relations=len(relations))
    if is_set:
        order = without_repeats(order, head, relation, tail, begin, end)
    columns = head[order], relation[order], tail[order], begin[order], end[order]
    names = tuple(entities.to_list()), tuple(relations.to_list())
    of_entity = dated, of_date, dates["begin"].to_numpy(), dates["end"].to_numpy()
    once = without_repeats(np.lexsort(of_entity[::-1]), *of_entity)
    return TemporalGraph(*columns, *names, name=name, dates=EntityDates(*(column[once] for column in of_entity)))


def _joined_halves(facts: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Facts as they are, and those whose begin and end stand in two rows, as one row each: that of the later half.

    Where a fact has several begins or ends, all stay as they are. Facts have a ``file`` and a ``line``, too.
    """
    has_begin, has_end = (pl.col(name) != UNKNOWN for name in INTERVAL)
    counts = (has_begin & ~has_end).sum() == 1, (has_end & ~has_begin).sum() == 1, (has_begin & has_end).sum() == 0
    is_half = (has_begin | has_end) & pl.all_horizontal(each.over(NAMES) for each in counts)
    halves = facts.filter(is_half).group_by(NAMES, maintain_order=True)
    whole = halves.agg(pl.col(INTERVAL).max(), pl.col("file", LINE).last())  # unknown is the least
    return facts.filter(~is_half), whole.select("file", LINE, *FACT)
