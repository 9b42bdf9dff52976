"""Finite classes of rankings, and the two families of losses, by brute force.

The *sum loss* at p charges each label ``min(rank, p + 1)`` times its relevance, the
*precision loss* at p the relevance that is missing from the top p. The sum loss sees
which label is at each of the top p positions; the precision loss sees only their set.

A class is an array of ranks, (n_hypotheses, n_points, n_labels): the ranking of each
point of a finite domain by each hypothesis. The *threshold class* of label i and rank j
is the set of binary functions ``bin_rel(class_ranks, j)[:, :, i]``, a matrix with one
row for each function and one column for each point.
"""

import math
from collections.abc import Callable
from itertools import permutations, product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skrank_abstain._kernels import FloatArray, IntArray
from skrank_abstain._validation import (
    check_choice,
    check_finite,
    check_positive_int,
    shown,
)
from skrank_abstain.multilabel._losses import check_between, check_top

#: A loss ``(y_true, y_score) -> float``, such as `multilabel_loss`.
RankingLoss = Callable[[NDArray[np.float64], NDArray[np.float64]], float]

#: Largest number of losses to compute.
MAX_LOSSES = 250_000

#: Differences up to this count as rounding.
TOLERANCE = 1e-9


class Witness(NamedTuple):
    """Why a loss is not in a family: see `loss_family_membership`."""

    y: tuple[int, ...]
    ranks: tuple[tuple[int, ...], ...]
    loss: tuple[float, ...]


class FamilyMembership(NamedTuple):
    """Whether a loss is in a family: see `loss_family_membership`."""

    zero_sets_equal: bool
    invariant: bool
    witness: Witness | None

    @property
    def member(self) -> bool:
        """Whether both conditions hold."""
        return self.zero_sets_equal and self.invariant


def loss_family_membership(
    loss: RankingLoss,
    n_labels: int,
    *,
    family: str,
    p: int | None = None,
    max_grade: int = 1,
) -> FamilyMembership:
    """Return whether a loss belongs to the family of the sum or precision loss at p.

    Parameters
    ----------
    loss : callable
        ``loss(y_true, y_score) -> float`` for arrays of shape (1, n_labels), such as
        ``functools.partial(multilabel_loss, loss="auc")``.
    n_labels : int
        Number of labels, small: all rankings are tried.
    family : {"sum", "precision"}
        The loss that gives the family its name.
    p : int, default=None
        Number of top positions, from 1 to n_labels; None for all in the sum family. The
        precision family needs one: the top n_labels miss nothing.
    max_grade : int, default=1
        Relevance is tried from 0 to ``max_grade``.

    Returns
    -------
    membership : FamilyMembership
        ``zero_sets_equal``: whether the loss is 0 exactly where the family's loss is.
        ``invariant``: whether rankings that look the same to the family have equal
        losses. ``member``: whether both hold. ``witness``: None, or a counterexample to
        the first condition that fails, with the relevance ``y`` of the labels, one or
        two rankings ``ranks`` and their ``loss``.

    Raises
    ------
    TypeError
        If a number is not an integer, or ``loss`` is not a function of two arguments.
    ValueError
        If ``family`` is unknown, ``p`` is out of range, or missing for the precision
        family, or more than 250,000 losses would have to be computed.

    Notes
    -----
    The definition of Raman, Subedi and Tewari (2023). A loss is in the family of the
    sum (precision) loss at p if it is 0 exactly where that loss is 0, and takes equal
    values on any two rankings with the same label at each of the top p positions (with
    the same set of top p labels). All losses of a family are learnable for the same
    classes of rankings.

    The paper lists the reciprocal-rank loss in the family of the precision loss at 1.
    By this definition it is not a member (see the example), since it looks below a
    wrong top label. The loss that only asks whether the top label is relevant is one.

    By enumeration: O(n_labels! (max_grade + 1)**n_labels) losses are computed.

    Examples
    --------
    >>> from functools import partial
    >>> from skrank_abstain.multilabel import loss_family_membership, multilabel_loss
    >>> auc = partial(multilabel_loss, loss="auc")
    >>> loss_family_membership(auc, 4, family="sum").member
    True
    >>> reciprocal_rank = partial(multilabel_loss, loss="reciprocal_rank")
    >>> check = loss_family_membership(reciprocal_rank, 4, family="precision", p=1)
    >>> check.zero_sets_equal, check.invariant, check.member
    (True, False, False)
    >>> check.witness.y, check.witness.ranks
    ((0, 0, 0, 1), ((1, 2, 3, 4), (1, 2, 4, 3)))
    """
    n_labels = check_positive_int(n_labels, "n_labels")
    p = check_family(family, p, n_labels)
    grades, losses = loss_table(loss, n_labels, check_grades(n_labels, max_grade))
    return _membership(grades, losses, family, p)


