"""Explanations: why an entity was given its partner, or none, as data and in words."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from dualmatch.charts.chart import Chart
from dualmatch.charts.markup import el, visible
from dualmatch.charts.svg import sum_chart
from dualmatch.charts.timeline import Lane, Span, span_of, timeline_chart
from dualmatch.errors import InputError, counted
from dualmatch.graph.shown_name import ShownName, shown_name
from dualmatch.methods.evidence.pair_evidence import LABELS_COMPARED, Balance

Aspect = Literal["relation", "entity"]


@dataclass(frozen=True)
class Fact:
    """A fact as one of its entities sees it."""

    relation: str
    other: str | None  # the entity at the other end; None for a date of the entity itself
    is_subject: bool  # whether the entity that sees it is the fact's head
    time: str  # in words; empty where there is none
    label: str | None = None  # of the entity at the other end, where one is known
    relation_label: str | None = None
    begin: str | None = None  # an ISO day, month or year, or a bare number where times have no calendar
    end: str | None = None

    @property
    def span(self) -> Span | None:
        """When it holds, for timelines."""
        return span_of(self.begin, self.end)

    @property
    def shown_other(self) -> ShownName | None:
        """How people see the entity at the other end."""
        return None if self.other is None else shown_name(self.other, self.label)

    @property
    def shown_relation(self) -> ShownName:
        """How people see the relation."""
        return shown_name(self.relation, self.relation_label)

    def __str__(self) -> str:
        other = None if self.other is None else str(self.shown_other)
        return self.with_other(self.shown_relation.text, other) + (f", {self.time}" if self.time else "")

    @property
    def without_time(self) -> str:
        return self.with_other(self.shown_relation.text, None if self.shown_other is None else self.shown_other.text)

    def with_other(self, relation: str, other: str | None) -> str:
        """The relation and the entity at the other end, in these words."""
        return relation if other is None else f"{relation} {'→' if self.is_subject else '←'} {other}"


@dataclass(frozen=True)
class SharedFact:
    """A fact of the entity and the fact of the other graph that says the same, or something of it."""

    fact: Fact
    counterpart: Fact
    same: tuple[Aspect, ...]  # what the two have in common, as far as the run knew
    same_dates: tuple[str, ...]  # "begin" and "end" with the date both agree on, as precise as they agree
    weight: float  # what it adds to the log-odds; less than nothing where two dates contradict each other
    differ: bool = False  # whether they are such dates; rarely, dates that agree take away, too

    def __str__(self) -> str:
        fact, other = self.fact, self.counterpart
        backwards = " read backwards" if fact.is_subject != other.is_subject else ""
        relation = _beside(fact.shown_relation.text, other.shown_relation.text + backwards, "relation" in self.same)
        is_date = fact.other is None or other.other is None
        entity = None if is_date else _beside(str(fact.shown_other), str(other.shown_other), "entity" in self.same)
        words = fact.with_other(relation, entity)
        if fact.time == other.time:
            return words + (f", {fact.time}" if fact.time else "")
        agree = f"; {_in_common(self.same_dates)}" if self.same_dates else ""
        return f"{words}, {fact.time or 'no time'} (there: {other.time or 'no time'}{agree})"


@dataclass(frozen=True)
class Lack:
    """A fact of the entity that a candidate does not share, or shares less of than the partner does."""

    fact: Fact
    weight: float | None  # by how much less; None where there is no partner to compare with


@dataclass(frozen=True)
class Candidate:
    """An entity of the other graph that could be meant; `shared` and `balance` add up to `log_odds`.

    `label` and `texts` as in `Explanation`.
    """

    name: str
    probability: float
    log_odds: float
    shared: tuple[SharedFact, ...]
    lacks: tuple[Lack, ...]
    balance: Balance = field(default_factory=Balance)
    label: str | None = None
    texts: tuple[str, str] | None = None


@dataclass(frozen=True)
class Explanation:
    """Why an entity was given its partner, or none.

    Attributes
    ----------
    verdict:
        ``linked``, ``undecided`` or ``no match``.
    match:
        The partner; None where it is not linked.
    confidence:
        That the link, or "no match", is right; None where it is undecided.
    log_odds:
        Of the link; the weights of `shared` and the parts of `balance` add up to it. 0 where there is none.
    reason, category:
        Why there is no link, in words and as the name of a `Reason`; None where there is one.
    others:
        Other candidates, the most likely first. Where there is no link, the best candidate of all is the first.
    label, match_label:
        A label of the entity and of its partner, where the run compared labels.
    texts:
        The labels of the two that agree best.
    needed:
        Where there is no link: what would make the first candidate one, a sentence each.
    """

    entity: str
    verdict: str
    match: str | None
    confidence: float | None
    is_seed: bool
    log_odds: float
    shared: tuple[SharedFact, ...]
    reason: str | None
    category: str | None
    others: tuple[Candidate, ...]
    balance: Balance = field(default_factory=Balance)
    label: str | None = None
    match_label: str | None = None
    texts: tuple[str, str] | None = None
    needed: tuple[str, ...] = ()

    def as_dict(self, top: int | None = None) -> dict[str, Any]:
        """Plain data for JSON, with at most `top` facts in each list; ``more_…`` counts the rest."""
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
            lines += [f"Log-odds {self.log_odds:+.2f}, which add up from:", *_lines(self, top)]
        for other in self.others:
            likely = f"probability {other.probability:.3f}, log-odds {other.log_odds:+.2f}"
            name = shown_name(other.name, other.label)
            lines.append(f"Candidate {name}: {likely}" if self.match is None else f"Not {name}: {likely}")
            if self.match is None:
                lines += _lines(other, top)
            if other is self.others[0]:
                lines += [f"  needed: {sentence}" for sentence in self.needed]
            if other.lacks:
                heading = "  lacks:" if self.match is None else "  lacks, or shares less of:"
                lines += [heading, *_lack_lines(other.lacks, top)]
        return "\n".join(lines)

    def plot(self, top: int = 8) -> Chart:
        """What adds up to the log-odds of the link or, where there is none, of the best candidate, step by step.

        At most `top` facts have a bar of their own.

        Raises
        ------
        InputError
            Where there is no candidate.
        """
        of = self._drawn()
        name = shown_name(*((self.match, self.match_label) if isinstance(of, Explanation) else (of.name, of.label)))
        steps = [(str(fact), fact.weight) for fact in of.shared[:top]]
        if rest := of.shared[top:]:
            steps.append((counted(len(rest), "more shared fact"), sum(fact.weight for fact in rest)))
        steps += of.balance.in_words()
        return sum_chart(steps, f"{shown_name(self.entity, self.label)} = {name}? Log-odds {of.log_odds:+.2f}")

    def plot_timeline(self, top: int = 12) -> Chart:
        """At most `top` shared facts over time, a lane each: as the entity has them, above as the other graph has them.

        They are those of the link or, where there is none, of the best candidate. An end that is unknown fades out.

        Raises
        ------
        InputError
            Where there is no candidate, and where no shared fact has a time.
        """
        of = self._drawn()
        lanes = [
            Lane(
                shared.fact.without_time,
                f"{shared.fact}\n{shared.counterpart}",
                shared.fact.span,
                shared.counterpart.span,
            )
            for shared in of.shared
            if shared.fact.span or shared.counterpart.span
        ]
        chart = timeline_chart(lanes[:top], f"What {shown_name(self.entity, self.label)} shares, over time")
        if chart is None:
            raise InputError(f"{self.entity} shares no fact that has a time, so there is no timeline to draw")
        return chart

    def _drawn(self) -> Explanation | Candidate:
        """What a chart is about."""
        if self.match is None and not self.others:
            raise InputError(f"{self.entity} has no candidate, so there is nothing to draw: {self.reason}")
        return self if self.match is not None else self.others[0]

    def _repr_html_(self) -> str:
        return str(el("pre", "\n".join(visible(line, 400) for line in self.in_words().split("\n"))))

    def _headline(self) -> str:
        if self.match is None:
            sure = "" if self.confidence is None else f" (confidence {self.confidence:.3f})"
            return f"{shown_name(self.entity, self.label)}: {self.verdict}{sure}: {self.reason}"
        how = "given as a seed" if self.is_seed else f"confidence {self.confidence:.3f}"
        return f"{shown_name(self.entity, self.label)} = {shown_name(self.match, self.match_label)} ({how})"

    def __str__(self) -> str:
        return self.in_words()


def _lines(of: Explanation | Candidate, top: int) -> list[str]:
    """One line a fact, one for the rest of them, and one for each thing else that counts."""
    lines = [f"  {'differ' if fact.differ else 'both'}: {fact} ({fact.weight:+.2f})" for fact in of.shared[:top]]
    rest = of.shared[top:]
    if rest:
        lines.append(f"  … and {len(rest):,} more ({sum(fact.weight for fact in rest):+.2f})")
    for words, value in of.balance.in_words():
        if words == LABELS_COMPARED and of.texts is not None:
            one, other = of.texts
            words += f": both “{one}”" if one == other else f": “{one}” and “{other}”"
        lines.append(f"  {words} ({value:+.2f})")
    return lines or ["  nothing"]


def _lack_lines(lacks: tuple[Lack, ...], top: int) -> list[str]:
    lines = [f"    {lack.fact}" + ("" if lack.weight is None else f" (−{lack.weight:.2f})") for lack in lacks[:top]]
    if len(lacks) > top:
        lines.append(f"    … and {len(lacks) - top:,} more")
    return lines


def _in_common(dates: tuple[str, ...]) -> str:
    """What the times of two facts have in common, in words.

    >>> _in_common(("begin 1843", "end 1843")), _in_common(("begin 1843", "end 1850-02")), _in_common(("end 1850",))
    ('same year', 'both begin 1843 and end 1850-02', 'both end 1850')
    """
    days = {each.split(" ", 1)[1] for each in dates}
    if len(dates) == 2 and len(days) == 1:
        return f"same {('year', 'month', 'day')[days.pop()[1:].count('-')]}"  # a year may begin with a minus
    return f"both {' and '.join(dates)}"


def _beside(here: str, there: str, same: bool) -> str:
    if here == there:
        return here
    return f"{here} ({'=' if same else 'there:'} {there})"
