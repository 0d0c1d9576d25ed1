"""Labels and literals as more evidence: only where asked for, and told in explanations."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from conftest import lives, refused
from dualmatch import InputError, TemporalGraph, align, explain
from dualmatch.cli.main import main
from dualmatch.explain.explain import reasons
from dualmatch.graph.literals import LiteralPair, Literals
from dualmatch.links.read import read_links
from dualmatch.simulate import World, simulate
from dualmatch.simulate.planted_pair import SimulatedPair

NAMES = {"a": "Ada Lovelace", "b": "Charles Babbage", "c": "Mary Somerville", "d": "Augustus De Morgan"}
OTHER = {"w": "ada  LOVELACE", "x": "Babbage, Charles", "y": "Mary Sommerville", "z": "Augustus de Morgan"}
PARTNERS = dict(zip(NAMES, OTHER, strict=True))


@pytest.fixture
def graphs() -> tuple[TemporalGraph, TemporalGraph]:
    """Two graphs whose few facts say nothing of who is who: no times, no seeds."""
    return (
        TemporalGraph.from_facts([("a", "knows", "b"), ("c", "knows", "d")], "left"),
        TemporalGraph.from_facts([("w", "met", "x"), ("y", "met", "z")], "right"),
    )


@pytest.fixture
def labels(graphs: tuple[TemporalGraph, TemporalGraph]) -> LiteralPair:
    return Literals.of_labels(NAMES, graphs[0]), Literals.of_labels(OTHER, graphs[1])


def test_labels_align_what_facts_do_not(graphs: tuple[TemporalGraph, TemporalGraph], labels: LiteralPair) -> None:
    with pytest.raises(InputError, match=r"no fact has a time.*give seed pairs to start from, or labels"):
        align(*graphs, method="evidence")
    found = align(*graphs, method="evidence", literals=labels).links()
    assert {source: target for source, target, _ in found} == PARTNERS


def test_an_explanation_shows_the_labels_that_agree_as_they_are_written() -> None:
    source, target = lives()
    said = [("Countess of Lovelace", "ADA  Byron"), ("Ada Byron", "Q. Lady")]
    literals = [
        Literals.of(
            pl.DataFrame(
                [(name, "label", text) for text in texts], schema=["entity", "attribute", "value"], orient="row"
            ),
            graph,
        )
        for name, texts, graph in (("Ada", said[0], source), ("Q1", said[1], target))
    ]
    alignment = align(source, target, literals=(literals[0], literals[1]))
    why, back = explain(alignment, "Ada"), explain(alignment, "Q1", target=True)
    assert why.texts == ("ADA  Byron", "Ada Byron")
    assert back.texts == ("Ada Byron", "ADA  Byron")
    assert why.as_dict()["texts"] == ("ADA  Byron", "Ada Byron")
    assert explain(alignment, "Charles").texts is None
    assert "labels compared: “ADA  Byron” and “Ada Byron”" in str(why)


def test_labels_that_share_nothing_find_nothing(graphs: tuple[TemporalGraph, TemporalGraph]) -> None:
    names = [graph.entities[0] for graph in graphs]
    strangers = [
        Literals.of_labels({name: text}, graph) for name, text, graph in zip(names, ("xyz", "uvw"), graphs, strict=True)
    ]
    assert align(*graphs, method="evidence", literals=(strangers[0], strangers[1])).links() == []


def test_labels_of_one_side_are_no_labels(graphs: tuple[TemporalGraph, TemporalGraph]) -> None:
    """They can meet nothing, so they must change nothing, either."""
    one_sided = Literals.of_labels({graphs[0].entities[0]: "xyz"}, graphs[0]), Literals.of_labels({}, graphs[1])
    with pytest.raises(InputError, match="give seed pairs to start from, or labels of both"):
        align(*graphs, method="evidence", literals=one_sided)
    pair = simulate(World(entities=80, seed=4))
    labels = Literals.of_labels({name: name for name in pair.source.entities}, pair.source)
    none = Literals.of_labels({}, pair.target)
    plain = align(pair.source, pair.target, method="evidence")
    assert align(pair.source, pair.target, method="evidence", literals=(labels, none)).links() == plain.links()


def test_other_methods_refuse_them(graphs: tuple[TemporalGraph, TemporalGraph], labels: LiteralPair) -> None:
    with pytest.raises(InputError, match="method temporal does not look at labels; use method evidence"):
        align(*graphs, method="temporal", literals=labels)


def test_an_explanation_tells_what_labels_add() -> None:
    source, target = lives()
    partners = dict(zip(("Ada", "Charles", "London", "Book", "Mary", "Percy", "Rome"), range(1, 8), strict=True))
    said = (
        Literals.of_labels({name: f"{name} of {name}" for name in partners}, source),
        Literals.of_labels({f"Q{number}": f"{name} of {name}" for name, number in partners.items()}, target),
    )
    alignment = align(source, target, method="evidence", literals=said)
    why = explain(alignment, "Ada")
    assert why.match == "Q1"
    assert why.balance.names > 0.1
    assert why.log_odds == pytest.approx(sum(fact.weight for fact in why.shared) + why.balance.total)
    assert f"  labels compared: both “Ada of Ada” (+{why.balance.names:.2f})\n" in str(why)
    assert str(why).startswith("Ada of Ada [Ada] = Ada of Ada [Q1] (confidence ")
    assert "→ Charles of Charles [Charles] (= Charles of Charles [Q2]), in 1833" in str(why)
    assert (why.texts, why.label, why.match_label) == (("Ada of Ada",) * 2, "Ada of Ada", "Ada of Ada")
    assert explain(alignment, "Q1", target=True).balance.names == pytest.approx(why.balance.names)
    assert explain(alignment, "Comet").balance.names == 0
    assert f"; labels alike (+{why.balance.names:.2f})" in reasons(alignment)[source.entity_rows["Ada"]]
    assert "labels" not in str(explain(align(source, target, method="evidence"), "Ada"))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "left.csv").write_text("head,relation,tail\na,knows,b\nc,knows,d\n")
    facts = ["<http://e/w> <http://e/met> <http://e/x> .", "<http://e/y> <http://e/met> <http://e/z> ."]
    label = "http://www.w3.org/2000/01/rdf-schema#label"
    facts += [f'<http://e/{name}> <{label}> "{text}"@en .' for name, text in OTHER.items()]
    (tmp_path / "right.nt").write_text("\n".join(facts) + "\n")
    (tmp_path / "left.tsv").write_text("".join(f"{name}\t{text}\n" for name, text in NAMES.items()))
    return tmp_path


def test_from_the_command_line(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = ["align", "left.csv", "right.nt", "--namespace", "http://e/", "--method", "evidence", "-q"]
    assert "no fact has a time" in refused([*call, "-o", "links.tsv"], capsys, here)
    main([*call, "-o", "links.tsv", "--labels", "left.tsv", "--use-labels"])
    assert dict(read_links(here / "links.tsv")[0]) == PARTNERS
    main(["explain", "links.tsv", "a"])
    assert "  labels compared: “Ada Lovelace” and “ada  LOVELACE” (+" in capsys.readouterr().out
    main(["align", "left.csv", "right.nt", "-o", "again.tsv", "-q", "--config", "links.tsv.run.json"])
    assert (here / "again.tsv").read_bytes() == (here / "links.tsv").read_bytes()
    (here / "left.tsv").write_text("a\tsomebody else\n")
    assert "left.tsv: has changed since" in refused(["explain", "links.tsv", "a"], capsys, here)
    temporal = ["align", "left.csv", "right.nt", "-o", "other.tsv", "--use-labels", "--method", "temporal"]
    assert "method temporal does not look at labels" in refused(temporal, capsys, here)


def test_without_the_option_they_change_nothing(here: Path) -> None:
    (here / "seeds").write_text("a\tw\n")
    call = [
        "align",
        "left.csv",
        "right.nt",
        "--namespace",
        "http://e/",
        "--method",
        "evidence",
        "-q",
        "--seeds",
        "seeds",
    ]
    main([*call, "-o", "labelled.tsv"])
    text = (here / "right.nt").read_text()
    (here / "right.nt").write_text("".join(line for line in text.splitlines(keepends=True) if "label" not in line))
    main([*call, "-o", "plain.tsv"])
    assert (here / "labelled.tsv").read_bytes() == (here / "plain.tsv").read_bytes()


def test_labels_of_nobody_are_told(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "strangers.tsv").write_text("x1\tAda\nx2\tCharles\n")
    call = ["align", "left.csv", "right.nt", "--namespace", "http://e/", "-o", "links.tsv"]
    said = refused([*call, "--labels", "strangers.tsv"], capsys, here)
    assert said.startswith(
        "dualmatch: strangers.tsv: none of its 2 names is an entity of left.csv or right.nt; check how"
    )
    said = refused([*call, "--labels", "strangers.tsv", "--labels", "left.tsv"], capsys, here)
    assert "strangers.tsv: none of its 2 names is an entity of left.csv;" in said
    assert "left.tsv: none of its 4 names is an entity of right.nt; check how names are written, and which side" in said
    main([*call, "--labels", "left.tsv", "--labels", "strangers.tsv", "--use-labels"])
    assert "warning: strangers.tsv: none of its 2 names is an entity of right.nt;" in capsys.readouterr().err
    main([*call, "--labels", "left.tsv", "--use-labels", "--force"])
    assert "warning" not in capsys.readouterr().err


def test_labels_of_one_side_alone_are_warned_of(
    graphs: tuple[TemporalGraph, TemporalGraph], labels: LiteralPair, caplog: pytest.LogCaptureFixture
) -> None:
    words = "labels help only where both sides have some, and there are none for the entities of right"
    align(*graphs, [("a", "w")], method="evidence", literals=labels)
    assert words not in caplog.text
    align(*graphs, [("a", "w")], method="evidence", literals=(labels[0], Literals.of_labels({}, graphs[1])))
    assert words in caplog.text


def misleading(kind: str, pair: SimulatedPair) -> LiteralPair:
    """Labels that do not say who is who."""
    rng = np.random.default_rng(0)
    sides = []
    for graph in (pair.source, pair.target):
        numbers = rng.permutation(graph.n_entities).tolist()
        texts = {
            "numbered": [f"entity {number}" for number in numbers],
            "permuted": [f"{number * 7919 % 9973:04d} {number * 104_729 % 9967:04d}" for number in numbers],
            "random": ["".join(rng.choice(list("abcdefghij"), 9)) for _ in numbers],
            "kinds": [("person", "town", "book")[number % 3] for number in numbers],
        }[kind]
        sides.append(Literals.of_labels(dict(zip(graph.entities, texts, strict=True)), graph))
    return sides[0], sides[1]


@pytest.mark.parametrize("kind", ["numbered", "permuted", "random", "kinds"])
@pytest.mark.parametrize("n_seeds", [0, 20])
def test_labels_that_mislead_change_nothing(kind: str, n_seeds: int, caplog: pytest.LogCaptureFixture) -> None:
    pair = simulate(World(entities=200, seed=7))
    seeds = pair.gold[:n_seeds]
    plain = align(pair.source, pair.target, seeds)
    with_labels = align(pair.source, pair.target, seeds, literals=misleading(kind, pair))
    assert with_labels.links() == plain.links()
    assert "labels of the two graphs do not agree where their" in caplog.text
    assert explain(with_labels, pair.source.entities[0]).balance.names == 0


def test_labels_are_trusted_where_dates_are_poor() -> None:
    """A few years that say little must not outvote labels that say all."""
    pair = simulate(World(entities=150, seed=3, years=3, year_only_share=1.0, mean_facts=3, min_facts=1))
    said = [
        {graph.entities[row]: f"{row_of_pair * 7919 % 9973:05d} {row_of_pair}" for row_of_pair, row in enumerate(rows)}
        for graph, rows in ((pair.source, pair.gold[:, 0].tolist()), (pair.target, pair.gold[:, 1].tolist()))
    ]
    labels = Literals.of_labels(said[0], pair.source), Literals.of_labels(said[1], pair.target)
    found = {tuple(each) for each in align(pair.source, pair.target, literals=labels).pairs.tolist()}
    true = {tuple(each) for each in pair.gold.tolist()}
    assert len(found & true) > 0.95 * len(true)


def test_labels_follow_their_entities_and_join() -> None:
    graph = TemporalGraph.from_facts([("a", "r", "b"), ("b", "r", "c")])
    said = Literals.of_labels({"a": "Ada", "c": "Charles"}, graph)
    moved = said.moved(np.array([2, 0, 1]))  # a, b, c are rows 2, 0, 1 now
    assert moved.labels == {1: "Charles", 2: "Ada"}
    assert moved.entity.tolist() == [1, 2]
    assert said.joined(None) is said
    both = said.joined(Literals.of_labels({"a": "Ada", "b": "Babbage"}, graph))
    assert (both.labels, len(both)) == ({0: "Ada", 1: "Babbage", 2: "Charles"}, 3)
    assert [both.values_of(row) for row in range(4)] == [("Ada",), ("Babbage",), ("Charles",), ()]
    assert len(Literals.of_labels({}, graph).moved(np.arange(3))) == 0
