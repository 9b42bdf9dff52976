"""What a user passed, as words for a message: never data."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

_LONGEST = 120
_MOST = 10


def shown(value: Any) -> str:
    """Return a short text for a value: what it is, or its repr up to 120 characters.

    Arrays and frames are named by type and shape, collections of more than ten values
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
    """Return up to ten names, and how many there are if there are more."""
    every = list(names)
    few = ", ".join(repr(name) for name in every[:_MOST])
    return f"[{few}]" if len(every) <= _MOST else f"[{few}, ...], {len(every)} in all"
