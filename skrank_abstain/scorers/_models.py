"""Use any model: load it, recognise it, ask whether it is fitted, freeze it, score.

A library is recognised by the names of classes, never by importing it. A file is
recognised by its content, and no code in it is ever run. Truncated files are refused
where the library's parser would end the process (LightGBM) or silently return fewer
trees (CatBoost's JSON). Only a checksum finds all other damage.
"""

from __future__ import annotations

import copy
import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, _clone_parametrized
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.metadata_routing import MetadataRequest
from sklearn.utils.validation import _num_samples

from skrank_abstain._kernels import FloatArray
from skrank_abstain._validation import check_scores, listed, shown
from skrank_abstain.pairs import Queries
from skrank_abstain.scorers import _boosters

Estimator = TypeVar("Estimator")

_METHODS = ("decision_function", "predict_proba", "predict")


class ScoreColumn(BaseEstimator):
    """Ranker for scores that you have, a column of X. There is nothing to fit.

    In `SelectiveMultilabelRanker` every column of X is the score of a label.

    Parameters
    ----------
    column : str or int, default=None
        Name or position of the scores in X. None: X has no other column.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank_abstain import BALToR
    >>> from skrank_abstain.datasets import make_ranking
    >>> from skrank_abstain.scorers import ScoreColumn
    >>> known = make_ranking(n_queries=60, random_state=0)
    >>> scores = known.data[:, 0]  # from your engine
    >>> ranker = BALToR(ScoreColumn(), random_state=0)
    >>> ranker = ranker.fit(scores[:, None], known.target, qid=known.qid)
    >>> ranker.predict([[0.9], [0.2]])
    array([0.9, 0.2])
    """

    def __init__(self, column: str | int | None = None) -> None:
        self.column = column

    @property
    def feature_names_in_(self) -> list[str]:
        """The named column: of partitions no other is read."""
        if isinstance(self.column, str):
            return [self.column]
        raise AttributeError("no column is named")

    def fit(self, X: Any, y: Any = None) -> Self:
        """Do nothing.

        Parameters
        ----------
        X, y : object
            Ignored.

        Returns
        -------
        self : object
        """
        return self

    def predict(self, X: ArrayLike) -> FloatArray:
        """Return the column.

        Parameters
        ----------
        X : array-like or frame of shape (n_items, n_columns)

        Returns
        -------
        scores : ndarray of shape (n_items,), float64

        Raises
        ------
        ValueError
            If X has several columns, and ``column`` is None.
        """
        rows: Any = X if hasattr(X, "shape") else np.asarray(X)
        if self.column is None and rows.shape[1:] != (1,):
            raise ValueError(
                "X must be one column of scores, as X[['score']], where column=None, "
                f"got shape {tuple(rows.shape)}: pass that column alone, or its name, "
                "as ScoreColumn('score')."
            )
        chosen = _safe_indexing(rows, [self.column or 0], axis=1)
        return np.asarray(chosen, dtype=np.float64)[:, 0]

    # Rankers around it then use all rows for calibration.
    def __sklearn_is_fitted__(self) -> bool:
        return True


class FrozenModel:
    """Hold a fitted model, which clones share.

    The counterpart of :class:`sklearn.frozen.FrozenEstimator` for raw boosters.

    Parameters
    ----------
    model : object
        Raw booster, or another object that predicts and has no ``fit``.
    """

    def __init__(self, model: Any) -> None:
        self.model = model

    # A search would make a copy for each candidate and fold.
    def __sklearn_clone__(self) -> FrozenModel:
        return self

    def __repr__(self) -> str:
        kind = type(self.model)
        return f"FrozenModel({kind.__module__.split('.')[0]}.{kind.__name__})"


def unwrap(model: Any) -> Any:
    """Return the model inside any number of frozen wrappers."""
    while isinstance(model, FrozenEstimator | FrozenModel):
        model = model.estimator if isinstance(model, FrozenEstimator) else model.model
    return model


def last_step(model: Any) -> Any:
    """Return the last step of a (nested, frozen) pipeline, or the model itself."""
    model = unwrap(model)
    while isinstance(model, Pipeline):
        model = unwrap(model.steps[-1][1])
    return model


def booster_of(model: Any) -> _boosters.Booster | None:
    """Return the booster that a model comes from, or None.

    The nearest base class decides, since a library may derive from another's models.
    """
    for kind in type(unwrap(model)).__mro__:
        for booster in _boosters.BOOSTERS:
            if booster.owns(kind):
                return booster
    return None


