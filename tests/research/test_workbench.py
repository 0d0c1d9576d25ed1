"""Experiments take the steps of Algorithm 1 one by one: their cells hold what `align` finds, to the digit."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pytest
import torch

from dualmatch.evaluate import evaluate
from dualmatch.graph.model import TemporalGraph
from dualmatch.methods.align import align
from dualmatch.methods.alignment import Alignment
from dualmatch.research.experiments.case_study import choices
from dualmatch.research.experiments.cells import Cells, Result
from dualmatch.research.experiments.paper import SETTINGS, Setting
from dualmatch.research.experiments.subject import open_subject, time_sensitive
from dualmatch.research.experiments.workbench import QUICK, Workbench
from dualmatch.simulate import World, simulate, write_folder

WORLD = World(entities=70, mean_facts=4, seed_share=0.4, undated_share=0.3, point_share=0.5, missing_share=0.2, seed=3)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Workbench:
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("workbench")
    subject = open_subject(write_folder(simulate(WORLD), folder / "world"))
    return Workbench(subject, Cells(folder / "cells"), QUICK)


@pytest.fixture(autouse=True)
def quick_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine's unit takes a second a cell to measure."""
    monkeypatch.setattr("dualmatch.research.experiments.workbench.quick_unit_seconds", lambda: 1.0)


def aligned(bench: Workbench, setting: Setting, **options: object) -> tuple[Alignment, Result]:
    """What `align` itself finds, and its figures."""
    seeds, subject = bench.subject.seeds(setting), bench.subject
    alignment = align(subject.source, subject.target, seeds if len(seeds) else None, **options)
    return alignment, asdict(evaluate(alignment, subject.gold, subject.groups(setting)))


@pytest.mark.parametrize("setting", SETTINGS)
def test_dualmatch_is_the_method_of_align(bench: Workbench, setting: Setting) -> None:
    cell = bench.run("dualmatch", setting, seed=1)
    alignment, figures = aligned(bench, setting, method="dualmatch", seed=1, **QUICK)
    assert cell is not None
    assert alignment.decoded is not None
    assert cell["chosen"] == str(alignment.decoded.alpha)
    for alpha, distance in alignment.decoded.distances.items():
        assert cell["alphas"][str(alpha)]["distance"]["total"] == distance.total
    assert set(cell["protocols"]["paper"]) == {"all", "high", "low"}
    for protocol in ("paper", "open"):
        assert cell["protocols"][protocol] == figures[protocol]
    assert cell["pseudo_seeds"] == figures["pseudo_seeds"]
    trained = bench.trained(setting, seed=1)
    assert trained is not None
    known = bench.subject.seeds(setting) if alignment.pseudo_seeds is None else alignment.pseudo_seeds
    np.testing.assert_array_equal(trained["known"], known)


def test_dualmatch_finds_the_pairs_of_align(bench: Workbench) -> None:
    """The best target of every entity, so every pair that `align` can link."""
    found = choices(bench, seed=1)
    alignment, _ = aligned(bench, "normal", method="dualmatch", seed=1, **QUICK)
    assert found is not None
    best = alignment.plan.best()
    np.testing.assert_array_equal(found["whole"], best.column_of_row)
    np.testing.assert_array_equal(found["whole probability"], best.value_of_row)
    free = alignment.pairs[~alignment.is_seed]
    assert len(free) > 20
    np.testing.assert_array_equal(found["whole"][free[:, 0]], free[:, 1])


@pytest.mark.parametrize("setting", SETTINGS)
def test_time_alone_is_the_method_of_align(bench: Workbench, setting: Setting) -> None:
    cell, pseudo_seeds = bench.run("temporal", setting), bench.pseudo_seeds()
    alignment, figures = aligned(bench, setting, method="temporal")
    assert cell is not None
    assert pseudo_seeds is not None
    for protocol in ("paper", "open"):
        assert cell["protocols"][protocol] == figures[protocol]
    assert cell["pseudo_seeds"] == figures["pseudo_seeds"]
    np.testing.assert_array_equal(pseudo_seeds["pairs"], alignment.pseudo_seeds)


def test_the_naive_strategy_is_that_of_align(bench: Workbench) -> None:
    cell = bench.naive("less", seed=1)
    _, figures = aligned(bench, "less", method="dualmatch", decoder="naive", seed=1, **QUICK)
    assert cell is not None
    for protocol in ("paper", "open"):
        assert cell["protocols"][protocol] == figures[protocol]


def test_a_sample_of_everything_is_the_whole(bench: Workbench) -> None:
    subject = bench.subject
    source, target, gold = subject.sample(1.0, np.random.default_rng(0))
    assert (source.n_facts, target.n_facts) == (subject.source.n_facts, subject.target.n_facts)
    assert (source.entities, target.entities) == (subject.source.entities, subject.target.entities)
    np.testing.assert_array_equal(gold, subject.gold)


def test_more_than_half_of_the_time_slots_are_known() -> None:
    graph = TemporalGraph.from_facts([("a", "r", "b", "1990", "-inf"), ("a", "r", "c", "1990", "1991")])
    assert dict(zip(graph.entities, time_sensitive(graph).tolist(), strict=True)) == {"a": True, "b": False, "c": True}
