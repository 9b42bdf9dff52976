"""Review: beliefs after answers, and the questions to ask next."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from skrank_abstain._kernels import FloatArray, IntArray
from skrank_abstain._validation import (
    ZERO_ONE_LOSS,
    check_choice,
    check_positive_int,
    check_real,
    listed,
    shown,
)
from skrank_abstain._warnings import warn_user
from skrank_abstain.pairs import (
    BYTES_PER_PAIR,
    PairDecisions,
    Queries,
    Ranking,
    Scores,
    bounds_of_orders,
    check_output_size,
    enumerate_pairs,
    find_pair,
    html_of_rows,
    labels_of_rows,
)
from skrank_abstain.review import _judging
from skrank_abstain.review._answers import GOLD, Answers, as_text, take_answers
from skrank_abstain.review._changes import Changes, compare
from skrank_abstain.review._choosing import (
    FEWER,
    UNTOLD,
    PairObjective,
    Question,
    QuestionObjective,
    check_objective,
    choose_questions,
    labels_told,
    pair_number,
    questions_of_query,
)
from skrank_abstain.review._posterior import GradePrior, Posterior
from skrank_abstain.review._questions import Questions
from skrank_abstain.selection import Calibration, RowPairs, Rule, margins
from skrank_abstain.tie_models import expected_losses

#: Probabilities of the two orders that are no further apart are equal.
EQUAL = 1e-12
#: Different answers about a pair are equally credible if no label makes them this many
#: times as probable as another one: estimated rates of equal people differ by chance.
_MORE_CREDIBLE = 4.0
#: Labels of at least this probability are known. Gold answers err in 1e-9 of the cases:
#: two that contradict each other would leave no label possible.
_CERTAIN = 1 - 1e-6
#: Posteriors of queries without answers are kept up to this many pairs, some 200 MB.
_MOST_KEPT = 1 << 22


def graded_calibration(
    rule: Rule, calibration: Calibration, region: Any
) -> tuple[Calibration, Any]:
    """Return a calibration with a model of grades, and the region that is accepted.

    The ranker's own, if its model knows grades; a new model of the same calibration
    items otherwise, and what the rule selects for it.
    """
    if calibration.is_graded:
        return calibration, region
    graded = calibration.graded
    region = rule.select(graded)
    coverage = graded.coverage(region)
    warn_user(
        "A review rests on grades: GradedRelevance, fitted to the same calibration "
        f"items, decides in place of {type(calibration.model).__name__}, and accepts "
        f"{coverage:.0%} of their pairs. Its decisions differ before any answer; take "
        "tie_model='graded_relevance' for the same ones in both."
    )
    return graded, region


@dataclass(frozen=True, eq=False, repr=False)
class Review:
    """Beliefs after answers about some pairs, and the questions to ask next.

    An answer changes the beliefs about its two items, and with them about every pair
    that contains one. Reviewers may err, each at a rate of their own. A review promises
    nothing: certificates of the ranker's own decisions do not hold for pairs that
    answers changed, or that were chosen to be asked.

    Attributes
    ----------
    reviewer_error_ : dict of str to float
        Of the answers of each reviewer about items that differ, the share that reverses
        their order: what harms. Estimated unless known.
    same_error_ : dict of str to float
        Of these answers, the share that says "same".
    tie_error_ : dict of str to float
        Share of their answers about tied items that name an order: near 1 for those who
        see finer differences than the grades, and never say "same".
    contradictions : tuple of Contradiction
        Answers that contradict each other, or have a probability below .05 given all
        answers. All of them count. One that only goes against the ranker is believed,
        and does not stand here.

    See Also
    --------
    skrank_abstain.SelectiveRanker.review : Makes one.

    Notes
    -----
    Under `GradedRelevance` the grades of items are independent, given a shift that the
    items of a query share, and an answer about two items multiplies in its likelihood.
    Sum-product on the graph of answered pairs, for each of seven shifts, gives all
    probabilities: exact if that graph has no loop, close if it has. They start from
    the bins of ``predict_pairs``, so that nothing changes before an answer.
    For other tie models a `GradedRelevance` is fitted to the same calibration
    items, and the rule selects its threshold again.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain import BALToR
    >>> from skrank_abstain.datasets import make_ranking
    >>> data = make_ranking(n_queries=60, random_state=0)
    >>> ranker = BALToR(Ridge(), random_state=0)
    >>> ranker = ranker.fit(data.data, data.target, qid=data.qid)
    >>> X = data.data[:4]
    >>> table = [{"left": 0, "right": 2, "label": "right", "reviewer": "Ann"}]
    >>> review = ranker.review(X, answers=table, reviewer_error=0.025)
    >>> bool(review.expected_accuracy > ranker.review(X).expected_accuracy)
    True
    """

    items: Scores
    calibration: Calibration
    region: Any
    item_id: NDArray[Any] | None
    index: Any
    replaced: str
    prior: GradePrior
    answers: Answers
    reviewers: _judging.Reviewers
    likelihood: FloatArray
    typical: _judging.Reviewers
    id_: str | None = None

    @classmethod
    def of(
        cls,
        items: Scores,
        calibration: Calibration,
        region: Any,
        answers: Any,
        reviewer_error: Any,
        gold: Any = None,
        labels: Any = None,
        *,
        item_id: NDArray[Any] | None = None,
        index: Any = None,
        replaced: str = "",
        id_: str | None = None,
    ) -> Self:
        """Take in tables of answers; some parameters as in ``SelectiveRanker.review``.

        Parameters
        ----------
        items : Scores
        calibration : Calibration
            With a model of grades.
        region : object
            The pairs that are accepted, as far as no answer tells more.
        answers, reviewer_error, gold, labels, item_id
        index : pandas.Index, default=None
            Index of X.
        replaced : str, default=""
            The ranker's own tie model, if that knows no grades.
        id_ : str or None
            That of the ranker.
        """
        taken = take_answers(answers, items.queries, item_id, labels, gold)
        names, known, typical = _judging.known_rates(reviewer_error, taken.reviewers)
        taken = replace(taken, reviewers=names)
        prior = GradePrior.of(calibration.model, items)

        def label_proba(likelihood: FloatArray) -> FloatArray:
            return _label_proba(_posteriors(prior, items.queries, taken, likelihood))

        reviewers, likelihood = _judging.judge_reviewers(taken, known, label_proba)
        error = _judging.TYPICAL_ERROR if np.isnan(typical) else typical
        future = _judging.Reviewers.of_error(error)
        people = [name != GOLD for name in names]
        if np.isnan(typical) and any(people):
            # Future reviewers err like the known ones, on average.
            future = _judging.Reviewers(*(rates[people].mean() for rates in reviewers))
        scored = items, calibration, region, item_id, index, replaced, prior
        return cls(*scored, taken, reviewers, likelihood, future, id_)

    def __repr__(self) -> str:
        queries, model = self.items.queries, ""
        if self.replaced:
            coverage = self.calibration.coverage(self.region)
            model = f"model=GradedRelevance in place of {self.replaced}, "
            model += f"coverage={coverage:.3f}, "
        return (
            f"Review(n_queries={queries.n_queries}, "
            f"n_pairs={queries.n_pairs}, n_answers={len(self.answers)}, "
            f"contradictions={len(self.contradictions)}, "
            f"expected_accuracy={self.expected_accuracy:.3f}, {model}certified=nothing)"
        )

    def _repr_html_(self) -> str:
        names, rates = self.answers.reviewers, self.reviewers
        counts = np.bincount(self.answers.reviewer, minlength=len(names))
        shares = {f"{name}_": share for name, share in rates._asdict().items()}
        columns = {"reviewer": names, "answers": counts, **shares}
        return html_of_rows(repr(self), columns, 0)

    @property
    def reviewer_error_(self) -> dict[str, float]:
        """Share of the orders of items that differ that each reviewer reverses."""
        return self._by_reviewer(self.reviewers.reviewer_error)

    @property
    def same_error_(self) -> dict[str, float]:
        """Share of their answers about items that differ that says "same"."""
        return self._by_reviewer(self.reviewers.same_error)

    @property
    def tie_error_(self) -> dict[str, float]:
        """Share of their answers about tied items that name an order."""
        return self._by_reviewer(self.reviewers.tie_error)

    @cached_property
    def contradictions(self) -> tuple[_judging.Contradiction, ...]:
        """Answers that contradict each other, or are improbable."""
        proba = _label_proba(self._posteriors)
        return _judging.find_contradictions(self.answers, self.items.queries, proba)

    @cached_property
    def decisions(self) -> PairDecisions:
        """Decisions about all pairs after the answers, as of ``predict_pairs``.

        A pair that was answered, or whose items people call the same as others in
        between, is decided as people say, whatever its risk; of different answers the
        most credible one holds: that of more people, or of those who err clearly less
        by `reviewer_error`, ``probability``, gold, or their answers about other pairs.
        A pair neither of whose items was asked about is decided as the ranker decides
        it. Any other pair follows the beliefs after the answers, and is accepted if its
        risk is at most the threshold, or if gold answers make its label certain, and if
        there are answers about each of its novel items: orders that the ranker had
        decided may be open again, which `changes` says.

        Where equally credible answers about a pair contradict each other, it stays
        open, unless answers about other pairs imply its label. So does an order that
        nobody gave, where it leads in a circle with answers and other orders.
        """
        queries, names = self.items.queries, self.item_id
        width = queries.values.itemsize + (0 if names is None else 2 * names.itemsize)
        check_output_size(queries.n_pairs, BYTES_PER_PAIR + width, remedy=FEWER)
        left, right = enumerate_pairs(queries)
        made = self._decide(left, right, slice(None))
        # Answers form no circle, and neither do the ranker's own orders of items that
        # none is about: where all orders do, those between the two kinds give way.
        orders = self._orders(made)
        graph = coo_array((np.ones(orders[0].size), orders), [queries.n_items] * 2)
        circle = connected_components(graph, connection="strong")[1]
        between = (self._people[0] == UNTOLD) & (self._asked[left] | self._asked[right])
        gone = between & made.decided_order & (circle[left] == circle[right])
        return replace(made, accepted=made.accepted & ~gone, circled=gone)

    @property
    def expected_accuracy(self) -> float:
        """Mean of the largest probability over all pairs; NaN for none."""
        n_pairs = self.items.queries.n_pairs
        return _n_sure(self._pair_proba) / n_pairs if n_pairs else float("nan")

    def expected_accuracy_after(self, n: int) -> float:
        """Forecast the expected accuracy after the answers to the best questions.

        Parameters
        ----------
        n : int
            Number of questions.

        Returns
        -------
        accuracy : float
            In [0, 1]; NaN for no pairs. The answers are drawn once for each query from
            the beliefs, the same every time, and each question is chosen after the
            answers before it.
        """
        check_positive_int(n, "n", minimum=0)
        n_pairs = self.items.queries.n_pairs
        if not n_pairs:
            return float("nan")
        answer_proba = self.typical.answer_proba()
        asked: dict[int, list[Question]] = {}
        chosen = self._choose(n, PairObjective(), ZERO_ONE_LOSS, drawn=True)
        for query, question in chosen:
            asked.setdefault(query, []).append(question)
        gained = 0.0
        for query, questions in asked.items():
            before = self._posterior(query)
            _, left, right, answer = np.array(questions).T.astype(np.int64)
            after = before.with_answers(left, right, answer_proba[answer + 1])
            gained += _n_sure(after.pair_proba) - _n_sure(before.pair_proba)
        return (_n_sure(self._pair_proba) + gained) / n_pairs

    def ask(
        self,
        n: int,
        *,
        objective: str | QuestionObjective = "top",
        per_query: int | str | None = None,
        verbose: int = 0,
    ) -> Questions:
        """Return the pairs whose answers are expected to be worth most.

        Parameters
        ----------
        n : int
            Number of questions, at most.
        objective : {"top", "top@k", "pairs", "deferred"} or QuestionObjective, \
