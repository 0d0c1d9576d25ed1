"""Options of the methods, one for each field of `dualmatch.config.Config`.

They are written out here, not made from the model: `dualmatch align --help` shall not wait for pydantic. A test holds
both together.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import rich_click as click

from dualmatch.cli.shared_options import Command, declared, given
from dualmatch.errors import InputError

if TYPE_CHECKING:
    from dualmatch.config import Config

METHODS: Final = ("temporal", "dualmatch", "evidence", "fused")
ALIGN_METHODS: Final = ("evidence", "temporal", "dualmatch")
_METHOD_HELP: Final = {
    "evidence": "'evidence' compares shared dated facts",
    "temporal": "'temporal' is the paper's time channel, which learns nothing",
    "dualmatch": "'dualmatch' is the paper's whole method (needs the extra [gnn])",
    "fused": "'fused' is all of these (needs the extra [gnn])",
}
_WHOLE: Final = click.INT
_REAL: Final = click.FLOAT


class MethodOption(NamedTuple):
    """An option of a method; `default` is what holds where it is not given, None where a rule decides."""

    type: click.ParamType[Any]
    default: object
    help: str


OPTIONS: Final[Mapping[str, MethodOption]] = {
    "min_confidence": MethodOption(
        _REAL, None, "Give only pairs of at least this confidence.  [default: above 0.5 for evidence, else all]"
    ),
    "max_fdr": MethodOption(
        _REAL,
        None,
        "Give only the surest pairs, as many as keep the expected share of wrong ones within this, in place of the "
        "threshold of method evidence; together with --min-confidence, both hold.",
    ),
    "many_to_one": MethodOption(click.BOOL, False, "Let several source entities take one target (method evidence)."),
    "memory_limit": MethodOption(
        click.STRING,
        None,
        "Limit for large matrices: 8GB, 6GiB, 500MB or 50% of the machine; a run that needs more is refused.  "
        "[default: 60%]",
    ),
    "seed": MethodOption(_WHOLE, 0, "Seed of every random choice in training."),
    "hops": MethodOption(_WHOLE, 2, "L: how many hops temporal features travel."),
    "zero_counts": MethodOption(
        click.BOOL, False, "Let times without a fact enter the row softmax, as eq. time_adj is printed."
    ),
    "sharpness": MethodOption(
        _REAL, 50.0, "Sinkhorn's kernel is exp(sharpness * similarity), for methods temporal and dualmatch."
    ),
    "sinkhorn_iterations": MethodOption(
        _WHOLE, 10, "Rows, then columns, this many times, for methods temporal and dualmatch."
    ),
    "dimension": MethodOption(_WHOLE, 128, "d: length of the relational encoder's vectors."),
    "epochs": MethodOption(
        _WHOLE, None, "Passes over the seeds.  [default: 3 with pseudo-seeds, 10 with seeds, 20 with few]"
    ),
    "batch": MethodOption(_WHOLE, 512, "Seed pairs in a training step."),
    "learning_rate": MethodOption(_REAL, 0.005, "Step size of the optimiser, RMSprop."),
    "dropout": MethodOption(_REAL, 0.3, "Share of features dropped while training."),
    "reflection": MethodOption(
        click.Choice(["auto", "all", "times", "none"]),
        "auto",
        "What neighbours are reflected by: all (relations and times), times or none; auto: all where both graphs have "
        "about as many relations, else none.",
    ),
    "negatives": MethodOption(
        click.Choice(["other", "both"]),
        "both",
        "Where the negative examples of training come from: the other graph, or both.",
    ),
    "time_aspect": MethodOption(click.BOOL, True, "Give the encoder its third aspect, the times at an entity."),
    "device": MethodOption(click.STRING, "cpu", "Where to train: cpu, cuda, cuda:0 …"),
    "decoder": MethodOption(
        click.Choice(["graph-matching", "naive"]),
        "graph-matching",
        "How to fuse the channels: by graph matching, or naively (the paper's concatenated features).",
    ),
    "alphas": MethodOption(
        click.STRING,
        (0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2),
        "R_α: weights of the temporal channel to choose from, separated by commas.",
    ),
    "wl_iterations": MethodOption(_WHOLE, 8, "h: refinements of the WL kernels."),
}
"""All but the method itself, which differs between verbs."""


class _MethodChoice(click.Choice[str]):
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "fused" and value not in self.choices:
            self.fail(NO_FUSED, param, ctx)
        return super().convert(value, param, ctx)


NO_FUSED: Final = (
    "method fused writes the same links as evidence; choose evidence here, or measure fused with dualmatch benchmark "
    "and dualmatch experiment"
)


def method_options(methods: Collection[str] = METHODS) -> Callable[[Command], Command]:
    """--method with these to choose from, and the options of all methods; unset ones arrive as None."""
    words = f"How to align: {'; '.join(_METHOD_HELP[method] for method in methods)}.  [default: evidence]"
    options = [click.option("--method", type=_MethodChoice([*methods]), help=words)]
    for name, option in OPTIONS.items():
        flag = f"--{name.replace('_', '-')}"
        text = f"{option.help}{_default(option.default)}"
        if option.type is click.BOOL:
            options.append(click.option(f"{flag}/--no-{flag[2:]}", name, default=None, help=text))
        else:
            options.append(click.option(flag, name, type=option.type, default=None, help=text))
    return lambda command: declared(options, command)


def _default(value: object) -> str:
    """What holds where nothing is given, as it would be typed.

    >>> _default((0.0, 0.5)), _default(None)
    ('  [default: 0,0.5]', '')
    """
    if value is None:
        return ""
    shown = {True: "yes", False: "no"}[value] if isinstance(value, bool) else value
    return f"  [default: {','.join(f'{each:g}' for each in value) if isinstance(value, tuple) else shown}]"


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
    if foreign := Config.foreign_options(own, method):
        lines = (
            f"--{name.replace('_', '-')} is not read by method {method}, only by "
            f"{' and '.join(each for each in offered if each in READ_BY[name])}; leave it out, or change --method"
            for name in foreign
        )
        raise InputError("\n".join(lines))
    if left_out := Config.foreign_options(filed, method):
        console.note(f"options of the file that method {method} does not read are left out: {', '.join(left_out)}")
    return Config.checked(**{name: value for name, value in filed.items() if name not in left_out} | own)
