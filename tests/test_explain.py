"""Explanations: weights that add up, words that say what is shared, and the same from memory and from files."""

from __future__ import annotations

from collections.abc import Iterator
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
    read_grounds,
)
from dualmatch.encode.evidence import candidates, shared
from dualmatch.explain import reasons
from dualmatch.grounds import Grounds, grounds_of
from dualmatch.io.intake import ReadOptions
from dualmatch.io.outputs import Outputs
from dualmatch.io.sides import Recipe
from dualmatch.io.why import input_hashes
from dualmatch.simulate import World, shuffled_copy, simulate

MIXED = World(entities=150, mean_facts=10, common_share=0.6, month_only_share=0.2, year_only_share=0.3, seed=5)


@pytest.fixture(scope="module")
def mixed() -> Alignment:
    pair = simulate(MIXED)
    return align(pair.source, pair.target, pair.gold[:5], method="evidence")


@pytest.fixture(scope="module")
def known_lives() -> Alignment:
    return align(*lives(), method="evidence")


def weights(grounds: Grounds, free: np.ndarray) -> Iterator[tuple[float, float]]:
    """For pairs of rows: the stored similarity and the sum of what their facts weigh."""
    for source, target in free.tolist():
        facts = [grounds.scoring.facts(side, [row]) for side, row in enumerate((source, target))]
        yield source, float(grounds.scoring.shared(source, target, *facts).weight.sum())


def stored_pairs(alignment: Alignment) -> tuple[np.ndarray, np.ndarray]:
    """Some candidates that are no seeds, good and bad, with their similarity."""
    entries = alignment.evidence.similarity.tocoo()
    seeds = alignment.pairs[alignment.is_seed]
    free = np.flatnonzero(~np.isin(entries.row, seeds[:, 0]) & ~np.isin(entries.col, seeds[:, 1]))
    some = np.random.default_rng(0).choice(free, size=150, replace=False)
    return np.stack([entries.row[some], entries.col[some]], axis=1), entries.data[some]


