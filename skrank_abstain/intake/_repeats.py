"""Items and queries that occur twice, found by the hashes of their rows.

A hash has 64 bits, and equal rows have equal hashes in any container, process and
machine. Among a million different rows two have the same hash with a probability of
about one in 37 million.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b, sha256
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from skrank_abstain._kernels import BitArray, BoolArray, FloatArray, IntArray
from skrank_abstain._kernels.mixing import mix
from skrank_abstain._saving import Value
from skrank_abstain._validation import is_missing
from skrank_abstain._warnings import user_asks, warn_user
from skrank_abstain.pairs import Queries, group_queries
from skrank_abstain.scorers import trained_on, unwrap

#: With a smaller share of different rows, equal rows may well be different items.
_LEAST_DISTINCT = 0.95
#: Fewer repeats, or a smaller share, are reported without a warning.
_FEWEST_ITEMS, _FEWEST_QUERIES, _SMALLEST_SHARE = 10, 3, 0.01
#: The words by which a report finds this doubt of ``fit``.
TRAINED_TOO = "trained the model too"
_HOW = "its first tree, or its coefficients, come from them"
#: Rows that a fitted ranker remembers: those with the smallest hashes, 800 kB.
_REMEMBERED = 100_000
#: Values that are hashed at once: they stay in the processor's cache.
_BLOCK = 32768
_MISSING = np.float64(np.nan).view(np.uint64)
_NONE = np.zeros(0, np.uint64)


@dataclass(frozen=True, eq=False)
class HashedRows(Value):
    """The rows of ``fit`` as hashes, and how many of them are there twice.

    Attributes
    ----------
    comparable : bool
        Whether rows tell items apart; if not, the other fields mean nothing.
    n_shared, n_calibration : int
        Items of the calibration part that are in the training part too, and all.
    n_copies, n_queries : int
        Calibration queries that repeat an earlier one, and all; 0 of 0 if this was
        not looked for.
    trained : bool
        Whether there was a training part; that of a fitted model is unknown.
    hashes : ndarray of shape (n_hashes,), uint64
        The smallest 100,000, ascending.
    complete : bool
        Whether these are all.
    chance : float
        Expected number of rows of ``fit`` that equal a new one by chance, because
        features are coarse: as often as two rows of a part do.
    fingerprint : str
        Of all data of ``fit``; empty if X cannot be read.
    queries : ndarray of shape (n_queries,), uint64
        Hashes of the ids of queries; none if they were not named.
    """

    comparable: bool
    n_shared: int
    n_calibration: int
    n_copies: int
    n_queries: int
    trained: bool
    hashes: BitArray
    complete: bool
    chance: float = 0.0
    fingerprint: str = ""
    queries: BitArray = field(default_factory=_NONE.copy)

    def count_in(self, hashes: BitArray) -> int:
        """Count the given rows that ``fit`` saw; an estimate unless ``complete``."""
        if not self.hashes.size:
            return 0
        # Hashes are as good as random: those up to a limit are a sample of all.
        sample = hashes if self.complete else hashes[hashes <= self.hashes[-1]]
        found = np.isin(sample, self.hashes, kind="sort").sum()
        return round(float(found * hashes.size / max(sample.size, 1)))


_NOT_COMPARABLE = HashedRows(False, 0, 0, 0, 0, False, _NONE, True)


class AboutRows(NamedTuple):
    """What a report says about its rows.

    Attributes
    ----------
    lines : list of str
    compared : bool
        Whether the rows were compared with those of ``fit``.
    seen : str, default=""
        How many of them, or of their queries, are as those that ``fit`` got, if many.
    """

    lines: list[str]
    compared: bool
    seen: str = ""


def find_repeats(
    hashes: BitArray | None,
    queries: Queries,
    calibration: IntArray,
    labels: Any,
    folds: Sequence[IntArray] = (),
    *,
    copies: bool = False,
    ids: BitArray = _NONE,
    n_columns: int = 2,
) -> HashedRows:
    """Compare the rows of ``fit`` with each other.

    Parameters
    ----------
    hashes : ndarray of shape (n_rows,) or (n_pairs, 2), uint64, or None
        Of the rows. A pair is the same pair with its halves swapped.
    queries : Queries
    calibration : ndarray of int64
        Rows of the calibration part, ascending; the others trained. Without others
        it is not known what trained the model.
    labels : ndarray of shape (n_rows,) or (n_rows, n_labels)
    folds : sequence of ndarray of int64, default=()
        Rows that calibrate, fold by fold; all others of the data trained.
    copies : bool, default=False
        Whether to look for repeated queries.
    ids : ndarray of shape (n_queries,), uint64, default=()
        Hashes of the ids of queries.
    n_columns : int, default=2
        Of X. Of one, such as a score, different items may well have equal values.

    Returns
    -------
    found : HashedRows

    Notes
    -----
    A query repeats another one if both have the same rows with the same labels, in any
    order, two at least.

    Rows tell items apart if, each repeated query counted once, at least 95 % of the
    rows of a part differ from each other. Equal rows within a query stand for several
    items and are never counted.
    """
    found = _NOT_COMPARABLE
    if hashes is not None:
        one = _one_per_row(hashes)
        found = _compare(one, queries, calibration, labels, copies)
        parts = [_compare(one, queries, fold, labels, copies) for fold in folds]
        if found.comparable and parts:
            n_shared = sum(part.n_shared for part in parts)
            found = replace(found, n_shared=n_shared, trained=True)
    if n_columns == 1:
        found = replace(found, comparable=False, n_shared=0)
    known = fingerprint(hashes, queries.codes, labels)
    return replace(found, fingerprint=known, queries=ids)


def _one_per_row(hashes: BitArray) -> BitArray:
    # A sum does not depend on the order of the two halves.
    return hashes if hashes.ndim == 1 else np.add.reduce(mix(hashes), axis=1)


def _compare(
    hashes: BitArray,
    queries: Queries,
    calibration: IntArray,
    labels: Any,
    look_for_copies: bool,
) -> HashedRows:
    trains = np.ones(hashes.size, dtype=bool)
    trains[calibration] = False
    different, number = np.unique(hashes, return_inverse=True)
    ambiguous = np.zeros(different.size, dtype=bool)  # equal rows within a query
    counts, n_equal_pairs, n_pairs = [], 0, 1
    # A slice of all rows copies nothing, which many partitions have no memory for.
    every = slice(None) if calibration.size == hashes.size else calibration
    for rows in (np.flatnonzero(trains), every):
        own, part = number[rows], queries
        if rows is not every or trains.any():
            part = group_queries(queries.codes[rows], own.size)
        copies = np.zeros(part.n_queries, dtype=bool)
        if look_for_copies:
            copies = _copies(hashes[rows], labels[rows], part)
        once = own[~copies[part.codes]]
        times = np.bincount(once)
        if np.count_nonzero(times) < _LEAST_DISTINCT * once.size:
            return _NOT_COMPARABLE
        n_equal_pairs += int((times * (times - 1)).sum())
        n_pairs += once.size * (once.size - 1)
        count = np.bincount(own, minlength=different.size)
        several = count[own] > 1
        key = own[several] * part.n_queries + part.codes[several]
        key, n_equal = np.unique(key, return_counts=True)
        ambiguous[key[n_equal > 1] // part.n_queries] = True
        counts.append(count)
    trained, calibrated = counts
    known = different[~ambiguous]
    return HashedRows(
        comparable=True,
        n_shared=int(calibrated[(trained > 0) & ~ambiguous].sum()),
        n_calibration=calibration.size,
        n_copies=int(copies.sum()) if look_for_copies else 0,
        n_queries=copies.size if look_for_copies else 0,
        trained=bool(trains.any()),
        hashes=known[:_REMEMBERED].copy(),
        complete=known.size <= _REMEMBERED,
        chance=known.size * n_equal_pairs / n_pairs,
    )


def _copies(hashes: BitArray, relevance: FloatArray, queries: Queries) -> BoolArray:
    """Return whether each query repeats an earlier one, shape (n_queries,)."""
    of_row = mix(hashes + mix((relevance + 0.0).view(np.uint64)))[queries.order]
    # A sum does not depend on the order of the rows.
    of_query = np.add.reduceat(of_row, queries.offsets[:-1])
    copies = np.ones(queries.n_queries, dtype=bool)
    copies[np.unique(of_query, return_index=True)[1]] = False
    return copies & (queries.sizes > 1)


def warn_of_repeats(found: HashedRows, unit: str = "item", own: bool = False) -> None:
    """Warn if many items or queries occur twice in the data of ``fit``.

    ``own``: in those of a report.
    """
    n_shared, n_rows, how = found.n_shared, found.n_calibration, "equal features"
    remedy = (
        f"Drop the copies, or train the model on other {unit}s (split by what comes "
        "back, such as the patient) and pass it fitted"
    )
    if _is_many(n_shared, n_rows, _FEWEST_ITEMS, found.chance):
        _warn_of_training_rows(f"{n_shared} of {n_rows}", unit, how, remedy)
    if _is_many(found.n_copies, found.n_queries, _FEWEST_QUERIES):
        what = "queries" if own else "calibration queries"
        warn_user(
            f"{found.n_copies} of {found.n_queries} {what} repeat another one under "
            "another qid, all items and their relevance: copies count as evidence that "
            "is not there: promises and intervals need not hold. Drop the copies."
        )


def warn_of_trained(
    model: Any,
    rows: tuple[Any, Any, Queries],
    hashes: BitArray | None,
    unit: str = "item",
) -> None:
    """Warn if rows (X, y and their queries) that calibrate a fitted model trained it.

    Its ``fit`` remembers the rows if it is of this package; otherwise the model may
    tell (`trained_on`).
    """
    model, n_rows = unwrap(model), rows[2].n_items
    # A ranker whose own model came fitted did not train it.
    while (found := getattr(model, "_fit_rows", None)) and not found.trained:
        model = unwrap(model.estimator_)
    remedy = f"Calibrate on other {unit}s, or pass the model unfitted"
    if found is not None:
        n_seen = 0 if hashes is None else found.count_in(_one_per_row(hashes))
        if _is_many(n_seen, n_rows, _FEWEST_ITEMS, found.chance):
            how = "its own fit got them"
            _warn_of_training_rows(f"{n_seen} of {n_rows}", unit, how, remedy)
    elif n_rows >= _FEWEST_ITEMS and trained_on(model, *rows):
        _warn_of_training_rows(f"All, or most, of {n_rows}", unit, _HOW, remedy)


def warn_of_measured(
    ranker: Any, features: Callable[[], Any], y: Any, queries: Queries
) -> None:
    """Warn if rows that a user measures on trained a model that came fitted."""
    if getattr(ranker._fit_rows, "trained", True) or not user_asks():
        return
    if trained_on(ranker.estimator_, features(), y, queries, quick=True):
        warn_user(
            f"All, or most, of these {queries.n_items} items trained the model ({_HOW})"
            ": what is measured is too good for new items. Take other items."
        )


def _warn_of_training_rows(which: str, unit: str, how: str, remedy: str) -> None:
    warn_user(
        f"{which} calibration {unit}s {TRAINED_TOO} ({how}): the "
        "threshold is set on what it has learned by heart, and what it promises need "
        f"not hold for new {unit}s. {remedy}."
    )


def warn_of_seen(
    ranker: Any,
    hash_all: Callable[[], BitArray | None],
    queries: Queries | None = None,
    unit: str = "item",
) -> str:
    """Warn, and say it, if rows or other rows of their queries are as those of ``fit``.

    Silent about rows where a search asks, which may score its training rows.
    """
    found: HashedRows | None = ranker._fit_rows
    if found is None or not found.comparable:
        return ""
    user_measures, n_cut, n_queries = user_asks(), 0, 0
    if queries is not None and queries.n_queries and found.queries.size:
        ids, n_queries = queries.values, queries.n_queries
        # The same numbers may be those of other data, which were counted anew.
        counted = ids.dtype.kind in "iuf" and np.ptp(ids) < n_queries
        if not (user_measures and counted):
            n_cut = np.isin(hash_ids(queries), found.queries, kind="sort").sum()
    cut = _is_many(n_cut, n_queries, _FEWEST_QUERIES)
    hashes = hash_all() if user_measures or cut else None
    if hashes is None:
        return ""
    n_rows, n_seen = len(hashes), found.count_in(_one_per_row(hashes))
    seen = warn_of_count(n_seen, n_rows, found.chance, unit) if user_measures else ""
    if cut and not _is_many(n_seen, n_rows, _FEWEST_ITEMS, found.chance):
        seen = f"{n_cut} of {n_queries} queries have the ids of queries that fit got"
        warn_user(
            f"{seen}, with other items: if a split by rows has cut them in two, what "
            "is measured is too good for new queries. Split by query: GroupKFold or "
            "GroupShuffleSplit, with the ids as groups."
        )
    return seen


def count_seen(found: HashedRows | None, X: Any) -> int:
    """Count the rows that have the features of rows that ``fit`` got."""
    if found is None or not found.comparable:
        return 0
    hashes = hash_rows(X)
    return 0 if hashes is None else found.count_in(hashes)


def warn_of_count(n_seen: int, n_rows: int, chance: float, unit: str = "item") -> str:
    """Warn, and say it, if many of the rows are as those of ``fit``."""
    if not _is_many(n_seen, n_rows, _FEWEST_ITEMS, chance):
        return ""
    seen = f"{n_seen} of {n_rows} {unit}s have the features of {unit}s that fit got"
    warn_user(
        f"{seen}: if they are the same, what is measured on them is too good for new "
        f"data. Measure on {unit}s that fit did not get."
    )
    return seen


def describe_rows(
    ranker: Any,
    hashes: BitArray | None,
    queries: Queries,
    labels: Any = None,
    *,
    unit: str = "item",
) -> AboutRows:
    """Return what a report says about its rows; warn as `warn_of_seen`.

    Parameters
    ----------
    ranker : estimator
        Fitted; nothing is compared if its ``_fit_rows`` is None.
    hashes : ndarray of shape (n_rows,) or (n_pairs, 2), uint64, or None
        Of the rows of the report, as in `find_repeats`.
    queries : Queries
        Of the rows.
    labels : ndarray of shape (n_rows,) or (n_rows, n_labels), default=None
    unit : str, default="item"
        What a row is.
    """
    found: HashedRows | None = ranker._fit_rows
    columns = [queries.codes] if labels is None else [queries.codes, labels]
    digits, seen = fingerprint(hashes, *columns), ""
    lines = [f"fingerprint of these data: {digits or 'none'}"]
    if found is None:
        return AboutRows(lines, False)
    lines.append(f"fingerprint of what fit got: {found.fingerprint or 'none'}")
    if digits and digits == found.fingerprint:
        seen = f"these data are those that fit got, all {queries.n_items} {unit}s"
    if hashes is None or not found.comparable:
        lines.append(
            f"whether {unit}s were used twice cannot be said: too many have equal "
            "features"
        )
        return AboutRows(lines, True, seen)
    n_seen = found.count_in(_one_per_row(hashes))
    seen = warn_of_seen(ranker, lambda: hashes, queries, unit)
    parts = "training and calibration data" if found.trained else "calibration data"
    seen_of = f"{'' if found.complete else 'about '}{n_seen} of {len(hashes)}"
    lines.append(f"{unit}s with features that fit had in its {parts}: {seen_of}")
    if found.trained:
        lines.append(
            f"calibration {unit}s that were in the training part too: "
            f"{found.n_shared} of {found.n_calibration}"
        )
    own = _NOT_COMPARABLE
    if labels is not None and unit == "item":
        own = _compare(hashes, queries, np.arange(len(hashes)), labels, True)
        warn_of_repeats(own, own=True)
    for each, what in ((found, "calibration queries"), (own, "queries of these data")):
        if n := each.n_queries:
            lines.append(f"{what} that repeat another one: {each.n_copies} of {n}")
    return AboutRows(lines, True, seen)


def _is_many(n_found: int, n_all: int, fewest: int, chance: float = 0.0) -> bool:
    # Twice what coarse features make alike on average.
    return n_found >= max(fewest, _SMALLEST_SHARE * n_all) + 2 * chance * n_all


def hash_rows(X: Any) -> BitArray | None:
    """Return a hash of each row, by value; None if numpy cannot read X.

    Parameters
    ----------
    X : array, sparse matrix or frame of shape (n_items, n_features)
        Read only. Missing values are equal to each other, -0.0 is 0.0, 1 is 1.0;
        categories count by what they stand for.

    Returns
    -------
    hashes : ndarray of shape (n_items,), uint64, or None

    Notes
    -----
    One pass: every value is mixed with the number of its column, and a row is the sum.
    """
    # Imported here, since importing numba takes long.
    from skrank_abstain._kernels.features import add_row_hashes

    total = np.zeros(X.shape[0], dtype=np.uint64)
    try:
        if issparse(X):
            return mix(_sums_of_sparse(X))
        for first, columns in _columns_of(X):
            n_columns = columns.shape[1]
            salt = mix(np.arange(first, first + n_columns, dtype=np.uint64))
            step = max(1, _BLOCK // max(n_columns, 1))
            for start in range(0, total.size, step):
                rows = slice(start, start + step)
                add_row_hashes(_bits(columns[rows]), salt, total[rows])
    except (TypeError, ValueError, OverflowError):
        return None
    return mix(total)


def hash_ids(queries: Queries | None) -> BitArray:
    """Return the hashes of the ids of queries, in order; none without."""
    hashes = None if queries is None else hash_rows(queries.values[:, None])
    return _NONE if hashes is None else hashes


def fingerprint(hashes: BitArray | None, *columns: Any) -> str:
    """Return 16 hexadecimal digits that identify the data.

    They begin the SHA-256 of the hashes of the rows (or of their parts) and of further
    columns (the number of the query, the label) as float64, all little-endian, in the
    order of the rows. Empty without hashes.
    """
    if hashes is None:
        return ""
    digest = sha256(hashes.astype("<u8").tobytes())
    for column in columns:
        digest.update((np.asarray(column, dtype=np.float64) + 0.0).astype("<f8"))
    return digest.hexdigest()[:16]


def _columns_of(X: Any) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield columns as numbers or dates, and the position of the first of them."""
    if hasattr(X, "iloc") and X.dtypes.nunique() == 1:
        X = X.to_numpy()  # one block, as a rule without a copy
    if hasattr(X, "iloc"):
        columns: Any = (X.iloc[:, i] for i in range(X.shape[1]))
    elif hasattr(X, "column_names"):  # pyarrow
        columns = X.columns
    elif hasattr(X, "columns"):
        columns = (X[:, i] for i in range(X.shape[1]))
    else:
        array = np.asarray(X)
        if array.dtype.kind in "iufbmM":
            yield 0, array
            return
        columns = array.T
    for position, column in enumerate(columns):
        values = np.asarray(column)
        if values.dtype.kind not in "iufbmM":
            # Viewed as dates, whose bits are not converted.
            values = _bits_of_objects(values.tolist()).view("M8[ns]")
        yield position, values[:, None]


