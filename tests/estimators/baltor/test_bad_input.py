"""What BALToR refuses, warns of and prints."""

import numpy as np
import pytest
from estimators.baltor.columns import column, fit_scores
from sklearn.exceptions import NotFittedError, UndefinedMetricWarning
from sklearn.linear_model import Ridge

from skrank_abstain import BALToR
from skrank_abstain.tie_models import BradleyTerry


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"coverage": 0.0}, ValueError, r"coverage must be in \(0, 1\], got 0\.0"),
        ({"coverage": 1.2}, ValueError, r"coverage must be in \(0, 1\], got 1\.2"),
        ({"coverage": "high"}, TypeError, r"coverage must be a real number"),
        ({"coverage": np.nan}, ValueError, r"coverage must be in"),
        ({"tie_model": "elo"}, ValueError, r"tie_model must be one of .*got 'elo'"),
        ({"tie_model": Ridge()}, TypeError, r"tie_model must be a name or an instance"),
        (
            {"tie_model": BradleyTerry(ties="coin")},
            ValueError,
            r"ties must be one of .*'coin'",
        ),
        (
            {"loss": "hinge"},
            ValueError,
            r"loss must be one of .*, got 'hinge'",
        ),
        ({"loss": np.eye(3)}, ValueError, r"loss must have a zero diagonal"),
        (
            {"loss": [[0, 1, 2], [1, 0, 1], [1, 1, 0]]},
            ValueError,
            r"loss must be mirror-symmetric",
        ),
        ({"loss": np.ones((2, 2))}, ValueError, r"loss must be .*got shape \(2, 2\)"),
        ({"boundary": "toss"}, ValueError, r"boundary must be one of"),
        ({"quantile": "median"}, ValueError, r"quantile must be one of"),
        (
            {"quantile": "linear", "boundary": "randomize"},
            ValueError,
            r"boundary='randomize' must go with",
        ),
        ({"prefit": "yes"}, ValueError, r"prefit must be 'auto', True or False"),
        ({"calibration_size": 1.0}, ValueError, r"calibration_size must be in"),
    ],
)
def test_bad_parameters(options, error, match, train):
    with pytest.raises(error, match=match):
        BALToR(Ridge(), **options).fit(train.data, train.target, qid=train.qid)


def with_value(array, value):
    changed = np.array(array, dtype=float)
    changed[2] = value
    return changed


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda d: (d.data, d.target[:-1], d.qid), r"y must have one value per item"),
        (lambda d: (d.data, d.target, d.qid[:-1]), r"qid must have one value per item"),
        (lambda d: (d.data, with_value(d.target, np.nan), d.qid), r"y must be finite"),
        (
            lambda d: (d.data, d.target, with_value(d.qid, np.nan)),
            r"qid must not be mi",
        ),
        (lambda d: (d.data[:0], d.target[:0], d.qid[:0]), r"0 sample\(s\)"),
        (lambda d: (d.data[:, 0], d.target, d.qid), r"Expected 2D array, got 1D"),
        (lambda d: (d.data, ["x"] * len(d.data), d.qid), r"y must hold numbers"),
        (lambda d: (d.data, None, d.qid), r"requires y to be passed"),
    ],
)
def test_bad_data(change, match, train):
    X, y, qid = change(train)
    with pytest.raises(ValueError, match=match):
        BALToR(Ridge()).fit(X, y, qid=qid)


@pytest.mark.parametrize(("value", "name"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_scores_that_are_not_finite(value, name):
    scores = np.arange(10.0)
    scores[4] = value
    with pytest.raises(ValueError, match=rf"scores must be finite, got {name}.*row 4"):
        fit_scores(scores, np.arange(10))


def test_no_query_with_two_items(train):
    model = Ridge().fit(train.data[::2], train.target[::2])
    with pytest.raises(ValueError, match=r"at least one calibration query with two"):
        BALToR(model).fit(train.data, train.target, qid=np.arange(train.qid.size))


def test_too_few_items_to_split():
    with pytest.raises(ValueError, match=r"n_samples=3"):
        BALToR(Ridge()).fit(np.zeros((3, 1)), [0, 1, 2])


def test_features_that_do_not_match_the_model(ranker, test):
    with pytest.raises(ValueError, match="features"):
        ranker.predict_pairs(test.data[:, :4])


@pytest.mark.parametrize(
    ("pairs", "error", "match"),
    [
        ([[0, 99999]], ValueError, r"pairs must name rows from 0"),
        ([[0, 0]], ValueError, r"pairs must name two different rows, got \(0, 0\)"),
        ([[0, 1, 2]], ValueError, r"pairs must be of shape \(n_pairs, 2\)"),
        ([[0.0, 1.0]], TypeError, r"pairs must hold integers"),
    ],
)
def test_bad_pairs(pairs, error, match, ranker, test):
    with pytest.raises(error, match=match):
        ranker.predict_pairs(test.data, pairs=pairs)


def test_pairs_across_queries(ranker, test):
    other = int(np.flatnonzero(test.qid != test.qid[0])[0])
    with pytest.raises(ValueError, match=r"two rows of the same query"):
        ranker.predict_pairs(test.data, qid=test.qid, pairs=[[0, other]])


def test_not_fitted(test):
    ranker = BALToR(Ridge())
    for call in (
        lambda: ranker.predict(test.data),
        lambda: ranker.predict_pairs(test.data),
        lambda: ranker.at_coverage(0.5),
        lambda: ranker.score(test.data, test.target),
    ):
        with pytest.raises(NotFittedError):
            call()


def test_nothing_accepted_scores_as_a_coin_and_labels_without_order_not_at_all():
    ranker = fit_scores(np.arange(20.0), np.tile([0, 1, 0, 2], 5), coverage=0.01)
    assert ranker.score(column([0.0, 1.0]), [0, 1]) == 0.5
    with pytest.warns(UndefinedMetricWarning, match="score is undefined"):
        assert np.isnan(ranker.score(column([0.0, 99.0]), [1, 1]))


def test_verbose_prints_a_line_and_silence_is_the_default(train, capsys):
    BALToR(Ridge(), random_state=0).fit(train.data, train.target, qid=train.qid)
    assert capsys.readouterr().out == ""
    BALToR(Ridge(), random_state=0, verbose=1).fit(
        train.data, train.target, qid=train.qid
    )
    assert "[BALToR] calibrated on" in capsys.readouterr().out
