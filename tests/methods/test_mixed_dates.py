"""Graphs of any mix of facts and entity dates go through a run, its explanations, a merge and an update."""

import numpy as np
import pytest

from dualmatch import TemporalGraph, align
from dualmatch.explain.basis import basis_of
from dualmatch.explain.explain import explain_entity, reasons
from dualmatch.graph.entity_dates import EntityDates
from dualmatch.graph.growth import grown
from dualmatch.graph.times import UNKNOWN, encode_date
from dualmatch.inspection import inspect_graph, time_overlap
from dualmatch.merge import merge
from dualmatch.methods.update import UpdateBasis, update
from dualmatch.methods.validation import why_time_is_no_help
from dualmatch.review.pair_view import pair_view, timeline

RELATIONS = 3


def random_graph(rng: np.random.Generator, tag: str, opaque: bool, facts: int, dates: int) -> TemporalGraph:
    """Points and spans of every precision, open ends, several dates of one relation; or bare ids for times."""
    n_entities = int(rng.integers(1, 12))

    def codes(size: int) -> np.ndarray:
        month = rng.integers(0, 13, size)
        date = encode_date(rng.integers(1900, 1905, size), month, rng.integers(0, 28, size) * (month > 0))
        return rng.integers(-3, 6, size) if opaque else date

    def spans(size: int) -> tuple[np.ndarray, np.ndarray]:
        begin, drawn = codes(size), rng.random(size)
        end = np.where(rng.random(size) < 0.7, begin, np.maximum(begin, codes(size)))
        return np.where(drawn < 0.1, UNKNOWN, begin), np.where(drawn > 0.9, UNKNOWN, end)

    names = tuple(f"{tag}{at}" for at in range(n_entities)), tuple(f"{tag} {at}" for at in range(RELATIONS))
    head, tail, entity = (rng.integers(0, n_entities, size) for size in (facts, facts, dates))
    rows = np.stack([entity, rng.integers(0, RELATIONS, dates), *spans(dates)], axis=1)
    columns = head, rng.integers(0, RELATIONS, facts), tail, *spans(facts)
    return TemporalGraph(*columns, *names, name=tag, opaque_times=opaque, dates=EntityDates.of_rows(rows))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("opaque", [False, True])
@pytest.mark.parametrize(
    ("facts", "dates"), [((0, 0), (15, 20)), ((12, 0), (0, 20)), ((9, 14), (14, 9)), ((9, 9), (0, 5))]
)
def test_any_mix_goes_all_the_way(facts: tuple[int, int], dates: tuple[int, int], opaque: bool) -> None:
    rng = np.random.default_rng(facts[0] + dates[0] + opaque)
    source, target = (random_graph(rng, *each) for each in zip("st", (opaque,) * 2, facts, dates, strict=True))
    inspect_graph(source)
    time_overlap(source, target)
    found = align(source, target)
    if why_time_is_no_help(source, target) is None:
        align(source, target, method="temporal")
    assert len(reasons(found)) == source.n_entities
    for name in source.entities:
        explanation = explain_entity(found, name)
        if explanation.match is not None:
            parts = sum(fact.weight for fact in explanation.shared) + explanation.balance.total
            assert parts == pytest.approx(explanation.log_odds)
    view = pair_view(basis_of(found), 0, 0)
    assert len(view.rows) + len(view.only_source) <= 2 * source.n_facts + len(source.dates)
    timeline(view)
    said = merge(source, target, [(s, t) for s, t, _ in found.links()]).facts
    assert said["tail"].null_count() <= sum(dates)
    more = random_graph(rng, "s", opaque, 3, 3)
    nothing = TemporalGraph.from_facts([])
    again = update(UpdateBasis.of(found), grown(source, more), grown(target, nothing), found.config)
    assert len(again.source.dates) >= len(np.unique(source.dates.rows, axis=0))
