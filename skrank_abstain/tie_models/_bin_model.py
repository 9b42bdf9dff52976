"""Tie models that are constant on bins of item values."""

from __future__ import annotations

from abc import abstractmethod
from typing import Self

import numpy as np

from skrank_abstain._validation import FloatArray, IntArray, check_proba
from skrank_abstain.pairs import ScoredItems
from skrank_abstain.tie_models._tie_model import MIRROR, TieModel


class BinModel(TieModel):
    """A tie model of the bins in which the values of two items lie.

    Subclasses write one hook: ``fit_bins`` sets ``edges_`` and ``table_``, which are
    checked. The higher of two bins must win at least as probably as the lower one.

    Attributes
    ----------
    edges_ : ndarray of shape (n_bins - 1,), float64
        Ascending; a value on an edge belongs to the bin above it.
    table_ : ndarray of shape (n_bins, n_bins, 3), float64
        Probabilities of the labels -1, 0, +1 by the bins of left and right item.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank_abstain.tie_models import BinModel
    >>> class Halves(BinModel):
    ...     def fit_bins(self, items):
    ...         self.edges_ = np.array([np.median(items.values)])
    ...         even, order = [0.25, 0.5, 0.25], [0.1, 0.2, 0.7]
    ...         self.table_ = np.array([[even, order[::-1]], [order, even]])
    >>> Halves().fit([2.0, 1.0, 0.0], [1, 0, 0]).proba([1.0], [0.0])
    array([[0.1, 0.2, 0.7]])
    """

    edges_: FloatArray
    table_: FloatArray

    @abstractmethod
    def fit_bins(self, items: ScoredItems) -> None:
        """Set ``edges_`` and ``table_`` from labelled items.

        Parameters
        ----------
        items : ScoredItems
            With relevance, sorted by value within each query, and at least one pair.
        """

    def fit_items(self, items: ScoredItems) -> Self:
        self.fit_bins(items)
        self.edges_ = np.asarray(self.edges_, dtype=np.float64)
        self.table_ = np.asarray(self.table_, dtype=np.float64)
        self.check_probabilities()
        self.n_pairs_ = items.n_pairs
        return self

    def check_probabilities(self) -> None:
        """Check ``edges_`` and ``table_``; set negative rounding errors to zero.

        Raises
        ------
        ValueError
            If ``edges_`` do not ascend, or ``table_`` has another shape than
            (n_bins, n_bins, 3), does not hold probabilities, is not mirrored
            (``table_[i, j] == table_[j, i, ::-1]``), or makes the lower of two bins
            the more probable winner.
        """
        edges, shape = self.edges_, self.table_.shape
        ascending = edges.ndim == 1 and (edges[:-1] <= edges[1:]).all()
        if not ascending or np.isnan(edges).any():
            raise ValueError(
                f"{type(self).__name__}.edges_ must be ascending numbers, got "
                f"{np.array2string(edges, threshold=6, precision=3)}."
            )
        name = f"{type(self).__name__}.table_"
        n_bins = edges.size + 1
        if shape != (n_bins, n_bins, 3):
            raise ValueError(
                f"{name} must be of shape (n_bins, n_bins, 3) = ({n_bins}, {n_bins}, "
                f"3) for {n_bins - 1} edges, got {shape}."
            )
        rows = check_proba(self.table_.reshape(-1, 3), name=name)
        self.table_ = rows.reshape(shape)
        mirrored = np.swapaxes(self.table_, 0, 1)[:, :, ::-1]
        apart = np.abs(self.table_ - mirrored).max()
        if apart > MIRROR:
            raise ValueError(
                f"{name} must be mirrored, table_[i, j] == table_[j, i, ::-1], so that "
                f"a reversed pair is judged alike, got entries {apart:.3g} apart."
            )
        higher, lower = np.tril_indices(n_bins, -1)
        # Otherwise accepted orders could form a cycle.
        lead = self.table_[higher, lower, 2] - self.table_[higher, lower, 0]
        if lead.size and lead.min() < -MIRROR:
            raise ValueError(
                f"{name} must make the item of the higher bin the more probable winner "
                f"(or both equally), got a lead of {lead.min():.3g}."
            )

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
        # Items are sorted: the later one never lies in the lower bin.
        group = np.full((n_bins, n_bins), -1)
        n_groups = n_bins * (n_bins + 1) // 2
        group[np.triu_indices(n_bins)] = np.arange(n_groups)
        counts = items.weigh_bins(self.edges_, group, n_groups)
        return counts.reshape(n_groups, 4)

    def _proba(self, left: FloatArray, right: FloatArray) -> FloatArray:
        proba: FloatArray = self.table_[self.bins(left), self.bins(right)]
        return proba
