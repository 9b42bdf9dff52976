"""Simulated reviews: how much better a ranking gets by the answers of reviewers."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import ndcg_score
from sklearn.utils import check_random_state

from skrank_abstain._kernels import FloatArray, IntArray
from skrank_abstain._validation import (
    MOST_GRADES,
    check_choice,
    check_positive_int,
    check_real,
    check_relevance,
    check_shares,
)
from skrank_abstain.metrics import find_ranker
from skrank_abstain.pairs import PairDecisions, pair_labels
from skrank_abstain.review._choosing import OBJECTIVES, QuestionObjective
from skrank_abstain.review._judging import check_reviewer_error
from skrank_abstain.review._review import EQUAL, Review

#: Ways to choose pairs for comparison, beside the objectives of ``Review.ask``.
_COMPARISONS = ("riskiest", "random")
_SHARES = (
    " They are shares of all pairs: n questions are "
    "n / len(ranker.predict_pairs(X, qid=qid))."
)


def review_curve(
    ranker: Any,
    X: Any,
    y: ArrayLike,
    *,
    qid: Any = None,
    budgets: ArrayLike = (0.0, 0.005, 0.01, 0.025, 0.05),
    error: float | Mapping[str, float] = 0.1,
    noticeable: float = 0.0,
    objective: str | QuestionObjective = "pairs",
    rounds: int = 10,
    reviewer_error: Any = None,
    gold: float = 0.0,
    random_state: Any = None,
    verbose: int = 0,
) -> dict[str, Any]:
    """Return how accurate a ranking gets by the share of its pairs that are answered.

    The labels simulate reviewers. They answer the questions of ``Review.ask`` in
    rounds; after each round a new review gets all answers.

    Parameters
    ----------
    ranker : object
        A fitted selective ranker, or a Pipeline or fitted search that ends in one.
    X : array-like, sparse matrix or frame of shape (n_items, n_features)
        Items that neither trained nor calibrated it.
    y : array-like of shape (n_items,)
        Relevance, higher is better.
    qid : None, scalar or array-like of shape (n_items,), default=None
        Query of each item.
    budgets : array-like of shape (n_budgets,)
        Shares of all pairs to ask, in [0, 1], ascending.
    error : float or dict of str to float, default=0.1
        Share of wrong answers. Half of those about untied items turn their order
        around, the others say a tie. With several reviewers, by name, a random one
        answers each question.
    noticeable : float, default=0
        A just-noticeable difference: reviewers call items "same" whose relevance
        differs by less. ``error`` comes on top.
    objective : {"pairs", "top", "riskiest", "random"} or QuestionObjective, \
