"""A monitor: few false alarms, and alarms soon after a change."""

import json
import pickle
import warnings
from dataclasses import replace
from itertools import combinations

import matplotlib as mpl
import numpy as np
import pytest
from doubles import FirstColumn, PredictOnly, named
from sequential import is_rare
from sklearn.linear_model import Ridge

from skrank_abstain import BALToR, CostAbstainer, RiskControlledRanker
from skrank_abstain.datasets import make_ranking
from skrank_abstain.distance import DistanceAbstainer
from skrank_abstain.monitor import Monitor, MonitorDisplay, _monitor
from skrank_abstain.monitor._evidence import EXPONENTS, Bets
from skrank_abstain.monitor._monitor import _drawn, _enough_draws, _levels, _shares
from skrank_abstain.review import read_answers

MODEL = FirstColumn().fit(None, None)


def world(n_queries, seed):
    data = make_ranking(n_queries, random_state=seed)
    return data.utility[:, None], data.target, data.qid


RANKER = BALToR(MODEL, coverage=0.6, random_state=0).fit(**named(*world(200, 0)))
START = Monitor.of(RANKER)


def week(monitor, ranker=RANKER, n_days=5, factor=1.0, first=1, n_queries=20):
    monitor = replace(monitor)  # several tests go on from one
    for k in range(first, first + n_days):
        X, _, qid = world(n_queries, k)
        monitor = monitor.update(ranker, factor * X, qid=qid, day=f"day {k}")
    return monitor


def answered(questions, X, y, qid, *, wrong=0.0, seed=0):
    """Return what people say: the truth, or the reverse with this probability."""
    rng = np.random.default_rng(seed)
    rows = []
    for k in range(len(questions)):
        left, right = questions.left[k], questions.right[k]
        label = int(np.sign(y[left] - y[right]))
        if rng.random() < wrong:
            label = -int(questions.label[k]) or 1
        words = {1: "left", 0: "same", -1: "right"}
        rows.append(
            {"qid": str(questions.qid[k]), "left": str(left), "right": str(right)}
            | {"label": words[label]}
        )
    return rows


@pytest.mark.parametrize("name", ["baltor", "cost", "risk"])
def test_ordinary_days_raise_no_alarm_and_shrunken_scores_do(name):
    ranker = {
        "baltor": RANKER,
        "cost": CostAbstainer(MODEL, cost=0.3).fit(**named(*world(200, 0))),
        "risk": RiskControlledRanker(MODEL, max_risk=0.3, random_state=0).fit(
            **named(*world(400, 0))
        ),
    }[name]
    monitor = week(Monitor.of(ranker), ranker)
    assert not monitor.alarm
    assert list(monitor.days) == [f"day {k}" for k in range(1, 6)]
    changed = week(monitor, ranker, factor=0.5, first=6)
    assert changed.alarm
    assert changed.evidence >= 20
    assert not monitor.alarm  # the old one is as it was
    assert "alarm=True" in repr(changed)


@pytest.mark.slow
def test_alarms_of_rankers_are_seldom_false():
    # The tie model was fitted to the calibration queries, which is not quite fair.
    def alarms():
        for seed in range(400):
            ranker = BALToR(MODEL, coverage=0.6, random_state=0)
            ranker.fit(**named(*world(60, 10_000 + 7 * seed)))
            monitor = Monitor.of(ranker, random_state=seed)
            X, _, qid = world(200, 20_000 + 7 * seed)
            yield monitor.update(ranker, X, qid=qid, day="all").alarm

    assert is_rare(alarms(), 0.05, 0.1)


def test_a_day_without_pairs_is_said_to_teach_nothing():
    X, _, qid = world(20, 1)
    with pytest.warns(UserWarning, match="Monday has no query with a pair"):
        empty = replace(START).update(RANKER, X[:0], qid=qid[:0], day="Monday")
    assert (empty.n_seen, list(empty.days)) == (0, [])
    late = empty.update(RANKER, X, qid=qid, day="Monday")
    assert (late.n_seen, list(late.days)) == (20, ["Monday"])


def test_another_threshold_and_another_object_are_refused():
    X, _, qid = world(20, 1)
    for other in (RANKER.at_coverage(0.3), X):
        with pytest.raises(ValueError, match=f"got a {type(other).__name__} that is"):
            replace(START).update(other, X, qid=qid, day="Monday")


def test_the_same_day_is_refused():
    X, _, qid = world(20, 1)
    monitor = replace(START).update(RANKER, X, qid=qid, day="monday")
    with pytest.raises(ValueError, match=r"names a new day, got 'monday'"):
        monitor.update(RANKER, X, qid=qid, day="monday")
    rule = r"day must be a text that names a new day, got 3: pass day=str\(day\)\."
    with pytest.raises(ValueError, match=rule):
        monitor.update(RANKER, X, qid=qid, day=3)


