"""Names: how well labels agree, what that is worth, and that it stays the same from either side."""

import numpy as np
import pytest

from dualmatch import TemporalGraph
from dualmatch.channels.names import EDGES, N_DEGREES, NOT_COMPARED, Comparison, Names, consonants_of, script_of
from dualmatch.decode.one_to_one import Candidates
from dualmatch.graph.literals import LABEL, LiteralPair, Literals

EQUAL = N_DEGREES - 1


def literals(*labels: str | tuple[str, ...]) -> Literals:
    """The labels of entities 0, 1, …; an entity may have several, or none."""
    each = [(texts,) if isinstance(texts, str) else texts for texts in labels]
    rows = sorted((entity, text) for entity, texts in enumerate(each) for text in texts)
    return Literals(np.array([row for row, _ in rows], np.int32), (LABEL,) * len(rows), tuple(text for _, text in rows))


def names_of(source: Literals, target: Literals, shape: tuple[int, int]) -> Names:
    return Names((source, target), shape)


def all_pairs(shape: tuple[int, int]) -> Candidates:
    return Candidates(np.repeat(np.arange(shape[0]), shape[1]), np.tile(np.arange(shape[1]), shape[0]), shape)


def compared(names: Names) -> Comparison:
    return names.compare(all_pairs(names.shape))


SURNAMES = (
    "Baker Carver Dyer Farrier Glover Harper Jagger Kellogg Lorimer Mercer Porter Quilter Roper Slater Turner Usher"
)
PEOPLE = tuple(f"{first} {last}" for last in SURNAMES.split() for first in ("Ada", "Mary", "Charles", "Augustus"))


def test_case_spaces_and_width_are_no_matter() -> None:
    names = names_of(literals("Ａda   LOVELACE"), literals("ada lovelace", "ada love"), (1, 2))
    assert compared(names).degree[0] == EQUAL
    assert 0 < compared(names).degree[1] < EQUAL


def test_labels_of_one_script_agree_by_their_letters() -> None:
    """Degrees rise with the letters that two labels share."""
    names = names_of(literals(*PEOPLE), literals("Ada Baker", "Ada Bakers", "Adam Bakker", "Ada Turner", "Xi"), (64, 5))
    degree = compared(names).degree.reshape(64, 5)[0]
    assert degree[0] == EQUAL
    assert EQUAL > degree[1] > degree[2] > degree[3] == degree[4] == 0


def test_degrees_are_bounded_by_the_edges() -> None:
    names = names_of(literals(*PEOPLE), literals(*(label[::2] for label in PEOPLE)), (64, 64))
    source, target = (side.letters.toarray() for side in names.sides)
    similarity = (source @ target.T).ravel().round(6)
    found = compared(names).degree
    for edge, value in enumerate(EDGES):
        assert (similarity[found <= edge] < value).all()
        assert (similarity[(found > edge) & (found < EQUAL)] >= value).all()


def test_labels_of_two_scripts_agree_by_their_consonants() -> None:
    assert consonants_of("Ада Лавлейс".casefold()) == consonants_of("ada lavleis")
    names = names_of(literals("Michael Jackson", "Ada Lovelace"), literals("マイケル・ジャクソン", "東京"), (2, 2))
    found = compared(names)
    assert names.scripts == ("cjk", "katakana", "latin")
    assert len(set(found.scripts.tolist())) == 2
    assert found.degree.reshape(2, 2)[0, 0] >= len(EDGES)
    assert found.degree.reshape(2, 2)[1, 0] == 0


def test_what_stands_in_brackets_is_left_out_across_scripts() -> None:
    assert consonants_of("jackson (singer)") == consonants_of("jackson")
    assert script_of("1984") == ""


def test_the_best_of_several_labels_counts_and_none_is_no_comparison() -> None:
    names = names_of(literals(("Ada Baker", "Countess"), ()), literals(("Q. Z.", "Countess"), "Ada Bakers"), (2, 2))
    found = compared(names)
    assert found.degree[0] == EQUAL
    assert 2 < found.degree[1] < EQUAL
    assert found.scripts.tolist()[2:] == [NOT_COMPARED, NOT_COMPARED]
    evidence = names.evidence(found, names.first_agreement)
    assert (evidence[2:] == 0).all()
    assert evidence[:2].any()


