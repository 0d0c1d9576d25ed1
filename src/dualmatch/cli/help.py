"""Help in panels: options and verbs in named groups, printed by click alone.

Rendering with rich took longer than all else that `--help` does, so it is not loaded for it.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any, Final

import click

_ALL: Final = "dualmatch.help_all"  # where a call keeps that everything is to be shown
_DEFAULT_AND_RANGE: Final = re.compile(r"(\[default: [^\]]*)\]  \[")  # click has one bracket for both, if it knows both
_FIRST_SENTENCE: Final = re.compile(r"(.*?\.)(?: (?=[A-Z]).*?)?(  \[.*)?", re.DOTALL)


class _Formatter(click.HelpFormatter):
    def write_heading(self, heading: str) -> None:
        super().write_heading(click.style(heading, bold=True))

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        shown = [(click.style(name, bold=True), _DEFAULT_AND_RANGE.sub(r"\1; ", words)) for name, words in rows]
        super().write_dl(shown, col_max, col_spacing)


class HelpContext(click.Context):
    """A call whose help has headings and names in bold, on terminals that can."""

    formatter_class = _Formatter


class PanelCommand(click.Command):
    """A command whose options are listed in panels; those of no panel follow.

    ``--help`` lists the `everyday` ones, each with its first sentence, and ends with the line `more`; ``--help-all``
    lists all of them in full.
    """

    def __init__(
        self, *args: Any, panels: Mapping[str, Sequence[str]], everyday: Container[str], more: str, **others: Any
    ) -> None:
        super().__init__(*args, **others)
        self.panels, self.everyday, self.more = panels, everyday, more

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        records: dict[str, list[tuple[str, str]]] = {}  # of a name: --names and --no-names share theirs
        for each in self.get_params(ctx):
            if isinstance(each, click.Option) and (record := each.get_help_record(ctx)):
                name = "help" if "--help" in each.opts else str(each.name)  # click has a name of its own for it
                if _ALL in ctx.meta:
                    records.setdefault(name, []).append(record)
                elif name in self.everyday:
                    records.setdefault(name, []).append((record[0], _in_brief(record[1])))
        for panel, names in self.panels.items():
            _write_panel(formatter, panel, [record for name in names for record in records.pop(name, [])])
        _write_panel(formatter, "Options", [record for left in records.values() for record in left])
        if _ALL not in ctx.meta:
            formatter.write(f"\n{self.more}\n")


def _show_all(context: click.Context, _option: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        context.meta[_ALL] = True
        click.echo(context.get_help(), color=context.color)
        context.exit()


help_all_option = click.option(
    "--help-all", is_flag=True, is_eager=True, expose_value=False, callback=_show_all, help="Show all options, in full."
)


def _in_brief(words: str) -> str:
    found = _FIRST_SENTENCE.fullmatch(words)
    return words if found is None else found[1] + (found[2] or "")


class PanelGroup(click.Group):
    """A group whose commands are listed in panels, each with its line of help."""

    def __init__(self, *args: Any, panels: Mapping[str, Mapping[str, str]], **more: Any) -> None:
        super().__init__(*args, **more)
        self.panels = panels

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for panel, verbs in self.panels.items():
            _write_panel(formatter, panel, [*verbs.items()])
        click.Command.format_options(self, ctx, formatter)


def _write_panel(formatter: click.HelpFormatter, name: str, rows: Sequence[tuple[str, str]]) -> None:
    if rows:
        with formatter.section(name):
            formatter.write_dl(rows)
