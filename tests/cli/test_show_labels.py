"""Labels to show on the command line: everywhere a person looks, and nowhere in what is computed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import refused
from dualmatch import read_explanation_basis
from dualmatch.cli.main import main

WD = "http://www.wikidata.org/entity/"
HEAD = "head\trelation\ttail\ttime\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two small histories under different names, and a file of labels for one of them."""
    monkeypatch.chdir(tmp_path)
    facts = [("Ada", "met", "Charles", "1833"), ("Charles", "wrote", "Book", "1864"), ("Ada", "read", "Book", "1865")]
    ids = {"Ada": "Q7259", "Charles": "Q46633", "Book": "Q571", "met": "P1", "wrote": "P50", "read": "P3"}
    (tmp_path / "a.tsv").write_text(HEAD + "".join("\t".join(fact) + "\n" for fact in facts))
    (tmp_path / "b.tsv").write_text(
        HEAD + "".join(f"{WD}{ids[h]}\t{ids[r]}\t{WD}{ids[t]}\t{time}\n" for h, r, t, time in facts)
    )
    labels = {f"{WD}Q7259": "Ada Lovelace", f"{WD}Q46633": "Charles Babbage", "P1": "acquaintance"}
    (tmp_path / "labels.tsv").write_text("".join(f"{name}\t{label}\n" for name, label in labels.items()))
    return tmp_path


def align(output: str, *options: str) -> None:
    main(["align", "a.tsv", "b.tsv", "-o", output, "-q", *options])


def test_links_and_hashes_are_the_same_with_and_without(here: Path) -> None:
    align("plain.tsv")
    align("shown.tsv", "--show-labels", "labels.tsv")
    for end in ("", ".why.npz"):
        assert (here / f"plain.tsv{end}").read_bytes() == (here / f"shown.tsv{end}").read_bytes()
    plain, shown = (json.loads((here / f"{name}.tsv.run.json").read_text()) for name in ("plain", "shown"))
    assert plain["hashes"] == shown["hashes"]
    assert [*map(len, (plain["results"], shown["results"]))] == [2, 2]
    assert {**plain["options"], "show_labels": ["labels.tsv"]} == shown["options"]


def test_explain_and_report_show_them_and_take_them_for_names(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    align("links.tsv", "--show-labels", "labels.tsv")
    main(["explain", "links.tsv", "Ada"])
    words = capsys.readouterr().out
    assert words.startswith("Ada = Ada Lovelace [wd:Q7259] (confidence")
    assert "met (= acquaintance) → Charles (= Charles Babbage [wd:Q46633]), in 1833" in words
    for name in ("ada lovelace", "wd:q7259", f"{WD}Q7259"):
        main(["explain", "links.tsv", name, "--target"])
        assert capsys.readouterr().out.startswith("Ada Lovelace [wd:Q7259] = Ada (")
    main(["explain", "links.tsv", "Ada", "--json", "-"])
    data = json.loads(capsys.readouterr().out)
    assert (data["match"], data["match_label"], data["label"]) == (f"{WD}Q7259", "Ada Lovelace", None)
    assert "acquaintance" in {fact["counterpart"]["relation_label"] for fact in data["shared"]}
    main(["report", "links.tsv", "-o", "report.html"])
    page = (here / "report.html").read_text()
    assert "Charles Babbage</bdi>" in page
    assert ">wd:Q46633</bdi></small>" in page


def test_other_labels_can_be_given_later_and_the_first_may_be_gone(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    align("links.tsv", "--show-labels", "labels.tsv")
    (here / "other.tsv").write_text(f"{WD}Q7259\tCountess\n")
    main(["explain", "links.tsv", "Ada", "--show-labels", "other.tsv"])
    assert capsys.readouterr().out.startswith("Ada = Countess [wd:Q7259] (")
    (here / "moved").mkdir()
    for name in ("a.tsv", "b.tsv", "labels.tsv"):
        (here / name).rename(here / "moved" / name)
    main(["explain", "links.tsv", "Ada", "--folder", "moved"])
    assert capsys.readouterr().out.startswith("Ada = Ada Lovelace")
    (here / "moved" / "labels.tsv").unlink()
    main(["explain", "links.tsv", "Ada", "--folder", "moved"])
    shown = capsys.readouterr()
    assert shown.out.startswith("Ada = wd:Q7259 (")
    assert "--show-labels" in shown.err


def test_a_run_is_resumed_and_updated_whatever_is_shown(here: Path) -> None:
    main(["align", "a.tsv", "b.tsv", "--run", "run", "-q"])
    main(["align", "a.tsv", "b.tsv", "--run", "run", "--resume", "--show-labels", "labels.tsv", "-q"])
    main(["align", "a.tsv", "b.tsv", "--run", "labelled", "--show-labels", "labels.tsv", "-q"])
    graphs = [(here / name / "stages" / "graphs.npz").read_bytes() for name in ("run", "labelled")]
    assert graphs[0] == graphs[1]
    (here / "more.tsv").write_text(HEAD + "Ada\tmet\tMary\t1834\n")
    main(["update", "labelled", "--source-facts", "more.tsv", "--run", "after", "-q"])
    basis = read_explanation_basis(here / "after" / "links.tsv")
    assert basis.target.shown(f"{WD}Q7259").text == "Ada Lovelace"


def test_a_file_that_names_nothing_or_is_none_is_refused_before_anything_is_written(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "none.tsv").write_text("nobody\tNobody\n")
    (here / "broken.tsv").write_text("one column\n")
    call = ["align", "a.tsv", "b.tsv", "-o", "links.tsv"]
    for name, words in (("none.tsv", "none of its 1 names"), ("broken.tsv", "broken.tsv:1:"), ("gone.tsv", "gone.tsv")):
        assert words in refused([*call, "--show-labels", name], capsys, here)
    over = ["align", "a.tsv", "b.tsv", "-o", "labels.tsv", "--show-labels", "labels.tsv"]
    assert "labels.tsv" in refused(over, capsys, here)
    align("links.tsv")
    assert "none of its 1 names" in refused(["explain", "links.tsv", "Ada", "--show-labels", "none.tsv"], capsys, here)
    assert "labels.tsv" in refused(
        ["report", "links.tsv", "-o", "labels.tsv", "--force", "--show-labels", "labels.tsv"], capsys, here
    )
