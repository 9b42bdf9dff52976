from functools import partial
from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from multilabel.definitions import (
    auc_score,
    precision_loss,
    reciprocal_rank_loss,
    sum_loss,
)
from multilabel.tiny import FAMILY_LOSSES, tiny_classes, top_label_loss

from skrank_abstain.multilabel import (
    _learners,
    agnostic_relabelling_learner,
    threshold_relabelling_learner,
)
from skrank_abstain.multilabel._losses import all_rankings

# Rankings: Algorithms 1 and 5


@given(tiny_classes())
def test_relabelling_finds_the_best_of_the_class_for_every_loss_of_the_family(case):
    ranks, points, y = case
    everywhere = np.arange(ranks.shape[1])
    for (family, p), losses in FAMILY_LOSSES.items():
        for loss in losses:
            best = min(loss(y, -h[points]) for h in ranks)
            found = agnostic_relabelling_learner(
                ranks, everywhere, points, y, loss=loss, family=family, p=p
            )
            assert found.loss == pytest.approx(best, abs=1e-12)
            assert found.loss == loss(y, -found.learned[points])
            assert 1 <= found.candidate_losses.size <= len(ranks)
            assert found.loss == found.candidate_losses.min()


def test_relabelling_cannot_serve_a_loss_outside_of_the_family(monkeypatch):
    # Two hypotheses with the same wrong top label: data labelled by either are the same
    # for the precision family at 1, and only the reciprocal rank tells them apart.
    ranks = [[[1, 3, 2]], [[1, 2, 3]]]
    loss, y = reciprocal_rank_loss, [[0, 1, 0]]
    sample = {"unlabelled": [0], "labelled": [0], "y": y}
    learn = partial(
        agnostic_relabelling_learner, ranks, **sample, family="precision", p=1
    )
    with pytest.raises(
        ValueError, match="the precision loss at p = 1, got reciprocal_rank_loss, wh"
    ):
        learn(loss=loss)
    monkeypatch.setattr(_learners, "MAX_CHECKED", 0)
    found = learn(loss=loss)
    assert found.candidate_losses.size == 1
    assert found.loss == 1 - 1 / 3
    assert min(loss(y, -np.array(h)) for h in ranks) == 1 - 1 / 2
    top = learn(loss=top_label_loss)
    assert top.loss == 1  # the best of the class


def test_losses_outside_of_the_family_are_refused():
    ranks, sample = all_rankings(3)[:, np.newaxis], ([0], [0], [[0, 1, 0]])
    learn = partial(agnostic_relabelling_learner, ranks, *sample)
    with pytest.raises(
        ValueError, match="the sum loss at p = 3, got auc_score, which is"
    ):
        learn(loss=auc_score, family="sum")
    with pytest.raises(ValueError, match=r"as in functools.partial\(loss, p=1\)"):
        learn(loss=sum_loss, family="sum", p=1)
    found = learn(loss=partial(sum_loss, p=1), family="sum", p=1)
    assert found.loss == 0

    # A member for grades 0 and 1, but not for those of y.
    def grades_as_one(y_true, y_score):
        return sum_loss(np.minimum(y_true, 1), y_score)

    assert learn(loss=grades_as_one, family="sum").loss == 0
    with pytest.raises(ValueError, match="got grades_as_one, which is not"):
        agnostic_relabelling_learner(
            ranks, [0], [0], [[0, 1, 2]], loss=grades_as_one, family="sum"
        )


@pytest.mark.parametrize(("n_labels", "checked"), [(5, True), (6, False)])
def test_membership_is_checked_for_few_labels(n_labels, checked):
    learn = partial(
        agnostic_relabelling_learner,
        [[[*range(1, n_labels + 1)]]],
        [0],
        [0],
        np.eye(1, n_labels, dtype=int),
        loss=auc_score,
        family="sum",
    )
    if checked:
        with pytest.raises(ValueError, match="loss must be in the family"):
            learn()
    else:
        assert learn().loss == 1


def test_relabelling_sees_the_sample_only():
    # The hypotheses differ at point 1, which is not in the sample without labels.
    ranks = [[[1, 2, 3], [1, 2, 3]], [[1, 2, 3], [3, 2, 1]]]
    found = agnostic_relabelling_learner(
        ranks, [0], [1], [[0, 0, 1]], loss=sum_loss, family="sum"
    )
    assert found.candidate_losses.size == 1
    assert found.learned.tolist() == ranks[0]
    assert found.loss == 2


