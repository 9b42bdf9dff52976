"""Patients to rank by urgency, from data that scikit-learn bundles."""

from __future__ import annotations

from inspect import getdoc
from typing import Any

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.utils import Bunch, check_random_state

from skrank_abstain._validation import FloatArray, IntArray, check_positive_int

#: 442 patients make 34 days of 13.
PATIENTS_PER_DAY = 13

FEATURE_NAMES = [
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


def load_triage(*, n_grades: int = 5, random_state: Any = 0) -> Bunch:
    """Load diabetes patients grouped into synthetic clinic days.

    Which patients of a day are the most urgent? The 442 patients are real [1]_, as
    bundled with scikit-learn, unscaled; the days are a synthetic grouping, drawn at
    random. This is a teaching dataset, small and decades old: it does not show how well
    triage would work in a clinic, and must not be used for decisions about patients.

    Parameters
    ----------
    n_grades : int, default=5
        Number of grades of urgency, at least 2; each needs a patient.
    random_state : int, RandomState instance or None, default=0
        Seed of the assignment of patients to days, which alone is random.

    Returns
    -------
    bunch : :class:`~sklearn.utils.Bunch`
        data : ndarray of shape (442, 10), float64
            Measurements in their own units, one patient per row.
        target : ndarray of shape (442,), int64
            Grade from 0 to ``n_grades - 1``; higher means faster progression and
            more urgent.
        qid : ndarray of shape (442,), int64
            Clinic day, 0 to 33, each with 13 patients; synthetic. The rows of a day
            are not contiguous.
        feature_names : list of str
            Names of the columns of ``data``.
        progression : ndarray of shape (442,), float64
            Progression of the disease after one year, from which the grades are made.
        DESCR : str
            Where the data come from.

    Raises
    ------
    ValueError
        If ``n_grades`` is below 2, or so large that a grade has no patient.

    Notes
    -----
    Grade k holds the patients whose progression lies from its k / K quantile up to
    (excluding) its (k + 1) / K quantile, K being ``n_grades``; the last grade
    includes the maximum. Grades have about equal sizes.

    Column names spell out the abbreviations of the original; that its "ltg" is the
    logarithm of triglycerides is likely but not documented. Sex is coded 1 and 2, and
    the cholesterol ratio is rounded to a whole number for most patients.

    References
    ----------
    .. [1] B. Efron, T. Hastie, I. Johnstone and R. Tibshirani, "Least angle
       regression", Annals of Statistics 32, 2004, doi:10.1214/009053604000000067.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank_abstain.datasets import load_triage
    >>> triage = load_triage()
    >>> triage.data.shape
    (442, 10)
    >>> np.bincount(triage.target)
    array([87, 89, 88, 88, 90])
    >>> int((triage.qid == 0).sum())
    13
    """
    n_grades = check_positive_int(n_grades, "n_grades", minimum=2)
    # Unscaled, so that readers recognise an age and a blood pressure.
    X, progression = load_diabetes(return_X_y=True, scaled=False)
    days = np.arange(progression.size, dtype=np.int64) // PATIENTS_PER_DAY
    return Bunch(
        data=np.ascontiguousarray(X, dtype=np.float64),
        target=_quantile_grades(progression, n_grades),
        qid=check_random_state(random_state).permutation(days),
        feature_names=list(FEATURE_NAMES),
        progression=np.asarray(progression, dtype=np.float64),
        DESCR=getdoc(load_triage),
    )


def _quantile_grades(values: FloatArray, n_grades: int) -> IntArray:
    # More quantiles than patients would only take memory.
    inner = np.arange(1, min(n_grades, values.size + 1)) / n_grades
    # A value at a quantile gets the higher grade, so that grade 0 is no larger.
    grades = np.searchsorted(np.quantile(values, inner), values, side="right")
    if np.unique(grades).size < n_grades:
        raise ValueError(
            "n_grades must be small enough that each grade has a patient, "
            f"got {n_grades}."
        )
    return grades.astype(np.int64)
