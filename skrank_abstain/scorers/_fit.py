"""Train a ranker, whatever form its library wants; tell which rows trained one."""

import copy
import warnings
from contextlib import suppress
from typing import Any

import numpy as np
from scipy.sparse import issparse
from scipy.stats import chi2, multinomial
from sklearn import config_context, get_config
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.metadata_routing import MetadataRouter, get_routing_for_object
from sklearn.utils.validation import (
    _num_samples,
    check_consistent_length,
    has_fit_parameter,
)

from skrank_abstain._kernels import FloatArray, IntArray
from skrank_abstain._validation import MOST_GRADES, check_positive_int, check_relevance
from skrank_abstain.pairs import Queries
from skrank_abstain.scorers import _models
from skrank_abstain.scorers._boosters import align_columns, readable
from skrank_abstain.scorers._context import as_numbers

#: With a higher probability of leaves of equal sizes by chance nothing is said.
_BY_CHANCE = 0.01
#: Fewer bins of leaves, of five queries each, differ too little by chance.
_FEWEST_BINS = 8


def fit_ranker(
    estimator: Any,
    X: Any,
    y: Any,
    queries: Queries,
    *,
    relevance_bins: int | None = None,
) -> Any:
    """Train a clone of an estimator on items grouped by query.

    Parameters
    ----------
    estimator : estimator
        Never changed. ``XGBRanker``, ``LGBMRanker`` and ``CatBoostRanker``, also as
        the last step of a pipeline, get rows sorted by query, the queries in the form
        that their library wants, and integer grades. Any other estimator gets ``y`` as
        it is, and the number of each row's query if its ``fit`` takes ``qid``, or
        sorted rows and the sizes of the queries if it takes ``group`` alone.
    X : array, sparse matrix or data frame of shape (n_items, n_features)
        Passed on unchanged, except for the order of the rows.
    y : array-like of shape (n_items,)
        Relevance, higher is better.
    queries : Queries
    relevance_bins : int, default=None
        From 2 to 31. For training only, a ranking booster's ``y`` is cut into this
        many grades at its quantiles (the share of values below a value gives its bin,
        so equal values stay equal). Empty bins are left out. None: the distinct values
        of y are the grades, at most 31.

    Returns
    -------
    ranker : estimator
        The fitted clone.

    Raises
    ------
    TypeError
        If the estimator cannot be cloned, or ``relevance_bins`` is no integer.
    ValueError
        If a ranking booster's ``y`` has more than 31 distinct values and
        ``relevance_bins`` is None, lengths differ, or the estimator is a search that
        would not pass the queries on to its ranker.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain.pairs import group_queries
    >>> from skrank_abstain.scorers import fit_ranker
    >>> X = [[0.0], [1.0], [2.0]]
    >>> fit_ranker(Ridge(alpha=0), X, [0, 1, 2], group_queries(["b", "a", "b"], 3))
    Ridge(alpha=0)
    """
    if relevance_bins is not None:
        relevance_bins = check_positive_int(relevance_bins, "relevance_bins", minimum=2)
    model = _unfitted(_models.resolve_model(estimator))
    relevance = check_relevance(y, queries.n_items)
    check_consistent_length(X, relevance)
    prefix, final = named_step(model)
    booster = _models.booster_of(final)
    # In a pipeline the transformers decide which type the booster gets.
    if booster and not prefix:
        X = readable(X, booster)
    target: Any = relevance
    if not _trains_on_queries(final):
        booster = None
        if relevance_bins and getattr(final, "_trains_on_grades", False):
            target = grades_of(relevance, relevance_bins).astype(np.float64)
        if _query_parameter(final) != "group":
            return _fit(model, X, target, prefix, _queries_for(final, prefix, queries))
    stops = [k for k, v in final.get_params().items() if "early_stopping" in k and v]
    if booster and stops:
        raise ValueError(
            f"{stops[0]} must be None for a ranker to train, which is without queries "
            "to stop by: train it with eval_set= yourself, and pass it fitted."
        )
    if booster:
        target = grades_of(relevance, relevance_bins)
    # XGBoost and CatBoost refuse scattered queries; LightGBM, which only gets sizes,
    # would silently mix them up.
    order = queries.order
    if (order[1:] < order[:-1]).any():
        rows = X.tocsr() if hasattr(X, "tocsr") else X  # others have no row index
        X, target = _safe_indexing(rows, order), target[order]
    in_order = Queries.of_sizes(queries.sizes, queries.values)
    sizes = {"group": queries.sizes}
    arguments = booster.query_arguments(final, in_order) if booster else sizes
    return _fit(model, X, target, prefix, arguments)


