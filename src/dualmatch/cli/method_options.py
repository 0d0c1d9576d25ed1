"""Options of the methods, one for each field of `dualmatch.config.Config`.

They are written out here, not made from the model: `dualmatch align --help` shall not wait for pydantic. A test holds
both together.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Final

import rich_click as click

from dualmatch.cli.shared_options import Decorator, declared, given
from dualmatch.errors import InputError

if TYPE_CHECKING:
    from dualmatch.config import Config

METHODS: Final = ("temporal", "dualmatch", "evidence", "fused")
ALIGN_METHODS: Final = ("evidence", "temporal", "dualmatch")
NO_FUSED: Final = (
    "method fused writes the same links as evidence; choose evidence here, or measure fused with dualmatch benchmark "
    "and dualmatch experiment"
)
_METHOD_HELP: Final = {
    "evidence": "'evidence' compares shared dated facts",
    "temporal": "'temporal' is the paper's time channel, which learns nothing",
    "dualmatch": "'dualmatch' is the paper's whole method (needs the extra [gnn])",
    "fused": "'fused' is all of these (needs the extra [gnn])",
}
_ALPHAS: Final = (0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2)
_REFLECTION: Final = click.Choice(["auto", "all", "times", "none"])
_DECODER: Final = click.Choice(["graph-matching", "naive"])

OPTIONS: Final[Mapping[str, tuple[click.ParamType[Any], Any, str]]] = {
    "min_confidence": (
        click.FLOAT,
        None,
        "Give only pairs of at least this confidence.  [default: above 0.5 for evidence, else all]",
    ),
    "max_fdr": (
        click.FLOAT,
        None,
        "Give only the surest pairs, as many as keep the expected share of wrong ones within this, in place of the "
        "threshold of method evidence; together with --min-confidence, both hold.",
    ),
    "many_to_one": (click.BOOL, False, "Let several source entities take one target (method evidence)."),
    "memory_limit": (
        click.STRING,
        None,
        "Limit for large matrices: 8GB, 6GiB, 500MB or 50% of the machine; a run that needs more is refused.  "
        "[default: 60%]",
    ),
    "seed": (click.INT, 0, "Seed of every random choice in training."),
    "hops": (click.INT, 2, "L: how many hops temporal features travel."),
    "zero_counts": (
        click.BOOL,
        False,
        "Let times without a fact enter the row softmax, as eq. time_adj is printed.",
    ),
    "sharpness": (
        click.FLOAT,
        50.0,
        "Sinkhorn's kernel is exp(sharpness * similarity), for methods temporal and dualmatch.",
    ),
    "sinkhorn_iterations": (
        click.INT,
        10,
        "Rows, then columns, this many times, for methods temporal and dualmatch.",
    ),
    "dimension": (click.INT, 128, "d: length of the relational encoder's vectors."),
    "epochs": (
        click.INT,
        None,
        "Passes over the seeds.  [default: 3 with pseudo-seeds, 10 with seeds, 20 with few]",
    ),
    "batch": (click.INT, 512, "Seed pairs in a training step."),
    "learning_rate": (click.FLOAT, 0.005, "Step size of the optimiser, RMSprop."),
    "dropout": (click.FLOAT, 0.3, "Share of features dropped while training."),
    "reflection": (
        _REFLECTION,
        "auto",
        "What neighbours are reflected by: all (relations and times), times or none; auto: all where both graphs have "
        "about as many relations, else none.",
    ),
    "negatives": (
        click.Choice(["other", "both"]),
        "both",
        "Where the negative examples of training come from: the other graph, or both.",
    ),
    "time_aspect": (click.BOOL, True, "Give the encoder its third aspect, the times at an entity."),
    "device": (click.STRING, "cpu", "Where to train: cpu, cuda, cuda:0 …"),
    "decoder": (
        _DECODER,
        "graph-matching",
        "How to fuse the channels: by graph matching, or naively (the paper's concatenated features).",
    ),
    "alphas": (click.STRING, _ALPHAS, "R_α: weights of the temporal channel to choose from, separated by commas."),
    "wl_iterations": (click.INT, 8, "h: refinements of the WL kernels."),
}
"""Type, default (None where a rule decides) and help of all options but the method itself, which differs by verb."""


class _MethodChoice(click.Choice[str]):
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "fused" and value not in self.choices:
            self.fail(NO_FUSED, param, ctx)
        return super().convert(value, param, ctx)


def method_options(methods: Collection[str] = METHODS) -> Decorator:
    """--method with these to choose from, and the options of all methods; unset ones arrive as None."""
    words = f"How to align: {'; '.join(_METHOD_HELP[method] for method in methods)}.  [default: evidence]"
    options = [click.option("--method", type=_MethodChoice([*methods]), help=words)]
    for name, (kind, default, help) in OPTIONS.items():
        flag = name.replace("_", "-")
        flags = f"--{flag}/--no-{flag}" if kind is click.BOOL else f"--{flag}"
        options.append(click.option(flags, name, type=kind, default=None, help=f"{help}{_default(default)}"))
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
