"""
Choose a tie model
==================

A tie model turns the scores of two items into the probabilities that one of them is
preferred or that they are tied. It decides which pairs are left to a person, and where
ties are many it matters more than the ranker. Here are four of them on the same scores,
with the evidence beside them.
"""

# %%
# One ranker, four tie models
# ---------------------------
# Queries to train the ranker on, others to fit the tie models and set the threshold,
# and new ones to compare on: nothing is chosen by those. The queries are simulated,
# unless the variable ``SKRANK_DATA`` names a folder that holds the collection MQ2008.
import os
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from lightgbm import LGBMRanker

from skrank_abstain import BALToR
from skrank_abstain.datasets import load_letor, make_ranking
from skrank_abstain.displays import PairReliabilityDisplay, RiskCoverageDisplay
from skrank_abstain.metrics import accuracy_at_coverage
from skrank_abstain.tie_models import BradleyTerry

folder = Path(os.environ.get("SKRANK_DATA", "data"), "MQ2008", "Fold1")
if folder.exists():
    fold = load_letor(folder)
    train, past, new = fold.train, fold.validation, fold.test
else:
    train, past, new = (make_ranking(300, random_state=k) for k in range(3))

sizes = np.unique(train.qid, return_counts=True)[1]
model = LGBMRanker(n_jobs=1, verbose=-1).fit(train.data, train.target, group=sizes)

# %%
# The trained model is given to all rankers as it is; each fits its tie model alone.
# With ``loss="zero_one"`` a tie is an answer that may be right, so that it shows what a
# model knows about ties.
tie_models = {
    "bradley_terry (counts)": BradleyTerry(calibration="counts"),
    "bradley_terry": "bradley_terry",
    "graded_relevance": "graded_relevance",
    "feature_aware_relevance": "feature_aware_relevance",
}
# On MQ2008 most answers are ties, and fit says so: the next page is about that.
warnings.filterwarnings("ignore", "Nearly all accepted pairs are ties")
rankers = {
    name: BALToR(model, tie_model=tie_model, loss="zero_one", random_state=0).fit(
        past.data, past.target, qid=past.qid
    )
    for name, tie_model in tie_models.items()
}

# %%
# Accuracy of the surest pairs
# ----------------------------
# The share of right labels among all new pairs, and among the 70 % and 50 % that each
# tie model is surest of. ``bradley_terry`` sees the difference of two scores and
# nothing else; two low scores and two high ones of the same difference are one pair to
# it. ``graded_relevance``, the default, gives each item a distribution over grades, and
# so knows that two items of low score are more often tied. ``feature_aware_relevance``
# looks at the features too.
coverages = (1.0, 0.7, 0.5)
accuracy = {
    name: [
        accuracy_at_coverage(share)(ranker, new.data, new.target, qid=new.qid)
        for share in coverages
    ]
    for name, ranker in rankers.items()
}
print(f"{'accuracy on the surest':<24}" + "".join(f"{c:>8.0%}" for c in coverages))
for name, row in accuracy.items():
    print(f"{name:<24}" + "".join(f"{value:>8.3f}" for value in row))

# %%
# The same at every coverage; a higher curve is better. The models that know more than
# the difference are above the others as pairs are given up. The lowest where most pairs
# are decided, our reading of the BALToR paper, takes the scores as they are and only
# counts how many pairs are tied: it is there for comparison, not for use.
_, ax = plt.subplots(figsize=(5.5, 5.4), layout="constrained")
for name in tie_models:
    RiskCoverageDisplay.from_estimator(
        rankers[name],
        new.data,
        new.target,
        qid=new.qid,
        kind="accuracy",
        name=name,
        ax=ax,
    )
ax.set_title("Right answers among the surest pairs")

# %%
# Are the probabilities honest?
# -----------------------------
# Of pairs that are called a tie with 30 %, three in ten should be ties: points on the
# diagonal. Those of the counts are far too sure. Honest is not all: ``bradley_terry``
# without counts is near the diagonal, too, as :doc:`plot_02_displays` shows, and still
# right less often than the default. :doc:`../tie_models` says which to take when, and
# ``examples/programs/tie_models.py`` and ``pair_reliability.py`` measure them on real
# collections.
two = ("bradley_terry (counts)", "graded_relevance")
figure, axes = plt.subplots(1, 2, figsize=(9, 5.6), sharey=True, layout="constrained")
figure.suptitle("Probabilities near the diagonal are right")
for ax, name in zip(axes, two, strict=True):
    PairReliabilityDisplay.from_estimator(
        rankers[name], new.data, new.target, qid=new.qid, ax=ax
    )
    ax.set_title(name)
    ax.label_outer()
plt.show()
