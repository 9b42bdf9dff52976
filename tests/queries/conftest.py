"""Past and new queries of a ranker whose score is in the data already."""

import pytest
from doubles import FirstColumn, named
from queries.drawn import draw_queries

from skrank_abstain.queries import QueryRiskRanker, TopSetRanker


@pytest.fixture(scope="session")
def model():
    return FirstColumn().fit(None, None)


@pytest.fixture(scope="session")
def past():
    return draw_queries(200, 0)


@pytest.fixture(scope="session")
def new():
    return draw_queries(60, 1)


@pytest.fixture(scope="session")
def sets(model, past):
    return TopSetRanker(model, random_state=0).fit(**named(*past))


@pytest.fixture(scope="session")
def half(model, past):
    return QueryRiskRanker(model, coverage=0.5, random_state=0).fit(**named(*past))
