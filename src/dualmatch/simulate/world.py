"""The options of a simulated world, their checks, and the worlds that ship."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Final, Self

from pydantic import BaseModel, ConfigDict, Field, ModelWrapValidatorHandler, ValidationError, model_validator

from dualmatch.errors import ConfigError
from dualmatch.option_texts import WORLD_OPTIONS

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


def _option(name: str, **bounds: Any) -> Any:
    default, text = WORLD_OPTIONS[name]
    return Field(default=default, description=text, **bounds)


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

    entities: int = _option("entities", ge=4)
    mean_facts: float = _option("mean_facts", gt=0)
    min_facts: int = _option("min_facts", ge=1)
    degree_skew: Skew = _option("degree_skew")
    common_share: Share = _option("common_share")
    unmatched_source: Alone = _option("unmatched_source")
    unmatched_target: Alone = _option("unmatched_target")

    relations_source: int = _option("relations_source", ge=1)
    relations_target: int = _option("relations_target", ge=1)
    relations_split: int = _option("relations_split", ge=0)
    relations_inverse: int = _option("relations_inverse", ge=0)
    relation_skew: Skew = _option("relation_skew")

    first_year: int = _option("first_year", ge=1, le=LAST_YEAR)
    years: int = _option("years", ge=1, le=LAST_YEAR)
    point_share: Share = _option("point_share")
    undated_share: Share = _option("undated_share")
    half_known_share: Share = _option("half_known_share")

    month_only_share: Share = _option("month_only_share")
    year_only_share: Share = _option("year_only_share")
    wrong_share: Share = _option("wrong_share")
    missing_share: Share = _option("missing_share")

    seed_share: Share = _option("seed_share")
    seed: int = _option("seed", ge=0)

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


VARIED: Final = World(
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
