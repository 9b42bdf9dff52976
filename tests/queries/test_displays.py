"""What the pictures hold, and the scorers that read the same numbers."""

import matplotlib as mpl
import numpy as np
import pytest
from doubles import named
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from skrank_abstain import BALToR
from skrank_abstain.queries import (
    QueryRiskDisplay,
    TopSetDisplay,
    TopSetRanker,
    neg_query_aurc_scorer,
    neg_set_size_scorer,
)

mpl.use("Agg")


@pytest.fixture(autouse=True)
def closed():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


def test_a_curve_of_sets_passes_through_those_of_the_ranker(sets, new):
    X, y, qid = new
    display = TopSetDisplay.from_estimator(sets, X, y, qid=qid)
    differ = np.array([np.ptp(y[qid == q]) > 0 for q in np.unique(qid)])
    size, coverage = display.point
    assert size == pytest.approx(sets.set_sizes(X, qid=qid)[differ].mean())
    assert coverage == sets.score(X, y, qid=qid)
    assert (np.diff(display.size) >= 0).all()
    assert (np.diff(display.coverage) >= 0).all()
    at = display.size <= size + 1e-9
    assert display.coverage[at][-1] == coverage
    assert display.coverage[-1] == display.fixed_coverage[-1] == 1
    np.testing.assert_array_equal(display.line_.get_ydata(), display.coverage)
    assert "coverage" in display.ax_.get_ylabel()


def test_a_curve_of_the_first_is_their_share_in_the_sets(model, past, new):
    ranker = TopSetRanker(model, k=3, alpha=0.2, random_state=0).fit(**named(*past))
    X, y, qid = new
    display = TopSetDisplay.from_estimator(ranker, X, y, qid=qid)
    size, coverage = display.point
    assert coverage == pytest.approx(ranker.score(X, y, qid=qid))
    at = display.size <= size + 1e-9
    assert display.coverage[at][-1] == pytest.approx(coverage)
    queries = [np.flatnonzero(qid == q) for q in np.unique(qid)]
    queries = [rows for rows in queries if np.ptp(y[rows]) > 0 and rows.size > 3]
    held = []
    for rows in queries:
        top = sorted(y[rows[np.argsort(-X[rows, 0])][:4]])
        best = sorted(y[rows])[-3:]
        # Of each grade as many as are there, or as are wanted.
        grades = np.unique(best)
        held.append(sum(min(top.count(g), best.count(g)) for g in grades) / 3)
    assert display.fixed_coverage[3] == pytest.approx(np.mean(held))
    assert "the first 3" in display.ax_.get_ylabel()


def test_fixed_numbers_of_items_are_counted_one_by_one(sets, new):
    X, y, qid = new
    display = TopSetDisplay.from_estimator(sets, X, y, qid=qid)
    queries = [np.flatnonzero(qid == q) for q in np.unique(qid)]
    queries = [rows for rows in queries if np.ptp(y[rows]) > 0]
    for k in (1, 3):
        top = [rows[np.argsort(-X[rows, 0])][:k] for rows in queries]
        hit = [y[a].max() == y[b].max() for a, b in zip(top, queries, strict=True)]
        assert display.fixed_coverage[k - 1] == np.mean(hit)
        assert display.fixed_size[k - 1] == np.mean([rows.size for rows in top])


def test_a_curve_of_queries_is_their_mean_loss_by_risk(half, new):
    X, y, qid = new
    display = QueryRiskDisplay.from_estimator(half, X, y, qid=qid)
    found = half.evaluate(X, y, qid=qid)
    known = ~np.isnan(found.metric)
    loss = 1 - found.metric[known][np.argsort(found.risk[known])]
    prefix = np.cumsum(loss) / np.arange(1, loss.size + 1)
    np.testing.assert_allclose(display.selective_risk, prefix)
    np.testing.assert_allclose(
        display.coverage, np.arange(1, loss.size + 1) / loss.size
    )
    assert display.aurc == pytest.approx(prefix.mean())
    assert display.line_.get_label() == f"QueryRiskRanker (AURC = {display.aurc:.3f})"
    assert neg_query_aurc_scorer(half, X, y, qid=qid) == pytest.approx(-prefix.mean())
    assert "ndcg@10" in display.ax_.get_ylabel()


def test_the_scorer_of_sets_is_their_mean_size(sets, new):
    X, y, qid = new
    found = neg_set_size_scorer(sets, X, y, qid=qid)
    assert found == -sets.set_sizes(X, qid=qid).mean()
    assert repr(neg_set_size_scorer) == "neg_set_size_scorer"
    assert repr(neg_query_aurc_scorer) == "neg_query_aurc_scorer"


def test_several_rankers_share_axes(sets, half, new):
    X, y, qid = new
    for display, ranker in ((TopSetDisplay, sets), (QueryRiskDisplay, half)):
        pipeline = make_pipeline(FunctionTransformer(), ranker)
        one = display.from_estimator(pipeline, X, y, qid=qid, name="one")
        other = one.plot(one.ax_, name="other")
        colours = {line.get_color() for line in one.ax_.lines[::1]}
        assert other.ax_ is one.ax_
        assert len(colours) == 3  # two models and the reference
        texts = [text.get_text() for text in one.ax_.get_legend().get_texts()]
        assert len(texts) == 3


def test_nothing_to_draw_is_an_error(sets, half, new, past, model):
    X, y, qid = new
    with pytest.raises(ValueError, match="y must differ within a query"):
        TopSetDisplay.from_estimator(sets, X, 0 * y, qid=qid)
    with pytest.raises(ValueError, match="y must have a query with a relevant item"):
        QueryRiskDisplay.from_estimator(half, X, 0 * y, qid=qid)
    with pytest.warns(UndefinedMetricWarning, match="query_aurc_scorer is undefined"):
        assert np.isnan(neg_query_aurc_scorer(half, X, 0 * y, qid=qid))
    pairs = BALToR(model).fit(**named(*past))
    with pytest.raises(TypeError, match="which has predict_set"):
        TopSetDisplay.from_estimator(pairs, X, y, qid=qid)
