"""What the labels of pairs mean, ties and losses among them."""

import numpy as np
import pytest
from estimators.pairwise.comparisons import N_FEATURES, fit_differences
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.metrics import get_scorer

from skrank_abstain import PairwiseRankerClassifier

#: What is written for right, tie and left preferred; None: there are no ties.
WRITTEN = {
    "signs": (-1, 0, 1),
    "signs as floats": (-1.0, 0.0, 1.0),
    "points": (0, 0.5, 1),
    "zero and one": (0, None, 1),
    "booleans": (False, None, True),
    "signs without ties": (-1, None, 1),
    "arena": ("model_b", "tie", "model_a"),
    "arena without ties": ("model_b", None, "model_a"),
    "letters": ("B", "draw", "A"),
    "sides": ("right", "same", "left"),
    "sides in capitals": ("RIGHT", " Equal ", "Left"),
    "sides without ties": ("right", None, "left"),
    "places": ("second", "tie", "first"),
    "games": ("loss", "draw", "win"),
}


@pytest.mark.parametrize("kind", [str, object])
@pytest.mark.parametrize("name", WRITTEN)
def test_labels_are_read_by_what_they_mean(name, kind, two, three):
    labels = WRITTEN[name]
    X, y = two if labels[1] is None else three
    named = np.array([labels[k + 1] for k in y])
    if kind is object and named.dtype.kind == "U":
        named = named.astype(object)
    plain = PairwiseRankerClassifier(Ridge(), random_state=0).fit(X, y)
    classifier = PairwiseRankerClassifier(Ridge(), random_state=0).fit(X, named)
    assert classifier.classes_.tolist() == sorted(k for k in labels if k is not None)
    np.testing.assert_array_equal(
        classifier.predict(X), [labels[k + 1] for k in plain.predict(X)]
    )
    assert classifier.predict(X).dtype == classifier.classes_.dtype == named.dtype
    proba, columns = plain.pair_proba(X), [labels.index(k) for k in classifier.classes_]
    assert proba.shape == (y.size, 3)
    np.testing.assert_array_equal(classifier.pair_proba(X), proba)
    np.testing.assert_array_equal(classifier.predict_proba(X), proba[:, columns])
    assert classifier.score(X, named) == plain.score(X, y)
    np.testing.assert_array_equal(classifier.abstain(X), plain.abstain(X))


def test_labels_of_ones_own(three):
    X, y = three
    plain = PairwiseRankerClassifier(Ridge(), random_state=0).fit(X, y)
    for labels in [(0, 1, 2), [2, 0, 1], ("no", "?", "yes"), ("left", "tie", "right")]:
        means = dict(zip(labels, ("right", "tie", "left"), strict=True))
        classifier = PairwiseRankerClassifier(Ridge(), labels=means, random_state=0)
        named = np.array([labels[k + 1] for k in y])
        assert clone(classifier).get_params()["labels"] == means
        classifier.fit(X, named)
        np.testing.assert_array_equal(
            classifier.predict(X), [labels[k + 1] for k in plain.predict(X)]
        )
        np.testing.assert_array_equal(classifier.pair_proba(X), plain.pair_proba(X))
        assert classifier.score(X, named) == plain.score(X, y)


def test_scikit_learns_scorers_agree_whatever_the_labels_are(two):
    X, y = two
    plain = PairwiseRankerClassifier(Ridge(), random_state=0).fit(X, y)
    expected = {
        name: get_scorer(name)(plain, X, y)
        for name in ("roc_auc", "neg_log_loss", "accuracy", "balanced_accuracy")
    }
    assert expected["roc_auc"] > 0.8
    for labels in (("right", None, "left"), ("model_b", None, "model_a"), (0, None, 1)):
        named = np.array([labels[k + 1] for k in y])
        classifier = PairwiseRankerClassifier(Ridge(), random_state=0).fit(X, named)
        for name, value in expected.items():
            assert get_scorer(name)(classifier, X, named) == pytest.approx(value)
        # What scikit-learn calls positive is the second class.
        np.testing.assert_array_equal(
            classifier.classes_[(classifier.decision_function(X) > 0).astype(int)],
            classifier.predict(X),
        )


@pytest.mark.parametrize(
    "labels",
    [
        [0, 1, 2],
        [1, 2, 3],
        ["yes", "no"],
        ["0", "1"],
        ["-1", "0", "1"],
        ["left", "model_b"],
        ["model_a", "tie (bothbad)", "model_b"],
        [0.2, 0.8],
        [-1.0, 0.5, 1.0],
    ],
    ids=str,
)
def test_labels_that_may_mean_anything_are_refused(labels):
    X, y = np.random.default_rng(0).normal(size=(30, 2)), np.resize(labels, 30)
    with pytest.raises(ValueError, match=r"y must hold labels that are known") as error:
        PairwiseRankerClassifier(Ridge()).fit(X, y)
    message = str(error.value)
    assert f"got {sorted(labels)}. Say what yours mean, as labels=" in message
    assert "as labels={'L': 'left', '=': 'tie', 'R': 'right'}" in message
    assert "right / tie / left, model_b / tie / model_a" in message
    assert "(0, 0.5, 1)" in message


