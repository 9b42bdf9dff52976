"""Models from files, told apart by content. Reading one never runs code from it.

Damaged files are refused before a library's parser sees them where that parser
would end the process (LightGBM) or return fewer trees in silence (CatBoost's JSON).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from typing import Any

from skrank_abstain.scorers._dispatch import TITLES, import_library

_KINDS = "XGBoost (JSON or UBJSON), LightGBM (text) or CatBoost (cbm or JSON)"

#: Parts of a CatBoost model in JSON, one of which opens the file.
_CATBOOST_PARTS = frozenset(
    {"ctr_data", "features_info", "model_info", "oblivious_trees", "trees"}
)

#: First bytes of what people save models as, for the message.
_FOREIGN: tuple[tuple[bytes | tuple[bytes, ...], str], ...] = (
    (b"\x80", "a pickle, which could run code when loaded"),
    (b"PK", "a zip archive, as skops and numpy write"),
    (b"\x1f\x8b", "a gzip archive"),
    (
        (b"x\x01", b"x^", b"x\x9c", b"x\xda"),
        "zlib data, as joblib writes with compress=",
    ),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ", "an xz archive"),
    (b"binf", "XGBoost's old binary format; save it again as JSON"),
    (b"\x93NUMPY", "a numpy array"),
)


def load_model(path: str | os.PathLike[str]) -> Any:
    """Load a model that XGBoost, LightGBM or CatBoost saved.

    Parameters
    ----------
    path : str or path-like
        The file's content decides what it is, whatever its name. No file is
        unpickled, and none can run code.

    Returns
    -------
    model : xgboost.Booster, lightgbm.Booster or catboost.CatBoost

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
    'no_such_file.json', which does not exist.
    """
    name = os.fspath(path)
    content = _read(name)
    kind = _kind(content)
    if kind is None:
        raise _refusal(name, _describe(content))
    library, loader = _LOADERS[kind]
    module = import_library(library, f"Loading the {TITLES[library]} model {name!r}")
    try:
        return loader(module, name, content)
    except Exception as error:
        first = str(error).strip().split("\n")[0]
        raise _refusal(
            name, f"a cut-off or damaged {TITLES[library]} file ({first})"
        ) from error


def _read(name: str) -> bytes:
    try:
        with open(name, "rb") as file:
            return file.read()
    except FileNotFoundError as error:
        raise FileNotFoundError(
            f"estimator must be a model or the path of its file, got {name!r}, which "
            "does not exist."
        ) from error
    except IsADirectoryError as error:
        raise _refusal(name, "a directory") from error


def _refusal(name: str, found: str) -> ValueError:
    return ValueError(
        f"estimator must be a model or the path of a file that {_KINDS} saved, got "
        f"{name!r}, which is {found}. Save the model with its library's own save_model."
    )


def _kind(content: bytes) -> str | None:
    """Return the kind of file that the first bytes announce, or None."""
    if content.startswith(b"CBM1"):
        return "catboost cbm"
    if re.match(rb"tree\r?\n", content):
        return "lightgbm text"
    if content.startswith(b"{L") and content[10:17] == b"learner":
        return "xgboost binary"
    key = _first_key(content)
    if key == "learner":
        return "xgboost json"
    return "catboost json" if key in _CATBOOST_PARTS else None


def _first_key(content: bytes) -> str | None:
    match = re.match(rb'\s*\{\s*"(\w+)"', content[:200])
    return match[1].decode() if match else None


def _describe(content: bytes) -> str:
    if not content:
        return "empty"
    for start, description in _FOREIGN:
        if content.startswith(start):
            return description
    key = _first_key(content)
    if key is not None:
        return f"JSON that begins with {key!r}"
    return f"another kind of file (it begins with {content[:12]!r})"


def _load_xgboost(xgboost: Any, name: str, content: bytes) -> Any:
    if not content.rstrip().endswith(b"}"):  # XGBoost itself forgives the last one
        raise ValueError("its end is missing")
    return xgboost.Booster(model_file=bytearray(content))


def _load_xgboost_json(xgboost: Any, name: str, content: bytes) -> Any:
    # From memory XGBoost takes text for JSON by its first two bytes, {".
    start = content.index(b'"')
    return _load_xgboost(xgboost, name, b"{" + content[start:])


def _load_lightgbm(lightgbm: Any, name: str, content: bytes) -> Any:
    text = content.replace(b"\r\n", b"\n")
    _check_lightgbm(text)
    return lightgbm.Booster(model_str=text.decode())


def _check_lightgbm(text: bytes) -> None:
    """Refuse text whose trees are not all where its header says.

    LightGBM's parser ends the process on such text.
    """
    sizes = re.search(rb"\ntree_sizes=([\d ]*)\n", text)
    start = text.find(b"\n\n") + 2
    if sizes is None or not sizes.end() < start:
        raise ValueError("its header is incomplete")
    for number, size in enumerate(map(int, sizes[1].split())):
        if not text.startswith(b"Tree=%d\n" % number, start):
            raise ValueError(f"tree {number} is not where the header says")
        start += size
    if not text.startswith(b"end of trees\n", start):
        raise ValueError("it does not hold all trees that its header announces")
    _, found, rest = text[start:].partition(b"\nend of parameters\n")
    if not found:
        raise ValueError("its parameters are incomplete")
    # Without this line frames would be scored with other codes of their categories.
    label, _, value = rest.strip().partition(b":")
    if label:
        if label != b"pandas_categorical":
            raise ValueError("its last line is incomplete")
        json.loads(value)


def _load_catboost(catboost: Any, name: str, content: bytes) -> Any:
    # Not blob=content: from memory CatBoost reads past the end of a cut-off model.
    core = int.from_bytes(content[4:8], "little")
    if len(content) < 8 + core:
        raise ValueError(f"it has {len(content)} bytes and announces {8 + core}")
    return catboost.CatBoost().load_model(name, format="cbm")


def _load_catboost_json(catboost: Any, name: str, content: bytes) -> Any:
    # CatBoost itself takes a file that was cut off for a smaller model.
    parts = json.loads(content)
    absent = {"features_info", "scale_and_bias"} - set(parts)
    if absent or not {"oblivious_trees", "trees"} & set(parts):
        raise ValueError("parts of the model are missing")
    return catboost.CatBoost().load_model(name, format="json")


#: Library and loader of each kind of file.
_LOADERS: dict[str, tuple[str, Callable[[Any, str, bytes], Any]]] = {
    "xgboost json": ("xgboost", _load_xgboost_json),
    "xgboost binary": ("xgboost", _load_xgboost),
    "lightgbm text": ("lightgbm", _load_lightgbm),
    "catboost cbm": ("catboost", _load_catboost),
    "catboost json": ("catboost", _load_catboost_json),
}
