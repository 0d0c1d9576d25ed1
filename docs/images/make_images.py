"""Draw all pictures of the README and the docs, light and dark, from the demo's pair of graphs.

DUALMATCH_CHROMIUM=/usr/bin/chromium python docs/images/make_images.py
python docs/images/make_images.py --charts      # only the charts and diagrams, which need no browser
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

import diagrams
from playwright.sync_api import Browser, Locator, Page, sync_playwright

from dualmatch import Chart, Explanation, align, explain, read_graph
from dualmatch.app.serve import AppServer
from dualmatch.app.workspace import Workspace
from dualmatch.charts.markup import el, joined
from dualmatch.links.read import read_name_pairs
from dualmatch.research.demo import DemoResult, run_demo
from dualmatch.review.queue import Tab
from dualmatch.review.serve import Endpoint, ReviewServer, open_session
from dualmatch.simulate.people import TRUE_PAIRS

HERE = Path(__file__).parent
APP = Path(tempfile.gettempdir()) / "parish-books"  # in a picture


Server = TypeVar("Server", AppServer, ReviewServer)
SCHEMES = (("light", ""), ("dark", "-dark"))
ADA = (  # the example of docs/explain.md
    [
        ("Ada", "met", "Charles", 1833),
        ("Ada", "lived in", "London", "1835-03", "1852"),
        ("Charles", "wrote", "Book", 1864),
        ("Mary", "knew", "Percy", 1814),
    ],
    [
        ("Q1", "P1", "Q2", 1833),
        ("Q1", "P2", "Q3", "1835-03", "1852"),
        ("Q2", "P3", "Q4", 1864),
        ("Q6", "P4", "Q5", 1790),
    ],
)


def draw(folder: Path, only_charts: bool) -> None:
    """Align the demo's pair, and take pictures of its charts, its report, its review and the app."""
    folder.mkdir(exist_ok=True)
    result = run_demo(folder / "demo-out")
    draw_charts(result)
    if only_charts:
        return
    with sync_playwright() as playwright:
        path = os.environ.get("DUALMATCH_CHROMIUM", "/usr/bin/chromium")
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1000, "height": 1000})
        page.goto(result.page.as_uri())
        both_schemes(page, "report", page.locator("figure").nth(1))
        truth = dict(read_name_pairs(result.files[0].with_name(TRUE_PAIRS)))
        with served(ReviewServer(open_session(result.links, reviewer="Ada"), Endpoint())) as serving:
            serving.session.prepare()  # no picture of a page that still waits for its reasons
            draw_review(browser, serving, worth_a_picture(result), truth)
        draw_app(browser)
        browser.close()


def draw_charts(result: DemoResult) -> None:
    """What the method pages show: diagrams, and charts of the demo's run."""
    save("run", diagrams.run_of_evidence())
    save("parts", diagrams.parts_of_dualmatch())
    save("encoder", diagrams.relational_encoder())
    save("rounds", result.alignment.plot_rounds())
    save("ada", with_title(explain(align(*map(read_graph, ADA)), "Ada").plot()))
    people = [why for why in result.some_links(400) if is_named_person(why)]
    save("why", with_title(min(people, key=lambda why: (abs(why.balance.limit), -len(why.shared))).plot()))
    save("timeline", with_title(max(people, key=dated).plot_timeline()))


def is_named_person(why: Explanation) -> bool:
    """Whether both have a name; towns and offices have no numbers in the archive."""
    return bool(why.label and why.match_label and re.fullmatch(r"A\d+", why.entity))


def dated(why: Explanation) -> int:
    """How many shared facts have times on both sides."""
    return sum(fact.fact.span is not None and fact.counterpart.span is not None for fact in why.shared)


def with_title(chart: Chart) -> Chart:
    """With its title above it, which pages and notebooks have as a caption."""
    title = el("text", chart.title, x=0, y=15, style="fill: var(--ink); font: 600 13px system-ui, sans-serif")
    drawing = joined(title, el("g", chart.drawing, transform="translate(0,30)"))
    return replace(chart, height=chart.height + 30, drawing=drawing)


