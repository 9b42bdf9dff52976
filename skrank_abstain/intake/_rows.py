"""Rows of X by query, and checks for missing or mistaken queries.

X goes to the wrapped model as it came, so that missing values, categories and column
names survive. Only its length, column names and column count are checked.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from skrank_abstain._kernels import FloatArray, IntArray
from skrank_abstain._validation import (
    MOST_GRADES,
    check_columns,
    check_given,
    check_relevance,
    check_row_order,
    encode_qid,
    is_scalar,
    listed,
    names_of_columns,
    refuse_lazy,
    select_columns,
    shown,
)
from skrank_abstain._warnings import warn_user
from skrank_abstain.pairs import Queries, group_queries
from skrank_abstain.selection import Groups

#: Beyond this, floats skip integers and two identifiers could become one.
_LARGEST_EXACT_FLOAT = 2.0**53
#: Each two groups of items have a threshold, or a row of a report.
_MOST_GROUPS = 50
#: A batch without qid that is this many times the largest calibration query warns.
_TIMES = 2
_FEWEST_LABELS = 10
#: As 99 for a grade that is missing: farther from the others than they are, times this.
_TIMES_SPAN = 10

_REMEDY = (
    "Pass the query of each row as qid= (or name a column of X with qid_col=), through "
    "a search with metadata routing; qid=0 says that one query is meant."
)


@dataclass(frozen=True)
class Rows:
    """Rows of X grouped by query, before a model has scored them.

    Attributes
    ----------
    X : array or frame of shape (n_items, n_features)
        For the wrapped model: without the columns of queries and groups, if X had them.
    queries : Queries
    has_qid : bool
        Whether the caller named the query of each row.
    group : ndarray of shape (n_items,), default=None
        Group of each item, from a column of X.
    y : ndarray of shape (n_items,), float64, default=None
        Relevance, if it is known.
    """

    X: Any
    queries: Queries
    has_qid: bool
    group: NDArray[Any] | None = None
    y: Any = None

    @property
    def named_queries(self) -> Queries | None:
        """The queries, None if the caller named none."""
        return self.queries if self.has_qid else None

    def take(self, rows: IntArray) -> Rows:
        """Return some rows, in ascending order."""
        # Rows are distinct: n_items of them are all rows, and X need not be copied.
        if rows.size == self.queries.n_items:
            return self
        queries = group_queries(self.queries.codes[rows], rows.size)
        both = self.group, self.y
        group, y = (None if values is None else values[rows] for values in both)
        return Rows(_safe_indexing(self.X, rows), queries, self.has_qid, group, y)


def take_rows(
    estimator: Any,
    X: Any,
    qid: Any,
    qid_col: str | int | None,
    *,
    reset: bool,
    groups: str | int | None = None,
) -> Rows:
    """Check X against the columns of ``fit`` and group its rows by query.

    ``reset`` says whether this is ``fit``: ``estimator`` then stores
    ``n_features_in_`` and ``feature_names_in_``.
    """
    check_row_order(X, qid=qid)
    if qid_col is not None and qid is not None:
        raise ValueError(
            f"qid must not be given when qid_col={qid_col!r} names a column of X; "
            "use one of the two."
        )
    none = not X if isinstance(X, list) else getattr(X, "shape", None) == (0, 0)
    if none and not reset:  # a request without items
        taken = sum(column is not None for column in (qid_col, groups))
        X = np.empty((0, estimator.n_features_in_ - taken))
        group = None if groups is None else X[:, 0]
        return Rows(X, group_queries(None, 0), True, group)
    refuse_lazy(X, "X")
    names = None if reset else names_of_columns(X)
    if names is not None and isinstance(qid_col, str) and qid_col not in names:
        raise ValueError(
            f"qid_col must name a column of X, got {qid_col!r}; X has {listed(names)}. "
            f"A request of one query takes any value: X.assign({qid_col}=0)."
        )
    X = check_columns(estimator, X, reset=reset)
    n_items = _num_samples(X)
    X, (column, group) = take_columns(X, qid_col=qid_col, groups=groups)
    qid = qid if qid_col is None else column
    return Rows(X, group_queries(qid, n_items), qid is not None, group)


def take_labelled_rows(
    ranker: Any, X: Any, y: Any, qid: Any, groups: str | int | None = None
) -> Rows:
    """As `check_labelled_rows`, but warn of doubts about queries and labels."""
    rows, doubt = check_labelled_rows(ranker, X, y, qid, groups)
    if doubt is not None:
        warn_user(doubt)
    if rows.queries.n_queries < rows.queries.n_items:  # an error otherwise
        _warn_of_lone_rows(rows.queries.sizes)
    _warn_of_two_tables(rows.queries.codes)
    read_grades(rows.y)
    warn_of_labels_in(rows.X, rows.y)
    return rows


def check_labelled_rows(
    ranker: Any, X: Any, y: Any, qid: Any, groups: str | int | None = None
) -> tuple[Rows, OneQueryWarning | None]:
    """Check the data of ``fit``; return the rows and a doubt about their queries.

    ``ranker`` stores the columns of X, and is named in messages; ``groups`` is the
    column of X with the groups of the items.
    """
    check_given(y, ranker)
    check_row_order(X, y=y, qid=qid)
    rows = take_rows(ranker, X, qid, ranker.qid_col, reset=True, groups=groups)
    rows = replace(rows, y=check_relevance(y, rows.queries.n_items))
    ranker._fitted_sparse = issparse(X)
    ranker._most_missing = share_missing(rows.X).max(initial=0.0)
    return rows, _doubt_about_queries(ranker, qid, rows)


def take_columns(X: Any, **named: Any) -> tuple[Any, list[NDArray[Any] | None]]:
    """Take columns of identifiers out of X.

    Parameters
    ----------
    X : array or frame of shape (n_items, n_columns)
    **named : str, int or None
        Names or positions of columns, or None, by the parameter that gives them.

    Returns
    -------
    X : array or frame
        Without these columns.
    values : list
        Of each column, in the order given; None for None.
    """
    given = {name: column for name, column in named.items() if column is not None}
    if not given:
        return X, [None] * len(named)
    columns = names_of_columns(X)
    positions = {name: _position(name, given[name], columns, X) for name in given}
    taken = [*positions.values()]
    if len(set(taken)) < len(taken):
        names = " and ".join(given)
        raise ValueError(f"{names} must be different columns, got {taken[0]} twice.")
    rest = np.delete(np.arange(X.shape[1]), taken)
    if rest.size == 0:
        raise ValueError(f"X must have a column besides those of {listed(given)}.")
    found = {k: _column_of(X, k, given[k], columns, at) for k, at in positions.items()}
    values = [*map(found.get, named)]
    if columns is None:
        return X[:, rest], values
    return select_columns(X, [columns[i] for i in rest]), values


def _column_of(
    X: Any, name: str, column: Any, columns: list[Any] | None, position: int
) -> NDArray[Any]:
    """Return the values of one column, which are identifiers."""
    if columns is None:
        # A list of one position: with a single integer sparse matrices return a matrix,
        # sparse arrays a vector.
        part = X[:, [position]]
        values = np.asarray(part.toarray() if issparse(X) else part)[:, 0]
    else:
        values = np.asarray(X[columns[position]])
    if values.dtype.kind == "f" and (np.abs(values) > _LARGEST_EXACT_FLOAT).any():
        largest = values[np.nanargmax(np.abs(values))]
        raise ValueError(
            f"{name}={column!r} must hold identifiers that are exact as floats (up "
            f"to 2**53), got {largest!r}. Use strings or integers in a data frame."
        )
    return values


def _position(name: str, column: Any, columns: list[Any] | None, X: Any) -> int:
    """Return the position of the column that a parameter gives."""
    if isinstance(column, str):
        if columns is None:
            raise ValueError(
                f"{name} must be an integer position when X has no column names, got "
                f"{column!r}. Transformers in front of the ranker keep names with "
                "set_output(transform='pandas')."
            )
        if column not in columns:
            raise ValueError(
                f"{name} must name a column of X, got {column!r}; X has "
                f"{listed(columns)}."
            )
        return columns.index(column)
    # True is an integer to Python, and would name the second column.
    if isinstance(column, bool) or not isinstance(column, int | np.integer):
        raise TypeError(
            f"{name} must be a column name or position, got {shown(column)}: leave the "
            "column in X, and name it."
        )
    n_columns = X.shape[1]
    if not -n_columns <= column < n_columns:
        raise ValueError(
            f"{name} must be a position below {n_columns}, the number of columns of "
            f"X, got {column}."
        )
    return int(column) % int(n_columns)


def encode_groups_of_items(groups: Any, fewest: int = 1) -> tuple[IntArray, list[Any]]:
    """Return the number of each item's group, and the names of the groups."""
    codes, names = encode_qid(groups, len(groups), name="groups")
    if names.size > _MOST_GROUPS or np.bincount(codes).min() < fewest:
        raise ValueError(
            f"groups must name a column of at most {_MOST_GROUPS} groups, each of "
            f"several items, got {names.size} groups of {codes.size} items. "
            "Is it a measurement? Cut it into ranges first."
        )
    return codes, names.tolist()


