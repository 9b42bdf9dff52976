"""Small fitted rankers, and their decisions."""

import matplotlib as mpl
import pytest
from doubles import FirstColumn

from skrank_abstain import BALToR, CostAbstainer, RiskControlledRanker
from skrank_abstain.datasets import make_ranking

mpl.use("Agg")


class RoundedColumn(FirstColumn):
    """The first feature, rounded so that some scores are equal."""

    def predict(self, X):
        self.n_runs_ = getattr(self, "n_runs_", 0) + 1
        return super().predict(X).round(2)


@pytest.fixture(scope="session")
def new():
    return make_ranking(n_queries=30, random_state=1)


@pytest.fixture(scope="session")
def ranker():
    data = make_ranking(n_queries=60, random_state=0)
    model = RoundedColumn().fit(None, None)
    return BALToR(model, random_state=0).fit(data.data, data.target, qid=data.qid)


@pytest.fixture(scope="session")
def rankers(ranker):
    """One ranker of each rule, by the name of its class."""
    data = make_ranking(n_queries=200, random_state=2)
    others = (
        CostAbstainer(ranker.estimator_, cost=0.4, random_state=0),
        RiskControlledRanker(ranker.estimator_, max_risk=0.45, random_state=0),
    )
    for other in others:
        other.fit(data.data, data.target, qid=data.qid)
    return {type(each).__name__: each for each in (ranker, *others)}


@pytest.fixture(scope="session")
def decisions(ranker, new):
    return ranker.predict_pairs(new.data, qid=new.qid)
