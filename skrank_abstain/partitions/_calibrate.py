"""Calibration of a fitted ranker on labelled queries that are scored in partitions."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils import _safe_indexing

from skrank_abstain import intake, scorers, tie_models
from skrank_abstain._kernels import BoolArray, FloatArray, IntArray
from skrank_abstain._validation import encode_qid, listed, names_of_columns, shown
from skrank_abstain._warnings import warn_user
from skrank_abstain.estimators import SelectiveRanker
from skrank_abstain.pairs import Queries, Scores, group_queries
from skrank_abstain.partitions import _engines
from skrank_abstain.selection import Groups, check_largest_query


def calibrate(
    ranker: SelectiveRanker,
    frame: Any,
    *,
    label: str | None = None,
    qid: str | None = None,
    item_id: str | None = None,
) -> SelectiveRanker:
    """Calibrate a ranker, whose model is fitted, on labelled queries in partitions.

    Parameters
    ----------
    ranker : SelectiveRanker
        `BALToR`, `CostAbstainer`, `RiskControlledRanker` or `SelectiveRanker` around a
        fitted model: a booster, also one that Dask or Spark trained, the path of its
        file, or a fitted scikit-learn estimator. Not changed.
    frame : list, str, path, pyarrow dataset, Dask DataFrame or Spark DataFrame
        Labelled queries, each in one partition. A list holds frames or tuples
        ``(X, y, qid)``; a path is that of a Parquet file, of a folder, or a pattern as
        ``"scored/*.parquet"``.
    label, qid, item_id : str
        Columns of the relevance, of the query and of the names of items; None for
        tuples. Features are the columns that the model was fitted on, or all others if
        it has no names.

    Returns
    -------
    fitted : SelectiveRanker
        A fitted clone, as ``ranker.fit`` on all rows, one partition after the other.
        The same to the last bit if the model scores a row alike in any batch, and
        ``random_state`` is an integer where the rule draws.

    Raises
    ------
    ValueError
        If a query lies in two partitions (see `check_partitions`), no query has two
        items, the ranker looks for novel items, or an input breaks a rule of ``fit``.
    TypeError
        If a tie model of your own learns from the features, or the frame is of an
        unknown kind.
    sklearn.exceptions.NotFittedError
        If the model is not fitted.

    Notes
    -----
    The model scores each partition where it lies. The calling process receives 28
    bytes for each item and the ids of the queries, and calibrates as ``fit`` does.
    ``"feature_aware_relevance"`` reads the partitions three times: it learns from the
    features of about 20,000 items, and computes the values of the others where they
    lie.

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingRegressor
    >>> from skrank_abstain import BALToR
    >>> from skrank_abstain.datasets import make_ranking
    >>> from skrank_abstain.partitions import calibrate
    >>> train = make_ranking(n_queries=60, random_state=0)
    >>> model = HistGradientBoostingRegressor().fit(train.data, train.target)
    >>> parts = [
    ...     (part.data, part.target, part.qid + 100 * seed)
    ...     for seed in (1, 2)
    ...     for part in [make_ranking(n_queries=30, random_state=seed)]
    ... ]
    >>> ranker = calibrate(BALToR(model, coverage=0.7), parts)
    >>> ranker.n_queries_, round(ranker.coverage_, 2)
    (60, 0.7)
    """
    # Check the arguments before scoring anything.
    _check_ranker(ranker)
    fitted = _unfitted(ranker)
    rule = fitted._checked_rule()
    tie_model = tie_models.resolve_tie_model(fitted.tie_model)
    reads_features = _reads_features(tie_model)
    model = scorers.resolve_model(fitted.estimator)
    if not scorers.is_fitted(model):
        raise NotFittedError(
            "calibrate takes a ranker whose model is fitted, got "
            f"{scorers.describe(model)}, which is not: train it on other queries first."
        )
    # A feature-aware tie model reads the columns beside the scores.
    every = reads_features and isinstance(model, scorers.ScoreColumn)
    names = (None, False) if every else scorers.names_in_model(model)
    others = {"label": label, "item_id": item_id}
    partitions, columns = open_frame(frame, names, qid, rule.groups, **others)
    reader = Reader(_unfitted(ranker), label, qid, columns, rule.groups)
    parts = partitions.map(_score, reader, model)
    if not parts:
        raise ValueError("frame must have rows, got no partition.")
    _engines.refuse_split_queries([part.ids for part in parts])
    # A partition of one query is normal; all rows in one query are not.
    doubts = [part.doubt for part in parts if part.y.size]
    if len(doubts) == 1 and doubts[0] is not None:
        warn_user(doubts[0])
    vars(fitted).update(_common_columns(part.columns for part in parts))
    sizes = np.array([part.y.size for part in parts])
    rows = RowsElsewhere(partitions, reader, sizes, np.arange(sizes.sum()))
    n_columns = getattr(fitted, "n_features_in_", 0) - (rule.groups is not None)
    data, kinds, repeats = _joined(parts, rows if reads_features else None, n_columns)
    known = intake.CalibrationData.of(
        data,
        rule.tuning_size,
        intake.draw_seeds(fitted.random_state)[1],
        groups=Groups.one(data.n_queries),
        trained=intake.Trained(model, True, np.empty(0, dtype=np.int64), data.score),
        several_queries=data.n_queries > 1,
        repeats=repeats,
        item_groups=kinds,
    )
    check_largest_query(known.largest_query, rule.largest_query)
    return fitted._calibrate(rule, tie_model, known)


def _check_ranker(ranker: Any) -> None:
    """Refuse what cannot be calibrated over partitions."""
    if not isinstance(ranker, SelectiveRanker):
        raise TypeError(
            "ranker must be a SelectiveRanker, such as BALToR or RiskControlledRanker, "
            f"got {shown(ranker)}."
        )
    if ranker.qid_col is not None:
        raise ValueError(
            f"qid_col must be None over partitions, got {ranker.qid_col!r}: give the "
            "column as qid= instead."
        )
    if ranker.novelty is not None:
        raise ValueError(
            "novelty must be None over partitions, where no detector is fitted: "
            "calibrate on one machine; then new queries can be decided over partitions."
        )


def _unfitted(ranker: Any) -> Any:
    """Return a ranker of the same parameters; a clone's model would not be fitted."""
    return type(ranker)(**ranker.get_params(deep=False))


