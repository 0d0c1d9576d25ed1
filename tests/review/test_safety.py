"""Who may ask, from where, and what a browser may do with the answer."""

from __future__ import annotations

import re
import shutil
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from dualmatch import InputError
from dualmatch.cli.main import main
from dualmatch.graph.shown_name import shown_name
from dualmatch.review.pages import linked
from dualmatch.review.realign import Realignment
from dualmatch.review.serve import Endpoint, ReviewServer
from dualmatch.review.session import Session
from reviewing import Client, app_served, served

FORM = "verdict=skip&source=0&seen=0"
WRITES = ("/decide", "/both", "/accept", "/undo", "/again")


@dataclass(frozen=True)
class Reviewed:
    """A review that is served, by itself or within the app."""

    address: str
    at: str
    session: Session
    again: Realignment


@pytest.fixture(scope="module", params=["review", "app"])
def serving(
    request: pytest.FixtureRequest, doubtful: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Reviewed]:
    """One server for all: what is refused changes nothing."""
    here = tmp_path_factory.mktemp("safety")
    if request.param == "review":
        for path in doubtful.glob("links.tsv*"):
            shutil.copy(path, here)
        with served(here / "links.tsv") as running:
            yield Reviewed(running.address, "", running.session, running.again)
        return
    folder = shutil.copytree(request.getfixturevalue("aligned_workspace"), here / "workspace")
    with app_served(folder) as app:
        review = app.reviews.of(app.workspace.pair(1))
        yield Reviewed(app.address, "/1/review", review.session, review.again)
        review.session.log.close()


@pytest.fixture(scope="module")
def client(serving: Reviewed) -> Client:
    return Client(serving.address, serving.at)


@pytest.fixture(scope="module")
def home(serving: Reviewed) -> Client:
    """Asks for the page that the address leads to."""
    return Client(serving.address)


def test_the_token_opens_the_page_once_and_leaves_the_address(client: Client, home: Client) -> None:
    answer = home.ask(f"/?token={client.token}", cookie=None)
    assert (answer.status, answer.headers["location"]) == (303, "/")
    assert answer.headers["set-cookie"] == f"{client.cookie}; HttpOnly; SameSite=Strict; Path=/"
    assert client.ask("/").status == home.ask("/").status == 200
    assert client.token not in home.ask("/").text
    assert client.token not in client.ask("/").text
    assert len(client.token) >= 40


@pytest.mark.parametrize("cookie", [None, "", "other=1", "dualmatch_1=x", "=;=", 'a="', "é=ü"])
@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/pair/0",
        "/static/review.js",
        "/export/seeds.tsv",
        "/export/final.tsv",
        "/history",
        "/differences",
        "/again/state",
        "/none",
    ],
)
def test_without_the_token_nothing_is_shown(client: Client, path: str, cookie: str | None) -> None:
    answer = client.ask(path, cookie=cookie)
    assert answer.status == 403
    assert answer.text.startswith("Open the address that dualmatch printed")


@pytest.mark.parametrize("other", ['state={"a":1}', "two words=1", 'open="', "é=ü", "path=/", "flag", "=", ""])
def test_cookies_of_other_programs_do_not_shut_us_out(client: Client, other: str) -> None:
    """Browsers send the cookies of all ports of 127.0.0.1."""
    for cookie in (f"{other}; {client.cookie}", f"{client.cookie};{other}"):
        assert client.ask("/prepared", cookie=cookie).status == 200


@pytest.mark.parametrize("token", ["", "x", "x" * 43, "%FF"])
def test_a_wrong_token_is_refused(client: Client, home: Client, token: str) -> None:
    assert home.ask(f"/?token={token}", cookie=None).status == 403
    assert home.ask(f"/?token={client.token}&token={client.token}", cookie=None).status == 403
    name = client.cookie.partition("=")[0]
    assert client.ask("/", cookie=f"{name}={token}").status == 403


def test_tokens_differ(links: Path) -> None:
    with served(links) as one, served(links) as other:
        assert urlsplit(one.address).query != urlsplit(other.address).query


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1", "127.0.0.1:1", "", None])
def test_foreign_hosts_are_refused_whatever_else_is_right(client: Client, host: str | None) -> None:
    # Without any Host the server itself refuses, and closes the connection on a body that it has not read.
    body = None if host is None else FORM
    for method in ("GET", "POST"):
        answer = client.ask("/", method, body, host=host, origin=f"http://{host}")
        assert answer.status in (400, 421)
        assert "Queue" not in answer.text


