"""The interface to a boosting library, and what is done alike for all of them.

Where a library does nothing special, scikit-learn's conventions hold. Each library
leaves some columns of X unchecked: all names, the names of polars frames, or extra
columns. Any of these gives silently wrong scores, so that columns are matched here.
"""

from __future__ import annotations

import importlib
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.validation import _is_fitted, _num_features

from skrank_abstain._validation import names_of_columns
from skrank_abstain.pairs import Queries


@dataclass(frozen=True)
class Features:
    """Columns that a model was trained on.

    Attributes
    ----------
    names : list of str or None
        For a model trained on an array, None or the library's default names.
    count : int
        Number of columns.
    knows_categories : bool
        Whether the model recognises categories by value. A model trained on codes
        does not: it would read the codes of any frame that it scores.

    Examples
    --------
    >>> from skrank_abstain.scorers import Features
    >>> Features(["age", "dose"], 2, knows_categories=False).count
    2
    """

    names: list[str] | None
    count: int
    knows_categories: bool


class Booster(ABC):
    """All that is particular to one boosting library.

    A subclass sets the attributes, implements the three abstract methods, and
    overrides what its library does differently. An instance in ``BOOSTERS`` makes the
    library's models usable everywhere. No method may import the library unless it is
    given one of its models or files.

    Attributes
    ----------
    name, title : str
        Name of the import, and the name in messages.
    ranker : str
        The class whose training takes queries; it is given sorted rows and grades.
    default_name : str, default="{}"
        Name that the library gives to an unnamed column, from its number.
    polars_since : tuple of int, default=()
        First version that reads polars frames; older ones get pandas frames.
    formats : str, default=""
        Kinds of files that :meth:`load` reads, for messages; empty if none.
    foreign : tuple of (bytes, str), default=()
        First bytes of the library's other files, which :meth:`load` cannot read, and
        a description of them.

    Examples
    --------
    >>> from skrank_abstain.scorers import BOOSTERS
    >>> [booster.title for booster in BOOSTERS]
    ['XGBoost', 'LightGBM', 'CatBoost']
    """

    name: ClassVar[str]
    title: ClassVar[str]
    ranker: ClassVar[str]
    default_name: ClassVar[str] = "{}"
    polars_since: ClassVar[tuple[int, ...]] = ()
    formats: ClassVar[str] = ""
    foreign: ClassVar[tuple[tuple[bytes, str], ...]] = ()

    def __init__(self) -> None:
        for attribute in ("name", "title", "ranker"):
            if not hasattr(self, attribute):
                raise TypeError(f"{type(self).__name__} must state its {attribute}.")

    @abstractmethod
    def query_arguments(self, model: Any, queries: Queries) -> dict[str, Any]:
        """Return the arguments of ``fit`` that describe the queries.

        The rows are sorted by query: ``queries.codes`` numbers the query of each
        row, ``queries.sizes`` counts the rows of each query.
        """

    @abstractmethod
    def features(self, model: Any) -> Features:
        """Return the columns that a fitted model knows."""

    @abstractmethod
    def predict(self, model: Any, X: Any) -> Any:
        """Return the scores of a raw model, before any link function."""

    @property
    def requirement(self) -> str:
        """What to install if the library is missing."""
        return f"skrank-abstain[{self.name}]"

    def module(self) -> Any:
        """Import and return the library."""
        return importlib.import_module(self.name)

    def owns(self, kind: type) -> bool:
        """Return whether the library itself defines this class."""
        # By name, since importing a library takes up to seconds.
        return kind.__module__.partition(".")[0] == self.name

    def is_raw(self, model: Any) -> bool:
        """Return whether a model is a raw one, not a scikit-learn estimator."""
        return not hasattr(model, "get_params")

    def is_ranker(self, model: Any) -> bool:
        """Return whether training a model takes :meth:`query_arguments`."""
        # Users' subclasses are rankers, too.
        return self.ranker in {base.__name__ for base in type(model).__mro__}

    def is_fitted(self, model: Any) -> bool:
        """Return whether a model can score."""
        return looks_fitted(model)

    def of_cluster(self, model: Any) -> bool:
        """Return whether a model only trains and predicts on frames of Dask or Spark.

        Those of ``xgboost.dask``, ``xgboost.spark`` and ``lightgbm.dask`` do.
        """
        return any(
            self.owns(kind) and kind.__module__.split(".")[1:2] in (["dask"], ["spark"])
            for kind in type(model).__mro__
        )

    def local(self, model: Any) -> Any:
        """Return the ordinary model of a fitted one :meth:`of_cluster`."""
        raise NotImplementedError(type(model).__name__)

    def unfitted(self, model: Any) -> Any:
        """Return an unfitted copy of a model."""
        return clone(model, safe=False)

    def explain(self, error: Exception, n_items: int) -> str | None:
        """Return what an unclear error of the library's training means, or None."""
        return None

    def spell(self, name: Any) -> str:
        """Return a column's name as the library stores it."""
        return str(name)

    def made_up(self, features: Features) -> bool:
        """Return whether the names are those that the library gives unnamed columns."""
        positions = range(len(features.names or ()))
        return features.names == [self.default_name.format(each) for each in positions]

    def read_polars(self, X: Any) -> Any:
        """Return a polars frame, converted to pandas if the library needs that."""
        if not self.polars_since:
            return X
        version = re.findall(r"\d+", self.module().__version__)
        return X if tuple(map(int, version)) >= self.polars_since else X.to_pandas()

    def score(self, model: Any, X: Any, features: Features) -> Any:
        """Return one score per row of X, whose columns are in the model's order."""
        return self.predict(model, X) if self.is_raw(model) else response(model, X)

    def opens(self, content: bytes) -> bool:
        """Return whether a file's first bytes are those of a saved model."""
        return False

    def file_in(self, folder: str) -> str | None:
        """Return the model's file in a folder that the library wrote, or None."""
        return None

    def load(self, path: str, content: bytes) -> Any:
        """Return the model of a file that :meth:`opens`; an error means damage."""
        raise NotImplementedError(path)