def _reads_features(model: tie_models.TieModel) -> bool:
    """Return whether a tie model reads features; refuse one that is not known here."""
    hooks = type(model).fit_transform, type(model).transform
    if hooks == (tie_models.TieModel.fit_transform, tie_models.TieModel.transform):
        return False
    if not isinstance(model, tie_models.FeatureAwareRelevance):
        raise TypeError(
            f"tie_model={type(model).__name__} learns what it compares from all "
            "items at once, with their features, and cannot be fitted over "
            "partitions. Take 'graded_relevance', or fit the ranker itself on some "
            "whole queries that one machine can hold."
        )
    return True


class Reader(NamedTuple):
    """What a partition needs to know to read its labelled items.

    Attributes
    ----------
    ranker : SelectiveRanker
        Not fitted.
    label, qid : str or None
    columns : ModelColumns
    groups : str, int or None
        Column of the groups of items.
    """

    ranker: Any
    label: str | None
    qid: str | None
    columns: ModelColumns
    groups: str | int | None

    def rows(self, partition: Any) -> tuple[Any, Any, Any]:
        """Return X with the groups, y and ids."""
        features, groups = self.columns.of(partition), self.groups
        if groups is not None and not isinstance(groups, str):
            # A position counts the columns that are no label, query or name of an item.
            features = replace(self.columns, names=None).of(partition)
        elif features is not None and groups is not None and groups not in features:
            features = [*features, groups]
        rows = _engines.rows_of(
            partition, label=self.label, qid=self.qid, features=features
        )
        if rows[1] is None:
            raise ValueError(
                "label must name the column of the relevance, and a tuple (X, y, qid) "
                "hold y, got None."
            )
        return rows


class Scored(NamedTuple):
    """What a partition returns: its labelled items, without their features.

    Attributes
    ----------
    score, y : ndarray of shape (n_items,), float64
    query : ndarray of shape (n_items,), int32
        Number of the query within the partition.
    hashes : ndarray of shape (n_items,), uint64, or None
        Of the rows; None if they cannot be read.
    names : ndarray of shape (n_queries,), uint64
        Hashes of the ids; none if queries are not named.
    ids : ndarray of shape (n_queries,)
    columns : dict
        What a ranker stores about the columns.
    doubt : Warning or None
        About the queries, if the partition held all rows.
    group : tuple or None
        Number of each item's group within the partition, and the groups.
    """

    score: FloatArray
    y: FloatArray
    query: Any
    hashes: Any
    names: Any
    ids: Any
    columns: dict[str, Any]
    doubt: Warning | None
    group: Any


