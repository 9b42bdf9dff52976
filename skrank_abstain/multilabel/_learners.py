"""Learners of the learnability theorems for multilabel ranking, for tiny examples.

The learners from one sample relabel it by every hypothesis of a finite class. Online,
each expert takes one sequence of rankings, one ranking per learning round, for the
truth, and one more expert never learns. `OnlineMultilabelRanker` is for real experts.
"""

import math
from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata
from sklearn.utils import check_random_state

from skrank_abstain._kernels import BoolArray, FloatArray, IntArray
from skrank_abstain._validation import check_fraction, check_vector
from skrank_abstain.multilabel import _losses
from skrank_abstain.multilabel._losses import Learner, RankingLoss, in_top, learned_row
from skrank_abstain.multilabel._online import exponential_weights

#: Largest number of losses to compute for the check of the family.
MAX_CHECKED = 5_000


class RelabellingResult(NamedTuple):
    """Ranks or a member of a threshold class, learned by relabelling."""

    learned: IntArray
    loss: float
    candidate_losses: FloatArray


def agnostic_relabelling_learner(
    class_ranks: ArrayLike,
    unlabelled: ArrayLike,
    labelled: ArrayLike,
    y: ArrayLike,
    *,
    loss: RankingLoss,
    family: str,
    p: int | None = None,
    learner: Learner | None = None,
) -> RelabellingResult:
    """Learn a ranking for any loss of a family with a learner for one loss of it.

    Parameters
    ----------
    class_ranks : array-like of shape (n_hypotheses, n_points, n_labels), int
        Ranks 1 (best) to n_labels that each hypothesis gives to the labels of each
        point of the domain.
    unlabelled : array-like of shape (m,), int
        Sample of points without labels.
    labelled : array-like of shape (n,), int
        Sample of points with labels.
    y : array-like of shape (n, n_labels), int
        Relevance of the labels of the labelled points.
    loss : callable
        The loss to minimise: ``loss(y_true, y_score) -> float``, such as
        ``functools.partial(multilabel_loss, loss="auc")``.
    family : {"sum", "precision"}
        The family of the loss. This is checked, with the largest grade in ``y``, if at
        most 5,000 losses have to be computed: up to five labels of grades 0 and 1, four
        of grades 0 to 2.
    p : int, default=None
        Number of top positions of the family; None for all labels in the sum family.
        The precision family needs one: the top n_labels miss nothing.
    learner : callable, default=None
        The base learner: ``learner(class_ranks, points, relevance)`` returns the number
        of a row of ``class_ranks`` for points of shape (q,) and their relevance of
        shape (q, n_labels). By default the first row of least sum (precision) loss at
        p.

    Returns
    -------
    result : RelabellingResult
        ``learned``, of shape (n_points, n_labels): the ranks of the labels of each
        point of the domain. ``loss``: its mean loss on the labelled sample.
        ``candidate_losses``: this loss for the ranking learned from each different
        relabelling, in the order of the first hypotheses that relabel so.

    Raises
    ------
    TypeError
        If ``p`` is not an integer, or ``loss`` or ``learner`` cannot be called so.
    ValueError
        If shapes differ, ranks are not permutations, points are out of range,
        ``family`` is unknown, ``p`` out of range, or missing for the precision family,
        the loss is not in the family, or the learner does not return the number of a
        row.

    See Also
    --------
    loss_family_membership : Whether a loss belongs to a family.
    threshold_relabelling_learner : The way back, to the threshold classes.

    Notes
    -----
    ``family="precision"`` is Algorithm 5 of Raman, Subedi and Tewari (2023).
    ``family="sum"`` reconstructs Algorithm 1 from the proofs in the appendix: the main
    text, which prints it, was not at hand. Both turn a learner that needs noise-free
    data into an agnostic learner for all losses of the family.

    1. Each hypothesis h relabels the sample without labels, a point x by
       ``bin_rel(h(x), j)``: j = p in the precision family; in the sum family each point
       is there p times, once for each j up to p. These data are noise-free for h.
    2. The learner is trained on each of these data sets: one candidate each.
    3. The candidate of smallest mean loss on the labelled sample is returned.

    This works because ``loss(r, y) <= loss(h, y) + c * sum_j loss(r, bin_rel(h, j))``
    (Lemmas E.1 and E.2). If the unlabelled sample has all points and the learner makes
    no mistake on noise-free data, as the default one, the result has the smallest loss
    of the class. For a loss outside of the family it might not.

    O(n_hypotheses**2 m p n_labels) with the default learner.

    Examples
    --------
    >>> from functools import partial
    >>> from skrank_abstain.multilabel import (
    ...     agnostic_relabelling_learner, multilabel_loss
    ... )
    >>> class_ranks = [[[1, 2, 3], [3, 1, 2]], [[3, 2, 1], [1, 2, 3]]]  # 2 points
    >>> found = agnostic_relabelling_learner(
    ...     class_ranks,
    ...     unlabelled=[0, 1],
    ...     labelled=[0, 0, 1],
    ...     y=[[0, 0, 1], [1, 0, 0], [1, 0, 0]],
    ...     loss=partial(multilabel_loss, loss="auc"),
    ...     family="sum",
    ... )
    >>> found.learned
    array([[3, 2, 1],
           [1, 2, 3]])
    >>> round(found.loss, 3), found.candidate_losses.size
    (0.333, 2)
    """
    ranks = _losses.check_class(class_ranks)
    _, n_points, n_labels = ranks.shape
    p = _losses.check_family(family, p, n_labels)
    _losses.check_function(loss, "loss(y_true, y_score)")
    points = _losses.check_codes(unlabelled, "unlabelled", n_points, "n_unlabelled")
    known = _losses.check_codes(labelled, "labelled", n_points, "n_labelled")
    relevance = _losses.check_label_matrix(y, "y", (known.size, n_labels))
    # The loss checks the grades themselves.
    n_grades = max(1, math.ceil(relevance.max())) + 1
    if _losses.number_of_losses(n_labels, n_grades) <= MAX_CHECKED:
        table = _losses.loss_table(loss, n_labels, n_grades)
        _losses.check_member(loss, *table, family, p)
    tops = range(1, p + 1) if family == "sum" else [p]
    learner = learner or _losses.least_loss_learner(family, p)
    rows = _candidates(ranks, points, [*tops], learner)
    losses = np.array([loss(relevance, -1.0 * ranks[h, known]) for h in rows])
    return _best(ranks[rows], losses)


