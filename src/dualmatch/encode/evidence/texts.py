"""Texts: what labels and other literals say about entities, as token families beside those of the facts."""

from __future__ import annotations

import unicodedata
from dataclasses import replace
from typing import Final

import numpy as np

from dualmatch.encode.evidence.sides import FactSides, Ids
from dualmatch.graph.literals import LABEL, LiteralPair, Literals

Family = tuple[Ids, Ids]
"""Which entity has which key; keys mean the same in both graphs."""

_CHARACTER_BITS: Final = 21


def with_texts(sides: tuple[FactSides, FactSides], literals: LiteralPair | None) -> tuple[FactSides, FactSides]:
    """The sides of both graphs with what labels and literals say, if they are to be looked at and both have some."""
    if literals is None or not all(len(side.entity) for side in literals):
        return sides
    source, target = text_families(literals)
    return replace(sides[0], texts=source), replace(sides[1], texts=target)


def text_families(literals: LiteralPair) -> tuple[tuple[Family, ...], tuple[Family, ...]]:
    """The families of both graphs: whole values, and character trigrams of labels."""
    both = [[normalised(value) for value in side.value] for side in literals]
    number = {text: key for key, text in enumerate(sorted({text for texts in both for text in texts}))}
    left, right = (
        (_whole(side, texts, number), _trigrams(side, texts)) for side, texts in zip(literals, both, strict=True)
    )
    return left, right


def normalised(text: str) -> str:
    """A text as it is compared: compatible characters, case and spaces are no matter.

    >>> normalised("  Ａda   LOVELACE ")
    'ada lovelace'
    """
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _whole(literals: Literals, texts: list[str], number: dict[str, int]) -> Family:
    keys = np.array([number[text] for text in texts], dtype=np.int64)
    said = np.array([bool(text) for text in texts], dtype=bool)
    return _distinct(literals.entity[said].astype(np.int64), keys[said])


def _trigrams(literals: Literals, texts: list[str]) -> Family:
    """Three characters in a row, a label's edges being spaces; the key is made of their code points."""
    labels = [
        (entity, f" {text} ")
        for entity, attribute, text in zip(literals.entity.tolist(), literals.attribute, texts, strict=True)
        if attribute == LABEL and text
    ]
    lengths = np.array([len(text) for _, text in labels], dtype=np.int64)
    points = np.frombuffer("".join(text for _, text in labels).encode("utf-32-le"), dtype="<u4").astype(np.int64)
    owner = np.repeat(np.arange(len(labels)), lengths)
    first = np.flatnonzero(owner[:-2] == owner[2:])
    key = (points[first] << 2 * _CHARACTER_BITS) + (points[first + 1] << _CHARACTER_BITS) + points[first + 2]
    entity = np.array([entity for entity, _ in labels], dtype=np.int64)
    return _distinct(entity[owner[first]], key)


def _distinct(entity: Ids, key: Ids) -> Family:
    """Each key of an entity once, however many of its texts have it."""
    order = np.lexsort((key, entity))
    entity, key = entity[order], key[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (np.diff(entity) != 0) | (np.diff(key) != 0)
    return entity[new], key[new]
