"""Base of the rankers of whole queries: model in, lists scored and graded, page out."""

import copy
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Generic, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from skrank_abstain import intake
from skrank_abstain import report as pages
from skrank_abstain._kernels import FloatArray, IntArray
from skrank_abstain._saving import identify
from skrank_abstain._validation import (
    check_choice,
    check_relevance,
    check_row_order,
    check_sample_weight,
    shown,
)
from skrank_abstain._warnings import hearing, warn_user
from skrank_abstain.estimators import ModelWrapper, predict, score_new_items
from skrank_abstain.pairs import Scores
from skrank_abstain.selection import fit_values
from skrank_abstain.tie_models import GradedRelevance, resolve_tie_model

Results = TypeVar("Results")

_NAMES = ("graded_relevance", "feature_aware_relevance")
_ASSUMPTIONS = [
    "Intervals treat queries, not items, as the sample (cluster-t), each query "
    "counting alike. They need a few dozen queries to be trusted, and are undefined "
    "where all queries agree.",
    pages.ABOUT_NEW_QUERIES,
    pages.NOT_SEEN,
]


class Findings(NamedTuple):
    """The text of a page about results, and its ratios.

    Attributes
    ----------
    short : str
    rule, promise : list of str
    ratios : dict
        Part and whole of each ratio, query by query, by its name.
    highest : float
        Largest value of a ratio.
    bound : tuple of (str, float, bool) or None
        Name of the ratio that the promise is about, the bound, and whether it is the
        least; None without a promise or without labels.
    """

    short: str
    rule: list[str]
    promise: list[str]
    ratios: dict[str, tuple[FloatArray, FloatArray]]
    highest: float
    bound: tuple[str, float, bool] | None

    def compare(self, *, kept: bool) -> list[str]:
        """Hold the ratio of the promise against its bound."""
        if self.bound is None:
            return []
        name, limit, least = self.bound
        value, low, high = pages.interval_of(*self.ratios[name], highest=self.highest)
        lies = pages.lie_to(limit, low, high)
        broken = lies == ("lies below" if least else "lies above")
        end = pages.conclude(lies, broken=broken, kept=kept)
        return [
            f"Observed, {name}: {pages.as_number(value)} (95 % interval "
            f"{pages.as_interval(low, high)}), each query counting alike. This "
            f"interval {lies} the bound of {limit:g}{end}."
        ]

    def table(self, title: str, own: Any) -> pages.Section:
        """Return the table of the ratios of some queries."""
        rows = []
        for name, (part, whole) in self.ratios.items():
            # A query that does not count, such as one of equal items, has NaN.
            known = np.isfinite(part[own])
            parts = part[own][known], whole[own][known]
            rows.append(pages.row(name, *parts, highest=self.highest))
        return pages.Section(title, [pages.Table(pages.HEAD, rows)])