def threshold_relabelling_learner(
    class_ranks: ArrayLike,
    unlabelled: ArrayLike,
    labelled: ArrayLike,
    y: ArrayLike,
    *,
    label: int,
    j: int,
    learner: Learner | None = None,
) -> RelabellingResult:
    """Learn whether a label is in the top j with a learner of rankings.

    Parameters
    ----------
    class_ranks, unlabelled, labelled
        As for `agnostic_relabelling_learner`.
    y : array-like of shape (n,), int
        1 for the labelled points whose label is supposed to be in the top j, 0 for the
        others; it may contradict itself and all hypotheses.
    label : int
        The label, 0 to n_labels - 1.
    j : int
        Number of top positions, 1 to n_labels.
    learner : callable, default=None
        As for `agnostic_relabelling_learner`; by default the first row of least
        precision loss at j.

    Returns
    -------
    result : RelabellingResult
        ``learned``, of shape (n_points,): 1 where the label is in the top j, 0 at other
        points. ``loss``: the share of the labelled sample that it gets wrong.
        ``candidate_losses``: this share for the candidate of each different
        relabelling, in the order of the first hypotheses that relabel so.

    Raises
    ------
    TypeError
        If ``label`` or ``j`` is not an integer, or ``learner`` cannot be called so.
    ValueError
        If shapes differ, ranks are not permutations, points, ``label`` or ``j`` are out
        of range, ``y`` is not binary, or the learner does not return the number of a
        row.

    See Also
    --------
    agnostic_relabelling_learner : The way from rankings to rankings.
    bin_rel : The relabelling.

    Notes
    -----
    Algorithm 4 of Raman, Subedi and Tewari (2023): a learner of the rankings for one
    loss of a family yields a learner of each threshold class for the zero-one loss,
    whatever the data.

    1. Each hypothesis h relabels the sample without labels: a point x by
       ``bin_rel(h(x), j)``, for this j alone. These data are noise-free for h.
    2. The learner is trained on each of these data sets: one candidate g each.
    3. The function ``1[rank that g gives to the label <= j]`` with the fewest mistakes
       on the labelled sample is returned.

    On these data all losses of the sum families at p >= j, and of the precision family
    at j, are 0 at the same rankings, so that the default stands for learners of each.
    A member is right wherever its g has loss 0 (Lemmas E.3 and E.4). If the unlabelled
    sample has all points and the learner makes no mistake on noise-free data, as the
    default one, the result has the smallest loss of the class.

    O(n_hypotheses**2 m n_labels) with the default learner.

    Examples
    --------
    >>> from skrank_abstain.multilabel import threshold_relabelling_learner
    >>> class_ranks = [[[1, 2, 3], [3, 1, 2]], [[3, 2, 1], [1, 2, 3]]]  # 2 points
    >>> found = threshold_relabelling_learner(
    ...     class_ranks,
    ...     unlabelled=[0, 1],
    ...     labelled=[0, 0, 0, 1],
    ...     y=[1, 1, 0, 0],
    ...     label=0,
    ...     j=2,
    ... )
    >>> found.learned.tolist(), found.loss
    ([1, 0], 0.25)
    """
    ranks = _losses.check_class(class_ranks)
    _, n_points, n_labels = ranks.shape
    points = _losses.check_codes(unlabelled, "unlabelled", n_points, "n_unlabelled")
    known = _losses.check_codes(labelled, "labelled", n_points, "n_labelled")
    truth = check_vector(y, "y", known.size, unit="labelled point")
    truth = _losses.check_codes(truth, "y", 2, "n_labelled")
    label = _losses.check_between(label, "label", 0, n_labels - 1)
    j = _losses.check_between(j, "j", 1, n_labels)
    learner = learner or _losses.least_loss_learner("precision", j)
    members = in_top(ranks[_candidates(ranks, points, [j], learner)], j)[:, :, label]
    return _best(members, (members[:, known] != truth).mean(axis=1))


