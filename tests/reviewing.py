"""A review that is served from this process, clients of it, and a browser where there is one."""

from __future__ import annotations

import http.client
import os
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlencode, urlsplit

import pytest

from dualmatch.app.serve import AppServer
from dualmatch.app.workspace import Workspace
from dualmatch.cli.main import main
from dualmatch.review.serve import Endpoint, ReviewServer, open_session
from dualmatch.simulate import PeopleWorld, World, simulate, simulate_people, write_folder, write_people
from forked_process import forked_children

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

# Half the facts in common, many dates missing: some pairs are doubtful, and some entities without a partner show it.
DOUBTFUL = World(entities=400, mean_facts=7, common_share=0.5, missing_share=0.3, seed=11)


def chromium() -> str | None:
    """Where Chromium is: DUALMATCH_CHROMIUM, or where systems put it."""
    given = os.environ.get("DUALMATCH_CHROMIUM")
    return given or next((path for name in ("chromium", "chromium-browser") if (path := shutil.which(name))), None)


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()


class Client:
    """Asks for pages, with the token's cookie and the headers that a browser would send, unless told otherwise."""

    def __init__(self, address: str, at: str = "") -> None:
        parts = urlsplit(address)
        self.at = at  # the path that every other begins with
        self.address, self.home = address, f"http://{parts.netloc}"
        self.host, self.token = parts.netloc, parts.query.removeprefix("token=")
        self.cookie = f"dualmatch_{parts.port}={self.token}"

    def ask(self, path: str, method: str = "GET", body: str | bytes | None = None, **headers: str | None) -> Answer:
        sent: dict[str, str | None] = {"Host": self.host, "Cookie": self.cookie}
        if method == "POST":
            sent |= {
                "Origin": f"http://{self.host}",
                "Sec-Fetch-Site": "same-origin",
                "Content-Type": "application/x-www-form-urlencoded",
            }
        sent |= {name.replace("_", "-").title(): value for name, value in headers.items()}
        connection = http.client.HTTPConnection(self.host, timeout=120)
        try:
            connection.putrequest(method, self.at + path, skip_host=True, skip_accept_encoding=True)
            for name, value in sent.items():
                if value is not None:
                    connection.putheader(name, value)
            data = body.encode() if isinstance(body, str) else body or b""
            if method == "POST":
                connection.putheader("Content-Length", str(len(data)))
            connection.endheaders(data or None)
            answer = connection.getresponse()
            return Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def post(self, path: str, **fields: object) -> Answer:
        return self.ask(path, "POST", urlencode(fields))


def weights_in(page: str) -> list[float]:
    """The numbers of a page that have a sign."""
    return [float(each.replace("−", "-").replace(",", "")) for each in re.findall(r">([+−][\d,]+\.\d\d)<", page)]


@contextmanager
def served(links: Path, prepared: bool = True, folder: Path | None = None) -> Iterator[ReviewServer]:
    """Unless told otherwise reasons are ready, so that no page changes under a test's hands."""
    serving = ReviewServer(open_session(links, folder=folder), Endpoint())
    if prepared:
        serving.session.prepare()
    thread = threading.Thread(target=serving.run)
    thread.start()
    try:
        yield serving
    finally:
        serving.stop()
        serving.again.wait(60)
        thread.join()
        serving.session.log.close()


@contextmanager
def app_served(folder: Path, most: int = 10**8, **more: Any) -> Iterator[AppServer]:
    """The app with the pairs of a folder."""
    with Workspace.opened(folder) as workspace, forked_children():
        serving = AppServer(workspace, Endpoint(), most, **more)
        thread = threading.Thread(target=serving.run)
        thread.start()
        try:
            yield serving
        finally:
            serving.stop()
            thread.join()