def test_a_day_that_was_not_assigned_is_missed():
    start = replace(START)
    (X, _, qid), (other, _, other_qid) = world(20, 1), world(20, 2)
    assert start.update(RANKER, X, qid=qid, day="monday").n_seen == 20
    start.update(RANKER, other, qid=other_qid, day="monday")  # what if: no warning
    with pytest.warns(UserWarning, match="does not hold 'monday': update returns the"):
        tuesday = start.update(RANKER, other, qid=other_qid, day="tuesday")
    assert list(tuesday.days) == ["tuesday"]
    with pytest.warns(UserWarning, match="does not hold 'monday'"):
        state = start.to_dict()
    # The next monitor, and one that was read, have nothing to miss.
    tuesday.update(RANKER, X, qid=qid, day="wednesday")
    again = Monitor.from_dict(state)
    assert again.update(RANKER, X, qid=qid, day="friday").to_dict()["n_seen"] == 20
    with pytest.raises(ValueError, match="X has 2 features"):
        again.update(RANKER, np.c_[X, X], qid=qid, day="saturday")


@pytest.mark.parametrize(("n_again", "warns"), [(200, True), (150, True), (50, False)])
@pytest.mark.parametrize("n_between", [0, 3])
def test_queries_of_a_day_that_come_again_are_noticed(n_again, warns, n_between):
    X, _, qid = world(200, 1)
    monitor = replace(START).update(RANKER, X, qid=qid, day="monday")
    for each in range(n_between):
        between, _, its_qid = world(50, 10 + each)
        monitor = monitor.update(RANKER, between, qid=its_qid, day=f"day {each}")
    # Another order of the rows, other names and other queries beside.
    other, _, other_qid = world(200, 2)
    rows = np.random.default_rng(0).permutation(np.flatnonzero(qid < n_again))
    X = np.concatenate([other, X[rows] * (1 + 1e-15)])
    qid = [*other_qid.tolist(), *(f"again {query}" for query in qid[rows])]
    read = Monitor.from_dict(json.loads(json.dumps(monitor.to_dict())))
    for each in (monitor, read):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            each.update(RANKER, X, qid=qid, day="tuesday")
        texts = [str(one.message) for one in said]
        again = [text for text in texts if "come again" in text]
        assert bool(again) is warns
        if warns:
            assert "queries of 'monday' come again in 'tuesday'" in again[0]


@pytest.mark.parametrize("n_copies", [2, 5])
def test_queries_that_come_again_on_their_day_are_noticed(n_copies):
    X, _, qid = world(20, 1)
    copies = [f"{copy} {query}" for copy in range(n_copies) for query in qid]
    with pytest.warns(UserWarning, match="queries of 'monday' come again in 'monday'"):
        monitor = replace(START).update(
            RANKER, np.tile(X, (n_copies, 1)), qid=copies, day="monday"
        )
    with pytest.warns(UserWarning, match="queries of 'monday' come again in 'tuesday'"):
        monitor.update(RANKER, X, qid=qid, day="tuesday")


def test_a_few_queries_that_come_again_on_their_day_are_passed_over():
    X, _, qid = world(20, 1)
    X, qid = np.concatenate([X, X[qid < 5]]), [*qid, *(qid[qid < 5] + 20)]
    assert replace(START).update(RANKER, X, qid=qid, day="monday").n_seen == 25


def test_queries_that_look_alike_are_not_said_to_come_again():
    # Two items with one of two values each: three queries in all.
    qid = np.repeat(np.arange(50), 2)
    monitor = replace(START)
    for day in range(3):
        X = np.random.default_rng(day).integers(0, 2, (100, 1)).astype(float)
        monitor = monitor.update(RANKER, X, qid=qid, day=f"{day}")
        few = replace(START).update(RANKER, X[:6], qid=qid[:6], day="few")
    assert (monitor.n_seen, few.n_seen) == (150, 3)


def test_the_state_is_json_and_small():
    monitor = week(START, n_days=30)
    X, y, qid = world(40, 99)
    monitor, questions = monitor.audit(RANKER, X, qid=qid, day="d", n=5)
    assert len(questions) == 5
    text = json.dumps(monitor.to_dict())
    assert len(text) < 10_000
    again = Monitor.from_dict(json.loads(text))
    assert again.to_dict() == monitor.to_dict()
    answers = answered(questions, X, y, qid)
    one, other = (each.judge(RANKER, answers) for each in (monitor, again))
    assert one.to_dict() == other.to_dict()
    with pytest.raises(ValueError, match=r"state must be what to_dict of a Monitor"):
        Monitor.from_dict({"delta": 0.1})


def test_an_audit_asks_about_accepted_pairs_of_different_queries():
    X, _, qid = world(40, 99)
    _, questions = START.audit(RANKER, X, qid=qid, day="d", n=10)
    assert len(questions) == 10
    assert np.unique(questions.qid).size == 10
    assert questions.accepted.all()
    _, all_of_them = START.audit(RANKER, X, qid=qid, day="d", n=1000)
    np.testing.assert_array_equal(all_of_them.left[:10], questions.left)
    with pytest.warns(UserWarning, match="^d: no pair drawn is decided"):
        _, none = START.audit(RANKER, X[:1], day="d", n=10)
    assert len(none) == 0


@pytest.mark.filterwarnings("ignore:.*no pair drawn is decided")
def test_each_pair_of_a_query_is_asked_about_as_often_if_it_is_accepted():
    X, _, _ = world(1, 99)
    pairs = RANKER.predict_pairs(X)
    asked = np.zeros(len(pairs))
    for seed in range(500):
        _, questions = replace(START, seed=seed).audit(RANKER, X, day="d")
        for pair in questions:
            low, high = sorted([pair.left, pair.right])
            asked += (pairs.left == low) & (pairs.right == high)
    assert not asked[pairs.abstained].any()
    share = asked[pairs.accepted] / 500
    expected = 1 / len(pairs)
    error = np.sqrt(expected * (1 - expected) / 500)
    assert np.abs(share - expected).max() < 4 * error


