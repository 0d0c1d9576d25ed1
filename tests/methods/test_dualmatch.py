"""Method `dualmatch` end to end: planted answers in all three settings, graphs without times, life without torch."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dualmatch import InputError, TemporalGraph, align, evaluate
from dualmatch.graph.times import UNKNOWN
from dualmatch.simulate import VARIED, World, shuffled_copy, simulate

SMALL = {"method": "dualmatch", "dimension": 32}


def timeless(graph: TemporalGraph) -> TemporalGraph:
    unknown = np.full(graph.n_facts, UNKNOWN, np.int32)
    return TemporalGraph(graph.head, graph.relation, graph.tail, unknown, unknown, graph.entities, graph.relations)


@pytest.mark.parametrize("dated", [True, False])
def test_a_planted_pair_with_a_tenth_of_its_pairs_as_seeds(dated: bool) -> None:
    graph = simulate(World(entities=400, mean_facts=12, min_facts=4, degree_skew=0.2, seed=1)).source
    graph = graph if dated else timeless(graph)
    copy, gold = shuffled_copy(graph, np.random.default_rng(2))
    alignment = align(graph, copy, gold[:40], method="dualmatch", dimension=64)
    evaluation = evaluate(alignment, gold)
    assert evaluation.open["all"].pairs == 360
    assert evaluation.open["all"].h1 >= 99
    assert evaluation.abstention.recall >= 0.99
    assert (alignment.decoded.alpha is None) == (not dated)


def test_without_seeds_it_beats_the_time_channel_it_learns_from() -> None:
    pair = simulate(VARIED)
    temporal = evaluate(align(pair.source, pair.target, method="temporal"), pair.gold)
    alignment = align(pair.source, pair.target, **SMALL)
    whole = evaluate(alignment, pair.gold)
    assert whole.pseudo_seeds == temporal.pseudo_seeds
    assert whole.open["all"].h1 > temporal.open["all"].h1
    distances = alignment.decoded.distances
    assert alignment.decoded.alpha == min(distances, key=lambda alpha: distances[alpha].total)
    assert 0 < distances[0.0].relational_weight <= 1
    assert 0 < distances[0.0].temporal_weight <= 1


def test_same_seed_same_bytes() -> None:
    pair = simulate(World(entities=120, seed=3))
    first, second, other = (align(pair.source, pair.target, **SMALL, seed=seed) for seed in (1, 1, 2))
    assert first.pairs.tobytes() == second.pairs.tobytes()
    assert first.confidence.tobytes() == second.confidence.tobytes() != other.confidence.tobytes()


def test_the_naive_strategy_has_no_weight() -> None:
    pair = simulate(World(entities=150, seed=4))
    alignment = align(pair.source, pair.target, **SMALL, decoder="naive")
    assert alignment.decoded.alpha is None
    assert evaluate(alignment, pair.gold).open["all"].h1 > 50


def test_no_time_and_no_seeds_is_refused_before_any_training() -> None:
    graph = timeless(simulate(World(entities=50)).source)
    with pytest.raises(InputError, match="give seed pairs to learn from"):
        align(graph, graph, method="dualmatch")


WITHOUT_TORCH = "import sys; sys.modules['torch'] = None; from dualmatch.cli.main import main; main(sys.argv[1:])"


def run_without_torch(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WITHOUT_TORCH, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_everything_but_training_works_without_torch(small_world: Path, tmp_path: Path) -> None:
    assert run_without_torch("--help").returncode == 0
    out = tmp_path / "links.tsv"
    assert run_without_torch("align", small_world, "-o", out, "--method", "temporal").returncode == 0
    assert out.exists()
    refused = run_without_torch("align", small_world, "-o", tmp_path / "other.tsv", "--method", "dualmatch")
    assert refused.returncode == 2
    assert "in a clone, run: pip install '.[gnn]'" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert not (tmp_path / "other.tsv").exists()


def test_the_command_line_does_not_load_torch_for_other_methods() -> None:
    code = "import sys, dualmatch; dualmatch.align; import dualmatch.cli.align; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_entities_in_no_fact_get_no_link() -> None:
    graph = simulate(World(entities=60, seed=1)).source
    lonely = TemporalGraph(
        graph.head,
        graph.relation,
        graph.tail,
        graph.begin,
        graph.end,
        (*graph.entities, *(f"lonely {k}" for k in range(9))),
        graph.relations,
    )
    assert not any("lonely" in source + target for source, target, _ in align(lonely, lonely, **SMALL).links())


def test_a_device_that_is_not_there_is_told_before_any_work() -> None:
    graph = simulate(World(entities=60, seed=1)).source
    with pytest.raises(InputError, match="option device: 'gpu' is not available here"):
        align(graph, graph, method="dualmatch", device="gpu")


def test_a_checkpoint_of_other_dates_or_more_epochs_is_refused(tmp_path: Path) -> None:
    pair = simulate(World(entities=60, seed=1))
    path = tmp_path / "training.npz"
    options = {**SMALL, "dimension": 8}
    align(pair.source, pair.target, pair.gold, **options, epochs=2, checkpoint=path)
    with pytest.raises(InputError, match="2 epochs behind it, 1 were asked for"):
        align(pair.source, pair.target, pair.gold, **options, epochs=1, checkpoint=path)
    source = pair.source
    other = TemporalGraph(
        source.head, source.relation, source.tail, source.begin, source.begin[::-1], source.entities, source.relations
    )
    with pytest.raises(InputError, match="another training"):
        align(other, pair.target, pair.gold, **options, epochs=2, checkpoint=path)
    with pytest.raises(InputError, match="goes with methods that train"):
        align(pair.source, pair.target, method="temporal", checkpoint=path)
