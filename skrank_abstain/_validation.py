"""Checks of user input: single values, arrays, and the rows that X, y and qid share.

Every message names the parameter, the rule and the value received. Checks never
silently drop, reorder or coerce values. X goes to the wrapped model as it came, so that
missing values, categories and column names survive; only its length, column names and
column count are checked.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, MappingView, Set
from contextlib import suppress
from decimal import Decimal
from numbers import Integral, Real
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import validate_data

from skrank_abstain._kernels import BoolArray, FloatArray, IntArray

#: How far the probabilities of a pair may sum from one.
_PROBA_TOLERANCE = 1e-6
#: The zero-one loss, rows predicted and columns true, both in the order -1, 0, +1.
ZERO_ONE_LOSS: FloatArray = 1.0 - np.eye(3)
_NAMED_LOSSES = {
    # A wrong order costs, and a tie for an order, too. An order for a true tie is free,
    # so that ties are predicted for equal scores only.
    "misranking": np.array([[0.0, 0, 1], [1, 0, 1], [1, 0, 0]]),
    # A tie is hardly an answer, and an order of equals a mistake.
    "clear_order": np.array([[0.0, 1, 1], [10, 0, 10], [1, 1, 0]]),
    "zero_one": ZERO_ONE_LOSS,
}
_LOSS_NAMES = ", ".join(map(repr, _NAMED_LOSSES))
_LABELS = " Several labels: multilabel.SelectiveMultilabelRanker; certify what its "
_LABELS += "to_items(X, y) returns, with scorers.ScoreColumn(0)."
#: Most characters of a repr, and most values of a collection, in a message.
_LONGEST = 120
_MOST = 10
#: The most distinct values, and the highest, of relevance that counts as grades: beyond
#: it gains of 2**grade - 1, as in boosters and NDCG, make no sense.
MOST_GRADES = 31


def shown(value: Any) -> str:
    """Return a short text for a value: its kind, or its repr up to 120 characters.

    Arrays and frames are shown by type and shape, collections of more than ten values
    by their number: rows of patients do not belong in a log.
    """
    shape = getattr(value, "shape", ())
    if isinstance(shape, tuple) and shape:
        return f"{type(value).__name__} of shape {shape}"
    if isinstance(value, list | tuple | dict | set | frozenset) and len(value) > _MOST:
        return f"{type(value).__name__} of {len(value)} values"
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def listed(names: Iterable[Any]) -> str:
    """Return up to ten names, and the number of names if it is larger."""
    every = list(names)
    few = ", ".join(repr(name) for name in every[:_MOST])
    return f"[{few}]" if len(every) <= _MOST else f"[{few}, ...], {len(every)} in all"


def is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN, NaT or pandas.NA."""
    if value is None or type(value).__name__ == "NAType":
        return True
    # NaN and NaT are unlike themselves. Arrays are compared entry by entry.
    unlike = value != value
    return isinstance(unlike, bool | np.bool_) and bool(unlike)


def is_blank(value: Any) -> bool:
    """Return whether a cell of a table is missing, or text without a character."""
    return is_missing(value) or (isinstance(value, str) and not value.strip())


def check_real(
    value: Any,
    name: str,
    low: float = -np.inf,
    high: float = np.inf,
    *,
    include_low: bool = True,
    include_high: bool = True,
    remedy: str = "",
) -> float:
    """Return ``value`` as a float in an interval, or raise.

    Parameters
    ----------
    value : object
        The user's argument. A bool is no number: it is a switch in the wrong place.
    name : str
        Name of the parameter, for the message.
    low, high : float, default=-inf, inf
        End points. Without bounds NaN is allowed, too.
    include_low, include_high : bool, default=True
        Whether the end points belong to the interval.
    remedy : str, default=""
        How to mend it, or what the number means, at the end of the message.

    Returns
    -------
    value : float

    Raises
    ------
    TypeError
        If ``value`` is not a real number.
    ValueError
        If it lies outside the interval.
    """
    # Without bounds only the type is checked: the caller knows what may come.
    unbounded = low == -np.inf and high == np.inf and include_low and include_high
    ends = "[" if include_low else "(", "]" if include_high else ")"
    interval = "" if unbounded else f"in {ends[0]}{low:g}, {high:g}{ends[1]}"
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        rule = f"a real number {interval}".rstrip()
        raise TypeError(f"{name} must be {rule}, got {shown(value)}.{remedy}")
    number = float(value)
    # NaN compares false, so it is refused with the rest.
    above = number >= low if include_low else number > low
    below = number <= high if include_high else number < high
    if not (unbounded or (above and below)):
        raise ValueError(f"{name} must be {interval}, got {shown(value)}.{remedy}")
    return number


