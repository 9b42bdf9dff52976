"""
How many queries to calibrate on
================================

A threshold that accepts 70 % of the calibration pairs accepts 70 % of the pairs of new
queries only up to what queries differ by. Calibrate on 12, 48 and 192 queries, a number
of times each, and look at as many new ones.
"""

# %%
# Calibrate, and look at new queries
# ----------------------------------
# One ranker; each draw has its own queries to calibrate on, and as many new ones.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import Ridge

from skrank_abstain import BALToR
from skrank_abstain.datasets import make_ranking

train = make_ranking(200, random_state=0)
model = Ridge().fit(train.data, train.target)
sizes, n_draws = (12, 48, 192), 20


def draws(n_queries, guarantee):
    """Return columns: decided, per query, interval; a row for each draw."""
    rows = []
    for k in range(n_draws):
        past, new = (make_ranking(n_queries, random_state=2 * k + j) for j in (1, 2))
        ranker = BALToR(
            model, coverage=0.7, coverage_guarantee=guarantee, random_state=0
        ).fit(past.data, past.target, qid=past.qid)
        totals = ranker.evaluate(new.data, new.target, qid=new.qid)
        per_query = (totals.accepted / totals.pairs).mean()
        rows.append((totals.coverage, per_query, *ranker.coverage_interval_))
    return np.array(rows)


plain = {n: draws(n, None) for n in sizes}

# %%
# What is off is mostly which queries there are
# ---------------------------------------------
# In the mean the coverage is as asked for, also with few queries. What shrinks with
# more of them is the scatter from draw to draw: to about a half with four times as
# many. ``coverage_interval_`` of the fitted ranker says it before new queries come, by
# a bootstrap over the calibration queries: where the coverage of as many new queries is
# expected in 95 of 100 cases. The last column counts the draws that kept to it.
print(f"{'queries':>8}{'mean':>8}{'scatter':>9}{'interval':>10}{'':>8}{'inside':>8}")
for n, found in plain.items():
    decided, _, low, high = found.T
    inside = (low <= decided) & (decided <= high)
    print(
        f"{n:>8}{decided.mean():>8.3f}{decided.std():>9.3f}"
        f"{low.mean():>10.3f} to{high.mean():>6.3f}{inside.mean():>8.0%}"
    )

# %%
# Simulated queries are much alike. Those of real collections differ more, and the more
# a tie model knows of a query, the more of its pairs are decided or given up together:
# :doc:`../tie_models` has the figures, and ``examples/programs/coverage_error.py``
# measures them.
#
# At least the coverage asked for
# -------------------------------
# ``coverage_guarantee="hierarchical"`` promises something for any number of queries: a
# random pair of a new query from the same source is decided with a probability of at
# least 0.7, over the draw of the calibration queries and of the new one. So each query
# counts alike, long or short. The promise costs coverage that was not asked for where
# queries are few, and next to nothing where they are many.
promised = {n: draws(n, "hierarchical") for n in sizes}
print(
    f"{'queries':>8}{'plain':>8}{'hierarchical':>14}    mean share of a query decided"
)
for n in sizes:
    print(f"{n:>8}{plain[n][:, 1].mean():>8.3f}{promised[n][:, 1].mean():>14.3f}")

# %%
# Every draw, its new queries as a point and its interval as a line. To the right the
# lines are short, and the points near the share asked for. In the panel of the promise,
# draws of few queries lie above it, in the mean: a single draw may still be below.
figure, axes = plt.subplots(1, 2, figsize=(9, 4.4), sharey=True, layout="constrained")
for ax, title, found in zip(
    axes, ("plain quantile", "hierarchical"), (plain, promised), strict=True
):
    for k, n in enumerate(sizes):
        decided, _, low, high = found[n].T
        x = k + np.linspace(-0.35, 0.35, n_draws)
        ax.vlines(x, low, high, color="#56B4E9", lw=2)
        ax.plot(x, decided, "o", color="#0072B2", ms=4)
    ax.axhline(0.7, color="#555555", ls="--", lw=1)
    ax.set_xticks(range(len(sizes)), [str(n) for n in sizes])
    ax.set(title=title, xlabel="calibration queries")
axes[0].set_ylabel("share of new pairs decided")
figure.suptitle("The more queries calibrate, the closer the coverage is to 0.7")
plt.show()
