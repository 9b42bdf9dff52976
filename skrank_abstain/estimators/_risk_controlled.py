"""RiskControlledRanker: a certified bound on the selective risk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from skrank_abstain._transaction import all_or_nothing
from skrank_abstain.estimators._selective_ranker import SelectiveRanker
from skrank_abstain.selection import CertifiedRisk, Rule
from skrank_abstain.tie_models import TieModel


class RiskControlledRanker(SelectiveRanker):
    """Ranker that decides as many pairs as a bound on its errors certifiably allows.

    The labelled queries are divided. Some train the ranker, unless it is fitted. Some
    fit the tie model and choose where the search starts (tuning). The others certify
    and do nothing else: a pair is accepted when its conditional risk is at most the
    largest threshold for which the bound is certified. Then, for new queries from the
    same source,

        P(R <= max_risk) >= 1 - delta,  R = E[e_q] / E[a_q],

    where e_q is the loss of the accepted pairs of a query and a_q their number, both
    over the number of its pairs; the probability is over the draw of the certification
    queries. Every query counts alike in R, however many pairs it has; with
    ``weighting="pairs"`` every pair does, R = E[N_q e_q] / E[N_q a_q] for queries of
    N_q pairs.

    Parameters
    ----------
    estimator : object
        A fitted or unfitted ranker: see :class:`BALToR`.
    max_risk : float, default=0.1
        Bound on the selective risk, between 0 and the largest entry of the loss; for
        the misranking loss the share of wrong orders among accepted pairs, for the
        zero-one loss that of wrong decisions.
    delta : float, default=0.1
        Probability that the bound fails, in (0, 1).
    tuning_size : float, default=0.3
        Share of the calibration queries that fit the tie model and choose the start.
    weighting : {"queries", "pairs"}, default="queries"
        What counts alike in the risk.
    largest_query : int, default=None
        For ``weighting="pairs"``: items of the largest query that may ever come, at
        least 2. Larger ones are refused, by ``fit`` and by all methods that decide.
    calibration_size : float, default=0.25
        As in :class:`BALToR`. Certification needs many queries: think of 0.5, or pass a
        fitted ranker.
    random_state : int, RandomState instance or None, default=None
        Splits the queries and shuffles those that certify.
    tie_model, loss, novelty, novelty_level, prefit, relevance_bins, qid_col, verbose
        As in :class:`BALToR`.

    Attributes
    ----------
    certified_ : bool
        Whether a threshold was certified. If not, every pair is abstained on.
    threshold_ : float
        Largest accepted conditional risk; minus infinity if nothing was certified.
    coverage_ : float
        Share of the certification pairs that are accepted.
    n_queries_, n_pairs_ : int
        Number of certification queries and of their pairs.
    n_tuning_queries_ : int
        Number of tuning queries.
    n_group_queries_ : dict
        Number of certification queries of each group; one entry, ``None``, if ``fit``
        got no groups.
    estimator_, tie_model_, coverage_interval_, highest_coverage_, prefit_, \
