"""SelectiveRanker with one rule each, whose parameters can be searched over."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from skrank_abstain import selection
from skrank_abstain._saving import all_or_nothing
from skrank_abstain.estimators._selective_ranker import SelectiveRanker
from skrank_abstain.tie_models import TieModel


class BALToR(SelectiveRanker):
    """Ranker that decides a chosen share of pairs and hands the riskiest to a person.

    Wraps a ranker that scores items. A tie model turns the scores of two items into the
    probabilities of their order, and these into a conditional risk. A pair is accepted
    when its risk is at most the ``coverage`` quantile of the risks of the calibration
    pairs (Algorithm 1 of [1]_); the other pairs are abstained on.

    Parameters
    ----------
    estimator : object
        A fitted or unfitted ``XGBRanker``, ``LGBMRanker`` or ``CatBoostRanker``; a raw
        booster, or the path of a file that one of the three saved; or any scikit-learn
        estimator or Pipeline that scores items by ``decision_function`` or
        ``predict``. Higher scores are better.
    coverage : float, default=0.8
        Target share of accepted pairs, in (0, 1]. 1 accepts every pair.
    tie_model : str or TieModel, default="graded_relevance"
        How scores become probabilities: "graded_relevance", "bradley_terry",
        "davidson", "thurstone_mosteller", "isotonic_difference",
        "feature_aware_relevance", or an instance from `skrank_abstain.tie_models`.
    loss : {"misranking", "clear_order", "zero_one"} or array-like (3, 3), \
