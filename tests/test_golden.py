"""Numbers of some thirty configurations, as they were: what must not move by itself.

Thresholds, coverages, totals, profiles, decisions and places, through the public names
alone. They are equal to the last digit, but for weighted totals (1e-15) and sums of
risks (1e-12). A processor, or a release of a library, that rounds `exp` or `ndtr` in
another way is noticed. There the optimum of a likelihood moves in its tenth digit, and
with it a draw at a boundary or the next question of a review: means and sums are
compared to 2 %, whole numbers and hashes are not compared.

A change that is meant to move results writes the file again, and says so:

    python tests/test_golden.py
"""

import hashlib
import json
import math
import sys
import warnings
from copy import copy
from pathlib import Path

import numpy as np
import pytest
import scipy
import sklearn
from doubles import FirstColumn
from scipy.special import expit, ndtr
from sklearn.base import clone

from skrank_abstain import (
    BALToR,
    CostAbstainer,
    PairwiseRankerClassifier,
    RiskControlledRanker,
    SelectiveRanker,
)
from skrank_abstain import partitions as parted
from skrank_abstain.datasets import make_ranking
from skrank_abstain.multilabel import SelectiveMultilabelRanker
from skrank_abstain.pairs import enumerate_pairs, group_queries, pair_labels
from skrank_abstain.queries import QueryRiskRanker, TopSetRanker
from skrank_abstain.selection import CertifiedRisk, GuaranteedCoverage
from skrank_abstain.tie_models import BradleyTerry, FeatureAwareRelevance

FILE = Path(__file__).parent / "data" / "golden.json"
MODEL = FirstColumn().fit(None, None)
#: Queries that calibrate and their items; the slow configurations get fewer.
SIZES = {
    "quick": {"n_queries": 150, "n_items": (1, 39), "few": 100},
    "full": {"n_queries": 3000, "n_items": 120, "few": 300},
}


class LabelScores(FirstColumn):
    """A fitted ranker of labels whose scores are the features."""

    n_features_in_ = 5

    def decision_function(self, X):
        return np.asarray(X)

    predict = decision_function


class Data:
    """Items whose scores are known, with a group, a weight and two features each."""

    def __init__(self, n_queries, n_items, seed):
        data = make_ranking(n_queries, n_items, n_grades=4, random_state=seed)
        rng = np.random.default_rng(seed)
        self.qid, self.y = data.qid, data.target
        n = self.y.size
        # Rounded: some scores of a query are equal, and no library moves their bits.
        score = np.round(data.utility + 0.4 * data.data[:, 1], 3)
        features = np.round(data.data[:, :2], 3)
        self.X = np.column_stack([score, features])
        self.weight = rng.integers(0, 5, n) / 4 + rng.integers(0, 100, n) / 1000
        self.group = rng.integers(0, 3, n)
        self.site = np.array(["north", "south"])[self.qid % 2]
        self.all = {"X": self.X, "y": self.y, "qid": self.qid}

    def head(self, n_queries):
        """Return X and qid of the first queries, by name."""
        rows = self.qid < n_queries
        return {"X": self.X[rows], "qid": self.qid[rows]}

    def parts(self, n_parts):
        return [
            (self.X[rows], self.y[rows], self.qid[rows])
            for rows in (self.qid % n_parts == k for k in range(n_parts))
        ]

    def with_columns(self, n):
        """Return the same with the first columns of X; the last is the group."""
        other = copy(self)
        other.X = np.column_stack([self.X, self.group])[:, :n]
        other.all = self.all | {"X": other.X}
        return other


def digest(values):
    """Return the start of a hash of whole numbers or truth values."""
    values = np.ascontiguousarray(values)
    exact = values.astype(np.int64)
    assert (exact == values).all()
    return hashlib.sha256(exact.tobytes()).hexdigest()[:16]


def sums(values):
    """Return a sum, and one that depends on the order, without rounding errors."""
    values = np.nan_to_num(np.asarray(values, dtype=float), nan=-7.0).ravel()
    weighted = values * (1 + np.arange(values.size) % 97)
    return [math.fsum(values), math.fsum(weighted)]


def of_fit(ranker):
    names = ["threshold_", "coverage_", "n_queries_", "n_pairs_", "certified_"]
    names += ["coverage_interval_", "highest_coverage_", "n_group_queries_"]
    found = {name: getattr(ranker, name) for name in names if hasattr(ranker, name)}
    return {
        name: list(value.values())
        if isinstance(value, dict)
        else np.asarray(value).tolist()
        for name, value in found.items()
    }


