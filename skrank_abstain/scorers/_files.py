"""Models from files, told apart by content. Reading one never runs code from it.

Damaged files are refused before a library's parser sees them where that parser
would end the process (LightGBM) or return fewer trees in silence (CatBoost's JSON).
"""

from __future__ import annotations

import os
from typing import Any

from skrank_abstain.scorers._adapter import first_key
from skrank_abstain.scorers._dispatch import BOOSTERS

_ZLIB = "zlib data, as joblib writes with compress="

#: First bytes of what people save models as, for the message.
_FOREIGN: tuple[tuple[bytes, str], ...] = (
    (b"\x80", "a pickle, which could run code when loaded"),
    (b"PK", "a zip archive, as skops and numpy write"),
    (b"\x1f\x8b", "a gzip archive"),
    *((start, _ZLIB) for start in (b"x\x01", b"x^", b"x\x9c", b"x\xda")),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ", "an xz archive"),
    (b"\x93NUMPY", "a numpy array"),
)


def load_model(path: str | os.PathLike[str]) -> Any:
    """Load a model that one of the libraries in ``BOOSTERS`` saved.

    Parameters
    ----------
    path : str or path-like
        The file's content decides what it is, whatever its name. No file is
        unpickled, and none can run code.

    Returns
    -------
    model : object
        ``xgboost.Booster``, ``lightgbm.Booster``, ``catboost.CatBoost``, or the like.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is empty, cut off, damaged, or of another kind.
    ImportError
        If the library that wrote the file is not installed.

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
    content = _read(name)
    booster = next((one for one in BOOSTERS if one.opens(content)), None)
    if booster is None:
        raise _refusal(name, _describe(content))
    try:
        # On its own: a library that breaks at import says nothing about the file.
        booster.module()
    except ImportError as error:
        raise ImportError(
            f"Loading the {booster.title} model {name!r} requires {booster.name}; "
            f"install {booster.requirement}."
        ) from error
    try:
        return booster.load(name, content)
    except Exception as error:
        first = str(error).strip().split("\n")[0]
        raise _refusal(
            name, f"a cut-off or damaged {booster.title} file ({first})"
        ) from error


def _read(name: str) -> bytes:
    try:
        with open(name, "rb") as file:
            return file.read()
    except FileNotFoundError as error:
        raise FileNotFoundError(
            f"estimator must be a model or the path of its file, got {name!r}, which "
            "does not exist; check the path."
        ) from error
    except IsADirectoryError as error:
        raise _refusal(name, "a directory") from error


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
    key = first_key(content)
    if key is not None:
        return f"JSON that begins with {key!r}"
    return f"another kind of file (it begins with {content[:12]!r})"