@pytest.mark.parametrize(
    ("family", "loss", "tops"),
    [("sum", sum_loss, [1, 2]), ("precision", precision_loss, [2])],
)
def test_a_learner_of_ones_own_gets_each_relabelling(family, loss, tops):
    loss = partial(loss, p=2)
    ranks = all_rankings(3)[[[0, 5], [3, 2], [0, 5], [1, 5]]]
    calls = []

    def learner(class_ranks, points, relevance):
        assert (class_ranks == ranks).all()
        lessons = zip(points.tolist(), relevance.tolist(), strict=True)
        calls.append({(x, tuple(row)) for x, row in lessons})
        return 3 - len(calls)

    sample = {"unlabelled": [0, 1], "labelled": [0, 1], "y": [[0, 0, 1], [0, 1, 0]]}
    found = agnostic_relabelling_learner(
        ranks, **sample, loss=loss, family=family, p=2, learner=learner
    )
    told = [
        {(x, tuple((h[x] <= j).astype(int))) for x in (0, 1) for j in tops}
        for h in ranks
    ]
    # Hypothesis 2 relabels as 0 does, and 3 differs from 0 in the top 2 at point 0.
    assert calls == [told[0], told[1], told[3]]
    losses = [loss(sample["y"], -ranks[row]) for row in (2, 1, 0)]
    assert found.candidate_losses.tolist() == losses
    assert (found.learned == ranks[[2, 1, 0][int(np.argmin(losses))]]).all()


def test_learner_errors():
    learn = partial(agnostic_relabelling_learner, loss=sum_loss, family="sum")
    ranks = [[[1, 2, 3]]]
    with pytest.raises(
        ValueError, match=r"class_ranks must be of shape .* got shape \(1,"
    ):
        learn([[1, 2]], [0], [0], [[1, 0]])
    with pytest.raises(
        ValueError, match=r"hold permutations of 1 to 3, got \[0, 1, 2\]"
    ):
        learn([[[0, 1, 2]]], [0], [0], [[1, 0, 0]])
    with pytest.raises(
        ValueError, match="unlabelled must hold whole numbers from 0 to 0, got 1"
    ):
        learn(ranks, [1], [0], [[1, 0, 0]])
    with pytest.raises(
        ValueError, match=r"labelled must hold whole numbers from 0 to 0, got 0\.5"
    ):
        learn(ranks, [0], [0.5], [[1, 0, 0]])
    with pytest.raises(ValueError, match=r"y must have 1 samples, got shape \(2, 3\)"):
        learn(ranks, [0], [0], [[1, 0, 0]] * 2)
    with pytest.raises(ValueError, match="class_ranks, 0 to 0, got 1"):
        learn(ranks, [0], [0], [[1, 0, 0]], learner=lambda c, x, r: 1)
    with pytest.raises(ValueError, match=r"class_ranks, 0 to 0, got 0\.5"):
        learn(ranks, [0], [0], [[1, 0, 0]], learner=lambda c, x, r: 0.5)
    with pytest.raises(ValueError, match="the number of a row of class_ranks, 0 to 0"):
        learn(ranks, [0], [0], [[1, 0, 0]], learner=lambda c, x, r: c[0])
    with pytest.raises(TypeError, match=r"learner must be a function .*, got 'erm'"):
        learn(ranks, [0], [0], [[1, 0, 0]], learner="erm")
    with pytest.raises(TypeError, match=r"loss must be a function .*, got 'auc'"):
        learn(ranks, [0], [0], [[1, 0, 0]], loss="auc")
    with pytest.raises(ValueError, match="p must be given with family='precision'"):
        learn(ranks, [0], [0], [[1, 0, 0]], family="precision")
    with pytest.raises(ValueError, match="class_ranks must have rows of one length"):
        learn([[[1, 2, 3], [1, 2]]], [0], [0], [[1, 0, 0]])


# Threshold classes: Algorithm 4


