"""`dualmatch update` as its user calls it."""

import io
import json
import shutil
import sys
from pathlib import Path

import polars as pl
import pytest

from conftest import refused
from dualmatch import explain, read_links
from dualmatch.cli.main import main
from dualmatch.graph.times import format_date
from dualmatch.review.serve import open_session
from dualmatch.runs.record import RECORD
from dualmatch.simulate import World, simulate


def called(*words: object) -> None:
    main([*map(str, words), "-q"])


def table_of(path: Path) -> pl.DataFrame:
    return pl.read_csv(path, separator="\t", infer_schema=False, quote_char=None)


def pairs_of(run: Path) -> list[tuple[str, str]]:
    return list(table_of(run / "links.tsv").select("source", "target").iter_rows())


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run on the earlier facts, and files of the later ones."""
    place = tmp_path_factory.mktemp("update")
    pair = simulate(World(entities=200, mean_facts=8, seed=8))
    for side, graph in (("s", pair.source), ("t", pair.target)):
        rows = [
            (graph.entities[h], graph.relations[r], graph.entities[t], format_date(b), format_date(e))
            for h, r, t, b, e in zip(
                *(column.tolist() for column in (graph.head, graph.relation, graph.tail, graph.begin, graph.end)),
                strict=True,
            )
        ]
        rows.sort(key=lambda row: row[3])
        for name, part in (("old", rows[:-80]), ("new", rows[-80:])):
            table = pl.DataFrame(part, schema=["head", "relation", "tail", "begin", "end"], orient="row")
            table.write_csv(place / f"{side}-{name}.tsv", separator="\t")
    called("align", place / "s-old.tsv", place / "t-old.tsv", "--run", place / "old.run")
    return place


def test_a_run_is_updated_into_a_run(place: Path, tmp_path: Path) -> None:
    new = tmp_path / "new.run"
    before = {path: path.read_bytes() for path in (place / "old.run").rglob("*") if path.is_file()}
    facts = "--source-facts", place / "s-new.tsv", "--target-facts", place / "t-new.tsv"
    called("update", place / "old.run", *facts, "--run", new, "--json", tmp_path / "said.json")
    said = json.loads((tmp_path / "said.json").read_text())
    assert [each["facts"] for each in said["new_facts"]] == [80, 80]
    first, second = (json.loads((run / RECORD).read_text()) for run in (place / "old.run", new))
    assert second["options"] == first["options"]
    changes = pl.read_csv(new / "changes.tsv", separator="\t", infer_schema=False)
    assert changes.height == sum(said["changes"].values())
    assert set(changes["why"]) == set(said["why"])
    assert {path: path.read_bytes() for path in (place / "old.run").rglob("*") if path.is_file()} == before
    name = pl.read_csv(new / "links.tsv", separator="\t", infer_schema=False)["source"][0]
    called("explain", new, name)
    called("report", new, "-o", tmp_path / "report.html")
    called("update", new, "--source-facts", place / "s-new.tsv", "--run", tmp_path / "third.run")
    assert pairs_of(tmp_path / "third.run") == pairs_of(new)  # all facts were known


def test_new_facts_are_read_within_the_memory_limit(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "long.csv").write_text("head,relation,tail\n" + "a" * 5 * 2**20 + ",met,b\n")
    call = ["update", str(place / "old.run"), "--source-facts", str(tmp_path / "long.csv"), "--run"]
    said = refused([*call, str(tmp_path / "refused"), "--memory-limit", "64MiB"], capsys, tmp_path)
    assert "long.csv:2: a line of more than 4 MiB" in said
    called(*call, tmp_path / "new", "--memory-limit", "1GB")
    assert json.loads((tmp_path / "new" / RECORD).read_text())["options"]["memory_limit"] == 10**9
    assert "too few to work with" in refused([*call, str(tmp_path / "x"), "--memory-limit", "1"], capsys, tmp_path)


def test_the_same_update_gives_the_same_bytes(place: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        called("update", place / "old.run", "--source-facts", place / "s-new.tsv", "--run", tmp_path / name)
    for file in ("links.tsv", "changes.tsv", "stages/graphs.npz"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_what_cannot_be_updated_is_refused(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, facts = str(place / "old.run"), ["--source-facts", str(place / "s-new.tsv")]
    new = ["--run", str(tmp_path / "new.run")]
    assert "there are no new facts" in refused(["update", old, *new], capsys, tmp_path)
    assert "is the run that is updated" in refused(["update", old, *facts, "--run", old], capsys, place)
    assert "no run was finished in it" in refused(["update", str(tmp_path), *facts, *new], capsys, tmp_path)
    missing = ["--source-facts", str(tmp_path / "none.tsv")]
    assert "none.tsv: no such file" in refused(["update", old, *missing, *new], capsys, tmp_path)
    (tmp_path / "bad.tsv").write_text("head\trelation\ttail\ttime\nAda\tmet\tCharles\tyesterday\n")
    bad = ["--source-facts", str(tmp_path / "bad.tsv")]
    assert "bad.tsv:2" in refused(["update", old, *bad, *new], capsys, tmp_path)


def test_runs_of_other_kinds_are_refused(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = place / "s-old.tsv", place / "t-old.tsv"
    called("align", *files, "--method", "temporal", "--run", tmp_path / "temporal.run")
    facts = ["--source-facts", str(place / "s-new.tsv"), "--run", str(tmp_path / "new.run")]
    said = refused(["update", str(tmp_path / "temporal.run"), *facts], capsys, tmp_path)
    assert "this run is of temporal" in said


def test_labels_of_old_and_new_entities_are_compared(place: Path, tmp_path: Path) -> None:
    """New entities have labels too: here they say who is who, for entities that the facts leave open."""
    names = {
        name: number for number, name in enumerate(("Ada", "Babbage", "Somerville", "Boole", "Faraday", "Herschel"))
    }
    for side, label in (("s", "rdfs:label"), ("t", "skos:prefLabel")):
        old = [f'x:{side}{n} {label} "{name}" ; x:knows x:{side}{(n + 1) % 4} .' for name, n in names.items() if n < 4]
        new = [f'x:{side}{n} {label} "{name}" ; x:knows x:{side}0 .' for name, n in names.items() if n >= 4]
        prefixes = (
            "@prefix x: <http://e/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
            "@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n"
        )
        (tmp_path / f"{side}-old.ttl").write_text(prefixes + "\n".join(old))
        (tmp_path / f"{side}-new.ttl").write_text(prefixes + "\n".join(new))
    short = "--namespace", "http://e/"
    called("align", tmp_path / "s-old.ttl", tmp_path / "t-old.ttl", *short, "--run", tmp_path / "old.run")
    facts = "--source-facts", tmp_path / "s-new.ttl", "--target-facts", tmp_path / "t-new.ttl"
    called("update", tmp_path / "old.run", *facts, "--run", tmp_path / "new.run")
    found = dict(read_links(tmp_path / "new.run" / "links.tsv")[0])
    assert found == {f"s{n}": f"t{n}" for n in range(6)}
    assert "labels compared" in str(explain(tmp_path / "new.run" / "links.tsv", "s5"))
    called("update", tmp_path / "new.run", *facts, "--run", tmp_path / "again.run")
    assert dict(read_links(tmp_path / "again.run" / "links.tsv")[0]) == found


def of_another_version(run: Path, copy: Path, **options: object) -> Path:
    """A copy of a run as if version 9.9 had made it, with these options besides."""
    shutil.copytree(run, copy)
    for path in (copy / RECORD, copy / "links.tsv.run.json"):
        record = json.loads(path.read_text())
        record["version"] = "9.9"
        record["options"] |= options
        path.write_text(json.dumps(record))
    return copy


def test_a_finished_run_of_another_version_is_read(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever options that version has; going on from it needs to know them all, resuming it the same version."""
    plain = of_another_version(place / "old.run", tmp_path / "plain")
    strange = of_another_version(place / "old.run", tmp_path / "strange", of_tomorrow=1)
    pairs = [pair for pair in pairs_of(plain) if pair[1]]
    (tmp_path / "gold.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
    for run in (plain, strange):
        called("evaluate", run, "--gold", tmp_path / "gold.tsv")
        called("report", run, "-o", run / "report.html")
        called("explain", run, pairs[0][0])
        session = open_session(run / "links.tsv")
        assert len(session.run.basis.pairs) == len(pairs)
    facts = ["--source-facts", str(place / "s-new.tsv"), "--run", str(tmp_path / "new")]
    said = refused(["update", str(strange), *facts], capsys, tmp_path)
    assert "this run of dualmatch 9.9 has options that" in said
    assert "option of_tomorrow" in said
    called("update", plain, *facts)
    again = ["align", str(place / "s-old.tsv"), str(place / "t-old.tsv"), "--run", str(plain), "--resume"]
    assert "started with dualmatch 9.9" in refused(again, capsys, place)


def names_in(*files: Path) -> set[str]:
    return {name for path in files for column in ("head", "tail") for name in table_of(path)[column]}


def renamed(old: Path, new: Path, columns: dict[str, str]) -> Path:
    table_of(old).rename(columns).write_csv(new, separator="\t")
    return new


def test_files_are_read_as_the_first_run_read_them(place: Path, tmp_path: Path) -> None:
    """However many updates lie between."""
    names = {"head": "who", "relation": "what", "tail": "whom", "begin": "from", "end": "until"}
    old, new, target = (
        renamed(place / name, tmp_path / name, names) for name in ("s-old.tsv", "s-new.tsv", "t-old.tsv")
    )
    columns = ",".join(f"{role}={name}" for role, name in names.items())
    called("align", old, target, "--columns", columns, "--run", tmp_path / "one")
    called("update", tmp_path / "one", "--source-facts", new, "--run", tmp_path / "two")
    called("update", tmp_path / "two", "--source-facts", new, "--run", tmp_path / "three")
    assert pairs_of(tmp_path / "three") == pairs_of(tmp_path / "two")


def test_lines_left_out_of_either_side_are_kept(place: Path, tmp_path: Path) -> None:
    for side in "st":
        (tmp_path / f"{side}.tsv").write_text(
            f"head\trelation\ttail\ttime\n{side}-A\tmet\t{side}-B\tyesterday\n{side}-A\tmet\t{side}-B\t1833\n"
        )
    facts = "--source-facts", tmp_path / "s.tsv", "--target-facts", tmp_path / "t.tsv", "--on-error", "skip"
    called("update", place / "old.run", *facts, "--run", tmp_path / "new", "--json", tmp_path / "said.json")
    _, *rejected = (tmp_path / "new" / "links.tsv.rejected.tsv").read_text().splitlines()
    assert [Path(line.split("\t")[0]).name for line in rejected] == ["s.tsv", "t.tsv"]
    assert json.loads((tmp_path / "said.json").read_text())["rejected"] == 2


def test_blank_nodes_of_new_files_are_other_nodes(tmp_path: Path) -> None:
    fact = '_:b0 <http://e.org/met> <http://e.org/{}> {{| <http://e.org/begin> "{}" |}} .\n'
    (tmp_path / "old.ttl").write_text("".join(fact.format(name, 1830 + number) for number, name in enumerate("abcd")))
    (tmp_path / "new.ttl").write_text(fact.format("e", 1850))
    called(
        "align", *[tmp_path / "old.ttl"] * 2, "--time-predicate", "begin=http://e.org/begin", "--run", tmp_path / "0"
    )
    for number in range(2):
        run, new = tmp_path / str(number), tmp_path / str(number + 1)
        called(
            "update", run, "--source-facts", tmp_path / "new.ttl", "--run", new, "--json", tmp_path / f"{number}.json"
        )
    said = [json.loads((tmp_path / f"{number}.json").read_text())["new_facts"][0] for number in range(2)]
    assert said == [{"facts": 1, "known": 0, "entities": 2}, {"facts": 1, "known": 0, "entities": 1}]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("links.sssom.tsv", ["--reasons", "--relations"]),
        ("links.nt", []),
        ("links.txt", ["--output-format", "jsonl"]),
        ("links.parquet", ["--many-to-one", "--max-fdr", "0.02"]),
    ],
)
def test_links_are_written_as_the_run_wrote_them(name: str, options: list[str], place: Path, tmp_path: Path) -> None:
    options = [*options, str(tmp_path / "relations.tsv")] if "--relations" in options else options
    old, new = tmp_path / "old", tmp_path / "new"
    called("align", place / "s-old.tsv", place / "t-old.tsv", "--run", old, "-o", tmp_path / name, *options)
    facts = "--source-facts", place / "s-new.tsv", "--target-facts", place / "t-new.tsv"
    called("update", old, *facts, "--run", new)
    assert (new / name).read_bytes()[:20] == (tmp_path / name).read_bytes()[:20]
    assert (new / "relations.tsv").exists() == ("--reasons" in options)
    changes = table_of(new / "changes.tsv")
    before, after = (set(changes[column].drop_nulls()) for column in ("before", "after"))
    assert changes.height < 60
    assert before | after <= names_in(place / "t-old.tsv", place / "t-new.tsv")
    called("update", new, *facts, "--run", tmp_path / "third")
    assert table_of(tmp_path / "third" / "changes.tsv").is_empty()


