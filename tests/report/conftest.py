"""What every test of the report is about: a ranker, and new queries."""

import pytest
from sklearn.linear_model import Ridge

from skrank_abstain import BALToR
from skrank_abstain.datasets import make_ranking
from skrank_abstain.report import _page

DATE = "2026-11-22T08:00:00+00:00"


@pytest.fixture(scope="module")
def known():
    return make_ranking(n_queries=60, n_items=(2, 12), random_state=0)


@pytest.fixture(scope="module")
def new():
    return make_ranking(n_queries=80, n_items=(1, 12), random_state=1)


@pytest.fixture(scope="module")
def ranker(known):
    ranker = BALToR(Ridge(), coverage=0.6, calibration_size=0.25, random_state=0)
    return ranker.fit(known.data, known.target, qid=known.qid)


@pytest.fixture
def now(monkeypatch):
    """The date that reports are written on."""
    monkeypatch.setattr(_page, "date", lambda: DATE)
    return DATE
