"""Links out: every format says the same, whole or not at all."""

from __future__ import annotations

import csv
import json
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from urllib.parse import unquote

import polars as pl
import pyoxigraph
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dualmatch import InputError, OutputError, TemporalGraph, align
from dualmatch.graph.iris import is_iri
from dualmatch.links.decisions import DecisionLog
from dualmatch.links.naming import Naming
from dualmatch.links.opinions import ReviewVerdict
from dualmatch.links.read import LinksFile
from dualmatch.links.sssom import curie_map
from dualmatch.links.write import LINK_FORMATS, link_format, write_alignment, write_links
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
SCRIPTS = [("http://example.org/東京", "http://www.wikidata.org/entity/Zoë", 0.5, "evidence")]
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
        *("subject_id", "predicate_id", "object_id", "mapping_justification", "confidence", "other", "comment"),
    ]
    assert [*rows[1][:1], *rows[1][2:]] == [
        *("ex:Ada", "wd:Q7259", "semapv:StructuralMatching", "0.912346", "", "method evidence")
    ]
    assert rows[2][3] == "semapv:UnspecifiedMatching"
    assert rows[3][2:5] == ["sssom:NoTermFound", "semapv:StructuralMatching", ""]
    assert rows[4][0] == "ex:Bo"
    assert rows[4][5] == "subject_name=http%3A%2F%2Fexample.org%2FBo"
    names = [(row[0], row[1] or None) for row in [*ROWS, ("http://example.org/Bo", "Q1")]]
    file = LinksFile(path)
    assert sorted([*file.links[0], *((name, None) for name in file.unlinked)]) == sorted(names)


def test_labels_of_sssom_are_labels_and_never_ids(tmp_path: Path) -> None:
    """In a graph without labels, or of an entity without one, there is none; names are read back all the same."""
    source = TemporalGraph.from_facts([("p1", "met", "p2", 1830), ("p2", "met", "p3", 1831), ("p3", "saw", "p1", 1832)])
    target = source.with_labels({"p1": "Ada\tLovelace", "p3": 'Charles "B"'})
    path = tmp_path / "links.sssom.tsv"
    found = align(source, target, method="temporal")
    write_alignment(found, path)
    read = pl.read_csv(path, separator="\t", comment_prefix="#")
    assert "subject_label" not in read.columns
    assert dict(read.select("object_id", "object_label").iter_rows()) == {
        "target:p1": "Ada\tLovelace",
        "target:p2": None,
        "target:p3": 'Charles "B"',
    }
    assert sorted(LinksFile(path).links[0]) == [("p1", "p1"), ("p2", "p2"), ("p3", "p3")]


@pytest.mark.filterwarnings("ignore::Warning")  # those of sssom-py's own code
@pytest.mark.parametrize(
    "rows", [ROWS, ROWS[2:], [*ROWS, *ODD], SCRIPTS], ids=["links", "no match", "odd names", "scripts"]
)
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
    assert {tuple(map(unquote, pair)) for pair in read} == {
        (
            unquote(WIKIDATA.iri(source, "source")),
            f"{iris['sssom']}NoTermFound" if target is None else unquote(WIKIDATA.iri(target, "target")),
        )
        for source, target, *_ in rows
    }


# A CURIE that tools which read URIs take whole: RFC 3986's characters behind a prefix, and not what looks like a URI.
CURIE = re.compile(
    r"[A-Za-z_][A-Za-z0-9_.-]*:(?!//)(?:[A-Za-z0-9._~!$&'()*+,;=:@/?#-]|%[0-9A-F]{2}|%[0-9a-f]{2})+\Z", re.I
)
TRICKY = [
    *("http://ja.dbpedia.org/resource/東京", "http://ja.dbpedia.org/resource/%E6%9D%B1%E4%BA%AC", "https://e.org"),
    *(
        "http://e.org/a[1]",
        "http://e.org/50%",
        "http://e.org/Zoë_(painter)#x",
        "https://e.org/",
        "http://e.org//b",
        "urn:a:é",
    ),
]


