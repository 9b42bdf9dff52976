"""What every estimator that wraps a ranker shares: training it, or leaving it be."""

from __future__ import annotations

import copy
from contextlib import suppress
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted

from skrank_abstain._validation import FloatArray, IntArray, check_fraction
from skrank_abstain.estimators._items import Items, check_columns, take_items
from skrank_abstain.estimators._splitting import split_for_calibration
from skrank_abstain.scorers import (
    describe,
    fit_ranker,
    freeze,
    is_fitted,
    library_of,
    resolve_model,
    score_items,
)


class RankerWrapper(MetaEstimatorMixin, BaseEstimator):
    """An estimator around a ranker that scores items.

    A fitted ranker is used as it is and survives ``clone``; an unfitted one is trained
    on a part of the queries, and the rest is left to calibrate on.
    """

    __metadata_request__fit = {"qid": True}  # noqa: RUF012 (read by scikit-learn)
    __metadata_request__score = {"qid": True}  # noqa: RUF012

    estimator: Any
    prefit: Any
    calibration_size: float
    relevance_bins: int | None
    qid_col: str | int | None

    def _fit_estimator(
        self, items: Items, y: FloatArray, seed: int, groups: IntArray | None = None
    ) -> IntArray:
        """Set ``estimator_``, and return the rows that are left to calibrate on."""
        model = resolve_model(self.estimator)
        self.prefit_ = self._is_prefit(model)
        if self.prefit_:
            self.estimator_ = model
            return np.arange(y.size)
        check_fraction(self.calibration_size, "calibration_size")
        train, calibration = split_for_calibration(
            items.queries, self.calibration_size, seed, groups
        )
        part = items.take(train)
        self.estimator_ = fit_ranker(
            model, part.X, y[train], part.queries, relevance_bins=self.relevance_bins
        )
        return calibration

    def _is_prefit(self, model: Any) -> bool:
        if isinstance(self.prefit, bool | np.bool_):
            if self.prefit and not is_fitted(model):
                raise NotFittedError(
                    f"prefit=True needs a fitted estimator, got {describe(model)}, "
                    "which is not fitted. If it was fitted once, it lost its fit when "
                    "it was cloned: wrap it in sklearn.frozen.FrozenEstimator."
                )
            return bool(self.prefit)
        if self.prefit != "auto":
            raise ValueError(
                f"prefit must be 'auto', True or False, got {self.prefit!r}."
            )
        return is_fitted(model)

    def predict(self, X: Any) -> FloatArray:
        """Return the wrapped ranker's score of each item.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_items, n_features)

        Returns
        -------
        scores : ndarray of shape (n_items,), float64
            Higher is better. One value per *item*: decisions about pairs come from
            ``predict_pairs``.
        """
        check_is_fitted(self, "estimator_")
        if self.qid_col is None:
            return score_items(self.estimator_, check_columns(self, X, reset=False))
        return self._score_items(X, None)[1]

    def decision_function(self, X: Any) -> FloatArray:
        """Return the item scores of ``predict``; scikit-learn's scorers ask for it.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_items, n_features)

        Returns
        -------
        scores : ndarray of shape (n_items,), float64
            Higher is better.
        """
        return self.predict(X)

    def _score_items(
        self, X: Any, qid: Any, *, needs_qid: bool = False
    ) -> tuple[Items, FloatArray]:
        check_is_fitted(self, "estimator_")
        items = take_items(self, X, qid, self.qid_col, reset=False)
        if needs_qid and self._fitted_with_qid and not items.has_qid:
            raise ValueError(
                "qid= must be given to score, since fit got one: without it rows of "
                "different queries would be compared. Pass qid=, request it through "
                "metadata routing, or name a column of X with qid_col=."
            )
        return items, score_items(self.estimator_, items.X)

    def set_params(self, **params: Any) -> Self:
        """Set parameters of this estimator or of the wrapped one.

        Parameters
        ----------
        **params : dict
            Names and values; ``estimator__<name>`` reaches the wrapped ranker.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If a parameter of a fitted ranker is set that would not be refitted.
        """
        inner = [name for name in params if name.startswith("estimator__")]
        prefit = params.get("prefit", self.prefit)
        model = params.get("estimator", self.estimator)
        if inner and prefit is not False and is_fitted(model):
            raise ValueError(
                f"{inner[0]} must not be set on a fitted estimator that is used as it "
                "is: the change would have no effect. Pass prefit=False to refit it."
            )
        super().set_params(**params)
        return self

    def __sklearn_clone__(self) -> Self:
        # A fitted model stays fitted: clone() would throw its fit away.
        params = self.get_params(deep=False)
        model = params.pop("estimator")
        keep = self.prefit is not False and is_fitted(model)
        cloned = type(self)(
            freeze(model) if keep else clone(model, safe=False),
            **{name: clone(value, safe=False) for name, value in params.items()},
        )
        if hasattr(self, "_metadata_request"):
            cloned._metadata_request = copy.deepcopy(self._metadata_request)
        return cloned

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        with suppress(AttributeError, TypeError):  # a raw booster, or a path
            tags.input_tags = copy.copy(get_tags(self.estimator).input_tags)
        if library_of(self.estimator):
            # All three take missing values; not all of their releases say so.
            tags.input_tags.allow_nan = True
        return tags