def _candidates(
    ranks: IntArray, points: IntArray, tops: list[int], learner: Learner
) -> list[int]:
    """Return the row learned from each different relabelling, in order of rows."""
    # Every point appears once for each j, relabelled by every hypothesis.
    relabelled = np.concatenate([in_top(ranks[:, points], j) for j in tops], axis=1)
    first = np.sort(np.unique(relabelled, axis=0, return_index=True)[1])
    repeated = np.tile(points, len(tops))
    return [learned_row(learner, ranks, repeated, relabelled[h]) for h in first]


def _best(candidates: IntArray, losses: FloatArray) -> RelabellingResult:
    best = int(np.argmin(losses))
    return RelabellingResult(candidates[best].copy(), float(losses[best]), losses)


#: Largest number of experts.
MAX_EXPERTS = 50_000

#: From lessons at some points to the answers at all points of the domain.
Answers = Callable[[IntArray, IntArray], IntArray]


class OnlineExpertRun(NamedTuple):
    """Losses, bounds and predictions of one run of an online construction.

    Attributes
    ----------
    expected_loss : ndarray of shape (n_rounds,), float64
        Mean loss of the experts in each round, weighted as they were before it: the
        expected loss of the prediction.
    regret_bound : float
        The sum of ``expected_loss`` exceeds the smallest of ``expert_losses`` by at
        most this.
    updated : ndarray of shape (n_rounds,), bool
        Whether the experts learned in each round.
    prediction : ndarray of shape (n_rounds, n_labels) or (n_rounds,), int64
        One draw: the ranks that an expert drawn by these weights predicts, or the 0 or
        1 of `online_threshold_run`.
    expert_losses : ndarray of shape (n_experts,), float64
        Total loss of each expert. The first never learns; the others follow the order
        of `itertools.product` over the `permutations` that they are taught.
    best_hypothesis_loss : float
        Smallest total loss of a member of the class.
    class_regret_bound : float
        The sum of ``expected_loss`` exceeds ``best_hypothesis_loss`` by at most this in
        expectation over ``updated``; NaN for a given learner, whose number of mistakes
        is not known.

    Examples
    --------
    >>> from skrank_abstain.multilabel import multilabel_loss, online_expert_run
    >>> run = online_expert_run(
    ...     [[[1, 2]], [[2, 1]]], points=[0, 0, 0], y=[[0, 1]] * 3,
    ...     loss=multilabel_loss, family="sum", random_state=0,
    ... )
    >>> bool(run.expected_loss.sum() <= run.expert_losses.min() + run.regret_bound)
    True
    >>> run.best_hypothesis_loss, run.prediction.shape
    (0.0, (3, 2))
    """

    expected_loss: FloatArray
    regret_bound: float
    updated: BoolArray
    prediction: IntArray
    expert_losses: FloatArray
    best_hypothesis_loss: float
    class_regret_bound: float