@pytest.mark.parametrize("most", [0, 3, 4096])
def test_the_weights_add_up_to_the_similarity(mixed: Alignment, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """However many tokens are too common to compare all the pairs of facts that bear them."""
    monkeypatch.setattr(shared, "_MOST_PAIRS", most)
    pairs, similarity = stored_pairs(mixed)
    grounds = grounds_of(mixed)
    found = [total for _, total in weights(grounds, pairs)]
    np.testing.assert_allclose(found, similarity, rtol=0, atol=1e-5)
    assert np.ptp(found) > 0.1


def test_so_they_do_where_hubs_are_left_out(mixed: Alignment, monkeypatch: pytest.MonkeyPatch) -> None:
    grounds = grounds_of(mixed)
    dear = candidates.find_candidates(grounds.scoring.scored).tocoo()
    grounds.scoring.scored = candidates.scored_tokens(grounds.scoring.tokens, 20)
    cheap = candidates.find_candidates(grounds.scoring.scored).tocoo()
    assert cheap.data.sum() < 0.99 * dear.data.sum()
    pairs = np.stack([cheap.row, cheap.col], axis=1)[::50]
    found = [total for _, total in weights(grounds, pairs)]
    np.testing.assert_allclose(found, cheap.data[::50], rtol=0, atol=1e-5)


def test_what_is_told_adds_up_too(mixed: Alignment) -> None:
    grounds = grounds_of(mixed)
    for row, column in mixed.pairs[~mixed.is_seed][:20].tolist():
        why = explain(grounds, mixed.source.entities[row])
        assert why.match == mixed.target.entities[column]
        assert sum(fact.weight for fact in why.shared) == pytest.approx(why.similarity, abs=1e-9)
        assert why.similarity == pytest.approx(mixed.evidence.similarity[row, column], abs=1e-5)
        assert [fact.weight for fact in why.shared] == sorted((fact.weight for fact in why.shared), reverse=True)
        for other in why.others:
            short = sum(lack.weight for lack in other.lacks)
            assert short >= why.similarity - other.similarity - 1e-6


def test_one_shared_fact_is_told_once(known_lives: Alignment) -> None:
    why = explain(known_lives, "Ada")
    assert (why.match, why.is_seed, why.no_match, why.category) == ("Q1", False, None, None)
    told = {fact.fact.relation: fact for fact in why.shared}
    assert len(told) == len(why.shared) == 2
    assert str(told["met"]) == "met (= P1) → Charles (= Q2), in 1833"
    assert told["met"].same_dates == ("begin 1833", "end 1833")
    assert str(told["lived in"]).endswith("P2) → London (= Q3), from 1835 to 1852")
    words = why.in_words(top=1)
    assert words.splitlines()[0] == f"Ada = Q1 (confidence {why.confidence:.3f})"
    assert f"  … and 1 more (+{why.shared[1].weight:.3f})" in words


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
    grounds = grounds_of(mixed)
    texts = [str(fact) for row in range(40) for fact in explain(grounds, mixed.source.entities[row]).shared]
    assert sum("(= t-relation" in text for text in texts) > len(texts) / 4
    assert any("both begin" in text for text in texts)


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
    assert "lived in → London, from 1835 to 1852 (−0." in str(why)


def test_the_target_side(known_lives: Alignment) -> None:
    why = explain(known_lives, "Q1", target=True)
    assert why.match == "Ada"
    assert "P1 (= met) → Q2 (= Charles), in 1833" in [str(fact) for fact in why.shared]
    assert why.similarity == pytest.approx(explain(known_lives, "Ada").similarity, abs=1e-9)
    none = explain(known_lives, "Q8", target=True)
    assert (none.match, none.category) == (None, "unlikely")  # Twin cannot be told from its own side


@pytest.mark.parametrize(
    ("entity", "category", "candidates_"),
    [
        ("Nobody", "no_facts", []),
        ("Loner", "nothing_shared", []),
        ("Twin", "tied", ["Q10", "Q8"]),
        ("Echo", "taken", ["Q1"]),
    ],
)
def test_why_there_is_no_match(known_lives: Alignment, entity: str, category: str, candidates_: list[str]) -> None:
    why = explain(known_lives, entity)
    assert (why.match, why.category, why.shared, why.similarity) == (None, category, (), 0.0)
    assert [other.name for other in why.others][: len(candidates_)] == candidates_
    assert str(why).startswith(f"{entity}: no match (confidence {why.confidence:.3f}): {why.no_match}")


def test_what_the_best_candidate_shares_and_lacks(known_lives: Alignment) -> None:
    twin = explain(known_lives, "Twin").others[0]
    assert [str(fact) for fact in twin.shared] == ["saw (there: P4) → Comet (= Q9), in 1758"]
    assert twin.lacks == ()
    loner = explain(known_lives, "Loner", versus="Q1").others[0]
    assert loner.shared == ()
    assert [str(lack.fact) for lack in loner.lacks] == ["likes → Friend"]
    assert "  shares:\n    nothing\n  lacks:\n    likes → Friend" in str(explain(known_lives, "Loner", versus="Q1"))


def test_a_seed_is_told_as_one(mixed: Alignment) -> None:
    row = int(mixed.pairs[mixed.is_seed][0, 0])
    why = explain(mixed, mixed.source.entities[row])
    assert (why.is_seed, why.confidence) == (True, 1.0)
    assert "(given as a seed)" in str(why)
    assert reasons(mixed)[row].startswith("given as a seed; ")


def test_reasons_are_the_first_shared_facts_or_why_not(known_lives: Alignment) -> None:
    texts = dict(zip(known_lives.source.entities, reasons(known_lives), strict=True))
    shared_facts = explain(known_lives, "Ada").shared
    assert texts["Ada"] == "; ".join(f"{fact} (+{fact.weight:.3f})" for fact in shared_facts)
    assert texts["Echo"] == explain(known_lives, "Echo").no_match
    assert all(texts.values())
    long = dict(zip(known_lives.source.entities, reasons(known_lives, top=1), strict=True))
    assert long["Ada"] == f"{shared_facts[0]} (+{shared_facts[0].weight:.3f})"


def test_row_order_changes_no_word(mixed: Alignment) -> None:
    pair = simulate(MIXED)
    rng = np.random.default_rng(1)
    source, target = (shuffled_copy(graph, rng)[0] for graph in (pair.source, pair.target))
    seeds = [(pair.source.entities[s], pair.target.entities[t]) for s, t in pair.gold[:5].tolist()]
    permuted = align(source, target, seeds, method="evidence")
    plain, other = grounds_of(mixed), grounds_of(permuted)
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
        ("Adda", {}, "'Adda' is no entity of one view; did you mean 'Ada'?"),
        ("Q1", {}, "'Q1' is no entity of one view; give a name or id that its files hold"),
        ("Ada", {"target": True}, "'Ada' is no entity of other view"),
        ("Ada", {"versus": "Zürich"}, "'Zürich' is no entity of other view"),
        ("Ada", {"versus": "Q1"}, "'Q1' is the partner itself; compare with another entity"),
        ("0", {}, "'0' is no entity of one view"),
    ],
)
def test_unknown_entities(known_lives: Alignment, entity: str, options: dict[str, object], words: str) -> None:
    with pytest.raises(InputError) as caught:
        explain(known_lives, entity, **options)
    assert str(caught.value).startswith(words)


