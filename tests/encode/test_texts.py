"""Labels as tokens: the same text is the same token, and trigrams are those of the label."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dualmatch.encode.evidence.texts import normalised, text_families
from dualmatch.graph.literals import LABEL, Literals

TEXTS = st.lists(st.tuples(st.integers(0, 3), st.text(max_size=6)), max_size=8)


def literals(rows: Sequence[tuple[int, str]], attribute: str = LABEL) -> Literals:
    entity = np.array([row for row, _ in rows], dtype=np.int32)
    return Literals(entity, (attribute,) * len(rows), tuple(text for _, text in rows))


def trigrams(text: str) -> set[str]:
    padded = f" {normalised(text)} "
    return {padded[i : i + 3] for i in range(len(padded) - 2)} if normalised(text) else set()


@given(TEXTS, TEXTS)
def test_two_entities_share_the_tokens_their_texts_share(
    source: list[tuple[int, str]], target: list[tuple[int, str]]
) -> None:
    left, right = text_families((literals(source), literals(target)))
    for parts, of_left, of_right in zip((lambda text: {normalised(text)} - {""}, trigrams), left, right, strict=True):
        for s in range(4):
            for t in range(4):
                said = [
                    set().union(*(parts(text) for row, text in rows if row == entity))
                    for rows, entity in ((source, s), (target, t))
                ]
                keys = [family[1][family[0] == entity] for family, entity in ((of_left, s), (of_right, t))]
                assert [len(each) for each in keys] == [len(each) for each in said]
                assert len(np.intersect1d(*keys)) == len(said[0] & said[1])


def test_only_labels_are_taken_apart() -> None:
    whole, grams = text_families((literals([(0, "Ada")], "born as"), literals([(0, "ADA")])))[0]
    assert (len(whole[0]), len(grams[0])) == (1, 0)
