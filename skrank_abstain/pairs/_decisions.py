"""What was decided about each pair, and what goes to a person."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from skrank_abstain._validation import (
    BoolArray,
    FloatArray,
    IntArray,
    check_choice,
    check_positive_int,
)


@dataclass(frozen=True, eq=False)
class PairDecisions:
    """Decisions about pairs, one value per pair in every array.

    Attributes
    ----------
    left, right : ndarray of shape (n_pairs,), int64
        Row positions of the two items in X.
    qid : ndarray of shape (n_pairs,)
        The query of the pair.
    label : ndarray of shape (n_pairs,), int64
        Prediction: ``+1`` left preferred, ``0`` tie, ``-1`` right preferred. It is
        there for abstained pairs too, as what the model would have said.
    accepted : ndarray of shape (n_pairs,), bool
        Whether the model decides; the others go to a person.
    risk : ndarray of shape (n_pairs,), float64, or None
        Conditional risk, the expected loss of the prediction. Lower is better. None
        for a rule that knows no risk.
    proba : ndarray of shape (n_pairs, 3), float64, or None
        Probabilities of the labels -1, 0, +1, in this order. None for a rule that
        knows none.
    distance : ndarray of shape (n_pairs,), float64, or None
        Distance of the two items in feature space, for a rule that goes by it.

    Examples
    --------
    >>> from skrank_abstain import BALToR
    >>> from skrank_abstain.datasets import make_ranking
    >>> from sklearn.linear_model import Ridge
    >>> data = make_ranking(n_queries=30, random_state=0)
    >>> ranker = BALToR(Ridge(), coverage=0.8, random_state=0)
    >>> decisions = ranker.fit(data.data, data.target, qid=data.qid).predict_pairs(
    ...     data.data[:4]
    ... )
    >>> len(decisions)
    6
    >>> bool((decisions.abstained == ~decisions.accepted).all())
    True
    """

    left: IntArray
    right: IntArray
    qid: NDArray[Any]
    label: IntArray
    accepted: BoolArray
    risk: FloatArray | None = None
    proba: FloatArray | None = None
    distance: FloatArray | None = None

    def __len__(self) -> int:
        return int(self.left.shape[0])

    def __repr__(self) -> str:
        return (
            f"PairDecisions(n_pairs={len(self)}, accepted={int(self.accepted.sum())}, "
            f"coverage={self.coverage:.3f})"
        )

    @property
    def abstained(self) -> BoolArray:
        """Pairs that go to a person, shape (n_pairs,), bool."""
        return ~self.accepted

    @property
    def coverage(self) -> float:
        """Share of pairs accepted; NaN for no pairs."""
        return float(self.accepted.mean()) if len(self) else float("nan")

    def take(self, index: NDArray[Any]) -> PairDecisions:
        """Return the pairs at ``index`` (integers or a boolean mask)."""

        def known(column: FloatArray | None) -> FloatArray | None:
            return None if column is None else column[index]

        return PairDecisions(
            left=self.left[index],
            right=self.right[index],
            qid=self.qid[index],
            label=self.label[index],
            accepted=self.accepted[index],
            risk=known(self.risk),
            proba=known(self.proba),
            distance=known(self.distance),
        )

    def deferred(
        self, limit: int | None = None, *, top_k: int | None = None
    ) -> PairDecisions:
        """Return the abstained pairs, riskiest first, or those of nearest items.

        Parameters
        ----------
        limit : int, default=None
            At most so many pairs.
        top_k : int, default=None
            Keep the pairs that can still change who is in the top ``k`` of their
            query: those with an item that the accepted strict pairs neither put
            into the top ``k`` nor keep out of it; none in a query of at most ``k``
            items. All pairs of each query must be present, as ``predict_pairs``
            returns them without ``pairs=``.

        Returns
        -------
        decisions : PairDecisions
            Sorted by decreasing risk, or by increasing distance where there is no
            risk. Equal ones keep their order, and all do where there is neither.

        Raises
        ------
        ValueError
            If ``top_k`` is given and pairs of a query are missing.
        """
        keep = self.abstained
        if top_k is not None:
            keep = keep & self._open_for_top(check_positive_int(top_k, "top_k"))
        index = np.flatnonzero(keep)
        if self.risk is not None:
            index = index[np.argsort(-self.risk[index], kind="stable")]
        elif self.distance is not None:
            index = index[np.argsort(self.distance[index], kind="stable")]
        if limit is not None:
            index = index[: check_positive_int(limit, "limit", minimum=0)]
        return self.take(index)

    def _open_for_top(self, k: int) -> BoolArray:
        """Mark pairs with an item whose membership of the top k is undecided."""
        if not len(self):
            return np.zeros(0, dtype=bool)
        rows, inverse = np.unique(
            np.concatenate([self.left, self.right]), return_inverse=True
        )
        left, right = inverse[: len(self)], inverse[len(self) :]
        size = _query_sizes(left, right, rows.size)
        if (size - 1).sum() != 2 * len(self):
            raise ValueError(
                "top_k needs all pairs of every query: call predict_pairs without "
                "pairs= and do not drop pairs before deferred(top_k=...)."
            )
        strict = self.accepted & (self.label != 0)
        winner = np.where(self.label > 0, left, right)[strict]
        loser = np.where(self.label > 0, right, left)[strict]
        best = 1 + np.bincount(loser, minlength=rows.size)
        worst = size - np.bincount(winner, minlength=rows.size)
        undecided = (best <= k) & (worst > k)
        return undecided[left] | undecided[right]

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return a data frame, one row per pair.

        Parameters
        ----------
        backend : {"pandas", "polars"}, default="pandas"
            Library that makes the frame.

        Returns
        -------
        frame : DataFrame
            Columns ``qid``, ``left``, ``right``, ``label``, ``accepted``, and of
            ``risk``, ``p_right``, ``p_tie``, ``p_left``, ``distance`` those that
            there are.

        Raises
        ------
        ImportError
            If the library is not installed.
        """
        check_choice(backend, "backend", ("pandas", "polars"))
        columns: dict[str, NDArray[Any]] = {
            "qid": self.qid,
            "left": self.left,
            "right": self.right,
            "label": self.label,
            "accepted": self.accepted,
        }
        if self.risk is not None:
            columns["risk"] = self.risk
        if self.proba is not None:
            names = ("p_right", "p_tie", "p_left")
            columns |= dict(zip(names, self.proba.T, strict=True))
        if self.distance is not None:
            columns["distance"] = self.distance
        try:
            if backend == "pandas":
                import pandas as pd

                return pd.DataFrame(columns)
            import polars as pl

            return pl.DataFrame(columns)
        except ImportError as error:
            raise ImportError(
                f"to_frame(backend={backend!r}) requires {backend}; "
                f"install skrank-abstain[{backend}]."
            ) from error


def _query_sizes(left: IntArray, right: IntArray, n_items: int) -> IntArray:
    """Size of the set of items that each item is connected with."""
    links = coo_array((np.ones(left.size), (left, right)), (n_items, n_items))
    _, component = connected_components(links, directed=False)
    sizes: IntArray = np.bincount(component)[component]
    return sizes
