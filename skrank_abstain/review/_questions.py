"""Which pairs to ask a person about: those whose answers would change most."""

from __future__ import annotations

import heapq
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skrank_abstain._validation import BoolArray, FloatArray, IntArray
from skrank_abstain.pairs import PairDecisions, check_output_size
from skrank_abstain.review._files import write_page, write_tasks
from skrank_abstain.review._posterior import GradePrior, Posterior, grade_gains

#: Questions that are looked at: those about items whose pairs are the riskiest.
_N_CANDIDATES = 64
#: What to do where the pairs do not fit into memory.
FEWER = (
    "Review fewer queries at a time, which tell nothing about each other, or the "
    "highest items of a query alone."
)
#: While questions are chosen: positions, probabilities, and what follows from answers.
_BYTES_PER_PAIR = 100
#: A pair whose label is as sure as this is not asked.
_SURE = 1e-6
#: Ranks whose gain counts for ``objective="top"``.
_DEPTH = 10


@dataclass(frozen=True, eq=False, repr=False)
class Questions(PairDecisions):
    """Pairs to ask a person about, most useful first.

    Attributes
    ----------
    value : ndarray of shape (n_pairs,), float64
        What the answer is expected to be worth: by how much it lowers the expected
        loss, summed over pairs, or raises the expected DCG. Falls from pair to pair.
    index : pandas.Index or None
        That of X, where it is a frame of pandas: what is shown must have the same.
    left, right, qid, label, accepted, risk, proba, left_id, right_id, place
        As in `PairDecisions`, after the answers that there are.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain import BALToR
    >>> from skrank_abstain.datasets import make_ranking
    >>> data = make_ranking(n_queries=60, random_state=0)
    >>> ranker = BALToR(Ridge(), random_state=0)
    >>> ranker = ranker.fit(data.data, data.target, qid=data.qid)
    >>> new = make_ranking(n_queries=2, random_state=1)
    >>> questions = ranker.review(new.data, new.qid).ask(3)
    >>> len(questions), bool((questions.value > 0).all())
    (3, True)
    """

    value: FloatArray = None  # type: ignore[assignment]
    index: Any = None
    _OF_ROWS = ("place", "index")

    def __repr__(self) -> str:
        best = f", best={self.value[0]:.3g}" if len(self) else ""
        n_queries = len(set(self.qid.tolist()))
        return f"Questions(n_pairs={len(self)}, n_queries={n_queries}{best})"

    def to_tasks(
        self,
        path: str | os.PathLike[str],
        *,
        format: str = "csv",  # noqa: A002 (what other libraries call it)
        shown: Any = None,
    ) -> None:
        """Write the questions to a file, most useful first.

        Parameters
        ----------
        path : str or path-like
        format : {"csv", "jsonl", "label_studio"}, default="csv"
            A table with an empty column ``label`` to fill in with left, same or right,
            one JSON object per line, or a list of tasks for Label Studio.
        shown : frame or mapping of columns, default=None
            What is to be seen of the items, one value per row of X: columns
            ``left_...`` and ``right_...`` of each task.

        Raises
        ------
        ValueError
            If ``shown`` has another number of rows than X, or, both being of pandas,
            another index; or ``format`` is unknown.

        Notes
        -----
        A task has ``pair_id``, ``qid``, ``left_id`` and ``right_id``, as texts. Which
        item stands on the left is drawn by a hash of the names, and nothing is said of
        what the model expects. ``read_answers`` reads what comes back.
        """
        write_tasks(self, path, format, shown)

    def to_page(
        self,
        path: str | os.PathLike[str],
        *,
        shown: Any = None,
        question: str = "Which comes first?",
    ) -> None:
        """Write one page on which a person answers the questions in a browser.

        Parameters
        ----------
        path : str or path-like
            File to write, such as ``"review.html"``; one that is there is replaced.
        shown : frame or mapping of columns, default=None
            What is to be seen of the items, one value per row of X.
        question : str, default="Which comes first?"
            What is asked about the two items, such as "Who needs a doctor sooner?".

        Raises
        ------
        ValueError
            If ``shown`` has other rows than X, as in ``to_tasks``.

        Notes
        -----
        The page needs nothing else: no server, no network. The two items stand side by
        side; buttons and keys say left, same or right, skip and undo. The browser keeps
        the answers until they are saved as a file, which ``read_answers`` reads. Sides
        are drawn, and nothing is said of what the model expects, as in ``to_tasks``.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from sklearn.linear_model import Ridge
        >>> from skrank_abstain import BALToR
        >>> from skrank_abstain.datasets import make_ranking
        >>> data = make_ranking(n_queries=60, random_state=0)
        >>> ranker = BALToR(Ridge(), random_state=0)
        >>> ranker = ranker.fit(data.data, data.target, qid=data.qid)
        >>> new = make_ranking(n_queries=2, random_state=1)
        >>> questions = ranker.review(new.data, new.qid).ask(3)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "review.html")
        ...     questions.to_page(path, shown={"size": new.data[:, 0].round(2)})
        ...     page = path.read_text(encoding="utf-8")
        >>> page.count('"left_size"'), "http://" in page
        (3, False)
        """
        write_page(self, path, shown, question)

    def _measures(self) -> dict[str, FloatArray | None]:
        return {**super()._measures(), "value": self.value}

    def _columns(self) -> dict[str, NDArray[Any]]:
        return {**super()._columns(), "value": self.value}


