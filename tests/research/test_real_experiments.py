"""What the experiments say of the real datasets without running anything long; skipped where they are absent."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dualmatch.evaluate import are_right
from dualmatch.research.datasets import DATASETS, git_blob
from dualmatch.research.experiments.paper import SETTINGS, Setting
from dualmatch.research.experiments.statistics import common_share
from dualmatch.research.experiments.subject import Subject, open_subject

DATA = Path(__file__).parents[3] / "shared" / "data"


def subject_of(folder: str) -> Subject:
    if not (DATA / folder).is_dir():
        pytest.skip(f"{DATA / folder} is not there")
    return open_subject(DATA / folder)


@pytest.mark.data
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("group", ["high", "low"])
def test_the_split_is_the_published_one(setting: Setting, group: str) -> None:
    """To the pair; but seed number 400 stands in the published low list of the 400-seed setting, too."""
    subject = subject_of("yago-wiki20k")
    path = subject.published_group(group, setting)
    assert path is not None
    listed, found = subject.data.read_pairs(path), subject.groups(setting)[group]
    more = listed[~are_right(listed, found)]
    assert are_right(found, listed).all()
    expected = subject.supervision[399:400] if (setting, group) == ("less", "low") else listed[:0]
    np.testing.assert_array_equal(more, expected)


@pytest.mark.data
def test_datasets_are_called_by_what_they_are() -> None:
    yago, dicews = subject_of("yago-wiki20k"), subject_of("dicews-rebuilt")
    assert (yago.name, yago.paper_name) == ("YAGO-WIKI20K", "WY20K")
    assert (dicews.name, dicews.paper_name) == ("DICEWS-R", "DICEWS")
    assert [len(dicews.seeds(setting)) for setting in SETTINGS] == [1000, 200, 0]
    assert [len(yago.seeds(setting)) for setting in SETTINGS] == [2000, 400, 0]


@pytest.mark.data
def test_half_of_the_facts_of_dicews_r_are_common() -> None:
    assert common_share(subject_of("dicews-rebuilt")) == pytest.approx(50, abs=1)


@pytest.mark.data
def test_the_files_at_hand_are_those_of_the_registry() -> None:
    folder = subject_of("yago-wiki20k").path
    for file in DATASETS["YAGO-WIKI20K"].files:
        assert git_blob(folder / file.name) == file.blob
        assert (folder / file.name).stat().st_size == file.size
