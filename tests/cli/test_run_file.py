"""The run file: the options of a run, written whole, fed back exactly, and every slip in it told at once."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import click
import pytest

from conftest import refused
from dualmatch.cli.align import align_command
from dualmatch.cli.main import main
from dualmatch.config import Config
from dualmatch.runs.options_file import read_options_file

SAMPLE = Path(__file__).parents[2] / "docs" / "sample"
COLUMNS = ["--columns", "head=who,relation=did,tail=whom,begin=first_day,end=last_day"]
FILES = ["club.csv", "town.json.gz"]
# Which graphs to read, where to write and how to talk is said by the call.
SAID_BY_THE_CALL = {
    *(
        "paths",
        "source",
        "target",
        "output",
        "relations_path",
        "run_path",
        "resume",
        "checkpoint",
        "rejected",
        "json_path",
    ),
    *("config_path", "force", "quiet", "verbose", "help_all"),
    *("kind", "scheduler", "workers", "threads", "exchange"),  # which change no result
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in (*FILES, "true_pairs.tsv"):
        shutil.copy(SAMPLE / name, tmp_path)
    (tmp_path / "known.tsv").write_text("".join((tmp_path / "true_pairs.tsv").read_text().splitlines(True)[:5]))
    (tmp_path / "labels.tsv").write_text("Anka Dorn\tAnka\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def options_of(links: Path) -> dict[str, Any]:
    options: dict[str, Any] = json.loads(links.with_name(f"{links.name}.run.json").read_text())["options"]
    return options


def test_every_option_of_a_run_is_fed_back(here: Path) -> None:
    main(
        [
            *("align", *FILES, *COLUMNS, "-q", "-o", "first.links", "--output-format", "sssom", "--reasons"),
            *("--seeds", "known.tsv", "--prefix", "club=http://example.org/club/", "--source-prefix", "club"),
            *("--prefix", "town=http://example.org/town/", "--target-prefix", "town", "--max-fdr", "0.3"),
            *("--labels", "labels.tsv", "--use-labels", "--on-error", "skip", "--max-errors", "7"),
            *(
                "--time-predicate",
                "begin=http://e/b",
                "--namespace",
                "http://e/",
                "--format",
                "csv",
                "--format",
                "wikidata",
            ),
        ]
    )
    main(["align", *FILES, "-q", "-o", "second.links", "--config", "first.links.run.json"])
    assert (here / "second.links").read_bytes() == (here / "first.links").read_bytes()
    assert "(+0." in (here / "first.links").read_text()
    said = options_of(here / "first.links")
    assert options_of(here / "second.links") == said
    assert said["seeds"] == "known.tsv"
    assert said["reasons"] is True
    assert said["output_format"] == "sssom"
    assert said["prefix"] == {"club": "http://example.org/club/", "town": "http://example.org/town/"}
    assert said["target"]["literals"] is True


def test_it_is_fed_back_from_any_folder(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "out").mkdir()
    pairs = [line.split("\t") for line in (here / "true_pairs.tsv").read_text().splitlines()]
    (here / "apart.tsv").write_text(f"{pairs[6][0]}\t{pairs[7][1]}\n")
    given = ["--labels", "labels.tsv", "--seeds", str(here / "known.tsv"), "--forbid", "apart.tsv"]
    main(["align", *FILES, *COLUMNS, "-q", "-o", "out/first.tsv", *given])
    said = options_of(here / "out" / "first.tsv")
    paths = said["seeds"], said["forbid"], said["source"]["labels"]
    assert paths == ("../known.tsv", "../apart.tsv", "../labels.tsv")
    monkeypatch.chdir(here / "out")
    moved = [f"../{name}" for name in FILES]
    main(["align", *moved, "-q", "-o", "second.tsv", "--config", "first.tsv.run.json"])
    monkeypatch.chdir("/")
    whole = [str(here / name) for name in FILES]
    config = str(here / "out" / "first.tsv.run.json")
    main(["align", *whole, "-q", "-o", str(here / "third.tsv"), "--config", config])
    assert (here / "out" / "second.tsv").read_bytes() == (here / "out" / "first.tsv").read_bytes()
    assert (here / "third.tsv").read_bytes() == (here / "out" / "first.tsv").read_bytes()
    assert options_of(here / "third.tsv")["seeds"] == "known.tsv"


def test_the_call_wins_over_the_file(here: Path) -> None:
    (here / "run.toml").write_text(
        'reasons = true\noutput_format = "csv"\nseeds = "nowhere.tsv"\nsource_prefix = "x"\n'
        'prefix = { x = "http://x/" }\n[source]\nliterals = true\n[target]\nliterals = true\n'
    )
    call = ["--no-reasons", "--output-format", "jsonl", "--seeds", "known.tsv", "--no-use-labels"]
    call += ["--prefix", "y=http://y/"]
    main(["align", *FILES, *COLUMNS, "-q", "-o", "links", "--config", "run.toml", *call])
    assert "reasons" not in json.loads((here / "links").read_text().splitlines()[0])
    said = options_of(here / "links")
    assert "reasons" not in said
    assert "source" not in said or "literals" not in said["source"]
    assert (said["seeds"], said["output_format"], said["source_prefix"]) == ("known.tsv", "jsonl", "x")
    assert said["prefix"] == {"x": "http://x/", "y": "http://y/"}


def test_no_option_is_forgotten() -> None:
    """Whoever adds an option to `align` must let the run file hold it, or say here that the call does."""
    from dataclasses import fields

    from dualmatch.readers.read_options import ReadOptions
    from dualmatch.runs.options_file import CallOptions

    held = {*Config.model_fields, *(each.name for kind in (CallOptions, ReadOptions) for each in fields(kind))}
    called = {"formats": "format", "prefixes": "prefix", "time_formats": "time_format", "use_labels": "literals"}
    called |= {"list_separators": "list_separator", "no_names": "names"}
    options = {
        called.get(str(each.name), str(each.name)) for each in align_command.params if isinstance(each, click.Parameter)
    }
    assert options - SAID_BY_THE_CALL == held


def test_every_slip_is_told_at_once(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "run.toml").write_text(
        "colour = 1\nhop = 2\nhops = 'two'\nseed = -1\nreasons = 'perhaps'\nmemory_limit = 'foo'\n"
        "[source]\ncolour = 1\nformat = 3\n[target]\non_error = 'maybe'\n"
    )
    said = refused(["align", *FILES, "-o", "links.tsv", "--config", "run.toml"], capsys, here)
    lines = said.removeprefix("dualmatch: ").splitlines()
    assert [line.removeprefix("run.toml: ").split(": ")[0].split(";")[0] for line in lines] == [
        *("there is no option colour", "there is no option hop", "option seed", "option memory_limit", "option hops"),
        *("option reasons", "[source] option format", "[source] option colour", "[target] option on_error"),
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "colour = 1\nhop = 2\n",
            "run.toml: there is no option colour; see dualmatch align --help-all\nrun.toml: there is no",
        ),
        ("hops = 'two'\n", "option hops: input should be a valid integer (given: 'two')"),
        ("[source]\ncolour = 1\n", "run.toml: [source] option colour: there is no such option"),
        ("[source]\non_error = 'maybe'\n", "run.toml: [source] option on_error: "),
        ("source = 3\n", "run.toml: [source] option"),
        ("output_format = 'xls'\n", "no format of links is called 'xls'; there are tsv"),
        ("source_prefix = 'wd'\n", "run.toml: prefix wd: its IRI is missing; add --prefix wd=IRI"),
        ("hops = \n", "run.toml: is not TOML (Invalid value (at line 1, column 8)); fix it"),
    ],
)
def test_a_run_file_that_cannot_be(here: Path, capsys: pytest.CaptureFixture[str], text: str, words: str) -> None:
    (here / "run.toml").write_text(text)
    call = ["align", "club.csv", "town.json.gz", "-o", "links.tsv", "--config", "run.toml"]
    assert words in refused(call, capsys, here)


def test_forbidden_pairs_are_found_from_anywhere_too(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text('seeds = "known.tsv"\nforbid = "rejected.tsv"\n')
    call = read_options_file(tmp_path / "run.toml").call
    assert (call.seeds, call.forbid) == (tmp_path / "known.tsv", tmp_path / "rejected.tsv")


def test_a_file_of_0_1_0_is_taken_without_the_options_of_other_methods(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    then = Path(__file__).parents[1] / "golden" / "0.1.0" / "finished.run" / "links.tsv.config.toml"
    main(["align", *FILES, *COLUMNS, "-o", "links.tsv", "--config", str(then)])
    noted = capsys.readouterr().err
    assert "method evidence does not read" in noted
    assert all(name in noted for name in ("seed", "hops", "sharpness", "alphas", "wl_iterations"))
    now = options_of(here / "links.tsv")
    assert {name for name in now if name in Config.model_fields} == {"method", "many_to_one"}
    main(["align", *FILES, "-o", "again.tsv", "--config", "links.tsv.run.json"])
    assert "does not read" not in capsys.readouterr().err
    assert (here / "again.tsv").read_bytes() == (here / "links.tsv").read_bytes()


def test_options_of_another_method_are_left_out_of_an_old_file(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Version 0.1.0 wrote the options of all methods."""
    (here / "old.toml").write_text('method = "evidence"\nmax_fdr = 0.3\nhops = 1\nepochs = 4\ndevice = "cpu"\n')
    main(["align", *FILES, *COLUMNS, "-o", "links.tsv", "--config", "old.toml"])
    note = "note: options of the file that method evidence does not read are left out: hops, epochs, device\n"
    assert note in capsys.readouterr().err
    written = options_of(here / "links.tsv")
    assert written["max_fdr"] == 0.3
    assert {"hops", "epochs", "device", "seed", "alphas"}.isdisjoint(written)


