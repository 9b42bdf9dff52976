"""Files that may be compressed."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

#: First bytes of compressed files.
_SIGNS: dict[bytes, Any] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
}
#: Errors that damaged archives raise; bz2 has none of its own.
DAMAGED = (EOFError, OSError, lzma.LZMAError, zlib.error)


def open_file(file: Path) -> IO[bytes]:
    """Open a file for reading; unpack gzip, bzip2 and xz, whatever its name."""
    with file.open("rb") as plain:
        start = plain.read(6)
    opener = next((o for sign, o in _SIGNS.items() if start.startswith(sign)), open)
    stream: IO[bytes] = opener(file, "rb")
    return stream


def read_lines(file: Path) -> Iterator[bytes]:
    """Yield the lines of a file, and raise ValueError if it is a damaged archive."""
    with open_file(file) as stream:
        number = 0
        try:
            for line in stream:
                number += 1
                yield line
        except DAMAGED as error:
            raise ValueError(
                f"{file} must be a whole archive, got one that breaks off or is "
                f"damaged after line {number}: {error}"
            ) from error
