"""Options that say how graphs are read, declared once for all commands that read files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from dualmatch.cli import console
from dualmatch.cli.shared_options import PATH, declared, gathered, given, path_option
from dualmatch.errors import SHOWN_PROBLEMS, InputError
from dualmatch.files.atomic import STANDARD_OUTPUT

if TYPE_CHECKING:
    from dualmatch.engine import Engine
    from dualmatch.readers.read_options import ReadOptions, TimePredicates
    from dualmatch.readers.rejected_lines import Rejections
    from dualmatch.runs.graph_pair import GraphPair
    from dualmatch.runs.input_spec import InputSpec

FORMATS: Final = ("csv", "tsv", "parquet", "ntriples", "nquads", "turtle", "trig", "rdfxml", "jsonld", "wikidata")
_TIME_FORMAT: Final = "How times are written: epoch, epoch-ms or, say, %d.%m.%Y."
time_format_option = click.option(
    "--time-format",
    metavar="FORMAT",
    help=f"{_TIME_FORMAT}  [default: ISO dates, months, years]",
)
"""For commands that read a folder."""
_TWICE: Final = "Given twice: the source's, then the target's."


def _limit(_context: click.Context, _option: click.Parameter, text: str | None) -> int | None:
    if text is None:
        return None
    from dualmatch.memory import checked_limit, parse_bytes

    try:
        return checked_limit(parse_bytes(text))
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


memory_option = click.option(
    "--memory-limit",
    metavar="SIZE",
    callback=_limit,
    help="What is read may take this much: 8GB, 6GiB, 500MB or 50% of the machine.  [default: 60%]",
)
"""For commands that read without a method; align has it among the options of methods."""
graphs_argument = click.argument("paths", nargs=-1, type=PATH, metavar="FOLDER | SOURCE TARGET")


side_options = declared(
    [
        path_option(f"--{side}", f"One more file of the {side}; may be repeated.", multiple=True)
        for side in ("source", "target")
    ]
)


@dataclass(frozen=True)
class NamesOptions:
    """What a call says about names; None where nothing is said."""

    choice: str | None
    files: tuple[Path, ...]
    in_files: bool | None  # --use-labels of older versions
    languages: tuple[str, ...] | None


def _names(
    names: str | None, no_names: bool, labels: tuple[Path, ...], use_labels: bool | None, label_languages: str | None
) -> NamesOptions:
    if no_names:
        if names not in (None, "none"):
            raise InputError(f"--names {names} compares names, and --no-names compares none; leave one of them out")
        names = "none"
    languages = None
    if label_languages is not None:
        languages = tuple(part.strip() for part in label_languages.split(",") if part.strip())
        if not languages:
            raise InputError("--label-language: write codes of languages, such as en,de")
    choice = names if names is not None or use_labels is None else "auto" if use_labels else "none"
    return NamesOptions(choice, labels, use_labels or None, languages)


names_options = gathered(
    "names",
    _names,
    [
        click.option(
            "--names",
            type=click.Choice(["auto", "ids", "none"]),
            help="What to compare besides facts (method evidence): 'auto' labels in the input, where both sides have "
            "some; 'ids' the ids themselves; 'none' nothing, as --no-names.  [default: auto]",
        ),
        click.option("--no-names", is_flag=True, help="The same as --names none."),
        path_option(
            "--labels",
            "A file of names and labels, two tab-separated columns, to compare besides the facts (method evidence). "
            "Given twice: the source's, then the target's.",
            multiple=True,
        ),
        click.option(
            "--label-language",
            "label_languages",
            metavar="CODE,…",
            help="Compare labels of these languages only, such as en,de, and labels that have none.  [default: all]",
        ),
        click.option("--use-labels/--no-use-labels", default=None, hidden=True),
    ],
)
"""Which names to compare; the command gets the options as ``names``."""


@dataclass(frozen=True)
class ReaderOptions:
    """What a call said about reading.

    `given`: for the source and the target: fields of `ReadOptions` that the call sets. `base`: what holds where the
    call says nothing, such as the options of a run file; None for the defaults.
    """

    given: tuple[Mapping[str, Any], Mapping[str, Any]]
    rejected: Path | None  # where rejected lines go
    base: tuple[ReadOptions, ReadOptions] | None = field(default=None)

    @property
    def options(self) -> tuple[ReadOptions, ReadOptions]:
        from dualmatch.readers.read_options import ReadOptions

        source, target = self.base or (ReadOptions(), ReadOptions())
        return replace(source, **self.given[0]), replace(target, **self.given[1])

    def over(self, base: tuple[ReadOptions, ReadOptions]) -> ReaderOptions:
        """What the call says over what a run file says."""
        return replace(self, base=base)

    def with_names(self, names: NamesOptions, compared: bool) -> ReaderOptions:
        """With what the call says of names; where neither it nor a run file does, those of the files are `compared`."""
        said = given({"names": names.choice, "literals": names.in_files, "label_languages": names.languages})
        if names.choice == "none":
            if names.files:
                raise InputError("--labels gives names to compare, and --no-names compares none; leave one of them out")
            said |= {"labels": None, "literals": False}
        files = _by_side(names.files, "--labels")
        sides = [{**each, **said, **given({"labels": labels})} for each, labels in zip(self.given, files, strict=True)]
        for side, options in zip(sides, self.options, strict=True):
            choice = side.get("names", options.names) or "auto"
            side["names"] = None if choice == "auto" and not compared else choice  # the record says what was asked for
        return replace(self, given=(sides[0], sides[1]))

    def within(self, memory_limit: int | None) -> ReaderOptions:
        """With what may be read at once, and in all, under this limit; the default one where it is None."""
        from dualmatch.memory import default_limit

        limit = default_limit() if memory_limit is None else memory_limit
        source, target = ({**each, "memory_limit": limit} for each in self.given)
        return replace(self, given=(source, target))

    def with_labels(self) -> ReaderOptions:
        """With the labels that files hold."""
        source, target = ({**each, "names": "auto"} for each in self.given)
        return replace(self, given=(source, target))

    def input_spec(self, paths: Sequence[Path], source: Sequence[Path] = (), target: Sequence[Path] = ()) -> InputSpec:
        from dualmatch.runs.input_spec import InputSpec

        return InputSpec(tuple(paths), self.options, tuple(source), tuple(target))

    def read(
        self, spec: InputSpec, engine: Engine | None = None, same_ids: bool = False, compares: bool = True
    ) -> GraphPair:
        """Read both sides and print what was understood."""
        sides = spec.read(engine, compares)
        if same_ids:
            sides = sides.with_same_ids()
        self.report(sides.notes, sides.rejections)
        return sides

    def report(self, notes: Sequence[str], rejections: Rejections) -> None:
        """Print what was guessed, and write what was left out."""
        for note in notes:
            console.note(note)
        if not rejections.total:
            return
        for rejected in rejections.in_order()[:SHOWN_PROBLEMS]:
            console.note(f"left out: {rejected}")
        if self.rejected is None:
            console.note(f"{rejections.in_words}; --rejected FILE keeps what is left out, with the reasons")
        else:
            rejections.write(self.rejected)
            console.note(f"{rejections.in_words}; see {self.rejected} for the reasons")

    def with_rejected_beside(self, output: Path) -> ReaderOptions:
        """Where nothing else is said, lines that are left out go beside the output, if it is a file."""
        skips = any(options.on_error == "skip" for options in self.options)
        if self.rejected is not None or output == STANDARD_OUTPUT or not skips:
            return self
        return replace(self, rejected=output.with_name(f"{output.name}.rejected.tsv"))


def _by_side(values: Sequence[Any], option: str) -> tuple[Any, Any]:
    """The source's and the target's value of an option that may be given once for both, or once for each."""
    if len(values) > 2:
        raise InputError(f"{option} is given {len(values)} times; once for both sides, or once for each")
    return (values[0], values[-1]) if values else (None, None)


def _time_predicates(values: Sequence[str]) -> TimePredicates:
    from dualmatch.readers.read_options import TimePredicates

    roles: dict[str, tuple[str, ...]] = {"begin": (), "end": (), "time": ()}
    for text in values:
        role, equals, iri = text.partition("=")
        if role not in roles or not equals or not iri:
            raise InputError(f"--time-predicate {text!r}: write begin=IRI, end=IRI or time=IRI")
        roles[role] += (iri,)
    return TimePredicates(**roles)


def _asked(
    formats: Sequence[str],
    columns: Sequence[str],
    time_formats: Sequence[str],
    list_separators: Sequence[str],
    time_predicates: Sequence[str],
    namespaces: Sequence[str],
    on_error: str | None,
    max_errors: int | None,
    rejected: Path | None,
) -> ReaderOptions:
    from dualmatch.readers.columns import parse_columns

    common = {
        "time_predicates": _time_predicates(time_predicates) if time_predicates else None,
        "namespaces": tuple(namespaces) or None,
        "on_error": on_error,
        "max_errors": max_errors,
    }
    by_side = {
        "format": _by_side(formats, "--format"),
        "columns": _by_side([parse_columns(text) for text in columns], "--columns"),
        "time_format": _by_side(time_formats, "--time-format"),
        "list_separator": _by_side(list_separators, "--list-separator"),
    }
    source, target = (given(common | {name: both[side] for name, both in by_side.items()}) for side in (0, 1))
    return ReaderOptions((source, target), rejected)


reading_options = gathered(
    "asked",
    _asked,
    [
        click.option(
            "--columns",
            multiple=True,
            metavar="head=NAME,…",
            help="Which columns of a table hold head, relation (or =WORDS: the same for all), tail (may be repeated), "
            "begin, end or time (a point, or what a column role says), and label; numbers from 1 where it has no "
            "header. Where each row is an entity: id, label, and what other columns hold: date=NAME, tail=NAME "
            "(neighbours), text=NAME (not compared). "
            f"{_TWICE}  [default: guessed]",
        ),
        click.option(
            "--format",
            "formats",
            type=click.Choice(FORMATS),
            multiple=True,
            help=f"Format of the files, where their names do not show it. {_TWICE}",
        ),
        click.option(
            "--time-format",
            "time_formats",
            multiple=True,
            metavar="FORMAT",
            help=f"{_TIME_FORMAT} {_TWICE}  [default: ISO dates, months, years]",
        ),
        click.option(
            "--list-separator",
            "list_separators",
            multiple=True,
            metavar="TEXT",
            help=f"What separates several values of a cell in tables, such as ';' or '|'. {_TWICE}  [default: a "
            "cell is one value]",
        ),
        click.option(
            "--time-predicate",
            "time_predicates",
            multiple=True,
            metavar="begin|end|time=IRI",
            help="RDF predicate whose values are times of statements; may be repeated.  [default: usual ones]",
        ),
        click.option(
            "--namespace",
            "namespaces",
            multiple=True,
            metavar="IRI",
            help="Beginning of IRIs to leave out of names; may be repeated.",
        ),
        click.option(
            "--on-error",
            type=click.Choice(["dates", "stop", "skip"]),
            help="dates: what is not a date counts as unknown, and other lines that cannot be used are refused; stop: "
            "refuse both; skip: leave these lines out.  [default: dates]",
        ),
        click.option(
            "--max-errors", type=click.IntRange(0), help="How many lines of a side may be left out.  [default: 1000]"
        ),
        path_option("--rejected", "Where to write the lines that were left out, and why."),
    ],
)
"""How to read files; the command gets the options as one argument, ``asked``."""