def check_positive(value: Any, name: str) -> float:
    """Return ``value`` as a float in (0, inf), or raise."""
    return check_real(value, name, 0, include_low=False, include_high=False)


def check_fraction(
    value: Any, name: str, *, include_zero: bool = False, include_one: bool = False
) -> float:
    """Return ``value`` as a float in the unit interval, or raise."""
    percent = isinstance(value, int) and 1 < value <= 100
    remedy = f" It is a share: {value} % is {value / 100:g}." if percent else ""
    ends = {"include_low": include_zero, "include_high": include_one}
    return check_real(value, name, 0, 1, **ends, remedy=remedy)


def check_choice(value: Any, name: str, choices: tuple[str, ...]) -> str:
    """Return ``value`` if it is one of ``choices``, or raise a ValueError."""
    if not isinstance(value, str) or value not in choices:
        known = ", ".join(map(repr, choices))
        raise ValueError(f"{name} must be one of {known}, got {shown(value)}.")
    return value


def check_positive_int(value: Any, name: str, *, minimum: int = 1) -> int:
    """Return ``value`` as an int of at least ``minimum``, or raise."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be an integer, got {shown(value)}.")
    # A float is no integer even if it is whole: 1e3 is a typing habit, 2.5 a mistake.
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}, got {shown(value)}.")
    return int(value)


def rounded_share(share: float, counts: Any) -> Any:
    """Return ``share * counts``, rounded up to whole numbers."""
    # 0.07 * 100 is 7.000000000000001 as a float, and must not become eight.
    return np.ceil(share * counts * (1 - 1e-12)).astype(np.int64)


def refuse_lazy(values: Any, name: str) -> None:
    """Refuse lazy frames, and masked arrays, whose mask numpy would drop."""
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError(
            f"{name} must be an array without a mask, got a masked array: its hidden "
            f"values would count. Leave their rows out, or pass {name}.filled(...)."
        )
    for call in ("collect", "compute"):  # of polars and Spark, and of Dask
        if hasattr(values, call):
            raise TypeError(
                f"{name} must hold its rows, got a {type(values).__name__}, which is a "
                f"query for them: pass {name}.{call}()."
            )


def check_vector(
    values: ArrayLike, name: str, n_values: int | None = None, *, unit: str = "item"
) -> Any:
    """Return ``values`` as a 1-D array, one value per ``unit`` of ``n_values``."""
    refuse_lazy(values, name)
    array = np.asarray(values)
    # A frame's single column is a vector to its user.
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        got = f"shape {array.shape}" if array.ndim else shown(values)
        several = name == "y" and array.ndim == 2
        raise ValueError(f"{name} must be a 1d array, got {got}.{several * _LABELS}")
    if n_values is not None and array.size != n_values:
        asked = f"X has {n_values} rows" if unit == "item" else f"{n_values} {unit}s"
        raise ValueError(
            f"{name} must have one value per {unit}: {asked}, {name} has "
            f"{array.size} values (inconsistent numbers of samples)."
        )
    return array


def _as_numbers(
    values: Any, name: str, remedy: str = "", error: type[Exception] = ValueError
) -> FloatArray:
    """Return real numbers as float64, or raise; ``remedy`` ends the message.

    Text is refused even if numpy would read it as a number: it is an unparsed column.
    """
    try:
        array = np.asarray(values)
    except ValueError as cause:
        raise error(f"{name} must have rows of one length: {cause}{remedy}") from cause
    real = array.dtype.kind in "iufb"
    if array.dtype == object:
        # A missing value, None, becomes NaN.
        numbers = Real | Decimal | np.bool_ | None
        real = all(issubclass(kind, numbers) for kind in {*map(type, array.flat)})
    with suppress(OverflowError):  # of an integer that no float can hold
        if real:
            return np.asarray(array, dtype=np.float64, order="C")
    # scikit-learn's estimator checks look for these words.
    if array.dtype.kind == "c":
        raise error(f"Complex data not supported: {name} has {array.dtype}.")
    raise error(f"{name} must hold numbers, got dtype {array.dtype}.{remedy}")


def check_finite(
    values: Any,
    name: str,
    shape: tuple[str, ...] | None = None,
    *,
    allow_empty: bool = False,
    allow_nan: bool = False,
    remedy: str = "",
    error: type[Exception] = ValueError,
) -> FloatArray:
    """Return finite real numbers as float64.

    Parameters
    ----------
    values : array-like
    name : str
        Name of the parameter, for the message.
    shape : tuple of str, default=None
        Names of the axes, such as ``("n_samples", "n_labels")``; None for any.
    allow_empty : bool, default=False
        Whether an axis named in ``shape`` may have no entry.
    allow_nan : bool, default=False
        Whether numbers may be NaN.
    remedy : str, default=""
        What to do about it, at the end of the message.
    error : type, default=ValueError
        Raised for values that are no numbers; scikit-learn's checks ask for a
        ValueError.

    Returns
    -------
    numbers : ndarray of the shape of ``values``, float64

    Raises
    ------
    ValueError
        If the shape is wrong or a number is not finite.
    """
    refuse_lazy(values, name)
    numbers = _as_numbers(values, name, remedy, error)
    if shape is not None and (
        numbers.ndim != len(shape) or not (allow_empty or numbers.size)
    ):
        least = "" if allow_empty else ", at least one of each"
        raise ValueError(
            f"{name} must be of shape ({', '.join(shape)}{',' * (len(shape) == 1)})"
            f"{least}, got shape {numbers.shape}.{remedy}"
        )
    bad = np.argwhere(np.isinf(numbers) if allow_nan else ~np.isfinite(numbers))
    if len(bad):
        value = numbers[tuple(bad[0])]
        # The word and the value: a user searches for NaN, and -inf is not inf.
        got = f"{'NaN' if np.isnan(value) else 'infinity'} ({value})"
        if axes := ", ".join(map("{} {}".format, ("row", "column"), bad[0])):
            got += f" at {axes} and {len(bad)} such values in all"
        raise ValueError(f"{name} must be finite, got {got}.{remedy}")
    return numbers


def check_numbers(
    values: ArrayLike,
    name: str,
    n_values: int | None = None,
    *,
    unit: str = "item",
    remedy: str = "",
) -> FloatArray:
    """Return finite numbers as float64, one value per ``unit`` of ``n_values``."""
    array = check_vector(values, name, n_values, unit=unit)
    return check_finite(array, name, remedy=remedy)


def check_not_negative(numbers: FloatArray, name: str) -> FloatArray:
    """Return ``numbers``; raise a ValueError if one is negative."""
    if (numbers < 0).any():
        raise ValueError(f"{name} must be non-negative, got {float(numbers.min())}.")
    return numbers


def check_given(y: Any, estimator: Any) -> None:
    """Refuse to fit without labels, in words that scikit-learn's checks look for."""
    if y is None:
        name = type(estimator).__name__
        raise ValueError(f"{name} requires y to be passed, but the target y is None")


