"""The demo's archive and register: lives that could have been, two formats that read to the same history."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from dualmatch import read_graph
from dualmatch.cli.main import main
from dualmatch.errors import ConfigError
from dualmatch.readers.read import read
from dualmatch.readers.read_options import ReadOptions
from dualmatch.simulate.chronicle import ChronicleWorld, simulate_chronicle, write_chronicle
from dualmatch.simulate.lives import draw_lives

PLAIN = ChronicleWorld(
    people=120, common_share=1, known_share=1, missing_share=0, wrong_share=0, slip_share=0, year_only_share=0, seed=3
)


def test_lives_could_have_been_lived() -> None:
    lives = draw_lives(400, np.random.default_rng(5))
    people = {each.key: each for each in lives.people}
    terms: dict[str, list[tuple[int, int]]] = {}
    for each in lives.people:
        kinds = [fact.what for fact in each.facts]
        assert kinds.count("born in") == kinds.count("died in") == 1
        for fact in each.facts:
            if fact.begin is not None and fact.end is not None:
                assert each.born <= fact.begin <= fact.end <= each.died
            if fact.what == "child of":
                assert 14 < people[fact.whom].age(each.born) < 80
            if fact.what == "married":
                assert people[fact.whom].spouse is each
                assert people[fact.whom].is_woman != each.is_woman
            if fact.what == "office" and fact.begin is not None and fact.end is not None:
                terms.setdefault(fact.whom, []).append((fact.begin, fact.end))
    for held in terms.values():  # one holder at a time
        assert all(first[1] < second[0] for first, second in zip(sorted(held), sorted(held)[1:], strict=False))
    assert len(terms) > 30


def test_both_formats_read_to_one_history(tmp_path: Path) -> None:
    """Without gaps and slips, each fact of the table stands in the register under the ids that gold names."""
    pair = simulate_chronicle(PLAIN)
    folder = write_chronicle(pair, tmp_path / "world")
    archive, register = (read([folder / name], ReadOptions(names="auto")) for name in ("archive.csv", "register.ttl"))
    partner = dict(pair.gold.iter_rows())
    assert partner.keys() == {*archive.graph.entities}
    assert {*partner.values()} == {*register.graph.entities}
    terms = "http://register.example/terms#"
    words = {"born in": "birth", "died in": "death", "married": "marriage", "was": "service", "lived in": "residence"}
    words |= {"child of": "parent", "office in": "seat", "lies in": "county"}
    moved = archive.graph.to_polars().with_columns(
        pl.col("head", "tail").replace_strict(partner),
        (terms + pl.col("relation").replace_strict(words)).alias("relation"),
    )
    assert moved.sort(pl.all()).rows() == register.graph.to_polars().sort(pl.all()).rows()
    assert archive.literals is not None
    assert register.literals is not None
    here, there = (dict(each.literals.labels) for each in (archive, register))  # type: ignore[union-attr]
    for source, target in partner.items():
        label = here.get(archive.graph.entity_rows[source])
        assert label is None or label == there[register.graph.entity_rows[target]]


def test_gaps_and_slips_are_as_many_as_asked_for() -> None:
    pair = simulate_chronicle(ChronicleWorld(people=800, seed=2))
    people = pair.archive.filter(pl.col("subject").str.contains("^A[0-9]+$"))
    assert people.unique("subject")["subjectLabel"].null_count() / people["subject"].n_unique() == pytest.approx(
        0.1, abs=0.04
    )
    dated = people.filter(pl.col("relation") != "child of")
    assert dated["begin"].null_count() / dated.height == pytest.approx(0.1, abs=0.03)
    assert (dated["begin"].drop_nulls().str.len_chars() == 4).mean() == pytest.approx(0.1, abs=0.03)
    years, days = pair.register.count("xsd:gYear"), pair.register.count("xsd:date")
    assert years / (years + days) == pytest.approx(0.3, abs=0.05)
    both = pair.gold.filter(pl.col("source").str.contains("^A[0-9]+$")).height
    assert 0.5 * 800 < both <= 0.7 * 800
    assert read_graph(pair.archive).n_facts == pair.archive.height


def test_the_command_writes_the_same_bytes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = ["simulate", "--preset", "demo", "--entities", "60", "--seed", "4", "-o"]
    for name in ("one", "two"):
        main([*call, str(tmp_path / name)])
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("60 people on each side, ")
    assert said[1] == f"written to {tmp_path / 'one'}: archive.csv, register.ttl, true_pairs.tsv"
    for name in ("archive.csv", "register.ttl", "true_pairs.tsv"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    with pytest.raises(SystemExit) as caught:
        main([*call, str(tmp_path / "three"), "--noise", "0.1"])
    assert caught.value.code == 2
    with pytest.raises(ConfigError, match=r"known_share -1: give a share from 0 to 1\npeople 3: give from 50"):
        ChronicleWorld(people=3, known_share=-1)
