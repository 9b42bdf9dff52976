"""
Choose a loss
=============

The loss says what a wrong answer about a pair costs, and with it what is worth
deciding. Where most pairs are ties, "they are equal" is the surest answer there is, and
with the loss of the papers a ranker gives it: it is often right, and orders little. By
default an order of equal items costs nothing.
"""

# %%
# The same scores, three losses
# -----------------------------
# With ``"zero_one"`` a tie is an answer like the other
# two, right or wrong. With ``"misranking"`` a wrong order costs 1, and so does a tie
# between items that differ: a tie is an answer for equal scores alone, and to order two
# equal items costs nothing. With ``"clear_order"`` an order of two equal items is a
# mistake like a wrong order, and a missed order ten times as bad, so that ties are
# hardly answered. A matrix says anything else: rows are what is predicted, columns what
# is true, both in the order right item preferred, tie, left item preferred; the last
# one is ``[[0, 1, 1], [10, 0, 10], [1, 1, 0]]``.
import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from lightgbm import LGBMRanker

from skrank_abstain import BALToR
from skrank_abstain.datasets import load_letor, make_ranking
from skrank_abstain.pairs import pair_labels

folder = Path(os.environ.get("SKRANK_DATA", "data"), "MQ2008", "Fold1")
if folder.exists():
    fold = load_letor(folder)
    train, past, new = fold.train, fold.validation, fold.test
else:
    train, past, new = (make_ranking(300, random_state=k) for k in range(3))

sizes = np.unique(train.qid, return_counts=True)[1]
model = LGBMRanker(n_jobs=1, verbose=-1).fit(train.data, train.target, group=sizes)
losses = {
    "zero_one": "zero_one",
    "misranking": "misranking",
    "clear_order": "clear_order",
}
rankers = {
    name: BALToR(model, loss=loss, random_state=0).fit(
        past.data, past.target, qid=past.qid
    )
    for name, loss in losses.items()
}

# %%
# Where nearly all answers are ties, as they are on MQ2008 with ``"zero_one"``, ``fit``
# warns of it.
#
# What is decided, and what it is worth
# -------------------------------------
# Shares are of all new pairs, but for two: *wrong* is the share of the decided orders
# that are the wrong way round, *top 5* the share of the first five places of all
# queries that the decided orders fill, right or wrong.
rows = []
in_top = np.minimum(np.unique(new.qid, return_counts=True)[1], 5).sum()
for name, ranker in rankers.items():
    for coverage in (0.9, 0.7, 0.5):
        at = ranker.at_coverage(coverage)
        pairs = at.predict_pairs(new.data, qid=new.qid)
        truth = pair_labels(new.target, pairs.left, pairs.right)
        order = pairs.decided_order
        misranked = order & (pairs.label == -truth) & (truth != 0)
        kinds = order, misranked, order & (truth == 0), pairs.decided_tie
        _, worst = at.rank_intervals(new.data, qid=new.qid).T
        shares = [kind.mean() for kind in kinds]
        rows.append((name, coverage, *shares, (worst <= 5).sum() / in_top))

print(f"{'loss':<13}{'asked for':>10}{'orders':>9}{'wrong':>8}{'ties':>8}{'top 5':>8}")
for name, coverage, orders, wrong, _, ties, top in rows:
    print(
        f"{name:<13}{coverage:>10.0%}{orders:>9.1%}"
        + (f"{wrong / orders:>8.1%}" if orders else f"{'-':>8}")
        + f"{ties:>8.1%}{top:>8.1%}"
    )

# %%
# In a picture: each bar is all pairs of the new queries, and what is missing to its end
# is left to a person. With ``"zero_one"`` part of the budget goes to ties. With
# ``"misranking"`` much of it goes to orders of equally relevant items, which are free:
# its orders are seldom wrong, and say less about who is on top. With ``"clear_order"``
# clear orders come first.
#
# So: who wants all the budget to go to orders, and few of them wrong, keeps
# ``"misranking"``: at as many orders it has the fewest wrong ones. Compare its half of
# the pairs with the 70 % of ``"zero_one"``, which are fewer orders. Who wants to know
# which items are equal takes ``"zero_one"``, who wants most of the first places filled
# ``"clear_order"``: they are as right as those by score alone. On real collections
# ``examples/programs/losses.py`` measures this; :doc:`../which_loss` has the figures.
figure, axes = plt.subplots(figsize=(6.5, 4.8), layout="constrained")
labels = [f"{name}, {coverage:.0%}" for name, coverage, *_ in rows]
orders, wrong, equal, ties = np.array([row[2:6] for row in rows]).T
left = np.zeros(len(rows))
for width, colour, label in (
    (orders - wrong - equal, "#0072B2", "order, right"),
    (wrong, "#D55E00", "order, the wrong way round"),
    (equal, "#E69F00", "order of equally relevant items"),
    (ties, "#009E73", "tie"),
):
    axes.barh(labels, width, left=left, color=colour, label=label)
    left += width
axes.invert_yaxis()
axes.set(xlim=(0, 1), xlabel="share of all pairs", ylabel="loss, coverage asked for")
axes.set_title("What each loss decides")
figure.legend(loc="outside lower center", ncols=2, frameon=False)

# %%
# What a decided pair loses
# -------------------------
# The ``selective_risk`` of :meth:`~skrank_abstain.BALToR.evaluate` is the mean loss of
# a decided pair, its ``accuracy`` the share of right labels, whatever the loss. An
# order of two equally relevant items costs nothing with ``"misranking"``, and yet is no
# right label; with ``"zero_one"`` one minus the loss is the accuracy. So compare losses
# by neither: ask what the answers are for. Within one loss, compare a risk with its
# ``yardstick``: what a coin, or a tie for every pair, would have lost.
print(f"{'half of the pairs':<18}{'1 - loss':>10}{'blind':>8}{'accuracy':>13}")
for name, ranker in rankers.items():
    half = ranker.at_coverage(0.5)
    totals = half.evaluate(new.data, new.target, qid=new.qid)
    kept, blind = 1 - totals.selective_risk, 1 - totals.yardstick
    print(f"{name:<18}{kept:>10.3f}{blind:>8.3f}{totals.accuracy:>13.3f}")
plt.show()
