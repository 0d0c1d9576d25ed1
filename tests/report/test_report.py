"""`dualmatch report`: one page with all that is known of a run, whatever the names in it are."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from conftest import refused
from dualmatch import Alignment, TemporalGraph, align, read_folder
from dualmatch.cli.main import main
from dualmatch.config import Config
from dualmatch.decode.verdicts import Reason
from dualmatch.graph.profile import profile_of
from dualmatch.report import figures
from dualmatch.report.findings import Findings, gather
from dualmatch.report.page import report_page
from dualmatch.runs.options_file import options_of, record_of
from dualmatch.runs.record import Cost, Outcome, RunRecord, read_record, write_record
from html_check import Page
from reviewing import OpenPage, assert_accessible, weights_in

HOSTILE = (
    "</script><img src=x onerror=alert(1)>",
    "javascript:alert(1)",
    "\u202eevil",
    "x" * 100_000,
    "</style></title><script>alert(2)</script>",
    '" onmouseover="alert(3)',
)


@pytest.fixture(scope="module")
def run(small_world: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the links of the small world, made from seeds, and all true pairs."""
    here = tmp_path_factory.mktemp("run")
    main(["align", str(small_world), "-o", str(here / "links.tsv"), "--seeds", str(small_world / "sup_pairs"), "-q"])
    gold = (small_world / "sup_pairs").read_text() + (small_world / "ref_pairs").read_text()
    (here / "gold").write_text(gold)
    return here


def page_of(path: Path, *arguments: object) -> Page:
    out = path.with_name("page.html")
    main(["report", str(path), "-o", str(out), "-q", "--force", *map(str, arguments)])
    page = Page(out.read_text())
    assert page.unbalanced == []
    assert page.open == []
    return page


def titles(page: Page) -> list[str]:
    return [attributes["id"] or "" for tag, attributes in page.tags if tag == "section"]


def test_the_page_holds_everything_and_asks_for_nothing(run: Path, small_world: Path) -> None:
    page = page_of(run / "links.tsv", "--gold", run / "gold", "--data", small_world)
    assert titles(page) == [
        "links",
        "examples-with-reasons",
        "against-gold",
        "input",
        "relations-that-mean-the-same",
        "rounds",
        "cost-command-and-options",
    ]
    assert page.count("script") == 0
    wanted = [value for _, each in page.tags for name, value in each.items() if name in ("src", "href", "action")]
    assert all((value or "").startswith("#") for value in wanted)
    style = (run / "page.html").read_text()
    assert "url(" not in style
    assert "@import" not in style
    assert "prefers-color-scheme: dark" in style
    assert "@media print" in style
    for words in (
        "In the folder of the links:",
        "When facts begin",
        "to the day",
        "by how many facts they have",
        "Links by confidence",
        "What a threshold would keep",
        "Share of right links against their confidence",
        "Wrong links by cause",
        "True pairs that were not found",
        "High confidence",
        "Medium confidence",
        "Low confidence",
        "peak memory",
        'method = "evidence"',
        f"dualmatch align {small_world} -o {run / 'links.tsv'}",
    ):
        assert words in page.text, words