def _query_parameter(model: Any) -> str:
    """Return by which parameter, "qid" or "group", a model's ``fit`` takes queries."""
    return next((k for k in ("qid", "group") if has_fit_parameter(model, k)), "")


def _trains_on_queries(model: Any) -> bool:
    booster = _models.booster_of(model)
    frozen = _models.unwrap(model) is not model  # its fit does nothing
    return booster is not None and not frozen and booster.is_ranker(model)


def _queries_for(estimator: Any, prefix: str, queries: Queries) -> dict[str, Any]:
    """Return the queries if the estimator, or the one inside a search, takes them."""
    if _query_parameter(estimator):
        return {"qid": queries.codes}
    if isinstance(estimator, FrozenEstimator):
        return {}  # its fit does nothing
    inner = estimator
    while (below := _wrapped(inner)) is not None:
        _, inner = named_step(below)
    if not (_trains_on_queries(inner) or _query_parameter(inner)):
        return {}
    # With routing on, a search passes on the requests of the inner ranker.
    if not get_config()["enable_metadata_routing"] or prefix or not _routes(estimator):
        raise ValueError(
            f"estimator must hand the queries on to {type(inner).__name__}, and "
            f"{type(estimator).__name__} does not: without them it would compare items "
            "of different queries. Put the search around the selective ranker instead "
            "of inside it; or switch metadata routing on, let the inner ranker request "
            "qid, and do not put the search into a Pipeline."
        )
    return {"qid": queries.codes}


def _wrapped(estimator: Any) -> Any:
    """Return the unfitted estimator inside a meta-estimator, or None."""
    inner = (getattr(estimator, name, None) for name in ("estimator", "regressor"))
    return next((each for each in inner if hasattr(each, "fit")), None)


def _routes(estimator: Any) -> bool:
    router = get_routing_for_object(estimator)
    return isinstance(router, MetadataRouter) and bool(router.consumes("fit", ["qid"]))


def grades_of(relevance: FloatArray, bins: int | None = None) -> IntArray:
    """Return relevance as grades 0 to K - 1, K at most 31."""
    _, rank, counts = np.unique(relevance, return_inverse=True, return_counts=True)
    if bins is not None:
        below = np.cumsum(counts) - counts
        # The share of values below decides: equal values get one grade.
        cut = below * bins // max(relevance.size, 1)
        rank = np.unique(cut, return_inverse=True)[1][rank]
    n_grades = int(rank.max(initial=-1)) + 1
    if n_grades > MOST_GRADES:
        raise ValueError(
            f"y must have at most {MOST_GRADES} distinct values to train a ranking "
            f"booster, got {n_grades}; set relevance_bins= (2 to {MOST_GRADES}) to "
            "train on quantile bins of y. Pairs are always labelled by the raw y."
        )
    return rank.astype(np.int64)


def named_step(model: Any) -> tuple[str, Any]:
    """Return the estimator that ends a pipeline and the prefix of its parameters."""
    prefix = ""
    while isinstance(model, Pipeline):
        name, model = model.steps[-1]
        prefix += f"{name}__"
    return prefix, model


