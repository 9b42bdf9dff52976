"""What the losses take and refuse, sample by sample and as scorers."""

from functools import partial

import numpy as np
import pytest
from multilabel.losses.definitions import BINARY, GRADED, TOP, random_rows
from scipy.sparse import csr_matrix
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    make_scorer,
)
from sklearn.model_selection import cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier

from skrank_abstain.multilabel import (
    label_ranks,
    multilabel_loss,
    multilabel_sample_losses,
)

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
    with pytest.raises(
        ValueError, match="sample_weight must not be zero for all sample"
    ):
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