def audited(wrong, n_rounds=6, sides=False):
    monitor = START
    for k in range(n_rounds):
        X, y, qid = world(60, 300 + k)
        monitor, questions = monitor.audit(RANKER, X, qid=qid, day=f"d{k}", n=60)
        answers = answered(questions, X, y, qid, wrong=wrong, seed=k)
        if sides:
            turned = {"left": "right", "right": "left", "same": "same"}
            answers = [
                {
                    **a,
                    "left": a["right"],
                    "right": a["left"],
                    "label": turned[a["label"]],
                }
                for a in answers
            ]
        monitor = monitor.judge(RANKER, answers)
    return monitor


def test_an_audit_finds_wrong_decisions():
    right = audited(wrong=0.0)
    assert not right.alarm
    assert right.asked == {}
    assert 150 < right.bets.n < 300  # of 360 pairs six in ten are accepted
    # What the answers say is the loss of the decisions.
    lost, decided = right.judged
    assert decided == right.bets.n
    assert lost / decided < START.bound + 0.03
    assert audited(wrong=0.4).alarm
    assert audited(wrong=0.0, sides=True).bets == right.bets


def uneven(n_queries, seed):
    """Draw queries of items far apart, decided and right, and of items close by."""
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), 12)
    utility = rng.choice([0.3, 2.0], n_queries)[qid] * rng.normal(size=qid.size)
    noise = rng.logistic(scale=0.5, size=qid.size)
    y = np.searchsorted([-1.0, 0.0, 1.0], utility + noise).astype(float)
    return utility[:, None], y, qid


@pytest.mark.slow
def test_an_audit_weighs_decided_pairs_as_its_bound_does():
    alarms = {0.0: [], 0.15: []}
    for seed in range(30):
        ranker = BALToR(MODEL, coverage=0.5, random_state=0).fit(
            **named(*uneven(300, seed))
        )
        days = [uneven(60, 10**6 + 100 * seed + k) for k in range(10)]
        for wrong, found in alarms.items():
            monitor = Monitor.of(ranker, random_state=seed)
            for k, (X, y, qid) in enumerate(days):
                monitor, asked = monitor.audit(ranker, X, qid=qid, day=f"d{k}", n=60)
                answers = answered(asked, X, y, qid, wrong=wrong, seed=100 * seed + k)
                monitor = monitor.judge(ranker, answers)
                if monitor.alarm:  # it stays
                    break
            found.append(monitor.alarm)
    # At most 5 % are false: three standard errors of the binomial are .12.
    assert np.mean(alarms[0.0]) <= 0.15
    assert np.mean(alarms[0.15]) >= 0.9


def test_an_alarm_says_what_moved_from_what_to_what():
    assert np.isnan(START.moved["mean risk"][1])
    assert START.message == "without labels nothing moved"
    X, _, qid = world(60, 77)
    monitor = replace(START).update(RANKER, X / 2, qid=qid, day="broken")
    assert 50 < monitor.since[0] <= 60
    before, since = monitor.moved["share abstained"]
    assert since == pytest.approx(RANKER.abstain(X / 2, qid=qid).mean(), abs=0.05)
    assert before == pytest.approx(1 - RANKER.coverage_, abs=0.05)
    before, since = monitor.moved["mean risk"]
    assert since == pytest.approx(
        RANKER.conditional_risk(X / 2, qid=qid).mean(), abs=0.02
    )
    assert before < since
    assert f"mean risk {before:.3g} to {since:.3g}" in monitor.message
    assert ": share abstained" in monitor.message  # which moved more
    assert monitor.message in repr(monitor)


def test_answers_must_be_to_questions_that_were_drawn():
    X, y, qid = world(40, 99)
    monitor, questions = START.audit(RANKER, X, qid=qid, day="d", n=5)
    answers = answered(questions, X, y, qid)
    own = {**answers[0], "qid": answers[0]["qid"].removeprefix("d: ")}
    for wrong in (own, {**answers[0], "right": "none"}):
        with pytest.warns(UserWarning, match=r"to no question of an audit.*'d: "):
            assert monitor.judge(RANKER, [wrong]).bets == monitor.bets
    after = monitor.judge(RANKER, answers[:1])
    with pytest.warns(
        UserWarning, match="1 answers that repeat another one count once"
    ):
        assert monitor.judge(RANKER, answers[:1] * 2).bets == after.bets
    rule = "1 of {} answers, already judged or to no question of an audit, are set"
    with pytest.warns(UserWarning, match=rule.format(1) + ".*Nothing new"):
        assert after.judge(RANKER, answers[:1]).to_dict() == after.to_dict()
    with pytest.warns(UserWarning, match=rule.format(5)):
        both = after.judge(RANKER, answers)
    assert both.bets == monitor.judge(RANKER, answers).bets
    with pytest.warns(UserWarning, match="5 of 5 .*name no items and no queries"):
        assert both.judge(RANKER, answers).to_dict() == both.to_dict()
    words = {"left": "right", "right": "same", "same": "left"}
    other = {**answers[0], "label": words[answers[0]["label"]]}
    with pytest.raises(ValueError, match=r"each once, got .* in row 1"):
        monitor.judge(RANKER, [answers[0], other])


