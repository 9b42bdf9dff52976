"""
Predict rankings of labels, and stop where they are unsure
==========================================================

Each person ranks all labels, as in a survey about five dishes. A ranker learns to
predict such rankings, and leaves open the pairs of labels that it is least sure of:
fewer orders, more of them right (:doc:`../multilabel`).
"""

# %%
# Everybody ranks everything
# --------------------------
# Simulated: how much a person likes a dish depends on four features of the person, on
# the dish, and on noise. Relevance is the position from below, the best dish having the
# highest.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import RandomForestRegressor

from skrank_abstain.metrics import correctness_completeness_score
from skrank_abstain.multilabel import LinearMultilabelRanker, SelectiveMultilabelRanker

rng = np.random.default_rng(0)
X = rng.normal(size=(1200, 4))
liking = X @ rng.normal(size=(4, 5)) + np.arange(5) / 2 + rng.normal(size=(1200, 5))
y = liking.argsort(axis=1).argsort(axis=1)
train, new = slice(800), slice(800, None)

# %%
# Three rankers
# -------------
# The same ranking for everybody (labels by mean relevance, Borda's count), linear
# scores, and a random forest: any regressor of several outputs will do. No two labels
# are equally relevant, and a model of ties would be in the way.
models = {
    "same for everybody": DummyRegressor(),
    "linear": LinearMultilabelRanker(alpha=0.01),
    "forest": RandomForestRegressor(50, min_samples_leaf=5, random_state=0),
}
rankers = {
    name: SelectiveMultilabelRanker(
        model, tie_model="bradley_terry", random_state=0
    ).fit(X[train], y[train])
    for name, model in models.items()
}

# %%
# Where it is least sure, or by lot
# ---------------------------------
# Completeness is the share of label pairs that are ordered, correctness the right less
# the wrong orders, over both: 1 if all are right, 0 for guessing. Each ranker leaves
# open the pairs of the highest risk, and, beside it, as many pairs by lot.
coverages = (1.0, 0.8, 0.6, 0.4, 0.2)
left_open = ("least sure", "by lot")
found = {(name, rule): [] for name in rankers for rule in left_open}
for name, ranker in rankers.items():
    for coverage in coverages:
        pairs = ranker.at_coverage(coverage).predict_pairs(X[new])
        truth = np.sign(y[new].ravel()[pairs.left] - y[new].ravel()[pairs.right])
        drawn = np.random.default_rng(0).permutation(pairs.accepted)
        for rule, decided in zip(left_open, (pairs.accepted, drawn), strict=True):
            score = correctness_completeness_score(truth, pairs.label, decided)
            found[name, rule].append(score)

print("Correctness where this share of the pairs is to be decided")
print(f"{'':<20}{'left open':<12}" + "".join(f"{c:>7.0%}" for c in coverages))
for (name, rule), scores in found.items():
    print(f"{name:<20}{rule:<12}" + "".join(f"{score[0]:>7.2f}" for score in scores))

# %%
# Pairs left open by lot change nothing but by chance. Pairs left open for their risk
# make the rest better. Compare with the same ranking for everybody: that curve, not the
# dotted lines, is what a learned ranker has to beat. On real people and their sushi
# that takes more: ``examples/programs/label_ranking_abstention.py`` measures it.
styles = (("#555555", "s"), ("#0072B2", "o"), ("#D55E00", "^"))
figure, ax = plt.subplots(figsize=(6, 4.2), layout="constrained")
for name, (colour, marker) in zip(rankers, styles, strict=True):
    for rule, line in zip(left_open, ("-", ":"), strict=True):
        correctness, completeness = np.transpose(found[name, rule])
        label = name if rule == "least sure" else "as many by lot"
        mark = marker if rule == "least sure" else None
        ax.plot(completeness, correctness, line, c=colour, marker=mark, label=label)
ax.invert_xaxis()
ax.set(xlabel="completeness: label pairs ordered", ylabel="correctness")
ax.set_title("Fewer orders, more of them right")
figure.legend(loc="outside lower center", ncols=3, frameon=False)
plt.show()
