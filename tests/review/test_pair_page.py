"""The page of a pair in a browser: names, one table that adds up, folds that open in full, rivals and the timeline."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from dualmatch.cli.main import main
from dualmatch.review.serve import ReviewServer
from reviewing import Client, OpenPage, assert_accessible, served

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

WD = "http://www.wikidata.org/entity/"
PEOPLE = ("Ada Lovelace", "Charles Babbage", "Mary Somerville", "George Boole", "Mary Shelley")
FOLDED = 20  # as much as a fold holds here: what axe-core takes grows with every line of a page
MET = 50  # acquaintances of the first: more than a fold holds


def facts() -> list[tuple[str, str, str, str, str]]:
    """A life in days, one with an end that is not known, and a hub."""
    ada, charles, mary, george, shelley = PEOPLE
    lives = [
        (ada, "met", charles, "1833-06-05", "1833-06-05"),
        (ada, "wrote to", charles, "1835", ""),
        (ada, "met", mary, "1833-06-21", "1833-06-21"),
        (charles, "taught", george, "1840", "1842"),
        (mary, "knew", shelley, "1820-03", "1820-03"),
    ]
    return lives + [(ada, "saw", f"guest {n}", f"18{n % 40 + 10}-0{n % 9 + 1}-1{n % 9}", "") for n in range(MET)]


@pytest.fixture(scope="module")
def links(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same lives in two files, one by ids with labels to show."""
    here = tmp_path_factory.mktemp("lives")
    head = "head\trelation\ttail\tbegin\tend\n"
    (here / "a.tsv").write_text(head + "".join("\t".join(fact) + "\n" for fact in facts()))
    names = dict.fromkeys(name for fact in facts() for name in (fact[0], fact[2]))
    ids = {name: f"{WD}Q{n}" for n, name in enumerate(names, start=1)}
    relations = {"met": "P1", "wrote to": "P2", "taught": "P3", "knew": "P4", "saw": "P5"}
    there = [(ids[h], relations[r], ids[t], *times) for h, r, t, *times in facts()]
    (here / "b.tsv").write_text(head + "".join("\t".join(fact) + "\n" for fact in there))
    labels = {ids[name]: name for name in names} | {code: word for word, code in relations.items()}
    (here / "labels.tsv").write_text("".join(f"{name}\t{label}\n" for name, label in labels.items()))
    call = ["align", str(here / "a.tsv"), str(here / "b.tsv"), "-o", str(here / "links.tsv"), "-q"]
    main([*call, "--show-labels", str(here / "labels.tsv")])
    return here / "links.tsv"


@pytest.fixture
def serving(links: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ReviewServer]:
    monkeypatch.setattr("dualmatch.review.pair_view.MOST_FOLDED", FOLDED)
    links.with_name("links.tsv.decisions.db").unlink(missing_ok=True)
    with served(links) as server:
        yield server


def pair_of(serving: ReviewServer, name: str) -> str:
    row = serving.session.run.basis.source.entity_rows[name]
    return f"http://{urlsplit(serving.address).netloc}/pair/{row}?status=all"


def numbers(page: Page, selector: str) -> list[float]:
    return [
        float(text.replace("−", "-").replace(",", ""))
        for text in page.locator(selector).all_inner_texts()
        if text.strip()
    ]


def test_names_are_shown_found_and_lead_to_their_own_pair(serving: ReviewServer, open_page: OpenPage) -> None:
    page = open_page(serving.address)
    page.goto(pair_of(serving, "Charles Babbage"))
    title = page.inner_text("h1")
    assert re.sub(r"\s+", " ", title) == "Charles Babbage =? Charles Babbage wd:Q2"
    assert page.locator("h1 a").get_attribute("href") == f"{WD}Q2"
    page.fill("input[name=find]", "lovelace")
    page.keyboard.press("Enter")
    page.wait_for_selector("#first-found")
    assert page.inner_text("#first-found").split() == ["Ada", "Lovelace", "wd:Q1"]
    page.goto(pair_of(serving, "Charles Babbage"))
    there = page.locator(".pairs .there a", has_text="George Boole").first
    assert "wd:Q" in there.inner_text()
    there.click()
    page.wait_for_url(re.compile(r"/pair/\d+\?status=all&show="))
    assert "George Boole =? George Boole" in re.sub(r"\s+", " ", page.inner_text("h1"))
    page.goto(f"http://{urlsplit(serving.address).netloc}/?tab=all&q=wd:q3&status=all")
    assert page.locator("tbody tr").count() >= 1
    assert "Mary Somerville" in page.inner_text("tbody")


