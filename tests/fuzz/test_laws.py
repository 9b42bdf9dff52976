"""Each law is broken by a defect that is planted for it."""

from dataclasses import replace

import numpy as np
import pytest
from doubles import FirstColumn
from fuzz import laws
from fuzz.cases import Case
from fuzz.laws import GROUPS
from fuzz.subjects import SUBJECTS

from skrank_abstain._kernels import threads as _threads

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


class Forgetful(FirstColumn):
    """A model that comes back from a pickle as another."""

    def predict(self, X):
        return -super().predict(X)

    def __reduce__(self):
        return FirstColumn, ()


def simplest(name):
    """Return a case of the first choice of each kind, but for more items."""
    choices = SUBJECTS[name].every_choice
    recipe = {name: of[0] for name, of in choices.items()} | {"n_items": 24}
    return Case.of(SUBJECTS[name], recipe)


def wrapped(method, change):
    """Return what plants a change of what a method returns."""

    def plant(estimator):
        true = getattr(estimator, method)
        setattr(estimator, method, lambda *a, **k: change(true(*a, **k)))

    return plant


def named_pairs_are_turned_down(estimator):
    true = estimator.predict_pairs

    def predict_pairs(X, *, qid=None, pairs=None):
        made = true(X, qid=qid, pairs=pairs)
        return made if pairs is None else replace(made, accepted=~made.accepted)

    estimator.predict_pairs = predict_pairs


def scores_count_the_threads(estimator):
    # Reached by way of the model, which every fit of the subject makes anew.
    model = estimator.estimator
    true = type(model).predict
    type(model).predict = lambda self, X: true(self, X) * _threads.n_threads()


def moved(attribute):
    def plant(estimator):
        setattr(estimator, attribute, getattr(estimator, attribute) + 0.125)

    return plant


def decides_more(estimator):
    estimator.threshold_ += 0.125
    estimator._region = replace(estimator._region, risk=estimator.threshold_)


DEFECTS = {
    laws.answers_are_finite: wrapped("predict", lambda s: s * np.nan),
    laws.probabilities_sum_to_one: wrapped(
        "predict_pairs", lambda made: replace(made, proba=made.proba * 0.9)
    ),
    laws.swapped_pairs_are_mirrored: wrapped(
        "predict_pairs", lambda made: replace(made, label=np.ones_like(made.label))
    ),
    laws.accepted_is_risk_at_most_the_threshold: wrapped(
        "predict_pairs", lambda made: replace(made, accepted=~made.accepted)
    ),
    laws.evaluate_is_the_totals_of_pairs: wrapped(
        "evaluate", lambda totals: replace(totals, misranked=totals.misranked + 1)
    ),
    laws.score_is_the_mean_over_pairs: wrapped("score", lambda score: score + 0.01),
    laws.scorers_count_pairs_in_order: wrapped("score", lambda score: score + 0.01),
    laws.rank_intervals_are_counted: wrapped("rank_intervals", lambda r: r[:, ::-1]),
    laws.the_graph_is_the_reduction_of_orders: wrapped(
        "preference_graph", lambda graph: graph.T
    ),
    laws.the_ranking_has_the_rank_intervals: wrapped(
        "ranking", lambda ranking: replace(ranking, place=ranking.place[::-1])
    ),
    laws.queries_come_one_by_one: wrapped("iter_pairs", lambda some: list(some)[::-1]),
    laws.methods_are_columns_of_the_pairs: wrapped("conditional_risk", lambda r: 1 - r),
    laws.some_pairs_are_decided_as_all_are: named_pairs_are_turned_down,
    laws.a_query_is_decided_as_among_others: wrapped("predict", lambda s: s * s.size),
    laws.rows_may_come_in_any_order: wrapped("predict", lambda s: np.arange(s.size)),
    laws.fit_says_how_much_it_accepts: moved("coverage_"),
    laws.the_profile_has_the_risks_of_the_pairs: wrapped(
        "risk_profile", lambda p: replace(p, loss=p.loss + 1)
    ),
    laws.operating_points_are_thresholds: wrapped(
        "operating_points", lambda points: [p._replace(threshold=9.0) for p in points]
    ),
    laws.a_pickle_answers_alike: lambda e: setattr(e, "estimator_", Forgetful()),
    laws.a_clone_answers_alike: decides_more,
    laws.another_threshold_is_a_refit: wrapped(
        "at_coverage", lambda ranker: ranker.set_params(coverage=0.9)
    ),
    laws.threads_change_nothing: scores_count_the_threads,
}


@pytest.mark.parametrize("law", [law for group in GROUPS for law in group])
def test_a_planted_defect_breaks_the_law(law, monkeypatch):
    bounded = law is laws.scorers_count_pairs_in_order
    case = simplest("ConstrainedLinearRanker" if bounded else "BALToR")
    law(case)
    if not bounded:  # what is planted there ends with the test
        model = type(case.estimator.estimator)
        monkeypatch.setattr(model, "predict", model.predict)
    DEFECTS[law](case.estimator)
    vars(case).pop("pairs", None)  # decided before the defect was there
    with pytest.raises(AssertionError):
        law(case)
