"""Base of the estimators whose threshold a selection rule sets."""

from __future__ import annotations

import copy
from dataclasses import fields
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from skrank_abstain._validation import FloatArray
from skrank_abstain.estimators._model_wrapper import ModelWrapper
from skrank_abstain.report import RankerFacts
from skrank_abstain.selection import Calibration, Rule, coverage_interval


class RuleThreshold(ModelWrapper):
    """Base of the estimators whose threshold a selection rule sets.

    ``fit`` sets ``_loss`` and ``_calibration``, then calls ``_set_threshold``.
    """

    _fitted_state: tuple[str, ...] = (
        *("tie_model_", "threshold_", "coverage_", "n_queries_", "n_pairs_"),
        *("_loss", "_calibration", "_region", "_rule_fields"),
    )

    _loss: FloatArray
    _calibration: Calibration
    _region: Any
    #: Whether a tie is among the answers.
    _answers_ties = True

    def _rule(self) -> Rule:
        """Return the rule that the parameters name."""
        raise NotImplementedError

    def _set_threshold(self, rule: Rule) -> None:
        engine, items = self._calibration.engine, self._calibration.items
        self._region = self._calibration.select(rule)
        self._rule_fields = _fields_of(rule)
        # For people to read. Decisions ask the region: where many pairs have the
        # threshold's risk, one number does not say which of them are accepted.
        self.threshold_: float = self._region.risk
        # An expectation: pairs on a randomised boundary count with their probability.
        self.coverage_: float = (
            engine.accepted_mass(self._region, items) / items.n_pairs
        )

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
                f"Parameters must be those that set the threshold, got {got}: the "
                "result would describe only one of the two. Call "
                f"{' or '.join(ways)}."
            )
        return rule

    def _with(self, **params: Any) -> Self:
        """Return a fitted copy with another threshold; nothing is rescored."""
        check_is_fitted(self, "threshold_")
        # A shallow copy: nothing changes the model or the calibration pairs after fit.
        other = copy.copy(self)
        # The rule is built from the parameters, so that get_params of the copy agrees
        # with its threshold.
        for name, value in params.items():
            setattr(other, name, value)
        rule = other._rule()
        rule.check(other._loss)
        if rule.tuning_size and self._calibration.tuning is None:
            raise ValueError(
                f"The rule must be {type(rule).__name__} in fit already, got "
                f"{self._rule_fields[0][1]}: its promise needs queries that did not "
                "fit the tie model, and all of them did. Call fit again."
            )
        other._set_threshold(rule)
        return other

    def _facts(self) -> RankerFacts:
        """Return what a report says about the ranker."""
        return RankerFacts(
            type(self).__name__,
            self.estimator_,
            self.prefit_,
            self._calibration,
            self._region,
            self._rule_of_fit(),
            self._answers_ties,
            getattr(self, "_novelty", None),
        )

    @property
    def coverage_interval_(self) -> FloatArray:
        """A 95 % interval for the coverage of as many new queries.

        New queries of the same kind, as many as set the threshold; from a cluster
        bootstrap over these. It allows for the sampling of queries, but not for the
        tie model and the threshold fitting the calibration queries better than new
        ones. Shape (2,), float64.
        """
        check_is_fitted(self, "threshold_")
        counts = self._calibration.accepted_by_query(self._region)
        return coverage_interval(*counts, seed=self._calibration.seed)


def _fields_of(rule: Rule) -> tuple[tuple[str, Any], ...]:
    """Return a rule's type and fields as plain values, which need no trust to load."""
    names = [each.name for each in fields(rule)]  # type: ignore[arg-type]
    return ("rule", type(rule).__name__), *((n, getattr(rule, n)) for n in names)
