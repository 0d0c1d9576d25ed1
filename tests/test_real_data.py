"""The published datasets: checkpoints of the temporal channel, exact where they are counts."""

from pathlib import Path

import numpy as np
import pytest

from dualmatch import Alignment, BenchmarkFolder, TemporalGraph, align, evaluate, read_folder
from dualmatch.channels.temporal import temporal_features, temporal_similarity
from dualmatch.decode.similarity import Similarity, hold
from dualmatch.evaluate import Evaluation
from dualmatch.graph.matrices import propagation_matrices, shared_intervals, time_adjacency, time_counts

DATA = Path(__file__).parents[2] / "shared" / "data"
pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(not DATA.is_dir(), reason=f"the real datasets are not there ({DATA})"),
    pytest.mark.filterwarnings("ignore"),
]


def gold_of(folder: BenchmarkFolder) -> np.ndarray:
    return np.concatenate([folder.read_pairs(folder.path / name) for name in ("sup_pairs", "ref_pairs")])


@pytest.fixture(autouse=True)
def _similarities_are_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel and each square that is ranked ask for the same similarities, and computing them takes half a minute.

    They are computed once where they fit into the share of memory that they may take.
    """

    def held(
        source: TemporalGraph, target: TemporalGraph, hops: int, zero_counts: bool, share: int, room: int
    ) -> Similarity:
        return hold(temporal_similarity(source, target, hops, zero_counts, share, room), share)

    monkeypatch.setattr("dualmatch.methods.context.temporal_similarity", held)


@pytest.fixture(scope="module")
def yago() -> BenchmarkFolder:
    return read_folder(DATA / "yago-wiki20k")


@pytest.fixture(scope="module")
def dicews() -> BenchmarkFolder:
    return read_folder(DATA / "dicews-rebuilt")


def evaluated(folder: BenchmarkFolder, **groups: str) -> tuple[Alignment, Evaluation]:
    alignment = align(folder.source, folder.target, method="temporal")
    pairs = {name: folder.read_pairs(folder.path / file) for name, file in groups.items()}
    return alignment, evaluate(alignment, gold_of(folder), pairs)


def test_yago_statistics(yago: BenchmarkFolder) -> None:
    source, target = yago.source.statistics, yago.target.statistics
    assert (source.entities, target.entities) == (19_493, 19_929)
    assert (source.facts, target.facts) == (93_583, 142_568)
    assert (source.isolated_entities, target.isolated_entities) == (1_978, 707)
    assert (source.reversed_intervals, target.reversed_intervals) == (192, 19)
    assert source.repeated_facts + target.repeated_facts == 162
    assert round(1 - source.dated_facts / source.facts, 3) == 0.366
    assert round(1 - target.dated_facts / target.facts, 3) == 0.175


def test_dicews_statistics(dicews: BenchmarkFolder) -> None:
    source, target = dicews.source.statistics, dicews.target.statistics
    assert (source.entities, target.entities) == (9_517, 9_537)
    assert source.facts == target.facts == source.dated_facts == target.dated_facts == 307_552
    assert source.distinct_times == 4_017


def test_yago_features_have_the_known_non_zeros(yago: BenchmarkFolder) -> None:
    intervals = shared_intervals(yago.source, yago.target)
    assert intervals.count == 2_382
    non_zeros = []
    for graph, interval, matrix in zip(
        (yago.source, yago.target),
        (intervals.source, intervals.target),
        propagation_matrices(yago.source, yago.target),
        strict=True,
    ):
        adjacency = time_adjacency(time_counts(graph, interval, intervals.count))
        assert adjacency.shape[1] == 4_764
        features = temporal_features(adjacency, matrix, hops=2, dense_bytes=0)
        non_zeros.append([part.nnz for part in features[1:]])
    assert non_zeros == [[1_849_100, 6_981_008], [3_303_102, 18_773_204]]


@pytest.mark.slow
def test_yago_by_time_alone(yago: BenchmarkFolder) -> None:
    alignment, evaluation = evaluated(yago, high="time_sensitive_link2", low="not_sensitive_link2")
    assert len(alignment.pseudo_seeds) == pytest.approx(9_782, abs=5)
    assert evaluation.pseudo_seeds.precision == pytest.approx(0.810, abs=0.002)
    high, low = evaluation.paper["high"], evaluation.paper["low"]
    assert (high.pairs, low.pairs) == (7_890, 11_572)
    assert (high.h1, high.h10, low.h1, low.h10) == pytest.approx((90.5, 97.2, 15.4, 25.8), abs=0.1)
    assert (high.mrr, low.mrr) == pytest.approx((0.929, 0.192), abs=0.001)


@pytest.mark.slow
def test_dicews_by_time_alone(dicews: BenchmarkFolder) -> None:
    _, evaluation = evaluated(dicews)
    paper, opened = evaluation.paper["all"], evaluation.open["all"]
    assert (paper.h1, paper.h10) == pytest.approx((92.9, 96.7), abs=0.1)
    assert (opened.h1, opened.h10) == pytest.approx((91.1, 96.1), abs=0.1)
    assert (paper.mrr, opened.mrr) == pytest.approx((0.944, 0.930), abs=0.001)