def test_answers_of_one_day_are_never_about_pairs_of_another():
    # Each day the queries are called 0, 1, ... and its items by their rows.
    X, y, qid = world(60, 99)
    first, asked = START.audit(RANKER, X, qid=qid, day="monday", n=60)
    other = world(60, 98)
    both = first.audit(RANKER, other[0], qid=other[2], day="tuesday", n=60)[0]
    answers = answered(asked, X, y, qid)
    assert both.judge(RANKER, answers).bets == first.judge(RANKER, answers).bets
    assert len(both.asked) > len(first.asked) == len(asked)
    # Questions of the first day stay open while the second day is answered.
    X, y, qid = world(60, 98)
    both, asked = first.audit(RANKER, X, qid=qid, day="tuesday", n=60)
    late = both.judge(RANKER, answered(asked, X, y, qid))
    assert late.asked == first.asked
    assert late.judge(RANKER, answers).asked == {}
    with pytest.raises(ValueError, match=r"day must be .* a new day, got 'monday'"):
        late.audit(RANKER, X, qid=qid, day="monday")
    _, one = START.audit(RANKER, X[:9], day="monday")
    assert set(one.qid) <= {"monday"}


@pytest.mark.parametrize(("n", "error"), [(0, ValueError), (2.5, TypeError)])
def test_the_number_of_queries_is_a_positive_integer(n, error):
    X, _, qid = world(20, 99)
    with pytest.raises(error, match="n must be"):
        START.audit(RANKER, X, qid=qid, day="d", n=n)


def test_judge_takes_the_tables_that_review_takes(tmp_path):
    pd = pytest.importorskip("pandas")
    X, y, qid = world(40, 99)
    names = np.array([f"item {row}" for row in range(len(X))])
    monitor, asked = START.audit(RANKER, X, qid=qid, day="d", n=40, item_id=names)
    sign = np.sign(y[asked.left] - y[asked.right]).astype(int)
    frame = pd.DataFrame(asked.to_dicts())[["qid", "left_id", "right_id"]]
    words = frame.assign(label=np.array(["same", "left", "right"])[sign])
    expected = monitor.judge(RANKER, words)
    assert expected.bets.n == len(asked)
    path = tmp_path / "tasks.csv"
    asked.to_tasks(path)
    filled = pd.read_csv(path)
    turned = filled["left_id"].to_numpy() != asked.left_id
    filled["label"] = np.array(["same", "left", "right"])[np.where(turned, -sign, sign)]
    filled.to_csv(path, index=False)
    numbers = frame.assign(label=sign)
    for table, labels in (
        (words.rename(columns={"left_id": "left", "right_id": "right"}), None),
        (numbers, {-1: "right", 0: "tie", 1: "left"}),
        (read_answers(path), None),
    ):
        assert monitor.judge(RANKER, table, labels=labels).bets == expected.bets
    with pytest.raises(ValueError, match="labels whose meaning is clear"):
        monitor.judge(RANKER, numbers.assign(label=(sign > 0).astype(int)))
    with pytest.raises(ValueError, match="must come from people, got the columns of"):
        monitor.judge(RANKER, asked.to_frame())


def test_a_model_that_was_fitted_again_is_noticed():
    X, y, qid = world(200, 0)
    model = Ridge().fit(X, y)
    ranker = BALToR(model, random_state=0).fit(X, y, qid=qid)
    monitor = Monitor.of(ranker)
    again = pickle.loads(pickle.dumps(ranker))
    assert monitor.update(again, X, qid=qid, day="d").days.keys() == {"d"}
    model.fit(X, y + 3 * X[:, 0])
    with pytest.raises(ValueError, match="model, calibration or threshold has"):
        monitor.update(ranker, X, qid=qid, day="d")
    own = PredictOnly(np.arange(float(len(X))))  # takes only these items
    ranker = BALToR(own, random_state=0, prefit=True).fit(X, y, qid=qid)
    assert Monitor.of(ranker).update(ranker, X, qid=qid, day="d").probe == []


def test_states_and_pickles_of_another_version_say_so():
    state = START.to_dict()
    for old in ({**state, "version": 0}, {k: state[k] for k in state if k != "bets"}):
        with pytest.raises(ValueError, match=r"version 4 gave, got version"):
            Monitor.from_dict(old)
    with pytest.raises(ValueError, match=r"got version 4, \['bets'\] missing"):
        Monitor.from_dict(old)
    # The text of a state, fields of another kind, and bets of fewer numbers.
    for other in (
        json.dumps(state),
        {**state, "days": None},
        {**state, "bets": [1, 2]},
    ):
        with pytest.raises(ValueError, match=r"version 4 gave, .* json\.loads"):
            Monitor.from_dict(other)
    # A pickle from before there were versions: the fields as they are.
    with pytest.raises(ValueError, match="got version unknown"):
        Monitor.__new__(Monitor).__setstate__({**vars(START)})
    assert pickle.loads(pickle.dumps(START)).to_dict() == state


