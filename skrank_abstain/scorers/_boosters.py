"""Boosting libraries: the interface to one, XGBoost, LightGBM and CatBoost.

Where a library does nothing special, scikit-learn's conventions hold. Each library
leaves some columns of X unchecked: all names, the names of polars frames, or extra
columns. Any of these gives silently wrong scores, so that columns are matched here.
"""

import copy
import json
import os
import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.validation import _is_fitted, _num_features

from skrank_abstain._validation import listed, names_of_columns
from skrank_abstain._warnings import require
from skrank_abstain.pairs import Queries

#: What to ask of an estimator: gets it and X.
Ask = Callable[[Any, Any], Any]
#: Parts of the folder of a Spark model: parameters, and the output of ``save_raw``.
_SPARK_FOLDERS = ("metadata", "model")
#: How CatBoost's own files begin, and the first keys of its JSON files.
_CBM = b"CBM1"
_FIRST_KEYS = ("ctr_data", "features_info", "model_info", "oblivious_trees", "trees")


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
        would read the codes of any frame that it scores.

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
    """One boosting library: how its models are trained, asked, loaded.

    A subclass sets the attributes, implements the three abstract methods, and
    overrides what its library does differently. An instance in ``BOOSTERS`` makes the
    library's models usable everywhere. No method may import the library unless it is
    given one of its models or files.

    Attributes
    ----------
    name, title : str
        Name of the import, and the name in messages.
    ranker : str
        The class whose training takes queries; it gets sorted rows and grades.
    default_name : str, default="{}"
        Name that the library gives to an unnamed column, from its number.
    formats : str, default=""
        Kinds of files that :meth:`load` reads, for messages; empty if none.
    first : dict, default={}
        Arguments of ``predict`` for the raw scores of an estimator's first tree; empty
        if that depends on how many trees follow.
    one_tree : dict, default={}
        Parameters with which such an estimator trains one tree, and prints nothing.

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
    formats: ClassVar[str] = ""
    reads_polars: ClassVar[bool] = True
    reads_text: ClassVar[bool] = False
    first: ClassVar[dict[str, Any]] = {}
    one_tree: ClassVar[dict[str, Any]] = {}

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
        """The extra to install if the library is missing."""
        return f"skrank-abstain[{self.name}]"

    def module(self) -> Any:
        """Import and return the library."""
        return require(self.name, f"A {self.title} model", self.requirement)

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

        Models of ``xgboost.dask``, ``xgboost.spark`` and ``lightgbm.dask`` do.
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

    def spell(self, name: Any) -> str:
        """Return a column's name as the library stores it."""
        return str(name)

    def made_up(self, features: Features) -> bool:
        """Return whether the library made up the names, for unnamed columns."""
        positions = range(len(features.names or ()))
        return features.names == [self.default_name.format(each) for each in positions]

    def score(self, model: Any, X: Any, features: Features, ask: Ask) -> Any:
        """Return one score per row of X, whose columns are in the model's order.

        A raw model is asked by :meth:`predict`, an estimator by ``ask(model, X)``.
        """
        return self.predict(model, X) if self.is_raw(model) else ask(model, X)

    def first_tree(self, model: Any) -> tuple[Any, Callable[[Any], Any]] | None:
        """Return the training rows in each leaf of a fitted model's first tree.

        Returns
        -------
        counts : ndarray of shape (n_leaves,)
        leaves : callable
            Takes X, whose columns are in the model's order, and returns the leaf of
            each row. None instead of both where the library keeps no counts.
        """
        return None

    def has_cuts(self, model: Any, X: Any) -> bool | None:
        """Return whether X, in a model's columns, may have cut its first tree."""
        return None  # unknown

    def opens(self, content: bytes) -> bool:
        """Return whether a saved model begins with these bytes."""
        return False

    def file_in(self, folder: str) -> str | None:
        """Return the model's file in a folder that the library wrote, or None."""
        return None

    def load(self, path: str, content: bytes) -> Any:
        """Load a file that :meth:`opens` accepts; an error means damage."""
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
    words = [str(c) for c in getattr(model, "classes_", ()) if isinstance(c, str)]
    if words:  # in the order of the alphabet, where "bad" is above "awful"
        raise ValueError(
            f"estimator must have numbers as classes, to rank by, got {words}: fit it "
            f"on y == {words[-1]!r}, if the score is the probability of that class."
        )
    if hasattr(model, "decision_function"):
        decision = np.asarray(model.decision_function(X))
        # One column per class gives no order of items.
        if decision.ndim == 1 or decision.shape[1] == 1:
            return decision
    has_proba = hasattr(model, "predict_proba")
    classes = np.asarray(getattr(model, "classes_", ()) if has_proba else ())
    if classes.ndim != 1 or not classes.size:
        return model.predict(X)
    # The most probable class would give one score to all items of a grade.
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
    # One item whose value is null: a column without a number, in a request.
    if not booster.reads_text and (texts := columns_of_type(X, "object")):
        blank = [name for name in texts if np.all(X[name].isna())]
        X = X.astype(dict.fromkeys(blank, np.float64))
    if not features.knows_categories and (bad := columns_of_type(X, "categ", "enum")):
        raise ValueError(
            f"X must hold codes, as the {booster.title} model was trained on codes "
            "(neither its training data nor its file names categories), got the "
            f"categorical columns {listed(bad)}; replace them by the codes used in "
            "training."
        )
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
        # With made-up names it was trained on an array: only count the columns.
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
    is_polars = type(X).__module__.partition(".")[0] == "polars"
    return X.to_pandas() if is_polars and not booster.reads_polars else X


