from functools import partial
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skrank_abstain.multilabel import (
    agnostic_relabelling_learner,
    label_ranks,
    loss_family_membership,
    multilabel_auc_loss,
    multilabel_average_precision_loss,
    multilabel_dcg_loss,
    multilabel_pairwise_loss,
    multilabel_precision_loss,
    multilabel_reciprocal_rank_loss,
    multilabel_sum_loss,
    online_expert_run,
)
from skrank_abstain.multilabel.learners._families import (
    all_rankings,
    family_loss,
    losses_of,
)
from skrank_abstain.multilabel.learners._learners import expert_weights


def top_label_loss(y_true, y_score):
    """Whether the label ranked first is irrelevant, and another one is not."""
    top = np.take_along_axis(y_true, np.argmax(y_score, axis=1)[:, None], axis=1)[:, 0]
    return float(np.mean(np.any(y_true, axis=1) & (top == 0)))


def family_case(name):
    """The loss and the family of a key of the reference numbers."""
    loss, _, family = name.partition(" in ")
    family, p = family.split("@")
    p = 4 if p == "K" else int(p)
    at_p = {
        "DCG": multilabel_dcg_loss,
        "sum": multilabel_sum_loss,
        "prec": multilabel_precision_loss,
    }
    plain = {
        "AP": multilabel_average_precision_loss,
        "AUC": multilabel_auc_loss,
        "PL": multilabel_pairwise_loss,
        "RR": multilabel_reciprocal_rank_loss,
        "1-[top1 relevant]": top_label_loss,
        "DCG": multilabel_dcg_loss,
    }
    function = plain.get(loss) or partial(at_p[loss.split("@")[0]], p=p)
    binary = loss in {"AP", "AUC", "RR", "1-[top1 relevant]"}
    name = {"sum": "sum", "prec": "precision"}[family]
    return function, name, p, 1 if binary else 2


def test_membership_of_all_losses(oracles):
    for name, expected in oracles["loss_family_membership_K4"].items():
        loss, family, p, grade = family_case(name)
        found = loss_family_membership(loss, 4, family=family, p=p, max_grade=grade)
        assert found.zero_sets_equal == expected["zero_sets_equal"], name
        assert found.invariant == expected["invariant"], name
        assert found.member == expected["member"], name
        assert (found.witness is None) == (expected["witness"] is None), name


def test_reciprocal_rank_loss_is_no_member(oracles):
    loss = multilabel_reciprocal_rank_loss
    witness = loss_family_membership(loss, 4, family="precision", p=1).witness
    assert len(witness.ranks) == 2
    for ranks, value in zip(witness.ranks, witness.loss, strict=True):
        assert loss([witness.y], [-np.array(ranks)]) == value
    one, other = np.array(witness.ranks)
    assert ((one == 1) == (other == 1)).all()  # the same top label
    assert witness.loss[0] != witness.loss[1]
    printed = oracles["loss_family_membership_K4"]["RR in prec@1"]["witness"]
    values = [loss([printed["y"]], [-np.array(pi)]) for pi in printed["pi"]]
    assert values == printed["loss"]


def test_losses_of_other_families_are_no_members():
    check = loss_family_membership
    found = check(partial(multilabel_sum_loss, p=1), 3, family="sum", p=2)
    assert not found.zero_sets_equal
    assert found.invariant  # what agrees on two positions agrees on one
    found = check(partial(multilabel_sum_loss, p=2), 3, family="sum", p=1)
    assert not found.invariant
    found = check(partial(multilabel_sum_loss, p=2), 3, family="precision", p=2)
    assert not found.member
    found = check(partial(multilabel_precision_loss, p=2), 3, family="sum", p=2)
    assert not found.zero_sets_equal
    assert found.witness.loss == (0.0,)


def test_a_zero_where_the_family_has_a_loss_is_found():
    found = loss_family_membership(lambda y, s: 0.0, 3, family="sum")
    assert (found.zero_sets_equal, found.invariant) == (False, True)
    assert family_loss(
        np.array(found.witness.ranks[0]), np.array(found.witness.y), "sum", 3
    )