def test_the_bound_is_what_was_certified_or_what_was_measured():
    options = {"max_risk": 0.25, "random_state": 0, "bound": "loss"}
    ranker = RiskControlledRanker(MODEL, **options).fit(**named(*world(400, 0)))
    monitor = Monitor.of(ranker)
    assert (monitor.bound, monitor.draws) == (0.25, 0)
    # A bound for pairs is about another quantity than the audit watches.
    pairs = {"weighting": "pairs", "largest_query": 20}
    ranker = RiskControlledRanker(MODEL, **options | pairs).fit(**named(*world(400, 0)))
    assert Monitor.of(ranker).bound < 0.2
    X, y, qid = world(200, 0)
    risk = RANKER.evaluate(X, y, qid=qid)
    some = risk.pairs > 0
    share = risk.accepted[some] / risk.pairs[some]
    mean = (risk.loss[some] / risk.pairs[some]).sum() / share.sum()
    assert START.bound == pytest.approx(mean + 0.02)


CERTIFIED = RiskControlledRanker(MODEL, max_risk=0.12, random_state=0)
CERTIFIED.fit(**named(*world(400, 0)))


def test_a_new_watch_has_seen_nothing():
    new = dict(vars(START))
    assert new.pop("counts").shape == (2, 65)
    logs = new.pop("logs")
    assert logs.shape == (2, 2, EXPONENTS.size)
    np.testing.assert_array_equal(logs, np.log(1 / 20))
    later = ("n_seen", "since", "draws", "bets", "judged", "peaks", "days", "audits")
    assert [new[name] for name in later] == [
        0,
        (0, 0, 0),
        0,
        Bets(n=0, total=0, squares=0, log_capital=0),
        (0, 0),
        (1, 1),
        {},
        (),
    ]
    assert (new["delta"], new["asked"]) == (0.05, {})
    assert new["highest"] == RANKER._calibration.engine.highest
    assert START.evidence == 1


def test_a_bound_is_below_the_largest_loss():
    # A bet needs an excess that is possible.
    assert Monitor.of(RANKER, margin=0.99).bound == 0.99


def test_without_decided_pairs_the_bound_is_the_margin():
    data = world(200, 0)
    with pytest.warns(UserWarning, match="No threshold could be certified"):
        none = RiskControlledRanker(
            MODEL, max_risk=1e-4, bound="loss", weighting="pairs", largest_query=20
        ).fit(**named(*data))
    assert Monitor.of(none, margin=0.07).bound == pytest.approx(0.07)


@pytest.mark.parametrize(
    ("tied", "n"),
    [([0.0, 0.0], 1), ([0.05], 1), ([0.5], 5), ([0.5, 1.0, 1.0], 5), ([0.99], 20)],
)
def test_so_many_draws_hold_a_pair_that_differs(tied, n):
    # The least n with 0.5**n <= 0.05 is 5; queries of equal items have no such pair.
    assert _enough_draws(np.array(tied)) == n


@pytest.mark.parametrize(("n", "n_found"), [(1, 1), (5, 5), (6, 6), (9, 6)])
def test_drawn_pairs_are_distinct_and_at_most_all(n, n_found):
    rows = np.array([3, 5, 8, 9])
    found = _drawn(rows, n, np.random.default_rng(0))
    assert len({frozenset(pair.tolist()) for pair in found}) == len(found) == n_found
    assert all(set(pair.tolist()) < set(rows.tolist()) for pair in found)


def test_levels_are_of_abstentions_and_of_the_mean_risk():
    X, _, qid = world(12, 3)
    items = RANKER._scored(np.append(X, [[0.0]])[:, None], np.append(qid, 99))
    found = _levels(RANKER, replace(items, y=np.zeros(items.value.size)))
    pairs = RANKER.predict_pairs(X, qid=qid)
    share = RANKER.conditional_risk(X, qid=qid) / RANKER._calibration.engine.highest
    expected = []
    for query in range(12):  # a query of one item has no pairs
        own = pairs.qid == query
        # The mean over 16 thresholds, in the middle of steps, of the risks above.
        above = [(share[own] > (k + 0.5) / 16).mean() for k in range(16)]
        expected.append([pairs.abstained[own].mean(), np.mean(above)])
    np.testing.assert_array_equal(found, np.rint(64 * np.array(expected)))


@pytest.mark.parametrize(
    ("before", "peak", "path", "n_risen", "n_since"),
    [
        ((0, 0, 0), 1, [0.5, 2, 3], 2, 2),
        ((4, 10, 20), 3, [2, 3], 2, 6),
        ((4, 10, 20), 3, [2, 1], 0, 0),
        ((4, 10, 20), 3, [2, 1, 1.5], 1, 1),
        # What follows an alarm belongs to it, though evidence falls.
        ((4, 10, 20), 3, [20, 0.5, 2], 3, 7),
        ((4, 10, 20), 3, [0.5, 30, 0.5], 2, 2),
        ((4, 10, 20), 20, [0.5], 1, 5),
        ((4, 10, 20), 19, [0.5], 0, 0),
    ],
)
def test_since_counts_queries_from_the_rise_of_the_evidence(
    before, peak, path, n_risen, n_since, monkeypatch
):
    levels = np.arange(2 * len(path)).reshape(-1, 2) + 1
    monkeypatch.setattr(_monitor, "_levels", lambda *_: levels)
    logs, path = START.logs + 1, np.array(path, dtype=float)
    monkeypatch.setattr(_monitor, "add_pvalues", lambda *_: (logs, path))
    start = replace(START, since=before, peaks=(float(peak), 2.5), n_seen=7)
    X, _, qid = world(2, 1)
    found = start.update(RANKER, X, qid=qid, day="d")
    kept = np.array(before[1:]) if n_since > n_risen else np.zeros(2)
    risen = levels[len(path) - n_risen :].sum(axis=0)
    assert found.since == (n_since, *(kept + risen))
    assert found.n_seen == 7 + len(path)
    assert found.peaks == (max(peak, *path), 2.5)
    assert found.days == {"d": found.peaks}
    assert found.logs is logs
    assert found.counts.sum() == START.counts.sum() + levels.size


