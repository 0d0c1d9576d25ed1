"""Lives of people who never lived, in towns that never were: births, marriages, offices, deaths.

`draw_lives` writes the history, a generation after the other; `dualmatch.simulate.chronicle` is what two observers
know of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Final, NamedTuple

import numpy as np
from numpy.random import Generator

from dualmatch.simulate.invented_names import GIVEN, SURNAMES, TOWNS, draw

_YEAR: Final = 365.25
_FIRST, _LAST = (date(year, 1, 1).toordinal() for year in (1752, 1872))
_TOWNS_WITH_A_MAYOR: Final = 14
_POSTS: Final = (
    *("mayor", "town clerk", "harbour master", "postmaster", "coroner", "headmaster", "organist", "librarian"),
    *("magistrate", "surgeon", "vicar", "surveyor"),
)
_COUNTIES: Final = ("Northmark", "Eastmere", "Calderland", "Westfold", "Thornshire")


class LifeFact(NamedTuple):
    """`who` did or was `what` with `whom` (a person, place, post or county); days are ordinals, None where unknown."""

    who: str
    what: str
    whom: str
    begin: int | None = None
    end: int | None = None


@dataclass
class Person:
    """`key` is what facts call a person; `home` the town where he or she lives."""

    key: str
    name: str
    is_woman: bool
    born: int
    died: int
    home: str
    spouse: Person | None = None
    facts: list[LifeFact] = field(default_factory=list)

    @property
    def surname(self) -> str:
        return self.name.rsplit(" ", 1)[1]

    def age(self, day: int) -> float:
        return (day - self.born) / _YEAR

    def lives(self, day: int) -> bool:
        return self.born <= day <= self.died


@dataclass(frozen=True)
class Lives:
    """People by birth, and the names of towns, posts and counties with what is known of these."""

    people: Sequence[Person]
    places: Sequence[LifeFact]  # of towns and posts: where they lie


def draw_lives(count: int, rng: Generator) -> Lives:
    """A history of so many people, in families: names run in them, and offices pass from one holder to the next."""
    towns = [fore + aft for fore in TOWNS[0] for aft in TOWNS[1]]
    towns = [towns[at] for at in rng.permutation(len(towns))[: max(20, count // 14)]]
    people: list[Person] = []
    births = np.sort(rng.integers(_FIRST, _LAST, count)).tolist()
    for number, born in enumerate(births):
        _marry(people, born, rng)
        people.append(_born(number, born, people, towns, rng))
    _marry(people, _LAST + round(32 * _YEAR), rng)
    posts = _hold_offices(people, towns, rng)
    for each in people:
        _move_and_die(each, towns, rng)
    counties = [LifeFact(town, "lies in", _COUNTIES[at % len(_COUNTIES)]) for at, town in enumerate(towns)]
    return Lives(people, [*counties, *(LifeFact(post, "office in", town) for post, town in posts)])


def _born(number: int, day: int, people: Sequence[Person], towns: Sequence[str], rng: Generator) -> Person:
    mothers = [each for each in people if each.is_woman and each.spouse and each.lives(day) and each.age(day) < 44]
    is_woman = bool(rng.random() < 0.5)
    first, second = draw(GIVEN[0 if is_woman else 1], 2, rng)
    middle = f" {second}" if rng.random() < 0.25 and second != first else ""
    span = round(_YEAR * float(np.clip(rng.normal(66, 14), 24, 99)))
    if not mothers or rng.random() < 0.4:
        home = str(draw(towns, 1, rng, 0.7)[0])
        surname = "".join(str(draw(words, 1, rng)[0]) for words in SURNAMES)
        child = Person(f"P{number}", f"{first}{middle} {surname}", is_woman, day, day + span, home)
    else:
        mother = mothers[int(rng.integers(len(mothers)))]
        father = mother.spouse or mother
        if rng.random() < 0.15:  # named after a parent
            first, middle = (mother if is_woman else father).name.split(" ")[0], ""
        name = f"{first}{middle} {father.surname}"
        child = Person(f"P{number}", name, is_woman, day, day + span, mother.home)
        child.facts += [LifeFact(child.key, "child of", parent.key) for parent in (father, mother)]
    child.facts.append(LifeFact(child.key, "born in", child.home, day, day))
    return child


def _marry(people: Sequence[Person], day: int, rng: Generator) -> None:
    """Those who are of age by that day and still single may find each other."""
    single = [each for each in people if each.spouse is None and 22 <= each.age(day) < 45 and each.lives(day)]
    for bride in (each for each in single if each.is_woman):
        grooms = [each for each in single if not (each.is_woman or each.spouse or each.surname == bride.surname)]
        if grooms and rng.random() < 0.25:
            groom = grooms[int(rng.integers(len(grooms)))]
            bride.spouse, groom.spouse, bride.home = groom, bride, groom.home
            wedding = day - int(rng.integers(30, 600))
            bride.facts.append(LifeFact(bride.key, "married", groom.key, wedding, wedding))


def _hold_offices(people: Sequence[Person], towns: Sequence[str], rng: Generator) -> list[tuple[str, str]]:
    """Fill every post from first to last; the posts with their towns."""
    posts = [("mayor", town) for town in towns[:_TOWNS_WITH_A_MAYOR]]
    posts += [(title, towns[at]) for title in _POSTS[1:] for at in rng.permutation(len(towns))[:3].tolist()]
    held: Counter[str] = Counter()
    for title, town in posts:
        day = _FIRST + round(_YEAR * float(rng.uniform(28, 45)))
        while day < _LAST + 40 * _YEAR:
            fit = [each for each in people if each.lives(day) and 27 <= each.age(day) < 62 and held[each.key] < 3]
            near = [each for each in fit if each.home == town] or fit
            if not near:
                break
            holder = near[int(rng.integers(len(near)))]
            end = min(day + round(_YEAR * float(rng.gamma(3, 3.5) + 1)), holder.died - 20)
            if end > day:
                held[holder.key] += 1
                holder.facts.append(LifeFact(holder.key, "office", f"{title} of {town}", day, end))
            day = end + int(rng.integers(1, 500))
    return [(f"{title} of {town}", town) for title, town in posts]


def _move_and_die(person: Person, towns: Sequence[str], rng: Generator) -> None:
    home = person.home
    if rng.random() < 0.55:
        home = str(draw(towns, 1, rng, 0.5)[0])
        begin = person.born + round(_YEAR * float(rng.uniform(18, 45)))
        end = min(person.died, begin + round(_YEAR * float(rng.uniform(3, 40))))
        if end > begin:
            person.facts.append(LifeFact(person.key, "lived in", home, begin, end))
    person.facts.append(LifeFact(person.key, "died in", home, person.died, person.died))