def of_totals(totals):
    pooled = ("coverage", "accuracy", "misranking_rate", "selective_risk", "yardstick")
    # Names of queries are no numbers.
    found = {n: sums(value) for n, value in vars(totals).items() if n != "qid"}
    found["queries"] = totals.pairs.size
    return found | {name: getattr(totals, name) for name in (*pooled, "concordance")}


def of_profile(profile):
    found = {name: sums(value) for name, value in vars(profile).items()}
    return found | {
        "n_risks": profile.risk.size,
        "selective_risks": sums(profile.selective_risk),
        "concordances": sums(profile.concordance),
    }


def of_decisions(decided):
    found = {
        "accepted": [int(decided.accepted.sum()), digest(decided.accepted)],
        "labels": [int(decided.label.sum()), digest(decided.label)],
        "pairs": digest(np.column_stack([decided.left, decided.right])),
        "risks": sums(decided.risk),
        "proba risks": sums(decided.proba),
    }
    if decided.novel is not None:
        found["novel"] = digest(decided.novel)
    return found


def of_ranker(ranker, new):
    """Return all that a fitted ranker says about new queries."""
    X, qid = new.head(20).values()
    found = {
        "fit": of_fit(ranker),
        "totals": of_totals(ranker.evaluate(**new.all)),
        "weighted": of_totals(ranker.evaluate(**new.all, sample_weight=new.weight)),
        "profile": of_profile(ranker.risk_profile(**new.all)),
        "decisions": of_decisions(ranker.predict_pairs(X, qid=qid)),
        "ranks": digest(ranker.rank_intervals(X, qid=qid)),
        "graph": digest(ranker.preference_graph(X, qid=qid).toarray()),
        "ranking": digest(ranker.ranking(X, qid=qid).item_id),
        "points": [
            [each.threshold, each.totals.selective_risk, *sums(each.totals.accepted)]
            for each in ranker.operating_points(**new.all, coverages=[0.1, 0.5, 0.85])
        ],
    }
    for move, level in (("at_coverage", 0.5), ("at_cost", 0.2), ("at_risk", 0.2)):
        if hasattr(ranker, move):
            found[move] = of_fit(getattr(ranker, move)(level))
    return found


def ranker(ranker, *more, few=False, columns=3, **fit):
    """Return a configuration: a ranker that is fitted on all rows."""

    def record(data):
        past, new = (each.with_columns(columns) for each in two(data, few))
        extra = {name: getattr(past, value) for name, value in fit.items()}
        fitted = clone(ranker).fit(**past.all, **extra)
        found = of_ranker(fitted, new)
        for of in more:
            found |= of(fitted, new)
        return found

    return record


def two(data, few):
    """Return the queries that calibrate, and the new ones."""
    return (data["few"], data["few new"]) if few else (data["past"], data["new"])


def of_places(ranker, new):
    held, width = ranker.evaluate_places(**new.all, confidence=0.8)
    return {
        "confident": digest(ranker.rank_intervals(**new.head(20), confidence=0.8)),
        "places": [sums(held), sums(width)],
    }


def of_given(ranker, new):
    """Return totals and decisions of every third pair."""
    left, right = enumerate_pairs(group_queries(new.qid, new.y.size))
    pairs = np.column_stack([right, left])[::3][:20_000]
    given = ranker.evaluate(**new.all, pairs=pairs)
    weighted = ranker.evaluate(**new.all, pairs=pairs, sample_weight=new.weight)
    decided = ranker.predict_pairs(new.X, qid=new.qid, pairs=pairs)
    return {
        "given": of_totals(given),
        "weighted given": of_totals(weighted),
        "given decisions": of_decisions(decided),
    }


def of_deferred(ranker, new):
    decided = ranker.predict_pairs(**new.head(20))
    return {
        name: digest(np.column_stack([left.left, left.right]))
        for name, left in {
            "deferred": decided.deferred(limit=50),
            "deciding top": decided.deferred(deciding_top=3),
        }.items()
    }


def of_groups(ranker, new):
    points = ranker.operating_points(**new.all, coverages=[0.5], groups=(0, 1))
    return {"groups": [of_totals(each.totals) for each in points]}


def of_novel(ranker, new):
    return {"risks of novelty": sums(ranker.novelty_pvalues(new.head(20)["X"]))}


