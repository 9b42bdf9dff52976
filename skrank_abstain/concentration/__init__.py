"""Intervals that respect that pairs of one query are dependent.

The unit of sampling is the query: pairs of one query share its items.
"""

from skrank_abstain.concentration._ratio import ratio_interval

__all__ = ["ratio_interval"]
