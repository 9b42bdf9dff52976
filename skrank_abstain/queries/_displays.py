"""Top sets and abstention on queries at all thresholds: displays and scorers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skrank_abstain._kernels import FloatArray
from skrank_abstain.displays import Display, draw_curve, draw_reference, join_label
from skrank_abstain.metrics import RankerScorer, area_of_prefixes
from skrank_abstain.queries._query_risk import QueryResults
from skrank_abstain.queries._top_sets import first_levels
from skrank_abstain.selection import true_places

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(kw_only=True, eq=False, repr=False)
class TopSetDisplay(Display):
    """Share of sets that hold a best item, by the size of the sets.

    Compares the sets of a `TopSetRanker`, at all thresholds, with as many items of
    every query. For a ranker with k > 1 the share of the first k that sets hold. Higher
    is better. Make one with `from_estimator`.

    Parameters
    ----------
    size, coverage : ndarray of shape (n_thresholds,), float64
        Mean size of the sets, ascending, and the share that holds a best item, over
        queries whose items differ in relevance.
    fixed_size, fixed_coverage : ndarray of shape (n_sizes,), float64
        The same for the first 1, 2, ... items of every query.
    point : tuple of float
        Size and coverage at the ranker's own threshold.
    k : int, default=1
        Number of first items that the sets are for.
    name : str, default=None
        Name in the legend.

    Attributes
    ----------
    line_, fixed_line_ : matplotlib Line2D
        The sets, and as many items of every query.
    point_ : matplotlib Line2D
        The ranker's own threshold.
    ax_, figure_ : matplotlib Axes and Figure
        Set by ``plot``.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain.datasets import make_ranking
    >>> from skrank_abstain.queries import TopSetDisplay, TopSetRanker
    >>> train = make_ranking(n_queries=200, random_state=0)
    >>> ranker = TopSetRanker(Ridge(), random_state=0)
    >>> ranker = ranker.fit(train.data, train.target, qid=train.qid)
    >>> new = make_ranking(n_queries=100, random_state=1)
    >>> display = TopSetDisplay.from_estimator(
    ...     ranker, new.data, new.target, qid=new.qid
    ... )
    >>> float(display.fixed_size[0]), float(display.coverage[-1])
    (1.0, 1.0)
    """

    needs = "predict_set"

    size: FloatArray
    coverage: FloatArray
    fixed_size: FloatArray
    fixed_coverage: FloatArray
    point: tuple[float, float]
    k: int = 1

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        qid: Any = None,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the sets of a fitted ranker on labelled items.

        Parameters
        ----------
        estimator : object
            A fitted `TopSetRanker`, or a Pipeline or fitted search that ends in one.
        X : array-like, sparse matrix or frame of shape (n_items, n_features)
            Items that neither trained nor calibrated it.
        y : array-like of shape (n_items,)
            Relevance, higher is better.
        qid : None, scalar or array-like of shape (n_items,), default=None
            Query of each item.
        name : str, default=None
            Name in the legend; the class of the ranker by default.
        ax, **kwargs
            As in ``plot``.

        Returns
        -------
        display : TopSetDisplay

        Raises
        ------
        TypeError
            If ``estimator`` contains no ranker with sets.
        ValueError
            If no query has more than k items that differ in relevance.
        """
        ranker, X, y, qid = cls.open_ranker(estimator, X, y, qid)
        items = ranker._labelled(X, y, qid)
        levels, queries = ranker._levels(items), items.queries
        best = first_levels(levels, items, ranker._k)
        known = ~np.isnan(best[:, 0])
        if not known.any():
            raise ValueError(
                f"y must differ within a query of more than {ranker._k} items: any set "
                "holds the first ones of others, and there is nothing to draw."
            )
        place = true_places(items.score, queries)[:, 1].astype(np.float64)
        places = -first_levels(-place, items, ranker._k)[known]
        best, sizes = best[known], queries.sizes[known]
        levels, own = levels[known[queries.codes]], ranker.threshold_
        thresholds = np.unique(levels)[::-1]
        n = np.arange(1, sizes.max() + 1)
        return cls(
            size=_at_least(levels, thresholds) / sizes.size,
            coverage=_at_least(best.ravel(), thresholds) / best.size,
            fixed_size=np.minimum(n[:, None], sizes).mean(axis=1),
            fixed_coverage=(places.ravel() <= n[:, None]).mean(axis=1),
            point=((levels >= own).sum() / sizes.size, (best >= own).mean()),
            k=ranker._k,
            name=type(ranker).__name__ if name is None else name,
        ).plot(ax, **kwargs)

    def _draw(self, name: str | None, /, **kwargs: Any) -> None:
        style = {"label": join_label(name)}
        self.line_ = draw_curve(self.ax_, self.size, self.coverage, style, kwargs)
        style = {"marker": self.line_.get_marker(), "color": self.line_.get_color()}
        # The marker is for the point alone.
        self.line_.set_marker("none")
        (self.point_,) = self.ax_.plot(*self.point, **style)
        fixed = self.fixed_size, self.fixed_coverage
        self.fixed_line_ = draw_reference(self.ax_, *fixed, "as many of every query")
        held = "sets that hold a best item"
        if self.k > 1:
            held = f"the first {self.k} that sets hold"
        self.ax_.set(xlabel="mean size of a set", ylabel=f"coverage\n(share of {held})")