def test_the_host_is_looked_at_before_the_origin(client: Client) -> None:
    assert client.ask("/decide", "POST", FORM, host="evil.example", origin="http://evil.example").status == 421
    port = client.host.rpartition(":")[2]
    assert client.ask("/", host=f"localhost:{port}").status == 200
    assert client.ask("/", host=f"LOCALHOST:{port}").status == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
        {"sec_fetch_site": "none"},
        {"sec_fetch_site": None, "origin": "http://evil.example"},
        {"sec_fetch_site": None, "origin": "null"},
        {"sec_fetch_site": "same-origin", "origin": "http://evil.example"},
        {"sec_fetch_site": None, "origin": None},
    ],
)
def test_writes_from_elsewhere_are_refused(client: Client, serving: Reviewed, headers: dict[str, str | None]) -> None:
    before = serving.session.log.live()
    for path in WRITES:
        assert client.ask(path, "POST", FORM, **headers).status == 403
    assert serving.session.log.live() == before
    assert serving.again.state == "idle"


def test_writes_of_our_own_are_taken(client: Client, serving: Reviewed) -> None:
    before = len(serving.session.log.live())
    assert client.ask("/decide", "POST", FORM.replace("source=0", "source=2"), sec_fetch_site=None).status == 303
    assert client.ask("/decide", "POST", FORM.replace("source=0", "source=1"), origin=None).status == 303
    assert len(serving.session.log.live()) == before + 2


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_other_methods_are_refused(client: Client, method: str) -> None:
    assert client.ask("/", method).status == 405
    for path in {*WRITES} - {"/again"}:
        assert client.ask(path).status == 405
        assert client.ask(path, method).status == 405


def test_every_answer_comes_with_the_same_rules(client: Client) -> None:
    for answer in (
        client.ask("/"),
        client.ask("/pair/0"),
        client.ask("/static/review.css"),
        client.ask("/none"),
        client.ask("/", cookie=None),
        client.ask("/", host="evil.example"),
        client.post("/decide", verdict="skip", source=3, seen=0),
    ):
        rules = dict(part.strip().split(" ", 1) for part in answer.headers["content-security-policy"].split(";"))
        assert rules["default-src"] == rules["frame-ancestors"] == rules["base-uri"] == "'none'"
        assert rules["script-src"] == rules["style-src"] == rules["form-action"] == "'self'"
        assert "unsafe" not in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert "access-control-allow-origin" not in answer.headers
        assert "server" not in answer.headers


