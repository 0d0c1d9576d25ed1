"""Tables "Overall EA results" and "The result of sensitive analysis": accuracy by setting, and by group of pairs."""

from __future__ import annotations

from typing import Final

from dualmatch.config import Method
from dualmatch.evaluate import common_pairs
from dualmatch.research.baselines import BASELINES
from dualmatch.research.experiments.comparison import method_hits, quoted_rows, rows_of
from dualmatch.research.experiments.paper import HIGH_PAIRS, PSEUDO_SEEDS, SENSITIVITY, SETTINGS, Setting
from dualmatch.research.experiments.results import NOT_RUN, Report, Row, Table, columns, hits_columns, hits_of
from dualmatch.research.experiments.subject import Subject
from dualmatch.research.experiments.workbench import Study, Workbench

_PAPER_DATASETS: Final = ("DICEWS", "WY50K")
_OVERALL_COLUMNS: Final = (*columns("method", "figures", "protocol"), *hits_columns(*SETTINGS))

GROUPS: Final = ("high", "low")
_TESTED: Final[tuple[Setting, ...]] = ("less", "unsupervised")
_GROUP_COLUMNS: Final = (*columns("method", "setting", "figures", "protocol"), *hits_columns(*GROUPS))
_QUOTED_GROUPS: Final = tuple(
    (method, setting, "quoted, WY20K", "paper", *figures["high"], *figures["low"])
    for (method, setting), figures in SENSITIVITY.items()
)
_RULE: Final = (
    "An entity is sensitive to time when more than half of the time slots of its facts are known (begin and end are "
    "two slots); a pair is highly sensitive when both its entities are, else lowly."
)


def overall(study: Study) -> Report:
    """Every method in every setting, mean ± standard deviation over seeds where there is chance in it."""
    tables = []
    for bench in study.benches():
        subject = bench.subject
        normal, less = len(subject.seeds("normal")), len(subject.seeds("less"))
        title = f"{subject.name}: normal setting {normal:,} seeds, less-seed setting {less:,}, unsupervised none"
        tables.append(Table(subject.slug, title, _OVERALL_COLUMNS, rows_of(bench, study, SETTINGS)))
    for name in study.absent(*_PAPER_DATASETS):
        ours = ((method, "ours", "paper", *[NOT_RUN] * (3 * len(SETTINGS))) for method in study.methods)
        title = f"{name} (dataset not available)"
        tables.append(Table(name.lower(), title, _OVERALL_COLUMNS, (*quoted_rows(name, SETTINGS), *ours)))
    tables.append(_pseudo_seeds(study))
    return Report("overall", "Overall results", tuple(tables))


def _pseudo_seeds(study: Study) -> Table:
    """Pairs that the time channel teaches the encoder with where there are no seeds; the paper gives their number."""
    rows: list[Row] = []
    for bench in study.benches():
        if (name := bench.subject.paper_name) is not None:
            rows.append((f"quoted, {name}", PSEUDO_SEEDS[name], None, None))
        rows.append((f"ours, {bench.subject.name}", *_pseudo_seed_quality(bench, study)))
    rows += [(f"quoted, {name}", PSEUDO_SEEDS[name], None, None) for name in study.absent(*_PAPER_DATASETS)]
    shares = columns("right, %", "of all true pairs, %", digits=1)
    heading = (*columns("figures"), *columns("pseudo-seeds", digits=0), *shares)
    return Table("pseudo-seeds", "Pseudo-seeds of the unsupervised setting", heading, tuple(rows))


def _pseudo_seed_quality(bench: Workbench, study: Study) -> Row:
    """How many pseudo-seeds, and how right they are; time alone finds them, whichever method asks for them."""
    finders: tuple[Method, ...] = ("temporal", "dualmatch")
    method = next((each for each in finders if each in study.methods), None)
    run = None if method is None else bench.run(method, "unsupervised", study.seeds[0])
    if run is None:
        return NOT_RUN, NOT_RUN, NOT_RUN
    found = run["pseudo_seeds"]
    return found["count"], *(found[name] and 100 * found[name] for name in ("precision", "recall"))


def sensitivity(study: Study) -> Report:
    """Pairs by their sensitivity to time; the groups are recomputed from the graphs."""
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
        rows: list[Row] = [*(_QUOTED_GROUPS if is_quoted else ())]
        for method in study.methods:
            for setting in _TESTED:
                for protocol in ("paper", "open"):
                    hits = method_hits(bench, study, method, protocol, [(setting, group) for group in GROUPS])
                    rows.append((method, setting, f"ours, {subject.name}", protocol, *hits))
        for name in study.baselines:
            runs = [bench.baseline(name, "less", seed) for seed in study.seeds_of_baseline(name)]
            for protocol in ("paper", "open"):
                figures = ([run and run["protocols"][protocol][group] for run in runs] for group in GROUPS)
                hits = [hit for each in figures for hit in hits_of(each)]
                rows.append((BASELINES[name].title, "less", f"ours, {subject.name}", protocol, *hits))
        title = f"{subject.name}, highly and lowly sensitive pairs"
        tables.append(Table(subject.slug, title, _GROUP_COLUMNS, tuple(rows)))
    if study.absent("WY20K"):
        ours = ((each, setting, "ours", "paper", *[NOT_RUN] * 6) for each in study.methods for setting in _TESTED)
        tables.append(Table("wy20k", "WY20K (dataset not available)", _GROUP_COLUMNS, (*_QUOTED_GROUPS, *ours)))
    return Report("sensitivity", "Sensitivity to time", tuple(tables), notes=tuple(notes), text=_RULE)


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
    tested, wrong = subject.tested(setting), 0
    for group, pairs in subject.groups(setting).items():
        path = subject.published_group(group, setting)
        if path is None:
            return "none in the folder"
        listed = common_pairs(subject.data.pairs_at(path), tested)
        wrong += len(listed) + len(pairs) - 2 * len(common_pairs(listed, pairs))
    return "equal" if not wrong else f"{wrong} pairs differ"