def groups_of_queries(
    groups: Any, queries: Queries, *, vary: bool = False
) -> Groups | None:
    """Return the group of each query; None without groups.

    Groups are any hashable values, of shape (n_items,) and the same within a query;
    they are numbered in order of first appearance. With ``vary`` they may vary within
    queries: the groups of the items are then returned, in the order of their texts.
    """
    if groups is None:
        return None
    if isinstance(groups, str):
        raise TypeError(
            f"groups must be None or one value per row, got {groups!r}: pass the "
            "column, as in groups=frame[...]."
        )
    codes, names = encode_qid(groups, queries.n_items, name="groups")
    of_query = codes[queries.first_rows]
    differs = of_query[queries.codes] != codes
    if vary and differs.any():
        codes, of_items = encode_groups_of_items(groups)
        order = sorted(range(len(of_items)), key=lambda k: str(of_items[k]))
        return Groups(np.argsort(order)[codes], [of_items[k] for k in order])
    if differs.any():
        row = int(np.argmax(differs))
        query = queries.codes[row]
        one, other = (names.item(int(code)) for code in (of_query[query], codes[row]))
        raise ValueError(
            f"groups must be the same for all items of a query, got {one!r} and "
            f"{other!r} for query {queries.values.item(int(query))!r}. Report and "
            "evaluate compare groups that vary within queries, such as sexes."
        )
    return Groups(of_query, names.tolist())


