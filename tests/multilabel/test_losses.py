"""Losses of multilabel rankings: definitions, equal scores, inputs, lemmas E.1 to E.4.

The lemmas are those of Raman, Subedi and Tewari (2023), for all losses of a family.
"""

from functools import partial
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from multilabel.definitions import (
    BINARY,
    GRADED,
    TOP,
    auc_loss,
    average_precision_loss,
    dcg_loss,
    each_row,
    pairwise_loss,
    precision_loss,
    random_rows,
    reciprocal_rank_loss,
    sum_loss,
)
from scipy.sparse import csr_matrix
from scipy.stats import kendalltau
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    dcg_score,
    label_ranking_average_precision_score,
    label_ranking_loss,
    make_scorer,
    roc_auc_score,
)
from sklearn.model_selection import cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier

from skrank_abstain.multilabel import (
    label_ranks,
    multilabel_loss,
    multilabel_sample_losses,
)


def cases(n_labels, largest):
    """Losses with the references that they are compared with."""
    tops = [
        (partial(f, p=p), partial(reference, p=p))
        for f, reference in TOP.items()
        for p in range(1, n_labels + 1)
    ]
    rest = GRADED if largest > 1 else GRADED | BINARY
    return tops + list(rest.items())


def orders_of(scores):
    """All ranks of one row of scores, one for each order of equal scores."""
    k = len(scores)
    for pi in permutations(range(1, k + 1)):
        if all(
            scores[i] >= scores[j] or pi[i] > pi[j]
            for i, j in product(range(k), repeat=2)
        ):
            yield pi


@pytest.mark.parametrize(
    ("n_labels", "largest"), [(1, 1), (2, 2), (3, 2), (4, 1), (5, 1)]
)
def test_every_ranking_of_few_labels(n_labels, largest):
    rankings = [*permutations(range(1, n_labels + 1))]
    grades = [*product(range(largest + 1), repeat=n_labels)]
    pi = np.repeat(rankings, len(grades), axis=0)
    y = np.tile(grades, (len(rankings), 1))
    weight = np.random.default_rng(0).random(len(y))
    for function, reference in cases(n_labels, largest):
        expected = [
            reference(r, g) for r, g in zip(pi.tolist(), y.tolist(), strict=True)
        ]
        got = function(y, -pi, sample_weight=weight)
        assert got == pytest.approx(np.average(expected, weights=weight), rel=1e-12)
        some = slice(None, None, 97)
        np.testing.assert_allclose(
            each_row(function, y[some], -pi[some]),
            expected[some],
            rtol=1e-12,
            atol=1e-12,
        )


def rows(max_grade=1, max_labels=5):
    """Relevance, and scores of which many are equal."""
    shapes = st.tuples(st.integers(1, 3), st.integers(1, max_labels))
    return shapes.flatmap(
        lambda shape: st.tuples(
            arrays(np.int64, shape, elements=st.integers(0, max_grade)),
            arrays(np.float64, shape, elements=st.integers(-1, 1).map(float)),
        )
    )


@given(rows(max_labels=4))
def test_average_is_the_mean_over_orders_of_equal_scores(case):
    y, scores = case
    for function, reference in cases(y.shape[1], 1):
        for truth, s in zip(y.tolist(), scores.tolist(), strict=True):
            expected = np.mean([reference(pi, truth) for pi in orders_of(s)])
            got = function([truth], [s], ties="average")
            assert got == pytest.approx(expected, rel=1e-9, abs=1e-12)


@given(rows(max_grade=3, max_labels=4))
def test_average_for_graded_relevance(case):
    y, scores = case
    for function, reference in cases(y.shape[1], 3):
        for truth, s in zip(y.tolist(), scores.tolist(), strict=True):
            expected = np.mean([reference(pi, truth) for pi in orders_of(s)])
            got = function([truth], [s], ties="average")
            assert got == pytest.approx(expected, rel=1e-9, abs=1e-12)


@given(rows(max_grade=3))
def test_index_rule_is_what_the_ranks_say(case):
    y, scores = case
    ranks = label_ranks(scores)
    for function, _ in cases(y.shape[1], 3):
        assert function(y, scores) == function(y, -ranks) == function(y, 1 / ranks)


@given(rows())
def test_losses_of_binary_relevance_are_shares(case):
    y, scores = case
    for loss in BINARY:
        for ties in ("index", "average"):
            assert 0 <= loss(y, scores, ties=ties) <= 1