def _membership(
    grades: IntArray, losses: FloatArray, family: str, p: int
) -> FamilyMembership:
    ranks = all_rankings(grades.shape[1])
    # For each ranking, the first one that looks the same to the family.
    seen = top_positions(ranks, family, p)
    _, first, inverse = np.unique(seen, axis=0, return_index=True, return_inverse=True)
    alike = first[inverse.reshape(-1)]
    # Zero in floats is "at most TOLERANCE"; the family's own loss is in integers.
    named = family_loss(ranks, grades[:, np.newaxis], family, p)
    zeros = np.argwhere((losses > TOLERANCE) != (named > 0))
    varying = np.argwhere(np.abs(losses - losses[:, alike]) > TOLERANCE)
    witness = None
    if len(zeros) or len(varying):
        row, ranking = [*zeros, *varying][0]
        chosen = [ranking] if len(zeros) else [alike[ranking], ranking]
        witness = Witness(
            tuple(grades[row].tolist()),
            tuple(map(tuple, ranks[chosen].tolist())),
            tuple(losses[row, chosen].tolist()),
        )
    return FamilyMembership(not len(zeros), not len(varying), witness)


def check_function(function: Any, call: str) -> None:
    """Raise if ``function`` cannot be called as ``call``, such as "loss(y, score)"."""
    if not callable(function):
        name = call.partition("(")[0]
        raise TypeError(f"{name} must be a function {call}, got {shown(function)}.")


def check_family(family: str, p: Any, n_labels: int) -> int:
    """Return the number of top positions of a known family, or raise."""
    check_choice(family, "family", ("sum", "precision"))
    return check_top(p, n_labels, "family", family)


def check_member(
    loss: RankingLoss, grades: IntArray, losses: FloatArray, family: str, p: int
) -> None:
    """Raise if a loss with these values is not in the family at p."""
    if not _membership(grades, losses, family, p).member:
        raise ValueError(
            f"loss must be in the family of the {family} loss at p = {p}, got "
            f"{getattr(loss, '__name__', loss)}, which is not: see "
            f"loss_family_membership, and pass p as in functools.partial(loss, p={p})."
        )


def check_grades(n_labels: int, max_grade: int) -> int:
    """Return the number of grades; refuse to compute too many losses."""
    grades = check_positive_int(max_grade, "max_grade") + 1
    n_losses = number_of_losses(n_labels, grades)
    if n_losses > MAX_LOSSES:
        raise ValueError(
            f"n_labels and max_grade must ask for at most {MAX_LOSSES} losses, got "
            f"{n_labels} and {grades - 1}, which ask for {n_losses}."
        )
    return grades


def number_of_losses(n_labels: int, n_grades: int) -> int:
    """Return the number of pairs of a ranking and a relevance of the labels."""
    return math.factorial(n_labels) * int(n_grades**n_labels)


def loss_table(
    loss: RankingLoss, n_labels: int, n_grades: int
) -> tuple[IntArray, FloatArray]:
    """Return each relevance of the labels, in order, and its loss of each ranking."""
    check_function(loss, "loss(y_true, y_score)")
    grades = np.array([*product(range(n_grades), repeat=n_labels)], dtype=np.int64)
    scores = -all_rankings(n_labels).astype(np.float64)
    losses = [
        [loss(y[np.newaxis], row[np.newaxis]) for row in scores]
        for y in grades.astype(np.float64)
    ]
    return grades, np.array(losses, dtype=np.float64)


def all_rankings(n_labels: int) -> IntArray:
    """Return all permutations of the ranks 1 to n_labels, one in a row."""
    return np.array([*permutations(range(1, n_labels + 1))], dtype=np.int64)