def test_a_message_says_moves_and_audits_in_words():
    # Of 200 queries 160 have a level of 16 of 64, and 40 of 48; the risk of all is 32.
    counts = np.zeros((2, 65), dtype=np.int64)
    counts[0, [16, 48]], counts[1, 32] = [160, 40], 200
    still = replace(START, counts=counts, highest=0.5)
    assert still.moved["share abstained"][0] == pytest.approx((160 + 3 * 40) / 800)
    moved = replace(still, since=(40, 40 * 48, 40 * 32))
    assert moved.moved == {"share abstained": (0.25, 0.75), "mean risk": (0.25, 0.25)}
    text = "share abstained 0.25 to 0.75, mean risk 0.25 to 0.25 in the last 40 queries"
    assert moved.message == text
    assert repr(moved) == (
        "Monitor(queries=200, days=0, audited=0, evidence=1, alarm=False)"
    )
    # By its share of the sum, .03 of .12 is more than .11 of .77.
    other = replace(moved, since=(40, 40 * 28, 40 * 48), highest=0.1)
    assert other.message == (
        "mean risk 0.0438 to 0.075, share abstained 0.328 to 0.438 in the last 40 "
        "queries"
    )
    audited = replace(moved, bets=Bets(n=5.0), judged=(1.0, 4.0), bound=0.2)
    for draws, what in ((0, "loss"), (3, "discordance")):
        assert replace(audited, draws=draws).message == (
            f"{text}; audit: {what} of decided pairs 0.25 (5 queries judged), "
            f"bound on the {what} 0.2"
        )
    none = replace(audited, judged=(0.0, 0.0))
    assert "loss of decided pairs 0 (5 queries judged)" in none.message
    days = {"a": (1.0, 19.9), "b": (1.0, 20.0), "c": (1.0, 30.0)}
    alarm = replace(audited, days=days, peaks=(1.0, 30.0))
    assert alarm.message == f"alarm since b: {audited.message}"
    assert repr(alarm) == (
        "Monitor(queries=200, days=3, audited=5, evidence=30, alarm=True): "
        f"{alarm.message}"
    )
    assert replace(START, peaks=(1.0, 20.0)).alarm
    assert not replace(START, peaks=(1.0, 19.9)).alarm


def test_questions_of_an_audit_are_worth_alike():
    X, y, qid = world(40, 99)
    monitor, asked = START.audit(RANKER, X, qid=qid, day="d")
    assert asked.value.tolist() == [1] * 20  # by default twenty
    # The capital of many lost bets is told up to exp(700).
    rich = replace(monitor, bets=Bets(n=2, total=1.0, squares=1.0, log_capital=900.0))
    found = rich.judge(RANKER, answered(asked, X, y, qid))
    assert found.peaks == (monitor.peaks[0], np.exp(700.0))


def test_an_answer_by_the_number_of_a_loss_is_its_share_of_the_largest():
    loss = np.array([[0.0, 1.0, 4.0], [2.0, 0.0, 2.0], [4.0, 1.0, 0.0]])
    for said, row in zip((-1, 0, 1), loss, strict=True):
        for true, value in zip((-1, 0, 1), row, strict=True):
            pair = {"label": said, "truth": true, "accepted": True}
            assert _shares([pair], loss) == (value / 4, 1)


def test_a_certified_discordance_is_watched_as_such():
    monitor = Monitor.of(CERTIFIED)
    assert monitor.bound == 0.12
    known = CERTIFIED._calibration.items
    tied = np.array(
        [
            np.mean(np.equal.outer(y, y)[np.triu_indices(y.size, 1)])
            for y in np.split(known.y, known.offsets[1:-1])
            if y.size > 1 and np.ptp(y)
        ]
    )
    missed = [np.mean(tied**n) for n in (monitor.draws - 1, monitor.draws)]
    assert missed[1] <= 0.05 < missed[0]


