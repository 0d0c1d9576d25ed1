"""Which pairs an alignment gives, and what it says of the rest."""

from __future__ import annotations

import re

import numpy as np
import pytest

from conftest import LIVES_SOURCE, lives
from dualmatch import Alignment, ConfigError, InputError, TemporalGraph, align, explain
from dualmatch.decode.verdicts import Reason, Verdict
from dualmatch.simulate import SimulatedPair, World, simulate

NOISY = World(entities=200, mean_facts=6, common_share=0.5, unmatched_source=0.2, unmatched_target=0.2, seed=8)


@pytest.fixture(scope="module")
def noisy() -> SimulatedPair:
    return simulate(NOISY)


def reason_of(alignment: Alignment) -> dict[str, tuple[str, str]]:
    """Name → category and words."""
    none = alignment.unlinked
    return {
        alignment.source.entities[row]: (Reason(none.reason[at]).name, none.in_words(at, alignment.target.entities))
        for at, row in enumerate(none.row)
    }


def test_least_confidence() -> None:
    hard = simulate(NOISY.model_copy(update={"common_share": 0.15}))
    plain, low, high = (
        align(hard.source, hard.target, method="evidence", **options)
        for options in ({}, {"min_confidence": 0.01}, {"min_confidence": 0.9})
    )
    assert plain.confidence.min() > 0.5
    assert low.confidence[low.confidence <= 0.5].min() >= 0.01
    assert high.confidence.min() >= 0.9
    assert len(low.pairs) > len(plain.pairs) > len(high.pairs) > 0
    everything = align(hard.source, hard.target, method="evidence", min_confidence=0.0)
    assert set(map(tuple, low.pairs)) < set(map(tuple, everything.pairs))


def test_the_expected_share_of_wrong_pairs_is_kept_and_told(noisy: SimulatedPair) -> None:
    method = "evidence"
    plain = align(noisy.source, noisy.target, method=method, min_confidence=0.0)
    assert plain.estimated_fdr > 0.02
    strict = align(noisy.source, noisy.target, method=method, min_confidence=0.0, max_fdr=0.02)
    assert 0 < strict.estimated_fdr <= 0.02
    assert strict.estimated_fdr == pytest.approx((1 - strict.confidence).mean())
    left_out = plain.confidence[~np.isin(plain.pairs[:, 0], strict.pairs[:, 0])]
    assert left_out.max() < strict.confidence.min()
    both = align(noisy.source, noisy.target, method=method, min_confidence=0.99, max_fdr=0.02)
    assert both.confidence.min() >= 0.99
    assert align(noisy.source, noisy.target, method=method, max_fdr=0.0).estimated_fdr in (None, 0.0)


def test_seeds_do_not_buy_room_for_wrong_pairs(noisy: SimulatedPair) -> None:
    alignment = align(noisy.source, noisy.target, noisy.gold[:100], method="evidence", min_confidence=0.0, max_fdr=0.02)
    assert alignment.is_seed.sum() == 100
    assert (1 - alignment.confidence[~alignment.is_seed]).mean() <= 0.02


def test_several_sources_may_take_one_target() -> None:
    target = lives()[1]
    known = [("Charles", "Q2"), ("London", "Q3"), ("Mary", "Q5")]
    again = [("Ada II", *fact[1:]) for fact in LIVES_SOURCE if fact[0] == "Ada"]
    doubled = TemporalGraph.from_facts([*LIVES_SOURCE, *again])
    one = {s: t for s, t, _ in align(doubled, target, known, method="evidence").links()}
    alignment = align(doubled, target, known, method="evidence", many_to_one=True)
    many = {s: t for s, t, _ in alignment.links()}
    assert "Ada" not in one
    assert (many["Ada"], many["Ada II"]) == ("Q1", "Q1")
    assert all(many.get(s, t) == t for s, t in one.items())
    assert (alignment.candidates.toarray()[alignment.pairs[:, 0], alignment.pairs[:, 1]] > 0.5).all()
    why = explain(alignment, "Q1", target=True)
    assert why.match in ("Ada", "Ada II")
    assert why.others[0].name in {"Ada", "Ada II"} - {why.match}


def test_the_target_of_a_seed_may_be_shared_too() -> None:
    target = lives()[1]
    known = [("Charles", "Q2"), ("London", "Q3"), ("Mary", "Q5"), ("Ada", "Q1")]
    again = [("Ada II", *fact[1:]) for fact in LIVES_SOURCE if fact[0] == "Ada"]
    doubled = TemporalGraph.from_facts([*LIVES_SOURCE, *again])
    alignment = align(doubled, target, known, method="evidence", many_to_one=True)
    many = {s: t for s, t, _ in alignment.links()}
    assert (many["Ada"], many["Ada II"]) == ("Q1", "Q1")
    assert {doubled.entities[s] for s, _ in alignment.pairs[alignment.is_seed]} == {s for s, _ in known}
    one = {s: t for s, t, _ in align(doubled, target, known, method="evidence").links()}
    assert one["Ada"] == "Q1"
    assert "Ada II" not in one


