"""What the paper's tables say: figures quoted from it, none of them ours.

Liu et al., *Unsupervised Entity Alignment for Temporal Knowledge Graphs*, WWW 2023, doi 10.1145/3543507.3583381. H@1
and H@10 in percent. The paper's figures on DICEWS and WY50K; WY20K stands in its sensitivity table only.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

Setting = Literal["normal", "less", "unsupervised"]
SETTINGS: Final[tuple[Setting, ...]] = ("normal", "less", "unsupervised")
DATASETS: Final = ("DICEWS", "WY50K", "WY20K")
PAPER: Final = "Liu et al., WWW 2023"


class Hits(NamedTuple):
    """H@1, H@10 and MRR of a published row."""

    h1: float
    h10: float
    mrr: float


def _overall(dicews: str, wy50k: str) -> dict[tuple[str, Setting], Hits]:
    """Figures of both datasets, separated by commas, in the order of `SETTINGS`; baselines are not unsupervised."""
    return {
        (name, setting): Hits(*map(float, hits.split()))
        for name, row in (("DICEWS", dicews), ("WY50K", wy50k))
        for setting, hits in zip(SETTINGS, row.split(","), strict=False)
    }


OVERALL: Final = {
    "MTransE": _overall("10.1 24.1 0.150, 6.7 17.5 0.104", "24.2 47.7 0.322, 1.2 6.7 0.033"),
    "JAPE": _overall("14.4 29.8 0.198, 9.8 21.0 0.138", "27.1 48.8 0.345, 10.1 26.2 0.157"),
    "AlignE": _overall("50.8 75.1 0.593, 22.2 45.7 0.303", "75.6 88.3 0.800, 56.5 71.4 0.618"),
    "GCN-Align": _overall("20.4 46.6 0.291, 16.5 36.3 0.231", "51.2 71.1 0.581, 21.7 39.8 0.279"),
    "MuGNN": _overall("52.5 79.4 0.617, 36.7 58.3 0.412", "76.2 89.0 0.808, 58.9 73.3 0.632"),
    "MRAEA": _overall("67.5 87.0 0.745, 47.6 73.3 0.564", "80.6 91.3 0.848, 62.3 80.1 0.685"),
    "HyperKA": _overall("58.8 84.2 0.669, 38.3 65.3 0.474", "78.4 90.0 0.829, 61.0 77.5 0.665"),
    "RREA": _overall("72.2 88.3 0.780, 65.9 82.4 0.719", "82.8 93.8 0.868, 69.6 85.9 0.753"),
    "KE-GCN": _overall("54.9 82.7 0.650, 37.3 62.5 0.451", "78.0 91.0 0.831, 60.0 76.1 0.654"),
    "Dual-AMN": _overall("71.6 89.3 0.779, 66.8 85.4 0.733", "89.7 96.4 0.922, 75.5 89.0 0.834"),
    "TEA-GNN": _overall("88.7 94.7 0.911, 87.6 94.1 0.902", "87.9 96.1 0.909, 72.3 87.1 0.775"),
    "TREA": _overall("91.4 96.6 0.933, 91.0 96.0 0.927", "94.0 98.9 0.958, 84.0 93.7 0.885"),
    "DualMatch": _overall(
        "95.3 97.3 0.961, 95.3 97.4 0.961, 94.6 97.1 0.956", "98.1 99.6 0.986, 94.7 98.4 0.961, 96.4 99.1 0.975"
    ),
}
"""Table "Overall EA results": twelve baselines and DualMatch."""

ABLATION: Final[dict[str, dict[str, Hits]]] = {
    "whole": {"DICEWS": Hits(95.3, 97.4, 0.961), "WY50K": Hits(94.7, 98.4, 0.961)},
    "− TE": {"DICEWS": Hits(90.3, 95.2, 0.922), "WY50K": Hits(88.4, 96.2, 0.913)},
    "− RE": {"DICEWS": Hits(92.8, 97.0, 0.944), "WY50K": Hits(67.8, 79.7, 0.720)},
    "− TAL": {"DICEWS": Hits(91.9, 95.8, 0.934), "WY50K": Hits(91.9, 96.6, 0.936)},
    "− TA": {"DICEWS": Hits(94.1, 96.5, 0.951), "WY50K": Hits(94.2, 98.1, 0.957)},
    "− α": {"DICEWS": Hits(95.3, 97.4, 0.962), "WY50K": Hits(93.9, 98.2, 0.955)},
    "− GM-D": {"DICEWS": Hits(91.3, 94.8, 0.927), "WY50K": Hits(80.4, 92.2, 0.845)},
}
"""Table "The result of ablation study", less-seed setting."""

SENSITIVITY: Final[dict[tuple[str, Setting], dict[str, Hits]]] = {
    ("DualMatch", "less"): {"high": Hits(99.1, 100.0, 0.994), "low": Hits(35.9, 49.7, 0.407)},
    ("DualMatch", "unsupervised"): {"high": Hits(99.8, 100.0, 0.999), "low": Hits(43.1, 52.4, 0.467)},
    ("TREA", "less"): {"high": Hits(87.5, 96.1, 0.909), "low": Hits(31.9, 47.0, 0.370)},
    ("TEA-GNN", "less"): {"high": Hits(85.3, 95.0, 0.888), "low": Hits(31.9, 44.9, 0.364)},
}
"""Table "The result of sensitive analysis", on WY20K with 400 seeds or none."""

HIGH_PAIRS: Final = 6_898  # highly time-sensitive pairs of WY20K beside 400 seeds, in the text
PSEUDO_SEEDS: Final = {"DICEWS": 8168, "WY50K": 35403, "WY20K": 9778}  # section "Unsupervised Performance"


class GridSearch(NamedTuple):
    """H@1 at the worst and the best α, and at the one that was chosen."""

    worst: float
    best: float
    chosen: float


GRID_SEARCH: Final[dict[tuple[str, Setting], GridSearch]] = {
    ("DICEWS", "normal"): GridSearch(93.7, 95.3, 95.3),
    ("DICEWS", "less"): GridSearch(90.3, 95.3, 95.3),
    ("DICEWS", "unsupervised"): GridSearch(94.5, 94.6, 94.6),
    ("WY50K", "normal"): GridSearch(95.9, 98.1, 98.1),
    ("WY50K", "less"): GridSearch(88.4, 94.7, 94.7),
    ("WY50K", "unsupervised"): GridSearch(91.0, 96.4, 96.4),
}
"""Table "The worst and best H@1 when varying α"."""

SAMPLES: Final = (20, 40, 60, 80, 100)
SCALABILITY: Final[dict[str, dict[str, tuple[float, ...]]]] = {
    "DICEWS": {
        "relational": (1.1, 1.5, 3.1, 4.6, 7.0),
        "temporal": (0.7, 1.9, 3.3, 5.1, 7.9),
        "decode": (1.2, 3.1, 5.1, 7.9, 13.8),
    },
    "WY50K": {
        "relational": (6.0, 20.9, 48.5, 92.1, 171.1),
        "temporal": (2.4, 10.3, 26.0, 52.5, 90.2),
        "decode": (25.2, 80.7, 158.6, 250.6, 385.2),
    },
}
"""Table "The result of scalability analysis": seconds on 20 to 100 % of the entities, on an RTX 3090."""

OPEN_WORLD: Final[dict[str, dict[str, Hits]]] = {
    "DualMatch": {"unobserved": Hits(77.4, 89.5, 0.829), "observed": Hits(94.2, 96.6, 0.952)},
    "TREA": {"unobserved": Hits(34.2, 74.8, 0.479), "observed": Hits(54.9, 82.5, 0.643)},
    "TEA-GNN": {"unobserved": Hits(15.5, 59.0, 0.324), "observed": Hits(39.2, 74.8, 0.513)},
    "RREA": {"unobserved": Hits(7.5, 48.3, 0.253), "observed": Hits(36.1, 58.0, 0.407)},
}
"""Table "The result of open-world entity alignment", on DICEWS."""


class Statistics(NamedTuple):
    """Entities, relations and facts of both graphs, their times, and the true pairs of the text."""

    entities: tuple[int, int]
    relations: tuple[int, int]
    times: int
    facts: tuple[int, int]
    pairs: int


STATISTICS: Final = {
    "DICEWS": Statistics((9_517, 9_537), (247, 246), 4_017, (307_552, 307_553), 8_566),
    "WY50K": Statistics((49_629, 49_222), (11, 30), 245, (221_050, 317_814), 49_172),
    "WY20K": Statistics((19_493, 19_929), (32, 130), 405, (83_583, 142_568), 19_462),
}
"""Table "Statistics", as printed; WY20K's first 83,583 is a slip for 93,583."""

CASES: Final = ("Abderrahim Ould Hadrami", "Looter (France)")
"""The two entities of the appendix "Case Study": time alone errs on the first, relations alone on the second."""
