"""Load models from files, recognised by content. No code in a file is ever run.

Truncated files are refused before a library's parser sees them where that parser would
end the process (LightGBM) or silently return fewer trees (CatBoost's JSON). Only a
checksum finds all other damage.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import Any

from skrank_abstain._validation import shown
from skrank_abstain.scorers._adapter import first_key
from skrank_abstain.scorers._boosters import BOOSTERS

#: Characters of a library's own message that are repeated.
_LONGEST = 200
_ZLIB = "zlib data, as joblib writes with compress="

#: First bytes of other files that people save models in, for the message.
_FOREIGN: tuple[tuple[bytes, str], ...] = (
    (b"\x80", "a pickle, which could run code when loaded"),
    (b"PK", "a zip archive, as skops and numpy write"),
    (b"\x1f\x8b", "a gzip archive"),
    *((start, _ZLIB) for start in (b"x\x01", b"x^", b"x\x9c", b"x\xda")),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ", "an xz archive"),
    (b"\x93NUMPY", "a numpy array"),
)


def load_model(path: str | os.PathLike[str], *, sha256: str | None = None) -> Any:
    """Load a model that one of the libraries in ``BOOSTERS`` saved.

    Parameters
    ----------
    path : str or path-like
        The content decides which library reads the file, not the name. No file is
        unpickled, and none can run code. For a Spark model, its folder.
    sha256 : str, default=None
        SHA-256 of the file, 64 hexadecimal digits, checked before a library sees the
        file. Nothing else shows that a file is undamaged.

    Returns
    -------
    model : object
        ``xgboost.Booster``, ``lightgbm.Booster``, ``catboost.CatBoost``, or the like.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is empty, cut off, damaged, of another kind, or has another
        checksum; or if ``sha256`` is not one.
    ImportError
        If the library that wrote the file is not installed.

    Notes
    -----
    The bytes that were compared are those that are loaded. CatBoost reads the file a
    second time; one that changed in between is refused.

    Examples
    --------
    >>> from skrank_abstain.scorers import load_model
    >>> load_model("no_such_file.json")
    Traceback (most recent call last):
        ...
    FileNotFoundError: estimator must be a model or the path of its file, got
    'no_such_file.json', which does not exist; check the path.
    """
    name = os.fspath(path)
    if os.path.isdir(name):
        name = _file_in(name)
    content = _read(name, sha256)
    booster = next((one for one in BOOSTERS if one.opens(content)), None)
    if booster is None:
        raise _refusal(name, _describe(content))
    try:
        # Separate from load: a failed import says nothing about the file.
        booster.module()
    except ImportError as error:
        raise ImportError(
            f"Loading the {booster.title} model {name!r} requires {booster.name}; "
            f"install {booster.requirement}."
        ) from error
    try:
        return booster.load(name, content)
    except Exception as error:
        found = f"a cut-off or damaged {booster.title} file ({_first_line(error)})"
        raise _refusal(name, found) from error


def _first_line(error: Exception) -> str:
    """Return the first line of an error's message, shortened, or the error's name."""
    words = str(error).strip().split("\n")[0] or type(error).__name__
    return words if len(words) <= _LONGEST else f"{words[:_LONGEST]}..."


def _file_in(folder: str) -> str:
    for booster in BOOSTERS:
        file = booster.file_in(folder)
        if file is not None:
            return file
    raise _refusal(folder, "a directory")


def _check_digits(sha256: str) -> None:
    if not isinstance(sha256, str):
        raise TypeError(f"sha256 must be a str, got {shown(sha256)}.")
    if not re.fullmatch("[0-9a-fA-F]{64}", sha256):
        raise ValueError(
            f"sha256 must be 64 hexadecimal digits alone, got {shown(sha256)}; from a "
            "line that sha256sum printed take the first word, line.split()[0], without "
            "a prefix such as sha256:."
        )


def _read(name: str, sha256: str | None) -> bytes:
    """Return the bytes of a file whose checksum, if one is given, is the right one."""
    if sha256 is not None:
        _check_digits(sha256)
    try:
        content = Path(name).read_bytes()
    except FileNotFoundError as error:
        raise FileNotFoundError(
            f"estimator must be a model or the path of its file, got {name!r}, which "
            "does not exist; check the path."
        ) from error
    found = hashlib.sha256(content).hexdigest() if sha256 else ""
    if sha256 and found != sha256.lower():
        raise ValueError(
            f"sha256 must be that of the file {name!r}, {found}, got {sha256}; the "
            "file is damaged or another one: copy it again from where the checksum "
            "was made."
        )
    return content


def _refusal(name: str, found: str) -> ValueError:
    *kinds, last = [f"{one.title} ({one.formats})" for one in BOOSTERS if one.formats]
    return ValueError(
        "estimator must be a model or the path of a file that "
        f"{', '.join(kinds)} or {last} saved, got {name!r}, which is {found}. "
        "Save the model with its library's own save_model."
    )


def _describe(content: bytes) -> str:
    if not content:
        return "empty"
    foreign = [pair for one in BOOSTERS for pair in one.foreign]
    for start, description in (*_FOREIGN, *foreign):
        if content.startswith(start):
            return description
    if key := first_key(content):
        return f"JSON that begins with {key!r}"
    return f"another kind of file (it begins with {content[:12]!r})"
