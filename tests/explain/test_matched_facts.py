"""Every fact that both entities have is matched, however little it weighs, and nothing else is."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dualmatch import TemporalGraph, align
from dualmatch.explain.basis import ExplanationBasis, basis_of
from dualmatch.explain.explain import fact_of
from dualmatch.explain.matched_facts import MatchedFacts, matched_facts

FRIENDS = tuple(f"friend {n}" for n in range(6))
# Facts that tie each friend to itself on the other side, whatever the hub's facts are.
TIES = [(friend, f"lives in {n}", f"town {n}", f"{1900 + n}-05-{n + 1:02d}") for n, friend in enumerate(FRIENDS)]


def matched(here: list[tuple[str, ...]], there: list[tuple[str, ...]]) -> tuple[MatchedFacts, ExplanationBasis]:
    source, target = TemporalGraph.from_facts([*here, *TIES]), TemporalGraph.from_facts([*there, *TIES])
    names = [name for name in source.entities if name in target.entity_rows and name != "hub"]
    basis = basis_of(align(source, target, [(name, name) for name in names]))
    row, other = source.entity_rows["hub"], target.entity_rows["hub"]
    (evidence,) = basis.evidence(np.array([[row, other]]))
    return matched_facts(basis, row, other, evidence), basis


def words(found: MatchedFacts, basis: ExplanationBasis) -> set[tuple[str, str]]:
    sides = zip(found.source.tolist(), found.target.tolist(), strict=True)
    return {(str(fact_of(basis.source, left)), str(fact_of(basis.target, right))) for left, right in sides}


def test_facts_match_at_the_same_time_at_a_coarser_one_and_without_one() -> None:
    here = [
        ("hub", "met", "friend 0", "1990-03-01"),
        ("hub", "met", "friend 0", "1991-07-15"),
        ("hub", "met", "friend 0", "1993-01-01"),
        ("hub", "met", "friend 1", "1995"),
        ("hub", "wrote to", "friend 2"),
        ("hub", "met", "nobody there", "1999"),
    ]
    there = [
        ("hub", "met", "friend 0", "1990-03-01"),
        ("hub", "met", "friend 0", "1991-07"),
        ("hub", "met", "friend 0", "2001"),
        ("hub", "met", "friend 1", "1995-05-05"),
        ("hub", "wrote to", "friend 2", "1997"),
    ]
    found, basis = matched(here, there)
    assert words(found, basis) == {
        ("met → friend 0, on 1990-03-01", "met → friend 0, on 1990-03-01"),
        ("met → friend 0, on 1991-07-15", "met → friend 0, in 1991-07"),
        ("met → friend 1, in 1995", "met → friend 1, on 1995-05-05"),
        ("wrote to → friend 2", "wrote to → friend 2, in 1997"),
    }
    only = [str(fact_of(basis.source, side)) for side in found.only_source.tolist()]
    assert only == ["met → friend 0, on 1993-01-01", "met → nobody there, in 1999"]
    assert [str(fact_of(basis.target, side)) for side in found.only_target.tolist()] == ["met → friend 0, in 2001"]


def test_a_match_counts_with_the_one_that_evidence_names_for_its_neighbour() -> None:
    facts = [("hub", "met", "friend 0", f"19{year}-03-01") for year in range(60, 90)]
    facts += [("hub", "met", "friend 1", "1950-01-01")]
    found, basis = matched(facts, facts)
    (evidence,) = basis.evidence(np.array([[basis.source.entity_rows["hub"]] * 2]))
    assert len(found.source) == 31
    assert len(evidence.weight) < 31
    named = {str(fact_of(basis.source, side).other): n for n, side in enumerate(evidence.source_side.tolist())}
    for side, of in zip(found.source.tolist(), found.of.tolist(), strict=True):
        assert of == named[str(fact_of(basis.source, side).other)]


FACT = st.tuples(
    st.just("hub"),
    st.sampled_from(("met", "knows")),
    st.sampled_from(FRIENDS),
    st.sampled_from(("1990", "1990-05", "1991-02-03")),
)


@settings(max_examples=25, deadline=None)
@given(st.lists(FACT, min_size=1, max_size=12, unique=True), st.lists(FACT, min_size=1, max_size=12, unique=True))
def test_each_fact_is_matched_once_or_listed_alone(here: list[tuple[str, ...]], there: list[tuple[str, ...]]) -> None:
    found, basis = matched(here, there)
    assert len({*found.source.tolist()}) == len(found.source)
    assert sorted([*found.source.tolist(), *found.only_source.tolist()]) == sorted(
        {*found.source.tolist(), *found.only_source.tolist()}
    )
    assert len(found.source) + len(found.only_source) == len(here)
    assert len({*found.target.tolist(), *found.only_target.tolist()}) == len(there)
    for left, right in zip(found.source.tolist(), found.target.tolist(), strict=True):
        assert fact_of(basis.source, left).other == fact_of(basis.target, right).other
    alone = {str(fact_of(basis.source, side)) for side in found.only_source.tolist()}
    assert not alone & {str(fact_of(basis.target, side)) for side in found.only_target.tolist()}
