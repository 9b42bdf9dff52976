"""Plots of what a selective ranker does: made from an estimator or from arrays.

Every display keeps the numbers behind the picture as attributes, and draws with
``plot``, which can be called again on other axes. matplotlib is imported when
something is drawn.
"""

from skrank_abstain.displays._class_fraction import ClassFractionDisplay
from skrank_abstain.displays._coverage_curve import CoverageDisplay

# Bound for the displays of other rooms beyond the public names.
from skrank_abstain.displays._drawing import (
    draw_reference,
    join_label,
    next_style,
    put_legend,
    require_pyplot,
    style_of_line,
    take_axes,
)
from skrank_abstain.displays._rank_interval import RankIntervalDisplay
from skrank_abstain.displays._reliability import PairReliabilityDisplay
from skrank_abstain.displays._review_curve import ReviewCurveDisplay
from skrank_abstain.displays._risk_coverage import RiskCoverageDisplay

__all__ = [
    "RiskCoverageDisplay",
    "CoverageDisplay",
    "PairReliabilityDisplay",
    "ClassFractionDisplay",
    "RankIntervalDisplay",
    "ReviewCurveDisplay",
]
