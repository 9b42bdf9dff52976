"""Shared by the loaders of text files."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from skrank_abstain.datasets import DAMAGED, open_file


def read_lines(file: Path) -> list[str]:
    """Return the lines of a text file in UTF-8, with or without a byte-order mark.

    It may be compressed (gzip, bzip2 or xz), whatever its name.
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


@contextmanager
def at_line(file: Path, number: int) -> Iterator[None]:
    """Put the file and the number of the line in front of an error."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{file}, line {number}: {error}") from error


def parse_number(text: str) -> float | None:
    """Return the number that a text stands for, or None for another text."""
    if "_" in text:  # Python reads 1_0 as ten
        return None
    try:
        return float(text)
    except ValueError:
        return None
