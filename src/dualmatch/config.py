"""Every option of an alignment once: validated, frozen, all errors told at once."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ModelWrapValidatorHandler, ValidationError, model_validator

from dualmatch.errors import ConfigError
from dualmatch.memory import default_limit

Method = Literal["temporal"]
DEFAULT_METHOD: Method = "temporal"


class Config(BaseModel):
    """Options of `dualmatch.align`; the defaults are those behind the published figures.

    Raises
    ------
    ConfigError
        One line for each option that is wrong.

    Examples
    --------
    >>> Config(hops=1).hops
    1
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    method: Method = Field(
        default=DEFAULT_METHOD, description="how to align: 'temporal' is the paper's learning-free time channel"
    )
    seed: int = Field(default=0, ge=0, description="seed of every random choice")
    memory_limit: int = Field(
        default_factory=default_limit,
        ge=2**26,
        description="bytes that large matrices may take (default: 60 % of the machine)",
    )
    hops: int = Field(default=2, ge=0, le=5, description="L: how many hops temporal features travel")
    zero_counts: bool = Field(
        default=False, description="let times without a fact enter the row softmax, as eq. time_adj is printed"
    )
    sharpness: float = Field(
        default=50.0, gt=0, le=1000, description="Sinkhorn's kernel is exp(sharpness * similarity)"
    )
    sinkhorn_iterations: int = Field(default=10, ge=1, le=1000, description="rows, then columns, this many times")

    @model_validator(mode="wrap")
    @classmethod
    def _all_problems_at_once(cls, options: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return handler(options)
        except ValidationError as error:
            raise ConfigError(options_in_words(error)) from None

    @classmethod
    def checked(cls, **options: object) -> Self:
        """A config from options whose types are not known yet, such as those of a command line."""
        return cls.model_validate(options)


def options_in_words(error: ValidationError) -> str:
    """One line an option: its name, what is wrong, what was given."""
    lines = []
    for item in error.errors():
        name = ".".join(str(part) for part in item["loc"]) or "options"
        lines.append(f"option {name}: {item['msg'][0].lower()}{item['msg'][1:]} (given: {item['input']!r})")
    return "\n".join(lines)
