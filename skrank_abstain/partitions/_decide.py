"""Decisions and totals of a calibrated ranker, partition by partition."""

import copy
from collections.abc import Callable
from dataclasses import fields
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import _num_samples, check_is_fitted

from skrank_abstain import intake
from skrank_abstain._validation import encode_qid, is_scalar
from skrank_abstain.estimators import SelectiveRanker, model_columns
from skrank_abstain.pairs import Queries, Scores
from skrank_abstain.partitions._calibrate import ModelColumns, open_frame
from skrank_abstain.partitions._engines import refuse_split_queries, rows_of
from skrank_abstain.scorers import names_in_model
from skrank_abstain.selection import Calibration, PairTotals

#: Columns with the names of items.
_IDS = "left_id", "right_id"


def evaluate(
    ranker: SelectiveRanker,
    frame: Any,
    *,
    label: str | None = None,
    qid: str | None = None,
    item_id: str | None = None,
    sample_weight: str | None = None,
) -> PairTotals:
    """Add up what happens to labelled pairs.

    Parameters
    ----------
    ranker : SelectiveRanker
        Calibrated, by ``fit`` or by `calibrate`.
    frame, label, qid, item_id
        As in `calibrate`.
    sample_weight : str, default=None
        Column with the weights of the items; a pair weighs the product of its two.
        Tuples have no columns: pass frames instead.

    Returns
    -------
    totals : PairTotals
        Those of ``ranker.evaluate`` on all rows, one partition after the other.

    Raises
    ------
    ValueError
        If a partition breaks a rule of ``ranker.evaluate``, or a query lies in two;
        the message has their numbers.

    Warns
    -----
    UserWarning
        If items have the features of items that calibrated the ranker.

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingRegressor
    >>> from skrank_abstain import BALToR
    >>> from skrank_abstain.datasets import make_ranking
    >>> from skrank_abstain.partitions import evaluate
    >>> data = make_ranking(n_queries=60, random_state=0)
    >>> model = HistGradientBoostingRegressor(max_iter=20, random_state=0)
    >>> ranker = BALToR(model, coverage=0.7, random_state=0)
    >>> ranker = ranker.fit(data.data, data.target, qid=data.qid)
    >>> new = make_ranking(n_queries=30, random_state=1)
    >>> totals = evaluate(ranker, [(new.data, new.target, new.qid)])
    >>> totals.coverage == ranker.evaluate(new.data, new.target, qid=new.qid).coverage
    True
    """
    names = {"label": label, "item_id": item_id, "sample_weight": sample_weight}
    rows, small, columns = _opened(ranker, frame, qid, **names)
    known = ranker._fit_rows
    found = rows.map(_evaluate, small, known, label, qid, sample_weight, columns)
    refuse_split_queries([ids for _, ids, _ in found])
    totals = [each for each, *_ in found if each is not None]
    n_seen, n_rows = np.sum([counts for *_, counts in found], axis=0)
    intake.warn_of_count(int(n_seen), int(n_rows), getattr(known, "chance", 0.0))
    parts = [each.name for each in fields(PairTotals)]
    arrays = {n: [getattr(t, n) for t in totals] or [np.empty(0)] for n in parts}
    return PairTotals(**{n: np.concatenate(each) for n, each in arrays.items()})


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
        Column with the names of the items; needed where files make several frames.

    Returns
    -------
    frame : list, generator, Dask DataFrame or Spark DataFrame
        Of the engine of ``frame``; a list of pandas frames for a list, a generator of
        them for Parquet. Columns as in ``PairDecisions.to_frame``. ``left`` and
        ``right`` are positions within the partition; ``item_id`` adds names that hold
        everywhere.

    Raises
    ------
    ValueError
        If a partition breaks a rule of ``ranker.predict_pairs``, or a query lies in
        two; the message has their numbers.

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingRegressor
    >>> from skrank_abstain import BALToR
    >>> from skrank_abstain.datasets import make_ranking
    >>> from skrank_abstain.partitions import predict_pairs
    >>> data = make_ranking(n_queries=60, random_state=0)
    >>> model = HistGradientBoostingRegressor(max_iter=20, random_state=0)
    >>> ranker = BALToR(model, coverage=0.7, random_state=0)
    >>> ranker = ranker.fit(data.data, data.target, qid=data.qid)
    >>> [frame] = predict_pairs(ranker, [(data.data, None, data.qid)])
    >>> list(frame)[:5]
    ['qid', 'left', 'right', 'label', 'accepted']
    """
    return _frame(partial(_made, "predict_pairs"), ranker, frame, qid, item_id)


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
        As in `predict_pairs`; so are the returned frame and the errors.
    within_top, deciding_top : int, default=None
        As in ``PairDecisions.deferred``.

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingRegressor
    >>> from skrank_abstain import BALToR
    >>> from skrank_abstain.datasets import make_ranking
    >>> from skrank_abstain.partitions import deferred
    >>> data = make_ranking(n_queries=60, random_state=0)
    >>> model = HistGradientBoostingRegressor(max_iter=20, random_state=0)
    >>> ranker = BALToR(model, coverage=0.7, random_state=0)
    >>> ranker = ranker.fit(data.data, data.target, qid=data.qid)
    >>> [frame] = deferred(ranker, [(data.data, None, data.qid)], deciding_top=1)
    >>> bool(frame["accepted"].any())
    False
    """
    top = {"within_top": within_top, "deciding_top": deciding_top}
    return _frame(partial(_made, "predict_pairs", **top), ranker, frame, qid, item_id)


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
        As in `predict_pairs`; so are the errors.

    Returns
    -------
    frame : list, generator, Dask DataFrame or Spark DataFrame
        As from `predict_pairs`, with the columns of ``Ranking.to_frame``. Without
        ``item_id``, that column has positions within the partition.

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingRegressor
    >>> from skrank_abstain import BALToR
    >>> from skrank_abstain.datasets import make_ranking
    >>> from skrank_abstain.partitions import ranking
    >>> data = make_ranking(n_queries=60, random_state=0)
    >>> model = HistGradientBoostingRegressor(max_iter=20, random_state=0)
    >>> ranker = BALToR(model, coverage=0.7, random_state=0)
    >>> ranker = ranker.fit(data.data, data.target, qid=data.qid)
    >>> [frame] = ranking(ranker, [(data.data, None, data.qid)])
    >>> list(frame)
    ['qid', 'item_id', 'place', 'score', 'best', 'worst', 'open']
    """
    return _frame(partial(_made, "ranking"), ranker, frame, qid, item_id)


def without_calibration_pairs(ranker: SelectiveRanker) -> Any:
    """Return a copy of the ranker that is small enough to be sent to partitions."""
    known = ranker._calibration
    items = known.items if known.tuning is None else known.tuning
    # Decisions need the unit of gaps and the tolerance of equal values: keep the ends
    # of the query with the widest gap and of the one with the largest value.
    ends = np.stack([items.offsets[:-1], items.offsets[1:] - 1], axis=1)
    low, high = items.value[ends].T
    with np.errstate(over="ignore"):
        widest = np.argmax(high - low)
    kept = ends[[widest, np.argmax(np.maximum(np.abs(low), np.abs(high)))]].ravel()
    novel = None if items.novel is None else items.novel[kept]
    queries = Queries.of_sizes(np.array([2, 2]))
    few = Scores(items.value[kept], queries, novel=novel, rows=np.arange(4))
    calibration = Calibration(
        known.model, few, known.loss, seed=known.seed, item_groups=known.item_groups
    )
    other: Any = copy.copy(ranker)
    other._calibration, other._fit_rows = calibration, None
    return other


def _evaluate(
    partition: Any,
    ranker: Any,
    known: Any,
    label: str | None,
    qid: str | None,
    sample_weight: str | None,
    columns: ModelColumns,
) -> tuple[PairTotals | None, Any, tuple[int, int]]:
    """Return a partition's totals and queries, and how many rows fit saw, of all."""
    features, weight = columns.of(partition), None
    if sample_weight is not None:
        _, weight, _ = rows_of(partition, label=sample_weight, qid=None, features=[])
    X, y, ids = rows_of(partition, label=label, qid=qid, features=features)
    n_items = _num_samples(X)
    if not n_items:
        return None, np.empty(0), (0, 0)
    totals = ranker.evaluate(X, y, qid=ids, sample_weight=weight)
    seen = intake.count_seen(known, model_columns(ranker, X))
    return totals, encode_qid(ids, n_items)[1], (seen, n_items)


