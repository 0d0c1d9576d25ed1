"""Files of a run that somebody changed inside, hashes made to fit: refused in words, never a crash of native code."""

from __future__ import annotations

import hashlib
import io
import json
import math
import shutil
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse as sp

from dualmatch.channels.evidence.tokens import Scale
from dualmatch.cli.main import main
from dualmatch.errors import InputError
from dualmatch.files.npz import reading_stage
from dualmatch.methods.evidence.search import Found
from dualmatch.runs.stages import read_search, write_search

FACTS = "head,relation,tail,begin,end\n" + "".join(
    f"{{}}{n},{'met' if n % 3 else 'wrote'},{{}}{(n * 7) % 12},{1800 + n * 3},{1801 + n * 5}\n" for n in range(24)
)
Array = np.ndarray[Any, Any]
Variant = Callable[[], bytes]
"""Writes the content of a file that was changed."""
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of values that are absurd but possible


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with two graphs and its links, in a folder."""
    folder = tmp_path_factory.mktemp("made")
    for side in ("a", "b"):
        (folder / f"{side}.csv").write_text(FACTS.replace("{}", side))
    (folder / "seeds.tsv").write_text("a0\tb0\n")
    graphs = [str(folder / "a.csv"), str(folder / "b.csv")]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("sys.stdout", io.StringIO())
        main(["align", *graphs, "--run", str(folder / "run"), "--seeds", str(folder / "seeds.tsv"), "-q"])
    return folder


def doctored(array: Array) -> Iterator[Array]:
    """What an array of the same file could be instead."""
    yield array.astype("U4") if array.size else np.array(["x"])
    yield array.astype(np.complex128)
    yield array[..., None]
    yield array[:-1] if array.shape[0] else np.zeros(5, array.dtype)
    yield np.concatenate([array, array])
    for value in (-1, 10**6, 2**31 - 1):
        if array.size and array.dtype.kind in "iuf":
            changed = array.copy()
            changed.flat[array.size // 2] = np.array(value).astype(array.dtype)
            yield changed
    if array.size and array.dtype.kind == "f":
        changed = array.copy()
        changed.flat[0] = np.nan
        yield changed
    yield array.astype(np.float64 if array.dtype.kind in "iub" else np.int64)


def values_in(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where plain data has values."""
    if path:
        yield path
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, each in items:
        yield from values_in(each, (*path, key))


def with_value(data: Any, path: tuple[Any, ...], value: Any) -> Any:
    """A copy in which one value is another; where that is None, it is missing."""
    copy = json.loads(json.dumps(data))
    at = copy
    for key in path[:-1]:
        at = at[key]
    if value is None and isinstance(at, dict):
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return copy


def npz_variants(content: bytes) -> Iterator[Variant]:
    """The file with one array or one value changed, its zip intact."""
    with np.load(io.BytesIO(content)) as stored:
        arrays = {name: stored[name] for name in stored.files}
    about = json.loads(arrays["about"].tobytes())

    def saved(changes: dict[str, Array]) -> bytes:
        out = io.BytesIO()
        np.savez_compressed(out, **{**arrays, **changes})
        return out.getvalue()

    for name in arrays:
        if name != "about":
            for each in doctored(arrays[name]):
                yield partial(saved, {name: each})
    for path in values_in(about):
        for value in ("x", None, 7, -1e300, [], {"\0": 1}):
            text = json.dumps(with_value(about, path, value)).encode()
            yield partial(saved, {"about": np.frombuffer(text, np.uint8)})


def some(variants: Iterator[Variant], of_each: int) -> Iterator[bytes]:
    """One of each few: a fixed sample; benchmarks/fuzz.py tries them all. Only those are written out."""
    return (each() for number, each in enumerate(variants) if number % of_each == 0)


