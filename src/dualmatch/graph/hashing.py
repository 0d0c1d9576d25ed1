"""Hashes that are the same on every machine: for telling sets apart by sums, and for draws without a generator."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dualmatch.graph.arrays import Ids

_SPARSE: Final = 3  # a table has about so many doublings more than it holds numbers
_SMALLEST: Final = 10
_LARGEST: Final = 26


def mixed(values: NDArray[np.integer]) -> NDArray[np.uint64]:
    """Splitmix64: consecutive numbers to numbers that look random.

    >>> int(mixed(np.array([0]))[0])
    16294208416658607535
    """
    x = values.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def may_be_in(known: Ids, wanted: Ids) -> Ids:
    """Places in `wanted` of all numbers that are in `known`, and of a few that are not.

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
    """A number for each text that depends on the text alone.

    >>> a, b, c = text_hashes(["Ada", "Charles", "Ada"])
    >>> bool(a == c), bool(a == b)
    (True, False)
    """
    digests = b"".join(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest() for text in texts)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)