def family_loss(ranks: IntArray, y: IntArray, family: str, p: int) -> IntArray:
    """Return the sum or precision loss at p over the last axis."""
    best = -np.sort(-y, axis=-1)
    in_order = top_positions(np.arange(1, y.shape[-1] + 1), family, p)
    excess = (top_positions(ranks, family, p) * y - in_order * best).sum(axis=-1)
    # Positions are costs in the sum loss and gains in the precision loss.
    return np.asarray(excess if family == "sum" else -excess)


def top_positions(ranks: IntArray, family: str, p: int) -> IntArray:
    """Return the part of rankings that the family sees: top positions, or their set."""
    return np.minimum(ranks, p + 1) if family == "sum" else 1 * (ranks <= p)


#: A learner ``(class_ranks, points, relevance) -> number of a row of class_ranks``.
Learner = Callable[[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]], int]


def bin_rel(ranks: ArrayLike, j: int) -> IntArray:
    """Return the relevance that says which labels a ranking has in its top j.

    Parameters
    ----------
    ranks : array-like of shape (..., n_labels), int
        Permutations of the ranks 1 (best) to n_labels.
    j : int
        Number of top positions, from 1 to n_labels.

    Returns
    -------
    relevance : ndarray of shape (..., n_labels), int64
        1 for the labels of rank j or better, and 0 for the others.

    Raises
    ------
    TypeError
        If ``j`` is not an integer.
    ValueError
        If ``ranks`` does not hold permutations, or ``j`` is out of range.

    Notes
    -----
    ``BinRel(r, j)`` of Raman, Subedi and Tewari (2023). Column i of
    ``bin_rel(class_ranks, j)`` is the threshold class of label i and rank j, a class of
    binary functions.

    Examples
    --------
    >>> from skrank_abstain.multilabel import bin_rel
    >>> bin_rel([[2, 3, 1], [1, 2, 3]], j=2)
    array([[1, 0, 1],
           [1, 1, 0]])
    """
    array = _check_permutations(ranks, "ranks")
    return in_top(array, check_between(j, "j", 1, array.shape[-1]))


def in_top(ranks: IntArray, j: int) -> IntArray:
    """Return `bin_rel` of ranks that are known to be permutations."""
    return (ranks <= j).astype(np.int64)


def least_loss_learner(family: str, p: int) -> Learner:
    """Return the learner that takes the first row of least family loss at p."""

    def learn(class_ranks: IntArray, points: IntArray, relevance: IntArray) -> int:
        losses = family_loss(class_ranks[:, points], relevance, family, p)
        return int(np.argmin(losses.sum(axis=1)))

    return learn


def learned_row(
    learner: Learner, class_ranks: IntArray, points: IntArray, relevance: IntArray
) -> int:
    """Return the row that a learner picks; refuse anything but a row number."""
    check_function(learner, "learner(class_ranks, points, relevance)")
    row: Any = learner(class_ranks, points, relevance)
    if np.ndim(row) or row not in range(len(class_ranks)):
        raise ValueError(
            "learner must return the number of a row of class_ranks, 0 to "
            f"{len(class_ranks) - 1}, got {shown(row)}."
        )
    return int(row)


def check_class(class_ranks: ArrayLike) -> IntArray:
    """Return the ranks of a class as integers, or raise."""
    axes = ("n_hypotheses", "n_points", "n_labels")
    return _check_permutations(class_ranks, "class_ranks", axes)


def check_codes(values: ArrayLike, name: str, n_codes: int, *axes: str) -> IntArray:
    """Return the numbers 0 to ``n_codes - 1`` as integers, or raise."""
    array = check_finite(values, name, axes)
    wrong = ~np.isin(array, range(n_codes))
    if wrong.any():
        raise ValueError(
            f"{name} must hold whole numbers from 0 to {n_codes - 1}, got "
            f"{array[wrong][0]:g}."
        )
    return array.astype(np.int64)


def _check_permutations(
    values: ArrayLike, name: str, axes: tuple[str, ...] | None = None
) -> IntArray:
    ranks = np.atleast_1d(check_finite(values, name, axes)).astype(np.int64)
    wrong = (np.sort(ranks, axis=-1) != np.arange(1, ranks.shape[-1] + 1)).any(axis=-1)
    if wrong.any():
        raise ValueError(
            f"{name} must hold permutations of 1 to {ranks.shape[-1]}, got "
            f"{ranks[wrong][0].tolist()}."
        )
    return ranks


#: Largest number of sums to compute, one for each function and choice of signs.
MAX_SUMS = 2**24