def majority_answers(members: IntArray) -> Answers:
    """Return the halving algorithm for a class of binary functions, rows of 0 and 1.

    It answers with the strict majority of the functions that are consistent with all
    lessons, and skips a lesson that would leave no function.
    """

    def answers(points: IntArray, bits: IntArray) -> IntArray:
        alive = np.ones(len(members), dtype=bool)
        for point, bit in zip(points, bits, strict=True):
            left = alive & (members[:, point] == bit)
            alive = left if left.any() else alive
        return np.asarray(1 * (2 * members[alive].sum(axis=0) > alive.sum()))

    return answers


def row_answers(learner: Learner, ranks: IntArray, members: IntArray) -> Answers:
    """Return what the members, one for each row of ranks, say by a learner of rows."""

    def answers(points: IntArray, relevance: IntArray) -> IntArray:
        return np.asarray(members[learned_row(learner, ranks, points, relevance)])

    return answers


def draw_updates(
    beta: float, n_rounds: int, n_labels: int, rng: np.random.RandomState
) -> BoolArray:
    """Draw the learning rounds; refuse too many experts."""
    share = n_rounds ** (check_fraction(beta, "beta") - 1)
    updated: BoolArray = rng.random_sample(n_rounds) < share
    n_updates = int(updated.sum())
    n_followers = math.factorial(n_labels) ** n_updates
    if n_followers >= MAX_EXPERTS:
        raise ValueError(
            f"there must be at most {MAX_EXPERTS} experts, got {n_followers + 1} for "
            f"{n_labels} labels and {n_updates} learning rounds. Take fewer rounds."
        )
    return updated


def _taught(
    answers: Answers, lessons: IntArray, points: IntArray
) -> tuple[IntArray, IntArray]:
    """Return what a learner says after each history, and the history of each expert.

    ``lessons`` has what each ranking teaches. Experts with the same lessons at all
    ``points`` share a history.
    """
    kinds, kind = np.unique(lessons, axis=0, return_inverse=True)
    histories = product(range(len(kinds)), repeat=points.size)
    said = [answers(points, kinds[[*history]]) for history in histories]
    history_of = np.zeros(1, dtype=np.int64)
    for _ in points:
        history_of = np.add.outer(len(kinds) * history_of, kind.ravel()).ravel()
    return np.stack(said), history_of


