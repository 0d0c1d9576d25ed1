"""Merging: linked entities share an id, and every fact says who said it."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import polars as pl
import pytest

from conftest import refused
from dualmatch import InputError, TemporalGraph, read_graph
from dualmatch.cli.main import main
from dualmatch.merge import merge
from io_facts import facts_of

SOURCE = TemporalGraph.from_facts(
    [("Ada", "met", "Charles", "1833"), ("Ada", "lived in", "London", "1835-03", "1852"), ("Ada", "saw", "Q9")],
    name="left",
)
TARGET = TemporalGraph.from_facts(
    [("Q7", "met", "Q46", "1833"), ("Q7", "P551", "Q84", "~", "1852"), ("Q9", "P1", "Q7")], name="right"
)
LINKS = [("Ada", "Q7"), ("Charles", "Q46")]


def test_one_set_of_ids_and_who_said_what(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        merged = merge(SOURCE, TARGET, LINKS)
    assert merged.facts.rows() == [
        ("Ada", "P551", "Q84", None, "1852", "target"),
        ("Ada", "lived in", "London", "1835-03", "1852", "source"),
        ("Ada", "met", "Charles", "1833", "1833", "both"),
        ("Ada", "saw", "Q9", None, None, "source"),
        ("target:Q9", "P1", "Ada", None, None, "target"),
    ]
    assert merged.entities.rows() == [
        ("Ada", "Ada", "Q7"),
        ("Charles", "Charles", "Q46"),
        ("London", "London", None),
        ("Q84", None, "Q84"),
        ("Q9", "Q9", None),
        ("target:Q9", None, "Q9"),
    ]
    assert caplog.messages == ["1 name of the target is taken on the other side, without a link; ids are target:NAME"]


def test_the_targets_names_can_be_kept() -> None:
    facts = merge(SOURCE, TARGET, LINKS, keep="target").facts
    assert ("Q7", "met", "Q46", "1833", "1833", "both") in facts.rows()
    assert ("Q7", "saw", "source:Q9", None, None, "source") in facts.rows()


def test_sources_that_share_a_target_become_one_entity() -> None:
    source = TemporalGraph.from_facts(
        [("Ada", "met", "Charles", "1833"), ("Ada L.", "met", "Charles", "1833"), ("Ada L.", "saw", "Mary", "1840")]
    )
    target = TemporalGraph.from_facts([("Q7", "met", "Charles", "1833"), ("Ada L.", "P1", "Q7")])
    links = [("Ada L.", "Q7"), ("Ada", "Q7"), ("Charles", "Charles")]
    merged = merge(source, target, links)
    assert merged.facts.rows() == [
        ("Ada", "met", "Charles", "1833", "1833", "both"),
        ("Ada", "saw", "Mary", "1840", "1840", "source"),
        ("target:Ada L.", "P1", "Ada", None, None, "target"),
    ]
    assert merged.entities.rows() == [
        ("Ada", "Ada", "Q7"),
        ("Ada", "Ada L.", "Q7"),
        ("Charles", "Charles", "Charles"),
        ("Mary", "Mary", None),
        ("target:Ada L.", None, "Ada L."),
    ]
    by_target = merge(source, target, links, keep="target")
    assert ("Q7", "met", "Charles", "1833", "1833", "both") in by_target.facts.rows()
    assert ("Q7", "saw", "Mary", "1840", "1840", "source") in by_target.facts.rows()
    assert by_target.entities.rows()[-2:] == [("Q7", "Ada", "Q7"), ("Q7", "Ada L.", "Q7")]


@pytest.mark.parametrize(
    ("links", "words"),
    [
        ([("Eve", "Q7")], "links: 1 source name is not in left: 'Eve'$"),
        ([("Ada", "Q8"), ("London", "Q5")], "links: 2 target names are not in right: 'Q8' among them$"),
        ([("Ada", "Q7"), ("Ada", "Q46")], "links: source 'Ada' has 2 links; keep one, only targets may be shared"),
    ],
)
def test_links_that_cannot_be(links: list[tuple[str, str]], words: str) -> None:
    with pytest.raises(InputError, match=words):
        merge(SOURCE, TARGET, links)


def test_the_command_writes_what_can_be_read_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b, links, out = (tmp_path / name for name in ("a.csv", "b.csv", "links.tsv", "merged.tsv"))
    a.write_text("head,relation,tail,year\nAda,met,Charles,1833\n")
    b.write_text("head,relation,tail,year\nQ7,P2,Q46,1833\n")
    links.write_text("source\ttarget\tconfidence\nAda\tQ7\t0.9\nCharles\tQ46\t0.2\n")
    call = ["merge", str(a), str(b), "--links", str(links), "-o", str(out), "--min-confidence", "0.5"]
    main([*call, "--entities", str(tmp_path / "ids.csv")])
    assert capsys.readouterr().out == (
        f"2 facts about 3 entities written to {out}\n1 entity and 0 facts come from both sides\n"
    )
    assert facts_of(read_graph(out)) == [
        ("Ada", "P2", "Q46", "1833", "1833"),
        ("Ada", "met", "Charles", "1833", "1833"),
    ]
    assert (tmp_path / "ids.csv").read_text() == "id,source,target\nAda,Ada,Q7\nCharles,Charles,\nQ46,,Q46\n"
    for output, words in (
        ("links.tsv", "is already read or written by this run"),
        ("merged.xyz", "does not show its format"),
        ("merged.tsv", "exists"),
    ):
        with pytest.raises(SystemExit) as caught:
            main([*call[:6], str(tmp_path / output), *(["--force"] if output == "links.tsv" else [])])
        assert caught.value.code == 2
        assert words in capsys.readouterr().err


def test_the_command_counts_sources_that_share_a_target_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b, links, out = (tmp_path / name for name in ("a.csv", "b.csv", "links.tsv", "merged.tsv"))
    a.write_text("head,relation,tail,year\nAda,met,Charles,1833\nAda L.,met,Charles,1833\n")
    b.write_text("head,relation,tail,year\nQ7,met,Q46,1833\n")
    links.write_text("source\ttarget\tconfidence\nAda\tQ7\t0.9\nAda L.\tQ7\t0.9\nCharles\tQ46\t0.9\n")
    main(["merge", str(a), str(b), "--links", str(links), "-o", str(out)])
    assert capsys.readouterr().out == (
        f"1 fact about 2 entities written to {out}\n2 entities and 1 fact come from both sides\n"
    )


def test_a_name_that_tears_the_table_of_entities_leaves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.csv").write_text('head,relation,tail\n"a\tz",r,b\n')
    (tmp_path / "links.csv").write_text("source,target,confidence\nb,b,1\n")
    call = ["merge", *[str(tmp_path / "a.csv")] * 2, "--links", str(tmp_path / "links.csv")]
    call += ["-o", str(tmp_path / "merged.csv"), "--entities", str(tmp_path / "ids.tsv")]
    assert "ids.tsv: 'a\\tz' holds a tab or line break" in refused(call, capsys, tmp_path)


def relations(*rows: tuple[str, str, str, float]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=("source", "target", "direction", "score"), orient="row")


def test_relations_that_say_the_same_share_a_name_and_their_facts_are_one() -> None:
    source = TemporalGraph.from_facts(
        [("Ada", "met", "Charles", "1833"), ("Ada", "taught", "Mary", "1840"), ("Ada", "knew", "Mary")]
    )
    target = TemporalGraph.from_facts(
        [
            ("Q7", "P1", "Q46", "1833"),
            ("Q5", "P2", "Q7", "1840"),
            ("Q7", "P2", "Q5", "1841"),
            ("Q7", "P9", None, "1815"),
        ]
    )
    links = [("Ada", "Q7"), ("Charles", "Q46"), ("Mary", "Q5")]
    same = relations(("met", "P1", "same", 0.9), ("taught", "P2", "inverse", 0.8))
    assert merge(source, target, links, relations=same).facts.rows() == [
        ("Ada", "P9", None, "1815", "1815", "target"),
        ("Ada", "knew", "Mary", None, None, "source"),
        ("Ada", "met", "Charles", "1833", "1833", "both"),
        ("Ada", "taught", "Mary", "1840", "1840", "both"),
        ("Mary", "taught", "Ada", "1841", "1841", "target"),
    ]
    kept = merge(source, target, links, "target", same).facts.rows()
    assert ("Q5", "P2", "Q7", "1840", "1840", "both") in kept
    assert len(merge(source, target, links).facts) == 7


def test_a_relation_with_several_partners_takes_the_one_that_fits_the_fact() -> None:
    """The target has one relation for what the source calls met and saw; a fact of its own keeps its name."""
    source = TemporalGraph.from_facts([("Ada", "met", "Charles", "1833"), ("Ada", "saw", "Charles", "1840")])
    target = TemporalGraph.from_facts(
        [("Q7", "P1", "Q46", "1833"), ("Q7", "P1", "Q46", "1840"), ("Q7", "P1", "Q46", "1850")]
    )
    same = relations(("met", "P1", "same", 0.9), ("saw", "P1", "same", 0.8))
    assert merge(source, target, [("Ada", "Q7"), ("Charles", "Q46")], relations=same).facts.rows() == [
        ("Ada", "P1", "Charles", "1850", "1850", "target"),
        ("Ada", "met", "Charles", "1833", "1833", "both"),
        ("Ada", "saw", "Charles", "1840", "1840", "both"),
    ]


def test_facts_whose_dates_are_the_same_as_far_as_both_go_are_one() -> None:
    """The finer dates stay; what could mean several facts of the other side, and what is unknown, joins none."""
    source = TemporalGraph.from_facts(
        [
            ("a", "met", "b", "1833"),
            ("a", "in", "c", "1833-05-02", "1840"),
            ("a", "knew", "d", "1833"),
            ("a", "saw", "e", "1833", "~"),
            ("a", "born", None, "-0044"),
            ("a", "died", None, "1850-02"),
        ]
    )
    target = TemporalGraph.from_facts(
        [
            ("a", "met", "b", "1833-04-05"),
            ("a", "in", "c", "1833-05", "1840-07"),
            ("a", "knew", "d", "1833-01-01"),
            ("a", "knew", "d", "1833-02-02"),
            ("a", "saw", "e", "1833-01-01", "1834"),
            ("a", "born", None, "-0044-03-15"),
            ("a", "died", None, "1850-03-01"),
        ]
    )
    merged = merge(source, target, [(name, name) for name in "abcde"])
    assert merged.facts.rows() == [
        ("a", "born", None, "-0044-03-15", "-0044-03-15", "both"),
        ("a", "died", None, "1850-02", "1850-02", "source"),
        ("a", "died", None, "1850-03-01", "1850-03-01", "target"),
        ("a", "in", "c", "1833-05-02", "1840-07", "both"),
        ("a", "knew", "d", "1833", "1833", "source"),
        ("a", "knew", "d", "1833-01-01", "1833-01-01", "target"),
        ("a", "knew", "d", "1833-02-02", "1833-02-02", "target"),
        ("a", "met", "b", "1833-04-05", "1833-04-05", "both"),
        ("a", "saw", "e", "1833", None, "source"),
        ("a", "saw", "e", "1833-01-01", "1834", "target"),
    ]


def test_links_come_in_any_form() -> None:
    expected = merge(SOURCE, TARGET, LINKS).facts.rows()
    frame = pl.DataFrame([*LINKS, ("London", None)], schema=("source", "target"), orient="row")
    assert merge(SOURCE, TARGET, frame).facts.rows() == expected
    assert merge(SOURCE, TARGET, [(*link, 0.9) for link in LINKS]).facts.rows() == expected
    for wrong in (5, [("Ada",)], [7]):
        with pytest.raises(InputError, match=r"links: give \(source name, target name\) for each"):
            merge(SOURCE, TARGET, wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"relations: no column direction; give Alignment\.relations_to_polars"):
        merge(SOURCE, TARGET, LINKS, relations=pl.DataFrame({"source": ["a"], "target": ["b"]}))


def test_the_command_knows_the_relations_of_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sample, columns = (
        Path(__file__).parents[1] / "docs" / "sample",
        "head=who,relation=did,tail=whom,begin=first_day,end=last_day",
    )
    files = [str(sample / "club.csv"), str(sample / "town.json.gz"), "--columns", columns]
    main(["align", *files, "-q", "-o", str(tmp_path / "links.tsv")])
    call = ["merge", *files, "--links", str(tmp_path / "links.tsv"), "--json", "-"]
    reports = []
    for more in ([], ["--keep", "target"], ["--keep-relations"]):
        main([*call, "-o", str(tmp_path / f"merged{len(reports)}.csv"), *more])
        reports.append(json.loads(capsys.readouterr().out))
    one, other, both = reports
    assert one["shared_facts"] > 150
    assert other["shared_facts"] > 150
    assert both["shared_facts"] == 0
    assert one["facts"] + one["shared_facts"] == both["facts"]
    merged = pl.read_csv(tmp_path / "merged0.csv")
    assert merged.filter(pl.col("said_by") == "both")["relation"].str.starts_with("P").sum() == 0


def test_frames_are_merged_as_graphs_are() -> None:
    merged = merge(SOURCE.to_polars(), TARGET.to_polars(), [("Ada", "Q7")])
    assert merged.facts.equals(merge(SOURCE, TARGET, [("Ada", "Q7")]).facts)


def test_the_folder_of_a_run_holds_links(small_world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "it.run"
    main(["align", str(small_world), "-q", "--method", "temporal", "--run", str(run)])
    for links, name in ((run, "by-run.tsv"), (run / "links.tsv", "by-file.tsv")):
        main(["merge", str(small_world), "-q", "--links", str(links), "-o", str(tmp_path / name)])
    assert (tmp_path / "by-run.tsv").read_bytes() == (tmp_path / "by-file.tsv").read_bytes()
    call = ["merge", "nowhere.csv", "nobody.csv", "-o", str(tmp_path / "none.tsv"), "--links"]
    assert "is a folder, but not of a run" in refused([*call, str(small_world)], capsys, tmp_path)
    (tmp_path / "odd.tsv").write_text("a\n")
    assert "odd.tsv" in refused([*call, str(tmp_path / "odd.tsv")], capsys, tmp_path)  # before the graphs are read


def test_labels_go_into_the_table_of_entities(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.csv").write_text("id,name,born\n1,Ada,1815-12-10\n2,Bo,1820-01-01\n")
    (tmp_path / "b.csv").write_text("id,name,born\nx,Ada L.,1815-12-10\ny,Cy,1830-01-01\n")
    (tmp_path / "links.tsv").write_text("source\ttarget\tconfidence\n1\tx\t0.9\n")
    call = ["merge", *(str(tmp_path / name) for name in ("a.csv", "b.csv")), "--links", str(tmp_path / "links.tsv")]
    main([*call, "-o", str(tmp_path / "m.tsv")])
    assert "labels (3) are not in it; --entities FILE lists them; other texts are left out" in capsys.readouterr().out
    main([*call, "-o", str(tmp_path / "m2.tsv"), "--entities", str(tmp_path / "ids.tsv")])
    assert f"labels (3) are in {tmp_path / 'ids.tsv'}" in capsys.readouterr().out
    assert (tmp_path / "ids.tsv").read_text().splitlines() == [
        "id\tsource\ttarget\tlabel", "1\t1\tx\tAda", "2\t2\t\tBo", "y\t\ty\tCy"
    ]  # fmt: skip
    main([*call, "-o", str(tmp_path / "m3.tsv"), "--entities", str(tmp_path / "t.tsv"), "--keep", "target"])
    assert "x\t1\tx\tAda L." in (tmp_path / "t.tsv").read_text().splitlines()
