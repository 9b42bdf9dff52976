"""What the hooks of a tie model return is checked, and the hook is named."""

import numpy as np
import pytest
from doubles import FirstColumn
from sklearn.linear_model import LogisticRegression

from skrank_abstain import BALToR, PairwiseRankerClassifier
from skrank_abstain.tie_models import BinModel, DifferenceModel

SCORES = np.array([3.0, 2.0, 1.0, 0.0, 2.5, 0.5])
Y = np.array([2, 1, 1, 0, 0, 1])
QID = np.array([0, 0, 0, 0, 1, 1])
#: New items, some of whose gaps are beyond what a fit looks at.
FAR = np.array([[0.0], [1.0], [5000.0], [3.0]])


def logistic(gap):
    right = 0.8 / (1 + np.exp(-gap))
    return np.stack([0.8 - right, np.full(gap.size, 0.2), right], axis=1)


def leaning(gap):
    """Give equal scores an order, and nothing else."""
    proba = logistic(gap)
    proba[gap == 0] = [0.3, 0.2, 0.5]
    return proba


SHAPE = r"must be of shape \(n_pairs, 3\)"
ROWS = r"must have non-negative rows that sum to one"
BROKEN = {
    "two columns": (lambda gap: logistic(gap)[:, [0, 2]], SHAPE),
    "columns first": (lambda gap: logistic(gap).T, SHAPE),
    "one probability": (lambda gap: logistic(gap)[:, 2], SHAPE),
    "one row for all": (lambda gap: logistic(gap)[:1], SHAPE),
    "NaN": (lambda gap: logistic(gap) * np.nan, ROWS),
    "NaN at a gap of 0": (lambda gap: logistic(gap) / np.sign(gap)[:, None], ROWS),
    "sums of 0.6": (lambda gap: logistic(gap) * 0.6, ROWS),
    "logits": (lambda gap: np.stack([-gap - 1, 0 * gap, gap + 2], axis=1), ROWS),
    "no numbers": (lambda gap: [["a", "b", "c"]] * gap.size, "must hold numbers"),
    "an order of equal scores": (leaning, "both orders the same probability"),
}
BEYOND = {name: BROKEN[name] for name in BROKEN if "gap of 0" not in name}
del BEYOND["an order of equal scores"]


class Hooked(DifferenceModel):
    """A model that breaks a rule from a gap on."""

    def __init__(self, broken=None, reach=0.0):
        self.broken = broken
        self.reach = reach

    def fit_outcomes(self, outcomes):
        assert outcomes.gap.shape == outcomes.outcome.shape == outcomes.weight.shape

    def proba_at_gap(self, gap):
        if self.broken is None or not (gap >= self.reach).any():
            return logistic(gap)
        with np.errstate(invalid="ignore", divide="ignore"):
            return BROKEN[self.broken][0](gap)


def refused(message, hook="Hooked.proba_at_gap"):
    return pytest.raises(ValueError, match=rf"(?s)\b{hook}\b.*{message}")


def fit_ranker(model, scores=SCORES, y=Y, qid=QID):
    ranker = BALToR(FirstColumn().fit(None, None), tie_model=model, random_state=0)
    return ranker.fit(np.asarray(scores)[:, None], y, qid=qid)


def comparisons():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    return X, np.sign(np.round(X[:, 0] - X[:, 1] + rng.normal(size=80)))


def fit_classifier(model):
    scorer = LogisticRegression()
    return PairwiseRankerClassifier(scorer, tie_model=model, random_state=0).fit(
        *comparisons()
    )


def test_the_higher_score_must_not_be_the_less_probable_winner():
    class Reversed(Hooked):
        def proba_at_gap(self, gap):
            return logistic(gap)[:, ::-1]

    with refused("the more probable winner", r"Reversed\.proba_at_gap"):
        Reversed().fit(SCORES, Y, qid=QID)
    with refused("the more probable winner", r"Reversed\.proba_at_gap"):
        fit_ranker(Reversed())


@pytest.mark.parametrize("name", BROKEN)
def test_no_probabilities_at_the_gaps_are_refused_at_fit(name):
    message = BROKEN[name][1]
    with refused(message):
        Hooked(name).fit(SCORES, Y, qid=QID)
    with refused(message):
        fit_ranker(Hooked(name))
    with refused(message):
        fit_classifier(Hooked(name))


