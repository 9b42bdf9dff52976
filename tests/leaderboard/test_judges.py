"""Judges beside people, against equations and moments written vote by vote."""

import numpy as np
import pytest
from scipy.optimize import root
from scipy.stats import logistic, norm

from skrank_abstain.leaderboard import Leaderboard
from skrank_abstain.leaderboard._fit import VOTE_MODELS

N, PRIOR = 4, 0.1


def drawn(
    n_people, n_judged, *, n_items=N, agreement=0.9, bias=0.3, seed=0, truth=None
):
    """Return the truth, people's votes and a judge's about these and other battles."""
    rng = np.random.default_rng(seed)
    truth = np.linspace(1, 0, n_items) if truth is None else truth
    believed = truth + bias * rng.normal(size=n_items)
    n = n_people + n_judged
    left = rng.integers(n_items, size=n)
    right = (left + rng.integers(1, n_items, size=n)) % n_items
    one = rng.normal(size=n)
    two = agreement * one + np.sqrt(1 - agreement**2) * rng.normal(size=n)

    def label(strength, noise):
        gap = strength[left] - strength[right] + logistic.ppf(norm.cdf(noise))
        return np.select([gap > 0.3, gap < -0.3], ["left", "right"], "tie")

    people = {"left": left, "right": right, "label": label(truth, one)}
    people = {name: column[:n_people] for name, column in people.items()}
    people["vote_id"] = np.arange(n_people)
    judges = {"left": left, "right": right, "label": label(believed, two)}
    return truth, people, judges | {"vote_id": np.arange(n)}


def numbers(votes):
    words = {"left": 1, "tie": 0, "right": -1}
    label = np.array([words[word] for word in votes["label"]])
    return votes["left"], votes["right"], label


def vote_scores(votes, theta, tau):
    """Return the score of each vote, shape (n_votes, n_items)."""
    left, right, label = numbers(votes)
    in_eta, _ = VOTE_MODELS["rao_kupper"].scores(theta[left] - theta[right], tau)
    side = np.eye(N)[left] - np.eye(N)[right]
    return in_eta[np.arange(label.size), label + 1][:, None] * side


def test_strengths_and_covariance_are_those_of_the_definition():
    _, people, judges = drawn(300, 900)
    board = Leaderboard(prior=PRIOR).fit(people, judges=judges)
    tau, reliance, n = board.tau_, board.reliance_, 300
    own = Leaderboard(prior=PRIOR).fit(people)
    assert tau == own.tau_

    def equations(theta):
        person = vote_scores(people, theta, tau)
        judge = vote_scores(judges, theta, tau)
        added = judge[n:].mean(axis=0) - judge[:n].mean(axis=0)
        return n * (person.mean(axis=0) + reliance * added) - PRIOR * theta

    found = root(equations, np.zeros(N), tol=1e-12).x
    np.testing.assert_allclose(board.strengths_, found, atol=1e-6)

    def covariance(theta, reliance):
        person = vote_scores(people, theta, tau)
        judge = vote_scores(judges, theta, tau)
        beside = person - reliance * judge[:n]
        moments = n * np.cov(beside.T)
        moments += reliance**2 * n**2 / 900 * np.cov(judge[n:].T)
        left, right, label = numbers(people)
        eta = theta[left] - theta[right]
        counts = np.eye(3)[label + 1]
        curvature = VOTE_MODELS["rao_kupper"].expand(eta, tau, counts).curvature
        side = np.eye(N)[left] - np.eye(N)[right]
        hessian = side.T @ (curvature[:, None] * side) + PRIOR * np.eye(N)
        centre = np.eye(N) - 1 / N
        inverse = centre @ np.linalg.inv(hessian)
        return inverse @ moments @ inverse.T

    np.testing.assert_allclose(
        board.covariance_, covariance(board.strengths_, reliance), rtol=1e-6, atol=1e-9
    )
    grid = np.linspace(0, 1, 1001)
    best = grid[np.argmin([np.trace(covariance(own.strengths_, r)) for r in grid])]
    assert reliance == pytest.approx(best, abs=1e-3)
    alone = np.trace(covariance(board.strengths_, 0.0))
    assert board.vote_worth_ == pytest.approx(alone / np.trace(board.covariance_))


def test_a_judge_that_knows_nothing_of_the_vote_adds_next_to_nothing():
    _, people, judges = drawn(1000, 5000, agreement=0.0)
    board = Leaderboard().fit(people, judges=judges)
    assert board.reliance_ < 0.1
    assert board.vote_worth_ == pytest.approx(1, abs=0.05)
    alone = Leaderboard().fit(people).strengths_
    assert np.abs(board.strengths_ - alone).max() < 0.05


def test_a_judge_that_always_agrees_is_as_good_as_people():
    _, people, judges = drawn(500, 1500, agreement=1.0, bias=0.0)
    board = Leaderboard().fit(people, judges=judges)
    assert board.reliance_ == pytest.approx(0.75, abs=0.02)
    assert board.vote_worth_ == pytest.approx(4, abs=0.2)
    every = Leaderboard().fit(judges)
    np.testing.assert_allclose(board.strengths_, every.strengths_, atol=0.05)


def test_several_judges_of_a_battle_are_averaged_whatever_the_order():
    _, people, judges = drawn(200, 600)
    twice = {name: np.tile(column, 2) for name, column in judges.items()}
    one = Leaderboard().fit(people, judges=judges)
    two = Leaderboard().fit(people, judges=twice)
    np.testing.assert_allclose(one.strengths_, two.strengths_)
    np.testing.assert_allclose(one.covariance_, two.covariance_)
    turn = {"left": "right", "right": "left", "tie": "tie"}
    mirrored = {
        "left": judges["right"][::-1],
        "right": judges["left"][::-1],
        "label": [turn[word] for word in judges["label"][::-1]],
        "vote_id": judges["vote_id"][::-1],
    }
    three = Leaderboard().fit(people, judges=mirrored)
    np.testing.assert_allclose(one.strengths_, three.strengths_, atol=1e-9)


