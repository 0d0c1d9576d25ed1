"""Every option of a method and of a simulated world once: its default, and what it does.

`dualmatch.config.Config` and `dualmatch.simulate.World` take both from here, and so does the command line, whose help
does not wait for pydantic. None is a default that a rule decides.
"""

from __future__ import annotations

from typing import Any, Final

PAPER_ALPHAS: Final = tuple(k / 4 for k in range(9))
"""R_α of the paper: 0, 0.25, … 2."""

MOST_THREADS: Final = 1024
"""Of an engine. Native libraries accept any number, and crash if the machine cannot start so many."""

METHOD_TEXTS: Final = {
    "temporal": "'temporal' is the paper's time channel, which learns nothing",
    "dualmatch": "'dualmatch' is the paper's whole method (needs the extra [gnn])",
    "evidence": "'evidence' compares shared dated facts",
    "fused": "'fused' is all of these (needs the extra [gnn])",
}

METHOD_OPTIONS: Final[dict[str, tuple[Any, str]]] = {
    "min_confidence": (
        None,
        "Link only pairs with at least this confidence.  [default: above 0.5 for evidence, else all]",
    ),
    "max_fdr": (
        None,
        "Link only the surest pairs, as many as keep the expected share of wrong ones within this, in place of the "
        "threshold of method evidence; together with --min-confidence, both hold.",
    ),
    "many_to_one": (False, "Let several source entities take one target (method evidence)."),
    "memory_limit": (
        None,
        "Limit for this process: 8GB, 6GiB, 500MB or 50% of the machine. Method evidence keeps in temporary files what "
        "does not fit; the others compute in blocks. What cannot fit even so is refused.  [default: 60%]",
    ),
    "seed": (0, "Seed of every random choice in training."),
    "hops": (2, "L: how many hops temporal features travel."),
    "zero_counts": (False, "Include times without a fact in the row softmax, as eq. time_adj is printed."),
    "sharpness": (50.0, "Sinkhorn's kernel is exp(sharpness * similarity), for methods temporal and dualmatch."),
    "sinkhorn_iterations": (10, "Rows, then columns, this many times, for methods temporal and dualmatch."),
    "dimension": (128, "d: length of the relational encoder's vectors."),
    "epochs": (None, "Passes over the seeds.  [default: 3 with pseudo-seeds, 10 with seeds, 20 with few]"),
    "batch": (512, "Seed pairs in a training step."),
    "learning_rate": (0.005, "Step size of the optimiser, RMSprop."),
    "dropout": (0.3, "Share of features dropped while training."),
    "reflection": (
        "auto",
        "What neighbours are reflected by: all (relations and times), times or none; auto: all where both graphs have "
        "about as many relations, else none.",
    ),
    "negatives": ("both", "Where the negative examples of training come from: the other graph, or both."),
    "time_aspect": (True, "Give the encoder its third aspect, the times at an entity."),
    "device": ("cpu", "Where to train: cpu, cuda, cuda:0 …"),
    "decoder": (
        "graph-matching",
        "How to fuse the channels: by graph matching, or naively (the paper's concatenated features).",
    ),
    "alphas": (PAPER_ALPHAS, "R_α: weights of the temporal channel to choose from, separated by commas."),
    "wl_iterations": (8, "h: refinements of the WL kernels."),
}
"""Of all methods, but the method itself."""

WORLD_OPTIONS: Final[dict[str, tuple[int | float, str]]] = {
    "entities": (1000, "Entities of the source; of the target too if the unmatched shares are equal."),
    "mean_facts": (10.0, "Mean number of facts an entity takes part in, as head or tail, on one side."),
    "min_facts": (3, "Facts that every entity takes part in at least, on each side."),
    "degree_skew": (
        0.5,
        "Exponent a of fame = rank^-a, which shares out facts above the minimum; 0: even; 0.5: as in YAGO.",
    ),
    "common_share": (0.6, "Share of a side's facts that the other side has too (mean of both sides)."),
    "unmatched_source": (0.1, "Share of the source's entities without a partner."),
    "unmatched_target": (0.1, "Share of the target's entities without a partner."),
    "relations_source": (40, "Relations of the source."),
    "relations_target": (30, "Relations of the target; fewer than the source's: some are merged."),
    "relations_split": (0, "Source relations that the target splits into two."),
    "relations_inverse": (0, "Target relations that run the other way, head and tail swapped."),
    "relation_skew": (0.0, "Exponent a of a relation's frequency = rank^-a; 0: all are equally frequent."),
    "first_year": (2005, "Year in which the history begins."),
    "years": (10, "Length of the history in years; all days are equally likely."),
    "point_share": (1.0, "Share of the facts with time that are points; the others are intervals."),
    "undated_share": (0.0, "Share of the facts that have no time at all, for either observer."),
    "half_known_share": (0.0, "Share of the intervals with one end only, for either observer."),
    "month_only_share": (0.0, "Share of an observer's dates known only to the month."),
    "year_only_share": (0.0, "Share of an observer's dates known only to the year."),
    "wrong_share": (0.0, "Share of an observer's dates that are wrong: another date of the history."),
    "missing_share": (0.0, "Share of the history's dates that an observer does not know."),
    "seed_share": (0.1, "Share of the true pairs given as seeds (sup_pairs); the rest: ref_pairs."),
    "seed": (0, "Seed of the random generator; same options, same bytes."),
}
"""Of a simulated world; the type of a default is that of the option."""
