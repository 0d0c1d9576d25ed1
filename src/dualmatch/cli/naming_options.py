"""Options that say how names become IRIs, declared once for `align` and `merge`."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import click

from dualmatch.cli.options import Command, given
from dualmatch.links.naming import parse_prefixes


def naming_options(command: Command) -> Command:
    """Add the options; the command gets those that the call gives as one argument, ``naming``."""

    @functools.wraps(command)
    def with_naming(
        prefixes: Sequence[str], source_prefix: str | None, target_prefix: str | None, **others: Any
    ) -> Any:
        naming = {"prefix": parse_prefixes(prefixes), "source_prefix": source_prefix, "target_prefix": target_prefix}
        return command(naming=given(naming), **others)

    for side in ("target", "source"):
        with_naming = click.option(
            f"--{side}-prefix",
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
