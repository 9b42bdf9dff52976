"""Review: what is believed after answers, and what to ask next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from skrank_abstain._validation import (
    FloatArray,
    IntArray,
    check_choice,
    check_positive_int,
    check_real,
    shown,
)
from skrank_abstain.pairs import (
    PairDecisions,
    Queries,
    Ranking,
    bounds_of_orders,
    check_output_size,
    enumerate_pairs,
    rows_by_place,
)
from skrank_abstain.review._answers import (
    GOLD,
    Answers,
    check_spelling,
    join_gold,
    take_answers,
)
from skrank_abstain.review._contradictions import Contradiction, find_contradictions
from skrank_abstain.review._posterior import Posterior
from skrank_abstain.review._questions import (
    FEWER,
    Aim,
    Question,
    Questions,
    add_answers,
    choose_questions,
    questions_of_query,
)
from skrank_abstain.review._reviewed import (
    Reviewed,
    pairs_of_queries,
    posteriors_of_queries,
)
from skrank_abstain.review._reviewers import (
    TYPICAL_ERROR,
    Reviewers,
    judge_reviewers,
    known_rates,
)
from skrank_abstain.tie_models import expected_losses

#: Probabilities of the two orders that are no further apart are equal.
EQUAL = 1e-12
_BYTES_PER_PAIR = 8 + 8 + 8 + 1 + 8 + 24
_ZERO_ONE = np.ones(3)


@dataclass(frozen=True, eq=False, repr=False)
class Review:
    """What is believed after answers about some pairs, and what to ask next.

    An answer changes what is believed about its two items, and with them about every
    pair that they are in. Reviewers may err, each at a rate of their own. Nothing is
    promised: what was certified for the ranker's own decisions does not hold for pairs
    that answers have changed, or were chosen for.

    Attributes
    ----------
    reviewer_error_ : dict of str to float
        Share of the answers of each reviewer that are wrong; estimated, where not
        known.
    reversal_share_ : dict of str to float
        Share of their wrong answers about two items that are not tied that turn the
        order around; the others say a tie.
    tie_error_ : dict of str to float
        Share of their answers about tied items that name an order: near 1 of those who
        see finer differences than the grades, and never say "same".
    contradictions : tuple of Contradiction
        Answers that do not go together, or hardly; all of them count.

    See Also
    --------
    skrank_abstain.SelectiveRanker.review : Makes one.

    Notes
    -----
    Given a shift that the items of a query share, the grades of items are independent
    under `GradedRelevance`, and an answer about two items multiplies in its likelihood.
    Sum-product on the graph of answered pairs, for each of seven shifts, gives all
    probabilities: exactly where that graph has no loop, closely where it has. Without
    answers they differ from those of ``predict_pairs``, which divides values into
    bins, by up to some hundredths. For other tie models a `GradedRelevance` of the
    same calibration items is fitted, and the rule is asked again for its threshold.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain import BALToR
    >>> from skrank_abstain.datasets import make_ranking
    >>> data = make_ranking(n_queries=60, random_state=0)
    >>> ranker = BALToR(Ridge(), random_state=0)
    >>> ranker = ranker.fit(data.data, data.target, qid=data.qid)
    >>> X = data.data[:4]
    >>> said = [{"left": 0, "right": 2, "label": "right", "reviewer": "Ann"}]
    >>> review = ranker.review(X, answers=said, reviewer_error=0.05)
    >>> bool(review.expected_accuracy > ranker.review(X).expected_accuracy)
    True
    """

    items: Reviewed
    answers: Answers
    reviewers: Reviewers
    typical_error: float

    @classmethod
    def of(
        cls, items: Reviewed, answers: Any, reviewer_error: Any, gold: Any = None
    ) -> Self:
        """Take in tables of answers; parameters as in ``SelectiveRanker.review``."""
        if gold is not None:
            answers = join_gold(answers, gold, by_name=items.item_id is not None)
        taken = take_answers(answers, items.queries, items.item_id)
        has_gold = gold is not None
        known, typical = known_rates(reviewer_error, taken.reviewers, gold=has_gold)

        def label_proba(likelihood: FloatArray) -> FloatArray:
            made = posteriors_of_queries(items, taken, likelihood)
            parts = [posterior.answered_proba() for posterior in made.values()]
            return np.concatenate(parts) if parts else np.empty((0, 3))

        reviewers = judge_reviewers(taken, known, label_proba)
        if np.isnan(typical):
            # Whoever will answer is no better than those who did; gold asks nobody.
            asked = [not (has_gold and name == GOLD) for name in taken.reviewers]
            rates = reviewers.error[asked]
            typical = float(rates.mean()) if rates.size else TYPICAL_ERROR
        return cls(items, taken, reviewers, typical)

    def __repr__(self) -> str:
        queries = self.items.queries
        return (
            f"Review(n_queries={queries.n_queries}, n_pairs={queries.n_pairs}, "
            f"n_answers={len(self.answers)}, "
            f"contradictions={len(self.contradictions)}, "
            f"expected_accuracy={self.expected_accuracy:.3f}, certified=nothing)"
        )

    def _repr_html_(self) -> str:
        return self.reviewers.to_html(repr(self), self.answers)

    @property
    def reviewer_error_(self) -> dict[str, float]:
        """Share of the answers of each reviewer that are wrong."""
        return self._by_reviewer(self.reviewers.error)

    @property
    def reversal_share_(self) -> dict[str, float]:
        """Share of their errors about untied pairs that turn the order around."""
        turned, missed = self.reviewers.turned, self.reviewers.missed
        return self._by_reviewer(turned / np.maximum(turned + missed, 1e-300))

    @property
    def tie_error_(self) -> dict[str, float]:
        """Share of their answers about tied items that name an order."""
        return self._by_reviewer(self.reviewers.split)

    @cached_property
    def contradictions(self) -> tuple[Contradiction, ...]:
        """Answers that do not go together, or hardly."""
        parts = [made.answered_proba() for made in self._answered.values()]
        proba = np.concatenate(parts) if parts else np.empty((0, 3))
        tied = self.items.model.tied_shares_
        # Within a grade of several relevances items can be over each other, too.
        n_levels = tied.size if (tied == 1).all() else np.inf
        return find_contradictions(self.answers, self.items.queries, proba, n_levels)

    @cached_property
    def decisions(self) -> PairDecisions:
        """All pairs, as ``predict_pairs`` returns them, after the answers.

        A pair is accepted if its risk is at most the threshold of the ranker's own
        rule, whatever was asked; and if there are answers about its novel items.
        """
        queries, names = self.items.queries, self.items.item_id
        width = queries.values.itemsize + (0 if names is None else 2 * names.itemsize)
        check_output_size(queries.n_pairs, _BYTES_PER_PAIR + width, remedy=FEWER)
        left, right = enumerate_pairs(queries)
        return self._decide(left, right, self._pair_proba)

    @property
    def expected_accuracy(self) -> float:
        """Mean of the largest probability over all pairs; NaN for none."""
        n_pairs = self.items.queries.n_pairs
        return self._sure_pairs / n_pairs if n_pairs else float("nan")

    def expected_accuracy_after(self, n: int) -> float:
        """Return the expected accuracy after so many of the best questions.

        Parameters
        ----------
        n : int

        Returns
        -------
        accuracy : float
            In [0, 1]; NaN for no pairs. A forecast: the truth, and answers to it, are
            drawn once for each query from what is believed, the same every time, and
            each question is chosen after the answers before it.
        """
        check_positive_int(n, "n", minimum=0)
        n_pairs = self.items.queries.n_pairs
        if not n_pairs:
            return float("nan")
        heard = Reviewers.of_error(self.typical_error).heard()
        asked: dict[int, list[Question]] = {}
        for query, question in self._choose(n, "pairs", _ZERO_ONE, drawn=True):
            asked.setdefault(query, []).append(question)
        gained = 0.0
        for query, questions in asked.items():
            pairs = [(question.left, question.right) for question in questions]
            worth = heard[[question.answer + 1 for question in questions]]
            known = add_answers(*self._known(query), pairs, worth)
            after = Posterior.of(self.items.prior(query), *known).pair_proba()
            gained += float(after.max(axis=1).sum())
            gained -= float(self._posterior(query).pair_proba().max(axis=1).sum())
        return (self._sure_pairs + gained) / n_pairs

    def ask(
        self, n: int, *, objective: str = "pairs", per_query: int | str | None = None
    ) -> Questions:
        """Return the pairs whose answers are expected to be worth most.

        Parameters
        ----------
        n : int
            At most so many.
        objective : {"pairs", "top"}, default="pairs"
            The expected loss summed over pairs is to fall, or the expected DCG of the
            first ten of the ranking to rise.
        per_query : int, "equal" or None, default=None
            At most so many of each query; or all queries have their turn before one
            has another. None: "equal" for ``objective="top"``, else no limit.

        Returns
        -------
        questions : Questions
            `PairDecisions` with ``value``, most useful first. Pairs that were answered,
            whose answer follows from others, or whose label is sure, are not among
            them.

        Raises
        ------
        ValueError
            If ``objective`` is unknown, or a number is negative.

        Notes
        -----
        Several questions are chosen one after the other, as if each had got its most
        probable answer. Some milliseconds for a question of a query of 120 items.
        """
        check_positive_int(n, "n", minimum=0)
        check_choice(objective, "objective", ("pairs", "top"))
        if per_query is None and objective == "top":
            per_query = "equal"
        if isinstance(per_query, str):
            if per_query != "equal":
                raise ValueError(
                    "per_query must be an integer, 'equal' or None, got "
                    f"{shown(per_query)}."
                )
        elif per_query is not None:
            check_positive_int(per_query, "per_query", minimum=0)
        chosen = self._choose(n, objective, self._losses, per_query)
        queries = self.items.queries
        rows = [
            queries.rows(query)[[question.left, question.right]]
            for query, question in chosen
        ]
        left, right = np.array(rows, dtype=np.int64).reshape(-1, 2).T
        number = _canonical_number(queries, left, right)
        made = self._decide(left, right, self._pair_proba[number])
        value = np.array([question.value for _, question in chosen], dtype=np.float64)
        return Questions(**vars(made), value=value, index=self.items.index)

    def worth_asking(
        self, cost: float | Mapping[str, float], *, objective: str = "pairs"
    ) -> bool:
        """Return whether the best question is worth its price.

        Parameters
        ----------
        cost : float or dict of str to float
            Price of a question, in the units of ``Questions.value``: for
            ``objective="pairs"`` in wrong pairs, under the ranker's own loss. Of each
            reviewer where prices differ, whose answers are worth the less the more
            they err; who has not answered yet is as good as the mean.
        objective : {"pairs", "top"}, default="pairs"

        Returns
        -------
        worth : bool
            For several reviewers: of at least one of them.

        Raises
        ------
        ValueError
            If a price is negative, or there is none.
        """
        check_choice(objective, "objective", ("pairs", "top"))
        prices: dict[Any, Any] = {None: cost}
        rates = self.reviewer_error_
        if isinstance(cost, Mapping):
            if not cost:
                raise ValueError("cost must name at least one reviewer, got {}.")
            prices = {str(name).strip(): price for name, price in cost.items()}
            check_spelling((*rates, *prices), "cost")
        for name, price in prices.items():
            least = check_real(price, "cost", 0, np.inf, include_high=False)
            error = rates.get(name, self.typical_error)
            best = self._choose(1, objective, self._losses, error=error)
            if best and best[0][1].value > least:
                return True
        return False

    def rank_intervals(self) -> IntArray:
        """Return the best and the worst rank that the decided orders leave open.

        Returns
        -------
        intervals : ndarray of shape (n_items, 2), int64
            In the order of the rows of X, 1 = top: by the accepted orders, and what
            follows from them. Items on a cycle of accepted orders are not over each
            other.
        """
        intervals: IntArray = self._bounds[:, :2]
        return intervals

    def ranking(self) -> Ranking:
        """Return the items in order, with the ranks that decided pairs leave open.

        Returns
        -------
        ranking : Ranking
            As ``SelectiveRanker.ranking`` returns it. Places go by the expected gain,
            the mean of 2^grade - 1, as far as the decided orders allow; equal ones by
            the value that the model compares.
        """
        queries, names = self.items.queries, self.items.item_id
        best, worst, place = self._bounds.T
        rows: IntArray = np.lexsort((place, queries.codes))
        return Ranking(
            qid=queries.values[queries.codes[rows]],
            item_id=rows if names is None else names[rows],
            place=place[rows],
            score=self.items.scores[rows],
            best=best[rows],
            worst=worst[rows],
        )

    def _by_reviewer(self, rates: FloatArray) -> dict[str, float]:
        return dict(zip(self.answers.reviewers, rates.tolist(), strict=True))

    @cached_property
    def _likelihood(self) -> FloatArray:
        return self.reviewers.likelihood(self.answers)

    @cached_property
    def _answered(self) -> dict[int, Posterior]:
        """The queries with answers."""
        return posteriors_of_queries(self.items, self.answers, self._likelihood)

    def _known(self, query: int) -> tuple[IntArray, IntArray, FloatArray]:
        """Return the answered pairs of a query, and what their answers are worth."""
        bounds = pairs_of_queries(self.answers, self.items.queries.n_queries)
        pairs = slice(bounds[query], bounds[query + 1])
        at = self.answers.pair_start[:-1][pairs]
        left, right = self.answers.left[at], self.answers.right[at]
        return left, right, self._likelihood[pairs]

    def _posterior(self, query: int) -> Posterior:
        known = self._answered.get(query)
        if known is not None:
            return known
        none = np.empty(0, dtype=np.int64)
        return Posterior.of(self.items.prior(query), none, none, np.empty((0, 3)))

    @cached_property
    def _pair_proba(self) -> FloatArray:
        """Of all pairs, in canonical order."""
        queries = self.items.queries
        check_output_size(queries.n_pairs, 24, remedy=FEWER)
        parts = [self._posterior(q).pair_proba() for q in range(queries.n_queries)]
        return np.concatenate([np.empty((0, 3)), *parts])

    @cached_property
    def _sure_pairs(self) -> float:
        return float(self._pair_proba.max(axis=1, initial=0.0).sum())

    @property
    def _losses(self) -> FloatArray:
        """Confusing the orders, an order for a tie, a tie for an order."""
        loss = self.items.loss
        return np.array([loss[0, 2], loss[0, 1], loss[1, 0]])

    @cached_property
    def _bounds(self) -> IntArray:
        """Best and worst rank and the place of each item, (n_items, 3)."""
        queries, decisions = self.items.queries, self.decisions
        order = np.flatnonzero(decisions.decided_order)
        left, right = decisions.left[order], decisions.right[order]
        ahead = decisions.label[order] > 0
        winner, loser = np.where(ahead, left, right), np.where(ahead, right, left)
        return bounds_of_orders(winner, loser, queries.codes, self._wanted)

    @cached_property
    def _wanted(self) -> IntArray:
        """Rows by query and falling expected gain."""
        queries = self.items.queries
        gain = np.empty(queries.n_items)
        for query in range(queries.n_queries):
            gain[queries.rows(query)] = self._posterior(query).expected_gain()
        rows: IntArray = np.lexsort((-self.items.values, -gain, queries.codes))
        return rows

    def _decide(
        self, left: IntArray, right: IntArray, proba: FloatArray
    ) -> PairDecisions:
        """Decide pairs of rows by their probabilities."""
        queries, names = self.items.queries, self.items.item_id
        losses = expected_losses(proba, self.items.loss)
        lead = proba[:, 2] - proba[:, 0]
        # Equal probabilities carry no order; so do they without answers.
        order = np.where(np.abs(lead) <= EQUAL, 0, np.sign(lead)).astype(np.int64)
        strict = np.where(order > 0, losses[:, 2], losses[:, 0])
        tie = (order == 0) | (losses[:, 1] < strict)
        risk = np.where(tie, losses[:, 1], strict)
        rows, place = rows_by_place(
            -np.argsort(self._wanted).astype(np.float64), queries
        )
        by_row = np.empty_like(place)
        by_row[rows] = place
        made = PairDecisions(
            left,
            right,
            queries.values[queries.codes[left]],
            np.where(tie, 0, order),
            risk <= self.items.threshold,
            risk,
            proba,
            left_id=None if names is None else names[left],
            right_id=None if names is None else names[right],
            place=by_row,
        )
        return self.items.with_novel(made, self.answers)

    def _choose(
        self,
        n: int,
        objective: str,
        losses: FloatArray,
        per_query: int | str | None = None,
        error: float | None = None,
        *,
        drawn: bool = False,
    ) -> list[tuple[int, Question]]:
        error = self.typical_error if error is None else error
        aim = Aim(objective, Reviewers.of_error(error).heard(), losses)
        streams = [
            questions_of_query(
                self.items.prior(query),
                *self._known(query),
                aim,
                np.random.default_rng(query) if drawn else None,
            )
            for query in range(self.items.queries.n_queries)
        ]
        most = per_query if isinstance(per_query, int) else None
        return choose_questions(streams, n, most, equal=per_query == "equal")


def _canonical_number(queries: Queries, left: IntArray, right: IntArray) -> IntArray:
    """Return the position of pairs of rows, ``left`` before ``right``, among all."""
    position = np.empty(queries.n_items, dtype=np.int64)
    starts = np.repeat(queries.offsets[:-1], queries.sizes)
    position[queries.order] = np.arange(queries.n_items) - starts
    query = queries.codes[left]
    i, j, n = position[left], position[right], queries.sizes[query]
    first = np.append(0, np.cumsum(queries.pair_counts))[query]
    number: IntArray = first + i * (2 * n - i - 1) // 2 + j - i - 1
    return number
