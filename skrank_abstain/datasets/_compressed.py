"""Files that may be compressed."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

#: What compressed files begin with.
_SIGNS: dict[bytes, Any] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
}
#: What reading a damaged one raises; bz2 has no error of its own.
DAMAGED = (EOFError, OSError, lzma.LZMAError, zlib.error)


def open_file(file: Path) -> IO[bytes]:
    """Open a file for reading, unpacking gzip, bzip2 and xz whatever its name."""
    with file.open("rb") as plain:
        start = plain.read(6)
    opener = next((o for sign, o in _SIGNS.items() if start.startswith(sign)), open)
    stream: IO[bytes] = opener(file, "rb")
    return stream


def read_lines(file: Path) -> Iterator[bytes]:
    """Yield the lines of a file; one that is a damaged archive is an error."""
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
