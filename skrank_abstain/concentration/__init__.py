"""Tests and intervals that respect that pairs of one query are dependent.

The unit of sampling is the query: pairs of one query share its items. Functions take
arrays with one entry, or one row, per query.
"""

# Other rooms import more: certificates, the bootstrap of queries, p-values of items.
from skrank_abstain.concentration._certify import (
    advise_on_certification,
    certify_risk,
    choose_start,
    fixed_sequence,
    hierarchical_quantile,
    least_queries,
    novelty_pvalues,
    novelty_pvalues_of_known,
    warn_of_delta,
    wsr_pvalue,
)
from skrank_abstain.concentration._intervals import (
    cluster_bootstrap,
    coverage_interval,
    paired_ratio_test,
    ratio_interval,
)

__all__ = ["least_queries", "ratio_interval", "paired_ratio_test"]