def _score(partition: Any, reader: Reader, model: Any) -> Scored:
    """Return the scored items of a partition."""
    X, y, ids = reader.rows(partition)
    if not len(y):
        none, codes = np.empty(0), np.empty(0, dtype=np.int32)
        group = None if reader.groups is None else (codes, none)
        bits = none.view(np.uint64)
        return Scored(none, none, codes, bits, bits, none, {}, None, group)
    ranker = _unfitted(reader.ranker)  # threads of one process share the other
    rows, doubt = intake.check_labelled_rows(ranker, X, y, ids, reader.groups)
    group = None
    if rows.group is not None:
        number, names = encode_qid(rows.group, rows.group.size, name="groups")
        group = number.astype(np.int32), names
    try:
        scores = scorers.score_items(model, rows.X, rows.named_queries)
    except ValueError as error:
        features = reader.columns.of(partition)
        if features in (None, reader.columns.names):
            raise
        raise ValueError(
            f"{error} The model names no features, so all columns but label, qid and "
            f"item_id are passed: {listed(features)}."
        ) from error
    seen = ("n_features_in_", "feature_names_in_", "_fitted_sparse")
    return Scored(
        scores,
        rows.y,
        rows.queries.codes.astype(np.int32),
        intake.hash_rows(rows.X),
        intake.hash_ids(rows.named_queries),
        rows.queries.values,
        {name: vars(ranker)[name] for name in seen if name in vars(ranker)},
        doubt,
        group,
    )


def _joined(
    parts: list[Scored], X: Any, n_columns: int
) -> tuple[Scores, list[Any] | None, Any]:
    """Return the items of all partitions, and the repeats among their rows.

    Empties the list, so that no array is in memory twice.
    """
    score, y, query, hashes, names, ids, *_, group = map(list, zip(*parts, strict=True))
    parts.clear()
    queries = group_queries(_numbered(query, ids), sum(map(len, query)))
    query.clear()
    data, kinds = Scores(_taken(score), queries, y=_taken(y), X=X), None
    if group[0] is not None:
        codes, found = zip(*group, strict=True)
        every = [name for some in found for name in some.tolist()]
        number, different = encode_qid(every, len(every), name="groups")
        data = replace(data, group=number[_numbered(codes, found)])
        kinds = different.tolist()
    known = None if any(each is None for each in hashes) else _taken(hashes)
    rows = np.arange(data.y.size)
    how = {"ids": _taken(names), "n_columns": n_columns}
    repeats = intake.find_repeats(known, queries, rows, data.y, copies=True, **how)
    intake.warn_of_repeats(repeats)
    return data, kinds, repeats


def _taken(arrays: list[Any]) -> Any:
    """Return the concatenated arrays; the list is emptied."""
    joined = np.concatenate(arrays)
    arrays.clear()
    return joined


def _numbered(codes: Iterable[Any], values: Iterable[Any]) -> IntArray:
    """Return codes that count through the values of all partitions."""
    starts = np.append(0, np.cumsum([each.size for each in values]))
    both = zip(codes, starts, strict=False)
    return np.concatenate([own.astype(np.int64) + start for own, start in both])


