import numpy as np
import pytest
from sklearn.datasets import load_diabetes

from skrank_abstain.datasets import load_triage


def test_shapes_and_types():
    triage = load_triage()
    assert triage.data.shape == (442, 10)
    assert triage.target.shape == triage.qid.shape == triage.progression.shape == (442,)
    assert triage.data.dtype == triage.progression.dtype == np.float64
    assert triage.target.dtype == triage.qid.dtype == np.int64


def test_patients_are_those_of_scikit_learn_in_their_order():
    triage = load_triage(random_state=7)
    X, y = load_diabetes(return_X_y=True, scaled=False)
    np.testing.assert_array_equal(triage.data, X)
    np.testing.assert_array_equal(triage.progression, y)


def test_feature_names_fit_their_columns():
    triage = load_triage()
    column = dict(zip(triage.feature_names, triage.data.T, strict=True))
    assert list(column) == [
        "age",
        "sex",
        "bmi",
        "blood_pressure",
        "total_cholesterol",
        "ldl",
        "hdl",
        "cholesterol_hdl_ratio",
        "log_triglycerides",
        "glucose",
    ]
    assert set(column["sex"]) == {1.0, 2.0}
    ratio = column["total_cholesterol"] / column["hdl"]
    # The ratio is rounded to a whole number for most patients.
    assert np.median(np.abs(ratio - column["cholesterol_hdl_ratio"])) < 0.25
    assert (column["ldl"] < column["total_cholesterol"]).all()


@pytest.mark.parametrize("n_grades", [2, 3, 5, 10])
def test_grades_are_quantiles_of_the_progression(n_grades):
    triage = load_triage(n_grades=n_grades)
    counts = np.bincount(triage.target)
    assert counts.size == n_grades
    # The sizes differ only because equal progressions share a grade.
    assert np.abs(counts - 442 / n_grades).max() <= 5
    for grade in range(n_grades - 1):
        slower = triage.progression[triage.target == grade]
        faster = triage.progression[triage.target == grade + 1]
        assert slower.max() < faster.min()


def test_days_have_thirteen_patients_and_are_mixed():
    triage = load_triage()
    assert np.bincount(triage.qid).tolist() == [13] * 34
    assert np.count_nonzero(np.diff(triage.qid)) > 400  # rows of a day are spread


def test_random_state_moves_days_only():
    first, again, other = (load_triage(random_state=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.qid, again.qid)
    assert not np.array_equal(first.qid, other.qid)
    np.testing.assert_array_equal(first.data, other.data)
    np.testing.assert_array_equal(first.target, other.target)


def test_result_is_the_callers_own():
    load_triage().feature_names.clear()
    load_triage().data[:] = 0
    assert len(load_triage().feature_names) == 10
    assert load_triage().data.any()


@pytest.mark.parametrize("text", [load_triage.__doc__, load_triage().DESCR])
def test_synthetic_grouping_and_teaching_are_said(text):
    assert "synthetic grouping" in text.lower()
    assert "teaching dataset" in text


@pytest.mark.parametrize(
    ("n_grades", "error", "message"),
    [
        (1, ValueError, r"n_grades must be at least 2, got 1\."),
        (3.0, TypeError, r"n_grades must be an integer, got 3\.0\."),
        (200, ValueError, r"leave each grade a patient, got 200\."),
        (10**9, ValueError, r"leave each grade a patient, got 1000000000\."),
    ],
)
def test_number_of_grades_out_of_range(n_grades, error, message):
    with pytest.raises(error, match=message):
        load_triage(n_grades=n_grades)
