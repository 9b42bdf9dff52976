"""A fitted estimator with its rows, and the words that the laws are written in."""

from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from typing import Any

import numpy as np
from fuzz.problems import Data, labels, pair_rows
from fuzz.subjects import OF_BINS, Subject

from skrank_abstain._validation import check_loss
from skrank_abstain.distance import ConstrainedLinearRanker, ConstrainedMLPRanker
from skrank_abstain.multilabel import LinearMultilabelRanker
from skrank_abstain.pairs import group_queries
from skrank_abstain.selection import margins
from skrank_abstain.tie_models import FeatureAwareRelevance, TieModel

#: Risks that differ by no more may be on either side of the threshold: that of a cut
#: in the gap is computed from the gap.
NEAR = 1e-9
#: Gaps that differ by no more than this, times the largest score, are equal. A cut is
#: kept at two such steps from the pairs beyond it, and gaps within one are on it.
EQUAL_GAPS = 8 * np.finfo(float).eps
CUT = 3
#: What labels of rows of two items mean.
MEANING = {"B": -1, "tie": 0, "A": 1, -1: -1, 0: 0, 1: 1}
#: Their scores are products of matrices.
LINEAR = (ConstrainedLinearRanker, ConstrainedMLPRanker, LinearMultilabelRanker)
#: Sums of weights, in another order.
ROUNDING = {"rtol": 1e-11, "atol": 1e-11}


def fit(estimator, data):
    """Fit on the rows, however they are handed over."""
    if isinstance(estimator, FeatureAwareRelevance):
        return estimator.fit(data.X[:, 0], data.y, qid=data.qid, X=data.X)
    if isinstance(estimator, TieModel):
        return estimator.fit(data.X[:, 0], data.y, qid=data.qid)
    if data.y.ndim == 2:
        return estimator.fit(data.X, data.y)
    return estimator.fit(data.X, data.y, qid=data.qid)


@dataclass(frozen=True)
class Case:
    """A fitted estimator, the rows that it saw, and rows that it did not."""

    subject: Subject
    recipe: dict[str, Any]
    train: Data
    new: Data
    estimator: Any

    @classmethod
    def of(cls, subject, recipe):
        train = subject.data(recipe)
        new = subject.data(recipe, new=True)
        return cls(subject, recipe, train, new, fit(subject.make(recipe), train))

    @property
    def has_queries(self):
        return self.subject.data not in (labels, pair_rows)

    def query(self, data):
        """Return the argument that names the queries to methods without labels."""
        return {"qid": data.qid} if self.has_queries else {}

    def labelled(self, data):
        """Return the arguments of methods that look at labels."""
        if self.subject.data is labels:
            return {"X": data.X, "y": data.y}
        return {"X": data.X, "y": data.y, "qid": data.qid}

    @cached_property
    def pairs(self):
        return Pairs.of(self, self.new)


@dataclass(frozen=True)
class Pairs:
    """Decided pairs with their truth, whatever their estimator calls rows.

    ``query`` and ``weight`` have one value per pair, ``group`` one per item; ``left``
    and ``right`` are None for rows of two items.
    """

    label: np.ndarray
    accepted: np.ndarray
    risk: np.ndarray | None
    proba: np.ndarray | None
    distance: np.ndarray | None
    truth: np.ndarray
    query: np.ndarray
    weight: np.ndarray
    left: np.ndarray | None = None
    right: np.ndarray | None = None
    group: np.ndarray | None = None

    @classmethod
    def of(cls, case, data):
        if case.subject.data is pair_rows:
            return cls._of_rows(case.estimator, data)
        made = case.estimator.predict_pairs(data.X, **case.query(data))
        y, weight, group = data.y.ravel(), data.weight.ravel(), data.codes
        if data.y.ndim == 2:
            group = np.repeat(np.arange(len(data.y)), data.y.shape[1])
        of_pair = {name: getattr(made, name) for name in ("label", "accepted", "risk")}
        return cls(
            **of_pair,
            proba=made.proba,
            distance=made.distance,
            truth=np.sign(y[made.left] - y[made.right]).astype(int),
            query=group[made.left],
            weight=weight[made.left] * weight[made.right],
            left=made.left,
            right=made.right,
            group=group,
        )

    @classmethod
    def _of_rows(cls, classifier, data):
        named = classifier.predict(data.X).tolist()
        return cls(
            label=np.array([MEANING[name] for name in named], dtype=int),
            accepted=~classifier.abstain(data.X),
            risk=classifier.conditional_risk(data.X),
            proba=classifier.pair_proba(data.X),
            distance=None,
            truth=data.truth,
            query=np.arange(len(data.y)) if data.qid is None else data.codes,
            weight=data.weight,
        )