def play_rounds(
    learners: list[tuple[Answers, IntArray]],
    choose: Callable[[IntArray], IntArray],
    stream: IntArray,
    updated: BoolArray,
) -> IntArray:
    """Return the choice of each expert in each round, (n_rounds, n_experts).

    A learner comes with the lessons of the rankings. ``choose`` turns what the learners
    say, (n_learners, n_experts), into choices. Until the last learning round, experts
    with the same lessons so far are one.
    """
    states = untaught = [_taught(*learner, stream[:0]) for learner in learners]
    rounds = []
    for stop, (point, learns) in enumerate(zip(stream, updated, strict=True), start=1):
        says = [
            np.append(first[0, point], said[history_of, point])
            for (first, _), (said, history_of) in zip(untaught, states, strict=True)
        ]
        rounds.append(choose(np.stack(says)))
        if learns:
            points = stream[:stop][updated[:stop]]
            states = [_taught(*learner, points) for learner in learners]
    # Without a learning round, the only expert is the one that never learns.
    n_followers = states[0][1].size if updated.any() else 0

    def of_experts(groups: IntArray) -> IntArray:
        times = n_followers // (groups.size - 1)
        return np.append(groups[0], np.repeat(groups[1:], times))

    return np.stack([of_experts(groups) for groups in rounds])


def run_of_experts(
    predictions: IntArray,
    choices: IntArray,
    losses: FloatArray,
    updated: BoolArray,
    rng: np.random.RandomState,
    *,
    largest: float,
    best_hypothesis_loss: float,
    cost_of_mistakes: float,
    beta: float,
    n_labels: int,
) -> OnlineExpertRun:
    """Run REWA over experts with known choices and losses, (n_rounds, n_experts).

    Choices are rows of ``predictions``; losses are at most ``largest``.
    """
    n_rounds, n_experts = losses.shape
    log_n = math.log(n_experts)
    eta = math.sqrt(8 * log_n / n_rounds) / (largest or 1.0)
    weights = exponential_weights(losses, eta, largest)[:-1]
    cumulative = np.cumsum(weights, axis=1)
    below = rng.random_sample((n_rounds, 1)) * cumulative[:, -1:]
    drawn = (cumulative <= below).sum(axis=1)
    # In expectation over the updates, the expert that is taught the best hypothesis
    # makes the mistakes of the learning rounds, and n_rounds**(1 - beta) times as many
    # in all rounds. The second term covers the search for this expert.
    entropy = n_labels * math.log(n_labels)
    search = largest * math.sqrt(2 * math.pow(n_rounds, 1 + beta) * entropy)
    return OnlineExpertRun(
        expected_loss=(weights * losses).sum(axis=1),
        regret_bound=largest * math.sqrt(n_rounds * log_n / 2),
        updated=updated,
        prediction=predictions[choices[np.arange(n_rounds), drawn]],
        expert_losses=losses.sum(axis=0),
        best_hypothesis_loss=best_hypothesis_loss,
        class_regret_bound=math.pow(n_rounds, 1 - beta) * cost_of_mistakes + search,
    )


