"""Setting queries aside for calibration."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state

from skrank_abstain._validation import BoolArray, IntArray
from skrank_abstain.pairs import Queries


def split_for_calibration(
    queries: Queries,
    calibration_size: float,
    random_state: Any,
    groups: IntArray | None = None,
) -> tuple[IntArray, IntArray]:
    """Split rows into a training and a calibration part.

    Parameters
    ----------
    queries : Queries
    calibration_size : float
        Share of the queries (of the items, if there is one query) to calibrate on.
    random_state : int, RandomState instance or None
    groups : ndarray of shape (n_items,), int64, default=None
        The same for all items of a query. Where several groups have pairs each is split
        by itself, and has some to calibrate on.

    Returns
    -------
    train, calibration : ndarray of int64
        Rows in ascending order. No query is in both, unless there is only one.

    Raises
    ------
    ValueError
        If either part has fewer than two items.
    """
    # Whole queries, since pairs of one query depend on each other. Of a single one the
    # items are divided: there is nothing else to divide.
    units = queries.n_queries if queries.n_queries > 1 else queries.n_items
    unit_of_row = queries.codes if queries.n_queries > 1 else np.arange(units)
    held_out = np.zeros(units, dtype=bool)
    several = False
    if groups is not None:
        # Any row tells the group of its query: check_groups has refused queries in two
        # groups.
        group = groups[queries.order[queries.offsets[:-1]]]
        several = np.unique(group[queries.sizes > 1]).size > 1
    if several:
        # Nothing can be calibrated on queries of one item.
        pairs = queries.sizes > 1
        held_out[pairs] = hold_out_of_each(group[pairs], calibration_size, random_state)
    elif units > 1:
        held_out = hold_out(units, calibration_size, random_state)
    rows_held_out = held_out[unit_of_row]
    calibration = np.flatnonzero(rows_held_out)
    train = np.flatnonzero(~rows_held_out)
    if min(train.size, calibration.size) < 2:
        raise ValueError(
            "X must leave at least 2 items to train on and 2 to calibrate on, got "
            f"{train.size} and {calibration.size} from n_samples={queries.n_items} in "
            f"{queries.n_queries} queries with calibration_size={calibration_size}. "
            + ("Of each group one query or more calibrates. " if several else "")
            + "Pass more queries, or a fitted ranker."
        )
    return train, calibration


def divide_queries(
    queries: Queries, groups: IntArray, tuning_size: float, random_state: Any
) -> list[IntArray]:
    """Divide calibration queries into some that tune and the rest, for the threshold.

    Parameters
    ----------
    queries : Queries
    groups : ndarray of shape (n_items,), int64
        The same for all items of a query; each group is divided by itself, and has
        some in the rest.
    tuning_size : float
        Share of the queries with pairs that fit the tie model, in (0, 1).
    random_state : int, RandomState instance or None

    Returns
    -------
    tuning, rest : ndarray of int64
        Rows, ascending. No query is in both; all have pairs.

    Raises
    ------
    ValueError
        If fewer than two queries have pairs, or each is the only one of its group.
    """
    group = groups[queries.order[queries.offsets[:-1]]]
    parts = []
    for chosen in divide_by_size(queries.sizes, group, tuning_size, random_state):
        of_query = np.zeros(queries.n_queries, dtype=bool)
        of_query[chosen] = True
        parts.append(np.flatnonzero(of_query[queries.codes]))
    return parts


def divide_by_size(
    sizes: IntArray, groups: IntArray, tuning_size: float, random_state: Any
) -> tuple[IntArray, IntArray]:
    """Return the numbers of the queries that tune and of the rest.

    ``sizes`` and ``groups`` are of shape (n_queries,); all else as in
    ``divide_queries``.
    """
    # A query of one item has no pairs: it would make a part look larger than it is.
    usable = np.flatnonzero(sizes > 1)
    if usable.size < 2:
        raise ValueError(
            "qid must give at least two calibration queries with two items, one to fit "
            f"the tie model and one for the guarantee, got {usable.size}."
        )
    group = groups[usable]
    if np.unique(group).size > 1:
        held_out = hold_out_of_each(group, 1 - tuning_size, random_state)
    else:
        # One query at least is left to tune. A tie model fitted on the queries that
        # certify would make the tests invalid: they need a risk that is fixed
        # beforehand.
        n_rest = min(int(_rounded_up(1 - tuning_size, usable.size)), usable.size - 1)
        held_out = hold_out(usable.size, n_rest, random_state)
    if held_out.all():
        raise ValueError(
            "groups must leave a query with two items to fit the tie model, got one "
            f"calibration query for each of {usable.size} groups. Pass more queries."
        )
    return usable[~held_out], usable[held_out]


def hold_out(n_units: int, size: float, random_state: Any) -> BoolArray:
    """Draw a share or a number of units, shape (n_units,)."""
    held_out = np.zeros(n_units, dtype=bool)
    drawn = train_test_split(
        np.arange(n_units), test_size=size, random_state=random_state
    )[1]
    held_out[drawn] = True
    return held_out


def hold_out_of_each(strata: IntArray, share: float, random_state: Any) -> BoolArray:
    """Draw a share of the units of each stratum, rounded up: one or more of each.

    Parameters
    ----------
    strata : ndarray of shape (n_units,), int64
    share : float
        In (0, 1).
    random_state : int, RandomState instance or None

    Returns
    -------
    held_out : ndarray of shape (n_units,), bool
    """
    random = check_random_state(random_state)
    # One permutation, sorted into the strata, puts each stratum in random order.
    order = np.lexsort((random.permutation(strata.size), strata))
    _, first, counts = np.unique(strata[order], return_index=True, return_counts=True)
    place = np.arange(strata.size) - np.repeat(first, counts)
    wanted = _rounded_up(share, counts)
    held_out = np.empty(strata.size, dtype=bool)
    held_out[order] = place < np.repeat(wanted, counts)
    return held_out


def _rounded_up(share: float, counts: Any) -> Any:
    """Return a share of some units; of ten units 0.7 are seven, not eight."""
    # 0.07 * 100 is 7.000000000000001 as a float, and must not ask for eight.
    return np.ceil(share * counts * (1 - 1e-12))
