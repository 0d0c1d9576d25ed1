"""Links out: every format says the same, whole or not at all."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import polars as pl
import pyoxigraph
import pytest

from dualmatch import InputError, OutputError
from dualmatch.links.decisions import DecisionLog, Verdict
from dualmatch.links.naming import Naming
from dualmatch.links.write import LINK_FORMATS, link_format, write_links
from dualmatch.review.export import decisions_sssom

ROWS = [
    ("Ada", "Q7259", 0.9123456, "evidence"),
    ('Charles "B", jr.', "Q46633", 1.0, "seed"),
    ("Nobody", None, None, "evidence"),
]
ODD = [
    ("é\tü\nx", "Q 4/ü", 0.0, "evidence"),
    ("#hash", "NA", 0.5, "evidence"),
    ("http://example.org/a/b?c=d#e", "Q:5", 0.5, "seed"),
]
WIKIDATA = Naming({"wd": "http://www.wikidata.org/entity/", "ex": "http://example.org/"}, "ex", "wd")
SCHEMA = {"source": pl.String, "target": pl.String, "confidence": pl.Float64, "method": pl.String}


def export_links(
    rows: list[tuple[object, ...]], path: Path, format: str | None = None, naming: Naming | None = None
) -> None:
    write_links(pl.DataFrame(rows, schema=SCHEMA, orient="row"), path, format, naming)


def test_tables(tmp_path: Path) -> None:
    expected = [
        (source, target, None if share is None else round(share, 6), method) for source, target, share, method in ROWS
    ]
    for name in ("links.tsv", "links.csv", "links.parquet"):
        export_links(ROWS, tmp_path / name)
    tsv = pl.read_csv(tmp_path / "links.tsv", separator="\t", quote_char=None)
    assert tsv.rows() == expected
    assert pl.read_csv(tmp_path / "links.csv").rows() == expected
    assert pl.read_parquet(tmp_path / "links.parquet").rows() == ROWS


def test_json_lines(tmp_path: Path) -> None:
    export_links(ROWS, tmp_path / "links.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "links.jsonl").read_text().splitlines()]
    assert lines[0] == {"source": "Ada", "target": "Q7259", "confidence": 0.912346, "method": "evidence"}
    assert lines[2]["target"] is None


def test_same_as_is_rdf(tmp_path: Path) -> None:
    rows = [*ROWS, ("http://e/x y", "http://e/ok", 0.5, ""), ("http://e/ä", "a<b>", 0.5, "")]
    export_links(rows, tmp_path / "links.nt", naming=WIKIDATA)
    triples = list(pyoxigraph.parse(path=tmp_path / "links.nt", format=pyoxigraph.RdfFormat.N_TRIPLES))
    assert [(triple.subject.value, triple.object.value) for triple in triples] == [
        ("http://example.org/Ada", "http://www.wikidata.org/entity/Q7259"),
        ("http://example.org/Charles%20%22B%22%2C%20jr.", "http://www.wikidata.org/entity/Q46633"),
        ("http://example.org/http%3A%2F%2Fe%2Fx%20y", "http://e/ok"),
        ("http://e/ä", "http://www.wikidata.org/entity/a%3Cb%3E"),
    ]


def test_sssom(tmp_path: Path) -> None:
    path = tmp_path / "links.sssom.tsv"
    export_links([*ROWS, ("http://example.org/Bo", "Q1", 0.5, "temporal")], path, naming=WIKIDATA)
    lines = path.read_text().splitlines()
    metadata = [line for line in lines if line.startswith("#")]
    assert metadata[:3] == ["#curie_map:", "#  ex: http://example.org/", "#  wd: http://www.wikidata.org/entity/"]
    assert metadata[3].startswith("#mapping_set_id: https://w3id.org/sssom/mappings/")
    assert metadata[4:6] == ["#license: https://w3id.org/sssom/license/unspecified", "#mapping_tool: dualmatch"]
    rows = [line.split("\t") for line in lines[len(metadata) :]]
    assert rows[0] == [
        *("subject_id", "subject_label", "predicate_id", "object_id", "object_label", "mapping_justification"),
        *("confidence", "comment"),
    ]
    assert rows[1][:2] + rows[1][3:] == [
        *("ex:Ada", "Ada", "wd:Q7259", "Q7259", "semapv:StructuralMatching", "0.912346", "method evidence")
    ]
    assert rows[2][1] == '"Charles ""B"", jr."'
    assert rows[2][5] == "semapv:UnspecifiedMatching"
    assert rows[3][3:7] == ["sssom:NoTermFound", "", "semapv:StructuralMatching", ""]
    assert rows[4][:2] == ["ex:Bo", ""]


@pytest.mark.filterwarnings("ignore::Warning")  # those of sssom-py's own code
@pytest.mark.parametrize("rows", [ROWS, ROWS[2:], [*ROWS, *ODD]], ids=["links", "no match", "odd names"])
def test_sssom_is_valid(tmp_path: Path, rows: list[tuple[object, ...]]) -> None:
    """sssom-py is an extra of its own, it pulls a hundred packages: ``make test-sssom``."""
    pytest.importorskip("sssom")
    from sssom.parsers import parse_sssom_table
    from sssom.validators import validate

    path = tmp_path / "links.sssom.tsv"
    export_links(rows, path, naming=WIKIDATA)
    mappings = parse_sssom_table(str(path))
    assert [problem for report in validate(mappings).values() for problem in report.results] == []
    iris = {"ex": "http://example.org/", "wd": "http://www.wikidata.org/entity/", "sssom": "https://w3id.org/sssom/"}
    read = {
        tuple(iris[curie.split(":")[0]] + curie.split(":", 1)[1] for curie in pair)
        for pair in zip(mappings.df["subject_id"], mappings.df["object_id"], strict=True)
    }
    assert read == {
        (
            WIKIDATA.iri(source, "source"),
            f"{iris['sssom']}NoTermFound" if target is None else WIKIDATA.iri(target, "target"),
        )
        for source, target, *_ in rows
    }


def test_an_iri_no_prefix_covers_is_told_with_one_that_would(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="no prefix covers this IRI; add, for example, --prefix ns=http://x/y/"):
        export_links([("http://x/y/z", "b", 0.5, "")], tmp_path / "a.sssom.tsv")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("prefixes", "source", "words"),
    [
        ({"wd": "wikidata"}, "source", "prefix wd=wikidata: write NAME=IRI"),
        ({"w d": "http://e/"}, "source", "write NAME=IRI"),
        ({"skos": "http://e/"}, "source", "prefix skos: means .* in SSSOM; choose another name"),
        ({}, "wd", "prefix wd: its IRI is missing; add --prefix wd=IRI"),
    ],
)
def test_prefixes_that_cannot_be(prefixes: dict[str, str], source: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        Naming(prefixes, source)


@pytest.mark.filterwarnings("ignore::Warning")  # those of sssom-py's own code
@pytest.mark.parametrize("verdicts", ["", "accept", "reject", "none", "accept reject none skip"])
def test_sssom_of_decisions_is_valid(tmp_path: Path, verdicts: str) -> None:
    """Rejected pairs are mappings that do not hold; entities without a match have their own object."""
    pytest.importorskip("sssom", reason="make test-sssom has sssom-py")
    from sssom.parsers import parse_sssom_table
    from sssom.validators import validate

    names = {"accept": "Ada", "reject": "Bob <b>", "none": "Ün Öne", "skip": "Zoë"}
    with closing(DecisionLog.open(tmp_path / "decisions.db")) as log:
        for verdict in verdicts.split():
            about_a_pair = verdict in ("accept", "reject")
            log.decide(Verdict(verdict), names[verdict], f"Q {verdict}" if about_a_pair else None, 0)
        data = decisions_sssom(log, Naming())
    path = tmp_path / "decisions.sssom.tsv"
    path.write_bytes(data)
    mappings = parse_sssom_table(str(path))
    assert [problem for report in validate(mappings).values() for problem in report.results] == []
    rows = mappings.df.to_dict("records")
    assert sorted((row["subject_label"], row.get("predicate_modifier") == "Not") for row in rows) == sorted(
        (names[verdict], verdict == "reject") for verdict in verdicts.split() if verdict != "skip"
    )


def test_formats_by_name_or_extension(tmp_path: Path) -> None:
    assert link_format(Path("x"), "sssom") == "sssom"
    with pytest.raises(OutputError, match=r"its name does not show its format; end it with one of \.sssom\.tsv"):
        link_format(Path("links.xls"))
    with pytest.raises(InputError, match="no format of links is called 'xls'; there are tsv"):
        link_format(Path("x"), "xls")
    with pytest.raises(
        OutputError, match="holds a tab or line break, which a TSV line cannot carry; rename it or write CSV"
    ):
        export_links([("a\tb", "c", 0.5, "")], tmp_path / "links.tsv")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("format", LINK_FORMATS)
def test_standard_output_gets_what_a_file_gets_and_no_links_are_fine(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch, format: str
) -> None:
    for rows in (ROWS, []):
        export_links(rows, tmp_path / "links", format)
        with open(1, "w", closefd=False) as out:
            monkeypatch.setattr(sys, "stdout", out)
            export_links(rows, Path("-"), format)
        assert capfdbinary.readouterr().out == (tmp_path / "links").read_bytes()


KILLED = """
import sys
from pathlib import Path
import polars as pl
from dualmatch.links.write import write_links
names = ("source", "target", "confidence", "method")
rows = [(f"source {i}", f"target {i}", 0.5, "temporal") for i in range(60_000)]
table = pl.DataFrame(rows, schema=names, orient="row")
print("writing", flush=True)
while True:
    write_links(table, Path(sys.argv[1]))
"""


def test_a_kill_leaves_the_old_file_or_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "links.sssom.tsv"
    rows = [(f"source {i}", f"target {i}", 0.5, "temporal") for i in range(60_000)]
    export_links(rows, path)
    new, old = path.read_bytes(), b"old"
    chance = random.Random(5)
    seen = set()
    for _ in range(4):
        path.write_bytes(old)
        with subprocess.Popen([sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(chance.random() * 0.6)
            process.send_signal(signal.SIGKILL)
        seen.add(path.read_bytes())
    assert seen <= {old, new}
    assert seen
