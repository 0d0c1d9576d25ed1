"""What columns of tables are usually called, and what to guess from that."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from dualmatch.errors import InputError
from dualmatch.graph.times import UNKNOWN
from dualmatch.graph.written_dates import parse_span

_USUAL: Final = {
    "head": "head subject subj h s headid subjectid headentity entity1 source sourceid",
    "relation": "relation predicate property rel pred r p relationid relationship edge",
    "tail": "tail object obj t o tailid objectid tailentity entity2 target targetid",
    "begin": "begin start since validfrom begindate startdate begintime starttime beginyear startyear fromdate "
    "datefrom timefrom beginning tbegin tstart occursince p580",
    "end": "end until validto validuntil enddate endtime endyear todate dateto timeto stop ending tend occuruntil p582",
    "time": "time date year timestamp datetime pointintime day when p585",
    "id": "id qid identifier uri iri entity entityid item itemid person personid wikidata wikidataid wikidataqid key "
    "code",
    "label": "label name fullname preflabel displayname itemlabel personlabel entitylabel title",
}
"""Lower-case letters and digits of the names tables usually have, the likeliest first."""
_NAMES: Final = ("head", "relation", "tail")
_TIMES: Final = ("begin", "end", "time")
_FROM_TO: Final = {"begin": "from", "end": "to"}
"""A begin and an end where a table has both: one alone may be anything."""
_DATE_WORDS: Final = re.compile(
    "born|birth|dob|died|death|dod|date|day|time|begin|began|start|started|since|from|end|ended|until|to|founded|"
    "foundation|inception|established|formed|created|opened|closed|dissolved|abolished|built|published|released|married|"
    "elected|appointed|first|last|(birth|death|start|begin|end|founding|opening|closing|release|publication)(date|year|day)|"
    "years?|dates|yob|yod|baptised|baptized|buried|launched|completed|incorporated|joined|retired|floruit|reign|decade|"
    "century|signed|discovered|introduced|issued|registered|destroyed|demolished|disbanded|updated|modified|birthdays?"
)
_END_WORDS: Final = re.compile(r"(?:\b|_)(to|until|end|ended|last|till)(?:\b|_)")
_DATE_PROPERTIES: Final = re.compile("p(569|570|571|575|576|577|580|582|585|606|619|729|730|1191|1619)")
"""Wikidata's."""
_NO_DATE_WORDS: Final = re.compile(
    "places?|city|town|country|region|location|coordinates|names?|labels?|ids?|by|cause|manner|reason|zone|order|author|"
    "language|note|notes|pages?|number|count|version|volume|line|size|length|index|rank|score|total"
)
"""What a birth, a death or a foundation has besides its date."""
_ENTITY_WORDS: Final = re.compile(
    "ids?|ref|key|father|mother|parent|spouse|wife|husband|partner|child|son|daughter|sibling|brother|sister|successor|"
    "predecessor|follows|precedes|replaces|replaced|boss|manager|supervisor|advisor|teacher|student|owner|leader|capital"
)
_ID_WORDS: Final = re.compile("id|key|code|no|nr|number|ref|pid|uid|uuid|gnd|viaf")
_ROW_NUMBERS: Final = re.compile("(no|nr|number|row|rownumber|index|unnamed0)?")
_NO_TAILS: Final = re.compile("source|url|link|website|image|photo|email|note|notes|.*label")
"""What no tail is usually called: where a fact comes from, labels."""
_RELATION_WORDS: Final = re.compile(
    "relation|relationship|property|predicate|type|kind|role|link|edge|verb|action|event|did|does|is|has|how|what|of|in|.*ed"
)


