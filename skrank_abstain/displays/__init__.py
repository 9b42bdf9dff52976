"""Plots of the decisions of a selective ranker, from an estimator or from arrays.

``from_estimator`` takes a fitted ranker (or a Pipeline or fitted search that ends in
one) and items; ``from_predictions`` takes arrays. Both compute numbers and draw them
with ``plot``, which also draws them again on other axes. The numbers are attributes;
the artists, the axes and the figure are attributes with a trailing underscore. Drawing
imports matplotlib; without it, an ImportError names the extra to install.
"""

from skrank_abstain.displays._curves import ReviewCurveDisplay, RiskCoverageDisplay

# The displays of other rooms, and the report, import these too.
from skrank_abstain.displays._display import (
    GREY,
    PALETTE,
    Display,
    draw_curve,
    draw_intervals,
    draw_reference,
    join_label,
    one_line,
    require_pyplot,
)
from skrank_abstain.displays._rank_interval import RankIntervalDisplay
from skrank_abstain.displays._shares import (
    ClassFractionDisplay,
    CoverageDisplay,
    PairReliabilityDisplay,
)

__all__ = [
    "RiskCoverageDisplay",
    "CoverageDisplay",
    "PairReliabilityDisplay",
    "ClassFractionDisplay",
    "RankIntervalDisplay",
    "ReviewCurveDisplay",
]
