"""Explanations: why an entity was given its partner, or none, as data and in words."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

Aspect = Literal["relation", "entity"]


@dataclass(frozen=True)
class Fact:
    """A fact as one of its entities sees it.

    Attributes
    ----------
    other:
        The entity at the other end.
    is_subject:
        Whether the entity that sees it is the fact's head.
    time:
        In words; empty where there is none.
    """

    relation: str
    other: str
    is_subject: bool
    time: str

    def __str__(self) -> str:
        arrow = "→" if self.is_subject else "←"
        return f"{self.relation} {arrow} {self.other}" + (f", {self.time}" if self.time else "")


@dataclass(frozen=True)
class SharedFact:
    """A fact of the entity and the fact of the other graph that says the same, or something of it.

    Attributes
    ----------
    same:
        What the two facts have in common, as far as the run knew: "relation", "entity" (at the other end).
    same_dates:
        "begin" and "end" with the date both agree on, as precise as they agree.
    weight:
        What it adds to the similarity.
    """

    fact: Fact
    counterpart: Fact
    same: tuple[Aspect, ...]
    same_dates: tuple[str, ...]
    weight: float

    def __str__(self) -> str:
        fact, other = self.fact, self.counterpart
        arrow = "→" if fact.is_subject else "←"
        backwards = " read backwards" if fact.is_subject != other.is_subject else ""
        relation = _beside(fact.relation, other.relation + backwards, "relation" in self.same)
        entity = _beside(fact.other, other.other, "entity" in self.same)
        words = f"{relation} {arrow} {entity}"
        if fact.time == other.time:
            return words + (f", {fact.time}" if fact.time else "")
        agree = f"; both {' and '.join(self.same_dates)}" if self.same_dates else ""
        return f"{words}, {fact.time or 'no time'} (there: {other.time or 'no time'}{agree})"


@dataclass(frozen=True)
class Lack:
    """A fact of the entity that a candidate does not share, or shares less of than the partner does.

    Attributes
    ----------
    weight:
        By how much less; None where there is no partner to compare with.
    """

    fact: Fact
    weight: float | None


@dataclass(frozen=True)
class Candidate:
    """An entity of the other graph that could be meant."""

    name: str
    probability: float
    similarity: float
    shared: tuple[SharedFact, ...]
    lacks: tuple[Lack, ...]
    texts: float = 0.0


@dataclass(frozen=True)
class Explanation:
    """Why an entity was given its partner, or none.

    Attributes
    ----------
    match:
        The partner; None for "no match".
    confidence:
        That the match, or "no match", is right.
    similarity:
        To the match; the weights of `shared` and `texts` add up to it. 0 where there is none.
    no_match, category:
        Why there is no match, in words and as the name of a `Reason`; None where there is one.
    others:
        Other candidates, the most likely first. For "no match" the best candidate of all is the first.
    texts:
        What labels and other literals in common add, where the run looked at them.
    """

    entity: str
    match: str | None
    confidence: float
    is_seed: bool
    similarity: float
    shared: tuple[SharedFact, ...]
    no_match: str | None
    category: str | None
    others: tuple[Candidate, ...]
    texts: float = 0.0

    def as_dict(self, top: int | None = None) -> dict[str, Any]:
        """Plain data for JSON, with at most `top` facts in each list; how many more there are is told."""
        data = asdict(self)
        for part in (data, *data["others"]):
            for name in ("shared", "lacks"):
                if name in part:
                    part[f"more_{name}"] = max(0, len(part[name]) - len(part[name][:top]))
                    part[name] = part[name][:top]
        return data

    def in_words(self, top: int = 5) -> str:
        """A few lines for people, with at most `top` facts in each list."""
        lines = [self._headline()]
        if self.match is not None:
            lines += [f"Similarity {self.similarity:.3f}, from the facts both have:", *_lines(self, top)]
        for other in self.others:
            likely = f"probability {other.probability:.3f}, similarity {other.similarity:.3f}"
            lines.append(f"Candidate {other.name}: {likely}" if self.match is None else f"Not {other.name}: {likely}")
            if self.match is None:
                lines += ["  shares:", *_lines(other, top, "    ")]
            if other.lacks:
                lines += ["  lacks:", *_lack_lines(other.lacks, top)]
        return "\n".join(lines)

    def _headline(self) -> str:
        if self.match is None:
            return f"{self.entity}: no match (confidence {self.confidence:.3f}): {self.no_match}"
        how = "given as a seed" if self.is_seed else f"confidence {self.confidence:.3f}"
        return f"{self.entity} = {self.match} ({how})"

    def __str__(self) -> str:
        return self.in_words()


TEXTS_ALIKE: Final = "labels or literals alike"


def _lines(of: Explanation | Candidate, top: int, indent: str = "  ") -> list[str]:
    """One line for texts, one a fact, and one for the rest."""
    lines = [f"{indent}both: {TEXTS_ALIKE} (+{of.texts:.3f})"] if of.texts else []
    lines += [f"{indent}both: {fact} (+{fact.weight:.3f})" for fact in of.shared[:top]]
    rest = of.shared[top:]
    if rest:
        lines.append(f"{indent}… and {len(rest):,} more (+{sum(fact.weight for fact in rest):.3f})")
    return lines or [f"{indent}nothing"]


def _lack_lines(lacks: tuple[Lack, ...], top: int) -> list[str]:
    lines = [f"    {lack.fact}" + ("" if lack.weight is None else f" (−{lack.weight:.3f})") for lack in lacks[:top]]
    if len(lacks) > top:
        lines.append(f"    … and {len(lacks) - top:,} more")
    return lines


def _beside(here: str, there: str, same: bool) -> str:
    if here == there:
        return here
    return f"{here} ({'=' if same else 'there:'} {there})"
