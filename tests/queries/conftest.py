"""Past and new queries of a ranker whose score is in the data already."""

import pytest
from doubles import FirstColumn
from queries.drawn import draw_queries


@pytest.fixture(scope="session")
def model():
    return FirstColumn().fit(None, None)


@pytest.fixture(scope="session")
def past():
    return draw_queries(200, 0)


@pytest.fixture(scope="session")
def new():
    return draw_queries(60, 1)
