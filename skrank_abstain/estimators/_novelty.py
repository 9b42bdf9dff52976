"""Novel items, unlike those of the calibration queries."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from skrank_abstain._kernels import BoolArray, FloatArray, IntArray
from skrank_abstain._saving import Value
from skrank_abstain._validation import check_fraction, check_numbers, shown
from skrank_abstain._warnings import warn_user
from skrank_abstain.concentration import novelty_pvalues, novelty_pvalues_of_known
from skrank_abstain.intake import CalibrationData, Rows, hold_out
from skrank_abstain.pairs import Scores
from skrank_abstain.scorers import describe, is_fitted

#: Without a detector another level warns.
DEFAULT_LEVEL = 0.05
#: Rounding error of a p-value.
_SLACK = 1e-12


@dataclass(frozen=True, eq=False)
class NoveltyTest(Value):
    """A detector, and how strange it finds items of queries that it has not seen.

    Attributes
    ----------
    detector : object
        Has ``score_samples``, or is a callable.
    level : float
        Items whose p-value is at most this are novel.
    strangeness : ndarray of shape (n_reference,), float64
    queries : ndarray of shape (n_reference,), int64
        Numbers of the queries of these items.
    """

    detector: Any
    level: float
    strangeness: FloatArray
    queries: IntArray

    def pvalues(self, X: Any) -> FloatArray:
        """Return the p-values of new items."""
        found = strangeness(self.detector, X)
        return novelty_pvalues(found, self.strangeness, self.queries)

    def is_novel(self, X: Any) -> BoolArray:
        """Return which items are novel."""
        return self.pvalues(X) <= self.level + _SLACK

    def is_known_novel(self) -> BoolArray:
        """Return which items of the known queries are novel, by all other queries."""
        pvalues = novelty_pvalues_of_known(self.strangeness, self.queries)
        return pvalues <= self.level + _SLACK


def check_novelty(novelty: Any, level: float, groups: Any) -> None:
    """Check the detector and the level, before anything is trained.

    Raises
    ------
    TypeError
        If there is neither ``score_samples`` nor a callable.
    ValueError
        If the level is outside (0, 1), or there are groups of items beside a detector.
    """
    if novelty is None:
        if level != DEFAULT_LEVEL:
            warn_user(
                f"novelty_level={shown(level)} has no effect without a detector, "
                "novelty=: no item is called novel."
            )
        return
    check_fraction(level, "novelty_level")
    if groups is not None:
        raise ValueError(
            f"novelty must be None with groups={groups!r}, got {describe(novelty)}: "
            "coverage by group would count the pairs of novel items, which are never "
            "decided."
        )
    if isinstance(novelty, type):
        raise TypeError(f"novelty must be an instance, got {shown(novelty)}.")
    owner = getattr(novelty, "__self__", None)
    if hasattr(owner, "score_samples"):
        # scikit-learn's functions are higher for usual items: the wrong sign here.
        raise TypeError(
            f"novelty must be the detector, got its method {novelty.__name__}, which "
            f"is lower for stranger items. Pass the {type(owner).__name__} itself."
        )
    if not (hasattr(novelty, "score_samples") or callable(novelty)):
        raise TypeError(
            "novelty must be an outlier detector with score_samples, such as "
            "LocalOutlierFactor(novelty=True), or a function of X that returns more "
            f"for stranger items, got {describe(novelty)}."
        )


def strangeness(detector: Any, X: Any) -> FloatArray:
    """Return how strange a detector finds items; higher is stranger, (n_items,)."""
    if not X.shape[0]:  # detectors refuse it
        return np.zeros(0)
    if hasattr(detector, "score_samples"):
        # The sign of scikit-learn: high for inliers.
        found = -np.asarray(detector.score_samples(X), dtype=np.float64)
    else:
        found = detector(X)
    return check_numbers(found, "what novelty returns", X.shape[0])


def find_novel(
    novelty: Any, level: float, data: CalibrationData, rows: Rows
) -> tuple[NoveltyTest, CalibrationData]:
    """Fit a detector unless it is fitted, and mark novel calibration items.

    ``rows`` are all that ``fit`` got. The reference of the test are the queries that
    fit the tie model: decisions then do not depend on the queries with which a rule
    certifies. Raises ``ValueError`` if there are too few of them.

    An unfitted detector learns from the rows that trained the ranker. With a fitted
    ranker it learns from half of the reference queries, and the other half is the
    reference; to mark the first half, a clone learns from the second.
    """
    known = data.rest if data.tuning is None else data.tuning
    learns = hasattr(novelty, "score_samples") and not is_fitted(novelty)
    trained = np.setdiff1d(np.arange(rows.queries.n_items), data.trained.rows)
    if learns and not trained.size:
        n_queries, codes = known.queries.n_queries, known.queries.codes
        if n_queries < 2:
            raise _too_few(level, 0)
        second = hold_out(n_queries, 0.5, data.seed)[codes]
        novel = np.empty(second.size, dtype=bool)
        for reference in (~second, second):
            part = known.take(np.flatnonzero(~reference))
            items = np.flatnonzero(reference)
            test = _test(clone(novelty).fit(part.X), level, known.take(items))
            novel[items] = test.is_known_novel()
    else:
        detector = clone(novelty).fit(rows.take(trained).X) if learns else novelty
        test = _test(detector, level, known)
        novel = test.is_known_novel()
    known = replace(known, novel=novel)
    if data.tuning is None:
        return test, replace(data, rest=known)
    rest = replace(data.rest, novel=test.is_novel(data.rest.X))
    return test, replace(data, rest=rest, tuning=known)


def _test(detector: Any, level: float, known: Scores) -> NoveltyTest:
    if level * (known.queries.n_queries + 1) < 1 - _SLACK:
        raise _too_few(level, known.queries.n_queries)
    found = strangeness(detector, known.X)
    return NoveltyTest(detector, level, found, known.queries.codes)


def _too_few(level: float, n_queries: int) -> ValueError:
    return ValueError(
        f"novelty_level={level:g} must be at least 1 / (n_queries + 1), which takes "
        f"{math.ceil(1 / level - 1 - _SLACK)} calibration queries that the detector has"
        f" not learned from and that certify nothing, got {n_queries}. Pass more "
        "queries or a higher novelty_level. An unfitted ranker leaves calibration_size "
        "of the queries; of these a certified bound and a guaranteed coverage leave "
        "15 % (tuning_size), and an unfitted detector beside a fitted ranker half."
    )