class OneQueryWarning(UserWarning):
    """All rows count as one query, and the caller did not ask for it.

    Training and calibration then compare items of different queries. Pass the query of
    each row as ``qid``; a scalar such as ``qid=0`` says that all rows are one query.

    Examples
    --------
    >>> import warnings
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain import BALToR, OneQueryWarning
    >>> from skrank_abstain.datasets import make_ranking
    >>> data = make_ranking(n_queries=60, random_state=0)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     ranker = BALToR(Ridge(), random_state=0).fit(data.data, data.target)
    >>> caught[0].category is OneQueryWarning
    True
    """


def _doubt_about_queries(ranker: Any, qid: Any, rows: Rows) -> OneQueryWarning | None:
    """Return a warning if all rows are one query, and no number says so.

    A text may be the name of a column that is not in X.
    """
    meant = qid is not None and is_scalar(qid) and not isinstance(qid, str)
    if meant or rows.queries.n_queries > 1:
        return None
    given = "a qid that is the same for all rows" if rows.has_qid else "no qid"
    return OneQueryWarning(
        f"All {rows.queries.n_items} rows are one query: {type(ranker).__name__} "
        f"got {given}. {_REMEDY}"
    )


def warn_of_empty_rows(X: Any, known: float = 1.0) -> None:
    """Warn of items without most features, which a model places all the same.

    An item of ``fit`` lacked at most the share ``known`` of its features. Data with
    many gaps are such as those of ``fit``, and warn only of items without any feature.
    """
    share = share_missing(X)
    empty = (share == 1) | (share > max(known, 0.5))
    if X.shape[1] > 1 and empty.any():
        warn_user(
            f"{np.count_nonzero(empty)} of {empty.size} items lack most or all "
            f"features, such as row {empty.argmax()}: their pairs are decided all the "
            "same. Leave them out and look at them yourself, or set novelty= of the "
            "ranker, which leaves them to a person."
        )


def share_missing(X: Any) -> FloatArray:
    """Return the share of features that each row lacks; none where X cannot tell."""
    missing = np.empty((0, 1))
    if hasattr(X, "isna"):
        missing = X.isna().to_numpy()
    elif isinstance(X, np.ndarray) and X.dtype.kind == "f":
        missing = np.isnan(X)
    return np.mean(missing, axis=1)


