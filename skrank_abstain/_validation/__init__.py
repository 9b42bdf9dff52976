"""Checks of user input.

Every message names the parameter, the rule and the value received. Checks never
silently drop, reorder or coerce values.
"""

from skrank_abstain._validation._arrays import (
    ZERO_ONE_LOSS,
    BoolArray,
    FloatArray,
    IntArray,
    check_array,
    check_finite,
    check_labels,
    check_loss,
    check_not_negative,
    check_numbers,
    check_per_query,
    check_proba,
    check_relevance,
    check_sample_weight,
    check_scores,
    check_vector,
    refuse_lazy,
)
from skrank_abstain._validation._rows import (
    check_columns,
    check_row_order,
    encode_qid,
    is_scalar,
    names_of_columns,
    select_columns,
)
from skrank_abstain._validation._values import (
    MOST_GRADES,
    check_choice,
    check_fraction,
    check_positive,
    check_positive_int,
    check_quantile,
    check_real,
    is_blank,
    is_missing,
    listed,
    rounded_share,
    shown,
)
