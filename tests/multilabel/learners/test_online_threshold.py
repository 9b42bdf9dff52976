"""Algorithm 6: whether a label is in the top j, round by round."""

from functools import partial
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from multilabel.learners.tiny import Rounds, chance, tiny_classes
from multilabel.named import (
    sum_loss,
)

from skrank_abstain.multilabel import (
    online_threshold_run,
)
from skrank_abstain.multilabel._classes import least_loss_learner
from skrank_abstain.multilabel._families import all_rankings

RANKINGS = all_rankings(3).tolist()


def top(ranking, j):
    """The labels in the top j."""
    return {label for label, rank in enumerate(ranking) if rank <= j}


def first_row_of_least_loss(ranks, lessons):
    """The inner learner: lessons are points and the set of their top labels."""
    missed = [
        sum(len(labels - top(h[x], len(labels))) for x, labels in lessons)
        for h in ranks
    ]
    return missed.index(min(missed))


def expert(ranks, points, taught, label, j):
    """What one expert of Algorithm 6 predicts; it takes ``taught`` for the truth."""
    lessons, predicted = [], []
    for t, x in enumerate(points):
        row = first_row_of_least_loss(ranks, lessons)
        predicted.append(int(ranks[row][x][label] <= j))
        if t in taught:
            lessons.append((x, top(taught[t], j)))
    return predicted


@pytest.mark.parametrize("seed", range(6))
def test_all_experts_against_one_at_a_time(seed):
    rng = np.random.default_rng(seed)
    ranks = np.array(RANKINGS)[rng.integers(0, 6, (7, 3))].tolist()
    points, y = rng.integers(0, 3, 6).tolist(), rng.integers(0, 2, 6)
    label, j = int(rng.integers(3)), int(rng.integers(1, 4))
    rounds = sorted(rng.choice(6, 2, replace=False).tolist())
    run = online_threshold_run(
        ranks,
        points,
        y,
        label=label,
        j=j,
        random_state=Rounds(np.isin(range(6), rounds)),
    )
    played = [expert(ranks, points, {}, label, j)]
    for phi in product(RANKINGS, repeat=2):
        taught = dict(zip(rounds, phi, strict=True))
        played.append(expert(ranks, points, taught, label, j))
    losses = np.array(played) != y
    assert run.n_experts == 1 + 6**2
    assert run.expert_losses.tolist() == losses.sum(axis=1).tolist()
    assert run.best_expert_loss == losses.sum(axis=1).min()
    # Weights from the totals before each round.
    rate = np.sqrt(8 * np.log(37) / 6)
    for t in range(6):
        weights = np.exp(-rate * losses[:, :t].sum(axis=1))
        mean = (weights * losses[:, t]).sum() / weights.sum()
        assert run.expected_loss[t] == pytest.approx(mean)
        assert run.prediction[t] in {says[t] for says in played}
    best = min(
        sum((h[x][label] <= j) != bit for x, bit in zip(points, y, strict=True))
        for h in ranks
    )
    assert run.best_hypothesis_loss == best
    assert run.regret_bound == pytest.approx(np.sqrt(6 * np.log(37) / 2))
    # One learner of rankings, wrong in at most 6 rounds; beta = 1/2.
    bound = 6**0.5 * 6 + np.sqrt(2 * 6**1.5 * 3 * np.log(3))
    assert run.class_regret_bound == pytest.approx(bound)


@given(tiny_classes(), st.integers(0, 9), st.integers(0, 2), st.integers(1, 3))
def test_regret_is_bounded(case, seed, label, j):
    ranks, points, y = case
    run = online_threshold_run(
        ranks, points, y[:, 0], label=label, j=j, random_state=seed
    )
    excess = run.expected_loss.sum() - run.best_expert_loss
    assert -1e-9 <= excess <= run.regret_bound + 1e-9
    assert run.prediction.shape == run.updated.shape == points.shape
    assert set(run.prediction.tolist()) <= {0, 1}


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_regret_against_the_class_in_exact_expectation(seed):
    rng = np.random.default_rng(seed)
    ranks = [[[1, 2], [2, 1]], [[2, 1], [2, 1]], [[2, 1], [1, 2]]]
    points, y = rng.integers(0, 2, 6), rng.integers(0, 2, 6)
    expected = best_expert = 0.0
    for updated in product([False, True], repeat=6):
        run = online_threshold_run(
            ranks, points, y, label=0, j=1, beta=0.9, random_state=Rounds(updated)
        )
        expected += chance(updated, 0.9) * run.expected_loss.sum()
        best_expert += chance(updated, 0.9) * run.best_expert_loss
    assert expected <= run.best_hypothesis_loss + run.class_regret_bound
    # The first part of the proof: the learner is wrong at most 3 - 1 times.
    assert 6**0.1 * 2 < 6
    assert best_expert <= run.best_hypothesis_loss + 6**0.1 * 2


@given(tiny_classes(), st.integers(1, 2))
def test_the_default_learner_makes_few_mistakes_on_noise_free_data(case, j):
    ranks, points, _ = case
    learn = least_loss_learner("precision", j)
    for truth in 1 * (ranks[:, points] <= j):
        wrong = 0
        for t, x in enumerate(points):
            row = learn(ranks, points[:t], truth[:t])
            wrong += bool(((ranks[row, x] <= j) != truth[t]).any())
        assert wrong <= len(ranks) - 1


def test_a_learner_of_ones_own():
    def learner(class_ranks, seen, relevance):
        losses = [
            sum_loss(relevance, -h[seen]) if len(seen) else 0.0 for h in class_ranks
        ]
        return len(losses) - 1 - int(np.argmin(losses[::-1]))  # the last of the best

    ranks = [[[1, 2, 3]], [[3, 1, 2]], [[2, 3, 1]]]
    run = online_threshold_run(
        ranks,
        [0] * 3,
        [1, 1, 1],
        label=0,
        j=1,
        learner=learner,
        random_state=Rounds([1, 0, 0]),
    )
    # At first the last row, which does not have label 0 on top; after a lesson that has
    # it there, two of six, the first.
    assert run.expert_losses.tolist() == [3, 1, 1, 3, 3, 3, 3]
    assert run.best_hypothesis_loss == 0
    assert np.isnan(run.class_regret_bound)


def test_threshold_errors():
    run = partial(online_threshold_run, [[[1, 2, 3]]])
    with pytest.raises(ValueError, match="label must be at most 2, got 3"):
        run([0], [1], label=3, j=1)
    with pytest.raises(ValueError, match="label must be at least 0, got -1"):
        run([0], [1], label=-1, j=1)
    with pytest.raises(ValueError, match="j must be at least 1, got 0"):
        run([0], [1], label=0, j=0)
    with pytest.raises(TypeError, match=r"j must be an integer, got 1\.5"):
        run([0], [1], label=0, j=1.5)
    with pytest.raises(ValueError, match="y must hold 0 and 1 alone, got 2"):
        run([0], [2], label=0, j=1)
    with pytest.raises(
        ValueError, match=r"y must have one value per round, .*, got \(2,\)"
    ):
        run([0], [1, 0], label=0, j=1)
    with pytest.raises(TypeError, match=r"learner must be a function, .* got 'erm'"):
        run([0], [1], label=0, j=1, learner="erm")
    with pytest.raises(ValueError, match=r"beta must be in \(0, 1\), got 1"):
        run([0], [1], label=0, j=1, beta=1)
    with pytest.raises(ValueError, match="at most 50000 experts, got 279937"):
        run([0] * 7, [1] * 7, label=0, j=1, random_state=Rounds([True] * 7))