default="misranking"
        With "misranking" a wrong order costs 1, and so does a tie between items that
        differ, ``[[0, 0, 1], [1, 0, 1], [1, 0, 0]]``; only equal scores are predicted a
        tie. With "clear_order" an order of equals is a mistake and a tie hardly an
        answer, ``[[0, 1, 1], [10, 0, 10], [1, 1, 0]]``. With "zero_one", the loss of
        [1]_, a tie is an answer like the others. A matrix has a row per prediction and
        a column per truth, both in the order -1, 0, +1; zero diagonal, non-negative,
        mirror-symmetric.
    novelty : outlier detector or callable, default=None
        Pairs with an item unlike the calibration items are abstained on. A detector
        with ``score_samples``, such as ``EllipticEnvelope(support_fraction=1.0)``,
        ``LocalOutlierFactor(novelty=True)`` or a Pipeline that ends in one, or a
        function of X that is higher for stranger items, such as the
        ``decision_function`` of a PyOD detector. A fitted one is used as it is, and
        must not have seen the rows given here; an unfitted one learns from the rows
        that train the ranker, or, if that comes fitted, from half of the calibration
        queries.
    novelty_level : float, default=0.05
        Items whose p-value (``novelty_pvalues``) is at most this are novel; at most
        this share of usual items is, each query counting alike. In (0, 1), at least
        1 / (n_queries + 1).
    boundary : {"accept", "randomize"}, default="accept"
        Pairs of exactly the threshold risk are all accepted, or each with the
        probability that makes the calibration coverage exact (Theorem 3.2 of [1]_). The
        draw of a pair is a hash of ``random_state`` and its two rows: equal rows share
        their draws.
    quantile : {"inverted_cdf", "linear"}, default="inverted_cdf"
        An order statistic, or numpy's linear interpolation, which the experiments of
        [1]_ seem to use.
    coverage_guarantee : {None, "hierarchical"}, default=None
        None takes the plain quantile of [1]_. ``"hierarchical"`` takes the
        hierarchical conformal quantile [2]_ on calibration queries that did not fit
        the tie model (85 % of them): a random pair of a new query from the same source
        is accepted with a probability of at least ``coverage``, for any number of
        queries. Fewer than ``coverage / (1 - coverage)`` queries accept every pair.
    groups : str or int, default=None
        Column of X with the group of each item, such as a sex or a site, which the
        model does not see. Each pair of groups, and each group by itself, gets its own
        threshold, so that no group is decided less often than another. Needs the plain
        quantile; excludes ``novelty`` and ``review``.
    weighting : {"queries", "pairs"}, default="queries"
        Whether all queries or all pairs count alike in the guarantee. With "pairs", at
        least a share ``coverage`` of the pairs of new queries is accepted in
        expectation. The plain quantile pools pairs, and allows only "queries".
    largest_query : int, default=None
        For ``weighting="pairs"``: items of the largest query to expect. ``fit`` and
        all methods that decide refuse larger ones.
    prefit : {"auto", True, False}, default="auto"
        Whether ``estimator`` is used as it is and only calibrated. ``"auto"`` does so
        if it is fitted; True insists on it; False always refits a clone. Scores on
        the rows that trained a fitted ranker are too good: calibrating or
        cross-validating on them is leakage.
    calibration_size : float, default=None
        Share of the queries set aside to calibrate on when the estimator is trained
        here; of the items, if there is only one query. None: see ``cv``.
    cv : int, splitter by groups or iterable of (train, test), default=None
        How an estimator that is trained here is calibrated on all queries: it is
        fitted on all of them, and tie model and threshold come from scores that
        models of the other folds give, in the units of the final model. An int is a
        number of folds of whole queries. None: 5 folds for 5 to 199 queries, which
        takes 5 to 6 times as long to fit; otherwise, and where something is promised
        (``coverage_guarantee``, ``novelty``), a quarter of the queries is set aside,
        as by ``calibration_size=0.25``. Not read with a fitted estimator.
    relevance_bins : int, default=None
        Quantile bins of ``y`` for training a booster, which wants few integer grades.
        Needed when ``y`` has more than 31 distinct values. Pairs are always labelled
        by the raw ``y``.
    qid_col : str or int, default=None
        Column of X that holds the query, instead of ``qid=``. It is taken out first:
        positions of columns in a pipeline inside count without it.
    random_state : int, RandomState instance or None, default=None
        Splits the queries and draws pairs on the boundary.
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
        Share of calibration pairs accepted.
    coverage_interval_ : ndarray of shape (2,), float64
        A 95 % interval for the coverage of as many new queries; computed on access.
    calibration_totals_ : PairTotals
        What happens to the calibration pairs, by query: wrong orders without a test
        set.
    highest_coverage_ : float
        Largest share of the calibration pairs that can be accepted: 1 unless some have
        a novel item.
    prefit_ : bool
        Whether the ranker came fitted.
    n_folds_ : int
        Folds whose models gave the scores that were calibrated; 0 if the ranker did.
    n_queries_, n_pairs_ : int
        Number of queries and pairs calibrated on.
    n_features_in_ : int
        Number of columns of X, the query column included.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Column names of X, if it has any.

    See Also
    --------
    skrank_abstain.tie_models.GradedRelevance : The default tie model.
    skrank_abstain.metrics.selective_utility : A score to choose ``coverage`` by.

    Notes
    -----
    *Folds* (``cv``) follow ``CalibratedClassifierCV(ensemble=False)``. A score s of the
    model without fold k becomes m + (s - m_k) sd / sd_k, with mean and deviation of
    each model's scores on the rows that trained it. Predictions, files and their size
    are those of one model. Places with a ``confidence`` need queries that no model has
    seen: pass ``calibration_size``.

    The plug-in rule targets the coverage and is optimal if the probabilities are
    right. It carries no finite-sample guarantee: the coverage on new queries is close
    to the target if they are exchangeable with the calibration queries.

    Equal scores carry no order: such a pair is predicted a tie. Differences within
    ``8 * eps * max|calibration score|`` count as equal, here and on the
    threshold. A decision depends on the two items of the pair alone, unless the tie
    model looks at the whole query, as `FeatureAwareRelevance` does where features are
    in use (``weights_[1]`` is not 0).

    References
    ----------
    .. [1] Ferrara, Pugnana, Bonchi and Ruggieri (2025). "Bounded-Abstention Pairwise
       Learning to Rank". arXiv:2505.23437.
    .. [2] Lee, Barber and Willett (2023). "Distribution-free inference with
       hierarchical data". arXiv:2306.06342.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain import BALToR
    >>> from skrank_abstain.datasets import make_ranking
    >>> train = make_ranking(n_queries=60, random_state=0)
    >>> ranker = BALToR(Ridge(), coverage=0.7, random_state=0)
    >>> ranker = ranker.fit(train.data, train.target, qid=train.qid)
    >>> new = train.data[train.qid == 0]
    >>> ranker.predict(new).shape  # one score per item
    (17,)
    >>> ranker.abstain(new).shape  # one value per pair
    (136,)
    """

    def __init__(
        self,
        estimator: Any,
        *,
        coverage: float = 0.8,
        tie_model: str | TieModel = "graded_relevance",
        loss: str | ArrayLike | Sequence[Any] = "misranking",
        novelty: Any = None,
        novelty_level: float = 0.05,
        boundary: str = "accept",
        quantile: str = "inverted_cdf",
        coverage_guarantee: str | None = None,
        groups: str | int | None = None,
        weighting: str = "queries",
        largest_query: int | None = None,
        prefit: bool | str = "auto",
        calibration_size: float | None = None,
        cv: Any = None,
        relevance_bins: int | None = None,
        qid_col: str | int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            estimator,
            rule=None,  # built in _rule, so that set_params reaches it
            tie_model=tie_model,
            loss=loss,
            novelty=novelty,
            novelty_level=novelty_level,
            prefit=prefit,
            calibration_size=calibration_size,
            cv=cv,
            relevance_bins=relevance_bins,
            qid_col=qid_col,
            random_state=random_state,
            verbose=verbose,
        )
        self.coverage = coverage
        self.boundary = boundary
        self.quantile = quantile
        self.coverage_guarantee = coverage_guarantee
        self.groups = groups
        self.weighting = weighting
        self.largest_query = largest_query

    def _rule(self) -> selection.Rule:
        plain = selection.Coverage(
            self.coverage,
            boundary=self.boundary,
            quantile=self.quantile,
            groups=self.groups,
        )
        if self.coverage_guarantee is None:
            if (self.weighting, self.largest_query) != ("queries", None):
                raise ValueError(
                    "weighting and largest_query must go with coverage_guarantee="
                    f"'hierarchical', got weighting={self.weighting!r} without it: "
                    "leave them out, and every calibration pair counts alike."
                )
            return plain
        if self.coverage_guarantee != "hierarchical":
            raise ValueError(
                "coverage_guarantee must be None or 'hierarchical', got "
                f"{self.coverage_guarantee!r}."
            )
        # Any other boundary or quantile than the default would have no effect.
        if plain != selection.Coverage(self.coverage):
            raise ValueError(
                "coverage_guarantee='hierarchical' must go with the defaults of "
                f"boundary, quantile and groups, got {plain}: it has its own quantile."
            )
        return selection.GuaranteedCoverage(
            self.coverage, weighting=self.weighting, largest_query=self.largest_query
        )


class CostAbstainer(SelectiveRanker):
    """Ranker that hands a pair to a person if its risk exceeds the price of asking.

    Chow's rule [1]_ on the plug-in risk: a pair is accepted when its conditional risk
    is at most ``cost``. If the probabilities are right, this minimises the expected
    loss plus ``cost`` times the share of abstained pairs.

    Parameters
    ----------
    estimator : object
        A fitted or unfitted ranker: see :class:`BALToR`.
    cost : float, default=0.2
        Price of one abstention, in the units of ``loss``; non-negative. With the
        misranking loss a wrong order costs 1, and a price of 1/2 or more abstains on
        equal scores at most.
    tie_model, loss, novelty, novelty_level, prefit, calibration_size, cv, \