def test_a_rare_label_in_common_counts_for_more_than_a_common_one() -> None:
    """Ten of a hundred entities of either graph are called Smith, half of them Jones, and one Lovelace."""
    labels = literals("Lovelace", *["Smith"] * 10, *["Jones"] * 50, *PEOPLE[:39])
    names = names_of(labels, labels, (100, 100))
    found = names.compare(Candidates(np.array([0, 1, 20]), np.array([0, 1, 20]), (100, 100)))
    discount = 40 / 41  # forty labels occur once, none twice
    assert found.chance == pytest.approx([(count - discount) / 100 for count in (1, 10, 50)])
    rare, common, usual = names.evidence(found, names.first_agreement)
    assert rare >= np.log(0.25 * 100)
    assert common == pytest.approx(np.log(0.25 * 100 / (10 - discount)))
    assert usual == 0  # less likely by chance than among true pairs, but no sign of another entity


def test_before_anything_is_learnt_two_scripts_say_nothing() -> None:
    names = names_of(literals(*PEOPLE), literals(*("東京", "大阪", "ада", "мария") * 4), (64, 16))
    assert names.evidence(compared(names), names.first_agreement) == pytest.approx(0)


def test_scripts_that_cannot_be_compared_say_nothing_once_learnt() -> None:
    """True pairs agree no better than chance: whatever the degree, it is worth next to nothing."""
    words = [f"{chr(0x4E00 + 37 * i)}{chr(0x5E00 + 53 * i)}" for i in range(64)]
    names = names_of(literals(*PEOPLE), literals(*words), (64, 64))
    found = compared(names)
    truth = (np.arange(64 * 64) % 65 == 0).astype(float)
    agreement = names.learnt(found, truth, names.first_agreement)
    usual = np.bincount(found.degree, minlength=N_DEGREES).argmax()
    assert abs(names.evidence(found, agreement)[found.degree == usual]).max() < 0.05


def test_what_true_pairs_have_in_common_is_learnt() -> None:
    """All true pairs are spelt alike but not equally: that degree gains, equal labels and strangers lose."""
    names = names_of(literals(*PEOPLE), literals(*(f"{label}s" for label in PEOPLE)), (64, 64))
    found = compared(names)
    truth = (np.arange(64 * 64) % 65 == 0).astype(float)
    scripts, degree = found.scripts[0], found.degree[truth == 1]
    alike = np.bincount(degree).argmax()
    before, after = names.first_agreement, names.learnt(found, truth, names.first_agreement)
    assert after.sum(axis=1) == pytest.approx(1)
    assert after[scripts, alike] > 3 * before[scripts, alike]
    assert after[scripts, EQUAL] < before[scripts, EQUAL]
    assert after[scripts, 0] < before[scripts, 0]
    evidence = names.evidence(found, after)
    assert evidence[truth == 1].min() > evidence[truth == 0].mean() + 2


def test_pairs_less_likely_than_not_teach_nothing() -> None:
    names = names_of(literals(*PEOPLE), literals(*PEOPLE), (64, 64))
    found, doubtful = compared(names), np.full(64 * 64, 0.4)
    np.testing.assert_allclose(names.learnt(found, doubtful, names.first_agreement), names.first_agreement)
    assert not np.allclose(names.learnt(found, doubtful, names.first_agreement, least=0.3), names.first_agreement)


def test_similar_labels_are_found_from_either_side() -> None:
    names = names_of(literals(*PEOPLE), literals(*(f"{label}s" for label in PEOPLE), "東京"), (64, 65))
    found = set(zip(*(part.tolist() for part in names.similar), strict=True))
    assert {(i, i) for i in range(64)} <= found
    assert all(target != 64 for _, target in found)
    assert len(found) < 64 * 40


MIXED = (*PEOPLE[:30], "ада байкер", "мария", "マイケル・ジャクソン", ("東京", "Tokyo"), ())
OTHERS = (
    *(f"{label}s" for label in PEOPLE[5:33]),
    "Ada Baker",
    "Marija",
    "Michael Jackson",
    "Tokyo",
    ("大阪", "Osaka"),
)


