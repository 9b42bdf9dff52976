"""Finite classes: families of losses, BinRel, Rademacher, VC, Littlestone dimension."""

from functools import partial
from itertools import combinations, permutations, product
from math import floor, log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from multilabel.definitions import (
    auc_loss,
    average_precision_loss,
    dcg_loss,
    pairwise_loss,
    precision_loss,
    reciprocal_rank_loss,
    sum_loss,
)
from multilabel.tiny import tiny_classes, top_label_loss

from skrank_abstain.multilabel import (
    bin_rel,
    empirical_rademacher_complexity,
    label_ranks,
    littlestone_dimension,
    loss_family_membership,
    multilabel_sample_losses,
    rademacher_bound,
    vc_dimension,
)
from skrank_abstain.multilabel._losses import family_loss


def family_case(name):
    """The loss and the family of a key of the reference numbers."""
    loss, _, family = name.partition(" in ")
    family, p = family.split("@")
    p = 4 if p == "K" else int(p)
    at_p = {"DCG": dcg_loss, "sum": sum_loss, "prec": precision_loss}
    plain = {
        "AP": average_precision_loss,
        "AUC": auc_loss,
        "PL": pairwise_loss,
        "RR": reciprocal_rank_loss,
        "1-[top1 relevant]": top_label_loss,
        "DCG": dcg_loss,
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
    loss = reciprocal_rank_loss
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
    found = check(partial(sum_loss, p=1), 3, family="sum", p=2)
    assert not found.zero_sets_equal
    assert found.invariant  # what agrees on two positions agrees on one
    found = check(partial(sum_loss, p=2), 3, family="sum", p=1)
    assert not found.invariant
    found = check(partial(sum_loss, p=2), 3, family="precision", p=2)
    assert not found.member
    found = check(partial(precision_loss, p=2), 3, family="sum", p=2)
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
        return 1.0 if not y.any() else auc_loss(y, s)

    found = loss_family_membership(undefined_as_one, 3, family="sum")
    assert found.witness.y == (0, 0, 0)


@pytest.mark.parametrize("p", [1, 2, 3, 4])
def test_family_losses_are_those_of_the_metrics(p):
    rng = np.random.default_rng(p)
    y, ranks = rng.integers(0, 4, (30, 4)), label_ranks(rng.random((30, 4)))
    for family, loss in [("sum", sum_loss), ("precision", precision_loss)]:
        values = family_loss(ranks, y, family, p)
        expected = [loss([g], [-r], p=p) for g, r in zip(y, ranks, strict=True)]
        assert values.tolist() == expected


def test_membership_errors():
    check = partial(loss_family_membership, sum_loss)
    with pytest.raises(
        ValueError, match="family must be one of 'sum', 'precision', got"
    ):
        check(3, family="max")
    with pytest.raises(ValueError, match="p must be at most 3, got 4"):
        check(3, family="sum", p=4)
    with pytest.raises(ValueError, match="n_labels must be at least 1, got 0"):
        check(0, family="sum")
    with pytest.raises(
        ValueError, match=r"at most 250000 losses, got 8 and 1, .* 10321920"
    ):
        check(8, family="sum")
    with pytest.raises(TypeError, match="max_grade must be an integer"):
        check(3, family="sum", max_grade=1.5)
    with pytest.raises(ValueError, match="p must be given with family='precision', go"):
        check(3, family="precision")
    with pytest.raises(TypeError, match=r"loss must be a function .*, got 'auc'"):
        loss_family_membership("auc", 3, family="sum")


def test_bin_rel_by_the_definition():
    for ranks in permutations([1, 2, 3, 4]):
        for j in (1, 2, 3, 4):
            expected = [1 if rank <= j else 0 for rank in ranks]
            assert bin_rel(ranks, j).tolist() == expected
    ranks = [[[1, 2], [2, 1]], [[2, 1], [2, 1]], [[2, 1], [1, 2]]]
    relevance = bin_rel(ranks, 1)
    assert relevance.dtype == np.int64
    assert relevance[:, :, 0].tolist() == [[1, 0], [0, 0], [0, 1]]


def test_bin_rel_errors():
    with pytest.raises(
        ValueError, match=r"ranks must hold permutations of 1 to 2, got"
    ):
        bin_rel([1, 3], 1)
    with pytest.raises(ValueError, match=r"permutations of 1 to 2, got \[1, 1\]"):
        bin_rel([[1, 2], [1, 1]], 1)
    with pytest.raises(ValueError, match="ranks must have rows of one length"):
        bin_rel([[1, 2], [1, 2, 3]], 1)
    with pytest.raises(ValueError, match="j must be at most 2, got 3"):
        bin_rel([1, 2], 3)
    with pytest.raises(ValueError, match="j must be at least 1, got 0"):
        bin_rel([1, 2], 0)
    with pytest.raises(TypeError, match="j must be an integer, got True"):
        bin_rel([1, 2], True)


def binary_classes(max_functions, max_points):
    shape = st.tuples(st.integers(1, max_functions), st.integers(1, max_points))
    return arrays(np.int64, shape, elements=st.integers(0, 1))


def rademacher(values):
    """The mean over all signs of the largest mean of signed values."""
    n = len(values[0])
    largest = [
        max(sum(s * v for s, v in zip(signs, row, strict=True)) / n for row in values)
        for signs in product([-1, 1], repeat=n)
    ]
    return sum(largest) / len(largest)


def shatters(members, points):
    patterns = {tuple(row[x] for x in points) for row in members}
    return len(patterns) == 2 ** len(points)


def vc(members):
    n_points = len(members[0])
    return max(
        d
        for d in range(n_points + 1)
        if any(shatters(members, points) for points in combinations(range(n_points), d))
    )


def has_tree(members, depth):
    """Whether a complete tree of this depth is shattered: all trees are tried.

    A tree is a point for each node; node n has the children 2 n + 1 and 2 n + 2.
    """
    for tree in product(range(len(members[0])), repeat=2**depth - 1):
        for path in product([0, 1], repeat=depth):
            node, asked = 0, []
            for answer in path:
                asked.append((tree[node], answer))
                node = 2 * node + 1 + answer
            if not any(all(row[x] == a for x, a in asked) for row in members):
                break
        else:
            return True
    return False


def littlestone(members):
    depth = 0
    while 2 ** (depth + 1) <= len(members) and has_tree(members, depth + 1):
        depth += 1
    return depth


@given(
    arrays(
        np.float64,
        st.tuples(st.integers(1, 5), st.integers(1, 6)),
        elements=st.floats(-3, 3, width=16),
    )
)
def test_rademacher_complexity_by_the_definition(values):
    found = empirical_rademacher_complexity(values)
    assert found == pytest.approx(rademacher(values.tolist()), abs=1e-12)
    assert found >= -1e-12


def test_rademacher_complexity_by_hand():
    assert empirical_rademacher_complexity([[3.0, -1.0]]) == 0
    # All 0/1 patterns: the mean share of positive signs.
    cube = [*product([0, 1], repeat=4)]
    assert empirical_rademacher_complexity(cube) == pytest.approx(1 / 2)
    assert empirical_rademacher_complexity([[0, 0], [1, 1]] * 3) == 1 / 4


@given(tiny_classes(), st.integers(1, 2), st.data())
def test_the_bound_holds_for_every_relevance(case, max_grade, data):
    ranks, points, _ = case
    y = data.draw(
        arrays(np.int64, (len(points), 3), elements=st.integers(0, max_grade))
    )
    for family, p in product(["sum", "precision"], [1, 2, 3]):
        losses = [
            multilabel_sample_losses(y, -h[points], loss=family, p=p) for h in ranks
        ]
        tops = range(1, p + 1) if family == "sum" else [p]
        classes = [
            bin_rel(ranks[:, points], j)[:, :, label]
            for j in tops
            for label in range(3)
        ]
        expected = max_grade * sum(rademacher(members.tolist()) for members in classes)
        bound = rademacher_bound(ranks, points, family=family, p=p, max_grade=max_grade)
        assert bound == pytest.approx(expected, abs=1e-12)
        assert empirical_rademacher_complexity(losses) <= bound + 1e-12


@given(binary_classes(10, 5))
def test_vc_dimension_by_the_definition(members):
    assert vc_dimension(members) == vc(members.tolist())


@given(binary_classes(7, 4))
def test_littlestone_dimension_by_the_definition(members):
    assert littlestone_dimension(members) == littlestone(members.tolist())


@given(binary_classes(16, 7))
def test_the_dimensions_are_in_order(members):
    different = len(np.unique(members, axis=0))
    dimensions = vc_dimension(members), littlestone_dimension(members)
    assert 0 <= dimensions[0] <= dimensions[1] <= log2(different)


@pytest.mark.parametrize("n", [1, 2, 3, 6, 7, 8, 15])
def test_dimensions_of_known_classes(n):
    # Thresholds on a line: one point is shattered, and binary search finds each of
    # n + 1 functions. Single points: one mistake tells which.
    thresholds = np.tri(n + 1, n, -1, dtype=int)
    assert vc_dimension(thresholds) == 1
    assert littlestone_dimension(thresholds) == floor(log2(n + 1))
    points = np.vstack([np.eye(n, dtype=int), np.zeros((1, n), dtype=int)])
    assert vc_dimension(points) == littlestone_dimension(points) == 1


def test_dimensions_of_all_functions_and_of_one():
    cube = [*product([0, 1], repeat=4)]
    assert vc_dimension(cube) == littlestone_dimension(cube) == 4
    assert vc_dimension([[1, 0, 1]]) == littlestone_dimension([[1, 0, 1]]) == 0
    assert vc_dimension([[1, 1]] * 3) == littlestone_dimension([[1, 1]] * 3) == 0


def test_complexity_errors():
    for dimension in (vc_dimension, littlestone_dimension):
        with pytest.raises(
            ValueError, match="members must hold whole numbers from 0 to 1, got"
        ):
            dimension([[0, 2]])
        with pytest.raises(
            ValueError, match=r"members must be of shape \(n_functions, "
        ):
            dimension([0, 1])
        with pytest.raises(ValueError, match="at least one of each"):
            dimension(np.zeros((0, 3)))
    with pytest.raises(ValueError, match="2 different functions and 2\\*\\*24 signs"):
        empirical_rademacher_complexity(np.eye(2, 24))
    with pytest.raises(ValueError, match=r"values must be of shape \(n_functions, n_s"):
        empirical_rademacher_complexity([])
    with pytest.raises(ValueError, match="max_grade must be at least 1, got 0"):
        rademacher_bound([[[1, 2]]], [0], family="sum", max_grade=0)
    with pytest.raises(ValueError, match="family must be one of"):
        rademacher_bound([[[1, 2]]], [0], family="max")
    with pytest.raises(ValueError, match="p must be given with family='precision'"):
        rademacher_bound([[[1, 2]]], [0], family="precision")
