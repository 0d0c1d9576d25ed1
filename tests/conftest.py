"""Folders that several tests read: one drawn world, and a tiny one whose every file a test can change."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from dualmatch import TemporalGraph
from dualmatch.app import understanding
from dualmatch.cli.main import main
from dualmatch.methods import resources
from dualmatch.simulate import World, simulate, write_folder

pytest_plugins = ["reviewing"]

# A busy machine must not fail a property: no test is timed. CI draws the same examples every time; elsewhere new ones
# are drawn.
settings.register_profile("here", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("here"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")


@pytest.fixture(autouse=True)
def _warnings_are_logged() -> None:
    """What one test silences with -q must not be missing in the log of the next."""
    logging.getLogger().setLevel(logging.WARNING)


@pytest.fixture(scope="session", autouse=True)
def _one_unit_for_all() -> Iterator[None]:
    """Every estimate of time rests on the machine's unit, which takes half a second: here it is measured once."""
    once = cache(resources.quick_unit_seconds)
    with pytest.MonkeyPatch.context() as patch:
        for module in (resources, understanding):
            patch.setattr(module, "quick_unit_seconds", once)
        yield


SMALL = World(entities=60, mean_facts=6, point_share=0.6, half_known_share=0.2, year_only_share=0.2, seed=3)

TINY = {
    "ent_ids_1": "10\tAda\n11\tLondon\n12\tCharles\n",
    "ent_ids_2": "20\tQ7\n21\tQ84\n22\tQ46\n",
    "rel_ids_1": "0\tlived in\n1\tmet\n",
    "rel_ids_2": "2\tP551\n3\tP2\n",
    "time_id": "0\t-inf\n1\t1833\n2\t1835-03\n3\t1852-11-27\n4\t~\n",
    "triples_1": "10\t0\t11\t2\t3\n10\t1\t12\t1\n",
    "triples_2": "20\t2\t21\t2\t3\n20\t3\t22\t1\n",
    "sup_pairs": "10\t20\n",
    "ref_pairs": "11\t21\n12\t22\n",
}

# Two views of a few lives. Loner shares nothing with anyone, Twin's partner cannot be told from another, Echo looks
# like Ada but less so than she does, and nothing is known of Nobody.
LIVES_SOURCE = (
    ("Ada", "met", "Charles", "1833"),
    ("Ada", "lived in", "London", "1835", "1852"),
    ("Charles", "wrote", "Book", "1864"),
    ("Charles", "lived in", "London", "1815", "1871"),
    ("Mary", "met", "Percy", "1814"),
    ("Percy", "lived in", "Rome", "1818"),
    ("Loner", "likes", "Friend"),
    ("Twin", "saw", "Comet", "1758"),
    ("Echo", "lived in", "London", "1835"),
)
LIVES_TARGET = (
    ("Q1", "P1", "Q2", "1833"),
    ("Q1", "P2", "Q3", "1835", "1852"),
    ("Q2", "P3", "Q4", "1864"),
    ("Q2", "P2", "Q3", "1815", "1871"),
    ("Q5", "P1", "Q6", "1814"),
    ("Q6", "P2", "Q7", "1818"),
    ("Q8", "P4", "Q9", "1758"),
    ("Q10", "P4", "Q9", "1758"),
)


def lives() -> tuple[TemporalGraph, TemporalGraph]:
    """The two views as graphs."""
    source = TemporalGraph.from_facts(LIVES_SOURCE, "one view")
    return replace(source, entities=(*source.entities, "Nobody")), TemporalGraph.from_facts(LIVES_TARGET, "other view")


MakeFolder = Callable[..., Path]


def refused(arguments: list[str], capsys: pytest.CaptureFixture[str], watched: Path) -> str:
    """What a refused call says; it leaves the watched folder as it was."""
    before = {path: path.is_file() and path.read_bytes() for path in watched.rglob("*")}
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert {path: path.is_file() and path.read_bytes() for path in watched.rglob("*")} == before
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "Traceback" not in shown.err
    return shown.err


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest, so that no process waits for another at the end."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


@pytest.fixture(autouse=True)
def denormals() -> Iterator[None]:
    """Undo a switch of the whole process: training flushes denormal numbers, and hypothesis refuses to draw without."""
    yield
    if "torch" in sys.modules:
        sys.modules["torch"].set_flush_denormal(False)


@pytest.fixture(scope="session")
def small_world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A simulated folder of 60 entities a side; read it, never write into it."""
    return write_folder(simulate(SMALL), tmp_path_factory.mktemp("drawn") / "small")


@pytest.fixture
def make_folder(tmp_path: Path) -> MakeFolder:
    """Write the tiny folder with some files changed (text or bytes) or left out (None)."""

    def make(**changes: str | bytes | None) -> Path:
        folder = tmp_path / "tiny"
        folder.mkdir(exist_ok=True)
        for name, content in {**TINY, **changes}.items():
            (folder / name).unlink(missing_ok=True)
            if content is not None:
                (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
        return folder

    return make
