"""Table "The result of sensitive analysis": pairs that time tells much about, and pairs that it does not."""

from __future__ import annotations

from typing import Final

from dualmatch.config import TRAINED
from dualmatch.evaluate import common_pairs
from dualmatch.research.experiments.paper import HIGH_PAIRS, SENSITIVITY, SETTINGS, Setting
from dualmatch.research.experiments.report import Report
from dualmatch.research.experiments.study import Study
from dualmatch.research.experiments.subject import Subject
from dualmatch.research.experiments.tables import HITS, NOT_RUN, Column, Table, Value, hits_of
from dualmatch.research.experiments.workbench import Workbench

GROUPS: Final = ("high", "low")
_TESTED: Final[tuple[Setting, ...]] = ("less", "unsupervised")
_COLUMNS: Final = (
    Column("method"),
    Column("setting"),
    Column("figures"),
    Column("protocol"),
    *(Column(f"{group} {hit.name}", hit.digits) for group in GROUPS for hit in HITS),
)
_RULE: Final = (
    "An entity is sensitive to time when more than half of the time slots of its facts are known (begin and end are "
    "two slots); a pair is highly sensitive when both its entities are, else lowly."
)


def sensitivity(study: Study) -> Report:
    """Each group apart; the groups are recomputed from the graphs."""
    tables, notes = [], []
    for bench in study.benches():
        subject = bench.subject
        if not subject.groups("unsupervised"):
            notes.append(f"{subject.name}: no pair is lowly sensitive to time (or none highly), so there is no split.")
            continue
        tables.append(_groups_table(subject))
        if subject.paper_name == "WY20K":
            high = (f"{len(subject.groups(each)['high']):,} with {len(subject.seeds(each)):,}" for each in SETTINGS)
            notes.append(
                f"{subject.name}: the paper tells {HIGH_PAIRS:,} highly sensitive pairs beside 400 seeds; the rule "
                f"gives {', '.join(high)} seeds."
            )
        rows = (*_quoted(subject.paper_name), *_ours(bench, study))
        tables.append(Table(subject.slug, f"{subject.name}, highly and lowly sensitive pairs", _COLUMNS, rows))
    if study.absent(("WY20K",)):
        missing: tuple[Value, ...] = (NOT_RUN,) * 6
        ours = [(method, setting, "ours", "paper", *missing) for method in study.methods for setting in _TESTED]
        tables.append(Table("wy20k", "WY20K (the dataset is not here)", _COLUMNS, (*_quoted("WY20K"), *ours)))
    return Report("sensitivity", "Sensitivity to time", tuple(tables), notes=tuple(notes), text=_RULE)


def _quoted(name: str | None) -> tuple[tuple[Value, ...], ...]:
    if name != "WY20K":
        return ()
    return tuple(
        (method, setting, "quoted, WY20K", "paper", *figures["high"], *figures["low"])
        for (method, setting), figures in SENSITIVITY.items()
    )


def _ours(bench: Workbench, study: Study) -> tuple[tuple[Value, ...], ...]:
    rows: list[tuple[Value, ...]] = []
    for method in study.methods:
        seeds = study.seeds if method in TRAINED else study.seeds[:1]
        for setting in _TESTED:
            runs = [bench.run(method, setting, seed) for seed in seeds]
            for protocol in ("paper", "open"):
                hits: list[Value] = []
                for group in GROUPS:
                    hits += hits_of([each and each["protocols"][protocol][group] for each in runs])
                rows.append((method, setting, f"ours, {bench.subject.name}", protocol, *hits))
    return tuple(rows)


def _groups_table(subject: Subject) -> Table:
    """How many pairs the rule gives, and whether they are those of the published lists."""
    rows: list[tuple[Value, ...]] = []
    for setting in SETTINGS:
        seeds, groups = len(subject.seeds(setting)), subject.groups(setting)
        rows.append((setting, seeds, *(len(groups[group]) for group in GROUPS), _compared(subject, setting)))
    columns = (Column("setting"), Column("seeds", 0), Column("high pairs", 0), Column("low pairs", 0))
    title = f"{subject.name}, the split by its rule"
    return Table(
        f"{subject.slug}-groups",
        title,
        (*columns, Column("the published lists, less their seeds")),
        tuple(rows),
    )


def _compared(subject: Subject, setting: Setting) -> str:
    """In words, whether the recomputed groups are the published ones."""
    tested = subject.tested(setting)
    wrong = 0
    for group, pairs in subject.groups(setting).items():
        path = subject.published_group(group, setting)
        if path is None:
            return "none in the folder"
        listed = common_pairs(subject.data.pairs_at(path), tested)
        same = len(common_pairs(listed, pairs))
        wrong += len(listed) + len(pairs) - 2 * same
    return "equal" if not wrong else f"{wrong} pairs differ"
