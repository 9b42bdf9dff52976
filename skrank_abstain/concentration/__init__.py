"""Tests and intervals that respect that pairs of one query are dependent.

The unit of sampling is the query: pairs of one query share its items. Functions take
arrays with one entry, or one row, per query; `one_query_bound` is about a single one.
"""

# Bound for the other rooms beyond the public names: what certify_risk is made of, the
# draws and percentiles that every bootstrap of queries shares, p-values of items.
from skrank_abstain.concentration._bootstrap import (
    cluster_bootstrap,
    percentile_interval,
    resample_queries,
)
from skrank_abstain.concentration._certify import (
    advise_on_certification,
    certify_risk,
    choose_start,
    fixed_sequence,
)
from skrank_abstain.concentration._conformal import (
    conformal_risk_control,
    hierarchical_quantile,
    hierarchical_quantile_search,
)
from skrank_abstain.concentration._novelty import (
    novelty_pvalues,
    novelty_pvalues_of_known,
)
from skrank_abstain.concentration._one_query import one_query_bound
from skrank_abstain.concentration._pvalues import (
    hoeffding_bentkus_pvalue,
    least_queries,
    wsr_pvalue,
)
from skrank_abstain.concentration._ratio import (
    RatioDifference,
    paired_ratio_test,
    ratio_interval,
)

__all__ = [
    "certify_risk",
    "least_queries",
    "hierarchical_quantile",
    "conformal_risk_control",
    "one_query_bound",
    "ratio_interval",
    "paired_ratio_test",
    "cluster_bootstrap",
]