def _fit(model: Any, X: Any, y: Any, prefix: str, arguments: dict[str, Any]) -> Any:
    """Fit a model; the last step of a pipeline gets the arguments."""
    named = {prefix + key: value for key, value in arguments.items()}
    # With routing on, a pipeline refuses step__argument.
    routing = {"enable_metadata_routing": False} if prefix else {}
    with config_context(**routing), _models.naming_texts(model, X):
        model.fit(X, y, **named)
    return model


def _unfitted(estimator: Any) -> Any:
    """Clone an estimator; boosters, which clone() may refuse, copy themselves."""
    if isinstance(estimator, Pipeline):
        *steps, (name, final) = estimator.steps
        others = copy.copy(estimator)
        others.steps = [*steps, (name, "passthrough")]
        cloned = clone(others)
        cloned.steps[-1] = (name, _unfitted(final))
        return cloned
    booster = _models.booster_of(estimator)
    if booster is None or _models.unwrap(estimator) is not estimator:
        return clone(estimator)
    return booster.unfitted(estimator)


def trained_on(
    model: Any, X: Any, y: Any, queries: Queries, *, quick: bool = False
) -> bool:
    """Return whether these rows trained a model, as far as it can tell.

    Parameters
    ----------
    model : estimator or booster
        Fitted. A search, a `RankerEnsemble` and a pipeline are asked for their ranker.
    X : array, sparse matrix or data frame of shape (n_items, n_features)
    y : array-like of shape (n_items,)
    queries : Queries
    quick : bool, default=False
        Whether to train no copy unless that of XGBoost may be alike.

    Returns
    -------
    trained : bool
        False for models that cannot tell: raw XGBoost boosters, networks, neighbours,
        and, where no counts are kept, those that were trained with weights or on more
        or fewer rows.

    Notes
    -----
    Trees that keep how many rows trained each leaf tell whatever the order of the rows:
    independent rows, as many, fill the leaves alike with a probability of at most .01
    (that of the counts n_k is multinomial, and largest where row shares are n_k / n).
    If only most rows trained the model, or these are most of those that did, the counts
    of 40 queries and more are too close to those of the tree: a Wald statistic with the
    covariance of independent queries (one query, one summand) is below the .001
    quantile of its chi-square distribution. Half as many rows or less, or twice as many
    or more, cannot be most of the others, and are not asked.
    Other boosters, and linear models, train a copy on these rows, of one tree: that of
    other rows scores most rows otherwise. XGBoost need not if no row has the value at
    which its first tree begins.
    """
    model = getattr(_models.unwrap(model), "ranker_", model)
    final, X = _models.at_the_end(model, X)
    if (booster := _models.booster_of(final)) is not None:
        X = align_columns(X, booster, booster.features(final))
    # A library may refuse these rows or labels, which then did not train the model.
    with suppress(Exception), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if isinstance(final, OneVsRestClassifier | MultiOutputClassifier):
            # One model for each label: the first one tells.
            return trained_on(final.estimators_[0], X, y[:, 0], queries, quick=quick)
        if (found := _first_tree(final)) is not None and not _draws_rows(final):
            return _fill_leaves(final, *found, X, queries)
        cuts = None if booster is None else booster.has_cuts(final, X)
        if cuts or (cuts is None and not quick):
            return _copy_scores_alike(final, X, np.asarray(y), queries)
    return False


def _fill_leaves(
    model: Any, counts: Any, leaves: Any, X: Any, queries: Queries
) -> bool:
    """Return whether rows fill the leaves of a first tree as those that trained it."""
    n, n_trained, same = _num_samples(X), counts.sum(), False
    if n_trained == n and multinomial.pmf(counts, n, counts / n) <= _BY_CHANCE:
        same = np.array_equal(np.bincount(leaves(X), minlength=counts.size), counts)
    # Forests draw rows again. Half as many rows, or twice as many, are too unlike.
    blind = hasattr(model, "estimators_samples_") or not n / 2 < n_trained < 2 * n
    return same or (not blind and _too_alike(counts, leaves(X), queries))