def strange(X):
    """Return how unusual items are, as a detector of PyOD does."""
    return np.abs(np.asarray(X)[:, 2])


def partitions(ranker, few=False):
    def record(data):
        past, new = two(data, few)
        fitted = parted.calibrate(ranker, past.parts(5))
        X, qid = new.head(20).values()
        [decided] = parted.predict_pairs(fitted, [(X, None, qid)])
        [asked] = parted.deferred(fitted, [(X, None, qid)], deciding_top=3)
        [listed] = parted.ranking(fitted, [(X, None, qid)])
        found = {
            "fit": of_fit(fitted),
            "totals": of_totals(parted.evaluate(fitted, new.parts(3))),
            "accepted": digest(decided["accepted"]),
            "labels": digest(decided["label"]),
            "risks": sums(decided["risk"]),
            "deferred": digest(asked[["left", "right"]].to_numpy()),
            "ranking": digest(listed[["item_id", "place", "best", "worst"]].to_numpy()),
        }
        if hasattr(fitted, "at_coverage"):
            found["at_coverage"] = of_fit(fitted.at_coverage(0.5))
        return found

    return record


def comparisons(new):
    """Return rows [left | right] of pairs of neighbours, with labels and weights."""
    left = np.arange(0, new.y.size - 1, 2)
    left = left[new.qid[left] == new.qid[left + 1]]
    X = np.column_stack([new.X[left], new.X[left + 1]])
    return {
        "X": X,
        "y": pair_labels(new.y, left, left + 1),
        "qid": new.qid[left],
    }, new.weight[left]


def classifier(classifier):
    def record(data):
        new, weight = comparisons(data["new"])
        fitted = clone(classifier).fit(**comparisons(data["past"])[0])
        X, y = new["X"][:2000], new["y"][:2000]
        return {
            "fit": of_fit(fitted),
            "totals": of_totals(fitted.evaluate(**new)),
            "without qid": of_totals(fitted.evaluate(X, y)),
            "weighted": of_totals(fitted.evaluate(**new, sample_weight=weight)),
            "profile": of_profile(fitted.risk_profile(**new)),
            "labels": digest(fitted.predict(X)),
            "abstain": digest(fitted.abstain(X)),
            "risks": sums(fitted.conditional_risk(X)),
            "proba risks": sums(fitted.pair_proba(X)),
            "at_coverage": of_fit(fitted.at_coverage(0.5))
            if hasattr(fitted, "at_coverage")
            else None,
        }

    return record


def top_sets(data):
    past, new = data["few"], data["few new"]
    fitted = TopSetRanker(MODEL, alpha=0.1, tuning_size=0.3, random_state=0).fit(
        **past.all
    )
    results = fitted.evaluate(**new.all)
    return {
        "threshold": fitted.threshold_,
        "queries": [fitted.n_queries_, fitted.n_equal_queries_],
        "inside": digest(fitted.predict_set(new.X, qid=new.qid)),
        "share": [results.share, results.mean_size],
        "weighted": fitted.score(**new.all, sample_weight=new.weight),
        "at_alpha": fitted.at_alpha(0.3).threshold_,
    }


def query_risk(**options):
    def record(data):
        past, new = data["past"], data["new"]
        fitted = QueryRiskRanker(MODEL, tuning_size=0.3, random_state=0, **options).fit(
            **past.all
        )
        results = fitted.evaluate(**new.all)
        return {
            "threshold": [fitted.threshold_, fitted.coverage_],
            "accepted": digest(results.accepted),
            "metric risks": sums(results.metric),
            "risks": sums(results.risk),
            "selective risks": [results.selective_risk, results.full_risk],
        }

    return record


def labels(data):
    rng = np.random.default_rng(0)
    n = 20 * data["few"].parts(1)[0][2].max()
    scores = np.round(rng.normal(size=(2 * n, 5)), 2)
    y = (scores + rng.logistic(size=scores.shape) > 0.5).astype(int)
    fitted = SelectiveMultilabelRanker(LabelScores(), coverage=0.6, random_state=0)
    fitted = fitted.fit(scores[:n], y[:n])
    new = scores[n:], y[n:]
    return {
        "fit": of_fit(fitted),
        "totals": of_totals(fitted.evaluate(*new)),
        "decisions": of_decisions(fitted.predict_pairs(new[0][:200])),
        "ranks": digest(fitted.rank_intervals(new[0][:200])),
        "correctness": list(fitted.correctness_completeness(*new)),
        "at_coverage": of_fit(fitted.at_coverage(0.4)),
    }