@given(rows(max_grade=3))
def test_the_best_ranking_loses_nothing(case):
    y, _ = case
    for function, _ in cases(y.shape[1], y.max()):
        assert function(y, y) == 0.0
        assert function(y, np.exp2(y), ties="average") <= 1e-12


def test_ranks():
    ranks = label_ranks([[0.1, 0.9, 0.4, 0.3, 0.8], [0.5, 0.5, 0.5, 0.2, 0.9]])
    assert ranks.tolist() == [[5, 1, 3, 4, 2], [2, 3, 4, 5, 1]]
    assert ranks.dtype == np.int64
    assert label_ranks(-ranks).tolist() == ranks.tolist()


@given(rows(max_labels=6))
def test_ranks_follow_the_printed_formula(case):
    _, scores = case
    for f, ranks in zip(scores, label_ranks(scores), strict=True):
        # Of equal scores the smaller index is ranked better.
        formula = [
            sum(f[i] <= f[m] for m in range(i + 1))
            + sum(f[i] < f[m] for m in range(i + 1, f.size))
            for i in range(f.size)
        ]
        assert ranks.tolist() == formula


def test_oracles(oracles):
    for case in oracles["multilabel_losses"]:
        y, s = [case["y"]], [case["scores"]]
        assert label_ranks(s).tolist() == [case["pi"]]
        assert pairwise_loss(y, s) == case["PL"]
        assert dcg_loss(y, s) == pytest.approx(case["loss_DCG"])
        for p in range(1, 6):
            at = str(p)
            assert sum_loss(y, s, p=p) == case["sum_at"][at]
            assert precision_loss(y, s, p=p) == case["prec_at"][at]
            loss = dcg_loss(y, s, p=p)
            assert loss == pytest.approx(case["loss_DCG_at"][at])
        if max(case["y"]) == 1:
            assert 1 - average_precision_loss(y, s) == pytest.approx(case["AP"])
            assert 1 - reciprocal_rank_loss(y, s) == pytest.approx(case["RR"])
            assert auc_loss(y, s) == pytest.approx(case["loss_AUC"])
            loss = average_precision_loss(y, s)
            assert loss == pytest.approx(case["loss_AP"])
            loss = reciprocal_rank_loss(y, s)
            assert loss == pytest.approx(case["loss_RR"])


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


@pytest.mark.filterwarnings("ignore:y_score must be higher")
def test_large_grades_keep_small_gains():
    s = [[3, 1, 2]]
    lost = 1 / np.log2(3) - 1 / np.log2(4)
    assert dcg_loss([[0, 1, 0]], [[3, 1, 2]]) == 1 - 1 / np.log2(4)
    # Label 1 stands first: all of the gain of label 0 is lost.
    assert dcg_loss([[60, 1, 0]], [[1, 3, 2]], p=1) == 2.0**60
    assert dcg_loss([[20, 1, 0]], s) == pytest.approx(lost, rel=1e-6)
    assert np.isfinite(dcg_loss([[*[1000] * 8, 0]], [range(9)]))


ALL = [partial(f, p=2) for f in TOP] + [*GRADED, *BINARY]


@pytest.mark.parametrize("function", ALL)
def test_inputs_of_other_kinds(function):
    y, s, w = random_rows(n=6)
    expected = function(y, s, sample_weight=w)
    assert isinstance(expected, float)
    s.setflags(write=False)
    same = [
        (y.tolist(), s.tolist()),
        (csr_matrix(y), s),
        (y.astype(bool), s),
        (y.astype(np.uint8), np.asfortranarray(s)),
    ]
    for truth, scores in same:
        assert function(truth, scores, sample_weight=w) == expected
    # Unsigned scores must not wrap around when they are turned round.
    ranks = label_ranks(s)
    high = (y.shape[1] - ranks).astype(np.uint8)
    assert function(y, high, sample_weight=w.tolist()) == expected
    twice = function(np.repeat(y, 2, axis=0), np.repeat(s, 2, axis=0))
    assert twice == pytest.approx(function(y, s), rel=1e-12)


