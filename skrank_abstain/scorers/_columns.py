"""Columns of X by name, as the model knows them.

LightGBM never compares names, XGBoost not those of polars frames, and CatBoost
ignores columns that an array has too many of: each a wrong score without a word.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_features

from skrank_abstain.scorers._dispatch import TITLES, loaded_library

#: First versions that read polars frames; XGBoost has done so since 3.0.
_POLARS_SINCE = {"lightgbm": (4, 7), "catboost": (1, 2, 9)}


@dataclass(frozen=True)
class Features:
    """Columns that a model was trained on.

    Attributes
    ----------
    names : list of str or None
        None, or the library's default names, for a model trained on an array.
    count : int
        Number of columns.
    knows_categories : bool
        Whether the model recognises categories by value. One trained on codes does
        not, and would take the codes of whatever frame it scores.
    """

    names: list[str] | None
    count: int
    knows_categories: bool


def align_columns(X: Any, library: str, features: Features) -> Any:
    """Return ``X`` with its columns in the order that the model was trained on.

    Parameters
    ----------
    X : array, sparse matrix or data frame
    library : {"xgboost", "lightgbm", "catboost"}
    features : Features
        The columns the model was trained on.

    Returns
    -------
    X : same type
        The same object where nothing had to move; see also :func:`readable`.

    Raises
    ------
    ValueError
        If columns are missing or unexpected, or of a kind that the model would
        misread.
    """
    X = readable(X, library)
    if not features.knows_categories:
        _refuse_categories(X, library)
    given = column_names(X, library)
    expected = [_plain(name, library) for name in features.names or ()]
    if given is not None and expected:
        if given == expected:
            return X
        if len(set(given)) == len(given) and set(given) == set(expected):
            place = {name: position for position, name in enumerate(given)}
            return _safe_indexing(X, [place[name] for name in expected], axis=1)
        if not has_default_names(features, library):
            raise ValueError(_name_mismatch(given, expected, library))
    n_given = _num_features(X)
    if n_given != features.count:
        raise ValueError(
            f"X must have {features.count} columns, as many as the {TITLES[library]} "
            f"model was trained on, got {n_given}."
        )
    return X


def column_names(X: Any, library: str) -> list[str] | None:
    """Return the column names of a data frame as ``library`` spells them."""
    if hasattr(X, "iloc") or _is_polars(X):
        return [_plain(name, library) for name in X.columns]
    if hasattr(X, "column_names"):  # pyarrow
        return [_plain(name, library) for name in X.column_names]
    return None


def readable(X: Any, library: str | None) -> Any:
    """Return ``X``, as a pandas frame where the library is too old for polars.

    Columns at which LightGBM would end the process raise: it reads polars frames in
    Arrow's format, and there it knows numbers only.
    """
    if library is None or not _is_polars(X):
        return X
    if library == "lightgbm":
        _check_numeric(X)
    version = re.findall(r"\d+", loaded_library(library).__version__)
    reads_polars = tuple(map(int, version)) >= _POLARS_SINCE.get(library, ())
    return X if reads_polars else X.to_pandas()


def _check_numeric(X: Any) -> None:
    bad = [
        f"{name} ({kind})"
        for name, kind in X.schema.items()
        if not (kind.is_integer() or kind.is_float() or str(kind) == "Boolean")
    ]
    if bad:
        raise ValueError(
            "X must have numeric columns for LightGBM to read a polars frame, got "
            f"{', '.join(bad[:10])}; make the column Categorical and pass "
            "X.to_pandas()."
        )


def _refuse_categories(X: Any, library: str) -> None:
    if hasattr(X, "iloc"):
        kinds = zip(X.columns, X.dtypes, strict=True)
    elif _is_polars(X):
        kinds = X.schema.items()
    else:
        return
    bad = [
        str(name)
        for name, kind in kinds
        if str(kind).lower().startswith(("categ", "enum"))
    ]
    if bad:
        raise ValueError(
            f"X must hold codes, as the {TITLES[library]} model was trained on codes "
            "(neither its training data nor its file names categories), got the "
            f"categorical columns {', '.join(bad[:10])}; replace them by the codes "
            "used in training."
        )


def _is_polars(X: Any) -> bool:
    return type(X).__module__.partition(".")[0] == "polars"


def _plain(name: Any, library: str) -> str:
    if library == "lightgbm":  # it stores "two words" as "two_words"
        return str(name).replace(" ", "_")
    if library == "xgboost" and isinstance(name, tuple):
        return " ".join(map(str, name))
    return str(name)


def has_default_names(features: Features, library: str) -> bool:
    """Return whether the library made the names up for want of any."""
    names = features.names
    if names is None:
        return False
    prefix = {"xgboost": "f", "lightgbm": "Column_", "catboost": ""}[library]
    return names == [f"{prefix}{position}" for position in range(len(names))]


def _name_mismatch(given: list[str], expected: list[str], library: str) -> str:
    known, seen = set(expected), set(given)
    found = {
        "missing": [name for name in expected if name not in seen],
        "unexpected": [name for name in given if name not in known],
        "repeated": sorted({name for name in given if given.count(name) > 1}),
    }
    listed = "; ".join(
        f"{what}: {', '.join(names[:10])}{', ...' if len(names) > 10 else ''}"
        for what, names in found.items()
        if names
    )
    return (
        f"X must have the columns that the {TITLES[library]} model was trained on "
        f"(feature names, in any order), got {listed}."
    )
