"""Fetching datasets from a server on loopback: resuming, wrong bytes, no network, offline."""

from __future__ import annotations

import errno
import hashlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from conftest import refused
from dualmatch.cli.main import main
from dualmatch.errors import InputError, OutputError
from dualmatch.research import datasets
from dualmatch.research.datasets import Dataset, RemoteFile, dataset_called, fetch, fetched_folders, git_blob

CONTENT = {"triples_1": bytes(range(256)) * 600, "ent_ids_1": b"0\tAda\n", "sup_pairs": b"0\t1\n" * 40_000}


def blob_of(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


@dataclass
class Served:
    """What the server gives and what it was asked."""

    url: str = ""
    content: dict[str, bytes] = field(default_factory=lambda: dict(CONTENT))
    asked: list[tuple[str, str | None]] = field(default_factory=list)
    break_off_after: int | None = None
    knows_ranges: bool = True
    off_by: int = 0
    kind: str = "text/plain"
    moved: bool = False


@pytest.fixture
def server() -> Iterator[Served]:
    served = Served()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name, asked = self.path.rpartition("/")[2], self.headers.get("Range")
            served.asked.append((name, asked))
            if served.moved and not self.path.startswith("/elsewhere"):
                self.send_response(302)
                self.send_header("Location", f"/elsewhere/{name}")
                self.end_headers()
                return
            content = served.content.get(name)
            if content is None:
                self.send_error(404)
                return
            start = int(asked.removeprefix("bytes=").rstrip("-")) if asked and served.knows_ranges else 0
            if start and start >= len(content):
                self.send_error(416)
                return
            self.send_response(206 if start else 200)
            self.send_header("Content-Length", str(len(content) - start))
            self.send_header("Content-Type", served.kind)
            if start:
                self.send_header("Content-Range", f"bytes {start + served.off_by}-{len(content) - 1}/{len(content)}")
            self.end_headers()
            end = len(content) if served.break_off_after is None else start + served.break_off_after
            self.wfile.write(content[start:end])

        def log_message(self, *_: object) -> None:
            """No lines among the tests'."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        served.url = f"http://127.0.0.1:{http.server_address[1]}/data"
        thread = threading.Thread(target=http.serve_forever)
        thread.start()
        yield served
        http.shutdown()
        thread.join()


@pytest.fixture
def dataset(server: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Dataset:
    """A dataset of three files, one of which nobody knows the hash of."""
    monkeypatch.setenv("DUALMATCH_DATASETS", str(tmp_path / "cache"))
    monkeypatch.setenv("DUALMATCH_DATASETS_URL", server.url)
    monkeypatch.setenv("no_proxy", "*")
    files = tuple(
        RemoteFile(name, blob_of(content), len(content)) if name != "ent_ids_1" else RemoteFile(name)
        for name, content in CONTENT.items()
    )
    planted = Dataset("Planted", "planted", "three files", files)
    monkeypatch.setitem(datasets.DATASETS, "Planted", planted)
    return planted


def test_a_dataset_comes_whole_and_is_not_fetched_twice(server: Served, dataset: Dataset) -> None:
    assert "planted" not in fetched_folders()
    seen: list[tuple[str, int, int]] = []
    path = fetch(dataset, progress=lambda *step: seen.append(step))
    assert {file.name: file.read_bytes() for file in path.iterdir()} == CONTENT
    assert {name: total for name, received, total in seen if received == total} == {
        k: len(v) for k, v in CONTENT.items()
    }
    assert len(seen) > 3  # large files come in pieces, each reported
    server.asked.clear()
    fetch(dataset)
    assert server.asked == []
    assert fetched_folders()["planted"] == path == dataset.path


def test_what_broke_off_is_resumed(server: Served, dataset: Dataset) -> None:
    server.break_off_after = 100_000
    with pytest.raises(InputError, match="kept, and the same command resumes"):
        fetch(dataset)
    part = dataset.path / ".triples_1.part"
    assert part.read_bytes() == CONTENT["triples_1"][:100_000]
    assert not (dataset.path / "triples_1").exists()
    server.break_off_after = None
    server.asked.clear()
    fetch(dataset)
    assert server.asked[0] == ("triples_1", "bytes=100000-")
    assert (dataset.path / "triples_1").read_bytes() == CONTENT["triples_1"]
    assert not part.exists()


@pytest.mark.parametrize("left", [b"wrong beginning", CONTENT["triples_1"] + b"more than there is"])
def test_a_server_without_ranges_or_a_part_too_long_starts_anew(server: Served, dataset: Dataset, left: bytes) -> None:
    server.knows_ranges = len(left) > 1000
    dataset.path.mkdir(parents=True)
    (dataset.path / ".triples_1.part").write_bytes(left)
    fetch(dataset)
    assert (dataset.path / "triples_1").read_bytes() == CONTENT["triples_1"]


def test_a_file_of_unknown_hash_is_never_pieced_together(server: Served, dataset: Dataset) -> None:
    """Its beginning may be anything, and nothing would show it."""
    dataset.path.mkdir(parents=True)
    (dataset.path / ".ent_ids_1.part").write_bytes(b"<h")
    fetch(dataset)
    assert (dataset.path / "ent_ids_1").read_bytes() == CONTENT["ent_ids_1"]
    assert ("ent_ids_1", None) in server.asked


def test_a_web_page_in_place_of_a_file_is_refused(server: Served, dataset: Dataset) -> None:
    """Networks that want a login answer everything with theirs, and of some files no hash is known."""
    server.kind = "text/html; charset=utf-8"
    with pytest.raises(InputError, match="a web page came instead of the file"):
        fetch(dataset)
    assert list(dataset.path.iterdir()) == []


def test_redirects_are_followed_and_ranges_with_them(server: Served, dataset: Dataset) -> None:
    server.moved = True
    dataset.path.mkdir(parents=True)
    (dataset.path / ".triples_1.part").write_bytes(CONTENT["triples_1"][:1000])
    fetch(dataset)
    assert server.asked[:2] == [("triples_1", "bytes=1000-")] * 2
    assert (dataset.path / "triples_1").read_bytes() == CONTENT["triples_1"]


def test_two_fetches_at_once_do_not_mix(server: Served, dataset: Dataset) -> None:
    def again(*_: object) -> None:
        with pytest.raises(InputError, match="another fetch is at work here"):
            fetch(dataset)

    fetch(dataset, progress=again)
    assert {file.name: file.read_bytes() for file in dataset.path.iterdir()} == CONTENT


def test_a_disk_that_is_full_is_said_to_be(server: Served, dataset: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OutputError, match=r"No space left on device.*DUALMATCH_DATASETS"):
        fetch(dataset)
    assert not (dataset.path / "triples_1").exists()


def test_a_cache_that_cannot_be_made_is_said_to_be(dataset: Dataset) -> None:
    dataset.path.parent.write_text("a file in the way")
    with pytest.raises(OutputError, match="cannot be made"):
        fetch(dataset)


def test_another_part_than_asked_for_is_not_taken(server: Served, dataset: Dataset) -> None:
    server.off_by = 1
    dataset.path.mkdir(parents=True)
    (dataset.path / ".triples_1.part").write_bytes(CONTENT["triples_1"][:1000])
    with pytest.raises(InputError, match="another part of the file"):
        fetch(dataset)
    fetch(dataset)  # from the start
    assert (dataset.path / "triples_1").read_bytes() == CONTENT["triples_1"]


def test_a_whole_part_is_only_checked(server: Served, dataset: Dataset) -> None:
    dataset.path.mkdir(parents=True)
    (dataset.path / ".triples_1.part").write_bytes(CONTENT["triples_1"])
    fetch(dataset)
    assert "triples_1" not in {name for name, _ in server.asked}
    assert (dataset.path / "triples_1").read_bytes() == CONTENT["triples_1"]


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"\xff" + CONTENT["triples_1"][1:], "its hash is"), (b"other", "5 bytes came, 153,600 were expected")],
)
def test_wrong_bytes_are_refused_and_nothing_is_kept(
    server: Served, dataset: Dataset, content: bytes, words: str
) -> None:
    server.content["triples_1"] = content
    with pytest.raises(InputError, match=words):
        fetch(dataset)
    assert not (dataset.path / "triples_1").exists()
    assert not (dataset.path / ".triples_1.part").exists()


def test_a_file_that_changed_since_is_fetched_again(server: Served, dataset: Dataset) -> None:
    path = fetch(dataset) / "sup_pairs"
    path.write_bytes(b"tampered")
    fetch(dataset)
    assert path.read_bytes() == CONTENT["sup_pairs"]


def test_offline_touches_no_network(server: Served, dataset: Dataset) -> None:
    with pytest.raises(InputError, match=r"triples_1, ent_ids_1, sup_pairs not in .*--offline"):
        fetch(dataset, offline=True)
    assert server.asked == []
    assert not dataset.path.exists()
    fetch(dataset)
    server.asked.clear()
    assert fetch(dataset, offline=True) == dataset.path
    assert server.asked == []


def test_no_network_is_said_clearly(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DUALMATCH_DATASETS_URL", "http://127.0.0.1:9")  # the port of "discard": nobody listens
    monkeypatch.setattr(datasets, "_TIMEOUT", 2.0)
    with pytest.raises(SystemExit) as caught:
        main(["datasets", "fetch", "planted"])
    assert caught.value.code == 2
    said = capsys.readouterr()
    assert "is there a network?" in said.err
    assert str(dataset.path) in said.err
    assert said.out == ""


def test_a_file_that_is_not_there(server: Served, dataset: Dataset) -> None:
    del server.content["ent_ids_1"]
    with pytest.raises(InputError, match="the server answers 404"):
        fetch(dataset)


def test_only_web_addresses(dataset: Dataset, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DUALMATCH_DATASETS_URL", f"file://{tmp_path}")
    with pytest.raises(InputError, match="not a web address"):
        fetch(dataset)


def test_the_commands(dataset: Dataset, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert "fetch it: dualmatch datasets fetch Planted" in refused(["datasets", "path", "planted"], capsys, tmp_path)
    assert "there are YAGO-WIKI20K, DICEWS" in refused(["datasets", "fetch", "nothing"], capsys, tmp_path)
    main(["datasets", "fetch", "planted"])
    assert capsys.readouterr().out == f"{dataset.path}\n"
    main(["datasets", "path", "planted"])
    assert capsys.readouterr().out == f"{dataset.path}\n"
    main(["datasets", "list"])
    listed = capsys.readouterr().out
    assert all(name in listed for name in datasets.DATASETS)
    assert str(dataset.path.parent) in listed.replace("\n", "")


def test_where_datasets_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DUALMATCH_DATASETS", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert datasets.cache_folder() == Path("/somewhere/dualmatch/datasets")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert datasets.cache_folder() == Path.home() / ".cache" / "dualmatch" / "datasets"


def test_the_registry_is_sound() -> None:
    for name, dataset in datasets.DATASETS.items():
        assert dataset_called(name.lower()) is dataset
        names = [file.name for file in dataset.files]
        assert len(set(names)) == len(names)
        assert {"triples_1", "triples_2", "sup_pairs", "ref_pairs"} <= set(names)
        assert dataset.url(dataset.files[0]).startswith(
            "https://raw.githubusercontent.com/ZJU-DAILY/DualMatch/f2ba7137"
        )
        for file in dataset.files:
            if file.name.startswith("triples"):
                assert file.blob is not None
            assert file.blob is None or len(file.blob) == 40


def test_a_blob_is_gits(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(CONTENT["triples_1"])
    assert git_blob(tmp_path / "file") == blob_of(CONTENT["triples_1"])
    (tmp_path / "empty").write_bytes(b"")
    assert git_blob(tmp_path / "empty") == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