def test_an_audit_of_the_discordance_asks_about_any_pairs():
    X, _, qid = world(60, 99)
    monitor = Monitor.of(CERTIFIED)
    _, asked = monitor.audit(CERTIFIED, X, qid=qid, day="d", n=40)
    queries, counts = np.unique(asked.qid, return_counts=True)
    assert queries.size == 40
    sizes = np.array([(qid == int(name.split(": ")[1])).sum() for name in queries])
    np.testing.assert_array_equal(
        counts, np.minimum(sizes * (sizes - 1) // 2, monitor.draws)
    )
    assert 0.05 < asked.abstained.mean() < 0.95
    pairs = np.sort(np.stack([asked.left, asked.right]), axis=0)
    assert np.unique(pairs, axis=1).shape[1] == len(asked)


@pytest.mark.parametrize("n_drawn", [1, 2, 4, 6])
def test_drawn_pairs_that_differ_have_the_discordance_of_their_query(n_drawn):
    said, true, accepted = (
        [1, 1, -1, 0, 1, -1],
        [1, -1, 0, 1, -1, -1],
        [True, True, True, True, False, True],
    )
    every = [
        {"label": a, "truth": b, "accepted": c}
        for a, b, c in zip(said, true, accepted, strict=True)
    ]
    found = [
        _shares(list(drawn), None)
        for drawn in combinations(every, n_drawn)
        if any(pair["truth"] for pair in drawn)
    ]
    # One wrong and one called tie of five that differ, four of them accepted.
    expected = (1 + 1 / 2) / 5, 4 / 5
    np.testing.assert_allclose(np.mean(found, axis=0), expected)
    assert _shares([every[2]], None) == (0, 0)


def test_a_query_counts_when_all_its_questions_are_answered():
    X, y, qid = world(60, 99)
    monitor, asked = Monitor.of(CERTIFIED).audit(CERTIFIED, X, qid=qid, day="d", n=1)
    answers = answered(asked, X, y, qid)
    assert len(answers) > 1
    skipped = [row | {"label": "skip"} for row in answers[1:]]
    for said in (answers[:1], [*answers[:1], *skipped]):
        with pytest.warns(
            UserWarning, match=rf"about queries \['{asked.qid[0]}'\] wait"
        ):
            first = monitor.judge(CERTIFIED, said)
        assert (first.bets.n, monitor.bets.n) == (0, 0)
    with (
        pytest.warns(UserWarning, match="about queries .* wait"),
        pytest.warns(UserWarning, match="1 answers, already judged, are set aside"),
    ):
        assert first.judge(CERTIFIED, answers[:1]).to_dict() == first.to_dict()
    turned = {"left": "right", "right": "same", "same": "left"}[answers[0]["label"]]
    with pytest.raises(ValueError, match="each once"):
        first.judge(CERTIFIED, [answers[0] | {"label": turned}])
    again = Monitor.from_dict(json.loads(json.dumps(first.to_dict())))
    last = again.judge(CERTIFIED, answers[1:])
    assert last.bets == monitor.judge(CERTIFIED, answers).bets
    assert last.bets.n == 1
    assert last.asked == {}


def test_ties_that_hide_the_discordance_count_for_the_ranker():
    # All answers are ties: of two items all pairs are known, of four only the drawn.
    monitor = replace(Monitor.of(CERTIFIED), draws=3)
    for n_items, excess in ((2, 0.0), (4, -0.12)):
        X = np.linspace(-9, 9, n_items)[:, None]
        audited, asked = monitor.audit(CERTIFIED, X, day="d")
        assert len(asked) == min(3, n_items * (n_items - 1) // 2)
        audited = audited.judge(CERTIFIED, answered(asked, X, np.zeros(n_items), None))
        assert audited.bets.total == pytest.approx(excess)
        assert audited.judged == (0, 0)


def test_nothing_is_asked_where_nothing_is_decided():
    X, _, qid = world(40, 99)
    with pytest.warns(UserWarning, match="No threshold could be certified"):
        none = CERTIFIED.at_risk(0.001)
    with pytest.warns(UserWarning, match="no pair drawn is decided"):
        _, asked = Monitor.of(none).audit(none, X, qid=qid, day="d")
    assert len(asked) == 0


def of_two_kinds(n_queries, seed):
    """Draw queries with few ties and bad order, and with many ties and good order."""
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), 10)
    kind = rng.integers(0, 2, n_queries)[qid]
    utility, noise = rng.normal(size=(2, qid.size))
    y = (utility > np.array([0.0, 1.3])[kind]).astype(float)
    return (utility + np.array([6.0, 0.3])[kind] * noise)[:, None], y, qid


@pytest.mark.slow
@pytest.mark.parametrize(("wrong", "most", "least"), [(0.0, 0.17, 0), (0.2, 1, 0.9)])
def test_an_audit_weighs_differing_pairs_as_the_certificate_does(wrong, most, least):
    ranker = RiskControlledRanker(MODEL, max_risk=0.35, random_state=0)
    ranker = ranker.fit(**named(*of_two_kinds(400, 0)))
    true = ranker.evaluate(**named(*of_two_kinds(5000, 1))).discordance_interval(
        "queries"
    )[0]
    alarms = []
    for seed in range(30):
        monitor = replace(Monitor.of(ranker, random_state=seed), bound=true)
        for k in range(10):
            X, y, qid = of_two_kinds(60, 10**6 + 100 * seed + k)
            monitor, asked = monitor.audit(ranker, X, qid=qid, day=f"d{k}", n=60)
            answers = answered(asked, X, y, qid, wrong=wrong, seed=100 * seed + k)
            monitor = monitor.judge(ranker, answers)
            if monitor.alarm:  # it stays
                break
        alarms.append(monitor.alarm)
    # At most 5 % are false: three standard errors of the binomial are .12.
    assert least <= np.mean(alarms) <= most


