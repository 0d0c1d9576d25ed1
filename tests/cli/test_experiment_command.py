"""`dualmatch experiment`: what it refuses, and what it says without any data."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import refused
from dualmatch.cli.main import main
from dualmatch.research.experiments.catalogue import EXPERIMENTS
from dualmatch.research.experiments.subject import open_subject

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(autouse=True)
def _process_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Denormal numbers that are flushed in the whole process would fail other tests."""
    monkeypatch.setattr("dualmatch.methods.resources.prepare_process", lambda _config: None)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["overall", "--data", "nowhere"], "nowhere: no such folder, and no fetched dataset"),
        (["overall", "--seeds", "a,b"], "write whole numbers separated by commas"),
        (["overall", "--seeds", ""], "write whole numbers separated by commas"),
        (["overall", "--methods", "magic"], "'magic' is not a method; choose among temporal, dualmatch,"),
        (["overall", "--redo", "magic"], "'magic' is not one of"),
        (["baselines", "--epochs", "rrea=0"], "'rrea=0': write NAME=N, a baseline that trains (gcn-align,"),
        (["baselines", "--epochs", "lightea=9"], "'lightea=9': write NAME=N, a baseline that trains"),
        (["overall", "--page", "x.md"], "--page goes with NAME = results"),
        (["conclusions"], "'conclusions' is not one of"),
        (["results"], "no experiment has written here"),
    ],
)
def test_wrong_calls_are_refused(
    arguments: list[str],
    words: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DUALMATCH_DATASETS", str(tmp_path / "none"))
    assert words in refused(["experiment", *arguments], capsys, tmp_path)


def test_a_folder_without_pairs_is_refused(
    make_folder: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_folder(ref_pairs=None)  # type: ignore[operator]
    said = refused(["experiment", "datasets", "--data", str(folder), "-o", str(tmp_path / "out")], capsys, tmp_path)
    assert "ref_pairs: no such file; experiments need graphs and true pairs" in said


def test_without_matplotlib_nothing_is_begun(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    said = refused(["experiment", "decoder", "-o", str(tmp_path / "out")], capsys, tmp_path)
    assert "in a clone, run: pip install '.[experiments]'" in said


def test_without_any_dataset_the_quoted_figures_stand_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DUALMATCH_DATASETS", str(tmp_path / "none"))
    main(["experiment", "overall", "-o", str(tmp_path / "out")])
    shown = capsys.readouterr()
    assert "| TREA | quoted, DICEWS | paper | 91.4 |" in shown.out
    assert "| evidence | ours | paper | not run |" in shown.out
    assert "everything that needs one is not run" in shown.err


def test_fetched_datasets_are_found_by_name(
    small_world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What lies in the cache under a dataset's name is used for it; a folder of another content keeps its own name."""
    monkeypatch.setenv("DUALMATCH_DATASETS", str(tmp_path))
    (tmp_path / "DICEWS").symlink_to(small_world)
    main(["experiment", "datasets", "--data", "dicews", "-o", str(tmp_path / "out")])
    assert "| small | ours | 60 – 60 |" in capsys.readouterr().out


def test_the_page_tells_of_every_experiment_and_option() -> None:
    page = (DOCS / "experiments.md").read_text()
    for name in EXPERIMENTS:
        assert f"| `{name}` |" in page
    for option in (
        "--data",
        "--seeds",
        "--methods",
        "--epochs",
        "--redo",
        "--finished",
        "--quick",
        "--no-figures",
        "--page",
    ):
        assert option in page
    told = (DOCS / "datasets.md").read_text()
    for option in ("--overlap", "--without-partner", "--seeds", "--random-seed", "--keep-names", "--offline"):
        assert option in told


def test_dates_of_a_folder_may_be_written_in_another_way(
    make_folder: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_folder(time_id="0\t-inf\n1\t02/03/1833\n2\t03/03/1835\n3\t27/11/1852\n4\t~\n")  # type: ignore[operator]
    call = ["experiment", "datasets", "--data", str(folder), "-o", str(tmp_path / "out")]
    with pytest.raises(SystemExit):
        main(call)
    assert "add --time-format %d/%m/%Y" in capsys.readouterr().err
    main([*call, "--time-format", "%d/%m/%Y"])
    assert "--time-format %d/%m/%Y" in capsys.readouterr().out
    plain, other = (open_subject(folder, each) for each in (None, "%d/%m/%Y"))
    assert plain.inputs != other.inputs, "finished cells are of one way to read dates"
