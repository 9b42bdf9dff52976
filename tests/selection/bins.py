"""Tables of bins drawn at random."""

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st
from scored import scored
from strategies import grades, losses, qids, scores

from skrank_abstain.pairs import Scores, group_queries
from skrank_abstain.selection import decide_queries
from skrank_abstain.selection._bins import BinEngine, BinRegion
from skrank_abstain.tie_models import BinModel
from skrank_abstain.tie_models._graded_relevance import grade_proba, pair_table

ZERO_ONE = 1 - np.eye(3)
MISRANKING = np.array([[0, 0, 1], [1, 0, 1], [1, 0, 0]])


class FixedCells(BinModel):
    """A bin model with a given table, and what counts as equal values of a bin."""

    def __init__(self, edges, table, tolerance=0.0):
        self.edges = edges
        self.table = table
        self.tolerance = tolerance
        self.edges_, self.table_, self.n_pairs_ = edges, table, 0

    def fit_bins(self, items):
        raise NotImplementedError


def engine_of(model, loss):
    return BinEngine(model, loss, model.tolerance)


def are_equal(model, one, other):
    """Whether two values of one bin are equal but for rounding."""
    inside = sum(one >= edge for edge in model.edges_) == sum(
        other >= edge for edge in model.edges_
    )
    return inside and abs(one - other) <= model.tolerance


#: Nothing, or a step of the grid that scores are drawn from.
TOLERANCES = st.sampled_from([0.0, 0.25])


@st.composite
def cell_models(draw):
    """Graded relevance with given parameters, on bins between quarters."""
    edges = draw(st.lists(st.integers(-8, 8), unique=True, max_size=6))
    edges = np.sort(np.array(edges, dtype=float)) / 4
    steps = draw(st.lists(st.floats(0.25, 2), max_size=3))
    cuts = draw(st.floats(-2, 2)) + np.append(0.0, np.cumsum(steps))
    spread = draw(st.floats(0, 1.5))
    values = draw(st.sampled_from([0.5, 1.5, 5.0])) * np.arange(edges.size + 1.0)
    shares = np.full(cuts.size + 1, draw(st.sampled_from([1.0, 0.5])))
    grade = grade_proba(values - values.mean(), cuts, spread)
    return FixedCells(edges, pair_table(grade, shares), draw(TOLERANCES))


@st.composite
def cases(draw):
    """Model, loss, scores, grades, queries with at least one pair."""
    s = draw(scores(max_size=10))
    qid = draw(qids(s.size))
    queries = group_queries(qid, s.size)
    assume(queries.n_pairs > 0)
    return draw(cell_models()), draw(losses()), s, draw(grades(s.size)), queries


def labelled(case):
    _, _, s, y, queries = case
    return scored(s, queries, y.astype(float))


def decide(risk, region, case):
    _, _, s, _, queries = case
    return decide_queries(risk, region, Scores(s, queries, key=keys_of(s)))


def keys_of(s):
    """Return a key of each item, as a hash of its row would be."""
    return np.arange(s.size).astype(np.uint64)


@st.composite
def any_cases(draw):
    """A table of a user's own, which need not be transitive, and any accepted pairs."""
    edges = np.sort(np.array(draw(st.lists(st.integers(-8, 8), max_size=7)))) / 4
    shape = (edges.size + 1, edges.size + 1)
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    # The higher bin is never the less probable winner.
    lead = np.tril(rng.uniform(0, 1, shape), k=-1)
    lead, tie = lead - lead.T, np.tril(rng.uniform(0, 1, shape))
    tie = np.maximum(tie, tie.T)
    wins = (1 - tie) * (1 + lead) / 2
    # Mirrored but for rounding, as tables are that somebody computed.
    table = np.stack([wins.T, 1 - wins - wins.T, wins], axis=2)
    s = draw(scores(max_size=14))
    queries = group_queries(draw(qids(s.size)), s.size)
    assume(queries.n_pairs > 0)
    model = FixedCells(edges, table, draw(TOLERANCES))
    model.check_probabilities()
    risk = engine_of(model, draw(st.sampled_from([ZERO_ONE, MISRANKING])))
    if draw(st.booleans()):
        region = risk.below(float(rng.choice(risk._risk.ravel())))
    else:
        # In any order, accepted up to any place.
        n = edges.size + 2  # bins, and equal values
        place = np.tril(rng.permutation(n * n).reshape(n, n))
        risk._orders_by[None] = np.maximum(place, place.T), np.arange(place.max() + 1.0)
        region = BinRegion(0.5, draw(st.integers(-1, place.max())))
    return risk, region, s, queries