def _frame(
    task: Callable[..., Any],
    ranker: SelectiveRanker,
    frame: Any,
    qid: str | None,
    item_id: str | None,
) -> Any:
    """Return what a task makes of each partition, as a frame of the same engine."""
    rows, small, columns = _opened(ranker, frame, qid, item_id=item_id)
    if item_id is None and rows.n_frames > 1:
        raise ValueError(
            f"item_id must name a column of items, as files make {rows.n_frames} "
            "frames and the positions of rows begin anew in each, got None."
        )
    args = small, qid, item_id, columns
    # Lazy frames need their columns now: deciding one row gives them.
    found = rows.map(_look, task, *args)
    refuse_split_queries([ids for _, ids in found])
    like = next((each for each, _ in found if each is not None), None)
    if like is None:
        raise ValueError("frame must have rows, got only empty partitions.")
    return rows.frame(_decide, task, like, *args, like=like)


def _opened(
    ranker: Any, frame: Any, qid: Any, **others: Any
) -> tuple[Any, Any, ModelColumns]:
    """Return the partitions, a small ranker, and the columns that the ranker saw."""
    check_is_fitted(ranker, "threshold_")
    seen = getattr(ranker, "feature_names_in_", None)
    names = names_in_model(ranker.estimator_) if seen is None else (list(seen), False)
    rows, columns = open_frame(frame, names, qid, **others)
    return rows, without_calibration_pairs(ranker), columns


