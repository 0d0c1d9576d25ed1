"""Tab-separated lines: numbers of lines stay those of the file."""

from pathlib import Path

import pytest

from dualmatch.errors import InputError
from dualmatch.files.text_lines import as_ids, read_fields, read_lines


def test_blank_lines_count_but_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"\xef\xbb\xbfa\r\n\r\n \t \n b \nc")
    assert read_lines(path).rows() == [(1, "a"), (4, " b "), (5, "c")]


def test_fields_not_given_are_null(tmp_path: Path) -> None:
    path = tmp_path / "fields"
    path.write_text("1\t2\n3\t4\t\n5\t6\t7\n")
    assert read_fields(path, ("a", "b", "c"), 2, "a row").rows() == [
        (1, "1", "2", None),
        (2, "3", "4", ""),
        (3, "5", "6", "7"),
    ]


@pytest.mark.parametrize("text", ["1.0", "1e3", "0x10", "1_000", "", "-1", "٣", str(2**63), "1 2"])
def test_what_is_no_id(tmp_path: Path, text: str) -> None:
    path = tmp_path / "ids"
    path.write_text(f"5\ta\n{text}\ta\n")
    with pytest.raises(InputError) as caught:
        as_ids(read_fields(path, ("id", "name"), 2, "a name"), {"id": "thing id"}, path)
    assert str(caught.value) == f"{path}:2: {text!r} is not a thing id; write a whole number from 0 up, below 2^63"


@pytest.mark.parametrize(("text", "value"), [("7", 7), (" 7 ", 7), ("+7", 7), ("007", 7), (str(2**63 - 1), 2**63 - 1)])
def test_what_is_an_id(tmp_path: Path, text: str, value: int) -> None:
    path = tmp_path / "ids"
    path.write_text(f"{text}\ta\n")
    assert as_ids(read_fields(path, ("id", "name"), 2, "a name"), {"id": "id"}, path)["id"].to_list() == [value]


def test_a_folder_or_a_path_through_a_file_is_reported_in_words(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path, tmp_path / "file" / "below", tmp_path / ("x" * 300)):
        with pytest.raises(InputError, match=r"cannot be read \(.+\); give a readable file$"):
            read_lines(path)


@pytest.mark.parametrize("block_bytes", [1, 2, 3, 7, 100])
def test_files_read_in_parts_give_the_same_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block_bytes: int
) -> None:
    path = tmp_path / "lines"
    path.write_bytes("\ufeffa\tä\r\n\n\n5\t6\n7".encode())
    whole = read_lines(path).rows()
    monkeypatch.setattr("dualmatch.files.text_lines._BLOCK_BYTES", block_bytes)
    assert read_lines(path).rows() == whole == [(1, "a\tä"), (4, "5\t6"), (5, "7")]
    with pytest.raises(InputError, match=r"lines:5: 1 tab-separated column; a row has 2"):
        read_fields(path, ("a", "b"), 2, "a row")
    path.write_bytes(b"a\nb\n\xff\n")
    with pytest.raises(InputError, match="lines:3: not UTF-8"):
        read_lines(path)