class Guess:
    """Columns by role: those asked for, and those that their names give away.

    Attributes
    ----------
    places:
        Role → column numbers.
    is_of_entities:
        Whether a row is an entity: asked for, or guessed where there is an id or a name, and neither a relation, a tail
        nor a begin or an end.

    Examples
    --------
    >>> Guess(["id", "name", "born"], {}, "a.csv").is_of_entities
    True
    >>> Guess(["subject", "predicate", "object"], {}, "a.csv").places
    {'head': [0], 'relation': [1], 'tail': [2]}
    """

    def __init__(
        self, names: Sequence[str], asked: Mapping[str, Sequence[int]], where: str, are_facts: bool = False
    ) -> None:
        self.names, self.where = names, where
        self.asked = {role: list(places) for role, places in asked.items()}
        others = {place for role, each in asked.items() if role not in _TIMES for place in each}
        free = {_plain(name) for place, name in enumerate(names) if place not in others}
        self._has_from_to = {*_FROM_TO.values()} <= free
        self.is_of_entities = bool({"id", "date", "text"} & {*asked})
        may_be = not are_facts and not {*asked} - {"label", "tail"} and ("label" in asked or not asked)
        if not self.is_of_entities and may_be:
            self.is_of_entities = self._looks_like_entities()
        self.places = self._entity_places() if self.is_of_entities else self._fact_places()
        self.missing = [role for role in _NAMES if role not in self.places]

    @property
    def note(self) -> str:
        """What was guessed, in words, with the columns that could have been it too."""
        notes = []
        used = [place for places in self.places.values() for place in places]
        for role, places in self.places.items():
            if role not in self.asked:
                others = [self.names[other] for other in self._candidates(role, used)]
                instead = f" (not {listed(others)}: to change that, --columns {role}=NAME)" if others else ""
                notes.append(f"{role} is {self.names[places[0]]!r}{instead}")
        parts = [f"guessed that {', '.join(notes)}"] if notes else []
        parts += [] if self.is_of_entities else self._unread_times()
        return f"{self.where}: {'; '.join(parts)}" if parts else ""

    def _unread_times(self) -> list[str]:
        """Says which column of a table of facts is not read though its name says date, if there is one."""
        if "time" in self.places or {"begin", "end"} <= {*self.places} or {*_TIMES} & {*self.asked}:
            return []
        used = {place for places in self.places.values() for place in places}
        unread = [name for place, name in enumerate(self.names) if place not in used and names_a_date(name)]
        if not unread:
            return []
        role = "end" if "begin" in self.places or _END_WORDS.search(unread[0].lower()) else "begin"
        return [f"{unread[0][:40]!r} is not read; if it holds times: {columns_option([(role, unread[0])])}"]

    def _looks_like_entities(self) -> bool:
        candidates = {role: self._candidates(role, ()) for role in _USUAL}
        of_facts = any(candidates[role] for role in ("relation", "tail", "begin", "end"))
        return not of_facts and bool(candidates["id"] or candidates["label"] or "label" in self.asked)

    def _entity_places(self) -> dict[str, list[int]]:
        places = dict(self.asked)
        for role in ("id", "label"):
            used = [place for each in places.values() for place in each]
            if role not in places and (free := self._candidates(role, used)):
                places[role] = [self._only(role, free)]
        if "id" not in places:  # a name is the best id there is
            places["id"] = places.get("label") or []
        if not places["id"]:
            raise InputError(
                f"{self.where}: cannot tell which column is the id; the columns are {listed(self.names)}: say so with "
                f"--columns id=NAME"
            )
        return places

    def _fact_places(self) -> dict[str, list[int]]:
        """Begin and end before a point in time."""
        places = dict(self.asked)
        for role in (*_NAMES, *_TIMES):
            dated = {*places} & {*_TIMES}
            if role in places or (role == "time" and dated) or (role != "time" and role in _TIMES and "time" in places):
                continue
            free = self._candidates(role, [place for each in places.values() for place in each])
            # Where a fact comes from is often called its source: only beside a target is it a head.
            if free and role == "head" and _plain(self.names[free[0]]).startswith("source"):
                free = free if any(_plain(name).startswith("target") for name in self.names) else []
            if free:
                places[role] = [self._only(role, free)]
        if "label" not in places and "head" in places:  # as results of SPARQL queries have it: person, personLabel
            label = f"{_plain(self.names[places['head'][0]])}label"
            found = [place for place, name in enumerate(self.names) if _plain(name) == label]
            places |= {"label": found} if len(found) == 1 else {}
        return places

    def _only(self, role: str, free: Sequence[int]) -> int:
        same = [self.names[place] for place in free if _plain(self.names[place]) == _plain(self.names[free[0]])]
        if len(same) > 1:
            raise InputError(
                f"{self.where}: columns {listed(same)} could each be the {role}; say which with --columns {role}=NAME"
                + (", and give each its own name" if len({*same}) < len(same) else "")
            )
        return free[0]

    def _named_pair(self, role: str) -> list[int]:
        """The place of ``company_id``, or for a label of ``company_name``, where there are both and no second pair."""
        plain = [_plain(name) for name in self.names]
        stems = [name.removesuffix("id") for name in plain if name.endswith("id") and name[:-2] + "name" in plain]
        return [plain.index(stems[0] + {"id": "id", "label": "name"}[role])] if len(stems) == 1 else []

    def _candidates(self, role: str, used: Collection[int]) -> list[int]:
        """Free columns that may have the role, by usual names, the likeliest first."""
        usual = _USUAL[role].split() + ([_FROM_TO[role]] if role in _FROM_TO and self._has_from_to else [])
        likely = [place for place, name in enumerate(self.names) if _plain(name) in usual and place not in used]
        if not likely and role in ("id", "label"):
            return [place for place in self._named_pair(role) if place not in used]
        return sorted(likely, key=lambda place: usual.index(_plain(self.names[place])))


