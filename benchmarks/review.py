"""How long the review page takes on many pairs: to open the queue, and to decide and see the next pair.

python benchmarks/review.py [--entities 115000]

The graphs are simulated and the run is made up from the true pairs, with drawn confidences: the page is measured,
not the alignment.
"""

from __future__ import annotations

import argparse
import http.client
import tempfile
import threading
import time
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import numpy as np
from scipy import sparse as sp

from dualmatch.config import Config
from dualmatch.explain.basis import ExplanationBasis
from dualmatch.links.decisions import DecisionLog
from dualmatch.methods.evidence.confidence import Confidence
from dualmatch.methods.evidence.state import Model, RoundState
from dualmatch.readers.read_options import ReadOptions
from dualmatch.review.filter import Filter
from dualmatch.review.serve import Endpoint, ReviewServer
from dualmatch.review.session import Session
from dualmatch.runs.companion import ExplainedRun
from dualmatch.runs.input_spec import InputSpec
from dualmatch.simulate import SimulatedPair, scale_world, simulate


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entities", type=int, default=115_000, help="some 100,000 of which are paired")
    parser.add_argument("--decisions", type=int, default=50)
    asked = parser.parse_args()
    pair = simulate(scale_world(asked.entities))
    basis = made_up(pair)
    print(f"{pair.source!r}\n{len(basis.pairs):,} pairs")
    with tempfile.TemporaryDirectory() as folder:
        measure(basis, Path(folder), asked.decisions)


def measure(basis: ExplanationBasis, folder: Path, decisions: int) -> None:
    run = ExplainedRun(basis, Config(), InputSpec((), (ReadOptions(), ReadOptions())), {})
    start = time.perf_counter()
    session = Session(folder / "links.tsv", run, DecisionLog.open(folder / "decisions.db"))
    print(f"order the queue: {time.perf_counter() - start:.2f} s")
    serving = ReviewServer(session, Endpoint())
    thread = threading.Thread(target=serving.run)
    thread.start()
    try:
        use(Client(serving.address), session, decisions)
    finally:
        serving.stop()
        thread.join()


def use(client: Client, session: Session, decisions: int) -> None:
    begin = start = time.perf_counter()
    client.ask("GET", "/")
    print(f"open the queue, just started: {time.perf_counter() - start:.3f} s")
    start = time.perf_counter()
    client.ask("GET", f"/pair/{session.queue.order[0]}")
    print(f"open the first pair, without reasons: {time.perf_counter() - start:.3f} s")
    while not session.has_reasons:
        client.ask("GET", "/prepared")
        time.sleep(0.1)
    print(f"reasons ready after: {time.perf_counter() - begin:.2f} s")
    names = "queue", "spot check", "all", "search", "filter by relation", "decide", "next pair", "history", "undo"
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    relation = session.common_relations[0]
    for _ in range(decisions):
        client.timed(seconds["queue"], "GET", "/")
        client.timed(seconds["spot check"], "GET", "/?tab=spot")
        client.timed(seconds["all"], "GET", "/?tab=all")
        client.timed(seconds["search"], "GET", "/?q=77")
        client.timed(seconds["filter by relation"], "GET", f"/?{urlencode({'relation': relation})}")
        source = int(session.rows(Filter())[0])
        form = urlencode({"verdict": "none", "source": source, "seen": 0})
        where = client.timed(seconds["decide"], "POST", "/decide", form)
        client.timed(seconds["next pair"], "GET", where)
        client.timed(seconds["history"], "GET", "/history")
    client.timed(seconds["undo"], "POST", "/undo", urlencode({"seen": session.log.live()[-1].id}))
    for name, taken in seconds.items():
        (median, of_cpu), (slowest, most_cpu) = np.median(taken, axis=0), np.max(taken, axis=0)
        print(
            f"{name}: median {1000 * median:.0f} ms ({1000 * of_cpu:.0f} ms of CPU), slowest {1000 * slowest:.0f} ms "
            f"({1000 * most_cpu:.0f} ms of CPU)"
        )


class Client:
    """A browser's part, over one connection."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self.host = parts.netloc
        self.cookie = f"dualmatch_{parts.port}={parts.query.removeprefix('token=')}"
        self.connection = http.client.HTTPConnection(self.host)

    def timed(self, seconds: list[tuple[float, float]], method: str, path: str, body: str | None = None) -> str:
        """Ask, and note the seconds: by the clock, and of CPU (server and client), which other work adds little to."""
        start = time.perf_counter(), time.process_time()
        where = self.ask(method, path, body)
        seconds.append((time.perf_counter() - start[0], time.process_time() - start[1]))
        return where

    def ask(self, method: str, path: str, body: str | None = None) -> str:
        headers = {"Cookie": self.cookie, "Origin": f"http://{self.host}", "Sec-Fetch-Site": "same-origin"}
        if body is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        self.connection.request(method, path, body, headers)
        answer = self.connection.getresponse()
        answer.read()
        if answer.status not in (200, 303):
            raise SystemExit(f"{path}: {answer.status}")
        return answer.headers.get("location", "")


def made_up(pair: SimulatedPair) -> ExplanationBasis:
    """True pairs with drawn confidences, each with four other candidates."""
    rng = np.random.default_rng(0)
    gold = pair.gold[np.argsort(pair.gold[:, 0])].astype(np.int64)
    confidence = rng.beta(4, 0.6, len(gold))
    others = rng.integers(pair.target.n_entities, size=(len(gold), 4))
    row = np.concatenate([gold[:, 0], np.repeat(gold[:, 0], 4)])
    column = np.concatenate([gold[:, 1], others.ravel()])
    value = np.concatenate([confidence, np.repeat((1 - confidence) / 8, 4)])
    candidates = sp.csr_array((value, (row, column)), shape=(pair.source.n_entities, pair.target.n_entities))
    candidates.sum_duplicates()
    linked = confidence > 0.5
    entries = candidates.tocoo()
    log_odds = np.log(entries.data) - np.log1p(-entries.data)
    model = Model.of_sizes(2 * pair.source.n_relations, 2 * pair.target.n_relations)
    state = RoundState.of_pairs(
        entries.row.astype(np.int64), entries.col.astype(np.int64), log_odds, candidates.shape, model
    )
    return ExplanationBasis(
        pair.source,
        pair.target,
        state,
        Confidence.as_they_are(),
        candidates,
        gold[linked],
        confidence[linked],
        np.zeros(int(linked.sum()), dtype=bool),
    )


if __name__ == "__main__":
    main()