relevance_bins, qid_col, random_state, verbose
        As in :class:`BALToR`.

    Attributes
    ----------
    threshold_ : float
        ``cost``.
    coverage_ : float
        Share of calibration pairs accepted: the coverage that this cost buys.
    estimator_, tie_model_, coverage_interval_, calibration_totals_, \
highest_coverage_, prefit_, n_folds_, n_queries_, n_pairs_, n_features_in_, \
feature_names_in_
        As in :class:`BALToR`.

    See Also
    --------
    BALToR : The same with a budget instead of a price.

    Notes
    -----
    Budget and price are two names for one threshold: ``BALToR`` at coverage ``c`` with
    ``threshold_`` t decides like ``CostAbstainer(cost=t)``, and ``CostAbstainer`` at
    cost t decides like ``BALToR`` at the coverage ``coverage_``, up to calibration
    pairs of equal risk. So ``at_cost(t).coverage_`` is the coverage of a cost and
    ``at_coverage(c).threshold_`` the cost of a coverage (the equivalence of [2]_).

    References
    ----------
    .. [1] Chow (1970). "On Optimum Recognition Error and Reject Tradeoff". IEEE
       Transactions on Information Theory 16.
    .. [2] Franc, Prusa and Voracek (2023). "Optimal Strategies for Reject Option
       Classifiers". Journal of Machine Learning Research 24(11).

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain import CostAbstainer
    >>> from skrank_abstain.datasets import make_ranking
    >>> train = make_ranking(n_queries=60, random_state=0)
    >>> ranker = CostAbstainer(Ridge(), cost=0.4, random_state=0)
    >>> ranker = ranker.fit(train.data, train.target, qid=train.qid)
    >>> ranker.at_cost(0.2).coverage_ < ranker.coverage_
    True
    """

    def __init__(
        self,
        estimator: Any,
        *,
        cost: float = 0.2,
        tie_model: str | TieModel = "graded_relevance",
        loss: str | ArrayLike | Sequence[Any] = "misranking",
        novelty: Any = None,
        novelty_level: float = 0.05,
        prefit: bool | str = "auto",
        calibration_size: float | None = None,
        cv: Any = None,
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
            cv=cv,
            relevance_bins=relevance_bins,
            qid_col=qid_col,
            random_state=random_state,
            verbose=verbose,
        )
        self.cost = cost

    def _rule(self) -> selection.Rule:
        return selection.Price(self.cost)


class RiskControlledRanker(SelectiveRanker):
    """Ranker that decides as many pairs as a bound on wrong orders certifiably allows.

    The bound is on the *discordance*: of the decided pairs that truly differ, the share
    in the wrong order; a tie called on such a pair counts one half. A coin has .5,
    whatever the share of ties.

    The labelled queries are divided. Some train the ranker, unless it is fitted. Some
    fit the tie model and choose where the search starts (tuning). The others certify
    and do nothing else. For new queries from the same source,

        P(R <= max_risk) >= 1 - delta,  R = E[w_q / D_q] / E[d_q / D_q],

    where D_q are the pairs of a query that differ, d_q the accepted ones among them and
    w_q those in the wrong order (0 / 0 = 0); the probability is over the draw of the
    certification queries. Every query counts alike in R, however many pairs it has;
    with ``weighting="pairs"`` every pair does, R = E[w_q] / E[d_q].

    A pair is accepted when its margin p - max_risk d is at most the largest threshold
    for which the bound is certified: p the probability of the opposite order, d that
    the pair differs.

    Parameters
    ----------
    estimator : object
        A fitted or unfitted ranker: see :class:`BALToR`.
    max_risk : float, default=0.3
        Bound on the discordance, between 0 and 1; or on the loss per accepted pair,
        between 0 and the largest entry of the loss.
    delta : float, default=0.1
        Probability that the bound fails, in (0, 1).
    bound : {"discordance", "loss"}, default="discordance"
        What is bounded. With "loss" R = E[e_q / N_q] / E[a_q / N_q], e_q the loss of
        the accepted pairs of a query, a_q their number and N_q that of all its pairs,
        and pairs are accepted by their conditional risk. For the misranking loss that
        is the share of wrong orders among all accepted pairs, ties included: where most
        pairs are ties a coin keeps it, too.
    tuning_size : float, default=0.15
        Share of the calibration queries that fit the tie model and choose the start.
    weighting : {"queries", "pairs"}, default="queries"
        Whether all queries or all pairs count alike in R.
    largest_query : int, default=None
        As in :class:`BALToR`; at least 2.
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
        Largest accepted margin, or conditional risk; minus infinity if nothing was
        certified.
    coverage_ : float
        Share of the certification pairs that are accepted.
    n_queries_, n_pairs_ : int
        Number of certification queries and of their pairs.
    n_tuning_queries_ : int
        Number of tuning queries.
    n_group_queries_ : dict
        Number of certification queries of each group; one entry, ``None``, if ``fit``
        got no groups.
    estimator_, tie_model_, coverage_interval_, calibration_totals_, \
