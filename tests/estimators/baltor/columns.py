"""Items whose one feature is their score."""

import numpy as np
from doubles import FirstColumn

from skrank_abstain import BALToR


def column(scores):
    return np.asarray(scores, dtype=float)[:, None]


def fit_scores(scores, y, qid=None, **options):
    return BALToR(FirstColumn().fit(None, None), **options).fit(
        column(scores), y, qid=qid
    )
