"""What the rankers of whole queries share: models, copies, routing, and their page."""

import copy
import pickle
import warnings

import numpy as np
import pytest
from doubles import named
from queries.drawn import PIPELINES_ROUTE
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank_abstain.concentration import ratio_interval
from skrank_abstain.queries import QueryRiskRanker, TopSetRanker

#: A class, its own parameter, and what it says of each query.
BOTH = pytest.mark.parametrize(
    ("ranker", "own", "method"),
    [
        (TopSetRanker, {"alpha": 0.1}, "set_sizes"),
        (QueryRiskRanker, {"coverage": 0.5}, "query_risk"),
    ],
)


@BOTH
def test_it_is_saved_and_cloned(model, past, new, ranker, own, method):
    X, _, qid = new
    fitted = ranker(model, **own, random_state=0).fit(**named(*past))
    loaded = pickle.loads(pickle.dumps(fitted))
    found, again = (getattr(each, method)(X, qid=qid) for each in (fitted, loaded))
    np.testing.assert_array_equal(*(getattr(a, "risk", a) for a in (found, again)))
    assert loaded.id_ == fitted.id_
    assert own.items() <= clone(fitted).get_params().items()
    with pytest.raises(NotFittedError):
        getattr(ranker(Ridge(), **own), method)(X)


@BOTH
@PIPELINES_ROUTE
def test_routing_hands_on_the_queries_of_a_pipeline(past, routing, ranker, own, method):
    X, y, qid = past
    params = {"qid": qid, "groups": qid}
    pipeline = make_pipeline(StandardScaler(), ranker(Ridge(), **own, random_state=0))
    found = cross_validate(pipeline, X, y, cv=GroupKFold(2), params=params)
    assert (
        found["test_score"] > {"alpha": 0.7, "coverage": 0.6}[next(iter(own))]
    ).all()


@BOTH
def test_scores_on_another_scale_are_noticed(model, past, new, ranker, own, method):
    X, _, qid = new
    fitted = ranker(model, **own, random_state=0).fit(**named(*past))
    for change in (lambda x: 100 * x, lambda x: x + 1000):
        with pytest.warns(UserWarning, match="scores lie far from those of calibrat"):
            getattr(fitted, method)(change(X), qid=qid)


@BOTH
def test_a_verbose_fit_prints_one_line(model, past, capsys, ranker, own, method):
    fitted = ranker(model, **own, random_state=0, verbose=1).fit(**named(*past))
    line = f"[{ranker.__name__}] calibrated on {fitted.n_queries_} queries: threshold "
    assert capsys.readouterr().out.startswith(line)


@pytest.fixture(scope="module")
def rankers(model, past, sets, half):
    sure = QueryRiskRanker(model, max_risk=0.3, random_state=0).fit(**named(*past))
    return {"sets": sets, "half": half, "sure": sure}


def row_of(page, name, table=0):
    """Return value and interval of a row of the table with that number."""
    found = [line for line in page.splitlines() if line.startswith(f"| {name} |")]
    return [cell.strip() for cell in found[table].strip("|").split("|")][1:]


def as_row(part, whole):
    low, high = ratio_interval(part, whole)
    return [f"{part.sum() / whole.sum():.4f}", f"{max(low, 0):.4f} to {high:.4f}"]


def verdict_of(page):
    return page.split("## Verdict\n\n")[1].split("\n\n## ")[0]


def compared(name, part, limit, worse, whole=None):
    """Return the sentences that hold an observed ratio against its bound."""
    value, interval = as_row(part, np.ones(part.size) if whole is None else whole)
    low, high = map(float, interval.split(" to "))
    lies = "below" if high < limit else "above" if low > limit else "around"
    end = "WHAT WAS PROMISED DOES NOT HOLD HERE" if lies == worse else "as promised"
    if lies == "around":
        end = "neither confirmed nor refuted"
    return (
        f"Observed, {name}: {value} (95 % interval {interval}), each query counting "
        f"alike. This interval lies {lies} the bound of {limit:g}: {end}."
    )


