"""Two tables of people, as most tables are: gaps, mistakes, slips, years in place of days; aligned without options."""

from __future__ import annotations

import pytest

from dualmatch import align
from dualmatch.readers.read import read
from dualmatch.readers.read_options import ReadOptions
from dualmatch.simulate import PeopleWorld, simulate_people


@pytest.mark.parametrize(("names", "f1"), [("auto", 0.95), ("none", 0.85)])
def test_tables_of_people_are_aligned(names: str, f1: float) -> None:
    pair = simulate_people(PeopleWorld(people=900, seed=5))
    source, target = (read([table], ReadOptions(names=names)) for table in (pair.archive, pair.register))  # type: ignore[arg-type]
    literals = None if source.literals is None or target.literals is None else (source.literals, target.literals)
    assert (literals is None) == (names == "none")
    links = {(each[0], each[1]) for each in align(source.graph, target.graph, literals=literals).links()}
    gold = {*pair.gold.iter_rows()}
    assert 2 * len(links & gold) / (len(links) + len(gold)) >= f1