def of_cluster(model: Any) -> bool:
    """Return whether a model only trains and predicts on frames of Dask or Spark."""
    booster = booster_of(model)
    return booster is not None and booster.of_cluster(unwrap(model))


def library_of(model: Any) -> str | None:
    """Return the boosting library that a model comes from.

    Parameters
    ----------
    model : object
        May be frozen, and of a user's subclass.

    Returns
    -------
    library : str or None
        The library's import name, such as "lightgbm". None for other models,
        pipelines that end in a booster included.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain.scorers import library_of
    >>> library_of(Ridge()) is None
    True
    """
    booster = booster_of(model)
    return None if booster is None else booster.name


def describe(model: Any) -> str:
    """Return the library and the class of a model, which may be frozen.

    Examples
    --------
    >>> from sklearn.frozen import FrozenEstimator
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain.scorers import describe
    >>> describe(FrozenEstimator(Ridge()))
    'Ridge'
    """
    booster, name = booster_of(model), type(unwrap(model)).__name__
    return name if booster is None else f"{booster.title} {name}"


def resolve_model(model: Any) -> Any:
    """Return an object that scores: the loaded booster for a path, otherwise ``model``.

    A model of Dask or Spark, which only predicts frames of its cluster, becomes its
    library's ordinary one.

    Parameters
    ----------
    model : estimator, booster or path

    Returns
    -------
    model : object

    Raises
    ------
    TypeError
        If the object is a class or has none of the scoring methods.
    ValueError, FileNotFoundError
        If the path is not a file that one of the libraries saved, or the model is
        one of Dask or Spark and not fitted.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain.scorers import resolve_model
    >>> resolve_model(Ridge())
    Ridge()
    """
    if isinstance(model, str | os.PathLike):
        return load_model(model)
    if isinstance(model, type):
        raise TypeError(
            f"estimator must be an instance, got the class {model.__name__}; "
            f"write {model.__name__}()."
        )
    booster = booster_of(model)
    if booster and booster.of_cluster(unwrap(model)):
        if not is_fitted(model):
            raise ValueError(
                f"estimator must be fitted, got an unfitted {describe(model)}, which "
                "only trains on frames of a cluster: fit it there first."
            )
        return booster.local(unwrap(model))
    # Some have it on the class alone until they are fitted, as StackingRegressor.
    own = unwrap(model), type(unwrap(model))
    if not any(hasattr(each, method) for each in own for method in _METHODS):
        raise TypeError(
            "estimator must have one of decision_function, predict_proba and predict, "
            f"got {shown(model)}, which has none; pass a model, the path of its file, "
            "or scorers.ScoreColumn() with scores that you have as X."
        )
    return model


def is_fitted(model: Any) -> bool:
    """Return whether a model can score without being trained.

    Parameters
    ----------
    model : estimator, booster or path
        Paths, raw boosters and objects without ``fit`` count as fitted; a pipeline is
        fitted if its last step is.

    Returns
    -------
    fitted : bool

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain.scorers import is_fitted
    >>> is_fitted(Ridge()), is_fitted(Ridge().fit([[0.0], [1.0]], [0, 1]))
    (False, True)
    """
    model = last_step(model)
    booster = booster_of(model)
    return (_boosters.looks_fitted if booster is None else booster.is_fitted)(model)


def names_in_model(model: Any) -> tuple[list[str] | None, bool]:
    """Return the column names in a fitted model; whether its library made them up."""
    model = unwrap(model)
    booster = booster_of(model)
    if booster is None:
        names = getattr(model, "feature_names_in_", None)
        return None if names is None else list(names), False
    features = booster.features(model)
    return features.names, booster.made_up(features)


def freeze(model: Any) -> Any:
    """Wrap a model so that it stays fitted when it is cloned.

    Parameters
    ----------
    model : estimator, booster or path

    Returns
    -------
    model : object
        ``FrozenEstimator(model)`` for scikit-learn estimators; for raw boosters and
        objects without ``fit`` a similar wrapper of this package. Paths and frozen
        models are returned unchanged.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain.scorers import freeze
    >>> freeze(Ridge())
    FrozenEstimator(estimator=Ridge())
    """
    if isinstance(model, str | os.PathLike | FrozenEstimator | FrozenModel):
        return model
    methods = ("fit", "get_params", "__sklearn_tags__")
    estimator_like = all(hasattr(model, name) for name in methods)
    booster = booster_of(model)
    raw = booster is not None and booster.is_raw(model)
    # FrozenEstimator refuses raw boosters.
    return FrozenEstimator(model) if estimator_like and not raw else FrozenModel(model)


