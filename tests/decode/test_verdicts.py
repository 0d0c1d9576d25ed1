"""Verdicts on sources in no link: every reason, and how sure it is that there is no partner."""

from __future__ import annotations

import numpy as np
import pytest

from dualmatch.decode.shortlist import BestCandidates
from dualmatch.decode.verdicts import NO_MATCH_FROM, Reason, Unlinked, Verdict, unlinked

# One row for each case; row 0 is linked with column 0.
ROWS = ("linked", "no facts", "nothing shared", "tied", "too little", "taken", "below asked", "told", "no partner")
COLUMN = np.array([0, 1, -1, 2, 1, 0, 1, 1, 2])
PROBABILITY = np.array([0.9, 0.4, 0.0, 0.45, 0.3, 0.1, 0.8, 0.7, 0.2])
NO_PARTNER = np.array([0.0, 0.9, 0.5, 0.1, 0.2, 0.1, 0.0, 0.0, 0.78])


def found(**options: object) -> Unlinked:
    given: dict[str, object] = {
        "candidates": BestCandidates(COLUMN, PROBABILITY, np.array([row == "tied" for row in ROWS])),
        "pairs": np.array([[0, 0]]),
        "in_a_fact": np.array([row != "no facts" for row in ROWS]),
        "n_columns": 3,
        "no_partner": NO_PARTNER,
        "enough": 0.5,
        "alone": np.array([ROWS.index("told")]),
    }
    return unlinked(**{**given, **options})  # type: ignore[arg-type]


def of_row(result: Unlinked, name: str) -> int:
    return int(np.flatnonzero(result.row == ROWS.index(name))[0])


def test_every_reason_is_reached() -> None:
    result = found()
    assert result.row.tolist() == list(range(1, len(ROWS)))
    names = [Reason(number).name.lower().replace("_", " ") for number in result.reason]
    assert names == list(ROWS[1:])
    assert {Reason(number) for number in result.reason} == set(Reason) - {Reason.CONTESTED}  # it takes two rows


def test_a_candidate_that_is_as_likely_for_two_rows_is_contested() -> None:
    """Neither gets it, whatever was asked for; a row that is likelier or less likely is not part of it."""
    rows = BestCandidates(np.array([1, 1, 1, 2]), np.array([0.57, 0.57, 0.8, 0.57]), np.zeros(4, dtype=bool))
    result = unlinked(rows, np.zeros((0, 2), np.int64), np.ones(4, dtype=bool), 3, enough=0.5)
    asked = [Reason.CONTESTED, Reason.CONTESTED, Reason.BELOW_ASKED, Reason.BELOW_ASKED]
    assert [Reason(number) for number in result.reason] == asked
    assert result.in_words(0, ("Q0", "Q1", "Q2")) == "others are as likely to be Q1 (0.57 each)"
    poor = unlinked(rows, np.zeros((0, 2), np.int64), np.ones(4, dtype=bool), 3, enough=0.6)
    assert Reason(poor.reason[0]) == Reason.TOO_LITTLE


def test_only_no_match_has_a_confidence() -> None:
    result = found()
    verdicts = {ROWS[row]: result.verdict(at) for at, row in enumerate(result.row.tolist())}
    assert {name for name, verdict in verdicts.items() if verdict == Verdict.NO_MATCH} == {"told", "no partner"}
    assert {name for name, verdict in verdicts.items() if verdict == Verdict.UNDECIDED} == set(ROWS[1:7])
    assert result.confidence[of_row(result, "no partner")] == pytest.approx(0.78)
    assert np.isnan(result.confidence[: len(ROWS) - 3]).all()


def test_the_threshold_is_part_of_no_match() -> None:
    for chance, expected in ((NO_MATCH_FROM, Verdict.NO_MATCH), (NO_MATCH_FROM - 1e-9, Verdict.UNDECIDED)):
        result = found(no_partner=np.full(len(ROWS), chance))
        assert result.verdict(of_row(result, "nothing shared")) == expected


def test_nothing_is_said_of_entities_without_facts() -> None:
    result = found(no_partner=np.ones(len(ROWS)))
    at = of_row(result, "no facts")
    assert result.verdict(at) == Verdict.UNDECIDED
    assert (result.best[at], result.probability[at]) == (-1, 0.0)


def test_what_was_told_is_certain() -> None:
    result = found(no_partner=None)
    at = of_row(result, "told")
    assert (result.verdict(at), result.confidence[at], result.best[at]) == (Verdict.NO_MATCH, 1.0, -1)
    everything = found(alone=np.arange(1, len(ROWS)))
    assert (everything.confidence == 1).all()


def test_where_nothing_is_known_of_partners_nothing_is_a_no_match() -> None:
    for nothing in (None, np.full(len(ROWS), np.nan)):
        result = found(no_partner=nothing, alone=None)
        assert not result.is_no_match.any()
        assert Reason.NO_PARTNER not in result.reason


def test_a_likely_candidate_that_is_free_keeps_an_entity_from_having_no_match() -> None:
    """No partner is at most as likely as the best candidate is wrong; one that is taken is no candidate."""
    certain = np.ones(len(ROWS))
    result = found(no_partner=certain)
    assert result.confidence[of_row(result, "no partner")] == pytest.approx(1 - 0.2)
    assert result.verdict(of_row(result, "too little")) == Verdict.UNDECIDED  # 1 − 0.3 is too little
    assert result.confidence[of_row(result, "taken")] == 1.0


def test_a_target_that_many_may_share_is_never_taken() -> None:
    result = found(many_to_one=True)
    at = of_row(result, "taken")
    assert Reason(result.reason[at]) == Reason.TOO_LITTLE


def test_words_name_the_best_candidate() -> None:
    result, names = found(), ("Q0", "Q1", "Q2")
    words = {ROWS[row]: result.in_words(at, names) for at, row in enumerate(result.row.tolist())}
    assert words == {
        "no facts": "no facts",
        "nothing shared": "nothing shared with any entity",
        "tied": "Q2 and others are equally likely (0.45 each)",
        "too little": "too little evidence; best candidate Q1 (0.30)",
        "taken": "Q0 (0.10) is linked to another",
        "below asked": "Q1 (0.80) is below the threshold",
        "told": "given as having none",
        "no partner": "what it would share is not there; best candidate Q2 (0.20)",
    }
