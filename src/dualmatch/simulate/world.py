"""The options of a simulated world, their checks, and the worlds that ship."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Final, Self

from pydantic import BaseModel, ConfigDict, Field, ModelWrapValidatorHandler, ValidationError, model_validator

from dualmatch.errors import ConfigError

MAX_PLACES: Final = 10**9
LAST_YEAR: Final = 9999

Share = Annotated[float, Field(ge=0, le=1)]
Alone = Annotated[float, Field(ge=0, le=0.95)]
Skew = Annotated[float, Field(ge=0, le=2)]


@dataclass(frozen=True)
class Sizes:
    """How many entities and facts the options amount to; facts have two places, one for each of their entities."""

    both: int
    source_only: int
    target_only: int
    common_facts: int
    source_facts: int
    target_facts: int


class World(BaseModel):
    """Every option of a simulated world; what is out of range is reported all at once.

    Raises
    ------
    ConfigError
        One line an option, with what to do.

    Examples
    --------
    >>> World(entities=1000, year_only_share=0.3).sizes.both
    900
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    entities: int = Field(
        default=1000, ge=4, description="entities of the source; of the target too if the unmatched shares are equal"
    )
    mean_facts: float = Field(
        default=10.0, gt=0, description="mean number of facts an entity takes part in, as head or tail, on one side"
    )
    min_facts: int = Field(default=3, ge=1, description="facts that every entity takes part in at least, on each side")
    degree_skew: Skew = Field(
        default=0.5,
        description="exponent a of fame = rank^-a, which shares out facts above the minimum; 0: even; 0.5: as in YAGO",
    )
    common_share: Share = Field(
        default=0.6, description="share of a side's facts that the other side has too (mean of both sides)"
    )
    unmatched_source: Alone = Field(default=0.1, description="share of the source's entities without a partner")
    unmatched_target: Alone = Field(default=0.1, description="share of the target's entities without a partner")

    relations_source: int = Field(default=40, ge=1, description="relations of the source")
    relations_target: int = Field(
        default=30, ge=1, description="relations of the target; fewer than the source's: some are merged"
    )
    relations_split: int = Field(default=0, ge=0, description="source relations that the target splits into two")
    relations_inverse: int = Field(
        default=0, ge=0, description="target relations that run the other way, head and tail swapped"
    )
    relation_skew: Skew = Field(
        default=0.0, description="exponent a of a relation's frequency = rank^-a; 0: all as frequent"
    )

    first_year: int = Field(default=2005, ge=1, le=LAST_YEAR, description="year in which the history begins")
    years: int = Field(
        default=10, ge=1, le=LAST_YEAR, description="length of the history in years; every day is as likely"
    )
    point_share: Share = Field(
        default=1.0, description="share of the facts with time that are points; the others are intervals"
    )
    undated_share: Share = Field(
        default=0.0, description="share of the facts that have no time at all, for either observer"
    )
    half_known_share: Share = Field(
        default=0.0, description="share of the intervals with one end only, for either observer"
    )

    month_only_share: Share = Field(default=0.0, description="share of an observer's dates known only to the month")
    year_only_share: Share = Field(default=0.0, description="share of an observer's dates known only to the year")
    wrong_share: Share = Field(
        default=0.0, description="share of an observer's dates that are wrong: another date of the history"
    )
    missing_share: Share = Field(default=0.0, description="share of the history's dates that an observer does not know")

    seed_share: Share = Field(
        default=0.1, description="share of the true pairs given as seeds (sup_pairs); the rest: ref_pairs"
    )
    seed: int = Field(default=0, ge=0, description="seed of the random generator; same options, same bytes")

    @model_validator(mode="wrap")
    @classmethod
    def _all_problems_at_once(cls, options: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Checks of one option and checks between options in one message; the latter where the options are sound."""
        problems: list[str] = []
        wrong: set[str] = set()
        try:
            world = handler(options)
        except ValidationError as error:
            for found in error.errors():
                name = ".".join(str(part) for part in found["loc"]) or "world"
                wrong.add(name)
                given = f" (given: {found['input']!r})" if name != "world" else ""
                problems.append(f"{name}: {found['msg'][:1].lower()}{found['msg'][1:]}{given}")
            if not isinstance(options, dict):
                raise ConfigError("\n".join(problems)) from None
            world = handler({name: value for name, value in options.items() if name not in wrong})
        problems += [words for options_of_it, words in world._conflicts() if wrong.isdisjoint(options_of_it.split())]
        if problems:
            raise ConfigError("\n".join(problems))
        return world

    def _conflicts(self) -> Iterator[tuple[str, str]]:
        """Options that do not go together, and what to do about them."""
        names, split, inverse = self.relations_target, self.relations_split, self.relations_inverse
        if self.min_facts > self.mean_facts:
            yield (
                "min_facts mean_facts",
                f"min_facts: {self.min_facts} is above mean_facts = {self.mean_facts:g}; lower it or raise mean_facts",
            )
        if self.sizes.source_facts + self.sizes.target_facts > MAX_PLACES / 2:
            yield (
                "entities mean_facts unmatched_source unmatched_target",
                f"entities: {self.entities:,} of {self.mean_facts:g} facts make over {MAX_PLACES // 2:,} facts; lower "
                "either",
            )
        if self.common_share > self.largest_common_share + 1e-9:
            yield (
                "entities common_share unmatched_source unmatched_target",
                f"common_share: {self.common_share:g} is above {self.largest_common_share:.3f}, the most there can be "
                "where all entities have as many facts, partner or not; lower it, or unmatched_source and "
                "unmatched_target",
            )
        if names > (finest := self.relations_source + split):
            yield (
                "relations_source relations_target relations_split",
                f"relations_target: {names} is above relations_source + relations_split = {finest}; lower it or raise "
                "relations_split",
            )
        if split > (most := min(self.relations_source, names - 1)):
            yield (
                "relations_source relations_target relations_split",
                f"relations_split: {split} is above {most}, as many as the source's relations and one less than the "
                "target's; lower it",
            )
        if inverse > names:
            yield (
                "relations_inverse relations_target",
                f"relations_inverse: {inverse} is above relations_target ({names}); lower it",
            )
        if (last := self.first_year + self.years - 1) > LAST_YEAR:
            yield "first_year years", f"years: the history would end in {last}; {LAST_YEAR} is the last year"
        if (coarse := self.month_only_share + self.year_only_share) > 1 + 1e-9:
            yield (
                "month_only_share year_only_share",
                f"year_only_share: with month_only_share {coarse:g}, above 1; lower it",
            )

    @property
    def sizes(self) -> Sizes:
        """Numbers of entities and facts. Facts are rounded up, so that the minimum always fits."""
        both = max(2, round(self.entities * (1 - self.unmatched_source)))
        target = max(both, round(both / (1 - self.unmatched_target)))
        source_facts = math.ceil(self.mean_facts * self.entities / 2)
        target_facts = math.ceil(self.mean_facts * target / 2)
        common = min(round(self.common_share * (source_facts + target_facts) / 2), int(self.mean_facts * both / 2))
        return Sizes(both, self.entities - both, target - both, common, source_facts, target_facts)

    @property
    def largest_common_share(self) -> float:
        """Common facts lie between entities with a partner, whose mean number of facts is that of all others."""
        sizes = self.sizes
        return 2 * sizes.both / (2 * sizes.both + sizes.source_only + sizes.target_only)


DEMO: Final = World(
    entities=1500,
    mean_facts=12,
    relations_source=60,
    relations_target=45,
    relations_split=5,
    relations_inverse=8,
    relation_skew=0.7,
    point_share=0.7,
    undated_share=0.05,
    half_known_share=0.15,
    month_only_share=0.1,
    year_only_share=0.15,
    wrong_share=0.02,
    missing_share=0.05,
    seed=2005,
)
"""A small, realistic world: mixed precision, some dates wrong or missing, relations merged, split and inverse."""


def scale_world(n: int, seed: int = 0) -> World:
    """The fixed world for measuring growth, with n entities a side.

    Ten facts an entity on average and three at least, the rest by a power law (fame falls with rank^-0.67, so that
    P(d) ∝ d^-2.5); days over ten years, 30 % of each observer's dates known only to the year, 2 % wrong; 60 % of the
    facts in common, 10 % of the entities without a partner; 200 relations merged into 150.

    >>> scale_world(10_000).sizes
    Sizes(both=9000, source_only=1000, target_only=1000, common_facts=30000, source_facts=50000, target_facts=50000)
    """
    return World(
        entities=n,
        degree_skew=0.67,
        relations_source=200,
        relations_target=150,
        year_only_share=0.3,
        wrong_share=0.02,
        seed=seed,
    )