default="pairs"
        As in ``Review.ask``. For comparison: the pairs of the highest risk, or random
        ones.
    rounds : int, default=10
        Number of reviews from one budget to the next.
    reviewer_error : None, float or dict of str to float, default=None
        Shares of reversed orders that the review knows, half of ``error``; None:
        estimated from the answers.
    gold : float, default=0
        Share of the questions that somebody who does not err answers, too.
    random_state : int, RandomState instance or None, default=None
        Draws the answers, their reviewers, gold answers, and pairs for
        ``objective="random"``.
    verbose : int, default=0
        Whether to print after each round how many pairs are answered.

    Returns
    -------
    curve : dict of str to ndarray of shape (n_budgets,)
        ``share`` and ``asked``: share and number of the pairs that were asked, below
        the budget if nothing was left to ask. ``accuracy``: share of all pairs whose
        most probable label is right; higher is better. ``expected_accuracy``: the
        review's own estimate of it. ``ndcg``: mean NDCG@10 of the ranking, with gains
        2^y - 1, over the queries of at least two items that have any gain (NaN unless
        y lies in [0, 31]). ``reviewer_error``: shares of reversed orders as {name:
        rate}.

    Raises
    ------
    TypeError
        If ``ranker`` contains no selective ranker.
    ValueError
        If a budget, an error or the number of rounds is out of range, ``objective`` is
        unknown, or there are no pairs.

    See Also
    --------
    skrank_abstain.displays.ReviewCurveDisplay : Draws it.

    Notes
    -----
    One pass over all pairs per round, and the choice of its questions: ten minutes for
    the default budgets on 156 queries of 57,434 pairs (one shared core). Fewer rounds
    or lower budgets take less. Holds all pairs in memory.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain import BALToR
    >>> from skrank_abstain.datasets import make_ranking
    >>> from skrank_abstain.review import review_curve
    >>> data = make_ranking(n_queries=60, random_state=0)
    >>> ranker = BALToR(Ridge(), random_state=0)
    >>> ranker = ranker.fit(data.data, data.target, qid=data.qid)
    >>> new = make_ranking(n_queries=4, random_state=1)
    >>> curve = review_curve(
    ...     ranker, new.data, new.target, qid=new.qid, budgets=[0, 0.1], random_state=0
    ... )
    >>> bool(curve["accuracy"][1] > curve["accuracy"][0])
    True
    """
    shares = check_shares(budgets, "budgets", include_zero=True, remedy=_SHARES)
    names, rates = _check_error(error)
    noticeable = check_real(noticeable, "noticeable", 0, np.inf, include_high=False)
    if isinstance(objective, str) and not objective.startswith("top@"):
        check_choice(objective, "objective", (*OBJECTIVES, *_COMPARISONS))
    check_positive_int(rounds, "rounds")
    check_real(gold, "gold", 0, 1)
    known = check_reviewer_error(reviewer_error)
    strange = sorted(set(known) - set(names)) if isinstance(known, dict) else []
    if strange:
        raise ValueError(
            f"reviewer_error must name reviewers of error, {names}, got {strange}."
        )
    ranker, X, y, qid = find_ranker(ranker, X, y, qid, "review")
    ranker.evaluate(X, y, qid=qid)  # checks the labels and the queries
    relevance = check_relevance(y)
    review: Review = ranker.review(X, qid=qid, reviewer_error=known)
    rng = check_random_state(random_state)
    pairs = review.decisions
    if not len(pairs):
        raise ValueError("qid must leave a query with two items: there are no pairs.")
    truth = pair_labels(relevance, pairs.left, pairs.right)
    # Pairs of equal risk are asked in random order, not in that of the rows.
    shuffled = rng.permutation(len(pairs))
    said = np.empty((0, 6), dtype=np.int64)  # as _answer() returns it
    points = []
    for share in shares.tolist():
        goal = round(share * len(pairs))
        step = max(1, -(-(goal - len(said)) // rounds))
        while len(said) < goal:
            n = min(step, goal - len(said))
            if objective in _COMPARISONS:
                new = _unasked(review, objective, shuffled, said, n)
            else:
                new = review.ask(n, objective=objective)
            if not len(new):
                break
            answers = _answer(new, relevance, rates, noticeable, gold, rng)
            said = np.append(said, answers, axis=0)
            review = _review(review, said, np.array(names), known)
            if verbose:
                print(f"[review_curve] {len(said)} of {round(shares[-1] * len(pairs))}")  # noqa: T201
        # The most probable label of each pair, as expected_accuracy counts it.
        proba = review._pair_proba
        tied = np.abs(proba[:, 2] - proba[:, 0]) <= EQUAL
        likely = np.where(tied, 0, proba.argmax(axis=1) - 1)
        points.append(
            {
                "share": len(said) / len(pairs),
                "asked": len(said),
                "accuracy": float(np.mean(likely == truth)),
                "expected_accuracy": review.expected_accuracy,
                "ndcg": _ndcg(review, relevance),
                "reviewer_error": review.reviewer_error_,
            }
        )
    return {name: np.array([point[name] for point in points]) for name in points[0]}


def _answer(
    pairs: PairDecisions,
    relevance: FloatArray,
    rates: FloatArray,
    noticeable: float,
    gold: float,
    rng: np.random.RandomState,
) -> IntArray:
    """Let a random reviewer answer about each pair.

    Returns the columns left, right, label and reviewer, and the right label and whether
    a gold answer tells it.
    """
    n, gap = len(pairs), relevance[pairs.left] - relevance[pairs.right]
    label = np.where(np.abs(gap) < noticeable, 0, np.sign(gap))
    reviewer = rng.randint(rates.size, size=n)
    wrong = rng.random_sample(n) < rates[reviewer]
    turn = rng.choice([-1, 1], n)
    other = np.where(label == 0, turn, np.where(turn > 0, -label, 0))
    label = np.where(wrong, other, label)
    sure = rng.random_sample(n) < gold if gold else np.zeros(n)
    columns = pairs.left, pairs.right, label, reviewer, np.sign(gap), sure
    return np.stack(columns, axis=1).astype(np.int64)


def _review(before: Review, said: IntArray, names: NDArray[Any], known: Any) -> Review:
    """Return a review of all answers, with the error rates that are known."""
    left, right, label, reviewer, truth, sure = said.T
    answers = {"left": left, "right": right, "label": label}
    answers["reviewer"] = names[reviewer]
    sure = sure == 1
    gold = {"left": left[sure], "right": right[sure], "label": truth[sure]}
    scored = before.items, before.calibration, before.region
    signs = {-1: "right", 0: "tie", 1: "left"}
    return Review.of(*scored, answers, known, gold, signs)


def _unasked(
    review: Review, objective: Any, order: IntArray, said: IntArray, n: int
) -> PairDecisions:
    """Return the first n pairs that were not asked, or the riskiest of them."""
    pairs, n_items = review.decisions, review.items.queries.n_items
    if objective == "riskiest":
        order = order[np.argsort(-np.asarray(pairs.risk)[order], kind="stable")]
    asked = said[:, 0] * n_items + said[:, 1]
    is_new = ~np.isin(pairs.left * n_items + pairs.right, asked)
    return pairs.take(order[is_new[order]][:n])


def _ndcg(review: Review, relevance: FloatArray) -> float:
    """Return the mean NDCG@10 of the review's ranking; NaN where it is undefined."""
    if relevance.min() < 0 or relevance.max() > MOST_GRADES:
        return float("nan")
    gains = np.exp2(relevance) - 1
    queries, ranking = review.items.queries, review.ranking()
    # Without item_id= items have their row positions as names.
    place = ranking.place[np.argsort(ranking.item_id)]
    found = []
    for of_query in map(queries.rows, range(queries.n_queries)):
        gain = gains[of_query]
        if gain.size > 1 and gain.any():
            found.append(ndcg_score([gain], [-place[of_query]], k=10, ignore_ties=True))
    return float(np.mean(found)) if found else float("nan")


def _check_error(error: Any) -> tuple[list[str], FloatArray]:
    """Return the names and the error rates of the reviewers."""
    rates = error if isinstance(error, Mapping) else {"reviewer": error}
    if not rates:
        raise ValueError("error must name at least one reviewer, got {}.")
    for rate in rates.values():
        check_real(rate, "error", 0, 1, include_high=False)
    return [str(name) for name in rates], np.array([*rates.values()], dtype=np.float64)
