"""Options that several commands share, declared once, and options made from the fields of a config."""

from __future__ import annotations

import types
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, Final, Literal, Union, get_args, get_origin

import click
from pydantic import BaseModel, BeforeValidator
from pydantic_core import PydanticUndefined

from dualmatch.cli import console

Command = Callable[..., Any]

folder_argument = click.argument("folder", type=click.Path(path_type=Path))
force_option = click.option("--force", is_flag=True, help="Replace the output where it exists already.")


def _silence(_context: click.Context, _option: click.Parameter, quiet: bool) -> bool:
    if quiet:
        console.silence()
    return quiet


def _tell_more(_context: click.Context, _option: click.Parameter, verbose: int) -> None:
    if verbose:
        console.tell_more(verbose)


def talk_options(command: Command) -> Command:
    """-q, which the command gets as ``quiet``, and -v."""
    quiet = click.option(
        "-q", "--quiet", is_flag=True, callback=_silence, help="No progress, no warnings, nothing on standard output."
    )
    verbose = click.option(
        "-v",
        "--verbose",
        count=True,
        callback=_tell_more,
        expose_value=False,
        help="Tell more on standard error; twice: everything.",
    )
    return quiet(verbose(command))


json_option = click.option(
    "--json",
    "json_path",
    metavar="FILE|-",
    help="Write the result, or what there is to say of it, as JSON; - is standard output, and nothing else goes there.",
)


def out_option(what: str, default: str | None = None) -> Callable[[Command], Command]:
    """-o / --output, required unless it has a default."""
    kind = click.Path(path_type=Path)
    if default is None:
        return click.option("-o", "--output", type=kind, required=True, help=what)
    return click.option("-o", "--output", type=kind, default=default, show_default=True, help=what)


def model_options(model: type[BaseModel], leave_out: Collection[str] = ()) -> Callable[[Command], Command]:
    """One option a field of `model`, with the field's own description, type and default; unset ones arrive as None."""

    def decorate(command: Command) -> Command:
        for name, field in reversed(model.model_fields.items()):
            if name in leave_out:
                continue
            parsed = any(isinstance(each, BeforeValidator) for each in field.metadata)
            kind = str if parsed else _plain_type(field.annotation)
            flag = f"--{name.replace('_', '-')}"
            words = f"{_sentence(field.description or '')}{_default(field.default)}"
            if kind is bool:
                command = click.option(f"{flag}/--no-{name.replace('_', '-')}", name, default=None, help=words)(command)
            else:
                command = click.option(flag, name, type=kind, default=None, help=words)(command)
        return command

    return decorate


def _sentence(description: str) -> str:
    """With a capital, unless it begins with a symbol, and a full stop.

    >>> _sentence("d: length"), _sentence("how to align")
    ('d: length.', 'How to align.')
    """
    is_symbol = description[1:2] == ":"
    return f"{description if is_symbol else description[:1].upper() + description[1:]}."


def _default(value: Any) -> str:
    """What holds where nothing is said, as it would be typed; nothing where there is none, or a rule.

    >>> _default((0.0, 0.5)), _default(None)
    ('  [default: 0,0.5]', '')
    """
    if value is PydanticUndefined or value is None:
        return ""
    return f"  [default: {','.join(f'{each:g}' for each in value) if isinstance(value, tuple) else value}]"


ARGUMENTS: Final = "dualmatch.arguments"


def called_with() -> tuple[str, ...]:
    """The words of the call that runs."""
    context = click.get_current_context(silent=True)
    return () if context is None else ("dualmatch", *context.meta.get(ARGUMENTS, ()))


def given(options: dict[str, Any]) -> dict[str, Any]:
    """The options the user set."""
    return {name: value for name, value in options.items() if value is not None}


def _plain_type(annotation: Any) -> Any:
    """What click shall parse: a plain type, or a choice for a Literal."""
    origin = get_origin(annotation)
    if origin is Literal:
        return click.Choice([str(value) for value in get_args(annotation)])
    if origin in (Union, types.UnionType):
        return _plain_type(next(arg for arg in get_args(annotation) if arg is not type(None)))
    return annotation if annotation in (int, float, bool) else str
