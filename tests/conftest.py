"""Folders that several tests read: one drawn world, and a tiny one whose every file a test can change."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from dualmatch.simulate import World, simulate, write_folder

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

MakeFolder = Callable[..., Path]


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
