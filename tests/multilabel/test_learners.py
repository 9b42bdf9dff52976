"""Online learners of rankings, and of whether a label is in the top j, by rounds."""

from functools import partial
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from multilabel.definitions import auc_loss, auc_score, precision_loss, sum_loss
from multilabel.tiny import FAMILY_LOSSES, Rounds, chance, tiny_classes

from skrank_abstain.multilabel import (
    label_ranks,
    online_expert_run,
    online_threshold_run,
)
from skrank_abstain.multilabel._learners import majority_answers
from skrank_abstain.multilabel._losses import all_rankings, least_loss_learner
from skrank_abstain.multilabel._online import exponential_weights


@given(tiny_classes(), st.integers(0, 9), st.sampled_from(list(FAMILY_LOSSES)))
def test_regret_is_bounded(case, seed, family):
    ranks, points, y = case
    for loss in FAMILY_LOSSES[family]:
        run = online_expert_run(
            ranks,
            points,
            y,
            loss=loss,
            family=family[0],
            p=family[1],
            beta=0.5,
            random_state=seed,
        )
        learning = int(run.updated.sum())
        assert run.expert_losses.size == (1 + 6**learning if learning else 1)
        assert run.expected_loss.shape == (len(points),)
        excess = run.expected_loss.sum() - run.expert_losses.min()
        assert -1e-9 <= excess <= run.regret_bound + 1e-9


def one_expert(ranks, points, teachings, updated, tops):
    """An expert of the construction, by the definition: its ranking in each round."""
    n_labels = ranks.shape[2]
    alive = {(i, j): set(range(len(ranks))) for i in range(n_labels) for j in tops}
    played = []
    for point, teaching, update in zip(points, teachings, updated, strict=True):
        votes = [
            sum(
                2 * sum(ranks[h, point, i] <= j for h in alive[i, j]) > len(alive[i, j])
                for j in tops
            )
            for i in range(n_labels)
        ]
        played.append(label_ranks([votes])[0])
        for (i, j), hypotheses in alive.items():
            truth = teaching[i] <= j
            left = {h for h in hypotheses if (ranks[h, point, i] <= j) == truth}
            if update and left:
                alive[i, j] = left
    return np.array(played)


@pytest.mark.parametrize("family", list(FAMILY_LOSSES))
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_all_experts_against_one_at_a_time(family, seed):
    rng = np.random.default_rng(seed)
    rankings = all_rankings(3)
    ranks = rankings[rng.integers(0, 6, (8, 2))]
    points, y = rng.integers(0, 2, 6), rng.integers(0, 2, (6, 3))
    loss = FAMILY_LOSSES[family][0]
    tops = range(1, family[1] + 1) if family[0] == "sum" else [family[1]]
    run = online_expert_run(
        ranks, points, y, loss=loss, family=family[0], p=family[1], random_state=28
    )
    assert run.updated.sum() == 2
    played = [one_expert(ranks, points, y, run.updated & False, tops)]
    for first in rankings:
        for second in rankings:
            teachings = np.ones((6, 3))
            teachings[run.updated] = [first, second]
            played.append(one_expert(ranks, points, teachings, run.updated, tops))
    losses = np.array(
        [
            [loss([row], [-choice]) for row, choice in zip(y, expert, strict=True)]
            for expert in played
        ]
    ).T
    assert run.expert_losses.size == losses.shape[1] == 37
    assert run.expert_losses.min() == pytest.approx(losses.sum(axis=0).min())
    grid = np.array([*product([0.0, 1.0], repeat=3)])
    largest = max(loss([row], [-ranked]) for row in grid for ranked in rankings)
    rate = np.sqrt(8 * np.log(37) / 6) / largest
    weights = exponential_weights(losses, rate, largest)[:-1]
    expected = (weights * losses).sum(axis=1)
    np.testing.assert_allclose(run.expected_loss, expected)
    bound = largest * np.sqrt(6 * np.log(37) / 2)
    assert run.regret_bound == pytest.approx(bound)
    np.testing.assert_allclose(np.sort(run.expert_losses), np.sort(losses.sum(axis=0)))
    assert run.expert_losses[0] == pytest.approx(losses[:, 0].sum())
    best = min(loss(y, -h[points]) * len(y) for h in ranks)
    assert run.best_hypothesis_loss == pytest.approx(best)
    for t, row in enumerate(run.prediction):
        assert any((row == expert[t]).all() for expert in played)


