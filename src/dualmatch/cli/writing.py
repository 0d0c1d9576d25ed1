"""Options that say how names become IRIs, declared once for `align` and `merge`."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import click

from dualmatch.cli.options import Command
from dualmatch.io.naming import Naming, parse_prefixes


def naming_options(command: Command) -> Command:
    """Add the options; the command gets them as one argument, ``naming``."""

    @functools.wraps(command)
    def with_naming(prefixes: Sequence[str], source_prefix: str, target_prefix: str, **others: Any) -> Any:
        return command(naming=Naming(parse_prefixes(prefixes), source_prefix, target_prefix), **others)

    for side in ("target", "source"):
        with_naming = click.option(
            f"--{side}-prefix",
            default=side,
            metavar="NAME",
            help=f"Prefix of {side} names that are no IRIs, in SSSOM and sameAs.  [default: urn:dualmatch:{side}:]",
        )(with_naming)
    return click.option(
        "--prefix",
        "prefixes",
        multiple=True,
        metavar="NAME=IRI",
        help="What a prefix stands for, in SSSOM and sameAs; may be repeated.",
    )(with_naming)
