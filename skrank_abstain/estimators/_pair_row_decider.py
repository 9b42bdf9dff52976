"""Decisions about rows that hold two items, and what becomes of labelled ones."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
)

from skrank_abstain._validation import (
    BoolArray,
    FloatArray,
    IntArray,
    check_row_order,
    check_sample_weight,
    encode_qid,
)
from skrank_abstain._warnings import warn_user
from skrank_abstain.estimators._pair_classes import PairClasses
from skrank_abstain.estimators._pair_rows import score_sides, sides, take_pairs
from skrank_abstain.intake import describe_rows, groups_of_queries, hash_halves
from skrank_abstain.pairs import GapArray, group_queries
from skrank_abstain.report import Report, ReportData, write_report
from skrank_abstain.selection import Calibration, Decided, PairTotals
from skrank_abstain.tie_models import DifferenceModel


class PairRowDecider:
    """Mixin of a classifier of pairs: a decision for every row.

    ``fit`` sets what is below; everything here follows from it.
    """

    _fitted_state: tuple[str, ...] = (
        "_fitted_with_qid",
        "_on_pairs",
        "_classes",
        "_answers_ties",
    )

    labels: Any
    estimator_: Any
    tie_model_: DifferenceModel
    _classes: PairClasses
    _calibration: Calibration
    _region: Any
    _on_pairs: bool
    _fitted_with_qid: bool

    def decision_function(self, X: Any) -> FloatArray:
        """Return the score of the left item minus that of the right one.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_pairs, 2 * n_features)

        Returns
        -------
        difference : ndarray of shape (n_pairs,), float64
            Positive where left is preferred. One value per pair, also with three
            kinds of labels. With two, scikit-learn's scorers take a positive value
            for the second class: where that is right preferred (``"left"`` sorts
            before ``"right"``) the sign is turned.
        """
        left, right = self._score(X)
        difference = left - right
        return self._classes.sign * difference

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_pairs, 2 * n_features)

        Returns
        -------
        proba : ndarray of shape (n_pairs, n_classes), float64
            In the order of ``classes_``, which is that of the alphabet for words:
            ``pair_proba`` has the order right, tie, left.
        """
        proba = self.pair_proba(X)
        return proba[:, self._classes.meaning + 1]

    def pair_proba(self, X: Any) -> FloatArray:
        """Return the probabilities of the pair labels -1, 0, +1.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_pairs, 2 * n_features)

        Returns
        -------
        proba : ndarray of shape (n_pairs, 3), float64
            Right preferred, tie, left preferred, whatever the labels are called.
            Swapping left and right reverses a row.
        """
        left, right = self._score(X)
        return self.tie_model_.proba(left, right)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of least expected loss. It never abstains.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_pairs, 2 * n_features)

        Returns
        -------
        label : ndarray of shape (n_pairs,)
            Values of ``classes_``. Where the two scores are equal: the tie, or left
            if there are two classes.
        """
        label = self._decide(X).label
        return self._classes.named(self._classes.strict(label))

    def conditional_risk(self, X: Any) -> FloatArray:
        """Return the expected loss of the prediction for each pair.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_pairs, 2 * n_features)

        Returns
        -------
        risk : ndarray of shape (n_pairs,), float64
            Lower is better. For the zero-one loss one minus the largest probability;
            where both items have the same score, one minus that of a tie.
        """
        return cast("FloatArray", self._decide(X).risk)

    def abstain(self, X: Any) -> BoolArray:
        """Return which pairs go to a person.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_pairs, 2 * n_features)

        Returns
        -------
        abstained : ndarray of shape (n_pairs,), bool
            One value per row of X.
        """
        return ~self._decide(X).accepted

    def score(
        self,
        X: Any,
        y: ArrayLike,
        qid: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Return the selective accuracy: correct predictions among accepted pairs.

        Not for the choice of a threshold: a search over ``coverage`` by this score, the
        default of every search, takes the lowest one. Pass it
        ``scoring=selective_utility(cost)`` of `skrank_abstain.metrics`.

        Higher is better, in [0, 1]. At ``coverage=1`` it is the accuracy.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_pairs, 2 * n_features)
        y : array-like of shape (n_pairs,)
            True labels.
        qid : object, default=None
            Not used: accepted pairs count alike, whatever their query. It is here so
            that metadata routing can hand the same arguments to ``fit`` and ``score``.
        sample_weight : array-like of shape (n_pairs,), default=None
            Pair weights.

        Returns
        -------
        accuracy : float
            NaN where no pair is accepted.

        Warns
        -----
        sklearn.exceptions.UndefinedMetricWarning
            If no pair is accepted.
        """
        accuracy = self.evaluate(X, y, sample_weight=sample_weight).accuracy
        if np.isnan(accuracy):
            warn_user(
                "The selective accuracy is undefined and set to NaN: no pair is "
                "accepted.",
                UndefinedMetricWarning,
            )
        return accuracy

    def evaluate(
        self,
        X: Any,
        y: ArrayLike,
        qid: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> PairTotals:
        """Add up, query by query, what happens to labelled pairs.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_pairs, 2 * n_features)
        y : array-like of shape (n_pairs,)
            True labels.
        qid : None, scalar or array-like of shape (n_pairs,), default=None
            Query of each pair. None: each pair is a query of its own. Sums over all
            pairs, and with them the shares, are the same either way.
        sample_weight : array-like of shape (n_pairs,), default=None
            Pair weights.

        Returns
        -------
        totals : PairTotals
            Pairs, accepted pairs, correct ones and more, of shape (n_queries,) each;
            ``totals.coverage``, ``totals.accuracy`` and ``totals.auc`` pool them.

        Notes
        -----
        Pairs on a randomised boundary count with their probability of acceptance.
        """
        check_row_order(X, sample_weight=sample_weight)
        gaps = self._labelled_gaps(X, y, qid)
        weight = check_sample_weight(sample_weight, gaps.n_pairs)
        return self._calibration.risk.totals(self._region, gaps, weight)

    def report(
        self,
        X: Any,
        y: ArrayLike | None = None,
        qid: Any = None,
        *,
        groups: ArrayLike | None = None,
    ) -> Report:
        """Return a page about data, model, threshold and results, for an audit.

        Parameters
        ----------
        X, y, qid
            As in ``evaluate``; without ``y`` the page says what is decided and
            expected, and that nothing was measured.
        groups : array-like of shape (n_pairs,), default=None
            Kind of query of each pair, such as a language: the page then has a row for
            each. The same for all pairs of a query.

        Returns
        -------
        report : Report
            A text in markdown; ``report.to_html("audit.html")`` saves it as one page,
            with pictures. Intervals are over queries; without ``qid`` they treat pairs
            as independent, and are too short where pairs share items.

        Raises
        ------
        ValueError
            If an input breaks its rule, a query is in two groups, or the classifier
            was fitted with a ``qid`` and reports without one.

        Warns
        -----
        UserWarning
            If pairs have the features of pairs that ``fit`` got, in either order of
            their items.

        Notes
        -----
        The fingerprint is as for the rankers of items, of the halves of each row and
        of the labels as -1, 0, +1.
        """
        check_is_fitted(self, "threshold_")
        if qid is None and self._fitted_with_qid:
            raise ValueError(
                "qid= must be given to report, since fit got one: intervals that take "
                "pairs of one query for independent are too short. Pass qid=, or "
                "qid=np.arange(len(X)) where no two of these pairs share an item."
            )
        check_row_order(X, y=y, qid=qid, groups=groups)
        left, right = self._score(X)
        label = None if y is None else self._classes.read(y, self.labels)
        # Without labels all pairs count as tied; the page says nothing of that.
        known = np.zeros(left.size, dtype=np.int64) if label is None else label
        unit = np.arange(left.size) if qid is None else qid
        queries = group_queries(unit, left.size)
        gaps = self._gaps(left, right, known, queries.codes)
        hashes = hash_halves(sides(take_pairs(self, X, reset=False)))
        rows = describe_rows(self, hashes, queries.codes, label, unit="pair")
        counted = f"{left.size} pairs of {gaps.n_queries} queries"
        if qid is None:
            counted = (
                f"{left.size} pairs, each taken for a query of its own: no qid was "
                "given, so that pairs with a common item count as independent"
            )
        data = ReportData(
            gaps, y is not None, rows, groups_of_queries(groups, queries), counted
        )
        return write_report(self, data)

    def _labelled_gaps(self, X: Any, y: ArrayLike, qid: Any) -> Any:
        """Return the pairs as the risk counts them."""
        check_row_order(X, y=y, qid=qid)
        left, right = self._score(X)
        truth = self._classes.read(y, self.labels)
        queries = None if qid is None else encode_qid(qid, left.size)[0]
        return self._gaps(left, right, truth, queries)

    def _gaps(
        self,
        left: FloatArray,
        right: FloatArray,
        truth: IntArray,
        queries: IntArray | None,
    ) -> GapArray:
        check_consistent_length(left, truth)
        with np.errstate(over="ignore"):
            difference = left - right
        if not self._classes.has_ties:
            # Equal scores mean left here: an order, if by the smallest of gaps.
            equal = np.abs(difference) <= self._region.tolerance
            difference[equal] = self._region.smallest_order
        return GapArray.of_pairs(difference, np.zeros(truth.size), truth, queries)

    def _score(self, X: Any) -> tuple[FloatArray, FloatArray]:
        check_is_fitted(self, "threshold_")
        X = take_pairs(self, X, reset=False)
        return score_sides(self.estimator_, X, on_pairs=self._on_pairs)

    def _decide(self, X: Any) -> Decided:
        left, right = self._score(X)
        with np.errstate(over="ignore"):
            difference = left - right
        row = np.arange(left.size)
        return self._calibration.risk.decide(
            self._region, np.append(left, right), row, row + left.size, difference
        )
