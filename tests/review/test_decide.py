"""Ways to decide, on a planted run: tabs, spot checks, many at once, entangled pairs, reviewers, final links."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import refused
from dualmatch.charts.markup import chance
from dualmatch.cli.main import main
from dualmatch.links.decisions import ConflictError, DecisionLog, read_decisions
from dualmatch.links.opinions import ReviewVerdict
from dualmatch.links.read import read_links
from dualmatch.review.export import FINAL_LINKS, final_table
from dualmatch.review.filter import Filter
from dualmatch.review.queue import Tab
from dualmatch.review.serve import ReviewServer, login_name
from dualmatch.review.session import Session
from dualmatch.review.spot_check import ENOUGH, OPEN, PASSED, RIGHT, WRONG, SpotCheck, sample_order
from planted_review import ALONE, LIKELY, MAYBE, PAIR, SIZE, SURE, planted, reviewed
from reviewing import Client


@pytest.fixture
def review(tmp_path: Path) -> Iterator[tuple[Session, Client]]:
    with reviewed(tmp_path) as running:
        yield running


Review = tuple[Session, Client]


def test_tabs_and_their_counts(review: Review) -> None:
    session, client = review
    tabs = {tab: set(rows.tolist()) for tab, rows in session.queue.tabs.items()}
    assert tabs[Tab.DOUBTFUL] == set(range(SURE, PAIR + 2 + MAYBE))
    assert tabs[Tab.PARTNER] == set(range(SIZE - ALONE, SIZE))
    assert tabs[Tab.SPOT] == set(range(PAIR + 2))
    assert tabs[Tab.ALL] == set(range(SIZE))
    page = client.ask("/").text
    assert f"Doubtful: 0 of {LIKELY + 2 + MAYBE} decided" in page
    assert [int(each) for each in re.findall(r"<b>(\d+)</b><span class=\"unseen\"> open", page)] == [
        LIKELY + 2 + MAYBE,
        ALONE,
        PAIR + 2,
        SIZE,
    ]
    first = int(session.queue.tabs[Tab.DOUBTFUL][0])
    assert int(session.queue.tabs[Tab.ALL][0]) == first  # what is sure, or needs a search, comes later
    assert client.post("/decide", verdict="none", source=first, seen=0).status == 303
    assert f"Doubtful: 1 of {LIKELY + 2 + MAYBE} decided" in client.ask("/").text
    assert f"Find a partner: 0 of {ALONE} decided" in client.ask("/?tab=partner").text


def test_what_was_given_is_asked_nowhere(tmp_path: Path) -> None:
    with reviewed(tmp_path, seeds=PAIR) as (session, _):
        assert set(session.queue.tabs[Tab.SPOT].tolist()) == {PAIR, PAIR + 1}
        assert min(session.queue.tabs[Tab.DOUBTFUL].tolist()) == PAIR


def decisions_in(client: Client) -> list[dict[str, str]]:
    return [*csv.DictReader(io.StringIO(client.ask("/export/decisions.csv").body.decode("utf-8-sig")))]


def test_the_queue_says_how_likely_what_it_proposes_is(review: Review) -> None:
    session, client = review
    page = client.ask("/?tab=all&status=all").text
    assert '<th scope="col" class="number">chance of that</th>' in page
    cells = re.findall(r'/pair/(\d+)\?.*?<td class="number">([^<]*)</td>\s*<td>([^<]*)</td>', page, re.DOTALL)
    assert {words for *_, words in cells} >= {"linked", "undecided"}
    for row, words, _ in cells:
        proposed, likely = session.queue.proposed[int(row)], session.queue.probability[int(row)]
        assert words.replace("&lt;", "<").replace("&gt;", ">") == (chance(likely) if proposed >= 0 else "–")


def test_bars_are_links_and_choose(review: Review) -> None:
    _, client = review
    page = client.ask("/?tab=all").text
    bars = dict(re.findall(r'href="/\?([^"]*)" aria-label="([^"]*)"', page))
    assert len(bars) == 20
    assert sum(int(words.split(": ")[1].split()[0]) for words in bars.values()) == SIZE
    (address,) = [where for where, words in bars.items() if words.startswith("40 to")]
    chosen = client.ask("/?" + address.replace("&amp;", "&")).text
    assert f'<p id="count">{MAYBE} entities' in chosen
    assert "A chance of 40 to 45 %" in chosen
    assert '<p id="count">1 entity' in client.ask("/?tab=all&q=s07").text  # and plurals are right
    page = client.ask("/?q=s07").text
    assert "Nothing matches." in page
    assert '<a href="/?tab=all&amp;q=s07" id="elsewhere">1 entity in All matches</a>' in page
    assert "choose a bar" not in page  # there is none


def test_a_queue_that_is_done_leads_on(review: Review) -> None:
    session, client = review
    assert "Begin with the first" in client.ask("/").text
    rows = session.queue.tabs[Tab.DOUBTFUL].tolist()
    for row in rows:
        client.post("/decide", verdict="skip" if row == rows[-1] else "none", source=row, seen=0)
        assert ("Continue" in client.ask("/").text) == (row != rows[-1])
    page = client.ask("/").text
    assert f"Doubtful: {len(rows) - 1} of {len(rows)} decided, 1 skipped<" in page
    assert "Nothing in this tab is open any more." in page
    onwards = re.search(r'<ul[^>]* id="onwards">(.*?)</ul>', page, re.DOTALL)
    assert onwards is not None
    assert re.findall(r'href="([^"]*)">([^<]*)<', onwards[1]) == [
        ("/?status=all", f"Show all {len(rows)}"),
        ("/?status=skipped", "1 skipped"),
        ("/?tab=partner", "Next: Find a partner"),
        ("/again?", "Align again"),
    ]
    page = client.ask("/?q=zzzz").text
    assert "Nothing matches." in page
    assert '<a href="/?tab=doubtful">Without filters</a>' in page
    assert "Nothing that matches is open any more." in client.ask(f"/?q=s{rows[0]:02}").text


def test_tabs_count_what_their_lists_show(tmp_path: Path) -> None:
    """What is disputed is listed under Differences, and is not open."""
    with reviewed(tmp_path) as (session, ada), reviewed(tmp_path, "bob") as (_, bob):
        ada.post("/decide", accept=1, source=1, seen=0)
        bob.post("/decide", verdict="none", source=1, seen=1)
        assert len(session.log.state.disputed) == 1
        page = ada.ask("/?tab=all").text
        assert f'All <b>{SIZE - 1}</b><span class="unseen"> open' in page
        assert f'<p id="count">{SIZE - 1} entities' in page


@given(st.integers(0, 400), st.integers(0, 400))
def test_the_interval_is_wilsons(right: int, wrong: int) -> None:
    check = SpotCheck(1000, right, wrong)
    low, high = check.interval
    assert 0 <= low <= high <= 1
    if not check.checked:
        return
    assert low <= check.precision + 1e-12
    assert check.precision <= high + 1e-12
    for end in (low, high):  # both ends are as far from what was found as chance goes, 19 times out of 20
        if 0 < end < 1:
            far = 1.96 * np.sqrt(end * (1 - end) / check.checked)
            assert abs(check.precision - end) == pytest.approx(far, rel=1e-3)
    assert SpotCheck(1000, wrong, right).interval == pytest.approx((1 - high, 1 - low))


@given(st.lists(st.sampled_from([RIGHT, WRONG, PASSED, OPEN]), max_size=30))
def test_only_what_comes_before_the_first_unanswered_counts(answers: list[int]) -> None:
    check = SpotCheck.of(iter(answers), len(answers))
    counted = answers[: answers.index(OPEN)] if OPEN in answers else answers
    assert (check.right, check.wrong, check.passed) == tuple(counted.count(kind) for kind in (RIGHT, WRONG, PASSED))


def test_the_sample_depends_on_names_only() -> None:
    names = [f"e{n}" for n in range(300)]
    rows = np.arange(300)
    drawn = sample_order(names, names[::-1], rows)
    assert sorted(drawn.tolist()) == rows.tolist()
    assert not np.array_equal(drawn, rows)
    again = sample_order(names[::-1], names, rows[::-1])
    assert np.array_equal(drawn, again)
    halves = (drawn[:150] < 150).sum()
    assert 50 < halves < 100  # no half is preferred


def test_a_spot_check_measures_precision_and_unlocks_the_rest(review: Review) -> None:
    session, client = review
    links = PAIR + 2
    seen = re.compile(r'<form method="post" action="/accept">\s*<input type="hidden" name="seen" value="(\d+)"')
    assert client.post("/accept", seen=0, tab="spot").status == 409
    assert session.log.live() == []
    page = client.ask("/?tab=spot").text
    assert "Nothing is checked yet" in page
    assert 'id="accept-all" disabled' in page
    sample = session.queue.tabs[Tab.SPOT].tolist()
    for place, row in enumerate(sample[:ENOUGH]):
        if place == 3:
            client.post("/decide", verdict="skip", source=row, seen=0, tab="spot")
        elif place == 5:
            client.post("/decide", verdict="reject", source=row, target=row, seen=0, tab="spot")
        else:
            answer = client.post("/decide", accept=row, source=row, seen=0, tab="spot")
            assert answer.headers["location"] == f"/pair/{sample[place + 1]}?tab=spot"
    page = client.ask("/?tab=spot").text
    assert f"<b>{ENOUGH - 2} of {ENOUGH - 1}</b> checked links are right" in page
    assert "1 link skipped or disputed" in page
    assert "Check 1 more link of this set first." in page
    client.post("/decide", accept=sample[ENOUGH], source=sample[ENOUGH], seen=0, tab="spot")
    page = client.ask("/?tab=spot").text
    assert 'id="accept-all">' in page
    others = links - ENOUGH - 1
    most = round(others * (1 - SpotCheck(links, ENOUGH - 1, 1).interval[0]))
    assert f"About {round(others / ENOUGH)} of the other {others} may be wrong, up to {most} (95 % interval)." in page
    low, high = SpotCheck(links, ENOUGH - 1, 1).interval
    assert f"between <b>{low:.0%}".replace("%", " %") in page
    assert f"<b>{high:.0%}".replace("%", " %") in page
    (last,) = seen.findall(page)
    assert client.post("/accept", seen=int(last) - 1, tab="spot").status == 409  # something was decided since
    assert client.post("/accept", seen=last, tab="spot").headers["location"] == "/?tab=spot"
    accepted = session.log.state.accepted
    assert len(accepted) == links - 2
    rows = [row for row in session.log.live() if row.batch is not None]
    assert len(rows) == links - ENOUGH - 1
    assert {row.note for row in rows} == {f"accepted at once (all links); {ENOUGH - 1} of {ENOUGH} checked were right"}
    history = client.ask("/history").text
    assert f"{len(rows)} pairs accepted at once" in history
    assert history.count("<tr") == ENOUGH + 1 + 1 + 1  # one line for all of them, and the head
    assert re.search(rf"<td>several</td>\s*<td>{len(rows)} pairs accepted at once</td>", history)  # and no name
    assert f">Last: {len(rows)} pairs accepted at once<" in history
    assert client.post("/undo", seen=rows[3].id, tab="spot").headers["location"] == "/?tab=spot"
    assert len(session.log.state.accepted) == ENOUGH - 1


def test_a_check_of_one_set_does_not_unlock_another(review: Review) -> None:
    session, client = review
    sure = Filter(tab="spot", low=95)
    for row in session.rows(sure)[:ENOUGH].tolist():
        client.post("/decide", accept=row, source=row, seen=0)
    last = session.log.state.last
    assert client.post("/accept", seen=last, tab="spot", low=60, high=95).status == 409
    assert client.post("/accept", seen=last, tab="spot", low=95).status == 303
    assert len(session.log.state.accepted) == SURE


def test_what_was_accepted_at_once_is_no_answer(review: Review) -> None:
    session, client = review
    sure, every = Filter(tab="spot", low=95), Filter(tab="spot")
    sample = session.rows(sure).tolist()
    for row in sample[:ENOUGH]:
        client.post("/decide", accept=row, source=row, seen=0)
    before = session.spot_check(sure), session.spot_check(every)
    assert before[0] == SpotCheck(SURE, right=ENOUGH)
    assert client.post("/accept", seen=session.log.state.last, tab="spot", low=95).status == 303
    assert (session.spot_check(sure), session.spot_check(every)) == before
    assert session.open_links(sure).tolist() == []
    page = client.ask("/?tab=spot&low=95").text
    assert f"{SURE - ENOUGH} links here were accepted at once" in page
    assert "tab=spot&amp;low=95&amp;status=not+looked+at" in page
    left = {"tab": "spot", "low": 95, "status": "not looked at"}  # the sample can be continued with them
    assert session.rows(Filter.of({name: str(each) for name, each in left.items()})).tolist() == sample[ENOUGH:]
    steps = ({"accept": sample[ENOUGH]}, {"verdict": "skip"}, {"verdict": "none"})
    for place, answer in enumerate(steps, ENOUGH):
        row = sample[place]
        last = session.log.state.of(f"s{row:02}").last
        after = client.post("/decide", **answer, source=row, seen=last, **left).headers["location"]
        assert after.startswith(f"/pair/{sample[place + 1]}?")
    assert session.spot_check(sure) == SpotCheck(SURE, right=ENOUGH + 1, wrong=1, passed=1)


def test_what_nobody_looked_at_is_not_exported_as_curated(review: Review, tmp_path: Path) -> None:
    session, client = review
    sample = session.rows(Filter(tab="spot", low=95)).tolist()
    for row in sample[:ENOUGH]:
        client.post("/decide", accept=row, source=row, seen=0)
    client.post("/accept", seen=session.log.state.last, tab="spot", low=95)
    plan = f"<dt>Accepted</dt><dd>{ENOUGH} looked at, {SURE - ENOUGH} at once</dd>"
    assert plan in client.ask("/again").text
    seen = {f"s{row:02}" for row in sample[:ENOUGH]}
    assert {row["source"] for row in decisions_in(client) if row["at_once"] == "no"} == seen
    assert {row["at_once"] for row in decisions_in(client)} == {"yes", "no"}

    def check() -> None:
        final = pl.read_csv(client.ask("/export/final.csv").body).filter(pl.col("source") < f"s{SURE:02}")
        assert final.select("source", "confidence", "method").rows() == [
            (name, 1.0, "review") if name in seen else (name, 0.999, "evidence") for name in final["source"]
        ]
        lines = [line for line in client.ask("/export/decisions.sssom.tsv").text.splitlines() if line[0] != "#"]
        table = pl.read_csv("\n".join(lines).encode(), separator="\t").sort("subject_id")
        assert table.select(
            pl.col("subject_id").str.strip_prefix("source:"), "mapping_justification", "confidence"
        ).rows() == [
            (f"s{row:02}", "semapv:ManualMappingCuration", 1.0)
            if f"s{row:02}" in seen
            else (f"s{row:02}", "semapv:StructuralMatching", 0.999)
            for row in range(SURE)
        ]

    check()
    session.look_at(replace(session.run, basis=planted(seeds=SURE)))  # a new run had them as seeds
    check()


def test_a_check_asks_for_no_more_than_there_is_and_says_no_more_than_it_knows(review: Review) -> None:
    session, client = review
    assert "check 2 more links of this set" in client.post("/accept", seen=0, tab="spot", low=50, high=55).text
    assert "no link is in this set" in client.post("/accept", seen=0, tab="spot", q="nobody").text
    page = client.ask("/?tab=spot&low=50&high=55").text
    assert "Check 2 more links of this set first." in page
    assert "square-root scale" in page
    client.post("/decide", verdict="skip", source=PAIR, seen=0)
    client.post("/decide", verdict="skip", source=PAIR + 1, seen=0)
    assert session.spot_check(Filter(tab="spot", low=50, high=55)) == SpotCheck(2, passed=2)
    for row in session.rows(Filter(tab="spot", low=95))[:ENOUGH].tolist():
        client.post("/decide", accept=row, source=row, seen=0)
    page = client.ask("/?tab=spot&low=95").text
    most = round((SURE - ENOUGH) * (1 - SpotCheck(SURE, ENOUGH).interval[0]))
    words = (
        f"None of the {ENOUGH} checked was wrong; of the other {SURE - ENOUGH}, up to {most} may be (95 % interval)."
    )
    assert words in page
    assert re.search(r'cx="640(\.0)?"', page)
    assert 'viewBox="-6 0 652 32"' in page  # so that the dot there is whole


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 40), st.integers(0, 40))
def test_checking_what_is_missing_is_enough(right: int, wrong: int, passed: int, left: int) -> None:
    check = SpotCheck(right + wrong + passed + left, right, wrong, passed)
    assert check.missing <= left
    if check.links:
        assert replace(check, right=right + check.missing).is_enough
        assert not check.missing or not replace(check, right=right + check.missing - 1).is_enough


@pytest.mark.parametrize("path", ["/pair/3?tab=spot&low=95", "/facts/3?tab=spot&low=95&show=3"])
def test_neighbours_keep_tab_and_filter(review: Review, path: str) -> None:
    _, client = review
    links = re.findall(
        r'<td role="cell" class="(?:here|there)">.*?href="/pair/\d+\?([^"]*)"', client.ask(path).text, re.S
    )
    assert links
    assert all(each.startswith("tab=spot&amp;low=95") for each in links)


def test_two_entangled_pairs_were_looked_at(review: Review) -> None:
    session, client = review
    client.post("/both", source=PAIR, seen=0, way="proposed")
    assert session.spot_check(Filter(tab="spot", low=50, high=55)) == SpotCheck(2, right=2)


def test_rejecting_offers_the_next_candidate(review: Review) -> None:
    session, client = review
    row = SURE
    answer = client.post("/decide", verdict="reject", source=row, target=row, seen=0)
    assert answer.headers["location"] == f"/pair/{row}?show={row + 1}"
    page = client.ask(answer.headers["location"]).text
    assert "Is it this one?" in page
    seen = session.log.state.of(f"s{row:02}").last
    answer = client.post("/decide", verdict="reject", source=row, target=row + 1, seen=seen)
    assert re.match(r"/pair/\d+$", answer.headers["location"])  # no candidate is left
    assert f"/pair/{row}" != answer.headers["location"]
    assert session.log.state.of(f"s{row:02}").rejected == {f"q{row:02}", f"q{row + 1:02}"}


def test_a_note_and_who_wrote_it(review: Review) -> None:
    session, client = review
    client.post("/decide", verdict="none", source=0, seen=0, note="<b>was a ship</b>")
    (row,) = session.log.live()
    assert (row.reviewer, row.note) == ("ada", "<b>was a ship</b>")
    page = client.ask("/history").text
    assert "&lt;b&gt;was a ship&lt;/b&gt;" in page
    assert "You decide as <b><bdi>ada" in page
    assert "ada,<b>was a ship</b>" in client.ask("/export/decisions.csv").text


def test_a_proposal_that_was_accepted_for_another_gives_way_to_the_next(review: Review) -> None:
    session, client = review
    (found,) = [row for row, _ in session.also_proposed(PAIR, PAIR + 1)]
    assert found == PAIR + 1
    assert (
        f'Also the best candidate of <a href="/pair/{PAIR + 1}?">' in client.ask(f"/pair/{PAIR}?show={PAIR + 1}").text
    )
    assert client.post("/decide", accept=PAIR + 1, source=PAIR, seen=0).status == 303
    page = client.ask(f"/pair/{PAIR + 1}").text
    assert "That one was accepted for another entity" in page
    assert f'name="target" value="{PAIR}"' in page  # which is likely enough by now
    assert "Also the best candidate" not in page
    (row,) = re.findall(rf"/pair/{PAIR + 1}\?.*?</tr>", client.ask("/").text, re.DOTALL)
    assert "accepted for another" in row
    assert client.ask("/").text.count("accepted for another") == 1
    page = client.ask(f"/pair/{PAIR + 1}?show={PAIR + 1}").text
    assert f'It was accepted for <bdi class="name">s{PAIR}</bdi>' in page


def test_entangled_pairs_are_settled_by_one_answer(review: Review) -> None:
    session, client = review
    found = session.entangled(PAIR)
    assert found is not None
    assert (found.other_source, found.other_target) == (PAIR + 1, PAIR + 1)
    assert session.entangled(0) is None
    page = client.ask(f"/pair/{PAIR}").text
    assert "one answer settles both" in page
    form = {"source": PAIR, "seen": 0}
    assert client.post("/both", **form, way="perhaps").status == 400
    assert client.post("/both", source=0, seen=0, way="swapped").status == 409
    assert client.post("/both", **form, way="swapped").status == 303
    assert session.log.state.accepted == [(f"s{PAIR}", f"q{PAIR + 1}"), (f"s{PAIR + 1}", f"q{PAIR}")]
    assert "one answer settles both" not in client.ask(f"/pair/{PAIR}").text
    assert ">Last: 2 pairs accepted together<" in client.ask("/").text
    (line,) = re.findall(r"<td>(<a href.*?)</td>\s*<td>2 pairs accepted together", client.ask("/history").text)
    assert re.findall(r">(s\d+)<", line) == [f"s{PAIR}", f"s{PAIR + 1}"]
    assert {row["at_once"] for row in decisions_in(client)} == {"no"}  # both were looked at
    client.post("/undo", seen=session.log.live()[-1].id)
    assert session.log.state.accepted == []
    last = session.log.state.last
    assert client.post("/both", source=PAIR, seen=last, way="proposed").status == 303
    assert session.log.state.accepted == [(f"s{PAIR}", f"q{PAIR}"), (f"s{PAIR + 1}", f"q{PAIR + 1}")]


def test_both_or_none(review: Review) -> None:
    session, client = review
    client.post("/decide", accept=PAIR + 1, source=0, seen=0)  # one of the targets is gone
    assert client.post("/both", source=PAIR, seen=session.log.state.last, way="proposed").status == 409
    assert len(session.log.live()) == 1


def test_history_undoes_any_row(review: Review) -> None:
    session, client = review
    for row in range(3):
        client.post("/decide", verdict="none", source=row, seen=0)
    page = client.ask("/history").text
    assert re.findall(r'aria-label="Undo decision (\d+)"', page) == ["3", "2", "1"]
    assert client.post("/undo", seen=2, to="history").headers["location"] == "/history"
    assert [row.source for row in session.log.live()] == ["s00", "s02"]
    page = client.ask("/history").text
    assert page.count('class="undone"') == 1
    assert re.findall(r'aria-label="Undo decision (\d+)"', page) == ["3", "1"]
    assert client.post("/undo", seen=2, to="history").status == 409


def test_reviewers_differ_and_settle_it(tmp_path: Path) -> None:
    with reviewed(tmp_path) as (_, ada), reviewed(tmp_path, "bob") as (session, bob):
        ada.post("/decide", accept=1, source=1, seen=0)
        assert "Differences" not in ada.ask("/").text
        page = bob.ask("/pair/1?status=all").text
        assert "Decided: accepted as" in page
        assert "<bdi>ada</bdi>" in page
        assert f'id="count">{SIZE - 1} entities' in bob.ask("/?tab=all").text
        assert f'id="count">{SIZE} entities' in bob.ask("/?tab=all&status=not+by+me").text
        (seen,) = re.findall(r'name="target" value="1">\s*<input type="hidden" name="seen" value="(\d+)"', page)
        bob.post("/decide", verdict="none", source=1, seen=seen)
        page = ada.ask("/differences").text
        assert "1 entity." in page
        for words in ("<bdi>ada</bdi>: accepted as", "<bdi>bob</bdi>: no match"):
            assert words in page
        assert "Reviewers differ." in ada.ask("/pair/1?status=all").text
        plan = ada.ask("/again").text
        assert "<dt>Left out</dt><dd>1 entity that" in plan
        assert '<button id="start" data-key="Enter" disabled>' in plan
        assert session.log.state.accepted == session.log.state.forbidden == []
        bob.post("/decide", accept=1, source=1, seen=session.log.state.of("s01").last)
        assert session.log.state.accepted == [("s01", "q01")]
        assert "0 entities" in ada.ask("/differences").text


def test_align_again_says_what_it_takes_in(tmp_path: Path) -> None:
    with reviewed(tmp_path, seeds=2) as (session, client):
        page = client.ask("/again").text
        assert "Accept or reject a pair first." in page
        assert "<dd>as long as the first one</dd>" in page
        client.post("/decide", accept=3, source=3, seen=0)
        client.post("/decide", verdict="reject", source=4, target=4, seen=0)
        for row in (5, 6):
            client.post("/decide", verdict="none", source=row, seen=0)
        page = client.ask("/again").text
        for words in (
            "<dt>Accepted</dt><dd>1 pair</dd>",
            "<dt>Rejected</dt><dd>1 pair</dd>",
            "<dt>No match</dt><dd>2 entities</dd>",
            "<dt>From the first run</dt><dd>2 seeds and forbidden pairs</dd>",
        ):
            assert words in page
        assert "disabled>Align again" not in page
        assert session.log.state.last == 4


def test_the_final_links_are_the_runs_with_decisions_applied(review: Review, tmp_path: Path) -> None:
    session, client = review
    client.post("/decide", accept=1, source=0, seen=0)  # takes the partner of 1
    client.post("/decide", verdict="reject", source=2, target=2, seen=0)
    client.post("/decide", verdict="none", source=3, seen=0)
    client.post("/decide", accept=SIZE - 1, source=SIZE - 1, seen=0)
    table = final_table(session.run.basis, session.log.state, "evidence", {})
    said = {row["source"]: (row["target"], row["verdict"], row["method"]) for row in table.iter_rows(named=True)}
    assert len(said) == SIZE
    assert said["s00"] == ("q01", "linked", "review")
    assert said["s01"] == (None, "undecided", "review")
    assert said["s02"] == (None, "undecided", "review")
    assert said["s03"] == (None, "no match", "review")
    assert said["s04"] == ("q04", "linked", "evidence")
    assert said[f"s{SIZE - 1}"] == (f"q{SIZE - 1}", "linked", "review")
    linked = {(source, target) for source, (target, _, _) in said.items() if target is not None}
    assert len({target for _, target in linked}) == len(linked)
    for name in FINAL_LINKS:
        answer = client.ask(f"/export/{name}")
        assert answer.headers["content-disposition"] == f'attachment; filename="{name}"'
        (tmp_path / name).write_bytes(answer.body)
        if name.endswith(".nt"):
            assert answer.text.count("owl#sameAs") == len(linked)
        else:
            assert set(read_links(tmp_path / name)[0]) == linked
    assert pl.read_csv(tmp_path / "final.csv").equals(table.with_columns(pl.col("confidence").round(6)))
    assert json.loads((tmp_path / "final.jsonl").read_text().splitlines()[0])["target"] == "q01"


def test_on_the_command_line(links: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(ReviewServer, "run", lambda self: self._bound.close())
    for name, target in (("ada", "Q1"), ("bob", "Q2")):
        log = DecisionLog.open(links.with_name(f"{name}.db"), reviewer=name)
        log.decide(ReviewVerdict.ACCEPT, "s-001", target, 0)
        log.close()
    mine = links.with_name("ada.db")
    call = ["review", str(links), "--no-open", "--decisions", str(mine), "--reviewer", " ada "]
    for _ in range(2):
        main([*call, "--add-decisions", str(links.with_name("bob.db"))])
    assert {*read_decisions(mine).disputed["s-001"].opinions} == {"ada", "bob"}
    capsys.readouterr()
    for arguments, words in (
        (["--reviewer", "x" * 81], "--reviewer: give a name of at most 80 letters"),
        (["--add-decisions", str(links.with_name("none.db"))], "none.db: no such file"),
    ):
        assert words in refused([*call[:-2], *arguments], capsys, links.parent)


def test_whose_decisions_they_are_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("getpass.getuser", lambda: "grace")
    assert login_name() == "grace"

    def nobody() -> str:
        raise OSError

    monkeypatch.setattr("getpass.getuser", nobody)
    assert login_name() == "reviewer"


def test_an_answer_that_is_late_is_refused(review: Review) -> None:
    session, _ = review
    with pytest.raises(ConflictError, match="look again"):
        session.log.accept_all([("s00", "q00")], 7)
