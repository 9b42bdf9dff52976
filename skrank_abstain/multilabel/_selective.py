"""Rankings of labels that abstain on uncertain pairs: a sample is a query of labels."""

import copy
from dataclasses import replace
from typing import Any, NamedTuple, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from skrank_abstain import intake
from skrank_abstain._kernels import BoolArray, FloatArray, IntArray
from skrank_abstain._saving import all_or_nothing, identify
from skrank_abstain._validation import check_fraction, listed, names_of_columns, shown
from skrank_abstain._warnings import hearing, warn_user
from skrank_abstain.estimators import BALToR, ModelWrapper, SelectiveRanker
from skrank_abstain.metrics import correctness_completeness_score
from skrank_abstain.multilabel import _losses, _ranker
from skrank_abstain.pairs import PairDecisions, Ranking, check_item_id, group_queries
from skrank_abstain.report import Report, ReportData, write_report
from skrank_abstain.scorers import ScoreColumn
from skrank_abstain.selection import PairTotals, Price

#: Labels that so many samples have, and lack, are held against the features.
_COMMON = 10


class LabelItems(NamedTuple):
    """Labels of samples as items of queries: see `to_items`."""

    X: FloatArray
    y: Any
    qid: NDArray[Any]
    item_id: NDArray[Any]


def to_items(scores: ArrayLike, *, y: Any = None) -> LabelItems:
    """Turn the scores of the labels of samples into items of queries.

    A sample is a query and its labels are the items, so that selective rankers, tie
    models, risk control and displays apply to the labels of a sample.

    Parameters
    ----------
    scores : array-like or frame of shape (n_samples, n_labels)
        Higher is better, from any multilabel ranker or classifier.
    y : array-like, sparse matrix or frame of shape (n_samples, n_labels), default=None
        Relevance, higher is better. NaN: unknown. Of two frames, rows and columns stand
        in one order.

    Returns
    -------
    items : LabelItems
        A tuple in the order in which rankers and displays take its parts; row
        ``sample * n_labels + label`` is an item; unknown ones are left out. ``X``, of
        shape (n_items, 2): the score, and the number of the label. The others are of
        shape (n_items,). ``y``: relevance, or None. ``qid``: the sample, by the index
        of the first pandas frame if it is unique, otherwise by position. ``item_id``:
        the name of the label if there is a frame, otherwise its number.

    Raises
    ------
    ValueError
        If shapes, or rows or columns of two frames, differ, a value is not a number or
        infinite, y holds -1 or nothing is known about a sample.

    See Also
    --------
    skrank_abstain.scorers.ScoreColumn : With ``column=0`` the ranker of such items.
    SelectiveMultilabelRanker : All of it in one estimator.

    Notes
    -----
    O(n_samples * n_labels).

    Examples
    --------
    >>> from skrank_abstain.multilabel import to_items
    >>> items = to_items([[0.9, 0.2], [0.4, 0.6]], y=[[1, 0], [0, 1]])
    >>> items.X
    array([[0.9, 0. ],
           [0.2, 1. ],
           [0.4, 0. ],
           [0.6, 1. ]])
    >>> items.y
    array([1., 0., 0., 1.])
    >>> items.qid
    array([0, 0, 1, 1])
    """
    _losses.check_same_labels(scores=scores, y=y)
    frame = y if names_of_columns(scores) is None else scores
    return _items_of(scores, y, names_of_columns(frame), frame)


def _items_of(scores: Any, y: Any, names: Any, frame: Any) -> LabelItems:
    """Return items with names of the labels; the index of a frame names samples."""
    matrix = _losses.check_label_matrix(scores, "scores", allow_empty=True)
    sample, label = np.indices(matrix.shape).reshape(2, -1)
    item_id = _name_labels(names or range(matrix.shape[1]), matrix.shape[1])[label]
    index: Any = frame.index if hasattr(frame, "iloc") else None
    named = index is not None and index.nlevels == 1 and index.is_unique
    named = named and not index.hasnans
    qid = index.to_numpy()[sample] if named else sample
    # The label is a feature for tie models that look at features.
    items = LabelItems(np.stack([matrix.ravel(), label], axis=1), None, qid, item_id)
    if y is None:
        return items
    # Row by row, as the scores: both checks return C-ordered matrices.
    relevance = _losses.check_label_relevance(y, matrix.shape).ravel()
    known = ~np.isnan(relevance)
    return LabelItems(items.X[known], relevance[known], qid[known], item_id[known])