def _unlabelled(
    partition: Any, qid: str | None, item_id: str | None, columns: ModelColumns
) -> tuple[Any, Any, Any]:
    """Return features, queries and names of items."""
    features = columns.of(partition)
    X, names, ids = rows_of(partition, label=item_id, qid=qid, features=features)
    return X, ids, None if isinstance(partition, tuple) else names


def _look(
    partition: Any, task: Callable[..., Any], ranker: Any, *columns: Any
) -> tuple[Any, Any]:
    """Return an empty frame with the columns that a task makes, and the queries."""
    X, ids, names = _unlabelled(partition, *columns)
    n_items = _num_samples(X)
    if not n_items:
        return None, np.empty(0)
    queries = encode_qid(ids, n_items)[1]
    names = None if names is None else names[:1]
    first = X[:1], ids if is_scalar(ids) else ids[:1], names
    made = task(ranker, *first).to_frame()
    # One item makes no pair that could show the types of a column.
    item = _made("ranking", ranker, *first).to_frame().dtypes
    kinds = {"qid": item["qid"]} | dict.fromkeys(_IDS, item["item_id"])
    like = made.astype({name: kinds[name] for name in kinds if name in made})[:0]
    return like, queries


def _made(what: str, ranker: Any, X: Any, ids: Any, names: Any, **top: Any) -> Any:
    """Return what a method makes of a partition, or the deferred pairs of it."""
    made = getattr(ranker, what)(X, qid=ids, item_id=names)
    return made.deferred(**top) if top else made


def _decide(
    partition: Any, task: Callable[..., Any], like: Any, ranker: Any, *columns: Any
) -> Any:
    """Return the frame that a task makes of a partition."""
    rows = _unlabelled(partition, *columns)
    if not _num_samples(rows[0]):
        return like
    made = task(ranker, *rows).to_frame()
    # An empty column has no type of its own.
    return made.astype(like.dtypes.to_dict()) if not len(made) else made
