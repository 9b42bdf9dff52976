"""Labels of equal score or of one relevance, and what scikit-learn makes of them."""

from itertools import permutations

import numpy as np
import pytest
from multilabel.losses.definitions import BINARY, GRADED, TOP, random_rows
from scipy.stats import kendalltau
from sklearn.metrics import (
    dcg_score,
    label_ranking_average_precision_score,
    label_ranking_loss,
    roc_auc_score,
)

from skrank_abstain.multilabel import (
    multilabel_auc_loss,
    multilabel_auc_score,
    multilabel_average_precision_loss,
    multilabel_average_precision_score,
    multilabel_dcg_loss,
    multilabel_dcg_score,
    multilabel_pairwise_loss,
    multilabel_precision_loss,
    multilabel_precision_score,
    multilabel_reciprocal_rank_score,
)

LOSSES = [f for f in (*TOP, *GRADED, *BINARY) if f.__name__.endswith("_loss")]


def test_three_rules_for_equal_scores(oracles):
    case = oracles["sklearn_tie_conventions"]
    y, s = [case["y"]], [case["s"]]
    index = case["seed001_loss_AUC_index_tiebreak"]
    assert multilabel_auc_loss(y, s) == pytest.approx(index)
    half = case["one_minus_auc_half_ties"]
    assert multilabel_auc_loss(y, s, ties="average") == pytest.approx(half)
    assert label_ranking_loss(y, s) == pytest.approx(case["label_ranking_loss"])


@pytest.mark.parametrize("ties", ["index", "average"])
def test_scikit_learn_agrees_without_equal_scores(ties):
    y, s, w = random_rows()
    y[0], y[1] = 0, 1  # degenerate rows: the same conventions
    both = {"sample_weight": w}
    assert multilabel_auc_loss(y, s, ties=ties, **both) == pytest.approx(
        label_ranking_loss(y, s, **both)
    )
    assert multilabel_average_precision_score(y, s, ties=ties, **both) == pytest.approx(
        label_ranking_average_precision_score(y, s, **both)
    )


@pytest.mark.parametrize("p", [1, 3, 7])
def test_dcg_score_of_scikit_learn_averages_over_equal_scores(p):
    y, s, w = random_rows(largest=3)
    s = np.round(s)
    expected = dcg_score(2**y - 1, s, k=p, sample_weight=w)
    got = multilabel_dcg_score(y, s, p=p, ties="average", sample_weight=w)
    assert got == pytest.approx(expected)
    assert got != pytest.approx(multilabel_dcg_score(y, s, p=p, sample_weight=w))


def test_roc_auc_counts_equal_scores_as_half():
    y, s, _ = random_rows()
    s = np.round(s)
    y[:, 0], y[:, 1] = 0, 1  # a class of each kind in each row
    got = multilabel_auc_score(y, s, ties="average")
    assert got == pytest.approx(roc_auc_score(y, s, average="samples"))


def test_label_ranking_average_precision_has_another_rule_for_equal_scores():
    y, s = [[1, 0]], [[0.5, 0.5]]
    assert label_ranking_average_precision_score(y, s) == 1 / 2
    assert multilabel_average_precision_score(y, s, ties="max") == 1 / 2
    assert multilabel_average_precision_score(y, s) == 1
    assert multilabel_average_precision_score(y, s, ties="average") == (1 + 1 / 2) / 2


def test_the_last_rank_of_equal_scores_is_the_rule_of_scikit_learn():
    y, s, w = random_rows()
    s = np.round(s)
    y[0], y[1] = 0, 1
    loss = multilabel_auc_loss(y, s, ties="max", sample_weight=w)
    # A relevant and an irrelevant label of equal scores: a wrong pair.
    wrong = (s[:, :, None] <= s[:, None, :]) & (y[:, :, None] > y[:, None, :])
    n_relevant = y.sum(axis=1)
    n_pairs = n_relevant * (y.shape[1] - n_relevant)
    by_row = wrong.sum(axis=(1, 2)) / np.maximum(n_pairs, 1)
    assert loss == pytest.approx(np.average(by_row, weights=w))
    assert multilabel_auc_score(y, s, ties="max", sample_weight=w) == 1 - loss
    score = multilabel_average_precision_score(y, s, ties="max", sample_weight=w)
    last = (s[:, None, :] >= s[:, :, None]).sum(axis=2)
    hits = ((s[:, None, :] >= s[:, :, None]) & (y[:, None, :] == 1)).sum(axis=2)
    precision = np.where(y == 1, hits / last, 0).sum(axis=1)
    by_row = np.where(n_relevant > 0, precision / np.maximum(n_relevant, 1), 1.0)
    assert score == pytest.approx(np.average(by_row, weights=w))
    one = [[1], [0]], [[0.5], [0.2]]
    assert multilabel_auc_loss(*one, ties="max") == 0
    assert multilabel_average_precision_loss(*one, ties="max") == 0
    with pytest.raises(ValueError, match="sample_weight must not be zero"):
        multilabel_auc_loss(y, s, ties="max", sample_weight=0 * w)


def test_pairwise_loss_and_kendalls_tau():
    rng = np.random.default_rng(1)
    for _ in range(5):
        y, s = rng.permutation(9), rng.standard_normal(9)
        discordant = (1 - kendalltau(y, s).statistic) / 2 * 36
        assert multilabel_pairwise_loss([y], [s]) == pytest.approx(discordant)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("ties", ["index", "average"])
@pytest.mark.parametrize("row", [[0, 0, 0], [1, 1, 1]])
def test_degenerate_rows_lose_nothing(loss, ties, row):
    options = {"p": 2} if loss is multilabel_precision_loss else {}
    for scores in permutations([0.1, 0.2, 0.3]):
        value = loss([row], [scores], ties=ties, **options)
        assert value == pytest.approx(0, abs=1e-12)
    assert loss([row], [[0.5] * 3], ties=ties, **options) == pytest.approx(0, abs=1e-12)


def test_scores_of_degenerate_rows():
    y, s = [[0, 0, 0]], [[0.3, 0.2, 0.1]]
    assert multilabel_auc_score(y, s) == 1
    assert multilabel_average_precision_score(y, s) == 1
    assert multilabel_reciprocal_rank_score(y, s) == 1
    assert multilabel_dcg_score(y, s) == multilabel_precision_score(y, s, p=2) == 0


def test_constant_scores_depend_on_the_order_of_labels_by_index_only():
    y, s = np.array([[1, 0, 0, 0]]), np.zeros((1, 4))
    assert multilabel_auc_loss(y, s) == 0
    assert multilabel_auc_loss(y[:, ::-1], s) == 1
    for truth in (y, y[:, ::-1]):
        assert multilabel_auc_loss(truth, s, ties="average") == 1 / 2


def test_large_grades_keep_small_gains():
    y, s = [[60, 1, 0]], [[3, 1, 2]]
    lost = 1 / np.log2(3) - 1 / np.log2(4)
    # The gain of 2**60 has a rounding error of its own.
    assert multilabel_dcg_loss([[0, 1, 0]], [[3, 1, 2]]) == 1 - 1 / np.log2(4)
    assert multilabel_dcg_score(y, s, p=1) == 2.0**60 - 1
    assert multilabel_dcg_loss([[20, 1, 0]], s) == pytest.approx(lost, rel=1e-6)
    assert np.isfinite(multilabel_dcg_score([[1000] * 9], [range(9)]))