def clone_parameters(estimator: Estimator, *models: str) -> Estimator:
    """Clone an estimator, but keep the fitted ones of the named parameters fitted."""
    kept, unfitted = copy.copy(estimator), {}
    for name in models:
        model = getattr(estimator, name)
        booster = booster_of(model)
        if model is not None and is_fitted(model):
            setattr(kept, name, freeze(model))
        elif booster is not None:  # clone() may refuse it
            unfitted[name] = booster.unfitted(model)
            setattr(kept, name, None)
    cloned: Estimator = _clone_parametrized(kept, safe=False)
    vars(cloned).update(unfitted)
    return cloned


def requests_queries(model: Any) -> bool:
    """Return whether a model's scores depend on the queries of the items."""
    final = last_step(model)
    # A library's own predict takes no queries, and asking costs a third of a request.
    own = any(booster.owns(type(final)) for booster in _boosters.BOOSTERS)
    if own or not hasattr(final, "set_predict_request"):
        return False
    request = final.get_metadata_routing()
    plain = isinstance(request, MetadataRequest)  # not the router of a search
    return plain and request.predict.requests.get("qid") is True


def check_queries(model: Any, queries: Queries | None) -> Any:
    """Return the queries; raise a ValueError if the model needs them and has none."""
    if queries is None and requests_queries(model):
        raise ValueError(
            f"qid must be given, got None: the scores of {describe(last_step(model))} "
            "depend on the other items of the query. Pass qid= or name a column of X "
            "with qid_col=; qid=0 says that all rows are one query."
        )
    return queries


def score_items(model: Any, X: Any, queries: Queries | None = None) -> FloatArray:
    """Return one score per item, higher is better.

    Parameters
    ----------
    model : estimator, booster or path
        A fitted model.
    X : array, sparse matrix or data frame of shape (n_items, n_features)
        Reaches the model untouched, except that columns of a data frame are put into
        the order in which a booster was trained on them.
    queries : Queries, default=None
        Needed by models that request ``qid`` for ``predict``, as after
        ``set_predict_request(qid=True)``: these get the number of each row's query.

    Returns
    -------
    scores : ndarray of shape (n_items,), float64
        ``decision_function`` if it gives one value per row; otherwise, for classifiers
        of numbers, the expected class under ``predict_proba``; otherwise ``predict``.
        Raw boosters give their raw score, before any link function, from the trees up
        to the best iteration if training stopped early.

    Raises
    ------
    ValueError
        If the scores are not finite or not one per item, columns of X are missing or
        unexpected, or the model requests ``qid`` and there are no queries.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain.scorers import score_items
    >>> score_items(Ridge(alpha=0).fit([[0.0], [1.0]], [0, 2]), [[0.5]])
    array([1.])
    """
    if not _num_samples(X):  # models refuse X without rows
        return np.empty(0)
    with naming_texts(model, X):
        final, design = at_the_end(model, X)
        if requests_queries(final):
            scores = final.predict(design, qid=check_queries(final, queries).codes)
        else:
            scores = _ask(_boosters.response, final, design)
    if np.ndim(scores) == 2 and np.shape(scores)[1] > 1:
        raise ValueError(
            f"estimator must give one score for each row, got {np.shape(scores)[1]} "
            f"from {describe(model)}: train it for one target."
        )
    return check_scores(scores, _num_samples(X))


@contextmanager
def naming_texts(model: Any, X: Any) -> Iterator[None]:
    """Name the columns of texts of a frame where a model cannot read them."""
    try:
        yield
    except ValueError as error:
        texts = _boosters.columns_of_type(X, "object", "str")
        if not texts or "could not convert string" not in str(error):
            raise
        raise ValueError(
            f"X must hold numbers for {describe(model)}, got the columns of texts "
            f"{listed(texts)}. Pass names of items as item_id= and other texts encoded,"
            f" or leave them out: {error}"
        ) from error


