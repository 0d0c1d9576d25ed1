"""Flows of a review in a browser, on a planted run: brushing, spot checks, entangled pairs, reviewers, no scripts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest

from dualmatch.review.queue import Tab
from dualmatch.review.session import Session
from dualmatch.review.spot_check import ENOUGH
from planted_review import LIKELY, MAYBE, PAIR, SIZE, SURE, reviewed
from reviewing import Client, OpenPage, assert_accessible, press

WIDE, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
SCHEMES: Final = ("light", "dark")


Reviews = Callable[..., tuple[Session, Client]]


@pytest.fixture
def review(tmp_path: Path) -> Iterator[Reviews]:
    """Reviews that are served until the browser is gone: ask for it before `open_page`."""
    with ExitStack() as running:
        yield lambda *of, **more: running.enter_context(reviewed(tmp_path, *of, **more))


def test_dragging_over_the_histogram_chooses_a_stretch(review: Reviews, open_page: OpenPage) -> None:
    session, client = review()
    page = open_page(client.address)
    page.goto(f"{client.home}/?tab=all")
    first, last = (page.locator(f"#brush a[data-low='{low}']").bounding_box() for low in (50, 85))
    assert first is not None
    assert last is not None
    page.mouse.move(first["x"] + 3, first["y"] + 9)
    page.mouse.down()
    page.mouse.move(last["x"] + 3, last["y"] + 9, steps=8)
    with page.expect_navigation(url=re.compile(r"low=50.*high=90")):
        page.mouse.up()
    inside = (session.queue.probability >= 0.5) & (session.queue.probability < 0.9)
    assert page.inner_text("#count").startswith(f"{inside.sum()} entities")
    page.locator("#brush a[data-low='50']").focus()
    press(page, "Enter", r"low=50.*high=55")  # and each bar is a link
    page.get_by_role("link", name="show all").click()
    page.wait_for_url("**/?tab=all")
    assert page.inner_text("#count").startswith(f"{SIZE} entities")


def test_a_spot_check_and_the_rest_at_once_by_keyboard(review: Reviews, open_page: OpenPage) -> None:
    session, client = review()
    page = open_page(client.address)
    page.goto(f"{client.home}/?tab=spot")
    assert page.locator("#accept-all").is_disabled()
    sample = session.queue.tabs[Tab.SPOT].tolist()
    press(page, "o", rf"/pair/{sample[0]}\b")
    for place in range(ENOUGH):
        press(page, "a", rf"/pair/{sample[place + 1]}\b")
    press(page, "q", r"/\?tab=spot")
    assert f"{ENOUGH} of {ENOUGH} checked links are right: 100 %" in page.inner_text("#precision")
    page.locator("#accept-all").focus()
    press(page, "Enter", r"/\?tab=spot")
    assert len(session.log.state.accepted) == PAIR + 2
    assert f"{PAIR + 2 - ENOUGH} pairs accepted at once" in page.inner_text("#last")
    press(page, "u", r"/\?tab=spot")
    assert len(session.log.state.accepted) == ENOUGH


@pytest.mark.parametrize(("key", "partner"), [("b", PAIR), ("x", PAIR + 1)])
def test_entangled_pairs_by_one_key(review: Reviews, open_page: OpenPage, key: str, partner: int) -> None:
    session, client = review()
    page = open_page(client.address)
    page.goto(f"{client.home}/pair/{PAIR}")
    assert "one answer settles both" in page.inner_text("#entangled")
    press(page, key, r"/pair/(?!48\b)")
    accepted = dict(session.log.state.accepted)
    assert accepted[f"s{PAIR}"] == f"q{partner}"
    assert len(accepted) == 2


def test_rejecting_offers_the_next_candidate(review: Reviews, open_page: OpenPage) -> None:
    session, client = review()
    page = open_page(client.address)
    page.goto(f"{client.home}/pair/{SURE}")
    press(page, "r", rf"/pair/{SURE}\?show={SURE + 1}")
    assert "Is it this one?" in page.inner_text("#decided")
    press(page, "a", r"/pair/\d+$")
    assert session.log.state.accepted == [(f"s{SURE}", f"q{SURE + 1}")]


def test_two_reviewers_see_where_they_differ_and_settle_it(review: Reviews, open_page: OpenPage) -> None:
    _, ada = review()
    session, bob = review("bob")
    one, other = open_page(ada.address), open_page(bob.address)
    one.goto(f"{ada.home}/pair/1")
    press(one, "a", r"/pair/")
    other.goto(f"{bob.home}/pair/1")
    assert "by ada" in other.inner_text("#decided")
    press(other, "n", r"/pair/")
    one.reload()
    press(one, "d", r"/differences")
    assert "bob: no match" in one.inner_text("#differences")
    assert_accessible(one)
    press(one, "o", r"/pair/1\b")
    assert "Your decision settles it" in one.inner_text("#disputed")
    assert_accessible(one)
    press(one, "a", r"/(pair/|\?)")
    assert session.log.state.accepted == [("s01", "q01")]


@pytest.mark.parametrize("viewport", [WIDE, PHONE])
def test_buttons_stay_where_they_are(review: Reviews, open_page: OpenPage, viewport: dict[str, int]) -> None:
    session, client = review()
    page = open_page(client.address, viewport=viewport)
    press(page, "o", r"/pair/")
    places = []
    for _ in range(3):
        places.append(page.locator("[data-key=a]").bounding_box())
        press(page, "a", r"/pair/")
    assert places[0] == places[1] == places[2]
    assert len(session.log.live()) == 3


@pytest.mark.slow
@pytest.mark.parametrize("viewport", [WIDE, PHONE])
def test_every_page_is_accessible(review: Reviews, open_page: OpenPage, viewport: dict[str, int]) -> None:
    session, client = review(seeds=1)
    page = open_page(client.address, viewport=viewport)
    empty = ["/", "/?tab=partner", "/?tab=spot", "/?tab=all", "/?q=nothing", f"/pair/{PAIR}", "/again", "/history"]
    for path in [*empty, f"/pair/{SIZE - 1}?tab=partner", f"/pair/{SURE}?find=q0", "/differences"]:
        page.goto(f"{client.home}{path}")
        assert_accessible(page, *SCHEMES)
    for row in session.queue.tabs[Tab.SPOT].tolist()[:ENOUGH]:
        client.post("/decide", accept=row, source=row, seen=0, note="seen " * 30)
    client.post("/decide", verdict="reject", source=PAIR + 2, target=PAIR + 2, seen=0)
    client.post("/undo", seen=1)
    decided = ["/?tab=spot", f"/pair/{PAIR + 2}", f"/pair/{PAIR + 2}?show={PAIR + 3}", "/history", "/again"]
    for path in [*decided, "/?tab=all&status=accepted&low=5&high=100"]:
        page.goto(f"{client.home}{path}")
        assert_accessible(page, *SCHEMES)
    page.keyboard.press("?")
    assert_accessible(page, *SCHEMES)
    other = client.ask("/pair/99999").text  # a page of its own says what is not possible
    assert "There is no such entity." in other
    page.set_content(other.replace('<script src="/static/review.js" defer></script>', ""))
    assert_accessible(page, *SCHEMES)


def test_everything_works_without_scripts(review: Reviews, open_page: OpenPage) -> None:
    session, client = review()
    page = open_page(client.address, java_script_enabled=False)
    assert page.locator(".scripted").first.is_hidden()
    page.locator("#brush a[data-low='40']").click()
    page.wait_for_url("**low=40**")
    assert page.inner_text("#count").startswith(f"{MAYBE} entities")
    page.locator("tbody a").first.click()
    page.wait_for_url("**/pair/**")
    page.get_by_label("Note").fill("by hand")
    page.get_by_label("Note").press("Enter")  # no button is pressed by it
    assert session.log.live() == []
    page.get_by_role("button", name="Accept", exact=False).first.click()
    page.wait_for_url("**/pair/**")
    assert [row.note for row in session.log.live()] == ["by hand"]
    page.get_by_role("link", name="History").click()
    page.get_by_role("button", name="Undo decision 1", exact=True).click()
    page.wait_for_url("**/history")
    assert session.log.live() == []
    page.goto(f"{client.home}/pair/{PAIR}")
    page.get_by_role("button", name="Swapped").click()
    page.wait_for_url("**/pair/**")
    assert len(session.log.state.accepted) == 2
    page.goto(f"{client.home}/?low=60&high=95")
    assert page.inner_text("#count").startswith(f"{LIKELY} entities")
