"""Confidence intervals over queries of the metrics on plain arrays."""

import inspect
import warnings
from functools import partial

import numpy as np
import pytest
from scipy import stats
from sklearn.exceptions import UndefinedMetricWarning

from skrank_abstain import metrics
from skrank_abstain.concentration import cluster_bootstrap, ratio_interval
from skrank_abstain.metrics import (
    Estimate,
    augrc_loss,
    aurc_loss,
    class_acceptance,
    correctness_completeness_score,
    coverage_score,
    pairwise_brier_loss,
    pairwise_log_loss,
    selective_accuracy_score,
    selective_auc_score,
)

AREAS = [aurc_loss, augrc_loss, partial(aurc_loss, excess=True)]
METHODS = ["delta", "bootstrap"]


def simulate(n_queries=12, seed=0, size=(1, 9)):
    """Labels, decisions, risks (some equal), forecasts, queries, weights of pairs."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(*size, size=n_queries)
    code = rng.permutation(np.repeat(np.arange(n_queries), sizes))
    quality = rng.uniform(0.2, 0.95, n_queries)[code]
    truth = rng.integers(-1, 2, code.size)
    right = rng.random(code.size) < quality
    return {
        "truth": truth,
        "predicted": np.where(right, truth, rng.integers(-1, 2, code.size)),
        "accepted": rng.random(code.size) < 0.6,
        "risk": rng.integers(0, 15, code.size) / 10,
        "proba": rng.dirichlet(np.ones(3), code.size),
        "qid": np.array([f"query {c}" for c in code]),
        "code": code,
        "weight": rng.integers(0, 3, code.size).astype(float),
    }


def accuracy(data, **options):
    return selective_accuracy_score(
        data["truth"], data["predicted"], data["accepted"], **options
    )


def auc(data, **options):
    return selective_auc_score(
        data["truth"], data["predicted"], data["accepted"], **options
    )


def coverage(data, **options):
    return coverage_score(data["accepted"], **options)


def log_loss(data, **options):
    return pairwise_log_loss(data["truth"], data["proba"], **options)


def brier_loss(data, **options):
    return pairwise_brier_loss(data["truth"], data["proba"], **options)


RATIOS = [accuracy, auc, coverage, log_loss, brier_loss]


def part_and_whole(metric, data):
    """What each pair adds to the two sums of a ratio, from its definition."""
    truth, predicted, accepted = (data[k] for k in ("truth", "predicted", "accepted"))
    likelihood = data["proba"][np.arange(truth.size), truth + 1]
    squares = (data["proba"] ** 2).sum(axis=1) - 2 * likelihood + 1
    strict = accepted * (truth != 0)
    ordered = np.where(predicted == 0, 0.5, predicted == truth)
    return {
        accuracy: (accepted * (truth == predicted), accepted),
        auc: (strict * ordered, strict),
        coverage: (accepted, np.ones(truth.size)),
        log_loss: (-np.log(likelihood), np.ones(truth.size)),
        brier_loss: (squares, np.ones(truth.size)),
    }[metric]


def bootstrap(part, whole, **options):
    """Bootstrap interval of the ratio of two totals over queries."""

    def ratio(times):
        return (times @ part) / (times @ whole)

    return cluster_bootstrap(ratio, part.size, **options)


def sums(column, data, weight=1.0):
    """Sums over the pairs of each query, queries in order of first appearance."""
    _, first = np.unique(data["code"], return_index=True)
    order = data["code"][np.sort(first)]
    return np.array([np.sum((column * weight)[data["code"] == c]) for c in order])


def resample(times, monkeypatch):
    """Let the intervals of metrics resample fewer times than 2,000."""
    few = partial(cluster_bootstrap, n_resamples=times)
    monkeypatch.setattr("skrank_abstain.concentration.cluster_bootstrap", few)


@pytest.mark.parametrize("name", metrics.__all__)
def test_an_interval_is_made_alike_by_every_metric_unless_told_otherwise(name):
    if not inspect.isfunction(metric := getattr(metrics, name)):
        return
    options = inspect.signature(metric).parameters
    if "interval" in options:
        assert options["confidence"].default == 0.95


# --- ratios ---------------------------------------------------------------------


@pytest.mark.parametrize("metric", RATIOS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("average", ["pooled", "query"])
def test_ratios(metric, weighted, average, monkeypatch):
    resample(50, monkeypatch)
    data = simulate()
    weight = data["weight"] if weighted else None
    options = {"qid": data["qid"], "average": average, "sample_weight": weight}
    plain = metric(data, **options)
    counts = data["weight"] if weighted else np.ones(data["code"].size)
    part, whole = (sums(c, data, counts) for c in part_and_whole(metric, data))
    kept = sums(1, data, counts) > 0
    if average == "query":
        kept = whole > 0
        part, whole = np.divide(part, whole, where=kept, out=part), np.ones(whole.size)
    part, whole = part[kept], whole[kept]

    got = metric(data, interval="delta", confidence=0.8, **options)
    assert isinstance(got, Estimate)
    assert got.value == plain
    assert got[1:] == pytest.approx(ratio_interval(part, whole, confidence=0.8))

    draws = {"confidence": 0.8, "random_state": 3}
    got = metric(data, interval="bootstrap", **draws, **options)
    assert got.value == plain
    assert got[1:] == pytest.approx(bootstrap(part, whole, n_resamples=50, **draws))
    assert got.low < plain < got.high


@pytest.mark.filterwarnings("ignore:confidence=0.3 promises something")
def test_by_hand():
    accepted, qid = [True, True, False, True], ["a", "a", "b", "b"]
    got = coverage_score(accepted, qid=qid, interval="delta", confidence=0.3)
    # e - R a of the two queries is 2 - 0.75 * 2 and 1 - 0.75 * 2.
    error = np.sqrt(2 / 1 * (0.5**2 + 0.5**2)) / 4
    half = stats.t.ppf(0.65, 1) * error
    assert got == pytest.approx((0.75, 0.75 - half, 0.75 + half))


@pytest.mark.parametrize("metric", [accuracy, coverage, brier_loss])
def test_the_mean_over_queries_has_the_t_interval(metric):
    data = simulate()
    part, whole = (sums(c, data) for c in part_and_whole(metric, data))
    values = (part[whole > 0] / whole[whole > 0]).tolist()
    got = metric(data, qid=data["qid"], average="query", interval="delta")
    expected = stats.t.interval(
        0.95, len(values) - 1, np.mean(values), stats.sem(values)
    )
    assert got == pytest.approx((np.mean(values), *expected))


def test_queries_without_an_accepted_pair_are_in_the_sample():
    accepted, qid = [True, True, True, False], [1, 2, 3, 4]
    got = selective_accuracy_score(
        [1] * 4, [1, -1, 1, 1], accepted, qid=qid, interval="delta", confidence=0.5
    )
    expected = ratio_interval([1, 0, 1, 0], [1, 1, 1, 0], confidence=0.5)
    assert 0 < expected[0] < expected[1] < 1
    assert got[1:] == pytest.approx(expected)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("metric", RATIOS)
@pytest.mark.parametrize("average", ["pooled", "query"])
def test_pairs_of_no_weight_are_no_pairs(metric, method, average):
    data = simulate()
    data["weight"] = (data["code"] > 2).astype(float)
    options = {"average": average, "interval": method, "random_state": 0}
    with_them = metric(data, qid=data["qid"], sample_weight=data["weight"], **options)
    some = {k: v[data["code"] > 2] for k, v in data.items()}
    assert with_them == pytest.approx(metric(some, qid=some["qid"], **options))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("weighted", [False, True])
def test_class_acceptance(method, weighted):
    data = simulate()
    weight = data["weight"] if weighted else np.ones(data["code"].size)
    options = {"qid": data["qid"], "sample_weight": weight if weighted else None}
    got = class_acceptance(
        data["truth"], data["accepted"], interval=method, random_state=1, **options
    )
    plain = class_acceptance(data["truth"], data["accepted"], **options)
    np.testing.assert_array_equal(got.value, plain)
    whole = sums(data["accepted"], data, weight)
    present = sums(1, data, weight) > 0
    for i, label in enumerate((-1, 0, 1)):
        part = sums(data["accepted"] * (data["truth"] == label), data, weight)
        expected = (
            np.clip(ratio_interval(part[present], whole[present]), 0, 1)
            if method == "delta"
            else bootstrap(part[present], whole[present], random_state=1)
        )
        assert (got.low[i], got.high[i]) == pytest.approx(expected)


def test_correctness_and_completeness():
    data = simulate()
    columns = data["truth"], data["predicted"], data["accepted"]
    agreement = data["truth"] * data["predicted"] * data["accepted"]
    given = sums(np.abs(agreement), data)
    expected = [
        ratio_interval(sums(agreement, data), given, confidence=0.6),
        ratio_interval(given, sums(np.abs(data["truth"]), data), confidence=0.6),
    ]
    got = correctness_completeness_score(
        *columns, qid=data["qid"], interval="delta", confidence=0.6
    )
    assert tuple(e.value for e in got) == correctness_completeness_score(*columns)
    for estimate, bounds in zip(got, expected, strict=True):
        assert estimate[1:] == pytest.approx(bounds)


# --- areas ----------------------------------------------------------------------


@pytest.mark.parametrize("area", AREAS)
@pytest.mark.parametrize("average", ["pooled", "query"])
@pytest.mark.parametrize(
    "loss", ["zero_one", [[0, 0.3, 1], [0.2, 0, 0.2], [1, 0.3, 0]]]
)
def test_areas_are_those_of_copied_queries(area, average, loss, monkeypatch):
    resample(40, monkeypatch)
    data = simulate(n_queries=7)
    columns = np.array([data["truth"], data["predicted"], data["risk"]])
    options = {"average": average, "loss": loss}
    got = area(
        *columns, qid=data["qid"], interval="bootstrap", confidence=0.8,
        random_state=5, **options,
    )  # fmt: skip
    assert got.value == area(*columns, qid=data["qid"], **options)
    names, first = np.unique(data["qid"], return_index=True)
    names = names[np.argsort(first)]
    rng = np.random.RandomState(5)
    values = []
    for _ in range(40):
        drawn = [data["qid"] == names[i] for i in rng.randint(7, size=7)]
        copies = np.concatenate([columns[:, rows] for rows in drawn], axis=1)
        qid = np.repeat(np.arange(7), [rows.sum() for rows in drawn])
        values.append(area(*copies, qid=qid, **options))
    assert got[1:] == pytest.approx(tuple(np.quantile(values, [0.1, 0.9])), rel=1e-9)
    assert got.low < got.high


@pytest.mark.parametrize("area", AREAS)
@pytest.mark.parametrize("average", ["pooled", "query"])
def test_areas_have_no_delta_interval(area, average):
    with pytest.raises(ValueError, match="interval of an area must be one of 'boot"):
        area([1], [1], [0.1], qid=[1], average=average, interval="delta")


# --- all of them ----------------------------------------------------------------


def class_shares(data, **options):
    return class_acceptance(data["truth"], data["accepted"], **options)


def order(data, **options):
    """Return correctness and completeness."""
    return correctness_completeness_score(
        data["truth"], data["predicted"], data["accepted"], **options
    )


def area(metric):
    """Return the area as a metric of simulated data."""
    return lambda data, **options: metric(
        data["truth"], data["predicted"], data["risk"], **options
    )


ALL = {
    **{metric.__name__: metric for metric in (*RATIOS, class_shares)},
    "correctness": lambda data, **options: order(data, **options)[0],
    "completeness": lambda data, **options: order(data, **options)[1],
    **dict(zip(("aurc", "augrc", "excess"), map(area, AREAS), strict=True)),
}
CASES = [
    (name, method)
    for name in ALL
    for method in METHODS
    if method == "bootstrap" or name not in ("aurc", "augrc", "excess")
]
FOUR = {
    "truth": np.array([1, -1, 1, 1]),
    "predicted": np.array([1, 1, 1, -1]),
    "accepted": np.ones(4, dtype=bool),
    "risk": np.arange(4),
    "proba": np.full((4, 3), 1 / 3),
}
NONE = {name: column[:0] for name, column in FOUR.items()}


@pytest.mark.parametrize(("name", "method"), CASES)
def test_one_query_has_a_value_and_no_bounds(name, method):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        got = ALL[name](FOUR, qid=[7] * 4, interval=method)
        np.testing.assert_array_equal(got.value, ALL[name](FOUR))
    assert np.isnan(got.low).all()
    assert np.isnan(got.high).all()
    assert np.shape(got.low) == np.shape(got.value)


@pytest.mark.parametrize(("name", "method"), CASES)
def test_no_pairs_have_neither_and_warn(name, method):
    with pytest.warns(UndefinedMetricWarning, match="undefined"):
        got = ALL[name](NONE, qid=[], interval=method)
    assert isinstance(got, Estimate)
    for number in got:
        assert np.isnan(number).all()


@pytest.mark.parametrize(("name", "method"), CASES)
def test_the_query_must_be_known(name, method):
    with pytest.raises(ValueError, match=r"qid must be given for .* intervals .*None"):
        ALL[name](FOUR, interval=method)
    with pytest.raises(ValueError, match="qid must have one value per pair"):
        ALL[name](FOUR, interval=method, qid=[1, 2])


@pytest.mark.parametrize("name", ALL)
def test_parameters_are_checked(name):
    def call(**options):
        ALL[name](FOUR, qid=[1, 1, 2, 2], **options)

    with pytest.raises(ValueError, match="interval must be one of 'delta', 'bootst"):
        call(interval="wald")
    with pytest.raises(ValueError, match=r"confidence must be in \(0, 1\), got 95"):
        call(interval="bootstrap", confidence=95)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("metric", [selective_accuracy_score, selective_auc_score])
@pytest.mark.parametrize("average", ["pooled", "query"])
def test_an_undefined_value_has_no_bounds(metric, method, average):
    columns = [1, -1], [1, 1], [False, False]
    options = {"qid": [1, 2], "average": average, "interval": method}
    with pytest.warns(UndefinedMetricWarning) as log:
        got = metric(*columns, **options)
    assert np.isnan(got).all()
    assert len(log) == 1


@pytest.mark.parametrize("name", ALL)
def test_random_state_decides_the_draws(name, monkeypatch):
    resample(30, monkeypatch)
    data = simulate()
    options = {"qid": data["qid"], "interval": "bootstrap"}

    def call(seed):
        return np.array(ALL[name](data, random_state=seed, **options)[1:])

    np.testing.assert_array_equal(call(0), call(0))
    assert (call(0) != call(1)).any()
    if name not in ("class_shares", "completeness"):  # each number takes its own draws
        np.testing.assert_array_equal(call(0), call(np.random.RandomState(0)))


@pytest.mark.parametrize(("name", "method"), CASES)
def test_a_wider_interval_is_surer(name, method):
    data = simulate()
    options = {"qid": data["qid"], "interval": method, "random_state": 0}
    narrow = ALL[name](data, confidence=0.5, **options)
    wide = ALL[name](data, confidence=0.95, **options)
    assert np.all(wide.low <= narrow.low)
    assert np.all(narrow.high <= wide.high)
    assert np.all(wide.high - wide.low > narrow.high - narrow.low)


# --- coverage of the truth ------------------------------------------------------


@pytest.mark.parametrize(
    ("metric", "options"),
    [
        (accuracy, {"interval": "delta"}),
        (accuracy, {"interval": "delta", "average": "query"}),
        (accuracy, {"interval": "bootstrap"}),
        (area(aurc_loss), {"interval": "bootstrap"}),
    ],
    ids=["delta", "delta, by query", "bootstrap", "area"],
)
def test_intervals_cover_the_value_of_the_population(metric, options, monkeypatch):
    resample(200, monkeypatch)
    everyone = simulate(n_queries=20_000, seed=99)
    average = {k: v for k, v in options.items() if k == "average"}
    truth = metric(everyone, qid=everyone["code"], **average)
    draws = []
    for seed in range(1000, 1200):
        data = simulate(n_queries=60, seed=seed)
        draws.append(
            metric(data, qid=data["code"], confidence=0.9, random_state=0, **options)
        )
    covered = np.mean([e.low <= truth <= e.high for e in draws])
    # Over 200 draws the standard error is 0.021; intervals are a little too narrow.
    assert 0.9 - 0.08 <= covered <= 0.9 + 0.05


def test_pairs_as_if_they_were_independent_would_not_cover():
    everyone = simulate(n_queries=20_000, seed=99, size=(10, 40))
    truth = accuracy(everyone)
    covered = []
    for seed in range(1000, 1200):
        data = simulate(n_queries=40, seed=seed, size=(10, 40))
        by_query, by_pair = (
            accuracy(data, qid=qid, confidence=0.9, interval="delta")
            for qid in (data["code"], np.arange(data["code"].size))
        )
        covered.append([e.low <= truth <= e.high for e in (by_query, by_pair)])
    by_query, by_pair = np.mean(covered, axis=0)
    assert 0.9 - 0.08 <= by_query <= 0.9 + 0.05
    assert by_pair < 0.75


@pytest.mark.parametrize("method", METHODS)
def test_no_error_in_few_queries_is_not_taken_for_none_at_all(method):
    truth, qid = np.tile([1, -1, 0], 20), np.repeat(np.arange(20), 3)
    found = selective_accuracy_score(
        truth, truth, np.ones(60, dtype=bool), qid=qid, interval=method, random_state=0
    )
    assert found == pytest.approx((1, 0.025 ** (1 / 20), 1))


def test_intervals_stay_where_values_can_be():
    # Two queries, all right in one of them: the t quantile of one degree is 12.7.
    qid, right = ["a", "a", "b", "b"], [True, True, True, False]
    share = coverage_score(right, qid=qid, interval="delta")
    assert (share.value, share.low, share.high) == (0.75, 0.0, 1.0)
    by_query = coverage_score(right, qid=qid, interval="delta", average="query")
    assert (by_query.low, by_query.high) == (0.0, 1.0)
    orders = [1, 1, 1, -1], [1, 1, 1, 1], [True] * 4
    agreement, _ = correctness_completeness_score(*orders, qid=qid, interval="delta")
    assert (agreement.value, agreement.low, agreement.high) == (0.5, -1.0, 1.0)
    sure = [[0.0, 0.0, 1.0]] * 4
    brier = pairwise_brier_loss([1, 1, 1, -1], sure, qid=qid, interval="delta")
    assert (brier.value, brier.low, brier.high) == (0.5, 0.0, 2.0)
