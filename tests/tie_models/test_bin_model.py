"""Models that are constant on bins: bins and probabilities."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from skrank_abstain.tie_models import BinModel


class FixedCells(BinModel):
    """A bin model with a given table: P(+1) grows with the bin of the left item."""

    def __init__(self, n_bins=3):
        self.n_bins = n_bins

    def fit_bins(self, items):
        self.edges_ = np.arange(1.0, self.n_bins)
        number = np.arange(self.n_bins)
        lead = number[:, None] - number[None, :]
        win, lose = 1 / (2 + np.exp(-lead)), 1 / (2 + np.exp(lead))
        self.table_ = np.stack([lose, 1 - (win + lose), win], axis=2)


@st.composite
def labelled(draw):
    sizes = draw(st.lists(st.integers(1, 12), min_size=1, max_size=4))
    sizes[0] = max(sizes[0], 2)
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n_bins = draw(st.integers(1, 4))
    qid = np.repeat(np.arange(len(sizes)), sizes)
    # Multiples of 1/2: many on an edge, many equal.
    scores = rng.integers(-1, 2 * n_bins, qid.size) / 2
    return n_bins, scores, rng.integers(0, 3, qid.size).astype(float), qid


def fitted(case):
    n_bins, scores, y, qid = case
    return FixedCells(n_bins).fit(scores, y, qid=qid)


@given(labelled())
def test_a_value_on_an_edge_belongs_to_the_cell_above(case):
    model = fitted(case)
    for value, number in zip(case[1], model.bins(case[1]), strict=True):
        assert number == sum(value >= edge for edge in model.edges_)


@given(labelled())
def test_swapping_the_items_mirrors_the_probabilities(case):
    model = fitted(case)
    scores = case[1]
    one = model.proba(scores[:-1], scores[1:])
    other = model.proba(scores[1:], scores[:-1])
    np.testing.assert_array_equal(one, other[:, ::-1])