def empirical_rademacher_complexity(values: ArrayLike) -> float:
    """Return how well a finite class of functions follows random signs on a sample.

    Not negative; 0 for a single function.

    Parameters
    ----------
    values : array-like of shape (n_functions, n_samples)
        Value of each function at each sample.

    Returns
    -------
    complexity : float
        Mean over all signs s in {-1, 1}**n_samples of the largest, over functions f, of
        ``sum_i s_i f(x_i) / n_samples``.

    Raises
    ------
    ValueError
        If ``values`` is not a non-empty matrix of finite numbers, or if more than 2**24
        sums would have to be computed: 16 samples for 256 functions.

    See Also
    --------
    rademacher_bound : A bound for the losses of a class of rankings.

    Notes
    -----
    Definition 3 of Raman, Subedi and Tewari (2023), exactly: O(2**n_samples
    n_functions) time and memory. If it goes to 0 with the size of the sample, the means
    over the sample go to expectations for all functions at once.

    Examples
    --------
    >>> from skrank_abstain.multilabel import empirical_rademacher_complexity
    >>> empirical_rademacher_complexity([[0, 0], [1, 1]])  # (1 + 0 + 0 + 0) / 4
    0.25
    """
    array = np.unique(
        check_finite(values, "values", ("n_functions", "n_samples")), axis=0
    )
    n_functions, n_samples = array.shape
    if n_functions * 2.0**n_samples > MAX_SUMS:
        raise ValueError(
            f"values must ask for at most {MAX_SUMS} sums, got {n_functions} different "
            f"functions and 2**{n_samples} signs. Take fewer samples."
        )
    sums = np.zeros((1, n_functions))
    for column in array.T:
        sums = np.concatenate([sums + column, sums - column])
    return float(sums.max(axis=1).mean() / n_samples)


def rademacher_bound(
    class_ranks: ArrayLike,
    points: ArrayLike,
    *,
    family: str,
    p: int | None = None,
    max_grade: int = 1,
) -> float:
    """Return a bound on the Rademacher complexity of the losses of a class of rankings.

    Parameters
    ----------
    class_ranks : array-like of shape (n_hypotheses, n_points, n_labels), int
        Ranks 1 (best) to n_labels that each hypothesis gives to the labels of each
        point of the domain.
    points : array-like of shape (n_samples,), int
        The sample.
    family : {"sum", "precision"}
        Whether the loss is the sum or the precision loss at p.
    p : int, default=None
        Number of top positions; None for all labels in the sum family. The precision
        family needs one: the top n_labels miss nothing.
    max_grade : int, default=1
        Largest relevance of a label.

    Returns
    -------
    bound : float
        ``max_grade`` times the sum of the empirical Rademacher complexities of the
        threshold classes of all labels and all j up to p (only j = p for the precision
        loss).

    Raises
    ------
    TypeError
        If ``p`` or ``max_grade`` is not an integer.
    ValueError
        If ranks are not permutations, points are out of range, ``family`` is unknown,
        ``p`` or ``max_grade`` out of range, ``p`` is missing for the precision family,
        or there are too many samples, see `empirical_rademacher_complexity`.

    Notes
    -----
    From the proofs of Lemmas 4.3 and C.2 of Raman, Subedi and Tewari (2023). The
    complexity of the losses is at most this, whatever the relevance of the sample: if
    the threshold classes are learnable, so is the class of rankings, by the ranking of
    least mean loss.

    Examples
    --------
    >>> from skrank_abstain.multilabel import (
    ...     empirical_rademacher_complexity,
    ...     multilabel_sample_losses,
    ...     rademacher_bound,
    ... )
    >>> import numpy as np
    >>> class_ranks = np.array([[[1, 2], [1, 2]], [[2, 1], [2, 1]]])
    >>> y = [[1, 0], [0, 1]]
    >>> losses = [multilabel_sample_losses(y, -h, loss="sum") for h in class_ranks]
    >>> empirical_rademacher_complexity(losses)
    0.25
    >>> rademacher_bound(class_ranks, [0, 1], family="sum")
    0.5
    """
    ranks = check_class(class_ranks)
    p = check_family(family, p, ranks.shape[2])
    sample = check_codes(points, "points", ranks.shape[1], "n_samples")
    grade = check_positive_int(max_grade, "max_grade")
    classes = [
        in_top(ranks[:, sample], j)[:, :, label]
        for j in (range(1, p + 1) if family == "sum" else [p])
        for label in range(ranks.shape[2])
    ]
    return grade * math.fsum(map(empirical_rademacher_complexity, classes))


