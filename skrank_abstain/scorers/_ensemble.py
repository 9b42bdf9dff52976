"""A ranker and a classifier of grades, added up, and features relative to the query."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.utils import Tags, get_tags
from sklearn.utils.metadata_routing import MetadataRequest
from sklearn.utils.validation import _num_samples, check_is_fitted

from skrank_abstain._saving import Saved
from skrank_abstain._transaction import all_or_nothing
from skrank_abstain._validation import (
    FloatArray,
    IntArray,
    check_columns,
    check_relevance,
    check_row_order,
)
from skrank_abstain.pairs import Queries, group_queries
from skrank_abstain.scorers._fit import fit_ranker, grades_of
from skrank_abstain.scorers._models import (
    class_proba,
    clone_parameters,
    describe,
    is_fitted,
    library_of,
    requests_queries,
    resolve_model,
    score_items,
    unwrap,
)


class RankerEnsemble(Saved, MetaEstimatorMixin, BaseEstimator):
    """A ranker's score plus the grade that a classifier expects.

    Ranking losses care for the top of the list, classifiers for every grade. Their sum
    orders items better than either, and its gaps tell better which pairs are sure.

    Parameters
    ----------
    ranker : estimator, booster or path
        Any ranker that `BALToR` takes. A fitted ranker is used as it is.
    grades : classifier or None, default=None
        Predicts the grade of an item with ``predict_proba``. None: sixty extremely
        randomised trees [1]_, which take numbers and NaN; with categories, or millions
        of items, pass ``HistGradientBoostingClassifier()``. A fitted classifier is used
        as it is, which needs ``context=False``.
    context : bool, default=True
        Whether the classifier sees the features relative to their query, too. Scores
        then depend on the other items of the query, and ``predict`` needs ``qid``.

    Attributes
    ----------
    ranker_, grades_ : object
        The fitted ranker and classifier.
    means_, scales_ : ndarray of shape (2,), float64
        Mean and standard deviation of the ranker's scores of the training rows, and of
        the grades that the classifier expects.
    context_ : bool
        ``context`` in ``fit``.
    n_features_in_, feature_names_in_
        Of X in ``fit``.

    Notes
    -----
    The score is the sum of (m(x) - mean) / standard deviation over the two members m.
    The classifier's m(x) is the expected grade, the sum of k P(grade k | x), where
    grades number the distinct values of y from 0. With ``context`` x has three columns
    for each numeric feature: the value, (value - mean) / standard deviation within the
    query, and the rank within the query. A last column counts the items of the query.

    A decision then depends on the list of candidates: adding one changes the scores of
    the others, and a single item is served with its whole list.

    References
    ----------
    .. [1] Geurts, Ernst and Wehenkel (2006). "Extremely Randomized Trees". Machine
       Learning 63(1).

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain import BALToR
    >>> from skrank_abstain.datasets import make_ranking
    >>> from skrank_abstain.scorers import RankerEnsemble
    >>> data = make_ranking(n_queries=60, random_state=0)
    >>> ranker = BALToR(RankerEnsemble(Ridge()), random_state=0)
    >>> ranker.fit(data.data, data.target, qid=data.qid).predict(data.data[:3], 0).shape
    (3,)
    """

    # Defaults, so that metadata routing works without a call of set_fit_request.
    __metadata_request__fit = {"qid": True}  # noqa: RUF012 (read by scikit-learn)
    #: `fit_ranker` bins the relevance for it.
    _trains_on_grades = True

    def __init__(
        self, ranker: Any, *, grades: Any = None, context: bool = True
    ) -> None:
        self.ranker = ranker
        self.grades = grades
        self.context = context

    @all_or_nothing
    def fit(self, X: Any, y: ArrayLike, qid: Any = None) -> Self:
        """Train the members that are not fitted.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_items, n_features)
            One row per item. Must be dense with ``context``; only numeric columns are
            compared within the query.
        y : array-like of shape (n_items,)
            Relevance, higher is better; at most 31 distinct values.
        qid : None, scalar or array-like of shape (n_items,), default=None
            Query of each item. Needed with ``context``.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError, TypeError
            If an input breaks its rule, or ``grades`` has no ``predict_proba``.
        """
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is "
                "None"
            )
        ranker, classifier = resolve_model(self.ranker), self._classifier()
        check_row_order(X, y=y, qid=qid)
        X, queries = self._take(X, qid, reset=True)
        relevance = check_relevance(y, queries.n_items)
        grades = grades_of(relevance)
        if not grades.any():
            raise ValueError(
                "y must have at least two distinct values, got one class: "
                f"{relevance[0]:g} in n_samples={relevance.size}."
            )
        self.context_ = bool(self.context)
        seen = self._seen(X, queries)  # refuses some X before anything is trained

        def trained(model: Any, X: Any, target: Any) -> Any:
            return model if is_fitted(model) else fit_ranker(model, X, target, queries)

        self.ranker_ = trained(ranker, X, relevance)
        self.grades_ = trained(classifier, seen, grades)
        scores = self._scores(X, seen, queries)
        self.means_, self.scales_ = scores.mean(axis=0), scores.std(axis=0)
        # A member that gives one score to all rows adds nothing, but rounding could
        # leave it a tiny deviation.
        self.scales_[np.ptp(scores, axis=0) == 0] = 1.0
        return self

    def predict(self, X: Any, qid: Any = None) -> FloatArray:
        """Return the score of each item, higher is better.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_items, n_features)
            With ``context`` whole queries.
        qid : None, scalar or array-like of shape (n_items,), default=None
            Query of each item. Needed with ``context``.

        Returns
        -------
        scores : ndarray of shape (n_items,), float64

        Raises
        ------
        ValueError
            If X has other columns than in ``fit``, or ``qid`` is needed and missing.
        """
        check_is_fitted(self, "scales_")
        check_row_order(X, qid=qid)
        X, queries = self._take(X, qid, reset=False)
        scores = self._scores(X, self._seen(X, queries), queries)
        z = (scores - self.means_) / self.scales_
        # No matrix product: its last bits depend on the number of threads.
        return np.asarray(z.sum(axis=1))

    def get_metadata_routing(self) -> MetadataRequest:
        """Return the metadata that methods request: ``predict`` may need ``qid``."""
        request: MetadataRequest = super().get_metadata_routing()
        request.predict.add_request(param="qid", alias=self._needs_queries())
        return request

    def _needs_queries(self) -> bool:
        # The values of `fit` stay in force after set_params.
        context = getattr(self, "context_", self.context)
        return bool(context) or requests_queries(getattr(self, "ranker_", self.ranker))

    def _classifier(self) -> Any:
        if self.grades is None:
            return ExtraTreesClassifier(60, min_samples_leaf=10, random_state=0)
        model = resolve_model(self.grades)
        if not hasattr(unwrap(model), "predict_proba"):
            raise TypeError(
                "grades must be a classifier with predict_proba, got "
                f"{describe(model)}: the expected grade is a mean over grades."
            )
        return model

    def _take(self, X: Any, qid: Any, *, reset: bool) -> tuple[Any, Queries]:
        X = check_columns(self, X, reset=reset)
        if qid is None and self._needs_queries():
            raise ValueError(
                "qid must be given, got None: with context=True, or a ranker that "
                "requests qid, scores depend on the other items of the query. qid=0 "
                "says that all rows are one query."
            )
        return X, group_queries(qid, _num_samples(X))

    def _seen(self, X: Any, queries: Queries) -> Any:
        """Return the columns for the classifier."""
        return with_context(X, queries) if self.context_ else X

    def _scores(self, X: Any, seen: Any, queries: Queries) -> FloatArray:
        """Return the score and the expected grade of each item, (n_items, 2)."""
        scores = score_items(self.ranker_, X, queries)
        return np.column_stack([scores, _expected_grade(self.grades_, seen)])

    def __sklearn_clone__(self) -> Self:
        return clone_parameters(self, "ranker", "grades")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        inputs = [
            get_tags(each).input_tags
            for each in (self.ranker, self.grades)
            if not library_of(each) and hasattr(each, "__sklearn_tags__")
        ]
        tags.input_tags.allow_nan = all(each.allow_nan for each in inputs)
        tags.input_tags.sparse = not self.context and all(e.sparse for e in inputs)
        return tags


def _expected_grade(model: Any, X: Any) -> FloatArray:
    """Return the mean of the grades by their probabilities, shape (n_items,)."""
    classes = np.asarray(unwrap(model).classes_, dtype=np.float64)
    proba = class_proba(model, X, classes.size)
    # No matrix product: its last bits depend on the number of threads.
    return np.asarray((proba * classes).sum(axis=1))


#: Added to standard deviations, so that equal features become 0.
_TINY = 1e-9


def with_context(X: Any, queries: Queries) -> Any:
    """Return X with columns that compare each item with others of its query.

    Parameters
    ----------
    X : array or data frame of shape (n_items, n_features)
    queries : Queries

    Returns
    -------
    wide : array or frame of the kind of X
        The columns of X, then `query_context` of the numeric ones.
    """
    if issparse(X):
        raise TypeError(
            f"X must be dense where context=True, got a {type(X).__name__}: sparse "
            "data is not supported, as few values stay zero relative to their query. "
            "Pass X.toarray(), or context=False."
        )
    names, numbers = numeric_columns(X)
    added = query_context(numbers, queries)
    if hasattr(X, "iloc"):
        # As texts: scikit-learn refuses names of several types.
        columns = {str(name): X.iloc[:, at] for at, name in enumerate(X.columns)}
        columns |= dict(zip(_context_names(names), added.T, strict=True))
        return type(X)(columns, index=X.index)
    if hasattr(X, "hstack"):
        return X.hstack(type(X)(added, schema=_context_names(names)))
    return np.hstack([numbers, added])


def numeric_columns(X: Any) -> tuple[list[Any], FloatArray]:
    """Return the names and the values of the columns of numbers.

    Parameters
    ----------
    X : array or data frame of shape (n_items, n_features)

    Returns
    -------
    names : list of length n_numeric
        Positions for an array, all of which must be numbers.
    values : ndarray of shape (n_items, n_numeric), float64
        Missing values are NaN.
    """
    if hasattr(X, "select_dtypes"):
        numbers = X.select_dtypes(["number", "bool"])
        return [*numbers.columns], numbers.to_numpy(np.float64, na_value=np.nan)
    if hasattr(X, "hstack"):
        kinds = X.schema.items()
        names = [n for n, kind in kinds if kind.is_numeric() or str(kind) == "Boolean"]
        return names, X[names].to_numpy().astype(np.float64)
    values = np.asarray(X).astype(np.float64)
    return [*range(values.shape[1])], values


def _context_names(columns: Any) -> list[str]:
    own = [f"{name}_{what}" for what in ("in_query", "rank") for name in columns]
    return [*own, "items_in_query"]


def query_context(X: FloatArray, queries: Queries) -> FloatArray:
    """Return features relative to the other items of the query.

    Parameters
    ----------
    X : ndarray of shape (n_items, n_features), float64
        Means, standard deviations and ranks ignore NaN.
    queries : Queries

    Returns
    -------
    context : ndarray of shape (n_items, 2 * n_features + 1), float64
        (x - mean) / (standard deviation + 1e-9) of each feature; its rank, as a share
        from -1/2 to 1/2, where equal values have their mean rank; and the number of
        items of the query. All but the last are 0 in a query of one item. NaN stays
        NaN.

    Notes
    -----
    O(n log n). An item's numbers depend neither on the order of the rows nor on other
    queries, not even in their last bits: sorted values are summed.
    """
    n_items, n_features = X.shape
    context = np.empty((n_items, 2 * n_features + 1))
    context[:, -1] = queries.sizes[queries.codes]
    with np.errstate(invalid="ignore", over="ignore"):  # members may refuse infinity
        for column in range(n_features):
            two = _within(X[:, column], queries)
            context[:, column], context[:, n_features + column] = two
    return context


def _within(values: FloatArray, queries: Queries) -> tuple[FloatArray, FloatArray]:
    """Return one feature in units of its spread within the query, and its ranks."""
    codes, starts = queries.codes, queries.offsets[:-1]
    order, rank = ranks_within(values, queries)
    ordered = values[order]
    known = ~np.isnan(ordered)
    count = np.maximum(np.add.reduceat(known, starts, dtype=np.float64), 1)
    mean = np.add.reduceat(np.where(known, ordered, 0.0), starts) / count
    off = np.where(known, ordered - np.repeat(mean, queries.sizes), 0.0)
    spread = np.sqrt(np.add.reduceat(off**2, starts) / count)
    relative = (values - mean[codes]) / (spread[codes] + _TINY)
    return relative, rank / count[codes] - 0.5


def ranks_within(values: FloatArray, queries: Queries) -> tuple[IntArray, FloatArray]:
    """Return the rows sorted by query and value, and each value's rank in its query.

    Parameters
    ----------
    values : ndarray of shape (n_items,), float64
    queries : Queries

    Returns
    -------
    order : ndarray of shape (n_items,), int64
        NaN comes last in its query.
    ranks : ndarray of shape (n_items,), float64
        From 1/2 to the number of items less 1/2. Equal values share their mean rank,
        NaN stays NaN.
    """
    from skrank_abstain._kernels.sorting import sort_within_queries

    starts = queries.offsets[:-1]
    filled = np.where(np.isnan(values), np.inf, values)
    _, order = sort_within_queries(filled, queries.order, queries.offsets)
    ordered = values[order]
    begins = np.append(True, ordered[1:] != ordered[:-1])
    begins[starts] = True
    first = np.flatnonzero(begins)
    middle = (first + np.append(first[1:], values.size)) / 2
    ranks = np.empty_like(values)
    ranks[order] = np.where(np.isnan(ordered), np.nan, middle[np.cumsum(begins) - 1])
    return order, ranks - starts[queries.codes]
