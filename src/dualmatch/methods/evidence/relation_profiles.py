"""Relations that say the same, read off which relations the entities of known pairs have.

Where neighbours are not known yet, a fact of one entity can be any fact of its partner. Which relation translates into
which is learnt as words of two languages are from sentences that translate each other: by expectation–maximisation,
in which each fact of one entity is explained by a fact of the other or by chance (model 1 of Brown, Della Pietra,
Della Pietra and Mercer, *The mathematics of statistical machine translation*, 1993). A few seeds without any date teach
enough this way to tell their neighbours apart.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from scipy import sparse as sp

from dualmatch.channels.evidence.agreement import RelationOdds
from dualmatch.channels.evidence.ties import Ids, Ties, expanded
from dualmatch.decode.one_to_one import on_grid

_STEPS: Final = 8  # of expectation-maximisation
_WEIGHT: Final = 5.0  # facts that profiles count for at the most, for each relation: what both ends show says more


def profile_counts(ties: tuple[Ties, Ties], pairs: Ids) -> sp.csr_matrix:
    """How often facts of one relation turn up as facts of another, by the relations of paired entities alone.

    Parameters
    ----------
    pairs: (n, 2) int64
        Pairs that are believed.

    Returns
    -------
    csr (n_source_directed, n_target_directed)
        Expected numbers of facts, at most a few for each relation.
    """
    shape = ties[0].n_directed, ties[1].n_directed
    profiles = [_profiles(ties[side], pairs[:, side]) for side in (0, 1)]
    # every relation of a source with every relation of its partner
    row = np.repeat(np.arange(len(pairs)), np.diff(profiles[0].indptr))
    first, size = profiles[1].indptr[:-1].astype(np.int64), np.diff(profiles[1].indptr).astype(np.int64)
    left, right = expanded(first[row], size[row])
    if not len(left):
        return sp.csr_matrix(shape)
    relations = profiles[0].indices[left].astype(np.int64), profiles[1].indices[right].astype(np.int64)
    facts = profiles[0].data[left], profiles[1].data[right]
    total = [np.asarray(profile.sum(axis=1)).ravel()[row[left]] for profile in profiles]
    known, place = np.unique(relations[0] * shape[1] + relations[1], return_inverse=True)
    at = known // shape[1], known % shape[1]
    together = sp.csr_matrix(shape)
    for _ in range(_STEPS):
        odds = RelationOdds.of(together, *ties).at(*at)
        expected = np.zeros(len(known))
        for own, other, side in ((0, 1, left), (1, 0, right)):
            weight = odds[own][place] * facts[other]
            explained = np.bincount(side, weight)[side]  # chance explains as much as all facts of the partner
            expected += np.bincount(place, 0.5 * facts[own] * weight / (explained + total[other]), minlength=len(known))
        together = sp.csr_matrix((expected, at), shape=shape)
    sums = [np.asarray(together.sum(axis=axis)).ravel() for axis in (1, 0)]
    capped = expected * np.minimum(1.0, _WEIGHT / np.maximum(sums[0][at[0]], sums[1][at[1]]))
    return sp.csr_matrix((on_grid(capped), at), shape=shape)


def _profiles(ties: Ties, entities: Ids) -> sp.csr_matrix:
    """How many facts of each relation some entities have."""
    counts = sp.csr_matrix(
        (np.ones(ties.n_facts), (ties.entity[ties.tie], ties.relation)), shape=(ties.n_entities, ties.n_directed)
    )
    counts.sum_duplicates()
    return counts[entities]