def ends(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> int:
    """The exit code of a call that must end in words; what it writes is removed."""
    code: Any = 0
    try:
        main(arguments)
    except SystemExit as end:
        code = end.code
    words = capsys.readouterr().err
    assert code in (0, 2), words
    assert len(words) < 4000
    return int(code)


def tried(
    file: Path, variants: Iterator[bytes], call: Callable[[], int], fit: Callable[[bytes], None] = lambda _: None
) -> list[int]:
    """What a call comes to with each variant of a file; the file is restored."""
    before, codes = file.read_bytes(), []
    try:
        for each in variants:
            file.write_bytes(each)
            fit(each)
            codes.append(call())
    finally:
        file.write_bytes(before)
        fit(before)
    return codes


def fitting(record: Path, change: Callable[[dict[str, Any], dict[str, Any]], None]) -> Callable[[bytes], None]:
    """Makes the hashes of a record fit the content of a file."""
    data = json.loads(record.read_text())

    def fit(content: bytes) -> None:
        change(data, {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content)})
        record.write_text(json.dumps(data))

    return fit


def fitting_companion(links: Path) -> Callable[[bytes], None]:
    def change(data: dict[str, Any], content: dict[str, Any]) -> None:
        data["results"]["links.tsv.why.npz"] = content

    return fitting(links.with_name("links.tsv.run.json"), change)


@pytest.mark.parametrize("side", [[], ["--target"]])
def test_a_doctored_companion_is_refused(made: Path, capsys: pytest.CaptureFixture[str], side: list[str]) -> None:
    links = made / "run" / "links.tsv"
    companion = links.with_name("links.tsv.why.npz")
    entity = "b3" if side else "a3"
    codes = tried(
        companion,
        some(npz_variants(companion.read_bytes()), 7),
        lambda: ends(["explain", str(links), entity, *side], capsys),
        fitting_companion(links),
    )
    assert codes.count(2) > 25
    assert ends(["explain", str(links), entity, *side], capsys) == 0


@pytest.mark.parametrize("name", ["model.overlap.source", "model.overlap.target", "model.alone.target"])
def test_a_chance_of_one_is_refused(made: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    links = made / "run" / "links.tsv"
    companion = links.with_name("links.tsv.why.npz")

    def certain() -> Iterator[bytes]:
        with np.load(io.BytesIO(companion.read_bytes())) as stored:
            arrays = {each: stored[each] for each in stored.files}
        out = io.BytesIO()
        place = f"state.{name}"
        np.savez_compressed(out, **{**arrays, place: np.ones_like(arrays[place])})
        yield out.getvalue()

    call = partial(ends, ["explain", str(links), "a3"], capsys)
    assert tried(companion, certain(), call, fitting_companion(links)) == [2]


@pytest.mark.parametrize("stage", ["graphs", "round", "outcome"])
def test_a_doctored_stage_with_a_fitting_hash_is_refused(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], stage: str
) -> None:
    record = made / "run" / "run.json"
    file = made / "run" / json.loads(record.read_text())["stages"][stage]["file"]
    more = tmp_path / "more.csv"
    more.write_text("head,relation,tail,begin\na3,met,a4,1850\n")

    def change(data: dict[str, Any], content: dict[str, Any]) -> None:
        data["stages"][stage]["content"] = content

    def updated() -> int:
        new = tmp_path / "new"
        return ends(["update", str(made / "run"), "--source-facts", str(more), "--run", str(new), "--force"], capsys)

    codes = tried(file, some(npz_variants(file.read_bytes()), 11), updated, fitting(record, change))
    assert codes.count(2) > len(codes) / 3
    assert updated() == 0


def test_a_doctored_search_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "search.npz"
    similarity = sp.random(12, 12, 0.3, format="csr", dtype=np.float32, random_state=np.random.default_rng(1))
    similarity.sort_indices()
    write_search(Found(similarity, Scale(1.5, math.inf), 7), file)
    again = read_search(file)
    assert (again.scale, again.n_tokens, again.similarity.dtype) == (Scale(1.5, math.inf), 7, np.float32)
    assert (again.similarity != similarity).nnz == 0
    for variant in npz_variants(file.read_bytes()):
        file.write_bytes(variant())
        with suppress(InputError), reading_stage(file):
            found = read_search(file)
            # what was changed to something else that a search may find: values, the last row, the number of tokens
            assert found.similarity.dtype == np.float32
            assert found.similarity.has_canonical_format
            assert found.similarity.shape[1] >= 12
            assert found.scale.smoothing >= 0
            assert found.scale.dearest >= 0
            assert found.n_tokens >= 0