def test_an_expert_follows_the_best_hypothesis():
    # All rounds teach: one expert is told what the true hypothesis says, and its
    # majority votes err at most once on two hypotheses.
    ranks = np.array([[[1, 2, 3], [3, 2, 1]], [[3, 2, 1], [1, 2, 3]]])
    points = np.array([0, 1, 0, 1])
    y = 3 - ranks[1, points]
    run = online_expert_run(
        ranks,
        points,
        y,
        loss=sum_loss,
        family="sum",
        max_grade=2,
        random_state=Rounds([True] * 4),
    )
    assert run.updated.all()
    assert run.expert_losses.size == 1 + 6**4
    worst = max(sum_loss(y[:1], [-ranked]) for ranked in all_rankings(3))
    assert run.expert_losses.min() <= worst
    assert run.best_hypothesis_loss == 0


@pytest.mark.parametrize("n_updates", [1, 2, 3])
def test_the_expert_that_never_learns_is_one_more_than_is_printed(n_updates):
    # (K!)**|b| leaves it out; K**(K |b|), which the bounds use, has room for it.
    run = online_expert_run(
        [[[1, 2, 3]]],
        [0] * 3,
        [[1, 0, 0]] * 3,
        loss=sum_loss,
        family="sum",
        random_state=Rounds(np.arange(3) < n_updates),
    )
    assert run.expert_losses.size == 6**n_updates + 1
    assert 6**n_updates < run.expert_losses.size <= 3 ** (3 * n_updates)


def test_no_learning_round_leaves_one_expert():
    ranks = [[[2, 1]], [[2, 1]]]
    for seed in range(20):
        run = online_expert_run(
            ranks,
            [0] * 4,
            [[1, 0]] * 4,
            loss=sum_loss,
            family="sum",
            beta=0.01,
            random_state=seed,
        )
        if not run.updated.any():
            break
    assert run.expert_losses.size == 1
    assert run.regret_bound == 0
    assert run.expected_loss.tolist() == [1] * 4
    assert run.expert_losses.min() == 4


def test_rounds_without_any_loss():
    # The largest loss is that of the grades that could come, not of those that came.
    never = [[[1, 2]]], [0] * 3, [[0, 0]] * 3
    run = online_expert_run(
        *never, loss=sum_loss, family="sum", random_state=Rounds([1, 0, 0])
    )
    assert run.expert_losses.min() == run.expected_loss.sum() == 0
    assert run.regret_bound == pytest.approx(np.sqrt(3 * np.log(3) / 2))
    # One label can be ranked in one way.
    never = [[[1]]], [0] * 3, [[1]] * 3
    run = online_expert_run(*never, loss=sum_loss, family="sum")
    assert run.regret_bound == run.class_regret_bound == 0


def test_share_of_learning_rounds():
    updates = [
        online_expert_run(
            [[[1, 2]]],
            [0] * 9,
            [[1, 0]] * 9,
            loss=sum_loss,
            family="sum",
            beta=0.5,
            random_state=seed,
        ).updated
        for seed in range(60)
    ]
    # 9 ** (0.5 - 1) = 1/3, of 540 rounds; a deviation of 0.1 has a chance of 1e-6.
    assert abs(np.mean(updates) - 1 / 3) < 0.1


@pytest.mark.parametrize("max_grade", [1, 2])
def test_regret_against_the_class_by_the_formula(max_grade):
    # Four hypotheses, three labels, p = 2, nine rounds.
    ranks = all_rankings(3)[[[0, 1], [2, 3], [4, 5], [1, 0]]]
    stream = [0, 1, 0] * 3, [[1, 0, 0]] * 9
    bound = partial(online_expert_run, ranks, *stream, p=2, max_grade=max_grade)
    # Sum loss: worst at (g, g, 0) with ranks 3, 3 - 1 in place of 1, 2, that is
    # (3 + 2) g - (1 + 2) g; least 1. Precision loss: worst g, with one wrong label.
    draws = 2 * 9**1.25 * 3 * np.log(3)
    run = bound(loss=partial(sum_loss, p=2), family="sum", beta=0.25)
    largest = 2 * max_grade
    expected = largest**2 * 9**0.75 * (3 * 2) * 2 + largest * np.sqrt(draws)
    assert run.class_regret_bound == pytest.approx(expected)
    run = bound(loss=partial(precision_loss, p=2), family="precision", beta=0.25)
    expected = max_grade**2 * 9**0.75 * 3 * 2 + max_grade * np.sqrt(draws)
    assert run.class_regret_bound == pytest.approx(expected)


