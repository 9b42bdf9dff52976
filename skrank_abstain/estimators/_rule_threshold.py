"""The threshold of an estimator, set by a rule."""

from __future__ import annotations

import copy
from dataclasses import is_dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skrank_abstain._validation import FloatArray, shown
from skrank_abstain._warnings import warn_user
from skrank_abstain.selection import Calibration, Rule

#: Share of ties among the accepted pairs from which on `fit` says so.
_MOST_TIES = 0.95


def check_rule(rule: Any, *, example: str, optional: bool = False) -> Rule:
    """Return ``rule`` if it is one; ``example`` is what the message shows.

    Raises
    ------
    TypeError
        If it is not a rule, or not a value.
    """
    if not isinstance(rule, Rule):
        raise TypeError(
            f"rule must be {'None or ' if optional else ''}a rule of "
            f"skrank_abstain.selection, such as {example}, got {shown(rule)}."
        )
    kind: type = type(rule)
    if not is_dataclass(kind):
        raise TypeError(
            "rule must be a value: put @dataclass(frozen=True) before the class "
            f"{kind.__name__}."
        )
    return rule


class RuleThreshold:
    """Mixin of the estimators whose threshold is set by a rule.

    ``fit`` sets ``_loss`` and ``_calibration``, then calls ``_set_threshold``.
    """

    _loss: FloatArray
    _calibration: Calibration

    def _rule(self) -> Rule:
        """Return the rule that the parameters name."""
        raise NotImplementedError

    def _set_threshold(self, rule: Rule) -> None:
        risk, items = self._calibration.risk, self._calibration.items
        self._region = self._select(rule)
        # For people to read. Decisions ask the region: where many pairs have the
        # threshold's risk, one number does not say which of them are accepted.
        self.threshold_ = self._region.risk
        # Expected, not drawn: pairs on a randomised boundary count with their
        # probability.
        self.coverage_ = risk.accepted_mass(self._region, items) / items.n_pairs

    def _select(self, rule: Rule) -> Any:
        """Return the region that a rule selects, if it is one."""
        region = rule.select(self._calibration)
        name = f"{type(rule).__name__}.select"
        if not hasattr(region, "risk"):
            raise TypeError(
                f"{name} must return a region, as calibration.risk.select_risk(0.3) "
                f"and select_coverage(calibration.items, 0.8) do, got {region!r}."
            )
        if np.isnan(region.risk):
            raise ValueError(f"{name} must return a region with a threshold, got NaN.")
        return region

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
        other._set_threshold(rule)
        return other