def columns_of_type(X: Any, *kinds: str) -> list[str]:
    """Return the columns of a frame whose type begins in one of these ways."""
    known = zip(getattr(X, "columns", ()), getattr(X, "dtypes", ()), strict=False)
    return [str(name) for name, kind in known if str(kind).lower().startswith(kinds)]


def _name_mismatch(given: list[str], expected: list[str], booster: Booster) -> str:
    found = {
        "missing": [name for name in expected if name not in given],
        "unexpected": [name for name in given if name not in expected],
        "repeated": sorted({name for name in given if given.count(name) > 1}),
    }
    wrong = [f"{what}: {listed(names)}" for what, names in found.items() if names]
    return (
        f"X must have the columns that the {booster.title} model was trained on "
        f"(feature names, in any order), got {'; '.join(wrong)}. Rename or select "
        "columns of X."
    )


class _XGBoost(Booster):
    """XGBoost, whose raw boosters use trees beyond the best iteration."""

    name = "xgboost"
    title = "XGBoost"
    ranker = "XGBRanker"
    default_name = "f{}"
    formats = "JSON or UBJSON"
    first: ClassVar = {"iteration_range": (0, 1), "output_margin": True}
    one_tree: ClassVar = {"n_estimators": 1, "verbosity": 0}

    def query_arguments(self, model: Any, queries: Queries) -> dict[str, Any]:
        return {"qid": queries.codes}

    def features(self, model: Any) -> Features:
        booster = model if self.is_raw(model) else model.get_booster()
        known = "c" in (booster.feature_types or ())
        known = known and not booster.get_categories().empty()
        names, count = booster.feature_names, booster.num_features()
        return Features(names, count, knows_categories=known)

    def predict(self, model: Any, X: Any) -> Any:
        labels = {}
        if names_of_columns(X) is None:
            # The columns of an array, already counted, are in the model's order.
            known = ("feature_names", "feature_types")
            labels = {name: getattr(model, name) for name in known}
        matrix = self.module().DMatrix(X, enable_categorical=True, **labels)
        # Like XGBRanker: a raw booster would use trees after the best iteration, too.
        kept = _best_iterations(model)
        return model.predict(matrix, output_margin=True, iteration_range=kept)

    def has_cuts(self, model: Any, X: Any) -> bool | None:
        booster = model.get_booster()
        root = json.loads(booster[:1].get_dump(dump_format="json")[0])
        cut = root.get("split_condition")  # a list of categories, or none
        dense = not hasattr(X, "tocsr")
        if not (dense and isinstance(cut, float)) or model.tree_method == "exact":
            return None
        names = booster.feature_names or [f"f{n}" for n in range(_num_features(X))]
        column = _safe_indexing(X, names.index(root["split"]), axis=1)
        values = np.asarray(column, dtype=np.float32)
        low, high = np.nanmin(values), np.nanmax(values)
        # Histograms are cut at values of the training rows, or beyond all of them.
        return bool((values == np.float32(cut)).any() or not low < cut < high)

    def local(self, model: Any) -> Any:
        # DaskXGBRanker and SparkXGBRankerModel become XGBRanker.
        names = [kind.__name__ for kind in type(model).__mro__ if self.owns(kind)]
        local = getattr(self.module(), re.sub("^Dask|^Spark|Model$", "", names[0]))()
        if hasattr(model, "get_params"):
            params = model.get_params()
        else:
            defined = filter(model.isDefined, model.params)
            params = {param.name: model.getOrDefault(param) for param in defined}
        # Among them is the value that stands for missing, which boosters do not keep.
        known = local.get_params()
        local.set_params(**{name: params[name] for name in params if name in known})
        local.load_model(model.get_booster().save_raw())
        return local

    def spell(self, name: Any) -> str:
        return " ".join(map(str, name)) if isinstance(name, tuple) else str(name)

    def opens(self, content: bytes) -> bool:
        return _is_binary(content) or first_key(content) == "learner"

    def file_in(self, folder: str) -> str | None:
        parts = [glob(os.path.join(folder, one, "part-*")) for one in _SPARK_FOLDERS]
        if not all(parts):
            return None
        (metadata, *_), (model, *_) = parts
        written = json.loads(Path(metadata).read_text(encoding="utf-8"))
        missing = (written["defaultParamMap"] | written["paramMap"])["missing"]
        if not np.isnan(missing):
            raise ValueError(
                f"estimator must be a model or the path of its file, got {folder!r}, "
                f"whose model is not all: it was trained with missing={missing}. Load "
                "it with SparkXGBRankerModel.load, and pass that."
            )
        return model

    def load(self, path: str, content: bytes) -> Any:
        if not _is_binary(content):
            # Spark cuts the text into lines; XGBoost recognises JSON in memory only by
            # the first two bytes, {".
            content = content.replace(b"\n", b"")
            content = b"{" + content[content.index(b'"') :]
        if not content.rstrip().endswith(b"}"):  # XGBoost would not notice
            raise ValueError("its end is missing")
        return self.module().Booster(model_file=bytearray(content))


