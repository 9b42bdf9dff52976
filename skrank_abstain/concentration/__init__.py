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
    least_queries,
    warn_of_delta,
    wsr_pvalue,
)
from skrank_abstain.concentration._conformal import (
    hierarchical_quantile,
    novelty_pvalues,
    novelty_pvalues_of_known,
)
from skrank_abstain.concentration._intervals import (
    RatioDifference,
    cluster_bootstrap,
    coverage_interval,
    difference_of,
    paired_ratio_test,
    ratio_difference,
    ratio_interval,
)

__all__ = ["least_queries", "ratio_interval", "paired_ratio_test"]