@dataclass(kw_only=True, eq=False, repr=False)
class QueryRiskDisplay(Display):
    """Mean loss of the accepted queries, by the share accepted; lower is better.

    The loss is one minus the metric. Make one with `from_estimator`.

    Parameters
    ----------
    coverage : ndarray of shape (n_thresholds,), float64
        Share of the queries with a relevant item that are accepted, ascending to 1.
    selective_risk : ndarray of shape (n_thresholds,), float64
        Mean loss of these queries.
    aurc : float
        Area under the curve, for the legend. Lower is better.
    metric : str, default="metric"
        Name of the metric, for the axis.
    name : str, default=None
        Name in the legend.

    Attributes
    ----------
    line_, reference_ : matplotlib Line2D
        The curve, and random abstention.
    ax_, figure_ : matplotlib Axes and Figure
        Set by ``plot``.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain.datasets import make_ranking
    >>> from skrank_abstain.queries import QueryRiskDisplay, QueryRiskRanker
    >>> train = make_ranking(n_queries=200, random_state=0)
    >>> ranker = QueryRiskRanker(Ridge(), coverage=0.5, random_state=0)
    >>> ranker = ranker.fit(train.data, train.target, qid=train.qid)
    >>> new = make_ranking(n_queries=100, random_state=1)
    >>> display = QueryRiskDisplay.from_estimator(
    ...     ranker, new.data, new.target, qid=new.qid
    ... )
    >>> bool(display.aurc < display.selective_risk[-1])  # better than at random
    True
    """

    needs = "accept_queries"

    coverage: FloatArray
    selective_risk: FloatArray
    aurc: float
    metric: str = "metric"

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        qid: Any = None,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the curve of a fitted ranker on labelled items.

        Parameters
        ----------
        estimator : object
            A fitted `QueryRiskRanker`, or a Pipeline or fitted search that ends in one.
            Its own threshold does not matter.
        X : array-like, sparse matrix or frame of shape (n_items, n_features)
            Items that neither trained nor calibrated it.
        y : array-like of shape (n_items,)
            Relevance, higher is better.
        qid : None, scalar or array-like of shape (n_items,), default=None
            Query of each item.
        name : str, default=None
            Name in the legend; the class of the ranker by default.
        ax, **kwargs
            As in ``plot``.

        Returns
        -------
        display : QueryRiskDisplay

        Raises
        ------
        TypeError
            If ``estimator`` contains no ranker of queries.
        ValueError
            If no query holds a relevant item.
        """
        ranker, X, y, qid = cls.open_ranker(estimator, X, y, qid)
        count, lost = blocks_of_risk(ranker.evaluate(X, y, qid=qid))
        if count.size == 0:
            raise ValueError(
                "y must have a query with a relevant item: others have no "
                f"{ranker._named}, and there is nothing to draw."
            )
        return cls(
            coverage=count / count[-1],
            selective_risk=lost / count,
            aurc=area_of_prefixes(count, lost),
            metric=ranker._named,
            name=type(ranker).__name__ if name is None else name,
        ).plot(ax, **kwargs)

    def _draw(self, name: str | None, /, **kwargs: Any) -> None:
        style = {"marker": "none", "label": join_label(name, f"AURC = {self.aurc:.3f}")}
        curve = self.coverage, self.selective_risk
        self.line_ = draw_curve(self.ax_, *curve, style, kwargs)
        level = np.full(2, self.selective_risk[-1])
        self.reference_ = draw_reference(self.ax_, [0, 1], level, "random abstention")
        self.ax_.set(
            xlabel="coverage (share of queries accepted)",
            ylabel=f"1 - {self.metric} of the accepted queries, lower is better",
            xlim=(0, 1),
        )


def _at_least(values: FloatArray, thresholds: FloatArray) -> FloatArray:
    """Return how many values are at least each threshold."""
    below = np.searchsorted(np.sort(values), thresholds, side="left")
    return np.asarray(values.size - below, dtype=np.float64)


def blocks_of_risk(found: QueryResults) -> tuple[FloatArray, FloatArray]:
    """Return the number of accepted queries and their loss at each threshold.

    Parameters
    ----------
    found : QueryResults
        Queries without a relevant item do not count.

    Returns
    -------
    count, lost : ndarray of shape (n_thresholds,), float64
        Queries of at most each distinct risk, and the sum of one minus their metric.
    """
    known = ~np.isnan(found.metric)
    which = np.unique(found.risk[known], return_inverse=True)[1]
    count = np.cumsum(np.bincount(which)).astype(np.float64)
    return count, np.cumsum(np.bincount(which, 1 - found.metric[known]))


def _neg_set_size(ranker: Any, X: Any, y: ArrayLike, qid: Any) -> float:
    return -float(ranker.set_sizes(X, qid=qid).mean())


def _neg_query_aurc(ranker: Any, X: Any, y: ArrayLike, qid: Any) -> float:
    return -area_of_prefixes(*blocks_of_risk(ranker.evaluate(X, y, qid=qid)))


#: Minus the mean size of the sets of a `TopSetRanker`; higher is better, at most -1.
#: Sets of every ranker keep the promise of ``alpha``, so rankers, tie models and splits
#: compare by their size.
neg_set_size_scorer = RankerScorer(_neg_set_size, "neg_set_size_scorer", "set_sizes")

#: Minus the area under the risk-coverage curve of a `QueryRiskRanker`; higher is
#: better, in [-1, 0]; NaN, with a warning, without a query that holds a relevant item.
#: The mean over k of the mean loss, one minus the metric, of the k queries of lowest
#: risk; equal risks in random order. Thresholds do not matter.
neg_query_aurc_scorer = RankerScorer(
    _neg_query_aurc, "neg_query_aurc_scorer", "accept_queries"
)
