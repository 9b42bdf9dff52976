"""Tests and intervals that respect that pairs of one query are dependent.

The unit of sampling is the query: pairs of one query share its items. Functions take
arrays with one entry, or one row, per query.
"""

# The other rooms import these too: what certifies a threshold, the bootstrap of
# queries, p-values of items.
from skrank_abstain.concentration._bootstrap import cluster_bootstrap
from skrank_abstain.concentration._certify import (
    advise_on_certification,
    certify_risk,
    choose_start,
    fixed_sequence,
    warn_of_delta,
)
from skrank_abstain.concentration._conformal import hierarchical_quantile
from skrank_abstain.concentration._novelty import (
    novelty_pvalues,
    novelty_pvalues_of_known,
)
from skrank_abstain.concentration._pvalues import least_queries, wsr_pvalue
from skrank_abstain.concentration._ratio import (
    RatioDifference,
    paired_ratio_test,
    ratio_interval,
)

__all__ = ["least_queries", "ratio_interval", "paired_ratio_test"]