@pytest.mark.parametrize("function", ALL)
def test_errors(function):
    y, s, _ = random_rows(n=3, n_labels=4)
    for bad, message in [
        (
            (y[0], s),
            r"y_true must be of shape \(n_samples, n_labels\).*got shape \(4,\)",
        ),
        ((y, s[:, 0]), r"y_score must be of shape .* got shape \(3,\)"),
        ((y[:0], s[:0]), r"at least one of each, got shape \(0, 4\)"),
        ((y, s[:2]), r"y_score must have 3 samples, got shape \(2, 4\)"),
        ((y, s[:, :3]), r"y_score must have 4 labels, got shape \(3, 3\)"),
        ((y, s.astype(str)), "y_score must hold numbers, got dtype <U"),
        ((y - 1, s), "y_true must hold integer grades from 0 to 1000.* got -1.0"),
        ((y / 2, s), "y_true must hold integer grades from 0 to 1000.* got 0.5"),
        ((y * 1001, s), "y_true must hold integer grades from 0 to 1000.* got 1001.0"),
    ]:
        with pytest.raises(ValueError, match=message):
            function(*bad)
    s[2, 1] = np.nan
    with pytest.raises(
        ValueError, match=r"y_score must be finite, got NaN .* at row 2, co"
    ):
        function(y, s)
    s[2, 1] = 0
    with pytest.raises(
        ValueError, match=r"ties must be one of 'index', 'average'.*got"
    ):
        function(y, s, ties="min")
    with pytest.raises(
        ValueError, match="sample_weight must have one value per sample"
    ):
        function(y, s, sample_weight=[1, 2])
    with pytest.raises(ValueError, match="sample_weight must be non-negative, got -1"):
        function(y, s, sample_weight=[1, -1, 1])
    with pytest.raises(ZeroDivisionError, match="Weights sum to zero"):
        function(y, s, sample_weight=[0, 0, 0])


@pytest.mark.parametrize("function", BINARY)
def test_graded_relevance_is_refused_where_it_has_no_meaning(function):
    with pytest.raises(ValueError, match=r"must hold 0 and 1 only, got 2\.0\. For"):
        function([[0, 2, 1]], [[0.1, 0.2, 0.3]])


@pytest.mark.parametrize("function", TOP)
def test_p_is_checked(function):
    y, s = [[0, 2, 1]], [[0.1, 0.2, 0.3]]
    with pytest.raises(ValueError, match="p must be at most 3, got 4"):
        function(y, s, p=4)
    with pytest.raises(ValueError, match="p must be at least 1, got 0"):
        function(y, s, p=0)
    with pytest.raises(TypeError, match=r"p must be an integer, got 1\.5"):
        function(y, s, p=1.5)


def test_label_ranks_errors():
    with pytest.raises(ValueError, match="y_score must be of shape"):
        label_ranks([0.1, 0.2])
    with pytest.raises(
        ValueError, match=r"y_score must be finite, got infinity .* at row 0"
    ):
        label_ranks([[0.1, np.inf]])


@pytest.mark.parametrize("ties", ["index", "average"])
@pytest.mark.parametrize(
    ("loss", "params"),
    [
        ("sum", {"p": 2}),
        ("sum", {}),
        ("precision", {"p": 2}),
        ("dcg", {"p": 3}),
        ("dcg", {}),
        ("pairwise", {}),
        ("misordered_share", {}),
        ("auc", {}),
        ("average_precision", {}),
        ("reciprocal_rank", {}),
    ],
)
def test_losses_of_samples_are_those_of_their_rows(loss, params, ties):
    rng = np.random.default_rng(0)
    y, s = rng.integers(0, 2, (20, 4)), rng.integers(0, 3, (20, 4))
    params = {"loss": loss, "ties": ties, **params}
    expected = [multilabel_loss(y[[i]], s[[i]], **params) for i in range(len(y))]
    found = multilabel_sample_losses(y, s, **params)
    assert found.tolist() == expected
    assert len(set(expected)) > 1


def test_losses_of_samples_are_checked():
    y, s = [[0, 2, 1]], [[0.1, 0.2, 0.3]]
    for loss, p, message in [
        ("best", None, "loss must be one of 'sum', 'precision'.*got 'best'"),
        ("precision", None, "p must be given with loss='precision', got None"),
        ("pairwise", 2, "p must be None with loss='pairwise'.*got 2"),
        ("sum", 4, "p must be at most 3, got 4"),
        ("auc", None, r"must hold 0 and 1 only, got 2\.0"),
    ]:
        with pytest.raises(ValueError, match=message):
            multilabel_sample_losses(y, s, loss=loss, p=p)


def test_scikit_learn_makes_scorers_of_them():
    X, y = make_multilabel_classification(n_samples=120, n_labels=2, random_state=0)
    for loss in ("auc", "average_precision"):
        scorer = make_scorer(
            multilabel_loss,
            loss=loss,
            greater_is_better=False,
            response_method=("decision_function", "predict_proba"),
        )
        # Lists of arrays, one per label, are put together by scikit-learn.
        model = LogisticRegression(solver="liblinear", random_state=0)
        one = cross_val_score(OneVsRestClassifier(model), X, y, scoring=scorer, cv=2)
        other = cross_val_score(
            MultiOutputClassifier(model), X, y, scoring=scorer, cv=2
        )
        np.testing.assert_allclose(one, other)
        assert (np.abs(one) > 0).all()


