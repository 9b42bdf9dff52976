"""Splitting queries into parts: training, tuning and calibration."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state

from skrank_abstain._validation import BoolArray, IntArray, rounded_share
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
    groups : ndarray of shape (n_queries,), int64, default=None
        If several groups have pairs, each is split by itself and has calibration
        queries.

    Returns
    -------
    train, calibration : ndarray of int64
        Rows, ascending, at least two each. No query is in both, unless there is only
        one.
    """
    # Whole queries, since their pairs depend on each other; the items of a single one.
    one = queries.n_queries == 1
    units = queries.n_items if one else queries.n_queries
    held_out = np.zeros(units, dtype=bool)
    pairs = queries.sizes > 1
    several = groups is not None and np.unique(groups[pairs]).size > 1
    if several and groups is not None:
        # Queries of one item calibrate nothing.
        held_out[pairs] = hold_out_of_each(
            groups[pairs], calibration_size, random_state
        )
    elif units > 1:
        held_out = hold_out(units, calibration_size, random_state)
    row_held_out = held_out if one else held_out[queries.codes]
    train, calibration = np.flatnonzero(~row_held_out), np.flatnonzero(row_held_out)
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
    sizes: IntArray, groups: IntArray, tuning_size: float, random_state: Any
) -> tuple[IntArray, IntArray]:
    """Divide the calibration queries with pairs: some tune, the others certify.

    Parameters
    ----------
    sizes, groups : ndarray of shape (n_queries,), int64
        Each group is divided by itself, and has queries that certify.
    tuning_size : float
        Share of the queries that fit the tie model, in (0, 1).

    Returns
    -------
    tuning, rest : ndarray of int64
        Numbers of the queries, ascending, at least one each.
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
        # At least one query tunes: with a tie model fitted on the queries that certify,
        # the risk would not be fixed beforehand, as the tests need it.
        n_rest = min(int(rounded_share(1 - tuning_size, usable.size)), usable.size - 1)
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
    """Draw a share in (0, 1) of the units of each stratum, rounded up, (n_units,)."""
    random = check_random_state(random_state)
    # One permutation, sorted into the strata, puts each stratum in random order.
    order = np.lexsort((random.permutation(strata.size), strata))
    _, first, counts = np.unique(strata[order], return_index=True, return_counts=True)
    place = np.arange(strata.size) - np.repeat(first, counts)
    wanted = rounded_share(share, counts)
    held_out = np.empty(strata.size, dtype=bool)
    held_out[order] = place < np.repeat(wanted, counts)
    return held_out
