"""A review of a planted run: every kind of doubt is there, and its answer is known."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from scipy import sparse as sp

from dualmatch import TemporalGraph
from dualmatch.config import Config
from dualmatch.explain.basis import ExplanationBasis
from dualmatch.links.decisions import DecisionLog
from dualmatch.methods.evidence.confidence import Confidence
from dualmatch.methods.evidence.state import Model, RoundState
from dualmatch.readers.read_options import ReadOptions
from dualmatch.review.serve import Endpoint, ReviewServer
from dualmatch.review.session import Session
from dualmatch.runs.companion import ExplainedRun
from dualmatch.runs.input_spec import InputSpec
from reviewing import Client

SURE, LIKELY, MAYBE, ALONE = 40, 8, 6, 6
SIZE = SURE + LIKELY + 2 + MAYBE + ALONE
PAIR = SURE + LIKELY  # the two entangled entities are this one and the next


def planted(seeds: int = 0) -> ExplanationBasis:
    """Sixty entities and their partners of the same number: sure, likely, two entangled, not linked, without any."""
    source, target = (
        TemporalGraph.from_facts([(f"{side}{n:02}", "next to", f"{side}{(n + 1) % SIZE:02}") for n in range(SIZE)])
        for side in "sq"
    )
    chance = np.full(SIZE, 0.999)
    chance[SURE:PAIR] = np.linspace(0.6, 0.9, LIKELY)
    chance[PAIR : PAIR + 2] = 0.52
    chance[PAIR + 2 : PAIR + 2 + MAYBE] = 0.42
    chance[PAIR + 2 + MAYBE :] = 0.01
    rows = np.arange(SIZE)
    others = (rows + 1) % SIZE
    others[PAIR + 1] = PAIR
    row, column = np.concatenate([rows, rows]), np.concatenate([rows, others])
    value = np.concatenate([chance, np.where(chance > 0.3, np.minimum(1 - chance, chance) * 0.9, 0.001)])
    candidates = sp.csr_array((value, (row, column)), shape=(SIZE, SIZE))
    linked = np.flatnonzero(chance > 0.5)
    state = RoundState.of_pairs(
        row, column, np.log(value / (1 - value)), candidates.shape, Model.of_sizes(*[2 * source.n_relations] * 2)
    )
    return ExplanationBasis(
        source,
        target,
        state,
        Confidence.as_they_are(),
        candidates,
        np.stack([linked, linked], axis=1),
        chance[linked],
        linked < seeds,
    )


@contextmanager
def reviewed(folder: Path, reviewer: str = "ada", seeds: int = 0) -> Iterator[tuple[Session, Client]]:
    """Serve it; several reviewers may share a folder."""
    run = ExplainedRun(planted(seeds), Config().model_dump(), InputSpec((), (ReadOptions(), ReadOptions())), {})
    session = Session(folder / "links.tsv", run, DecisionLog.open(folder / "d.db", reviewer=reviewer))
    session.prepare()
    serving = ReviewServer(session, Endpoint())
    thread = threading.Thread(target=serving.run)
    thread.start()
    try:
        yield session, Client(serving.address)
    finally:
        serving.stop()
        thread.join()
        session.log.close()