def first_key(content: bytes) -> str | None:
    """Return the first key of a JSON file."""
    match = re.match(rb'\s*\{\s*"(\w+)"', content[:200])
    return match[1].decode() if match else None


def looks_fitted(model: Any) -> bool:
    """Return whether a model seems to be fitted."""
    if not hasattr(model, "fit"):
        return True
    stateless = hasattr(model, "__sklearn_tags__") and not get_tags(model).requires_fit
    return stateless or bool(_is_fitted(model))


def response(model: Any, X: Any) -> Any:
    """Score with decision_function, predict_proba or predict."""
    if hasattr(model, "decision_function"):
        decision = np.asarray(model.decision_function(X))
        # One column for each class gives no order of items.
        if decision.ndim == 1 or decision.shape[1] == 1:
            return decision
    has_proba = hasattr(model, "predict_proba")
    classes = np.asarray(getattr(model, "classes_", ()) if has_proba else ())
    if classes.ndim != 1 or not classes.size:
        return model.predict(X)
    if classes.dtype.kind not in "buif":
        raise ValueError(
            "estimator must be trained on numeric relevance to give one score per "
            f"item, got the classes {classes[:10].tolist()}; encode y as numbers, "
            "higher is better."
        )
    # The most probable class would give all items of a grade one score.
    return np.asarray(model.predict_proba(X)) @ classes.astype(np.float64)


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
    names = names_of_columns(X)
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


def readable(X: Any, booster: Booster) -> Any:
    """Return ``X``, as a pandas frame if the library cannot read polars."""
    return booster.read_polars(X) if _is_polars(X) else X


def _refuse_categories(X: Any, booster: Booster) -> None:
    if not (hasattr(X, "iloc") or _is_polars(X)):
        return
    bad = [
        str(name)
        for name, kind in zip(X.columns, X.dtypes, strict=True)
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
