"""Labels of equal score or of one relevance, and what scikit-learn makes of them."""

from itertools import permutations

import numpy as np
import pytest
from multilabel.losses.definitions import BINARY, GRADED, TOP, random_rows
from multilabel.named import (
    auc_loss,
    average_precision_loss,
    dcg_loss,
    pairwise_loss,
)
from scipy.stats import kendalltau
from sklearn.metrics import (
    dcg_score,
    label_ranking_average_precision_score,
    label_ranking_loss,
    roc_auc_score,
)

LOSSES = [*TOP, *GRADED, *BINARY]


def test_three_rules_for_equal_scores(oracles):
    case = oracles["sklearn_tie_conventions"]
    y, s = [case["y"]], [case["s"]]
    index = case["seed001_loss_AUC_index_tiebreak"]
    assert auc_loss(y, s) == pytest.approx(index)
    half = case["one_minus_auc_half_ties"]
    assert auc_loss(y, s, ties="average") == pytest.approx(half)
    assert label_ranking_loss(y, s) == pytest.approx(case["label_ranking_loss"])


@pytest.mark.parametrize("ties", ["index", "average"])
def test_scikit_learn_agrees_without_equal_scores(ties):
    y, s, w = random_rows()
    y[0], y[1] = 0, 1  # degenerate rows: the same conventions
    both = {"sample_weight": w}
    assert auc_loss(y, s, ties=ties, **both) == pytest.approx(
        label_ranking_loss(y, s, **both)
    )
    assert average_precision_loss(y, s, ties=ties, **both) == pytest.approx(
        1 - label_ranking_average_precision_score(y, s, **both)
    )


@pytest.mark.parametrize("p", [1, 3, 7])
def test_dcg_score_of_scikit_learn_averages_over_equal_scores(p):
    y, s, w = random_rows(largest=3)
    s = np.round(s)
    best, got = (dcg_score(2**y - 1, by, k=p, sample_weight=w) for by in (y, s))
    loss = dcg_loss(y, s, p=p, ties="average", sample_weight=w)
    assert loss == pytest.approx(best - got)
    assert loss != pytest.approx(dcg_loss(y, s, p=p, sample_weight=w))


def test_roc_auc_counts_equal_scores_as_half():
    y, s, _ = random_rows()
    s = np.round(s)
    y[:, 0], y[:, 1] = 0, 1  # a class of each kind in each row
    loss = auc_loss(y, s, ties="average")
    assert 1 - loss == pytest.approx(roc_auc_score(y, s, average="samples"))


def test_label_ranking_average_precision_has_another_rule_for_equal_scores():
    y, s = [[1, 0]], [[0.5, 0.5]]
    assert label_ranking_average_precision_score(y, s) == 1 / 2
    assert average_precision_loss(y, s) == 0
    assert average_precision_loss(y, s, ties="average") == 1 - (1 + 1 / 2) / 2


def test_pairwise_loss_and_kendalls_tau():
    rng = np.random.default_rng(1)
    for _ in range(5):
        y, s = rng.permutation(9), rng.standard_normal(9)
        discordant = (1 - kendalltau(y, s).statistic) / 2 * 36
        assert pairwise_loss([y], [s]) == pytest.approx(discordant)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("ties", ["index", "average"])
@pytest.mark.parametrize("row", [[0, 0, 0], [1, 1, 1]])
def test_degenerate_rows_lose_nothing(loss, ties, row):
    options = {"p": 2} if loss in TOP else {}
    for scores in permutations([0.1, 0.2, 0.3]):
        value = loss([row], [scores], ties=ties, **options)
        assert value == pytest.approx(0, abs=1e-12)
    assert loss([row], [[0.5] * 3], ties=ties, **options) == pytest.approx(0, abs=1e-12)


def test_constant_scores_depend_on_the_order_of_labels_by_index_only():
    y, s = np.array([[1, 0, 0, 0]]), np.zeros((1, 4))
    assert auc_loss(y, s) == 0
    assert auc_loss(y[:, ::-1], s) == 1
    for truth in (y, y[:, ::-1]):
        assert auc_loss(truth, s, ties="average") == 1 / 2


def test_large_grades_keep_small_gains():
    s = [[3, 1, 2]]
    lost = 1 / np.log2(3) - 1 / np.log2(4)
    assert dcg_loss([[0, 1, 0]], [[3, 1, 2]]) == 1 - 1 / np.log2(4)
    # Label 1 stands first: all of the gain of label 0 is lost.
    assert dcg_loss([[60, 1, 0]], [[1, 3, 2]], p=1) == 2.0**60
    assert dcg_loss([[20, 1, 0]], s) == pytest.approx(lost, rel=1e-6)
    assert np.isfinite(dcg_loss([[*[1000] * 8, 0]], [range(9)]))