def check_relevance(y: ArrayLike, n_items: int | None = None) -> FloatArray:
    """Return relevance as finite float64, one value per item.

    The order of a pandas categorical does not say whether the first grade is the best:
    it raises unless it is that of numbers. Integers beyond 2**53 would be merged by the
    conversion and raise.
    """
    dtype: Any = getattr(y, "dtype", None)
    if getattr(dtype, "ordered", False):
        turned = not dtype.categories.is_monotonic_increasing
        y = np.asarray(y, dtype=str if turned else None)
    # Two grades that become one float would make a tie that the data do not have.
    given = check_vector(y, "y", n_items)
    # Numbers are not looked through one by one: those that lack are NaN.
    words = given.dtype.kind not in "iufb"
    missing = any(map(is_missing, given)) if words else True
    remedy = " Leave out the rows without a grade: keep = y.notna()." * missing
    if words and any(isinstance(k, str) for k in given):
        remedy += (
            ' Encode grades as y.astype(object).map({"green": 0, "red": 1}) does: an '
            "order does not say which end is best, LabelEncoder sorts by alphabet."
        )
    elif missing:
        remedy += " y.map gives none to a word that it does not know."
    numbers = check_finite(given, "y", remedy=remedy)
    if given.dtype.kind == "u" and (given > np.iinfo(given.dtype).max // 2).any():
        raise ValueError(
            f"y must be of a signed type, got {given.dtype} with {given.max()}: -y of "
            "such a type turns 1 into its largest number. Where 1 is best, pass "
            "y.max() - y; otherwise y.astype(int)."
        )
    if given.dtype.kind in "iu":
        large = (given > 2**53) | (given < -(2**53))
        remedy = " Integers beyond it are not exact as floats."
        refuse_values(given, large, "y must not exceed 2**53 in absolute value", remedy)
    return numbers


def check_scores(scores: ArrayLike, n_items: int | None = None) -> FloatArray:
    """Return a model's scores as finite float64, one value per item."""
    remedy = " Look at the model and at the features of that row."
    return check_numbers(scores, "scores", n_items, remedy=remedy)


def check_sample_weight(
    weight: ArrayLike | None, n_values: int, *, unit: str = "item"
) -> FloatArray | None:
    """Return weights, one per ``unit``, as finite, non-negative float64, or None."""
    if weight is None:
        return None
    numbers = check_numbers(weight, "sample_weight", n_values, unit=unit)
    return check_not_negative(numbers, "sample_weight")


def check_labels(labels: ArrayLike, name: str, n_pairs: int | None = None) -> IntArray:
    """Return labels in {-1, 0, +1} as int64."""
    array = check_vector(labels, name, n_pairs, unit="pair")
    # Compared before the conversion, which would turn 0.7 into the label 0.
    unknown = ~np.isin(array, (-1, 0, 1))
    refuse_values(array, unknown, f"{name} must hold the labels -1, 0 and 1")
    return np.array(array, dtype=np.int64)


def check_proba(
    proba: ArrayLike, n_pairs: int | None = None, *, name: str = "proba"
) -> FloatArray:
    """Return pair probabilities as float64, not rescaled.

    Parameters
    ----------
    proba : array-like of shape (n_pairs, 3)
        Finite and non-negative, rows sum to one, both within 1e-6. An empty list
        stands for no pairs.
    n_pairs : int, default=None
        Required number of rows.
    name : str, default="proba"
        For the message.

    Returns
    -------
    proba : ndarray of shape (n_pairs, 3), float64
        Values below zero by rounding, as in 1 - p - q, become zero.
    """
    rows = _as_numbers(proba, name)
    # An empty list has no columns to count.
    if rows.shape == (0,):
        rows = rows.reshape(0, 3)
    if rows.shape != (rows.size // 3 if n_pairs is None else n_pairs, 3):
        known = "" if n_pairs is None else f" = ({n_pairs}, 3)"
        raise ValueError(
            f"{name} must be of shape (n_pairs, 3){known}, columns for the labels "
            f"-1, 0, +1, got {rows.shape}."
        )
    # Not rescaled: a caller's mistake would look like a probability.
    with np.errstate(invalid="ignore", over="ignore"):
        total = rows.sum(axis=1)
    # NaN compares false, so it is refused, too.
    fine = (rows >= -_PROBA_TOLERANCE).all(axis=1)
    bad = ~(fine & (np.abs(total - 1) <= _PROBA_TOLERANCE))
    if bad.any():
        raise ValueError(
            f"{name} must have non-negative rows that sum to one within "
            f"{_PROBA_TOLERANCE:g}, got {rows[bad][0].tolist()} at row "
            f"{int(bad.argmax())}."
        )
    return np.maximum(rows, 0.0)


def check_loss(loss: Any) -> FloatArray:
    """Return the 3x3 loss matrix that ``loss`` stands for.

    Parameters
    ----------
    loss : "misranking", "clear_order", "zero_one" or array-like of shape (3, 3)
        Rows are predictions, columns truths, both in the order -1, 0, +1. The
        diagonal is zero, entries are finite and non-negative, one is positive, and
        turning a pair around changes nothing: ``loss[i, j] == loss[2 - i, 2 - j]``.

    Returns
    -------
    loss : ndarray of shape (3, 3), float64
    """
    if isinstance(loss, str):
        return _NAMED_LOSSES[check_choice(loss, "loss", tuple(_NAMED_LOSSES))].copy()
    remedy = f" It is one of {_LOSS_NAMES} or a 3x3 matrix."
    matrix = check_finite(loss, "loss", remedy=remedy, error=TypeError).copy()
    if matrix.shape != (3, 3):
        raise ValueError(
            f"loss must be one of {_LOSS_NAMES} or a 3x3 matrix (rows predicted, "
            f"columns true, order -1, 0, +1), got shape {matrix.shape}."
        )
    rules = {
        "have non-negative entries": matrix >= 0,
        # A right prediction costs nothing: risks are measured against it.
        "have a zero diagonal": np.diag(matrix) == 0,
        "have a positive entry, which decisions avoid": matrix.any(),
        # Left and right depend on row order alone.
        "be mirror-symmetric, loss[i, j] == loss[2 - i, 2 - j], so that turning a "
        "pair around changes nothing": matrix == matrix[::-1, ::-1],
    }
    for rule, kept in rules.items():
        if not kept.all():
            raise ValueError(f"loss must {rule}, got {matrix.tolist()}.")
    return matrix


def name_of_loss(loss: FloatArray) -> str:
    """Return the name of a loss matrix, or its values as a text."""
    named = (k for k, each in _NAMED_LOSSES.items() if np.array_equal(each, loss))
    return str(next(named, loss.tolist()))


def check_shares(
    values: ArrayLike, name: str, *, include_zero: bool = False, remedy: str = ""
) -> FloatArray:
    """Return rising shares, at least one, as float64; 1 is one, 0 if it is included."""
    numbers = check_numbers(values, name)
    # Python's numbers make the message read 1.2, not np.float64(1.2).
    for value in numbers.tolist():
        check_real(value, name, 0, 1, include_low=include_zero, remedy=remedy)
    if numbers.size == 0 or (np.diff(numbers) <= 0).any():
        got = listed(numbers.tolist())
        raise ValueError(f"{name} must ascend from at least one value, got {got}.")
    return numbers


def refuse_values(array: Any, bad: BoolArray, rule: str, remedy: str = "") -> None:
    """Raise if a value is bad, and name the first; ``rule`` says what must hold."""
    if bad.any():
        (first,) = array[bad][:1].tolist()
        raise ValueError(f"{rule}, got {shown(first)}.{remedy}")


def names_of_columns(X: Any) -> list[Any] | None:
    """Return the names of the columns of a frame; None for other containers."""
    names = getattr(X, "column_names", None)
    # In a pyarrow Table ``columns`` are the data; in pandas column_names is a column.
    if not isinstance(names, list):
        names = getattr(X, "columns", None)
    return None if names is None else list(names)


def check_columns(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Check shape and names of X; put named columns into the order of ``fit``."""
    refuse_lazy(X, "X")
    path, item = isinstance(X, str | PathLike), X[0] if isinstance(X, list) and X else X
    # A dok_array is a mapping, too.
    if path or (isinstance(item, Mapping) and not issparse(item)):
        table = "DataFrame(X); scores by name: DataFrame({'score': X}), item_id=[*X]"
        call = "read_csv(X), or Parquet to partitions.calibrate" if path else table
        raise TypeError(
            f"X must be an array or a frame, got {shown(X)}; pass pandas.{call}."
        )
    if not hasattr(X, "shape"):
        X = np.asarray(X)
    if issparse(X) and getattr(X, "format", "") not in ("csr", "csc"):
        sparse: Any = X
        X = sparse.asformat("csr")  # other formats cannot select rows
    # Messages begin with the words that scikit-learn's estimator checks look for.
    if len(X.shape) != 2:
        raise ValueError(
            f"Expected 2D array, got {len(X.shape)}D array instead: X must be of shape "
            f"(n_items, n_features), got {X.shape}. Reshape your data. Scores: numpy."
            "c_[X], or frame[['score']]. Texts: pandas.DataFrame({'text': X}), with a "
            "ColumnTransformer."
        )
    for axis, what in ((1, "feature"), (0, "sample")):
        # A request without items gets an empty answer.
        if X.shape[axis] == 0 and (reset or axis == 1):
            raise ValueError(
                f"Found array with 0 {what}(s) (shape={X.shape}) while a minimum of 1 "
                f"is required by {type(estimator).__name__}."
            )
    if getattr(getattr(X, "dtype", None), "kind", "") == "c":
        raise ValueError(f"Complex data not supported: X has dtype {X.dtype}.")
    names = list(getattr(estimator, "feature_names_in_", []))
    columns = names_of_columns(X) or []
    twice = [name for name, times in Counter(columns).items() if times > 1]
    if twice:
        raise ValueError(
            f"X must have columns of different names, got {listed(twice)} more than "
            "once; rename or drop them."
        )
    if not reset and columns != names and Counter(columns) == Counter(names):
        # scikit-learn's models refuse another order of columns; LightGBM's scores are
        # then silently wrong. `validate_data` reports missing and unknown names.
        X = select_columns(X, names)
    # Names and counts only: missing values and categories are the wrapped model's.
    return validate_data(estimator, X, reset=reset, skip_check_array=True)


def select_columns(X: Any, names: list[Any]) -> Any:
    """Return the named columns of a frame or table, in this order."""
    # A pyarrow Table is not indexed by names; in pandas, column_names is a column.
    is_table = hasattr(X, "column_names") and not hasattr(X, "iloc")
    return X.select(names) if is_table else X[names]


def check_row_order(X: Any, **others: Any) -> None:
    """Refuse values in another order than the rows of X, if labels show it.

    Raises ValueError for pandas objects (``others``, by the name of the parameter)
    whose index is unlike that of X, or of the first of them if X has none, and for the
    name of a column of X as ``qid``, which would be one query of all rows. A RangeIndex
    counts only where the two share labels at different positions; without an index,
    rows correspond by position, but for texts as ``item_id`` that are the labels of X.
    """
    qid = others.get("qid")
    if isinstance(qid, str) and qid in (names_of_columns(X) or ()):
        raise ValueError(
            f"qid must be one value per row, got {qid!r}, the name of a column of X: "
            f"pass X[{qid!r}] without that column in X, or qid_col={qid!r}."
        )
    names: Any = others.get("item_id")
    if hasattr(X, "iloc") and not hasattr(names, "iloc") and np.ndim(names) == 1:
        known = [*X.index] if X.index.inferred_type == "string" else []
        if (texts := [*map(str, names)]) != known and {*texts} == {*known}:
            raise ValueError(
                "item_id must name the rows of X in their order, got the labels of its "
                "index in another one: pass item_id=X.index."
            )
    given = {"X": X, **others}
    labelled = [name for name, each in given.items() if hasattr(each, "iloc")]
    for name in labelled[1:]:
        first = labelled[0]
        known, index = given[first].index, given[name].index
        alike = len(index) == len(known) and index.nlevels == known.nlevels
        if not alike or index.equals(known):
            continue
        unlike = index.to_numpy() != known.to_numpy()
        moved = index[unlike]
        # Whoever resets an index, or never had one, has a RangeIndex.
        default = "RangeIndex" in (type(index).__name__, type(known).__name__)
        if moved.isin(known).any() or not default:
            raise ValueError(
                f"{name} must have its rows in the order of {first}, got {len(moved)} "
                f"labels of the index unlike {first}'s, as {moved[0]!r} for "
                f"{known[unlike][0]!r}. Pass {name}.loc[{first}.index] if both have "
                f"the same rows, or {name}.to_numpy() where positions are right."
            )


def encode_qid(
    qid: Any, n_values: int, *, unit: str = "item", name: str = "qid"
) -> tuple[IntArray, NDArray[Any]]:
    """Encode query identifiers in the order in which they first appear.

    Parameters
    ----------
    qid : None, scalar or array-like of shape (n_values,)
        Any hashable values, in any order. Values of a list are equal if Python says so,
        as ``1`` and ``1.0``; ``1`` beside ``"1"``, or ``"a"`` beside ``"a "``, is a
        ValueError. None or a scalar: one query.
    n_values : int
    unit : str, default="item"
        What each value belongs to, for the message.
    name : str, default="qid"
        For the message.

    Returns
    -------
    codes : ndarray of shape (n_values,), int64
        Number of each query, 0 for the first that appears.
    values : ndarray of shape (n_queries,)
        The query identifiers, in order of first appearance; texts as Python objects.
    """
    refuse_lazy(qid, name)  # it would be one query of all rows
    if is_scalar(qid):
        one = _as_exact_array([qid])[:n_values]
        return np.zeros(n_values, dtype=np.int64), _texts_as_objects(one)
    # A set has no order, and an iterator is used up.
    unordered = isinstance(qid, Mapping | Set) and not isinstance(qid, MappingView)
    if unordered or isinstance(qid, Iterator):
        raise TypeError(
            f"{name} must be a list or an array, one value per row in the order of "
            f"the rows, got a {type(qid).__name__}."
        )
    raw = np.asarray(qid) if hasattr(qid, "__array__") else _as_exact_array(list(qid))
    if raw.dtype.kind in "iu" and raw.shape != (n_values,) and raw.sum() == n_values:
        raise ValueError(
            f"{name} must have one value per {unit}, got {raw.size} values that add up "
            f"to the {n_values} rows, as group sizes do: {raw[:5].tolist()}. Pass "
            "np.repeat(np.arange(len(sizes)), sizes)."
        )
    raw = check_vector(raw, name, n_values, unit=unit)
    # Sorting is many times faster than hashing, but not all values can be sorted.
    sortable = raw.dtype.kind in ("iufb" if name == "groups" else "iufbUS")
    codes, values = (_encode_sortable if sortable else _encode_hashable)(raw, name)
    values, written = _texts_as_objects(values), dict[str, Any]()
    for value in values if values.dtype == object else ():
        text = id_as_text(value).strip()
        # Ids may differ by case, as hashes do.
        other = written.setdefault(text.casefold() if name == "groups" else text, value)
        if other is not value:
            raise ValueError(
                f"{name} must write each value in one way, got {other!r} and "
                f"{value!r}, which differ by type, spaces at their ends or, in groups, "
                f"case alone: pass [str(q).strip() for q in {name}], in one case."
            )
    return codes, values


def id_as_text(value: Any) -> str:
    """Return an identifier as text; 7.0 is 7, as frames hold integers beside NaN."""
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value) if whole else value)


def _texts_as_objects(values: NDArray[Any]) -> NDArray[Any]:
    """Return texts as objects, which many pairs can share.

    In an array of texts each entry takes the memory of the longest.
    """
    return values.astype(object) if values.dtype.kind in "US" else values


def is_scalar(qid: Any) -> bool:
    """Return whether ``qid`` is one value for all rows; None is."""
    return isinstance(qid, str | bytes) or not np.iterable(qid)


def _as_exact_array(items: list[Any]) -> NDArray[Any]:
    """Return a 1-D array of the items, of dtype object if another would change them."""
    # np.asarray([1, "1"]) would turn the number into a string and merge the two.
    # np.asarray([2**53 + 1, 0.5]) would round, and so do integers of which some need
    # int64 and others uint64.
    if len({*map(type, items)}) <= 1:
        try:
            raw = np.asarray(items)
        except ValueError:  # sequences of different lengths
            raw = np.empty((0, 0))
        rounded = raw.dtype.kind == "f" and items and isinstance(items[0], Integral)
        if raw.ndim == 1 and not rounded:
            return raw
    return np.fromiter(items, dtype=object, count=len(items))


def _encode_sortable(raw: NDArray[Any], name: str) -> tuple[IntArray, NDArray[Any]]:
    missing = np.flatnonzero(raw != raw)  # NaN is unlike itself
    if missing.size:
        raise ValueError(f"{name} must not be missing, got NaN at row {missing[0]}.")
    # Sort one value per run of equal values: rows mostly come query by query.
    start = np.flatnonzero(np.append(True, raw[1:] != raw[:-1])[: raw.size])
    _, first, inverse = np.unique(raw[start], return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    number = np.argsort(order)  # of each distinct value, by first appearance
    codes = np.repeat(number[inverse], np.diff(start, append=raw.size))
    return codes, raw[start[first[order]]]


def _has_missing(value: Any) -> bool:
    if isinstance(value, tuple):  # inside of which None may be a name like others
        return any(each is not None and _has_missing(each) for each in value)
    return is_missing(value)


def _encode_hashable(raw: NDArray[Any], name: str) -> tuple[IntArray, NDArray[Any]]:
    seen: dict[Hashable, int] = {}
    each = raw.tolist() if raw.dtype != object else raw
    try:
        codes = np.array([seen.setdefault(value, len(seen)) for value in each], int)
    except TypeError as error:
        raise TypeError(f"{name} must hold hashable values: {error}.") from error
    for value, code in seen.items():
        if _has_missing(value) or (name == "groups" and is_blank(value)):
            row = int(np.argmax(codes == code))
            raise ValueError(f"{name} must not be missing, got {value!r} at row {row}.")
    values = np.fromiter(seen, dtype=object, count=len(seen))
    return codes, values if raw.dtype == object else values.astype(raw.dtype)