def json_variants(content: bytes) -> Iterator[Variant]:
    """The file with one value replaced, or missing."""
    data = json.loads(content)

    def written(path: tuple[Any, ...], value: Any) -> bytes:
        return json.dumps(with_value(data, path, value)).encode()

    for path in values_in(data):
        for value in ("x", None, -7, [], {}):
            yield partial(written, path, value)


@pytest.mark.parametrize(
    ("name", "verb"), [("links.tsv.run.json", "report"), ("run.json", "report"), ("run.json", "update")]
)
def test_a_doctored_record_is_refused_or_read(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, verb: str
) -> None:
    record, out = made / "run" / name, tmp_path / "out"
    run = str(made / "run")
    calls = {
        "report": ["report", run, "-o", str(out), "--force"],
        "update": ["update", run, "--source-facts", str(made / "a.csv"), "--run", str(out), "--force"],
    }
    codes = tried(
        record,
        some(json_variants(record.read_bytes()), 13 if verb == "report" else 19),
        lambda: ends(calls[verb], capsys),
    )
    assert codes.count(2) > 5
    assert ends(calls[verb], capsys) == 0


def without_side(data: dict[str, Any], run: Path) -> None:
    del data["inputs"]["source"]


def with_text_in_log(data: dict[str, Any], run: Path) -> None:
    stage = data["stages"]["round"]
    with np.load(run / stage["file"]) as stored:
        arrays = {name: stored[name] for name in stored.files}
    about = json.loads(arrays["about"].tobytes())
    about["log"][0]["seconds"] = "x"
    arrays["about"] = np.frombuffer(json.dumps(about).encode(), np.uint8)
    np.savez(run / stage["file"], **arrays)
    content = (run / stage["file"]).read_bytes()
    stage["content"] = {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content)}


@pytest.mark.parametrize("spoil", [None, without_side, with_text_in_log])
def test_a_doctored_run_is_not_resumed(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], spoil: Callable[[dict[str, Any], Path], None] | None
) -> None:
    run = shutil.copytree(made / "run", tmp_path / "begun")
    data = json.loads((run / "run.json").read_text())
    data |= {"state": "running", "results": {}, "outcome": None}
    if spoil is not None:
        spoil(data, run)
    (run / "run.json").write_text(json.dumps(data))
    for path in run.glob("links.tsv*"):
        path.unlink()
    call = ["align", str(made / "a.csv"), str(made / "b.csv"), "--seeds", str(made / "seeds.tsv"), "--run", str(run)]
    assert ends([*call, "--resume"], capsys) == (0 if spoil is None else 2)
    assert (run / "links.tsv").exists() == (spoil is None)


@pytest.mark.parametrize("value", ["\ud800", "x\udcff"])
def test_half_a_character_in_a_record_is_shown(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], value: str
) -> None:
    for path in (made / "run").glob("links.tsv*"):
        shutil.copy(path, tmp_path)
    record = tmp_path / "links.tsv.run.json"
    record.write_text(json.dumps(json.loads(record.read_text()) | {"version": value}))
    assert ends(["report", str(tmp_path / "links.tsv"), "-o", str(tmp_path / "r.html")], capsys) == 0
    assert repr(value)[1:-1] in (tmp_path / "r.html").read_text()


def test_an_archive_that_promises_too_much_is_refused(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    links = made / "run" / "links.tsv"
    companion = links.with_name("links.tsv.why.npz")

    def promising(shape: str) -> bytes:
        out = io.BytesIO()
        with np.load(companion) as stored, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
            for name in stored.files:
                with new.open(f"{name}.npy", "w") as member:
                    if name == "confidence":
                        header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
                        member.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode())
                    else:
                        np.lib.format.write_array(member, stored[name])
        return out.getvalue()

    shapes = ("(99999999999,)", "(2, 2**70)", "(-1,)", "(1, (", "'x'", "(4294967296, 4294967296)")
    codes = tried(
        companion, map(promising, shapes), lambda: ends(["explain", str(links), "a3"], capsys), fitting_companion(links)
    )
    assert codes == [2] * len(shapes)
