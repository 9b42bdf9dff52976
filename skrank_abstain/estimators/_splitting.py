"""Setting queries aside for calibration."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from skrank_abstain._validation import IntArray
from skrank_abstain.pairs import Queries


def split_for_calibration(
    queries: Queries, calibration_size: float, random_state: Any
) -> tuple[IntArray, IntArray]:
    """Split rows into a training and a calibration part.

    Parameters
    ----------
    queries : Queries
    calibration_size : float
        Share of the queries (of the items, if there is one query) to calibrate on.
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
