"""The app by its pages: files arrive where the user said, are understood, aligned, reported and reviewed."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from conftest import refused
from dualmatch import InputError, read_graph
from dualmatch.app.child import _choices
from dualmatch.app.pair_results import Reviews
from dualmatch.app.serve import AppServer
from dualmatch.app.workspace import Workspace
from dualmatch.cli.main import main
from dualmatch.links.decisions import ConflictError, read_decisions
from dualmatch.links.opinions import ReviewVerdict
from dualmatch.report.findings import Findings, gather
from dualmatch.review.queue import Tab
from dualmatch.simulate.people import TRUE_PAIRS
from reviewing import Answer, Client, app_served

BOUNDARY = "----a-boundary"


def multipart(files: dict[str, tuple[str, bytes]]) -> bytes:
    parts = [
        b'--%s\r\nContent-Disposition: form-data; name="%s"; filename="%s"\r\nContent-Type: x/y\r\n\r\n%s\r\n'
        % (BOUNDARY.encode(), field.encode(), name.encode(), content)
        for field, (name, content) in files.items()
    ]
    return b"".join(parts) + f"--{BOUNDARY}--\r\n".encode()


def upload(client: Client, source: tuple[str, bytes], target: tuple[str, bytes]) -> Answer:
    return send(client, multipart({"source": source, "target": target}))


def send(client: Client, body: bytes, boundary: str = BOUNDARY) -> Answer:
    return client.ask("/upload", "POST", body, content_type=f"multipart/form-data; boundary={boundary}")


def until(holds: Callable[[], bool], seconds: float = 240.0) -> bool:
    end = time.monotonic() + seconds
    while not holds() and time.monotonic() < end:
        time.sleep(0.1)
    return holds()


def is_over(client: Client, what: str, pair: int = 1) -> bool:
    return not json.loads(client.ask(f"/{pair}/state").text)[what]


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[AppServer]:
    with app_served(tmp_path / "here", most=10**6) as running:
        yield running


@pytest.fixture
def client(serving: AppServer) -> Client:
    return Client(serving.address)


@pytest.fixture
def aligned(aligned_workspace: Path, tmp_path: Path) -> Iterator[AppServer]:
    with app_served(shutil.copytree(aligned_workspace, tmp_path / "there")) as running:
        yield running


def files_below(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_from_two_files_to_reviewed_links(
    serving: AppServer, client: Client, people_tables: Path, tmp_path: Path
) -> None:
    folder = serving.workspace.folder
    content = [(people_tables / name).read_bytes() for name in ("archive.csv", "register.csv")]
    answer = upload(client, ("C:\\mine\\the archive.CSV", content[0]), ("../../register.csv", content[1]))
    assert (answer.status, answer.headers["location"]) == (303, "/1/")
    kept = ("source/the-archive.csv", "target/register.csv")
    assert [(folder / "1" / name).read_bytes() for name in kept] == content
    assert until(lambda: is_over(client, "reading"))
    page = client.ask("/1/").text
    entities = f"<dd>{read_graph(people_tables / 'archive.csv').n_entities}</dd>"
    for words in ("the-archive.csv", "register.csv", "First facts", entities, "guessed that id is", "Align them"):
        assert words in page
    assert "source/the-archive.csv" not in page
    assert client.post("/1/align").status == 303
    assert "Cancel" in client.ask("/1/align").text
    assert until(lambda: is_over(client, "aligning"))
    page = client.ask("/1/align").text
    links = (folder / "1" / "run" / "links.tsv").read_bytes()
    assert re.search(r"<b>\d+</b> links", page)
    assert client.ask("/1/links.tsv").body == links
    assert (
        client.ask("/1/report").text.startswith("<!doctype html>") or "<!doctype html>" in client.ask("/1/report").text
    )
    assert client.ask("/1/review/").status == 200
    assert client.post("/1/review/decide", verdict="skip", source=0, seen=0).status == 303
    assert len(read_decisions(folder / "1" / "run" / "links.tsv.decisions.db").decided) == 1
    assert files_below(tmp_path) == {f"here/{name}" for name in files_below(folder)}
    with pytest.raises(InputError, match="another run is at work"), Workspace.opened(folder):
        pass
    main(["align", *map(str, (people_tables / "archive.csv", people_tables / "register.csv")), "-o", "x.tsv", "-q"])
    assert Path("x.tsv").read_bytes() == links  # what the command line finds


@pytest.fixture(autouse=True)
def _within(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("working"))


def test_columns_are_mapped_after_an_error_in_words(serving: AppServer, client: Client) -> None:
    rows = "".join(f"{n},Ann {n},met,Bob {n % 7},0{1 + n % 9}.03.18{10 + n % 80}\n" for n in range(40))
    table = f"no,who,did,whom,first_day\n{rows}".encode()
    assert upload(client, ("club.csv", table), ("other.csv", table)).status == 303
    assert until(lambda: is_over(client, "reading"))
    page = client.ask("/1/").text
    assert "cannot tell which column is the head" in page
    assert "--columns" not in page
    assert '<option value="head" selected>' in page  # suggested
    assert "Align them" not in page
    for side in ("source", "target"):
        fields = {"column-1": "head", "column-2": "relation", "column-3": "tail", "column-4": "time"}
        form = {"side": side, "time_format": "%d.%m.%Y", "on_error": "stop", **fields}
        assert client.post("/1/read", **form).status == 303
        assert until(lambda: is_over(client, "reading"))
    page = client.ask("/1/").text
    assert "Align them" in page
    assert "1810-" in page
    options = json.loads((serving.workspace.folder / "1" / "pair.json").read_text())["options"]
    assert options["source"]["columns"] == {"head": "who", "relation": "did", "tail": "whom", "time": "first_day"}
    assert client.post("/1/align").status == 303
    assert until(lambda: is_over(client, "aligning"))
    assert "links" in client.ask("/1/align").text


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ({"side": "source", "column-0": "head", "column-1": "head"}, "2 columns are the head"),
        ({"side": "source", "column-0": "id", "column-1": "head"}, "give one or the other"),
        ({"side": "source", "column-0": "nonsense"}, "there is no"),
        ({"side": "source", "format": "exe"}, "no format"),
        ({"side": "source", "on_error": "sing"}, "no such choice"),
    ],
)
def test_choices_that_cannot_be_meant_change_nothing(aligned: AppServer, form: dict[str, str], words: str) -> None:
    client, path = Client(aligned.address), aligned.workspace.folder / "1" / "pair.json"
    client.ask("/1/")  # a folder that was copied is read again
    assert until(lambda: is_over(client, "reading"))
    before = path.read_bytes()
    answer = client.post("/1/read", **form)
    assert answer.status == 422
    assert words in answer.text
    assert path.read_bytes() == before


def choose(client: Client, seeds: tuple[str, bytes] = ("", b""), **words: str) -> Answer:
    """Press the button that aligns, with choices."""
    parts = [
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{word}\r\n'
        for name, word in words.items()
    ]
    body = "".join(parts).encode() + multipart({"seeds": seeds})
    return client.ask("/1/align", "POST", body, content_type=f"multipart/form-data; boundary={BOUNDARY}")


def test_names_same_ids_and_known_pairs_are_chosen(serving: AppServer, client: Client, people_tables: Path) -> None:
    tables = [(name, (people_tables / name).read_bytes()) for name in ("archive.csv", "register.csv")]
    assert upload(client, *tables).status == 303
    assert until(lambda: is_over(client, "reading"))
    assert all(words in client.ask("/1/").text for words in ("What to compare", "Known pairs", "The same id"))
    pair = serving.workspace.pair(1)
    known = (people_tables / TRUE_PAIRS).read_bytes().splitlines(keepends=True)[:5]
    assert choose(client, ("my pairs.TSV", b"".join(known)), names="none", same_ids="on").status == 303
    assert until(lambda: is_over(client, "aligning"))
    assert pair.state == "finished"
    record = pair.record
    assert record is not None
    assert [each.names for each in record.run_options.reading] == ["none", "none"]
    assert record.call.same_ids
    links = pl.read_csv(pair.links, separator="\t", infer_schema=False)
    given = links.filter(pl.col("method") == "seed").select("source", "target").rows()
    assert set(given) >= {tuple(line.decode().split()) for line in known}
    assert _choices(record.run_options) == _choices(serving.workspace.pair(1).options)  # it could be resumed
    page = client.ask("/1/align").text
    assert "my pairs.TSV" in page
    assert '<option value="none" selected>' in page
    assert "First facts" in client.ask("/1/").text  # the files need not be read again for that
    assert client.post("/1/align").status == 303  # without choices: as before
    assert until(lambda: is_over(client, "aligning"))
    assert pair.links.read_bytes().count(b"\tseed") == len(given)
    assert choose(client, names="auto").status == 303
    assert until(lambda: is_over(client, "aligning"))
    assert json.loads((pair.folder / "pair.json").read_text())["options"] == {}
    assert b"\tseed" not in pair.links.read_bytes()
    assert [*pair.folder.glob("seeds*")] == []


def test_known_pairs_that_are_none_are_reported(aligned: AppServer) -> None:
    client = Client(aligned.address)
    about, links = aligned.workspace.folder / "1" / "pair.json", aligned.workspace.pair(1).links
    before = about.read_bytes(), links.read_bytes()
    for seeds, words, refusal in (
        (("pairs.exe", b"a\tb\n"), {}, "does not show what it is"),
        (("", b""), {"names": "nonsense"}, "no such choice"),
    ):
        answer = choose(client, seeds, **words)
        assert answer.status == 422
        assert refusal in answer.text
    broken = multipart({"seeds": ("a.tsv", b"a\tb\n")})[:-20]
    kind = f"multipart/form-data; boundary={BOUNDARY}"
    assert client.ask("/1/align", "POST", broken, content_type=kind).status == 400
    assert (about.read_bytes(), links.read_bytes()) == before
    assert choose(client, ("mine.tsv", b"nobody\tno one\n")).status == 303
    assert until(lambda: is_over(client, "aligning"))
    page = client.ask("/1/align").text
    assert "mine.tsv:1: source entity" in page
    assert "seeds-" not in page
    assert links.read_bytes() == before[1]  # what was there stays


def test_a_run_in_other_hands_is_not_cancelled_in_silence(aligned: AppServer) -> None:
    client, lock = Client(aligned.address), aligned.workspace.pair(1).run / "lock"
    with lock.open("w") as held:
        held.write('{"process": 7, "machine": "elsewhere"}')
        held.flush()
        fcntl.flock(held, fcntl.LOCK_EX)
        answer = client.post("/1/cancel")
        assert answer.status == 409
        assert "end it where it was started" in answer.text
        assert client.post("/1/read", side="source").status == 409
        assert choose(client).status == 409
    assert client.post("/1/cancel").status == 303  # nothing to cancel


def test_labels_to_show_and_the_reviewer_are_given(aligned_workspace: Path, tmp_path: Path) -> None:
    folder, labels = shutil.copytree(aligned_workspace, tmp_path / "there"), tmp_path / "labels.tsv"
    name = Workspace(folder).pair(1).links.read_text().splitlines()[1].split("\t")[0]
    labels.write_text(f"{name}\tAnn of the Labels\n")
    with app_served(folder, reviewer="Ada", show_labels=(labels,)) as serving:
        client = Client(serving.address)
        assert "Ann of the Labels" in client.ask("/1/review/?tab=all&q=of+the+labels").text
        assert client.post("/1/review/decide", verdict="skip", source=0, seen=0).status == 303
        log = serving.reviews.of(serving.workspace.pair(1)).session.log
        assert [row.reviewer for row in log.live()] == ["Ada"]
        log.close()
    labels.write_text("nobody\tNone of these\n")  # of other files
    with app_served(folder, show_labels=(labels,)) as serving:
        client = Client(serving.address)
        assert [client.ask(path).status for path in ("/1/review/", "/1/report", "/1/align")] == [200] * 3
        serving.reviews.of(serving.workspace.pair(1)).session.log.close()


def test_labels_to_show_are_shown_with_the_first_facts(serving: AppServer, tmp_path: Path) -> None:
    labels = tmp_path / "labels.tsv"
    labels.write_text("q1\tAda\np9\tknows\nq3\tCharles\n")
    with app_served(tmp_path / "other", show_labels=(labels,)) as other:
        client = Client(other.address)
        table = b"head,relation,tail\nq1,p9,q3\n"
        assert upload(client, ("a.csv", table), ("b.csv", table)).status == 303
        assert until(lambda: is_over(client, "reading"))
        assert all(label in client.ask("/1/").text for label in ("Ada", "knows", "Charles"))


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("../../../etc/cron.d/x.csv", "x.csv"),
        ("/etc/passwd.tsv", "passwd.tsv"),
        ("..csv", "file.csv"),
        (".csv", "file.csv"),
        ("a\\..\\b.nt.gz", "b.nt.gz"),
        ("x" * 400 + ".csv", "x" * 60 + ".csv"),
        ("%2e%2e%2fpair.json.csv", "2e-2e-2fpair-json.csv"),
        ("<script>alert(1)</script>.csv", "script.csv"),
        ("Ωmega -rf *.CSV", "mega-rf.csv"),
    ],
)
def test_files_are_kept_in_the_folder_under_names_of_ours(
    serving: AppServer, client: Client, tmp_path: Path, name: str, kept: str
) -> None:
    assert (
        upload(client, (name, b"head,relation,tail\na,b,c\n"), ("b.csv", b"head,relation,tail\na,b,c\n")).status == 303
    )
    assert until(lambda: is_over(client, "reading"))
    assert f"source/{kept}" in files_below(serving.workspace.folder / "1")
    assert [*tmp_path.iterdir()] == [serving.workspace.folder]
    assert "<script>alert" not in client.ask("/1/").text


def test_names_in_any_script_are_shown(serving: AppServer, client: Client) -> None:
    table = b"head,relation,tail\na,b,c\n"
    assert upload(client, ("данные.csv", table), ("C:\\x\\\u202e<b>数据.csv", table)).status == 303
    assert until(lambda: is_over(client, "reading"))
    assert files_below(serving.workspace.folder / "1") >= {"source/file.csv", "target/b.csv"}
    assert client.post("/1/read", side="source", on_error="skip").status == 303
    for path in ("/", "/1/", "/1/align"):
        page = client.ask(path).text
        assert "данные.csv" in page
        assert "数据" in page
        assert "\u202e" not in page
        assert "<b>数据" not in page
    about = serving.workspace.folder / "1" / "pair.json"
    kept = json.loads(about.read_text())
    assert kept["called"][0] == "данные.csv"
    for spoilt in (["x" * 500, "y"], "xy", [1, 2], ["", "a"], ["a"]):
        about.write_text(json.dumps({**kept, "called": spoilt}))
        assert max(map(len, serving.workspace.pair(1).names)) <= 200
        assert client.ask("/1/align").status == 200


FINE = ("a.csv", b"head,relation,tail\na,b,c\n")


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        (multipart({"source": FINE}), 400, "the target is missing"),
        (multipart({"x": FINE}), 400, "the source and the target is missing"),
        (multipart({"source": ("", b""), "target": FINE}), 400, "source is missing"),
        (multipart({"source": ("run.sh", b"rm"), "target": FINE}), 422, "does not show what it is"),
        (multipart({"source": ("a.csv.exe", b"rm"), "target": FINE}), 422, "does not show what it is"),
        (multipart({"source": ("a.csv", b"x" * 1_000_001), "target": FINE}), 413, "--max-upload"),
        (multipart({"source": ("a.csv", b"x" * 6_000_000), "target": FINE}), 413, "too large"),
        (multipart({str(n): FINE for n in range(9)}), 400, "too many parts"),
        (multipart({"source": ("x" * 9000 + ".csv", b""), "target": FINE}), 400, "The f"),
        (multipart({"source": FINE, "target": FINE}).replace(b"x/y", b"x/y" + b"\r\nx: y" * 10**4), 400, "The f"),
        (b"nonsense", 400, "did not arrive whole"),
        (multipart({"source": FINE, "target": FINE})[:-20], 400, "did not arrive whole"),
        (b"", 400, "did not arrive whole"),
    ],
)
def test_broken_uploads_leave_nothing(serving: AppServer, client: Client, body: bytes, status: int, words: str) -> None:
    answer = send(client, body)
    assert answer.status == status
    assert words in answer.text
    assert os.listdir(serving.workspace.folder) == ["lock"]


def test_headings_of_a_part_are_counted(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dualmatch.app.upload._MOST_HEADERS", 1)
    answer = upload(client, FINE, FINE)
    assert (answer.status, "too many headings" in answer.text) == (400, True)


def test_only_forms_of_files_are_taken(serving: AppServer, client: Client) -> None:
    assert client.ask("/upload", "POST", "a=b").status == 415
    assert client.ask("/upload", "POST", "a", content_type="multipart/form-data").status == 415
    assert client.ask("/upload", "POST", "{}", content_type="application/json").status == 415
    for headers in ({"sec_fetch_site": "cross-site"}, {"origin": "http://evil.example"}):
        for path in ("/upload", "/sample", "/1/align", "/1/cancel", "/1/read"):
            assert client.ask(path, "POST", "", **headers).status == 403
    assert client.ask("/upload", "POST", "", cookie=None).status == 403
    assert os.listdir(serving.workspace.folder) == ["lock"]


def test_a_full_disk_is_reported(serving: AppServer, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, *_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "open", full)
        answer = upload(client, FINE, FINE)
    assert answer.status == 507
    assert "No space left" in answer.text
    assert os.listdir(serving.workspace.folder) == ["lock"]


@pytest.mark.parametrize(
    "path",
    [
        "/1/pair.json",
        "/1/source/archive.csv",
        "/1/run/run.json",
        "/1/run/links.tsv",
        "/1/align.log",
        "/1/understood.json",
        "/1/../lock",
        "/lock",
        "/1/%2e%2e/lock",
        "/static/../pages.py",
        "/static/%2e%2e/pages.py",
        "/static/..%2f..%2fversion.py",
        "/static/",
        "/0/",
        "/2/",
        "/2/review/",
        "/2/report",
        "/99999999999999999999999/",
        f"/{'9' * 5000}/",
        f"/{'9' * 5000}/review/",
        "/01/",
        "/%D9%A1/",
        "/-1/",
        "/1/links.csv",
        "/1/links.tsv?of=1",
        "/1/links.tsv?of=../lock",
        "/1/report?of=-1",
        "/1/seeds-000000000000.tsv",
        "/1/run/links.reviewed.tsv",
        "/1/review/../../lock",
    ],
)
def test_nothing_is_served_that_was_not_asked_for(aligned: AppServer, path: str) -> None:
    answer = Client(aligned.address).ask(path)
    assert answer.status == 404
    assert "import " not in answer.text
    assert '"files"' not in answer.text


def test_pages_and_report_hold_no_script_of_their_own(aligned: AppServer) -> None:
    client = Client(aligned.address)
    for path in ("/", "/1/", "/1/align", "/1/links", "/1/report", "/1/review/", "/none"):
        answer = client.ask(path)
        rules = answer.headers["content-security-policy"]
        assert "unsafe" not in rules
        assert rules.startswith("default-src 'none'")
        assert "frame-ancestors 'none'" in rules
        assert re.findall(r"<script(?! src=\"[/\w]*/static/(?:review|app)\.js\" defer></script>)", answer.text) == []
        assert not re.search(r"\sstyle=|\son[a-z]+=|javascript:", answer.text)
    script = client.ask("/static/app.js").text
    for unsafe in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function("):
        assert unsafe not in script


def test_decisions_are_applied_to_the_final_links(aligned: AppServer) -> None:
    client = Client(aligned.address)
    assert client.ask("/1/review/").status == 200
    assert "Nothing is decided yet" in client.ask("/1/links").text
    assert "decisions applied" not in client.ask("/1/align").text
    assert client.post("/1/review/decide", verdict="none", source=3, seen=0).status == 303
    assert "decisions applied" in client.ask("/1/align").text
    assert "The run's links, with your decisions applied." in client.ask("/1/links").text
    (where,) = re.findall(r'href="([^"]*/final.tsv)"', client.ask("/1/links").text)
    answer = client.ask(where)
    assert answer.status == 200
    assert "\tno match\treview" in answer.text


def test_aligning_again_is_in_the_menu(aligned: AppServer) -> None:
    client = Client(aligned.address)
    first = client.ask("/1/links.tsv").body
    assert 'aria-label="Runs"' not in client.ask("/1/report").text
    review = aligned.reviews.of(aligned.workspace.pair(1))
    alone = int(review.session.queue.tabs[Tab.SPOT][0])  # linked so far
    assert client.post("/1/review/decide", verdict="none", source=alone, seen=0).status == 303
    assert client.post("/1/review/again").status == 303
    review.again.wait(120)
    assert "<b>Report</b> and <b>Links</b>" in client.ask("/1/review/again").text
    (now, before), page = re.findall(r'<h2 id="result-(\d)">', client.ask("/1/links").text), client.ask("/1/links").text
    assert (before, now) == ("0", "1")
    assert "links.reviewed.tsv" in page
    assert client.ask("/1/links.tsv?of=0").body == first
    assert client.ask("/1/links.tsv").body == client.ask("/1/links.tsv?of=1").body != first
    reports = [client.ask(path).text for path in ("/1/report", "/1/report?of=1", "/1/report?of=0")]
    assert reports[0] == reports[1]
    assert "<h1>archive.csv and register.csv, aligned again</h1>" in reports[0]
    assert "<h1>archive.csv and register.csv</h1>" in reports[2]
    for text, here in zip(reports, ("Aligned again", "Aligned again", "First run"), strict=True):
        (runs,) = re.findall(r'<nav class="menu" aria-label="Runs">(.*?)</nav>', text)
        assert re.findall(r'aria-current="page">([^<]*)<', runs) == [here]
    assert "Aligned again with your decisions:" in client.ask("/1/align").text
    for astray in ("2", "-1", "x", "9" * 40):
        assert client.ask(f"/1/links.tsv?of={astray}").status == 404
        assert client.ask(f"/1/report?of={astray}").status == 404
    os.utime(aligned.workspace.pair(1).links)  # a run after it: what was aligned again is not about that
    assert [path.name for path in aligned.workspace.pair(1).results] == ["links.tsv"]


def test_results_are_read_once(aligned: AppServer, monkeypatch: pytest.MonkeyPatch) -> None:
    client, calls = Client(aligned.address), []

    def counted(*given: Any, **more: Any) -> Findings:
        calls.append(given)
        return gather(*given, **more)

    monkeypatch.setattr("dualmatch.app.pair_results.gather", counted)
    pages = [[client.ask(path).text for path in ("/1/align", "/1/links", "/1/report")] for _ in range(3)]
    assert pages[0] == pages[1] == pages[2]
    assert len(calls) == 2  # the figures and the report
    os.utime(aligned.workspace.pair(1).links, (1, 1))
    assert client.ask("/1/align").text == pages[0][0]
    assert len(calls) == 3


def test_the_report_leads_to_pages_not_to_commands(aligned: AppServer) -> None:
    page = Client(aligned.address).ask("/1/report").text
    assert 'Next: <a href="/1/review/">decide in Review</a>' in page
    assert '<a href="/1/links">download the links</a>' in page
    before, _, _ = page.partition('id="cost-command-and-options"')
    assert not re.search(r"<code>|In the folder of the links", before)
    (row, *_) = re.findall(r'href="/1/review/pair/(\d+)\?tab=all&amp;status=all">Look at it', page)
    assert Client(aligned.address).ask(f"/1/review/pair/{row}?tab=all&status=all").status == 200


def test_a_review_is_opened_anew_after_a_new_run(aligned: AppServer) -> None:
    pair, reviews = aligned.workspace.pair(1), Reviews(aligned.workspace)
    before = reviews.of(pair)
    assert reviews.of(pair) is before
    os.utime(pair.links, (1, 1))
    after = reviews.of(pair)
    assert after is not before
    assert after.session.log.state.last == 0
    with pytest.raises(ConflictError, match="look again"):  # the old one holds no file open
        before.session.log.decide(ReviewVerdict.SKIP, "x", None, 0)


def test_a_pair_that_is_not_aligned_has_no_report(serving: AppServer, client: Client) -> None:
    assert upload(client, FINE, FINE).status == 303
    for path in ("/1/report", "/1/review/", "/1/links", "/1/links.tsv"):
        answer = client.ask(path)
        assert answer.status == 422
        assert "not aligned yet" in answer.text
    assert "/1/report" not in client.ask("/1/").text


def test_reading_that_dies_is_not_begun_again_by_itself(
    serving: AppServer, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(sys, "executable", "/bin/false")
        assert upload(client, FINE, FINE).status == 303
        assert until(lambda: is_over(client, "reading"))
    assert "Reading ended before it was finished" in client.ask("/1/").text
    assert client.post("/1/read").status == 303
    assert until(lambda: is_over(client, "reading"))
    assert "First facts" in client.ask("/1/").text


def test_a_spoilt_folder_is_reported_in_words(aligned: AppServer) -> None:
    client, folder = Client(aligned.address), aligned.workspace.folder
    for text in ("{", "{}", '{"files": ["../../etc/passwd", "target/a.csv"]}', '{"files": ["source/a.csv", "x"]}'):
        (folder / "1" / "pair.json").write_text(text)
        answer = client.ask("/1/")
        assert answer.status == 422
        assert "cannot be read" in answer.text
        assert client.ask("/").status == 200


@pytest.mark.slow
def test_cancel_resume_and_a_second_run(serving: AppServer, client: Client) -> None:
    assert client.post("/sample").status == 303
    assert until(lambda: is_over(client, "reading"))
    assert client.post("/1/align").status == 303
    pair = serving.workspace.pair(1)
    assert until(lambda: pair.run.joinpath("stages", "graphs.npz").exists())
    assert client.post("/1/cancel").status == 303
    assert is_over(client, "aligning")
    assert pair.state == "interrupted"
    assert "Resume" in client.ask("/1/align").text
    assert upload(client, FINE, FINE).status == 303
    assert client.post("/1/align").status == 303
    assert client.post("/2/align").status == 409  # one at a time
    assert until(lambda: is_over(client, "aligning"), 300)
    assert pair.state == "finished"
    assert "Against" in client.ask("/1/report").text  # the truth of the sample is known
    command = pair.record.outcome.cost.command  # type: ignore[union-attr]
    assert command[-1] == "--resume"


def begin(folder: Path) -> tuple[subprocess.Popen[str], Client]:
    words = [sys.executable, "-m", "dualmatch", "app", "--folder", str(folder), "--no-open"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    return process, Client(process.stdout.readline().split()[-1])


def test_kill_9_after_an_answered_click_loses_nothing(people_tables: Path, tmp_path: Path) -> None:
    """Files, options, the run and decisions: whatever was answered is there in the next app."""
    folder = tmp_path / "kept"
    tables = [(name, (people_tables / name).read_bytes()) for name in ("archive.csv", "register.csv")]

    def killed_after(click: Callable[[Client], Answer]) -> None:
        process, client = begin(folder)
        try:
            assert click(client).status == 303
        finally:
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()

    killed_after(lambda client: upload(client, tables[0], tables[1]))
    assert (folder / "1" / "source" / "archive.csv").read_bytes() == tables[0][1]
    killed_after(lambda client: client.post("/1/read", side="source", on_error="skip"))
    assert json.loads((folder / "1" / "pair.json").read_text())["options"] == {"source": {"on_error": "skip"}}
    killed_after(lambda client: client.post("/1/align"))
    with Workspace.opened(folder) as workspace:  # the run goes to its end without the app
        assert until(lambda: workspace.pair(1).state == "finished")
    killed_after(lambda client: client.post("/1/review/decide", verdict="skip", source=3, seen=0))
    assert len(read_decisions(folder / "1" / "run" / "links.tsv.decisions.db").decided) == 1


def test_an_app_that_is_ended_ends_its_run(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    process, client = begin(folder)
    assert client.post("/sample").status == 303
    assert client.post("/1/align").status == 303
    with process:
        process.send_signal(signal.SIGTERM)
    assert process.returncode == 143
    with Workspace.opened(folder) as workspace:
        assert workspace.pair(1).state != "running"


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(AppServer, "run", lambda self: self._bound.close())
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    main(["app"])
    shown = capsys.readouterr()
    assert shown.out == f"the app is on {opened[0]}\n"
    assert f"kept in {tmp_path / 'dualmatch-app'}" in shown.err
    assert [*tmp_path.iterdir()] == []  # nothing was given, nothing is left
    (tmp_path / "dualmatch-app").mkdir()
    main(["app", "--no-open"])
    assert f"kept in {tmp_path / 'dualmatch-app-2'}" in capsys.readouterr().err
    assert "--max-upload" in refused(["app", "--max-upload", "lots"], capsys, tmp_path)
    (tmp_path / "file").write_text("")
    assert "cannot be used as a folder" in refused(["app", "--folder", "file"], capsys, tmp_path)
    assert "--reviewer" in refused(["app", "--reviewer", "x" * 81], capsys, tmp_path)
    assert "no such file" in refused(["app", "--show-labels", "none.tsv"], capsys, tmp_path)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert "in a clone, run: pip install '.[review]'" in refused(["app"], capsys, tmp_path)
