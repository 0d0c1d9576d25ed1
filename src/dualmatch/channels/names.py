"""Names: the evidence of labels, as a channel of its own.

Two labels agree to a degree: they are equal, share most of their letters, some, or none. How often each degree occurs
among true pairs is learnt from pairs that the facts have settled, and how often by chance from pairs drawn at random.
The logarithm of the ratio is added to the evidence of the facts (Fellegi and Sunter, 1969; frequency-based weights for
equal labels after Newcombe, 1959). Labels in different scripts are transliterated and compared by their consonants;
the weight of that is learnt for each pair of scripts, so scripts that cannot be compared end up with none.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Final

import numpy as np
from anyascii import anyascii
from scipy import sparse as sp
from scipy.special import gammaln
from sparse_dot_topn import sp_matmul_topn

from dualmatch.channels.evidence.ties import expanded
from dualmatch.decode.one_to_one import Candidates
from dualmatch.graph.arrays import Flags, Floats, Ids
from dualmatch.graph.hashing import text_hashes
from dualmatch.graph.literals import NAMING, LiteralPair, Literals

EDGES: Final = np.array([0.2, 0.35, 0.5, 0.65, 0.8])
"""Similarities between which labels agree to one degree; equal labels are a degree of their own."""
N_DEGREES: Final = len(EDGES) + 2
NOT_COMPARED: Final = -1
_EQUAL: Final = N_DEGREES - 1
_FIRST: Final = np.array([0.25, 0.1, 0.1, 0.1, 0.1, 0.1, 0.25])
_WEIGHT: Final = 20.0  # pairs that the first shares count for
_STRONGEST: Final = 12.0
_WEAKEST: Final = -4.0
_FEW_LABELS: Final = 100
_SHIFTS: Final = 8  # drawings of random pairs, each about as many as there are labels
_LEAST_SIMILAR: Final = 0.3
_N_SIMILAR: Final = 10
_AT_ONCE: Final = 2**17
_PAIRS_AT_ONCE: Final = 2**21  # of labels


@dataclass(frozen=True, eq=False)
class Labels:
    """The labels of one graph's entities, sorted by entity."""

    entity: Ids  # (n,)
    text: tuple[str, ...]  # (n,): normalised
    script: Ids  # (n,): number of the script most of its letters belong to
    key: Ids  # (n,): number of the text, the same in both graphs for equal texts
    letters: sp.csr_matrix  # (n, n_grams), rows of length 1: trigrams of the text
    consonants: sp.csr_matrix  # the same of its transliterated consonants
    n_entities: int

    @cached_property
    def first(self) -> Ids:
        """Where the labels of each entity begin."""
        return np.searchsorted(self.entity, np.arange(self.n_entities + 1))

    @cached_property
    def frequency(self) -> Floats:
        """How many labels of this graph would have the same text by chance, for each label.

        Counts are discounted as those of dates are (`dualmatch.channels.evidence.dates`): where nearly all labels are
        unique, that two graphs share one is no accident.
        """
        count = np.bincount(self.key)[self.key].astype(np.float64)
        return count - self.discount

    @cached_property
    def discount(self) -> float:
        """What a count is too high by (Ney, Essen and Kneser, 1994)."""
        count = np.bincount(self.key)
        once, twice = float((count == 1).sum()), float((count == 2).sum())
        return once / (once + 2.0 * twice + 1.0)


@dataclass(frozen=True, eq=False)
class Comparison:
    """How well the labels of each candidate agree."""

    scripts: Ids  # (n,): number of the pair of scripts; `NOT_COMPARED` where one of the two has no label
    degree: Ids  # (n,)
    chance: Floats  # (n,): of equal labels: how often a pair drawn at random has just this label in common
    label: tuple[Ids, Ids]  # (n,) each: which label of the source, and of the target; meaningless where not compared


