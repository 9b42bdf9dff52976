"""The report of a ranker of items."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skrank_abstain._validation import FloatArray, check_relevance, check_row_order
from skrank_abstain.estimators._item_scorer import ItemValues
from skrank_abstain.intake import (
    check_columns,
    describe_rows,
    groups_of_queries,
    hash_rows_if_readable,
    take_column,
)
from skrank_abstain.pairs import Queries, ScoredItems
from skrank_abstain.report import Report, ReportData, write_report


class ItemReport:
    """Mixin of the rankers of items whose threshold is set by a rule."""

    qid_col: str | int | None

    def _scored(self, X: Any, qid: Any, *, needs_qid: bool = False) -> ItemValues:
        """Return the items with their scores and values."""
        raise NotImplementedError

    def report(
        self,
        X: Any,
        y: ArrayLike | None = None,
        qid: Any = None,
        *,
        groups: ArrayLike | None = None,
    ) -> Report:
        """Return a page about data, model, threshold and results, for an audit.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_items, n_features)
        y : array-like of shape (n_items,), default=None
            Relevance, higher is better. None: a day without labels, of which the page
            says what is decided and expected, and that nothing was measured.
        qid : None, scalar or array-like of shape (n_items,), default=None
            Query of each item.
        groups : array-like of shape (n_items,), default=None
            Kind of query of each item, such as a site: the page then has a row for
            each. The same for all items of a query.

        Returns
        -------
        report : Report
            A text in markdown; ``report.to_html("audit.html")`` saves it as one page,
            with pictures. Intervals are over queries, since the pairs of one query are
            dependent.

        Raises
        ------
        ValueError
            If an input breaks its rule, a query is in two groups, the model was fitted
            with a ``qid`` and gets labels without one, or parameters of the rule were
            set after ``fit``: what is promised would be of another threshold.

        Warns
        -----
        UserWarning
            If items have the features of items that ``fit`` got.

        Notes
        -----
        The fingerprint of the data is the start of a SHA-256 over the rows by value
        (without a column of queries), the number of each row's query in order of
        appearance, and the relevance. Equal numbers in the same order have the same
        one in an array, a sparse matrix or a frame; names of columns and of queries do
        not count. O(n log n), as ``evaluate``; no pair is stored.

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
        - NO LABELS WERE GIVEN: nothing about correctness was measured on these data
        ...
        """
        check_row_order(X, groups=groups)
        items, queries, relevance = self._items_of_report(X, y, qid)
        X = check_columns(self, X, reset=False)
        if self.qid_col is not None:
            X = take_column(X, self.qid_col)[0]
        hashes = hash_rows_if_readable(X)
        rows = describe_rows(self, hashes, queries.codes, relevance)
        groups_of = groups_of_queries(groups, queries)
        return write_report(self, ReportData(items, y is not None, rows, groups_of))

    def _items_of_report(
        self, X: Any, y: ArrayLike | None, qid: Any
    ) -> tuple[ScoredItems, Queries, FloatArray | None]:
        check_row_order(X, y=y)
        items = self._scored(X, qid, needs_qid=y is not None)
        relevance = None if y is None else check_relevance(y, items.values.size)
        # Without labels all pairs count as tied; the page says nothing of that.
        known = np.zeros(items.values.size) if relevance is None else relevance
        return items.sorted(known), items.queries, relevance
