"""Options that say where blocks are computed, declared once."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from dualmatch.cli.shared_options import gathered
from dualmatch.errors import InputError
from dualmatch.option_texts import MOST_THREADS

if TYPE_CHECKING:
    from dualmatch.engine import Engine


@dataclass(frozen=True)
class EngineOptions:
    """What a call said about the engine."""

    kind: Literal["process", "dask"]
    scheduler: str | None
    workers: int | None
    threads: int | None
    exchange: str | None

    def __post_init__(self) -> None:
        from dualmatch.engine.remote import is_url

        for_dask = {"--scheduler": self.scheduler, "--workers": self.workers, "--exchange": self.exchange}
        for name, value in for_dask.items():
            if value is not None and self.kind != "dask":
                raise InputError(f"{name} goes with --engine dask; add it, or leave {name} out")
        if self.scheduler is not None and self.workers is not None:
            raise InputError("--workers is for a local cluster; the one at --scheduler already has its workers")
        if self.threads is not None and self.kind == "dask":
            raise InputError("--threads goes with --engine process; workers of a cluster take one thread each")
        if self.exchange is not None and not is_url(self.exchange) and not Path(self.exchange).is_dir():
            raise InputError(f"--exchange {self.exchange}: no such folder; make it first")

    def check(self, method: str) -> None:
        """Refuse what the method does not read."""
        if self.threads is not None and method != "evidence":
            raise InputError(
                f"--threads is for method evidence; {method} uses as many as OMP_NUM_THREADS says, and all "
                "cores if it is not set"
            )
        if self.kind == "dask" and method != "evidence":
            raise InputError(f"--engine dask is for method evidence; {method} computes in one process")

    def opened(self, method: str) -> AbstractContextManager[Engine | None]:
        """The engine for a run; None where the method has no use for one, or chooses its own."""
        from dualmatch.engine import InProcess

        if method != "evidence":
            return nullcontext()
        if self.kind == "process":
            return nullcontext(None if self.threads is None else InProcess(self.threads))
        from dualmatch.engine.cluster import Cluster

        return Cluster(self.scheduler, self.workers, exchange=self.exchange)


engine_options = gathered(
    "engine",
    EngineOptions,
    [
        click.option(
            *("--engine", "kind"),
            type=click.Choice(["process", "dask"]),
            default="process",
            show_default=True,
            help="Where blocks of rows are computed (method evidence): in this process, or on a Dask cluster (needs "
            "the extra [dask]). The result is the same.",
        ),
        click.option(
            "--scheduler",
            metavar="ADDRESS",
            help="With --engine dask: a running cluster, such as tls://host:8786.  [default: one on this machine, on "
            "the loopback interface only]",
        ),
        click.option(
            "--workers",
            type=click.IntRange(1, MOST_THREADS),
            help="With --engine dask: processes of the local cluster.  [default: cores]",
        ),
        click.option(
            "--threads",
            type=click.IntRange(1, MOST_THREADS),
            help="With --engine process: threads that compute; reading has its own, bounded by POLARS_MAX_THREADS.  "
            "[default: cores; one for small graphs]",
        ),
        click.option(
            "--exchange",
            metavar="FOLDER",
            help="With --engine dask: a folder that all workers see, or a URL that fsspec can write to, such as "
            "s3://bucket/tmp, for what they compute on.  [default: a temporary folder; workers that do not see it only "
            "search, and get what they search over the network]",
        ),
    ],
)
"""The command gets them as one argument, ``engine``."""