@pytest.mark.parametrize("name", BEYOND)
@pytest.mark.parametrize("reach", [1.4, 9.9])
def test_beyond_the_largest_gap_too(name, reach):
    # Fitted curves go wrong where there are no data; the largest gap is 3.
    with refused(BROKEN[name][1]):
        Hooked(name, reach * 3).fit(SCORES, Y, qid=QID)


@pytest.mark.parametrize("name", BEYOND)
def test_what_fit_could_not_see_is_refused_by_a_prediction(name):
    message, reach = BROKEN[name][1], 1000.0
    ranker = fit_ranker(Hooked(name, reach))
    near = ranker.predict_pairs(SCORES[:, None], qid=QID)
    assert np.isfinite(near.proba).all()
    with refused(message):
        ranker.predict_pairs(FAR)
    with refused(message):
        ranker.predict_pairs(FAR, pairs=[(0, 1), (0, 2)])
    with refused(message):
        ranker.tie_model_.proba([5000.0, 0.0], [0.0, 0.0])
    near = ranker.predict_pairs(FAR, pairs=[(0, 1)])
    np.testing.assert_array_equal(near.proba, logistic(np.ones(1))[:, ::-1])


@pytest.mark.parametrize("name", BEYOND)
def test_one_far_pair_among_many_blocks_is_found(name):
    ranker = fit_ranker(Hooked(name, 1000.0))
    scores = np.linspace(0, 1, 300)
    scores[-1] = 2000.0
    assert 300 * 299 / 2 > 2 * (1 << 14)
    with refused(BROKEN[name][1]):
        ranker.predict_pairs(scores[:, None])


@pytest.mark.parametrize("name", BEYOND)
def test_pairs_that_were_given_one_by_one(name):
    classifier = fit_classifier(Hooked(name, 1000.0))
    far = np.array([[0.0, 0.5], [1e5, 0.0]])
    assert np.isfinite(classifier.predict_proba(far[:1])).all()
    for method in ("predict", "predict_proba", "abstain", "conditional_risk"):
        with refused(BROKEN[name][1]):
            getattr(classifier, method)(far)


def test_a_model_that_keeps_the_rules_passes():
    model = Hooked().fit(SCORES, Y, qid=QID)
    assert model.n_pairs_ == 7
    np.testing.assert_array_equal(
        model.proba([1.0], [3.0]), logistic(np.full(1, 2.0))[:, ::-1]
    )
    assert fit_ranker(Hooked()).tie_model_.n_pairs_ == 7


class Steep(Hooked):
    """Probabilities of a tie and of the opposite order at gaps of 1, 2 and 3."""

    def proba_at_gap(self, gap):
        rare = np.array([self.broken[name] for name in ("wrong", "tie")])
        wrong, tie = (np.interp(gap, [0, 1, 2, 3], [each[0], *each]) for each in rare)
        wrong = np.where(gap == 0, (1 - tie) / 2, wrong)
        return np.stack([wrong, tie, 1 - wrong - tie], axis=1)


@pytest.mark.parametrize("name", ["wrong", "tie"])
@pytest.mark.parametrize("rise", [0, 1e-7, 0.01])
def test_what_becomes_more_probable_with_the_gap_is_refused(name, rise):
    shares = {"wrong": [0.2, 0.1, 0.1], "tie": [0.2, 0.2, 0.1]}
    shares[name] = [0.2, 0.1, 0.1 + rise]
    model = Steep(shares)
    if rise < 1e-6:  # float32 rounds
        model.fit(SCORES, Y)
        return
    with pytest.raises(ValueError, match=r"rises by 0.005 up to a gap of 2.5. .*Bin"):
        model.fit(SCORES, Y)


def test_single_precision_and_lists_are_probabilities():
    class Single(Hooked):
        def proba_at_gap(self, gap):
            return logistic(gap).astype(np.float32)

    class Lists(Hooked):
        def proba_at_gap(self, gap):
            return logistic(gap).tolist()

    for model in (Single(), Lists()):
        proba = model.fit(SCORES, Y, qid=QID).proba([1.0], [0.0])
        np.testing.assert_allclose(proba, logistic(np.ones(1)), rtol=1e-6)
        decided = fit_ranker(model).predict_pairs(SCORES[:, None], qid=QID)
        expected = fit_ranker(Hooked()).predict_pairs(SCORES[:, None], qid=QID)
        np.testing.assert_allclose(decided.proba, expected.proba, rtol=1e-6)


