"""
How sure is an AUC?
===================

The AUC of a sample is an estimate. An interval says how far it may be from the AUC of
the same ranker on new items, or on new queries; a bound says what holds for any number
of items, even for the best of many rankers or for one that was trained on the sample.
:doc:`../auc_bounds` says which one to take.
"""

# %%
# Independent items
# -----------------
# Which patients are urgent? A ranker that was trained on one half of them is judged on
# the other. DeLong's interval uses the data; Hoeffding's holds for any number of items,
# and is much wider.
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import ndtr
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank_abstain.datasets import load_triage
from skrank_abstain.theory import (
    auc_confidence_interval,
    auc_sample_size,
    auc_test_set_bound,
    auc_uniform_bound,
    log_rank_shatter_linear,
)

patients = load_triage()
X, X_new, urgent, urgent_new = train_test_split(
    patients.data, patients.target >= 3, test_size=0.5, random_state=0
)
model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, urgent)
scores = model.decision_function(X_new)
print("95 % interval of the AUC")
for method in ("delong", "bootstrap", "hoeffding"):
    auc, low, high = auc_confidence_interval(
        urgent_new, scores, method=method, random_state=0
    )
    print(f"{method:<10} {auc:.3f}, {low:.3f} to {high:.3f}")

# %%
# Queries
# -------
# Items of one query are not independent, and the interval for items knows nothing of
# queries. Simulated here: the ranker is better in some queries than in others. With
# ``qid`` the AUC is that of the pairs within queries, and the query is the unit of
# sampling. How often do intervals hold the true AUC, in 200 samples of 60 queries?
rng = np.random.default_rng(0)
truth = ndtr(1.2 / np.sqrt(2 + 1))  # of two normal scores, and a normal quality
holds = {"for items": [], "for queries": []}
for _ in range(200):
    qid = np.repeat(np.arange(60), rng.integers(4, 20, 60))
    y = rng.random(qid.size) < 0.3
    quality = rng.normal(1.2, 1, 60)
    scores = rng.normal(quality[qid] * y)
    for name, queries in zip(holds, (None, qid), strict=True):
        _, low, high = auc_confidence_interval(y, scores, qid=queries)
        holds[name].append(low <= truth <= high)
for name, held in holds.items():
    print(f"95 % interval {name:<11} holds the truth in {np.mean(held):.0%}")

# %%
# The interval for items is too short. Where scores also share a level within a query
# it is not even about the same AUC: it compares items of different queries.
#
# The best of twenty
# ------------------
# Choosing on the sample costs less than twice the items, if the rankers were fixed
# before. How many does it take to know the AUC to 0.05, one in four being positive?
best = partial(auc_test_set_bound, n_rankers=20)
for name, bound in {"one ranker": auc_test_set_bound, "best of 20": best}.items():
    m, n = auc_sample_size(0.05, bound, delta=0.05, positive_share=0.25)
    print(f"{name}: {m} positives and {n} negatives")

# %%
# Trained on the sample
# ---------------------
# A linear ranker that was trained on the sample is one of infinitely many. A bound for
# all of them at once takes far more examples until it says anything: guessing has an
# AUC of one half, so that a larger bound cannot tell a perfect result from luck. The
# rarer class decides. The dots are the error that one sample of a hundred exceeds where
# the one feature is noise: all bounds are above.
shatter = partial(log_rank_shatter_linear, n_features=1)
bounds = {
    "all linear rankers": (partial(auc_uniform_bound, log_shatter=shatter), "#0072B2"),
    "best of 20 on a test set": (best, "#CC79A7"),
    "one ranker on a test set": (auc_test_set_bound, "#009E73"),
}
sizes = 10 * np.geomspace(10, 10_000, 60).astype(int)
figure, axes = plt.subplots(1, 2, figsize=(8, 4), sharey=True, layout="constrained")
for ax, positives in zip(axes, (0.5, 0.1), strict=True):
    m = np.round(positives * sizes).astype(int)
    for name, (bound, colour) in bounds.items():
        half = [bound(*counts, delta=0.01) for counts in zip(m, sizes - m, strict=True)]
        ax.plot(sizes, half, color=colour, label=name)
    measured = []
    for k in (0, 20, 40):
        noise = rng.random((500, sizes[k]))
        positive = np.arange(sizes[k]) < m[k]
        error = [abs(roc_auc_score(positive, row) - 0.5) for row in noise]
        measured.append(np.quantile(error, 0.99))
    ax.plot(sizes[[0, 20, 40]], measured, "ko", label="measured")
    ax.axhline(0.5, color="#555555", ls=":", label="guessing")
    ax.set(xscale="log", ylim=(0, 1), xlabel="examples")
    ax.set_title(f"{positives:.0%} positives")
figure.suptitle("How far the AUC of a sample may be from the true one")
axes[0].set_ylabel("AUC of the sample less true AUC")
handles, labels = axes[0].get_legend_handles_labels()
figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
plt.show()