def _name_labels(names: Any, n_labels: int) -> NDArray[Any]:
    # All samples have the same labels, so checking one is enough.
    return cast("NDArray[Any]", check_item_id(names, group_queries(None, n_labels)))


def _train(model: Any, X: Any, labels: Any) -> Any:
    try:
        return clone(model).fit(X, labels)
    except ValueError as error:
        # scikit-learn's messages do not know the ways out.
        known = "be a 1d array", "y contains NaN"
        if "inconsistent numbers of samples: [1," in str(error):
            raise ValueError(
                f"{error} Texts are a column of a frame, for make_pipeline("
                "make_column_transformer((TfidfVectorizer(), 'text')), classifier): "
                "the name of the column, not in a list."
            ) from error
        if not any(words in str(error) for words in known):
            raise
        raise ValueError(
            f"{error} Wrap a classifier for several labels in OneVsRestClassifier, or, "
            "if y has NaN, in multilabel.ThresholdDecompositionRanker; "
            "multilabel.LinearMultilabelRanker takes NaN, too."
        ) from error


class SelectiveMultilabelRanker(ModelWrapper, _ranker.MultilabelRanker):
    """Rank the labels of each sample, and hand uncertain pairs of labels to a person.

    Wraps any estimator that scores several labels. Each sample becomes a query, its
    labels the items, and `BALToR` decides the pairs of labels of least risk.

    Parameters
    ----------
    estimator : object
        A fitted or unfitted multilabel ranker of this package, or any estimator of
        several outputs with ``predict_proba`` (one matrix or a list with one per
        label), ``decision_function`` or, if it is no classifier, ``predict``.
    coverage : float, default=0.8
        Target share of accepted pairs of labels, in (0, 1].
    cost : float, default=None
        Price of one abstention: pairs of at most this risk are accepted, whatever the
        coverage. None: the coverage decides.
    tie_model : str or TieModel, default="graded_relevance"
        How scores become probabilities, see `BALToR`. With 0/1 relevance most pairs
        of labels are tied, and ties are likelier among low scores than elsewhere.
    loss : {"misranking", "clear_order", "zero_one"} or array-like of shape (3, 3), \
default="misranking"
        Loss of a prediction about a pair, see `BALToR`.
    coverage_guarantee : {None, "hierarchical"}, default=None
        Whether the coverage is guaranteed for new samples, see `BALToR`.
    prefit : {"auto", True, False}, default="auto"
        Whether ``estimator`` is used as it is and only calibrated. ``"auto"`` does so
        if it is fitted; False always refits a clone. Calibrating on the samples that
        trained a fitted estimator is leakage.
    calibration_size : float, default=None
        Share of the samples set aside to calibrate on when the estimator is trained.
        None: see ``cv``.
    cv : int, splitter or iterable of (train, test), default=None
        Folds of samples to calibrate on, see `BALToR`; 5 for fewer than 200 samples.
    random_state : int, RandomState instance or None, default=None
        Splits the samples.

    Attributes
    ----------
    estimator_ : object
        The fitted estimator of the labels' scores.
    selective_ranker_ : SelectiveRanker
        Ranker of the items that ``to_items`` returns.
    threshold_ : float
        Accepted pairs have a conditional risk of at most this.
    coverage_ : float
        Share of calibration pairs accepted.
    prefit_ : bool
        Whether the estimator was used as it was.
    n_folds_ : int
        Folds whose models gave the scores that were calibrated; 0 if the estimator did.
    n_labels_ : int
        Number of labels.
    label_names_ : list of length n_labels, or None
        Names of the columns of y, where it had any. Later frames are put into this
        order; other names are refused.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Column names of X, where it has any.

    See Also
    --------
    skrank_abstain.BALToR : Makes the decisions.
    skrank_abstain.RiskControlledRanker : Of `to_items`, certifies a bound on errors.
    to_items : What the samples become.

    Notes
    -----
    An item is a row ``sample * n_labels + label``: this is what ``left`` and ``right``
    of `predict_pairs` count. `predict` and `predict_ranks` abstain on nothing.

    Rankings that abstain on pairs of labels are those of
    [1]_ and [2]_.

    References
    ----------
    .. [1] Cheng, Rademaker, De Baets and Hüllermeier (2010). "Predicting Partial
       Orders: Ranking with Abstention". ECML PKDD.
    .. [2] Cheng, Hüllermeier, Waegeman and Welker (2012). "Label Ranking with Partial
       Abstention based on Thresholded Probabilistic Models". NeurIPS 25.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skrank_abstain.multilabel import (
    ...     SelectiveMultilabelRanker,
    ...     ThresholdDecompositionRanker,
    ... )
    >>> X, y = make_multilabel_classification(300, n_classes=4, random_state=0)
    >>> labels = ThresholdDecompositionRanker(LogisticRegression(max_iter=1000))
    >>> ranker = SelectiveMultilabelRanker(labels, coverage=0.7, random_state=0)
    >>> ranker = ranker.fit(X, y)
    >>> ranker.abstain(X[:2]).shape  # 6 pairs of 4 labels each
    (12,)
    >>> ranker.rank_intervals(X[:2]).shape
    (2, 4, 2)
    """

    # The samples are the queries, so no qid is requested.
    __metadata_request__fit = {"qid": UNUSED}  # noqa: RUF012 (read by scikit-learn)
    __metadata_request__score = {"qid": UNUSED}  # noqa: RUF012

    def __init__(
        self,
        estimator: Any,
        *,
        coverage: float = 0.8,
        cost: float | None = None,
        tie_model: Any = "graded_relevance",
        loss: Any = "misranking",
        coverage_guarantee: str | None = None,
        prefit: Any = "auto",
        calibration_size: float | None = None,
        cv: Any = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.coverage = coverage
        self.cost = cost
        self.tie_model = tie_model
        self.loss = loss
        self.coverage_guarantee = coverage_guarantee
        self.prefit = prefit
        self.calibration_size = calibration_size
        self.cv = cv
        self.random_state = random_state

    @all_or_nothing
    def fit(self, X: Any, y: Any) -> Self:
        """Train the estimator unless it is fitted, then calibrate.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)
            Goes to the estimator untouched.
        y : array-like, sparse matrix or frame of shape (n_samples, n_labels)
            Relevance, higher is better. NaN: unknown, its pairs count nowhere; the
            estimator has to take it, as `LinearMultilabelRanker` and
            `ThresholdDecompositionRanker` do. Other methods match columns by name.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If a parameter or an input breaks its rule.
        sklearn.exceptions.NotFittedError
            If ``prefit=True`` and the estimator is not fitted.

        Warns
        -----
        UserWarning
            If the scores of a fitted estimator fit another order of the columns of
            ``y`` far better, the decided orders are perhaps no better than a coin, a
            label has the same relevance in all samples, or samples repeat.
        """
        # BALToR checks it too, but only after the estimator was trained.
        check_fraction(self.coverage, "coverage", include_one=True)
        X, relevance = self._check_fit(X, y)
        if self.n_labels_ < 2:
            raise ValueError(f"y must have at least 2 labels, got {relevance.shape}.")
        # Separate seeds, so that the split does not depend on later draws.
        split_seed, seed = intake.draw_seeds(self.random_state)
        # Classifiers take 0/1 for classes if they are integers.
        whole = np.array_equal(relevance, np.rint(relevance))
        labels = relevance.astype(np.int64) if whole else relevance
        samples = group_queries(np.arange(X.shape[0]), X.shape[0])
        trained = self._train_or_take(
            samples,
            # Samples are split one by one, like the items of one query: independent.
            lambda size: intake.split_for_calibration(
                group_queries(None, X.shape[0]), size, split_seed
            ),
            lambda model, rows: _train(model, _safe_indexing(X, rows), labels[rows]),
            lambda model, rows: _ranker.label_scores(
                model, _safe_indexing(X, rows), self.n_labels_, self.label_names_
            ),
            split_seed,
        )
        model, prefit, rows, scores, folds = trained
        self._keep_model(trained)
        self.label_names_ = self.label_names_ or _ranker.names_of_labels(model)
        names = self.label_names_ or list(range(self.n_labels_))
        hashes = intake.hash_rows(X)
        if prefit:
            _ranker.warn_of_another_order(scores, relevance[rows], names)
            intake.warn_of_trained(model, (X, labels, samples), hashes, "sample")
        same = np.fmin.reduce(relevance) == np.fmax.reduce(relevance)
        # A rare label may be that of a rare word by chance.
        common = np.minimum((relevance > 0).sum(axis=0), (relevance <= 0).sum(axis=0))
        for k in np.flatnonzero(common >= _COMMON):
            intake.warn_of_labels_in(X, relevance[:, k], f"label {names[k]!r}")
        if same.any():
            constant = [name for name, one in zip(names, same, strict=True) if one]
            warn_user(
                f"labels {listed(constant)} have the same relevance in all samples: "
                "pairs with them are easily decided and use up the coverage. Leave "
                "them out of y."
            )
        self._fit_rows = intake.find_repeats(hashes, samples, rows, relevance, folds)
        intake.warn_of_repeats(self._fit_rows, unit="sample")
        items = to_items(scores, y=relevance[rows])
        # It gets the scores as a column and never sees X.
        budget = BALToR(
            None, coverage=self.coverage, coverage_guarantee=self.coverage_guarantee
        )
        ranker = SelectiveRanker(
            ScoreColumn(0),
            rule=budget._rule() if self.cost is None else Price(self.cost),
            tie_model=self.tie_model,
            loss=self.loss,
            random_state=seed,
        )
        ranker._rows_are_items = False  # they are scores
        # With one sample, a scalar qid says that the rows are one query.
        self._take(ranker.fit(items.X, items.y, qid=items.qid if rows.size > 1 else 0))
        return self

    def _needs_split(self) -> str:
        return "" if self.coverage_guarantee is None else "coverage_guarantee"

    def _take(self, ranker: SelectiveRanker) -> None:
        self.selective_ranker_ = ranker
        self.threshold_ = ranker.threshold_
        self.coverage_ = ranker.coverage_
        ranker._id = self._id = identify(self.estimator_, ranker._id)

    def at_coverage(self, coverage: float) -> Self:
        """Return a fitted copy with the threshold of another coverage.

        Parameters
        ----------
        coverage : float
            Target share of accepted pairs, in (0, 1].

        Returns
        -------
        ranker : SelectiveMultilabelRanker
            Shares the fitted estimator and the calibration scores.
        """
        check_is_fitted(self, "selective_ranker_")
        other = copy.copy(self)
        other.coverage, other.cost = coverage, None
        other._take(self.selective_ranker_.at_coverage(coverage))
        return other

    def at_cost(self, cost: float) -> Self:
        """Return a fitted copy that decides pairs whose risk is at most a price.

        Parameters
        ----------
        cost : float
            Price of one abstention, non-negative.

        Returns
        -------
        ranker : SelectiveMultilabelRanker
            As ``at_coverage`` returns it.

        Raises
        ------
        ValueError
            If ``coverage_guarantee`` is set: a price promises no coverage.
        """
        check_is_fitted(self, "selective_ranker_")
        if self.coverage_guarantee is not None:
            raise ValueError(
                "coverage_guarantee must be None for at_cost, got "
                f"{self.coverage_guarantee!r}: a price promises no coverage."
            )
        other = copy.copy(self)
        other.cost = cost
        other._take(self.selective_ranker_.at_cost(cost))
        return other

    def _scores(self, X: Any) -> FloatArray:
        self._warn_if_changed()
        return _ranker.label_scores(
            self.estimator_, X, self.n_labels_, self.label_names_
        )

    def to_items(self, X: Any, y: Any = None, *, qid: None = None) -> LabelItems:
        """Return the labels of samples as items, for tools that know queries.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)
        y : array-like or sparse matrix of shape (n_samples, n_labels), default=None
            Relevance, higher is better.
        qid : None
            Each sample is a query. For tools that pass on a ``qid``.

        Returns
        -------
        items : LabelItems
            Items for ``selective_ranker_``, as `to_items` returns them: ``qid`` by the
            index of X, and ``item_id`` by the names of the labels in ``fit``. Scorers
            and displays take X and y.

        Warns
        -----
        UserWarning
            With ``y``, if samples have the features of samples that ``fit`` got: a
            certificate from them need not hold.
        """
        if qid is not None:
            raise ValueError(
                f"qid must be None, since each sample is a query, got {shown(qid)}."
            )
        if y is None:
            scores = self.decision_function(X)
        else:
            scores, y = self._labelled(X, y)
            intake.warn_of_seen(self, lambda: intake.hash_rows(X), unit="sample")
        return _items_of(scores, y, self.label_names_, X)

    def predict_pairs(self, X: Any, *, pairs: ArrayLike | None = None) -> PairDecisions:
        """Decide pairs of labels.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)
        pairs : array-like of shape (n_pairs, 2), int, default=None
            Pairs of items ``sample * n_labels + label``, of one sample each. All pairs
            of labels of all samples by default: samples in order, within a sample all
            (i, j) with i < j.

        Returns
        -------
        decisions : PairDecisions
            ``left`` and ``right`` count items ``sample * n_labels + label``; ``qid`` is
            as in ``to_items``; ``left_id`` and ``right_id`` are the names of the
            labels, where ``y`` had any.

        Raises
        ------
        ValueError
            If columns do not match ``fit``, or pairs are of no such items.
        """
        items = self.to_items(X)
        names = None if self.label_names_ is None else items.item_id
        return self.selective_ranker_.predict_pairs(
            items.X, qid=items.qid, pairs=pairs, item_id=names
        )

    def pair_proba(self, X: Any, *, pairs: ArrayLike | None = None) -> FloatArray:
        """Return the probabilities of the labels -1, 0, +1 of each pair.

        Parameters
        ----------
        X, pairs
            As in ``predict_pairs``.

        Returns
        -------
        proba : ndarray of shape (n_pairs, 3), float64
        """
        return cast("FloatArray", self.predict_pairs(X, pairs=pairs).proba)

    def abstain(self, X: Any, *, pairs: ArrayLike | None = None) -> BoolArray:
        """Return which pairs of labels go to a person: one value per *pair*.

        Parameters
        ----------
        X, pairs
            As in ``predict_pairs``.

        Returns
        -------
        abstained : ndarray of shape (n_pairs,), bool
            Aligned with ``predict_pairs(X, pairs=pairs)``.
        """
        return self.predict_pairs(X, pairs=pairs).abstained

    def ranking(self, X: Any, *, item_id: Any = None) -> Ranking:
        """Return the labels of each sample in order, with the ranks that stay open.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)
        item_id : array-like of shape (n_labels,), default=None
            Names of the labels: any hashable values, each once. By default those of
            the columns of ``y``, or their positions.

        Returns
        -------
        ranking : Ranking
            As from `SelectiveRanker.ranking`; ``qid`` is as in ``to_items``, and
            ``item_id`` the name of the label.

        Raises
        ------
        ValueError
            If columns do not match ``fit``, or ``item_id`` has not one value per label,
            or the names of ``fit`` in another order.
        """
        items = self.to_items(X)
        names = items.item_id
        if item_id is not None:
            label = items.X[:, 1].astype(np.int64)
            names = _name_labels(item_id, self.n_labels_)
            known = [*(self.label_names_ or names)]
            if {*known} == {*names} and known != [*names]:
                raise ValueError(
                    "item_id must have the labels in the order of y, or other names, "
                    f"got {listed(names)} where y had {listed(known)}: leave it out."
                )
            names = names[label]
        found = self.selective_ranker_.ranking(items.X, qid=items.qid, item_id=names)
        return replace(found, _rows=None)  # the rows of X are the samples

    def rank_intervals(self, X: Any) -> IntArray:
        """Return the best and the worst rank of each label that remain possible.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)

        Returns
        -------
        intervals : ndarray of shape (n_samples, n_labels, 2), int64
            Best and worst rank, 1 = top, that the accepted orders, and what follows
            from them, leave open.
        """
        items = self.to_items(X)
        intervals = self.selective_ranker_.rank_intervals(items.X, qid=items.qid)
        # Items stand sample by sample, n_labels of each.
        return intervals.reshape(-1, self.n_labels_, 2)

    def evaluate(self, X: Any, y: ArrayLike, *, qid: None = None) -> PairTotals:
        """Add up, sample by sample, what happens to labelled pairs.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)
        y : array-like or sparse matrix of shape (n_samples, n_labels)
            Relevance, higher is better.
        qid : None
            As in ``to_items``.

        Returns
        -------
        totals : PairTotals
            ``totals.coverage``, ``accuracy`` and ``concordance`` pool
            the samples.
        """
        items = self.to_items(X, y, qid=qid)
        return self.selective_ranker_.evaluate(items.X, items.y, qid=items.qid)

    def correctness_completeness(self, X: Any, y: ArrayLike) -> tuple[float, float]:
        """Return the correctness of the accepted orders and their completeness.

        Higher is better in both.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)
        y : array-like or sparse matrix of shape (n_samples, n_labels)
            Relevance, higher is better.

        Returns
        -------
        correctness : float
            Concordant less discordant pairs over their sum, in [-1, 1].
        completeness : float
            Share of the pairs of different relevance that are ordered, in [0, 1].

        See Also
        --------
        skrank_abstain.metrics.correctness_completeness_score : With intervals.
        """
        items = self.to_items(X, y)
        decisions = self.selective_ranker_.predict_pairs(items.X, qid=items.qid)
        truth = np.sign(items.y[decisions.left] - items.y[decisions.right])
        correctness, completeness = correctness_completeness_score(
            truth.astype(np.int64), decisions.label, decisions.accepted
        )
        return float(correctness), float(completeness)

    @hearing()
    def report(self, X: Any, y: Any = None, *, groups: Any = None) -> Report:
        """Return a page about data, model, threshold and results, for an audit.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)
        y : array-like or sparse matrix of shape (n_samples, n_labels), default=None
            Relevance, higher is better. None: the page says that nothing was measured.
        groups : array-like of shape (n_samples,), default=None
            Kind of each sample: the page then has a row for each.

        Returns
        -------
        report : Report
            Markdown, see `SelectiveRanker.report`. Its queries are the samples, its
            items their labels.
        """
        items = self.to_items(X, y)
        scored = self.selective_ranker_._scored(items.X, qid=items.qid)
        X = self._check_samples(X)
        samples = group_queries(np.arange(X.shape[0]), X.shape[0])
        labels = None if y is None else self._relevance(y, (X.shape[0], self.n_labels_))
        hashes = intake.hash_rows(X)
        rows = intake.describe_rows(self, hashes, samples, labels, unit="sample")
        kinds = intake.groups_of_queries(groups, samples)
        # Without labels all pairs count as tied; the page then shows no such number.
        known = np.zeros(items.qid.size) if y is None else items.y
        inside = copy.copy(self.selective_ranker_)
        for name in ("estimator_", "prefit_", "n_folds_"):
            setattr(inside, name, getattr(self, name))
        ascending = replace(scored, y=known).ascending
        data = ReportData(inside, ascending, y is not None, rows, kinds)
        note = "; each label of a sample an item"
        return write_report(replace(data, name=type(self).__name__, note=note))

    def score(self, X: Any, y: ArrayLike) -> float:
        """Return the concordance in which an abstention counts one half.

        Higher is better, in [0, 1]; .5 for a coin: `SelectiveRanker.score` of the pairs
        of labels. A search over ``coverage`` by it takes the largest: use
        `metrics.selective_utility`.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)
        y : array-like or sparse matrix of shape (n_samples, n_labels)
            Relevance, higher is better.

        Returns
        -------
        concordance : float
            NaN where no two labels of a sample differ in relevance.

        Warns
        -----
        sklearn.exceptions.UndefinedMetricWarning
            If no two labels of a sample differ in relevance.
        """
        items = self.to_items(X, y)
        return self.selective_ranker_.score(items.X, items.y, qid=items.qid)