def test_rounding_below_zero_is_zero():
    class Rounded(Hooked):
        def proba_at_gap(self, gap):
            # As 1 - p - q has it: further below zero than rounding goes.
            return logistic(gap) + np.array([0.1, -0.2, 0.1]) + [0, -1e-9, 1e-9]

    assert Rounded().proba_at_gap(np.ones(1)).min() < 0
    model = Rounded().fit(SCORES, Y, qid=QID)
    np.testing.assert_array_equal(model.proba([2.0], [1.0])[:, 1], 0)
    decided = fit_ranker(Rounded()).predict_pairs(SCORES[:, None], qid=QID)
    np.testing.assert_array_equal(decided.proba[:, 1], 0)
    right = logistic(np.abs(SCORES[decided.left] - SCORES[decided.right]))[:, 2] + 0.1
    np.testing.assert_allclose(decided.risk, 1 - right, atol=1e-8)


def test_rounding_below_zero_is_zero_in_a_table():
    class Rounded(BinModel):
        def fit_bins(self, items):
            self.edges_ = np.array([1.5])
            won = np.array([-5e-7, 0.5, 0.5 + 5e-7])  # by the item of the higher bin
            equal = [0.25, 0.5, 0.25]
            self.table_ = np.array([[equal, won[::-1]], [won, equal]])

    decided = fit_ranker(Rounded()).predict_pairs(SCORES[:, None], qid=QID)
    assert decided.proba.min() == 0
    assert decided.risk.min() >= 0


class Recorder(Hooked):
    """Keep what it is fitted on."""

    def fit_outcomes(self, outcomes):
        self.outcomes_ = outcomes


def entries(outcomes):
    """Sum the weights by gap and outcome."""
    found = {}
    for gap, outcome, weight in zip(*outcomes[:3], strict=True):
        key = (round(float(gap), 6), int(outcome))
        found[key] = found.get(key, 0) + weight
    return found


def test_queries_and_rankers_reach_the_same_hook():
    expected = {}
    left, right = [0, 0, 0, 1, 1, 2, 4], [1, 2, 3, 2, 3, 3, 5]
    for a, b in zip(left, right, strict=True):
        key = SCORES[a] - SCORES[b], int(np.sign(Y[a] - Y[b]))
        expected[key] = expected.get(key, 0) + 1
    items = Recorder().fit(SCORES, Y, qid=QID)
    assert entries(items.outcomes_) == expected
    ranker = fit_ranker(Recorder())
    assert entries(ranker.tie_model_.outcomes_) == expected


# Bins


EVEN, ORDER = [0.25, 0.5, 0.25], [0.1, 0.2, 0.7]
TABLE = np.array([[EVEN, ORDER[::-1]], [ORDER, EVEN]])


def changed(place, value):
    table = TABLE.copy()
    table[place] = value
    return table


TABLES = {
    "too many bins": (np.tile(EVEN, (3, 3, 1)), r"must be of shape \(n_bins, n_bins"),
    "flat": (TABLE.reshape(4, 3), r"must be of shape \(n_bins, n_bins"),
    "two columns": (TABLE[:, :, :2], r"must be of shape \(n_bins, n_bins"),
    "NaN": (changed((0, 0), np.nan), ROWS),
    "one NaN": (changed((1, 0, 1), np.nan), ROWS),
    "sums of 0.6": (0.6 * TABLE, ROWS),
    "logits": (np.log(TABLE), ROWS),
    "not mirrored": (changed((0, 1), EVEN), "must be mirrored"),
    "an order within a bin": (changed((0, 0), ORDER), "must be mirrored"),
    "the lower one wins": (
        TABLE[::-1, ::-1],
        "must make the item of the higher bin the more probable winner",
    ),
}


class Tabled(BinModel):
    """A model of a given table."""

    def __init__(self, table=TABLE, edge=1.5):
        self.table = table
        self.edge = edge

    def fit_bins(self, items):
        self.edges_ = np.array([self.edge])
        self.table_ = self.table


@pytest.mark.parametrize("name", TABLES)
def test_no_tables_of_probabilities_are_refused_at_fit(name):
    table, message = TABLES[name]
    with refused(message, r"Tabled\.table_"):
        Tabled(table).fit(SCORES, Y, qid=QID)
    with refused(message, r"Tabled\.table_"):
        fit_ranker(Tabled(table))


