"""P-values of items of a new query, with the query as the sample."""

from __future__ import annotations

import numpy as np

from skrank_abstain._validation import FloatArray, IntArray


def novelty_pvalues(
    strangeness: FloatArray, reference: FloatArray, queries: IntArray
) -> FloatArray:
    """Return conformal p-values of items of new queries.

    Parameters
    ----------
    strangeness : ndarray of shape (n_items,), float64
        Higher is stranger.
    reference : ndarray of shape (n_reference,), float64
        Strangeness of the items of known queries, by a detector that was not fitted on
        them.
    queries : ndarray of shape (n_reference,), int64
        Numbers of their queries, from 0, without gaps.

    Returns
    -------
    pvalues : ndarray of shape (n_items,), float64
        (1 + sum over queries of the share of their items that are at least as strange)
        / (n_queries + 1), in (0, 1]. Low for items unlike the known ones.

    Notes
    -----
    If the known queries and a new one are exchangeable, a random item of the new one
    has a p-value of at most alpha with probability at most alpha, for any number of
    queries [1]_. This fails if the similar items of one query are treated as
    independent. The least value is 1 / (n_queries + 1). O(n log n) for n items in all.

    References
    ----------
    .. [1] Lee, Barber and Willett (2023). "Distribution-free inference with
       hierarchical data". arXiv:2306.06342.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank_abstain.concentration import novelty_pvalues
    >>> known, query = np.array([0.0, 1.0, 2.0, 3.0]), np.array([0, 0, 1, 1])
    >>> novelty_pvalues(np.array([0.5, 2.5, 9.0]), known, query) * 3
    array([2.5, 1.5, 1. ])
    """
    share, n_queries = _shares(queries)
    found = 1 + _at_least(strangeness, reference, share)
    pvalues: FloatArray = np.minimum(found / (n_queries + 1), 1.0)
    return pvalues


def novelty_pvalues_of_known(reference: FloatArray, queries: IntArray) -> FloatArray:
    """Return the p-value of each known item against all other queries.

    Parameters are those of ``novelty_pvalues``; shape (n_reference,).
    """
    share, n_queries = _shares(queries)
    order = np.lexsort((reference, queries))
    sizes = np.bincount(queries)
    ends = np.repeat(np.cumsum(sizes), sizes)
    # Equal items of a query count together, from where their block begins.
    ordered, query = reference[order], queries[order]
    new = np.append(True, (ordered[1:] != ordered[:-1]) | (query[1:] != query[:-1]))
    begins = np.flatnonzero(new)[np.cumsum(new) - 1]
    own = np.empty(reference.size)
    own[order] = (ends - begins) * share[order]
    others = np.maximum(_at_least(reference, reference, share) - own, 0.0)
    pvalues: FloatArray = np.minimum((1 + others) / n_queries, 1.0)
    return pvalues


def _shares(queries: IntArray) -> tuple[FloatArray, int]:
    sizes = np.bincount(queries)
    return 1 / sizes[queries], sizes.size


def _at_least(
    values: FloatArray, reference: FloatArray, share: FloatArray
) -> FloatArray:
    """Return the summed shares of the reference items at or above each value."""
    order = np.argsort(reference, kind="stable")
    above = np.append(np.cumsum(share[order][::-1])[::-1], 0.0)
    found: FloatArray = above[np.searchsorted(reference[order], values, side="left")]
    return found
