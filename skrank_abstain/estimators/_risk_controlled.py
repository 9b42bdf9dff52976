"""RiskControlledRanker: a selective risk that is promised with a stated probability."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import _num_samples

from skrank_abstain._validation import (
    FloatArray,
    IntArray,
    check_choice,
    check_fraction,
    check_loss,
    encode_qid,
)
from skrank_abstain.concentration import certify_risk, choose_start, least_queries
from skrank_abstain.estimators._base import SelectiveRanker
from skrank_abstain.estimators._splitting import divide_queries
from skrank_abstain.pairs import ScoredItems
from skrank_abstain.selection import PairRisk, calibrate
from skrank_abstain.tie_models import LabelledScores, TieModel

#: Thresholds that are tried, at most.
_N_THRESHOLDS = 100


class RiskControlledRanker(SelectiveRanker):
    """Ranker that decides as many pairs as a bound on its errors certifiably allows.

    The labelled queries are divided by purpose. Some train the ranker, unless it is
    fitted. Some fit the tie model and say where to start (tuning). The others, which
    were used for nothing else, certify: a pair is accepted when its conditional risk
    is at most the largest threshold for which the bound is certified. Then, for new
    queries from the same source,

        P(R <= max_risk) >= 1 - delta,  R = E[e_q] / E[a_q],

    where e_q is the loss of the accepted pairs of a query and a_q their number, both
    over the number of its pairs; the probability is over the draw of the certification
    queries. Every query counts alike in R, however many pairs it has.

    Parameters
    ----------
    estimator : object
        A fitted or unfitted ranker: see :class:`BALToR`.
    max_risk : float, default=0.1
        Bound on the selective risk, between 0 and the largest entry of the loss; for
        the zero-one loss the share of wrong decisions among accepted pairs.
    delta : float, default=0.1
        Probability that the bound fails, in (0, 1).
    method : {"wsr", "hoeffding_bentkus"}, default="wsr"
        The test of each threshold: betting [2]_, or the Hoeffding-Bentkus bound [1]_,
        which needs several times as many queries.
    tuning_size : float, default=0.3
        Share of the calibration queries that fit the tie model and choose the start.
    tie_model : str or TieModel, default="bradley_terry"
        How scores become probabilities: see :class:`BALToR`.
    loss : "zero_one" or array-like of shape (3, 3), default="zero_one"
        Loss of a prediction, rows predicted, columns true, both in the order -1, 0,
        +1. Zero diagonal, non-negative, mirror-symmetric.
    prefit : {"auto", True, False}, default="auto"
        Whether ``estimator`` is used as it is: see :class:`BALToR`.
    calibration_size : float, default=0.25
        Share of the queries set aside to calibrate on when the estimator is trained
        here. Certification wants many queries: think of 0.5, or pass a fitted ranker.
    relevance_bins : int, default=None
        Quantile bins of ``y`` for training a booster.
    qid_col : str or int, default=None
        Column of X that holds the query, instead of ``qid=``.
    random_state : int, RandomState instance or None, default=None
        Splits the queries and shuffles those that certify.
    verbose : int, default=0
        1 prints a line per fit.

    Attributes
    ----------
    certified_ : bool
        Whether some threshold was certified. If not, every pair is abstained on.
    threshold_ : float
        Largest accepted conditional risk; minus infinity if nothing was certified.
    coverage_ : float
        Share of the certification pairs that are accepted.
    estimator_, tie_model_, prefit_
        As in :class:`BALToR`.
    n_queries_, n_pairs_ : int
        Number of certification queries and of their pairs.
    n_tuning_queries_ : int
        Number of tuning queries.
    n_group_queries_ : dict
        Number of certification queries of each group; one entry, ``None``, if ``fit``
        got no groups.

    See Also
    --------
    BALToR : A budget of pairs instead of a bound on errors; no promise of accuracy.
    CostAbstainer : A price per abstention.

    Notes
    -----
    With u_q = e_q + max_risk (1 - a_q) the risk exceeds ``max_risk`` exactly if
    E[u_q] does. Thresholds are tested in a fixed sequence [1]_ from one that the tuning
    queries choose to the most permissive, each at level ``delta``, and the walk stops
    at the first that is not certified. The test treats queries, never pairs, as the
    sample: pairs of one query are dependent, and a test that counts them as
    independent fails far more often than it says.

    The promise is about queries like those that certified. It does not hold after the
    population or the ranker has changed, nor for every kind of query by itself. With
    ``groups`` in ``fit`` (the same for all items of a query: sites, departments) one
    threshold is certified for all groups: it passes only if it passes in each of them,
    at level ``delta``. Then all groups keep the bound at once with probability
    ``1 - delta``, and so does any mixture of them. ``delta`` is not divided over the
    groups: for a threshold that breaks the bound in some group to pass, the test of
    that group has to fail. Each group's queries are split by themselves, and every
    group needs its own dozens of certification queries.

    Up to 100 thresholds: O(n log n) for n items.

    References
    ----------
    .. [1] Angelopoulos, Bates, Candes, Jordan and Lei (2021). "Learn then Test:
       Calibrating Predictive Algorithms to Achieve Risk Control". arXiv:2110.01052.
    .. [2] Waudby-Smith and Ramdas (2024). "Estimating means of bounded random variables
       by betting". JRSS B 86(1). arXiv:2010.09686.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain import RiskControlledRanker
    >>> from skrank_abstain.datasets import make_ranking
    >>> train = make_ranking(n_queries=100, random_state=0)
    >>> past = make_ranking(n_queries=400, random_state=1)
    >>> model = Ridge().fit(train.data, train.target)
    >>> ranker = RiskControlledRanker(
    ...     model, max_risk=0.35, tie_model="graded_relevance", random_state=0
    ... )
    >>> ranker = ranker.fit(past.data, past.target, qid=past.qid)
    >>> ranker.certified_
    True
    >>> ranker.at_risk(0.3).coverage_ < ranker.coverage_
    True
    """

    __metadata_request__fit = {"qid": True, "groups": False}  # noqa: RUF012

    def __init__(
        self,
        estimator: Any,
        *,
        max_risk: float = 0.1,
        delta: float = 0.1,
        method: str = "wsr",
        tuning_size: float = 0.3,
        tie_model: Any = "bradley_terry",
        loss: Any = "zero_one",
        prefit: Any = "auto",
        calibration_size: float = 0.25,
        relevance_bins: int | None = None,
        qid_col: str | int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            estimator,
            tie_model=tie_model,
            loss=loss,
            prefit=prefit,
            calibration_size=calibration_size,
            relevance_bins=relevance_bins,
            qid_col=qid_col,
            random_state=random_state,
            verbose=verbose,
        )
        self.max_risk = max_risk
        self.delta = delta
        self.method = method
        self.tuning_size = tuning_size

    def fit(self, X: Any, y: ArrayLike, qid: Any = None, groups: Any = None) -> Self:
        """Train the ranker unless it is fitted, tune, and certify.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_items, n_features)
            One row per item; goes to the wrapped model untouched.
        y : array-like of shape (n_items,)
            Relevance, higher is better.
        qid : array-like of shape (n_items,), default=None
            Query of each item. At least two calibration queries with pairs are needed,
            and several dozen to certify anything.
        groups : array-like of shape (n_items,), default=None
            Kind of query of each item, such as a site; the bound is then certified in
            every group. Each group's queries are split by themselves, the parts that
            calibrate and that certify rounded up.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If a parameter or an input breaks its rule, a query is in two groups, or
            there are too few calibration queries.
        sklearn.exceptions.NotFittedError
            If ``prefit=True`` and the estimator is not fitted.

        Warns
        -----
        UserWarning
            If nothing could be certified.
        """
        if groups is None:
            names: list[Any] = [None]
        else:
            names = encode_qid(groups, _num_samples(X), name="groups")[1].tolist()
        self._group_names = names
        return self._fit(X, y, qid, groups)

    def at_risk(self, max_risk: float) -> Self:
        """Return a fitted copy with another bound.

        Parameters
        ----------
        max_risk : float
            Bound on the selective risk.

        Returns
        -------
        ranker : RiskControlledRanker
            Shares the fitted models and what was measured; nothing is rescored. The
            promise holds for each bound by itself, not for the best of several.
        """
        return self._with(max_risk=max_risk)

    def _check_rule(self) -> None:
        check_fraction(self.delta, "delta")
        check_choice(self.method, "method", ("wsr", "hoeffding_bentkus"))
        check_fraction(self.tuning_size, "tuning_size")
        max_risk: Any = self.max_risk
        if isinstance(max_risk, bool | np.bool_) or not isinstance(max_risk, Real):
            raise TypeError(f"max_risk must be a number, got {max_risk!r}.")
        largest = float(check_loss(self.loss).max())
        if not 0 < float(max_risk) < largest:
            raise ValueError(
                f"max_risk must be between 0 and {largest:g}, the largest loss, both "
                f"excluded, got {max_risk!r}."
            )

    def _calibrate(
        self, candidates: list[TieModel], data: LabelledScores, groups: IntArray
    ) -> None:
        tuning, rest, rest_groups = divide_queries(
            data, groups, self.tuning_size, self._boundary_seed
        )
        self.tie_model_, self._risk, tuned = calibrate(candidates, self._loss, tuning)
        self._items = rest.seen_by(self.tie_model_)
        self._thresholds = thresholds_of(self._risk, tuned)
        largest = float(self._loss.max())
        self._tuned = shares_at(self._risk, tuned, self._thresholds, largest)
        measured = shares_at(self._risk, self._items, self._thresholds, largest)
        # Betting goes through the queries in order; the order must say nothing.
        order = np.random.default_rng(self._boundary_seed).permutation(
            self._items.n_queries
        )
        self._measured = measured[0][order], measured[1][order]
        self._groups = rest_groups[order]
        self.n_queries_ = self._items.n_queries
        self.n_pairs_ = self._items.n_pairs
        self.n_tuning_queries_ = tuned.n_queries
        counts = np.bincount(rest_groups)
        self.n_group_queries_ = {
            name: int(count)
            for name, count in zip(self._group_names, counts, strict=False)
            if count
        }

    def _select(self, risk: PairRisk, items: ScoredItems) -> Any:
        max_risk = self.max_risk / float(self._loss.max())
        start = choose_start(*self._tuned, max_risk=max_risk)
        found = certify_risk(
            *self._measured,
            start,
            max_risk=max_risk,
            delta=self.delta,
            method=self.method,
            groups=self._groups,
        )
        self.certified_ = found is not None
        if found is None:
            warnings.warn(
                f"No threshold could be certified for max_risk={self.max_risk:g} at "
                f"delta={self.delta:g} on {self.n_queries_} queries: every pair is "
                f"abstained on. {self._advice(max_risk)}",
                stacklevel=5,
            )
            return risk.select_risk(-np.inf)
        return risk.select_risk(float(self._thresholds[found]))

    def _advice(self, max_risk: float) -> str:
        """Say what would help, by what stands in the way."""
        name, count = min(self.n_group_queries_.items(), key=lambda entry: entry[1])
        least = least_queries(max_risk, self.delta)
        more = "" if self.prefit_ else ", a larger calibration_size or a fitted ranker"
        if count >= least:
            return (
                f"Pass more labelled queries{more}, or a better tie model, or allow a "
                "larger max_risk or delta."
            )
        where = "" if name is None else f" in each group, and {name!r} has {count}"
        return (
            f"Even without a single error this takes {least} certification queries"
            f"{where}. Pass more labelled queries{more}, or allow a larger max_risk or "
            "delta."
        )

    def _rule_in_words(self) -> str:
        if not self.certified_:
            return f"no threshold was certified for a risk of {self.max_risk:g}"
        return (
            f"certified: selective risk at most {self.max_risk:g} with probability "
            f"{1 - self.delta:g}"
        )

    def _promise_in_words(self) -> str:
        tested = [
            f"method: {self.method!r} with max_risk = {self.max_risk:g} and delta = "
            f"{self.delta:g}, on {self.n_queries_} certification queries "
            f"({self.n_pairs_} pairs) that were used for nothing else; "
            f"{self.n_tuning_queries_} others fitted the tie model and chose where the "
            "search starts"
        ]
        if None not in self.n_group_queries_:
            counts = self.n_group_queries_.items()
            tested.append(
                "groups: "
                + ", ".join(f"{name} ({count} queries)" for name, count in counts)
                + "; the bound is for each of them at once"
            )
        if not self.certified_:
            verdict = ["NOT CERTIFIED. Nothing is decided, so nothing is promised."]
        else:
            verdict = [
                f"CERTIFIED. With a probability of at least {1 - self.delta:g}, over "
                "the draw of the certification queries, the selective risk on new "
                f"queries is at most {self.max_risk:g}: the mean loss of the decided "
                "pairs (zero-one loss: the share of them that is wrong), each query "
                "counting alike.",
                'The row "selective risk ... each query counting alike" below '
                "estimates this risk on these data. Rows that count each pair alike "
                "may lie on the other side of the bound.",
            ]
        return "\n- ".join([verdict[0], *tested, *verdict[1:]])


def thresholds_of(risk: PairRisk, items: ScoredItems) -> FloatArray:
    """Return thresholds that accept evenly spaced shares of the tuning pairs."""
    profile = risk.profile(items)
    wanted = np.arange(1, _N_THRESHOLDS) / _N_THRESHOLDS
    at = np.searchsorted(profile.coverage, wanted)
    return np.unique(np.append(profile.risk[at], risk.highest))


def shares_at(
    risk: PairRisk, items: ScoredItems, thresholds: FloatArray, largest: float
) -> tuple[FloatArray, FloatArray]:
    """Return accepted pairs and their loss as shares of each query's pairs."""
    accepted, cost = risk.at_thresholds(items, thresholds)
    pairs = items.pair_counts[:, None]
    return accepted / pairs, cost / (largest * pairs)
