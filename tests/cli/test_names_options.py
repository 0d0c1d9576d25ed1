"""Names on the command line: labels by default, ids on request, languages, and ids that are the same on both sides."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest

from conftest import refused
from dualmatch import InputError, ReadOptions, TemporalGraph
from dualmatch.cli.main import main
from dualmatch.links.read import LinksFile
from dualmatch.readers.read import literals_of

PEOPLE = ("Ada Lovelace", "Charles Babbage", "Mary Somerville", "George Boole", "Michael Faraday", "John Herschel")
GERMAN = ("Gräfin A", "Herr B", "Frau C", "Herr D", "Herr E", "Herr F")
DATE = "http://www.w3.org/2001/XMLSchema#date"
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
SHORT = ("--namespace", "http://e/")


def ring(side: str, labels: dict[str, tuple[str, ...]], shared: int = 0) -> str:
    """Six people in a row, with labels by language and no dates; the first few have one IRI on both sides."""
    names = [f"http://e/{'' if at < shared else side}{at}" for at in range(6)]
    lines = [f"<{names[at]}> <http://e/knows> <{names[at + 1]}> ." for at in range(5)]
    for language, texts in labels.items():
        lines += [f'<{name}> <{LABEL}> "{text}"@{language} .' for name, text in zip(names, texts, strict=True)]
    return "\n".join(lines) + "\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "left.nt").write_text(ring("a", {"en": PEOPLE, "de": GERMAN}))
    (tmp_path / "right.nt").write_text(ring("b", {"en": PEOPLE}))
    return tmp_path


def found(path: str = "links.tsv") -> dict[str, str]:
    return dict(LinksFile(Path(path)).links[0])


ALL = {f"a{at}": f"b{at}" for at in range(6)}


def test_labels_are_compared_where_both_sides_have_some(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["align", "left.nt", "right.nt", *SHORT, "-o", "links.tsv", "--json", "said.json"])
    line = "comparing names: 6 and 6 entities have a label"
    assert f"note: {line}\n" in capsys.readouterr().err
    assert line in json.loads((here / "said.json").read_text())["notes"]
    assert found() == ALL
    assert json.loads((here / "links.tsv.run.json").read_text())["options"]["source"]["names"] == "auto"
    main(["align", "left.nt", "right.nt", "-q", "-o", "again.tsv", "--config", "links.tsv.run.json"])
    assert (here / "again.tsv").read_bytes() == (here / "links.tsv").read_bytes()
    main(["align", "left.nt", "right.nt", *SHORT, "-q", "-o", "older.tsv", "--use-labels"])
    assert (here / "older.tsv").read_bytes() == (here / "links.tsv").read_bytes()
    main(["explain", "links.tsv", "a2"])
    assert "labels compared" in capsys.readouterr().out


@pytest.mark.parametrize("option", [["--no-names"], ["--names", "none"], ["--no-use-labels"]])
def test_names_can_be_left_out(here: Path, capsys: pytest.CaptureFixture[str], option: list[str]) -> None:
    said = refused(["align", "left.nt", "right.nt", *SHORT, "-o", "links.tsv", *option], capsys, here)
    assert "no fact has a time" in said
    (here / "run.toml").write_text("[source]\nliterals = true\n[target]\nliterals = true\n")
    call = ["align", "left.nt", "right.nt", *SHORT, "-q", "-o", "links.tsv", "--config", "run.toml"]
    assert "no fact has a time" in refused([*call, *option], capsys, here)
    main(call)  # what 0.1.0 wrote for --use-labels
    assert found() == ALL


def test_labels_of_one_side_are_not_compared(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "right.nt").write_text(ring("b", {}))
    (here / "seeds.tsv").write_text("a0\tb0\n")
    main(["align", "left.nt", "right.nt", *SHORT, "-o", "links.tsv", "--seeds", "seeds.tsv"])
    assert "note: names are not compared: no entity of right.nt has a label\n" in capsys.readouterr().err
    main(["align", "left.nt", "right.nt", *SHORT, "-q", "-o", "plain.tsv", "--seeds", "seeds.tsv", "--no-names"])
    assert (here / "plain.tsv").read_bytes() == (here / "links.tsv").read_bytes()


def test_labels_of_the_languages_asked_for() -> None:
    graph = TemporalGraph.from_facts([("Q7", "met", "Q9")])
    rows = [("Q7", "Ada", "en"), ("Q7", "Gräfin", "de-AT"), ("Q9", "Charles", None), ("Q9", "Karl", "de")]
    table = pl.DataFrame(rows, schema=("entity", "value", "language"), orient="row")
    table = table.with_columns(attribute=pl.lit("label"))
    for languages, kept in (((), {"Ada", "Gräfin", "Charles", "Karl"}), (("DE",), {"Gräfin", "Charles", "Karl"})):
        found = literals_of(graph, [table], ReadOptions(names="auto", label_languages=languages))
        assert found is not None
        assert set(found.value) == kept
    with pytest.raises(InputError, match="names 'all': write 'auto', 'ids', 'none'"):
        ReadOptions(names="all")  # type: ignore[arg-type]


def test_languages_of_the_call_are_kept(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Labels of other languages mislead here: French ones on one side are the German ones of others."""
    (here / "right.nt").write_text(ring("b", {"en-GB": PEOPLE, "fr": GERMAN[::-1]}))
    call = ["align", "left.nt", "right.nt", *SHORT, "-o", "links.tsv", "--label-language"]
    assert "--label-language: write codes" in refused([*call, ","], capsys, here)
    assert "no fact has a time" in refused([*call, "it"], capsys, here)
    main([*call, "en, it", "-q"])
    assert found() == ALL
    assert json.loads((here / "links.tsv.run.json").read_text())["options"]["target"]["label_languages"] == ["en", "it"]


