"""
Leave items that a ranker has never seen to a person
====================================================

A tenth of the new items is made strange: each of their features is drawn from another
item, so that no feature is unusual by itself, and all of them together are. A ranker
scores them as it scores any item. An outlier detector finds them, and pairs with a
novel item are left to a person.
"""

# %%
# Strange items
# -------------
# Simulated queries with features that go together, as those of real items do.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.covariance import EllipticEnvelope
from sklearn.ensemble import IsolationForest
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank_abstain import BALToR
from skrank_abstain.datasets import make_ranking

mix = np.random.default_rng(0).normal(size=(10, 20))
train, past, new = (make_ranking(300, random_state=k) for k in range(3))
for k, part in enumerate((train, past, new)):
    noise = np.random.default_rng(k).normal(size=(part.qid.size, 20))
    part.data = part.data @ mix + 0.1 * noise


def with_strange_items(X, share):
    """Draw the features of some rows column by column; return X and which they are."""
    rng = np.random.default_rng(0)
    strange = rng.random(X.shape[0]) < share
    rows = rng.integers(0, X.shape[0], (strange.sum(), X.shape[1]))
    X = X.copy()
    X[strange] = X[rows, np.arange(X.shape[1])]
    return X, strange


# %%
# Two detectors
# -------------
# Any outlier detector of scikit-learn will do. Fitted on other items than those that
# calibrate, it is used as it is; an unfitted one is fitted on a part of them.
model = make_pipeline(StandardScaler(), Ridge()).fit(train.data, train.target)
detectors = {
    "no detector": None,
    "EllipticEnvelope": EllipticEnvelope(support_fraction=1.0).fit(train.data),
    "IsolationForest": IsolationForest(random_state=0).fit(train.data),
}
rankers = {
    name: BALToR(
        model, coverage=0.6, novelty=detector, novelty_level=0.05, random_state=0
    ).fit(past.data, past.target, qid=past.qid)
    for name, detector in detectors.items()
}
colours = dict(zip(detectors, ("#555555", "#0072B2", "#D55E00"), strict=True))

# %%
# Which detector sees what?
# -------------------------
# Each item has a p-value against the calibration queries: of the usual items a share of
# 0.05 is at most 0.05, whatever the detector. Only one that looks at how features go
# together finds these strange ones; a forest looks at one feature at a time.
X, strange = with_strange_items(new.data, 0.1)
power, false_alarms = {}, {}
_, ax = plt.subplots(figsize=(5.5, 4.8), layout="constrained")
print(f"{'detector':18}{'found':>8}{'false alarms':>14}")
for name in ("EllipticEnvelope", "IsolationForest"):
    pvalues = rankers[name].novelty_pvalues(X)
    for some, style, what in ((strange, "-", "strange"), (~strange, ":", "usual")):
        values = np.sort(pvalues[some])
        share = np.arange(1, values.size + 1) / values.size
        label = f"{name}: {what} items"
        ax.step(values, share, style, color=colours[name], label=label)
    power[name] = np.mean(pvalues[strange] <= 0.05)
    false_alarms[name] = np.mean(pvalues[~strange] <= 0.05)
    print(f"{name:18}{power[name]:>8.1%}{false_alarms[name]:>14.1%}")
ax.axvline(0.05, color="0.6", linewidth=1, label="novelty_level")
ax.set(
    title="The further left, the more novel",
    xlabel="p-value",
    ylabel="share of items with at most this",
    xscale="log",
)
below = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.16), "frameon": False}
ax.legend(ncols=2, fontsize="small", **below)

# %%
# What is decided stays right
# ---------------------------
# All are calibrated to decide 60 % of the pairs. Without a detector, pairs with strange
# items are decided like the others, and more of the decisions are wrong the more items
# are strange. The right detector leaves these pairs open instead; without strange items
# its false alarms cost a little. The wrong one has the false alarms and nothing else.
shares = (0.0, 0.05, 0.1, 0.2, 0.3)
kept = {}
_, ax = plt.subplots(figsize=(5.5, 4.4), layout="constrained")
for name, ranker in rankers.items():
    kept[name] = []
    for share in shares:
        X, _ = with_strange_items(new.data, share)
        totals = ranker.evaluate(X, new.target, qid=new.qid)
        kept[name].append(1 - totals.selective_risk)
    ax.plot(shares, kept[name], "o-", color=colours[name], label=name)
ax.set_title("What the right detector leaves to be decided stays right")
ax.set(xlabel="share of strange items", ylabel="decided pairs not in the wrong order")
ax.legend(ncols=3, fontsize="small", **below)
plt.show()
