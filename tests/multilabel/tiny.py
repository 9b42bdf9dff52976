"""Tiny classes of rankings, losses of the families, and rounds that are given."""

from functools import partial

import numpy as np
from hypothesis import strategies as st
from multilabel.definitions import (
    auc_loss,
    average_precision_loss,
    dcg_loss,
    pairwise_loss,
    precision_loss,
    sum_loss,
)

from skrank_abstain.multilabel._losses import all_rankings


def top_label_loss(y_true, y_score):
    """Whether the label ranked first is irrelevant, and another one is not."""
    top = np.take_along_axis(y_true, np.argmax(y_score, axis=1)[:, None], axis=1)[:, 0]
    return float(np.mean(np.any(y_true, axis=1) & (top == 0)))


FAMILY_LOSSES = {
    ("sum", 2): [partial(sum_loss, p=2), partial(dcg_loss, p=2)],
    ("sum", 3): [sum_loss, pairwise_loss, auc_loss, average_precision_loss, dcg_loss],
    ("precision", 1): [partial(precision_loss, p=1), top_label_loss],
    ("precision", 2): [partial(precision_loss, p=2)],
}


@st.composite
def tiny_classes(draw, max_hypotheses=6, max_points=4):
    shape = draw(st.integers(1, max_hypotheses)), draw(st.integers(1, max_points))
    rankings = all_rankings(3)
    rows = draw(
        st.lists(
            st.integers(0, len(rankings) - 1),
            min_size=shape[0] * shape[1],
            max_size=shape[0] * shape[1],
        )
    )
    ranks = rankings[rows].reshape(*shape, 3)
    n = draw(st.integers(1, 6))
    points = draw(st.lists(st.integers(0, shape[1] - 1), min_size=n, max_size=n))
    label = st.integers(0, 1)
    y = [draw(st.lists(label, min_size=3, max_size=3)) for _ in range(n)]
    return ranks, np.array(points), np.array(y)


class Rounds(np.random.RandomState):
    """A source of random numbers that draws given learning rounds first."""

    def __init__(self, updated, seed=0):
        super().__init__(seed)
        self.first = [1.0 - np.asarray(updated)]

    def random_sample(self, size=None):
        """Return the numbers that make the rounds, and then random ones."""
        return self.first.pop() if self.first else super().random_sample(size)


def chance(updated, beta):
    """Chance that these rounds are the learning rounds."""
    share = len(updated) ** (beta - 1)
    return np.prod(np.where(updated, share, 1 - share))