def test_a_page_of_sets_says_what_was_measured(rankers, new, tmp_path):
    X, y, qid = new
    site = np.where(qid % 2, "north", "south")
    page = rankers["sets"].report(X, y, qid=qid, groups=site)
    found = rankers["sets"].evaluate(X, y, qid=qid)
    assert page.startswith("# TopSetRanker: report\n")
    assert "with a probability of at least 0.9" in page
    known = ~np.isnan(found.holds_best)
    assert verdict_of(page).startswith("For a new query from the same source ")
    part = found.holds_best[known]
    assert compared("sets that hold a best item", part, 0.9, "below") in page
    for table, own in enumerate(
        [np.full(60, True), np.arange(60) % 2 == 0, np.arange(60) % 2 == 1]
    ):
        size, both = found.size[own].astype(float), known & own
        assert row_of(page, "items in a set, mean", table) == as_row(
            size, np.ones(own.sum())
        )
        value = row_of(page, "sets that hold a best item", table)[0]
        assert value == f"{found.holds_best[both].mean():.4f}"
    page.to_html(tmp_path / "page.html")
    assert "Group north" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_a_page_of_lists_says_what_was_measured(rankers, new):
    X, y, qid = new
    page = rankers["sure"].report(X, y, qid=qid)
    found = rankers["sure"].evaluate(X, y, qid=qid)
    assert "CERTIFIED. With a probability of at least 0.9" in page
    known = ~np.isnan(found.metric)
    value, interval = row_of(
        page, "one minus ndcg@10 (exponential gain), accepted queries"
    )
    assert value == f"{found.selective_risk:.4f}"
    loss, accepted = 1 - found.metric[known], found.accepted[known] * 1.0
    assert [value, interval] == as_row(loss * accepted, accepted)
    assert verdict_of(page).startswith("CERTIFIED. With a probability of at least 0.9")
    max_risk = rankers["sure"].max_risk
    name = "one minus ndcg@10 (exponential gain), accepted queries"
    assert compared(name, loss * accepted, max_risk, "above", accepted) in page
    assert row_of(page, "coverage: share of queries accepted")[0] == (
        f"{found.coverage:.4f}"
    )
    assert f"{(~known).sum()} queries hold no relevant item" in page
    page = rankers["half"].report(X, y, qid=qid)
    assert verdict_of(page).startswith("NOTHING IS PROMISED about the metric")
    assert "This interval" not in page


def test_a_promise_by_group_is_not_confirmed_for_all_at_once(model, past, new):
    X, y, qid = past
    ranker = QueryRiskRanker(model, max_risk=0.3, random_state=0)
    ranker.fit(X, y, qid=qid, groups=np.where(qid % 2, "north", "south"))
    assert ranker.certified_
    verdict = verdict_of(ranker.report(**named(*new)))
    assert "The promise is for each group by itself, not for all at once." in verdict
    assert "as promised" not in verdict


@pytest.mark.parametrize("name", ["sets", "half", "sure"])
def test_without_labels_nothing_is_measured(rankers, new, name):
    page = rankers[name].report(new[0], qid=new[2])
    assert "NO LABELS WERE GIVEN" in page
    assert "| one minus ndcg" not in page
    assert "hold a best item |" not in page


@pytest.mark.parametrize(
    ("name", "params", "got"),
    [
        ("sets", {"alpha": 0.3}, r"got alpha=0.3 after 0.1"),
        ("half", {"coverage": 0.9}, r"got coverage=0.9 after 0.5"),
        ("half", {"metric": "mrr"}, r"got metric='mrr' after 'ndcg@10'"),
        ("sure", {"max_risk": 0.5, "delta": 0.2}, "got max_risk=0.5 .*delta=0.2"),
    ],
)
def test_parameters_set_after_fit_change_nothing_and_are_named(
    rankers, new, name, params, got
):
    ranker = copy.copy(rankers[name])
    before, score = ranker.report(**named(*new)), ranker.score(**named(*new))
    ranker.set_params(**params)
    assert ranker.score(**named(*new)) == score
    with pytest.warns(UserWarning, match=rf"Parameters were set after fit.*{got}"):
        after = ranker.report(**named(*new))
    assert "\n## Warnings\n\n- Parameters were set after fit" in after
    assert before.split("## Data")[1] == after.split("## Data")[1]


def test_rows_that_fit_got_are_found(rankers, past):
    with pytest.warns(
        UserWarning, match="items have the features of items that fit got"
    ):
        page = rankers["sets"].report(**named(*past))
    assert "\n## Warnings\n" in page
    assert verdict_of(page).startswith("SOME OF THESE DATA MAY NOT BE NEW: ")
    assert "as promised" not in page


def test_few_queries_are_a_warning_on_the_page(rankers, new):
    few = new[2] < 5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        page = rankers["sets"].report(**named(*(part[few] for part in new)))
    assert "queries: 5; with fewer than 30" in page