def answers(case, estimator, data):
    """Return everything that an estimator says about rows, by name."""
    X, of_query = (data.X,), case.query(data)
    calls = {
        "predict": (X, {}),
        "predict_proba": (X, {}),
        "predict_ranks": (X, {}),
        "predict_pairs": (X, of_query),
        "rank_intervals": (X, of_query),
        "evaluate": ((), case.labelled(data)),
        "predict_set": (X, of_query),
        "query_risk": (X, of_query),
    }
    if case.subject.data is pair_rows:
        calls |= dict.fromkeys(("abstain", "pair_proba", "conditional_risk"), (X, {}))
    if isinstance(estimator, TieModel):
        queries = group_queries(data.qid, len(data.y))
        calls = {"transform": ((data.X[:, 0], queries, data.X), {})}
    found = {
        name: value
        for name, value in vars(estimator).items()
        if name.endswith("_") and isinstance(value, (int, float, np.ndarray))
    }
    for name, (args, kwargs) in calls.items():
        if hasattr(estimator, name):
            found[name] = getattr(estimator, name)(*args, **kwargs)
    return flat(found)


def flat(found):
    """Give each field of a dataclass a name of its own, but for the id of the fit."""
    every = {}
    for name, value in found.items():
        if is_dataclass(value):
            names = [f.name for f in fields(value) if not f.name.startswith("_")]
            parts = {name: getattr(value, name) for name in names}
            parts |= parts.pop("metrics", {})
            kept = {k: v for k, v in parts.items() if v is not None and k != "id_"}
            every |= {f"{name}.{part}": v for part, v in kept.items()}
        else:
            every[name] = value
    return every


def assert_same(one, other):
    assert one.keys() == other.keys()
    for name, value in one.items():
        np.testing.assert_array_equal(value, other[name], err_msg=name)


def decides(case):
    return hasattr(case.estimator, "abstain")


def probabilities(case):
    """Return all probabilities that an estimator gives for new rows, or None."""
    if isinstance(case.estimator, TieModel):
        left, right = sides(case)
        return None if left is None else case.estimator.proba(left, right)
    if hasattr(case.estimator, "predict_proba"):
        sorted_ = case.estimator.predict_proba(case.new.X)
        np.testing.assert_allclose(sorted_.sum(axis=1), 1, rtol=0, atol=1e-12)
    return case.pairs.proba if decides(case) else None


def sides(case):
    """Return scores of pairs, where these are all that a tie model looks at."""
    context = getattr(case.estimator, "query_spread_", None) is not None
    if isinstance(case.estimator, FeatureAwareRelevance) or context:
        return None, None
    s = case.new.X[:, 0]
    i, j = np.triu_indices(s.size, 1)
    return s[i], s[j]


def near(case, pairs):
    """Return which pairs have the risk of the threshold, or a gap that counts as equal.

    Risks are of the gap as it is, decisions of the gap up to the documented tolerance.
    """
    distance = abs(held_to_the_threshold(case, pairs) - case.estimator.threshold_)
    # A margin moves with a probability and with a share of another one.
    return distance <= NEAR + 3 * within_rounding(case, pairs)


def held_to_the_threshold(case, pairs):
    """Return the risk of pairs, or their margin where that is what is compared."""
    ranker = getattr(case.estimator, "selective_ranker_", case.estimator)
    bound = ranker._region.margin_of
    return pairs.risk if bound is None else margins(pairs.proba, pairs.label, bound)


