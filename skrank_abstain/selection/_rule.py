"""Base of the rules: values that turn calibration risks into accepted pairs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import is_dataclass
from typing import Any, NamedTuple

from skrank_abstain._validation import FloatArray, shown
from skrank_abstain.selection._calibration import Calibration
from skrank_abstain.selection._risk_engine import Region


class RuleText(NamedTuple):
    """A rule in the words of a report.

    Attributes
    ----------
    done : str
        How the threshold was set; completes "a pair is decided if its conditional
        risk is at most 0.3 (...)".
    promised : str
        What holds for new queries, and what does not.

    Examples
    --------
    >>> from skrank_abstain.selection import RuleText
    >>> RuleText("the median of the risks", "Nothing is promised.").done
    'the median of the risks'
    """

    done: str
    promised: str


class Rule(ABC):
    """Base of the selection rules: frozen values with two methods.

    ``select`` returns the accepted region, which the calibration's ``engine`` makes
    (``select_coverage``, ``select_risk``). ``in_words`` tells an auditor how the
    threshold was set and what it promises.

    Attributes
    ----------
    tuning_size : float
        Share of the calibration queries that fit the tie model and set no threshold,
        which a promise about new queries needs. 0: all queries do both.

    Examples
    --------
    >>> from skrank_abstain.selection import Coverage, Price, Rule
    >>> isinstance(Coverage(0.8), Rule), Price(0.2)
    (True, Price(cost=0.2))
    """

    tuning_size: float = 0.0

    def check(self, loss: FloatArray) -> None:  # noqa: B027 (most fit any loss)
        """Refuse parameters that make no sense with a loss, before data are seen."""

    @abstractmethod
    def select(self, calibration: Calibration) -> Region:
        """Return the accepted region.

        Parameters
        ----------
        calibration : Calibration
            ``engine``, ``items`` and ``seed``. Where ``tuning_size`` is not 0, the
            queries of the items did not fit the tie model.
        """

    @abstractmethod
    def in_words(self, calibration: Calibration, threshold: float) -> RuleText:
        """Tell how the threshold was set and what it promises."""


#: The promise of a threshold that is only estimated.
ESTIMATE = (
    "The threshold is an estimate. It targets the coverage or the cost; it "
    "does not guarantee an accuracy."
)


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