class Aim(NamedTuple):
    """What makes a question useful.

    Attributes
    ----------
    objective : {"pairs", "top"}
    heard : ndarray of shape (3, 3), float64
        Probability of each answer, by the true label.
    losses : ndarray of shape (3,), float64
        Of confusing the orders, an order for a tie, a tie for an order.
    """

    objective: str
    heard: FloatArray
    losses: FloatArray


class Question(NamedTuple):
    """One pair of a query, by the positions of its items, and what it is worth.

    ``answer``, -1, 0 or 1, is what the questions after it take it to have got.
    """

    value: float
    left: int
    right: int
    answer: int


def questions_of_query(
    prior: GradePrior,
    left: IntArray,
    right: IntArray,
    likelihood: FloatArray,
    aim: Aim,
    rng: np.random.Generator | None = None,
) -> Iterator[Question]:
    """Yield the questions of one query, one after the other.

    Parameters
    ----------
    prior, left, right, likelihood
        As in ``Posterior.of``.
    aim : Aim
    rng : Generator, default=None
        Draws the truth, and answers to it. None: each question gets its most probable
        answer.

    Yields
    ------
    question : Question
        The most useful one, as if those before it had got their answers. Pairs that
        were answered, whose answer follows from others, or whose label is sure, are
        left out.

    Notes
    -----
    64 candidates are looked at, O(n n_nodes n_grades) each: pairs of the two items
    whose pairs are riskiest in sum, which is where an answer can tell most.
    """
    n = prior.n_items
    check_output_size(n * (n - 1) // 2, _BYTES_PER_PAIR, remedy=FEWER)
    first, second = np.triu_indices(n, 1)
    truth = None
    if rng is not None:
        truth = _draw_labels(Posterior.of(prior, left, right, likelihood), rng)
    while True:
        open_ = _not_implied(left, right, likelihood, n)[first, second]
        open_[_pair_number(left, right, n)] = False
        posterior = Posterior.of(prior, left, right, likelihood)
        proba = posterior.pair_proba()
        likely = _candidates(posterior, proba, open_, aim.objective)
        if not likely.size:
            return
        values = question_values(posterior, first[likely], second[likely], aim)
        best = int(np.argmax(values))
        if values[best] <= 0:
            return
        pair = likely[best]
        i, j = int(first[pair]), int(second[pair])
        if rng is None or truth is None:
            answer = int(np.argmax(aim.heard @ proba[pair]))
        else:
            answer = int(rng.choice(3, p=aim.heard[:, truth[pair] + 1]))
        yield Question(float(values[best]), i, j, answer - 1)
        left, right, likelihood = add_answers(
            left, right, likelihood, [(i, j)], aim.heard[[answer]]
        )


def add_answers(
    left: IntArray,
    right: IntArray,
    likelihood: FloatArray,
    pairs: list[tuple[int, int]],
    worth: FloatArray,
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return answered pairs with others, and what these are worth (n, 3), sorted."""
    new = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    left, right = np.append(left, new[:, 0]), np.append(right, new[:, 1])
    order = np.lexsort((right, left))
    return left[order], right[order], np.concatenate([likelihood, worth])[order]


def _draw_labels(posterior: Posterior, rng: np.random.Generator) -> IntArray:
    """Draw the true labels of all pairs at once, shape (n_pairs,)."""
    grades = posterior.draw_grades(rng)
    first, second = np.triu_indices(grades.size, 1)
    tied = rng.random(first.size) < posterior.beliefs.tied[grades[first]]
    either = rng.choice([-1, 1], first.size)
    order = np.sign(grades[first] - grades[second])
    labels: IntArray = np.where(order == 0, np.where(tied, 0, either), order)
    return labels


def question_values(
    posterior: Posterior, first: IntArray, second: IntArray, aim: Aim
) -> FloatArray:
    """Return what the answers to questions are expected to be worth.

    Parameters
    ----------
    posterior : Posterior
    first, second : ndarray of shape (n_questions,), int64
        Positions of the items, ``first < second``.
    aim : Aim

    Returns
    -------
    values : ndarray of shape (n_questions,), float64
        For ``"pairs"``: by how much the answer is expected to lower the expected loss,
        summed over the pairs of either item. For ``"top"``: by how much it is
        expected to raise the DCG of the first ten of the posterior order.
    """
    from skrank_abstain._kernels.asking import pair_values, top_values
    from skrank_abstain._kernels.beliefs import rows_of_items

    answered, beliefs = posterior.answered, posterior.beliefs
    asked = np.unique(np.concatenate([first, second]))
    slot = np.full(answered.tree.size, -1)
    slot[asked] = np.arange(asked.size)
    gain = grade_gains(beliefs.tied.size)
    under, tie, gains, joint = rows_of_items(
        asked, first, second, answered, beliefs, gain
    )
    if aim.objective == "pairs":
        return pair_values(
            first, second, slot, under, tie, joint, beliefs.tied, aim.heard, aim.losses
        )
    expected = posterior.expected_gain()
    return top_values(
        *(first, second, slot, answered.tree, gains, joint),
        *(beliefs.tied, aim.heard, expected, _DEPTH),
    )


def choose_questions(
    streams: list[Iterator[Question]], n: int, per_query: int | None, *, equal: bool
) -> list[tuple[int, Question]]:
    """Choose the most useful questions of all queries.

    Parameters
    ----------
    streams : list of iterator of Question
        Of each query.
    n : int
    per_query : int or None
        At most so many of each query.
    equal : bool
        Whether all queries have their turn before one has another.

    Returns
    -------
    chosen : list of (query, Question)
        By falling value.
    """
    chosen: list[tuple[int, Question]] = []
    waiting: list[tuple[int, float, int, Question]] = []

    def push(query: int, turn: int) -> None:
        question = None
        if per_query is None or turn < per_query:
            question = next(streams[query], None)
        if question is not None:
            turn_first = turn if equal else 0
            heapq.heappush(waiting, (turn_first, -question.value, query, question))

    for query in range(len(streams) if n else 0):
        push(query, 0)
    asked = [0] * len(streams)
    while waiting and len(chosen) < n:
        _, _, query, question = heapq.heappop(waiting)
        chosen.append((query, question))
        asked[query] += 1
        if len(chosen) < n:
            push(query, asked[query])
    return sorted(chosen, key=lambda one: -one[1].value)


def _candidates(
    posterior: Posterior,
    proba: FloatArray,
    open_: BoolArray,
    objective: str,
) -> IntArray:
    """Return the pairs that a question may be about."""
    n = posterior.answered.tree.size
    first, second = np.triu_indices(n, 1)
    risk = 1 - proba.max(axis=1)
    allowed = np.flatnonzero(open_ & (risk > _SURE))
    if objective == "top":
        # Both items may be among the best.
        hope = posterior.hoped_gain()
        key = np.minimum(hope[first], hope[second])
    else:
        of_item = np.bincount(first, risk, n) + np.bincount(second, risk, n)
        key = of_item[first] + of_item[second]
    if allowed.size > _N_CANDIDATES:
        most = np.argpartition(-key[allowed], _N_CANDIDATES)[:_N_CANDIDATES]
        allowed = np.sort(allowed[most])
    return allowed


def _not_implied(
    left: IntArray, right: IntArray, likelihood: FloatArray, n: int
) -> BoolArray:
    """Return the pairs (n, n) whose answer does not follow from others."""
    from skrank_abstain._kernels.closing import close_orders

    label = likelihood.argmax(axis=1) - 1
    # Not worse: a tie goes both ways.
    ahead, behind = label >= 0, label <= 0
    better = np.concatenate([left[ahead], right[behind]])
    worse = np.concatenate([right[ahead], left[behind]])
    reach = close_orders(better, worse, n)
    open_: BoolArray = ~(reach | reach.T)
    return open_


def _pair_number(left: IntArray, right: IntArray, n: int) -> IntArray:
    """Return the position of pairs in canonical order."""
    number: IntArray = left * (2 * n - left - 1) // 2 + right - left - 1
    return number
