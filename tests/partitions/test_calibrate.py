"""Calibration over partitions against fit on the rows, one partition after another."""

import numpy as np
import pytest
from doubles import FirstColumn
from sklearn.base import clone

from skrank_abstain import BALToR, CostAbstainer, RiskControlledRanker, SelectiveRanker
from skrank_abstain.partitions import calibrate, evaluate
from skrank_abstain.selection import GuaranteedCoverage
from skrank_abstain.tie_models import BradleyTerry, GradedRelevance, IsotonicDifference

MODEL = FirstColumn().fit(np.zeros((2, 2)), [0, 1])


def labelled(n_queries, seed, largest=25, grades=4):
    """Return rows of shuffled queries; a few have one item."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, largest, n_queries)
    qid = np.repeat([f"q{k:05}" for k in rng.permutation(n_queries)], sizes)
    shift = np.repeat(rng.normal(size=n_queries), sizes)
    score = rng.normal(size=qid.size)
    noise = rng.logistic(size=qid.size)
    y = np.clip(np.floor(1.3 * score + 0.4 * shift + noise + 1), 0, grades - 1)
    X = np.column_stack([np.round(score + 0.5 * shift, 2), rng.normal(size=qid.size)])
    return X, y, qid


def split(data, n_parts, seed):
    """Return uneven partitions of whole queries, with rows of queries mixed."""
    X, y, qid = data
    rng = np.random.default_rng(seed)
    names = list(dict.fromkeys(qid.tolist()))
    cuts = np.sort(rng.integers(0, len(names) + 1, n_parts - 1))
    parts = []
    for chosen in np.split(np.array(names), cuts):
        rows = rng.permutation(np.flatnonzero(np.isin(qid, chosen)))
        parts.append((X[rows], y[rows], qid[rows]))
    return parts


def joined(parts):
    return tuple(np.concatenate(each) for each in zip(*parts, strict=True))


RANKERS = {
    "graded": BALToR(MODEL, coverage=0.7),
    "bradley_terry": BALToR(MODEL, tie_model="bradley_terry", coverage=0.6),
    "davidson": BALToR(MODEL, tie_model=BradleyTerry(ties="davidson"), coverage=0.6),
    "thurstone": BALToR(MODEL, tie_model="thurstone_mosteller", coverage=0.4),
    "isotonic": BALToR(MODEL, tie_model=IsotonicDifference(), coverage=0.8),
    "linear": BALToR(MODEL, tie_model="bradley_terry", quantile="linear"),
    "random": BALToR(MODEL, boundary="randomize", random_state=3),
    "auto": BALToR(MODEL, tie_model="auto"),
    "merged": BALToR(MODEL, tie_model=GradedRelevance(max_grades=2)),
    "price": CostAbstainer(MODEL, cost=0.3),
    "certified": RiskControlledRanker(MODEL, max_risk=0.6, random_state=0),
    "certified_gaps": RiskControlledRanker(
        MODEL, max_risk=0.6, tie_model="bradley_terry", random_state=0
    ),
    "hierarchical": SelectiveRanker(
        MODEL, rule=GuaranteedCoverage(0.7), random_state=0
    ),
    "hierarchical_gaps": SelectiveRanker(
        MODEL,
        rule=GuaranteedCoverage(0.7),
        tie_model="isotonic_difference",
        random_state=0,
    ),
}


def fitted_numbers(ranker):
    """Return what a fit found, by name."""
    found = {"threshold": ranker.threshold_, "coverage": ranker.coverage_}
    found |= {"queries": ranker.n_queries_, "pairs": ranker.n_pairs_}
    for name, value in vars(ranker.tie_model_).items():
        if name.endswith("_"):
            found[name] = vars(value) if hasattr(value, "__dict__") else value
    return found


def assert_same(one, other):
    assert one.keys() == other.keys()
    for name, value in one.items():
        if isinstance(value, dict):
            assert_same(value, other[name])
        else:
            np.testing.assert_array_equal(value, other[name], err_msg=name)


@pytest.mark.parametrize("n_parts", [1, 2, 7, 64])
@pytest.mark.parametrize("name", RANKERS)
@pytest.mark.filterwarnings("ignore:Every pair is accepted")
def test_partitions_change_nothing(name, n_parts):
    parts = split(labelled(150, seed=n_parts), n_parts, seed=n_parts)
    ranker = RANKERS[name]
    ranker = clone(ranker).set_params(estimator=MODEL, random_state=0)
    expected = ranker.fit(*joined(parts))
    found = calibrate(ranker, parts)
    assert_same(fitted_numbers(found), fitted_numbers(expected))
    np.testing.assert_array_equal(found.coverage_interval_, expected.coverage_interval_)
    new = labelled(40, seed=99)
    decided, wanted = (r.predict_pairs(new[0], new[2]) for r in (found, expected))
    for column in ("label", "accepted", "risk", "proba"):
        np.testing.assert_array_equal(getattr(decided, column), getattr(wanted, column))
    totals = evaluate(found, split(new, n_parts, seed=1))
    wanted = expected.evaluate(*joined(split(new, n_parts, seed=1)))
    assert_same(vars(totals), vars(wanted))
