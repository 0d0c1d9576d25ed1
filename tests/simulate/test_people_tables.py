"""Two tables of invented people: as many gaps, mistakes and slips as asked for, the same bytes for the same seed."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from dualmatch import read_graph
from dualmatch.cli.main import main
from dualmatch.errors import ConfigError, OutputError
from dualmatch.simulate import PeopleWorld, simulate_people, write_people
from dualmatch.simulate.people import ARCHIVE, REGISTER, PeoplePair


def matched(pair: PeoplePair) -> pl.DataFrame:
    """What both tables say of the people in both."""
    register = pair.register.rename(dict(zip(REGISTER[1:], ARCHIVE[1:], strict=True)))
    people = pair.gold.filter(pl.col("source").str.contains("^A[0-9]"))
    joined = people.join(pair.archive, left_on="source", right_on="id")
    return joined.join(register, left_on="target", right_on="person", suffix="_2")


def test_the_tables_are_as_good_as_they_should_be() -> None:
    pair = simulate_people(PeopleWorld())
    both = matched(pair)
    assert (pair.archive.height, pair.register.height, both.height) == (2000, 2000, 667)
    for table in (pair.archive, pair.register):
        assert table[table.columns[0]].n_unique() == 2000
        for column in table.columns[1:]:
            assert table[column].null_count() / 2000 == pytest.approx(0.1, abs=0.025)
    years = pair.register.select(pl.col("birth_date", "death_date").str.len_chars() == 4).mean().row(0)
    assert years == pytest.approx((0.2, 0.2), abs=0.03)
    assert not pair.archive["born"].str.len_chars().eq(4).any()
    for column in ("place", "office"):
        same = both.filter(pl.col(column).is_not_null() & pl.col(f"{column}_2").is_not_null())
        assert (same[column] == same[f"{column}_2"]).mean() == pytest.approx(0.95**2, abs=0.04)
    same = both.filter(pl.col("name").is_not_null() & pl.col("name_2").is_not_null())
    assert (same["name"] == same["name_2"]).mean() == pytest.approx(0.95**2 * 0.8**2, abs=0.06)
    lives = pair.archive.drop_nulls().select(pl.col("born", "died").str.to_date())
    assert (lives["born"] < lives["died"]).mean() > 0.99  # type: ignore[operator]


def test_places_and_offices_of_both_tables_are_true_pairs_too() -> None:
    pair = simulate_people(PeopleWorld(people=200))
    towns = {*pair.archive["place"].drop_nulls()} & {*pair.register["town"].drop_nulls()}
    assert towns <= {*pair.gold["source"]}
    graph = read_graph(pair.archive)
    assert {*pair.gold["source"]} <= {*graph.entities}
    assert pair.gold["source"].n_unique() == pair.gold.height


def test_the_same_seed_gives_the_same_tables() -> None:
    one, same, other = (simulate_people(PeopleWorld(people=100, seed=seed)) for seed in (3, 3, 4))
    assert one.archive.equals(same.archive)
    assert one.register.equals(same.register)
    assert one.gold.equals(same.gold)
    assert not one.archive.equals(other.archive)


@pytest.mark.parametrize("table_format", ["csv", "tsv", "parquet"])
def test_every_format_reads_the_same(tmp_path: Path, table_format: str) -> None:
    pair = simulate_people(PeopleWorld(people=60, seed=1))
    folder = write_people(pair, tmp_path / "people", table_format)
    graph, expected = read_graph(folder / f"register.{table_format}"), read_graph(pair.register)
    assert graph.entities == expected.entities
    assert len(graph.dates) == len(expected.dates) > 60


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    call = [
        "simulate",
        "--preset",
        "people",
        "--entities",
        "50",
        "--common-share",
        "0.5",
        "--seed",
        "2",
        "-o",
        "people",
    ]
    main(call)
    assert capsys.readouterr().out.splitlines()[1] == "written to people: archive.csv, register.csv, true_pairs.tsv"
    assert json.loads((tmp_path / "people" / "world.json").read_text())["world"]["common_share"] == 0.5
    before = (tmp_path / "people" / "register.csv").read_bytes()
    with pytest.raises(SystemExit):
        main(call)
    main([*call, "--force"])
    assert (tmp_path / "people" / "register.csv").read_bytes() == before
    for wrong in (["--noise", "0.1"], ["--entities", "3"], ["--common-share", "2"]):
        with pytest.raises(SystemExit) as caught:
            main([*call[:3], *wrong, "-o", "other"])
        assert caught.value.code == 2
    with pytest.raises(SystemExit) as caught:
        main(["simulate", "--format", "tsv", "-o", "other"])
    assert caught.value.code == 2
    assert not (tmp_path / "other").exists()


def test_what_cannot_be_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"common_share 2: give a share from 0 to 1\nseed -1: give 0 or more"):
        PeopleWorld(common_share=2, seed=-1)
    (tmp_path / "people").mkdir()
    with pytest.raises(OutputError, match="already exists"):
        write_people(simulate_people(PeopleWorld(people=10)), tmp_path / "people")