def test_the_figures_are_those_of_evaluate(run: Path, small_world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = gather(run / "links.tsv", run / "gold", small_world)
    assert found.quality is not None
    seeds = {source for (source, _), seed in zip(found.links, found.is_seed, strict=True) if seed}
    assert len(seeds) == len((small_world / "sup_pairs").read_text().splitlines())
    true = set(found.gold or ())
    free = [link for link in found.links if link[0] not in seeds]
    assert found.quality.abstention.precision == sum(link in true for link in free) / len(free)
    page = page_of(run / "links.tsv", "--gold", run / "gold", "--data", small_world)
    assert f"{100 * found.quality.abstention.precision:.1f} %" in page.text
    wrong = [link for link in free if link not in true]
    missed = [link for link in true if link not in set(found.links)]
    assert f"Wrong links by cause ({len(wrong)})" in page.text
    assert f"True pairs that were not found ({len(missed)})" in page.text


def test_verdicts_are_shown_apart(links: Path, doubtful: Path) -> None:
    """On the page as in the file: linked, undecided with their reasons, no match; and against gold."""
    rows = [line.split("\t") for line in links.read_text().splitlines()[1:]]
    counts = {verdict: sum(row[3] == verdict for row in rows) for verdict in ("linked", "undecided", "no match")}
    assert min(counts.values()) > 0
    page_of(links, "--gold", doubtful / "gold.tsv")
    text = links.with_name("page.html").read_text()
    for words, verdict in (("linked", "linked"), ("undecided", "undecided"), ("probably without a match", "no match")):
        assert f"<li><b>{counts[verdict]}</b> {words}, of {len(rows)} source entities</li>" in text
    found = gather(links, doubtful / "gold.tsv")
    assert (len(found.undecided), len(found.no_matches)) == (counts["undecided"], counts["no match"])
    none = found.basis.unlinked  # type: ignore[union-attr]
    tables = tables_of(links.with_name("page.html"))
    why = [row for row in tables if row[0] in ("undecided", "no match") and not row[1].isdigit()]
    assert {row[0] for row in why} == {"undecided", "no match"}
    assert sum(int(row[2]) for row in why if row[0] == "undecided") == counts["undecided"]
    assert ["undecided", "the graphs say too little", str(int((none.reason == Reason.TOO_LITTLE).sum()))] in why
    partnered = {source for source, _ in found.gold or ()}
    for verdict, count in counts.items():
        having = sum(row[0] in partnered for row in rows if row[3] == verdict)
        assert [verdict, str(count), str(having), str(count - having)] in tables


def test_formats_without_undecided_entities_report_them_all_the_same(doubtful: Path, tmp_path: Path) -> None:
    prefixes = ["--prefix", "ex=http://example.org/", "--source-prefix", "ex", "--target-prefix", "ex"]
    main(["align", str(doubtful / "world"), "-o", str(tmp_path / "links.sssom.tsv"), "-q", *prefixes])
    found, table = gather(tmp_path / "links.sssom.tsv"), gather(doubtful / "links.tsv")
    assert (found.undecided, found.no_matches) == (table.undecided, table.no_matches)


def test_examples_add_up(links: Path) -> None:
    page = page_of(links)
    for title in ("Undecided", "No match"):
        assert title in page.text
    articles = re.findall(r"<article>.*?</article>", links.with_name("page.html").read_text())
    assert len(articles) == 15
    sums = 0
    for table in (table for article in articles for table in re.findall(r"<table>.*?</table>", article)):
        *parts, total = weights_in(table)
        assert sum(parts) == pytest.approx(total, abs=0.005 * (len(parts) + 5))
        sums += 1
    assert sums >= 9


def test_examples_have_the_confidence_of_their_title(links: Path) -> None:
    """Medium is 0.6 to 0.9 where there are such links; where there are none, the nearest, and the title says so."""
    found = gather(links)
    free = np.flatnonzero(~found.is_seed)

    def shown(confidence: list[float]) -> dict[str, set[float]]:
        values = np.array(found.confidence)
        values[free] = 0.99
        values[free[: len(confidence)]] = confidence
        given = dict(zip((source for source, _ in found.links), values.tolist(), strict=True))
        examples = figures.examples_of(_with(found, confidence=values))
        return {title: {given[why.entity] for why in each} for title, each in examples.items() if "confidence" in title}

    assert shown([0.59, 0.6, 0.75, 0.8999, 0.9, 0.3]) == {
        "High confidence (0.9 and above)": {0.99},
        "Medium confidence (0.6 to 0.9)": {0.6, 0.75, 0.8999},
        "Low confidence (below 0.6)": {0.59, 0.3},
    }
    high, medium, low = shown([0.91, 0.92, 0.93, 0.94, 0.95, 0.96]).items()
    assert high == ("High confidence (0.9 and above)", {0.99})
    assert medium[0] == "Medium confidence (0.6 to 0.9: none, so the nearest)"
    assert low[0] == "Low confidence (below 0.6: none, so the nearest)"
    assert medium[1] | low[1] == {0.91, 0.92, 0.93, 0.94, 0.95, 0.96}


def tables_of(path: Path) -> list[list[str]]:
    """All rows of all tables of a page, their cells without markup."""
    rows = re.findall(r"<tr><td>.*?</tr>", path.read_text())
    return [[re.sub(r"<.*?>", "", cell) for cell in re.findall(r"<td.*?>(.*?)</td>", row)] for row in rows]


def test_every_wrong_link_stands_under_one_cause(run: Path) -> None:
    found = gather(run / "links.tsv")
    shifted = [link[1] for link in found.links]
    gold = [(source, target) for (source, _), target in zip(found.links, shifted[1:] + shifted[:1], strict=True)]
    text = Page(report_page(_with(found, gold=gold[5:]))).text
    wrong = int(re.search(r"Wrong links by cause \((\d+)\)", text)[1])  # type: ignore[index]
    causes = ("no true partner", "in no fact", "neighbour of the other", "not linked either", "which was not enough")
    head = text.split("True pairs that were not found")[0]
    counts = [int(n) for cause in causes for n in re.findall(rf"{cause}: (\d+)", head)]
    assert sum(counts) == wrong == int((~found.is_seed).sum())


def _with(findings: Findings, **changes: object) -> Findings:
    return replace(findings, **changes)  # type: ignore[arg-type]


def recorded(alignment: Alignment, cost: Cost) -> RunRecord:
    return RunRecord(options_of(alignment.config)).finished({}, Outcome.of(alignment, cost))


def test_hostile_names_do_nothing(tmp_path: Path) -> None:
    names = [*HOSTILE, *(f"plain {n}" for n in range(6))]
    facts = [(names[n], f"<b>{n % 3}", names[(n * 5 + 1) % 12], f"19{10 + n}") for n in range(12)]
    graph = TemporalGraph.from_facts(facts, "<script>alert(4)</script>")
    alignment = align(graph, graph)
    confidence = alignment.confidence
    record = recorded(alignment, Cost(("dualmatch", "align", HOSTILE[0]), {"total": 1.0}, 10.0))
    write_record(record, record_of(tmp_path / "links.tsv"))
    from dualmatch.explain.basis import basis_of

    links = [(s, t) for s, t, _ in alignment.links()]
    found = Findings(
        HOSTILE[0],
        "evidence",
        links,
        confidence,
        alignment.is_seed,
        (),
        (),
        read_record(tmp_path / "links.tsv"),
        basis_of(alignment),
        "</pre><script>alert(5)</script>",
        [(HOSTILE[0], HOSTILE[1])],
    )
    text = report_page(found)
    page = Page(text)
    assert page.unbalanced == []
    assert page.count("script") == page.count("img") == 0
    assert all(not name.startswith("on") for _, each in page.tags for name in each)
    assert "\u202e" not in text
    assert "javascript:" not in " ".join(value or "" for _, each in page.tags for value in each.values())
    assert len(text) < 500_000


def test_alpha_against_d_and_methods_without_evidence(small_world: Path, tmp_path: Path) -> None:
    links = tmp_path / "links.tsv"
    main(["align", str(small_world), "-o", str(links), "--method", "temporal", "-q"])
    page = page_of(links, "--gold", small_world / "ref_pairs")
    assert "Method temporal has no rounds." in page.text
    assert "Method temporal keeps no evidence" in page.text
    assert "only orders pairs" in page.text
    assert "another is its true partner" in page.text or "it has no true partner" in page.text
    record = read_record(links)
    assert record is not None
    data = json.loads(record_of(links).read_text())
    data["outcome"]["distances"] = {"0.0": 30.5, "0.25": 20.0, "2.0": 25.0}
    record_of(links).write_text(json.dumps(data))
    page = page_of(links)
    assert "D of every α tried" in page.text
    assert "were chosen: 0.25." in page.text
    data["outcome"]["distances"] = {"0.0, 0.1": 3.0, "0.1, 0.1": 2.0}
    record_of(links).write_text(json.dumps(data))
    assert "D of the weights tried" in page_of(links).text


@pytest.mark.parametrize(
    ("method", "title"), [("dualmatch", "D of every α tried"), ("fused", "D of the weights tried")]
)
def test_d_of_a_run_that_weighs_channels(
    run: Path, small_world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str, title: str
) -> None:
    pytest.importorskip("torch", reason=f"method {method} needs the extra [gnn]")
    # Denormal numbers that are flushed, in the whole process, would fail other tests.
    monkeypatch.setattr("dualmatch.methods.resources.prepare_process", lambda _config: None)
    links, seeds = tmp_path / "links.tsv", small_world / "sup_pairs"
    if method == "fused":  # on the command line of 0.1.0 only, whose records are still read
        shutil.copy(run / "links.tsv", links)
        data = read_folder(small_world)
        alignment = align(data.source, data.target, data.read_pairs(seeds), method=method, dimension=16)
        write_record(recorded(alignment, Cost((), {"total": 1.0}, 10.0)), record_of(links))
    else:
        (tmp_path / "small.toml").write_text("dimension = 16\n")
        config = ["--config", str(tmp_path / "small.toml"), "--seeds", str(seeds)]
        main(["align", str(small_world), "-o", str(links), "--method", method, "-q", *config])
    record = read_record(links)
    assert record is not None
    outcome = record.outcome
    assert outcome is not None
    assert outcome.distances is not None
    assert outcome.weights is not None
    page = page_of(links)
    assert title in page.text
    best = min(outcome.distances, key=outcome.distances.__getitem__)
    assert f"were chosen: {best}." in page.text
    taken = [outcome.weights[name] for name in ("temporal", "relational") if name in outcome.weights]
    assert float(best.split(", ")[0]) == taken[0]
    assert page.text.count("D at ") == (len(outcome.distances) if method == "dualmatch" else 0)


def test_impossible_gold_pairs_are_reported(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pairs = [line.split("\t")[:2] for line in (run / "links.tsv").read_text().splitlines()[1:6]]
    known = [f"{source}\t{target}\n" for source, target in pairs if target]
    (tmp_path / "gold.tsv").write_text("".join([*known, "nobody\tnothing\n"]))
    page = page_of(run / "links.tsv", "--gold", tmp_path / "gold.tsv")
    assert "1 gold pairs name an entity that is not in its graph, and count as not found, such as nobody" in page.text
    main(["report", str(run / "links.tsv"), "-o", str(tmp_path / "a.html"), "--gold", str(tmp_path / "gold.tsv")])
    assert "name no entity of the alignment, 'nobody' and 'nothing' among" in " ".join(capsys.readouterr().err.split())
    (tmp_path / "gold.tsv").write_text("".join(known))
    assert "not in its graph" not in page_of(run / "links.tsv", "--gold", tmp_path / "gold.tsv").text


def test_links_without_their_companions_still_make_a_page(run: Path, tmp_path: Path) -> None:
    shutil.copy(run / "links.tsv", tmp_path)
    page = page_of(tmp_path / "links.tsv")
    assert "There is no record of this run" in page.text
    assert "There is no record of the graphs" in page.text
    (tmp_path / "three.tsv").write_text("source\ttarget\tconfidence\na\tb\t0.5\n")
    assert "No evidence is kept" in page_of(tmp_path / "three.tsv").text
    (tmp_path / "none.tsv").write_text("source\ttarget\tconfidence\na\t\t0.5\n")
    assert "No link was found" in page_of(tmp_path / "none.tsv").text


def test_the_record_comes_back_as_it_was(tmp_path: Path) -> None:
    graph = TemporalGraph.from_facts([("Ada", "met", "Charles", "1833"), ("Charles", "wrote", "Book", "1864")])
    record = recorded(align(graph, graph), Cost(("dualmatch", "align"), {"total": 1.5}, 20.0))
    write_record(record, record_of(tmp_path / "links.tsv"))
    assert read_record(tmp_path / "links.tsv") == record
    assert record.outcome is not None
    assert record.outcome.rounds is not None
    assert record.outcome.graphs[0] == profile_of(graph)
    assert record.method == Config().method
    assert read_record(tmp_path / "other.tsv") is None


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"format": 9}', '{"format": 1, "graphs": [1, 2]}', "\xff"])
def test_what_is_no_record_is_refused(run: Path, tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(run / "links.tsv", tmp_path)
    record_of(tmp_path / "links.tsv").write_bytes(text.encode("latin-1"))
    said = refused(["report", str(tmp_path / "links.tsv"), "-o", str(tmp_path / "r.html")], capsys, tmp_path)
    assert "links.tsv.run.json: cannot be read as the record of a run" in said
    assert "align again" in said


def test_what_cannot_be_reported_is_refused(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    links = str(run / "links.tsv")
    (tmp_path / "there.html").write_text("mine")
    for arguments, words in (
        ([str(tmp_path / "none.tsv"), "-o", str(tmp_path / "r.html")], "no such file"),
        ([links, "-o", str(tmp_path / "there.html")], "exists already"),
        ([links, "-o", links, "--force"], "is already read or written by this run"),
        ([links, "-o", str(record_of(run / "links.tsv")), "--force"], "is already read or written by this run"),
        ([links, "-o", str(tmp_path / "r.html"), "--gold", str(tmp_path / "no")], "no such file"),
        ([links, "-o", str(tmp_path / "r.html"), "--folder", str(tmp_path)], "is gone"),
    ):
        assert words in refused(["report", *arguments], capsys, tmp_path)


def test_profiles_count_what_is_there() -> None:
    facts = [("a", "r", "b", "1900"), ("a", "r", "c", "1900-05"), ("a", "q", "b", "1999-12-31"), ("c", "q", "a")]
    profile = profile_of(TemporalGraph.from_facts(facts))
    assert dict(profile.precision) == {"day": 1, "month": 1, "year": 1, "none": 1}
    assert profile.degrees == (0, 0, 2, 1)
    assert profile.timeline is not None
    assert sum(profile.timeline.counts) == 3
    assert (profile.timeline.first, len(profile.timeline.counts)) == (1900, 50)
    bare = profile_of(TemporalGraph.from_facts([("a", "r", "b")]))
    assert bare.timeline is None
    opaque = TemporalGraph(
        np.zeros(4, np.int32),
        np.zeros(4, np.int32),
        np.ones(4, np.int32),
        np.arange(4, dtype=np.int32),
        np.arange(4, dtype=np.int32),
        ("a", "b", "alone"),
        ("r",),
        opaque_times=True,
    )
    profile = profile_of(opaque)
    assert dict(profile.precision) == {"id": 4, "none": 0}
    assert profile.timeline is not None
    assert profile.timeline.counts == (1, 1, 1, 1)
    assert profile.degrees[0] == 1


def test_the_answer_comes_first(links: Path, doubtful: Path) -> None:
    """One sentence, then what to do; both before any section, and true."""
    page_of(links, "--gold", doubtful / "gold.tsv")
    head = links.with_name("page.html").read_text().partition("<main>")[0]
    found = gather(links)
    wrong = round((1 - found.found).sum())
    assert f'<p class="lead">{len(found.links)} links, about {wrong} of them expected wrong; of 400 source' in head
    assert f" {len(found.undecided)} are undecided, " in head
    assert "because the graphs say too little, and" in head
    assert "<code>dualmatch review links.tsv</code>" in head
    merge = re.search("<code>(dualmatch merge .*?)</code>", head)
    assert merge is not None
    here = links.parent
    main([*shlex.split(merge[1])[1:4], str(links), "-o", str(here / "merged.parquet"), "-q"])
    assert (here / "merged.parquet").exists()


def test_thresholds_say_what_they_keep(links: Path, doubtful: Path) -> None:
    found = gather(links, doubtful / "gold.tsv")
    true = set(found.gold or ())
    rows = figures.threshold_rows(found)
    assert rows[0][:2] == ["all", len(found.links)]
    for words, kept, expected, _, wrong in rows:
        above = [
            (link, sure)
            for link, sure in zip(found.links, found.confidence.tolist(), strict=True)
            if words == "all" or sure >= float(str(words))
        ]
        assert kept == len(above)
        assert str(expected) == f"{sum(1 - sure for _, sure in above):,.1f}"
        assert wrong == sum(link not in true for link, _ in above)
    assert [row[1] for row in rows] == sorted({row[1] for row in rows}, reverse=True)


def test_long_tables_are_folded_and_other_methods_options_left_out(run: Path) -> None:
    page_of(run / "links.tsv")
    text = (run / "page.html").read_text()
    unfolded = re.sub("<details>.*?</details>", "", text, flags=re.DOTALL)
    assert max(table.count("<tr>") for table in re.findall("<table>.*?</table>", unfolded, re.DOTALL)) <= 15
    assert "epochs" not in text
    assert "many_to_one = false" in text
    assert not re.search(r"<th[^>]*></th>", text)


def test_examples_differ() -> None:
    """Of many clubs and two people that are equally sure, the people are among the three that are shown."""
    clubs = [(f"club {n}", "plays in", "league", f"{1900 + n}") for n in range(30)]
    clubs += [(f"club {n}", "plays in", f"cup {n}", f"{1930 + n}") for n in range(30)]
    people = [("Ada", "born in", "London", "1815"), ("Ada", "wrote", "Notes", "1843"), ("Bob", "sang", "Aria", "1801")]
    graph = TemporalGraph.from_facts([*clubs, *people, ("Bob", "met", "Eve", "1805")])
    rows = [graph.entity_rows[name] for name in (*(f"club {n}" for n in range(30)), "Ada", "Bob")]
    assert {graph.entities[row] for row in figures._varied(graph, rows)} == {"club 0", "Ada", "Bob"}


@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_can_be_read_by_everyone(run: Path, small_world: Path, open_page: OpenPage, width: int) -> None:
    page_of(run / "links.tsv", "--gold", run / "gold", "--data", small_world)
    page = open_page((run / "page.html").as_uri(), viewport={"width": width, "height": 900})
    assert_accessible(page, "light", "dark")
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
    assert_accessible(page, "light", "dark")