def online_expert_run(
    class_ranks: ArrayLike,
    points: ArrayLike,
    y: ArrayLike,
    *,
    loss: RankingLoss,
    family: str,
    p: int | None = None,
    max_grade: int = 1,
    learner: Learner | None = None,
    beta: float = 0.5,
    random_state: Any = None,
) -> OnlineExpertRun:
    """Simulate the agnostic online learner of multilabel rankings.

    Parameters
    ----------
    class_ranks : array-like of shape (n_hypotheses, n_points, n_labels), int
        Ranks 1 (best) to n_labels that each hypothesis gives to the labels of each
        point of the domain.
    points : array-like of shape (n_rounds,), int
        The point of each round.
    y : array-like of shape (n_rounds, n_labels), int
        Relevance of its labels, 0 to ``max_grade``.
    loss, family, p
        As for `agnostic_relabelling_learner`; the loss is always checked.
    max_grade : int, default=1
        Largest possible relevance. The smallest and the largest loss, which the bounds
        need, are over all relevances from 0 to this.
    learner : callable, default=None
        Learner of each threshold class: ``learner(class_ranks, points, relevance)``
        returns the number of a row of ``class_ranks`` for the points of shape (q,) seen
        so far, at first an empty array, and their relevance of shape (q, 2). It sees
        threshold classes as rankings of two labels, "in the top j" and "not". By
        default the majority vote of the hypotheses that are left, see below.
    beta : float, default=0.5
        Experts learn in a round with probability ``n_rounds ** (beta - 1)``; in (0, 1).
    random_state : int, RandomState instance or None, default=None
        For the choice of these rounds, and of the expert that is followed.

    Returns
    -------
    run : OnlineExpertRun
        Expected losses, one draw of predictions, the losses of the experts and of the
        best hypothesis, and bounds of the regret.

    Raises
    ------
    TypeError
        If ``p``, ``max_grade`` or ``beta`` is not a number, or ``loss`` or ``learner``
        cannot be called so.
    ValueError
        If shapes differ, ranks are not permutations, points are out of range, ``y`` has
        other grades, ``family`` is unknown, ``p`` or ``beta`` out of range, or ``p``
        missing for the precision family, the loss is not in the family, the learner
        does not return the number of a row, or there would be more than 50,000 experts
        or 250,000 losses.

    See Also
    --------
    online_threshold_run : The way back, to the threshold classes.
    OnlineMultilabelRanker : The same weights for given experts.

    Notes
    -----
    ``family="precision"`` is Algorithm 7 of Raman, Subedi and Tewari (2023) inside its
    Algorithm 3. Algorithm 3 is printed in the main text, which was not at hand; the
    appendix describes it. ``family="sum"`` reconstructs Algorithm 2, also of the main
    text.

    For each sequence of rankings of the rounds drawn there is an expert that takes
    these rankings for the truth, and one more that never learns: with u rounds drawn,
    ``N = 1 + (n_labels!)**u`` experts (1 for u = 0). An expert runs one binary online
    learner for each label i and each j up to p (j = p only in the precision family),
    which predicts whether i is in the top j; it ranks labels by their votes, equal
    votes by label index. REWA follows an expert drawn by the weights ``exp(-eta * total
    loss)`` with ``eta = sqrt(8 ln N / T) / M``, where T is the number of rounds and M
    the largest loss, so that the expected regret against the best expert is at most ``M
    sqrt(T ln N / 2)``.

    Against the class, Theorems 5.1 and 5.2 say, with K labels and the smallest loss a
    that is not 0,

        ``E sum_t loss <= min_h sum_t loss(h) + (M**2 / a) sum_ij T**(1 - beta) R_ij +
        M sqrt(2 T**(1 + beta) K ln K)``

    in expectation over the rounds drawn, for any sequence that was fixed before them.
    The sum runs over the binary learners; R is the number of mistakes that they can
    make on noise-free data. The default learner, the halving algorithm, takes the
    majority vote of the hypotheses that are consistent with all updates so far and
    skips an update that would leave none: R = log2(n_hypotheses). The first row of
    least loss, passed as ``learner``, would have R = n_hypotheses - 1.
    ``class_regret_bound`` is the excess only. For short runs it is more than ``M T``
    and says nothing.

    Time and memory grow with ``(n_labels!)**u``: three labels and six learning rounds
    are 46,657 experts. ``n_labels! (max_grade + 1)**n_labels`` losses are computed.

    Examples
    --------
    >>> from skrank_abstain.multilabel import multilabel_loss, online_expert_run
    >>> run = online_expert_run(
    ...     [[[1, 2, 3], [3, 1, 2]], [[3, 2, 1], [1, 2, 3]]],
    ...     points=[0, 1, 0, 1],
    ...     y=[[0, 0, 1], [1, 0, 0], [0, 0, 1], [1, 0, 0]],
    ...     loss=multilabel_loss,
    ...     family="sum",
    ...     random_state=2,
    ... )
    >>> run.expert_losses.size, run.updated.tolist()
    (217, [True, True, False, True])
    >>> bool(run.expected_loss.sum() <= run.expert_losses.min() + run.regret_bound)
    True
    >>> run.best_hypothesis_loss
    0.0
    """
    ranks = _losses.check_class(class_ranks)
    n_hypotheses, n_points, n_labels = ranks.shape
    p = _losses.check_family(family, p, n_labels)
    stream = _losses.check_codes(points, "points", n_points, "n_rounds")
    n_grades = _losses.check_grades(n_labels, max_grade)
    matrix = _losses.check_label_matrix(y, "y", (stream.size, n_labels))
    relevance = _losses.check_codes(matrix, "y", n_grades, "n_rounds", "n_labels")
    rng = check_random_state(random_state)
    updated = draw_updates(beta, stream.size, n_labels, rng)
    rankings = _losses.all_rankings(n_labels)
    # Losses of all rankings at all relevances, for experts and hypotheses to look up.
    grades, table = _losses.loss_table(loss, n_labels, n_grades)
    _losses.check_member(loss, grades, table, family, p)
    positive = table[table > _losses.TOLERANCE]
    smallest, largest = positive.min(initial=np.inf), positive.max(initial=0.0)
    at_round = table[np.ravel_multi_index([*relevance.T], (n_grades,) * n_labels)]
    tops = range(1, p + 1) if family == "sum" else [p]
    learners = []
    for label, j in product(range(n_labels), tops):
        members, lessons = in_top(ranks, j)[:, :, label], in_top(rankings, j)[:, label]
        if learner is None:
            learners.append((majority_answers(members), lessons))
        else:
            # It sees the members as rankings of two labels, "in the top j" and "not".
            two = np.stack([2 - members, 1 + members], axis=2)
            answers = row_answers(learner, two, members)
            learners.append((answers, np.stack([lessons, 1 - lessons], axis=1)))

    def ranked_by_votes(says: IntArray) -> IntArray:
        votes = says.reshape(n_labels, len(tops), -1).sum(axis=1)
        return _number_of(rankings, rankdata(-votes, method="ordinal", axis=0).T)

    choices = play_rounds(learners, ranked_by_votes, stream, updated)
    hypotheses = _number_of(rankings, ranks)[:, stream]
    in_rounds = np.arange(stream.size)
    mistakes = math.nan if learner else len(learners) * math.log2(n_hypotheses)
    return run_of_experts(
        rankings,
        choices,
        at_round[in_rounds[:, np.newaxis], choices],
        updated,
        rng,
        largest=largest,
        best_hypothesis_loss=float(at_round[in_rounds, hypotheses].sum(axis=1).min()),
        cost_of_mistakes=largest**2 / smallest * mistakes,
        beta=beta,
        n_labels=n_labels,
    )


