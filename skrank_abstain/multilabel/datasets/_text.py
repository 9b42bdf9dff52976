"""What the loaders of text files share."""

from __future__ import annotations

import io
from pathlib import Path

from skrank_abstain.datasets import DAMAGED, open_file


def read_lines(file: Path) -> list[str]:
    """Return the lines of a text file in UTF-8, with or without a byte-order mark.

    It may be compressed (gzip, bzip2 or xz), whatever it is called.
    """
    if not file.is_file():
        raise FileNotFoundError(f"path must be an existing file, got '{file}'.")
    try:
        with open_file(file) as stream:
            text = stream.read().decode("utf-8-sig")
        return io.StringIO(text, newline=None).read().split("\n")
    except DAMAGED as error:
        raise ValueError(
            f"{file} must be a whole archive, got one that breaks off or is damaged: "
            f"{error}"
        ) from error
    except UnicodeDecodeError as error:
        before = error.object[: error.start].count(b"\n")
        raise ValueError(
            f"{file}, line {before + 1}: the text must be encoded in UTF-8."
        ) from error


def parse_number(text: str) -> float | None:
    """Return the number that a text stands for, or None if it is no number."""
    if "_" in text:  # Python reads 1_0 as ten
        return None
    try:
        return float(text)
    except ValueError:
        return None
