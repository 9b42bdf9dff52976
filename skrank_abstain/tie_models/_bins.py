"""Tie models that are constant on bins of item values."""

from __future__ import annotations

import numpy as np

from skrank_abstain._validation import FloatArray, IntArray
from skrank_abstain.pairs import ScoredItems
from skrank_abstain.tie_models._base import TieModel, mean_log_loss


class BinModel(TieModel):
    """A tie model that sees of an item only the bin in which its value lies.

    A subclass's ``_fit`` sets ``edges_`` and ``table_``. The higher bin must never be
    the less probable winner.

    Attributes
    ----------
    edges_ : ndarray of shape (n_bins - 1,), float64
        Ascending; a value on an edge belongs to the bin above it.
    table_ : ndarray of shape (n_bins, n_bins, 3), float64
        Probabilities of the labels -1, 0, +1 by the bins of left and right item.
    """

    edges_: FloatArray
    table_: FloatArray

    def bins(self, values: FloatArray) -> IntArray:
        """Return the bin of each value, shape (n_items,).

        Parameters
        ----------
        values : ndarray of shape (n_items,), float64

        Returns
        -------
        bins : ndarray of shape (n_items,), int64
        """
        return np.searchsorted(self.edges_, values, side="right").astype(np.int64)

    def count_pairs(self, items: ScoredItems) -> FloatArray:
        """Count the pairs of each two bins by outcome.

        Parameters
        ----------
        items : ScoredItems
            With relevance.

        Returns
        -------
        counts : ndarray of shape (n_bins * (n_bins + 1) / 2, 4), float64
            Pairs of bins (lower, higher) in the order of ``np.triu_indices``;
            higher bin preferred, tied, lower bin preferred, and untied pairs of one
            bin.
        """
        n_bins = self.table_.shape[0]
        group = np.full((n_bins, n_bins), -1)
        n_groups = n_bins * (n_bins + 1) // 2
        group[np.triu_indices(n_bins)] = np.arange(n_groups)
        counts = items.weigh_bins(self.bins(items.scores), group, n_groups)
        return counts.reshape(n_groups, 4)

    def log_loss(self, items: ScoredItems) -> float:
        counts = self.count_pairs(items)
        lower, higher = np.triu_indices(self.table_.shape[0])
        # Columns of (higher, lower): lower preferred, tie, higher preferred.
        proba = self.table_[higher, lower]
        by_outcome = np.stack(
            [counts[:, 2], counts[:, 1], counts[:, 0] + counts[:, 3]], axis=1
        )
        return mean_log_loss(by_outcome, proba)

    def _proba(self, left: FloatArray, right: FloatArray) -> FloatArray:
        proba: FloatArray = self.table_[self.bins(left), self.bins(right)]
        return proba
