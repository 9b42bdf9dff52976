"""LightGBM, which never compares column names and ends the process on some input."""

from __future__ import annotations

import json
import re
import warnings
from typing import Any

from scipy import sparse

from skrank_abstain.pairs import Queries
from skrank_abstain.scorers._adapter import Booster, Features


class _LightGBM(Booster):
    name = "lightgbm"
    title = "LightGBM"
    ranker = "LGBMRanker"
    default_name = "Column_{}"
    polars_since = (4, 7)
    formats = "text"

    def query_arguments(self, model: Any, queries: Queries) -> dict[str, Any]:
        # Sizes cannot show that rows are out of order.
        return {"group": queries.sizes}

    def features(self, model: Any) -> Features:
        booster = model if self.is_raw(model) else model.booster_
        names, known = booster.feature_name(), booster.pandas_categorical is not None
        return Features(names, booster.num_feature(), knows_categories=known)

    def predict(self, model: Any, X: Any) -> Any:
        return model.predict(X, raw_score=True)

    def score(self, model: Any, X: Any, features: Features) -> Any:
        if hasattr(X, "tocsr"):
            X = sparse.csr_matrix(X)  # otherwise it converts, with a warning
        if self.is_raw(model) or not self.made_up(features):
            return super().score(model, X, features)
        with warnings.catch_warnings():
            # Before 4.7 it warns as if its made-up names came from the training data.
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            return super().score(model, X, features)

    def local(self, model: Any) -> Any:
        return model.to_local()

    def spell(self, name: Any) -> str:
        return str(name).replace(" ", "_")  # it stores "two words" as "two_words"

    def read_polars(self, X: Any) -> Any:
        # It reads polars frames in Arrow's format, where any column that is not numeric
        # ends the process.
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
        return super().read_polars(X)

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


LIGHTGBM = _LightGBM()
