"""Hypothesis strategies for scores, queries, tie models and losses.

Scores are multiples of a quarter between -2 and 2: many are equal, and sums and
differences are exact, so that tests can ask for equality.
"""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from skrank_abstain.tie_models import DifferenceModel
from skrank_abstain.tie_models._difference_models import Davidson, RaoKupper, Thurstone

QUARTERS = st.integers(-8, 8).map(lambda k: k / 4)

LINKS = {
    "rao_kupper": RaoKupper(),
    "davidson": Davidson(),
    "thurstone_mosteller": Thurstone(),
}

# Tie parameters of no ties at all.
NO_TIE = {"rao_kupper": 1.0, "davidson": 0.0, "thurstone_mosteller": 0.0}

# Tie parameters from which on a tie can be the best prediction for zero-one loss.
TIE_ZONE = {
    "rao_kupper": 2.0,
    "davidson": 1.0,
    "thurstone_mosteller": 0.4307272992954576,
}


class FixedModel(DifferenceModel):
    """A difference model with given parameters instead of fitted ones."""

    def __init__(self, kind="rao_kupper", param=1.0, scale=1.0):
        self.kind = kind
        self.param = param
        self.scale = scale
        self.n_pairs_ = 0

    def fit_outcomes(self, outcomes):
        raise NotImplementedError

    def proba_at_gap(self, gap):
        margin = np.log(self.param) if self.kind == "rao_kupper" else self.param
        return LINKS[self.kind].proba(self.scale * gap, margin)


@dataclass(frozen=True)
class Items:
    scores: np.ndarray
    y: np.ndarray
    qid: object


def scores(n=None, *, min_size=2, max_size=12):
    """Scores, many of them equal."""
    size = st.integers(min_size, max_size) if n is None else n
    return arrays(np.float64, size, elements=QUARTERS)


def grades(n):
    return arrays(np.int64, n, elements=st.integers(0, 3))


def qids(n):
    """Query identifiers per item: unsorted, of many types, some of one-item queries."""
    numbers = st.lists(st.integers(-2, 3), min_size=n, max_size=n)
    return numbers.flatmap(
        lambda codes: st.sampled_from(
            [
                codes,
                np.array(codes),
                np.array(codes, dtype=np.float32),
                [f"query {code}" for code in codes],
                np.array([f"q{code}" for code in codes]),
                [(code, "a") for code in codes],
                [str(code) if code % 2 else code for code in codes],
                [frozenset({code}) if code % 2 else f"{code}" for code in codes],
                list(range(n)),
            ]
        )
    )


@st.composite
def items(draw, min_size=2, max_size=12):
    """Scores, grades and query identifiers of one data set."""
    s = draw(scores(min_size=min_size, max_size=max_size))
    return Items(s, draw(grades(s.size)), draw(qids(s.size)))


def _params(kind, tie_zone, tied):
    never = NO_TIE[kind]
    critical = TIE_ZONE[kind]
    if tie_zone is True:
        return st.floats(critical * 1.05, critical * 4)
    some = st.floats(never + 0.05, critical if tie_zone is False else critical * 4)
    return some if tied else st.just(never) | some


@st.composite
def models(draw, kind=None, tie_zone=None, tied=False):
    """Tie models; with or without a zone where a tie is predicted, or either.

    ``tied=True`` leaves out those where a tie is impossible: a loss under which it is
    predicted all the same has the same risk at every gap.
    """
    kind = draw(st.sampled_from(sorted(LINKS))) if kind is None else kind
    param = draw(_params(kind, tie_zone, tied))
    return FixedModel(kind, param, draw(st.floats(0.25, 2.0)))


@st.composite
def losses(draw):
    """Mirror-symmetric losses with a zero diagonal.

    Confusing the two orders always costs something: where it is free there is no
    better order, and nothing for a mirror to turn.
    """
    swap = draw(st.floats(0.125, 4))
    order_for_tie, tie_for_order = draw(st.floats(0, 4)), draw(st.floats(0, 4))
    return np.array(
        [
            [0.0, order_for_tie, swap],
            [tie_for_order, 0.0, tie_for_order],
            [swap, order_for_tie, 0.0],
        ]
    )


COVERAGES = st.integers(1, 99).map(lambda percent: percent / 100)