highest_coverage_, prefit_, n_features_in_, feature_names_in_
        As in :class:`BALToR`.

    See Also
    --------
    BALToR : A budget of pairs instead of a bound on errors; no promise of accuracy.
    CostAbstainer : A price per abstention.

    Notes
    -----
    With w and d as shares of D_q, R exceeds ``max_risk`` exactly if the mean of
    u_q = w_q + max_risk (1 - d_q) does. Thresholds are tested in a fixed sequence [1]_,
    from one that the tuning queries choose to the most permissive, each by betting [2]_
    at level ``delta``, until one is not certified. The sample are queries, never pairs:
    pairs of one query are dependent, and a test that counts them as independent fails
    far more often than it says.

    The promise is about queries like those that certified. It does not hold after the
    population or the ranker has changed, nor for every kind of query by itself. With
    ``groups`` in ``fit`` (the same for all items of a query: sites, departments) a
    threshold is certified only if it passes in every group at level ``delta``. Then all
    groups, and any mixture of them, keep the bound at once with probability
    ``1 - delta``. ``delta`` is not divided by the number of groups: a threshold that
    breaks the bound in some group passes only if the test of that group errs. Every
    group needs dozens of certification queries of its own. Groups that vary within
    queries, such as sexes, are not certified: ``report(groups=)`` and
    ``evaluate(groups=)`` measure the wrong orders of each two of them.

    With ``weighting="pairs"`` and M pairs in the largest query allowed, w_q and d_q are
    divided by M and tested in the same way. The smaller most queries are beside the
    largest one, the less is certified.

    With 60 certification queries about a third of the pairs that differ are decided at
    ``max_risk=0.3``, with 150 most of them; at 0.2 it takes some 400.

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
    >>> ranker = RiskControlledRanker(model, max_risk=0.2, random_state=0)
    >>> ranker = ranker.fit(past.data, past.target, qid=past.qid)
    >>> ranker.certified_
    True
    >>> ranker.at_risk(0.15).coverage_ < ranker.coverage_
    True
    """

    # Groups are not requested by default: under routing those of a splitter such as
    # GroupKFold would arrive here, and the bound would have to hold in each.
    __metadata_request__fit = {"qid": True, "groups": False}  # noqa: RUF012

    def __init__(
        self,
        estimator: Any,
        *,
        max_risk: float = 0.3,
        delta: float = 0.1,
        bound: str = "discordance",
        tuning_size: float = 0.15,
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
        self.bound = bound
        self.tuning_size = tuning_size
        self.weighting = weighting
        self.largest_query = largest_query

    @all_or_nothing
    def fit(self, X: Any, y: ArrayLike, *, qid: Any = None, groups: Any = None) -> Self:
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
            If nothing could be certified, the bound or ``delta`` promises nothing, or
            if, on the certification queries, the discordance (or risk) by pairs exceeds
            the bound that is promised by queries, or the reverse.
        """
        return self._fit(X, y, qid, groups)

    def _rule(self) -> selection.Rule:
        return selection.CertifiedRisk(
            self.max_risk,
            delta=self.delta,
            bound=self.bound,
            tuning_size=self.tuning_size,
            weighting=self.weighting,
            largest_query=self.largest_query,
        )

    @property
    def certified_(self) -> bool:
        """Whether a threshold was certified."""
        check_is_fitted(self, "threshold_")
        # A threshold of minus infinity accepts nothing.
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
