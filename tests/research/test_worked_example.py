"""The paper's worked example, to the printed digit."""

import numpy as np
import pytest

from dualmatch.research.experiments import example as printed
from dualmatch.research.experiments.example import WorkedExample, hits_at_1, worked_example


@pytest.fixture(scope="module")
def found() -> WorkedExample:
    return worked_example()


def test_matrices_are_as_printed(found: WorkedExample) -> None:
    for values, quoted in ((found.a_t, printed.A_T), (found.a, printed.A), (found.h_t, printed.H_T)):
        np.testing.assert_array_equal(values.astype(np.float32).round(2), quoted.astype(np.float32))


def test_temporal_alignment_matrix_is_as_printed(found: WorkedExample) -> None:
    np.testing.assert_array_equal(found.p_t.astype(np.float32).round(2), printed.P_T.astype(np.float32))


def test_the_printed_matrix_of_both_lacks_the_temporal_term(found: WorkedExample) -> None:
    """H^r is printed with two decimals, so its product is right to about 0.03."""
    assert np.abs(found.p_r - printed.P).max() < 0.03
    assert np.abs(found.p - printed.P).max() > 0.4


def test_distance_of_the_temporal_matrix(found: WorkedExample) -> None:
    relational, temporal = found.distance(found.p_t)
    assert round(relational + temporal, 2) == printed.D_TEMPORAL
    assert (round(relational, 2), round(temporal, 2)) == (2.86, 1.75)


def test_distance_and_hits_of_both_channels(found: WorkedExample) -> None:
    # The printed H^r is rounded to two decimals: half a percent is what that allows.
    assert sum(found.distance(found.p)) == pytest.approx(printed.D_BOTH, rel=0.005)
    assert round(hits_at_1(found.p), 1) == printed.H1_BOTH


def test_time_alone_finds_five_of_six_where_ties_are_averaged(found: WorkedExample) -> None:
    """The paper's 100 % breaks the six-fold tie of entity 3, which has no outgoing fact, in its favour."""
    assert hits_at_1(found.p_t) == pytest.approx(100 * 5 / 6)
