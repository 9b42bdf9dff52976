"""Items in order, the ranks that accepted pairs leave open, and answers about them."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from scipy.sparse import csr_array

from skrank_abstain._validation import IntArray, check_row_order
from skrank_abstain.estimators._item_scorer import ItemValues
from skrank_abstain.pairs import Ranking, check_item_id, rows_by_place
from skrank_abstain.review import Review, open_review
from skrank_abstain.selection import Calibration, Rule
from skrank_abstain.tie_models import TieModel


class RanksOpen:
    """Mixin of the rankers whose accepted orders go along one value per item."""

    tie_model_: TieModel
    _calibration: Calibration
    _region: Any

    @abstractmethod
    def _rule_of_fit(self) -> Rule:
        """Return the rule that set the threshold."""

    @abstractmethod
    def _scored(self, X: Any, qid: Any, *, needs_qid: bool = False) -> ItemValues:
        """Return the items with their scores and values."""

    def ranking(self, X: Any, qid: Any = None, *, item_id: Any = None) -> Ranking:
        """Return the items in order, with the ranks that accepted pairs leave open.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_items, n_features)
        qid : None, scalar or array-like of shape (n_items,), default=None
            Query of each item; None or a scalar: all items are one query.
        item_id : array-like of shape (n_items,), default=None
            What you call the items: any hashable values, each once in a query. Their
            row positions by default.

        Returns
        -------
        ranking : Ranking
            One value per item: ``qid``, ``item_id``, ``place``, ``score``, ``best``,
            ``worst``, ``open``. Queries in order of first appearance, the items of a
            query by place.

        Raises
        ------
        ValueError
            If columns do not match ``fit``, or an ``item_id`` is twice in a query.

        Notes
        -----
        ``best`` and ``worst`` are those of ``rank_intervals``.

        Examples
        --------
        >>> from sklearn.linear_model import Ridge
        >>> from skrank_abstain import BALToR
        >>> from skrank_abstain.datasets import make_ranking
        >>> data = make_ranking(n_queries=60, random_state=0)
        >>> ranker = BALToR(Ridge(), coverage=0.7, random_state=0)
        >>> ranker = ranker.fit(data.data, data.target, qid=data.qid)
        >>> today = ranker.ranking(data.data[:4], item_id=["Ann", "Bo", "Cy", "Di"])
        >>> print(today.to_frame()[["place", "item_id", "best", "worst", "open"]])
           place item_id  best  worst   open
        0      1     Ann     1      1  False
        1      2      Di     2      4   True
        2      3      Cy     2      4   True
        3      4      Bo     2      4   True
        """
        check_row_order(X, item_id=item_id)
        items = self._scored(X, qid)
        queries = items.queries
        names = check_item_id(item_id, queries)
        risk, region = self._calibration.risk, self._region
        best, worst = risk.rank_bounds(region, items.sorted()).T
        rows, place = rows_by_place(items.values, queries)
        return Ranking(
            qid=queries.values[queries.codes[rows]],
            item_id=rows if names is None else names[rows],
            place=place,
            score=items.scores[rows],
            best=best[rows],
            worst=worst[rows],
        )

    def rank_intervals(self, X: Any, qid: Any = None) -> IntArray:
        """Return the best and the worst rank that the accepted orders leave open.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_items, n_features)
        qid : None, scalar or array-like of shape (n_items,), default=None
            Query of each item; None or a scalar: all items are one query.

        Returns
        -------
        intervals : ndarray of shape (n_items, 2), int64
            Best and worst rank within the query, 1 = top, in the order of the rows of
            X. An item whose worst rank is at most k is in the top k for certain, as far
            as the accepted pairs are right.

        Notes
        -----
        The best rank is one plus the number of items that are over this one, the worst
        the size of the query minus the number of items that this one is over: by an
        accepted order, or by several in a row. Accepted orders never form a cycle,
        since they go along what the tie model compares; accepted ties say that two
        items are indifferent and open or close no rank. Pairs on a randomised boundary
        count as abstained.

        The orders are a semiorder [1]_, in which nothing is left to follow, for models
        of the score difference, and for the zero-one loss at thresholds of at most 1/2
        for `GradedRelevance` and `FeatureAwareRelevance`. Then no pair is formed,
        O(n log n). Else far apart items may be called a tie where closer ones are
        ordered, and what follows is found among the bins of values of each query.

        References
        ----------
        .. [1] Luce (1956). "Semiorders and a Theory of Utility Discrimination".
           Econometrica 24.
        """
        items = self._scored(X, qid).sorted()
        return self._calibration.risk.rank_bounds(self._region, items)

    def preference_graph(self, X: Any, qid: Any = None) -> csr_array:
        """Return the accepted orders without those that follow from others.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_items, n_features)
        qid : None, scalar or array-like of shape (n_items,), default=None
            Query of each item; None or a scalar: all items are one query. Items of
            different queries have no order, so that the graph falls into one block
            for each query.

        Returns
        -------
        graph : csr_array of shape (n_items, n_items), bool
            The transitive reduction (Hasse diagram): entry [i, j] where i is accepted
            over j and over no item that is over j. What can be reached along it are all
            accepted orders, and what follows from them.
            ``networkx.from_scipy_sparse_array(graph, create_using=networkx.DiGraph)``
            draws it.

        Notes
        -----
        O(n log n) plus the number of entries, where the orders are a semiorder (see
        ``rank_intervals``).
        """
        items = self._scored(X, qid).sorted()
        return self._calibration.risk.preference_graph(self._region, items)

    def review(
        self,
        X: Any,
        qid: Any = None,
        *,
        answers: Any = None,
        item_id: Any = None,
        reviewer_error: Any = None,
        gold: Any = None,
    ) -> Review:
        """Take in answers of people about some pairs; choose what to ask next.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_items, n_features)
        qid : None, scalar or array-like of shape (n_items,), default=None
            Query of each item; None or a scalar: all items are one query.
        answers : frame, mapping of columns or list of mappings, default=None
            All answers so far. ``qid``, ``left`` and ``right`` name the items, by
            ``item_id`` where it is given and by row positions of X else; texts and
            numbers that look alike are the same. ``label`` says what is preferred:
            left, same or right, or other words that `PairwiseRankerClassifier` knows.
            As wished ``reviewer``, and ``time``, by which the last answer of one
            reviewer about one pair counts alone.
        item_id : array-like of shape (n_items,), default=None
            What you call the items: any hashable values, each once in a query.
        reviewer_error : None, float or dict of str to float, default=None
            Share of the answers that are wrong, of all reviewers or of each, in
            [0, 1). Those that are not given are estimated.
        gold : frame, mapping of columns or list of mappings, default=None
            Answers that are known to be right: as ``answers``, without reviewer and
            time. Reviewers are measured by them, too. Its rows count on from those of
            ``answers`` where contradictions name rows.

        Returns
        -------
        review : Review
            ``ask(n)`` for questions; ``ranking()``, ``decisions``,
            ``rank_intervals()`` and ``expected_accuracy`` after the answers.

        Raises
        ------
        ValueError
            If columns do not match ``fit``, or an answer names an unknown item, items
            of two queries, one item twice, or a label that is not understood; if names
            of reviewers differ by case alone; or if parameters of the rule were set
            after ``fit``.
        """
        check_row_order(X, item_id=item_id)
        items = self._scored(X, qid)
        return open_review(
            self.tie_model_,
            self._rule_of_fit(),
            self._calibration,
            self._region,
            *items,
            X.index if hasattr(X, "iloc") else None,
            answers=answers,
            item_id=item_id,
            reviewer_error=reviewer_error,
            gold=gold,
        )