def vc_dimension(members: ArrayLike) -> int:
    """Return the largest number of points that a class of binary functions shatters.

    Parameters
    ----------
    members : array-like of shape (n_functions, n_points), int
        0 or 1 that each function gives to each point of the domain.

    Returns
    -------
    dimension : int
        Largest number of points on which the class has all 0/1 patterns.

    Raises
    ------
    ValueError
        If ``members`` is not a non-empty matrix of 0 and 1.

    See Also
    --------
    littlestone_dimension : The same for learning online.

    Notes
    -----
    A class of rankings is agnostic PAC learnable if and only if all its threshold
    classes (with j = p for the precision family) are (Raman, Subedi and Tewari, 2023),
    that is if their VC dimensions are finite. A finite class has a dimension of at most
    log2(n_functions). Sets are extended while they are shattered.

    Examples
    --------
    >>> from skrank_abstain.multilabel import bin_rel, vc_dimension
    >>> vc_dimension([[0, 0], [0, 1], [1, 1]])  # no function has 1 and 0
    1
    >>> class_ranks = [[[1, 2], [1, 2]], [[1, 2], [2, 1]], [[2, 1], [1, 2]]]
    >>> vc_dimension(bin_rel(class_ranks, j=1)[:, :, 0])  # label 0 in the top 1
    1
    """
    # A shattered set holds no two points at which every function has equal values.
    array = _distinct(members)
    shattered: list[tuple[int, ...]] = [()]
    size = 0
    while True:
        larger = []
        for points in shattered:
            last = points[-1] + 1 if points else 0
            for point in range(last, array.shape[1]):
                columns = array[:, [*points, point]]
                codes = columns @ (1 << np.arange(size + 1))
                if np.unique(codes).size == 2 ** (size + 1):
                    larger.append((*points, point))
        if not larger:
            return size
        shattered, size = larger, size + 1


def littlestone_dimension(members: ArrayLike) -> int:
    """Return how many mistakes a class of binary functions can force online.

    Parameters
    ----------
    members : array-like of shape (n_functions, n_points), int
        0 or 1 that each function gives to each point of the domain.

    Returns
    -------
    dimension : int
        Depth of the largest complete binary tree of points such that some function
        follows each path, left for 0 and right for 1: the mistakes that the best
        deterministic online learner makes at worst on noise-free data.

    Raises
    ------
    ValueError
        If ``members`` is not a non-empty matrix of 0 and 1.

    See Also
    --------
    vc_dimension : The same for a sample; never larger.

    Notes
    -----
    A class of rankings is agnostic online learnable if and only if all its threshold
    classes (with j = p for the precision family) are (Raman, Subedi and Tewari, 2023),
    that is if their Littlestone dimensions are finite. A finite class has a dimension
    of at most log2(n_functions). Recursion over the functions left after some answers.

    Examples
    --------
    >>> from skrank_abstain.multilabel import littlestone_dimension, vc_dimension
    >>> thresholds = [[0, 0, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1]]
    >>> vc_dimension(thresholds), littlestone_dimension(thresholds)
    (1, 2)
    """
    array = _distinct(members)
    everyone = (1 << len(array)) - 1
    # For each point, the functions that are 1 there, as the bits of a number.
    ones = [sum(1 << int(f) for f in np.flatnonzero(column)) for column in array.T]
    known: dict[int, int] = {}

    def dimension(left: int) -> int:
        if left not in known:
            found, most = 0, left.bit_count().bit_length() - 1
            for says_one in ones:
                one, zero = left & says_one, left & ~says_one
                # Smaller parts cannot be deeper.
                if min(one.bit_count(), zero.bit_count()) >= 2**found:
                    found = max(found, 1 + min(dimension(one), dimension(zero)))
                if found == most:
                    break
            known[left] = found
        return known[left]

    return dimension(everyone)


def _distinct(members: ArrayLike) -> IntArray:
    """Return a class without repeated functions and without points that look alike."""
    array = check_codes(members, "members", 2, "n_functions", "n_points")
    return np.unique(np.unique(array, axis=0), axis=1)
