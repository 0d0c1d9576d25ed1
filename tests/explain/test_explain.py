"""Explanations: weights that add up, words that say what is shared, and the same from memory and from files."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from conftest import LIVES_SOURCE, LIVES_TARGET, lives
from dualmatch import (
    Alignment,
    Explanation,
    InputError,
    TemporalGraph,
    align,
    explain,
    read_explanation_basis,
)
from dualmatch.explain.basis import basis_of
from dualmatch.explain.explain import reasons
from dualmatch.graph.literals import Literals
from dualmatch.methods.evidence.pair_evidence import pair_evidence
from dualmatch.readers.read_options import ReadOptions
from dualmatch.runs.input_spec import InputSpec
from dualmatch.runs.outputs import Outputs
from dualmatch.simulate import World, shuffled_copy, simulate

MIXED = World(entities=150, mean_facts=10, common_share=0.6, month_only_share=0.2, year_only_share=0.3, seed=5)


@pytest.fixture(scope="module")
def mixed() -> Alignment:
    pair = simulate(MIXED)
    return align(pair.source, pair.target, pair.gold[:5], method="evidence")


@pytest.fixture(scope="module")
def known_lives() -> Alignment:
    return align(*lives(), method="evidence")


def log_odds_of(chance: np.ndarray) -> np.ndarray:
    return np.log(chance) - np.log1p(-chance)


def free_candidates(alignment: Alignment) -> np.ndarray:
    """Candidates of which no entity is in a seed, good and bad: (n, 2)."""
    assert alignment.evidence is not None
    found, seeds = alignment.evidence.state.candidates, alignment.pairs[alignment.is_seed]
    free = ~np.isin(found.row, seeds[:, 0]) & ~np.isin(found.column, seeds[:, 1])
    return np.stack([found.row, found.column], axis=1)[free]


def test_the_parts_add_up_to_the_confidence(mixed: Alignment) -> None:
    pairs = free_candidates(mixed)
    assert mixed.evidence is not None
    chance = np.asarray(mixed.evidence.probability[pairs[:, 0], pairs[:, 1]]).ravel()
    found = np.array([each.log_odds for each in basis_of(mixed).evidence(pairs)])
    np.testing.assert_allclose(found, log_odds_of(chance), rtol=0, atol=1e-6)
    assert found.min() < -3
    assert found.max() > 3


def test_facts_and_what_is_lacking_are_what_the_rounds_believed(mixed: Alignment) -> None:
    """The rest is left to rivals: they would hide whatever was made up here."""
    basis = basis_of(mixed)
    pairs = free_candidates(mixed)
    state = basis.state
    place = {pair: at for at, pair in enumerate(zip(state.candidates.row, state.candidates.column, strict=True))}
    value = np.array([state.value[place[pair]] for pair in map(tuple, pairs.tolist())])
    told = np.array([each.weight.sum() + each.balance.names + each.balance.not_found for each in basis.evidence(pairs)])
    # The last sweep judged by what was known before it.
    assert np.abs(told - value).max() < 1
    assert np.corrcoef(told, value)[0, 1] > 0.999


def test_asked_together_or_one_by_one_or_from_the_other_side(mixed: Alignment) -> None:
    basis, flipped = basis_of(mixed), basis_of(mixed).flipped()
    pairs = free_candidates(mixed)[::10]
    for pair, together in zip(pairs, basis.evidence(pairs), strict=True):
        (alone,), (there,) = basis.evidence(pair[None]), flipped.evidence(pair[None, ::-1])
        assert (alone.log_odds, alone.weight.tolist()) == (together.log_odds, together.weight.tolist())
        assert (there.log_odds, there.source_side.tolist()) == (together.log_odds, together.target_side.tolist())


def test_what_is_told_adds_up_too(mixed: Alignment) -> None:
    basis = basis_of(mixed)
    links = zip(mixed.pairs[~mixed.is_seed][:20].tolist(), mixed.confidence[~mixed.is_seed][:20], strict=True)
    for (row, column), confidence in links:
        why = explain(basis, mixed.source.entities[row])
        assert (why.verdict, why.match) == ("linked", mixed.target.entities[column])
        weights = [fact.weight for fact in why.shared]
        assert sum(weights) + why.balance.total == pytest.approx(why.log_odds, abs=1e-9)
        limited = why.log_odds - why.balance.correction
        assert abs(limited) <= 12 + 1e-9
        assert why.balance.limit == 0 or abs(limited) == pytest.approx(12)
        assert why.log_odds == pytest.approx(log_odds_of(confidence), abs=1e-6)
        assert weights == sorted(weights, reverse=True)
        shown = [float(value) for value in re.findall(r"\(([+-]\d+\.\d\d)\)$", str(why), re.MULTILINE)]
        assert sum(shown) == pytest.approx(why.log_odds, abs=0.005 * (len(shown) + 5))
        for other in why.others:
            lacking = sum(lack.weight for lack in other.lacks)
            assert lacking >= sum(weights) - sum(fact.weight for fact in other.shared) - 0.1


def test_one_shared_fact_is_told_once(known_lives: Alignment) -> None:
    why = explain(known_lives, "Ada")
    assert (why.match, why.is_seed, why.reason, why.category) == ("Q1", False, None, None)
    told = {fact.fact.relation: fact for fact in why.shared}
    assert len(told) == len(why.shared) == 2
    assert str(told["met"]) == "met (= P1) → Charles (= Q2), in 1833"
    assert told["met"].same_dates == ("begin 1833", "end 1833")
    assert str(told["lived in"]).endswith("P2) → London (= Q3), from 1835 to 1852")
    words = why.in_words(top=1)
    assert words.splitlines()[0] == f"Ada = Q1 (confidence {why.confidence:.3f})"
    assert f"  … and 1 more ({why.shared[1].weight:+.2f})" in words


def test_facts_of_one_day_are_told_with_their_own_counterparts() -> None:
    """The day itself is shared by all four pairs of facts; it goes to one that shares more."""
    source = TemporalGraph.from_facts(
        [("Ada", "met", "Charles", "1833"), ("Ada", "met", "Mary", "1833"), *LIVES_SOURCE[2:]]
    )
    target = TemporalGraph.from_facts([("Q1", "P1", "Q2", "1833"), ("Q1", "P1", "Q02", "1833"), *LIVES_TARGET[2:]])
    seeds = [("Charles", "Q2"), ("Mary", "Q02")]
    why = explain(align(source, target, seeds, method="evidence"), "Ada")
    assert why.match == "Q1"
    assert {(fact.fact.other, fact.counterpart.other) for fact in why.shared} == set(seeds)


def test_relations_that_became_one_are_told_as_equal(mixed: Alignment) -> None:
    basis = basis_of(mixed)
    texts = [str(fact) for row in range(40) for fact in explain(basis, mixed.source.entities[row]).shared]
    assert sum("(= t-relation" in text for text in texts) > len(texts) / 4
    assert any("; same year)" in text for text in texts)
    assert not any(re.search(r"both begin (\S+) and end \1\)", text) for text in texts)


def test_what_a_rival_lacks(known_lives: Alignment) -> None:
    why = explain(known_lives, "Ada", versus="Q5")
    (rival,) = why.others
    assert rival.name == "Q5"
    assert rival.probability < 0.01
    assert {str(lack.fact) for lack in rival.lacks} == {
        "lived in → London, from 1835 to 1852",
        "met → Charles, in 1833",
    }
    assert "Not Q5: probability 0.00" in str(why)
    assert "\n  lacks, or shares less of:\n" in str(why)
    london = next(fact.weight for fact in why.shared if fact.fact.other == "London")
    assert f"lived in → London, from 1835 to 1852 (−{london:.2f})" in str(why)


def test_the_target_side(known_lives: Alignment) -> None:
    why = explain(known_lives, "Q1", target=True)
    assert why.match == "Ada"
    assert "P1 (= met) → Q2 (= Charles), in 1833" in [str(fact) for fact in why.shared]
    assert why.log_odds == pytest.approx(explain(known_lives, "Ada").log_odds, abs=1e-9)
    none = explain(known_lives, "Q8", target=True)
    assert (none.match, none.verdict, none.category) == (None, "undecided", "too_little")  # Twin has another, as likely


@pytest.mark.parametrize(
    ("entity", "category", "candidates_"),
    [
        ("Nobody", "no_facts", []),
        ("Loner", "nothing_shared", []),
        ("Twin", "tied", ["Q10", "Q8"]),
        ("Echo", "taken", ["Q1"]),
    ],
)
def test_why_there_is_no_link(known_lives: Alignment, entity: str, category: str, candidates_: list[str]) -> None:
    why = explain(known_lives, entity)
    assert (why.match, why.category, why.shared, why.log_odds) == (None, category, (), 0.0)
    assert [other.name for other in why.others][: len(candidates_)] == candidates_
    assert (why.verdict, why.confidence) == ("undecided", None)  # eleven entities tell of none that it has no partner
    assert str(why).startswith(f"{entity}: undecided: {why.reason}")


def test_why_there_is_no_match() -> None:
    pair = simulate(World(entities=400, mean_facts=7, common_share=0.5, missing_share=0.3, seed=11))
    alignment = align(pair.source, pair.target, method="evidence", forbid=[(pair.source.entities[0], None)])
    none = alignment.unlinked
    assert none.is_no_match.sum() > 3
    for at in np.flatnonzero(none.is_no_match).tolist():
        why = explain(alignment, pair.source.entities[none.row[at]])
        told = none.row[at] == 0
        assert (why.verdict, why.category) == ("no match", "told" if told else "no_partner")
        assert why.confidence == none.confidence[at] >= 0.75
        assert str(why).startswith(f"{why.entity}: no match (confidence {why.confidence:.3f}): {why.reason}")


def test_what_the_best_candidate_shares_and_lacks(known_lives: Alignment) -> None:
    twin = explain(known_lives, "Twin").others[0]
    assert [str(fact) for fact in twin.shared] == ["saw (there: P4) → Comet (= Q9), in 1758"]
    assert twin.lacks == ()
    loner = explain(known_lives, "Loner", versus="Q1").others[0]
    assert loner.shared == ()
    assert [str(lack.fact) for lack in loner.lacks] == ["likes → Friend"]
    assert "  both:" not in str(explain(known_lives, "Loner", versus="Q1"))
    assert "  lacks:\n    likes → Friend" in str(explain(known_lives, "Loner", versus="Q1"))


def test_a_seed_is_told_as_one(mixed: Alignment) -> None:
    row = int(mixed.pairs[mixed.is_seed][0, 0])
    why = explain(mixed, mixed.source.entities[row])
    assert (why.is_seed, why.confidence) == (True, 1.0)
    assert "(given as a seed)" in str(why)
    assert reasons(mixed)[row].startswith("given as a seed; ")


def test_reasons_are_the_first_shared_facts_or_why_not(known_lives: Alignment) -> None:
    texts = dict(zip(known_lives.source.entities, reasons(known_lives), strict=True))
    shared_facts = explain(known_lives, "Ada").shared
    assert texts["Ada"] == "; ".join(f"{fact} ({fact.weight:+.2f})" for fact in shared_facts)
    assert texts["Echo"] == explain(known_lives, "Echo").reason
    assert all(texts.values())
    long = dict(zip(known_lives.source.entities, reasons(known_lives, top=1), strict=True))
    assert long["Ada"] == f"{shared_facts[0]} ({shared_facts[0].weight:+.2f})"


def test_row_order_changes_no_word(mixed: Alignment) -> None:
    pair = simulate(MIXED)
    rng = np.random.default_rng(1)
    source, target = (shuffled_copy(graph, rng)[0] for graph in (pair.source, pair.target))
    seeds = [(pair.source.entities[s], pair.target.entities[t]) for s, t in pair.gold[:5].tolist()]
    permuted = align(source, target, seeds, method="evidence")
    plain, other = basis_of(mixed), basis_of(permuted)
    for name in pair.source.entities[:50]:
        assert explain(other, name).in_words() == explain(plain, name).in_words()


def test_dictionaries_are_cut_and_say_so(known_lives: Alignment) -> None:
    why = explain(known_lives, "Ada", versus="Q5")
    data = why.as_dict(top=1)
    assert (len(data["shared"]), data["more_shared"]) == (1, 1)
    assert (len(data["others"][0]["lacks"]), data["others"][0]["more_lacks"]) == (1, 1)
    whole = why.as_dict()
    assert (len(whole["shared"]), whole["more_shared"]) == (2, 0)


@pytest.mark.parametrize(
    ("entity", "options", "words"),
    [
        ("Adda", {}, "'Adda' is not an entity of one view; did you mean 'Ada'?"),
        ("Q1", {}, "'Q1' is not an entity of one view; give a name or id that its files hold"),
        ("Ada", {"target": True}, "'Ada' is not an entity of other view"),
        ("Ada", {"versus": "Zürich"}, "'Zürich' is not an entity of other view"),
        ("Ada", {"versus": "Q1"}, "'Q1' is the partner itself; compare with another entity"),
        ("0", {}, "'0' is not an entity of one view"),
    ],
)
def test_unknown_entities(known_lives: Alignment, entity: str, options: dict[str, object], words: str) -> None:
    with pytest.raises(InputError) as caught:
        explain(known_lives, entity, **options)
    assert str(caught.value).startswith(words)


def test_entities_by_their_label() -> None:
    source, target = lives()
    labels = {name: f"the person {name}" for name in source.entities} | {"Nobody": "the person Ada"}
    labels["Charles"] = "Mr Babbage"
    given = Literals.of_labels(labels, source), Literals.of_labels({"Q1": "Countess"}, target)
    alignment = align(source, target, literals=given)
    assert explain(alignment, "mr Babbage").entity == "Charles"
    assert explain(alignment, "Countess", target=True).entity == "Q1"
    with pytest.raises(InputError, match=r"'the person Ada' is the label of 2 entities .*; give one of Ada, Nobody\Z"):
        explain(alignment, "the person Ada")


def test_methods_without_evidence_cannot_explain() -> None:
    with pytest.raises(InputError, match="method temporal keeps no evidence to explain links with; align with"):
        explain(align(*lives(), method="temporal"), "Ada")


def test_a_written_alignment_explains_the_same(small_world: Path, tmp_path: Path) -> None:
    spec = InputSpec((small_world,), (ReadOptions(), ReadOptions()))
    data = spec.read().folder
    assert data is not None
    alignment = align(data.source, data.target, data.read_pairs(small_world / "sup_pairs"), method="evidence")
    path = tmp_path / "links.tsv"
    Outputs(path, explained=True).write(alignment, spec, spec.hashes())
    basis, in_memory = read_explanation_basis(path), basis_of(alignment)
    for row, name in enumerate(data.source.entities):
        from_file, by_id = explain(basis, name), explain(basis, str(data.source_ids[row]))
        assert isinstance(from_file, Explanation)
        assert from_file == explain(in_memory, name) == by_id
    name = data.target.entities[0]
    assert explain(path, name, target=True) == explain(alignment, name, target=True)


def test_many_to_one_is_known_to_explanations(small_world: Path, tmp_path: Path) -> None:
    spec = InputSpec((small_world,), (ReadOptions(), ReadOptions()))
    sides = spec.read()
    alignment = align(sides.source, sides.target, method="evidence", many_to_one=True, min_confidence=0.9)
    Outputs(tmp_path / "links.tsv", explained=True).write(alignment, spec, spec.hashes())
    expected = [alignment.unlinked.in_words(at, sides.target.entities) for at in range(len(alignment.unmatched))]
    assert expected
    assert not any(words.endswith("linked to another") for words in expected)
    for basis in (basis_of(alignment), read_explanation_basis(tmp_path / "links.tsv")):
        assert [reasons(basis)[row] for row in alignment.unmatched] == expected


def with_twin(graph: TemporalGraph, row: int) -> TemporalGraph:
    """The graph with an entity "twin" that has all facts of another."""
    copied = np.flatnonzero((graph.head == row) | (graph.tail == row))
    whole = graph.with_facts(np.concatenate([np.arange(graph.n_facts), copied]))
    head, tail = whole.head.copy(), whole.tail.copy()
    for column in (head, tail):
        column[graph.n_facts :][column[graph.n_facts :] == row] = graph.n_entities
    return replace(whole, head=head, tail=tail, entities=(*graph.entities, "twin"))


def test_where_a_target_may_be_taken_twice_another_source_is_no_rival(mixed: Alignment) -> None:
    found = ~mixed.is_seed
    row, column = mixed.pairs[found][np.argmax(mixed.confidence[found])].tolist()
    alignment = align(with_twin(mixed.source, row), mixed.target, method="evidence", many_to_one=True)
    for name in (mixed.source.entities[row], "twin"):
        why = explain(alignment, name)
        assert why.match == mixed.target.entities[column]
        assert why.confidence is not None
        assert why.confidence > 0.9
        assert why.log_odds == pytest.approx(log_odds_of(np.float64(why.confidence)), abs=1e-6)


def test_no_rival_is_told_that_could_not_be(mixed: Alignment) -> None:
    basis = basis_of(mixed)
    assert (basis.candidates.data < 0.0005).any()
    for name in mixed.source.entities:
        assert all(each.probability >= 0.0005 for each in explain(basis, name).others)


def test_what_a_withheld_pair_would_need() -> None:
    """The numbers are those of the candidate: what is short of even odds, and what its weightiest fact adds."""
    alignment = align(*lives(), method="evidence")
    twin = explain(alignment, "Twin")
    best = twin.others[0]
    assert twin.category == "tied"
    assert (
        twin.needed[0] == f"a fact that {best.name} shares and {twin.others[1].name} does not, or the other way round"
    )
    n = math.ceil(-best.log_odds / best.shared[0].weight)
    assert twin.needed[1] == (
        f"log-odds {-best.log_odds:.2f} higher, for an even chance: about {n} more shared fact like "
        f"{best.shared[0]} ({best.shared[0].weight:+.2f})"
    )
    without = best.log_odds - best.balance.rivals
    assert twin.needed[2] == f"or no other partners: without them log-odds would be {without:+.2f}"
    assert f"  needed: {twin.needed[0]}\n" in str(twin)
    assert twin.as_dict()["needed"] == twin.needed
    echo = explain(alignment, "Echo")
    assert echo.category == "taken"
    sure = explain(alignment, "Ada").confidence
    assert echo.needed[0] == f"more evidence for Q1 than Ada (confidence {sure:.3f}) has, which is linked with it"
    for linked_or_empty in ("Ada", "Nobody", "Loner"):
        assert explain(alignment, linked_or_empty).needed == ()
    asked = align(*lives(), method="evidence", min_confidence=0.9999999)
    withheld = [why for why in (explain(asked, name) for name in lives()[0].entities) if why.category == "below_asked"]
    assert withheld
    assert {why.needed for why in withheld} == {("a lower threshold: it is likelier than not, and more was asked for",)}


def test_what_is_kept_from_pair_to_pair_changes_no_weight() -> None:
    pair = simulate(World(entities=120, mean_facts=5, missing_share=0.3, seed=4))
    for many_to_one in (False, True):
        basis = basis_of(align(pair.source, pair.target, many_to_one=many_to_one))
        for row, other in [*basis.pairs[:20].tolist(), (0, 1), (3, 2)]:
            asked = np.array([[row, other]])
            (kept,), (fresh,) = basis.evidence(asked), pair_evidence(basis.problem, basis.judged_by, basis.trial, asked)
            assert np.array_equal(kept.weight, fresh.weight)
            assert np.array_equal(kept.source_side, fresh.source_side)
            assert kept.balance == fresh.balance
