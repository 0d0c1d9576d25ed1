"""Names that an output cannot hold are told before the graphs are aligned, and nothing is written."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import pytest

from conftest import refused
from dualmatch.cli.main import main

PLAIN = "head,relation,tail,time\na,r,b,1900\n"
TORN = 'head,relation,tail,time\n"a\tz",r,b,1900\n'
TORN_RELATION = 'head,relation,tail,time\na,"r\tr",b,1900\n'
IRIS = "head,relation,tail,time\nhttp://x/1,r,http://x/2,1900\nhttp://y#1,r,http://x/3,1901\n"
MANY = "head,relation,tail,time\n" + "".join(f"http://{i}/1,r,b,1900\n" for i in range(5))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    def too_late(*_: object, **__: object) -> NoReturn:
        pytest.fail("the alignment was begun")

    monkeypatch.setattr("dualmatch.runs.workflow.align", too_late)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("source", "target", "arguments", "words"),
    [
        (TORN, PLAIN, ["-o", "links.tsv"], "links.tsv: 'a\\tz' holds a tab or line break, which a TSV line cannot"),
        (PLAIN, TORN, ["-o", "links"], "links: 'a\\tz' holds a tab or line break"),
        (PLAIN, TORN, ["-o", "-"], "standard output: 'a\\tz' holds a tab or line break"),
        (PLAIN, TORN_RELATION, ["-o", "links.tsv", "--reasons"], "links.tsv: 'r\\tr' holds a tab or line break"),
        (PLAIN, TORN_RELATION, ["-o", "links.csv", "--relations", "r.tsv"], "r.tsv: 'r\\tr' holds a tab or line break"),
    ],
)  # fmt: skip
def test_told_before_the_alignment(
    here: Path, capsys: pytest.CaptureFixture[str], source: str, target: str, arguments: list[str], words: str
) -> None:
    (here / "source.csv").write_text(source)
    (here / "target.csv").write_text(target)
    assert words in refused(["align", "source.csv", "target.csv", *arguments], capsys, here)


def test_an_empty_name_of_the_target(here: Path, capsys: pytest.CaptureFixture[str], make_folder: object) -> None:
    folder = make_folder(ent_ids_2="20\tQ7\n21\t\n22\tQ46\n")  # type: ignore[operator]
    said = refused(["align", str(folder), "-o", "links.csv"], capsys, here)
    assert "triples_2: an entity has an empty name, which links would take for no link; name it" in said


@pytest.mark.parametrize(
    ("source", "arguments"),
    [
        (TORN, ["-o", "links.csv"]),
        (TORN, ["-o", "links.sssom.tsv"]),
        (TORN_RELATION, ["-o", "links.tsv"]),
        (IRIS, ["-o", "links.sssom.tsv", "--prefix", "x=http://x/", "--prefix", "y=http://y#"]),
        (IRIS, ["-o", "links.sssom.tsv"]),
        (IRIS, ["-o", "links.nt"]),
    ],
)
def test_names_that_a_format_can_hold_pass(here: Path, source: str, arguments: list[str]) -> None:
    (here / "source.csv").write_text(source)
    (here / "target.csv").write_text(PLAIN)
    with pytest.raises(pytest.fail.Exception, match="the alignment was begun"):
        main(["align", "source.csv", "target.csv", *arguments])