@pytest.mark.parametrize(
    ("family", "p", "ranks"),
    [
        ("sum", 1, [[[1, 2], [2, 1]], [[2, 1], [2, 1]]]),
        ("precision", 1, [[[1, 2], [2, 1]], [[2, 1], [2, 1]]]),
        ("precision", 2, [[[1, 2, 3], [3, 2, 1]], [[2, 3, 1], [2, 1, 3]]]),
    ],
)
@pytest.mark.parametrize("seed", [0, 1])
def test_regret_against_the_class_in_exact_expectation(family, p, ranks, seed):
    # All 2**5 choices of learning rounds, each with its chance.
    rng = np.random.default_rng(seed)
    n_labels = p + 1
    points, y = rng.integers(0, 2, 5), rng.integers(0, 2, (5, n_labels))
    expected = best_expert = total = 0.0
    for updated in product([False, True], repeat=5):
        run = online_expert_run(
            ranks,
            points,
            y,
            loss=partial(precision_loss, p=p),
            family=family,
            p=p,
            beta=0.9,
            random_state=Rounds(updated),
        )
        assert run.updated.tolist() == [*updated]
        assert run.expected_loss.sum() <= run.expert_losses.min() + run.regret_bound
        total += chance(updated, 0.9)
        expected += chance(updated, 0.9) * run.expected_loss.sum()
        best_expert += chance(updated, 0.9) * run.expert_losses.min()
    assert total == pytest.approx(1)
    assert expected <= run.best_hypothesis_loss + run.class_regret_bound
    # The first part of the proof, which has something to say for five rounds too: a
    # learner for each label with log2(2) mistakes, largest and least loss 1, and no
    # factor p.
    mistakes = 5**0.1 * n_labels
    assert mistakes < 5
    assert best_expert <= run.best_hypothesis_loss + mistakes
    draws = np.sqrt(2 * 5**1.9 * n_labels * np.log(n_labels))
    assert run.class_regret_bound == pytest.approx(mistakes + draws)


def test_regret_against_the_class_says_something_for_a_long_run():
    rng = np.random.default_rng(0)
    ranks = np.array([[[1, 2], [2, 1]], [[2, 1], [1, 2]]])
    points, y = rng.integers(0, 2, 64), np.zeros((64, 2), dtype=int)
    # The second hypothesis, but for every fourth round.
    wanted = np.where(np.arange(64) % 4 == 0, points, 1 - points)
    y[np.arange(64), wanted] = 1
    runs = [
        online_expert_run(
            ranks,
            points,
            y,
            loss=partial(precision_loss, p=1),
            family="precision",
            p=1,
            beta=0.3,
            random_state=seed,
        )
        for seed in range(25)
    ]
    assert runs[0].best_hypothesis_loss == 16
    assert runs[0].class_regret_bound < 64
    mean = np.mean([run.expected_loss.sum() for run in runs])
    # Better than a coin, and within the bound.
    assert mean < 32
    assert mean <= 16 + runs[0].class_regret_bound


@given(tiny_classes())
def test_the_default_learner_makes_few_mistakes_on_noise_free_data(case):
    ranks, points, _ = case
    for label, j in product(range(3), [1, 2]):
        members = 1 * (ranks[:, :, label] <= j)
        answers = majority_answers(members)
        for truth in members:
            says = [
                answers(points[:t], truth[points[:t]])[point]
                for t, point in enumerate(points)
            ]
            mistakes = (np.array(says) != truth[points]).sum()
            assert mistakes <= np.log2(len(ranks))


