"""Words of a line in a text file, called tokens here."""

from __future__ import annotations

import math

from skrank_abstain._validation import shown

#: Characters of a token that messages show.
_LONGEST = 100


def is_finite(token: bytes) -> bool:
    """Return whether a token is a finite number, without underscores."""
    try:
        return b"_" not in token and math.isfinite(float(token))
    except ValueError:
        return False


def as_integer(token: bytes) -> int | None:
    """Return a token as an integer, None if it is not one."""
    try:
        return None if b"_" in token else int(token)
    except ValueError:
        return None


def encoding_problem(text: bytes) -> str | None:
    """Return what the first bytes show to be wrong with a file's encoding, or None."""
    if text.startswith(b"\xef\xbb\xbf"):
        return "a byte order mark: save the file as UTF-8 without it"
    if b"\0" in text or text.startswith(b"PK\x03\x04"):
        return "neither UTF-8 text nor gzip, bzip2 or xz"
    return None


def show(token: bytes) -> str:
    """Return a token for a message, shortened."""
    return shown(token[:_LONGEST].decode("utf-8", errors="replace"))
