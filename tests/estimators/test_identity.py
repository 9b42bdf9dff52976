"""id_: the same digits wherever one fitted ranker speaks, and others for another."""

import json
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
import skops.io
from lightgbm import LGBMRegressor
from sklearn.linear_model import Ridge

from skrank_abstain import BALToR, CostAbstainer, RiskControlledRanker
from skrank_abstain.datasets import make_ranking
from skrank_abstain.distance import DistanceAbstainer
from skrank_abstain.monitor import Monitor
from skrank_abstain.multilabel import SelectiveMultilabelRanker
from skrank_abstain.queries import QueryRiskRanker, TopSetRanker

KNOWN = make_ranking(n_queries=100, random_state=0)
NEW = make_ranking(n_queries=5, random_state=1)
RANKER = BALToR(Ridge(), random_state=0).fit(KNOWN.data, KNOWN.target, qid=KNOWN.qid)
SAVED = "skrank_abstain.estimators._named_rankers.BALToR"
GRADED = "skrank_abstain.tie_models._graded_relevance.GradedRelevance"


def fit(ranker, y=KNOWN.target):
    return ranker.fit(KNOWN.data, y, qid=KNOWN.qid)


@pytest.mark.parametrize(
    "ranker",
    [
        BALToR(LGBMRegressor(n_estimators=5, verbose=-1), random_state=0),
        RiskControlledRanker(Ridge(), random_state=0),
        CostAbstainer(Ridge(), tie_model="bradley_terry", random_state=0),
        DistanceAbstainer(Ridge(), random_state=0),
        QueryRiskRanker(Ridge(), coverage=0.5, random_state=0),
        TopSetRanker(Ridge(), random_state=0),
    ],
    ids=lambda ranker: type(ranker).__name__,
)
def test_a_loaded_ranker_has_the_id_and_gives_it_to_copies(ranker):
    ranker = fit(ranker)
    loaded = pickle.loads(pickle.dumps(ranker))
    assert loaded.id_ == ranker.id_
    assert len(ranker.id_) == 16
    move, value = next(
        (getattr(ranker, name), getattr(loaded, name))
        for name in ("at_coverage", "at_cost", "at_risk", "at_alpha")
        if hasattr(ranker, name)
    )
    assert move(0.45).id_ == value(0.45).id_ != ranker.id_
    if hasattr(ranker, "report"):
        assert f"id_: {ranker.id_}" in ranker.report(NEW.data, qid=NEW.qid)


def test_skops_keeps_it():
    loaded = skops.io.loads(skops.io.dumps(RANKER), trusted=[SAVED, GRADED])
    assert loaded.id_ == RANKER.id_
    assert loaded.at_coverage(0.5).id_ == RANKER.at_coverage(0.5).id_


def test_another_process_finds_the_same():
    code = (
        "from sklearn.linear_model import Ridge\n"
        "from skrank_abstain import BALToR\n"
        "from skrank_abstain.datasets import make_ranking\n"
        "known = make_ranking(n_queries=100, random_state=0)\n"
        "ranker = BALToR(Ridge(), random_state=0)\n"
        "print(ranker.fit(known.data, known.target, qid=known.qid).id_)\n"
    )
    # Texts hash otherwise there than here.
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    found = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == RANKER.id_


def test_whatever_is_fitted_changes_it():
    rankers = [
        RANKER,
        RANKER.at_coverage(0.7),
        fit(BALToR(Ridge(alpha=9), random_state=0)),
        fit(BALToR(Ridge(), tie_model="bradley_terry", random_state=0)),
        fit(BALToR(Ridge(), loss="zero_one", random_state=0)),
        RANKER.at_coverage(1.0),
        RANKER.at_coverage(1 - 1e-9),  # the same threshold
        fit(BALToR(Ridge(), random_state=0), (KNOWN.target > 0) * 1),
    ]
    assert len({ranker.id_ for ranker in rankers}) == len(rankers)
    again = fit(BALToR(Ridge(), random_state=0))
    assert again.id_ == RANKER.id_
    # What is set after fit was not fitted.
    assert again.set_params(coverage=0.3).id_ == RANKER.id_


def test_another_promise_has_another_id_though_it_decides_alike():
    options = {"max_risk": 0.42, "random_state": 0}
    one, other = (
        fit(RiskControlledRanker(Ridge(), delta=delta, **options))
        for delta in (0.1, 0.11)
    )
    assert one.threshold_ == other.threshold_
    assert one.id_ != other.id_
    assert one.at_risk(0.43).threshold_ == one.threshold_
    assert len({one.id_, one.at_risk(0.43).id_, one.at_risk(0.44).id_}) == 3


def test_one_ranker_says_the_same_everywhere():
    decisions = RANKER.predict_pairs(NEW.data, qid=NEW.qid)
    assert {row["id_"] for row in decisions.deferred().to_dicts()} == {RANKER.id_}
    assert set(decisions.to_frame()["id_"]) == {RANKER.id_}
    review = RANKER.review(NEW.data, qid=NEW.qid)
    assert review.decisions.id_ == review.ask(2).id_ == RANKER.id_
    assert f"id_: {RANKER.id_}" in RANKER.report(NEW.data, qid=NEW.qid)
    state = json.loads(json.dumps(Monitor.of(RANKER).to_dict()))
    assert state["id_"] == RANKER.id_


class Unsaved(Ridge):
    """A model that cannot be pickled."""

    def fit(self, X, y):
        self.link_ = lambda scores: scores
        return super().fit(X, y)


def test_a_model_that_cannot_be_saved_counts_by_its_type():
    assert fit(BALToR(Unsaved(), random_state=0)).id_ != RANKER.id_


@pytest.mark.filterwarnings("ignore:.* in the wrong order")
def test_a_ranker_of_labels_has_one_for_itself_and_its_decisions():
    X = np.random.default_rng(0).normal(size=(60, 3))
    Y = (X @ np.ones((3, 4)) + np.random.default_rng(1).normal(size=(60, 4))) > 0
    ranker = SelectiveMultilabelRanker(Ridge(), random_state=0).fit(X, Y * 1)
    assert ranker.predict_pairs(X[:2]).id_ == ranker.id_ != ranker.at_coverage(0.5).id_
    assert f"id_: {ranker.id_}" in ranker.report(X + 1)


@pytest.mark.parametrize("made", [LGBMRegressor(n_estimators=5, verbose=-1), Ridge()])
@pytest.mark.parametrize("when", ["fit", "loaded"])
def test_decisions_say_that_the_model_was_fitted_again(made, when):
    ranker = fit(BALToR(made, random_state=0))
    if when == "loaded":
        ranker = pickle.loads(pickle.dumps(ranker))
    audited = ranker.id_
    assert ranker.predict_pairs(NEW.data, qid=NEW.qid).id_ == audited
    ranker.estimator_.fit(KNOWN.data, KNOWN.target % 2)
    ranker = pickle.loads(pickle.dumps(ranker))
    with pytest.warns(UserWarning, match="was fitted or set after the calibration"):
        found = ranker.predict_pairs(NEW.data, qid=NEW.qid)
    assert found.id_ == ranker.id_ == f"{audited}, model changed since"
