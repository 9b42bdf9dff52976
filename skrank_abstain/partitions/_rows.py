"""The rows of a partition: features, relevance and queries, each query in one place."""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skrank_abstain._kernels import FloatArray, IntArray
from skrank_abstain._validation import encode_qid, listed, names_of_columns


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
    """

    names: list[Any] | None
    made_up: bool = False

    def of(self, partition: Any) -> list[Any] | None:
        """Return the feature columns of a partition; None for all others."""
        columns = names_of_columns(partition) or []
        lacks = self.names is not None and not set(self.names) <= set(columns)
        return None if self.made_up and lacks else self.names


def check_names(**names: Any) -> None:
    """Refuse arrays and columns as ``label``, ``qid`` and the like: these are names."""
    for name, value in names.items():
        if not isinstance(value, Hashable) or hasattr(value, "shape"):
            raise TypeError(
                f"{name} must be the name of a column of frame, got a "
                f"{type(value).__name__}."
            )


def check_same_columns(frame: Any, model: ModelColumns, *others: Any) -> None:
    """Refuse a list whose frames differ in their features or in the order of these.

    Where the model names its features, they are selected by name, and each partition
    names the ones it lacks. ``others`` are columns that are no features.
    """
    first: list[Any] | None = None
    for number, part in enumerate(frame if isinstance(frame, list) else ()):
        X = part[0] if isinstance(part, tuple) and part else part
        columns = names_of_columns(X)
        if columns is None or model.of(X) is not None:
            continue
        found = [name for name in columns if name not in others]
        first = first or found
        if found != first:
            raise ValueError(
                "frame must have the same columns in every partition, in one order "
                f"where the model knows no names, got {listed(found)} in partition "
                f"{number} after {listed(first)}; select them alike from each."
            )


def rows_of(
    partition: Any, *, label: Any, qid: Any, features: list[Any] | None
) -> tuple[Any, Any, Any]:
    """Take the columns of a partition apart.

    Parameters
    ----------
    partition : data frame or tuple (X, y, qid)
        A tuple is returned as it is.
    label, qid : str or None
        Names of columns of a frame; None for tuples, and for columns not wanted.
    features : list of str or None
        None: all columns but label and qid.

    Returns
    -------
    X : frame, or ndarray of shape (n_items, n_features), float64
        An array where the only feature is a column of vectors.
    y : None or ndarray of shape (n_items,)
    qid : None or ndarray of shape (n_items,)

    Raises
    ------
    ValueError
        If a column is missing or there twice, a tuple comes with names of columns, or
        vectors differ in length.
    """
    if isinstance(partition, tuple):
        if label is not None or qid is not None:
            raise ValueError(
                "frame must hold frames, not tuples (X, y, qid), to have columns by "
                f"name, got {label!r} and {qid!r}."
            )
        return partition
    columns = names_of_columns(partition) or []
    others = [name for name in (label, qid) if name is not None]
    if features is None:
        features = [name for name in columns if name not in others]
    require_columns([*others, *features], columns)
    y, ids = (
        None if name is None else np.asarray(partition[name]) for name in (label, qid)
    )
    # The columns of a pyarrow Table are the data, and a method selects them.
    table = hasattr(partition, "column_names")
    X = partition.select(features) if table else partition[features]
    if len(features) == 1 and X.shape[0]:
        cells = np.asarray(partition[features[0]])
        if np.ndim(cells[0]):
            X = _stacked(cells, features[0])
    return X, y, ids


def require_columns(
    names: Iterable[Any], columns: Iterable[Any], where: str = "every partition"
) -> None:
    """Refuse names of columns that a frame lacks or has more than once."""
    times = Counter(columns)
    for name in names:
        if times[name] != 1:
            raise ValueError(
                f"frame must have one column {name!r} in {where}, got "
                f"{times[name]} of that name; its columns are {listed(times)}."
            )


def _stacked(cells: NDArray[Any], name: Any) -> FloatArray:
    """Return the vectors in the cells of a column as rows."""
    shapes = {np.shape(cell) for cell in cells}
    if len(shapes) > 1:
        raise ValueError(
            f"frame must have vectors of one length in the column {name!r}, got cells "
            f"of the shapes {listed(sorted(shapes))}."
        )
    return np.array([np.asarray(cell, dtype=np.float64) for cell in cells])


def runs_of(qid: Any, n_items: int) -> tuple[NDArray[Any], IntArray]:
    """Return the runs of consecutive rows of one query.

    Returns
    -------
    ids : ndarray of shape (n_runs,)
        The query of each run; a query whose rows lie apart has several.
    starts : ndarray of shape (n_runs,), int64
        The first row of each run.
    """
    codes, values = encode_qid(qid, n_items)
    starts = np.flatnonzero(np.append(True, codes[1:] != codes[:-1])[:n_items])
    return values[codes[starts]], starts


def find_split_query(
    ids_by_partition: Sequence[NDArray[Any]],
) -> tuple[Any, int, int] | None:
    """Return the first id that repeats, and the partitions it lies in; None if unique.

    Both partitions are the same if one has the id twice. Ids of several types are told
    apart as Python does. O(n log n) by sorting if all are numbers of one kind, O(n) by
    hashing otherwise.
    """
    some = [ids for ids in ids_by_partition if ids.size]
    kinds = {ids.dtype.kind for ids in some}
    # Integers beside floats, or signed beside unsigned ones, would be rounded.
    if len(kinds) == 1 and kinds <= set("iufmM"):
        codes = np.unique(np.concatenate(some), return_inverse=True)[1]
    else:
        seen: dict[Hashable, int] = {}
        values = (value for ids in some for value in _python_values(ids))
        codes = np.array([seen.setdefault(value, len(seen)) for value in values], int)
    order = np.argsort(codes, kind="stable")
    again = order[1:][codes[order[1:]] == codes[order[:-1]]]
    if again.size == 0:
        return None
    second = again.min()
    both = int(np.argmax(codes == codes[second])), int(second)
    ends = np.cumsum([ids.size for ids in ids_by_partition])
    one, other = np.searchsorted(ends, both, side="right").tolist()
    place = second - (ends[other] - ids_by_partition[other].size)
    return _python_values(ids_by_partition[other][place : place + 1])[0], one, other


def _python_values(ids: NDArray[Any]) -> list[Any]:
    # `tolist()` turns dates of some units into bare integers.
    return list(ids) if ids.dtype.kind in "mM" else ids.tolist()
