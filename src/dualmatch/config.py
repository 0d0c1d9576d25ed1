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

Method = Literal["temporal", "dualmatch", "evidence", "fused"]
DEFAULT_METHOD: Method = "evidence"
PAPER_ALPHAS = tuple(k / 4 for k in range(9))
"""R_α of the paper: 0, 0.25, … 2."""
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
        description="how to align: 'evidence' goes by shared dated facts, 'temporal' is the paper's learning-free time "
        "channel, 'dualmatch' the paper's whole method and 'fused' all of these (both need the extra [gnn])",
    )
    min_confidence: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="give only pairs of at least this confidence; by rule: above 0.5 for evidence and fused, "
        "all for the others",
    )
    max_fdr: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="give only the surest pairs, as many as keep the expected share of wrong ones within this "
        "(methods evidence and fused; in the place of their own threshold; together with min_confidence, both hold)",
    )
    many_to_one: bool = Field(
        default=False, description="let several source entities take one target (methods evidence and fused)"
    )
    seed: int = Field(default=0, ge=0, description="seed of every random choice")
    memory_limit: Annotated[int, BeforeValidator(_bytes), AfterValidator(checked_limit)] = Field(
        default_factory=default_limit,
        description="what large matrices may take: 8GB, 6GiB, 500MB or 50% of the machine; a run that cannot do with "
        "it is refused (default: 60%)",
    )
    hops: int = Field(default=2, ge=0, le=5, description="L: how many hops temporal features travel")
    zero_counts: bool = Field(
        default=False, description="let times without a fact enter the row softmax, as eq. time_adj is printed"
    )
    sharpness: float = Field(
        default=50.0,
        gt=0,
        le=1000,
        description="Sinkhorn's kernel is exp(sharpness * similarity), for methods temporal and dualmatch; "
        "evidence and fused choose their own",
    )
    sinkhorn_iterations: int = Field(
        default=10,
        ge=1,
        le=1000,
        description="rows, then columns, this many times, for methods temporal and dualmatch; the others do without",
    )

    dimension: int = Field(default=128, ge=2, le=4096, description="d: length of the relational encoder's vectors")
    epochs: int | None = Field(
        default=None,
        ge=0,
        description="passes over the seeds; by rule: 3 with pseudo-seeds, 10 with seeds, 20 with few",
    )
    batch: int = Field(default=512, ge=1, description="seed pairs a training step")
    learning_rate: float = Field(default=0.005, gt=0, description="step size of the optimiser, RMSprop")
    dropout: float = Field(default=0.3, ge=0, lt=1, description="share of features dropped while training")
    reflection: Reflection = Field(
        default="auto",
        description="what neighbours are reflected by: all (relations and times), times or none; auto: all where both "
        "graphs have about as many relations, else nothing",
    )
    negatives: Negatives = Field(
        default="both",
        description="negative samples in training: the entities of the other graph, or of both",
    )
    time_aspect: bool = Field(default=True, description="give the encoder its third aspect, the times at an entity")
    device: str = Field(default="cpu", description="where to train: cpu, cuda, cuda:0 …")

    decoder: Decoder = Field(
        default="graph-matching",
        description="how to fuse the channels: by graph matching, or naively (the paper's concatenated features)",
    )
    alphas: Annotated[tuple[Annotated[float, Field(ge=0)], ...], BeforeValidator(_numbers)] = Field(
        default=PAPER_ALPHAS,
        min_length=1,
        description="R_α: weights of the temporal channel to choose from, separated by commas",
    )
    wl_iterations: int = Field(default=8, ge=0, le=50, description="h: refinements of the WL kernels")

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
            lines.append(f"option {name}: there is none of this name")
        else:
            lines.append(f"option {name}: {item['msg'][0].lower()}{item['msg'][1:]} (given: {item['input']!r})")
    return "\n".join(lines)
