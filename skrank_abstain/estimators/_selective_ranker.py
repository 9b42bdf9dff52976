"""SelectiveRanker: item scores, pair probabilities, risk, threshold, decisions."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from sklearn.utils.validation import _num_samples, check_is_fitted

from skrank_abstain import intake, selection
from skrank_abstain._kernels import BoolArray, FloatArray, IntArray
from skrank_abstain._saving import all_or_nothing
from skrank_abstain._validation import (
    check_fraction,
    check_loss,
    check_row_order,
    check_sample_weight,
)
from skrank_abstain._warnings import hearing, warn_user
from skrank_abstain.estimators import _bases
from skrank_abstain.estimators._novelty import check_novelty, find_novel
from skrank_abstain.metrics import undefined
from skrank_abstain.pairs import (
    PairDecisions,
    PairRecord,
    Ranking,
    Scores,
    check_item_id,
    check_output_size,
    check_pairs,
    find_pair,
    labels_of_rows,
    rows_by_place,
)
from skrank_abstain.report import Report, ReportData, section_of_ends, write_report
from skrank_abstain.review import Review, graded_calibration
from skrank_abstain.tie_models import TieModel, resolve_tie_model

#: Of so many queries a share of decided pairs is far from that of calibration only if
#: the data are.
_ENOUGH_QUERIES = 20


class PairDecider(_bases.ModelWrapper):
    """Base of the rankers of items that abstain on some of their pairs.

    ``fit`` sets ``_region``, the accepted pairs, and calls ``_take_over``.
    ``_decision`` decides pairs of new items.
    """

    # What the wrapped model requests, if it does, can pass through a Pipeline.
    __metadata_request__predict = {"qid": True}  # noqa: RUF012 (read by scikit-learn)
    __metadata_request__decision_function = {"qid": True}  # noqa: RUF012

    _loss: FloatArray = check_loss("misranking")

    # scikit-learn's scorers ask for both.
    predict = decision_function = _bases.predict

    def _decision(
        self, X: Any, qid: Any, *, needs_qid: bool = False
    ) -> tuple[selection.Decides, Scores]:
        """Return what decides pairs, and the items with their values."""
        raise NotImplementedError

    def predict_pairs(
        self, X: Any, *, qid: Any = None, pairs: Any = None, item_id: Any = None
    ) -> PairDecisions:
        """Decide pairs of items of one query.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_items, n_features)
            One row per item.
        qid : None, scalar or array-like of shape (n_items,), default=None
            Query of each item; None or a scalar: all items are one query.
        pairs : array-like of shape (n_pairs, 2), int, default=None
            Row positions of the pairs to decide. All within-query pairs by default:
            queries in order of first appearance, within a query all (i, j) with i
            before j in row order.
        item_id : array-like of shape (n_items,), default=None
            Names of the items: any hashable values, each once in a query. The
            decisions return them as ``left_id`` and ``right_id``. None: the labels of
            the rows, if X is a pandas frame in which they differ within each query;
            otherwise row positions.

        Returns
        -------
        decisions : PairDecisions
            Label, acceptance, risk and probabilities of each pair.

        Raises
        ------
        ValueError
            If columns do not match ``fit``, ``pairs`` names rows that are equal, out of
            range, or of different queries, or an ``item_id`` is twice in a query.

        Warns
        -----
        UserWarning
            If the model was fitted again after ``fit`` calibrated it, or next to no
            pair is decided where calibration decided most.
        """
        check_row_order(X, qid=qid, item_id=item_id)
        decision, items = self._decision(X, qid)
        names = check_item_id(item_id, items.queries, X)
        decide = self._deciding(decision, items, names)
        if pairs is not None:
            return decide(selection.decide_pairs, *check_pairs(pairs, items.queries))
        made = decide(selection.decide_queries)
        known = getattr(self, "coverage_", 0.0)
        few = items.queries.n_queries >= _ENOUGH_QUERIES and made.coverage < known / 10
        if few and known > 0.5:
            warn_user(
                f"{made.coverage:.1%} of {len(made)} pairs are decided, {known:.0%} at "
                "calibration: has the scale of X, or of the scores, changed?"
            )
        return made

    def _labelled_items(
        self, X: Any, y: ArrayLike, qid: Any, **others: Any
    ) -> tuple[selection.Decides, Scores]:
        """Return what `_decision` does, with relevance; warn of rows that fit got."""
        check_row_order(X, y=y, qid=qid, **others)
        decision, items = self._decision(X, qid, needs_qid=True)
        items = replace(items, y=intake.read_grades(y, items.value.size))
        intake.refuse_scores(items.value, items.y)
        features = partial(_bases.model_columns, self, X)
        intake.warn_of_seen(self, lambda: intake.hash_rows(features()), items.queries)
        intake.warn_of_measured(self, features, items.y, items.queries)
        return decision, items

    def _deciding(
        self, decision: selection.Decides, items: Scores, names: Any
    ) -> Callable[..., PairDecisions]:
        """Return a function that decides pairs of items as a given one chooses them."""
        place = selection.own_places(items)

        def decide(choose: Callable[..., PairDecisions], *which: Any) -> PairDecisions:
            made = choose(decision, self._region, items, *which)
            made = replace(made, place=place, id_=self.id_, _loss=self._loss)
            if items.novel is not None:
                made = made.leaving_out(items.novel)
            if names is None:
                return made
            check_output_size(len(made), 2 * names.itemsize)
            left_id, right_id = names[made.left], names[made.right]
            return replace(made, left_id=left_id, right_id=right_id)

        return decide

    def abstain(
        self, X: Any, *, qid: Any = None, pairs: ArrayLike | None = None
    ) -> BoolArray:
        """Return which pairs go to a person: one value per *pair*.

        Parameters
        ----------
        X, qid, pairs
            As in ``predict_pairs``.

        Returns
        -------
        abstained : ndarray of shape (n_pairs,), bool
            Aligned with ``predict_pairs(X, qid=qid, pairs=pairs)``.
        """
        return self.predict_pairs(X, qid=qid, pairs=pairs).abstained

    def iter_pairs(
        self, X: Any, *, qid: Any = None, item_id: Any = None
    ) -> Iterator[PairDecisions]:
        """Yield the decisions of one query after the other.

        Parameters
        ----------
        X, qid, item_id
            As in ``predict_pairs``.

        Yields
        ------
        decisions : PairDecisions
            All pairs of one query; none for a query of one item. Together they are
            ``predict_pairs(X, qid=qid)`` in bounded memory.
        """
        check_row_order(X, qid=qid, item_id=item_id)
        # Score the items now, so that bad input raises here, not at the first query.
        decision, items = self._decision(X, qid)
        names = check_item_id(item_id, items.queries, X)
        decide = self._deciding(decision, items, names)
        # Some logs have many queries of one item: they share one empty result.
        none = decide(selection.decide_queries, 0, 0)
        return (
            decide(selection.decide_queries, query, query + 1) if n_pairs else none
            for query, n_pairs in enumerate(items.queries.pair_counts.tolist())
        )

    def score(
        self,
        X: Any,
        y: ArrayLike,
        *,
        qid: Any = None,
        sample_weight: ArrayLike | None = None,
        pairs: ArrayLike | None = None,
    ) -> float:
        """Return the concordance in which an abstention counts one half.

        Higher is better, in [0, 1]: of the pairs that truly differ, the share in the
        right order, where abstentions and predicted ties count one half. A coin has
        .5, and a ranker that decides every pair has its AUC, unless the loss lets it
        call unequal scores a tie. So models and thresholds can be compared by it:
        abstaining from a pair pays only if a coin would order such pairs better. A
        search over ``coverage`` by it takes the largest: use
        `metrics.selective_utility`.

        Parameters
        ----------
        X, qid
            As in ``predict_pairs``.
        y : array-like of shape (n_items,)
            Relevance, higher is better.
        sample_weight : array-like of shape (n_items,), default=None
            Item weights; a pair weighs the product of its two.
        pairs : array-like of shape (n_pairs, 2), int, default=None
            The pairs to score, as in ``predict_pairs``; all of them by default.

        Returns
        -------
        concordance : float
            NaN where no two items of a query differ in relevance.

        Raises
        ------
        ValueError
            If the model was fitted with a ``qid`` and is scored without one.

        Warns
        -----
        sklearn.exceptions.UndefinedMetricWarning
            If no two items of a query differ in relevance.

        See Also
        --------
        skrank_abstain.metrics.selective_utility : Chooses a coverage by a price.
        """
        # Under metadata routing a search over a Pipeline refuses a score method that
        # has no sample_weight.
        totals = self.evaluate(X, y, qid=qid, sample_weight=sample_weight, pairs=pairs)
        return undefined("score") if np.isnan(totals.score) else totals.score

    def evaluate(
        self,
        X: Any,
        y: ArrayLike,
        *,
        qid: Any = None,
        sample_weight: ArrayLike | None = None,
        pairs: Any = None,
        groups: ArrayLike | None = None,
    ) -> selection.PairTotals:
        """Add up, query by query, what happens to labelled pairs.

        Parameters
        ----------
        X, y, qid, sample_weight, pairs
            As in ``score``. ``pairs`` may be decisions about pairs of X, as by
            ``accepting``, which are measured as they are.
        groups : array-like of shape (n_items,), default=None
            Group of each item, for ``totals.by_group``: of queries, such as sites, if
            it is the same for all items of a query; otherwise of items, such as sexes.
            Not with ``pairs``.

        Returns
        -------
        totals : PairTotals
            Pairs, accepted pairs, correct ones and more, each of shape (n_queries,).
            ``totals.discordance_interval("pairs")``: of the accepted pairs that differ,
            the share in the wrong order, with an interval (a coin has .5);
            ``totals.coverage``, ``selective_risk``, its ``yardstick``, ``accuracy`` and
            ``concordance`` pool them, too. With ``groups`` the same of each group, or
            of the pairs of each two groups of items: ``totals.by_group["f", "m"]``;
            ``totals.by_better["f", "m"]`` counts those in which the "f" is better.

        Raises
        ------
        ValueError
            If ``groups`` come with ``pairs``.

        Warns
        -----
        UserWarning
            If items have the features, or queries the ids, of those that ``fit`` got.

        Notes
        -----
        Without ``pairs`` O(n log n): none is formed where acceptance depends on the
        scores, but for a randomised boundary: O(n_pairs) then.
        """
        if pairs is not None and groups is not None:
            raise ValueError(
                "groups must be None with pairs, got both: evaluate group by group."
            )
        decision, items = self._labelled_items(
            X, y, qid, sample_weight=sample_weight, groups=groups
        )
        weight = check_sample_weight(sample_weight, items.value.size)
        if pairs is None:
            add = partial(decision.tally, regions=[self._region], weight=weight)
            found = _bases.add_by_group(
                items, groups, lambda some: add(some).totals(some.queries.values)
            )
            if groups is None:
                selection.warn_of_coin(found)
            return found
        made: Any = pairs
        if isinstance(pairs, PairDecisions):
            check_pairs(np.stack([pairs.left, pairs.right], axis=1), items.queries)
        else:
            decide = self._deciding(decision, items, None)
            made = decide(selection.decide_pairs, *check_pairs(pairs, items.queries))
        return selection.PairTotals.of_decisions(
            made, items.y, items.queries, weight, self._loss
        )


class SelectiveRanker(PairDecider, _bases.RuleThreshold):
    """Ranker that abstains on pairs whose risk is above the threshold of a rule.

    The model scores items, the tie model turns scores into pair probabilities and a
    conditional risk, a rule turns the risks of calibration pairs into a threshold, and
    the threshold decides pairs. `BALToR`, `CostAbstainer` and `RiskControlledRanker`
    are this class with one rule each, whose parameters can be searched over.

    Parameters
    ----------
    estimator : object
        A fitted or unfitted ranker: see :class:`BALToR`.
    rule : Rule
        `Coverage`, `GuaranteedCoverage`, `Price` or `CertifiedRisk` of
        `skrank_abstain.selection`, or a rule of your own.
    tie_model, loss, novelty, novelty_level, prefit, calibration_size, cv, \
