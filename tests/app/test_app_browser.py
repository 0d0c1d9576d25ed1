"""The app in a browser that reaches nothing but the page: by keyboard, without script, on a small dark screen."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from dualmatch.app.serve import AppServer
from reviewing import OpenPage, app_served, assert_accessible
from reviewing import press as press_key

if TYPE_CHECKING:
    from playwright.sync_api import Page

CLUB = Path(__file__).parents[2] / "docs" / "sample"
SCREENS = (
    {"viewport": {"width": 1280, "height": 800}},
    {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"},
)


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[AppServer]:
    with app_served(tmp_path / "here") as running:
        yield running


def tab_to(page: Page, what: str) -> None:
    """Go by the keyboard to what a selector names."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("what => document.activeElement.matches(what)", what):
            return
    raise AssertionError(f"{what} cannot be reached by the keyboard")


def press(page: Page, what: str, key: str = "Enter") -> None:
    page.wait_for_load_state()
    tab_to(page, what)
    press_key(page, key)


@pytest.mark.parametrize("screen", SCREENS, ids=["wide and light", "narrow and dark"])
def test_from_files_to_a_decision_by_keyboard(
    serving: AppServer, open_page: OpenPage, people_tables: Path, screen: dict[str, object]
) -> None:
    page = open_page(serving.address, **screen)
    assert_accessible(page)
    for field, name in (("#source", "archive.csv"), ("#target", "register.csv")):
        tab_to(page, field)  # the dialog for files is the browser's own
        page.set_input_files(field, people_tables / name)
        assert name in page.inner_text(f".drop:has({field}) .hint")
    press(page, "button.main")
    page.wait_for_selector(".go", timeout=240_000)  # follows the reading by itself
    tops = page.eval_on_selector_all(".sides > section", "all => all.map(each => each.getBoundingClientRect().top)")
    assert (tops[0] == tops[1]) == (screen is SCREENS[0])  # side by side where there is room
    assert_accessible(page)
    for place in (0, 1):  # what to compare, and how to read
        page.click(f"summary >> nth={place}")
        assert_accessible(page)
    press(page, "button.main")
    assert page.inner_text("h1") == "archive.csv and register.csv"
    page.wait_for_selector("#running, .next")
    assert_accessible(page)
    page.wait_for_selector(".next", timeout=240_000)
    assert_accessible(page)
    press(page, ".menu a[href='/1/report']")
    assert page.locator(".menu").is_visible()
    assert_accessible(page)
    press(page, ".menu a[href='/1/links']")
    assert page.locator("main a[href$='final.tsv']").is_visible()
    assert_accessible(page)
    press(page, ".menu a[href='/1/review/']")
    assert_accessible(page)
    press_key(page, "o", "/1/review/pair/")
    press_key(page, "s", "/1/review/")
    assert len(serving.reviews.of(serving.workspace.pair(1)).session.log.live()) == 1
    press(page, ".menu a[href='/']")
    assert "archive.csv and register.csv" in page.inner_text(".pairs")
    assert_accessible(page)


@pytest.mark.parametrize("screen", SCREENS, ids=["wide and light", "narrow and dark"])
def test_columns_are_suggested_and_mapped(serving: AppServer, open_page: OpenPage, screen: dict[str, object]) -> None:
    page = open_page(serving.address, **screen)
    page.set_input_files("#source", CLUB / "club.csv")
    page.set_input_files("#target", CLUB / "town.json.gz")
    page.click("text=Look at them")
    page.wait_for_selector(".sides", timeout=240_000)
    assert "cannot tell which column is the head" in page.inner_text("main")
    assert_accessible(page)
    assert [page.input_value(f"#source-{n}") for n in range(6)] == ["", "head", "relation", "tail", "begin", "end"]
    press(page, "form.reading button.main")
    page.wait_for_selector(".go", timeout=240_000)
    assert "Anka Amsel" in page.inner_text(".sides section >> nth=0")


def test_everything_works_without_script(serving: AppServer, open_page: OpenPage, people_tables: Path) -> None:
    page = open_page(serving.address, java_script_enabled=False)
    page.set_input_files("#source", people_tables / "archive.csv")
    page.set_input_files("#target", people_tables / "register.csv")
    page.click("text=Look at them")
    page.wait_for_selector(".go", timeout=240_000)  # the page refreshes by itself
    page.click("text=Align them")
    page.wait_for_selector(".next", timeout=240_000)
    page.click(".menu a[href='/1/review/']")
    page.click("tbody a >> nth=0")
    page.click("text=Skip")
    assert len(serving.reviews.of(serving.workspace.pair(1)).session.log.live()) == 1


def test_files_are_dropped(serving: AppServer, open_page: OpenPage) -> None:
    page = open_page(serving.address)
    page.evaluate(
        """() => {
            const files = new DataTransfer();
            for (const name of ["one.csv", "two.nt"]) files.items.add(new File(["a"], name));
            document.querySelector(".drop").dispatchEvent(new DragEvent("drop", {dataTransfer: files, bubbles: true}));
        }"""
    )
    assert [page.evaluate(f"document.querySelector('#{side}').files[0].name") for side in ("source", "target")] == [
        "one.csv",
        "two.nt",
    ]
    assert page.locator(".drop.full").count() == 2


def test_a_file_too_large_is_refused_before_it_is_sent(tmp_path: Path, open_page: OpenPage) -> None:
    with app_served(tmp_path / "here", most=1000) as serving:
        page = open_page(serving.address)
        for side in ("source", "target"):
            page.set_input_files(f"#{side}", {"name": "a.csv", "mimeType": "text/csv", "buffer": b"x" * 2000})
        page.click("text=Look at them")
        assert "larger than the" in page.inner_text("#trouble")
        assert urlsplit(page.url).path == "/"


def test_every_address_of_a_mounted_review_stays_below_its_path(
    aligned_workspace: Path, tmp_path: Path, open_page: OpenPage
) -> None:
    """Whatever page of the review is open: its links and forms lead into this review, or to a page of the app."""
    with app_served(shutil.copytree(aligned_workspace, tmp_path / "there")) as serving:
        page = open_page(serving.address)
        ours = f"http://{urlsplit(serving.address).netloc}"
        review = serving.reviews.of(serving.workspace.pair(1))
        for path in ("/", f"/pair/{review.session.queue.order[0]}", "/again"):
            page.goto(f"{ours}/1/review{path}")
            found = page.evaluate(
                "[...document.querySelectorAll('[href], [action], [src]')].map(e => e.getAttribute('href')"
                " || e.getAttribute('action') || e.getAttribute('src'))"
            )
            menu = page.evaluate("[...document.querySelectorAll('.menu a')].map(e => e.getAttribute('href'))")
            astray = [at for at in found if at.startswith("/") and not at.startswith("/1/review/") and at not in menu]
            assert astray == []
        review.session.log.close()
