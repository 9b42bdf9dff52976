"""Text files of data, which may be compressed, and the words of their lines: tokens."""

from __future__ import annotations

import bz2
import gzip
import lzma
import math
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from skrank_abstain._validation import shown

#: First bytes of compressed files.
_SIGNS: dict[bytes, Any] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
}
#: Errors that damaged archives raise; bz2 has none of its own.
DAMAGED = (EOFError, OSError, lzma.LZMAError, zlib.error)
#: Longer lines are not read: a small archive can hold a line larger than the memory.
_LONGEST_LINE = 1 << 26
#: Characters of a token that messages show.
_LONGEST = 100


def open_file(file: Path) -> IO[bytes]:
    """Open a file for reading; unpack gzip, bzip2 and xz, whatever its name."""
    with file.open("rb") as plain:
        start = plain.read(6)
    opener = next((o for sign, o in _SIGNS.items() if start.startswith(sign)), open)
    stream: IO[bytes] = opener(file, "rb")
    return stream


def read_lines(file: Path) -> Iterator[bytes]:
    """Yield the lines of a file.

    Raises ValueError at a damaged archive, and at a line of more than 64 MB.
    """
    with open_file(file) as stream:
        number = 0
        try:
            while line := stream.readline(_LONGEST_LINE):
                number += 1
                if len(line) == _LONGEST_LINE:
                    raise ValueError(
                        f"{file} must have lines of less than 64 MB, got more in line "
                        f"{number}: check that it is a file of rankings."
                    )
                yield line
        except DAMAGED as error:
            raise ValueError(
                f"{file} must be a whole archive, got one that breaks off or is "
                f"damaged after line {number}: {error}"
            ) from error


def is_finite(token: bytes) -> bool:
    """Return whether a token is a finite number, without underscores."""
    try:
        return b"_" not in token and math.isfinite(float(token))
    except ValueError:
        return False


def as_integer(token: bytes) -> int | None:
    """Return a token as an integer of at most 64 bits, None if it is not one."""
    try:
        number = int(token)
    except ValueError:
        return None
    return number if b"_" not in token and -(2**63) <= number < 2**63 else None


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
