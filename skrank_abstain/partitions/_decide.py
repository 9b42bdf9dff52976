"""What a calibrated ranker says of queries in partitions, partition by partition."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import fields
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import _num_samples, check_is_fitted

from skrank_abstain._validation import encode_qid
from skrank_abstain.estimators import SelectiveRanker
from skrank_abstain.partitions._check import refuse_split_queries
from skrank_abstain.partitions._dispatch import as_partitions
from skrank_abstain.partitions._items import PartitionedItems, Summary
from skrank_abstain.partitions._packed import ask
from skrank_abstain.partitions._rows import ModelColumns, check_names, rows_of
from skrank_abstain.scorers import names_in_model
from skrank_abstain.selection import Calibration, PairTotals

#: Columns that hold what items are called.
_IDS = "left_id", "right_id"


def evaluate(
    ranker: SelectiveRanker,
    frame: Any,
    *,
    label: str | None = None,
    qid: str | None = None,
) -> PairTotals:
    """Add up what happens to labelled pairs.

    Parameters
    ----------
    ranker : SelectiveRanker
        Calibrated, by ``fit`` or by `calibrate`.
    frame, label, qid
        As in `calibrate`.

    Returns
    -------
    totals : PairTotals
        By query, one partition after the other: those of ``ranker.evaluate`` on all
        rows.

    Raises
    ------
    ValueError
        If a partition breaks a rule of ``ranker.evaluate``, whose number is named, or a
        query lies in two.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain import BALToR
    >>> from skrank_abstain.datasets import make_ranking
    >>> from skrank_abstain.partitions import evaluate
    >>> data = make_ranking(n_queries=60, random_state=0)
    >>> ranker = BALToR(Ridge(), coverage=0.7, random_state=0)
    >>> ranker = ranker.fit(data.data, data.target, qid=data.qid)
    >>> new = make_ranking(n_queries=30, random_state=1)
    >>> totals = evaluate(ranker, [(new.data, new.target, new.qid)])
    >>> totals.coverage == ranker.evaluate(new.data, new.target, new.qid).coverage
    True
    """
    check_is_fitted(ranker, "threshold_")
    check_names(frame, label=label, qid=qid)
    told = without_calibration_pairs(ranker), label, qid, _features(ranker)
    found = [*ask(as_partitions(frame, qid), _evaluate, *told)]
    refuse_split_queries([ids for _, ids in found], frame, qid)
    every = [totals for totals, _ in found if totals is not None]
    return PairTotals(
        **{
            each.name: np.concatenate(
                [np.empty(0), *(getattr(totals, each.name) for totals in every)]
            )
            for each in fields(PairTotals)
        }
    )


def predict_pairs(
    ranker: SelectiveRanker,
    frame: Any,
    *,
    qid: str | None = None,
    item_id: str | None = None,
) -> Any:
    """Decide all pairs, partition by partition.

    Parameters
    ----------
    ranker : SelectiveRanker
        Calibrated, by ``fit`` or by `calibrate`.
    frame, qid
        As in `calibrate`. No label is needed.
    item_id : str, default=None
        Column of what you call the items.

    Returns
    -------
    frame : list, generator, Dask DataFrame or Spark DataFrame
        Of the engine of ``frame``; a list of pandas frames for a list, a generator of
        such for Parquet. Columns as in ``PairDecisions.to_frame``: ``left`` and
        ``right`` are positions within the partition, which say little elsewhere: give
        ``item_id``.

    Raises
    ------
    ValueError
        If a partition breaks a rule of ``ranker.predict_pairs``, whose number is
        named, or a query lies in two.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain import BALToR
    >>> from skrank_abstain.datasets import make_ranking
    >>> from skrank_abstain.partitions import predict_pairs
    >>> data = make_ranking(n_queries=60, random_state=0)
    >>> ranker = BALToR(Ridge(), coverage=0.7, random_state=0)
    >>> ranker = ranker.fit(data.data, data.target, qid=data.qid)
    >>> [frame] = predict_pairs(ranker, [(data.data, None, data.qid)])
    >>> list(frame)[:5]
    ['qid', 'left', 'right', 'label', 'accepted']
    """
    return _frame(_pairs, ranker, frame, qid, item_id)


def deferred(
    ranker: SelectiveRanker,
    frame: Any,
    *,
    qid: str | None = None,
    item_id: str | None = None,
    within_top: int | None = None,
    deciding_top: int | None = None,
) -> Any:
    """Return the abstained pairs, the riskiest of each partition first.

    Parameters
    ----------
    ranker, frame, qid, item_id
        As in `predict_pairs`.
    within_top, deciding_top : int, default=None
        As in ``PairDecisions.deferred``.

    Returns
    -------
    frame : list, generator, Dask DataFrame or Spark DataFrame
        As from `predict_pairs`.

    Raises
    ------
    ValueError
        As by `predict_pairs`.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain import BALToR
    >>> from skrank_abstain.datasets import make_ranking
    >>> from skrank_abstain.partitions import deferred
    >>> data = make_ranking(n_queries=60, random_state=0)
    >>> ranker = BALToR(Ridge(), coverage=0.7, random_state=0)
    >>> ranker = ranker.fit(data.data, data.target, qid=data.qid)
    >>> [frame] = deferred(ranker, [(data.data, None, data.qid)], deciding_top=1)
    >>> bool(frame["accepted"].any())
    False
    """
    only = partial(_deferred, within_top=within_top, deciding_top=deciding_top)
    return _frame(only, ranker, frame, qid, item_id)


def ranking(
    ranker: SelectiveRanker,
    frame: Any,
    *,
    qid: str | None = None,
    item_id: str | None = None,
) -> Any:
    """Return the items in order, with the ranks that are left open.

    Parameters
    ----------
    ranker, frame, qid, item_id
        As in `predict_pairs`.

    Returns
    -------
    frame : list, generator, Dask DataFrame or Spark DataFrame
        As from `predict_pairs`, with the columns of ``Ranking.to_frame``. Without
        ``item_id`` items are called by their positions within the partition.

    Raises
    ------
    ValueError
        As by `predict_pairs`.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain import BALToR
    >>> from skrank_abstain.datasets import make_ranking
    >>> from skrank_abstain.partitions import ranking
    >>> data = make_ranking(n_queries=60, random_state=0)
    >>> ranker = BALToR(Ridge(), coverage=0.7, random_state=0)
    >>> ranker = ranker.fit(data.data, data.target, qid=data.qid)
    >>> [frame] = ranking(ranker, [(data.data, None, data.qid)])
    >>> list(frame)
    ['qid', 'item_id', 'place', 'score', 'best', 'worst', 'open']
    """
    return _frame(_ranking, ranker, frame, qid, item_id)


def without_calibration_pairs(ranker: SelectiveRanker) -> Any:
    """Return a copy of the ranker that is small enough to be sent to partitions."""
    other: Any = copy.copy(ranker)
    known = other._calibration
    fitted_on = known.items if known.tuning is None else known.tuning
    none = np.empty(0, dtype=np.int64)
    # Decisions need the unit of gaps and the tolerance of equal scores.
    ends = np.array([fitted_on.largest_value])
    summary = Summary(none, none, fitted_on.largest, ends, none, [])
    # The risk of a pair also depends on whether novel items were looked for.
    novel = getattr(fitted_on, "novel", None)
    items = PartitionedItems(None, summary, novel=None if novel is None else novel[:0])
    other._calibration = Calibration(known.model, items, known.loss, seed=known.seed)
    other._fit_rows = None
    return other


def _evaluate(
    partition: Any,
    ranker: Any,
    label: str | None,
    qid: str | None,
    features: ModelColumns,
) -> tuple[PairTotals | None, Any]:
    """Return the totals of a partition, and its queries."""
    X, y, ids = rows_of(
        partition, label=label, qid=qid, features=features.of(partition)
    )
    if not _num_samples(X):
        return None, np.empty(0)
    return ranker.evaluate(X, y, ids), _distinct(ids)


def _distinct(ids: Any) -> Any:
    """Return the queries of a partition; None and a scalar are one without a name."""
    return np.empty(0) if np.ndim(ids) == 0 else encode_qid(ids, len(ids))[1]


def _frame(
    task: Callable[..., Any],
    ranker: SelectiveRanker,
    frame: Any,
    qid: str | None,
    item_id: str | None,
) -> Any:
    """Return what a task makes of each partition, as a frame of the same engine."""
    check_is_fitted(ranker, "threshold_")
    check_names(frame, qid=qid, item_id=item_id)
    rows = as_partitions(frame, qid)
    told = without_calibration_pairs(ranker), qid, item_id, _features(ranker)
    # Frames that are made later have to know their columns now: one row tells.
    found = [*ask(rows, _look, task, *told)]
    refuse_split_queries([ids for _, ids in found], frame, qid)
    like = next((each for each, _ in found if each is not None), None)
    if like is None:
        raise ValueError("frame must have rows, got only empty partitions.")
    return rows.frame(_decide, task, like, *told, like=like)


def _features(ranker: Any) -> ModelColumns:
    """Return the columns that the ranker saw, or its model."""
    seen = getattr(ranker, "feature_names_in_", None)
    if seen is not None:
        return ModelColumns(list(seen))
    return ModelColumns(*names_in_model(ranker.estimator_))


def _unlabelled(
    partition: Any, qid: str | None, item_id: str | None, features: ModelColumns
) -> tuple[Any, Any, Any]:
    """Return features, what items are called, and queries."""
    if not isinstance(partition, tuple):
        names = features.of(partition)
        return rows_of(partition, label=item_id, qid=qid, features=names)
    if item_id is not None:
        raise ValueError(
            "item_id must be None where partitions are tuples (X, y, qid), which have "
            f"no columns, got {item_id!r}."
        )
    X, _, ids = rows_of(partition, label=None, qid=qid, features=None)
    return X, None, ids


def _look(partition: Any, task: Callable[..., Any], *told: Any) -> tuple[Any, Any]:
    """Return an empty frame of the columns of what a task makes, and the queries."""
    ranker, *columns = told
    X, names, ids = _unlabelled(partition, *columns)
    if not _num_samples(X):
        return None, np.empty(0)
    queries = _distinct(ids)
    X, names, ids = (
        each if np.ndim(each) == 0 else each[:1] for each in (X, names, ids)
    )
    made = task(ranker, X, ids, names).to_frame()
    # One item makes no pair, from which a column could tell what it holds.
    item = _ranking(ranker, X, ids, names).to_frame().dtypes
    kinds = {"qid": item["qid"]} | dict.fromkeys(_IDS, item["item_id"])
    like = made.astype({name: kinds[name] for name in kinds if name in made})[:0]
    return like, queries


def _pairs(ranker: Any, X: Any, ids: Any, names: Any) -> Any:
    return ranker.predict_pairs(X, ids, item_id=names)


def _deferred(ranker: Any, X: Any, ids: Any, names: Any, **top: Any) -> Any:
    return ranker.predict_pairs(X, ids, item_id=names).deferred(**top)


def _ranking(ranker: Any, X: Any, ids: Any, names: Any) -> Any:
    return ranker.ranking(X, ids, item_id=names)


def _decide(
    partition: Any,
    task: Callable[..., Any],
    like: Any,
    ranker: Any,
    qid: str | None,
    item_id: str | None,
    features: ModelColumns,
) -> Any:
    """Return the frame that a task makes of a partition."""
    X, names, ids = _unlabelled(partition, qid, item_id, features)
    if not _num_samples(X):
        return like
    made = task(ranker, X, ids, names).to_frame()
    # An empty column does not know what it would hold.
    return made.astype(like.dtypes.to_dict()) if not len(made) else made