def warn_of_batch(estimator: Any, rows: Rows, qid: Any = None) -> None:
    """Warn if rows to score seem to lack their queries, or each are one.

    A text as ``qid`` names one query, or a column that X lacks.
    """
    n_items, largest = rows.queries.n_items, estimator._largest_query
    if rows.queries.n_queries == n_items >= 10:
        _warn_of_lone_rows(rows.queries.sizes)
    lacks = isinstance(qid, str) or not rows.has_qid
    if lacks and estimator._fitted_with_qid and n_items > _TIMES * largest:
        got = "one text as qid" if rows.has_qid else "no qid"
        warn_user(
            # The same text for all requests: Python shows it once for each line.
            f"More than {_TIMES * largest} rows are one query: "
            f"{type(estimator).__name__} got {got}, and the largest query it was "
            f"calibrated on has {largest} rows. {_REMEDY}",
            OneQueryWarning,
        )


def warn_of_labels_in(X: Any, y: FloatArray, name: str = "y") -> None:
    """Warn of a feature that is the relevance itself, or a label."""
    # A few grades may equal a feature by chance.
    if issparse(X) or y.size < _FEWEST_LABELS or np.ptp(y) == 0:
        return
    for column in range(X.shape[1] if X.shape[1] > 1 else 0):
        values = np.asarray(_safe_indexing(X, column, axis=1))
        if values.dtype.kind not in "biuf":
            continue
        ends = values[0] + y[0]
        # The first rows tell nearly all columns from y, in no time.
        if all(np.array_equal(values[:n], y[:n]) for n in (99, None)):
            how = f"equals {name}"
        elif all(np.array_equal(values[:n], ends - y[:n]) for n in (99, None)):
            how = f"is {name} turned around"
        else:
            continue
        warn_user(
            f"column {column} of X {how}: the model learns the labels by heart, and "
            "new items have none. Leave the column out of X."
        )


def _warn_of_lone_rows(sizes: IntArray) -> None:
    """Warn of queries that are mostly times, or names of items."""
    alone, n_items = int((sizes == 1).sum()), int(sizes.sum())
    if alone > n_items / 2:
        warn_user(
            f"{alone} of {n_items} rows have a qid of their own, and so no pair: pass "
            "the day or the list as qid, where these are times or names of items."
        )


def _warn_of_two_tables(codes: IntArray) -> None:
    """Warn of queries that come again in their order, as in two tables one below."""
    runs = codes[np.flatnonzero(np.diff(codes, prepend=-1))]
    # Codes are numbered by first appearance.
    first = int(np.argmin(np.append(runs, -1) == np.arange(runs.size + 1)))
    second = runs[first:]
    again = second[second < first]
    # A table by items has all queries once for each: no two rows in a row.
    lists = codes.size >= 2 * runs.size and again.size >= _FEWEST_LABELS
    if lists and np.unique(second).size == second.size and (np.diff(again) > 0).all():
        warn_user(
            f"{again.size} qids come again in the same order, from the rows of the "
            f"query number {first + 1} on: two tables with the same ids? Their items "
            "are compared as those of one query. Make ids differ, as by a site."
        )


def read_grades(y: Any, n_items: int | None = None) -> FloatArray:
    """Return the relevance; warn of a grade that may say "not judged".

    That is one negative grade beside several others, and one far from all others.
    """
    y = check_relevance(y, n_items)
    low, high = y.min(initial=0), y.max(initial=0)
    if (low >= 0 and high < _TIMES_SPAN) or (y % 1).any():
        return y
    grades, counts = np.unique(y, return_counts=True)
    if not 3 <= grades.size <= MOST_GRADES:
        return y
    far = _TIMES_SPAN * np.ptp(grades[1:]), _TIMES_SPAN * np.ptp(grades[:-1])
    # Where 1 is best, people may pass -y, of which at most one grade is not negative.
    odd = {"least": 0} if low < 0 <= grades[1] or grades[1] - grades[0] > far[0] else {}
    odd |= {"most": -1} if high - grades[-2] > far[1] else {}
    for end, at in odd.items():
        warn_user(
            f"y has {counts[at]} items of grade {grades[at]:g}, unlike the other "
            f"{grades.size - 1}, and counts them as the {end} relevant. If they were "
            "not judged, leave their rows out."
        )
    return y
