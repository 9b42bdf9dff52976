"""Evidence of a change in a stream, valid at any time.

Each process starts at 1, stays non-negative and does not grow on average while nothing
changes. By Ville's inequality the probability that it ever reaches ``1 / delta`` is
then at most ``delta``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from skrank_abstain._kernels import FloatArray, IntArray

#: Exponents of the mixture: from bets on a few tiny to bets on many small p-values.
EXPONENTS = np.arange(1, 20) / 20
#: Number of queries in a block.
_AT_ONCE = 1024


def online_pvalues(
    counts: IntArray, levels: IntArray, draws: FloatArray
) -> tuple[FloatArray, IntArray]:
    """Return the p-value of each new query among all earlier queries.

    Parameters
    ----------
    counts : ndarray of shape (n_statistics, n_levels), int64
        Number of earlier queries by level of each statistic.
    levels : ndarray of shape (n_queries, n_statistics), int64
        Levels of the new queries, in the order of the stream.
    draws : ndarray of shape (n_queries, n_statistics), float64
        Uniform in [0, 1), to break ties.

    Returns
    -------
    pvalues : ndarray of shape (n_queries, n_statistics), float64
        (queries above + draw * queries as high) / queries, this one included:
        independent and uniform while the queries are exchangeable [1]_.
    counts : ndarray of shape (n_statistics, n_levels), int64
        ``counts`` with the new queries.

    References
    ----------
    .. [1] Vovk, Nouretdinov and Gammerman (2003). "Testing Exchangeability On-Line".
       ICML.
    """
    counts = counts.copy()
    pvalues = np.empty(levels.shape)
    for start in range(0, len(levels), _AT_ONCE):
        rows = slice(start, start + _AT_ONCE)
        new = levels[rows, :, None] == np.arange(counts.shape[1])
        seen = counts + np.cumsum(new, axis=0)  # each query included
        at_most = np.cumsum(seen, axis=2)
        where = levels[rows, :, None]
        above = at_most[:, :, -1] - np.take_along_axis(at_most, where, 2)[:, :, 0]
        equal = np.take_along_axis(seen, where, axis=2)[:, :, 0]
        pvalues[rows] = (above + draws[rows] * equal) / at_most[:, :, -1]
        counts = seen[-1]
    return pvalues, counts


#: Logarithms of the first bets, for two statistics: what the reserve leaves.
START = np.full((2, 2, EXPONENTS.size), np.log(0.05))


def add_pvalues(
    logs: FloatArray, pvalues: FloatArray, n_before: int
) -> tuple[FloatArray, FloatArray]:
    """Bet on small and on large p-values.

    Parameters
    ----------
    logs : ndarray of shape (n_statistics, 2, n_exponents), float64
        Logarithms of the capitals before these p-values; log(1/20) at the start.
    pvalues : ndarray of shape (n_queries, n_statistics), float64
    n_before : int
        Number of earlier p-values of each statistic.

    Returns
    -------
    logs : ndarray of shape (n_statistics, 2, n_exponents), float64
    evidence : ndarray of shape (n_queries,), float64
        Evidence after each query: the mean capital over statistics, both sides and
        the exponents, and the reserve.

    Notes
    -----
    A bet with exponent e multiplies its capital by e p^(e - 1). Before each bet a
    little of the reserve is added to the capital, since the old capital is lost after
    many quiet queries: a change is then met by fresh capital.
    """
    if not len(pvalues):
        return logs, np.empty(0)
    # The share that is not yet bet falls from 19/20 to 0, so slowly that a change after
    # 15,000 queries takes less than twice as long to find as one at the start.
    left = 0.95 / np.sqrt(1 + (n_before + np.arange(len(pvalues) + 1)) / 1000)
    sides = np.stack([pvalues, 1 - pvalues], axis=2).clip(np.finfo(float).tiny)
    gain = np.log(EXPONENTS) + (EXPONENTS - 1) * np.log(sides)[..., None]
    total = np.cumsum(gain, axis=0)
    # Capital that comes in before a bet does not have the gains of earlier ones.
    added = np.log(-np.diff(left))[:, None, None, None] - (total - gain)
    added[0] = np.logaddexp(added[0], logs)
    path = total + np.logaddexp.accumulate(added, axis=0)
    capital = np.exp(logsumexp(path, axis=(1, 2, 3)) - np.log(logs.size))
    return path[-1], capital + left[1:]


class Bets(NamedTuple):
    """Bets that the mean of excesses over a bound is above 0.

    Attributes
    ----------
    n, total, squares : float
        Number, sum and sum of squares of the excesses so far.
    log_capital : float
        Logarithm of the capital, which starts at 1.
    """

    n: float = 0.0
    total: float = 0.0
    squares: float = 0.0
    log_capital: float = 0.0

    def add(self, excess: float, bound: float) -> Bets:
        """Bet on the next excess, from the past ones.

        Parameters
        ----------
        excess : float
            In [-bound, 1 - bound]; its mean is at most 0 while the promise holds.
        bound : float
            In (0, 1).

        Notes
        -----
        A bet multiplies the capital by 1 + s excess. The stake s is the mean excess
        divided by the mean squared excess, at most half of the stake that could lose
        everything [1]_. Before the first excess there are two pseudo-excesses, 1/2 -
        bound and 0.

        References
        ----------
        .. [1] Waudby-Smith and Ramdas (2024). "Estimating means of bounded random
           variables by betting". JRSS B 86.
        """
        mean = (self.total + 0.5 - bound) / (self.n + 2)
        stake = 0.0
        if mean > 0:
            square = (self.squares + (0.5 - bound) ** 2) / (self.n + 2)
            stake = min(mean / square, 0.5 / bound)
        return Bets(
            self.n + 1,
            self.total + excess,
            self.squares + excess**2,
            self.log_capital + float(np.log1p(stake * excess)),
        )
