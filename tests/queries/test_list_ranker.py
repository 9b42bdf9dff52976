"""What the rankers of whole queries share: models, copies, routing, and their page."""

import pickle

import numpy as np
import pytest
from queries.drawn import PIPELINES_ROUTE
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank_abstain.queries import QueryRiskRanker, TopSetRanker

#: A class, its own parameter, and what it says of each query.
BOTH = pytest.mark.parametrize(
    ("ranker", "own", "method"),
    [
        (TopSetRanker, {"alpha": 0.1}, "set_sizes"),
        (QueryRiskRanker, {"coverage": 0.5}, "query_risk"),
    ],
)


@BOTH
def test_it_is_saved_and_cloned(model, past, new, ranker, own, method):
    X, _, qid = new
    fitted = ranker(model, **own, random_state=0).fit(*past)
    loaded = pickle.loads(pickle.dumps(fitted))
    found = getattr(fitted, method)(X, qid)
    np.testing.assert_array_equal(getattr(loaded, method)(X, qid), found)
    assert own.items() <= clone(fitted).get_params().items()
    with pytest.raises(NotFittedError):
        getattr(ranker(Ridge(), **own), method)(X)


@BOTH
@PIPELINES_ROUTE
def test_routing_hands_on_the_queries_of_a_pipeline(past, routing, ranker, own, method):
    X, y, qid = past
    params = {"qid": qid, "groups": qid}
    pipeline = make_pipeline(StandardScaler(), ranker(Ridge(), **own, random_state=0))
    found = cross_validate(pipeline, X, y, cv=GroupKFold(2), params=params)
    assert (
        found["test_score"] > {"alpha": 0.7, "coverage": 0.6}[next(iter(own))]
    ).all()


@BOTH
def test_a_verbose_fit_prints_one_line(model, past, capsys, ranker, own, method):
    fitted = ranker(model, **own, random_state=0, verbose=1).fit(*past)
    line = f"[{ranker.__name__}] calibrated on {fitted.n_queries_} queries: threshold "
    assert capsys.readouterr().out.startswith(line)
