"""Pages: arrays in files are the arrays they were, a run with them gives the same bytes, and nothing is left behind."""

import errno
import gc
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse as sp

from dualmatch import align
from dualmatch.channels.evidence.support import find_support
from dualmatch.engine import Columns, InProcess
from dualmatch.engine.array_trees import StoredArray, with_arrays
from dualmatch.engine.pages import LEAST_BYTES, Pages, is_mapped, let_go, mapped_file
from dualmatch.errors import OutputError
from dualmatch.methods.evidence import align_by_evidence
from dualmatch.methods.evidence.problem import Problem
from dualmatch.simulate import World, simulate

LARGE = np.arange(LEAST_BYTES // 8 + 5)
SMALL = np.arange(7)


@pytest.fixture
def pages(tmp_path: Path) -> Iterator[Pages]:
    with Pages(tmp_path, 10**9) as pages:
        yield pages


class Two(NamedTuple):
    one: np.ndarray
    other: Any


@dataclass(frozen=True, eq=False)
class Holder:
    values: np.ndarray
    nested: tuple[Any, ...]
    words: str = "as they were"

    def __post_init__(self) -> None:
        assert not is_mapped(self.values)  # nothing is checked again when arrays are moved

    @cached_property
    def doubled(self) -> np.ndarray:
        return 2 * self.values


def test_large_arrays_of_any_value_move_and_small_ones_stay(pages: Pages) -> None:
    matrix = sp.csr_matrix((LARGE.astype(float), LARGE % 11, np.array([0, 5, len(LARGE)])), shape=(2, 11))
    value = Holder(LARGE, (Two(LARGE, [SMALL, matrix]), "text", None))
    value.doubled.sum()
    kept = pages.paged(value)
    two = kept.nested[0]
    assert is_mapped(kept.values)
    assert is_mapped(kept.doubled)
    assert kept.words == "as they were"
    assert two.one is kept.values  # what stands in two places stays one
    assert two.other[0] is SMALL
    assert is_mapped(two.other[1].data)
    assert (two.other[1] != matrix).nnz == 0
    assert np.array_equal(kept.values, LARGE)
    assert np.array_equal(kept.doubled, 2 * LARGE)
    assert isinstance(two, Two)
    assert pages.paged(kept) is kept
    assert not is_mapped(value.values)  # what was given is as it was


@settings(max_examples=40, deadline=None)
@given(
    data=st.data(),
    dtype=st.sampled_from([np.int32, np.float64, np.bool_]),
    sizes=st.lists(st.integers(0, 9), min_size=1),
)
def test_parts_joined_in_a_file_are_what_they_are_joined_in_memory(
    data: st.DataObject, dtype: type, sizes: list[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    parts = [data.draw(hnp.arrays(dtype, (size, 3))) for size in sizes]
    with Pages(tmp_path_factory.mktemp("pages"), 10**9) as pages:
        joined = pages.joined(parts)
        columns, in_memory = Columns(pages), Columns()
        for part in parts:
            columns.append([part, part[:, 0]])
            in_memory.append([part, part[:, 0]])
        for one, other in zip([joined, *columns.arrays()], [np.concatenate(parts), *in_memory.arrays()], strict=True):
            assert one.dtype == other.dtype
            assert np.array_equal(one, other, equal_nan=one.dtype.kind == "f")


def test_files_are_plain_npy_and_go_with_their_arrays(tmp_path: Path) -> None:
    with Pages(tmp_path, 10**9, shared=True) as pages:
        array = pages.paged(np.stack([LARGE, LARGE], axis=1).astype(np.int32))
        (file,) = tmp_path.iterdir()
        assert np.array_equal(np.load(file, allow_pickle=False), array)
        part = array[3:9]
        del array
        gc.collect()
        assert file.exists()  # a part of it is still used
        del part
        gc.collect()
        assert not list(tmp_path.iterdir())


def test_files_of_this_process_alone_lose_their_name_at_once(pages: Pages, tmp_path: Path) -> None:
    kept = pages.paged(LARGE)
    assert not list(tmp_path.iterdir())
    pages.release()
    let_go([kept])
    assert np.array_equal(kept, LARGE)


def test_mapped_pages_are_let_go_near_the_limit(tmp_path: Path) -> None:
    import psutil

    def resident() -> int:
        shared: int = psutil.Process().memory_info().shared
        return shared

    array = np.ones(40 * 2**20 // 8)
    with Pages(tmp_path, limit=2**20) as pages:  # always exceeded
        before, kept = resident(), pages.paged(array)
        assert kept.sum() == array.sum()
        for _ in range(1000):
            if resident() < before + kept.nbytes // 2:
                break
            time.sleep(0.01)
        else:
            pytest.fail("what is mapped stays resident")
        assert kept.sum() == array.sum()


def test_closed_pages_move_nothing_and_what_was_moved_stays_readable(tmp_path: Path) -> None:
    with Pages(tmp_path, 10**9) as pages:
        before = pages.paged(LARGE)
    assert pages.paged(LARGE) is LARGE
    columns = Columns(pages)
    columns.append([LARGE])
    assert columns.arrays()[0] is LARGE
    assert np.array_equal(before, LARGE)
    assert InProcess(2, pages=pages).column_threads == 2


def test_parts_of_stored_arrays_are_found_again(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", LARGE[:130_000].reshape(5, -1))
    whole = mapped_file(tmp_path / "a.npy")
    for part in (whole, whole[2:], whole[1:4, ::3], whole.T, whole[:0]):
        stored = StoredArray.of(part)
        assert stored is not None
        assert np.array_equal(stored.of_file(mapped_file(stored.path)), part)
    assert StoredArray.of(LARGE) is None
    back = with_arrays((StoredArray.of(whole), SMALL), lambda array: array, {}, stored=lambda each: each.of_file(whole))
    assert np.array_equal(back[0], whole)
    assert back[1] is SMALL


def test_a_full_disk_is_reported_in_words(pages: Pages, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(np.ndarray):
        def tofile(self, *_: object) -> None:  # type: ignore[override]
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("dualmatch.engine.pages.np.ascontiguousarray", lambda part, dtype: part.view(Full))
    with pytest.raises(OutputError, match=r"No space left on device.*TMPDIR"):
        pages.paged(LARGE)
    assert not list(pages.folder.iterdir())


def test_a_folder_that_is_gone_is_reported_in_words(tmp_path: Path) -> None:
    with (
        Pages(tmp_path / "gone", 10**9, shared=True) as pages,
        pytest.raises(OutputError, match=r"gone: cannot be written into \(No such file.*give --exchange another"),
    ):
        pages.paged(LARGE)


def test_arrays_of_an_engine_before_this_one_are_released_or_copied(tmp_path: Path) -> None:
    (tmp_path / "others").mkdir()
    with Pages(tmp_path, 10**9) as first:
        array = first.paged(LARGE)
    with Pages(tmp_path, 10**9) as second:
        assert second.paged(array) is array
        assert second.holds(array)  # so that it lets go of it
    with Pages(tmp_path / "others", 10**9, shared=True) as third:
        copied = third.paged(array)
        stored = StoredArray.of(copied)
        assert stored is not None
        assert stored.path.exists()
        assert np.array_equal(copied, LARGE)


def test_a_limit_that_cannot_be_kept_is_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with Pages(tmp_path, limit=2**20):
        for _ in range(1000):
            if "too low even with large arrays in files" in caplog.text:
                break
            time.sleep(0.01)
        else:
            pytest.fail("nothing was reported")
    assert caplog.text.count("too low") == 1


WORLD = World(entities=300, mean_facts=7, year_only_share=0.3, unmatched_source=0.2, relations_inverse=2, seed=5)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_run_with_everything_in_files_changes_no_byte(tmp_path: Path, threads: int) -> None:
    pair = simulate(WORLD)
    plain = align_by_evidence(Problem.of(pair.source, pair.target, engine=InProcess(threads=1)))
    with Pages(tmp_path, 10**9, least_bytes=1) as pages:
        engine = InProcess(threads, block_rows=50, pages=pages)
        paged = align_by_evidence(Problem.of(pair.source, pair.target, engine=engine))
        assert is_mapped(paged.problem.ties[0].neighbour)
        assert is_mapped(paged.open_state.log_odds)
    assert paged.state.log_odds.tobytes() == plain.state.log_odds.tobytes()
    assert paged.pairs[0].tobytes() + paged.pairs[1].tobytes() == plain.pairs[0].tobytes() + plain.pairs[1].tobytes()
    assert paged.similarity.data.tobytes() == plain.similarity.data.tobytes()
    assert [one.tobytes() for one in paged.no_partner] == [one.tobytes() for one in plain.no_partner]


def test_a_low_limit_is_kept_by_paging_and_changes_no_link(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = simulate(WORLD)
    used: list[InProcess] = []
    real = find_support

    def watched(*arguments: Any, **options: Any) -> Any:
        used.append(options["engine"])
        return real(*arguments, **options)

    monkeypatch.setattr("dualmatch.methods.evidence.rounds.find_support", watched)
    free = align(pair.source, pair.target)
    assert all(engine.pages is None for engine in used)
    used.clear()
    monkeypatch.setattr("dualmatch.methods.align.expected_bytes", lambda *_: 1e15)
    limited = align(pair.source, pair.target, memory_limit="1GB")
    assert used
    assert all(engine.pages is not None for engine in used)
    assert limited.links() == free.links()


def test_arrays_stay_in_memory_until_it_is_short(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", logger="dualmatch")
    with Pages(tmp_path, limit=2**50, expected=1.0) as pages:
        assert not pages.is_open
        assert pages.paged(LARGE) is LARGE
        assert InProcess(2, pages=pages).column_threads == 2
        pages.limit = 2**20
        _wait_until_open(pages)
        assert is_mapped(pages.paged(LARGE))
    assert caplog.text.count("memory runs short") == 1


def test_arrays_stay_in_memory_for_as_long_as_a_run_takes_what_was_expected(tmp_path: Path) -> None:
    resident = psutil.Process().memory_info().rss
    with Pages(tmp_path, limit=2 * resident, expected=1.5 * resident) as pages:
        time.sleep(0.2)
        assert not pages.is_open  # though it takes more than the share of the limit that is short for smaller runs
        pages._expected = 0.9 * resident
        _wait_until_open(pages)
    resident = psutil.Process().memory_info().rss  # some of what was freed may have been given back
    with Pages(tmp_path, limit=resident, expected=resident) as pages:
        _wait_until_open(pages)  # memory is short even so


def _wait_until_open(pages: Pages) -> None:
    for _ in range(1000):
        if pages.is_open:
            return
        time.sleep(0.01)
    pytest.fail("memory is never short")


def test_a_run_that_takes_more_than_estimated_goes_on_with_arrays_in_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Graphs of years only take several times their estimate."""
    pair = simulate(WORLD)
    free, ties = align(pair.source, pair.target), []

    class Short(Pages):
        """Memory is short from the second round on."""

        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options, least_bytes=1)
            assert not self.is_open

    real = Problem.keep_in_files

    def watched(problem: Problem) -> None:
        pages = problem.engine.pages  # type: ignore[attr-defined]
        if "ties" in problem.__dict__:
            pages._is_needed = True
        real(problem)
        ties.extend(is_mapped(each.neighbour) for each in problem.__dict__.get("ties", ()))

    monkeypatch.setattr("dualmatch.engine.pages.Pages", Short)
    monkeypatch.setattr(Problem, "keep_in_files", watched)
    monkeypatch.setattr("dualmatch.methods.align.expected_bytes", lambda *_: 0.2 * 2**40)
    late = align(pair.source, pair.target, memory_limit=f"{2**40}B")
    assert ties
    assert all(ties)
    assert late.links() == free.links()
    monkeypatch.setattr("dualmatch.methods.align.expected_bytes", lambda *_: 0.1 * 2**40)  # far below the limit
    ties.clear()
    monkeypatch.setattr(Problem, "keep_in_files", lambda problem: ties.append(problem.engine.pages))
    align(pair.source, pair.target, memory_limit=f"{2**40}B")
    assert set(ties) == {None}
