"""
See what a ranker decides, and how well
=======================================

Simulated queries, a LightGBM ranker with default options, and three tie models. Each
picture is one call of a display in :mod:`skrank_abstain.displays`.
:doc:`plot_03_tie_models` says more about what is compared here.
"""

# %%
# One model, three calibrations
# -----------------------------
# Training queries, then queries to calibrate on, then new ones to draw. A tie model
# makes pair probabilities of scores; the ranker is trained once, and given fitted.
import matplotlib.pyplot as plt
import numpy as np
from lightgbm import LGBMRanker

from skrank_abstain import BALToR
from skrank_abstain.datasets import make_ranking
from skrank_abstain.displays import (
    ClassFractionDisplay,
    CoverageDisplay,
    PairReliabilityDisplay,
    RankIntervalDisplay,
    RiskCoverageDisplay,
)
from skrank_abstain.tie_models import BradleyTerry

train, past, new = (
    make_ranking(n_queries, random_state=k)
    for k, n_queries in enumerate((360, 200, 200))
)
sizes = np.unique(train.qid, return_counts=True)[1]
model = LGBMRanker(n_jobs=1, verbose=-1).fit(train.data, train.target, group=sizes)
tie_models = {
    "Bradley-Terry, counts": BradleyTerry(calibration="counts"),
    "Bradley-Terry": "bradley_terry",
    "graded relevance": "graded_relevance",
}
rankers = {
    name: BALToR(model, coverage=0.6, tie_model=tie_model, random_state=0).fit(
        past.data, past.target, qid=past.qid
    )
    for name, tie_model in tie_models.items()
}
two = ("Bradley-Terry", "graded relevance")

# %%
# Fewer pairs, fewer errors
# -------------------------
# The mean loss of the decided pairs. Several models on the same axes: a lower curve is
# better, and graded relevance is a little lower here. The loss stands on the axis, and
# a curve of another loss is refused. The band is a 95 % interval over queries, since
# the pairs of one query share its items.
_, ax = plt.subplots(figsize=(5.5, 5), layout="constrained")
for name in two:
    RiskCoverageDisplay.from_estimator(
        rankers[name],
        new.data,
        new.target,
        qid=new.qid,
        confidence=0.95,
        reference=name == "graded relevance",
        name=name,
        ax=ax,
    )
ax.set_title("Fewer pairs, fewer errors")

# %%
# Is the budget kept?
# -------------------
# It is where the points are on the diagonal. No labels are needed to see how many pairs
# of new queries are decided.
display = CoverageDisplay.from_estimator(
    rankers["graded relevance"], new.data, qid=new.qid, name="graded relevance"
)
display.ax_.set_title("As many are decided as was asked for")

# %%
# Can the probabilities be taken at their word?
# ---------------------------------------------
# On the diagonal they can. With parameters that are only counted, as we read the BALToR
# paper, the scores of a booster are taken as they are, and the probabilities are far
# too sure. Fitted by maximum likelihood they are right.
figure, axes = plt.subplots(1, 2, figsize=(9, 5.6), sharey=True, layout="constrained")
figure.suptitle("Probabilities near the diagonal are right")
for ax, name in zip(axes, ("Bradley-Terry, counts", "Bradley-Terry"), strict=True):
    PairReliabilityDisplay.from_estimator(
        rankers[name], new.data, new.target, qid=new.qid, ax=ax
    )
    ax.set_title(name)
    ax.label_outer()

# %%
# Which pairs are decided first?
# ------------------------------
# With both models pairs with a better item: their share falls as more is decided, and
# that of ties rises. Graded relevance recognises likely ties, whose order cannot be
# wrong, and decides more of them early.
_, ax = plt.subplots(figsize=(5.5, 5), layout="constrained")
for name in two:
    ClassFractionDisplay.from_estimator(
        rankers[name], new.data, new.target, qid=new.qid, name=name, ax=ax
    )
ax.set_title("Clear orders are decided first, ties later")

# %%
# One query
# ---------
# A bar reaches over the ranks that the decided pairs leave open. Items whose bar ends
# before the line are decided to be in the top 5, those whose bar begins behind it are
# decided not to be, and the others are worth a person's time.
RankIntervalDisplay.from_estimator(
    rankers["graded relevance"],
    new.data,
    new.target,
    qid=new.qid,
    query=0,
    top_k=5,
    name="One query, 60 % of pairs decided",
)
plt.show()
