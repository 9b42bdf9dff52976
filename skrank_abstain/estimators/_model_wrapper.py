"""What every estimator around a model shares: training it, or leaving it be."""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import Tags, get_tags

from skrank_abstain._saving import Saved
from skrank_abstain._validation import IntArray, check_fraction, shown
from skrank_abstain.intake import TrainingRecord
from skrank_abstain.scorers import (
    describe,
    freeze,
    is_fitted,
    library_of,
    of_cluster,
    resolve_model,
)


class ModelWrapper(Saved, MetaEstimatorMixin, BaseEstimator):
    """Mixin of the estimators around a model, given as ``estimator``.

    A fitted model is used as it is and survives ``clone``; an unfitted one is trained
    on a part of the rows, and the rest is left to calibrate on.
    """

    # Defaults of the class: under metadata routing nobody has to call set_fit_request.
    __metadata_request__fit = {"qid": True}  # noqa: RUF012 (read by scikit-learn)
    __metadata_request__score = {"qid": True}  # noqa: RUF012

    _fitted_state: tuple[str, ...] = (
        "estimator_",
        "prefit_",
        "n_features_in_",
        "_fit_rows",
    )

    estimator: Any
    prefit: Any
    calibration_size: float
    #: Whether a row of X describes an item, and equal rows are the same item.
    _rows_are_items = True

    def _train_or_take(
        self,
        n_rows: int,
        split: Callable[[float], tuple[IntArray, IntArray]],
        train: Callable[[Any, IntArray], Any],
    ) -> tuple[Any, bool, IntArray]:
        """Return the fitted model, whether it came fitted, and rows to calibrate on.

        Parameters
        ----------
        n_rows : int
        split : callable
            Takes ``calibration_size`` and returns rows to train and to calibrate on.
        train : callable
            Takes the model and the rows to train on, and returns a fitted clone.
        """
        model = resolve_model(self.estimator)
        if self._is_prefit(model):
            # Nothing is trained here, so that every labelled row can calibrate.
            return model, True, np.arange(n_rows)
        # Not before: with a fitted model calibration_size is never read.
        check_fraction(self.calibration_size, "calibration_size")
        training, calibration = split(self.calibration_size)
        return train(model, training), False, calibration

    def _take_over(self, record: TrainingRecord) -> None:
        """Set all that ``fit`` learned before calibration."""
        self.__dict__.update(record.columns)
        self.estimator_, self.prefit_ = record.model, record.prefit
        self._fitted_with_qid = record.several_queries
        self._largest_query = record.largest_query
        self._fit_rows = record.repeats

    def _is_prefit(self, model: Any) -> bool:
        # Grids of a search are often arrays, whose truth values are numpy's.
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
                f"prefit must be 'auto', True or False, got {shown(self.prefit)}."
            )
        return is_fitted(model)

    def set_params(self, **params: Any) -> Self:
        """Set parameters of this estimator or of the wrapped one.

        Parameters
        ----------
        **params : dict
            Names and values; ``estimator__<name>`` reaches the wrapped model.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If a parameter of a fitted model is set that would not be refitted.
        """
        inner = [name for name in params if name.startswith("estimator__")]
        for name in params:
            if name.startswith("rule__"):
                raise ValueError(
                    f"{name} must not be set: a rule is a value. Pass another one as "
                    "rule=, or search over several, as {'rule': [Coverage(0.5), ...]}."
                )
        prefit = params.get("prefit", self.prefit)
        model = params.get("estimator", self.estimator)
        # Else a search over estimator__... would score one and the same fit many times.
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
        others = {name: clone(value, safe=False) for name, value in params.items()}
        # So does a fitted detector of novel items.
        detector = params.get("novelty")
        if hasattr(detector, "score_samples") and is_fitted(detector):
            others["novelty"] = freeze(detector)
        cloned = type(self)(
            freeze(model) if keep else clone(model, safe=False), **others
        )
        # Requests are no parameters; clone() copies them in this way, but not for
        # classes that clone themselves.
        if hasattr(self, "_metadata_request"):
            cloned._metadata_request = copy.deepcopy(self._metadata_request)
        return cloned

    def __getstate__(self) -> dict[str, Any]:
        saved = self
        # What is saved needs no cluster: models of Spark cannot be pickled, and those
        # of Dask cannot be read without it.
        if of_cluster(self.estimator) and is_fitted(self.estimator):
            saved = copy.copy(self)
            prefit = getattr(self, "prefit_", False)
            saved.estimator = (
                saved.estimator_ if prefit else resolve_model(self.estimator)
            )
        return super(ModelWrapper, saved).__getstate__()

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        with suppress(AttributeError, TypeError):  # a raw booster, or a path
            tags.input_tags = copy.copy(get_tags(self.estimator).input_tags)
        if library_of(self.estimator):
            # All three take missing values; not all of their releases say so.
            tags.input_tags.allow_nan = True
        return tags