def review(ranker, **options):
    """Return a configuration: people answer twelve questions, one of them wrongly."""

    def record(data):
        past, new = data["few"], data["few new"]
        X, qid = new.head(8).values()
        fitted = clone(ranker).fit(**past.all)
        asked = fitted.review(X, qid=qid)
        questions = asked.ask(12, **options)
        truth = pair_labels(new.y[: len(X)], questions.left, questions.right)
        words = {1: "left", 0: "same", -1: "right"}
        answers = [
            {"qid": q.qid, "left": q.left, "right": q.right, "label": words[label]}
            for q, label in zip(questions, [-truth[0], *truth[1:]], strict=True)
        ]
        after = fitted.review(X, qid=qid, answers=answers)
        again = after.ask(12, **options)
        accuracy = [each.expected_accuracy for each in (asked, after)]
        return {
            "asked": digest(np.column_stack([questions.left, questions.right])),
            "asked again": digest(np.column_stack([again.left, again.right])),
            "value risks": [sums(questions.value), sums(again.value)],
            "accuracy risks": [*accuracy, after.expected_accuracy_after(5)],
            "decisions": of_decisions(after.decisions),
            "ranks": digest(after.rank_intervals()),
            "ranking": digest(after.ranking().item_id),
            "error risks": [*after.reviewer_error_.values()],
        }

    return record


def baltor(**options):
    return BALToR(MODEL, **{"random_state": 0} | options)


def certified(**options):
    return RiskControlledRanker(MODEL, max_risk=0.1, random_state=0, **LOSS, **options)


def discordance(**options):
    return RiskControlledRanker(MODEL, max_risk=0.2, random_state=0, **options)


class Guaranteed(BALToR):
    """Leaves as many queries to the tie model as when these numbers were recorded."""

    def _rule(self):
        return GuaranteedCoverage(self.coverage, tuning_size=0.3)


def hierarchical(**options):
    rule = GuaranteedCoverage(
        0.7, weighting="pairs", largest_query=120, tuning_size=0.3
    )
    return SelectiveRanker(MODEL, rule=rule, random_state=0, **options)


def compared(**options):
    return PairwiseRankerClassifier(MODEL, random_state=0, **options)


BT = {"tie_model": "bradley_terry"}
LOSS = {"bound": "loss", "tuning_size": 0.3}
DEAR = [[0, 1, 3], [1, 0, 1], [3, 1, 0]]
CONFIGURATIONS = {
    "graded": ranker(baltor(coverage=0.7), of_places, of_deferred, of_given),
    "graded linear": ranker(baltor(coverage=0.4, quantile="linear")),
    "zero_one": ranker(baltor(coverage=0.6, loss="zero_one"), of_given),
    "clear_order": ranker(baltor(coverage=0.6, loss="clear_order"), of_deferred),
    "own loss": ranker(baltor(loss=DEAR), of_places),
    "bradley_terry": ranker(
        baltor(coverage=0.7, **BT), of_places, of_deferred, of_given
    ),
    "davidson": ranker(
        baltor(tie_model=BradleyTerry(ties="davidson"), loss="zero_one")
    ),
    "thurstone": ranker(baltor(tie_model="thurstone_mosteller", coverage=0.4)),
    "isotonic": ranker(
        baltor(tie_model="isotonic_difference", loss="zero_one"), of_given
    ),
    "feature_aware": ranker(
        baltor(tie_model=FeatureAwareRelevance()), of_given, few=True
    ),
    "randomize": ranker(
        baltor(boundary="randomize", random_state=3), of_given, few=True
    ),
    "randomize bradley_terry": ranker(
        baltor(boundary="randomize", random_state=3, **BT), few=True
    ),
    "price": ranker(CostAbstainer(MODEL, cost=0.1, random_state=0)),
    "certified": ranker(certified()),
    "certified pairs": ranker(certified(weighting="pairs", largest_query=120)),
    "certified groups": ranker(certified(**BT), groups="site"),
    "discordance": ranker(discordance()),
    "discordance pairs": ranker(discordance(weighting="pairs", largest_query=120)),
    "discordance groups": ranker(discordance(loss="zero_one", **BT), groups="site"),
    "hierarchical": ranker(Guaranteed(MODEL, random_state=0)),
    "hierarchical pairs": ranker(hierarchical(**BT)),
    "novelty": ranker(baltor(novelty=strange), of_novel, of_places, of_given),
    "novelty bradley_terry": ranker(baltor(novelty=strange, **BT), of_novel),
    "groups": ranker(baltor(coverage=0.6, groups=3), of_groups, columns=4),
    "groups bradley_terry": ranker(
        baltor(coverage=0.6, groups=3, **BT), of_groups, of_given, columns=4
    ),
    "comparisons": classifier(compared()),
    "comparisons davidson": classifier(compared(tie_model="davidson", coverage=0.5)),
    "comparisons certified": classifier(
        compared(tie_model="isotonic_difference", rule=CertifiedRisk(0.4, **LOSS))
    ),
    "comparisons discordance": classifier(compared(rule=CertifiedRisk(0.15))),
    "partitions": partitions(baltor(coverage=0.7)),
    "partitions bradley_terry": partitions(baltor(coverage=0.7, **BT)),
    "partitions isotonic": partitions(
        baltor(coverage=0.7, tie_model="isotonic_difference")
    ),
    "partitions certified": partitions(certified()),
    "partitions randomize": partitions(
        baltor(boundary="randomize", random_state=3), few=True
    ),
    "top sets": top_sets,
    "query risk": query_risk(coverage=0.5),
    "query risk certified": query_risk(max_risk=0.12, metric="ndcg@5"),
    "labels": labels,
    "review": review(baltor(coverage=0.6), objective="pairs"),
    "review top": review(baltor(coverage=0.6), objective="top"),
    "review bradley_terry": review(
        baltor(coverage=0.6, loss="zero_one", **BT), objective="pairs"
    ),
}


