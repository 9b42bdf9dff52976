"""Read tables of labelled pairs: their columns, and right, tie or left preferred."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skrank_abstain._kernels import IntArray
from skrank_abstain._validation import listed, shown
from skrank_abstain._warnings import warn_user

_TIES = dict.fromkeys(("tie", "draw", "same", "equal"), 0)
#: Words for right and for left preferred.
_WORDS = (
    ("right", "left"),
    ("model_b", "model_a"),
    ("b", "a"),
    ("second", "first"),
    ("loss", "win"),
)
#: Labels that are understood without ``labels=``.
_VOCABULARIES: tuple[dict[Any, int], ...] = (
    {-1: -1, 0: 0, 1: 1},
    {0: -1, 0.5: 0, 1: 1},
    {0: -1, 1: 1},
    {-1: -1, 1: 1},
    *({right: -1, left: 1} | _TIES for right, left in _WORDS),
)
_KNOWN = (
    "(-1, 0, 1), (0, 0.5, 1), (0, 1), (-1, 1) or, in any case, right / tie / left, "
    "model_b / tie / model_a, B / tie / A, second / tie / first, loss / tie / win (of "
    "the left one), a tie being tie, draw, same or equal"
)


def read_columns(
    table: Any, name: str, *, remedy: str = "", same_keys: bool = False
) -> dict[str, list[Any]]:
    """Return the columns of a table as lists of one length.

    Parameters
    ----------
    table : frame, mapping of columns or sequence of mappings
    name : str
        Name of the parameter, for messages.
    remedy : str, default=""
        What to do about an object that is no table.
    same_keys : bool, default=False
        Whether all mappings must have the same keys. False: a missing value is None.

    Returns
    -------
    columns : dict of str to list
        Python values, except dates and short floats, which Python writes differently.

    Raises
    ------
    TypeError
        If ``table`` is not a table.
    ValueError
        If columns differ in length, or mappings in their keys.
    """
    if hasattr(table, "to_pylist"):  # of pyarrow
        table = table.to_pylist()
    if isinstance(table, Sequence) and not isinstance(table, str | bytes):
        return _columns_of_rows(table, name, same_keys=same_keys)
    names = table if isinstance(table, Mapping) else getattr(table, "columns", None)
    if names is None:
        raise TypeError(
            f"{name} must be a frame, a mapping of columns or a list of mappings, got "
            f"{shown(table)}{remedy}."
        )
    columns = {str(each): _python_values(table[each]) for each in names}
    lengths = {each: len(column) for each, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"{name} must have columns of one length, got {lengths}.")
    return columns


def _columns_of_rows(
    rows: Sequence[Any], name: str, *, same_keys: bool
) -> dict[str, list[Any]]:
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise TypeError(
                f"{name} must hold mappings, got {shown(row)} in row {number}."
            )
    every = list(dict.fromkeys(key for row in rows for key in row))
    for number, row in enumerate(rows if same_keys else ()):
        lacking = [key for key in every if key not in row]
        if lacking:
            raise ValueError(
                f"{name} must have the same columns in all rows, got none called "
                f"{lacking[0]!r} in row {number}: add it there, or drop it everywhere."
            )
    return {str(key): [row.get(key) for row in rows] for key in every}


def _python_values(column: Any) -> list[Any]:
    dtype: Any = getattr(column, "dtype", None)
    kind = getattr(dtype, "kind", "")
    # tolist() turns nanosecond dates into integers, and float32 0.1 into 0.10000000149.
    kept = kind in ("m", "M") or (kind == "f" and dtype.itemsize < 8)
    return list(column if kept or not hasattr(column, "tolist") else column.tolist())


def read_pair_labels(
    values: ArrayLike, labels: Any = None, *, name: str = "y"
) -> IntArray:
    """Return labels as -1 (right preferred), 0 (tie) and +1 (left preferred).

    Labels are read by their meaning, never by their sort order; ambiguous ones are
    refused.

    Parameters
    ----------
    values : array-like of shape (n_pairs,)
    labels : None or sequence of two or three values, default=None
        The labels for (right, left) or (right, tie, left) preferred. None: one of
        (-1, 0, 1), (0, 0.5, 1), (0, 1), (-1, 1), or, in any case and with blanks
        around, of right / tie / left, model_b / tie / model_a, B / tie / A, second /
        tie / first, loss / tie / win (of the left one); draw, same and equal also mean
        tie. ``values`` may lack some of them if the others have one meaning only;
        0 and 1 alone are (right, left).
    name : str, default="y"
        Name of the parameter, for the message.

    Returns
    -------
    label : ndarray of shape (n_pairs,), int64

    Raises
    ------
    ValueError
        If a value is not understood, or ``labels`` does not name two or three.

    Notes
    -----
    True and False are 1 and 0. Text that looks like a number is text, and unknown.

    Examples
    --------
    >>> from skrank_abstain.pairs import read_pair_labels
    >>> read_pair_labels(["model_a", "tie", "model_b"])
    array([ 1,  0, -1])
    >>> read_pair_labels([0, 1, 2], labels=(2, 1, 0))
    array([ 1,  0, -1])
    """
    written = np.asarray(values).tolist()
    kinds = list(dict.fromkeys(written))
    meaning = _meaning(kinds, name) if labels is None else _named(kinds, labels, name)
    return np.array([meaning[value] for value in written], dtype=np.int64)


def _meaning(kinds: list[Any], name: str) -> dict[Any, int]:
    keys = [kind.strip().lower() if isinstance(kind, str) else kind for kind in kinds]
    found = set(keys)
    fitting = [known for known in _VOCABULARIES if found <= known.keys()]
    complete = [known for known in fitting if len(known) == len(found)]
    readings = {tuple(known[key] for key in keys) for known in complete or fitting}
    if len(readings) == 1:
        return dict(zip(kinds, readings.pop(), strict=True))
    unclear = "labels whose meaning is clear" if fitting else "labels that are known"
    raise ValueError(
        f"{name} must hold {unclear}, as (right, tie, left) preferred: {_KNOWN}; got "
        f"{listed(kinds)}. Say what yours mean with labels=(right, tie, left), or "
        "labels=(right, left) without ties."
    )


def _named(kinds: list[Any], labels: Any, name: str) -> dict[Any, int]:
    given = [] if isinstance(labels, str | set | dict) else np.shape(labels)
    if len(given) != 1 or len(set(labels)) != len(labels) or len(labels) not in (2, 3):
        raise ValueError(
            "labels must be (right, tie, left), or (right, left) without ties, two or "
            f"three different values, got {labels!r}."
        )
    written = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
    meaning = dict(
        zip(written, (-1, 1) if len(written) == 2 else (-1, 0, 1), strict=True)
    )
    # Numeric labels are ambiguous; words rarely are.
    words = [kind.strip().lower() for kind in written if isinstance(kind, str)]
    opposite = [-sign for sign in meaning.values()]
    if any([known.get(word) for word in words] == opposite for known in _VOCABULARIES):
        warn_user(
            f"labels=(right, tie, left) preferred got {tuple(written)!r}, so that "
            f"{written[0]!r} means that the right one is preferred. If these words "
            "have their usual meaning, reverse labels or leave it out."
        )
    unknown = [kind for kind in kinds if kind not in meaning]
    if unknown:
        raise ValueError(
            f"{name} must hold nothing but the labels={tuple(written)!r}, got "
            f"{listed(unknown)} too. Leave those rows out, or write one of the labels."
        )
    return meaning
