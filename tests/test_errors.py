"""Messages: what, where, and how many more."""

from pathlib import Path

import pytest

import dualmatch
from dualmatch import errors
from dualmatch.errors import DualMatchError, Problem, input_error


@pytest.mark.parametrize("name", ["InputError", "ConfigError", "OutputError", "MissingExtraError"])
def test_one_root(name: str) -> None:
    assert issubclass(getattr(errors, name), DualMatchError)


def test_a_problem_without_a_line_names_the_file() -> None:
    assert str(Problem(Path("a/b"), None, "is wrong")) == "a/b: is wrong"


def test_only_the_first_problems_are_told_in_full() -> None:
    problems = [Problem(Path("f"), line, "wrong") for line in range(1, 8)]
    assert str(input_error(problems)).splitlines()[-2:] == ["f:5: wrong", "… and 2 more problems of this kind"]
    assert str(input_error(problems[:5], 1205)).splitlines()[-1] == "… and 1,200 more problems of this kind"


def test_all_public_names_are_there_and_listed() -> None:
    for name in dualmatch.__all__:
        assert getattr(dualmatch, name) is not None
    assert {"read", "read_name_pairs", "read_links", "write_report", "DualMatchError"} <= set(dualmatch.__all__)
    assert not hasattr(dualmatch, "read_grounds")