def arithmetic():
    """Return a hash that tells libraries and processors apart that round otherwise."""
    x = np.linspace(-9, 9, 1001)
    values = np.exp(x), expit(x), ndtr(x), np.log1p(x * x), x / 3 @ np.outer(x, x)
    text = f"{np.__version__} {scipy.__version__} {sklearn.__version__}".encode()
    return hashlib.sha256(text + b"".join(v.tobytes() for v in values)).hexdigest()[:16]


def make_data(n_queries, n_items, few):
    return {
        "past": Data(n_queries, n_items, seed=1),
        "new": Data(few, n_items, seed=2),
        "few": Data(few, (1, 39), seed=3),
        "few new": Data(few, (1, 39), seed=4),
    }


@pytest.fixture(scope="module")
def golden():
    return json.loads(FILE.read_text("utf-8"))


@pytest.fixture(scope="module")
def data():
    """Return the data of a size, made once."""
    made = {}
    return lambda size: made.setdefault(size, make_data(**SIZES[size]))


def assert_equal(found, expected, name, tolerance):
    """Compare entry by entry, so that a failure names the number that moved."""
    if isinstance(expected, dict):
        assert found.keys() == expected.keys(), name
        for key, value in expected.items():
            assert_equal(found[key], value, f"{name}: {key}", tolerance)
    elif isinstance(expected, list):
        assert len(found) == len(expected), name
        for one, other in zip(found, expected, strict=True):
            assert_equal(one, other, name, tolerance)
    elif isinstance(expected, float):
        near = 1e-12 if "risks" in name else 1e-15 if "weighted" in name else 0
        close = pytest.approx(expected, rel=max(near, tolerance), abs=0, nan_ok=True)
        assert found == close, name
    else:
        assert tolerance or found == expected, name


@pytest.mark.parametrize(
    "size", ["quick", pytest.param("full", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("name", CONFIGURATIONS)
@pytest.mark.filterwarnings("ignore:::skrank_abstain", "ignore::UserWarning")
def test_results_are_what_they_were(name, size, data, golden):
    found = CONFIGURATIONS[name](data(size))
    tolerance = 0 if golden["arithmetic"] == arithmetic() else 0.02
    assert_equal(found, golden[size][name], name, tolerance)


def main():
    warnings.simplefilter("ignore")
    found = {"arithmetic": arithmetic()}
    for size, options in SIZES.items():
        data = make_data(**options)
        found[size] = {name: record(data) for name, record in CONFIGURATIONS.items()}
    # A line for each configuration.
    text = json.dumps(found).replace('}, "', '},\n"')
    FILE.write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    sys.exit(main())
