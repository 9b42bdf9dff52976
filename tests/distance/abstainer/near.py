"""Rankers that go by distance."""

import numpy as np
from doubles import FirstColumn

from skrank_abstain.distance import (
    DistanceAbstainer,
)

NORMS = [1, 2, 3.5, np.inf]
FITTED = FirstColumn().fit(None, None)


def fit(data, model=FITTED, **options):
    return DistanceAbstainer(model, **options).fit(data.data, data.target, data.qid)