default="top"
            Raise the expected DCG of the first ten of the ranking, or of the first k,
            as in ``"top@3"``: what people see of a list is its top. "pairs" lowers the
            expected loss, summed over all pairs: places 13 and 14 then count as much as
            1 and 2. "deferred" takes the pairs that are not decided and no others,
            riskiest first, without ``per_query``. Or an objective of your own.
        per_query : int, "equal" or None, default=None
            Limit for each query; or all queries have their turn before one has another.
            None: "equal" for ``objective="top"``, no limit for ``"pairs"``.
        verbose : int, default=0
            Whether to print how many queries were looked at, about ten times.

        Returns
        -------
        questions : Questions
            `PairDecisions` with ``value``, most useful first. Leaves out pairs that
            were answered, whose answer follows from others, or whose label is sure.

        Raises
        ------
        ValueError
            If ``objective`` is unknown, or a number is negative.

        Notes
        -----
        Several questions are chosen one after the other, as if each had got its most
        probable answer. Worth orders them, not openness: the first may be about a
        decided pair, and fewer than ``n`` come back if the answers about all others
        would then follow or change nothing. A pair about which equally credible people
        disagree may come again: ask somebody else. Some milliseconds per question in a
        query of 120 items.
        """
        check_positive_int(n, "n", minimum=0)
        if objective == "deferred":
            if per_query is not None:
                raise ValueError(
                    f"per_query must be None, got {per_query}: it asks all."
                )
            left_open = self.decisions.deferred(n)
            value: Any = left_open.risk
            return Questions(**vars(left_open), value=value, index=self.index)
        objective = check_objective(objective)
        if per_query is None and objective.equal_shares:
            per_query = "equal"
        if isinstance(per_query, str):
            check_choice(per_query, "per_query, unless it is a number,", ("equal",))
        elif per_query is not None:
            check_positive_int(per_query, "per_query", minimum=0)
        loss, queries = self.calibration.loss, self.items.queries
        chosen = self._choose(n, objective, loss, per_query, verbose=verbose)
        rows = np.reshape([(query, *asked[:3]) for query, asked in chosen], (-1, 4))
        value, (query, i, j) = rows[:, 1], rows[:, [0, 2, 3]].T.astype(np.int64)
        first = queries.offsets[query]
        left, right = queries.order[first + i], queries.order[first + j]
        number = self._pair_starts[query] + pair_number(i, j, queries.sizes[query])
        decided = self._decide(left, right, number)
        return Questions(**vars(decided), value=value, index=self.index)

    def worth_asking(
        self, cost: float, *, objective: str | QuestionObjective = "top"
    ) -> bool:
        """Return whether the best question is worth its price.

        Parameters
        ----------
        cost : float
            Price of a question, in the units of ``Questions.value``: of DCG, or for
            ``objective="pairs"`` in wrong pairs, under the ranker's own loss.
        objective : {"top", "top@k", "pairs"} or QuestionObjective, default="top"
            As in ``ask``.

        Returns
        -------
        worth : bool

        Raises
        ------
        ValueError
            If the price is negative.
        """
        least = check_real(cost, "cost", 0, np.inf, include_high=False)
        best = self._choose(1, check_objective(objective), self.calibration.loss)
        return bool(best) and best[0][1].value > least

    def rank_intervals(self) -> IntArray:
        """Return the best and the worst rank that the decided orders leave open.

        Returns
        -------
        intervals : ndarray of shape (n_items, 2), int64
            In the order of the rows of X, 1 = top: by the accepted orders and their
            consequences. Items that people call the same share both.
        """
        return self._bounds[:, :2]

    def ranking(self) -> Ranking:
        """Return the items in order, with the ranks that decided pairs leave open.

        Returns
        -------
        ranking : Ranking
            As of ``SelectiveRanker.ranking``, but ``score`` is the expected gain after
            the answers, the mean of 2^grade - 1. Places follow the decided orders, then
            the expected gain, then the value that the model compares.
        """
        queries = self.items.queries
        best, worst, place = self._bounds.T
        rows: IntArray = np.lexsort((place, queries.codes))
        return Ranking(
            qid=queries.values[queries.codes[rows]],
            item_id=self._ids[rows],
            place=place[rows],
            score=self._gain[1][rows],
            best=best[rows],
            worst=worst[rows],
            n_same=np.bincount(self._people[1])[self._people[1]][rows],
            _rows=labels_of_rows(self.index, rows),
        )

    def explain(self, left: Any, right: Any) -> str:
        """Say why a pair is decided or open, and what people said of its two items.

        Parameters
        ----------
        left, right : int or object
            The names of the two items, as ``item_id`` says.

        Returns
        -------
        text : str

        Raises
        ------
        ValueError
            If the rows are equal or of two queries, or not one query has both names.
        """
        made, answers, queries = self.decisions, self.answers, self.items.queries
        both = find_pair(self._ids, queries.codes, left, right)
        pair = np.isin([made.left, made.right], both).all(axis=0)
        if not pair.any():
            raise ValueError(
                f"left and right must be two items of one query, got {shown(left)} and "
                f"{shown(right)}."
            )
        about = np.isin(self._answered, both).any(axis=0)
        said = (
            _judging.TOLD.format(row=row, **answers.said_in(row))
            for row in answers.row[about].tolist()
        )
        (record,) = made.take(pair)
        return "; ".join([record.in_words(), *said])

    def changes(self, since: Self | None = None) -> Changes:
        """Return what changed in the ranking since another moment, and why.

        Parameters
        ----------
        since : Review, default=None
            An earlier review by the same ranker, of other answers, other measurements,
            other items, or all of it. None: this review without its answers.

        Returns
        -------
        changes : Changes
            The whole lists of the queries where an answer is new or anything changed,
            of those that share items with ``since``. They match by ``qid``, or alone
            where each review has one query and names its items, as the lists of two
            days; items match by ``item_id``, compared as text, or without names by row.

        Raises
        ------
        ValueError
            If ``since`` is no review of this ranker at this threshold, shares no item,
            or has other rows and no names.

        Notes
        -----
        Leaves out one newly answered pair after the other: O(n_answered) posteriors of
        each query, about a millisecond for twenty items.
        """
        if since is None:
            scored = self.items, self.calibration, self.region
            since = self.of(*scored, None, None, item_id=self.item_id, id_=self.id_)
        parts = [compare(since, self, *pair) for pair in self._matched(since)]
        none = [*np.empty((6, 0), dtype=np.int64), np.empty(0, dtype=object)]
        nothing = [self.items.queries.values[:0], self._ids[:0], *none]
        every = zip(nothing, *filter(None, parts), strict=True)
        return Changes(*map(np.concatenate, every))

    def _matched(self, since: Any) -> list[tuple[int, int]]:
        """Return the queries in which two reviews share items, there and here."""
        same = isinstance(since, Review) and since.id_ == self.id_
        if not same or since.region.risk != self.region.risk:
            raise ValueError(
                "since must be an earlier review by this ranker, at this threshold, "
                f"got {shown(since)}: keep what review() returned, or review the "
                "earlier data and answers again."
            )
        by_row = self.item_id is None or since.item_id is None
        both = since.items.queries, self.items.queries
        # The lists of two days have other names, and are one query each.
        alone = not by_row and all(each.n_queries == 1 for each in both)
        theirs, ours = (
            {
                (alone or as_text(each.values[code]), as_text(name)): code
                for code, name in zip(each.codes.tolist(), names, strict=True)
            }
            for each, names in zip(both, (since._ids, self._ids), strict=True)
        )
        found = {(theirs[name], ours[name]) for name in ours if name in theirs}
        if not found or (by_row and ours.keys() != theirs.keys()):
            raise ValueError(
                "since must share items with this review, by qid and item_id, or hold "
                "the same rows without names, but no item is known to be on both "
                "lists: pass item_id= and the same qid= to both, where they share "
                f"items. Queries: {listed(both[0].values)}, now "
                f"{listed(both[1].values)}."
            )
        return sorted(found, key=lambda pair: pair[1])

    @property
    def _ids(self) -> NDArray[Any]:
        """What the items are called in tables, shape (n_items,)."""
        rows = np.arange(self.items.queries.n_items)
        return rows if self.item_id is None else self.item_id

    def _by_reviewer(self, rates: FloatArray) -> dict[str, float]:
        return dict(zip(self.answers.reviewers, rates.tolist(), strict=True))

    @cached_property
    def _posteriors(self) -> dict[int, Posterior]:
        """The posteriors of the queries with answers; `_posterior` adds others."""
        queries = self.items.queries
        return _posteriors(self.prior, queries, self.answers, self.likelihood)

    def _posterior(self, query: int) -> Posterior:
        posterior = self._posteriors.get(query)
        if posterior is None:
            posterior = Posterior.of(self.prior.take(self.items.queries.rows(query)))
            # Those of all queries may not fit into memory.
            if self.items.queries.n_pairs <= _MOST_KEPT:
                self._posteriors[query] = posterior
        return posterior

    @cached_property
    def _pair_proba(self) -> FloatArray:
        """Label probabilities of all pairs, in canonical order."""
        queries = self.items.queries
        check_output_size(queries.n_pairs, 24, remedy=FEWER)
        parts = [self._posterior(q).pair_proba for q in range(queries.n_queries)]
        return np.concatenate([np.empty((0, 3)), *parts])

    @cached_property
    def _pair_starts(self) -> IntArray:
        """Where the pairs of each query start, shape (n_queries + 1,)."""
        return np.append(0, np.cumsum(self.items.queries.pair_counts))

    @cached_property
    def _bounds(self) -> IntArray:
        """Best and worst rank and the place of each item, (n_items, 3)."""
        orders = self._orders(self.decisions)
        return bounds_of_orders(*orders, self.items.queries.codes, self._gain[0])

    def _orders(self, made: PairDecisions) -> tuple[IntArray, IntArray]:
        """Return winners and losers of decided orders."""
        # Items that people call the same are over each other: an order with one of them
        # holds for all, and they share their ranks.
        same = self._people[0] == 0
        ahead = same | (made.decided_order & (made.label > 0))
        behind = same | (made.decided_order & (made.label < 0))
        winner = np.concatenate([made.left[ahead], made.right[behind]])
        return winner, np.concatenate([made.right[ahead], made.left[behind]])

    @property
    def _answered(self) -> IntArray:
        """Rows of the two items that each answer is about, shape (2, n_answers)."""
        queries, answers = self.items.queries, self.answers
        first = queries.offsets[answers.query]
        return queries.order[[first + answers.left, first + answers.right]]

    @cached_property
    def _asked(self) -> NDArray[Any]:
        """Items that answers are about, shape (n_items,)."""
        return np.isin(np.arange(self.items.queries.n_items), self._answered)

    @cached_property
    def _said(self) -> IntArray:
        """The most credible label of each answered pair, `UNTOLD` if it is disputed."""
        given = self.answers.labels * self.likelihood
        equal = given * _MORE_CREDIBLE > given.max(axis=1, keepdims=True, initial=0.0)
        return np.where(equal.sum(axis=1) > 1, UNTOLD, given.argmax(axis=1) - 1)

    @cached_property
    def _people(self) -> tuple[NDArray[np.int8], IntArray, NDArray[np.bool_]]:
        """What people say: labels of all pairs, groups of equal items, disputed pairs.

        `UNTOLD` where they say nothing, several labels are equally credible, or answers
        lead back to where they started. Ties that follow from others count as said; so
        do no orders: with answers that err, what follows from many is less certain than
        each. A group is known by the first row in it.
        """
        queries = self.items.queries
        starts = self._pair_starts
        told = np.full(queries.n_pairs, UNTOLD, dtype=np.int8)
        group = np.arange(queries.n_items)
        disputed = np.zeros(queries.n_pairs, dtype=bool)
        for query, left, right, label in _by_query(self.answers, self._said):
            own, known = queries.rows(query), label != UNTOLD
            implied = labels_told(left[known], right[known], label[known], own.size)
            asked = pair_number(left, right, own.size)
            of_query = told[starts[query] : starts[query + 1]]
            of_query[implied == 0], of_query[asked] = 0, implied[asked]
            disputed[starts[query] + asked[~known & (implied[asked] == UNTOLD)]] = True
            one, other = own[np.stack(np.triu_indices(own.size, 1))[:, implied == 0]]
            np.minimum.at(group, other, one)
        return told, group, disputed

    @cached_property
    def _gain(self) -> tuple[IntArray, FloatArray]:
        """Rows by query and falling expected gain, and the gain of each item."""
        queries = self.items.queries
        gain = np.empty(queries.n_items)
        for query in range(queries.n_queries):
            gain[queries.rows(query)] = self._posterior(query).expected_gain
        return np.lexsort((-self.items.value, -gain, queries.codes)), gain

    def _decide(self, left: IntArray, right: IntArray, number: Any) -> PairDecisions:
        """Decide pairs of rows, whose numbers in canonical order are given."""
        queries, names = self.items.queries, self.item_id
        proba = self._pair_proba[number].copy()
        told, disputed = (self._people[k][number] for k in (0, 2))
        losses = expected_losses(proba, self.calibration.loss)
        lead = proba[:, 2] - proba[:, 0]
        pairs = RowPairs.of(self.items.value, left, right, self.items.key)
        # Where both orders are equally probable, the values tell which one to say.
        order = np.sign(np.where(np.abs(lead) <= EQUAL, pairs.difference, lead))
        strict = np.where(order > 0, losses[:, 2], losses[:, 0])
        tie = (order == 0) | (losses[:, 1] < strict)
        label = np.where(told == UNTOLD, np.where(tie, 0, order), told).astype(np.int64)
        risk = np.take_along_axis(losses, label[:, None] + 1, axis=1)[:, 0]
        bound = self.region.margin_of
        by = risk if bound is None else margins(proba, label, bound)
        # What answers disagree about is for people to settle. What gold answers say, or
        # imply, is certain, whatever the rule accepts.
        accepted = (by <= self.region.risk) & ~disputed
        accepted |= (proba.max(axis=1, initial=0.0) >= _CERTAIN) | (told != UNTOLD)
        # Without a question about either item the ranker's own decisions stand.
        silent = ~(self._asked[left] | self._asked[right])
        own = self.calibration.engine.decide(self.region, self.items.value, pairs)
        made = {"label": label, "accepted": accepted, "risk": risk, "proba": proba}
        said = f", answers: {len(self.answers)}" * bool(self.answers)
        for name, column in made.items():
            column[silent] = getattr(own, name)[silent]
        decided = PairDecisions(
            left,
            right,
            queries.values[queries.codes[left]],
            **made,
            left_id=None if names is None else names[left],
            right_id=None if names is None else names[right],
            place=np.argsort(self._gain[0]) - queries.offsets[queries.codes] + 1,
            threshold=own.threshold,
            margin=None if bound is None else by,
            equal=own.equal & silent,
            answered=told != UNTOLD,
            disputed=disputed,
            # Answers about other pairs changed decisions of the ranker's, too.
            id_=self.id_ and self.id_ + said,
        )
        novel = self.items.novel
        if novel is None:
            return decided
        # Pairs of novel items that no answer is about.
        accepted = decided.leaving_out(novel & ~self._asked).accepted
        return replace(decided.leaving_out(novel), accepted=accepted)

    def _choose(
        self,
        n: int,
        objective: QuestionObjective,
        loss: FloatArray,
        per_query: int | str | None = None,
        *,
        drawn: bool = False,
        verbose: int = 0,
    ) -> list[tuple[int, Question]]:
        """Choose questions; ``drawn``: answers are drawn, not the most probable."""
        answer_proba = self.typical.answer_proba()
        n_queries, sizes = self.items.queries.n_queries, self.items.queries.sizes
        disputed = {
            query: pair_number(left, right, sizes[query])[label == UNTOLD]
            for query, left, right, label in _by_query(self.answers, self._said)
        }

        def stream(query: int) -> Iterator[Question]:
            if verbose and query % max(n_queries // 10, 1) == 0:
                print(f"[Review] questions about query {query + 1} of {n_queries}")  # noqa: T201
            rng = np.random.default_rng(query) if drawn else None
            aim = self._posterior(query), objective, answer_proba, loss
            yield from questions_of_query(*aim, rng, disputed.get(query, ()))

        return choose_questions(map(stream, range(n_queries)), n, per_query)


def _posteriors(
    prior: GradePrior, queries: Queries, answers: Answers, likelihood: FloatArray
) -> dict[int, Posterior]:
    """Return the beliefs about each query that has answers.

    ``likelihood`` as ``Reviewers.likelihood`` returns it, (n_answered, 3).
    """
    return {
        query: Posterior.of(prior.take(queries.rows(query)), *pairs)
        for query, *pairs in _by_query(answers, likelihood)
    }


def _by_query(answers: Answers, column: Any) -> Iterator[tuple[Any, ...]]:
    """Yield each query with answers: left, right and the column of its pairs."""
    at = answers.pair_start[:-1]
    query = answers.query[at]
    starts = np.flatnonzero(np.diff(query)) + 1
    columns = query, answers.left[at], answers.right[at], column
    for own, *parts in zip(*(np.split(each, starts) for each in columns), strict=True):
        if own.size:
            yield int(own[0]), *parts


def _label_proba(posteriors: Mapping[int, Posterior]) -> FloatArray:
    """Return the label probabilities of all answered pairs, (n_answered, 3)."""
    parts = [posterior.answered_proba for posterior in posteriors.values()]
    return np.concatenate([np.empty((0, 3)), *parts])


def _n_sure(proba: FloatArray) -> float:
    """Return the expected number of pairs whose most probable label is right."""
    return float(proba.max(axis=1, initial=0.0).sum())