n_features_in_, feature_names_in_
        As in :class:`BALToR`.

    See Also
    --------
    BALToR : A budget of pairs instead of a bound on errors; no promise of accuracy.
    CostAbstainer : A price per abstention.

    Notes
    -----
    With u_q = e_q + max_risk (1 - a_q) the risk exceeds ``max_risk`` exactly if
    E[u_q] does. Thresholds are tested in a fixed sequence [1]_, from one that the
    tuning queries choose to the most permissive, each by betting [2]_ at level
    ``delta``, until one is not certified. The sample are queries, never pairs: pairs
    of one query are dependent, and a test that counts them as independent fails far
    more often than it says.

    The promise is about queries like those that certified. It does not hold after the
    population or the ranker has changed, nor for every kind of query by itself. With
    ``groups`` in ``fit`` (the same for all items of a query: sites, departments) a
    threshold is certified only if it passes in every group at level ``delta``. Then all
    groups, and any mixture of them, keep the bound at once with probability
    ``1 - delta``. ``delta`` is not divided by the number of groups: a threshold that
    breaks the bound in some group passes only if the test of that group errs. Every
    group needs dozens of certification queries of its own.

    With ``weighting="pairs"`` and M pairs in the largest query allowed, e_q and a_q are
    multiplied by N_q / M and tested in the same way. The smaller most queries are
    beside the largest one, the less is certified.

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
    >>> ranker = RiskControlledRanker(model, max_risk=0.1, random_state=0)
    >>> ranker = ranker.fit(past.data, past.target, qid=past.qid)
    >>> ranker.certified_
    True
    >>> ranker.at_risk(0.08).coverage_ < ranker.coverage_
    True
    """

    # Groups are not requested by default: under routing those of a splitter such as
    # GroupKFold would arrive here, and the bound would have to hold in each.
    __metadata_request__fit = {"qid": True, "groups": False}  # noqa: RUF012

    def __init__(
        self,
        estimator: Any,
        *,
        max_risk: float = 0.1,
        delta: float = 0.1,
        tuning_size: float = 0.3,
        weighting: str = "queries",
        largest_query: int | None = None,
        tie_model: str | TieModel = "graded_relevance",
        loss: str | ArrayLike | Sequence[Any] = "misranking",
        novelty: Any = None,
        novelty_level: float = 0.05,
        prefit: bool | str = "auto",
        calibration_size: float = 0.25,
        relevance_bins: int | None = None,
        qid_col: str | int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            estimator,
            rule=None,  # as in BALToR
            tie_model=tie_model,
            loss=loss,
            novelty=novelty,
            novelty_level=novelty_level,
            prefit=prefit,
            calibration_size=calibration_size,
            relevance_bins=relevance_bins,
            qid_col=qid_col,
            random_state=random_state,
            verbose=verbose,
        )
        self.max_risk = max_risk
        self.delta = delta
        self.tuning_size = tuning_size
        self.weighting = weighting
        self.largest_query = largest_query

    @all_or_nothing
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        qid: Any = None,
        groups: Any = None,
    ) -> Self:
        """Train the ranker unless it is fitted, tune, and certify.

        Parameters
        ----------
        X, y
            As in ``BALToR.fit``.
        qid : array-like of shape (n_items,), default=None
            Query of each item. At least two calibration queries with pairs are needed,
            and several dozen to certify anything.
        groups : array-like of shape (n_items,), default=None
            Kind of query of each item, such as a site; the bound is then certified in
            every group. The queries of each group are split separately, and the numbers
            that calibrate and that certify are rounded up.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError, TypeError, sklearn.exceptions.NotFittedError
            If a parameter or an input breaks its rule, a query is in two groups, or
            there are too few calibration queries.

        Warns
        -----
        UserWarning
            If nothing could be certified, or if, on the certification queries, the
            selective risk by pairs exceeds that by queries by more than half, or the
            reverse, beyond chance (5 %).
        """
        return self._fit(X, y, qid, groups)

    def _rule(self) -> Rule:
        return CertifiedRisk(
            self.max_risk,
            delta=self.delta,
            tuning_size=self.tuning_size,
            weighting=self.weighting,
            largest_query=self.largest_query,
        )

    @property
    def certified_(self) -> bool:
        """Whether a threshold was certified."""
        check_is_fitted(self, "threshold_")
        # No risk is negative: a threshold of minus infinity accepts nothing.
        return bool(self.threshold_ > -np.inf)

    @property
    def n_tuning_queries_(self) -> int:
        """Number of tuning queries."""
        check_is_fitted(self, "threshold_")
        tuning = self._calibration.tuning
        return 0 if tuning is None else tuning.n_queries

    @property
    def n_group_queries_(self) -> dict[Any, int]:
        """Number of certification queries of each group."""
        check_is_fitted(self, "threshold_")
        return self._calibration.group_counts()