def _best_iterations(booster: Any) -> tuple[int, int]:
    """Return the range of trees that early stopping kept; (0, 0) means all."""
    best = booster.attr("best_iteration")
    if best is None:
        return (0, 0)
    config = json.loads(booster.save_config())
    if config["learner"]["gradient_booster"]["name"] == "gblinear":
        return (0, 0)  # it has no trees to count
    return (0, int(best) + 1)


def _is_binary(content: bytes) -> bool:
    return content.startswith(b"{L") and content[10:17] == b"learner"


class _LightGBM(Booster):
    """LightGBM, which compares no column names; some input ends its process."""

    name = "lightgbm"
    title = "LightGBM"
    ranker = "LGBMRanker"
    default_name = "Column_{}"
    formats = "text"
    first: ClassVar = {"num_iteration": 1, "raw_score": True}
    one_tree: ClassVar = {"n_estimators": 1, "verbose": -1}
    # In Arrow's format a column that is not numeric ends the process.
    reads_polars = False

    def query_arguments(self, model: Any, queries: Queries) -> dict[str, Any]:
        # Sizes cannot show that rows are out of order.
        return {"group": queries.sizes}

    def features(self, model: Any) -> Features:
        booster = model if self.is_raw(model) else model.booster_
        names, known = booster.feature_name(), booster.pandas_categorical is not None
        return Features(names, booster.num_feature(), knows_categories=known)

    def predict(self, model: Any, X: Any) -> Any:
        return model.predict(X, raw_score=True)

    def score(self, model: Any, X: Any, features: Features, ask: Ask) -> Any:
        if hasattr(X, "tocsr"):
            X = sparse.csr_matrix(X)  # otherwise it converts, with a warning
        if self.is_raw(model) or not self.made_up(features):
            return super().score(model, X, features, ask)
        with warnings.catch_warnings():
            # Before 4.7 it takes its made-up names for names of the training data.
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            return super().score(model, X, features, ask)

    def first_tree(self, model: Any) -> tuple[Any, Callable[[Any], Any]] | None:
        raw = model if self.is_raw(model) else model.booster_
        text = raw.model_to_string(num_iteration=1)
        found = re.search(r"\nleaf_count=([\d ]+)\n", text)

        def leaves(X: Any) -> Any:
            X = sparse.csr_matrix(X) if hasattr(X, "tocsr") else X
            return raw.predict(X, pred_leaf=True, num_iteration=1)[:, 0]

        return found and (np.array(found[1].split(), dtype=np.int64), leaves)

    def local(self, model: Any) -> Any:
        return model.to_local()

    def spell(self, name: Any) -> str:
        return str(name).replace(" ", "_")  # it stores "two words" as "two_words"

    def opens(self, content: bytes) -> bool:
        return re.match(rb"tree\r?\n", content) is not None

    def load(self, path: str, content: bytes) -> Any:
        text = content.replace(b"\r\n", b"\n")
        _check_complete(text)
        return self.module().Booster(model_str=text.decode())