def at_the_end(model: Any, X: Any) -> tuple[Any, Any]:
    """Return the model that ends searches and pipelines, and X as it gets it."""
    model = unwrap(resolve_model(model))
    if hasattr(model, "best_estimator_"):  # a search does not check columns
        return at_the_end(model.best_estimator_, X)
    if isinstance(model, Pipeline):
        # Transformers may pass names on: a booster's columns are checked too.
        X = model[:-1].transform(X) if len(model.steps) > 1 else X
        return at_the_end(model.steps[-1][1], X)
    return model, X


def _ask(ask: _boosters.Ask, model: Any, X: Any) -> Any:
    """Ask a model; a booster gets the columns in the order of its training."""
    booster = booster_of(model)
    if booster is None:
        return ask(model, X)
    features = booster.features(model)
    X = _boosters.align_columns(X, booster, features)
    return booster.score(model, X, features, ask)


def class_proba(model: Any, X: Any, n_classes: int) -> FloatArray:
    """Return the probabilities of a classifier's classes, finite.

    The columns of a frame are put into the order in which a booster was trained.
    """
    model = unwrap(resolve_model(model))
    proba = _ask(lambda own, rows: own.predict_proba(rows), model, X)
    proba = np.asarray(proba, dtype=np.float64)
    shape = _num_samples(X), n_classes
    if proba.shape != shape or not np.isfinite(proba).all():
        raise ValueError(
            f"predict_proba of the estimator, {describe(model)}, must return finite "
            f"values of shape {shape}, got shape {proba.shape}."
        )
    return proba


def load_model(path: str | os.PathLike[str], *, sha256: str | None = None) -> Any:
    """Load a model that one of the libraries in ``BOOSTERS`` saved.

    Parameters
    ----------
    path : str or path-like
        The content decides which library reads the file, not the name. No file is
        unpickled or can run code. For a Spark model, its folder.
    sha256 : str, default=None
        SHA-256 of the file, 64 hexadecimal digits, checked before a library sees the
        file. Only this proves that a file is undamaged.

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
        checksum.
    ImportError
        If the library that wrote the file is not installed.

    Notes
    -----
    The checksum is that of the very bytes that are loaded. CatBoost reads the file a
    second time; a file that changed in between is refused.

    Examples
    --------
    >>> from skrank_abstain.scorers import load_model
    >>> load_model("no_such_file.json")
    Traceback (most recent call last):
        ...
    FileNotFoundError: No such file: 'no_such_file.json'; for a column use ScoreColumn
    """
    name = os.fspath(path)
    if os.path.isdir(name):
        files = [booster.file_in(name) for booster in _boosters.BOOSTERS]
        if not any(files):
            raise _refusal(name, "a directory")
        name = next(filter(None, files))
    content = _read(name, sha256)
    booster = next((one for one in _boosters.BOOSTERS if one.opens(content)), None)
    if booster is None:
        raise _refusal(name, f"another kind of file (it begins with {content[:12]!r})")
    booster.module()  # a failed import says nothing about the file
    try:
        return booster.load(name, content)
    except Exception as error:
        why = str(error).strip().split("\n")[0]
        found = f"a cut-off or damaged {booster.title} file ({why})"
        raise _refusal(name, found) from error


def _read(name: str, sha256: str | None) -> bytes:
    """Return the bytes of a file; check them against a checksum if one is given."""
    if not os.path.exists(name):
        raise FileNotFoundError(f"No such file: {name!r}; for a column use ScoreColumn")
    content = Path(name).read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if sha256 is not None and not re.fullmatch("(?i)[0-9a-f]{64}", str(sha256)):
        raise ValueError(
            "sha256 must be 64 hexadecimal digits, as hexdigest() or the first word of "
            f"sha256sum, got {shown(sha256)}."
        )
    if sha256 is not None and found != sha256.lower():
        raise ValueError(
            f"sha256 must be that of the file {name!r}, {found}, got {sha256}; the "
            "file is damaged or another one: copy it again from where the checksum "
            "was made."
        )
    return content


def _refusal(name: str, found: str) -> ValueError:
    *kinds, last = [
        f"{one.title} ({one.formats})" for one in _boosters.BOOSTERS if one.formats
    ]
    return ValueError(
        "estimator must be a model or the path of a file that "
        f"{', '.join(kinds)} or {last} saved, got {name!r}, which is {found}. "
        "Save the model with its library's own save_model, or unpickle and pass it."
    )