def test_the_table_adds_up_and_every_match_is_in_it(serving: ReviewServer, open_page: OpenPage) -> None:
    page = open_page(serving.address)
    page.goto(pair_of(serving, "Ada Lovelace"))
    *parts, total = numbers(page, ".reasons td.number")
    assert sum(parts) == pytest.approx(total, abs=0.005 * (len(parts) + 1))
    assert page.locator(".reasons svg.step").count() == len(parts) + 1
    view = serving.session.view(
        *(
            graph.entity_rows[name]
            for graph, name in (
                (serving.session.run.basis.source, "Ada Lovelace"),
                (serving.session.run.basis.target, f"{WD}Q1"),
            )
        )
    )
    assert len(view.rows) + view.more_rows == MET + 3  # all that is known of her is in both
    more = page.locator("details", has_text="more matching facts").first
    assert not more.locator("tr").first.is_visible()
    more.locator("summary").focus()
    page.keyboard.press("Enter")
    assert more.locator("tr").first.is_visible()
    more.get_by_role("link", name="All of them").click()
    page.wait_for_url(re.compile(r"/facts/"))
    assert page.locator("tbody tr").count() == MET + 3
    assert_accessible(page)


def test_rivals_stand_beside_the_pair_and_below_it_on_a_phone(serving: ReviewServer, open_page: OpenPage) -> None:
    page = open_page(serving.address, viewport={"width": 1280, "height": 900})
    page.goto(pair_of(serving, "Mary Somerville"))
    assert page.locator(".candidates .meter").count() == page.locator(".candidates > li").count() > 0
    assert "0.000" not in page.inner_text(".candidates")
    for line in page.locator(".candidates > li").all():  # the bar is what is shared, and below the button
        button, shared, bar = (
            line.locator(each).bounding_box() for each in ("button", ".likely span[title]", ".likely .meter")
        )
        assert button is not None
        assert shared is not None
        assert bar is not None
        assert bar["x"] + bar["width"] == pytest.approx(shared["x"] + shared["width"], abs=1)  # after the words
        assert shared["height"] < 25  # in one line with them
        assert bar["y"] > button["y"] + button["height"]
    table, rivals = (page.locator(each).bounding_box() for each in (".evidence", ".rivals"))
    assert table is not None
    assert rivals is not None
    assert rivals["x"] > table["x"] + table["width"]
    page.set_viewport_size({"width": 390, "height": 844})
    table, rivals = (page.locator(each).bounding_box() for each in (".evidence", ".rivals"))
    assert table is not None
    assert rivals is not None
    assert rivals["y"] >= table["y"] + table["height"] - 1


def test_the_timeline_has_days_names_and_open_ends(serving: ReviewServer, open_page: OpenPage) -> None:
    page = open_page(serving.address, viewport={"width": 1280, "height": 900})
    page.goto(pair_of(serving, "Mary Somerville"))
    wide, narrow = page.locator(".timeline svg.wide"), page.locator(".timeline svg.narrow")
    assert wide.is_visible()
    assert not narrow.is_visible()
    labels = wide.locator(".fact text").all_text_contents()
    assert any(re.fullmatch(r"\d+\. met ← Ada Lovelace", each) for each in labels)
    page.goto(pair_of(serving, "Charles Babbage"))
    assert page.locator(".timeline svg.wide [mask]").count() == 2  # since 1835, in both
    box, text = wide.bounding_box(), wide.locator("text").last.bounding_box()
    assert box is not None
    assert text is not None
    assert text["x"] + text["width"] <= box["x"] + box["width"] + 1  # the last label is whole
    page.set_viewport_size({"width": 390, "height": 844})
    assert narrow.is_visible()
    assert not wide.is_visible()


@pytest.mark.slow
def test_no_rule_of_accessibility_is_broken(serving: ReviewServer, open_page: OpenPage) -> None:
    for size in ({"width": 1280, "height": 900}, {"width": 390, "height": 844}):
        page = open_page(serving.address, viewport=size)
        for name in ("Ada Lovelace", "Mary Shelley"):
            page.goto(pair_of(serving, name))
            for fold in page.locator("summary").all():
                fold.click()
            assert_accessible(page, "light", "dark")


def test_there_is_no_page_of_other_facts(serving: ReviewServer) -> None:
    client = Client(serving.address)
    for query, status in (
        ("show=0&part=other", 404),
        ("part=source", 400),
        ("show=99999", 404),
        ("show=0&page=x", 400),
        ("show=0&part=target", 200),
        ("show=0&page=99999", 200),
    ):
        assert client.ask(f"/facts/0?{query}").status == status
    assert client.ask("/facts/99999?show=0").status == 404
