"""Setting queries aside for calibration."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from skrank_abstain._validation import IntArray
from skrank_abstain.pairs import Queries
from skrank_abstain.tie_models import LabelledScores


def split_for_calibration(
    queries: Queries, calibration_size: float, random_state: Any
) -> tuple[IntArray, IntArray]:
    """Split rows into a training and a calibration part.

    Parameters
    ----------
    queries : Queries
    calibration_size : float or int
        Share of the queries (of the items, if there is one query) to calibrate on, or
        how many.
    random_state : int, RandomState instance or None

    Returns
    -------
    train, calibration : ndarray of int64
        Rows in ascending order. No query is in both, unless there is only one.

    Raises
    ------
    ValueError
        If either part has fewer than two items.
    """
    units = queries.n_queries if queries.n_queries > 1 else queries.n_items
    unit_of_row = queries.codes if queries.n_queries > 1 else np.arange(units)
    held_out = np.zeros(units, dtype=bool)
    if units > 1:
        held_out[
            train_test_split(
                np.arange(units), test_size=calibration_size, random_state=random_state
            )[1]
        ] = True
    rows_held_out = held_out[unit_of_row]
    calibration = np.flatnonzero(rows_held_out)
    train = np.flatnonzero(~rows_held_out)
    if min(train.size, calibration.size) < 2:
        raise ValueError(
            "X must leave at least 2 items to train on and 2 to calibrate on, got "
            f"{train.size} and {calibration.size} from n_samples={queries.n_items} in "
            f"{queries.n_queries} queries with calibration_size={calibration_size}. "
            "Pass more queries, or a fitted ranker."
        )
    return train, calibration


def divide_queries(
    data: LabelledScores, groups: IntArray, tuning_size: float, random_state: Any
) -> tuple[LabelledScores, LabelledScores, IntArray]:
    """Divide calibration queries into those that tune and those that do nothing but.

    Parameters
    ----------
    data : LabelledScores
    groups : ndarray of shape (n_items,), int64
        The same for all items of a query.
    tuning_size : float
        Share of the queries with pairs that fit the tie model, in (0, 1).
    random_state : int, RandomState instance or None

    Returns
    -------
    tuning, rest : LabelledScores
        No query is in both; all have pairs.
    rest_groups : ndarray of shape (n_queries,), int64
        Group of each query of the rest.

    Raises
    ------
    ValueError
        If fewer than two queries have pairs, or a group has none in the rest.
    """
    queries = data.queries
    with_pairs = np.flatnonzero(queries.sizes[queries.codes] > 1)
    data, groups = data.take(with_pairs), groups[with_pairs]
    if data.queries.n_queries < 2:
        raise ValueError(
            "qid must give at least two calibration queries with two items, one to fit "
            "the tie model and one for the guarantee, got "
            f"{data.queries.n_queries}."
        )
    n_queries = data.queries.n_queries
    n_rest = min(math.ceil((1 - tuning_size) * n_queries), n_queries - 1)
    tuning, rest = split_for_calibration(data.queries, n_rest, random_state)
    check_groups_remain(groups, data.queries, rest)
    remaining = data.take(rest)
    firsts = remaining.queries.order[remaining.queries.offsets[:-1]]
    return data.take(tuning), remaining, groups[rest][firsts]


def check_groups_remain(groups: IntArray, queries: Queries, rest: IntArray) -> None:
    """Raise if a group that has pairs has none in the rest of the rows.

    Parameters
    ----------
    groups : ndarray of shape (n_items,), int64
        The same for all items of a query, counted from 0.
    queries : Queries
    rest : ndarray of int64
        Rows that are left.

    Raises
    ------
    ValueError
        If there are several groups and the queries of one all went elsewhere: nothing
        could then be said about it.
    """
    with_pairs = queries.sizes[queries.codes] > 1
    all_groups = np.unique(groups[with_pairs])
    lost = np.setdiff1d(all_groups, groups[rest][with_pairs[rest]])
    if groups.any() and lost.size:
        raise ValueError(
            "groups must leave each group a query with two items to certify the bound "
            f"on, got {lost.size} of {all_groups.size} groups whose queries all went "
            "to training or tuning. Pass more queries of each group."
        )
