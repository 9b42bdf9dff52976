"""XGBoost, whose raw boosters use trees beyond the best iteration."""

from __future__ import annotations

import json
import os
import re
from glob import glob
from typing import Any

import numpy as np

from skrank_abstain._validation import names_of_columns
from skrank_abstain.pairs import Queries
from skrank_abstain.scorers._adapter import Booster, Features, first_key

#: Parts of the folder of a Spark model: parameters, and the output of ``save_raw``.
_SPARK_FOLDERS = ("metadata", "model")


class _XGBoost(Booster):
    name = "xgboost"
    title = "XGBoost"
    ranker = "XGBRanker"
    default_name = "f{}"
    formats = "JSON or UBJSON"
    foreign = ((b"binf", "XGBoost's old binary format; save it again as JSON"),)

    def query_arguments(self, model: Any, queries: Queries) -> dict[str, Any]:
        return {"qid": queries.codes}

    def features(self, model: Any) -> Features:
        booster = model if self.is_raw(model) else model.get_booster()
        names, known = booster.feature_names, _knows_categories(booster)
        return Features(names, booster.num_features(), knows_categories=known)

    def predict(self, model: Any, X: Any) -> Any:
        labels = {}
        if names_of_columns(X) is None:
            # An array's columns, which were counted, are the model's in order.
            labels = {
                "feature_names": model.feature_names,
                "feature_types": model.feature_types,
            }
        matrix = self.module().DMatrix(X, enable_categorical=True, **labels)
        # As XGBRanker: a raw booster would also use the trees after the best iteration.
        return model.predict(
            matrix, output_margin=True, iteration_range=_best_iterations(model)
        )

    def local(self, model: Any) -> Any:
        # DaskXGBRanker and SparkXGBRankerModel stand for XGBRanker.
        names = [kind.__name__ for kind in type(model).__mro__ if self.owns(kind)]
        local = getattr(self.module(), re.sub("^Dask|^Spark|Model$", "", names[0]))()
        if hasattr(model, "get_params"):
            params = model.get_params()
        else:
            defined = filter(model.isDefined, model.params)
            params = {param.name: model.getOrDefault(param) for param in defined}
        # They include the value that stands for missing, which boosters do not keep.
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
        try:
            with open(metadata, encoding="utf-8") as file:
                written = json.load(file)
            missing = (written["defaultParamMap"] | written["paramMap"])["missing"]
        except (KeyError, TypeError, ValueError):
            return None
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


def _knows_categories(booster: Any) -> bool:
    # Before 3.1 neither XGBoost nor its files kept categories.
    kept = "c" in (booster.feature_types or ()) and hasattr(booster, "get_categories")
    return kept and not booster.get_categories().empty()


def _is_binary(content: bytes) -> bool:
    return content.startswith(b"{L") and content[10:17] == b"learner"


XGBOOST = _XGBoost()
