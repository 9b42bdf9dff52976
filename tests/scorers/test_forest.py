import numpy as np
import pytest
from scipy import sparse
from sklearn.ensemble import ExtraTreesClassifier

from skrank_abstain.pairs import group_queries
from skrank_abstain.scorers._context import query_context
from skrank_abstain.scorers._ensemble import GradeForest


def rows(n_items, seed, missing=0.1):
    """Return features with missing values, grades that depend on them, and queries."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_items, 4))
    grades = np.digitize(X[:, 0] + X[:, 1] ** 2 + rng.normal(size=n_items), [0, 1, 2])
    X[rng.random(X.shape) < missing] = np.nan
    return X, grades, group_queries(rng.integers(0, 20, n_items), n_items)


@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize("with_context", [False, True])
def test_the_expected_grade_is_that_of_scikit_learn(missing, with_context):
    X, grades, queries = rows(300, 0, missing)
    # Missing values that training did not see have their way, too.
    new, _, new_queries = rows(200, 1)
    oracle = ExtraTreesClassifier(60, min_samples_leaf=10, random_state=0)
    if with_context:
        wide, new_wide = (
            np.hstack([X, query_context(X, queries)]),
            np.hstack([new, query_context(new, new_queries)]),
        )
    else:
        wide, new_wide, queries, new_queries = X, new, None, None
    oracle.fit(wide.astype(np.float32), grades)
    found = GradeForest.fit(X, grades, queries).predict(new, new_queries)
    expected = oracle.predict_proba(new_wide.astype(np.float32)) @ oracle.classes_
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_sparse_rows_are_as_dense_ones():
    X, grades, _ = rows(300, 0, missing=0.0)
    X[X < 0] = 0.0
    forest = GradeForest.fit(sparse.csr_array(X), grades, None)
    expected = GradeForest.fit(X, grades, None).predict(X, None)
    np.testing.assert_allclose(forest.predict(sparse.csr_array(X), None), expected)


@pytest.mark.parametrize("value", [np.inf, -1e300])
def test_infinite_and_huge_values_are_refused(value):
    X, grades, _ = rows(300, 0)
    forest = GradeForest.fit(X, grades, None)
    X[7, 2] = value
    for call in (forest.predict, lambda X, _: GradeForest.fit(X, grades, None)):
        with pytest.raises(ValueError, match="X contains infinity"):
            call(X, None)
