"""
Set a price per question, or a budget
=====================================

Three ways to say which pairs a person is asked about: a share of pairs to decide, a
price of asking, and a distance below which two items are not compared. The first two
are one rule with two handles; the third needs no probabilities.
"""

# %%
# Three rules around one ranker
# -----------------------------
# :class:`~skrank_abstain.BALToR` is given a budget,
# :class:`~skrank_abstain.CostAbstainer` the price of a question in units of a wrong
# answer, and both give up the pairs that they are least sure of.
# :class:`~skrank_abstain.distance.DistanceAbstainer` gives up the pairs whose items are
# near each other in feature space. Relevance is a real number here, so that no two
# items are tied and a wrong order is the only mistake.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import Ridge

from skrank_abstain import BALToR, CostAbstainer
from skrank_abstain.datasets import make_ranking
from skrank_abstain.displays import RiskCoverageDisplay
from skrank_abstain.distance import DistanceAbstainer


def queries(signal):
    options = {"n_features": 5, "n_grades": None, "signal": signal}
    return [make_ranking(300, random_state=k, **options) for k in range(3)]


def calibrated(abstainer, past):
    return abstainer.fit(past.data, past.target, qid=past.qid)


train, past, new = queries(signal=2)
model = Ridge().fit(train.data, train.target)
budget = calibrated(BALToR(model, tie_model="bradley_terry"), past)
price = calibrated(CostAbstainer(model, tie_model="bradley_terry"), past)
near = calibrated(DistanceAbstainer(model, norm=2), past)

# %%
# A price is a budget
# -------------------
# The share of the calibration pairs that a price buys, given as a budget, gives the
# same decisions, but for a few pairs of nearly the threshold's risk; and
# ``threshold_`` of a budget is its price.
costs = (0.1, 0.2, 0.3, 0.4)
print(f"{'price':>6}{'buys':>7}{'decided alike':>15}")
for cost in costs:
    bought = price.at_cost(cost)
    same = budget.at_coverage(bought.coverage_)
    alike = bought.abstain(new.data, qid=new.qid) == same.abstain(new.data, qid=new.qid)
    print(f"{cost:>6.2f}{bought.coverage_:>7.1%}{alike.mean():>15.2%}")
print(f"Deciding 60 % is a price of {budget.at_coverage(0.6).threshold_:.2f}")

# %%
# They differ where pairs become harder. Half the signal, a ranker trained and
# calibrated on that: a price buys fewer decisions and keeps what a question is worth,
# a budget decides as many and lets the errors grow. Is it the questions that are
# limited, or the mistakes?
print(f"\n{'':<10}{'price 0.2':>22}{'budget 60 %':>22}")
print(f"{'':<10}" + f"{'decided':>12}{'right':>10}" * 2)
for name, signal in (("easy pairs", 2), ("hard pairs", 1)):
    first, then, last = queries(signal)
    scorer = Ridge().fit(first.data, first.target)
    print(f"{name:<10}", end="")
    for either in (CostAbstainer(scorer, cost=0.2), BALToR(scorer, coverage=0.6)):
        either.set_params(tie_model="bradley_terry")
        totals = calibrated(either, then).evaluate(last.data, last.target, qid=last.qid)
        print(f"{totals.coverage:>12.1%}{totals.accuracy:>10.1%}", end="")
    print()

# %%
# Distance says something, scores say more
# ----------------------------------------
# Scorers of bounded slope give near items nearly equal scores, so that little can be
# promised about their order. So the distance rule abstains on them, whatever the scores
# are. Calibration distances are sorted once: ``at_gamma`` and ``at_cost`` measure
# nothing again, and ``loss_curve_`` says which distance decides how many pairs.
curve = near.loss_curve_
coverages = np.linspace(0.1, 1, 19)
gammas = np.interp(coverages, curve.coverage[::-1], curve.gamma[::-1])
rules = [near.at_gamma(gamma) for gamma in gammas]
rules += [price.at_cost(cost) for cost in costs]
totals = [rule.evaluate(new.data, new.target, qid=new.qid) for rule in rules]
decided, right = np.transpose([(part.coverage, part.accuracy) for part in totals])

_, ax = plt.subplots(figsize=(5.5, 5.2), layout="constrained")
ax.plot(
    decided[:19], right[:19], color="#D55E00", ls="--", label="distance, any distance"
)
ax.plot(decided[19:], right[19:], "o", color="#E69F00", ms=9, label="price of asking")
for cost, x, y in zip(costs, decided[19:], right[19:], strict=True):
    ax.annotate(f"{cost:g}", (x, y), (9, 4), textcoords="offset points")
RiskCoverageDisplay.from_estimator(
    budget, new.data, new.target, qid=new.qid, kind="accuracy", name="budget", ax=ax
)
ax.set_title("A price is a point on the curve of the budget")

# %%
# The points of the price lie on the curve of the budget. The dashed curve rises as
# well, without any probability, but less: at every share below all, the scores win.
# :doc:`../abstention_cost` says what the distance rule is for, and
# ``examples/programs/cost_vs_budget.py`` compares all three on a real collection, where
# most pairs are tied and neither risk nor distance pays much.
plt.show()
