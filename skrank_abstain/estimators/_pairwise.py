"""PairwiseRankerClassifier: a scikit-learn classifier of comparisons."""

from collections.abc import Mapping, Sequence
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags, _safe_indexing
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from skrank_abstain import intake, selection, tie_models
from skrank_abstain._kernels import BoolArray, FloatArray, IntArray
from skrank_abstain._saving import all_or_nothing
from skrank_abstain._validation import check_loss, check_row_order, check_sample_weight
from skrank_abstain._warnings import hearing
from skrank_abstain.estimators import _pair_rows
from skrank_abstain.estimators._bases import RuleThreshold
from skrank_abstain.metrics import undefined
from skrank_abstain.pairs import Queries, Scores, group_queries
from skrank_abstain.report import Report, ReportData, write_report


class PairwiseRankerClassifier(ClassifierMixin, RuleThreshold):
    """Classifier of comparisons: which of two items is preferred.

    A row of X holds two items, ``[left | right]``; its label says which one is
    preferred. A ranker scores both items, a tie model turns the two scores into
    probabilities and a conditional risk, and pairs above the threshold on the risk are
    abstained on. ``predict`` answers for every row; ``abstain`` says which rows a
    person should decide.

    Parameters
    ----------
    estimator : object
        A fitted one is used as it is. A ranker or regressor of *items*, in any form
        that ``BALToR`` takes, scores the halves of each row. A judge decides whole
        rows: a classifier whose ``n_features_in_`` is the width of X, or any object
        with ``predict_proba`` and words in ``classes_``, which are read as the labels
        of y are. An unfitted one is trained on a part of the pairs: a
        classifier on whole rows, each strict pair in both orders; anything else on
        each pair as a query of two items.
    labels : mapping, default=None
        What the values in y mean, as ``{2: "left", 1: "tie", 0: "right"}``. None:
        labels whose meaning is known, see Notes.
    tie_model : str or DifferenceModel, default="bradley_terry"
        How scores become probabilities: "bradley_terry", "davidson",
        "thurstone_mosteller", "isotonic_difference", or an instance of a model of the
        score difference.
    loss : "zero_one" or array-like of shape (3, 3), default="zero_one"
        Loss of a prediction: see :class:`BALToR`. With two kinds of labels only the
        corners count.
    coverage : float, default=0.8
        Target share of accepted pairs, in (0, 1]. 1 accepts every pair.
    rule : Rule, default=None
        Sets the threshold in place of ``coverage``, which is then not read:
        `CertifiedRisk`, `GuaranteedCoverage`, `Price` or `Coverage` of
        `skrank_abstain.selection`, or a rule of your own. None: ``Coverage(coverage)``.
    prefit, random_state, verbose
        As in :class:`BALToR`.
    calibration_size : float, default=None
        Share of the queries, or of the pairs where there are no queries, set aside to
        calibrate on when the estimator is trained here. None: see ``cv``.
    cv : int, splitter by groups or iterable of (train, test), default=None
        As in :class:`BALToR`; a pair without a query counts as one. Not with a rule
        that promises something.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels in sorted order, as scikit-learn's scorers expect.
    n_queries_, n_pairs_ : int
        Queries and pairs that set the threshold. Without ``qid`` each pair is a query
        of its own.
    estimator_, tie_model_, threshold_, coverage_, coverage_interval_, \
calibration_totals_, prefit_, n_folds_, n_features_in_, feature_names_in_
        As in :class:`BALToR`.

    See Also
    --------
    BALToR : The same for items and queries.
    skrank_abstain.leaderboard.Leaderboard : Votes on items that have names alone.

    Notes
    -----
    *Rows.* X holds the features of the two items and nothing else. Columns that
    describe the pair, as in ``[prompt | left | right]``, and differences ``left -
    right`` cannot be told from two halves in a bare array of even width: pass a frame,
    whose names are checked, repeat the prompt in each half, or let a ranker score items
    first.

    *Orientation.* Swapping left and right mirrors decisions and probabilities
    exactly. A judge f of whole rows gives the scores f(left, right) / 2 and
    f(right, left) / 2, where f is its ``decision_function`` or the log-odds of the
    probability of left, and half of that of a tie, under its ``predict_proba`` (mixed
    with one part in a thousand of even odds, so that certainty stays finite). One that
    is trained here sees no ties; the tie model learns them.
    Equal scores are predicted a tie, or, with two kinds of labels, left. A
    ``StandardScaler`` in front of this estimator treats the two halves differently and
    breaks the symmetry: make it a step of ``estimator``.

    *Labels.* These have a known meaning, as (right, tie, left) preferred: (-1, 0, 1),
    (0, 0.5, 1), (0, 1), (-1, 1), and in any case right / tie / left, model_b / tie /
    model_a, B / tie / A, second / tie / first and loss / tie / win (of the left one),
    where a tie is tie, draw, same or equal. Others, such as 0, 1, 2 or yes and no, are
    refused unless ``labels`` gives their meaning. 0 and 1 mean right and left: pass
    ``labels={0: "tie", 1: "left"}`` if they are tie and left.

    *Frames.* All column names differ. The right half has the names of the left half, in
    the same order, but for one prefix or suffix that all names of a half share: ``age,
    bmi, age_right, bmi_right`` or ``a.age, a.bmi, b.age, b.bmi``. Columns that
    alternate, ``age, age_right, bmi, bmi_right``, and swapped halves, ``b.age, b.bmi,
    a.age, a.bmi``, are refused. Numbered names, ``0, 1, 2`` or ``x0, x1, x2``, count
    by position, as the columns of an array. A fitted ranker that knows ``age, bmi``
    gets ``a.age, a.bmi`` under these names.

    *Queries.* Pass ``qid`` if pairs share items or occur in both orders: nothing else
    keeps them on one side of a split. ``rule=CertifiedRisk(0.3)`` (a certified bound on
    the share of wrong orders among the decided pairs that differ) and
    ``rule=GuaranteedCoverage(0.8)`` set 15 % of the calibration queries aside for the
    tie model. They count queries alike and assume them independent: without
    ``qid`` each pair is a query, and the promise is wrong if pairs share items.

    References
    ----------
    .. [1] Ferrara, Pugnana, Bonchi and Ruggieri (2025). "Bounded-Abstention Pairwise
       Learning to Rank". arXiv:2505.23437.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skrank_abstain import PairwiseRankerClassifier
    >>> from skrank_abstain.datasets import make_ranking
    >>> items = make_ranking(400, n_items=2, n_grades=None, random_state=0)
    >>> X = items.data.reshape(400, -1)  # [left | right]
    >>> y = np.where(items.target[::2] > items.target[1::2], "left", "right")
    >>> model = PairwiseRankerClassifier(LogisticRegression(), random_state=0)
    >>> model.fit(X[:300], y[:300]).predict(X[300:303])
    array(['left', 'right', 'left'], dtype='<U5')
    >>> careful = model.at_coverage(0.5)
    >>> careful.score(X[300:], y[300:]) > model.score(X[300:], y[300:])
    True
    """

    __metadata_request__fit = {"qid": True, "groups": False}  # noqa: RUF012

    tie_model_: tie_models.DifferenceModel
    #: What each class of a judge says for the left item; None for a ranker of items.
    _verdicts: FloatArray | None

    def __init__(
        self,
        estimator: Any,
        *,
        labels: Mapping[Any, str] | None = None,
        tie_model: str | tie_models.TieModel = "bradley_terry",
        loss: str | ArrayLike | Sequence[Any] = "zero_one",
        coverage: float = 0.8,
        rule: selection.Rule | None = None,
        prefit: bool | str = "auto",
        calibration_size: float | None = None,
        cv: Any = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.labels = labels
        self.tie_model = tie_model
        self.loss = loss
        self.coverage = coverage
        self.rule = rule
        self.prefit = prefit
        self.calibration_size = calibration_size
        self.cv = cv
        self.random_state = random_state
        self.verbose = verbose

    @all_or_nothing
    def fit(
        self, X: Any, y: ArrayLike, *, qid: Any = None, groups: ArrayLike | None = None
    ) -> Self:
        """Train the model unless it is fitted, then calibrate.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_pairs, 2 * n_features)
            One row per pair, ``[left | right]``.
        y : array-like of shape (n_pairs,)
            Labels whose meaning is known, or that ``labels`` names. Right and left
            must both occur.
        qid : None, scalar or array-like of shape (n_pairs,), default=None
            Query of each pair: pairs of one query stay on one side of the split.
        groups : array-like of shape (n_pairs,), default=None
            With ``rule=CertifiedRisk(...)``: kind of query of each pair, such as a
            language, the same for all pairs of a query. The bound is certified in every
            group (see :class:`RiskControlledRanker`).

        Returns
        -------
        self : object

        Raises
        ------
        ValueError, TypeError, sklearn.exceptions.NotFittedError
            If a parameter or an input breaks its rule, or the model's scores are not
            finite.

        Warns
        -----
        UserWarning
            If pairs are in both the training and the calibration part, in either
            order; nearly all accepted pairs are ties, or many more are accepted than
            ``coverage`` asks for.
        """
        rule = self._rule()
        if groups is not None and not isinstance(rule, selection.CertifiedRisk):
            raise ValueError(
                "groups must come with rule=CertifiedRisk(max_risk), which certifies "
                f"the bound in each, got rule={self.rule!r}. Pass the query of each "
                "pair as qid=."
            )
        tie_model = tie_models.resolve_tie_model(self.tie_model, of_differences=True)
        loss = check_loss(self.loss)
        check_row_order(X, y=y, qid=qid, groups=groups)
        X = _pair_rows.take_pairs(self, X, reset=True)
        self._classes, label = _pair_rows.read_labels(self, X, y, self.labels)
        self.classes_ = self._classes.kinds
        self._answers_ties = self._classes.has_ties
        self._loss = loss if self._answers_ties else _pair_rows.without_ties(loss)
        rule.check(self._loss)
        split_seed, seed = intake.draw_seeds(self.random_state)
        pairs = np.arange(label.size)
        named = group_queries(pairs if qid is None else qid, label.size)
        self._fitted_with_qid = qid is not None and named.n_queries > 1
        # A scalar names no queries: each pair is one of its own.
        queries = named if named.n_queries > 1 else group_queries(pairs, label.size)
        kinds = intake.groups_of_queries(groups, queries)
        kinds = kinds or selection.Groups.one(queries.n_queries)
        trained = self._fit_model(X, label, queries, kinds.code, split_seed)
        rows, scores = trained.rows, trained.scores.T
        tie_models.check_spread(np.append(*scores))
        hashes = _pair_rows.hash_sides(X)
        self._fit_rows = intake.find_repeats(hashes, named, rows, label, trained.folds)
        intake.warn_of_repeats(self._fit_rows, "pair")
        if self.prefit_ and self._verdicts is not None:
            own = X, y, group_queries(pairs, label.size)
            intake.warn_of_trained(trained.model, own, hashes, "pair")
        left = group_queries(queries.codes[rows], rows.size)
        kind = kinds.code[queries.codes[rows[left.first_rows]]]
        parts = [np.arange(left.n_queries)]
        if rule.tuning_size:
            # Two items make a pair: each query here has one or more.
            sizes = np.full(left.n_queries, 2)
            parts = [*intake.divide_queries(sizes, kind, rule.tuning_size, seed)]
        at = [np.flatnonzero(np.isin(left.codes, part)) for part in parts]
        *tuning, data = (
            Scores.of_pairs(scores[0][i], scores[1][i], label[rows[i]], left.codes[i])
            for i in at
        )
        certified = selection.Groups(kind[parts[-1]], kinds.names)
        calibration = selection.fit_calibration(
            tie_model, self._loss, data, *tuning, seed=seed, groups=certified
        )
        self._fit_threshold(rule, calibration)
        return self

    def _rule(self) -> selection.Rule:
        if self.rule is None:
            return selection.Coverage(self.coverage)
        return selection.check_rule(self.rule)

    def _fit_model(
        self, X: Any, label: IntArray, queries: Queries, kinds: IntArray, seed: int
    ) -> intake.Trained:
        """Set ``estimator_``; return it with both scores of rows to calibrate on."""

        def split(size: float) -> tuple[IntArray, IntArray]:
            return _pair_rows.split_pairs(label, queries, kinds, size, seed)

        self._verdicts, self.prefit_ = None, True  # until a model is trained here

        def train(model: Any, rows: IntArray) -> Any:
            self.prefit_ = False
            if _pair_rows.trains_on_pairs(model):
                self._verdicts = np.array([0.0, 1.0])  # of fit_on_pairs
            return _pair_rows.fit_on_pairs(model, _safe_indexing(X, rows), label[rows])

        def score(model: Any, rows: IntArray) -> FloatArray:
            if self.prefit_ and _pair_rows.judges_pairs(model, X.shape[1]):
                self._verdicts = _pair_rows.read_verdicts(model, self.labels)
            part = _safe_indexing(X, rows)
            return np.stack(_pair_rows.score_sides(model, part, self._verdicts), axis=1)

        trained = self._train_or_take(queries, split, train, score, seed)
        self._keep_model(trained)
        return trained

    def decision_function(self, X: Any) -> FloatArray:
        """Return the score of the left item minus that of the right one.

        Parameters
        ----------
        X
            As in ``fit``.

        Returns
        -------
        difference : ndarray of shape (n_pairs,), float64
            Positive where left is preferred. One value per pair, also with three
            kinds of labels. With two, scikit-learn's scorers take a positive value
            for the second class: the sign is reversed if that is right preferred
            (``"left"`` sorts before ``"right"``).
        """
        left, right = self._score(X)
        return self._classes.sign * (left - right)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class.

        Parameters
        ----------
        X
            As in ``fit``.

        Returns
        -------
        proba : ndarray of shape (n_pairs, n_classes), float64
            In the order of ``classes_``, alphabetical for words; ``pair_proba`` has
            the order right, tie, left.
        """
        return self.pair_proba(X)[:, self._classes.meaning + 1]

    def pair_proba(self, X: Any) -> FloatArray:
        """Return the probabilities of the pair labels -1, 0, +1.

        Parameters
        ----------
        X
            As in ``fit``.

        Returns
        -------
        proba : ndarray of shape (n_pairs, 3), float64
            Right preferred, tie, left preferred. Swapping left and right reverses a
            row.
        """
        left, right = self._score(X)
        return self.tie_model_.proba(left, right)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of least expected loss. It never abstains.

        Parameters
        ----------
        X
            As in ``fit``.

        Returns
        -------
        label : ndarray of shape (n_pairs,)
            Values of ``classes_``. Where the two scores are equal: the tie, or left
            if there are two classes.
        """
        label = self._decide(X).label  # raises if not fitted
        return self._classes.named(label)

    def conditional_risk(self, X: Any) -> FloatArray:
        """Return the expected loss of the prediction for each pair.

        Parameters
        ----------
        X
            As in ``fit``.

        Returns
        -------
        risk : ndarray of shape (n_pairs,), float64
            Lower is better. For the zero-one loss one minus the largest probability;
            where both items have the same score, one minus that of a tie.
        """
        return cast("FloatArray", self._decide(X).risk)

    def abstain(self, X: Any) -> BoolArray:
        """Return which pairs go to a person.

        Parameters
        ----------
        X
            As in ``fit``.

        Returns
        -------
        abstained : ndarray of shape (n_pairs,), bool
            One value per row of X.
        """
        return ~self._decide(X).accepted

    def score(
        self, X: Any, y: ArrayLike, *, qid: Any = None, sample_weight: Any = None
    ) -> float:
        """Return one minus the selective risk under the classifier's own loss.

        Higher is better. For the zero-one loss it is the share of accepted pairs that
        are predicted correctly, the accuracy at ``coverage=1``.

        Do not choose a threshold by it: a search over ``coverage`` would take the
        lowest one. Search with ``scoring=selective_utility(cost)`` of
        `skrank_abstain.metrics`.

        Parameters
        ----------
        X, y, sample_weight
            As in ``evaluate``.
        qid : object, default=None
            Ignored: accepted pairs count alike, whatever their query. Metadata routing
            passes the same arguments to ``fit`` and ``score``.

        Returns
        -------
        score : float
            NaN where no pair is accepted.

        Warns
        -----
        sklearn.exceptions.UndefinedMetricWarning
            If no pair is accepted.
        """
        score = 1 - self.evaluate(X, y, sample_weight=sample_weight).selective_risk
        return undefined("score") if np.isnan(score) else score

    def evaluate(
        self, X: Any, y: ArrayLike, *, qid: Any = None, sample_weight: Any = None
    ) -> selection.PairTotals:
        """Add up, query by query, what happens to labelled pairs.

        Parameters
        ----------
        X, y
            As in ``fit``; ``y`` are the true labels.
        qid : None, scalar or array-like of shape (n_pairs,), default=None
            Query of each pair. None: each pair is a query of its own.
        sample_weight : array-like of shape (n_pairs,), default=None
            Pair weights.

        Returns
        -------
        totals : PairTotals
            Pairs, accepted pairs, correct ones and more, each of shape (n_queries,);
            ``totals.coverage``, ``selective_risk``, its ``yardstick``, ``accuracy`` and
            ``concordance`` pool them.

        Warns
        -----
        UserWarning
            If pairs have the features of pairs that ``fit`` got, in either order.
        """
        check_row_order(X, y=y, qid=qid, sample_weight=sample_weight)
        gaps, _, queries = self._gaps(X, y, qid)
        intake.warn_of_seen(self, lambda: self._hashes(X), unit="pair")
        weight = check_sample_weight(sample_weight, gaps.n_pairs)
        tally = self._calibration.engine.tally(gaps, [self._region], weight=weight)
        return tally.totals(queries.values)

    def risk_profile(
        self, X: Any, y: ArrayLike, *, qid: Any = None
    ) -> selection.RiskProfile:
        """Return pairs and their loss at each risk, whatever the threshold.

        Parameters
        ----------
        X, y, qid
            As in ``evaluate``.

        Returns
        -------
        profile : RiskProfile
            As :class:`SelectiveRanker` returns it. The scorers ``neg_aurc_scorer``,
            ``accuracy_at_coverage`` and ``coverage_at_risk`` of
            `skrank_abstain.metrics` read it.
        """
        check_row_order(X, y=y, qid=qid)
        return self._calibration.engine.tally(self._gaps(X, y, qid)[0]).profile()

    @hearing()
    def report(
        self, X: Any, y: Any = None, *, qid: Any = None, groups: Any = None
    ) -> Report:
        """Return a page about data, model, threshold and results, for an audit.

        Parameters
        ----------
        X, y, qid
            As in ``evaluate``. Without ``y`` the page says what is decided and
            expected, and that nothing was measured.
        groups : array-like of shape (n_pairs,), default=None
            Kind of query of each pair, such as a language, the same for all pairs of a
            query: adds a row for each.

        Returns
        -------
        report : Report
            A text in markdown; ``report.to_html("audit.html")`` saves it as one page,
            with pictures. Intervals are over queries; without ``qid`` they treat pairs
            as independent, and are too short if pairs share items.

        Raises
        ------
        ValueError
            If a query is in two groups, or ``fit`` got a ``qid`` and this does not.

        Warns
        -----
        UserWarning
            If pairs have the features of pairs that ``fit`` got, in either order, or
            parameters of the rule were set after ``fit``.
        """
        check_is_fitted(self, "threshold_")
        if qid is None and self._fitted_with_qid:
            raise ValueError(
                "qid= must be given to report, since fit got one: intervals that take "
                "pairs of one query for independent are too short. Pass qid=, or "
                "qid=np.arange(len(X)) where no two of these pairs share an item."
            )
        check_row_order(X, y=y, qid=qid, groups=groups)
        labelled = y is not None
        gaps, truth, queries = self._gaps(X, y, qid, labelled=labelled)
        label = truth if labelled else None
        rows = intake.describe_rows(self, self._hashes(X), queries, label, unit="pair")
        counted = f"{gaps.n_pairs} pairs of {gaps.n_queries} queries"
        if qid is None:
            counted = (
                f"{gaps.n_pairs} pairs, each taken for a query of its own: no qid was "
                "given, so that pairs with a common item count as independent"
            )
        kinds = intake.groups_of_queries(groups, queries)
        return write_report(ReportData(self, gaps, labelled, rows, kinds, counted))

    def _gaps(
        self, X: Any, y: Any, qid: Any, *, labelled: bool = True
    ) -> tuple[Scores, IntArray, Queries]:
        """Return pairs by their score difference, their labels, and their queries."""
        left, right = self._score(X)
        # Without labels all pairs count as tied; the page then shows no such number.
        truth = self._classes.read(y) if labelled else np.zeros(left.size, np.int64)
        check_consistent_length(left, truth)
        queries = group_queries(np.arange(left.size) if qid is None else qid, left.size)
        with np.errstate(over="ignore"):
            difference = left - right
        if not self._classes.has_ties:
            # Equal scores mean left: an order by the smallest of gaps.
            region = cast("selection.GapRegion", self._region)
            difference[np.abs(difference) <= region.tolerance] = region.smallest_order
        pairs = difference, np.zeros(left.size), truth, queries.codes
        keys = self._keys_of_draws(self._hashes, X)
        return Scores.of_pairs(*pairs, keys), truth, queries

    def _hashes(self, X: Any) -> Any:
        return _pair_rows.hash_sides(_pair_rows.take_pairs(self, X, reset=False))

    def _score(self, X: Any) -> tuple[FloatArray, FloatArray]:
        check_is_fitted(self, "threshold_")
        X = _pair_rows.take_pairs(self, X, reset=False)
        self._warn_if_changed()
        if not X.shape[0]:
            return np.zeros(0), np.zeros(0)
        return _pair_rows.score_sides(self.estimator_, X, self._verdicts)

    def _decide(self, X: Any) -> selection.DecisionArrays:
        left, right = self._score(X)
        row, values = np.arange(left.size), np.append(left, right)
        keys = self._keys_of_draws(self._hashes, X)
        keys = None if keys is None else keys.T.reshape(-1)
        pairs = selection.RowPairs.of(values, row, row + left.size, keys)
        return self._calibration.engine.decide(self._region, values, pairs)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # A third class can only be the tie.
        tags.classifier_tags.multi_class = False
        return tags
