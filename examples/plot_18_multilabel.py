"""
Rank the labels of a sample
===========================

A sample may have several labels, and some suit it better than others. Rankers put the
labels of each sample in order, losses of whole rankings compare them, and a selective
ranker leaves open the pairs of labels that it is least sure of
(:doc:`../multilabel`).
"""

# %%
# Two ways to order labels
# ------------------------
# Simulated texts with one to several of five labels. One classifier per label gives
# log odds, which are scores of labels.
# :class:`~skrank_abstain.multilabel.LinearMultilabelRanker` learns the order of all
# labels at once, as one convex problem. Both have to beat the same ranking for every
# text.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank_abstain.displays import RiskCoverageDisplay
from skrank_abstain.multilabel import (
    LinearMultilabelRanker,
    SelectiveMultilabelRanker,
    multilabel_sample_losses,
)

X, y = make_multilabel_classification(
    1200, n_classes=5, allow_unlabeled=False, random_state=0
)
train, new = slice(800), slice(800, None)
models = {
    "one classifier per label": OneVsRestClassifier(LogisticRegression(C=0.1)),
    "linear ranker": LinearMultilabelRanker(alpha=0.01),
}
scores = {"most frequent first": np.tile(y[train].mean(axis=0), (400, 1))}
for name, model in models.items():
    models[name] = make_pipeline(StandardScaler(), model).fit(X[train], y[train])
    scores[name] = models[name].decision_function(X[new])

# %%
# Losses of whole rankings
# ------------------------
# Lower is better in each column: how far relevant labels are from their best places,
# counted to the third; label pairs in the wrong order; one minus the average precision.
# ``examples/programs/multilabel_ranking.py`` measures more losses on real collections.
kinds = {
    "sum@3": {"loss": "sum", "p": 3},
    "pairs": {"loss": "pairwise"},
    "1 - AP": {"loss": "average_precision"},
}
losses = {
    (name, kind): multilabel_sample_losses(y[new], scores[name], **arguments)
    for name in scores
    for kind, arguments in kinds.items()
}
print(f"{'':<25}" + "".join(f"{kind:>8}" for kind in kinds))
for name in scores:
    print(f"{name:<25}" + "".join(f"{losses[name, k].mean():>8.3f}" for k in kinds))

# %%
# Is one of the two better than the other? Each sample has a loss of its own, so that
# the difference comes with a standard error. It is no larger than chance here.
gap = losses["linear ranker", "sum@3"] - losses["one classifier per label", "sum@3"]
error = gap.std(ddof=1) / np.sqrt(gap.size)
print(f"sum@3, linear ranker less classifiers: {gap.mean():+.3f} ± {error:.3f}")

# %%
# Deciding only the surest pairs of labels
# ----------------------------------------
# A selective ranker goes around any of them, trained on three quarters of its samples
# and calibrated on the others. Each label gets the range of ranks that the decided
# orders leave open.
rankers = {
    name: SelectiveMultilabelRanker(
        model, coverage=0.6, prefit=False, random_state=0
    ).fit(X[train], y[train])
    for name, model in models.items()
}
ranker = rankers["one classifier per label"]
labels = ("sports", "politics", "culture", "science", "travel")
true = {label for label, relevant in zip(labels, y[new][0], strict=True) if relevant}
print("A new text, best label first; * its true labels")
first = ranker.ranking(X[new][:1], item_id=labels)
for place, label, best, worst in zip(
    first.place, first.item_id, first.best, first.worst, strict=True
):
    print(f"{place:>4}  {label:<9}{'*' * (label in true):2}{best} to {worst}")

# %%
# What silence is worth
# ---------------------
# The fewer pairs of labels are decided, the smaller is the share of wrong orders. Two
# labels that are both relevant, or neither, have no wrong order.
figure, ax = plt.subplots(figsize=(6, 4.5), layout="constrained")
for name, ranker in rankers.items():
    RiskCoverageDisplay.from_estimator(
        ranker,
        X[new],
        y[new],
        reference=name == "linear ranker",
        name=name,
        ax=ax,
    )
ax.set_title("Fewer pairs of labels, fewer wrong orders")
plt.show()