class Names:
    """The labels of two graphs."""

    def __init__(self, literals: LiteralPair, shape: tuple[int, int], threads: int = 1) -> None:
        self.shape, self.threads = shape, threads
        both = [_texts(side) for side in literals]
        texts = sorted({*both[0][1], *both[1][1]})
        keys = {text: at for at, text in enumerate(texts)}
        names = [script_of(text) for text in texts]
        self.scripts = tuple(sorted(set(names)))
        number = {name: at for at, name in enumerate(self.scripts)}
        script_of_text = np.array([number[name] for name in names], dtype=np.int64)
        consonants_of_text = [consonants_of(text) for text in texts]
        key = np.array([keys[text] for _, own in both for text in own], dtype=np.int64)
        letters, consonants = _grams(texts, key, (3,)), _grams(consonants_of_text, key, (2, 3))
        of_source, of_target = (
            Labels(
                np.array(entity, dtype=np.int64), tuple(own), script_of_text[at], at, letters[at], consonants[at], size
            )
            for (entity, own), at, size in zip(both, np.split(key, [len(both[0][1])]), shape, strict=True)
        )
        self.sides = of_source, of_target

    def __bool__(self) -> bool:
        return all(len(side.entity) for side in self.sides)

    @cached_property
    def similar(self) -> tuple[Ids, Ids]:
        """Pairs of entities with similar labels, by either comparison and from either side: rows, columns; sorted."""
        source, target = self.sides
        found = []
        for left, right in ((source.letters, target.letters), (source.consonants, target.consonants)):
            for own, other, swapped in ((left, right, False), (right, left, True)):
                best = sp_matmul_topn(
                    own, other.T.tocsr(), top_n=_N_SIMILAR, threshold=_LEAST_SIMILAR, n_threads=self.threads
                ).tocoo()
                row, column = (best.col, best.row) if swapped else (best.row, best.col)
                found.append(source.entity[row] * self.shape[1] + target.entity[column])
        key = np.unique(np.concatenate(found))
        return key // self.shape[1], key % self.shape[1]

    def compare(self, candidates: Candidates) -> Comparison:
        """The best agreement between a label of each entity of a pair; block by block, as labels may be many."""
        n, (source, target) = len(candidates), self.sides
        nothing = [np.zeros(n, dtype=np.int64) for _ in range(3)]
        result = Comparison(
            np.full(n, NOT_COMPARED, dtype=np.int64), nothing[0], np.ones(n), label=(nothing[1], nothing[2])
        )
        total = np.cumsum(np.diff(source.first)[candidates.row] * np.diff(target.first)[candidates.column])
        ends = np.searchsorted(total, np.arange(_PAIRS_AT_ONCE, int(total[-1]) if n else 0, _PAIRS_AT_ONCE))
        for first, last in pairwise(np.unique([0, *ends.tolist(), n]).tolist()):
            self._compare(candidates, np.arange(first, last), result)
        return result

    def _compare(self, candidates: Candidates, some: Ids, result: Comparison) -> None:
        """The comparison of some candidates, written into the result."""
        source, target = self.sides
        row, column = candidates.row[some], candidates.column[some]
        which, left = expanded(source.first[row], np.diff(source.first)[row])
        at, right = expanded(target.first[column[which]], np.diff(target.first)[column[which]])
        pair, left = some[which[at]], left[at]
        scripts, degree, chance = self._compared(left, right)
        # the best of a pair's labels: the highest degree, then the rarest, then the first pair of scripts
        order = np.lexsort((-scripts, -chance, degree, pair))
        best = order[np.flatnonzero(np.diff(pair[order], append=-1) != 0)]
        result.scripts[pair[best]], result.degree[pair[best]] = scripts[best], degree[best]
        result.chance[pair[best]] = chance[best]
        result.label[0][pair[best]], result.label[1][pair[best]] = left[best], right[best]

    def texts(self, comparison: Comparison) -> list[tuple[str, str] | None]:
        """The two labels of each pair that agree best, normalised; None where one of the two has no label."""
        columns = comparison.scripts.tolist(), comparison.label[0].tolist(), comparison.label[1].tolist()
        source, target = (side.text for side in self.sides)
        return [
            None if scripts == NOT_COMPARED else (source[a], target[b]) for scripts, a, b in zip(*columns, strict=True)
        ]

    def _compared(self, left: Ids, right: Ids) -> tuple[Ids, Ids, Floats]:
        source, target = self.sides
        n_scripts = len(self.scripts)
        scripts = source.script[left] * n_scripts + target.script[right]
        same = source.script[left] == target.script[right]
        similarity = np.zeros(len(left))
        similarity[same] = _row_products(source.letters, target.letters, left[same], right[same])
        similarity[~same] = _row_products(source.consonants, target.consonants, left[~same], right[~same])
        degree = np.searchsorted(EDGES, similarity.round(6), side="right")
        degree[source.key[left] == target.key[right]] = _EQUAL
        size = float(len(source.key)) * len(target.key)
        chance = np.sqrt(source.frequency[left] * target.frequency[right] / max(size, 1.0))
        return scripts, degree, chance

    @cached_property
    def by_chance(self) -> Floats:
        """How often labels of unrelated entities agree to each degree, for each pair of scripts.

        Labels are put in an order that is random but the same whatever the input's order, and each is compared with
        those some places further on in the other graph's.
        """
        left, right = (np.argsort(text_hashes(side.text), kind="stable") for side in self.sides)
        size = len(self.scripts) ** 2
        counts = np.full((size, N_DEGREES), 0.5)
        for a, b in self._draws(left, right):
            scripts, degree, _ = self._compared(a, b)
            unrelated = degree != _EQUAL
            if max(len(left), len(right)) <= _FEW_LABELS:
                unrelated &= ~self._is_best(a, b, degree)
            np.add.at(counts, (scripts[unrelated], degree[unrelated]), 1.0)
        shares: Floats = counts / counts.sum(axis=1, keepdims=True)
        return shares

    @staticmethod
    def _draws(left: Ids, right: Ids) -> Iterator[tuple[Ids, Ids]]:
        """Pairs of labels, about as many at a time as there are labels."""
        place = np.arange(max(len(left), len(right)))
        for shift in range(_SHIFTS):
            offset = (2 * shift + 1) * (len(place) // (4 * _SHIFTS) + 1)
            yield left[place % len(left)], right[(place + offset) % len(right)]
            # the mirror image, so that neither graph comes first
            yield left[(place + offset) % len(left)], right[place % len(right)]

    def _is_best(self, left: Ids, right: Ids, degree: Ids) -> Flags:
        """Pairs as alike as any with one of the two labels: among few labels, true pairs are often drawn."""
        n = len(self.sides[0].key), len(self.sides[1].key)
        a, b = np.repeat(np.arange(n[0]), n[1]), np.tile(np.arange(n[1]), n[0])
        degrees = self._compared(a, b)[1].reshape(n)
        best: Flags = (degree >= degrees.max(axis=1)[left]) | (degree >= degrees.max(axis=0)[right])
        return best & (degree > 0)

    @cached_property
    def first_agreement(self) -> Floats:
        """Before anything is learnt: labels of one script mostly agree somehow, labels of two say nothing."""
        size = len(self.scripts)
        agreement = self.by_chance.copy()
        agreement[np.arange(size) * (size + 1)] = _FIRST
        return agreement

    def evidence(self, comparison: Comparison, agreement: Floats) -> Floats:
        """Log-likelihood ratio of each comparison; 0 where there is none."""
        compared = comparison.scripts != NOT_COMPARED
        scripts, degree = np.maximum(comparison.scripts, 0), comparison.degree
        chance = np.where(degree == _EQUAL, comparison.chance, self.by_chance[scripts, degree])
        ratio = np.log(agreement[scripts, degree] / chance)
        # Equal labels speak against nothing, and those that nobody else has say no less than nearly equal ones.
        nearly = np.log(agreement[scripts, _EQUAL - 1] / self.by_chance[scripts, _EQUAL - 1])
        of_one = [(1.0 - side.discount) / max(len(side.key), 1) for side in self.sides]
        is_unique = comparison.chance <= (1.0 + 1e-9) * np.sqrt(of_one[0] * of_one[1])
        least = np.where(is_unique, np.maximum(nearly, 0.0), 0.0)
        ratio = np.where(degree == _EQUAL, np.maximum(ratio, least), ratio)
        evidence: Floats = np.where(compared, np.clip(ratio, _WEAKEST, _STRONGEST), 0.0)
        return evidence

    def learnt(self, comparison: Comparison, probability: Floats, before: Floats, least: float = 0.5) -> Floats:
        """Estimate how often labels of true pairs agree to each degree, from pairs likelier than `least`.

        `before` counts as if seen on a few pairs.
        """
        agreement = _WEIGHT * before
        counted = (comparison.scripts != NOT_COMPARED) & (probability > least)
        np.add.at(agreement, (comparison.scripts[counted], comparison.degree[counted]), probability[counted])
        shares: Floats = agreement / agreement.sum(axis=1, keepdims=True)
        return shares

    def tells(self, comparison: Comparison, pairs: Flags) -> float:
        """Log Bayes factor, over some pairs, of labels that distinguish true pairs against labels that do not.

        How often labels agree is unknown where they do (a Dirichlet distribution around the first estimate), and as
        among random pairs where they do not.
        """
        pairs = pairs & (comparison.scripts != NOT_COMPARED)
        scripts, degree = comparison.scripts[pairs], comparison.degree[pairs]
        seen = np.zeros_like(self.by_chance)
        np.add.at(seen, (scripts, degree), 1.0)
        start = _WEIGHT * self.first_agreement
        telling = gammaln(start + seen) - gammaln(start)
        total = gammaln(start.sum(axis=1)) - gammaln((start + seen).sum(axis=1))
        chance = np.where(degree == _EQUAL, comparison.chance[pairs], self.by_chance[scripts, degree])
        return float(telling.sum() + total.sum() - np.log(chance).sum())

    def alike(self, comparison: Comparison) -> Flags:
        """Pairs with a label that is equal, or nearly."""
        nearly: Flags = (comparison.scripts != NOT_COMPARED) & (comparison.degree >= _EQUAL - 1)
        return nearly


def _texts(literals: Literals) -> tuple[list[int], list[str]]:
    """Entities and normalised labels, each label of an entity once, sorted by entity."""
    rows = zip(literals.entity.tolist(), literals.attribute, literals.value, strict=True)
    labels = {(entity, normalised(value)) for entity, attribute, value in rows if attribute in NAMING}
    found = sorted((entity, text) for entity, text in labels if text)
    return [entity for entity, _ in found], [text for _, text in found]


def normalised(text: str) -> str:
    """Normalise a text for comparison: compatible characters, case and spaces do not matter.

    >>> normalised("  Ａda   LOVELACE ")
    'ada lovelace'
    """
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def script_of(text: str) -> str:
    """The script most letters of a text belong to; empty where it has none.

    >>> script_of("ada"), script_of("ада"), script_of("マルメff"), script_of("1984")
    ('latin', 'cyrillic', 'katakana', '')
    """
    counts: dict[str, int] = {}
    for letter in text:
        if letter.isalpha():
            # the first word of a letter's Unicode name is its script, CJK for Chinese characters
            words = "latin" if letter < "ɐ" else unicodedata.name(letter, "unnamed").lower()
            name = words.split(" ", 1)[0].split("-", 1)[0]
            counts[name] = counts.get(name, 0) + 1
    return max(counts, key=lambda name: (counts[name], name)) if counts else ""


_BRACKETS = re.compile(r"\([^)]*\)")
_NO_WORD = re.compile(r"[^a-z0-9]+")
_DOUBLED = re.compile(r"(.)\1+")
# Letters that languages and transliterations put for one another; vowels, and those as good as silent, are dropped.
_SOUNDS = (("x", "ks"), ("ph", "f"), ("sh", "s"), ("ch", "k"), ("th", "s"), ("tsu", "t"))
_FOLDED = str.maketrans(dict(zip("lvcqzjfdg", "rbkkssptk", strict=True)) | dict.fromkeys("aeiouyhw"))


def consonants_of(text: str) -> str:
    """The consonants of a text, transliterated and folded so that spellings of one sound fall together.

    What stands in brackets is left out: it is a remark in the label's own language.

    >>> consonants_of("michael jackson"), consonants_of("マイケル・ジャクソン")
    ('mkr sksn', 'mkr sksn')
    """
    plain = _BRACKETS.sub("", anyascii(text).lower())
    for sound, letter in _SOUNDS:
        plain = plain.replace(sound, letter)
    words = (_DOUBLED.sub(r"\1", word.translate(_FOLDED)) for word in _NO_WORD.split(plain))
    return " ".join(word for word in words if word)


def _grams(texts: Sequence[str], used: Ids, lengths: tuple[int, ...]) -> sp.csr_matrix:
    """Runs of characters of each text, weighted by how rare they are among the `used` texts, rows of length 1."""
    padded = [f" {text} " if text else "" for text in texts]
    size = np.array([len(text) for text in padded], dtype=np.int64)
    points = np.frombuffer("".join(padded).encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.int64)
    owner = np.repeat(np.arange(len(padded)), size)
    rows, keys = [], []
    for length in lengths:
        first = np.flatnonzero(owner[: max(len(owner) - length + 1, 0)] == owner[length - 1 :])
        key = points[first]
        for step in range(1, length):
            key = (key << 21) + points[first + step]
        rows.append(owner[first])
        keys.append(key * 2 + (length % 2))  # lengths 2 and 3 never share a key
    row, key = np.concatenate(rows), np.unique(np.concatenate(keys), return_inverse=True)[1]
    shape = len(padded), int(key.max(initial=-1)) + 1
    matrix = sp.csr_matrix((np.ones(len(row), dtype=np.float32), (row, key)), shape=shape)
    times_used = np.bincount(used, minlength=len(padded)).astype(np.float64)
    of_row = np.repeat(np.arange(len(padded)), np.diff(matrix.indptr))
    frequency = np.bincount(matrix.indices, times_used[of_row], minlength=matrix.shape[1])
    weight = np.log((len(used) + 1) / frequency)
    matrix.data = weight[matrix.indices].astype(np.float32)
    length_of = np.sqrt(np.bincount(of_row, matrix.data.astype(np.float64) ** 2, minlength=len(padded)))
    matrix.data = (matrix.data / np.maximum(length_of, 1e-9)[of_row]).astype(np.float32)
    return matrix


def _row_products(left: sp.csr_matrix, right: sp.csr_matrix, rows: Ids, columns: Ids) -> Floats:
    """Products of some rows of two matrices."""
    products = np.zeros(len(rows))
    for start in range(0, len(rows), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        products[part] = np.asarray(left[rows[part]].multiply(right[columns[part]]).sum(axis=1)).ravel()
    return products