def test_an_alarm_says_since_when():
    limit = 1 / START.delta
    monitor = week(week(START, n_days=2), factor=0.5, first=3, n_days=4)
    day = next(day for day, peaks in monitor.days.items() if max(peaks) >= limit)
    assert day not in {"day 1", "day 2"}
    assert monitor.message.startswith(f"alarm since {day}: ")
    for again in (
        Monitor.from_dict(json.loads(json.dumps(monitor.to_dict()))),
        pickle.loads(pickle.dumps(monitor)),
    ):
        assert again.message == monitor.message
        assert week(again, first=7, n_days=1).message.startswith(f"alarm since {day}: ")


def test_answers_that_raise_an_alarm_belong_to_the_last_day():
    X, y, qid = world(60, 99)
    for start, since in (
        (START, "before the first day"),
        (week(START, n_days=2), "day 2"),
    ):
        monitor, asked = start.audit(RANKER, X, qid=qid, day="d", n=60)
        monitor = monitor.judge(RANKER, answered(asked, X, y, qid, wrong=1.0))
        assert monitor.peaks[1] > 20 > monitor.peaks[0]
        assert monitor.message.startswith(f"alarm since {since}: ")
        if start.days:
            assert monitor.days["day 2"] == monitor.peaks
            assert start.days["day 2"][1] == 1


def test_another_ranker_is_refused():
    other = BALToR(MODEL, coverage=0.6, random_state=0).fit(**named(*world(200, 5)))
    X, _, qid = world(20, 1)
    for call in (
        lambda: START.update(other, X, qid=qid, day="x"),
        lambda: START.audit(RANKER.at_coverage(0.5), X, qid=qid, day="d"),
        lambda: START.judge(other, []),
    ):
        with pytest.raises(ValueError, match="must be the one that is watched"):
            call()
    with pytest.raises(TypeError, match="must be a SelectiveRanker"):
        Monitor.of(DistanceAbstainer(MODEL))
    for wrong in ({"delta": 2}, {"margin": -1}):
        with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be in"):
            Monitor.of(RANKER, **wrong)


mpl.use("Agg")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


def watched(n_days):
    data = make_ranking(60, random_state=0)
    X, y, qid = data.utility[:, None], data.target, data.qid
    ranker = BALToR(FirstColumn().fit(None, None), random_state=0).fit(X, y, qid=qid)
    monitor = Monitor.of(ranker, delta=0.1)
    for day in range(n_days):
        own = qid // 5 == day
        monitor = monitor.update(ranker, X[own] / 2, qid=qid[own], day=f"$ {day}")
    return monitor


def test_the_curve_is_the_evidence_and_the_line_the_alarm():
    monitor = watched(6)
    display = MonitorDisplay.from_monitor(monitor, name="$5")
    (line,) = display.lines_
    np.testing.assert_array_equal(
        line.get_ydata(), [peaks[0] for peaks in monitor.days.values()]
    )
    reference = display.ax_.lines[-1]
    assert set(reference.get_ydata()) == {10.0}
    assert display.ax_.get_yscale() == "log"
    texts = [tick.get_text() for tick in display.ax_.get_xticklabels()]
    assert texts == [*monitor.days]
    assert display.message == monitor.message
    assert display.ax_.texts[0].get_text().replace("\n", ", ") == monitor.message
    display.figure_.canvas.draw()


def test_audits_have_a_curve_of_their_own():
    days, evidence = ["a", "b"], np.array([[1.0, 1.0], [2.0, 30.0]])
    display = MonitorDisplay(days=days, evidence=evidence, alarm=20.0).plot()
    assert [line.get_label() for line in display.lines_] == ["without labels", "audit"]
    assert len(MonitorDisplay.from_monitor(watched(1)).lines_) == 1


@pytest.mark.parametrize(("n_days", "named_"), [(20, True), (21, False)])
def test_names_of_days_stand_where_they_have_room(n_days, named_):
    days = [f"day {k}" for k in range(n_days)]
    display = MonitorDisplay(
        days=days, evidence=np.ones((n_days, 2)), alarm=20.0, name="$ one"
    ).plot()
    texts = [tick.get_text() for tick in display.ax_.get_xticklabels()]
    assert (texts == days) is named_
    assert display.ax_.get_title() == "$ one"
    assert display.lines_[0].get_xdata().tolist() == [*range(1, n_days + 1)]
    line = display.ax_.lines[-1]
    assert line.get_xdata().tolist() == [1, n_days]
    text = display.ax_.texts[0]
    assert 0 <= text.get_position()[0] < text.get_position()[1] <= 1
    one = MonitorDisplay(days=["a"], evidence=np.ones((1, 2)), alarm=20.0).plot()
    assert one.ax_.lines[-1].get_xdata().tolist() == [1, 2]  # a line has a length
    assert one.ax_.get_title() == ""


def test_nothing_to_draw_is_an_error():
    with pytest.raises(ValueError, match="must have seen a day: call update first"):
        MonitorDisplay.from_monitor(watched(0))


def test_the_legend_stands_below_long_names_of_days():
    days = [f"Wednesday {hour}:00" for hour in range(10, 22)]
    evidence = np.ones((len(days), 2))
    display = MonitorDisplay(days=days, evidence=evidence, alarm=20.0).plot()
    display.figure_.canvas.draw()
    legend = display.ax_.get_legend().get_window_extent()
    assert legend.y1 <= display.ax_.xaxis.label.get_window_extent().y0
    assert legend.y0 >= 0