@pytest.fixture(scope="session")
def people_tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with archive.csv and register.csv: two small tables of people."""
    return write_people(simulate_people(PeopleWorld(people=150)), tmp_path_factory.mktemp("tables") / "people")


@pytest.fixture(scope="session")
def aligned_workspace(people_tables: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an app with one pair, which is aligned; copy it before you change it."""
    folder = tmp_path_factory.mktemp("workspace")
    with Workspace.opened(folder) as workspace, workspace.draft() as draft:
        for side, name in (("source", "archive.csv"), ("target", "register.csv")):
            shutil.copy(people_tables / name, draft / side)
        pair = workspace.add(draft, (Path("source/archive.csv"), Path("target/register.csv")))
        files = [str(pair.folder / file) for file in pair.files]
        main(["align", *files, "--run", str(pair.run), "--config", str(pair.folder / "pair.json"), "-q"])
    return folder


@pytest.fixture(scope="session")
def doubtful(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with doubtful pairs: ``links.tsv`` and all true pairs beside it, by name."""
    here = tmp_path_factory.mktemp("doubtful")
    pair = simulate(DOUBTFUL)
    write_folder(pair, here / "world")
    names = [f"{pair.source.entities[s]}\t{pair.target.entities[t]}\n" for s, t in pair.gold.tolist()]
    (here / "gold.tsv").write_text("".join(names))
    main(["align", str(here / "world"), "-o", str(here / "links.tsv"), "-q"])
    return here


@pytest.fixture
def links(doubtful: Path, tmp_path: Path) -> Path:
    """The same run in a place of its own."""
    for path in doubtful.glob("links.tsv*"):
        shutil.copy(path, tmp_path)
    return tmp_path / "links.tsv"


@pytest.fixture
def serving(links: Path) -> Iterator[ReviewServer]:
    with served(links) as running:
        yield running


@pytest.fixture
def client(serving: ReviewServer) -> Client:
    return Client(serving.address)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = chromium()
    if path is None:
        pytest.skip("no Chromium here: install it, or say where it is with DUALMATCH_CHROMIUM")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # Debian's Chromium asks for a graphics card, and where there is none, computes what that would.
        options = ["--no-sandbox", "--disable-gpu", "--disable-gpu-rasterization"]
        running = playwright.chromium.launch(executable_path=path, args=options)
        yield running
        running.close()


OpenPage = Callable[..., "Page"]


@pytest.fixture
def open_page(browser: Browser) -> Iterator[OpenPage]:
    """Open an address in a browser that reaches nothing but it; whatever the page complains of fails the test."""
    contexts, complaints, strays = [], [], []

    def opened(address: str, **options: object) -> Page:
        context = browser.new_context(**options)  # type: ignore[arg-type]
        contexts.append(context)
        ours = f"{urlsplit(address).scheme}://{urlsplit(address).netloc}/"

        def decide(route: object) -> None:
            if route.request.url.startswith(ours):  # type: ignore[attr-defined]
                route.continue_()  # type: ignore[attr-defined]
            else:
                strays.append(route.request.url)  # type: ignore[attr-defined]
                route.abort()  # type: ignore[attr-defined]

        context.route("**/*", decide)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.on("dialog", lambda dialog: complaints.append(f"dialog: {dialog.message}"))
        page.goto(address)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert strays == []
    assert complaints == []


def assert_accessible(page: Page, *schemes: Literal["light", "dark"]) -> None:
    """No rule of axe-core is violated, and nothing but what scrolls by itself is wider than the screen.

    With `schemes`, in each of these colour schemes; else in the one the page has.
    """
    from axe_playwright_python.base import AXE_SCRIPT
    from axe_playwright_python.sync_playwright import Axe

    for scheme in schemes or (None,):
        if scheme is not None:
            page.emulate_media(color_scheme=scheme)
            assert page.evaluate(f"matchMedia('(prefers-color-scheme: {scheme})').matches")
        is_there = page.evaluate("'axe' in window")  # half a megabyte, which a document needs once
        found = Axe("0" if is_there else AXE_SCRIPT).run(page).response["violations"]
        assert [(each["id"], [node["html"] for node in each["nodes"]]) for each in found] == [], scheme
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), scheme


def press(page: Page, key: str, address: str = "") -> None:
    """Press a key that leads to another page, and wait for it; keys are heard only once a page has loaded."""
    page.wait_for_load_state()
    with page.expect_navigation(url=re.compile(address)):
        page.keyboard.press(key)