relevance_bins, qid_col, random_state, verbose
        As in :class:`BALToR`.

    Attributes
    ----------
    threshold_ : float
        Accepted pairs have a conditional risk of at most this.
    coverage_ : float
        Share of the pairs that set the threshold that are accepted.
    estimator_, tie_model_, coverage_interval_, calibration_totals_, \
highest_coverage_, prefit_, n_folds_, n_queries_, n_pairs_, n_features_in_, \
feature_names_in_
        As in :class:`BALToR`.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain import SelectiveRanker
    >>> from skrank_abstain.datasets import make_ranking
    >>> from skrank_abstain.selection import Price
    >>> train = make_ranking(n_queries=60, random_state=0)
    >>> ranker = SelectiveRanker(Ridge(), rule=Price(0.4), random_state=0)
    >>> ranker.fit(train.data, train.target, qid=train.qid).threshold_
    0.4
    """

    def __init__(
        self,
        estimator: Any,
        *,
        rule: selection.Rule | None,  # None: the named classes make their own
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
        self.estimator = estimator
        self.rule = rule
        self.tie_model = tie_model
        self.loss = loss
        self.novelty = novelty
        self.novelty_level = novelty_level
        self.prefit = prefit
        self.calibration_size = calibration_size
        self.cv = cv
        self.relevance_bins = relevance_bins
        self.qid_col = qid_col
        self.random_state = random_state
        self.verbose = verbose

    @all_or_nothing
    def fit(self, X: Any, y: ArrayLike, *, qid: Any = None) -> Self:
        """Train the ranker unless it is fitted, then calibrate.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_items, n_features)
            One row per item; goes to the wrapped model untouched.
        y : array-like of shape (n_items,)
            Relevance, higher is better; pass ``y.max() - y`` where 1 is best.
        qid : None, scalar or array-like of shape (n_items,), default=None
            Query of each item: any hashable values, in any order. None or a scalar:
            all items are one query.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError, TypeError, sklearn.exceptions.NotFittedError
            If a parameter or an input breaks its rule, no calibration query has two
            items, or the model's scores are not finite.

        Warns
        -----
        OneQueryWarning
            If all rows are one query and no scalar ``qid`` asks for this.
        UserWarning
            If fewer than ten queries set the threshold, with ``coverage_interval_``.
        """
        return self._fit(X, y, qid)

    def _fit(self, X: Any, y: Any, qid: Any, groups: Any = None) -> Self:
        # Check all that can be checked before anything is trained.
        rule = self._checked_rule()
        tie_model = resolve_tie_model(self.tie_model)
        check_novelty(self.novelty, self.novelty_level, rule.groups)
        rows = intake.take_labelled_rows(self, X, y, qid, rule.groups)
        selection.check_largest_query(int(rows.queries.sizes.max()), rule.largest_query)
        size = rule.tuning_size
        data = intake.train_and_score(self, rows, groups=groups, tuning_size=size)
        self._novelty = None
        if self.novelty is not None:
            level = float(self.novelty_level)
            self._novelty, data = find_novel(self.novelty, level, data, rows)
        return self._calibrate(rule, tie_model, data)

    def _rule(self) -> selection.Rule:
        """Return the rule; the one hook of the named classes."""
        return selection.check_rule(self.rule)

    def _checked_rule(self) -> selection.Rule:
        self._loss = check_loss(self.loss)
        rule = self._rule()
        rule.check(self._loss)
        size = f"{type(rule).__name__}.tuning_size"
        check_fraction(rule.tuning_size, size, include_zero=True)
        return rule

    def _calibrate(
        self, rule: selection.Rule, tie_model: TieModel, data: intake.CalibrationData
    ) -> Self:
        self._take_over(data)
        calibration = selection.fit_calibration(
            tie_model,
            self._loss,
            data.rest,
            data.tuning,
            seed=data.seed,
            groups=data.groups,
            item_groups=data.item_groups,
        )
        self._fit_threshold(rule, calibration)
        return self

    def pair_proba(
        self, X: Any, *, qid: Any = None, pairs: ArrayLike | None = None
    ) -> FloatArray:
        """Return the probabilities of the labels -1, 0, +1 of each pair.

        Parameters
        ----------
        X, qid, pairs
            As in ``predict_pairs``.

        Returns
        -------
        proba : ndarray of shape (n_pairs, 3), float64
        """
        return cast("FloatArray", self.predict_pairs(X, qid=qid, pairs=pairs).proba)

    def conditional_risk(
        self, X: Any, *, qid: Any = None, pairs: ArrayLike | None = None
    ) -> FloatArray:
        """Return the expected loss of the prediction for each pair.

        Parameters
        ----------
        X, qid, pairs
            As in ``predict_pairs``.

        Returns
        -------
        risk : ndarray of shape (n_pairs,), float64
            Lower is better. For the zero-one loss one minus the largest probability;
            for equal scores, which are called a tie, one minus that of a tie.
        """
        return cast("FloatArray", self.predict_pairs(X, qid=qid, pairs=pairs).risk)

    def ranking(
        self,
        X: Any,
        *,
        qid: Any = None,
        item_id: Any = None,
        confidence: float | None = None,
    ) -> Ranking:
        """Return the items in order, with the ranks that accepted pairs leave open.

        Parameters
        ----------
        X, qid
            As in ``predict_pairs``.
        item_id : array-like of shape (n_items,), default=None
            As in ``predict_pairs``.
        confidence : float, default=None
            As in ``rank_intervals``.

        Returns
        -------
        ranking : Ranking
            One value per item: ``qid``, ``item_id``, ``place``, ``score``, ``best``,
            ``worst``, ``open``; the last three as in ``rank_intervals``. Queries in
            order of first appearance, the items of a query by place.

        Examples
        --------
        >>> from sklearn.linear_model import Ridge
        >>> from skrank_abstain import BALToR
        >>> from skrank_abstain.datasets import make_ranking
        >>> data = make_ranking(n_queries=60, random_state=0)
        >>> ranker = BALToR(Ridge(), coverage=0.5, random_state=0)
        >>> ranker = ranker.fit(data.data, data.target, qid=data.qid)
        >>> today = ranker.ranking(data.data[:4], item_id=["Ann", "Bo", "Cy", "Di"])
        >>> print(today.to_frame()[["place", "item_id", "best", "worst", "open"]])
           place item_id  best  worst   open
        0      1     Ann     1      2   True
        3      2      Di     1      3   True
        2      3      Cy     2      3   True
        1      4      Bo     4      4  False
        """
        check_row_order(X, qid=qid, item_id=item_id)
        items = self._scored(X, qid)
        queries = items.queries
        names = check_item_id(item_id, queries, X)
        best, worst = self._places(items, confidence).T
        rows, place = rows_by_place(items.value, queries)
        return Ranking(
            qid=queries.values[queries.codes[rows]],
            item_id=rows if names is None else names[rows],
            place=place,
            score=items.score[rows],
            best=best[rows],
            worst=worst[rows],
            confidence=confidence,
            _rows=labels_of_rows(getattr(X, "index", None), rows),
        )

    def rank_intervals(
        self, X: Any, *, qid: Any = None, confidence: float | None = None
    ) -> IntArray:
        """Return the best and the worst rank of each item.

        Parameters
        ----------
        X, qid
            As in ``predict_pairs``.
        confidence : float, default=None
            None: the ranks that the accepted orders leave open, which hold if these
            are right. In (0, 1): ranks that hold the true place of an item drawn from
            a new query (at least one of the places that tied items share) with at
            least this probability, each query counting alike, whatever is accepted.

        Returns
        -------
        intervals : ndarray of shape (n_items, 2), int64
            Best and worst rank within the query, 1 = top, in the order of the rows of
            X. Without ``confidence`` an item whose worst rank is at most k is in the
            top k, if the accepted pairs are right.

        Raises
        ------
        ValueError
            If there are too few calibration queries for the confidence, or the ranker
            was calibrated by folds (``n_folds_``).

        Notes
        -----
        With a confidence: conformal places [2]_. Tied items share their places, and
        ranks hold if they touch one of these; if ties were broken at random, fewer
        would hold. The place by score may be off by a share of the size of the query,
        the smallest whose ranks, rounded outwards, held in the calibration queries. The
        promise is on average over calibration and new queries, if they are
        exchangeable. It is approximate for `FeatureAwareRelevance`, which orders by
        values that it learned from these queries. Novel items get all places.

        The best rank is one plus the number of items above this one, the worst the
        size of the query minus the number of items below it, where one item is above
        another by an accepted order or by a chain of them. Ties close no rank, and
        pairs on a randomised boundary count as abstained.

        The orders are a semiorder [1]_, in which no chain adds anything, for models of
        the score difference, and for the zero-one loss at thresholds of at most 1/2
        for `GradedRelevance` and `FeatureAwareRelevance`: O(n log n). Otherwise the
        chains are followed among the bins of values of each query.

        References
        ----------
        .. [1] Luce (1956). "Semiorders and a Theory of Utility Discrimination".
           Econometrica 24.
        .. [2] Lee, Barber and Willett (2023). "Distribution-free inference with
           hierarchical data". arXiv:2306.06342
        """
        return self._places(self._scored(X, qid), confidence)

    def evaluate_places(
        self, X: Any, y: ArrayLike, *, qid: Any = None, confidence: float
    ) -> tuple[FloatArray, FloatArray]:
        """Return how often places with a confidence hold, and how wide they are.

        Parameters
        ----------
        X, y, qid
            As in ``evaluate``.
        confidence : float
            As in ``rank_intervals``, in (0, 1).

        Returns
        -------
        held : ndarray of shape (n_queries,), float64
            Share of the items of each query, in order of first appearance, whose true
            place, or one of the places that tied items share, the given places hold;
            NaN for a query of one item. The confidence is promised for its mean.
        width : ndarray of shape (n_queries,), float64
            Mean number of places that an item is given, as a share of the query's
            size; lower is better. NaN as above.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.linear_model import Ridge
        >>> from skrank_abstain import BALToR
        >>> from skrank_abstain.datasets import make_ranking
        >>> known = make_ranking(n_queries=200, random_state=0)
        >>> new = make_ranking(n_queries=200, random_state=1)
        >>> ranker = BALToR(Ridge(), random_state=0)
        >>> ranker = ranker.fit(known.data, known.target, qid=known.qid)
        >>> found = ranker.evaluate_places(
        ...     new.data, new.target, qid=new.qid, confidence=0.9
        ... )
        >>> np.nanmean(found, axis=1).round(2)
        array([0.9 , 0.42])
        """
        _, items = self._labelled_items(X, y, qid)
        return selection.place_results(self._places(items, confidence), items.ascending)

    def _places(self, items: Scores, confidence: float | None) -> IntArray:
        if confidence is None:
            return self._calibration.engine.ranks(self._region, items)
        known = self._calibration.items
        n = known.n_queries
        if self.n_folds_:
            needed = selection.queries_for(confidence)
            size = max(0.25, np.ceil(100 * needed / n) / 100)
            way = f"Fit with calibration_size={size:g}"
            if size > 0.5:
                way = f"Half of {n} are too few: lower it, fit with {2 * needed}"
            raise ValueError(
                f"confidence must be None after a fit with {self.n_folds_} folds, got "
                f"{confidence!r}: its promise takes {needed} queries that no model has "
                f"seen. {way}, or pass a fitted ranker."
            )
        return selection.confident_places(
            selection.place_shares(known), n, items.ascending, confidence
        )

    def preference_graph(self, X: Any, *, qid: Any = None) -> csr_array:
        """Return the accepted orders without those that follow from others.

        Parameters
        ----------
        X, qid
            As in ``predict_pairs``.

        Returns
        -------
        graph : csr_array of shape (n_items, n_items), bool
            The transitive reduction (Hasse diagram): entry [i, j] where i is accepted
            over j and over no item that is over j. O(n log n) plus the number of
            entries where the orders are a semiorder (see ``rank_intervals``).
            ``networkx.from_scipy_sparse_array(graph, create_using=networkx.DiGraph)``
            draws it.
        """
        items = self._scored(X, qid)
        return self._calibration.engine.graph(self._region, items)

    def explain(
        self, X: Any, left: Any, right: Any, *, qid: Any = None, item_id: Any = None
    ) -> str:
        """Say why a pair is decided or open, by which numbers, and what decides it.

        Parameters
        ----------
        X, qid, item_id
            As in ``predict_pairs``.
        left, right : int or object
            The names of the two items, as ``item_id`` says.

        Returns
        -------
        text : str
            Three sentences, with the ``id_`` of the ranker.

        Raises
        ------
        ValueError
            If the rows are equal, out of range or of two queries, or no query, or more
            than one, has both names.

        Examples
        --------
        >>> from sklearn.linear_model import Ridge
        >>> from skrank_abstain import BALToR
        >>> from skrank_abstain.datasets import make_ranking
        >>> data = make_ranking(n_queries=60, random_state=0)
        >>> ranker = BALToR(Ridge(), coverage=0.5, random_state=0)
        >>> ranker = ranker.fit(data.data, data.target, qid=data.qid)
        >>> names = ["Ann", "Bo", "Cy", "Di"]
        >>> print(ranker.explain(data.data[:4], "Ann", "Di", item_id=names))
        Ann and Di: A person decides (risk above the threshold); ...0.51) decides it...
        """
        names = item_id
        if item_id is None:
            names = X.index if hasattr(X, "iloc") else range(_num_samples(X))
        query = qid if np.shape(qid) == (len(names),) else np.zeros(len(names))
        pairs = [find_pair(names, np.asarray(query), left, right)]
        (pair,) = self.predict_pairs(X, qid=qid, item_id=item_id, pairs=pairs)
        return f"{pair.in_words()} {self._what_decides(pair)}"

    def _what_decides(self, pair: PairRecord) -> str:
        rule, known, risk = self._fitted_rule, self._calibration, pair.risk or 0.0
        if pair.accepted:
            return "An answer of a person takes its place (review)."
        if pair.novel:
            return "Only a person decides it, or a lower novelty_level."
        way = "A larger coverage"
        if isinstance(rule, selection.Price):
            way = f"at_cost({int(1e4 * risk + 1) / 1e4:g})"
        elif hasattr(rule, "max_risk"):
            return "A larger max_risk may decide it; a person's answer does (review)."
        elif known.item_groups is None and known.largest_coverage == 1:
            share = known.coverage(known.engine.below(risk))
            # More pairs than those of at most this risk: the threshold is above it.
            way = f"at_coverage({min(int(100 * share + 1) / 100, 1)})"
        return f"{way} decides it, and so does an answer of a person (review)."

    def review(
        self,
        X: Any,
        *,
        qid: Any = None,
        answers: Any = None,
        item_id: Any = None,
        reviewer_error: Any = None,
        gold: Any = None,
        labels: Any = None,
    ) -> Review:
        """Take people's answers about some pairs; choose the next questions.

        Parameters
        ----------
        X, qid
            As in ``predict_pairs``.
        answers : frame, mapping of columns or list of mappings, default=None
            All answers so far. ``qid``, ``left`` and ``right`` name the items as
            ``item_id`` does, compared as texts. ``label`` says what is preferred: left,
            same or right, or other words that `PairwiseRankerClassifier` knows, or
            which item. ``reviewer`` and ``time`` (numbers, or dates with the year
            first) are optional: of several answers by one reviewer about a pair the
            last counts, if each has a time, and all of them otherwise. So are
            ``probability`` (1/3 to 1, that the label is right) and the ``pair_id`` of a
            file of tasks,
            which finds items whose names a spreadsheet changed. Answers about queries,
            or items by name, that are not in X are set aside, with a warning that
            counts them.
        item_id : array-like of shape (n_items,), default=None
            As in ``predict_pairs``.
        reviewer_error : None, float or dict of str to float, default=None
            Share of the answers about items that differ that reverse their order, for
            all reviewers or for each, in [0, 1/3]: a third is a guess. As many are
            taken to say "same", and twice this share of the answers about ties to name
            an order. Rates that are not given are estimated; reviewers who have not
            answered may have one.
        gold : frame, mapping of columns or list of mappings, default=None
            Answers that are known to be right, as ``answers``, whoever gave them;
            reviewers are measured by them. Contradictions number their rows after those
            of ``answers``.
        labels : mapping, default=None
            What labels mean beside the known ones, as ``{"links": "left", "gleich":
            "tie", "rechts": "right", "weiss nicht": "skip"}``, where "skip" does not
            count. Numbers, 0 among them, do not say what they mean before all of them
            have occurred: ``{-1: "right", 0: "tie", 1: "left"}``.

        Returns
        -------
        review : Review
            ``ask(n)`` for questions; ``ranking()``, ``changes()``, ``decisions``,
            ``rank_intervals()`` and ``expected_accuracy`` after the answers.

        Raises
        ------
        ValueError
            If an answer cannot be understood, a row position is in another query or
            none of X, or a reviewer has two spellings.

        Warns
        -----
        UserWarning
            If parameters of the rule were set after ``fit``; or of answers that are
            not about X, columns that are not read, and answers that count once.
        """
        check_row_order(X, qid=qid, item_id=item_id)
        items = self._scored(X, qid)
        names = check_item_id(item_id, items.queries, X)
        index = None if names is None else tuple(names.tolist())
        rule, known = self._fitted_rule, self._calibration
        if known.item_groups is not None:
            raise ValueError(
                f"groups must be None for a review, got {rule.groups!r}: answers move "
                "the risks of pairs, and no threshold by group is known for the moved "
                "ones. Ask for predict_pairs(...).deferred(), or fit without groups."
            )
        return Review.of(
            items,
            *graded_calibration(rule, known, self._region),
            *(answers, reviewer_error, gold, labels),
            item_id=names,
            index=X.index if hasattr(X, "iloc") else index,
            replaced="" if known.is_graded else type(known.model).__name__,
            id_=self.id_,
        )

    @hearing()
    def report(
        self, X: Any, y: Any = None, *, qid: Any = None, groups: Any = None
    ) -> Report:
        """Return a page about data, model, threshold and results, for an audit.

        Parameters
        ----------
        X, qid
            As in ``predict_pairs``.
        y : array-like of shape (n_items,), default=None
            Relevance, higher is better. None: the page describes decisions and
            expectations, and says that nothing was measured.
        groups : array-like of shape (n_items,), default=None
            Group of each item: adds a table, with the largest gap between two groups.
            The same for all items of a query, such as a site: a row for each, and
            a warning where one has more wrong orders than the others.
            Otherwise, such as a sex: a row for the pairs of each two groups, and
            which of the two the wrong orders fall on.

        Returns
        -------
        report : Report
            A text in markdown; ``report.to_html("audit.html")`` saves it as one page,
            with pictures. It begins with a verdict, and with what ``fit`` and this
            method warned of. Intervals are over queries, since the pairs of one query
            are dependent.

        Raises
        ------
        ValueError
            If ``fit`` got a ``qid`` and labels come without one.

        Warns
        -----
        UserWarning
            If items have the features, or queries the ids, of those that ``fit`` got,
            or if parameters of the rule were set after ``fit``: the page is about those
            that ``fit`` used.

        Notes
        -----
        The fingerprint of the data is the start of a SHA-256 over the values of the
        rows (without a column of queries), the number of each row's query in order of
        appearance, and the relevance, whatever the container and its names.
        O(n log n), as ``evaluate``; no pair is stored.

        Examples
        --------
        >>> from sklearn.linear_model import Ridge
        >>> from skrank_abstain import BALToR
        >>> from skrank_abstain.datasets import make_ranking
        >>> known = make_ranking(n_queries=60, random_state=0)
        >>> new = make_ranking(n_queries=60, random_state=1)
        >>> ranker = BALToR(Ridge(), random_state=0)
        >>> ranker = ranker.fit(known.data, known.target, qid=known.qid)
        >>> print(ranker.report(new.data, qid=new.qid))
        # BALToR: report
        ...
        NOTHING IS PROMISED about errors: ... NO LABELS WERE GIVEN: nothing about ...
        ...
        """
        check_row_order(X, y=y, qid=qid, groups=groups)
        scored = self._scored(X, qid, needs_qid=y is not None)
        n_items, queries = scored.value.size, scored.queries
        relevance = None if y is None else intake.read_grades(y, n_items)
        # Without labels all pairs count as tied; the page then shows no such number.
        known = np.zeros(n_items) if relevance is None else relevance
        items = replace(scored, y=known).ascending
        features = _bases.model_columns(self, X)
        hashes = intake.hash_rows(features)
        rows = intake.describe_rows(self, hashes, queries, relevance)
        kinds = intake.groups_of_queries(groups, queries, vary=True)
        ends = section_of_ends(features, items, relevance)
        data = ReportData(self, items, y is not None, rows, kinds, ends=ends)
        return write_report(data)

    def risk_profile(
        self, X: Any, y: ArrayLike, *, qid: Any = None
    ) -> selection.RiskProfile:
        """Return pairs and their loss at each risk, whatever the threshold.

        Parameters
        ----------
        X, y, qid
            As in ``score``.

        Returns
        -------
        profile : RiskProfile
            ``profile.risk``, ``profile.n_pairs`` and ``profile.loss``;
            ``profile.coverage`` and ``profile.selective_risk`` are the risk-coverage
            curve, ``profile.concordance`` stands beside it.

        Notes
        -----
        Beyond 262,144 pairs, differences that agree to 0.2 % count as one. O(n_pairs),
        of at most 100 million pairs a query; O(n log n) for few grades.
        """
        _, items = self._labelled_items(X, y, qid)
        return self._calibration.engine.tally(items).profile()

    def operating_points(
        self,
        X: Any,
        y: ArrayLike,
        *,
        qid: Any = None,
        coverages: float | Iterable[float],
        groups: Any = None,
    ) -> selection.OperatingPoints:
        """Add up what would happen to labelled pairs at many calibration coverages.

        Parameters
        ----------
        X, y, qid
            As in ``score``.
        coverages : float or iterable of float
            Shares of the calibration pairs to accept, each in (0, 1]. A rule with a
            coverage is applied at each of them; for any other rule the threshold is
            the plain quantile.
        groups : array-like of shape (n_items,) or tuple of two groups, default=None
            As in ``evaluate``. A tuple: count only the pairs of these groups of items,
            which may be the same, of a rule with ``groups``.

        Returns
        -------
        points : list of OperatingPoint
            One for each coverage: the threshold, and the pairs by query;
            ``points.to_frame()`` has a row for each.

        Notes
        -----
        The wrapped model runs once. For a ranker with ``at_coverage`` the totals are
        those of ``at_coverage(c).evaluate(X, y, qid=qid)``; for one with a price or a
        bound this is the curve on which its rule picks a point.
        """
        _, items = self._labelled_items(X, y, qid)
        two = groups if isinstance(groups, tuple) else None
        check_is_fitted(self, "threshold_")
        # A randomised boundary, or a guarantee, is part of the ranker's own rule.
        own = self._fitted_rule
        moves = "coverage" in [field.name for field in fields(own)]
        points = selection.OperatingPoints()
        for value in [coverages] if isinstance(coverages, int | float) else coverages:
            share = check_fraction(value, "coverages", include_one=True)
            rule = replace(own, coverage=share) if moves else selection.Coverage(share)
            region = self._calibration.select(rule)
            add = partial(self._calibration.totals, region, groups=two)
            totals = _bases.add_by_group(items, None if two else groups, add)
            points.append(selection.OperatingPoint(share, region.risk, totals))
        return points

    @property
    def highest_coverage_(self) -> float:
        """Largest share of the calibration pairs that can be accepted.

        1 unless some have a novel item, which are abstained on.
        """
        check_is_fitted(self, "threshold_")
        return self._calibration.largest_coverage

    def novelty_pvalues(self, X: Any) -> FloatArray:
        """Return how likely an item of a new query is to be as strange as each item.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_items, n_features)
            One row per item.

        Returns
        -------
        pvalues : ndarray of shape (n_items,), float64
            In (0, 1]; low for items unlike those of the calibration queries. A random
            item of a new query of the same source is at most alpha with a probability
            of at most alpha, for each alpha, each query counting alike. Pairs with an
            item of at most ``novelty_level`` are abstained on.

        Notes
        -----
        (1 + the sum over reference queries of the share of their items that are at
        least as strange) / (n_queries + 1) [1]_: the query is the sample, since items
        of one query are alike. The reference are calibration queries that the detector
        has not learned from and that certify nothing.

        References
        ----------
        .. [1] Lee, Barber and Willett (2023). "Distribution-free inference with
           hierarchical data". arXiv:2306.06342.

        Examples
        --------
        >>> from sklearn.covariance import EllipticEnvelope
        >>> from sklearn.linear_model import Ridge
        >>> from skrank_abstain import BALToR
        >>> from skrank_abstain.datasets import make_ranking
        >>> data = make_ranking(n_queries=200, random_state=0)
        >>> detector = EllipticEnvelope(support_fraction=1.0)
        >>> ranker = BALToR(Ridge(), novelty=detector, random_state=0)
        >>> ranker = ranker.fit(data.data, data.target, qid=data.qid)
        >>> usual, strange = ranker.novelty_pvalues([[0] * 10, [9] * 10]).tolist()
        >>> usual > 0.9, strange < 0.05
        (True, True)
        """
        check_is_fitted(self, "threshold_")
        if self._novelty is None:
            raise ValueError(
                "novelty must be given to have p-values: the ranker was fitted with "
                "novelty=None. Pass an outlier detector, such as "
                "EllipticEnvelope(support_fraction=1.0)."
            )
        return self._novelty.pvalues(_bases.model_columns(self, X))

    def _decision(
        self, X: Any, qid: Any, *, needs_qid: bool = False
    ) -> tuple[selection.RiskEngine, Scores]:
        items = self._scored(X, qid, needs_qid=needs_qid)
        return self._calibration.engine, items

    def _scored(self, X: Any, qid: Any, *, needs_qid: bool = False) -> Scores:
        """Return scores, what the tie model compares, and which items are novel."""
        items, scores = _bases.score_new_items(self, X, qid, needs_qid=needs_qid)
        limit = self._fitted_rule.largest_query
        selection.check_largest_query(int(items.queries.sizes.max(initial=0)), limit)
        values = self.tie_model_.new_values(scores, items.queries, items.X)
        novel = None if self._novelty is None else self._novelty.is_novel(items.X)
        keys = self._keys_of_draws(intake.hash_rows, items.X)
        group = self._calibration.codes_of_groups(items.group)
        return Scores(scores, items.queries, values, novel=novel, key=keys, group=group)
