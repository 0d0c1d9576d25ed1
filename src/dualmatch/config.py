"""Every option of an alignment once: validated, frozen, all errors reported at once."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Annotated, Any, Final, Literal, Self, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    model_validator,
)

from dualmatch.errors import ConfigError
from dualmatch.memory import checked_limit, default_limit, parse_bytes
from dualmatch.option_texts import METHOD_OPTIONS, METHOD_TEXTS

Method = Literal["temporal", "dualmatch", "evidence", "fused"]
DEFAULT_METHOD: Method = "evidence"
TRAINED: frozenset[Method] = frozenset({"dualmatch", "fused"})
"""Methods that train, so need the extra [gnn]."""
EXPLAINED: frozenset[Method] = frozenset({"evidence", "fused"})
"""Methods that keep the evidence behind a link."""
Decoder = Literal["graph-matching", "naive"]
Negatives = Literal["other", "both"]
Reflection = Literal["auto", "all", "times", "none"]

_TEMPORAL: Final[frozenset[Method]] = frozenset({"temporal", "dualmatch", "fused"})
READ_BY: Final[Mapping[str, frozenset[Method]]] = {
    **dict.fromkeys(("method", "min_confidence", "memory_limit"), frozenset(get_args(Method))),
    **dict.fromkeys(("max_fdr", "many_to_one"), EXPLAINED),
    **dict.fromkeys(("hops", "zero_counts"), _TEMPORAL),
    **dict.fromkeys(("sharpness", "sinkhorn_iterations"), _TEMPORAL - EXPLAINED),
    **dict.fromkeys(("seed", "dimension", "epochs", "batch", "learning_rate", "dropout"), TRAINED),
    **dict.fromkeys(("reflection", "negatives", "time_aspect", "device", "wl_iterations"), TRAINED),
    **dict.fromkeys(("decoder", "alphas"), TRAINED - EXPLAINED),
}
"""Each option of `Config` with the methods that read it."""


def _numbers(value: object) -> object:
    """Allow "0, 0.5, 1" and lists where a tuple of numbers is meant."""
    if isinstance(value, str):
        try:
            return tuple(float(part) for part in value.split(","))
        except ValueError:
            raise ValueError(f"{value!r} is not a list of numbers; write them as in 0,0.5,1") from None
    return tuple(value) if isinstance(value, list) else value


def _bytes(value: object) -> object:
    """Allow "8GB", "500 MiB", "50%" and plain digits where a number of bytes is meant."""
    return parse_bytes(value) if isinstance(value, str) else value


def _option(name: str, **bounds: Any) -> Any:
    default, text = METHOD_OPTIONS[name]
    return Field(default=default, description=text, **bounds)


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

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    method: Method = Field(
        default=DEFAULT_METHOD,
        description=f"How to align: {'; '.join(METHOD_TEXTS.values())}.",
    )
    min_confidence: float | None = _option("min_confidence", ge=0, le=1)
    max_fdr: float | None = _option("max_fdr", ge=0, le=1)
    many_to_one: bool = _option("many_to_one")
    seed: int = _option("seed", ge=0)
    memory_limit: Annotated[int, BeforeValidator(_bytes), AfterValidator(checked_limit)] = Field(
        default_factory=default_limit, description=METHOD_OPTIONS["memory_limit"][1]
    )
    hops: int = _option("hops", ge=0, le=5)
    zero_counts: bool = _option("zero_counts")
    sharpness: float = _option("sharpness", gt=0, le=1000)
    sinkhorn_iterations: int = _option("sinkhorn_iterations", ge=1, le=1000)

    dimension: int = _option("dimension", ge=2, le=4096)
    epochs: int | None = _option("epochs", ge=0)
    batch: int = _option("batch", ge=1)
    learning_rate: float = _option("learning_rate", gt=0)
    dropout: float = _option("dropout", ge=0, lt=1)
    reflection: Reflection = _option("reflection")
    negatives: Negatives = _option("negatives")
    time_aspect: bool = _option("time_aspect")
    device: str = _option("device")

    decoder: Decoder = _option("decoder")
    alphas: Annotated[tuple[Annotated[float, Field(ge=0)], ...], BeforeValidator(_numbers)] = _option(
        "alphas", min_length=1
    )
    wl_iterations: int = _option("wl_iterations", ge=0, le=50)

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

    @classmethod
    def foreign_options(cls, given: Collection[str], method: Method) -> list[str]:
        """Those of the given options that the method does not read, in the order of `Config`.

        >>> Config.foreign_options(["hops", "many_to_one"], "evidence")
        ['hops']
        """
        return [name for name in cls.model_fields if name in given and method not in READ_BY[name]]

    @classmethod
    def refused_options(cls, given: Collection[str], method: Method) -> list[str]:
        """Foreign options that a call must not give; a seed is good with every method, whether it draws or not."""
        return [name for name in cls.foreign_options(given, method) if name != "seed"]


def options_in_words(error: ValidationError) -> str:
    """One line an option: its name, what is wrong, what was given."""
    lines = []
    for item in error.errors():
        name = ".".join(str(part) for part in item["loc"]) or "options"
        if item["type"] == "value_error":  # words of our own
            lines.append(f"option {name}: {item['ctx']['error']}")
        elif item["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
            lines.append(f"option {name}: there is no such option")
        else:
            lines.append(f"option {name}: {item['msg'][0].lower()}{item['msg'][1:]} (given: {item['input']!r})")
    return "\n".join(lines)
