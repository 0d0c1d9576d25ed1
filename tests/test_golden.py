"""Files that 0.1.0 wrote (`tests/golden/0.1.0/make.sh`) are read by every later version."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from dualmatch.cli.main import main

GOLDEN = Path(__file__).parent / "golden" / "0.1.0"
LINKS = ("links.tsv", "links.csv", "links.parquet", "links.jsonl", "links.sssom.tsv")


@pytest.fixture
def golden(tmp_path: Path) -> Path:
    """A copy of the golden folder: some commands write beside what they read."""
    return Path(shutil.copytree(GOLDEN, tmp_path / "0.1.0"))


@pytest.mark.parametrize("name", LINKS)
def test_links_are_evaluated_as_then(golden: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["evaluate", str(golden / name), "--gold", str(golden / "gold.tsv"), "--json", "-"])
    found = json.loads(capsys.readouterr().out)["abstention"]
    then = json.loads((golden / "evaluate.json").read_text())["abstention"]
    assert found["emitted"] == then["emitted"] == 54
    assert (found["precision"], found["recall"]) == (then["precision"], then["recall"])