def test_the_record_of_a_folder_is_fed_back_too(here: Path) -> None:
    main(["align", *FILES, *COLUMNS, "-q", "--run", "first.run", "--max-fdr", "0.3", "--seeds", "known.tsv"])
    main(["align", *FILES, "-q", "-o", "second.tsv", "--config", "first.run/run.json"])
    assert (here / "second.tsv").read_bytes() == (here / "first.run" / "links.tsv").read_bytes()
    assert options_of(here / "second.tsv")["seeds"] == "known.tsv"


def test_one_record_says_what_a_run_was_and_how_it_went(here: Path) -> None:
    main(["align", *FILES, *COLUMNS, "-q", "--run", "a.run"])
    kept, beside = (json.loads((here / "a.run" / name).read_text()) for name in ("run.json", "links.tsv.run.json"))
    apart = {name for name in kept if kept[name] != beside[name]}
    assert set(kept) == set(beside)
    assert apart == {"stages", "results"}  # those of the folder name the record beside the links, too
    assert set(kept["results"]) - set(beside["results"]) == {"links.tsv.run.json"}
    assert set(beside["results"]) == {"links.tsv", "links.tsv.why.npz"}
    assert {Path(name).name for name in kept["hashes"]} == set(FILES)
    assert kept["outcome"]["cost"]["seconds"]["total"] > 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "run.json: cannot be read as the record of a run ("),
        ("{}", "run.json: holds no options; give a record of 0.2.0 or later, or the OUT.config.toml of 0.1.0"),
        ('{"options": {"hop": 2}}', "run.json: there is no option hop; see dualmatch align --help-all"),
    ],
)
def test_a_record_that_cannot_be(here: Path, capsys: pytest.CaptureFixture[str], text: str, words: str) -> None:
    (here / "run.json").write_text(text)
    assert words in refused(["align", *FILES, "-o", "links.tsv", "--config", "run.json"], capsys, here)


