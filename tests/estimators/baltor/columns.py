"""Items whose one feature is their score."""

import numpy as np
from doubles import FirstColumn

from skrank_abstain import BALToR


def column(scores):
    return np.asarray(scores, dtype=float)[:, None]


#: What is exact about gaps is tested with a model of the gap.
TERRY = {"tie_model": "bradley_terry"}


def fit_scores(scores, y, qid=None, **options):
    ranker = BALToR(FirstColumn().fit(None, None), **{**TERRY, **options})
    return ranker.fit(column(scores), y, qid=qid)
