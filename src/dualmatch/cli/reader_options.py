"""Options that say how graphs are read, declared once for `align`, `inspect` and `merge`."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from dualmatch.cli import console
from dualmatch.cli.options import Command, given
from dualmatch.engine import Engine
from dualmatch.errors import SHOWN_PROBLEMS, InputError
from dualmatch.files.atomic import STANDARD_OUTPUT
from dualmatch.readers.columns import parse_columns
from dualmatch.readers.formats import FORMATS
from dualmatch.readers.options import ReadOptions
from dualmatch.readers.rdf.predicates import TimePredicates
from dualmatch.readers.rejected_lines import DEFAULT_LIMIT, Rejections
from dualmatch.runs.input_spec import Recipe, Sides

_TWICE = "Given twice: the source's, then the target's."
_PATH = click.Path(path_type=Path)

graphs_argument = click.argument("paths", nargs=-1, type=_PATH, metavar="FOLDER | SOURCE TARGET")


def side_options(command: Command) -> Command:
    """--source and --target."""
    for side in ("target", "source"):
        words = f"One more file of the {side}; may be repeated."
        command = click.option(f"--{side}", type=_PATH, multiple=True, help=words)(command)
    return command


_reading_options = (
    click.option(
        "--format",
        "formats",
        type=click.Choice([*FORMATS]),
        multiple=True,
        help=f"Format of the files, where their names do not tell. {_TWICE}",
    ),
    click.option(
        "--columns",
        "columns",
        multiple=True,
        metavar="head=NAME,…",
        help="Which columns of a table hold head, relation, tail, begin, end or time (a point); numbers from 1 where "
        f"it has no header. {_TWICE}  [default: guessed from usual names]",
    ),
    click.option(
        "--time-format",
        "time_formats",
        multiple=True,
        metavar="FORMAT",
        help=f"How times are written: epoch, epoch-ms or, say, %d.%m.%Y. {_TWICE}  [default: ISO dates, months, years]",
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
        help="Beginning of IRIs that names leave out; may be repeated.",
    ),
    click.option(
        "--on-error",
        type=click.Choice(["stop", "skip"]),
        help="Refuse files with lines that cannot be used, or leave these lines out.  [default: stop]",
    ),
    click.option(
        "--max-errors",
        type=click.IntRange(0),
        help=f"How many lines of a side may be left out.  [default: {DEFAULT_LIMIT}]",
    ),
    click.option("--rejected", type=_PATH, help="Where to write the lines that were left out, and why."),
)


@dataclass(frozen=True)
class Asked:
    """What a call said about reading.

    Attributes
    ----------
    given:
        For the source and the target: fields of `ReadOptions` that the call sets.
    rejected:
        Where rejected lines go.
    base:
        What holds where the call says nothing: defaults, or a run file's.
    """

    given: tuple[Mapping[str, Any], Mapping[str, Any]]
    rejected: Path | None
    base: tuple[ReadOptions, ReadOptions] = (ReadOptions(), ReadOptions())

    @property
    def options(self) -> tuple[ReadOptions, ReadOptions]:
        return replace(self.base[0], **self.given[0]), replace(self.base[1], **self.given[1])

    def over(self, base: tuple[ReadOptions, ReadOptions]) -> Asked:
        """What the call says over what a run file says."""
        return replace(self, base=base)

    def with_labels(self, files: Sequence[Path], in_files: bool | None) -> Asked:
        """With files of labels, and whether literals of the graphs' own files count; None where nothing is said."""
        both = given({"literals": in_files})
        source, target = a_side(files, "--labels")
        labels = given({"labels": source}), given({"labels": target})
        return replace(self, given=({**self.given[0], **labels[0], **both}, {**self.given[1], **labels[1], **both}))

    def recipe(self, paths: Sequence[Path], source: Sequence[Path] = (), target: Sequence[Path] = ()) -> Recipe:
        return Recipe(tuple(paths), self.options, tuple(source), tuple(target))

    def read(self, recipe: Recipe, engine: Engine | None = None) -> Sides:
        """Read both sides and say what was understood."""
        sides = recipe.read(engine)
        self.tell(sides.notes, sides.rejections)
        return sides

    def tell(self, notes: Sequence[str], rejections: Rejections) -> None:
        """Say what was guessed, and write what was left out."""
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

    def with_rejected_beside(self, output: Path) -> Asked:
        """Where nothing else is said, lines that are left out go beside the output, if it is a file."""
        skips = any(options.on_error == "skip" for options in self.options)
        if self.rejected is not None or output == STANDARD_OUTPUT or not skips:
            return self
        return replace(self, rejected=output.with_name(f"{output.name}.rejected.tsv"))


def reading_options(command: Command) -> Command:
    """Add the options; the command gets them as one argument, ``asked``."""

    @functools.wraps(command)
    def with_asked(
        formats: Sequence[str],
        columns: Sequence[str],
        time_formats: Sequence[str],
        time_predicates: Sequence[str],
        namespaces: Sequence[str],
        on_error: str | None,
        max_errors: int | None,
        rejected: Path | None,
        **others: Any,
    ) -> Any:
        common = {
            "time_predicates": _time_predicates(time_predicates) if time_predicates else None,
            "namespaces": tuple(namespaces) or None,
            "on_error": on_error,
            "max_errors": max_errors,
        }
        by_side = {
            "format": a_side(formats, "--format"),
            "columns": a_side([parse_columns(text) for text in columns], "--columns"),
            "time_format": a_side(time_formats, "--time-format"),
        }
        source, target = ({**common, **{name: both[side] for name, both in by_side.items()}} for side in (0, 1))
        return command(asked=Asked((given(source), given(target)), rejected), **others)

    for option in reversed(_reading_options):
        with_asked = option(with_asked)
    return with_asked


def said_of(notes: Sequence[str], *rejections: Rejections) -> dict[str, Any]:
    """What reading has to say, for JSON."""
    return {"notes": [*notes], "rejected": sum(each.total for each in rejections)}


def a_side(given: Sequence[Any], option: str) -> tuple[Any, Any]:
    """The source's and the target's value of an option that may be given once for both, or once for each."""
    if len(given) > 2:
        raise InputError(f"{option} is given {len(given)} times; once for both sides, or once for each")
    return (given[0], given[-1]) if given else (None, None)


def _time_predicates(given: Sequence[str]) -> TimePredicates:
    roles: dict[str, tuple[str, ...]] = {"begin": (), "end": (), "time": ()}
    for text in given:
        role, equals, iri = text.partition("=")
        if role not in roles or not equals or not iri:
            raise InputError(f"--time-predicate {text!r}: write begin=IRI, end=IRI or time=IRI")
        roles[role] += (iri,)
    return TimePredicates(**roles)