def test_pages_hold_no_script_or_style_of_their_own(client: Client) -> None:
    for path in ("/", "/?tab=spot", "/pair/0", "/history", "/differences", "/again", "/none"):
        text = client.ask(path).text
        assert re.findall(r"<script(?! src=\"[/\w]*/static/(?:review|app)\.js\" defer></script>)", text) == []
        assert not re.search(r"<style|\sstyle=|\son[a-z]+=|javascript:", text)
    script = client.ask("/static/review.js").text
    for unsafe in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function("):
        assert unsafe not in script


def test_pages_can_be_mounted_anywhere(client: Client) -> None:
    """`dualmatch app` shows them below a path of its own: no address of theirs begins at the root."""
    for template in files("dualmatch.review").joinpath("templates").iterdir():
        assert re.findall(r'(?:href|action|src)="/[^"]*"', template.read_text("utf-8")) == []
    assert 'fetch("' not in client.ask("/static/review.js").text


@pytest.mark.parametrize(
    "path",
    [
        "/static/../serve.py",
        "/static/%2e%2e/serve.py",
        "/static/..%2fserve.py",
        "/static//etc/passwd",
        "/export/../../etc/passwd",
        "/export/links.tsv",
        "/export/final.xlsx",
        "/export/decisions.db",
        "/pair/../../etc",
        "/static/",
    ],
)
def test_no_path_reaches_the_file_system(client: Client, path: str) -> None:
    answer = client.ask(path)
    assert answer.status == 404
    assert "root:" not in answer.text
    assert "import " not in answer.text


@pytest.mark.parametrize(
    ("form", "status"),
    [
        ("", 400),
        ("verdict=accept", 400),
        ("verdict=undo&source=0&seen=0", 400),
        ("verdict=perhaps&source=0&seen=0", 400),
        ("verdict=skip&source=-1&seen=0", 400),
        ("verdict=skip&source=99999&seen=0", 404),
        ("verdict=accept&source=0&target=99999&seen=0", 404),
        ("verdict=accept&source=0&seen=0", 400),
        ("verdict=skip&source=0&seen=7", 409),
        ("verdict=skip&source=" + "9" * 99 + "&seen=0", 400),
        ("x" * 20_000, 413),
    ],
)
def test_broken_forms_change_nothing(client: Client, serving: Reviewed, form: str, status: int) -> None:
    before = serving.session.log.live()
    assert client.ask("/decide", "POST", form).status == status
    assert serving.session.log.live() == before


def test_only_forms_are_taken(client: Client) -> None:
    for path in WRITES:
        assert client.ask(path, "POST", "{}", content_type="application/json").status == 415
        assert client.ask(path, "POST", FORM, content_type="text/plain").status == 415
        assert client.ask(path, "POST", "x" * 20_000).status == 413
    for path, form in (
        ("/both", "source=0&seen=0"),
        ("/both", "way=swapped&source=0"),
        ("/accept", "tab=spot"),
        ("/undo", ""),
    ):
        assert client.ask(path, "POST", form).status == 400
    assert client.ask("/both", "POST", "way=swapped&source=99999&seen=0").status == 404
    assert client.ask("/accept", "POST", "tab=spot&seen=0").status == 409  # nothing of it was checked
    assert client.ask("/decide", "POST", "accept=99999&source=0&seen=0").status == 404
    assert client.ask("/decide", "POST", "accept=&source=0&seen=0").status == 400
    assert client.ask("/history?page=x").status == 400
    assert client.ask("/undo", "POST", "seen=99").status == 409
    assert client.ask("/pair/0?show=x").status == 400
    assert client.ask("/pair/0?show=99999").status == 404
    assert client.ask("/?page=0").status == 200
    assert client.ask("/?page=x").status == 400


def test_a_redirect_goes_to_our_own_pages_only(client: Client) -> None:
    form = FORM.replace("source=0", "source=4")
    answer = client.ask("/decide", "POST", form + "&q=%0d%0aSet-Cookie:x%3d1&status=all&back=http://evil.example")
    assert answer.status == 303
    assert answer.headers["location"] == f"{client.at}/?q=Set-Cookie%3Ax%3D1&status=all"
    assert "set-cookie" not in answer.headers
    assert "evil" not in answer.headers["location"]


@pytest.mark.parametrize(
    ("name", "is_link"),
    [
        ("http://example.org/Ada", True),
        ("https://example.org/a?b=c&d", True),
        ("javascript:alert(1)", False),
        ("data:text/html,<script>alert(1)</script>", False),
        ("http://example.org/\u202ecod", False),
        ("http://a b", False),
        (" http://example.org", False),
        ("http://example.org/\n", False),
        ('http://x/" onclick="alert(1)', False),
        ("file:///etc/passwd", False),
    ],
)
def test_only_addresses_of_the_web_are_links(name: str, is_link: bool) -> None:
    assert ("href" in linked(shown_name(name))) == is_link
    if is_link:
        assert 'rel="noopener noreferrer nofollow"' in linked(shown_name(name))


def test_endpoints() -> None:
    assert Endpoint().is_loopback
    assert Endpoint("::1").is_loopback
    assert not Endpoint("192.0.2.7").is_loopback
    for host in ("0.0.0.0", "::", "localhost", "evil.example"):
        with pytest.raises(InputError, match=f"--host {host}"):
            Endpoint(host)
    with Endpoint().bound() as bound:
        assert bound.proto == socket.IPPROTO_TCP  # asyncio sets TCP_NODELAY only then
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(InputError, match="cannot be served"):
            Endpoint(port=taken.getsockname()[1]).bound()


def test_an_address_that_others_reach_is_warned_of(
    links: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Endpoint, "bound", _bound_here)
    monkeypatch.setattr(ReviewServer, "run", lambda self: self._bound.close())
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    main(["review", str(links), "--host", "192.0.2.7", "--no-open"])
    assert "can be reached by other machines" in capsys.readouterr().err
    assert opened == []
    main(["review", str(links)])
    shown = capsys.readouterr()
    assert "other machines" not in shown.err
    assert shown.out == f"reviewing on {opened[0]}\n"


def _bound_here(_: Endpoint) -> socket.socket:
    """A socket on this machine, whatever the address: the test has no other."""
    bound = socket.socket()
    bound.bind(("127.0.0.1", 0))
    return bound