def test_a_learner_of_ones_own_learns_the_threshold_classes():
    rankings = all_rankings(3)
    ranks = rankings[np.random.default_rng(0).integers(0, 6, (5, 2))]
    points, updated = [0, 1, 1, 0], [True, False, True, False]
    calls = []

    def learner(class_ranks, seen, relevance):
        calls.append((class_ranks, seen, relevance))
        return len(seen)

    run = online_expert_run(
        ranks,
        points,
        [[1, 0, 0]] * 4,
        loss=partial(precision_loss, p=2),
        family="precision",
        p=2,
        learner=learner,
        random_state=Rounds(updated),
    )
    # What was seen: nothing, point 0, points 0 and 1, with all that can be said of
    # them, for each of three labels.
    sizes = [len(seen) for _, seen, _ in calls]
    assert [sizes.count(n) for n in range(3)] == [3, 3 * 2, 3 * 4]
    assert {tuple(seen) for _, seen, _ in calls} == {(), (0,), (0, 1)}
    for class_ranks, seen, relevance in calls:
        assert (np.sort(class_ranks, axis=2) == [1, 2]).all()
        assert relevance.shape == (len(seen), 2)
        assert (relevance.sum(axis=1) == 1).all()
    classes = [c[:, :, 0] == 1 for c, _, _ in calls[:3]]
    assert (np.stack(classes, axis=2) == (ranks <= 2)).all()
    # The learner takes row 0, then 1, then 2, whatever it is taught; the expert that
    # never learns stays with row 0.
    rows = np.array([[0] * 4, [0, 1, 1, 2]])
    votes = np.stack(
        [[ranks[h, x] <= 2 for h, x in zip(r, points, strict=True)] for r in rows]
    )
    losses = [
        sum(precision_loss([[1, 0, 0]], [v * 1.0], p=2) for v in expert)
        for expert in votes
    ]
    assert run.expert_losses.size == 37
    assert run.expert_losses.tolist() == [losses[0], *[losses[1]] * 36]
    assert np.isnan(run.class_regret_bound)


def test_the_prediction_is_a_draw_by_the_weights():
    ranks = all_rankings(2)[:, np.newaxis]
    loss = partial(precision_loss, p=1)
    y, updated = [[1, 0]] * 3 + [[0, 1]], [True, True, False, False]
    runs = [
        online_expert_run(
            ranks,
            [0] * 4,
            y,
            loss=loss,
            family="precision",
            p=1,
            random_state=Rounds(updated, seed),
        )
        for seed in range(400)
    ]
    lost = [
        [loss([row], [-ranked]) for row, ranked in zip(y, run.prediction, strict=True)]
        for run in runs
    ]
    expected = runs[0].expected_loss
    assert 0 < expected[3] < 1
    # Four standard deviations of a mean of 400.
    spread = np.sqrt(expected * (1 - expected) / 400)
    assert (abs(np.mean(lost, axis=0) - expected) <= 4 * spread + 1e-12).all()
    again = online_expert_run(
        ranks, [0] * 4, y, loss=loss, family="precision", p=1, random_state=3
    )
    twice = online_expert_run(
        ranks, [0] * 4, y, loss=loss, family="precision", p=1, random_state=3
    )
    assert (again.prediction == twice.prediction).all()


def test_online_errors():
    run = partial(online_expert_run, loss=sum_loss, family="sum")
    ranks = [[list(pi)] for pi in permutations([1, 2, 3])]
    with pytest.raises(
        ValueError, match="at most 50000 experts, got 279937 for 3 labels"
    ):
        run(ranks, [0] * 7, [[1, 0, 0]] * 7, random_state=Rounds([True] * 7))
    for beta in (0.0, 1.0):
        with pytest.raises(ValueError, match=rf"beta must be in \(0, 1\), got {beta}"):
            run(ranks, [0], [[1, 0, 0]], beta=beta)
    with pytest.raises(
        ValueError, match="points must hold whole numbers from 0 to 0, go"
    ):
        run(ranks, [-1], [[1, 0, 0]])
    with pytest.raises(
        ValueError, match=r"y must hold whole numbers from 0 to 1, got 2\."
    ):
        run(ranks, [0], [[2, 0, 0]])
    with pytest.raises(ValueError, match="must ask for at most 250000 losses"):
        run([[[*range(1, 9)]]], [0], [[0] * 8])
    with pytest.raises(ValueError, match="must return the number of a row of class_ra"):
        run(ranks, [0], [[1, 0, 0]], learner=lambda c, x, r: len(c))
    with pytest.raises(TypeError, match=r"learner must be a function .*, got 'erm'"):
        run(ranks, [0], [[1, 0, 0]], learner="erm")
    with pytest.raises(ValueError, match=r"y must have . samples, got shape"):
        run(ranks, [0], [[1, 0, 0]] * 2)


