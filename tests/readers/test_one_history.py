"""One history gives one alignment, whatever files it comes in."""

from __future__ import annotations

from pathlib import Path

import pytest

import one_history
from conftest import SMALL
from dualmatch.cli.main import main
from dualmatch.links.read import read_links
from dualmatch.simulate import simulate


@pytest.mark.parametrize("method", ["temporal", "evidence"])
def test_the_same_bytes_from_every_form(tmp_path: Path, capsys: pytest.CaptureFixture[str], method: str) -> None:
    pair = simulate(SMALL)
    results = {}
    for number, (form, write) in enumerate(one_history.FORMS.items()):
        files = []
        for side, graph in (("source", pair.source), ("target", pair.target)):
            files.append(str(tmp_path / f"{side}.{form}"))
            write(one_history.facts_for_all_forms(graph, shuffle=number), Path(files[-1]))
        out = tmp_path / f"{form}.tsv"
        main(["align", *files, "-o", str(out), "--method", method, "-q", *one_history.READ_WITH.get(form, [])])
        results[form] = out.read_bytes()
    source, target = (one_history.facts_for_all_forms(graph, shuffle=99) for graph in (pair.source, pair.target))
    one_history.write_folder(source, target, tmp_path / "folder")
    main(["align", str(tmp_path / "folder"), "-o", str(tmp_path / "folder.tsv"), "--method", method, "-q"])
    results["folder"] = (tmp_path / "folder.tsv").read_bytes()
    assert results["csv"].count(b"\n") > 20
    assert set(results.values()) == {results["csv"]}, {form: hash(links) for form, links in results.items()}
    if method != "evidence":
        return
    entity = read_links(tmp_path / "folder.tsv")[0][0][0]
    words = set()
    for form in results:
        main(["explain", str(tmp_path / f"{form}.tsv"), entity])
        words.add(capsys.readouterr().out)
    assert len(words) == 1
    assert "  both: " in words.pop()
