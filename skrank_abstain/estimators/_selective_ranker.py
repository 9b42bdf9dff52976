"""SelectiveRanker: item scores, pair probabilities, risk, threshold, decisions."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import fields
from typing import Any, NoReturn, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from skrank_abstain._saving import Saved
from skrank_abstain._transaction import all_or_nothing
from skrank_abstain._validation import (
    FloatArray,
    check_fraction,
    check_loss,
    check_relevance,
    check_row_order,
)
from skrank_abstain._warnings import warn_user
from skrank_abstain.estimators._item_report import ItemReport
from skrank_abstain.estimators._item_scorer import ItemValues
from skrank_abstain.estimators._model_wrapper import ModelWrapper
from skrank_abstain.estimators._novelty import NovelItems, check_novelty, find_novel
from skrank_abstain.estimators._operating_points import OperatingPoints
from skrank_abstain.estimators._pair_decider import PairDecider
from skrank_abstain.estimators._ranks import RanksOpen
from skrank_abstain.intake import (
    CalibrationData,
    refuse_fit_arguments,
    take_labelled_items,
    train_and_score,
)
from skrank_abstain.pairs import ScoredItems
from skrank_abstain.selection import (
    Calibration,
    Coverage,
    PairRisk,
    Rule,
    calibrate,
    check_rule,
    coverage_interval,
)
from skrank_abstain.tie_models import TieModel, tie_model_candidates

#: How far beyond the target the calibration coverage may be before `fit` says so.
_MOST_EXCESS = 0.1
#: Share of ties among the accepted pairs from which on `fit` says so.
_MOST_TIES = 0.95


class RuleThreshold(Saved):
    """Mixin of the estimators whose threshold is set by a rule.

    ``fit`` sets ``_loss`` and ``_calibration``, then calls ``_set_threshold``.
    """

    _fitted_state: tuple[str, ...] = (
        *("tie_model_", "threshold_", "coverage_", "n_queries_", "n_pairs_"),
        *("_loss", "_calibration", "_region", "_rule_fields"),
    )

    _loss: FloatArray
    _calibration: Calibration
    #: Whether a tie is among the answers.
    _answers_ties = True

    def _rule(self) -> Rule:
        """Return the rule that the parameters name."""
        raise NotImplementedError

    def _set_threshold(self, rule: Rule) -> None:
        risk, items = self._calibration.risk, self._calibration.items
        self._region = self._select(rule)
        self._rule_fields = _fields_of(rule)
        # For people to read. Decisions ask the region: where many pairs have the
        # threshold's risk, one number does not say which of them are accepted.
        self.threshold_: float = self._region.risk
        # Expected, not drawn: pairs on a randomised boundary count with their
        # probability.
        self.coverage_: float = risk.accepted_mass(self._region, items) / items.n_pairs

    def _rule_of_fit(self) -> Rule:
        """Return the rule that set the threshold, if the parameters still name it."""
        check_is_fitted(self, "threshold_")
        rule = self._rule()
        if (now := _fields_of(rule)) != self._rule_fields:
            then = dict(self._rule_fields)
            got = ", ".join(
                f"{name}={value!r} after {then.get(name)!r}"
                for name, value in now
                if value != then.get(name)
            )
            ways = ["at_coverage", "at_cost", "at_risk"]
            ways = ["fit again", *(way for way in ways if hasattr(self, way))]
            raise ValueError(
                f"Parameters must be those that set the threshold, got {got}: what "
                "would be said here is true of one of them only. Call "
                f"{' or '.join(ways)}."
            )
        return rule

    @property
    def coverage_interval_(self) -> FloatArray:
        """Where the coverage of new queries is expected, in 95 of 100 cases.

        For as many queries as set the threshold, of the same kind; a cluster bootstrap
        over these. It allows for the sampling of queries, not for how the tie model and
        the threshold fit the calibration queries better than new ones. Shape (2,).
        """
        check_is_fitted(self, "threshold_")
        found = self._calibration.accepted_by_query(self._region)
        return coverage_interval(*found, seed=self._calibration.seed)

    def _select(self, rule: Rule) -> Any:
        """Return the region that a rule selects, if it is one."""
        region = self._calibration.select(rule)
        name = f"{type(rule).__name__}.select"
        if not hasattr(region, "risk"):
            raise TypeError(
                f"{name} must return a region, as calibration.risk.select_risk(0.3) "
                f"and select_coverage(calibration.items, 0.8) do, got {region!r}."
            )
        if np.isnan(region.risk):
            raise ValueError(f"{name} must return a region with a threshold, got NaN.")
        return region

    def _warn_of_excess(self, rule: Rule) -> None:
        """Warn where many pairs of one risk are accepted together."""
        if not isinstance(rule, Coverage):
            return
        n_pairs = self._calibration.items.n_pairs
        if self.coverage_ > rule.coverage + _MOST_EXCESS + 1 / n_pairs:
            warn_user(
                f"{self.coverage_:.0%} of the calibration pairs are accepted where "
                f"coverage={rule.coverage:g} was asked for: so many have the same "
                "risk, as pairs of few distinct scores do, and none can be told from "
                "another. Use scores that differ, or boundary='randomize', which "
                "accepts by lot."
            )

    def _warn_of_ties(self) -> None:
        """Warn where the surest answers are ties, which nobody asked for."""
        risk, items = self._calibration.risk, self._calibration.items
        accepted = risk.accepted_mass(self._region, items)
        ties = risk.accepted_tie_mass(self._region, items)
        if accepted and ties >= _MOST_TIES * accepted and self._loss[0, 1] > 0:
            warn_user(
                f"Nearly all accepted pairs are ties: of {accepted:.0f} accepted "
                f"calibration pairs {accepted - ties:.0f} are decided by order. If "
                "only a wrong order costs, pass loss='misranking'; a tie is then an "
                "answer for equal scores alone."
            )

    def _with(self, **params: Any) -> Self:
        """Return a fitted copy with another threshold; nothing is rescored."""
        check_is_fitted(self, "threshold_")
        # Shallow: nothing changes the model or the calibration pairs after fit, so that
        # copies can share them.
        other = copy.copy(self)
        # Parameters first: the rule is built from them, so that get_params of the copy
        # says what its threshold is.
        for name, value in params.items():
            setattr(other, name, value)
        rule = other._rule()
        rule.check(other._loss)
        if rule.tuning_size and self._calibration.tuning is None:
            raise ValueError(
                f"The rule must be {type(rule).__name__} in fit already, got "
                f"{self._rule_fields[0][1]}: what it promises takes queries that did "
                "not fit the tie model, and all of them did. Call fit again."
            )
        other._set_threshold(rule)
        return other


def _fields_of(rule: Rule) -> tuple[tuple[str, Any], ...]:
    """Return what makes a rule, by name: a file with it asks for no more trust."""
    names = [each.name for each in fields(rule)]  # type: ignore[arg-type]
    return ("rule", type(rule).__name__), *((n, getattr(rule, n)) for n in names)


class SelectiveRanker(
    ItemReport,
    NovelItems,
    PairDecider,
    RuleThreshold,
    RanksOpen,
    OperatingPoints,
    ModelWrapper,
    BaseEstimator,
):
    """Ranker that abstains on pairs whose risk is above the threshold of a rule.

    Data flows one way: items are scored, scores become pair probabilities, these
    become a conditional risk, a rule turns calibration risks into a threshold, and the
    threshold decides pairs. `BALToR`, `CostAbstainer` and `RiskControlledRanker` are
    this class with a rule of their own, whose parameters can be searched over.

    Parameters
    ----------
    estimator : object
        A fitted or unfitted ranker: see :class:`BALToR`.
    rule : Rule
        `Coverage`, `GuaranteedCoverage`, `Price` or `CertifiedRisk` of
        `skrank_abstain.selection`, or a rule of your own.
    tie_model, loss, novelty, novelty_level, prefit, calibration_size, relevance_bins,
    qid_col, random_state
        As in :class:`BALToR`.
    verbose : int, default=0
        1 prints a line per fit.

    Attributes
    ----------
    estimator_ : object
        The fitted ranker.
    tie_model_ : TieModel
        The fitted tie model.
    threshold_ : float
        Accepted pairs have a conditional risk of at most this.
    coverage_ : float
        Share of the pairs that set the threshold that are accepted.
    coverage_interval_ : ndarray of shape (2,), float64
        Where the coverage of as many new queries is expected, in 95 of 100 cases;
        computed when it is asked for.
    prefit_ : bool
        Whether the ranker was used as it was.
    n_queries_, n_pairs_ : int
        Queries and pairs that set the threshold.
    n_features_in_ : int
        Number of columns of X, the query column included.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Column names of X, where it has any.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain import SelectiveRanker
    >>> from skrank_abstain.datasets import make_ranking
    >>> from skrank_abstain.selection import Price
    >>> train = make_ranking(n_queries=60, random_state=0)
    >>> ranker = SelectiveRanker(Ridge(), rule=Price(0.4), random_state=0)
    >>> ranker.fit(train.data, train.target, qid=train.qid).threshold_
    0.4
    """

    def __init__(
        self,
        estimator: Any,
        *,
        rule: Rule | None,  # None: the named classes make their own
        tie_model: str | TieModel = "graded_relevance",
        loss: str | ArrayLike | Sequence[Any] = "zero_one",
        novelty: Any = None,
        novelty_level: float = 0.05,
        prefit: bool | str = "auto",
        calibration_size: float = 0.25,
        relevance_bins: int | None = None,
        qid_col: str | int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.rule = rule
        self.tie_model = tie_model
        self.loss = loss
        self.novelty = novelty
        self.novelty_level = novelty_level
        self.prefit = prefit
        self.calibration_size = calibration_size
        self.relevance_bins = relevance_bins
        self.qid_col = qid_col
        self.random_state = random_state
        self.verbose = verbose

    def _rule(self) -> Rule:
        """Return the rule; the one hook of the named classes."""
        return check_rule(self.rule, example="Coverage(0.8)")

    @all_or_nothing
    def fit(self, X: Any, y: ArrayLike, qid: Any = None, **unknown: Any) -> Self:
        """Train the ranker unless it is fitted, then calibrate.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_items, n_features)
            One row per item; goes to the wrapped model untouched.
        y : array-like of shape (n_items,)
            Relevance, higher is better.
        qid : None, scalar or array-like of shape (n_items,), default=None
            Query of each item: any hashable values, in any order. None or a scalar:
            all items are one query.
        **unknown
            None is taken: arguments that other libraries know, such as ``group`` and
            ``sample_weight``, raise with what to do instead.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If a parameter or an input breaks its rule, no calibration query has two
            items, or the model's scores are not finite.
        sklearn.exceptions.NotFittedError
            If ``prefit=True`` and the estimator is not fitted.
        TypeError
            If an argument is unknown.

        Warns
        -----
        OneQueryWarning
            If all rows are one query and a scalar ``qid`` does not say that it is
            meant.
        """
        if unknown:
            refuse_fit_arguments(self, unknown)
        return self._fit(X, y, qid)

    def _fit(self, X: Any, y: Any, qid: Any, groups: Any = None) -> Self:
        # What can be refused is refused before anything is trained.
        rule = self._checked_rule()
        candidates = tie_model_candidates(self.tie_model)
        check_novelty(self.novelty, self.novelty_level)
        items, relevance = take_labelled_items(self, X, y, qid)
        data = train_and_score(
            self, items, relevance, groups=groups, tuning_size=rule.tuning_size
        )
        self._novelty = None
        if self.novelty is not None:
            level = float(self.novelty_level)
            self._novelty, data = find_novel(self.novelty, level, data, items)
        return self._calibrate(rule, candidates, data)

    def _checked_rule(self) -> Rule:
        self._loss = check_loss(self.loss)
        rule = self._rule()
        rule.check(self._loss)
        size = f"{type(rule).__name__}.tuning_size"
        check_fraction(rule.tuning_size, size, include_zero=True)
        return rule

    def _calibrate(
        self, rule: Rule, candidates: list[TieModel], data: CalibrationData
    ) -> Self:
        # All that a rule can ask for is kept: another threshold needs neither the
        # features nor another run of the model.
        parts = data.rest, data.tuning
        self.tie_model_, self._calibration = calibrate(
            candidates, self._loss, *parts, seed=data.seed, groups=data.groups
        )
        self.n_queries_: int = self._calibration.items.n_queries
        self.n_pairs_: int = self._calibration.items.n_pairs
        self._set_threshold(rule)
        self._warn_of_ties()
        self._warn_of_excess(rule)
        if self.verbose:
            print(  # noqa: T201
                f"[{type(self).__name__}] calibrated on {self.n_pairs_} pairs of "
                f"{self.n_queries_} queries: threshold {self.threshold_:.6g}, coverage "
                f"{self.coverage_:.4f}"
            )
        return self

    @property
    def predict_proba(self) -> NoReturn:
        """Refuse: classes are what pairs have, and ``pair_proba`` is for them."""
        # An AttributeError, so that hasattr, which scikit-learn asks, says no.
        raise AttributeError(
            f"{type(self).__name__} has no predict_proba: an item has a score "
            "(predict), and a pair of items has probabilities (pair_proba)."
        )

    def pair_proba(
        self, X: Any, qid: Any = None, *, pairs: ArrayLike | None = None
    ) -> FloatArray:
        """Return the probabilities of the labels -1, 0, +1 of each pair.

        Parameters
        ----------
        X, qid, pairs
            As in ``predict_pairs``.

        Returns
        -------
        proba : ndarray of shape (n_pairs, 3), float64
        """
        return cast("FloatArray", self.predict_pairs(X, qid, pairs=pairs).proba)

    def conditional_risk(
        self, X: Any, qid: Any = None, *, pairs: ArrayLike | None = None
    ) -> FloatArray:
        """Return the expected loss of the prediction for each pair.

        Parameters
        ----------
        X, qid, pairs
            As in ``predict_pairs``.

        Returns
        -------
        risk : ndarray of shape (n_pairs,), float64
            Lower is better. For the zero-one loss one minus the largest probability;
            for equal scores, which are called a tie, one minus that of a tie.
        """
        return cast("FloatArray", self.predict_pairs(X, qid, pairs=pairs).risk)

    def _decision(
        self, X: Any, qid: Any, *, needs_qid: bool = False
    ) -> tuple[PairRisk, ItemValues]:
        items = self._scored(X, qid, needs_qid=needs_qid)
        return self._calibration.risk, items

    def _scored(self, X: Any, qid: Any, *, needs_qid: bool = False) -> ItemValues:
        """Return the items' scores, what the tie model compares, and novel items."""
        items, scores = self._score_items(X, qid, needs_qid=needs_qid)
        values = self.tie_model_.checked_transform(scores, items.queries, items.X)
        novel = None if self._novelty is None else self._novelty.is_novel(items.X)
        return ItemValues(scores, values, items.queries, novel)

    def _labelled_items(self, X: Any, y: ArrayLike, qid: Any) -> ScoredItems:
        check_row_order(X, y=y)
        items = self._scored(X, qid, needs_qid=True)
        return items.sorted(check_relevance(y, items.values.size))