def within_rounding(case, pairs):
    """Return how far the risk of each pair may move within the tolerance of gaps."""
    if case.recipe["tie_model"] in OF_BINS:
        return np.zeros(pairs.risk.size)
    model = getattr(case.estimator, "selective_ranker_", case.estimator).tie_model_
    loss = check_loss(case.recipe["loss"])
    if pairs.left is None:
        scores = case.train.X[:, ::2]
        gap = abs(case.new.X[:, 0] - case.new.X[:, 2])
    else:
        of_label = case.subject.data is labels
        scores = case.train.X if of_label else case.train.X[:, 0]
        new = case.new.X.ravel() if of_label else case.new.X[:, 0]
        gap = abs(new[pairs.left] - new[pairs.right])
    step = CUT * EQUAL_GAPS * abs(scores).max()
    around = np.maximum(gap - step, 0), gap, gap + step
    risks = np.stack([model.proba(beside, 0 * gap) @ loss.T for beside in around])
    reach = abs(risks - risks[1]).max(axis=(0, 2))
    # Where another label may be given, its risk is what the threshold is held to.
    label = risks.argmin(axis=2)
    switches = (gap <= step) | (label != label[1]).any(axis=0)
    # The threshold may be the risk of a gap that counts as none.
    return np.where(switches, np.ptp(risks, axis=(0, 2)), reach)


def drawn(case, pairs):
    """Return which pairs may have been accepted by lot."""
    if "randomize" not in str(case.recipe.get("rule")):
        return np.zeros(pairs.label.size, dtype=bool)
    return near(case, pairs)


def moves(case, method):
    """Whether a method moves the threshold of the rule, and does not drop the rule."""
    rule = str(case.recipe.get("rule", case.recipe.get("target", "")))
    if "Certified" in rule or "max_risk" in rule:
        return method == "at_risk"
    if case.subject.data is pair_rows or "uarantee" in rule:
        return method == "at_coverage"
    # A certificate needs queries that did not fit the tie model.
    certifies = method == "at_risk" and "max_risk" not in case.recipe
    return hasattr(case.estimator, method) and not certifies


def count(pairs, accepted, weight, n_queries, loss):
    """Add up query by query what ``PairTotals`` says, pair by pair."""
    right = pairs.label == pairs.truth
    tie, tied = pairs.label == 0, pairs.truth == 0
    wrong = pairs.label * pairs.truth == -1
    ordered = np.where(tie, ~tied / 2, right & ~tied)
    columns = {
        "pairs": np.ones(right.size),
        "accepted": accepted,
        "correct": accepted & right,
        "correct_all": right,
        "tied": tied,
        "accepted_tied": accepted & tied,
        "answered_tie": accepted & tie,
        "ordered": accepted * ordered,
        "misranked": accepted & wrong,
        "loss": accepted * loss[pairs.label + 1, pairs.truth + 1],
        "coin_loss": accepted * loss[::2, pairs.truth + 1].mean(axis=0),
        "tie_loss": accepted * loss[1, pairs.truth + 1],
    }
    return {
        name: np.bincount(pairs.query, column * weight, n_queries)
        for name, column in columns.items()
    }


def orders(pairs, accepted):
    """Return the accepted orders (i, j), i above j."""
    chosen = accepted & (pairs.label != 0)
    left, right = pairs.left[chosen], pairs.right[chosen]
    up = pairs.label[chosen] > 0
    return list(zip(np.where(up, left, right), np.where(up, right, left), strict=True))


def assert_same_rows(case, one, other):
    """As ``assert_same``, but for the rounding of products of matrices.

    It depends on the number of rows.
    """
    if not isinstance(case.estimator, LINEAR):
        assert_same(one, other)
        return
    for name in ("predict", "decision_function"):
        if name in one:
            room = 1e-12 * max(1e-300, abs(other[name]).max(initial=0))
            np.testing.assert_allclose(one[name], other[name], rtol=1e-9, atol=room)


def shuffled(case, n):
    return np.random.default_rng(case.recipe["seed"]).permutation(n)


def per_row(case, data):
    """Return the answers that have one value per row."""
    found = {}
    for name in ("predict", "decision_function", "predict_proba", "predict_ranks"):
        if hasattr(case.estimator, name):
            found[name] = getattr(case.estimator, name)(data.X)
    for name in ("rank_intervals", "predict_set", "query_risk"):
        if hasattr(case.estimator, name):
            found[name] = getattr(case.estimator, name)(data.X, **case.query(data))
    if "query_risk" in found:
        found["query_risk"] = found["query_risk"].risk[data.codes]
    return found
