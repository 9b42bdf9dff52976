"""What the loaders of text files share."""

from __future__ import annotations

from pathlib import Path


def read_lines(file: Path) -> list[str]:
    """Return the lines of a text file in UTF-8, with or without a byte-order mark."""
    if not file.is_file():
        raise FileNotFoundError(f"path must be an existing file, got '{file}'.")
    try:
        return file.read_text(encoding="utf-8-sig").split("\n")
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