def test_a_method_that_compares_no_names_records_none(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for side, name in (("left", "a"), ("right", "b")):
        facts = (here / f"{side}.nt").read_text()
        born = [f'<http://e/{name}{at}> <http://e/born> "18{at}0-01-01"^^<{DATE}> .\n' for at in range(6)]
        (here / f"{side}.nt").write_text(facts + "".join(born))
    call = ["align", "left.nt", "right.nt", *SHORT]
    temporal = [*call, "--method", "temporal", "-o", "time.tsv"]
    for option in (["--label-language", "en"], ["--labels", "left.nt"]):
        assert "method temporal does not look at labels" in refused([*temporal, *option], capsys, here)
    main([*temporal, "-q"])
    assert "names" not in json.loads((here / "time.tsv.run.json").read_text())["options"]["source"]
    main([*call, "-o", "links.tsv", "--method", "evidence", "--config", "time.tsv.run.json"])
    assert "comparing names: 6 and 6 entities have a label" in capsys.readouterr().err
    main([*call, "-q", "-o", "asked.tsv", "--method", "temporal", "--no-names"])
    assert json.loads((here / "asked.tsv.run.json").read_text())["options"]["source"]["names"] == "none"
    main([*call, "-o", "late.tsv", "--method", "temporal", "--config", "links.tsv.run.json"])
    assert "comparing names" not in capsys.readouterr().err


def test_ids_can_be_names(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = [name.replace(" ", "_") for name in PEOPLE]
    for side, base in (("left", "http://x/"), ("right", "http://y/z#")):
        facts = [f"<{base}{a}> <http://e/knows> <{base}{b}> ." for a, b in pairwise(names)]
        (here / f"{side}.nt").write_text("\n".join(facts) + "\n")
    assert "no fact has a time" in refused(["align", "left.nt", "right.nt", "-o", "links.tsv"], capsys, here)
    main(["align", "left.nt", "right.nt", "-o", "links.tsv", "--names", "ids"])
    assert "note: comparing ids as names: those of 6 and 6 entities\n" in capsys.readouterr().err
    assert found() == {f"http://x/{name}": f"http://y/z#{name}" for name in names}
    temporal = ["align", "left.nt", "right.nt", "-o", "other.tsv", "--names", "ids", "--method", "temporal"]
    assert "method temporal does not look at labels" in refused(temporal, capsys, here)
    both = ["align", "left.nt", "right.nt", "-o", "other.tsv", "--no-names", "--labels", "left.nt"]
    assert "leave one of them out" in refused(both, capsys, here)
    both = ["align", "left.nt", "right.nt", "-o", "other.tsv", "--no-names", "--names", "ids"]
    assert "--names ids compares names, and --no-names compares none" in refused(both, capsys, here)


def test_the_same_ids_are_seeds(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "left.nt").write_text(ring("a", {}, shared=4) + "_:n <http://e/knows> <http://e/0> .\n")
    (here / "right.nt").write_text(ring("b", {}, shared=4) + "_:n <http://e/knows> <http://e/0> .\n")
    (here / "seeds.tsv").write_text("3\tb4\n")
    (here / "apart.tsv").write_text("0\t0\n")
    call = ["align", "left.nt", "right.nt", *SHORT, "-o", "links.tsv"]
    assert "no fact has a time" in refused(call, capsys, here)
    main([*call, "--same-ids"])
    assert "note: 4 entities have the same id on both sides: taken as seeds\n" in capsys.readouterr().err
    assert LinksFile(here / "links.tsv").seeds == {"0", "1", "2", "3"}
    assert json.loads((here / "links.tsv.run.json").read_text())["options"]["same_ids"] is True
    main([*call, "--same-ids", "--force", "-q", "--seeds", "seeds.tsv", "--forbid", "apart.tsv"])
    links, seeds = found(), LinksFile(here / "links.tsv").seeds
    assert seeds == {"1", "2", "3"}  # what files say of an entity wins
    assert links["3"] == "b4"
    assert links.get("0") != "0"
    (here / "right.nt").write_text(ring("b", {}))
    said = refused([*call, "--same-ids", "--force"], capsys, here)
    assert "note: no entity has the same id on both sides, so ids give no seeds\n" in said


def test_inspect_counts_labels(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["inspect", "left.nt", *SHORT, "--json", "-"])
    assert "6 entities have a label, of 6" in json.loads(capsys.readouterr().out)["notes"]
    main(["inspect", "left.nt", "right.nt", *SHORT])
    assert "note: comparing names: 6 and 6 entities have a label\n" in capsys.readouterr().err
    (here / "right.nt").write_text(ring("b", {}))
    main(["inspect", "left.nt", "right.nt", *SHORT])
    assert "note: names are not compared: no entity of right.nt has a label\n" in capsys.readouterr().err


def test_merge_compares_no_names_and_keeps_labels_of_one_side(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "right.nt").write_text(ring("b", {}))
    (here / "none.tsv").write_text("source\ttarget\tconfidence\n")
    main(["merge", "left.nt", "right.nt", *SHORT, "--links", "none.tsv", "-o", "m.tsv", "--entities", "ids.tsv"])
    assert "compar" not in capsys.readouterr().err
    assert (here / "ids.tsv").read_text().startswith("id\tsource\ttarget\tlabel\n")


def test_of_many_labels_a_few_are_kept() -> None:
    graph = TemporalGraph.from_facts([("Q7", "met", "Q9")])
    rows = [("Q7", "alias", f"A{at}", "en") for at in range(5)] + [
        ("Q7", "label", f"L{at:02}", f"l{at:02}") for at in range(20)
    ]
    rows += [
        ("Q7", "label", "Ada", "en"),
        ("Q7", "label", "Ada", "de"),
        ("Q9", "label", "Charles", "en"),
        ("Q7", "note", "x", None),
    ]
    table = pl.DataFrame(rows, schema=("entity", "attribute", "value", "language"), orient="row")
    kept = literals_of(graph, [table], ReadOptions(literals=True))
    assert kept is not None
    assert len(kept) == 8 + 1 + 1
    assert {"Ada", "x", "L00", "Charles"} <= set(kept.value)
    assert "A0" not in kept.value
    shuffled = literals_of(graph, [table.sample(fraction=1.0, shuffle=True, seed=1)], ReadOptions(literals=True))
    assert shuffled is not None
    assert (shuffled.value, shuffled.attribute) == (kept.value, kept.attribute)
