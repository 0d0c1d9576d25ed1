"""Options that several commands share, declared once."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import click

Command = Callable[..., Any]
Decorator = Callable[[Command], Command]


class _Path(click.Path):
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path: Any = super().convert(value, param, ctx)
        if not str(value) or "\0" in str(value):
            self.fail("is not a path; give the name of a file or folder", param, ctx)
        if param is not None and "-o" in param.opts and not path.name:
            self.fail(f"{str(value)!r} is a folder; give the name of a file", param, ctx)
        return path


PATH: Final = _Path(path_type=Path)
PATH_AS_TYPED: Final = _Path(path_type=str)  # which keeps ./NAME and NAME apart
ARGUMENTS: Final = "dualmatch.arguments"


def path_option(flag: str, help: str, name: str | None = None, **more: Any) -> Decorator:
    """An option that takes a path; the command gets it under `name`, by default the flag's own."""
    return click.option(flag, *([] if name is None else [name]), **{"type": PATH, "help": help, **more})


def out_option(what: str, default: str | None = None) -> Decorator:
    """-o / --output, required unless it has a default."""
    required = default is None
    return path_option("-o", what, "--output", required=required, default=default, show_default=not required)


alignment_argument = click.argument("alignment", type=PATH)
folder_argument = click.argument("folder", type=PATH)
force_option = click.option("--force", is_flag=True, help="Replace the output where it exists already.")
gold_folder_option = path_option(
    "--data",
    "The benchmark folder whose ids the gold file uses.  [default: the gold file's own folder, if it is one]",
)
input_folder_option = path_option(
    "--folder", "Where the input files are now.  [default: where they were when the links were made]"
)
show_labels_option = path_option(
    "--show-labels",
    "A file of names and labels to show, two tab-separated columns; never compared. Given twice: the source's, then "
    "the target's.  [default: labels in the input files]",
    multiple=True,
)
reviewer_option = click.option(
    "--reviewer", metavar="NAME", help="Who decides; kept with every decision.  [default: your login name]"
)
port_option = click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="The port to serve on.  [default: a free one]"
)
json_option = click.option(
    "--json",
    "json_path",
    metavar="FILE|-",
    help="Write the result, or a summary of it, as JSON; - is standard output, where nothing else is printed.",
)


def declared(options: Sequence[Decorator]) -> Decorator:
    """Several options as one, in their order."""
    return lambda command: functools.reduce(lambda decorated, option: option(decorated), reversed(options), command)


def gathered(name: str, build: Callable[..., Any], options: Sequence[Decorator]) -> Decorator:
    """Several options, of which the command gets one argument: what `build` makes of their values."""

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def gathering(**values: Any) -> Any:
            own = {each: values.pop(each) for each in inspect.signature(build).parameters}
            return command(**{name: build(**own)}, **values)

        return declared(options)(gathering)

    return decorate


def _talk(_context: click.Context, option: click.Parameter, value: int) -> int:
    from dualmatch.cli import console

    if value:
        console.silence() if option.name == "quiet" else console.be_verbose(value)
    return value


talk_options = declared(
    [
        click.option(
            "-q", "--quiet", is_flag=True, callback=_talk, help="No progress, no warnings, nothing on standard output."
        ),
        click.option(
            *("-v", "--verbose"),
            count=True,
            callback=_talk,
            expose_value=False,
            help="Print more on standard error; twice: everything.",
        ),
    ]
)
"""-q, which the command gets as ``quiet``, and -v."""


def _naming(prefixes: Sequence[str], source_prefix: str | None, target_prefix: str | None) -> dict[str, Any]:
    from dualmatch.links.naming import parse_prefixes

    return given({"prefix": parse_prefixes(prefixes), "source_prefix": source_prefix, "target_prefix": target_prefix})


naming_options = gathered(
    "naming",
    _naming,
    [
        click.option(
            *("--prefix", "prefixes"),
            multiple=True,
            metavar="NAME=IRI",
            help="What a prefix stands for, in SSSOM and sameAs; may be repeated.",
        ),
        *(
            click.option(
                f"--{side}-prefix",
                metavar="NAME",
                help=f"Prefix of {side} names without an IRI, in SSSOM and sameAs.  [default: urn:dualmatch:{side}:]",
            )
            for side in ("source", "target")
        ),
    ],
)
"""How names become IRIs; the command gets the options that the call gives as ``naming``."""


def called_with() -> tuple[str, ...]:
    """The words of the call that runs."""
    context = click.get_current_context(silent=True)
    return () if context is None else ("dualmatch", *context.meta.get(ARGUMENTS, ()))


def given(options: dict[str, Any]) -> dict[str, Any]:
    """The options the user set."""
    return {name: value for name, value in options.items() if value is not None}