def test_many_to_one_is_refused_where_it_is_not_there(noisy: SimulatedPair) -> None:
    with pytest.raises(InputError, match="many_to_one works with methods evidence and fused; temporal gives 1-to-1"):
        align(noisy.source, noisy.target, method="temporal", many_to_one=True)


@pytest.mark.parametrize("method", ["temporal", "dualmatch"])
def test_no_share_of_wrong_pairs_is_expected_by_a_confidence_that_only_orders(
    noisy: SimulatedPair, method: str
) -> None:
    with pytest.raises(InputError, match=f"max_fdr works with methods evidence and fused; .* {method} only orders"):
        align(noisy.source, noisy.target, method=method, max_fdr=0.02)


def test_what_temporal_finds_has_no_estimated_share_of_wrong_pairs(noisy: SimulatedPair) -> None:
    alignment = align(noisy.source, noisy.target, method="temporal")
    assert len(alignment.pairs)
    assert alignment.estimated_fdr is None


@pytest.mark.parametrize("name", ["min_confidence", "max_fdr"])
@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan")])
def test_shares_lie_between_0_and_1(noisy: SimulatedPair, name: str, value: float) -> None:
    with pytest.raises(ConfigError, match=f"option {name}: "):
        align(noisy.source, noisy.target, **{name: value})


def test_every_way_to_have_no_match() -> None:
    alignment = align(*lives(), method="evidence")
    found = reason_of(alignment)
    assert {name: category for name, (category, _) in found.items()} == {
        "Loner": "NOTHING_SHARED",
        "Friend": "NOTHING_SHARED",
        "Twin": "TIED",
        "Echo": "TAKEN",
        "Nobody": "NO_FACTS",
    }
    assert found["Nobody"][1] == "no facts"
    assert found["Loner"][1] == "nothing shared with any entity"
    assert found["Twin"][1].startswith("Q10 and others are equally likely (0.")
    assert re.fullmatch(r"Q1 \(0\.\d\d\) is linked to another", found["Echo"][1])
    strict = reason_of(align(*lives(), method="evidence", min_confidence=0.999))
    assert strict["Mary"][0] == "BELOW_ASKED"
    assert re.fullmatch(r"Q5 \(0\.99\d*\) is below the threshold", strict["Mary"][1])
    assert (alignment.unlinked.row == alignment.unmatched).all()
    assert np.isnan(alignment.unlinked.confidence).all()  # too few pairs to learn from who has no partner


def test_every_source_has_a_verdict() -> None:
    pair = simulate(World(entities=600, mean_facts=10, unmatched_source=0.2, unmatched_target=0.2, seed=2))
    alignment = align(pair.source, pair.target)
    verdicts = np.array(alignment.verdicts)
    assert np.flatnonzero(verdicts == Verdict.LINKED).tolist() == alignment.pairs[:, 0].tolist()
    none = alignment.unlinked
    assert np.flatnonzero(verdicts == Verdict.NO_MATCH).tolist() == none.row[none.is_no_match].tolist()
    assert (none.confidence[none.is_no_match] >= 0.75).all()
    assert (verdicts == Verdict.NO_MATCH).sum() > 20
    assert f"{(verdicts == Verdict.UNDECIDED).sum()} undecided, {none.is_no_match.sum()} without a match" in repr(
        alignment
    )


def test_methods_without_evidence_say_why_too() -> None:
    found = reason_of(align(*lives(), method="temporal"))
    assert found["Nobody"] == ("NO_FACTS", "no facts")
    assert found["Loner"][0] == "NOTHING_SHARED"
    assert found["Echo"][0] == "TAKEN"
    alignment = align(*lives(), method="temporal")
    assert alignment.candidates is None
    assert alignment.relations is None
    assert (alignment.runners_up.target == -1).all()


def test_runners_up_are_candidates_other_than_the_partner(noisy: SimulatedPair) -> None:
    alignment = align(noisy.source, noisy.target, method="evidence")
    found, plan = alignment.runners_up, alignment.evidence.probability.toarray()
    plan[alignment.pairs[:, 0], alignment.pairs[:, 1]] = 0
    assert found.target.shape == (noisy.source.n_entities, 3)
    np.testing.assert_allclose(found.probability[:, 0], np.where(plan.max(axis=1) < 5e-7, 0, plan.max(axis=1)))
    assert (np.diff(found.probability, axis=1) <= 0).all()


def test_links_of_a_many_to_one_run_can_be_given_back() -> None:
    """Two records of one person share their target; as seeds they are refused only where pairs are 1-to-1."""
    facts = [("p", "met", f"x{i}", str(1800 + i)) for i in range(6)]
    twice = [*facts, *(("p again", relation, tail, time) for _, relation, tail, time in facts)]
    source = TemporalGraph.from_facts(twice)
    target = TemporalGraph.from_facts([("q", "P1", f"y{i}", str(1800 + i)) for i in range(6)])
    seeds = [("p", "q"), ("p again", "q")]
    with pytest.raises(InputError, match="target entity 'q' is in 2 pairs"):
        align(source, target, seeds)
    links = {(s, t) for s, t, _ in align(source, target, seeds, many_to_one=True).links()}
    assert set(seeds) <= links