def online_threshold_run(
    class_ranks: ArrayLike,
    points: ArrayLike,
    y: ArrayLike,
    *,
    label: int,
    j: int,
    learner: Learner | None = None,
    beta: float = 0.5,
    random_state: Any = None,
) -> OnlineExpertRun:
    """Simulate the agnostic online learner of whether a label is in the top j.

    Parameters
    ----------
    class_ranks, points, beta, random_state
        As for `online_expert_run`.
    y : array-like of shape (n_rounds,), int
        1 if the label is supposed to be in the top j, 0 if not.
    label : int
        The label, 0 to n_labels - 1.
    j : int
        Number of top positions, 1 to n_labels.
    learner : callable, default=None
        The online learner of rankings of each expert: ``learner(class_ranks, points,
        relevance)`` returns the number of a row of ``class_ranks`` for the points of
        shape (q,) seen so far, at first an empty array, and their relevance of shape
        (q, n_labels). By default the first row of least precision loss at j.

    Returns
    -------
    run : OnlineExpertRun
        Expected losses, one draw of predictions, the losses of the experts and of the
        best hypothesis, and bounds of the regret.

    Raises
    ------
    TypeError
        If ``label``, ``j`` or ``beta`` is not a number, or ``learner`` cannot be called
        so.
    ValueError
        If shapes differ, ranks are not permutations, points, ``label``, ``j`` or
        ``beta`` are out of range, ``y`` is not binary, the learner does not return the
        number of a row, or there would be more than 50,000 experts.

    See Also
    --------
    online_expert_run : The way from the threshold classes to rankings.
    threshold_relabelling_learner : The same from one sample.

    Notes
    -----
    Algorithm 6 of Raman, Subedi and Tewari (2023) with REWA over its experts. For each
    sequence of rankings of the rounds drawn there is an expert that takes these
    rankings for the truth, and one more that never learns. Each has its own online
    learner of rankings, predicts ``1[rank of the label <= j]`` of the ranking that this
    learner predicts, and in the rounds drawn teaches it ``bin_rel(ranking taken for the
    truth, j)``. The weights are the same as in `online_expert_run`, with the zero-one
    loss: M = 1.

    Against the threshold class of the label and j, with K labels and T rounds,

        ``E sum_t loss <= min_h sum_t loss(h) + T**(1 - beta) R + sqrt(2 T**(1 + beta) K
        ln K)``

    in expectation over the rounds drawn. R is the largest number of rounds in which the
    learner gets the set of top j labels wrong on noise-free data (in the paper, its
    loss over the least non-zero value of the loss). After each such round the default
    learner drops a row for ever: R = n_hypotheses - 1.

    Time and memory grow with ``(n_labels!)**u`` for u rounds drawn.

    Examples
    --------
    >>> from skrank_abstain.multilabel import online_threshold_run
    >>> run = online_threshold_run(
    ...     [[[1, 2, 3], [3, 1, 2]], [[3, 2, 1], [1, 2, 3]]],
    ...     points=[0, 1, 0, 1],
    ...     y=[0, 1, 0, 1],
    ...     label=0,
    ...     j=1,
    ...     random_state=2,
    ... )
    >>> run.expert_losses.size, run.best_hypothesis_loss
    (217, 0.0)
    >>> run.prediction.shape
    (4,)
    """
    ranks = _losses.check_class(class_ranks)
    n_hypotheses, n_points, n_labels = ranks.shape
    stream = _losses.check_codes(points, "points", n_points, "n_rounds")
    truth = check_vector(y, "y", stream.size, unit="round")
    truth = _losses.check_codes(truth, "y", 2, "n_rounds")
    label = _losses.check_between(label, "label", 0, n_labels - 1)
    j = _losses.check_between(j, "j", 1, n_labels)
    rng = check_random_state(random_state)
    updated = draw_updates(beta, stream.size, n_labels, rng)
    members = in_top(ranks, j)[:, :, label]
    inner = learner or _losses.least_loss_learner("precision", j)
    lessons = in_top(_losses.all_rankings(n_labels), j)
    learners = [(row_answers(inner, ranks, members), lessons)]
    choices = play_rounds(learners, lambda says: says[0], stream, updated)
    return run_of_experts(
        np.arange(2),
        choices,
        (choices != truth[:, np.newaxis]).astype(np.float64),
        updated,
        rng,
        largest=1.0,
        best_hypothesis_loss=float((members[:, stream] != truth).sum(axis=1).min()),
        cost_of_mistakes=math.nan if learner else float(n_hypotheses - 1),
        beta=beta,
        n_labels=n_labels,
    )


def _number_of(rankings: IntArray, ranks: IntArray) -> IntArray:
    """Return the numbers of ranks, (..., n_labels), in the list of all rankings."""
    same = (rankings == ranks[..., np.newaxis, :]).all(axis=-1)
    return np.asarray(same.argmax(axis=-1))