def save(name: str, chart: Chart) -> None:
    """The chart as SVG, in the colours of light and of dark pages."""
    chart.save(HERE / f"{name}.svg")
    text = (HERE / f"{name}.svg").read_text("utf-8")
    scheme = re.compile(r"@media \(prefers-color-scheme: dark\) \{ (.*?\}) \}\n", re.DOTALL)
    (HERE / f"{name}.svg").write_text(scheme.sub("", text), "utf-8")
    (HERE / f"{name}-dark.svg").write_text(scheme.sub(r"\1\n", text), "utf-8")


def worth_a_picture(result: DemoResult) -> int:
    """The row of a link that is not quite sure, between two people with names that differ by a slip."""
    found = {}
    for source, _, confidence in result.alignment.links():
        why = explain(result.alignment, source) if 0.6 < confidence < 0.986 else None
        if why is not None and is_named_person(why) and why.label != why.match_label and not why.balance.limit:
            found[result.alignment.source.entity_rows[source]] = (dated(why), confidence)
    return max(found, key=lambda row: found[row])


def both_schemes(page: Page, name: str, last: Locator, margin: int = 16) -> None:
    """The page down to the end of an element, light and dark."""
    for scheme, end in SCHEMES:
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        page.wait_for_timeout(300)
        box = last.bounding_box()
        if box is None or page.viewport_size is None:
            raise ValueError(f"{name}: nothing to take a picture of")
        scrolled = page.evaluate("window.scrollY")
        clip = {
            "x": 0,
            "y": 0,
            "width": page.viewport_size["width"],
            "height": scrolled + box["y"] + box["height"] + margin,
        }
        page.screenshot(path=HERE / f"{name}{end}.png", full_page=True, clip=clip)  # type: ignore[arg-type]
    page.emulate_media(color_scheme="light")


def draw_app(browser: Browser) -> None:
    """What was understood of the sample, wide; the finished run, narrow."""
    APP.mkdir()  # nobody else's
    try:
        with Workspace.opened(APP) as workspace, served(AppServer(workspace, Endpoint(), most=2 * 10**9)) as serving:
            page = browser.new_page(viewport={"width": 1200, "height": 900})
            page.goto(serving.address)
            page.click("text=Use the sample")
            page.wait_for_selector(".go", timeout=120_000)
            both_schemes(page, "app", page.locator("tbody").first.locator("tr").nth(7), margin=20)
            page.click("text=Align them")
            page.wait_for_selector(".next", timeout=300_000)
            page.set_viewport_size({"width": 390, "height": 640})
            both_schemes(page, "app-phone", page.locator("main > :last-child"))
    finally:
        shutil.rmtree(APP)


@contextmanager
def served(server: Server) -> Iterator[Server]:
    """A server that runs in a thread, and is stopped in the end."""
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.stop()
        thread.join(timeout=30)


def draw_review(browser: Browser, serving: ReviewServer, row: int, truth: Mapping[str, str]) -> None:
    """The queue after a few decisions, a doubtful pair, and what a spot check has found."""
    home = f"http://{urlsplit(serving.address).netloc}"
    page = browser.new_page(viewport={"width": 1100, "height": 900})
    page.goto(serving.address)
    page.keyboard.press("o")
    page.wait_for_url("**/pair/**")
    for _ in range(5):
        answer(page, serving, truth)
    page.goto(f"{home}/pair/{row}")
    both_schemes(page, "review", page.locator("figure.timeline"))
    page.goto(home)
    both_schemes(page, "queue", page.locator("tbody tr").nth(11), margin=0)
    page.goto(f"{home}/pair/{serving.session.queue.tabs[Tab.SPOT][0]}?tab=spot")
    for _ in range(24):
        answer(page, serving, truth)
    page.goto(f"{home}/?tab=spot")
    both_schemes(page, "spot-check", page.locator("tbody tr").nth(3), margin=0)


def answer(page: Page, serving: ReviewServer, truth: Mapping[str, str]) -> None:
    """Decide the pair that is shown as the truth has it."""
    basis = serving.session.queue.basis
    source = basis.source.entities[int(urlsplit(page.url).path.rpartition("/")[2])]
    shown = page.locator(".rivals li[aria-current] button").first.get_attribute("value")
    is_right = shown is not None and truth.get(source) == basis.target.entities[int(shown)]
    with page.expect_navigation():
        page.keyboard.press("a" if is_right else "r" if source in truth else "n")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        draw(Path(folder), "--charts" in sys.argv[1:])