def test_clusters_and_weights_of_people_count():
    _, people, judges = drawn(400, 800)
    people["block"] = np.arange(400) % 40
    people["weight"] = np.ones(400)
    plain = Leaderboard().fit(people, judges=judges)
    clustered = Leaderboard().fit(people, judges=judges, cluster="block")
    assert not np.allclose(plain.covariance_, clustered.covariance_)
    people["weight"] = np.where(np.arange(400) < 200, 1.0, 0.0)
    half = Leaderboard().fit(people, judges=judges)
    assert np.trace(half.covariance_) > 1.5 * np.trace(plain.covariance_)


def test_what_a_judge_skips_does_not_count():
    _, people, judges = drawn(400, 800)
    skipped = np.arange(len(judges["label"])) % 3 == 0
    given = {k: np.asarray(v)[~skipped] for k, v in judges.items()}
    label = np.where(skipped, "skip", judges["label"])
    expected = Leaderboard().fit(people, judges=given)
    found = Leaderboard().fit(people, judges=judges | {"label": label})
    np.testing.assert_array_equal(found.strengths_, expected.strengths_)
    np.testing.assert_array_equal(found.covariance_, expected.covariance_)
    for name in ("weight", "count"):
        with pytest.raises(ValueError, match="judges must vote once a row"):
            Leaderboard().fit(people, judges=judges | {name: np.full(skipped.size, 2)})


def test_a_board_with_judges_does_what_others_do():
    _, people, judges = drawn(400, 800)
    board = Leaderboard(random_state=0).fit(people, judges=judges)
    assert len(board.ranking()) == N
    assert board.ranking().votes.sum() == 800
    with pytest.warns(UserWarning, match="fit with"):
        assert len(board.ask(1)) == 1
    assert board.score(people) > -1.2
    with pytest.raises(ValueError, match="fitted without judges"):
        board.fragility()
    assert not hasattr(board.fit(people), "vote_worth_")


def test_few_battles_of_judges_alone_still_converge():
    _, people, judges = drawn(60, 5, n_items=8)
    board = Leaderboard().fit(people, judges=judges)
    assert np.isfinite(board.strengths_).all()
    assert 0 <= board.reliance_ <= 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p, j: (p, {k: v[:50] for k, v in j.items()}), "got 50 and 0"),
        (lambda p, j: (p, {k: v[:51] for k, v in j.items()}), "of each, got 50 and 1"),
        (lambda p, j: (p, {k: v[50:] for k, v in j.items()}), "got 0 and 50"),
        (lambda p, j: (p, j | {"vote_id": j["vote_id"][::-1]}), "same two items"),
        (lambda p, j: (p, j | {"label": ["won"] * 100}), r"of votes: votes\['label'\]"),
        (
            lambda p, j: (p, {"left": j["left"]}),
            "judges must be a table of votes: votes must have columns",
        ),
        (lambda p, j: (p | {"vote_id": p["left"]}, j), "each vote_id once"),
        (
            lambda p, j: ({k: v for k, v in p.items() if k != "vote_id"}, j),
            "judges needs vote_id, which must name a column",
        ),
        (lambda p, j: (p, j | {"left": j["left"] + 10}), "items of the board"),
    ],
)
def test_mistakes_are_named(change, message):
    _, people, judges = drawn(50, 50)
    people, judges = change(people, judges)
    with pytest.raises(ValueError, match=message):
        Leaderboard().fit(people, judges=judges)


def test_covariates_and_judges_do_not_go_together():
    _, people, judges = drawn(50, 50)
    people["z"] = np.random.default_rng(0).normal(size=50)
    with pytest.raises(ValueError, match="judges must be None with covariates"):
        Leaderboard().fit(people, judges=judges, covariates=["z"])


@pytest.mark.slow
def test_the_promise_holds_beside_a_biased_judge_who_alone_breaks_it():
    truth = np.repeat(np.arange(6) * 0.3, 5)
    false, worth, errors = [], [], []
    for seed in range(60):
        _, people, judges = drawn(2000, 20_000, n_items=30, seed=seed, truth=truth)
        alone = Leaderboard(random_state=0).fit(people)
        both = Leaderboard(random_state=0).fit(people, judges=judges)
        judge = Leaderboard(random_state=0).fit(judges)
        row = []
        for board in (both, judge):
            decisions = board.decisions
            order = np.sign(truth[decisions.left] - truth[decisions.right])
            row.append((decisions.accepted & (decisions.label != order)).any())
        false.append(row)
        worth.append(both.vote_worth_)
        centre = truth - truth.mean()
        errors.append(
            [np.mean((board.strengths_ - centre) ** 2) for board in (alone, both)]
        )
    beside, judge = np.mean(false, axis=0)
    assert beside <= 0.12
    assert judge > 0.7
    people_alone, together = np.mean(errors, axis=0)
    # What is said of the worth of a vote is what it saves.
    assert people_alone / together == pytest.approx(np.mean(worth), rel=0.15)
    assert np.mean(worth) > 1.6


def test_answers_of_a_page_have_no_vote_id():
    _, people, judges = drawn(200, 600)
    more = {name: [*column, *column[:3]] for name, column in people.items()}
    more["vote_id"] = [*people["vote_id"], None, np.nan, ""]
    board = Leaderboard().fit(more, judges=judges)
    assert board.n_votes_ == 203
    assert Leaderboard().fit(more).n_votes_ == 203
