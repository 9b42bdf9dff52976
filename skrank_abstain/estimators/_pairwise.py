"""A scikit-learn classifier for comparison data: samples are pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags, _safe_indexing, check_random_state

from skrank_abstain._transaction import all_or_nothing
from skrank_abstain._validation import IntArray, check_loss, check_row_order
from skrank_abstain.estimators._pair_classes import read_labels
from skrank_abstain.estimators._pair_row_decider import PairRowDecider
from skrank_abstain.estimators._pair_rows import (
    divide_pairs,
    fit_on_pairs,
    score_sides,
    sides,
    split_pairs,
    take_pairs,
    trains_on_pairs,
    was_trained_on_pairs,
    without_ties,
)
from skrank_abstain.estimators._selective_ranker import RuleThreshold
from skrank_abstain.intake import (
    find_repeats,
    hash_halves,
    warn_of_repeats,
)
from skrank_abstain.pairs import group_queries
from skrank_abstain.selection import (
    CertifiedRisk,
    Coverage,
    Rule,
    calibrate,
    check_rule,
)
from skrank_abstain.tie_models import LabelledPairs, TieModel, tie_model_candidates


class PairwiseRankerClassifier(PairRowDecider, ClassifierMixin, RuleThreshold):
    """Classifier of comparisons: which of two items is preferred.

    A row of X holds two items, ``[left | right]``; its label says which one is
    preferred, in words or numbers that are read by what they mean. A ranker scores both
    items, a tie model turns the two scores into probabilities and a conditional risk,
    and pairs of a risk above the ``coverage`` quantile of the calibration risks are
    abstained on. ``predict`` answers all the same; ``abstain`` says for which rows a
    person should.

    Parameters
    ----------
    estimator : object
        What is fitted is used as it is: a ranker or regressor of *items*, in any form
        that ``BALToR`` takes, scores the halves of each row; a classifier whose
        ``n_features_in_`` is the width of X (classes in the order right, left)
        decides whole rows. What is not fitted is trained on a part of the pairs: a
        classifier on whole rows, each strict pair in both orders; anything else on
        each pair as a query of two items.
    labels : None or sequence of two or three values, default=None
        What is written in y for (right, tie, left) preferred, or (right, left) without
        ties. None: labels whose meaning is known, see Notes.
    tie_model : str or DifferenceModel, default="bradley_terry"
        How scores become probabilities: "bradley_terry", "davidson",
        "thurstone_mosteller", "isotonic_difference", or an instance of a model of the
        score difference. "auto" takes "bradley_terry" unless the cross-fitted log loss
        of another is lower by more than two standard errors of the gain.
    loss : "zero_one" or array-like of shape (3, 3), default="zero_one"
        Loss of a prediction, rows predicted, columns true, both in the order right,
        tie, left. Zero diagonal, non-negative, mirror-symmetric. With two kinds of
        labels only the corners count.
    coverage : float, default=1.0
        Target share of accepted pairs, in (0, 1]. 1 accepts every pair.
    rule : Rule, default=None
        What sets the threshold in place of ``coverage``: `CertifiedRisk`,
        `GuaranteedCoverage`, `Price` or `Coverage` of `skrank_abstain.selection`, or a
        rule of your own. None: ``Coverage(coverage)``.
    prefit : {"auto", True, False}, default="auto"
        Whether ``estimator`` is used as it is and only calibrated. ``"auto"`` does so
        if it is fitted; True insists on it; False always refits a clone. Calibrating
        or cross-validating on the pairs that trained a fitted model is leakage.
    calibration_size : float, default=0.25
        Share of the queries, or of the pairs where there are no queries, set aside to
        calibrate on when the estimator is trained here.
    random_state : int, RandomState instance or None, default=None
        Splits the pairs.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels in sorted order, as scikit-learn's scorers expect.
    estimator_ : object
        The fitted model.
    tie_model_ : DifferenceModel
        The fitted tie model.
    threshold_ : float
        Accepted pairs have a conditional risk of at most this.
    coverage_ : float
        Share of calibration pairs accepted.
    coverage_interval_ : ndarray of shape (2,), float64
        Where the coverage of as many new queries is expected, in 95 of 100 cases;
        computed when it is asked for.
    prefit_ : bool
        Whether the model was used as it was.
    n_queries_, n_pairs_ : int
        Queries and pairs that set the threshold. Without ``qid`` each pair is a query
        of its own.
    n_features_in_ : int
        Number of columns of X, both items together.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Column names of X, where it has any.

    See Also
    --------
    BALToR : The same for items and queries.

    Notes
    -----
    *Orientation.* Swapping left and right mirrors decisions and probabilities
    exactly. A classifier f of whole rows counts as the scores f(left, right) / 2 and
    f(right, left) / 2, f being its ``decision_function`` or the log-odds of its
    ``predict_proba`` (mixed with one part in a thousand of even odds, so that
    certainty stays finite). Ties are left out of its training; the tie model learns
    them. What transforms the two halves of X differently, such as a
    ``StandardScaler`` in front of this estimator, ends the symmetry: make it a step
    of ``estimator`` instead.

    *Equal scores*, up to ``8 * eps * max|calibration score|``, carry no order: such a
    pair is predicted a tie, or, with two kinds of labels, left.

    *Labels* are read by what they mean. As (right, tie, left) preferred these are
    known: (-1, 0, 1), (0, 0.5, 1), (0, 1), (-1, 1), and in any case right / tie / left,
    model_b / tie / model_a, B / tie / A, second / tie / first and loss / tie / win (of
    the left one), a tie being tie, draw, same or equal. Others, such as 0, 1, 2 or yes
    and no, are refused until ``labels`` says what they mean. 0 and 1 are right and
    left: say ``labels=(-1, 0, 1)`` where they are tie and left. Without ties among the
    labels the tie model is conditioned on there being none.

    *Frames.* All column names differ, and those of the right half are those of the
    left half in the same order, but for what marks the side at the front or at the end
    of either: ``age, bmi, age_right, bmi_right`` or ``a.age, a.bmi, b.age, b.bmi``.
    Halves in turns, ``age, age_right, bmi, bmi_right``, and the right half first,
    ``b.age, b.bmi, a.age, a.bmi``, are refused. Names that are counted, ``0, 1, 2`` or
    ``x0, x1, x2``, say nothing: the columns go by their positions, as those of an array
    do. Items are handed on under the names of the left half, without the mark of the
    side where a fitted ranker knows them so: ``age, bmi`` for ``a.age, a.bmi``.

    *Promises.* ``rule=CertifiedRisk(0.1)`` accepts as many pairs as a certified bound
    on the share of wrong decisions allows, ``rule=GuaranteedCoverage(0.8)`` a share of
    pairs that holds for new ones. Both set three calibration queries in ten aside for
    the tie model. They count queries alike and take them for independent; without
    ``qid`` that is said of the pairs, and wrong where pairs share items. Without ties
    among the labels, pairs of equal scores count as errors in what is certified.

    *Queries.* Pass ``qid`` where pairs share items or a pair is there in both orders:
    nothing else tells that they belong on one side of a split. What ``score`` and
    ``evaluate`` say of all pairs together does not depend on it; the intervals of
    ``report`` do, and where ``fit`` got a ``qid`` it wants one too.

    References
    ----------
    .. [1] Ferrara, Pugnana, Bonchi and Ruggieri (2025). "Bounded-Abstention Pairwise
       Learning to Rank". arXiv:2505.23437.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skrank_abstain import PairwiseRankerClassifier
    >>> from skrank_abstain.datasets import make_ranking
    >>> items = make_ranking(400, n_items=2, n_grades=None, random_state=0)
    >>> X = items.data.reshape(400, -1)  # [left | right]
    >>> y = np.where(items.target[::2] > items.target[1::2], "left", "right")
    >>> model = PairwiseRankerClassifier(LogisticRegression(), random_state=0)
    >>> model.fit(X[:300], y[:300]).predict(X[300:303])
    array(['left', 'right', 'left'], dtype='<U5')
    >>> sure = model.at_coverage(0.5)
    >>> sure.score(X[300:], y[300:]) > model.score(X[300:], y[300:])
    True
    """

    def __init__(
        self,
        estimator: Any,
        *,
        labels: ArrayLike | None = None,
        tie_model: str | TieModel = "bradley_terry",
        loss: str | ArrayLike | Sequence[Any] = "zero_one",
        coverage: float = 1.0,
        rule: Rule | None = None,
        prefit: bool | str = "auto",
        calibration_size: float = 0.25,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.labels = labels
        self.tie_model = tie_model
        self.loss = loss
        self.coverage = coverage
        self.rule = rule
        self.prefit = prefit
        self.calibration_size = calibration_size
        self.random_state = random_state

    @all_or_nothing
    def fit(self, X: Any, y: ArrayLike, qid: Any = None) -> Self:
        """Train the model unless it is fitted, then calibrate.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_pairs, 2 * n_features)
            One row per pair, ``[left | right]``.
        y : array-like of shape (n_pairs,)
            Labels whose meaning is known, or that ``labels`` names, right and left
            preferred among them.
        qid : None, scalar or array-like of shape (n_pairs,), default=None
            Query of each pair: pairs of one query stay on one side of the split.

        Returns
        -------
        self : object

        Raises
        ------
        TypeError
            If the tie model is not a model of the score difference, or ``rule`` is no
            rule.
        ValueError
            If a parameter or an input breaks its rule, or the model's scores are not
            finite.
        sklearn.exceptions.NotFittedError
            If ``prefit=True`` and the estimator is not fitted.

        Warns
        -----
        UserWarning
            If pairs are in the training and in the calibration part, in either order.
        """
        rule = self._rule()
        candidates = tie_model_candidates(self.tie_model, of_differences=True)
        loss = check_loss(self.loss)
        check_row_order(X, y=y, qid=qid)
        X = take_pairs(self, X, reset=True)
        self._classes, label = read_labels(self, X, y, self.labels)
        self.classes_ = self._classes.kinds
        self._answers_ties = self._classes.has_ties
        self._loss = loss if self._answers_ties else without_ties(loss)
        rule.check(self._loss)
        random = check_random_state(self.random_state)
        split_seed, seed = random.randint(2**31 - 1, size=2).tolist()
        rows = self._fit_model(X, label, qid, split_seed)
        left, right = score_sides(
            self.estimator_, _safe_indexing(X, rows), on_pairs=self._on_pairs
        )
        queries = group_queries(
            np.arange(label.size) if qid is None else qid, label.size
        )
        self._fit_rows = find_repeats(hash_halves(sides(X)), queries, rows, label)
        warn_of_repeats(self._fit_rows, "pair")
        self._fitted_with_qid = qid is not None and queries.n_queries > 1
        codes = queries.codes
        groups = codes if queries.n_queries > 1 else np.arange(label.size)
        data = LabelledPairs(left, right, label[rows], groups[rows])
        tuning = None
        if rule.tuning_size:
            parts = divide_pairs(data.groups, rule.tuning_size, seed)
            tuning, data = (data.take(part) for part in parts)
        self.tie_model_, self._calibration = calibrate(
            candidates, self._loss, data, tuning, seed=seed
        )
        self.n_queries_: int = self._calibration.items.n_queries
        self.n_pairs_: int = self._calibration.items.n_pairs
        self._set_threshold(rule)
        return self

    def _rule(self) -> Rule:
        if self.rule is None:
            return Coverage(self.coverage)
        rule = check_rule(self.rule, example="CertifiedRisk(0.1)", optional=True)
        if self.coverage != 1:
            raise ValueError(
                f"coverage must be 1 where a rule is given, got {self.coverage!r} and "
                f"rule={self.rule!r}: the rule alone sets the threshold."
            )
        return rule

    def _fit_model(self, X: Any, label: IntArray, qid: Any, seed: int) -> IntArray:
        """Set ``estimator_``, and return the rows that are left to calibrate on."""

        def split(size: float) -> tuple[IntArray, IntArray]:
            return split_pairs(label, qid, size, seed)

        def train(model: Any, rows: IntArray) -> Any:
            return fit_on_pairs(model, _safe_indexing(X, rows), label[rows])

        rows = self._train_or_take(label.size, split, train)
        self._on_pairs = (
            was_trained_on_pairs(self.estimator_, X.shape[1])
            if self.prefit_
            else trains_on_pairs(self.estimator_)
        )
        return rows

    def at_coverage(self, coverage: float) -> Self:
        """Return a fitted copy with the threshold of another coverage.

        Parameters
        ----------
        coverage : float
            Target share of accepted pairs, in (0, 1].

        Returns
        -------
        classifier : PairwiseRankerClassifier
            Shares the fitted model and the calibration scores; nothing is rescored. A
            rule that has a coverage is asked for this one; any other is dropped, and
            with it what it promised.
        """
        rule: Any = self.rule
        if hasattr(rule, "coverage"):
            return self._with(rule=replace(rule, coverage=coverage))
        return self._with(rule=None, coverage=coverage)

    def at_risk(self, max_risk: float) -> Self:
        """Return a fitted copy with another bound on the selective risk.

        Parameters
        ----------
        max_risk : float
            Bound on the mean loss of accepted pairs.

        Returns
        -------
        classifier : PairwiseRankerClassifier
            Shares the fitted model and what was measured; nothing is rescored. The
            promise holds for each bound by itself, not for the best of several.

        Raises
        ------
        ValueError
            If the classifier was not fitted with ``rule=CertifiedRisk(...)``: the pairs
            that certify must not have fitted the tie model.
        """
        if not isinstance(self.rule, CertifiedRisk):
            raise ValueError(
                "rule must be CertifiedRisk(max_risk) in fit to move its bound, got "
                f"{self.rule!r}."
            )
        return self._with(rule=replace(self.rule, max_risk=max_risk))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # A third class has to be the tie between the two others.
        tags.classifier_tags.multi_class = False
        return tags
