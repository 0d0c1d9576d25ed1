"""What a run would take: calculated before it begins."""

import sys
from typing import Literal

import pytest

from dualmatch import TemporalGraph
from dualmatch.channels.evidence.fact_views import fact_sides, time_kinds
from dualmatch.config import Config, Method
from dualmatch.errors import InputError
from dualmatch.methods.resources import check_memory, estimate, prepare_process
from dualmatch.simulate import World, simulate

INTERVALS = World(entities=80, point_share=0.5, year_only_share=0.4, seed=2)
OPAQUE = TemporalGraph([0, 1], [0, 0], [1, 0], [3, 4], [3, 5], ("a", "b"), ("r",), opaque_times=True)
UNDATED = TemporalGraph.from_facts([("a", "r", "b")])


@pytest.mark.parametrize(("method", "one_arena"), [("evidence", [True]), ("fused", [False]), ("temporal", [])])
def test_methods_of_large_arrays_keep_freed_memory(
    method: Method, one_arena: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bool] = []

    def keeps(*, one_arena: bool) -> bool:
        asked.append(one_arena)
        return True

    monkeypatch.setattr("dualmatch.methods.resources.keep_freed_memory", keeps)
    monkeypatch.setitem(sys.modules, "dualmatch.channels.relational.train", None)  # as without torch
    prepare_process(Config(method=method))
    assert asked == one_arena


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (simulate(INTERVALS).source, simulate(INTERVALS).target),
        (simulate(World(entities=80)).source, simulate(World(entities=80, year_only_share=1.0)).target),
        (OPAQUE, OPAQUE),
        (UNDATED, simulate(INTERVALS).target),
    ],
    ids=["intervals", "years on one side", "ids", "no dates"],
)
def test_time_kinds_are_those_of_the_run(source: TemporalGraph, target: TemporalGraph) -> None:
    assert time_kinds(source, target) == fact_sides(source, target)[2]


def test_evidence_takes_more_with_more_facts_and_more_kinds_of_time() -> None:
    pairs = [simulate(World(entities=400, mean_facts=facts, seed=1)) for facts in (5, 20)]
    few, many = (estimate(pair.source, pair.target, Config(), unit=1.0) for pair in pairs)
    assert few.gigabytes[0] < many.gigabytes[0]
    assert few.seconds[1] < many.seconds[1]
    low, high = many.gigabytes
    assert high / low == pytest.approx(1.5**2)


@pytest.mark.parametrize("method", ["dualmatch", "fused"])
def test_a_method_that_is_too_large_is_refused_and_one_that_fits_is_offered(
    method: Literal["dualmatch", "fused"],
) -> None:
    pair = simulate(World(entities=3000, mean_facts=6, seed=1))
    limit = 2**27
    with pytest.raises(
        InputError, match=r"take --method evidence, which keeps what does not fit in files, or align a part"
    ):
        check_memory(pair.source, pair.target, Config(method=method, memory_limit=limit))
    check_memory(pair.source, pair.target, Config(method="evidence", memory_limit=limit))


def test_a_process_that_calls_workers_needs_less_memory() -> None:
    pair = simulate(World(entities=4000, mean_facts=70, seed=1))
    config = Config(method="evidence", memory_limit=2**26)
    with pytest.raises(InputError, match="takes at least"):
        check_memory(pair.source, pair.target, config)
    check_memory(pair.source, pair.target, config, elsewhere=True)


def test_a_run_of_evidence_above_the_limit_takes_the_limit_and_disk_instead() -> None:
    pair = simulate(World(entities=3000, mean_facts=40, seed=1))
    free = estimate(pair.source, pair.target, Config(memory_limit=2**40), unit=1.0)
    limited = estimate(pair.source, pair.target, Config(memory_limit=2**28), unit=1.0)
    assert free.disk_gigabytes == (0.0, 0.0)
    assert limited.gigabytes[1] == 0.25
    assert 0 < limited.disk_gigabytes[0] < limited.disk_gigabytes[1] < free.gigabytes[1]
    assert limited.seconds[1] > free.seconds[1]
