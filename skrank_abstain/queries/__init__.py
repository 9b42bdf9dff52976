"""Wing: decisions about whole queries: top sets, and abstention on queries."""

from skrank_abstain.queries._displays import (
    QueryRiskDisplay,
    TopSetDisplay,
    neg_query_aurc_scorer,
    neg_set_size_scorer,
)
from skrank_abstain.queries._query_risk import QueryResults, QueryRiskRanker
from skrank_abstain.queries._top_sets import SetResults, TopSetRanker

__all__ = [
    "TopSetRanker",
    "QueryRiskRanker",
    "SetResults",
    "QueryResults",
    "TopSetDisplay",
    "QueryRiskDisplay",
    "neg_set_size_scorer",
    "neg_query_aurc_scorer",
]