def test_degenerate_rows_must_lose_nothing():
    def undefined_as_one(y, s):
        return 1.0 if not y.any() else multilabel_auc_loss(y, s)

    found = loss_family_membership(undefined_as_one, 3, family="sum")
    assert found.witness.y == (0, 0, 0)


@pytest.mark.parametrize("p", [1, 2, 3, 4])
def test_family_losses_are_those_of_the_metrics(p):
    rng = np.random.default_rng(p)
    y, ranks = rng.integers(0, 4, (30, 4)), label_ranks(rng.random((30, 4)))
    for family, loss in [
        ("sum", multilabel_sum_loss),
        ("precision", multilabel_precision_loss),
    ]:
        values = family_loss(ranks, y, family, p)
        expected = [loss([g], [-r], p=p) for g, r in zip(y, ranks, strict=True)]
        assert values.tolist() == expected


def test_membership_errors():
    check = partial(loss_family_membership, multilabel_sum_loss)
    with pytest.raises(
        ValueError, match="family must be one of 'sum', 'precision', got"
    ):
        check(3, family="max")
    with pytest.raises(
        ValueError, match="p must be at most the number of labels, 3, go"
    ):
        check(3, family="sum", p=4)
    with pytest.raises(ValueError, match="n_labels must be at least 1, got 0"):
        check(0, family="sum")
    with pytest.raises(
        ValueError, match=r"at most 250000 losses, got 8 and 1, .* 10321920"
    ):
        check(8, family="sum")
    with pytest.raises(TypeError, match="max_grade must be an integer"):
        check(3, family="sum", max_grade=1.5)


# The agnostic learner

FAMILY_LOSSES = {
    ("sum", 2): [
        partial(multilabel_sum_loss, p=2),
        partial(multilabel_dcg_loss, p=2),
    ],
    ("sum", 3): [
        multilabel_sum_loss,
        multilabel_pairwise_loss,
        multilabel_auc_loss,
        multilabel_average_precision_loss,
        multilabel_dcg_loss,
    ],
    ("precision", 1): [partial(multilabel_precision_loss, p=1), top_label_loss],
    ("precision", 2): [partial(multilabel_precision_loss, p=2)],
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
            assert found.loss == loss(y, -found.ranks[points])
            assert 1 <= found.n_candidates <= len(ranks)


def test_relabelling_cannot_serve_a_loss_outside_of_the_family():
    # Two hypotheses with the same wrong top label: data labelled by either are the same
    # for the precision family at 1, and only the reciprocal rank tells them apart.
    ranks = [[[1, 3, 2]], [[1, 2, 3]]]
    loss, y = multilabel_reciprocal_rank_loss, [[0, 1, 0]]
    sample = {"unlabelled": [0], "labelled": [0], "y": y}
    found = agnostic_relabelling_learner(
        ranks, **sample, loss=loss, family="precision", p=1
    )
    assert found.n_candidates == 1
    assert found.loss == 1 - 1 / 3
    assert min(loss(y, -np.array(h)) for h in ranks) == 1 - 1 / 2
    top = agnostic_relabelling_learner(
        ranks, **sample, loss=top_label_loss, family="precision", p=1
    )
    assert top.loss == 1  # the best of the class


def test_relabelling_sees_the_sample_only():
    # The hypotheses differ at point 1, which is not in the sample without labels.
    ranks = [[[1, 2, 3], [1, 2, 3]], [[1, 2, 3], [3, 2, 1]]]
    found = agnostic_relabelling_learner(
        ranks, [0], [1], [[0, 0, 1]], loss=multilabel_sum_loss, family="sum"
    )
    assert found.n_candidates == 1
    assert found.ranks.tolist() == ranks[0]
    assert found.loss == 2


def test_learner_errors():
    learn = partial(
        agnostic_relabelling_learner, loss=multilabel_sum_loss, family="sum"
    )
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
        ValueError, match="unlabelled must be points from 0 to 0, got 1"
    ):
        learn(ranks, [1], [0], [[1, 0, 0]])
    with pytest.raises(
        ValueError, match="labelled must be a non-empty 1d array of integ"
    ):
        learn(ranks, [0], [0.5], [[1, 0, 0]])
    with pytest.raises(
        ValueError, match=r"y must have one row .* \(1, 3\), got \(2, 3\)"
    ):
        learn(ranks, [0], [0], [[1, 0, 0]] * 2)


