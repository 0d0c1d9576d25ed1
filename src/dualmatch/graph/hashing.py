"""Hashes that are the same on every machine, to compare sets by sums and to draw without a generator."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from dualmatch.graph.arrays import Ids

# Bits of a Bloom filter: about 8 places for each number it holds, within bounds.
_SPARSE, _SMALLEST, _LARGEST = 3, 10, 26


def mixed(values: NDArray[np.integer]) -> NDArray[np.uint64]:
    """Turn consecutive numbers into numbers that look random (splitmix64; Steele, Lea and Flood, 2014).

    >>> int(mixed(np.array([0]))[0])
    16294208416658607535
    """
    x = values.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def may_be_in(known: Ids, wanted: Ids) -> Ids:
    """Find the places in `wanted` of all numbers that are in `known`, and of a few that are not.

    A Bloom filter with one hash: where few numbers are known, it is several times as fast as a search for all.

    >>> may_be_in(np.array([3, 5]), np.array([5, 4, 3, 10**12])).tolist()
    [0, 2]
    """
    bits = max(len(known).bit_length() + _SPARSE, _SMALLEST)
    if bits > _LARGEST or len(known) > len(wanted):
        return np.arange(len(wanted))
    table = np.zeros(1 << bits, dtype=bool)
    table[_hashed(known, bits)] = True
    return np.flatnonzero(table[_hashed(wanted, bits)])


def _hashed(values: Ids, bits: int) -> Ids:
    """Multiplicative hashing (Knuth): the upper bits of a product."""
    return (values.view(np.uint64) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(64 - bits)).astype(np.int64)


def text_hashes(texts: Iterable[str]) -> NDArray[np.uint64]:
    """Hash each text to a number that depends on the text alone.

    >>> a, b, c = text_hashes(["Ada", "Charles", "Ada"])
    >>> bool(a == c), bool(a == b)
    (True, False)
    """
    digests = b"".join(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest() for text in texts)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)
