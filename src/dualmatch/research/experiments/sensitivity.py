"""Table "The result of sensitive analysis": pairs that time says much about, and pairs that it does not."""

from __future__ import annotations

from typing import Final

from dualmatch.evaluate import common_pairs
from dualmatch.research.experiments.paper import HIGH_PAIRS, SENSITIVITY, SETTINGS, Setting
from dualmatch.research.experiments.results import NOT_RUN, Report, Row, Table, columns, hits_columns, hits_of_groups
from dualmatch.research.experiments.subject import Subject
from dualmatch.research.experiments.workbench import Study, Workbench

GROUPS: Final = ("high", "low")
_TESTED: Final[tuple[Setting, ...]] = ("less", "unsupervised")
_COLUMNS: Final = (*columns("method", "setting", "figures", "protocol"), *hits_columns(*GROUPS))
_QUOTED: Final = tuple(
    (method, setting, "quoted, WY20K", "paper", *figures["high"], *figures["low"])
    for (method, setting), figures in SENSITIVITY.items()
)
_RULE: Final = (
    "An entity is sensitive to time when more than half of the time slots of its facts are known (begin and end are "
    "two slots); a pair is highly sensitive when both its entities are, else lowly."
)


def sensitivity(study: Study) -> Report:
    """Each group apart; the groups are recomputed from the graphs."""
    tables, notes = [], []
    for bench in study.benches():
        subject, is_quoted = bench.subject, bench.subject.paper_name == "WY20K"
        if not subject.groups("unsupervised"):
            notes.append(f"{subject.name}: no pair is lowly sensitive to time (or none highly), so there is no split.")
            continue
        tables.append(_groups_table(subject))
        if is_quoted:
            high = (f"{len(subject.groups(each)['high']):,} with {len(subject.seeds(each)):,}" for each in SETTINGS)
            notes.append(
                f"{subject.name}: the paper reports {HIGH_PAIRS:,} highly sensitive pairs beside 400 seeds; the rule "
                f"gives {', '.join(high)} seeds."
            )
        rows = (*(_QUOTED if is_quoted else ()), *_ours(bench, study))
        tables.append(Table(subject.slug, f"{subject.name}, highly and lowly sensitive pairs", _COLUMNS, rows))
    if study.absent("WY20K"):
        ours = ((each, setting, "ours", "paper", *[NOT_RUN] * 6) for each in study.methods for setting in _TESTED)
        tables.append(Table("wy20k", "WY20K (the dataset is not here)", _COLUMNS, (*_QUOTED, *ours)))
    return Report("sensitivity", "Sensitivity to time", tuple(tables), notes=tuple(notes), text=_RULE)


def _ours(bench: Workbench, study: Study) -> list[Row]:
    rows: list[Row] = []
    for method in study.methods:
        for setting in _TESTED:
            runs = [bench.run(method, setting, seed) for seed in study.seeds_of(method)]
            for protocol in ("paper", "open"):
                hits = hits_of_groups([run and run["protocols"] for run in runs], protocol, GROUPS)
                rows.append((method, setting, f"ours, {bench.subject.name}", protocol, *hits))
    return rows


def _groups_table(subject: Subject) -> Table:
    """How many pairs the rule gives, and whether they are those of the published lists."""
    rows: list[Row] = []
    for setting in SETTINGS:
        seeds, groups = len(subject.seeds(setting)), subject.groups(setting)
        rows.append((setting, seeds, *(len(groups[group]) for group in GROUPS), _compared(subject, setting)))
    counts = columns("seeds", "high pairs", "low pairs", digits=0)
    heading = (*columns("setting"), *counts, *columns("the published lists, less their seeds"))
    return Table(f"{subject.slug}-groups", f"{subject.name}, the split by its rule", heading, tuple(rows))


def _compared(subject: Subject, setting: Setting) -> str:
    """In words, whether the recomputed groups are the published ones."""
    tested = subject.tested(setting)
    wrong = 0
    for group, pairs in subject.groups(setting).items():
        path = subject.published_group(group, setting)
        if path is None:
            return "none in the folder"
        listed = common_pairs(subject.data.pairs_at(path), tested)
        wrong += len(listed) + len(pairs) - 2 * len(common_pairs(listed, pairs))
    return "equal" if not wrong else f"{wrong} pairs differ"
