"""Words of a line in a text file: numbers among them, and what is wrong with one."""

from __future__ import annotations

import math

from skrank_abstain._validation import shown

#: Only the first characters of what is wrong are shown.
_LONGEST = 100


def is_finite(token: bytes) -> bool:
    """Return whether a token is a finite number, without underscores."""
    try:
        return b"_" not in token and math.isfinite(float(token))
    except ValueError:
        return False


def as_integer(token: bytes) -> int | None:
    """Return the integer that a token is, None if it is none."""
    try:
        return None if b"_" in token else int(token)
    except ValueError:
        return None


def encoding_problem(text: bytes) -> str | None:
    """Return what is wrong with the encoding of a file that begins like this."""
    if text.startswith(b"\xef\xbb\xbf"):
        return "a byte order mark: save the file as UTF-8 without it"
    if b"\0" in text or text.startswith(b"PK\x03\x04"):
        return "neither UTF-8 text nor gzip, bzip2 or xz"
    return None


def show(token: bytes) -> str:
    """Return a short text for a token."""
    return shown(token[:_LONGEST].decode("utf-8", errors="replace"))
