"""Models whose scores depend on the query: qid reaches them wherever they are called.

Each result must be that of a model without queries on features that were centred
within their queries before.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from doubles import FirstColumn, named
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank_abstain import (
    BALToR,
    CostAbstainer,
    OneQueryWarning,
    PairwiseRankerClassifier,
    RiskControlledRanker,
    SelectiveRanker,
)
from skrank_abstain.datasets import make_ranking
from skrank_abstain.displays import (
    ClassFractionDisplay,
    CoverageDisplay,
    PairReliabilityDisplay,
    RankIntervalDisplay,
    ReviewCurveDisplay,
    RiskCoverageDisplay,
)
from skrank_abstain.distance import DistanceAbstainer
from skrank_abstain.metrics import (
    accuracy_at_coverage,
    coverage_at_risk,
    neg_aurc_scorer,
    selective_accuracy_scorer,
    selective_auc_scorer,
    selective_utility,
)
from skrank_abstain.pairs import group_queries
from skrank_abstain.partitions import calibrate, evaluate, predict_pairs, ranking
from skrank_abstain.queries import QueryRiskRanker, TopSetRanker
from skrank_abstain.scorers import RankerEnsemble, score_items


def centred(X, qid):
    """Return the first column less its mean within the query."""
    first = np.asarray(X, dtype=float)[:, :1]
    codes = np.unique(qid, return_inverse=True)[1]
    sums = np.bincount(codes, weights=first[:, 0])
    return first - (sums / np.bincount(codes))[codes][:, np.newaxis]


class Centred(BaseEstimator):
    """A ranker whose score is the first feature less its mean within the query."""

    __metadata_request__predict = {"qid": True}  # noqa: RUF012

    def fit(self, X, y):
        self.fitted_ = True
        return self

    def predict(self, X, qid):
        return centred(X, qid)[:, 0]


DATA = make_ranking(n_queries=40, random_state=0)
X, Y, QID = DATA.data, DATA.target, DATA.qid
OF_QUERY = Centred().fit(X, Y)
PLAIN = FirstColumn().fit(X, Y)
WRAP = {
    "budget": lambda model, **to: BALToR(model, coverage=0.6, random_state=0, **to),
    "price": lambda model, **to: CostAbstainer(model, cost=0.4, random_state=0, **to),
    "promise": lambda model, **to: RiskControlledRanker(
        model, max_risk=0.45, delta=0.4, random_state=0, **to
    ),
    "near": lambda model, **to: DistanceAbstainer(
        model, scale=None, random_state=0, **to
    ),
}


@pytest.fixture(params=list(WRAP))
def both(request):
    """A ranker around the model of queries, and one on features centred before."""
    wrap = WRAP[request.param]
    fitted = wrap(OF_QUERY).fit(X[:, :1], Y, qid=QID)
    if request.param == "near":  # distances are taken of the features themselves
        return fitted, None
    return fitted, wrap(PLAIN).fit(centred(X, QID), Y, qid=QID)


def same_frames(frame, expected):
    # They are other models.
    frames = (one.drop(columns="id_", errors="ignore") for one in (frame, expected))
    pd.testing.assert_frame_equal(*frames)


def test_every_method_of_a_ranker(both):
    ranker, plain = both
    here, there = X[:, :1], centred(X, QID)
    np.testing.assert_array_equal(ranker.predict(here, qid=QID), there[:, 0])
    np.testing.assert_array_equal(ranker.decision_function(here, qid=QID), there[:, 0])
    pairs = ranker.predict_pairs(here, qid=QID)
    some = pairs.left[:5], pairs.right[:5]
    chosen = ranker.predict_pairs(here, qid=QID, pairs=np.stack(some, axis=1))
    np.testing.assert_array_equal(chosen.label, pairs.label[:5])
    total = sum(len(part) for part in ranker.iter_pairs(here, qid=QID))
    assert total == len(pairs)
    if plain is None:
        return
    assert ranker.threshold_ == plain.threshold_
    same_frames(pairs.to_frame(), plain.predict_pairs(there, qid=QID).to_frame())
    same_frames(
        ranker.ranking(here, qid=QID).to_frame(),
        plain.ranking(there, qid=QID).to_frame(),
    )
    for name in ("rank_intervals", "abstain", "pair_proba", "conditional_risk"):
        np.testing.assert_array_equal(
            getattr(ranker, name)(here, qid=QID),
            getattr(plain, name)(there, qid=QID),
        )
    assert (
        ranker.preference_graph(here, qid=QID) != plain.preference_graph(there, qid=QID)
    ).nnz == 0
    assert ranker.score(here, Y, qid=QID) == plain.score(there, Y, qid=QID)
    assert (
        ranker.evaluate(here, Y, qid=QID).concordance
        == plain.evaluate(there, Y, qid=QID).concordance
    )
    found = ranker.risk_profile(here, Y, qid=QID).risk
    np.testing.assert_array_equal(found, plain.risk_profile(there, Y, qid=QID).risk)


@pytest.mark.slow
def test_review_report_scorers_and_displays():
    ranker, plain = (
        WRAP["budget"](OF_QUERY).fit(X[:, :1], Y, qid=QID),
        WRAP["budget"](PLAIN).fit(centred(X, QID), Y, qid=QID),
    )
    here, there = X[:, :1], centred(X, QID)
    ask = ranker.review(here, qid=QID).ask(5)
    same_frames(ask.to_frame(), plain.review(there, qid=QID).ask(5).to_frame())
    new = make_ranking(n_queries=20, random_state=1)
    report = ranker.report(new.data[:, :1], new.target, qid=new.qid)
    expected = plain.report(centred(new.data, new.qid), new.target, qid=new.qid)
    totals = [
        r.split("| selective risk, were every pair decided")[1].split("\n")[0]
        for r in (report, expected)
    ]
    assert totals[0] == totals[1]
    for scorer in (
        *(selective_accuracy_scorer, selective_auc_scorer, neg_aurc_scorer),
        *(accuracy_at_coverage(0.5), coverage_at_risk(0.4), selective_utility(0.2)),
    ):
        assert scorer(ranker, here, Y, qid=QID) == scorer(plain, there, Y, qid=QID)
    for kind in (
        *(RiskCoverageDisplay, CoverageDisplay, PairReliabilityDisplay),
        *(ClassFractionDisplay, ReviewCurveDisplay),
    ):
        kind.from_estimator(ranker, here, Y, qid=QID)
    first = QID[0] == QID
    RankIntervalDisplay.from_estimator(ranker, here[first], qid=QID[first])
    plt.close("all")


def test_partitions_are_whole_queries():
    here = X[:, :1]
    cut = np.flatnonzero(QID[0] == QID)[-1] + 1
    parts = [
        (here[:cut], Y[:cut], QID[:cut]),
        (here[cut:], Y[cut:], QID[cut:]),
    ]
    whole = BALToR(OF_QUERY, coverage=0.6, random_state=0).fit(here, Y, qid=QID)
    ranker = calibrate(BALToR(OF_QUERY, coverage=0.6, random_state=0), parts)
    assert ranker.threshold_ == whole.threshold_
    totals = evaluate(ranker, parts)
    assert totals.coverage == whole.evaluate(here, Y, qid=QID).coverage
    frames = predict_pairs(ranker, parts)
    assert sum(frame["accepted"].sum() for frame in frames) == (
        whole.predict_pairs(here, qid=QID).accepted.sum()
    )
    places = pd.concat(ranking(ranker, parts))["score"].to_numpy()
    np.testing.assert_array_equal(places, whole.ranking(here, qid=QID).score)


def test_an_ensemble_over_partitions_and_under_every_rule():
    new = make_ranking(n_queries=40, random_state=1)
    items = new.data, new.target, new.qid
    ensemble = RankerEnsemble(Ridge(), grades=GaussianNB()).fit(X, Y, qid=QID)
    cut = np.flatnonzero(new.qid[0] == new.qid)[-1] + 1
    parts = [
        tuple(each[rows] for each in items) for rows in (slice(cut), slice(cut, None))
    ]
    for wrap in WRAP.values():
        ranker = wrap(ensemble).fit(**named(*items))
        scores = ensemble.predict(new.data, qid=new.qid)
        np.testing.assert_array_equal(ranker.predict(new.data, qid=new.qid), scores)
        if isinstance(ranker, SelectiveRanker):
            found = calibrate(wrap(ensemble), parts)
            # The last bits of Ridge's product depend on the number of rows.
            assert found.threshold_ == pytest.approx(ranker.threshold_, rel=1e-9)


@pytest.mark.parametrize("wrap", [TopSetRanker, QueryRiskRanker])
def test_rankers_of_whole_queries(wrap):
    options = {"random_state": 0}
    options |= {"coverage": 0.5} if wrap is QueryRiskRanker else {"alpha": 0.3}
    ranker = wrap(OF_QUERY, **options).fit(X[:, :1], Y, qid=QID)
    there = centred(X, QID)
    plain = wrap(PLAIN, **options).fit(there, Y, qid=QID)
    name = "accept_queries" if wrap is QueryRiskRanker else "predict_set"
    one = getattr(ranker, name)(X[:, :1], qid=QID)
    other = getattr(plain, name)(there, qid=QID)
    np.testing.assert_array_equal(*(getattr(a, "accepted", a) for a in (one, other)))
    np.testing.assert_array_equal(ranker.predict(X[:, :1], qid=QID), there[:, 0])
    with pytest.raises(ValueError, match=r"qid must be given, got None.*qid=0"):
        ranker.predict(X[:, :1])


class SquaredDistance(Centred):
    """A ranker whose score is the squared distance from the mean, with its sign."""

    def predict(self, X, qid):
        off = centred(X, qid)[:, 0]
        return off * np.abs(off)


def test_comparisons_are_queries_of_two_items():
    pairs = BALToR(OF_QUERY, random_state=0).fit(X[:, :1], Y, qid=QID)
    pairs = pairs.predict_pairs(X[:, :1], qid=QID)
    sides = np.hstack([X[pairs.left, :1], X[pairs.right, :1]])[:400]
    label = np.sign(Y[pairs.left] - Y[pairs.right])[:400]
    model = SquaredDistance().fit(X, Y)
    classifier = PairwiseRankerClassifier(model, random_state=0).fit(sides, label)
    gap = sides[:, 0] - sides[:, 1]
    expected = gap * np.abs(gap) / 2  # each item is half a gap from the mean
    np.testing.assert_allclose(classifier.decision_function(sides), expected)


def test_a_column_of_queries():
    frame = pd.DataFrame({"x": X[:, 0], "day": QID})
    ranker = BALToR(OF_QUERY, qid_col="day", random_state=0).fit(frame, Y)
    expected = centred(X, QID)[:, 0]
    np.testing.assert_array_equal(ranker.predict(frame), expected)
    assert len(ranker.predict_pairs(frame)) == ranker.n_pairs_


def test_without_queries(both):
    ranker, _ = both
    here = X[:3, :1]
    message = r"qid must be given, got None: the scores of Centred .*qid_col=; qid=0"
    for name in ("predict", "decision_function", "predict_pairs", "abstain"):
        with pytest.raises(ValueError, match=message):
            getattr(ranker, name)(here)
    with pytest.raises(ValueError, match=message):
        score_items(OF_QUERY, here)
    untrained = Centred()
    with pytest.raises(ValueError, match=message), pytest.warns(OneQueryWarning):
        BALToR(untrained).fit(X[:, :1], Y)
    # A scalar says that all rows are one query.
    one = ranker.predict(here, qid=0)
    np.testing.assert_array_equal(one, centred(here, [0, 0, 0])[:, 0])


def test_other_models_are_called_as_before():
    plain = BALToR(PLAIN, random_state=0).fit(X[:, :1], Y, qid=QID)
    expected = X[:, 0]
    np.testing.assert_array_equal(plain.predict(X[:, :1]), expected)
    np.testing.assert_array_equal(plain.predict(X[:, :1], qid=QID), expected)


@pytest.mark.usefixtures("routing")
def test_a_request_by_set_predict_request():
    class OnRequest(Centred):
        __metadata_request__predict = {"qid": None}  # noqa: RUF012

        def predict(self, X, qid=None):
            return np.asarray(X)[:, 0] if qid is None else super().predict(X, qid=qid)

    model, queries = OnRequest().fit(X, Y), group_queries(QID, len(QID))
    np.testing.assert_array_equal(score_items(model, X, queries), X[:, 0])
    model.set_predict_request(qid=True)
    expected = centred(X, QID)[:, 0]
    np.testing.assert_array_equal(score_items(model, X, queries), expected)
    for form in (FrozenEstimator(model), make_pipeline("passthrough", model)):
        np.testing.assert_array_equal(score_items(form, X, queries), expected)


@pytest.mark.usefixtures("routing")
def test_a_search_and_a_pipeline_with_routing():
    pipeline = make_pipeline(StandardScaler(), BALToR(Centred(), random_state=0))
    search = GridSearchCV(
        pipeline,
        {"baltor__coverage": [0.5, 0.7]},
        scoring=selective_utility(0.2),
        error_score="raise",
        cv=2,
    )
    best = search.fit(X, Y, qid=QID).best_estimator_
    scaled = StandardScaler().fit(X).transform(X)
    np.testing.assert_allclose(
        best.predict(X, qid=QID), centred(scaled, QID)[:, 0], atol=1e-12
    )
