"""How few votes hold a leader: their influence, and where the lead is lost."""

import warnings

import numpy as np
import pytest
from leaderboard.boards import draw

from skrank_abstain.leaderboard import Leaderboard
from skrank_abstain.leaderboard._fragility import _in_turn, _influence, _successor

LETTERS = np.array(list("ABCDE"))


def board_of(strengths, n_votes, *, ties="rao_kupper", covariates=(), **options):
    left, right, label, z = draw(strengths, n_votes, **options)
    votes = {"left": LETTERS[left], "right": LETTERS[right], "z": z}
    votes["label"] = np.array(["right", "tie", "left"])[label + 1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # items that won every time
        return Leaderboard(ties=ties).fit(votes, covariates=covariates), votes


@pytest.mark.parametrize("ties", ["rao_kupper", "davidson"])
@pytest.mark.parametrize("covariates", [(), ("z",)])
def test_influence_is_what_a_lead_loses_with_a_bit_of_a_vote(ties, covariates):
    board, votes = board_of(
        [0.5, 0, -1], 40, ties=ties, covariates=covariates, effect=0.5
    )
    evidence = board._evidence
    found = _influence(evidence, evidence.inverse_information(), 0, 1)
    step = 1e-4
    for row in (0, 7, 23):
        leads = []
        for change in (-step, step):
            weight = np.ones(40)
            weight[row] += change
            other = Leaderboard(ties=ties).fit(
                votes | {"weight": weight}, covariates=covariates
            )
            leads.append(other.strengths_[0] - other.strengths_[1])
        assert found[row] == pytest.approx((leads[1] - leads[0]) / (2 * step), abs=1e-5)


@pytest.mark.parametrize("seed", range(8))
def test_the_lead_is_lost_with_the_last_of_the_votes_and_not_before(seed):
    # Leads so large that the first order is far from the truth.
    board, _ = board_of([2.5, 1.5, 0, -1], 60, seed=seed)
    evidence, found = board._evidence, board.fragility()
    leader = int(evidence.theta.argmax())
    inverse = evidence.inverse_information()
    for other in np.argsort(-evidence.theta)[1:]:
        influence = _influence(evidence, inverse, leader, other)
        lead = evidence.theta[leader] - evidence.theta[other]
        order, _ = _in_turn(influence, lead)
        if np.array_equal(np.sort(order[: found.rows.size]), found.rows):
            break
    else:
        raise AssertionError("the votes are not the first of any order")
    assert _successor(evidence, leader, order[: found.rows.size]) is not None
    assert _successor(evidence, leader, order[: found.rows.size - 1]) is None
    assert found.leader == board.items_[leader]


def test_votes_go_by_their_influence_until_they_make_up_the_lead():
    influence = np.array([0.1, 0.5, -0.2, 0.3, 0.0])
    order, enough = _in_turn(influence, 0.7)
    assert order.tolist() == [1, 3, 0]
    assert enough == 2
    assert _in_turn(influence, 9.0)[1] == 3  # all there are
