from functools import partial

import numpy as np
import pytest
from multilabel.definitions import (
    auc_loss,
    average_precision_loss,
    dcg_loss,
    pairwise_loss,
    precision_loss,
    reciprocal_rank_loss,
    sum_loss,
)
from multilabel.tiny import top_label_loss

from skrank_abstain.multilabel import (
    label_ranks,
    loss_family_membership,
)
from skrank_abstain.multilabel._families import check_loss, family_loss


def family_case(name):
    """The loss and the family of a key of the reference numbers."""
    loss, _, family = name.partition(" in ")
    family, p = family.split("@")
    p = 4 if p == "K" else int(p)
    at_p = {
        "DCG": dcg_loss,
        "sum": sum_loss,
        "prec": precision_loss,
    }
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
    for family, loss in [
        ("sum", sum_loss),
        ("precision", precision_loss),
    ]:
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
    with pytest.raises(TypeError, match=r"loss must be a function, .* got 'auc': "):
        loss_family_membership("auc", 3, family="sum")
    with pytest.raises(TypeError, match=r"argument: 'p'\. .* functools.partial\("):
        loss_family_membership(lambda y, s, p: 0.0, 3, family="sum")


def test_a_function_without_a_signature_is_let_through():
    check_loss(max)
