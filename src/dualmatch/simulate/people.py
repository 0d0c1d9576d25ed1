"""Two tables of people who never lived: what an archive and a register know of them, with the true pairs.

Each life has a name, a day of birth and of death, a place and an office. Both tables write it down with gaps, mistakes
and slips of their own; the register knows some days only to the year.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl
from numpy.random import Generator

from dualmatch.errors import ConfigError
from dualmatch.files.atomic import sync
from dualmatch.simulate.benchmark_writer import replacing_folder, write_options
from dualmatch.simulate.invented_names import GIVEN, OFFICES, SURNAMES, TOWNS, Texts, draw, slip

ARCHIVE: Final = ("id", "name", "born", "died", "place", "office")
REGISTER: Final = ("person", "full_name", "birth_date", "death_date", "town", "position")
TRUE_PAIRS: Final = "true_pairs.tsv"
TABLE_FORMATS: Final = ("csv", "tsv", "parquet")


@dataclass(frozen=True)
class PeopleWorld:
    """How many people there are, and how well they are known.

    `missing_share`, `wrong_share`: share of the fields (name, born, died, place, office) of a table that are empty, or
    wrong.
    """

    people: int = 2000  # rows of each table
    common_share: float = 1 / 3  # share of them that is in both
    missing_share: float = 0.1
    wrong_share: float = 0.05
    slip_share: float = 0.2  # share of the names of a table with a slip of the pen or a first name cut to its initial
    year_only_share: float = 0.2  # share of the register's dates that are years
    seed: int = 0

    def __post_init__(self) -> None:
        shares = {name: value for name, value in asdict(self).items() if name.endswith("share")}
        wrong = [f"{name} {value}: give a share from 0 to 1" for name, value in shares.items() if not 0 <= value <= 1]
        wrong += [f"people {self.people}: give from 10 to 1,000,000"] * (not 10 <= self.people <= 1_000_000)
        wrong += [f"seed {self.seed}: give 0 or more"] * (self.seed < 0)
        if wrong:
            raise ConfigError("\n".join(wrong))


@dataclass(frozen=True, eq=False)
class PeoplePair:
    """What the archive and the register say, and the names of each entity in both: people, places and offices."""

    archive: pl.DataFrame
    register: pl.DataFrame
    gold: pl.DataFrame  # source, target
    world: PeopleWorld


def simulate_people(world: PeopleWorld) -> PeoplePair:
    """Draw lives and have an archive and a register write them down; same options, same tables.

    Examples
    --------
    >>> pair = simulate_people(PeopleWorld(people=30))
    >>> pair.archive.shape, pair.register.columns
    ((30, 6), ['person', 'full_name', 'birth_date', 'death_date', 'town', 'position'])
    """
    rng = np.random.default_rng(world.seed)
    n_both = round(world.common_share * world.people)
    lives = _lives(2 * world.people - n_both, rng)
    known = np.arange(world.people), np.r_[:n_both, world.people : 2 * world.people - n_both]
    tables, ids = [], []
    for people, header, prefix in zip(known, (ARCHIVE, REGISTER), ("A", "R"), strict=True):
        years = world.year_only_share if header is REGISTER else 0.0
        seen = _seen([column[people] for column in lives], world, years, rng)
        numbers = rng.permutation(world.people)
        names = [f"{prefix}{1001 + number}" for number in numbers.tolist()]
        table = pl.DataFrame(
            {header[0]: names} | dict(zip(header[1:], (column.tolist() for column in seen), strict=True))
        )
        tables.append(table.sort(header[0]))
        ids.append(names[:n_both])
    values = [sorted({*tables[0][ARCHIVE[at]].drop_nulls()} & {*tables[1][REGISTER[at]].drop_nulls()}) for at in (4, 5)]
    shared = [value for column in values for value in column]
    gold = pl.DataFrame({"source": [*ids[0], *shared], "target": [*ids[1], *shared]}).sort("source")
    return PeoplePair(tables[0], tables[1], gold, world)


def write_people(pair: PeoplePair, path: str | Path, table_format: str = "csv", *, force: bool = False) -> Path:
    """Write both tables, the true pairs and the options into a folder, atomically."""
    path = Path(os.path.abspath(path))
    names = [f"{name}.{each}" for each in TABLE_FORMATS for name in ("archive", "register")]
    with replacing_folder(path, (*names, TRUE_PAIRS, "world.json"), force, "simulation") as draft:
        for name, table in (("archive", pair.archive), ("register", pair.register)):
            file = draft / f"{name}.{table_format}"
            if table_format == "parquet":
                table.write_parquet(file)
            else:
                table.write_csv(file, separator="\t" if table_format == "tsv" else ",")
            sync(file)
        pair.gold.write_csv(draft / TRUE_PAIRS, separator="\t", include_header=False)
        sync(draft / TRUE_PAIRS)
        write_options(draft, asdict(pair.world))
    return path


def _lives(count: int, rng: Generator) -> list[Texts]:
    """Name, born, died, place and office of each person."""
    is_woman = rng.random(count) < 0.5
    first, second = (np.where(is_woman, *(draw(names, count, rng) for names in GIVEN)) for _ in range(2))
    has_second = (rng.random(count) < 0.3) & (first != second)
    fore, aft = (draw(words, count, rng) for words in SURNAMES)
    name = first + np.where(has_second, " " + second, "") + " " + fore + aft
    born = np.datetime64("1740-01-01") + rng.integers(0, 170 * 365, count)
    died = born + (365.25 * np.clip(rng.normal(67, 15, count), 22, 101)).astype(int)
    towns = np.array([fore + aft for fore in TOWNS[0] for aft in TOWNS[1]], dtype=object)
    place = draw(rng.permutation(towns)[:120].tolist(), count, rng, 0.7)
    return [
        name,
        born.astype(str).astype(object),
        died.astype(str).astype(object),
        place,
        draw(OFFICES, count, rng, 0.5),
    ]


def _seen(lives: Sequence[Texts], world: PeopleWorld, year_only_share: float, rng: Generator) -> list[Texts]:
    """The columns as one table has them."""
    count = len(lives[0])
    seen = []
    for at, true in enumerate(lives):
        is_date = at in (1, 2)
        others = _other_days(true, rng) if is_date else true[rng.permutation(count)]
        said = np.where(rng.random(count) < world.wrong_share, others, true)
        if at == 0:
            slips = np.flatnonzero(rng.random(count) < world.slip_share)
            said[slips] = [slip(name, rng) for name in said[slips]]
        elif is_date:
            years = np.array([day[:4] for day in said], dtype=object)
            said = np.where(rng.random(count) < year_only_share, years, said)
        said[rng.random(count) < world.missing_share] = None
        seen.append(said)
    return seen


def _other_days(days: Texts, rng: Generator) -> Texts:
    """Days that are off by up to ten years, or by some days."""
    off = np.where(rng.random(len(days)) < 0.5, 365 * rng.integers(1, 11, len(days)), rng.integers(1, 60, len(days)))
    moved: Texts = (days.astype("datetime64[D]") + off * rng.choice([-1, 1], len(days))).astype(str).astype(object)
    return moved
