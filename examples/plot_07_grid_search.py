"""
Choose the model, the tie model and the coverage in one search
==============================================================

An abstention costs a person's time, a wrong order costs more. Once the price of an
abstention is named, in units of a wrong order, GridSearchCV finds the coverage, the
tie model and the size of the trees that cost least. The patients are scikit-learn's
diabetes data; the clinic days are a synthetic grouping.
"""

# %%
# Name a price, and search
# ------------------------
# A search has to be told the parameters, the price, and which rows belong to one clinic
# day. With metadata routing, ``qid`` reaches the splitter, ``fit`` and the scorers.
# Later days are kept out of the search: they say what its choice is worth.
import matplotlib.pyplot as plt
import pandas as pd
from lightgbm import LGBMRanker
from sklearn import config_context
from sklearn.model_selection import GridSearchCV, GroupKFold

from skrank_abstain import BALToR
from skrank_abstain.datasets import load_triage
from skrank_abstain.metrics import selective_auc_scorer, selective_utility

patients = load_triage(n_grades=3)  # low, medium and high urgency
X, y, day = patients.data, patients.target, patients.qid
later = day >= 24

cost = 0.15  # of an abstention, a wrong order being 1
utility = selective_utility(cost)
ranker = BALToR(
    LGBMRanker(n_estimators=20, learning_rate=0.1, n_jobs=1, verbose=-1),
    random_state=0,
)
grid = {
    "coverage": [0.1, 0.3, 0.5, 0.75, 1.0],
    "tie_model": ["bradley_terry", "graded_relevance"],
    "estimator__num_leaves": [4, 16],
}
with config_context(enable_metadata_routing=True):
    search = GridSearchCV(
        ranker,
        grid,
        scoring={"utility": utility, "in order": selective_auc_scorer},
        refit="utility",
        cv=GroupKFold(3).set_split_request(groups="qid"),
    ).fit(X[~later], y[~later], qid=day[~later])

# %%
# What each candidate is worth
# ----------------------------
# The best ten, as means over three folds of earlier days, and the standard deviation of
# the utility over these. The first ones differ by less than that. A person who is asked
# about every pair is never wrong, and costs the price of every pair.
results = pd.DataFrame(search.cv_results_)
table = results[[f"param_{name}" for name in grid]].set_axis(
    ["coverage", "tie model", "leaves"], axis=1
)
table["utility"] = results["mean_test_utility"]
table["± folds"] = results["std_test_utility"]
table["in order"] = results["mean_test_in order"]
best_first = table.sort_values("utility", ascending=False)
print(best_first.head(10).round(3).to_string(index=False))
print(f"Ask a person about every pair: utility {1 - cost:.3f}")

# %%
# Right orders are no guide
# -------------------------
# Of the decided pairs that differ, the share in the right order is best where next to
# nothing is decided. The utility has its optimum inside.
# The tie models hardly differ: which of two patients comes first is up to the scores,
# and ties cost nothing.
figure, axes = plt.subplots(1, 2, figsize=(9, 4.4), layout="constrained")
colours = {"bradley_terry": "#0072B2", "graded_relevance": "#D55E00"}
for (tie_model, leaves), rows in table.groupby(["tie model", "leaves"]):
    line = "o-" if leaves == 4 else "s--"
    name = f"{tie_model}, {leaves} leaves"
    for ax, value in zip(axes, ("in order", "utility"), strict=True):
        ax.plot(
            rows["coverage"], rows[value], line, color=colours[tie_model], label=name
        )
best = best_first.iloc[0]
axes[1].plot(
    best["coverage"], best["utility"], "o", ms=14, mfc="none", mec="k", label="chosen"
)
axes[1].axhline(1 - cost, color="#555555", ls=":", label="ask about every pair")
figure.suptitle("Choose by the utility, not by the share of right orders")
axes[0].set(xlabel="coverage asked for", ylabel="decided pairs in the right order")
axes[0].set_title("Right orders: best where little is decided")
axes[1].set(xlabel="coverage asked for", ylabel=f"utility, abstention at {cost:g}")
axes[1].set_title("Utility: best in between")
handles, labels = axes[1].get_legend_handles_labels()
_ = figure.legend(handles, labels, frameon=False, ncols=3, loc="outside lower center")

# %%
# What the choice is worth
# ------------------------
# On the later days, which the search has not seen, the choice is worth more than asking
# about every pair, and more than deciding every pair.
print("Later days, pairs of patients of one day")
chosen, rest = search.best_estimator_, (X[later], y[later])
for name, model in (("chosen", chosen), ("every pair decided", chosen.at_coverage(1))):
    totals = model.evaluate(*rest, qid=day[later])
    print(
        f"{name:>20}: utility {utility(model, *rest, qid=day[later]):.3f}, "
        f"{totals.coverage:.1%} decided, {totals.selective_risk:.1%} in the wrong order"
    )
plt.show()
