"""Options that say how graphs are read, declared once for `align`, `inspect` and `merge`."""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from dualmatch.cli import console
from dualmatch.cli.options import Command
from dualmatch.errors import InputError, OutputError
from dualmatch.io.atomic import check_writable
from dualmatch.io.columns import parse_columns
from dualmatch.io.formats import FORMATS
from dualmatch.io.intake import ReadOptions
from dualmatch.io.predicates import TimePredicates
from dualmatch.io.rejections import DEFAULT_LIMIT, Rejections
from dualmatch.io.sides import Sides, read_sides

_TWICE = "Given twice: the source's, then the target's."
_PATH = click.Path(path_type=Path)

graphs_argument = click.argument("paths", nargs=-1, type=_PATH, metavar="FOLDER | SOURCE TARGET")
side_options = (
    click.option("--source", type=_PATH, multiple=True, help="One more file of the source; may be repeated."),
    click.option("--target", type=_PATH, multiple=True, help="One more file of the target; may be repeated."),
)
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
        default="stop",
        show_default=True,
        help="Refuse files with lines that cannot be used, or leave these lines out.",
    ),
    click.option(
        "--max-errors",
        type=click.IntRange(0),
        default=DEFAULT_LIMIT,
        show_default=True,
        help="How many lines of a side may be left out.",
    ),
    click.option("--rejected", type=_PATH, help="Where to write the lines that were left out, and why."),
)


@dataclass(frozen=True)
class Asked:
    """What a call said about reading: one `ReadOptions` a side, and where rejected lines go."""

    options: tuple[ReadOptions, ReadOptions]
    rejected: Path | None

    def read(self, paths: Sequence[Path], source: Sequence[Path] = (), target: Sequence[Path] = ()) -> Sides:
        """Read both sides and say what was understood."""
        sides = read_sides(paths, self.options, source, target)
        self.tell(sides.notes, sides.rejections)
        return sides

    def tell(self, notes: Sequence[str], rejections: Rejections) -> None:
        """Say what was guessed, and write what was left out."""
        for note in notes:
            console.note(note)
        if rejections.total and self.rejected is not None:
            rejections.write(self.rejected)
            console.note(f"{rejections.total:,} lines were left out; they are in {self.rejected}")

    def with_rejected_beside(self, output: Path | None, force: bool) -> Asked:
        """Where nothing else is said, lines that are left out go beside the output, if it is a file."""
        rejected = self.rejected
        if rejected is None and output is not None and str(output) != "-" and self.options[0].on_error == "skip":
            rejected = output.with_name(f"{output.name}.rejected.tsv")
        if rejected is not None:
            check_writable(rejected, force)
        return replace(self, rejected=rejected)


def reading_options(command: Command) -> Command:
    """Add the options; the command gets them as one argument, ``asked``."""

    @functools.wraps(command)
    def with_asked(
        formats: Sequence[str],
        columns: Sequence[str],
        time_formats: Sequence[str],
        time_predicates: Sequence[str],
        namespaces: Sequence[str],
        on_error: Any,
        max_errors: int,
        rejected: Path | None,
        **others: Any,
    ) -> Any:
        common = ReadOptions(
            time_predicates=_time_predicates(time_predicates),
            namespaces=tuple(namespaces),
            on_error=on_error,
            max_errors=max_errors,
        )
        by_side = {
            "format": _a_side(formats, "--format"),
            "columns": _a_side([parse_columns(text) for text in columns], "--columns"),
            "time_format": _a_side(time_formats, "--time-format"),
        }
        sides = [replace(common, **{name: values[side] for name, values in by_side.items()}) for side in (0, 1)]
        return command(asked=Asked((sides[0], sides[1]), rejected), **others)

    for option in reversed(_reading_options):
        with_asked = option(with_asked)
    return with_asked


def refuse_own_input(output: Path, inputs: Sequence[Path]) -> None:
    """An output must not be one of the files it is made from."""
    for path in inputs:
        if os.path.exists(path) and os.path.exists(output) and os.path.samefile(path, output):
            raise OutputError(f"{output}: is an input too; write the output elsewhere")


def _a_side(given: Sequence[Any], option: str) -> tuple[Any, Any]:
    if len(given) > 2:
        raise InputError(f"{option} is given {len(given)} times; once for both sides, or once for each")
    return (given[0], given[-1]) if given else (None, None)


def _time_predicates(given: Sequence[str]) -> TimePredicates:
    if not given:
        return TimePredicates()
    roles: dict[str, tuple[str, ...]] = {"begin": (), "end": (), "time": ()}
    for text in given:
        role, equals, iri = text.partition("=")
        if role not in roles or not equals or not iri:
            raise InputError(f"--time-predicate {text!r}: write begin=IRI, end=IRI or time=IRI")
        roles[role] += (iri,)
    return TimePredicates(**roles)