def _bits_of_objects(values: list[Any]) -> BitArray:
    try:
        known = {value: _bits_of_object(value) for value in dict.fromkeys(values)}
        bits = [known[value] for value in values]
    except TypeError:  # Python cannot hash lists and the like
        bits = [_bits_of_object(value) for value in values]
    return np.array(bits, dtype=np.uint64)


def _bits_of_object(value: Any) -> int:
    if is_missing(value):
        return int(_MISSING)
    if isinstance(value, Real):
        return int(_bits(np.array([float(value)]))[0])
    # Python's own hash of a text differs from process to process.
    text = value if isinstance(value, str) else f"{type(value).__name__}{value!r}"
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def _bits(values: NDArray[Any]) -> BitArray:
    """Return a new C-contiguous array of the bits of numbers or dates."""
    if values.dtype.kind in "mM":
        return np.array(values, order="C").view(np.uint64)
    numbers = np.add(values, 0.0, dtype=np.float64, order="C")  # -0.0 becomes 0.0
    bits: BitArray = numbers.view(np.uint64)
    missing = numbers != numbers
    if missing.any():
        bits[missing] = _MISSING
    return bits


def _sums_of_sparse(X: Any) -> BitArray:
    rows = X.tocsr()
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    salt = mix(np.arange(X.shape[1], dtype=np.uint64))
    # A row of zeros, to which each stored value adds its difference from a zero.
    zeros = mix(salt)
    added = mix(_bits(rows.data) + salt[rows.indices]) - zeros[rows.indices]
    sums = np.append(np.uint64(0), np.cumsum(added, dtype=np.uint64))
    return sums[rows.indptr[1:]] - sums[rows.indptr[:-1]] + zeros.sum()
