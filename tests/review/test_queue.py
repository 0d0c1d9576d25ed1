"""The queue and what a pair shows: planted cases whose answer is known."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse as sp

from conftest import lives
from dualmatch import TemporalGraph, align
from dualmatch.decode.forbidden import Forbidden
from dualmatch.decode.verdicts import Verdict
from dualmatch.explain.basis import ExplanationBasis, basis_of
from dualmatch.links.decisions import DecisionLog
from dualmatch.links.opinions import ReviewVerdict
from dualmatch.methods.evidence.confidence import Confidence
from dualmatch.methods.evidence.state import Model, RoundState
from dualmatch.review.filter import NOT_MINE, Filter
from dualmatch.review.pair_view import (
    MOST_FOLDED,
    MOST_ROWS,
    all_facts,
    candidates_of,
    pair_view,
    timeline,
)
from dualmatch.review.queue import VERDICTS, Tab, queue_of
from dualmatch.review.realign import changes_between, decided, free_name
from dualmatch.review.session import Session, TabCount
from dualmatch.runs.companion import read_run


def basis_with(facts: list[tuple[str, str, str]], probability: dict[str, float], **more: object) -> ExplanationBasis:
    """A graph against itself, each entity its own only candidate, as likely as given; above one half it is linked."""
    graph = TemporalGraph.from_facts(facts)
    sure = np.array([probability[name] for name in graph.entities])
    linked = np.flatnonzero(sure > 0.5)
    rows, shape = np.arange(len(sure)), (len(sure), len(sure))
    state = RoundState.of_pairs(
        rows, rows, np.log(sure / (1 - sure)), shape, Model.of_sizes(*[2 * graph.n_relations] * 2)
    )
    return ExplanationBasis(
        graph,
        graph,
        state,
        Confidence.as_they_are(),
        sp.csr_array(np.diag(sure)),
        np.stack([linked, linked], axis=1),
        sure[linked],
        np.zeros(len(linked), dtype=bool),
        **more,  # type: ignore[arg-type]
    )


def first_of(basis: ExplanationBasis) -> list[str]:
    return [basis.source.entities[row] for row in queue_of(basis).order.tolist()]


def test_the_doubtful_come_before_the_sure() -> None:
    facts = [(f"hub {name}", "knows", f"friend {n} of {name}") for name in ("sure", "doubtful") for n in range(4)]
    chance = {name: 0.999 for fact in facts for name in fact[::2]}
    order = first_of(basis_with(facts, {**chance, "hub doubtful": 0.55}))
    assert order[0] == "hub doubtful"
    assert order.index("friend 0 of sure") < order.index("friend 0 of doubtful")  # which rests on a doubtful hub


def test_of_those_without_a_likely_candidate_the_influential_come_first() -> None:
    facts = [("hub", f"r{n}", f"open {n}") for n in range(5)] + [("end", "r0", "settled")]
    chance = {"hub": 0.01, "end": 0.01, "settled": 0.999, **{f"open {n}": 0.01 for n in range(5)}}
    queue = queue_of(basis_with(facts, chance))
    order = [queue.basis.source.entities[row] for row in queue.tabs[Tab.PARTNER].tolist()]
    assert order[0] == "hub"
    assert order[-1] == "end"
    assert {*order} == {*chance} - {"settled"}


def test_an_open_entity_of_many_kinds_of_facts_comes_before_one_of_many_facts_of_a_kind() -> None:
    """One of many facts of a kind hardly tells a neighbour apart."""
    facts = [("varied", f"r{n}", f"a{n}") for n in range(4)] + [("many", "r0", f"b{n}") for n in range(4)]
    queue = queue_of(basis_with(facts, {name: 0.01 for fact in facts for name in fact[::2]}))
    order = [queue.basis.source.entities[row] for row in queue.tabs[Tab.PARTNER].tolist()]
    assert order.index("varied") < order.index("many")


def test_what_is_certain_comes_last() -> None:
    source, target = lives()
    basis = basis_of(align(source, target, [("Ada", "Q1")], forbid=[("Loner", None)]))
    queue = queue_of(basis)
    certain = [source.entity_rows[name] for name in ("Ada", "Loner")]
    assert set(queue.order[-2:].tolist()) == {*certain}
    assert not {*certain} & {row for tab in (Tab.DOUBTFUL, Tab.PARTNER) for row in queue.tabs[tab].tolist()}
    assert queue.proposed[source.entity_rows["Ada"]] == target.entity_rows["Q1"]
    assert queue.proposed[source.entity_rows["Nobody"]] == -1


def test_the_undecided_come_before_those_without_a_match() -> None:
    """Of two entities alike but for the verdict, the one that is said to have no match is hardly in doubt."""
    facts = [(f"hub {name}", f"r{n}", f"friend {n} of {name}") for name in ("no match", "open") for n in range(4)]
    chance = {name: 0.4 for fact in facts for name in fact[::2]}
    basis = basis_with(facts, {**chance, "hub no match": 0.01, "hub open": 0.01})
    hubs = [basis.source.entity_rows[f"hub {name}"] for name in ("no match", "open")]
    assert queue_of(basis).teaches[hubs[0]] == queue_of(basis).teaches[hubs[1]]
    alone = np.where(np.arange(basis.source.n_entities) == hubs[0], 0.98, 0.5)
    state = replace(basis.state, alone=(alone, basis.state.alone[1]))
    trial = Confidence(basis.trial.pairs, np.array([0.0, 1.0]))
    queue = queue_of(replace(basis, state=state, trial=trial))
    assert [VERDICTS[queue.verdict[row]] for row in hubs] == [Verdict.NO_MATCH, Verdict.UNDECIDED]
    assert queue.teaches[hubs[0]] < 0.1 * queue.teaches[hubs[1]]


def test_search_by_name_id_and_partner() -> None:
    basis = replace(basis_of(align(*lives())), source_ids=np.arange(100, 100 + lives()[0].n_entities))
    queue = queue_of(basis)
    names = basis.source.entities

    def found(text: str) -> set[str]:
        return {names[row] for row in np.flatnonzero(queue.search(text)).tolist()}

    assert found("ADA") == {"Ada"}
    assert found("Q2") == {"Charles"}
    assert found("103") == {names[3]}
    assert found("nobody at all") == set()
    targets = [basis.target.entities[row] for row in queue.targets("q1", 5)]
    assert targets[:2] == ["Q1", "Q10"]


def test_a_pair_shows_what_matches_what() -> None:
    source, target = lives()
    basis = basis_of(align(source, target))
    view = pair_view(basis, source.entity_rows["Ada"], target.entity_rows["Q1"])
    matching = {
        (row.left.fact.relation, row.left.fact.other, row.right.fact.relation, row.right.fact.other)
        for row in view.rows
    }
    assert matching == {("met", "Charles", "P1", "Q2"), ("lived in", "London", "P2", "Q3")}
    assert [row.number for row in view.rows] == [1, 2]
    steps = [row.weight or 0.0 for row in view.first_rows] + [value for _, value in view.balance.in_words()]
    assert sum(steps) == pytest.approx(view.log_odds, abs=0.02)  # what is not shown is less than 0.005 each
    assert len(view.bars) == len(steps) + 1
    assert view.log_odds == pytest.approx(_log_odds_of_confidence(basis, "Ada"))
    charles, q2 = source.entity_rows["Charles"], target.entity_rows["Q2"]
    neighbours = {(row.left.row, row.right.row, row.right.partner) for row in view.rows}
    assert (charles, q2, charles) in neighbours  # where links to their own pair lead
    drawn = timeline(view)
    assert drawn is not None
    assert drawn.count('class="join"') == 2 * 2  # for wide screens, and for narrow ones
    assert ". met → Charles<" in drawn
    assert "style=" not in drawn


def test_a_match_that_is_dated_on_one_side_is_on_the_timeline() -> None:
    facts = [("Ada", "met", "Ben", "1813"), ("Ben", "met", "Cleo", "1820"), ("Cleo", "met", "Dora", "1830")]
    there = [fact[:3] if fact[0] == "Ada" else fact for fact in facts]
    known = [("Ben", "Ben"), ("Cleo", "Cleo"), ("Dora", "Dora")]
    for source, target, side in ((facts, there, "target"), (there, facts, "source")):
        view = pair_view(basis_of(align(*map(TemporalGraph.from_facts, (source, target)), known)), 0, 0)
        drawn = timeline(view)
        assert drawn is not None
        assert len(re.findall(r">\d\. met → Ben<", drawn)) == 2
        assert drawn.count(f">no time given in the {side}<") == 2  # for wide screens, and for narrow ones
        assert "only one has it" not in drawn


def _log_odds_of_confidence(basis: ExplanationBasis, name: str) -> float:
    (at,) = np.flatnonzero(basis.pairs[:, 0] == basis.source.entity_rows[name])
    confidence = float(basis.confidence[at])
    return float(np.log(confidence) - np.log1p(-confidence))


def test_an_entity_alone_and_one_without_times() -> None:
    source, target = lives()
    basis = basis_of(align(source, target))
    alone = pair_view(basis, source.entity_rows["Nobody"], None)
    assert (alone.rows, alone.only_source, alone.only_target, alone.log_odds, timeline(alone)) == (
        (),
        (),
        (),
        0.0,
        None,
    )
    loner = pair_view(basis, source.entity_rows["Loner"], target.entity_rows["Q1"])
    assert not loner.rows
    assert len(loner.only_source) == 1
    assert candidates_of(basis, source.entity_rows["Nobody"]) == []
    twin = candidates_of(basis, source.entity_rows["Twin"])
    assert {"Q8", "Q10"} <= {line.name.name for line in twin}
    assert [line.probability for line in twin] == sorted((line.probability for line in twin), reverse=True)


def test_every_match_of_a_hub_is_marked_and_can_be_opened() -> None:
    facts = [("hub", "knows", f"friend {n}", f"{1000 + n}") for n in range(300)]
    graph = TemporalGraph.from_facts([*facts, *(("hub", "met", f"friend {n}", f"{1000 + n}") for n in range(300))])
    more = TemporalGraph.from_facts([*facts, ("hub", "knows", "stranger", "1700")])
    basis = basis_of(align(graph, more))
    view = pair_view(basis, 0, 0)
    assert len(view.first_rows) == MOST_ROWS
    assert len(view.folded_rows) == MOST_FOLDED
    assert view.n_folded + len(view.first_rows) == 300
    assert len(view.only_source) + view.more_source == 300  # the same friends, met
    assert [fact.fact.other for fact in view.only_target] == ["stranger"]
    shown = sum(row.weight or 0.0 for row in view.first_rows)
    assert shown + view.rest + view.balance.total == pytest.approx(view.log_odds)
    rows, total = all_facts(basis, 0, 0, "matching", 250, 100)
    assert (len(rows), total) == (50, 300)
    alone, total = all_facts(basis, 0, 0, "source", 0, 1000)
    assert (len(alone), total) == (300, 300)


def test_what_tells_candidates_apart() -> None:
    source, target = lives()
    basis = basis_of(align(source, target))
    twin, one, other, ada = (
        *(source.entity_rows["Twin"],),
        *(target.entity_rows[name] for name in ("Q8", "Q10", "Q1")),
    )
    tied = {each.row: each for each in pair_view(basis, twin, one).candidates}
    assert tied[one].share == tied[other].share == 1.0
    assert tied[other].apart == ()  # nothing does
    against_ada = pair_view(basis, twin, ada).candidates
    assert [(each.how, str(each.fact), each.weight > 0) for line in against_ada for each in line.apart] == [
        ("has", "saw → Comet, in 1758", True)
    ] * 2
    echo = pair_view(basis, source.entity_rows["Echo"], one).candidates
    assert all(0.0 <= each.share <= 1.0 for each in echo)


@pytest.fixture
def log(links: Path) -> Iterator[DecisionLog]:
    with closing(DecisionLog.open(links.with_name("d.db"), reviewer="ada")) as log:
        yield log


def test_filters_and_what_comes_next(links: Path, log: DecisionLog) -> None:
    session = Session(links, read_run(links), log)
    queue, names = session.queue, session.run.basis.source.entities
    every = session.rows(Filter(tab="all"))
    assert len(every) == len(names)
    assert np.array_equal(every, queue.order)
    outcomes = {verdict: session.rows(Filter(tab="all", outcome=verdict)) for verdict in Verdict}
    assert sorted(np.concatenate(list(outcomes.values())).tolist()) == sorted(every.tolist())
    none = session.run.basis.unlinked
    assert set(outcomes[Verdict.LINKED].tolist()) == set(session.run.basis.pairs[:, 0].tolist())
    assert set(outcomes[Verdict.NO_MATCH].tolist()) == set(none.row[none.is_no_match].tolist())
    assert all(len(rows) for rows in outcomes.values())
    parts = [session.rows(Filter(tab="all", low=low, high=high)) for low, high in ((0, 50), (50, 90), (90, 100))]
    assert sorted(np.concatenate(parts).tolist()) == sorted(every.tolist())
    assert session.histogram(Filter(tab="all", low=50, high=60)).sum() == len(names)
    relation = session.common_relations[0]
    graph = session.run.basis.source
    has = {row for row in range(len(names)) if _has(graph, row, relation)}
    assert set(session.rows(Filter(tab="all", relation=relation)).tolist()) == has
    assert len(session.rows(Filter(tab="all", relation="no such"))) == 0
    first, second = every[:2].tolist()
    assert session.after(first, Filter(tab="all")) == second
    session.log.decide(ReviewVerdict.SKIP, names[second], None, 0)
    session.log.decide(ReviewVerdict.NO_MATCH, names[every[5]], None, 0)
    assert session.after(first, Filter(tab="all")) == every[2]
    assert session.before(int(every[2]), Filter(tab="all")) == second  # though it is decided
    assert session.before(first, Filter(tab="all")) is None
    assert session.rows(Filter(tab="all", status="skipped")).tolist() == [second]
    assert second not in session.rows(Filter(tab="all", status=NOT_MINE))
    assert session.after(int(every[-1]), Filter(tab="all")) == first
    assert session.after(second, Filter(tab="all", status="skipped")) is None
    (counted,) = [each for each in session.counts() if each.tab is Tab.ALL]
    assert counted == TabCount(Tab.ALL, open=len(names) - 2, decided=1, skipped=1, total=len(names))


def _has(graph: TemporalGraph, row: int, relation: str) -> bool:
    kind = graph.relations.index(relation)
    return any(kind == r and row in (h, t) for h, r, t in zip(graph.head, graph.relation, graph.tail, strict=True))


@pytest.mark.parametrize(
    "query",
    [
        {},
        {"q": "a&b=c", "status": "all"},
        {"tab": "spot", "outcome": "no match", "low": "5", "high": "35", "relation": "ö <"},
    ],
)
def test_a_filter_survives_an_address(query: dict[str, str]) -> None:
    from urllib.parse import parse_qsl

    wanted = Filter.of(query)
    assert Filter.of(dict(parse_qsl(wanted.query))) == wanted


def test_a_filter_passes_over_what_cannot_be() -> None:
    odd = {"tab": "none", "low": "90", "high": "10", "outcome": "maybe", "status": "<b>", "q": "x" * 10_000}
    assert Filter.of(odd) == Filter(q="x" * 200)


def test_decisions_win_over_the_seeds_of_the_first_run(tmp_path: Path) -> None:
    source, target = lives()
    basis = basis_of(align(source, target, [("Ada", "Q1"), ("Mary", "Q5")], forbid=[("Percy", "Q7"), ("Echo", None)]))
    log = DecisionLog.open(tmp_path / "d.db")
    log.decide(ReviewVerdict.REJECT, "Ada", "Q1", 0)
    log.decide(ReviewVerdict.ACCEPT, "Echo", "Q10", 0)
    log.decide(ReviewVerdict.NO_MATCH, "Rome", None, 0)
    log.decide(ReviewVerdict.ACCEPT, "stranger", "Q9", 0)
    seeds, forbidden = decided(basis, log.state)
    log.close()
    assert seeds == [("Echo", "Q10"), ("Mary", "Q5")]
    assert sorted(forbidden, key=str) == [("Ada", "Q1"), ("Percy", "Q7"), ("Rome", None)]
    again = align(source, target, seeds, forbid=forbidden)
    changes = {source.entities[each.source]: each for each in changes_between(basis, basis_of(again))}
    assert (changes["Ada"].kind, changes["Ada"].is_rejected) in (("lost", True), ("other partner", True))
    assert (changes["Echo"].kind, changes["Echo"].by_decision) == ("new", True)


def test_changes_name_their_cause() -> None:
    chance = {"a": 0.9, "b": 0.9, "c": 0.9, "d": 0.9, "e": 0.2}
    before = basis_with([(name, "near", other) for name, other in pairwise("abcde")], chance)
    after = replace(
        before,
        pairs=np.array([[1, 4], [3, 3], [4, 0]]),
        confidence=np.array([0.6, 1.0, 1.0]),
        is_seed=np.array([False, False, True]),
        forbidden=Forbidden(np.array([[0, 0], [1, 1]])),
    )
    changes = {change.source: change for change in changes_between(before, after)}
    assert {source: change.why for source, change in changes.items()} == {
        0: "decided",  # rejected, and nothing else was found
        1: "the old one was rejected",  # but nobody decided on what was found instead
        2: "lost",
        4: "decided",
    }
    assert [*changes] == [1, 2, 4, 0]  # what the run found itself comes first
    assert [changes[source].confidence for source in (0, 1, 2, 4)] == [None, 0.6, None, 1.0]


def test_a_free_name_is_free(tmp_path: Path) -> None:
    links = tmp_path / "links.tsv"
    assert free_name(links).name == "links.reviewed.tsv"
    (tmp_path / "links.reviewed.tsv.run.json").write_text("mine")
    assert free_name(links).name == "links.reviewed-2.tsv"
    assert free_name(tmp_path / "links").name == "links.reviewed"