def _check_complete(text: bytes) -> None:
    """Refuse a file whose trees are not where its header says.

    LightGBM's parser ends the process on such a file.
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
    # Without this line, the codes of a frame's categories would be misread.
    label, _, value = rest.strip().partition(b":")
    if label:
        if label != b"pandas_categorical":
            raise ValueError("its last line is incomplete")
        json.loads(value)


class _CatBoost(Booster):
    """CatBoost, whose models clone() refuses and whose truncated files may load."""

    name = "catboost"
    title = "CatBoost"
    ranker = "CatBoostRanker"
    formats = "cbm or JSON"
    # Unexpected columns of a polars frame end the process: texts that it does not know
    # as categories, floats that it does.
    reads_polars = False
    reads_text = True

    def is_raw(self, model: Any) -> bool:
        return not hasattr(model, "score")  # the raw class has get_params, too

    def is_ranker(self, model: Any) -> bool:
        return super().is_ranker(model) or self.is_raw(model)

    def is_fitted(self, model: Any) -> bool:
        return bool(model.is_fitted())

    def unfitted(self, model: Any) -> Any:
        # clone() refuses it: its constructor copies lists such as cat_features.
        params = copy.deepcopy(model.get_params())
        return type(model)(params) if self.is_raw(model) else type(model)(**params)

    def query_arguments(self, model: Any, queries: Queries) -> dict[str, Any]:
        arguments: dict[str, Any] = {"group_id": queries.codes}
        chosen = {"verbose", "silent", "logging_level", "verbose_eval"}
        if chosen.isdisjoint(model.get_params()):
            arguments["verbose"] = False  # by default each tree prints a line
        return arguments

    def features(self, model: Any) -> Features:
        # n_features_in_ is 0 for a model loaded from a file.
        names = model.feature_names_
        return Features(names, len(names), knows_categories=True)

    def predict(self, model: Any, X: Any) -> Any:
        return model.predict(X, prediction_type="RawFormulaVal")

    def first_tree(self, model: Any) -> tuple[Any, Callable[[Any], Any]] | None:
        with suppress(AssertionError):  # of a model of several classes
            counts = model.get_leaf_weights()[: model.get_tree_leaf_counts()[0]]
            return counts, lambda X: model.calc_leaf_indexes(X, 0, 1)[:, 0]
        return None

    def opens(self, content: bytes) -> bool:
        return content.startswith(_CBM) or first_key(content) in _FIRST_KEYS

    def load(self, path: str, content: bytes) -> Any:
        if content.startswith(_CBM):
            form, size = "cbm", 8 + int.from_bytes(content[4:8], "little")
            if len(content) < size:
                raise ValueError(f"it has {len(content)} bytes and announces {size}")
        else:
            form = "json"
            _check_json(content)
        # Not blob=content: in memory CatBoost reads past the end of a truncated model.
        model = self.module().CatBoost().load_model(path, format=form)
        if Path(path).read_bytes() != content:
            raise ValueError("it changed while it was read")
        return model


def _check_json(content: bytes) -> None:
    """Refuse a truncated file, which CatBoost would load as a smaller model."""
    parts = json.loads(content)
    absent = {"features_info", "scale_and_bias"} - set(parts)
    if absent or not {"oblivious_trees", "trees"} & set(parts):
        raise ValueError("parts of the model are missing")


#: A list, so that users can append a library.
BOOSTERS: list[Booster] = [_XGBoost(), _LightGBM(), _CatBoost()]