def test_a_run_that_was_updated_can_be_moved(place: Path, tmp_path: Path) -> None:
    called("update", place / "old.run", "--source-facts", place / "s-new.tsv", "--run", tmp_path / "new")
    shutil.move(tmp_path / "new", tmp_path / "elsewhere")
    name = pairs_of(tmp_path / "elsewhere")[0][0]
    called("explain", tmp_path / "elsewhere", name)
    called("explain", tmp_path / "elsewhere", name, "--folder", tmp_path / "elsewhere")
    called("report", tmp_path / "elsewhere", "-o", tmp_path / "report.html")


def test_new_facts_from_standard_input(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    facts = (place / "s-new.tsv").read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(facts)))
    called("update", place / "old.run", "--source-facts", "-", "--format", "tsv", "--run", tmp_path / "piped")
    called("update", place / "old.run", "--source-facts", place / "s-new.tsv", "--run", tmp_path / "read")
    assert pairs_of(tmp_path / "piped") == pairs_of(tmp_path / "read")


def test_links_that_are_not_the_runs_are_refused(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = tmp_path / "old"
    shutil.copytree(place / "old.run", old)
    facts = ["--source-facts", str(place / "s-new.tsv"), "--run", str(tmp_path / "new")]
    links = (old / "links.tsv").read_text()
    (old / "links.tsv").write_text(links.replace("t-", "T-"))
    assert "has changed since the run was finished" in refused(["update", str(old), *facts], capsys, tmp_path)
    (old / "links.tsv").unlink()
    assert "links.tsv: is gone" in refused(["update", str(old), *facts], capsys, tmp_path)


def test_an_interrupted_update_is_begun_anew(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    call = [
        "update",
        str(place / "old.run"),
        "--source-facts",
        str(place / "s-new.tsv"),
        "--run",
        str(tmp_path / "new"),
    ]
    with monkeypatch.context() as patch:
        patch.setattr("dualmatch.runs.workflow.update", interrupted)
        with pytest.raises(SystemExit):
            main(call)
    capsys.readouterr()
    way_on = "repeat the call of dualmatch update, with --force"
    assert way_on in refused(call, capsys, tmp_path)
    assert way_on in refused(["explain", str(tmp_path / "new"), "Ada"], capsys, tmp_path)
    again = ["align", str(place / "s-old.tsv"), str(place / "t-old.tsv"), "--run", str(tmp_path / "new"), "--resume"]
    assert way_on in refused(again, capsys, tmp_path)
    called(*call, "--force")
    assert pairs_of(tmp_path / "new")


def test_a_run_does_not_replace_the_graphs_it_reads(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    shutil.copytree(place / "old.run", run)
    said = refused(["align", str(run), "--run", str(run), "--force"], capsys, tmp_path)
    assert "give --run another folder" in said


def test_one_new_fact_is_counted_in_the_singular(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "one.tsv").write_text("head\trelation\ttail\ttime\nnobody\tmet\tnobody\t2001-01-01\n")
    main(
        ["update", str(place / "old.run"), "--source-facts", str(tmp_path / "one.tsv"), "--run", str(tmp_path / "new")]
    )
    said = capsys.readouterr().out
    assert "source: 1 new fact (0 more were known or repeated), 1 new entity\n" in said
    assert "target: 0 new facts (0 more were known or repeated), 0 new entities\n" in said