def _too_alike(counts: Any, leaf: IntArray, queries: Queries) -> bool:
    """Return whether rows fill leaves with less noise than other queries would."""
    n_bins = min(counts.size, queries.n_queries // 5)
    if n_bins < _FEWEST_BINS:
        return False
    # Leaves side by side count as one, so that bins hold about as many rows.
    n_trained = counts.sum()
    bin_of = ((np.cumsum(counts) - 0.5) * n_bins / n_trained).astype(np.int64)
    share = np.bincount(bin_of, counts, n_bins) / n_trained
    cells = np.bincount(
        queries.codes * n_bins + bin_of[leaf], minlength=queries.n_queries * n_bins
    ).reshape(-1, n_bins)
    rest = cells - queries.sizes[:, np.newaxis] * share
    # Of independent queries; those that trained the model add their own variance.
    spread = np.cov(rest.T) * len(rest) * (1 + leaf.size / n_trained)
    gap = rest.sum(axis=0)
    gap += 0.5 * np.sign(gap)  # counts are whole numbers
    solved, _, rank, _ = np.linalg.lstsq(spread, gap, rcond=1e-9)
    return bool(chi2.cdf(gap @ solved, rank) <= _BY_CHANCE / 10)


def _first_tree(model: Any) -> tuple[Any, Any] | None:
    """Return the training rows in each leaf, and a function of X, or None."""
    if (booster := _models.booster_of(model)) is not None:
        return booster.first_tree(model)
    if not hasattr(model, "apply"):  # scikit-learn's trees, and all that add them up
        return None
    tree = np.ravel(getattr(model, "estimators_", model))[0].tree_
    drawn, each = slice(None), tree.n_node_samples
    if hasattr(model, "estimators_samples_"):  # forests weigh rows as often drawn
        drawn, each = model.estimators_samples_[0], tree.weighted_n_node_samples

    def leaves(X: Any) -> Any:
        rows = X if issparse(X) else as_numbers(X)
        return tree.apply(rows.astype(np.float32))[drawn]

    return np.where(tree.children_left < 0, each, 0), leaves


def _draws_rows(model: Any) -> bool:
    params = model.get_params() if hasattr(model, "get_params") else {}
    return bool(params.get("subsample_freq") or params.get("bagging_freq"))


def _copy_scores_alike(model: Any, X: Any, y: Any, queries: Queries) -> bool:
    """Return whether a copy that these rows train begins as the model does."""
    booster = _models.booster_of(model)
    first, few = {}, dict[str, Any]()
    if booster is not None and booster.first and not booster.is_raw(model):
        stops = (name for name in model.get_params() if "early_stopping" in name)
        first, few = booster.first, dict.fromkeys(stops) | booster.one_tree
    elif hasattr(model, "staged_predict") and hasattr(model, "max_iter"):
        few = {"max_iter": 1}  # histogram-based
    elif not hasattr(model, "coef_") or hasattr(model, "support_"):
        return False  # support vectors take long
    other, order = _unfitted(model).set_params(**few), queries.order
    arguments: dict[str, Any] = {}
    if booster is not None and _trains_on_queries(other):
        if not np.isin(y, np.arange(MOST_GRADES)).all():
            return False  # the library would print that these are no grades
        in_order = Queries.of_sizes(queries.sizes, queries.values)
        arguments = booster.query_arguments(other, in_order)
    other.fit(_safe_indexing(X, order), y[order], **arguments)

    def ask(own: Any) -> Any:
        if first:
            return own.predict(X, **first)
        staged = getattr(own, "staged_decision_function", None) or own.staged_predict
        return next(staged(X))

    asked, again = (ask(own) if few else own.coef_ for own in (model, other))
    if np.shape(asked) != np.shape(again) or np.ptp(asked) == 0:
        return False
    told = np.asarray(asked) != 0  # coefficients of what tells nothing are alike
    return bool(np.isclose(asked, again, rtol=1e-5, atol=0)[told].mean() > 0.9)