def algorithm_4(ranks, unlabelled, labelled, y, label, j):
    """The members and their mistakes, by the definition, with sets of top labels."""
    tops = [
        [{k for k in range(3) if h[x][k] <= j} for x in range(len(h))] for h in ranks
    ]
    candidates = {}
    for h in tops:
        lesson = tuple(frozenset(h[x]) for x in unlabelled)
        # The first of least loss: how many of the labels in the lesson are missing.
        missed = [
            sum(len(lesson[n] - g[x]) for n, x in enumerate(unlabelled)) for g in tops
        ]
        candidates.setdefault(lesson, missed.index(min(missed)))
    members = [
        [int(label in tops[g][x]) for x in range(len(tops[g]))]
        for g in candidates.values()
    ]
    mistakes = [
        sum(member[x] != bit for x, bit in zip(labelled, y, strict=True))
        for member in members
    ]
    return members[mistakes.index(min(mistakes))], mistakes


@given(tiny_classes(), st.integers(0, 2), st.integers(1, 3), st.data())
def test_threshold_learner_against_the_definition(case, label, j, data):
    ranks, points, y = case
    point = st.integers(0, ranks.shape[1] - 1)
    unlabelled = data.draw(st.lists(point, min_size=1, max_size=4))
    found = threshold_relabelling_learner(
        ranks, unlabelled, points, y[:, 0], label=label, j=j
    )
    member, mistakes = algorithm_4(
        ranks.tolist(), unlabelled, points.tolist(), y[:, 0].tolist(), label, j
    )
    assert found.learned.tolist() == member
    np.testing.assert_allclose(found.candidate_losses * len(points), mistakes)
    assert found.loss == found.candidate_losses.min()


def first_of_least(loss):
    """The learner that takes the first row of least mean loss."""

    def learner(class_ranks, points, relevance):
        return int(np.argmin([loss(relevance, -h[points]) for h in class_ranks]))

    return learner


@given(tiny_classes(), st.integers(0, 2), st.integers(1, 3))
def test_threshold_learner_finds_the_best_of_the_class(case, label, j):
    # With a learner for any loss of a family that looks at the top j.
    ranks, points, y = case
    everywhere = np.arange(ranks.shape[1])
    best = min(((h[points, label] <= j) != y[:, 0]).mean() for h in ranks)
    learners = [
        first_of_least(loss)
        for (family, p), losses in FAMILY_LOSSES.items()
        if (p >= j if family == "sum" else p == j)
        for loss in losses
    ]
    for learner in [None, *learners]:
        found = threshold_relabelling_learner(
            ranks, everywhere, points, y[:, 0], label=label, j=j, learner=learner
        )
        assert found.loss == pytest.approx(best)
        assert any((found.learned == (h[:, label] <= j)).all() for h in ranks)


def test_number_of_relabellings():
    # Of all classes: |C| is at most comb(K, j) to the power of the size of the sample
    # without labels, not of the other one, and no function of p.
    rankings = all_rankings(4)
    ranks = np.array([*product(rankings, repeat=2)])
    for j in (1, 2, 3, 4):
        found = threshold_relabelling_learner(
            ranks, [0, 1], [0], [1], label=0, j=j, learner=lambda c, x, r: 0
        )
        assert found.candidate_losses.size == comb(4, j) ** 2
        assert comb(4, j) <= min(4**j, 2**4)


def test_threshold_learner_errors():
    learn = partial(threshold_relabelling_learner, [[[1, 2, 3]]], [0], [0])
    with pytest.raises(ValueError, match="label must be at most 2, got 3"):
        learn([1], label=3, j=1)
    with pytest.raises(ValueError, match="j must be at most 3, got 4"):
        learn([1], label=0, j=4)
    with pytest.raises(TypeError, match="label must be an integer, got '0'"):
        learn([1], label="0", j=1)
    with pytest.raises(ValueError, match=r"y must be a 1d array, got shape \(1, 3\)"):
        learn([[1, 0, 0]], label=0, j=1)
    with pytest.raises(
        ValueError, match="y must hold whole numbers from 0 to 1, got 3"
    ):
        learn([3], label=0, j=1)
    with pytest.raises(ValueError, match="learner must return the number of a row of"):
        learn([1], label=0, j=1, learner=lambda c, x, r: -1)
    with pytest.raises(TypeError, match=r"learner must be a function .*, got 'erm'"):
        learn([1], label=0, j=1, learner="erm")