@pytest.mark.parametrize(
    "edges", [[2.0, 1.0], [np.nan, 1.0], [1.0, np.nan], [1.0, np.nan, 2.0], [[1.0]]]
)
def test_edges_that_do_not_ascend_are_refused(edges):
    class Edged(Tabled):
        def fit_bins(self, items):
            self.edges_ = np.array(edges)
            self.table_ = np.tile(EVEN, (np.size(edges) + 1, np.size(edges) + 1, 1))

    with refused("must be ascending", r"Edged\.edges_"):
        Edged().fit(SCORES, Y, qid=QID)
    with refused("must be ascending", r"Edged\.edges_"):
        fit_ranker(Edged())


def test_no_value_lies_between_equal_edges():
    class Edged(Tabled):
        def fit_bins(self, items):
            self.edges_, self.table_ = np.array([1.5, 1.5]), np.tile(EVEN, (3, 3, 1))

    model = Edged().fit(SCORES, Y, qid=QID)
    assert model.bins(np.array([1.0, 1.5, 2.0])).tolist() == [0, 2, 2]


@pytest.mark.parametrize("edge", [1.5, -100.0, 100.0])
def test_a_table_that_keeps_the_rules_passes(edge):
    ranker = fit_ranker(Tabled(edge=edge))
    assert ranker.tie_model_.n_pairs_ == 7
    decided = ranker.predict_pairs([[-1e300], [0.0], [1e300]])
    assert np.isfinite(decided.proba).all()
    np.testing.assert_array_equal(decided.label[1], -1)


def test_a_lead_that_is_rounding_is_fine():
    higher = [0.3, 0.4 + 1e-12, 0.3 - 1e-12]
    table = np.array([[EVEN, higher[::-1]], [higher, EVEN]])
    assert fit_ranker(Tabled(table)).predict_pairs([[0.0], [2.0]]).label.size == 1


def test_tables_and_edges_may_be_lists():
    class Lists(Tabled):
        def fit_bins(self, items):
            self.edges_, self.table_ = [self.edge], self.table.tolist()

    model = Lists().fit(SCORES, Y, qid=QID)
    for values, shape in ((model.edges_, (1,)), (model.table_, (2, 2, 3))):
        assert isinstance(values, np.ndarray)
        assert (values.dtype, values.shape) == (np.float64, shape)
    X = SCORES[:, None]
    np.testing.assert_array_equal(
        fit_ranker(Lists()).predict_pairs(X, qid=QID).proba,
        fit_ranker(Tabled()).predict_pairs(X, qid=QID).proba,
    )


# Values


VALUES = {
    "one too few": (lambda scores: scores[:-1], "must have one value per item"),
    "one per query": (lambda scores: scores[:1], "must have one value per item"),
    "one too many": (lambda scores: np.append(scores, 0), "one value per item"),
    "NaN": (lambda scores: scores * np.nan, "must be finite"),
    "nothing": (lambda scores: None, "must be a 1d array"),
    "two columns": (lambda scores: np.stack([scores] * 2, 1), "must be a 1d array"),
    "text": (lambda scores: scores.astype(str), "must hold numbers"),
}


class Valued(Tabled):
    """A model whose values break a rule, at fit or at a prediction."""

    def __init__(self, at_fit=None, later=None):
        super().__init__()
        self.at_fit = at_fit
        self.later = later

    def fit_transform(self, scores, y, queries, X):
        return scores if self.at_fit is None else VALUES[self.at_fit][0](scores)

    def transform(self, scores, queries, X):
        return scores if self.later is None else VALUES[self.later][0](scores)


@pytest.mark.parametrize("name", VALUES)
def test_what_is_no_value_per_item_is_refused(name):
    message = VALUES[name][1]
    with refused(message, r"Valued\.fit_transform"):
        Valued(at_fit=name).fit(SCORES, Y, qid=QID)
    with refused(message, r"Valued\.fit_transform"):
        fit_ranker(Valued(at_fit=name))
    ranker = fit_ranker(Valued(later=name))
    X = SCORES[:, None]
    for ask in (
        lambda: ranker.predict_pairs(X, qid=QID),
        lambda: ranker.rank_intervals(X, qid=QID),
        lambda: ranker.evaluate(X, Y, qid=QID),
    ):
        with refused(message, r"Valued\.transform"):
            ask()


def test_integers_and_single_precision_are_values():
    class Whole(Valued):
        def transform(self, scores, queries, X):
            return np.asarray(2 * scores, dtype=np.int8)

        def fit_transform(self, scores, y, queries, X):
            return self.transform(scores, queries, X).astype(np.float32)

    decided = fit_ranker(Whole()).predict_pairs(SCORES[:, None], qid=QID)
    np.testing.assert_allclose(decided.proba.sum(axis=1), 1)
