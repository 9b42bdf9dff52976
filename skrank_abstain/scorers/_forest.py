"""A forest that expects the grade of an item, read by compiled code."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.preprocessing import OrdinalEncoder
from sklearn.utils import _safe_indexing, assert_all_finite

from skrank_abstain._kernels import FloatArray, IntArray
from skrank_abstain._saving import Value
from skrank_abstain._validation import names_of_columns
from skrank_abstain.pairs import Queries
from skrank_abstain.scorers._context import as_numbers, numeric_columns, query_context

#: Items that go down the trees side by side.
_PIECE = 64


@dataclass(frozen=True, eq=False)
class GradeForest(Value):
    """Sixty extremely randomised trees, trained by scikit-learn.

    Attributes
    ----------
    others : list of int
        Positions of the columns that are not numeric.
    encoder : OrdinalEncoder
        Numbers their values; fitted if there are any.
    roots : ndarray of shape (n_trees,), int64
    nodes, threshold
        Of all trees, as in `add_leaves`.

    Notes
    -----
    ``predict_proba`` of scikit-learn takes 50 us a tree, however few the items: seven
    times as long as a booster needs for a request.
    """

    others: list[int]
    encoder: Any
    roots: IntArray
    nodes: NDArray[np.int32]
    threshold: FloatArray

    @classmethod
    def fit(cls, X: Any, grades: IntArray, queries: Queries | None) -> Self:
        """Train on grades from 0; the trees see the context if there are queries."""
        names = names_of_columns(X) or []
        numeric = set(numeric_columns(X)[0]) if names else set()
        others = [at for at, name in enumerate(names) if name not in numeric]
        unknown = {"handle_unknown": "use_encoded_value", "unknown_value": np.nan}
        encoder = OrdinalEncoder(**unknown)
        design = _design(X, queries, others, encoder.fit_transform)
        forest = ExtraTreesClassifier(60, min_samples_leaf=10, random_state=0)
        forest.fit(design, grades)
        trees = [each.tree_ for each in forest.estimators_]
        roots = np.cumsum([0, *(tree.node_count for tree in trees[:-1])])
        nodes, threshold = [], []
        for root, tree in zip(roots, trees, strict=True):
            left, right = tree.children_left, tree.children_right
            is_leaf = tree.feature < 0
            missing = np.where(tree.missing_go_to_left, left, right)
            after = np.stack([left, right, missing], axis=1)
            after[is_leaf] = np.flatnonzero(is_leaf)[:, np.newaxis]
            nodes.append(np.column_stack([np.maximum(tree.feature, 0), root + after]))
            expected = (tree.value[:, 0] * forest.classes_).sum(axis=1)
            threshold.append(np.where(is_leaf, expected, tree.threshold))
        # The smallest type that numbers all nodes: more of them fit into a cache.
        small = np.concatenate(nodes).astype(np.int32)
        return cls(others, encoder, roots, small, np.concatenate(threshold))

    def predict(self, X: Any, queries: Queries | None) -> FloatArray:
        """Return the expected grade of each item, shape (n_items,)."""
        from skrank_abstain._kernels.features import add_leaves

        design = _design(X, queries, self.others, self.encoder.transform)
        total = np.zeros(design.shape[0])
        trees, at = (self.roots, self.nodes, self.threshold), np.empty(_PIECE, np.int32)
        for start in range(0, total.size, _PIECE):
            rows = slice(start, start + _PIECE)
            part = design[rows].toarray() if issparse(design) else design[rows]
            add_leaves(part, *trees, at[: len(part)], total[rows])
        return total / self.roots.size


def _design(X: Any, queries: Queries | None, others: list[int], encode: Any) -> Any:
    """Return the columns that the trees see, float32."""
    if issparse(X):
        return X.astype(np.float32)
    codes = []
    if others:
        codes = [encode(_safe_indexing(X, others, axis=1))]
        rest = [at for at in range(X.shape[1]) if at not in others]
        X = _safe_indexing(X, rest, axis=1)
    numbers = as_numbers(X)
    context = [] if queries is None else [query_context(numbers, queries)]
    with np.errstate(over="ignore"):  # reported as infinite
        design = np.concatenate([numbers, *codes, *context], axis=1, dtype=np.float32)
    assert_all_finite(design, allow_nan=True, input_name="X")
    return design
