"""The W3C's tests of RDF syntax: every sound file gives the facts of its expected result, and no other is read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyoxigraph import Literal, NamedNode, RdfFormat, Store, Triple, parse

from dualmatch import InputError
from dualmatch.graph.model import TemporalGraph
from dualmatch.readers.rdf import quads
from dualmatch.readers.read import read_graph

TESTS = Path(__file__).parents[3] / "shared" / "data" / "rdf-tests" / "rdf"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not TESTS.is_dir(), reason=f"the W3C's RDF tests are not in {TESTS}"),
]

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
MANIFEST = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
FORMATS = {
    "NTriples": ("ntriples", RdfFormat.N_TRIPLES),
    "NQuads": ("nquads", RdfFormat.N_QUADS),
    "Turtle": ("turtle", RdfFormat.TURTLE),
    "Trig": ("trig", RdfFormat.TRIG),
    "XML": ("rdfxml", RdfFormat.RDF_XML),
}
BY_ENDING = {".nt": RdfFormat.N_TRIPLES, ".nq": RdfFormat.N_QUADS}
Facts = Counter[tuple[str, str, str]]


@dataclass(frozen=True)
class Case:
    kind: str
    action: Path
    result: Path | None
    base: str

    @property
    def is_negative(self) -> bool:
        return "Negative" in self.kind

    @property
    def format(self) -> tuple[str, RdfFormat]:
        return next(value for name, value in FORMATS.items() if f"Test{name}" in self.kind)


def cases() -> list[Case]:
    return [case for manifest in sorted(TESTS.glob("**/manifest.ttl")) for case in cases_of(manifest)]


def cases_of(manifest: Path) -> Iterator[Case]:
    store = Store()
    store.extend(parse(path=manifest, format=RdfFormat.TURTLE, base_iri="file:///"))

    def value(subject: object, predicate: str) -> str | None:
        found = [quad.object.value for quad in store.quads_for_pattern(subject, NamedNode(predicate), None, None)]  # type: ignore[arg-type]
        return found[0] if found else None

    base = value(None, f"{MANIFEST}assumedTestBase")
    for quad in store.quads_for_pattern(None, NamedNode(f"{MANIFEST}action"), None, None):
        kind, result = value(quad.subject, f"{RDF}type"), value(quad.subject, f"{MANIFEST}result")
        local = quad.object.value.removeprefix("file:///")
        action, expected = (
            manifest.parent / name.removeprefix("file:///") if name else None for name in (local, result)
        )
        assert kind
        assert action
        yield Case(kind.rpartition("#")[2], action, expected, f"{base or 'http://example.org/'}{local}")


def expected_facts(case: Case) -> Facts:
    """Triples with a resource for an object; reified ones count, what is said of the node that reifies does not."""
    file = case.result if case.result and case.result.suffix in BY_ENDING else case.action
    format = BY_ENDING.get(file.suffix, case.format[1])
    triples = {quad.triple for quad in parse(path=file, format=format, base_iri=case.base)}
    parts: dict[object, dict[str, object]] = {}
    facts = set()
    for triple in triples:
        predicate, object_ = triple.predicate.value, triple.object
        if predicate == f"{RDF}reifies" and isinstance(object_, Triple):
            parts.setdefault(triple.subject, {})
            if not isinstance(object_.object, Triple):
                facts.add(object_)
        elif predicate in (f"{RDF}subject", f"{RDF}predicate", f"{RDF}object") and not isinstance(object_, Literal):
            parts.setdefault(triple.subject, {})[predicate.removeprefix(RDF)] = object_
    for reified in parts.values():
        if len(reified) == 3:
            facts.add(Triple(reified["subject"], reified["predicate"], reified["object"]))  # type: ignore[arg-type]
    facts |= {triple for triple in triples if triple.subject not in parts}
    with_resource = [triple for triple in facts if not isinstance(triple.object, Literal | Triple)]
    return Counter((name_of(each.subject), each.predicate.value, name_of(each.object)) for each in with_resource)


def name_of(node: object) -> str:
    return node.value if isinstance(node, NamedNode) else "_:"


def facts_of(graph: TemporalGraph) -> Facts:
    """As `expected_facts`: without times, and with blank nodes alike."""
    entities = ["_:" if name.startswith("_:") else name for name in graph.entities]
    columns = (graph.head.tolist(), graph.relation.tolist(), graph.tail.tolist())
    facts = {(head, relation, tail) for head, relation, tail in zip(*columns, strict=True)}
    return Counter((entities[head], graph.relations[relation], entities[tail]) for head, relation, tail in facts)


def test_every_sound_file_gives_its_facts(monkeypatch: pytest.MonkeyPatch) -> None:
    sound = [case for case in cases() if not case.is_negative]
    assert len(sound) == 924
    wrong: dict[str, str] = {}
    for case in sound:
        monkeypatch.setattr(quads, "_BASE", case.base)
        found, expected = Counter(), expected_facts(case)
        try:
            found = facts_of(read_graph(case.action, format=case.format[0]))
        except InputError as error:
            if "no facts" not in str(error):
                wrong[case.action.name] = str(error)
        if found != expected:
            wrong[case.action.name] = f"not found: {expected - found}, not expected: {found - expected}"
    assert wrong == {}


def test_no_other_file_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    unsound = [case for case in cases() if case.is_negative]
    assert len(unsound) == 400
    for case in unsound:
        monkeypatch.setattr(quads, "_BASE", case.base)
        with pytest.raises(InputError) as caught:
            read_graph(case.action, format=case.format[0])
        assert "no facts" not in str(caught.value), case.action
        assert str(caught.value).startswith(str(case.action))