@pytest.mark.parametrize(
    ("labels", "match"),
    [
        (["left", "Left", "right"], r"y must have one label for right.*'Left', 'left'"),
        (["tie", "draw", "left"], r"y must have one label for right"),
        (["left", "tie"], r"y must have one label for right.*'left', 'tie'"),
        (["loss", "draw"], r"y must have one label for right"),
        ([0, 0.5], r"y must have one label for right"),
        (
            ["left", "left"],
            r"two or three kinds.*got 1 class: \['left'\]. Swap the halves",
        ),
        (
            ["model_a", "model_b", "tie", "tie (bothbad)"],
            r"two or three kinds.*got 4 classes: .*leave out the rows of other",
        ),
    ],
)
def test_labels_of_known_meaning_that_are_no_comparisons(labels, match):
    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.resize(labels, 60)
    with pytest.raises(ValueError, match=match):
        PairwiseRankerClassifier(Ridge()).fit(X, y)


@pytest.mark.parametrize(
    "labels",
    ["left", (1, 2), {1, 2}, 3, {}, {1: "left", 2: "none"}, {1: 1, 2: -1}],
    ids=str,
)
def test_labels_must_say_what_labels_mean(labels, two):
    with pytest.raises(ValueError, match=r"labels must map labels to 'left', 'tie' or"):
        PairwiseRankerClassifier(Ridge(), labels=labels).fit(*two)


def test_labels_that_are_not_named(three):
    match = r"y must hold labels that are known, got \[0\] and labels={-1: 'right', 1: "
    means = {-1: "right", 1: "left"}
    with pytest.raises(ValueError, match=match):
        PairwiseRankerClassifier(Ridge(), labels=means).fit(*three)


def test_new_labels_in_score(two, three):
    X, y = two
    classifier = PairwiseRankerClassifier(Ridge(), random_state=0)
    words = np.where(y > 0, "left", "right")
    classifier.fit(X, words)
    # A tie is never right where none is predicted; another spelling is.
    assert classifier.score(X, np.full(y.size, "tie")) == 0
    assert classifier.score(X, np.char.upper(words)) == classifier.score(X, words)
    with pytest.raises(ValueError, match="y must hold labels that are known"):
        classifier.score(X, y)
    ones = PairwiseRankerClassifier(Ridge(), random_state=0).fit(X, (1 + y) // 2)
    assert ones.score(X, np.full(y.size, 0.5)) == 0
    with pytest.raises(ValueError, match=r"labels as in fit, \[0, 1\], got \[-1\] too"):
        ones.score(X, y)
    # 0 and 1 are read as in fit, where they are a tie and left.
    signs = PairwiseRankerClassifier(Ridge(), coverage=1, random_state=0).fit(*three)
    accuracy = np.mean(signs.predict(X) == abs(y))
    assert signs.score(X, abs(y)) == pytest.approx(accuracy)


def test_equal_scores_are_a_tie_or_else_left(two, three):
    same = np.full((3, 2 * N_FEATURES), 0.5)
    tied = PairwiseRankerClassifier(Ridge(), random_state=0).fit(*three)
    untied = PairwiseRankerClassifier(Ridge(), random_state=0).fit(*two)
    assert tied.predict(same).tolist() == [0, 0, 0]
    assert untied.predict(same).tolist() == [1, 1, 1]
    np.testing.assert_array_equal(untied.predict_proba(same), np.full((3, 2), 0.5))


def test_without_ties_there_is_no_tie_even_where_half_a_pair_is_added():
    difference = np.linspace(-3, 3, 40)
    with pytest.warns(UserWarning, match="half a pair"):
        classifier = fit_differences(difference, np.sign(difference), coverage=0.5)
    assert classifier.tie_model_.theta_ == 1
    X = np.column_stack([difference, np.zeros(40)])
    proba = classifier.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=0, atol=1e-15)
    np.testing.assert_allclose(
        classifier.conditional_risk(X), proba.min(axis=1), rtol=0, atol=1e-15
    )
    np.testing.assert_array_equal(classifier.predict(X), np.sign(difference))
    np.testing.assert_array_equal(
        classifier.abstain(X), np.abs(difference) < np.median(np.abs(difference))
    )


def test_a_cost_matrix(three, two):
    # Predicting a tie for an order costs little: ties are predicted more often.
    loss = np.array([[0, 1, 1], [0.3, 0, 0.3], [1, 1, 0]])
    X, y = three
    plain = PairwiseRankerClassifier(Ridge(), random_state=0).fit(X, y)
    costly = PairwiseRankerClassifier(Ridge(), loss=loss, random_state=0).fit(X, y)
    assert (costly.predict(X) == 0).sum() > (plain.predict(X) == 0).sum()
    expected = costly.predict_proba(X) @ loss.T
    np.testing.assert_allclose(costly.conditional_risk(X), expected.min(axis=1))
    # Without ties among the labels only the corners count.
    X, y = two
    plain = PairwiseRankerClassifier(Ridge(), random_state=0).fit(X, y)
    costly = PairwiseRankerClassifier(Ridge(), loss=2 * loss, random_state=0).fit(X, y)
    np.testing.assert_array_equal(costly.predict(X), plain.predict(X))
    np.testing.assert_allclose(
        costly.conditional_risk(X), 2 * plain.conditional_risk(X)
    )


@pytest.mark.parametrize("name", ["bradley_terry", "davidson", "thurstone_mosteller"])
def test_tie_models_by_name(name, three):
    classifier = PairwiseRankerClassifier(Ridge(), tie_model=name, random_state=0)
    assert classifier.fit(*three).tie_model_.scale_ > 0
