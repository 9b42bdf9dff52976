"""The two families of multilabel ranking losses, by brute force over few labels.

The *sum loss* at p charges each label ``min(rank, p + 1)`` times its relevance, the
*precision loss* at p the relevance that is missing from the top p. The sum loss sees
which label is at each of the top p positions; the precision loss sees only their set.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from inspect import signature
from itertools import permutations, product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skrank_abstain._validation import (
    FloatArray,
    IntArray,
    check_choice,
    check_positive_int,
    shown,
)
from skrank_abstain.multilabel._losses import check_top

#: A loss ``(y_true, y_score) -> float``, such as `multilabel_loss`.
RankingLoss = Callable[[NDArray[np.float64], NDArray[np.float64]], float]

#: Relevance of the labels, and the loss of each ranking in `all_rankings`.
LossRow = tuple[tuple[int, ...], FloatArray]

FAMILIES = ("sum", "precision")

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
        ``zero_sets_equal``: whether the loss is 0 exactly where that of the family is.
        ``invariant``: whether rankings that are the same for the family have equal
        losses. ``member``: whether both hold. ``witness``: None, or a counterexample to
        the first that fails, with the relevance ``y`` of the labels, one or two
        rankings ``ranks`` and their ``loss``.

    Raises
    ------
    TypeError
        If a number is not an integer, or ``loss`` no function of two arguments.
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

    The paper lists the reciprocal-rank loss in the family of the
    precision loss at 1. By this definition it is no member (see the example): it looks
    below a wrong top label. The loss that only asks whether the top label is relevant
    is a member.

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
    check_loss(loss)
    n_labels = check_positive_int(n_labels, "n_labels")
    p = check_family(family, p, n_labels)
    table = loss_table(loss, n_labels, check_grades(n_labels, max_grade))
    return _membership(table, n_labels, family, p)


def _membership(
    table: Sequence[LossRow], n_labels: int, family: str, p: int
) -> FamilyMembership:
    ranks = all_rankings(n_labels)
    # The first ranking that the family cannot tell from each one.
    seen = top_positions(ranks, family, p)
    _, first, inverse = np.unique(seen, axis=0, return_index=True, return_inverse=True)
    alike = first[inverse.reshape(-1)]
    zero: Witness | None = None
    varying: Witness | None = None
    # A loss may break both conditions at different relevances, so all are tried.
    for y, losses in table:
        # Zero in floats is "at most TOLERANCE"; the family's own loss is in integers.
        named = family_loss(ranks, np.array(y), family, p)
        wrong = np.flatnonzero((losses > TOLERANCE) != (named > 0))[:1]
        apart = np.flatnonzero(np.abs(losses - losses[alike]) > TOLERANCE)[:1]
        if wrong.size:
            zero = zero or _witness(y, ranks, losses, wrong)
        if apart.size:
            pair = np.append(alike[apart], apart)
            varying = varying or _witness(y, ranks, losses, pair)
    return FamilyMembership(zero is None, varying is None, zero or varying)


def check_function(function: Any, name: str, call: str, remedy: str = "") -> None:
    """Raise where something cannot be called as ``call``, such as "loss(y, score)"."""
    try:
        signature(function).bind(*call.split(","))
    except TypeError as cause:
        raise TypeError(
            f"{name} must be a function, to be called as {call}, got "
            f"{_named(function)}: {cause}.{remedy}"
        ) from cause
    except ValueError:
        # Functions that are not written in Python may have no signature.
        pass


def check_loss(loss: Any) -> None:
    """Raise where a loss is not a function of relevance and scores alone."""
    check_function(
        loss,
        "loss",
        "loss(y_true, y_score)",
        " Give it what else it needs by functools.partial, as in "
        "functools.partial(multilabel_loss, loss='precision', p=1).",
    )


def check_family(family: str, p: Any, n_labels: int) -> int:
    """Return the number of top positions of a known family, or raise."""
    check_choice(family, "family", FAMILIES)
    return check_top(p, n_labels, "family", family)


def check_member(
    loss: RankingLoss, table: Sequence[LossRow], n_labels: int, family: str, p: int
) -> None:
    """Raise where a loss with these values is not in the family at p."""
    if not _membership(table, n_labels, family, p).member:
        raise ValueError(
            f"loss must be in the family of the {family} loss at p = {p}, got "
            f"{_named(loss)}, which is not: loss_family_membership shows why. A score "
            "is no loss. A loss with a p of its own does not see that of the family: "
            f"pass it as in functools.partial(multilabel_loss, loss={family!r}, p={p})."
        )


def check_grades(n_labels: int, max_grade: int) -> int:
    """Return the number of grades, or raise where there would be too many losses."""
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
    number: int = math.factorial(n_labels) * n_grades**n_labels
    return number


def loss_table(loss: RankingLoss, n_labels: int, n_grades: int) -> list[LossRow]:
    """Return each relevance of the labels, in order, with the loss of each ranking."""
    ranks = all_rankings(n_labels)
    return [
        (y, losses_of(loss, ranks, np.array(y, dtype=np.float64)))
        for y in product(range(n_grades), repeat=n_labels)
    ]


def all_rankings(n_labels: int) -> IntArray:
    """Return all permutations of the ranks 1 to n_labels, one in a row."""
    return np.array([*permutations(range(1, n_labels + 1))], dtype=np.int64)


def losses_of(loss: RankingLoss, ranks: IntArray, y: FloatArray) -> FloatArray:
    """Return the loss of each ranking of the same labels."""
    relevance = y[np.newaxis]
    rows = -ranks[:, np.newaxis].astype(np.float64)
    return np.array([loss(relevance, row) for row in rows], dtype=np.float64)


def family_loss(ranks: IntArray, y: IntArray, family: str, p: int) -> IntArray:
    """Return the sum or precision loss at p over the last axis."""
    best = -np.sort(-y, axis=-1)
    in_order = top_positions(np.arange(1, y.shape[-1] + 1), family, p)
    excess = (top_positions(ranks, family, p) * y - in_order * best).sum(axis=-1)
    # Positions are costs in the sum loss and gains in the precision loss.
    loss: IntArray = excess if family == "sum" else -excess
    return loss


def top_positions(ranks: IntArray, family: str, p: int) -> IntArray:
    """Return the part of rankings that the family sees: top positions, or their set."""
    return np.minimum(ranks, p + 1) if family == "sum" else 1 * (ranks <= p)


def _named(function: Any) -> str:
    return getattr(function, "__name__", None) or shown(function)


def _witness(
    y: tuple[int, ...], ranks: IntArray, losses: FloatArray, rows: IntArray
) -> Witness:
    chosen = tuple(tuple(row) for row in ranks[rows].tolist())
    return Witness(y, chosen, tuple(losses[rows].tolist()))
