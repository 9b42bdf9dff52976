"""Rankers and their data, for the tests of risk control."""

import numpy as np
import pytest
from doubles import FirstColumn
from estimators.risk_controlled.certifying import by_loss, draw, fit

from skrank_abstain import concentration, selection


@pytest.fixture(scope="module")
def data():
    return draw(400, 0)


@pytest.fixture(scope="module")
def model(data):
    return FirstColumn().fit(*data[:2])


@pytest.fixture(scope="module")
def ranker(model, data):
    with pytest.warns(UserWarning, match="promises next to nothing"):
        return fit(by_loss(model, max_risk=0.36, random_state=0), data)


@pytest.fixture
def spied(monkeypatch):
    """Parts and arguments that `fit_calibration` and `certify_risk` were given."""
    calls = {"tuned": [], "rest": [], "certified": []}
    calibrate, certify = selection.fit_calibration, concentration.certify_risk

    def spy_calibrate(tie_model, loss, rest, tuning, **options):
        calls["tuned"].append(tuning)
        calls["rest"].append(rest)
        return calibrate(tie_model, loss, rest, tuning, **options)

    def spy_certify(*args, **kwargs):
        calls["certified"].append((args, kwargs))
        return certify(*args, **kwargs)

    monkeypatch.setattr(selection, "fit_calibration", spy_calibrate)
    monkeypatch.setattr(concentration, "certify_risk", spy_certify)
    return calls


@pytest.fixture(scope="module")
def groups(data):
    return np.array(["north", "south"])[data[2] % 2]
