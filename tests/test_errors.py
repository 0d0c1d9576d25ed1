"""Messages: what, where, and how many more."""

from collections.abc import Callable
from pathlib import Path

import pytest

import dualmatch
from dualmatch import errors
from dualmatch.errors import DualMatchError, FileProblem, input_error


@pytest.mark.parametrize("name", ["InputError", "ConfigError", "OutputError", "MissingExtraError"])
def test_one_root(name: str) -> None:
    assert issubclass(getattr(errors, name), DualMatchError)


def test_a_problem_without_a_line_names_the_file() -> None:
    assert str(FileProblem(Path("a/b"), None, "is wrong")) == "a/b: is wrong"


def test_only_the_first_problems_are_told_in_full() -> None:
    problems = [FileProblem(Path("f"), line, "wrong") for line in range(1, 8)]
    assert str(input_error(problems)).splitlines()[-2:] == ["f:5: wrong", "… and 2 more problems of this kind"]
    assert str(input_error(problems[:5], 1205)).splitlines()[-1] == "… and 1,200 more problems of this kind"


def test_all_public_names_are_there_and_listed() -> None:
    for name in dualmatch.__all__:
        assert getattr(dualmatch, name) is not None
    assert {"read", "read_name_pairs", "read_links", "write_report", "DualMatchError"} <= set(dualmatch.__all__)
    assert not hasattr(dualmatch, "read_grounds")
    assert {*dualmatch.__all__, "__name__", "__version__"} <= {*dir(dualmatch)}
    assert "sys" not in dir(dualmatch)  # only what there is to use


FACTS = [("Ada", "met", "Charles", "1833"), ("Charles", "wrote", "Book", "1864")]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda graph: dualmatch.align(graph, graph, config={"hops": 9}), "option hops: "),
        (lambda graph: dualmatch.align(graph, graph, config={"hop": 1}), "option hop: there is no such option"),
        (lambda graph: dualmatch.align(graph, graph, config="fast"), "config: 'fast' holds no options"),
        (lambda graph: dualmatch.align(graph, graph, 3), "seeds: not all pairs have two parts"),
        (lambda graph: dualmatch.align(graph, graph, forbid=3), "forbidden pairs: "),
        (lambda graph: dualmatch.align(graph, graph, literals=3), "literals: give a pair"),
        (lambda graph: dualmatch.align(graph, graph, literals=({}, {})), "literals: give a pair"),
        (lambda graph: dualmatch.align(graph, graph, engine="dask"), "engine: 'dask' is not an engine"),
        (lambda graph: dualmatch.align(graph, graph, progress=True), "progress: True cannot be called"),
        (lambda graph: dualmatch.write_alignment(3, "x.tsv"), "3 is not an alignment"),
        (
            lambda graph: dualmatch.read_graph(graph.to_polars(), columns="head=head"),
            "columns: 'head=head' is not a dict",
        ),
        (
            lambda graph: dualmatch.read_graph(graph.to_polars(), columns={"head": 1}),
            "columns: {'head': 1} is not a dict",
        ),
        (lambda graph: dualmatch.ReadOptions(columns="head=head"), "columns: 'head=head' is not a dict"),
        (lambda graph: dualmatch.merge(graph, 3, []), "target: "),
        (lambda graph: dualmatch.explain(3, "Ada"), "3 is not an alignment"),
        (lambda graph: dualmatch.TemporalGraph.from_facts(3), "graph: 3 holds no facts"),
        (lambda graph: dualmatch.read_links("/nowhere/links.tsv"), "/nowhere/links.tsv: no such file"),
        (lambda graph: dualmatch.read_name_pairs("/nowhere/gold"), "/nowhere/gold: no such file"),
    ],
)
def test_what_is_wrong_in_a_call_is_an_error_of_ours(
    call: Callable[[dualmatch.TemporalGraph], object], words: str
) -> None:
    with pytest.raises(DualMatchError) as caught:
        call(dualmatch.TemporalGraph.from_facts(FACTS))
    assert str(caught.value).startswith(words)


def test_options_may_be_a_dict() -> None:
    graph = dualmatch.TemporalGraph.from_facts(FACTS)
    found = dualmatch.align(graph, graph, config={"method": "temporal", "hops": 1}, min_confidence=0.1)
    assert (found.config.method, found.config.hops, found.config.min_confidence) == ("temporal", 1, 0.1)
