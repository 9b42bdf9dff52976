"""Wing: whole queries. Sets that hold a best item, and queries left to a person."""

from skrank_abstain.queries._query_risk import QueryRiskRanker
from skrank_abstain.queries._top_sets import TopSetRanker

__all__ = ["TopSetRanker", "QueryRiskRanker"]
