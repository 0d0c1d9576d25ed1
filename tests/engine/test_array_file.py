"""Many arrays in one file: each comes back as it was, and a file that is not whole does not stay."""

from pathlib import Path

import numpy as np
import pytest

from dualmatch.engine.array_file import ArrayFile
from dualmatch.engine.cluster_columns import ColumnsOnWorkers
from dualmatch.engine.pages import mapped_file

ARRAYS = {
    "numbers": np.arange(7, dtype=np.int32),
    "a byte": np.array([True]),
    "a table": np.arange(12.0).reshape(3, 4),
    "a table by columns": np.asfortranarray(np.arange(12.0).reshape(3, 4)),
    "every other": np.arange(10)[::2],
    "nothing": np.zeros((0, 3), np.float32),
    "no axis": np.array(5.0),
}


def test_each_array_comes_back_as_it_was(tmp_path: Path) -> None:
    with ArrayFile(tmp_path / "all.npy") as file:
        stored = {name: file.append(array) for name, array in ARRAYS.items()}
    whole = mapped_file(file.path)
    for name, array in ARRAYS.items():
        found = stored[name].of_file(whole)
        assert found.dtype == array.dtype, name
        assert found.shape == array.shape, name
        assert found.tolist() == array.tolist(), name
        assert stored[name].offset % 64 == 0, name
    by_columns = stored["a table by columns"].of_file(whole)
    assert by_columns.flags.f_contiguous
    assert not by_columns.flags.c_contiguous


def test_arrays_are_joined_with_their_shifts(tmp_path: Path) -> None:
    with ArrayFile(tmp_path / "joined.npy") as file:
        one = file.joined([np.array([0, 1], np.int32), np.array([0, 2], np.int32)], [0, 10])
        other = file.joined([np.ones((1, 2)), np.zeros((2, 2))])
    whole = mapped_file(file.path)
    assert one.of_file(whole).tolist() == [0, 1, 10, 12]
    assert one.of_file(whole).dtype == np.int32
    assert other.of_file(whole).tolist() == [[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]]


def _written_in_part(path: Path) -> None:
    with ArrayFile(path) as file:
        file.append(np.arange(3))
        raise OSError("no room on the disk")


def test_a_file_that_is_not_whole_is_removed(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="disk"):
        _written_in_part(tmp_path / "part.npy")
    assert list(tmp_path.iterdir()) == []


def test_no_file_is_made_of_nothing(tmp_path: Path) -> None:
    with ArrayFile(tmp_path / "none.npy") as file:
        assert file.is_empty
    assert list(tmp_path.iterdir()) == []


class Joining:
    """A cluster that joins by itself, and says what it was asked."""

    def __init__(self) -> None:
        self.asked: list[list[int]] = []

    def joined(self, columns: list[list[np.ndarray]], shifts: list[list[int]]) -> list[np.ndarray]:
        self.asked += shifts
        return [
            np.concatenate([part + shift for part, shift in zip(parts, added, strict=True)])
            for parts, added in zip(columns, shifts, strict=True)
        ]

    def paged(self, value: list[np.ndarray]) -> list[np.ndarray]:
        return value


@pytest.mark.parametrize("least_bytes", [0, 10**6], ids=["by workers", "here, as they are small"])
def test_columns_are_joined_wherever_that_is_done(least_bytes: int) -> None:
    cluster = Joining()
    columns = ColumnsOnWorkers(cluster, least_bytes)
    columns.append([np.array([1, 2]), np.array([0.5, 0.25])])
    columns.append([np.array([1, 2]), np.array([1.0, 2.0])], [10, 0])
    number, value = columns.arrays()
    assert number.tolist() == [1, 2, 11, 12]
    assert value.tolist() == [0.5, 0.25, 1.0, 2.0]
    assert cluster.asked == ([[0, 10], [0, 0]] if least_bytes == 0 else [])