class ListRanker(ModelWrapper, Generic[Results]):
    """Base of the rankers that apply a model of grades to whole queries."""

    #: Names of the parameters that a report compares with those of fit.
    _own: tuple[str, ...] = ()
    threshold_: float

    # What the wrapped model requests, if it does, can pass through a Pipeline.
    __metadata_request__predict = {"qid": True}  # noqa: RUF012 (read by scikit-learn)
    __metadata_request__decision_function = {"qid": True}  # noqa: RUF012

    predict = decision_function = predict  # scikit-learn's scorers ask for both

    def evaluate(
        self, X: Any, y: ArrayLike, *, qid: Any = None, sample_weight: Any = None
    ) -> Results:
        """Return, query by query, the decision and its quality.

        Parameters
        ----------
        X, y, qid, sample_weight
            As in ``score``.

        Returns
        -------
        results : SetResults or QueryResults
            Arrays of shape (n_queries,), and the properties that pool them.
        """
        items = self._labelled(X, y, qid, sample_weight)
        weight = check_sample_weight(sample_weight, items.score.size)
        # Without weights the sum over a query is its size.
        mean = np.bincount(items.queries.codes, weight) / items.queries.sizes
        return self._results(items, mean)

    @hearing()
    def report(
        self, X: Any, y: Any = None, *, qid: Any = None, groups: Any = None
    ) -> pages.Report:
        """Return a page about data, model, threshold and queries, for an audit.

        Parameters
        ----------
        X, qid
            As in ``evaluate``.
        y : array-like of shape (n_items,), default=None
            Relevance, higher is better. Without it the page says what is decided and
            expected, and that nothing was measured.
        groups : array-like of shape (n_items,), default=None
            Kind of query of each item, the same for all items of a query: adds a table
            for each.

        Returns
        -------
        report : Report
            A text in markdown; ``report.to_html("audit.html")`` saves it as a page.

        Warns
        -----
        UserWarning
            If items have the features of items that ``fit`` got, or parameters were set
            after ``fit``: the report uses those of ``fit``.
        """
        check_row_order(X, y=y, qid=qid, groups=groups)
        items = self._scored(X, qid) if y is None else self._labelled(X, y, qid)
        queries = items.queries
        results = self._results(items, np.ones(queries.n_queries))
        found = self._findings(results, labelled=y is not None)
        about = self._about_rows(items)
        seen = pages.not_new(about)
        # The certificate of a ranker with groups is for each of them.
        alone = None not in getattr(self, "n_group_queries_", [None])
        said = [*seen, found.promise[0], *found.compare(kept=not (seen or alone))]
        if alone:
            said.append("The promise is for each group by itself, not for all at once.")
        if y is None:
            said.append(pages.NO_LABELS)
        counted = f"{queries.n_items} items, {queries.n_queries} queries"
        model = pages.about_model(
            self.estimator_, self.tie_model_, prefit=self.prefit_, note=self._origin
        )
        tables = [found.table("On these data", slice(None))]
        if (kinds := intake.groups_of_queries(groups, queries)) is not None:
            tables += [
                found.table(f"Group {' '.join(str(name).split())}", kinds.code == k)
                for k, name in enumerate(kinds.names)
            ]
        sections = [
            pages.Section("Verdict", [" ".join(said), [found.short]]),
            pages.Section("Data", [[counted, *about.lines]]),
            pages.Section("Model", [[*model, f"id_: {self.id_}"]]),
            pages.Section("Rule", [found.rule]),
            pages.Section("About the promise", [found.promise[1:]]),
            *tables,
            pages.Section("Assumptions", [_ASSUMPTIONS]),
        ]
        warnings = [*self._warned, *pages.warn_of_few(queries.n_queries)]
        name = type(self).__name__
        return pages.write_page(name, self.estimator_, sections, warnings=warnings)

    def _set_threshold(self) -> None:
        """Set the threshold from the calibration queries and the parameters."""
        raise NotImplementedError

    def _results(self, items: Scores, weight: FloatArray) -> Results:
        """Return the results of queries of these weights, labelled or not."""
        raise NotImplementedError

    def _findings(self, found: Results, *, labelled: bool) -> Findings:
        """Return what a page says about results."""
        raise NotImplementedError

    def _unfitted_tie_model(self) -> GradedRelevance:
        """Return the tie model; raise if it is not a model of grades."""
        if isinstance(self.tie_model, str):
            check_choice(self.tie_model, "tie_model", _NAMES)
        model = resolve_tie_model(self.tie_model)
        if not isinstance(model, GradedRelevance):
            raise TypeError(
                "tie_model must be a model of grades, a GradedRelevance or a "
                f"FeatureAwareRelevance, got {shown(self.tie_model)}."
            )
        return model

    def _learn(
        self, rows: intake.Rows, size: float, groups: Any = None
    ) -> tuple[list[Scores], intake.CalibrationData]:
        """Train the ranker, split the queries, and fit the tie model.

        Parameters
        ----------
        rows : Rows
            Result of ``take_labelled_rows``.
        size : float
            Share of the calibration queries that only fit the tie model; 0: all fit it.
        groups : array-like of shape (n_items,), default=None
            Kind of query of each item; each group is split by itself.

        Returns
        -------
        parts : list of Scores
            The queries that fit the tie model, with out-of-fold values, and the others
            if there are any.
        data : CalibrationData
        """
        model = self._unfitted_tie_model()
        data = intake.train_and_score(self, rows, tuning_size=size, groups=groups)
        self._take_over(data)
        last, parts = data.rest, [fit_values(model, data.tuning or data.rest)]
        self.n_tuning_queries_ = 0
        if data.tuning is not None:
            values = model.checked_transform(last.score, last.queries, last.X)
            parts.append(replace(last, value=values))
            self.n_tuning_queries_ = data.tuning.queries.n_queries
        self.tie_model_ = model
        self._id_of_fit = identify(self.estimator_, model)
        self.n_queries_ = last.queries.n_queries
        return parts, data

    def _calibrate(self) -> Self:
        """Set the threshold and note its parameters: later ones have no effect."""
        self._set_threshold()
        self._parameters = {name: getattr(self, name) for name in self._own}
        self._id = identify(self._id_of_fit, self._parameters, self.threshold_)
        return self

    def _end_fit(self) -> Self:
        """Calibrate, and print the line of a verbose fit."""
        self._calibrate()
        self._tell(f"{self.n_queries_} queries", f"threshold {self.threshold_:.6g}")
        return self

    def _moved(self, **params: Any) -> Self:
        """Return a fitted copy with the threshold of other parameters."""
        check_is_fitted(self, "threshold_")
        other = copy.copy(self)
        # The others are those of fit, whatever was set since.
        other.__dict__.update(self._parameters | params)
        return other._calibrate()

    def _scored(self, X: Any, qid: Any, *, needs_qid: bool = False) -> Scores:
        """Return new items with their values."""
        rows, scores = score_new_items(self, X, qid, needs_qid=needs_qid)
        values = self.tie_model_.new_values(scores, rows.queries, rows.X)
        return Scores(scores, rows.queries, values, X=rows.X)

    def _labelled(self, X: Any, y: Any, qid: Any, sample_weight: Any = None) -> Scores:
        """Return new items with their values and relevance."""
        check_row_order(X, y=y, qid=qid, sample_weight=sample_weight)
        items = self._scored(X, qid, needs_qid=True)
        return replace(items, y=check_relevance(y, items.score.size))

    def _graded(
        self, items: Scores, by: FloatArray
    ) -> Iterator[tuple[IntArray, FloatArray]]:
        """Yield the rows of each query, the best first, and P(grade) of its items.

        Parameters
        ----------
        items : Scores
        by : ndarray of shape (n_items,), float64
            Sort key; equal items are sorted by their values.

        Yields
        ------
        rows : ndarray of shape (n,), int64
        proba : ndarray of shape (n_nodes, n, n_grades), float64
        """
        # By values too, so that draws do not depend on the order of the rows.
        order = np.lexsort((-items.value, -by, items.queries.codes))
        # Without queries nothing is left of the pieces.
        for rows in np.split(order, items.queries.offsets[1:])[:-1]:
            yield rows, self.tie_model_.grade_proba(items.value[rows])

    def _about_rows(self, items: Scores) -> intake.AboutRows:
        """Return what a report says of its rows; warn of changed parameters."""
        hashes = intake.hash_rows(items.X)
        rows = intake.describe_rows(self, hashes, items.queries, items.y)
        changed = [
            f"{name}={shown(getattr(self, name))} after {shown(then)}"
            for name, then in self._parameters.items()
            if getattr(self, name) != then
        ]
        if changed:
            warn_user(
                "Parameters were set after fit and have no effect: got "
                f"{', '.join(changed)}. The report is about what was fitted. Call fit "
                "again to use them."
            )
        return rows


def mean_of_known(values: FloatArray, weight: FloatArray) -> float:
    """Return the weighted mean of the values that are not NaN; NaN for none."""
    known = ~np.isnan(values)
    if not weight[known].sum():
        return float("nan")
    return float(np.average(values[known], weights=weight[known]))