def test_methods_without_evidence_cannot_explain() -> None:
    with pytest.raises(InputError, match="method temporal keeps no evidence that could be told in words; align with"):
        explain(align(*lives(), method="temporal"), "Ada")


def test_a_written_alignment_explains_the_same(small_world: Path, tmp_path: Path) -> None:
    recipe = Recipe((small_world,), (ReadOptions(), ReadOptions()))
    data = recipe.read().folder
    assert data is not None
    alignment = align(data.source, data.target, data.read_pairs(small_world / "sup_pairs"), method="evidence")
    path = tmp_path / "links.tsv"
    Outputs(path, explained=True).write(alignment, None, recipe, input_hashes(recipe))
    grounds, in_memory = read_grounds(path), grounds_of(alignment)
    for row, name in enumerate(data.source.entities):
        from_file, by_id = explain(grounds, name), explain(grounds, str(data.source_ids[row]))
        assert isinstance(from_file, Explanation)
        assert from_file == explain(in_memory, name) == by_id
    name = data.target.entities[0]
    assert explain(path, name, target=True) == explain(alignment, name, target=True)


def test_many_to_one_is_known_to_explanations(small_world: Path, tmp_path: Path) -> None:
    recipe = Recipe((small_world,), (ReadOptions(), ReadOptions()))
    sides = recipe.read()
    alignment = align(sides.source, sides.target, method="evidence", many_to_one=True, min_confidence=0.9)
    Outputs(tmp_path / "links.tsv", explained=True).write(alignment, None, recipe, input_hashes(recipe))
    expected = [alignment.no_matches.in_words(at, sides.target.entities) for at in range(len(alignment.unmatched))]
    assert expected
    assert not any("went to another" in words for words in expected)
    for grounds in (grounds_of(alignment), read_grounds(tmp_path / "links.tsv")):
        assert [reasons(grounds)[row] for row in alignment.unmatched] == expected


def test_no_rival_is_told_that_could_not_be(mixed: Alignment) -> None:
    grounds = grounds_of(mixed)
    assert (grounds.candidates.data < 0.0005).any()
    for name in mixed.source.entities:
        assert all(each.probability >= 0.0005 for each in explain(grounds, name).others)