def test_losses_outside_of_the_family_are_refused():
    run = partial(online_expert_run, [[[1, 2, 3]]], [0], [[1, 0, 0]])
    with pytest.raises(
        ValueError, match="the precision loss at p = 2, got auc_loss, which"
    ):
        run(loss=auc_loss, family="precision", p=2)
    with pytest.raises(ValueError, match="got auc_score, which is not"):
        run(loss=auc_score, family="sum")
    with pytest.raises(ValueError, match=r"as in functools.partial\(loss, p=1\)"):
        run(loss=sum_loss, family="sum", p=1)
    with pytest.raises(ValueError, match="p must be given with family='precision'"):
        run(loss=auc_loss, family="precision")
    with pytest.raises(TypeError, match=r"loss must be a function .*, got 'auc'"):
        run(loss="auc", family="sum")


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
def test_all_experts_of_a_threshold_against_one_at_a_time(seed):
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
    assert run.expert_losses.size == 1 + 6**2
    assert run.expert_losses.tolist() == losses.sum(axis=1).tolist()
    assert run.expert_losses.min() == losses.sum(axis=1).min()
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
def test_regret_of_a_threshold_is_bounded(case, seed, label, j):
    ranks, points, y = case
    run = online_threshold_run(
        ranks, points, y[:, 0], label=label, j=j, random_state=seed
    )
    excess = run.expected_loss.sum() - run.expert_losses.min()
    assert -1e-9 <= excess <= run.regret_bound + 1e-9
    assert run.prediction.shape == run.updated.shape == points.shape
    assert set(run.prediction.tolist()) <= {0, 1}


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_regret_against_the_threshold_class_in_exact_expectation(seed):
    rng = np.random.default_rng(seed)
    ranks = [[[1, 2], [2, 1]], [[2, 1], [2, 1]], [[2, 1], [1, 2]]]
    points, y = rng.integers(0, 2, 6), rng.integers(0, 2, 6)
    expected = best_expert = 0.0
    for updated in product([False, True], repeat=6):
        run = online_threshold_run(
            ranks, points, y, label=0, j=1, beta=0.9, random_state=Rounds(updated)
        )
        expected += chance(updated, 0.9) * run.expected_loss.sum()
        best_expert += chance(updated, 0.9) * run.expert_losses.min()
    assert expected <= run.best_hypothesis_loss + run.class_regret_bound
    # The first part of the proof: the learner is wrong at most 3 - 1 times.
    assert 6**0.1 * 2 < 6
    assert best_expert <= run.best_hypothesis_loss + 6**0.1 * 2


@given(tiny_classes(), st.integers(1, 2))
def test_the_first_row_of_least_loss_makes_few_mistakes_on_noise_free_data(case, j):
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
    with pytest.raises(
        ValueError, match="y must hold whole numbers from 0 to 1, got 2"
    ):
        run([0], [2], label=0, j=1)
    with pytest.raises(
        ValueError, match=r"y must have one value per round: . rounds, y has 2"
    ):
        run([0], [1, 0], label=0, j=1)
    with pytest.raises(TypeError, match=r"learner must be a function .*, got 'erm'"):
        run([0], [1], label=0, j=1, learner="erm")
    with pytest.raises(ValueError, match=r"beta must be in \(0, 1\), got 1"):
        run([0], [1], label=0, j=1, beta=1)
    with pytest.raises(ValueError, match="at most 50000 experts, got 279937"):
        run([0] * 7, [1] * 7, label=0, j=1, random_state=Rounds([True] * 7))
