"""
Order patients, and know what to ask
====================================

A LambdaMART ranker orders the patients of a clinic day by urgency. BALToR decides the
pairs it can order reliably and hands the rest to a person. The patients are
scikit-learn's diabetes data; the clinic days are a synthetic grouping.
"""

# %%
# Train and calibrate
# -------------------
# One row per patient, one query per clinic day (:doc:`../data` says what a query, a
# pair, a tie and an abstention are). Higher is better: ``y`` grows with urgency; where
# 1 is the most urgent case, pass ``y.max() - y``. BALToR trains the ranker on all
# earlier days. They are few, so all of them set the threshold, too: five more models,
# each trained without a fifth of the days, score the patients that they have not seen.
# That is the default below 200 queries (``cv=5``); with more, a quarter of them is set
# aside.
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from lightgbm import LGBMRanker

from skrank_abstain import BALToR
from skrank_abstain.datasets import load_triage

patients = load_triage()
X, y, day = patients.data, patients.target, patients.qid
later = day >= 24

model = LGBMRanker(
    n_estimators=40, learning_rate=0.05, num_leaves=5, n_jobs=1, verbose=-1
)
ranker = BALToR(model, coverage=0.6, random_state=0)
ranker.fit(X[~later], y[~later], qid=day[~later])

# %%
# One day in order
# ----------------
# An item has one rank where the decided pairs, and what follows from them, leave one;
# else they leave a range of ranks. Decided pairs can be wrong.
today = day == 30
names = [f"patient {row}" for row in np.flatnonzero(today)]
print("Day 30, most urgent first")
for item in ranker.ranking(X[today], item_id=names).to_dicts():
    left_open = f"could be {item['best']} to {item['worst']}" * item["open"]
    print(f"{item['place']:>4}  {item['item_id']:<13}{left_open}".rstrip())

# %%
# What to ask
# -----------
# The deferred pairs that keep the first three places open:
decisions = ranker.predict_pairs(X[today], item_id=names)
print("To decide who is among the first three, ask a clinician:")
for pair in decisions.deferred(deciding_top=3):
    print(f"      {pair.left_id} or {pair.right_id}?")

# %%
# An answer, and what it changes
# ------------------------------
# A clinician says which of the first two is more urgent. What people say holds if
# nobody contradicts it; pairs that no answer concerns keep their decisions; and each
# place that changed says why.
# An order that was decided before may be open again: the answer says that the patient
# may be less urgent than the list had it.
said = [{"left": "patient 155", "right": "patient 376", "label": "left"}]
review = ranker.review(X[today], item_id=names, answers=said)
print("The whole list after one answer")
for item in review.changes().to_dicts():
    ranks = f"{item['best']} to {item['worst']}"
    print(
        f"{item['place']:>4}  {item['item_id']:<13}{ranks:<9}{item['because']}".rstrip()
    )

# %%
# What it is worth
# ----------------
# The later days were not used so far. Of the decided pairs that differ, this share is
# in the wrong order; a coin has 50 %, on any data. The fewer pairs are decided, the
# lower it is. What is decided differs a little from what was asked for, since the
# threshold comes from few earlier days.
print("Later clinic days: of the decided pairs that differ, in the wrong order")
print(f"{'asked for':>10} {'decided':>9} {'wrong order':>13} {'95 % interval':>18}")
table = []
for coverage in (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3):
    totals = ranker.at_coverage(coverage).evaluate(X[later], y[later], qid=day[later])
    wrong, low, high = totals.discordance_interval("pairs")
    table.append((coverage, totals.coverage, wrong))
    between = f"{low:.1%} to {high:.1%}"
    print(f"{coverage:>10.0%} {totals.coverage:>9.1%} {wrong:>13.1%} {between:>18}")
print(f"{'a coin':>10} {'':>9} {0.5:>13.1%}")

# %%
# In a picture, beside what leaving out pairs by lot would do:
_, decided, wrong = np.transpose(table)
figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
axes.plot(decided, wrong, marker="o", color="#0072B2", label="BALToR")
axes.axhline(wrong[0], color="#555555", ls="--", label="random abstention")
axes.axhline(0.5, color="#555555", ls=":", label="a coin")
axes.set(
    xlabel="share of pairs decided",
    ylabel="wrong orders of decided pairs that differ",
    ylim=(0, None),
    title="Fewer answers, better answers (ten days, one split)",
)
axes.legend(frameon=False)
path = Path("out", "quickstart.png")
path.parent.mkdir(exist_ok=True)
figure.savefig(path, dpi=120)
print(f"Figure: {path}")