def test_swapping_the_graphs_transposes_everything() -> None:
    pair: LiteralPair = literals(*MIXED), literals(*OTHERS)
    shape = len(MIXED), len(OTHERS)
    forward, backward = Names(pair, shape), Names(pair[::-1], shape[::-1])
    assert set(zip(*forward.similar, strict=True)) == {(s, t) for t, s in zip(*backward.similar, strict=True)}
    one, other = compared(forward), compared(backward)
    np.testing.assert_array_equal(one.degree.reshape(shape), other.degree.reshape(shape[::-1]).T)
    np.testing.assert_array_equal(one.chance.reshape(shape), other.chance.reshape(shape[::-1]).T)
    n = len(forward.scripts)
    transposed = np.arange(n * n).reshape(n, n).T.ravel()
    np.testing.assert_array_equal(forward.by_chance, backward.by_chance[transposed])
    values = [names.evidence(found, names.first_agreement) for names, found in ((forward, one), (backward, other))]
    np.testing.assert_array_equal(values[0].reshape(shape), values[1].reshape(shape[::-1]).T)


def test_the_order_of_labels_changes_nothing() -> None:
    shape = len(MIXED), len(OTHERS)
    plain = Names((literals(*MIXED), literals(*OTHERS)), shape)
    turned = Names((literals(*MIXED[::-1]), literals(*OTHERS)), shape)
    np.testing.assert_array_equal(plain.by_chance, turned.by_chance)
    one, other = (names.evidence(compared(names), names.first_agreement).reshape(shape) for names in (plain, turned))
    np.testing.assert_array_equal(one, other[::-1])


def test_graphs_without_labels_have_no_names() -> None:
    graph = TemporalGraph.from_facts([("a", "met", "b")])
    nothing = Literals.of_labels({"a": "  "}, graph)
    assert not Names((literals("Ada"), nothing), (1, 2))
    assert Names((literals("Ada"), literals("Ada")), (1, 1))


def test_labels_without_a_single_letter_or_consonant_are_compared_too() -> None:
    names = names_of(literals("io", "1984", "!?"), literals("aa", "1984", "??"), (3, 3))
    degree = compared(names).degree.reshape(3, 3)
    assert degree[1, 1] == EQUAL
    assert degree[0].max() < EQUAL
    assert (1, 1) in set(zip(*names.similar, strict=True))


def test_an_equal_label_never_speaks_against_a_pair() -> None:
    """Among so few labels it says nothing, but it is no sign of another entity."""
    names = names_of(literals("Ada"), literals("Ada"), (1, 1))
    assert names.evidence(compared(names), names.first_agreement)[0] >= 0


def test_an_equal_label_that_nobody_else_has_is_worth_no_less_than_a_similar_one() -> None:
    names = names_of(literals("Ada Lovelace", "Charles Babbage"), literals("ada lovelace", "Babbage, Charles"), (2, 2))
    evidence = names.evidence(compared(names), names.first_agreement).reshape(2, 2)
    assert evidence[0, 0] >= evidence[1, 1] > max(evidence[0, 1], evidence[1, 0])


def test_blocks_of_any_size_compare_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [tuple(f"{label} {at}" for at in range(number % 4)) for number, label in enumerate(PEOPLE)]
    row, column = (each.ravel() for each in np.indices((64, 64)))
    candidates, whole = Candidates(row, column, (64, 64)), None
    for size in (2**21, 1, 7, 1000):
        monkeypatch.setattr("dualmatch.channels.names._PAIRS_AT_ONCE", size)
        found = Names((literals(*texts), literals(*texts[::-1])), (64, 64)).compare(candidates)
        whole = whole or found
        for name in ("scripts", "degree", "chance"):
            np.testing.assert_array_equal(getattr(found, name), getattr(whole, name))
        np.testing.assert_array_equal(found.label, whole.label)
    assert len(Names((literals("a"), literals("b")), (1, 1)).compare(candidates.at(np.zeros(0, int))).degree) == 0
