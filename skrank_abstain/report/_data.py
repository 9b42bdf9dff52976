"""The data of a report: a calibrated ranker, and scored items or pairs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from skrank_abstain._validation import ZERO_ONE_LOSS
from skrank_abstain.intake import AboutRows
from skrank_abstain.report._page import Section
from skrank_abstain.selection import Calibration, Groups, PairTotals, Region, Rule


@dataclass(frozen=True, eq=False)
class RankerFacts:
    """A calibrated ranker, as a report describes it.

    Attributes
    ----------
    name : str
        Class of the ranker.
    model : estimator
        The model that scores.
    prefit : bool
        Whether it came fitted.
    calibration : Calibration
    region : object
        The pairs that the rule accepts.
    rule : Rule
    answers_ties : bool, default=True
        Whether a tie is a possible answer.
    novelty : NoveltyTest or None, default=None
    note : str, default=""
        Addition to the line about the model.
    """

    name: str
    model: Any
    prefit: bool
    calibration: Calibration
    region: Region
    rule: Rule
    answers_ties: bool = True
    novelty: Any = None
    note: str = ""

    @property
    def threshold(self) -> float:
        """Highest conditional risk of a decided pair."""
        return float(self.region.risk)

    @property
    def highest_loss(self) -> float:
        """Largest loss of one answer."""
        return float(self.calibration.loss.max())

    @property
    def counts_errors(self) -> bool:
        """Whether the loss is the number of wrong answers."""
        # If a tie is no answer, its loss does not matter.
        answers = slice(None) if self.answers_ties else slice(None, None, 2)
        return np.array_equal(self.calibration.loss[answers], ZERO_ONE_LOSS[answers])

    @property
    def mistakes_cost_one(self) -> bool:
        """Whether every answer that costs anything costs 1."""
        return bool(np.isin(self.calibration.loss, [0.0, 1.0]).all())


@dataclass(frozen=True, eq=False)
class ReportData:
    """All that a report is about.

    Attributes
    ----------
    ranker : RankerFacts
    items : ScoredItems
        With outcomes; ignored unless ``labelled``.
    labelled : bool
    rows : AboutRows
        What their features tell.
    groups : Groups or None
        Groups of the queries.
    counted : str, default=""
        How many pairs there are, in words; empty: derived from ``items``.
    ends : Section or None, default=None
        Of the first and the last items.
    """

    ranker: RankerFacts
    items: Any
    labelled: bool
    rows: AboutRows
    groups: Groups | None
    counted: str = ""
    ends: Section | None = None

    @cached_property
    def totals(self) -> PairTotals:
        """Sums over the pairs of each query."""
        ranker = self.ranker
        return ranker.calibration.engine.totals(ranker.region, self.items, None)