# The online construction


def test_expert_weights(oracles):
    case = oracles["rewa"]
    losses = np.array(case["loss_matrix_rounds_by_experts"])
    weights = expert_weights(losses, 1.0)
    after = np.array(case["weights_after_each_round"])
    np.testing.assert_allclose(weights[0], 1 / losses.shape[1])
    np.testing.assert_allclose(weights[1:], after[:-1], rtol=1e-9)
    expected = (weights * losses).sum()
    assert expected == pytest.approx(case["expected_cumulative_loss"])


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
        assert run.n_experts == (1 + 6**learning if learning else 1)
        assert run.expected_loss.shape == (len(points),)
        excess = run.expected_loss.sum() - run.best_expert_loss
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
    assert run.n_experts == losses.shape[1] == 37
    assert run.best_expert_loss == pytest.approx(losses.sum(axis=0).min())
    largest = max(losses_of(loss, rankings, row * 1.0).max() for row in y)
    expected = (expert_weights(losses, largest) * losses).sum(axis=1)
    np.testing.assert_allclose(run.expected_loss, expected)
    bound = largest * np.sqrt(6 * np.log(37) / 2)
    assert run.regret_bound == pytest.approx(bound)


def test_an_expert_follows_the_best_hypothesis():
    # All rounds teach: one expert is told what the true hypothesis says, and its
    # majority votes err at most once on two hypotheses.
    ranks = np.array([[[1, 2, 3], [3, 2, 1]], [[3, 2, 1], [1, 2, 3]]])
    points = np.array([0, 1, 0, 1])
    y = 3 - ranks[1, points]
    run = online_expert_run(
        ranks, points, y, loss=multilabel_sum_loss, family="sum", beta=1.0
    )
    assert run.updated.all()
    assert run.n_experts == 1 + 6**4
    worst = max(losses_of(multilabel_sum_loss, all_rankings(3), y[0] * 1.0))
    assert run.best_expert_loss <= worst


def test_no_learning_round_leaves_one_expert():
    ranks = [[[2, 1]], [[2, 1]]]
    for seed in range(20):
        run = online_expert_run(
            ranks,
            [0] * 4,
            [[1, 0]] * 4,
            loss=multilabel_sum_loss,
            family="sum",
            beta=0.01,
            random_state=seed,
        )
        if not run.updated.any():
            break
    assert run.n_experts == 1
    assert run.regret_bound == 0
    assert run.expected_loss.tolist() == [1] * 4
    assert run.best_expert_loss == 4


def test_rounds_without_any_loss():
    run = online_expert_run(
        [[[1, 2]]], [0] * 3, [[0, 0]] * 3, loss=multilabel_sum_loss, family="sum"
    )
    assert run.best_expert_loss == run.expected_loss.sum() == run.regret_bound == 0


def test_share_of_learning_rounds():
    updates = [
        online_expert_run(
            [[[1, 2]]],
            [0] * 9,
            [[1, 0]] * 9,
            loss=multilabel_sum_loss,
            family="sum",
            beta=0.5,
            random_state=seed,
        ).updated
        for seed in range(60)
    ]
    # 9 ** (0.5 - 1) = 1/3, of 540 rounds; a deviation of 0.1 has a chance of 1e-6.
    assert abs(np.mean(updates) - 1 / 3) < 0.1


def test_online_errors():
    run = partial(online_expert_run, loss=multilabel_sum_loss, family="sum")
    ranks = [[list(pi)] for pi in permutations([1, 2, 3])]
    with pytest.raises(
        ValueError, match="at most 50000 experts, got 279937 for 3 labels"
    ):
        run(ranks, [0] * 7, [[1, 0, 0]] * 7, beta=1.0)
    with pytest.raises(ValueError, match=r"beta must be in \(0, 1\], got 2"):
        run(ranks, [0], [[1, 0, 0]], beta=2)
    with pytest.raises(ValueError, match="points must be points from 0 to 0, got -1"):
        run(ranks, [-1], [[1, 0, 0]])