def _common_columns(found: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return the columns that all partitions have."""
    first: dict[str, Any] = {}
    for number, columns in enumerate(found):
        first = first or columns
        for name, value in columns.items():
            if not np.array_equal(value, first[name]):
                now, before = (np.ravel(each).tolist() for each in (value, first[name]))
                raise ValueError(
                    f"partition {number} must have the columns of those before, in "
                    f"their order, got {name} = {listed(now)} after {listed(before)}."
                )
    return first


@dataclass(frozen=True, eq=False)
class RowsElsewhere:
    """Stands for X where its rows lie in partitions.

    `FeatureAwareRelevance` asks for what it computes from some of the rows.

    Attributes
    ----------
    partitions : Partitions
    reader : Reader
    sizes : ndarray of shape (n_partitions,), int64
        Rows of each partition.
    taken : ndarray of int64
        Rows of whole queries, ascending.
    """

    partitions: _engines.Partitions
    reader: Reader
    sizes: IntArray
    taken: IntArray

    @property
    def shape(self) -> tuple[int]:
        """Number of rows, as scikit-learn asks for it."""
        return (self.taken.size,)

    def __getitem__(self, key: Any) -> RowsElsewhere:
        rows = key[0] if isinstance(key, tuple | list) else key
        return replace(self, taken=self.taken[rows])

    def over_designs(
        self,
        task: Callable[[FloatArray], FloatArray],
        scores: FloatArray,
        queries: Queries,
        wanted: BoolArray,
    ) -> Iterator[tuple[IntArray, FloatArray]]:
        """Do as `skrank_abstain.tie_models.over_designs`, where the rows lie."""
        ends = np.cumsum(self.sizes)
        cuts = np.searchsorted(self.taken, ends)
        parts = np.split(np.arange(self.taken.size), cuts[:-1])
        own = [
            (self.taken[part] - first, scores[part], queries.codes[part], wanted[part])
            for part, first in zip(parts, ends - self.sizes, strict=True)
        ]
        found = self.partitions.map(_over_designs, self.reader, task, own=own)
        for start, pieces in zip([0, *cuts.tolist()], found, strict=False):
            for rows, answer in pieces:
                yield rows + start, answer


def _over_designs(
    partition: Any,
    reader: Reader,
    task: Callable[[FloatArray], FloatArray],
    own: tuple[IntArray, FloatArray, IntArray, BoolArray],
) -> list[tuple[IntArray, FloatArray]]:
    rows, scores, codes, wanted = own
    if not wanted.any():
        return []
    X, y, ids = reader.rows(partition)
    ranker = _unfitted(reader.ranker)
    X = intake.check_labelled_rows(ranker, X, y, ids, reader.groups)[0].X
    X, queries = _safe_indexing(X, rows), group_queries(codes, codes.size)
    return list(tie_models.over_designs(task, scores, queries, X, wanted))


@dataclass(frozen=True)
class ModelColumns:
    """The columns that a model was fitted on.

    Attributes
    ----------
    names : list or None
        None: the model has no names.
    made_up : bool
        Whether a library may have made them up, as ``Column_0``: a frame that lacks one
        then has names of its own.
    others : tuple of str
        Columns that are no features.
    """

    names: list[Any] | None
    made_up: bool
    others: tuple[str | None, ...]

    def of(self, partition: Any) -> list[Any] | None:
        """Return the feature columns of a partition; None if its columns lack names."""
        columns = names_of_columns(partition)
        lacks = self.made_up and not set(self.names or ()) <= set(columns or ())
        if columns is None or not (self.names is None or lacks):
            return self.names
        return [name for name in columns if name not in self.others]


def open_frame(
    frame: Any, names: Any, qid: Any, groups: Any = None, **others: Any
) -> tuple[_engines.Partitions, ModelColumns]:
    """Return the partitions of a frame, and the columns of its model, both checked.

    ``names`` are those in the model, and whether its library made them up; ``qid`` and
    the others name columns that are no features, ``groups`` one that may be.
    """
    for name, value in {"qid": qid, **others}.items():
        if not isinstance(value, Hashable) or hasattr(value, "shape"):
            # Arrays and columns are no names.
            raise TypeError(
                f"{name} must be the name of a column of frame, got a "
                f"{type(value).__name__}."
            )
    known, made_up = names
    columns = ModelColumns(known, made_up, (qid, *others.values()))
    _check_same_columns(frame, columns)
    read = None
    # A position counts all columns.
    if known is not None and not made_up and isinstance(groups, str | None):
        read = [each for each in (*known, groups, *others.values()) if each is not None]
    return _engines.as_partitions(frame, qid, read), columns


def _check_same_columns(frame: Any, model: ModelColumns) -> None:
    """Refuse a list whose frames differ in their features or in the order of these.

    Where the model names its features, they are selected by name, and each partition
    names the ones it lacks.
    """
    first: list[Any] | None = None
    for number, part in enumerate(frame if isinstance(frame, list) else ()):
        X = part[0] if isinstance(part, tuple) and part else part
        if (found := model.of(X)) is None:
            continue
        first = first or found
        if found != first:
            raise ValueError(
                "frame must have the same columns in every partition, in one order "
                f"where the model knows no names, got {listed(found)} in partition "
                f"{number} after {listed(first)}; select them alike from each."
            )
