"""A ranker, new queries, and people who answer about them."""

import numpy as np
from doubles import FirstColumn

from skrank_abstain import BALToR
from skrank_abstain.datasets import make_ranking
from skrank_abstain.pairs import pair_labels
from skrank_abstain.review._judging import Reviewers

DATA = make_ranking(n_queries=60, random_state=0)
NEW = make_ranking(n_queries=6, n_items=12, random_state=1)
WORDS = {-1: "right", 0: "same", 1: "left"}


def fit(kind=BALToR, **options):
    # What a review gets right are labels, ties included.
    options = {"loss": "zero_one", "random_state": 0} | options
    scores = DATA.utility[:, None]
    return kind(FirstColumn().fit(None, None), **options).fit(
        scores, DATA.target, qid=DATA.qid
    )


RANKER = fit()
X = NEW.utility[:, None] + np.random.default_rng(0).normal(0, 0.5, (NEW.qid.size, 1))
INPUT = {"X": X, "qid": NEW.qid}


def say(questions, error=0.0, seed=0, reviewer="x"):
    """Answer questions by the true labels, a share ``error`` of them wrongly."""
    rng = np.random.default_rng(seed)
    truth = pair_labels(NEW.target, questions.left, questions.right)
    heard = Reviewers.of_error(error / 2).answer_proba()
    return [
        {
            "qid": pair.qid,
            "left": pair.left,
            "right": pair.right,
            "label": WORDS[int(rng.choice([-1, 0, 1], p=heard[:, label + 1]))],
            "reviewer": reviewer,
        }
        for pair, label in zip(questions, truth, strict=True)
    ]


def right(review):
    decisions = review.decisions
    truth = pair_labels(NEW.target, decisions.left, decisions.right)
    return np.mean(decisions.label == truth)


def loop(rounds, n=10, error=0.0, ranker=RANKER, seed=0, **options):
    answers = []
    for k in range(rounds):
        review = ranker.review(**INPUT, answers=answers, **options)
        answers += say(review.ask(n), error, seed=1000 * seed + k)
    return answers, ranker.review(**INPUT, answers=answers, **options)


# Without answers