def test_curies_are_ascii_and_read_back_to_the_letter(tmp_path: Path) -> None:
    """IRIs in every script: sssom-py drops rows whose CURIE is no URI part; prefixes make sense."""
    path = tmp_path / "links.sssom.tsv"
    rows = [(name, f"{name}/x" if at % 2 else None, 0.5, "evidence") for at, name in enumerate(TRICKY)]
    export_links(rows, path)
    lines = path.read_text().splitlines()
    body = list(csv.DictReader([line for line in lines if not line.startswith("#")], delimiter="\t"))
    assert all(CURIE.match(row[end]) for row in body for end in ("subject_id", "object_id"))
    prefixes = curie_map(line for line in lines if line.startswith("#"))
    assert prefixes["ja_dbpedia"] == "http://ja.dbpedia.org/resource/"
    assert prefixes["a"] == "urn:a:"
    assert not {"http://", "https://", "http:"} & set(prefixes.values())
    assert body[0]["subject_id"] == "ja_dbpedia:%E6%9D%B1%E4%BA%AC"
    links = LinksFile(path)
    assert dict(links.links[0]) == {source: target for source, target, *_ in rows if target}
    assert {*links.unlinked} == {source for source, target, *_ in rows if target is None}


@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1).map(lambda text: f"http://e.org/{text}"),
        min_size=1,
        unique=True,
    )
)
def test_any_iri_has_a_valid_curie(names: list[str]) -> None:
    naming = Naming().covering(names)
    for name in filter(is_iri, names):
        curie = naming.curie(name, "source")
        assert CURIE.match(curie)
        prefix, _, local = curie.partition(":")
        assert unquote(naming.prefixes[prefix] + local) == unquote(name).replace("%25", "%") or "%" in name


PARTS = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp"]) | st.sampled_from("/#:%ü"), min_size=1)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(PARTS, min_size=1, max_size=6, unique=True), st.sampled_from(["http://e.org/", "http://bü.org/", "urn:a:"])
)
@example(["a/ü/b", "50%", "a[b", "\ue000"], "http://e.org/")
@example(["ü/x"], "http://bü.org/")
def test_any_iri_is_read_back_from_sssom_and_n_triples(parts: list[str], start: str) -> None:
    rows = [(start + part, f"http://f.org/{part}/x", 0.5, "evidence") for part in parts]
    with tempfile.TemporaryDirectory() as folder:
        for name in ("a.sssom.tsv", "a.nt"):
            export_links(rows, Path(folder) / name)
            assert dict(LinksFile(Path(folder) / name).links[0]) == {source: target for source, target, *_ in rows}


def test_only_what_is_written_gets_a_prefix_and_many_folders_share_one(tmp_path: Path) -> None:
    table = pl.DataFrame(
        {
            "source": [f"http://data.org/{at}/x" for at in range(9)] + ["http://unsaid.org/y"],
            "target": pl.Series(["http://www.wikidata.org/entity/Q1"] * 9 + [None], dtype=pl.String),
            "confidence": [0.5] * 10,
            "method": ["evidence"] * 10,
            "verdict": ["linked"] * 9 + ["undecided"],
        }
    )
    write_links(table, tmp_path / "links.sssom.tsv")
    lines = (tmp_path / "links.sssom.tsv").read_text().splitlines()
    assert lines[:3] == ["#curie_map:", "#  data: http://data.org/", "#  wd: http://www.wikidata.org/entity/"]


def test_a_naming_without_the_prefix_proposes_one() -> None:
    with pytest.raises(OutputError, match=r"no prefix covers this IRI; .* --prefix x=http://x\.org/y/$"):
        Naming().curie("http://x.org/y/z", "source")


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
            log.decide(ReviewVerdict(verdict), names[verdict], f"Q {verdict}" if about_a_pair else None, 0)
        data = decisions_sssom(log, Naming(), {})
    path = tmp_path / "decisions.sssom.tsv"
    path.write_bytes(data)
    mappings = parse_sssom_table(str(path))
    assert [problem for report in validate(mappings).values() for problem in report.results] == []
    rows = mappings.df.to_dict("records")
    subjects = [unquote(row["subject_id"].partition(":")[2]) for row in rows]
    assert sorted(zip(subjects, (row.get("predicate_modifier") == "Not" for row in rows), strict=True)) == sorted(
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
import tempfile
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
