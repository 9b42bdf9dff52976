"""Checks of single values, and short texts for them in messages: never data."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np

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
    collection = isinstance(value, list | tuple | dict | set | frozenset)
    if collection and len(value) > _MOST:
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
    # Without bounds NaN is a value, as in zero_division=nan.
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
    return check_real(
        value,
        name,
        0,
        1,
        include_low=include_zero,
        include_high=include_one,
        remedy=f" {value} % is {value / 100:g}." if percent else "",
    )


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


def check_quantile(coverage: float, quantile: str, boundary: str) -> None:
    """Validate a coverage; reject unknown or incompatible options."""
    check_fraction(coverage, "coverage", include_one=True)
    check_choice(boundary, "boundary", ("accept", "randomize"))
    check_choice(quantile, "quantile", ("inverted_cdf", "linear"))
    if boundary == "randomize" and quantile == "linear":
        raise ValueError(
            "boundary='randomize' must go with quantile='inverted_cdf', got "
            "quantile='linear': an interpolated threshold has no pairs on it."
        )


def rounded_share(share: float, counts: Any) -> Any:
    """Return ``share * counts``, rounded up to whole numbers."""
    # 0.07 * 100 is 7.000000000000001 as a float, and must not become eight.
    return np.ceil(share * counts * (1 - 1e-12)).astype(np.int64)