def names_a_date(name: str) -> bool:
    """Whether a column's name says that it holds dates.

    >>> [names_a_date(name) for name in ("birth_date", "dateOfDeath", "FOUNDED", "place")]
    [True, True, True, False]
    """
    words = _words(name)
    is_date = any(map(_DATE_WORDS.fullmatch, words)) or bool(_DATE_PROPERTIES.fullmatch(name.lower()))
    return is_date and not any(map(_NO_DATE_WORDS.fullmatch, words))


def names_an_entity(name: str) -> bool:
    """Whether a column's name says that its numbers are ids of other rows.

    >>> [names_an_entity(name) for name in ("father_id", "spouse", "children")]
    [True, True, False]
    """
    return any(map(_ENTITY_WORDS.fullmatch, _words(name)))


def names_an_id(name: str) -> bool:
    """Whether a column's name says that it may hold the rows' own ids.

    >>> [names_an_id(name) for name in ("pid", "member_no", "id_of_spouse")]
    [True, True, False]
    """
    return bool(_ID_WORDS.fullmatch((_words(name) or [""])[-1]))


def _words(name: str) -> list[str]:
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)]


def example_columns(
    names: Sequence[str], known: Mapping[str, Sequence[str]] | None = None, asked: Collection[str] = ()
) -> str:
    """What to write after a guess that failed, with the table's own names: for rows that are facts, and entities.

    `known`, as in `suggested_columns`, stays as it is; the roles `asked` for were given by the user.

    >>> example_columns(["no", "who", "did", "whom", "day"])
    '--columns head=who,relation=did,tail=whom,time=day, or, if each row is an entity, --columns id=who'
    """
    known = known or {}
    words = next((name for name in known.get("relation", ()) if name.startswith("=")), None)
    if _are_a_fact(names) and {*asked} <= {"relation"}:
        numbers = columns_option(_numbered_columns(names, words))
        return f"{numbers}, as its first line looks like a fact and not like a header"
    facts = suggested_columns(names, known)
    if not {*asked} <= {"label", "tail"}:
        return columns_option(facts)
    entities = [("id", facts[0][1]), *((role, name) for role in asked for name in known[role])]
    return f"{columns_option(facts)}, or, if each row is an entity, {columns_option(entities)}"


def _are_a_fact(first: Sequence[str]) -> bool:
    """Whether a first line holds a day or month, or one or two years beside two or three names: more are a header."""
    dates = [text for text in first if _is_date(text)]
    return any(len(text.strip()) > 4 for text in dates) or (len(dates) in (1, 2) and len(first) - len(dates) in (2, 3))


def _is_date(text: str) -> bool:
    try:
        return bool(re.search("[0-9]{4}", text)) and parse_span(text)[0] != UNKNOWN
    except ValueError:
        return False


def _numbered_columns(first: Sequence[str], words: str | None = None) -> list[tuple[str, str]]:
    """Roles and numbers of columns to try where the first line is a fact: row numbers are not names.

    >>> _numbered_columns(["17", "2013-04-01", "USA", "meets", "France"])
    [('head', '3'), ('relation', '4'), ('tail', '5'), ('time', '2')]
    >>> _numbered_columns(["Ann", "1830", "Rome"])
    [('head', '1'), ('relation', '=WORDS'), ('tail', '3'), ('time', '2')]
    """
    dates = [at for at, text in enumerate(first, start=1) if _is_date(text)][:2]
    others = [at for at, text in enumerate(first, start=1) if at not in dates]
    words = words or ("=WORDS" if len(others) == 2 else None)
    named = [at for at in others if not first[at - 1].strip().isdecimal()]
    numbers = [*map(str, named if len(named) >= (2 if words else 3) else others), *["N"] * 3]
    if words:
        numbers.insert(1, words)
    times = ("time",) if len(dates) == 1 else ("begin", "end")
    roles = [*zip(_NAMES, numbers, strict=False)]
    return [*roles, *zip(times, map(str, dates), strict=True)]


