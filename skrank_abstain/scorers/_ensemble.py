"""A ranker and a classifier of grades, added up.

The default classifier is a forest of scikit-learn, read by compiled code.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.preprocessing import OrdinalEncoder
from sklearn.utils import Tags, _safe_indexing, assert_all_finite, get_tags
from sklearn.utils.metadata_routing import MetadataRequest
from sklearn.utils.validation import _num_samples, check_is_fitted

from skrank_abstain._kernels import FloatArray, IntArray
from skrank_abstain._saving import Saved, Value, all_or_nothing
from skrank_abstain._validation import (
    check_columns,
    check_given,
    check_relevance,
    check_row_order,
    names_of_columns,
)
from skrank_abstain.pairs import Queries, group_queries
from skrank_abstain.scorers import _context, _models
from skrank_abstain.scorers._fit import fit_ranker, grades_of

#: Items that go down the trees side by side.
_PIECE = 64


class RankerEnsemble(Saved, MetaEstimatorMixin, BaseEstimator):
    """A ranker's score plus the grade that a classifier expects.

    Ranking losses care for the top of the list, classifiers for every grade. Their sum
    orders items better than either, and its gaps tell better which pairs it has right.

    Parameters
    ----------
    ranker : estimator, booster or path
        Any ranker that `BALToR` takes. A fitted ranker is used as it is.
    grades : classifier or None, default=None
        Predicts the grade of an item with ``predict_proba``. None: sixty extremely
        randomised trees [1]_, which take NaN, and the numbers of the sorted values of
        columns that are not numeric; for millions of items pass
        ``HistGradientBoostingClassifier()``. A fitted classifier is used as it is,
        which needs ``context=False``.
    context : bool, default=True
        Whether the classifier sees the features relative to their query, too. Scores
        then depend on the other items of the query, and ``predict`` needs ``qid``.

    Attributes
    ----------
    ranker_, grades_ : object
        The fitted ranker and classifier; for the default one the nodes of its trees.
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
    >>> ranker = ranker.fit(data.data, data.target, qid=data.qid)
    >>> ranker.predict(data.data[:3], qid=0).shape
    (3,)
    """

    grades_: Any

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
    def fit(self, X: Any, y: ArrayLike, *, qid: Any = None) -> Self:
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
        check_given(y, self)
        ranker, classifier = _models.resolve_model(self.ranker), self.grades
        if classifier is not None:
            classifier = _models.resolve_model(classifier)
            if not hasattr(_models.unwrap(classifier), "predict_proba"):
                raise TypeError(
                    "grades must be a classifier with predict_proba, got "
                    f"{_models.describe(classifier)}: the expected grade is a mean "
                    "over grades."
                )
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

        def trained(model: Any, X: Any, target: Any) -> Any:
            fitted = _models.is_fitted(model)
            return model if fitted else fit_ranker(model, X, target, queries)

        self.ranker_ = trained(ranker, X, relevance)
        within = queries if self.context_ else None
        if classifier is None:
            self.grades_ = GradeForest.fit(X, grades, within)
        else:
            self.grades_ = trained(classifier, _context.with_context(X, within), grades)
        scores = self._scores(X, queries)
        self.means_, self.scales_ = scores.mean(axis=0), scores.std(axis=0)
        # A member that gives one score to all rows adds nothing, but rounding could
        # leave it a tiny deviation.
        self.scales_[np.ptp(scores, axis=0) == 0] = 1.0
        return self

    def predict(self, X: Any, *, qid: Any = None) -> FloatArray:
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
        if not queries.n_items:
            return np.empty(0)
        z = (self._scores(X, queries) - self.means_) / self.scales_
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
        ranker = getattr(self, "ranker_", self.ranker)
        return bool(context) or _models.requests_queries(ranker)

    def _take(self, X: Any, qid: Any, *, reset: bool) -> tuple[Any, Queries]:
        X = check_columns(self, X, reset=reset)
        if issparse(X) and getattr(self, "context_", self.context):
            raise TypeError(
                f"X must be dense where context=True, got a {type(X).__name__}: sparse "
                "data is not supported, as few values stay zero relative to their "
                "query. Pass X.toarray(), or context=False."
            )
        if qid is None and self._needs_queries():
            raise ValueError(
                "qid must be given, got None: with context=True, or a ranker that "
                "requests qid, scores depend on the other items of the query. qid=0 "
                "says that all rows are one query."
            )
        return X, group_queries(qid, _num_samples(X))

    def _scores(self, X: Any, queries: Queries) -> FloatArray:
        """Return the score and the expected grade of each item, (n_items, 2)."""
        within = queries if self.context_ else None
        if isinstance(self.grades_, GradeForest):
            expected = self.grades_.predict(X, within)
        else:
            classes = np.asarray(_models.unwrap(self.grades_).classes_, np.float64)
            design = _context.with_context(X, within)
            proba = _models.class_proba(self.grades_, design, classes.size)
            # No matrix product: its last bits depend on the number of threads.
            expected = (proba * classes).sum(axis=1)
        score = _models.score_items(self.ranker_, X, queries)
        return np.column_stack([score, expected])

    def __sklearn_clone__(self) -> Self:
        return _models.clone_parameters(self, "ranker", "grades")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        inputs = [
            get_tags(each).input_tags
            for each in (self.ranker, self.grades)
            if not _models.library_of(each) and hasattr(each, "__sklearn_tags__")
        ]
        tags.input_tags.allow_nan = all(each.allow_nan for each in inputs)
        tags.input_tags.sparse = not self.context and all(e.sparse for e in inputs)
        return tags


@dataclass(frozen=True, eq=False)
class GradeForest(Value):
    """Sixty extremely randomised trees, trained by scikit-learn.

    Attributes
    ----------
    others : list of int
        Positions of the columns that are not numeric.
    encoder : OrdinalEncoder
        Numbers their values; fitted if there are any.
    roots : ndarray of shape (n_trees,), int64
    nodes, threshold
        Of all trees, as in `add_leaves`.

    Notes
    -----
    ``predict_proba`` of scikit-learn takes 50 us a tree, however few the items: seven
    times as long as a booster needs for a request.
    """

    others: list[int]
    encoder: Any
    roots: IntArray
    nodes: NDArray[np.int32]
    threshold: FloatArray

    @classmethod
    def fit(cls, X: Any, grades: IntArray, queries: Queries | None) -> Self:
        """Train on grades from 0; the trees see the context if there are queries."""
        names = names_of_columns(X) or []
        numeric = set(_context.numeric_columns(X)[0]) if names else set()
        others = [at for at, name in enumerate(names) if name not in numeric]
        unknown = {"handle_unknown": "use_encoded_value", "unknown_value": np.nan}
        encoder = OrdinalEncoder(**unknown)
        forest = ExtraTreesClassifier(60, min_samples_leaf=10, random_state=0)
        forest.fit(_design(X, queries, others, encoder.fit_transform), grades)
        trees = [each.tree_ for each in forest.estimators_]
        roots = np.cumsum([0, *(tree.node_count for tree in trees[:-1])])
        nodes, threshold = [], []
        for root, tree in zip(roots, trees, strict=True):
            left, right = tree.children_left, tree.children_right
            is_leaf = tree.feature < 0
            missing = np.where(tree.missing_go_to_left, left, right)
            after = np.stack([left, right, missing], axis=1)
            after[is_leaf] = np.flatnonzero(is_leaf)[:, np.newaxis]
            nodes.append(np.column_stack([np.maximum(tree.feature, 0), root + after]))
            expected = (tree.value[:, 0] * forest.classes_).sum(axis=1)
            threshold.append(np.where(is_leaf, expected, tree.threshold))
        # The smallest type that numbers all nodes: more of them fit into a cache.
        small = np.concatenate(nodes).astype(np.int32)
        return cls(others, encoder, roots, small, np.concatenate(threshold))

    def predict(self, X: Any, queries: Queries | None) -> FloatArray:
        """Return the expected grade of each item, shape (n_items,)."""
        from skrank_abstain._kernels.features import add_leaves

        design = _design(X, queries, self.others, self.encoder.transform)
        total = np.zeros(design.shape[0])
        trees, at = (self.roots, self.nodes, self.threshold), np.empty(_PIECE, np.int32)
        for start in range(0, total.size, _PIECE):
            rows = slice(start, start + _PIECE)
            part = design[rows].toarray() if issparse(design) else design[rows]
            add_leaves(part, *trees, at[: len(part)], total[rows])
        return total / self.roots.size


def _design(X: Any, queries: Queries | None, others: list[int], encode: Any) -> Any:
    """Return the columns that the trees see, float32."""
    if issparse(X):
        return X.astype(np.float32)
    codes = []
    if others:
        codes = [encode(_safe_indexing(X, others, axis=1))]
        rest = [at for at in range(X.shape[1]) if at not in others]
        X = _safe_indexing(X, rest, axis=1)
    numbers = _context.as_numbers(X)
    context = [] if queries is None else [_context.query_context(numbers, queries)]
    with np.errstate(over="ignore"):  # reported as infinite
        design = np.concatenate([numbers, *codes, *context], axis=1, dtype=np.float32)
    assert_all_finite(design, allow_nan=True, input_name="X")
    return design
