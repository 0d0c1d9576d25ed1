"""Options: all errors at once, and every option says what it does."""

from __future__ import annotations

import math
import sys

import pytest

from dualmatch.config import READ_BY, Config, Method
from dualmatch.errors import ConfigError
from dualmatch.memory import machine_bytes


def test_all_errors_come_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        Config.checked(hops=9, sharpness=-1.0, method="magic", speed=3, seed=-1)
    lines = str(caught.value).splitlines()
    assert [line.split(":")[0] for line in lines] == [
        f"option {name}" for name in ("method", "seed", "hops", "sharpness", "speed")
    ]
    assert "option hops: input should be less than or equal to 5 (given: 9)" in lines


def test_the_plain_constructor_speaks_the_same_words() -> None:
    with pytest.raises(ConfigError, match="option hops: input should be less than or equal to 5"):
        Config(hops=9)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("hops", "2"),
        ("hops", True),
        ("hops", 1.5),
        ("sharpness", math.nan),
        ("sharpness", math.inf),
        ("sharpness", 0.0),
        ("zero_counts", 1),
        ("sinkhorn_iterations", 0),
        ("memory_limit", 1),
        ("memory_limit", "1.2.3GB"),
        ("memory_limit", "much"),
        ("method", None),
    ],
)
def test_no_value_is_bent_into_shape(name: str, value: object) -> None:
    with pytest.raises(ConfigError, match=rf"^option {name}: [^\n]+$"):
        Config.checked(**{name: value})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("8GB", 8 * 10**9),
        ("1.5 gb", 15 * 10**8),
        ("100m", 10**8),
        ("200000000", 2 * 10**8),
        ("6GiB", 6 * 2**30),
        ("64 MiB", 2**26),
        ("0.5ti", 2**39),
        ("50%", machine_bytes() // 2),
        ("9" * 400, sys.maxsize),
    ],
)
def test_a_memory_limit_may_have_a_unit(text: str, value: int) -> None:
    assert Config.checked(memory_limit=text).memory_limit == value


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"memory_limit": "foo"},
            "memory_limit: 'foo' is not an amount of memory; write a number with its unit (8GB, 500MB,",
        ),
        ({"memory_limit": "8ib"}, "memory_limit: '8ib' is not an amount of memory"),
        ({"memory_limit": "-8GB"}, "memory_limit: '-8GB' is not an amount of memory"),
        ({"memory_limit": "101%"}, "memory_limit: '101%' is more than the machine has; write at most 100%"),
        ({"memory_limit": "1MB"}, "memory_limit: 1,000,000 bytes are too few to work with; give at least 64MiB"),
        ({"alphas": "1;2"}, "alphas: '1;2' is not a list of numbers; write them as in 0,0.5,1"),
        ({"colour": 1}, "colour: there is no such option"),
    ],
)
def test_what_is_wrong_is_told_in_plain_words(options: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Config.checked(**options)
    assert str(caught.value).startswith(f"option {words}")


def test_a_config_does_not_change() -> None:
    with pytest.raises(ValueError, match="frozen"):
        Config().hops = 3  # type: ignore[misc]


def test_every_option_is_described() -> None:
    assert [name for name, field in Config.model_fields.items() if not field.description] == []


def test_it_is_known_of_every_option_which_methods_read_it() -> None:
    assert set(READ_BY) == set(Config.model_fields)
    assert all(READ_BY.values())


@pytest.mark.parametrize(
    ("method", "foreign"),
    [
        ("evidence", ["hops", "sharpness", "seed", "alphas"]),
        ("temporal", ["many_to_one", "seed", "alphas"]),
        ("dualmatch", ["many_to_one"]),
        ("fused", ["sharpness", "alphas"]),
    ],
)
def test_options_that_a_method_does_not_read_are_foreign_to_it(method: Method, foreign: list[str]) -> None:
    given = ["method", "min_confidence", "many_to_one", "seed", "hops", "sharpness", "alphas"]
    assert sorted(Config.foreign_options(given, method)) == sorted(foreign)
    assert sorted(Config.refused_options(given, method)) == sorted(set(foreign) - {"seed"})
