"""What occurs twice where it must not: items and queries, found by their features."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from skrank_abstain._saving import Value
from skrank_abstain._validation import BoolArray, FloatArray, IntArray
from skrank_abstain._warnings import warn_user
from skrank_abstain.intake._row_hashes import (
    HashArray,
    fingerprint,
    hash_rows_if_readable,
    mix,
)
from skrank_abstain.pairs import Queries, group_queries

#: Of fewer different rows than this nobody can say which item they are.
_LEAST_DISTINCT = 0.95
#: Fewer, or a smaller share of them, are in the report but no warning's matter.
_FEWEST_ITEMS, _FEWEST_QUERIES, _SMALLEST_SHARE = 10, 3, 0.01
#: Rows that a fitted ranker remembers: those of the smallest hashes, 800 kB.
_REMEMBERED = 100_000


@dataclass(frozen=True, eq=False)
class FitRows(Value):
    """What ``fit`` got twice, and the rows to know its items by.

    Attributes
    ----------
    comparable : bool
        Whether rows tell items apart; if not, nothing else here means anything.
    n_shared, n_calibration : int
        Items of the calibration part that are in the training part too, and all.
    n_copies, n_queries : int
        Calibration queries that repeat an earlier one, and all; 0 of 0 where this was
        not looked for.
    trained : bool
        Whether there was a training part: the rows of a model that came fitted are
        not known.
    hashes : ndarray of shape (n_hashes,), uint64
        Of the rows that ``fit`` got, ascending; the smallest 100,000.
    complete : bool
        Whether these are all.
    fingerprint : str
        Of all that ``fit`` got; empty where it is not known.
    """

    comparable: bool
    n_shared: int
    n_calibration: int
    n_copies: int
    n_queries: int
    trained: bool
    hashes: HashArray
    complete: bool
    # With a default for rankers that were saved before there was one.
    fingerprint: str = ""

    def count_in(self, hashes: HashArray) -> int:
        """Return how many of some rows ``fit`` got; an estimate unless ``complete``."""
        if not self.hashes.size:
            return 0
        # Hashes are as good as random: those up to a limit are a sample of all.
        reach = hashes if self.complete else hashes[hashes <= self.hashes[-1]]
        found = _is_in(reach, self.hashes).sum()
        return round(float(found * hashes.size / max(reach.size, 1)))


_NOT_COMPARABLE = FitRows(False, 0, 0, 0, 0, False, np.zeros(0, np.uint64), True)


class AboutRows(NamedTuple):
    """What a report says of its rows.

    Attributes
    ----------
    lines : list of str
    warnings : list of str
        What casts doubt on the rest of the report.
    compared : bool
        Whether the rows were compared with those that ``fit`` got.
    """

    lines: list[str]
    warnings: list[str]
    compared: bool


def hash_halves(X: tuple[Any, Any]) -> HashArray | None:
    """Return hashes (n_pairs, 2) of the left and the right half of rows of pairs."""
    left, right = (hash_rows_if_readable(half) for half in X)
    return None if left is None or right is None else np.stack([left, right], axis=1)


def find_repeats(
    hashes: HashArray | None,
    queries: Queries,
    calibration: IntArray,
    labels: Any,
    *,
    copies: bool = False,
) -> FitRows:
    """Compare the rows that ``fit`` got with each other.

    Parameters
    ----------
    hashes : ndarray of shape (n_rows,) or (n_pairs, 2), uint64, or None
        Of the rows. A pair is the same pair with its halves swapped.
    queries : Queries
    calibration : ndarray of int64
        Rows of the calibration part, ascending; the others trained. Without others
        it is not known what trained the model.
    labels : ndarray of shape (n_rows,) or (n_rows, n_labels)
    copies : bool, default=False
        Whether repeated queries are looked for.

    Returns
    -------
    found : FitRows

    Notes
    -----
    A query repeats another one where both have the same rows with the same label,
    in any order, two at least.

    Rows tell items apart if, each repeated query counted once, at least 95 % of the
    rows of a part differ from each other; or if items of two queries are equal more
    than ten times as often as items of one query, for which chance is no reason but
    items that come back, as the same patients do on many days. Rows that are there
    twice in one query stand for more than one item and are never counted.
    """
    digits = fingerprint(hashes, queries.codes, labels)
    found = _compare(_one_per_row(hashes), queries, calibration, labels, copies)
    return replace(found, fingerprint=digits)


def _one_per_row(hashes: HashArray | None) -> HashArray | None:
    if hashes is None or hashes.ndim == 1:
        return hashes
    # A sum is the same with the halves swapped.
    merged: HashArray = mix(hashes).sum(axis=1, dtype=np.uint64)
    return merged


def _compare(
    hashes: HashArray | None,
    queries: Queries,
    calibration: IntArray,
    labels: Any,
    look_for_copies: bool,
) -> FitRows:
    if hashes is None:
        return _NOT_COMPARABLE
    trains = np.ones(queries.n_items, dtype=bool)
    trains[calibration] = False
    training = np.flatnonzero(trains)
    copies, vague = np.zeros(0, dtype=bool), []
    for part in (training, calibration):
        if part.size:
            own, grouped = hashes[part], group_queries(queries.codes[part], part.size)
            if look_for_copies:
                copies = _copies(own, labels[part], grouped)
            twice, n_equal = _twice_in_a_query(own, grouped)
            once = own[~copies[grouped.codes]] if copies.size else own
            if not _tells_apart(own, once, grouped, n_equal):
                return _NOT_COMPARABLE
            vague.append(twice)
    known, _ = _distinct(hashes)
    known = known[~_is_in(known, np.sort(np.concatenate(vague)))]
    # Looked up in order: at random it would wait for the memory.
    calibrated = np.sort(hashes[calibration])
    trained = np.sort(hashes[training])
    shared = _is_in(calibrated, trained) & _is_in(calibrated, known)
    return FitRows(
        comparable=True,
        n_shared=int(shared.sum()),
        n_calibration=calibration.size,
        n_copies=int(copies.sum()),
        n_queries=copies.size,
        trained=training.size > 0,
        hashes=known[:_REMEMBERED].copy(),
        complete=known.size <= _REMEMBERED,
    )


def _copies(hashes: HashArray, relevance: FloatArray, queries: Queries) -> BoolArray:
    """Return which queries repeat an earlier one, row by row, shape (n_queries,)."""
    # A sum is the same in any order of the rows.
    grade = mix((relevance + 0.0).view(np.uint64))
    of_row = mix(hashes + grade)[queries.order]
    sums = np.append(np.uint64(0), np.cumsum(of_row, dtype=np.uint64))
    of_query = sums[queries.offsets[1:]] - sums[queries.offsets[:-1]]
    copies = np.ones(queries.n_queries, dtype=bool)
    copies[np.unique(of_query, return_index=True)[1]] = False
    return copies & (queries.sizes > 1)


def _twice_in_a_query(hashes: HashArray, queries: Queries) -> tuple[HashArray, float]:
    """Return the hashes of rows that some query has twice, and its pairs of those."""
    in_query = hashes ^ mix(queries.codes)
    order = np.argsort(in_query)
    _, first = _distinct(in_query[order])
    counts = np.diff(first, append=order.size)
    return hashes[order[first[counts > 1]]], _pairs(counts)


def _distinct(hashes: HashArray) -> tuple[HashArray, IntArray]:
    """Return different hashes, ascending, and where each begins in sorted order."""
    # numpy.unique takes seventy times as long for a million of them.
    ordered = np.sort(hashes)
    first = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])[: ordered.size])
    return ordered[first], first


def _is_in(hashes: HashArray, ordered: HashArray) -> BoolArray:
    """Return which hashes are among some that are in ascending order."""
    if not ordered.size:
        return np.zeros(hashes.size, dtype=bool)
    place = np.searchsorted(ordered, hashes)
    found: BoolArray = ordered[np.minimum(place, ordered.size - 1)] == hashes
    return found


def _pairs(counts: IntArray) -> float:
    return float((counts * (counts - 1.0) / 2).sum())


def _tells_apart(
    hashes: HashArray, once: HashArray, queries: Queries, n_equal: float
) -> bool:
    """Whether rows of a part are distinct enough to know items by."""
    if _distinct(once)[0].size >= _LEAST_DISTINCT * once.size:
        return True
    n_between = queries.n_items * (queries.n_items - 1) / 2 - queries.n_pairs
    if n_between == 0:
        return False
    counts = np.diff(_distinct(hashes)[1], append=hashes.size)
    n_equal_between = _pairs(counts) - n_equal
    expected = queries.n_pairs * n_equal_between / n_between
    return 10 * (n_equal + 1) <= expected


def warn_of_repeats(found: FitRows, unit: str = "item") -> None:
    """Warn of what ``fit`` got twice."""
    if _is_many(found.n_shared, found.n_calibration, _FEWEST_ITEMS):
        warn_user(
            f"{found.n_shared} of {found.n_calibration} calibration {unit}s are in the "
            "training part too, with equal features: the threshold is set on what the "
            "model has learned by heart, and what it promises need not hold for new "
            f"{unit}s. Train the model on other {unit}s than it is calibrated on "
            "(split by what comes back, such as the patient, and pass the fitted "
            "model), or drop the copies."
        )
    if _is_many(found.n_copies, found.n_queries, _FEWEST_QUERIES):
        warn_user(
            f"{found.n_copies} of {found.n_queries} calibration queries repeat another "
            "one under another qid, all items and their relevance: copies count as "
            "evidence that is not there, and what is promised need not hold. Drop the "
            "copies."
        )


def describe_rows(
    ranker: Any,
    hashes: HashArray | None,
    codes: IntArray,
    labels: Any = None,
    *,
    unit: str = "item",
) -> AboutRows:
    """Return what a report says of its rows, and warn of those that ``fit`` got.

    Parameters
    ----------
    ranker : estimator
        Fitted; where its ``_fit_rows`` is None nothing is compared.
    hashes : ndarray of shape (n_rows,) or (n_pairs, 2), uint64, or None
        Of the rows of the report, as in `find_repeats`.
    codes : ndarray of shape (n_rows,), int64
        Number of the query of each row.
    labels : ndarray of shape (n_rows,) or (n_rows, n_labels), default=None
    unit : str, default="item"
        What a row is.
    """
    found: FitRows | None = ranker._fit_rows
    columns = [codes] if labels is None else [codes, labels]
    lines = [f"fingerprint of these data: {fingerprint(hashes, *columns) or 'none'}"]
    if found is None:
        return AboutRows(lines, [], False)
    lines.append(f"fingerprint of what fit got: {found.fingerprint or 'none'}")
    own = _one_per_row(hashes)
    if own is None or not found.comparable:
        lines.append(
            f"whether {unit}s were used twice cannot be said: too many have equal "
            "features"
        )
        return AboutRows(lines, [], True)
    warnings, n_seen, n_rows = [], found.count_in(own), own.size
    parts = "training and calibration data" if found.trained else "calibration data"
    if _is_many(n_seen, n_rows, _FEWEST_ITEMS):
        seen = (
            f"{n_seen} of {n_rows} {unit}s of this report were in the {parts} of fit, "
            f"with equal features: what it says of them is too good for new {unit}s"
        )
        warn_user(f"{seen}. Report on {unit}s that fit did not get.")
        warnings.append(seen)
    about = "" if found.complete else "about "
    lines.append(f"{unit}s that fit had in its {parts}: {about}{n_seen} of {n_rows}")
    if found.trained:
        lines.append(
            f"calibration {unit}s that were in the training part too: "
            f"{found.n_shared} of {found.n_calibration}"
        )
    if found.n_queries:
        lines.append(
            "calibration queries that repeat another one: "
            f"{found.n_copies} of {found.n_queries}"
        )
    return AboutRows(lines, warnings, True)


def _is_many(n_found: int, n_all: int, fewest: int) -> bool:
    return n_found >= max(fewest, _SMALLEST_SHARE * n_all)