def suggested_columns(names: Sequence[str], known: Mapping[str, Sequence[str]] | None = None) -> list[tuple[str, str]]:
    """Roles and columns to try where a row is a fact and the names do not give it away; NAME where none is left.

    `known`: role → columns that were given or guessed; for ``relation`` also ``=WORDS``.

    >>> suggested_columns(["no", "who", "did", "whom", "day"])
    [('head', 'who'), ('relation', 'did'), ('tail', 'whom'), ('time', 'day')]
    >>> suggested_columns(["person", "club", "since"], {"relation": ["=member of"]})
    [('head', 'person'), ('relation', '=member of'), ('tail', 'club'), ('begin', 'since')]
    """
    known = known or {}
    taken = {name for each in known.values() for name in each}
    free = [name for name in names if name not in taken and not _ROW_NUMBERS.fullmatch(_plain(name))]
    dates = [name for name in free if names_a_date(name) or any(_is_usual(name, role) for role in _TIMES)]
    free = [name for name in free if name not in dates]
    others = [name for name in free if not _NO_TAILS.fullmatch(_plain(name))]
    head = [*known.get("head", others[:1] or ["NAME"])]
    label = [*known.get("label", [name for name in free if name not in head and _labels(name, head[0])][:1])]
    others = [name for name in others if name not in head + label]
    relation, tails = [*known.get("relation", ())], [*known.get("tail", ())]
    if not relation and others and len(others) + len(tails) == 2:
        at = [names.index(name) for name in (*head, others[0], *tails)]
        is_between = bool(tails) and at == sorted(at)
        if is_between or _RELATION_WORDS.fullmatch((_words(others[0]) or [""])[-1]):
            relation.append(others.pop(0))
    tails = tails or others[: 1 if relation else 2] or ["NAME"]
    found = {"head": head, "label": label, "relation": relation, "tail": tails} | _suggested_times(dates, known)
    return [(role, name) for role, each in found.items() for name in each]


def _suggested_times(dates: Sequence[str], known: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    found = {role: known[role] for role in (*_TIMES, "role") if role in known}
    open_ends = [role for role in _FROM_TO if role not in known]
    if "time" in known or not dates:
        return found
    if len(dates) == 1 and len(open_ends) == 2:
        return {next((role for role in _TIMES if _is_usual(dates[0], role)), "time"): dates}
    first = sorted(dates[: len(open_ends)], key=lambda name: bool(_END_WORDS.search(name.lower())))
    found |= {role: [name] for role, name in zip(open_ends, first, strict=False)}
    return {role: found[role] for role in _FROM_TO if role in found}


def _labels(name: str, head: str) -> bool:
    """Whether a column may hold the label of the head: not one that is called the label of something else."""
    plain = _plain(name)
    return plain in ("label", f"{_plain(head)}label") or (_is_usual(name, "label") and not plain.endswith("label"))


def _is_usual(name: str, role: str) -> bool:
    return _plain(name) in _USUAL[role].split()


def columns_option(pairs: Sequence[tuple[str, str]]) -> str:
    """The option for columns given as (role, name), ready for a shell.

    >>> columns_option([("id", "qid"), ("date", "born on")])
    "--columns 'id=qid,date=born on'"
    """
    text = ",".join(f"{role}={in_quotes(name)}" for role, name in pairs)
    is_plain = re.fullmatch(r"[\w=,.-]+", text)
    return f"--columns {text if is_plain else shlex.quote(text)}"


def in_quotes(name: str) -> str:
    """A name as ``--columns`` takes it: in double quotes where it holds a comma.

    >>> in_quotes("born"), in_quotes("born, or baptised")
    ('born', '"born, or baptised"')
    """
    name = name[:200]
    return '"' + name.replace('"', '""') + '"' if "," in name or re.match(r'=?\s*"', name) else name


def listed(names: Sequence[str]) -> str:
    """Names in quotes, the first twelve of them."""
    shown = ", ".join(repr(name[:40]) for name in names[:12])
    return shown + (f" and {len(names) - 12} more" if len(names) > 12 else "")


def _plain(name: str) -> str:
    return re.sub(r"[\W_]", "", name.lower())
