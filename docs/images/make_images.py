"""Draw the pictures of the README and the docs from the demo's pair of graphs.

DUALMATCH_CHROMIUM=/usr/bin/chromium python docs/images/make_images.py
"""

from __future__ import annotations

import os
import tempfile
import threading
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Browser, sync_playwright

from dualmatch.app.serve import AppServer
from dualmatch.app.workspace import Workspace
from dualmatch.research.demo import run_demo
from dualmatch.review.filter import Filter
from dualmatch.review.queue import Tab
from dualmatch.review.serve import Endpoint, ReviewServer, open_session

HERE = Path(__file__).parent


def draw(folder: Path) -> None:
    """Align the demo's pair, and take pictures of its report and of a doubtful pair."""
    result = run_demo(folder)
    links = result.links
    with sync_playwright() as playwright:
        path = os.environ.get("DUALMATCH_CHROMIUM", "/usr/bin/chromium")
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 900, "height": 900})
        page.goto(result.page.as_uri())
        page.screenshot(path=HERE / "report.png")
        serving = ReviewServer(open_session(links, reviewer="Ada"), Endpoint())
        serving.session.prepare()  # no picture of a page that still waits for its reasons
        thread = threading.Thread(target=serving.run)
        thread.start()
        draw_review(browser, serving)
        draw_app(browser, folder / "app")
        browser.close()
        serving.stop()
        thread.join()


def draw_app(browser: Browser, folder: Path) -> None:
    """What was understood of the sample, light and wide; the finished run, dark and narrow."""
    with Workspace.opened(folder) as workspace:
        serving = AppServer(workspace, Endpoint(), most=2 * 10**9)
        thread = threading.Thread(target=serving.run)
        thread.start()
        page = browser.new_page(viewport={"width": 1100, "height": 900})
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


def draw_review(browser: Browser, serving: ReviewServer) -> None:
    """A doubtful pair; what a spot check has found, dark."""
    session = serving.session
    page = browser.new_page(viewport={"width": 1100, "height": 820})
    page.goto(serving.address)
    home = f"http://{urlsplit(serving.address).netloc}"
    page.goto(f"{home}/pair/{session.queue.tabs[Tab.SPOT][0]}?tab=spot")
    for _ in range(24):
        with page.expect_navigation():
            page.keyboard.press("a")
    undecided = session.rows(Filter(outcome="undecided"))
    named = [row for row in undecided.tolist() if session.run.basis.source.shown(row).id is not None]
    page.goto(f"{home}/pair/{named[0]}")
    page.screenshot(path=HERE / "review.png")
    page.emulate_media(color_scheme="dark")
    page.goto(f"{home}/?tab=spot")
    page.screenshot(path=HERE / "review-dark.png")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        draw(Path(folder))