def rankings_of(n_labels):
    return st.permutations(range(1, n_labels + 1)).map(np.array)


@st.composite
def lemma_cases(draw):
    k = draw(st.integers(2, 4))
    y = draw(st.lists(st.integers(0, 2), min_size=k, max_size=k).map(np.array))
    p = draw(st.integers(1, k))
    return y, draw(rankings_of(k)), draw(rankings_of(k)), p


def losses_at(y, p):
    """Losses of the family of the sum loss at p that are defined for y."""
    losses = [partial(sum_loss, p=p), partial(dcg_loss, p=p)]
    if p == y.size:
        losses.append(pairwise_loss)
        if y.max() <= 1:
            losses += [auc_loss, average_precision_loss]
    return losses


def largest_ratio(loss, y, z):
    """Largest loss for one relevance over the smallest positive one for another."""
    rankings = -np.array([*permutations(range(1, y.size + 1))])
    largest = max(loss([y], [r]) for r in rankings)
    positive = [v for r in rankings if (v := loss([z], [r])) > 1e-12]
    return largest / min(positive) if positive else 0.0


@given(lemma_cases())
def test_lemma_1(case):
    y, pi, other, p = case
    for loss in losses_at(y, p):
        tops = [other <= j for j in range(1, p + 1)]
        c = max(largest_ratio(loss, y, top) for top in tops)
        apart = sum(loss([top], [-pi]) for top in tops)
        assert loss([y], [-pi]) <= loss([y], [-other]) + c * apart + 1e-9


@given(lemma_cases())
def test_lemma_2(case):
    y, pi, other, p = case
    loss = partial(precision_loss, p=p)
    c = largest_ratio(loss, y, other <= p)
    apart = loss([other <= p], [-pi])
    assert loss([y], [-pi]) <= loss([y], [-other]) + c * apart


@given(lemma_cases())
def test_lemmas_3_and_4(case):
    _, pi, other, p = case
    for j in range(1, p + 1):
        differs = ((pi <= j) != (other <= j)).any()
        assert sum_loss([other <= j], [-pi], p=p) >= differs
    differs = ((pi <= p) != (other <= p)).any()
    assert precision_loss([other <= p], [-pi], p=p) >= differs


def violations(p):
    """Number of violations of each lemma by the sum and precision losses at p."""
    pi = np.array([*permutations(range(1, 5))])

    def table(loss):
        grades = [*product(range(3), repeat=4)]
        return {y: each_row(loss, np.tile(y, (24, 1)), -pi) for y in grades}

    def apart(losses, j):  # (ranking, other ranking): loss for the other's top labels
        return np.column_stack([losses[tuple(1 * (other <= j))] for other in pi])

    def beyond(losses, bound):
        values = np.concatenate([*losses.values()])
        c = values.max() / values[values > 0].min() if values.any() else 0
        gaps = [row[:, None] - row[None] - c * bound for row in losses.values()]
        return sum(int((gap > 1e-9).sum()) for gap in gaps)

    def differ(j):
        return ((pi <= j)[:, None] != (pi <= j)[None]).any(axis=2)

    by_sum = table(partial(sum_loss, p=p))
    by_precision = table(partial(precision_loss, p=p))
    tops = range(1, p + 1)
    return {
        "E1": beyond(by_sum, sum(apart(by_sum, j) for j in tops)),
        "E2": beyond(by_precision, apart(by_precision, p)),
        "E3": sum(int((apart(by_sum, j) < differ(j)).sum()) for j in tops),
        "E4": int((apart(by_precision, p) < differ(p)).sum()),
    }


@pytest.mark.parametrize("p", [1, 2, 3, 4])
def test_lemmas_for_all_rankings_of_four_labels(oracles, p):
    assert violations(p) == oracles["lemmas_E_violations_K4"]


def test_frames_in_another_order_of_labels_are_refused():
    pd = pytest.importorskip("pandas")
    y = pd.DataFrame([[1, 0, 0]], columns=[*"abc"])
    scores = pd.DataFrame([[0.1, 0.2, 0.9]], columns=[*"cba"])
    with pytest.raises(ValueError, match=r"pass y_score\[y_true.columns\]"):
        multilabel_loss(y, scores, loss="auc")
    assert multilabel_loss(y, scores[y.columns], loss="auc") == 0