def test_fused_is_for_measuring(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("fused", "FUSED"):
        said = refused(["align", *FILES, "-o", "links.tsv", "--method", name], capsys, here)
        assert "writes the same links as evidence" in " ".join(said.split())
    (here / "old.toml").write_text('method = "fused"\n')
    words = "method fused writes the same links as evidence; choose evidence here, or measure fused with dualmatch"
    for option in (["--config", "old.toml"], ["--method", "fused"]):
        assert words in refused(["align", *FILES, "-o", "links.tsv", *option], capsys, here)


def test_no_cluster_is_started_for_a_run_that_is_refused(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("dualmatch.engine.cluster.Cluster", lambda *_, **__: pytest.fail("a cluster was started"))
    (here / "links.tsv").write_text("mine")
    call = ["align", *FILES, *COLUMNS, "--engine", "dask", "-o", "links.tsv"]
    assert "links.tsv: exists already" in refused(call, capsys, here)
    assert "nowhere.tsv: no such file" in refused([*call[:-1], "new.tsv", "--seeds", "nowhere.tsv"], capsys, here)
    assert "links.tsv: exists already" in refused([*call[:-1], "new.tsv", "--json", "links.tsv"], capsys, here)


def test_only_a_bare_name_of_the_call_is_looked_up_in_the_folder(
    small_world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    temporal = ["align", str(small_world), "--method", "temporal"]

    def seeds_of(out: str, *options: str) -> Path:
        main([*temporal, "-o", out, *options])
        return (tmp_path / options_of(tmp_path / out)["seeds"]).resolve()

    theirs, ours = small_world / "sup_pairs", tmp_path / "sup_pairs"
    assert seeds_of("only.tsv", "--seeds", "sup_pairs") == theirs.resolve()
    assert "is taken" not in capsys.readouterr().err
    ours.write_text("".join(theirs.read_text().splitlines(True)[:1]))
    assert seeds_of("both.tsv", "--seeds", "sup_pairs") == theirs.resolve()
    assert f"note: {theirs} is taken; write ./sup_pairs for that of the working directory" in capsys.readouterr().err
    for number, typed in enumerate(("./sup_pairs", str(ours))):
        assert seeds_of(f"{number}.tsv", "--seeds", typed) == ours.resolve()
        assert seeds_of(f"{number}-again.tsv", "--config", f"{number}.tsv.run.json") == ours.resolve()
    assert (tmp_path / "0-again.tsv").read_bytes() == (tmp_path / "0.tsv").read_bytes()
    main([*temporal, "-q", "-o", "apart.tsv", "--forbid", "sup_pairs"])
    assert (tmp_path / options_of(tmp_path / "apart.tsv")["forbid"]).resolve() == theirs.resolve()
