"""A bound for one long query, whose items are the sample."""

from __future__ import annotations

import math

from skrank_abstain._validation import check_fraction, check_positive_int
from skrank_abstain.concentration._query_arrays import check_shares


def one_query_bound(
    accepted: float, errors: float, n_items: int, *, delta: float = 0.05
) -> float:
    """Return an upper bound on the selective risk in one long query.

    Parameters
    ----------
    accepted : float
        Share of all pairs of the query that is accepted, in [0, 1].
    errors : float
        Share of all pairs that is accepted and decided wrongly, at most ``accepted``;
        or the loss of the accepted pairs over its largest value and the number of all
        pairs.
    n_items : int
        Number of items of the query, at least 2.
    delta : float, default=0.05
        Probability with which the bound may fail, in (0, 1).

    Returns
    -------
    bound : float
        In (0, 1]; 1 where nothing is accepted.

    Raises
    ------
    TypeError
        If a share is not numeric or ``n_items`` not an integer.
    ValueError
        If a share is outside [0, 1], errors exceed what is accepted, ``n_items`` is
        less than 2, or ``delta`` is outside (0, 1).

    See Also
    --------
    certify_risk : New queries, which is another question: here queries are not drawn.

    Notes
    -----
    If the items are an i.i.d. sample of those that the query could have had, and the
    rule was fixed without them and looks at nothing but the two items of a pair, then
    with probability at least 1 - delta over the draw of the items

        E[e] / E[a] <= (e + sqrt(log(1 / delta) / (2 floor(n / 2)))) / a.

    With R the ratio on the left, e - R a is a U-statistic of mean zero whose kernel has
    a range of one; it falls below -t with probability at most
    exp(-2 floor(n / 2) t^2) [1]_. For the AUC on accepted pairs take the shares of
    accepted pairs of different relevance, all and in the wrong order: one minus the
    bound is a lower bound. O(1).

    References
    ----------
    .. [1] Hoeffding (1963). "Probability Inequalities for Sums of Bounded Random
       Variables". Journal of the American Statistical Association 58(301), section 5.

    Examples
    --------
    >>> from skrank_abstain.concentration import one_query_bound
    >>> round(one_query_bound(0.6, 0.06, 5000), 3)  # 10 % of the accepted are wrong
    0.141
    """
    check_fraction(delta, "delta")
    n_items = check_positive_int(n_items, "n_items", minimum=2)
    share, wrong = check_shares([[accepted]], [[errors]])
    # floor(n / 2) disjoint pairs are independent, and a U-statistic is a mean over the
    # ways to form them.
    slack = math.sqrt(-math.log(delta) / (2 * (n_items // 2)))
    above, below = float(wrong[0, 0]) + slack, float(share[0, 0])
    # A bound above 1 says nothing, as does one on no pair.
    return above / below if above < below else 1.0
