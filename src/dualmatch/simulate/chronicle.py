"""The demo's pair of graphs: what an archive's table and a register in RDF know of the same towns and their people.

The archive lists events in a CSV table, a row each. The register is Turtle: its own ids and vocabulary, events as
nodes with a place and a date. Either knows some of the people and some of their lives; names have slips, dates are
off, missing, or known to the year only. People, towns, posts and counties in both are the true pairs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl
from numpy.random import Generator

from dualmatch.errors import ConfigError
from dualmatch.files.atomic import sync
from dualmatch.simulate.benchmark_writer import replacing_folder, write_options
from dualmatch.simulate.invented_names import slip
from dualmatch.simulate.lives import LifeFact, Lives, draw_lives
from dualmatch.simulate.people import TRUE_PAIRS

ARCHIVE_FILE: Final = "archive.csv"
REGISTER_FILE: Final = "register.ttl"
REGISTER: Final = "http://register.example/"
_ARCHIVE_WORDS: Final = {"office": "was"}  # others are the archive's own
_REGISTER_TERMS: Final = {
    "born in": ("birth", "place"),
    "died in": ("death", "place"),
    "married": ("marriage", "with"),
    "office": ("service", "post"),
    "lived in": ("residence", "place"),
    "child of": ("parent", None),
    "office in": ("seat", None),
    "lies in": ("county", None),
}
_PREFIXES: Final = f"""\
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix : <{REGISTER}terms#> .
@prefix r: <{REGISTER}> .
"""


@dataclass(frozen=True)
class ChronicleWorld:
    """How many people there are, and how well they are known. Shares are of what an observer could know."""

    people: int = 500  # known to each side
    common_share: float = 0.7  # share of them that both know
    known_share: float = 0.6  # share of the facts of a life that an observer knows
    missing_share: float = 0.1  # share of dates and of names that are missing
    wrong_share: float = 0.04  # share of dates that are off
    slip_share: float = 0.25  # share of names with a slip of the pen or an initial
    year_only_share: float = 0.3  # share of the register's dates that are years; a third of that in the archive
    seed: int = 1872

    def __post_init__(self) -> None:
        shares = {name: value for name, value in asdict(self).items() if name.endswith("share")}
        wrong = [f"{name} {value}: give a share from 0 to 1" for name, value in shares.items() if not 0 <= value <= 1]
        wrong += [f"people {self.people}: give from 50 to 20,000"] * (not 50 <= self.people <= 20_000)
        wrong += [f"seed {self.seed}: give 0 or more"] * (self.seed < 0)
        if wrong:
            raise ConfigError("\n".join(wrong))


@dataclass(frozen=True)
class _Seen:
    """What one observer knows: facts with dates as text, and a name for each id."""

    facts: list[tuple[str, str, str, str, str]]  # subject, what, object, begin, end
    labels: Mapping[str, str]
    ids: Mapping[str, str]  # of everything that is in a fact, by the history's key


@dataclass(frozen=True)
class ChroniclePair:
    """Both files, and the names of everything that is in both."""

    archive: pl.DataFrame
    register: str  # Turtle
    gold: pl.DataFrame  # source, target
    world: ChronicleWorld


def simulate_chronicle(world: ChronicleWorld) -> ChroniclePair:
    """Draw lives and have an archive and a register write them down; same options, same files.

    Examples
    --------
    >>> pair = simulate_chronicle(ChronicleWorld(people=60))
    >>> pair.archive.columns
    ['subject', 'subjectLabel', 'relation', 'object', 'begin', 'end']
    """
    rng = np.random.default_rng(world.seed)
    n_both = round(world.common_share * world.people)
    n_all = 2 * world.people - n_both
    lives = draw_lives(n_all, rng)
    order = rng.permutation(n_all)
    archive = _seen(lives, order[: world.people], world, world.year_only_share / 3, "A", lambda key: key, rng)
    numbers = iter(rng.permutation(9_000) + 1_000)
    others = np.r_[order[:n_both], order[world.people :]]
    register = _seen(lives, others, world, world.year_only_share, "R", lambda _: f"X{next(numbers)}", rng)
    both = sorted(archive.ids.keys() & register.ids.keys())
    gold = pl.DataFrame(
        {"source": [archive.ids[key] for key in both], "target": [REGISTER + register.ids[key] for key in both]}
    ).sort("source")
    return ChroniclePair(_table(archive), _turtle(register), gold, world)


def write_chronicle(pair: ChroniclePair, path: str | Path, *, force: bool = False) -> Path:
    """Write both files, the true pairs and the options into a folder, atomically."""
    path = Path(os.path.abspath(path))
    names = (ARCHIVE_FILE, REGISTER_FILE, TRUE_PAIRS, "world.json")
    with replacing_folder(path, names, force, "simulation") as draft:
        pair.archive.write_csv(draft / ARCHIVE_FILE)
        (draft / REGISTER_FILE).write_text(pair.register, encoding="utf-8")
        pair.gold.write_csv(draft / TRUE_PAIRS, separator="\t", include_header=False)
        for name in names[:3]:
            sync(draft / name)
        write_options(draft, asdict(pair.world))
    return path


def _seen(
    lives: Lives,
    people: Sequence[int] | np.ndarray,
    world: ChronicleWorld,
    year_only_share: float,
    prefix: str,
    id_of_place: Callable[[str], str],
    rng: Generator,
) -> _Seen:
    known = [lives.people[at] for at in sorted(int(at) for at in people)]
    keys = {each.key for each in known}
    facts = [fact for each in known for fact in each.facts if rng.random() < world.known_share]
    facts = [fact for fact in facts if fact.whom in keys or not fact.whom[1:].isdigit()]
    named = {fact.whom for fact in facts} - keys
    facts += [fact for fact in lives.places if fact.who in named]
    used = dict.fromkeys(key for fact in facts for key in (fact.who, fact.whom))
    numbers = iter((rng.permutation(len(keys)) + 1001).tolist())
    ids = {key: f"{prefix}{next(numbers)}" if key in keys else id_of_place(key) for key in used}
    labels = {ids[key]: key for key in used if key not in keys}
    for each in known:
        if each.key in used and rng.random() >= world.missing_share:
            labels[ids[each.key]] = slip(each.name, rng) if rng.random() < world.slip_share else each.name
    dated = [(ids[fact.who], fact.what, ids[fact.whom], *_dates(fact, world, year_only_share, rng)) for fact in facts]
    return _Seen(sorted(dated), labels, ids)


def _dates(fact: LifeFact, world: ChronicleWorld, year_only_share: float, rng: Generator) -> tuple[str, str]:
    """Begin and end as written; a point has both the same."""
    if fact.begin is None or fact.end is None or rng.random() < world.missing_share:
        return "", ""
    off = 0
    if rng.random() < world.wrong_share:
        off = int(rng.choice([-1, 1])) * int(rng.integers(1, 40) if rng.random() < 0.5 else 365 * rng.integers(1, 8))
    as_year = rng.random() < year_only_share
    begin, end = (date.fromordinal(day + off).isoformat()[: 4 if as_year else 10] for day in (fact.begin, fact.end))
    is_open = rng.random() < 2 * world.missing_share and fact.begin != fact.end
    return begin, "" if is_open else end


def _table(seen: _Seen) -> pl.DataFrame:
    rows = [
        (who, seen.labels.get(who), _ARCHIVE_WORDS.get(what, what), whom, begin or None, end or None)
        for who, what, whom, begin, end in seen.facts
    ]
    columns = ("subject", "subjectLabel", "relation", "object", "begin", "end")
    return pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String), orient="row")


def _turtle(seen: _Seen) -> str:
    """A block for each subject: its label, then its facts."""
    about: dict[str, list[str]] = {each: [] for each in sorted(seen.ids.values())}
    for who, what, whom, begin, end in seen.facts:
        relation, within = _REGISTER_TERMS[what]
        node = f"r:{whom}" if within is None else f"[ :{within} r:{whom}{_times(begin, end)} ]"
        about[who].append(f":{relation} {node}")
    blocks = []
    for subject, statements in about.items():
        label = [f'rdfs:label "{seen.labels[subject]}"'] if subject in seen.labels else []
        if label or statements:
            said = " ;\n    ".join([*label, *statements])
            blocks.append(f"r:{subject} {said} .\n")
    return "\n".join([_PREFIXES, *blocks])


def _times(begin: str, end: str) -> str:
    if begin and begin == end:
        return f" ; :date {_literal(begin)}"
    return "".join(f" ; :{word} {_literal(day)}" for word, day in (("startDate", begin), ("endDate", end)) if day)


def _literal(day: str) -> str:
    return f'"{day}"^^xsd:{"gYear" if len(day) == 4 else "date"}'
