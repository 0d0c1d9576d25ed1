"""Options of the methods, one for each field of `dualmatch.config.Config`.

Their types are written out here, not made from the model: `dualmatch align --help` shall not wait for pydantic. A test
holds both together.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Final

import click

from dualmatch.cli.shared_options import Decorator, declared, given
from dualmatch.errors import InputError
from dualmatch.option_texts import METHOD_OPTIONS, METHOD_TEXTS
from dualmatch.research.baselines import BASELINES

if TYPE_CHECKING:
    from dualmatch.config import Config
    from dualmatch.research.baselines.run import BaselineOptions

METHODS: Final = ("temporal", "dualmatch", "evidence", "fused")
ALIGN_METHODS: Final = ("evidence", "temporal", "dualmatch")
NO_FUSED: Final = (
    "method fused writes the same links as evidence; choose evidence here, or measure fused with dualmatch benchmark "
    "and dualmatch experiment"
)
_KINDS: Final[Mapping[str, click.ParamType[Any]]] = {
    **dict.fromkeys(("min_confidence", "max_fdr"), click.FLOAT),
    "memory_limit": click.STRING,
    "epochs": click.INT,
    "alphas": click.STRING,
    "reflection": click.Choice(["auto", "all", "times", "none"]),
    "negatives": click.Choice(["other", "both"]),
    "decoder": click.Choice(["graph-matching", "naive"]),
}
"""The types of options that their defaults do not show."""


class _MethodChoice(click.Choice[str]):
    """Methods, in whatever case they are written."""

    def __init__(self, choices: Collection[str]) -> None:
        super().__init__([*choices], case_sensitive=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if str(value).lower() == "fused" and "fused" not in self.choices:
            self.fail(NO_FUSED, param, ctx)
        return super().convert(value, param, ctx)


def method_options(methods: Collection[str] = METHODS, baselines: bool = False) -> Decorator:
    """--method with these to choose from, and the options of all methods; unset ones arrive as None."""
    words = "; ".join(METHOD_TEXTS[method] for method in methods)
    if baselines:
        quick = ", ".join(name for name in BASELINES if not BASELINES[name].trains)
        trained = ", ".join(name for name in BASELINES if BASELINES[name].trains)
        words += f"; or a baseline, with --setting supervised: {quick}, or (extra [gnn]) {trained}"
        methods = [*methods, *BASELINES]
    words = f"How to align: {words}.  [default: evidence]"
    options = [click.option("--method", type=_MethodChoice(methods), metavar="METHOD", help=words)]
    for name, (default, text) in METHOD_OPTIONS.items():
        flag = name.replace("_", "-")
        flags = f"--{flag}/--no-{flag}" if isinstance(default, bool) else f"--{flag}"
        kind = _KINDS.get(name, type(default))
        options.append(click.option(flags, name, type=kind, default=None, help=f"{text}{_default(default)}"))
    return declared(options)


def _default(value: object) -> str:
    """What holds where nothing is given, as it would be typed.

    >>> _default((0.0, 0.5)), _default(None), _default(True)
    ('  [default: 0,0.5]', '', '  [default: yes]')
    """
    if isinstance(value, bool):
        value = "yes" if value else "no"
    text = ",".join(f"{each:g}" for each in value) if isinstance(value, tuple) else value
    return "" if value is None else f"  [default: {text}]"


def baseline_options(options: dict[str, Any]) -> BaselineOptions:
    """The options of a run of a baseline; those that it does not read are refused."""
    from dualmatch.config import Config
    from dualmatch.research.baselines.run import BaselineOptions

    own = given(options)
    name = own.pop("method")
    baseline = BASELINES[name]
    read = {
        "seed",
        "memory_limit",
        *(["epochs"] if baseline.trains else []),
        *(["dimension"] * bool(baseline.dimension)),
    }
    if foreign := [option for option in own if option not in read]:
        flags = " and ".join(f"--{option.replace('_', '-')}" for option in foreign)
        raise InputError(f"{flags}: not read by method {name}; leave it out, or change --method")
    checked = Config.checked(**own)  # for its words where a number is out of range
    return BaselineOptions(name, **{option: getattr(checked, option) for option in own})


def config_of(
    options: dict[str, Any], from_file: Mapping[str, Any] | None = None, offered: Collection[str] = METHODS
) -> Config:
    """The config of a run: the call's options over those of a run file.

    Options of the call that the method does not read are refused. Those of a file, which version 0.1.0 wrote in full,
    are left out with a note. `offered` are the methods that the verb has.
    """
    from dualmatch.cli import console
    from dualmatch.config import DEFAULT_METHOD, READ_BY, Config

    own, filed = given(options), dict(from_file or {})
    method = own.get("method") or filed.get("method", DEFAULT_METHOD)
    if foreign := Config.refused_options(own, method):
        lines = (
            f"--{name.replace('_', '-')} is not read by method {method}, only by "
            f"{' and '.join(each for each in offered if each in READ_BY[name])}; leave it out, or change --method"
            for name in foreign
        )
        raise InputError("\n".join(lines))
    if left_out := Config.foreign_options(filed, method):
        console.note(f"options of the file that method {method} does not read are left out: {', '.join(left_out)}")
    return Config.checked(**{name: value for name, value in filed.items() if name not in left_out} | own)
