"""Two pair: a folder that holds both, or files of each."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest

from dualmatch import Config, InputError
from dualmatch.readers.read_options import ReadOptions, TimePredicates
from dualmatch.runs.input_spec import InputSpec
from dualmatch.runs.options_file import CallOptions
from dualmatch.runs.record import RunRecord
from io_facts import facts_of

MakeFolder = Callable[..., Path]
PLAIN = (ReadOptions(), ReadOptions())
ASK = (ReadOptions(literals=True), ReadOptions(literals=True))


@pytest.fixture
def openea(tmp_path: Path) -> Path:
    for name, text in {
        "rel_triples_1": "a\tr\tb\nb\tr\tc\n",
        "rel_triples_2": "x\tp\ty\t1990\t1991\n",
        "attr_triples_1": "a\tname\tAda\nzz\tname\tnobody\n",
        "ent_links": "a\tx\nb\ty\n",
    }.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_an_openea_folder(openea: Path) -> None:
    pair = InputSpec((openea,), ASK).read()
    assert facts_of(pair.source) == [("a", "r", "b", "?", "?"), ("b", "r", "c", "?", "?")]
    assert facts_of(pair.target) == [("x", "p", "y", "1990", "1991")]
    assert pair.readings[0].literals is not None
    assert pair.readings[0].literals.value == ("Ada",)
    assert pair.read_pairs(openea / "ent_links").tolist() == [[0, 0], [1, 1]]


def test_an_openea_folder_of_another_width(openea: Path) -> None:
    (openea / "rel_triples_2").write_text("x\tp\n")
    with pytest.raises(InputError, match="rel_triples_2:1: 2 tab-separated columns; a fact has 3 to 5"):
        InputSpec((openea,), PLAIN).read()


def test_a_benchmark_folder_is_sorted_and_its_ids_still_find_their_entities(make_folder: MakeFolder) -> None:
    folder = make_folder(ent_ids_1="10\tZoe\n11\tLondon\n12\tCharles\n")
    spec = InputSpec((folder,), PLAIN)
    pair = spec.read()
    assert [path.name for path in spec.files][:3] == ["triples_1", "triples_2", "ent_ids_1"]
    assert pair.source.entities == ("Charles", "London", "Zoe")
    assert facts_of(pair.source)[0] == ("Zoe", "lived in", "London", "1835-03", "1852-11-27")
    assert pair.read_pairs(folder / "sup_pairs").tolist() == [[2, pair.target.entity_rows["Q7"]]]


def test_more_files_of_a_side_and_seeds_by_name(tmp_path: Path) -> None:
    for name in "abcd":
        (tmp_path / f"{name}.csv").write_text(f"head,relation,tail,year\n{name}1,r,{name}2,1900\n")
    a, b, c, d = (tmp_path / f"{name}.csv" for name in "abcd")
    spec = InputSpec((a, b), PLAIN, (c,), (d,))
    pair = spec.read()
    assert pair.source.entities == ("a1", "a2", "c1", "c2")
    assert pair.target.entities == ("b1", "b2", "d1", "d2")
    assert InputSpec((), PLAIN, (a, c), (b, d)).read().source.entities == pair.source.entities
    assert len(pair.notes) == 4
    assert spec.files == (a, c, b, d)
    (tmp_path / "seeds").write_text("a1\tb1\nc1\tx\n")
    with pytest.raises(InputError, match=r"seeds:2: target entity x is not in .*b\.csv"):
        pair.read_pairs(tmp_path / "seeds")
    (tmp_path / "seeds").write_text("a1\tb1\nc1\tb1\n")
    with pytest.raises(InputError, match="seeds:2: target entity b1 is already in an earlier pair"):
        pair.read_pairs(tmp_path / "seeds")


def test_what_cannot_be_two_sides(tmp_path: Path, make_folder: MakeFolder) -> None:
    file = tmp_path / "a.csv"
    file.write_text("head,relation,tail\na,r,b\n")
    for paths, source, target, words in (
        ([], [], [], "no source given"),
        ([], [file], [], "no target given"),
        ([file], [], [], "is one file; give two, SOURCE and TARGET"),
        ([file], [file], [], "1 files given; give one folder of two graphs, or SOURCE and TARGET"),
        ([file] * 3, [], [], "3 files given"),
        ([Path("-"), Path("-")], [], [], "standard input can be read once only"),
        ([file, make_folder()], [], [], "is a folder; give it alone if it holds two graphs"),
        ([tmp_path / "none.csv", file], [], [], "none.csv: no such file; check the path"),
    ):
        with pytest.raises(InputError, match=words):
            InputSpec(tuple(paths), PLAIN, tuple(source), tuple(target)).read()


def test_an_input_spec_comes_back_from_plain_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    predicates = TimePredicates(begin=("http://e/on",))
    options = ReadOptions(format="csv", columns={"head": "1"}, namespaces=("http://e/",), labels=Path("names.tsv"))
    spec = InputSpec((Path("a"), Path("b")), (options, ReadOptions(time_predicates=predicates)), (Path("c"),))
    record = json.loads(json.dumps(asdict(RunRecord.of(Config(), spec, CallOptions(), {}, Path("out")))))
    assert record["options"]["source"]["labels"] == "../names.tsv"
    again = RunRecord(record["options"], record["folder"], record["inputs"]).spec
    assert again == spec.moved(lambda path: tmp_path / path)
    assert spec.files == (Path("a"), Path("c"), Path("b"), Path("names.tsv"))
    with pytest.raises(ValueError, match="colour"):
        ReadOptions.from_dict({"colour": "red"})


def test_a_folder_of_neither_layout_is_told_with_what_lies_in_it(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds neither triples_1 and triples_2 \(a benchmark folder\).*but nothing;"):
        InputSpec((tmp_path,), PLAIN).read()
    for number in range(7):
        (tmp_path / f"f{number}.csv").write_text("")
    with pytest.raises(InputError, match=r"but f0\.csv, f1\.csv, f2\.csv, f3\.csv, f4\.csv and 2 more; give the two"):
        InputSpec((tmp_path,), PLAIN).read()
    (tmp_path / "rel_triples_2").write_text("a\tr\tb\n")
    with pytest.raises(InputError, match="triples_1: no such file; check the path and the folder's layout"):
        InputSpec((tmp_path,), PLAIN).read()
