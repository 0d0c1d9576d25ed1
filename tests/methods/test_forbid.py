"""Forbidden pairs never come out, whatever the method; entities told to have no match have none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import MakeFolder, refused
from dualmatch import InputError, align, explain, read_explanation_basis
from dualmatch.cli.main import main
from dualmatch.decode.forbidden import Forbidden
from dualmatch.decode.similarity import HeldSimilarity
from dualmatch.graph.arrays import NO_PARTNER
from dualmatch.links.decisions import DecisionLog
from dualmatch.links.opinions import ReviewVerdict
from dualmatch.links.read import read_links
from dualmatch.readers.read_options import ReadOptions
from dualmatch.runs.input_spec import InputSpec
from dualmatch.runs.options_file import links_file
from dualmatch.simulate import World, simulate

PAIR = simulate(World(entities=200, mean_facts=12, seed=5))


@pytest.mark.parametrize("method", ["evidence", "temporal"])
def test_what_is_forbidden_does_not_come_out(method: str) -> None:
    free = align(PAIR.source, PAIR.target, method=method)
    rejected, alone = free.pairs[:20], free.pairs[60:70]
    forbid = np.concatenate([rejected, np.stack([alone[:, 0], np.full(10, NO_PARTNER)], axis=1)])
    alignment = align(PAIR.source, PAIR.target, method=method, forbid=forbid)
    came_out = set(map(tuple, alignment.pairs.tolist()))
    assert came_out.isdisjoint(map(tuple, rejected.tolist()))
    assert np.isin(alone[:, 0], alignment.unmatched).all()
    assert len(came_out) > 100
    listed = alignment.runners_up.target[rejected[:, 0]]
    assert not (listed == rejected[:, 1:]).any()
    none = alignment.unlinked
    told = np.isin(none.row, alone[:, 0])
    assert {none.in_words(at, PAIR.target.entities) for at in np.flatnonzero(told).tolist()} == {"given as having none"}
    assert (none.confidence[told] == 1).all()


@pytest.mark.parametrize("method", ["dualmatch", "fused"])
def test_methods_that_train_keep_to_it(method: str) -> None:
    pytest.importorskip("torch", reason=f"method {method} needs the extra [gnn]")
    pair = simulate(World(entities=80, mean_facts=12, seed=5))
    true = pair.gold[np.argsort(pair.gold[:, 0])]
    seeds, rejected, alone, others = true[:20], true[20:25], true[25:28, 0], true[28:]
    forbid = np.concatenate([rejected, np.stack([alone, np.full(3, NO_PARTNER)], axis=1)])
    kept = align(pair.source, pair.target, seeds, method=method, dimension=16, forbid=forbid)
    came_out = set(map(tuple, kept.pairs.tolist()))
    assert kept.distances is not None  # the channels were trained and weighed
    assert came_out.isdisjoint(map(tuple, rejected.tolist()))
    assert np.isin(alone, kept.unmatched).all()
    assert not (kept.runners_up.target[rejected[:, 0]] == rejected[:, 1:]).any()
    # Most true pairs that were not forbidden do come out, so the forbidden ones would have.
    assert len(came_out & set(map(tuple, others.tolist()))) > 0.8 * len(others)


def test_many_to_one_and_seeds_keep_to_it_too() -> None:
    free = align(PAIR.source, PAIR.target)
    seeds, rejected = free.pairs[:20], free.pairs[20:60]
    alignment = align(PAIR.source, PAIR.target, seeds, forbid=rejected, many_to_one=True)
    assert set(map(tuple, alignment.pairs.tolist())).isdisjoint(map(tuple, rejected.tolist()))
    assert alignment.is_seed.sum() == 20
    ranked = alignment.plan.scores.toarray()  # type: ignore[attr-defined]
    assert (ranked[rejected[:, 0], rejected[:, 1]] == 0).all()


def test_nothing_forbidden_changes_nothing() -> None:
    free, empty = align(PAIR.source, PAIR.target), align(PAIR.source, PAIR.target, forbid=[])
    assert np.array_equal(free.pairs, empty.pairs)
    assert np.array_equal(free.confidence, empty.confidence)


@given(st.data())
def test_lowering_is_what_a_dense_twin_does(data: st.DataObject) -> None:
    shape = data.draw(st.tuples(st.integers(1, 6), st.integers(1, 6)))
    cells = st.tuples(st.integers(0, shape[0] - 1), st.integers(-1, shape[1] - 1))
    pairs = np.array(data.draw(st.lists(cells, max_size=8)), dtype=np.int64).reshape(-1, 2)
    values = np.random.default_rng(0).random(shape).astype(np.float32)
    twin = values.copy()
    for row, column in pairs.tolist():
        twin[row, slice(None) if column == NO_PARTNER else column] = -1
    index = np.array(data.draw(st.permutations(range(shape[0]))))
    assert np.array_equal(Forbidden(pairs).lowered(HeldSimilarity(values)).rows(index), twin[index])
    everything = np.argwhere(np.ones(shape))
    assert np.array_equal(Forbidden(pairs).allows(everything), twin.ravel() >= 0)


def test_what_contradicts_itself_is_told() -> None:
    names = PAIR.source.entities[0], PAIR.target.entities[0]
    for forbid in ([names], [(names[0], None)], np.array([[0, 0]]), np.array([[0, -1]])):
        with pytest.raises(InputError, match="1 seed is forbidden"):
            align(PAIR.source, PAIR.target, [names], forbid=forbid)
    for forbid, words in (
        ([("nobody", names[1])], "source entity 'nobody' is not in"),
        ([(names[0], "nobody")], "target entity 'nobody' is not in"),
        (np.array([[999, 0]]), "a source row is outside"),
        (np.array([[0, -2]]), "a target row is outside"),
    ):
        with pytest.raises(InputError, match=words):
            align(PAIR.source, PAIR.target, forbid=forbid)


def test_decisions_and_files_on_the_command_line(small_world: Path, tmp_path: Path) -> None:
    first = tmp_path / "first.tsv"
    main(["align", str(small_world), "-o", str(first), "-q"])
    pairs, _ = read_links(first)
    log = DecisionLog.open(tmp_path / "decisions.db")
    log.decide(ReviewVerdict.ACCEPT, *pairs[0], 0)
    for source, target in pairs[1:4]:
        log.decide(ReviewVerdict.REJECT, source, target, 0)
    log.decide(ReviewVerdict.NO_MATCH, pairs[5][0], None, 0)
    log.close()
    rows = [*(f"{source}\t{target}" for source, target in pairs[1:4]), f"{pairs[5][0]}\t"]
    (tmp_path / "rejected.tsv").write_text("\n".join(rows) + "\n")
    for name, forbid in (("db", "decisions.db"), ("tsv", "rejected.tsv")):
        out = tmp_path / f"{name}.tsv"
        seeds, forbid = str(tmp_path / "decisions.db"), str(tmp_path / forbid)
        main(["align", str(small_world), "-o", str(out), "-q", "--seeds", seeds, "--forbid", forbid])
        links, _ = read_links(out)
        assert pairs[0] in links
        assert set(links).isdisjoint(pairs[1:4])
        assert pairs[5][0] in links_file(out).unlinked
        why = explain(read_explanation_basis(out), pairs[5][0])
        assert (why.verdict, why.reason, why.confidence) == ("no match", "given as having none", 1.0)
        assert why.category == "told"
        assert explain(read_explanation_basis(out), links[3][1], target=True).match == links[3][0]
    assert (tmp_path / "db.tsv").read_bytes() == (tmp_path / "tsv.tsv").read_bytes()
    again = str(tmp_path / "again.tsv")
    main(["align", str(small_world), "-o", again, "-q", "--config", str(tmp_path / "db.tsv.run.json")])
    assert Path(again).read_bytes() == (tmp_path / "db.tsv").read_bytes()


def test_a_folder_s_ids_may_be_forbidden(make_folder: MakeFolder) -> None:
    folder = make_folder(rejected="10\t20\n11\t\n10\t21\n")
    sides = InputSpec((folder,), (ReadOptions(), ReadOptions())).read()
    rows = sides.read_forbidden(folder / "rejected")
    names = [(sides.source.entities[s], None if t < 0 else sides.target.entities[t]) for s, t in rows.tolist()]
    assert sorted(names, key=str) == [("Ada", "Q7"), ("Ada", "Q84"), ("London", None)]


def test_what_cannot_be_forbidden_is_told(
    make_folder: MakeFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, out = make_folder(wrong="10\t20\n99\t21\n", names="Ada\tQ7\nAda\tQ9\n", one="Ada\n"), tmp_path / "links.tsv"
    log = DecisionLog.open(tmp_path / "strangers.db")
    log.decide(ReviewVerdict.ACCEPT, "Zeno", "Q7", 0)
    log.decide(ReviewVerdict.REJECT, "Ada", "Q0", 0)
    log.close()
    (tmp_path / "other.db").write_bytes(b"SQLite format 3\x00" + bytes(100))
    call = ["align", str(folder), "-o", str(out)]
    for arguments, words in (
        (["--forbid", folder / "wrong"], "wrong:2: source entity 99 is not in"),
        (["--forbid", folder / "names"], "names:2: target entity Q9 is not in"),
        (["--forbid", folder / "one"], "one:1: "),
        (["--forbid", folder / "none"], "no such file"),
        (["--seeds", tmp_path / "strangers.db"], "'Zeno' is not an entity of"),
        (["--forbid", tmp_path / "strangers.db"], "'Q0' is not an entity of"),
        (["--forbid", tmp_path / "other.db"], "other.db: cannot be used as a file of decisions"),
        (["--seeds", folder / "sup_pairs", "--forbid", folder / "sup_pairs"], "1 seed is forbidden: 'Ada' with 'Q7'"),
    ):
        assert words in refused([*call, *map(str, arguments)], capsys, tmp_path)
