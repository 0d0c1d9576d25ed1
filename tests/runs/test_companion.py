"""The companion file: the same bytes for the same run, and words where it cannot be used."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from dualmatch import InputError, OutputError, TemporalGraph, align, read_explanation_basis
from dualmatch.methods.link_table import relation_table
from dualmatch.readers.read_options import ReadOptions
from dualmatch.runs.companion import companion_of
from dualmatch.runs.input_spec import FOLDER_FILES, InputSpec
from dualmatch.runs.options_file import record_of
from dualmatch.runs.outputs import Outputs
from dualmatch.simulate import World, simulate

NO_FILES = InputSpec((), (ReadOptions(), ReadOptions()))


@pytest.fixture(scope="module")
def made(small_world: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """An alignment file with its companion, and the folder it was made from."""
    here = tmp_path_factory.mktemp("made")
    folder = shutil.copytree(small_world, here / "world")
    write(folder, here / "links.tsv")
    return here / "links.tsv", folder


def write(folder: Path, path: Path, **options: object) -> None:
    spec = InputSpec((folder,), (ReadOptions(), ReadOptions()))
    pair = spec.read()
    alignment = align(pair.source, pair.target, method="evidence", **options)
    Outputs(path, explained=True).write(alignment, spec, spec.hashes())


@pytest.fixture
def copied(made: tuple[Path, Path], tmp_path: Path) -> tuple[Path, Path]:
    """The same in a place of its own, free to be spoilt; the companion still names the first folder."""
    links, folder = made
    for path in (links, companion_of(links), record_of(links)):
        shutil.copy(path, tmp_path)
    return tmp_path / links.name, shutil.copytree(folder, tmp_path / "world")


def test_the_same_run_writes_the_same_bytes(made: tuple[Path, Path], tmp_path: Path) -> None:
    links, folder = made
    write(folder, tmp_path / "links.tsv")
    assert (tmp_path / "links.tsv").read_bytes() == links.read_bytes()
    assert companion_of(tmp_path / "links.tsv").read_bytes() == companion_of(links).read_bytes()


def test_it_says_what_it_is_and_holds_no_pickle(made: tuple[Path, Path]) -> None:
    links, folder = made
    with np.load(companion_of(links), allow_pickle=False) as stored:
        about = json.loads(stored["about"].tobytes())
        assert all(stored[name].dtype != object for name in stored.files)
    assert set(about) == {"format", "state", "trial"}
    record = json.loads(record_of(links).read_text())
    assert record["options"]["method"] == "evidence"
    hashes = {Path(path).name: sha256 for path, sha256 in record["hashes"].items()}
    assert set(hashes) == set(FOLDER_FILES)
    assert hashes["triples_1"] == hashlib.sha256((folder / "triples_1").read_bytes()).hexdigest()
    assert record["inputs"]["paths"] == [str(folder.resolve())]


def test_the_folder_may_have_moved(copied: tuple[Path, Path]) -> None:
    links, folder = copied
    moved = folder.rename(folder.with_name("moved"))
    assert read_explanation_basis(links, moved).source.n_entities == 60


def test_the_files_may_be_renamed_together(copied: tuple[Path, Path]) -> None:
    links, folder = copied
    renamed = links.with_name("mine.tsv")
    before = read_explanation_basis(links, folder)
    for of in (Path, companion_of, record_of):
        of(links).rename(of(renamed))
    assert np.array_equal(read_explanation_basis(renamed, folder).pairs, before.pairs)


def test_links_may_be_written_through_a_symbolic_link(made: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "links.tsv").symlink_to(tmp_path / "elsewhere" / "real.tsv")
    write(made[1], tmp_path / "links.tsv")
    assert (tmp_path / "elsewhere" / "real.tsv").read_bytes() == made[0].read_bytes()
    assert len(read_explanation_basis(tmp_path / "links.tsv").pairs) > 0


def test_a_record_without_links_is_refused_in_words(copied: tuple[Path, Path]) -> None:
    links, folder = copied
    record = json.loads(record_of(links).read_text())
    record_of(links).write_text(json.dumps(record | {"results": {}}))
    with pytest.raises(InputError, match=r"links\.tsv\.run\.json: names no links; restore it"):
        read_explanation_basis(links, folder)


def test_what_the_run_believed_comes_back_to_the_bit(made: tuple[Path, Path]) -> None:
    links, folder = made
    pair = InputSpec((folder,), (ReadOptions(), ReadOptions())).read()
    evidence = align(pair.source, pair.target, method="evidence").evidence
    grounds = read_explanation_basis(links, folder)
    assert evidence is not None
    state, kept = evidence.state, grounds.state
    for one, other in (
        (state.candidates.row, kept.candidates.row),
        (state.candidates.column, kept.candidates.column),
        (state.log_odds, kept.log_odds),
        (state.value, kept.value),
        (state.by_slot[0], kept.by_slot[0]),
        (state.alone[1], kept.alone[1]),
        (state.model.odds.together.data, kept.model.odds.together.data),
        (state.model.overlap[0], kept.model.overlap[0]),
        (evidence.confidence.pairs, grounds.trial.pairs),
    ):
        assert one.tobytes() == other.tobytes()


def changed(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.mark.parametrize(
    ("name", "spoil", "words"),
    [
        (
            "world/triples_2",
            Path.unlink,
            "is gone; if it has moved, name its folder with --folder, otherwise align again",
        ),
        ("world/ent_ids_1", lambda path: path.write_text("x"), "has changed since links.tsv.why.npz was written;"),
        ("links.tsv.why.npz", Path.unlink, "no such file; it is written beside the links: keep both together"),
        ("links.tsv.run.json", Path.unlink, "no such file; it is written beside the links: keep both together"),
        ("links.tsv", lambda path: changed(path, "0.9", "0.8"), "has changed since it was written, so links.tsv.why"),
        ("links.tsv", Path.unlink, "no such file; check the path"),
        ("links.tsv", lambda path: changed(path, "\tevidence\t", "\ttemporal\t"), "method temporal keeps no evidence"),
    ],
)
def test_what_cannot_be_used_is_told(
    copied: tuple[Path, Path], name: str, spoil: Callable[[Path], object], words: str
) -> None:
    links, folder = copied
    spoil(links.parent / name)
    with pytest.raises(InputError) as caught:
        read_explanation_basis(links, folder)
    assert str(caught.value).startswith(f"{links.parent / name}: {words}")


def about(text: bytes) -> dict[str, np.ndarray]:
    return {"about": np.frombuffer(text, np.uint8)}


@pytest.mark.parametrize(
    "arrays",
    [
        about(b'{"format": 99}'),
        about(b"[]"),
        about(b"\xff"),
        about(b'{"format": 2, "recipe": {}, "inputs": 3, "alignment": ""}'),
        about(b'{"format": 2, "recipe": {"paths": 3}, "inputs": {}, "alignment": ""}'),
        {"about": np.array([{}], dtype=object)},
        {"other": np.zeros(1)},
    ],
)
def test_what_is_no_companion_is_told(copied: tuple[Path, Path], arrays: dict[str, np.ndarray]) -> None:
    links, folder = copied
    np.savez(companion_of(links), **arrays)
    with pytest.raises(InputError, match=r"why\.npz: cannot be read as the companion of an alignment \(.*align again"):
        read_explanation_basis(links, folder)


def test_the_companion_of_another_run_is_refused(copied: tuple[Path, Path]) -> None:
    links, folder = copied
    with np.load(companion_of(links)) as stored:
        arrays = dict(stored)
    np.savez_compressed(companion_of(links), **{**arrays, "confidence": arrays["confidence"] / 2})
    with pytest.raises(InputError, match=r"why\.npz: .*\(it is not the file that links\.tsv\.run\.json is about\)"):
        read_explanation_basis(links, folder)


@pytest.mark.parametrize("size", [0, 10, -900])
def test_what_is_cut_short_is_told(copied: tuple[Path, Path], size: int) -> None:
    links, folder = copied
    companion_of(links).write_bytes(companion_of(links).read_bytes()[:size])
    with pytest.raises(InputError, match=r"why\.npz: cannot be read as the companion of an alignment"):
        read_explanation_basis(links, folder)


def test_a_file_that_was_not_there_is_told(tmp_path: Path, small_world: Path) -> None:
    folder = shutil.copytree(small_world, tmp_path / "world")
    dates = (folder / "time_id").rename(tmp_path / "time_id")
    write(folder, tmp_path / "links.tsv")
    dates.rename(folder / "time_id")
    with pytest.raises(InputError, match="time_id: has changed since"):
        read_explanation_basis(tmp_path / "links.tsv")


def test_relations_with_direction_score_and_support(tmp_path: Path) -> None:
    pair = simulate(
        World(entities=400, mean_facts=20, relations_source=12, relations_target=12, relations_inverse=3, seed=1)
    )
    alignment = align(pair.source, pair.target, method="evidence")
    table = relation_table(alignment)
    assert table.columns == ["source", "target", "direction", "score", "support"]
    assert table.rows() == sorted(table.rows(), key=lambda row: (row[0], -row[3], row[1], row[2]))
    best = {row[0]: row for row in reversed(table.rows())}
    gold = {
        (pair.source.relations[s], pair.target.relations[t], "inverse" if inverse else "same")
        for s, t, inverse in pair.relation_gold.tolist()
    }
    assert {row[:3] for row in best.values()} == gold
    assert {direction for *_, direction in gold} == {"same", "inverse"}
    for source, target, direction, score, support in table.rows():
        assert 0.2 < score <= 1
        assert support == _support(alignment.pairs, pair.source, pair.target, source, target, direction)


def _support(
    pairs: np.ndarray, left: TemporalGraph, right: TemporalGraph, source: str, target: str, direction: str
) -> int:
    """Distinct aligned entity pairs that both relations connect, counted the slow way."""
    partner = dict(pairs.tolist())
    r, q = left.relations.index(source), right.relations.index(target)
    there = {(h, t) for h, k, t in zip(right.head, right.relation, right.tail, strict=True) if k == q}
    here = {(h, t) for h, k, t in zip(left.head, left.relation, left.tail, strict=True) if k == r}
    mapped = {(partner.get(h), partner.get(t)) for h, t in here}
    return len(mapped & (there if direction == "same" else {(t, h) for h, t in there}))


def test_nothing_is_written_where_a_relation_has_a_torn_name(tmp_path: Path) -> None:
    pair = simulate(World(entities=100, mean_facts=20, relations_source=3, relations_target=3, seed=1))
    columns = (getattr(pair.source, name) for name in ("head", "relation", "tail", "begin", "end"))
    torn = TemporalGraph(*columns, pair.source.entities, ("a\tb", "c\nd", "e"))
    alignment = align(torn, pair.target, method="evidence")
    with pytest.raises(OutputError, match=r"relations.tsv: 'a\\tb' holds a tab or line break"):
        Outputs(tmp_path / "links.tsv", tmp_path / "relations.tsv").write(alignment, NO_FILES, {})
    assert list(tmp_path.iterdir()) == []
