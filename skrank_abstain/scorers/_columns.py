"""Match the columns of X with those of the model, by name.

Each library leaves something unchecked: all names, the names of polars frames, or extra
columns. Any of these gives silently wrong scores.
"""

from __future__ import annotations

from typing import Any

from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_features

from skrank_abstain.scorers._adapter import Booster, Features


def align_columns(X: Any, booster: Booster, features: Features) -> Any:
    """Return ``X`` with its columns in the order that the model was trained on.

    Parameters
    ----------
    X : array, sparse matrix or data frame
    booster : Booster
        The model's library.
    features : Features
        The columns the model was trained on.

    Returns
    -------
    X : same type
        ``X`` itself where nothing had to change; see also :func:`readable`.

    Raises
    ------
    ValueError
        If columns are missing, unexpected, or of a type that the model would misread.
    """
    X = readable(X, booster)
    if not features.knows_categories:
        _refuse_categories(X, booster)
    names = column_names(X)
    if names is not None and features.names:
        given = [booster.spell(name) for name in names]
        expected = [booster.spell(name) for name in features.names]
        if given == expected:
            return X
        # Repeated names determine no order.
        if len(set(given)) == len(given) and set(given) == set(expected):
            place = {name: position for position, name in enumerate(given)}
            return _safe_indexing(X, [place[name] for name in expected], axis=1)
        # Made-up names are those of an array: the columns of a frame are only counted.
        if not booster.made_up(features):
            raise ValueError(_name_mismatch(given, expected, booster))
    n_given = _num_features(X)
    if n_given != features.count:
        raise ValueError(
            f"X must have {features.count} columns, as many as the {booster.title} "
            f"model was trained on, got {n_given}; pass the columns of its training "
            "data, in their order."
        )
    return X


def column_names(X: Any) -> list[Any] | None:
    """Return the column names of a data frame, None for other containers."""
    if hasattr(X, "iloc") or _is_polars(X):
        return list(X.columns)
    if hasattr(X, "column_names"):  # pyarrow
        return list(X.column_names)
    return None


def readable(X: Any, booster: Booster | None) -> Any:
    """Return ``X``, as a pandas frame if the library cannot read polars."""
    return X if booster is None or not _is_polars(X) else booster.read_polars(X)


def _refuse_categories(X: Any, booster: Booster) -> None:
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
            f"X must hold codes, as the {booster.title} model was trained on codes "
            "(neither its training data nor its file names categories), got the "
            f"categorical columns {', '.join(bad[:10])}; replace them by the codes "
            "used in training."
        )


def _is_polars(X: Any) -> bool:
    return type(X).__module__.partition(".")[0] == "polars"


def _name_mismatch(given: list[str], expected: list[str], booster: Booster) -> str:
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
        f"X must have the columns that the {booster.title} model was trained on "
        f"(feature names, in any order), got {listed}. Rename or select columns of X."
    )
