"""A review in a browser that reaches nothing but the page: by keyboard, in two tabs, with names that mean harm."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from dualmatch.cli.main import main
from dualmatch.links.read import read_links
from dualmatch.review.pair_view import candidates_of
from dualmatch.review.serve import ReviewServer
from dualmatch.review.session import Session
from reviewing import OpenPage, press, served

if TYPE_CHECKING:
    from playwright.sync_api import Page

HOSTILE = (
    "</script><img src=x onerror=alert(1)>",
    "javascript:alert(1)",
    "\u202eevil\u202d",
    "x" * 100_000,
    '" autofocus onfocus="alert(2)',
    "{{ 7 * 7 }}<script>alert(3)</script>",
    "http://127.0.0.1:1/'><script>alert(4)</script>",
    "https://example.org/fine",
)


def decided(page: Page) -> int:
    return int(re.search(r"([\d,]+) of", page.inner_text("label[for=progress]"))[1].replace(",", ""))  # type: ignore[index]


def test_a_whole_review_by_keyboard(serving: ReviewServer, open_page: OpenPage) -> None:
    session = serving.session
    order, names = session.queue.order.tolist(), session.run.basis.source.entities
    page = open_page(serving.address)
    assert "token" not in page.url
    assert page.inner_text("h1") == "Queue"
    page.locator(".tabs a", has_text="All").click()
    page.wait_for_url("**/?tab=all")
    page.keyboard.press("?")
    assert page.locator("#keys").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("#keys").is_visible()
    press(page, "o", rf"/pair/{order[0]}\b")
    assert page.evaluate("document.activeElement.id") == "pair"
    assert page.locator("svg[role=img] title").count() >= 1
    for place, key in enumerate("ans"):
        press(page, key, rf"/pair/{order[place + 1]}\b")
        assert decided(page) == min(place + 1, 2)  # a skip is counted apart
    assert page.inner_text("label[for=progress]").endswith("decided, 1 skipped")
    assert [row.verdict for row in session.log.live()] == ["accept", "none", "skip"]
    assert names[order[2]] in page.inner_text("#last")
    press(page, "u", rf"/pair/{order[2]}\b")
    assert decided(page) == 2
    press(page, "j", rf"/pair/{order[3]}\b")
    press(page, "k", rf"/pair/{order[2]}\b")
    press(page, "k", rf"/pair/{order[1]}\b")  # though it is decided
    press(page, "j", rf"/pair/{order[2]}\b")
    listed = candidates_of(session.run.basis, order[2])
    press(page, "c", rf"show={listed[1].row}\b")
    page.keyboard.press("m")
    page.keyboard.type("a, not b")
    page.keyboard.press("Enter")  # ends the note, and decides nothing
    assert len(session.log.live()) == 2
    press(page, "2", rf"/pair/{order[3]}\b")  # a runner-up is one key away
    assert session.log.state.of(names[order[2]]).partner == listed[1].name.name
    assert session.log.live()[-1].note == "a, not b"
    press(page, "j", rf"/pair/{order[4]}\b")
    press(page, "j", rf"/pair/{order[5]}\b")
    page.keyboard.press("p")  # pick another, from all of the target
    other = session.run.basis.target.entities[-1]
    page.keyboard.type(other)
    press(page, "Enter", r"find=")
    assert page.evaluate("document.activeElement.id") == "first-found"
    press(page, "Enter", r"show=\d+")
    press(page, "a", rf"/pair/{order[6]}\b")
    assert session.log.state.holder[other] == names[order[5]]
    press(page, "h", r"/history\?")
    page.get_by_role("button", name="Undo decision 1", exact=True).press("Enter")
    page.wait_for_selector(".undone")
    assert session.log.state.of(names[order[0]]).status == "open"
    press(page, "q", r"/\?")


def test_reasons_come_by_themselves(links: Path, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch) -> None:
    ready, prepare = threading.Event(), Session.prepare
    monkeypatch.setattr(Session, "prepare", lambda self: ready.wait(60) and prepare(self))
    with served(links, prepared=False) as serving:
        try:
            page = open_page(serving.address)
            press(page, "o", r"/pair/")
            page.wait_for_selector("#preparing")
            ready.set()
            page.wait_for_selector(".reasons")
        finally:
            ready.set()


def test_search_filters_and_small_screens(serving: ReviewServer, open_page: OpenPage) -> None:
    page = open_page(serving.address, viewport={"width": 360, "height": 640}, color_scheme="dark")
    name = serving.session.run.basis.source.entities[7]
    page.keyboard.press("/")
    page.keyboard.type(name)
    press(page, "Enter", rf"q={name}")
    page.locator("#elsewhere").click()  # it is not doubtful
    page.wait_for_url("**tab=all**")
    assert page.locator("tbody a").first.inner_text() == name
    press(page, "o", r"/pair/7\b")
    for _ in range(2):
        # Nothing but what scrolls by itself may be wider than the screen.
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        press(page, "q", r"/\?")
    page.select_option("select[name=outcome]", "undecided")
    page.fill("input[type=search]", "")
    page.get_by_role("button", name="Show").click()
    undecided = int((~serving.session.run.basis.unlinked.is_no_match).sum())
    assert page.inner_text("#count").startswith(f"{undecided} entities")


def test_a_screen_reader_finds_its_way(serving: ReviewServer, open_page: OpenPage) -> None:
    page = open_page(serving.address)
    for path in ("/", "/?tab=spot", f"/pair/{serving.session.queue.order[0]}", "/history", "/differences", "/again"):
        page.goto(f"http://{urlsplit(serving.address).netloc}{path}")
        assert page.locator("h1").count() == 1
        assert page.locator("main").count() == 1
        assert page.locator("[aria-live=polite]").count() >= 1
        unnamed = page.evaluate(
            """() => [...document.querySelectorAll('a, button, input:not([type=hidden]), select')]
                 .filter(e => !(e.textContent?.trim() || e.getAttribute('aria-label') || e.labels?.length))
                 .map(e => e.outerHTML)"""
        )
        assert unnamed == []
        ids = page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
        assert len(ids) == len(set(ids))


def test_two_tabs_do_not_undo_each_other(serving: ReviewServer, open_page: OpenPage) -> None:
    row = serving.session.queue.order[0]
    one = open_page(serving.address)
    one.goto(f"http://{urlsplit(serving.address).netloc}/pair/{row}")
    other = one.context.new_page()
    other.goto(one.url)
    press(one, "n", r"/pair/")
    with other.expect_navigation():
        other.keyboard.press("a")
    assert "was decided elsewhere in the meantime" in other.inner_text("#message")
    assert [each.verdict for each in serving.session.log.live()] == ["none"]
    other.context.pages[0].close()


def test_align_again_and_export(serving: ReviewServer, open_page: OpenPage, doubtful: Path, tmp_path: Path) -> None:
    session = serving.session
    page = open_page(serving.address)
    press(page, "o", r"/pair/")
    for _ in range(3):
        press(page, "n", r"/pair/")
    press(page, "g", r"/again")
    assert "3 entities" in page.inner_text("#plan")
    press(page, "Enter", r"/again$")
    page.wait_for_selector("#again[data-state=done]")
    assert "written to links.reviewed.tsv" in page.inner_text("#again")
    written = read_links(session.path.with_name("links.reviewed.tsv"))[0]
    assert {source for source, _ in written}.isdisjoint(source for source, _ in session.log.state.forbidden)
    press(page, "q", r"/\?")
    for name, expected in (("seeds.tsv", b""), ("rejected.tsv", b"\t\n")):
        with page.expect_download() as started:
            page.get_by_role("link", name=name, exact=True).click()
        path = tmp_path / name
        started.value.save_as(path)
        assert started.value.suggested_filename == name
        assert path.read_bytes().endswith(expected)
        assert path.read_bytes().count(b"\n") == (0 if name == "seeds.tsv" else 3)


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """Two graphs whose names mean harm, aligned."""
    import polars as pl

    names = [*HOSTILE, *(f"plain {n}" for n in range(12))]
    size = len(names)
    rows = [
        {
            "head": names[n % size],
            "relation": f"<b>{n % 4}</b>",
            "tail": names[(n * 7 + 3) % size],
            "time": f"19{10 + n}",
        }
        for n in range(60)
    ]
    pl.DataFrame(rows).write_parquet(tmp_path / "a.parquet")
    changed = [{**row, "head": row["head"].replace("plain", "simple")} for row in rows[5:]]
    pl.DataFrame(changed).write_parquet(tmp_path / "b.parquet")
    files = [str(tmp_path / name) for name in ("a.parquet", "b.parquet")]
    main(["align", *files, "-o", str(tmp_path / "links.jsonl"), "-q"])
    return tmp_path / "links.jsonl"


def test_names_that_mean_harm_do_nothing(hostile: Path, open_page: OpenPage, tmp_path: Path) -> None:
    with served(hostile) as serving:
        page = open_page(serving.address)
        rows = serving.session.run.basis.source.entity_rows
        home = f"http://{urlsplit(serving.address).netloc}"
        for name in HOSTILE:
            page.goto(f"{home}/pair/{rows[name]}?status=all")
            _harmless(page)
            press(page, "n", r"/(pair/|\?)")
            _harmless(page)
        page.goto(
            f"{home}/?status=all&q=%3Cscript%3Ealert(5)%3C/script%3E&relation=%22%3E%3Cimg%20src=x%20onerror=alert(6)%3E"
        )
        _harmless(page)
        page.goto(f"{home}/?status=all")
        _harmless(page)
        for export in ("decisions.csv", "decisions.sssom.tsv"):
            with page.expect_download() as started:
                page.get_by_role("link", name=export, exact=True).click()
            assert started.value.failure() is None
    report = tmp_path / "report.html"
    main(["report", str(hostile), "-o", str(report), "-q"])
    shown = open_page(report.as_uri())
    _harmless(shown)
    assert shown.locator("svg").count() > 3


def _harmless(page: Any) -> None:
    assert page.locator("img, iframe, object, embed").count() == 0
    assert page.locator("script").count() <= 1
    assert page.evaluate(
        "[...document.querySelectorAll('*')].every(e => e.getAttributeNames().every(n => !n.startsWith('on')))"
    )
    links = page.evaluate("[...document.querySelectorAll('a')].map(a => a.getAttribute('href'))")
    assert all(re.match(r"/|#|https?://", link) for link in links)
    assert page.evaluate("document.body.innerText.length") < 100_000
    assert "\u202e" not in page.content()


def test_a_page_of_another_site_can_neither_read_nor_write(serving: ReviewServer, open_page: OpenPage) -> None:
    """A page elsewhere in the same browser sends a form and asks for the state; both come without the cookie."""
    page = open_page(serving.address)
    home = f"http://{urlsplit(serving.address).netloc}"
    other = page.context.new_page()
    answers: list[int] = []
    other.on("response", lambda answer: answers.append(answer.status))
    other.route("http://evil.example/**", lambda route: route.fulfill(content_type="text/html", body="<p>evil</p>"))
    other.goto("http://evil.example/")
    read = other.evaluate(
        f"fetch('{home}/again/state', {{credentials: 'include'}}).then(a => a.text(), () => 'blocked')"
    )
    assert read == "blocked"
    other.evaluate(
        f"""() => {{ const form = document.createElement('form'); form.method = 'post'; form.action = '{home}/decide';
             for (const [name, value] of [['verdict', 'none'], ['source', '0'], ['seen', '0']]) {{
               const field = document.createElement('input'); field.name = name; field.value = value;
               form.append(field); }}
             document.body.append(form); form.submit(); }}"""
    )
    other.wait_for_url(f"{home}/decide")
    assert answers[-1] == 403
    assert serving.session.log.live() == []
    other.close()


def test_the_report_in_both_lights_and_on_paper(links: Path, open_page: OpenPage, tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    main(["report", str(links), "-o", str(report), "-q"])
    colours = set()
    for scheme in ("light", "dark"):
        page = open_page(report.as_uri(), color_scheme=scheme, viewport={"width": 360, "height": 640})
        colours.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert len(colours) == 2
    page.emulate_media(media="print")
    assert not page.locator("nav").is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
