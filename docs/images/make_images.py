"""Draw the pictures of the README and the docs from the demo's pair of graphs.

DUALMATCH_CHROMIUM=/usr/bin/chromium python docs/images/make_images.py
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Page, sync_playwright

from dualmatch import explain
from dualmatch.app.serve import AppServer
from dualmatch.app.workspace import Workspace
from dualmatch.links.read import read_name_pairs
from dualmatch.research.demo import DemoResult, run_demo
from dualmatch.review.queue import Tab
from dualmatch.review.serve import Endpoint, ReviewServer, open_session
from dualmatch.simulate.people import TRUE_PAIRS

HERE = Path(__file__).parent
APP = Path(tempfile.gettempdir()) / "parish-books"  # in a picture


def draw(folder: Path) -> None:
    """Align the demo's pair, and take pictures of its report, its review and its charts."""
    folder.mkdir(exist_ok=True)
    result = run_demo(folder / "demo-out")
    with sync_playwright() as playwright:
        path = os.environ.get("DUALMATCH_CHROMIUM", "/usr/bin/chromium")
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1000, "height": 1000})
        page.goto(result.page.as_uri())
        both_schemes(page, "report")
        serving = ReviewServer(open_session(result.links, reviewer="Ada"), Endpoint())
        serving.session.prepare()  # no picture of a page that still waits for its reasons
        thread = threading.Thread(target=serving.run)
        thread.start()
        truth = dict(read_name_pairs(result.files[0].with_name(TRUE_PAIRS)))
        draw_review(browser, serving, doubtful(result), truth)
        draw_app(browser)
        browser.close()
        serving.stop()
        thread.join()
    why = next(each for each in result.some_links(50) if each.label and len(each.shared) == 3)
    why.plot().save(HERE / "why.svg")


def doubtful(result: DemoResult) -> int:
    """The row of a link that is not sure, between two people with names and with as much to see as any."""
    pairs, sure = result.alignment.pairs, result.alignment.confidence
    rows = pairs[(sure > 0.5) & (sure < 0.95), 0].tolist()
    explained = {row: explain(result.alignment, result.alignment.source.entities[row]) for row in rows}
    return max(explained, key=lambda row: (bool(explained[row].label), len(explained[row].shared)))


def both_schemes(page: Page, name: str) -> None:
    """The page as it is, light and dark."""
    for scheme, end in (("light", ""), ("dark", "-dark")):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        page.screenshot(path=HERE / f"{name}{end}.png")
    page.emulate_media(color_scheme="light")


def draw_app(browser: Browser) -> None:
    """What was understood of the sample, light and wide; the finished run, dark and narrow."""
    APP.mkdir()  # nobody else's
    with Workspace.opened(APP) as workspace:
        serving = AppServer(workspace, Endpoint(), most=2 * 10**9)
        thread = threading.Thread(target=serving.run)
        thread.start()
        page = browser.new_page(viewport={"width": 1200, "height": 900})
        page.goto(serving.address)
        page.click("text=Use the sample")
        page.wait_for_selector(".go", timeout=120_000)
        page.screenshot(path=HERE / "app.png")
        page.click("text=Align them")
        page.wait_for_selector(".next", timeout=300_000)
        page.set_viewport_size({"width": 390, "height": 640})
        page.emulate_media(color_scheme="dark")
        page.screenshot(path=HERE / "app-dark.png")
        serving.stop()
        thread.join()
    shutil.rmtree(APP)


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
    both_schemes(page, "review")
    page.goto(home)
    both_schemes(page, "queue")
    page.goto(f"{home}/pair/{serving.session.queue.tabs[Tab.SPOT][0]}?tab=spot")
    for _ in range(24):
        answer(page, serving, truth)
    page.goto(f"{home}/?tab=spot")
    page.screenshot(path=HERE / "spot-check.png")


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
        draw(Path(folder))
