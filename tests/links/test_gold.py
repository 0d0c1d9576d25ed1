"""An alignment file against gold pairs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from dualmatch.cli.main import main
from dualmatch.errors import InputError
from dualmatch.evaluate import LinkQuality, link_quality
from dualmatch.links.read import LinksFile, read_gold, read_links

MakeFolder = Callable[..., Path]
HEADER = "source\ttarget\tconfidence\n"
LINKS = f"{HEADER}Ada\tQ7\t0.9\nCharles\tQ84\t0.3\nLondon\tQ46\t0.7\n"


def evaluate_links(path: Path, gold: Path, folder: Path | None = None) -> LinkQuality:
    links, confidence = read_links(path)
    return link_quality(links, confidence, read_gold(gold, links, folder))


@pytest.fixture
def links(tmp_path: Path) -> Path:
    (tmp_path / "links.tsv").write_text(LINKS)
    return tmp_path / "links.tsv"


def test_gold_by_name(links: Path, tmp_path: Path) -> None:
    gold = tmp_path / "gold.tsv"
    gold.write_text("Ada\tQ7\nCharles\tQ46\n")
    found = evaluate_links(links, gold)
    assert found.abstention.emitted == 3
    assert found.abstention.precision == pytest.approx(1 / 3)
    assert found.abstention.recall == 0.5
    assert found.abstention.f1 == pytest.approx(0.4)
    assert found.abstention.no_match_precision is None
    assert found.calibration.ece == pytest.approx((0.1 + 0.3 + 0.7) / 3)


def test_no_match_is_judged_where_the_file_says_it() -> None:
    links, gold = [("Ada", "Q7"), ("Echo", "Q1")], {("Ada", "Q7"), ("Mary", "Q5")}
    said = {"no_matches": ["Mary", "Loner", "Nobody"], "undecided": ["Twin"]}
    found = link_quality(links, np.array([0.9, 0.6]), gold, **said).abstention
    assert found.no_match_precision == 2 / 3  # Mary has a partner
    assert found.no_match_recall == 2 / 4  # Echo has none, but was given one; nothing was said of Twin
    assert (found.precision, found.recall) == (0.5, 0.5)


def test_gold_by_id_uses_the_folder_it_lies_in_or_the_one_given(
    links: Path, make_folder: MakeFolder, tmp_path: Path
) -> None:
    folder = make_folder(ref_pairs="10\t20\n11\t21\n")
    assert evaluate_links(links, folder / "ref_pairs").abstention.recall == 0.5
    elsewhere = (folder / "ref_pairs").rename(tmp_path / "gold")
    assert evaluate_links(links, elsewhere, folder).abstention.recall == 0.5


@pytest.mark.parametrize("row", ["99\t20", "Nobody\tQ7"])
def test_an_entity_of_neither_graph_is_an_error(links: Path, make_folder: MakeFolder, row: str) -> None:
    folder = make_folder(ref_pairs=f"{row}\n")
    with pytest.raises(InputError) as caught:
        evaluate_links(links, folder / "ref_pairs")
    name = row.split("\t")[0]
    assert str(caught.value).startswith(f"{folder / 'ref_pairs'}:1: source entity {name} is not in ")


def test_no_gold_is_an_error(links: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none: no such file; --gold takes a file of true pairs"):
        evaluate_links(links, tmp_path / "none")
    (tmp_path / "gold").write_text("\n")
    with pytest.raises(InputError, match="no pairs; there is nothing to compare with"):
        evaluate_links(links, tmp_path / "gold")


def test_an_alignment_without_links_has_no_precision(tmp_path: Path) -> None:
    (tmp_path / "links.tsv").write_text(HEADER + "Ada\t\t0.9\n")
    (tmp_path / "gold").write_text("a\tb\n")
    found = evaluate_links(tmp_path / "links.tsv", tmp_path / "gold")
    assert (found.abstention.precision, found.abstention.recall, found.calibration.ece) == (None, 0.0, None)


def test_ids_without_their_folder_are_told_from_names(links: Path, tmp_path: Path) -> None:
    (tmp_path / "gold").write_text("10\t20\n")
    with pytest.raises(InputError, match=r"none of its entities occurs .* add --data FOLDER"):
        evaluate_links(links, tmp_path / "gold")


def test_a_source_linked_twice_is_an_error(links: Path) -> None:
    links.write_text(links.read_text() + "Ada\tQ8\t0.5\n")
    with pytest.raises(InputError, match=r"links.tsv:5: 'Ada' has a row above already"):
        read_links(links)


def test_seeds_are_neither_links_nor_true_pairs() -> None:
    links, gold = [("Ada", "Q7"), ("Book", "Q1"), ("Charles", "Q9")], {("Ada", "Q7"), ("Book", "Q1"), ("Mary", "Q5")}
    found = link_quality(links, np.array([1.0, 0.8, 0.6]), gold, seeds=["Ada"])
    assert found.seeds == 1
    assert (found.abstention.emitted, found.abstention.precision, found.abstention.recall) == (2, 0.5, 0.5)


def test_partial_gold_judges_only_what_it_knows() -> None:
    """Charles is in no true pair, and Q5 is: a link to it can be judged."""
    links = [("Ada", "Q7"), ("Charles", "Q9"), ("Echo", "Q5"), ("Dora", "Q8")]
    gold, sure = {("Ada", "Q7"), ("Mary", "Q5")}, np.array([0.9, 0.8, 0.7, 0.6])
    strict = link_quality(links, sure, gold, no_matches=["Nobody"])
    assert (strict.unknown, strict.gold_looks_partial) == (2, True)
    assert (strict.abstention.precision, strict.abstention.recall) == (0.25, 0.5)
    assert strict.abstention.known is not None
    assert (strict.abstention.known.precision, strict.abstention.known.f1) == (0.5, 0.5)
    partial = link_quality(links, sure, gold, no_matches=["Nobody"], partial=True)
    assert partial.abstention.known == strict.abstention.known
    assert (partial.abstention.emitted, partial.abstention.precision) == (2, 0.5)
    assert partial.abstention.no_match_precision is None
    assert partial.calibration.ece == pytest.approx((0.1 + 0.7) / 2)


def test_partial_gold_is_proposed_and_seeds_are_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    people = "".join(f"p{at},knows,p{at * 7 % 60},{1900 + at * 3 % 89}-0{1 + at % 9}-11\n" for at in range(1, 180))
    Path("people.csv").write_text("head,relation,tail,time\n" + people)
    main(["split", "people.csv", "-o", "folder", "--overlap", "0.9", "-q"])
    pairs = {name: Path("folder", name).read_text() for name in ("sup_pairs", "ref_pairs", "all_pairs")}
    assert pairs["all_pairs"] == pairs["sup_pairs"] + pairs["ref_pairs"]
    main(["align", "folder", "-o", "blind.tsv", "-q"])
    main(["evaluate", "blind.tsv", "--gold", "folder/ref_pairs"])
    said = capsys.readouterr()
    assert "links touch no entity of folder/ref_pairs and count as wrong; if it does not hold all true" in said.err
    assert "add --partial, or give --gold folder/all_pairs" in said.err
    assert "F1 over links that touch a tested pair" in said.out
    main(["evaluate", "blind.tsv", "--gold", "folder/ref_pairs", "--partial", "--json", "partial.json"])
    assert "no entity of folder/ref_pairs; left out" in capsys.readouterr().err
    main(["evaluate", "blind.tsv", "--gold", "folder/all_pairs", "--json", "all.json"])
    assert "count as wrong" not in capsys.readouterr().err
    partial, whole = (json.loads(Path(name).read_text())["abstention"] for name in ("partial.json", "all.json"))
    assert partial["precision"] == pytest.approx(whole["precision"], abs=0.02)
    main(["align", "folder", "-o", "seeded.tsv", "-q", "--seeds", "sup_pairs"])
    assert len(LinksFile(Path("seeded.tsv")).seeds) == len(pairs["sup_pairs"].splitlines())
    main(["evaluate", "seeded.tsv", "--gold", "folder/ref_pairs", "--json", "-"])
    said = capsys.readouterr()
    assert "links were given as seeds and are left out, with their true pairs" in said.err
    assert json.loads(said.out)["abstention"]["precision"] > 0.9


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("gold.tsv", "Source\ttarget\nAda\tQ7\nLondon, the city\tQ46\n"),
        ("gold.csv", 'source,target\nAda,Q7\n"London, the city",Q46\n'),
        ("gold.csv", "Ada\tQ7\nLondon, the city\tQ46\n"),
    ],
)
def test_gold_may_have_a_header_and_be_csv(
    tmp_path: Path, name: str, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / name).write_text(text)
    assert read_gold(tmp_path / name, []) == [("Ada", "Q7"), ("London, the city", "Q46")]
    assert ("the first line names the columns and is not a pair" in caplog.text) == ("arget" in text)


def test_a_pair_of_csv_has_two_columns(tmp_path: Path) -> None:
    (tmp_path / "gold.csv").write_text("Ada,Q7\nLondon, the city,Q46\n")
    with pytest.raises(InputError, match=r"gold.csv:2: 3 columns; a pair has 2"):
        read_gold(tmp_path / "gold.csv", [])


def test_pairs_that_name_no_entity_are_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "gold.tsv").write_text("Ada\tQ7\nLoner\tQ9\nMisspelt\tQ0\n")
    read_gold(tmp_path / "gold.tsv", [("Ada", "Q7")], unlinked=["Loner"])
    assert "1 of 3 pairs name no entity of the alignment, 'Misspelt' and 'Q0' among them" in caplog.text
