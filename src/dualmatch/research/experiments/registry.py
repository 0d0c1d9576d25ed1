"""The nine experiments by name: what runs each, and what it redoes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from dualmatch.research.experiments.ablation import ablation
from dualmatch.research.experiments.case_study import case_study
from dualmatch.research.experiments.decoder import decoder
from dualmatch.research.experiments.example import example
from dualmatch.research.experiments.open_world import open_world
from dualmatch.research.experiments.overall import overall
from dualmatch.research.experiments.report import Report
from dualmatch.research.experiments.scalability import scalability
from dualmatch.research.experiments.sensitivity import sensitivity
from dualmatch.research.experiments.statistics import datasets
from dualmatch.research.experiments.study import Study


class Experiment(NamedTuple):
    """What runs it, what it redoes, and whether it draws figures."""

    run: Callable[[Study], Report]
    redoes: str
    draws: bool = False


EXPERIMENTS: Final = {
    "overall": Experiment(overall, 'Table "Overall EA results"'),
    "ablation": Experiment(ablation, 'Table "ablation study", and our own parts'),
    "sensitivity": Experiment(sensitivity, 'Table "sensitive analysis"'),
    "decoder": Experiment(decoder, 'Figure "GM-Decoder analysis", Table "worst and best H@1 when varying α"', True),
    "scalability": Experiment(scalability, 'Figure and Table "scalability"', True),
    "open-world": Experiment(open_world, 'Table "open-world entity alignment"'),
    "case-study": Experiment(case_study, 'Appendix "Case Study"'),
    "example": Experiment(example, 'Appendix "Example of Calculation"'),
    "datasets": Experiment(datasets, 'Table "Statistics" of the datasets'),
}
