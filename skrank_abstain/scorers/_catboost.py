"""CatBoost, whose models clone() refuses and whose truncated files may load."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

from skrank_abstain.pairs import Queries
from skrank_abstain.scorers._adapter import Booster, Features, first_key

#: The first key of a JSON model is one of these.
_PARTS = ("ctr_data", "features_info", "model_info", "oblivious_trees", "trees")
_CBM = b"CBM1"


class _CatBoost(Booster):
    name = "catboost"
    title = "CatBoost"
    ranker = "CatBoostRanker"
    formats = "cbm or JSON"

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

    def explain(self, error: Exception, n_items: int) -> str | None:
        if type(error).__name__ != "CatBoostError" or "constant" not in str(error):
            return None
        return (
            "X must have a feature that varies to train a CatBoost model, got none "
            f"(n_samples={n_items}, all features are constant or ignored)."
        )

    def features(self, model: Any) -> Features:
        # n_features_in_ is 0 for a model loaded from a file.
        names = model.feature_names_
        return Features(names, len(names), knows_categories=True)

    def predict(self, model: Any, X: Any) -> Any:
        return model.predict(X, prediction_type="RawFormulaVal")

    def read_polars(self, X: Any) -> Any:
        # It ends the process on unexpected columns of a polars frame: texts that are no
        # categories, floats that are.
        return X.to_pandas()

    def opens(self, content: bytes) -> bool:
        return content.startswith(_CBM) or first_key(content) in _PARTS

    def load(self, path: str, content: bytes) -> Any:
        form = "cbm" if content.startswith(_CBM) else "json"
        check = _check_binary if form == "cbm" else _check_json
        check(content)
        # Not blob=content: CatBoost reads past the end of a truncated model in memory.
        model = self.module().CatBoost().load_model(path, format=form)
        if Path(path).read_bytes() != content:
            raise ValueError("it changed while it was read")
        return model


def _check_binary(content: bytes) -> None:
    core = int.from_bytes(content[4:8], "little")
    if len(content) < 8 + core:
        raise ValueError(f"it has {len(content)} bytes and announces {8 + core}")


def _check_json(content: bytes) -> None:
    """Refuse a truncated file, which CatBoost would load as a smaller model."""
    parts = json.loads(content)
    absent = {"features_info", "scale_and_bias"} - set(parts)
    if absent or not {"oblivious_trees", "trees"} & set(parts):
        raise ValueError("parts of the model are missing")


CATBOOST = _CatBoost()
