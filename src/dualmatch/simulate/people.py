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
from numpy.typing import NDArray

from dualmatch.errors import ConfigError
from dualmatch.files.atomic import sync
from dualmatch.simulate.benchmark_writer import replacing_folder, write_options

Texts = NDArray[np.object_]

ARCHIVE: Final = ("id", "name", "born", "died", "place", "office")
REGISTER: Final = ("person", "full_name", "birth_date", "death_date", "town", "position")
TRUE_PAIRS: Final = "true_pairs.tsv"
TABLE_FORMATS: Final = ("csv", "tsv", "parquet")


def _words(text: str, between: str = " ") -> tuple[str, ...]:
    return tuple(text.split(between))


_GIVEN: Final = (
    _words(
        "Ada Agnes Alice Amelia Anna Beatrice Bertha Caroline Charlotte Clara Cora Dorothea Edith Eleanor Eliza "
        "Elsie Emily Emma Esther Ethel Fanny Florence Frances Grace Hannah Harriet Helen Ida Isabel Jane "
        "Josephine Julia Lavinia Louisa Lucy Lydia Mabel Margaret Martha Mary Matilda Maud Nora Patience Rachel "
        "Rosa Ruth Sarah Sophia Susanna Sylvia Violet Winifred"
    ),
    _words(
        "Albert Arthur Benedict Cecil Charles Conrad Daniel David Edmund Edward Elias Ernest Eugene Felix "
        "Frederick George Gilbert Harold Henry Herbert Horace Hugh Isaac Jacob James Jasper John Joseph Leonard "
        "Lewis Martin Miles Nathaniel Oliver Oscar Percy Philip Ralph Richard Robert Rupert Samuel Silas Simon "
        "Stephen Theodore Thomas Tobias Victor Walter William"
    ),
)
_SURNAMES: Final = (
    _words(
        "Ald Ash Barn Beck Birk Bram Brock Burn Carl Clay Cold Crom Dal Dun East Ell Fair Fen Gar Glen Hal Har "
        "Hazel Holm Ken Kirk Lang Lin Mar Mill Nor Oak Pem Pres Quin Rad Red Rock Sel Shel Stan Stock Thorn Tur "
        "Wal Ward West Whit Win Yar"
    ),
    _words("bourne by combe croft dale den field ford ham hurst ley man mere more ridge son stead ton well wick worth"),
)
_TOWNS: Final = (
    _words(
        "Aber Amble Brack Brid Cald Cran Dart Drum Eaves Frost Gains Grim Hamble Ilf Kelver Lam Long Mead Nether "
        "Orms Pad Ring Sax Stour Tam Upper Wem Wyke"
    ),
    _words("bridge bury chester cote gate haven holt minster mouth pool port stow"),
)
_OFFICES: Final = _words(
    "mayor,alderman,town clerk,harbour master,postmaster,magistrate,judge,coroner,sheriff,bailiff,notary,"
    "member of parliament,minister of finance,minister of war,ambassador,consul,governor,colonial secretary,"
    "bishop,dean,archdeacon,vicar,organist,headmaster,professor of law,professor of botany,professor of Greek,"
    "astronomer,librarian,museum keeper,editor,publisher,surveyor,bridge engineer,railway director,shipowner,"
    "bank director,brewer,apothecary,surgeon,physician,colonel,captain,admiral,quartermaster,cartographer,"
    "composer,playwright,painter,sculptor,architect,gardener,trade unionist,missionary",
    ",",
)


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
    """Write both tables, the true pairs and the options into a folder, whole or not at all."""
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
    first, second = (np.where(is_woman, *(_draw(names, count, rng) for names in _GIVEN)) for _ in range(2))
    has_second = (rng.random(count) < 0.3) & (first != second)
    fore, aft = (_draw(words, count, rng) for words in _SURNAMES)
    name = first + np.where(has_second, " " + second, "") + " " + fore + aft
    born = np.datetime64("1740-01-01") + rng.integers(0, 170 * 365, count)
    died = born + (365.25 * np.clip(rng.normal(67, 15, count), 22, 101)).astype(int)
    towns = np.array([fore + aft for fore in _TOWNS[0] for aft in _TOWNS[1]], dtype=object)
    place = _draw(rng.permutation(towns)[:120].tolist(), count, rng, 0.7)
    return [
        name,
        born.astype(str).astype(object),
        died.astype(str).astype(object),
        place,
        _draw(_OFFICES, count, rng, 0.5),
    ]


def _draw(words: Sequence[str], count: int, rng: Generator, fall: float = 0.4) -> Texts:
    """Words, the first of a random order more often than the last: the chance of a rank falls by this power."""
    chance = np.arange(1, len(words) + 1) ** -fall
    return np.array(words, dtype=object)[
        rng.permutation(len(words))[rng.choice(len(words), count, p=chance / chance.sum())]
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
            said[slips] = [_slip(name, rng) for name in said[slips]]
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


def _slip(name: str, rng: Generator) -> str:
    """A name with an initial for the first name, or with two letters swapped, one left out or one doubled."""
    kind = int(rng.integers(0, 4))
    within_words = [at for at in range(len(name) - 1) if name[at : at + 2].isalpha() and name[at] != name[at + 1]]
    at = int(rng.choice(within_words[1:]))
    if kind == 0:
        first, _, rest = name.partition(" ")
        return f"{first[0]}. {rest}"
    middle = (name[at + 1] + name[at], name[at + 1], name[at] * 2 + name[at + 1])[kind - 1]
    return name[:at] + middle + name[at + 2 :]
