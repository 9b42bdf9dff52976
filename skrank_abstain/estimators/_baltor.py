"""BALToR: bounded-abstention pairwise learning to rank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skrank_abstain.estimators._selective_ranker import SelectiveRanker
from skrank_abstain.selection import Coverage, GuaranteedCoverage, Rule
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
        With "misranking" only a wrong order costs, ``[[0, 0, 1], [1, 0, 1], [1, 0,
        0]]``, and only equal scores, or those in one bin of the tie model, are
        predicted a tie. With "clear_order" an order of
        equals is a mistake and a tie hardly an answer, ``[[0, 1, 1], [10, 0, 10], [1,
        1, 0]]``. With "zero_one", the loss of [1]_, a tie is an answer like the others.
        A matrix has a row per prediction and a column per truth, both in the order -1,
        0, +1; zero diagonal, non-negative, mirror-symmetric.
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
        An order statistic, or numpy's linear interpolation, as we believe the
        experiments of [1]_ to use.
    coverage_guarantee : {None, "hierarchical"}, default=None
        None takes the plain quantile of [1]_. ``"hierarchical"`` takes the
        hierarchical conformal quantile [2]_ on calibration queries that did not fit
        the tie model (70 % of them): a random pair of a new query from the same source
        is accepted with a probability of at least ``coverage``, for any number of
        queries. Fewer than ``coverage / (1 - coverage)`` queries accept every pair.
    groups : str or int, default=None
        Column of X with the group of each item, such as a sex or a site, which the
        model does not see. Each two groups, and each by itself, get a threshold of
        their own, so that no group is decided less often than another. Goes with the
        plain quantile, and with neither ``novelty`` nor ``review``.
    weighting : {"queries", "pairs"}, default="queries"
        What the guarantee counts alike. With "pairs", at least a share ``coverage`` of
        the pairs of new queries is accepted in expectation. Without a guarantee the
        threshold is that of pooled pairs, and only "queries" is allowed.
    largest_query : int, default=None
        For ``weighting="pairs"``: items of the largest query that may ever come.
        Larger ones are refused, by ``fit`` and by all methods that decide.
    prefit : {"auto", True, False}, default="auto"
        Whether ``estimator`` is used as it is and only calibrated. ``"auto"`` does so
        if it is fitted; True insists on it; False always refits a clone. Scores on
        the rows that trained a fitted ranker are too good: calibrating or
        cross-validating on them is leakage.
    calibration_size : float, default=0.25
        Share of the queries set aside to calibrate on when the estimator is trained
        here; of the items, if there is only one query.
    relevance_bins : int, default=None
        Quantile bins of ``y`` for training a booster, which wants few integer grades.
        Needed when ``y`` has more than 31 distinct values. Pairs are always labelled
        by the raw ``y``.
    qid_col : str or int, default=None
        Column of X that holds the query, instead of ``qid=``.
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
    highest_coverage_ : float
        Largest share of the calibration pairs that can be accepted: 1 unless some have
        a novel item.
    prefit_ : bool
        Whether the ranker came fitted.
    n_queries_, n_pairs_ : int
        Number of queries and pairs calibrated on.
    n_features_in_ : int
        Number of columns of X, the query column included.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Column names of X, if it has any.

    See Also
    --------
    skrank_abstain.tie_models.GradedRelevance : The default tie model.
    skrank_abstain.metrics.selective_utility : What to choose ``coverage`` by.

    Notes
    -----
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
        calibration_size: float = 0.25,
        relevance_bins: int | None = None,
        qid_col: str | int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            estimator,
            # Not built here: set_params, which comes later, has to reach the rule.
            rule=None,
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
        self.coverage = coverage
        self.boundary = boundary
        self.quantile = quantile
        self.coverage_guarantee = coverage_guarantee
        self.groups = groups
        self.weighting = weighting
        self.largest_query = largest_query

    def _rule(self) -> Rule:
        plain = Coverage(
            self.coverage,
            boundary=self.boundary,
            quantile=self.quantile,
            groups=self.groups,
        )
        if self.coverage_guarantee is None:
            if (self.weighting, self.largest_query) != ("queries", None):
                raise ValueError(
                    "weighting and largest_query must go with "
                    f"coverage_guarantee='hierarchical', got {self.weighting!r} and "
                    f"{self.largest_query!r}: the plain quantile promises nothing."
                )
            return plain
        if self.coverage_guarantee != "hierarchical":
            raise ValueError(
                "coverage_guarantee must be None or 'hierarchical', got "
                f"{self.coverage_guarantee!r}."
            )
        # Any other boundary or quantile than the default would have no effect.
        if plain != Coverage(self.coverage):
            raise ValueError(
                "coverage_guarantee='hierarchical' must go with boundary='accept', "
                f"quantile='inverted_cdf' and groups=None, got {self.boundary!r}, "
                f"{self.quantile!r} and {self.groups!r}: it has its own quantile."
            )
        return GuaranteedCoverage(
            self.coverage,
            weighting=self.weighting,
            largest_query=self.largest_query,
        )
