"""
Who is among the best? Sets with a promise
==========================================

A ranker names, for each query, a set that holds one of its most relevant items with
probability 1 - alpha: the candidates to invite, the documents to read. Where scores are
far apart the set is small; where they are not, it says so by its size.
"""

# %%
# A fitted ranker, and three promises
# -----------------------------------
# Any scikit-learn regressor scores items. The queries of MQ2008 are used where they are
# at hand (the folder that holds them in the variable SKRANK_DATA), simulated ones
# otherwise.
import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank_abstain.datasets import load_letor, make_ranking
from skrank_abstain.queries import TopSetDisplay, TopSetRanker

folder = Path(os.environ.get("SKRANK_DATA", "data"), "MQ2008", "Fold1")
if folder.exists():
    fold = load_letor(folder)
    train, past, new = fold.train, fold.validation, fold.test
else:
    train, past, new = (
        make_ranking(500, n_items=(5, 30), random_state=k) for k in range(3)
    )

model = make_pipeline(StandardScaler(), Ridge()).fit(train.data, train.target)
rankers = {
    alpha: TopSetRanker(model, alpha=alpha, random_state=0).fit(
        past.data, past.target, qid=past.qid
    )
    for alpha in (0.3, 0.2, 0.1)
}

# %%
# The sets of a few queries
# -------------------------
# One boolean per item. The promise is about new queries from the same source, all of
# them together, and holds whatever the ranker is worth: a poor one has larger sets.
chosen = rankers[0.1].predict_set(new.data, qid=new.qid)
for query in np.unique(new.qid)[:8]:
    rows = chosen[new.qid == query].nonzero()[0]
    n_items = np.sum(new.qid == query)
    print(f"query {query}: {rows.size} of {n_items} items, rows {rows.tolist()}")

# %%
# Is the promise kept?
# --------------------
# ``score`` is the share of new queries whose set holds a best item. A smaller alpha
# asks for larger sets; no set is empty, so that more may be kept than was promised.
print(f"{'alpha':>6}{'promised':>10}{'kept':>8}{'mean size':>11}")
table = []
for alpha, ranker in rankers.items():
    kept = ranker.score(new.data, new.target, qid=new.qid)
    size = ranker.set_sizes(new.data, qid=new.qid).mean()
    table.append((1 - alpha, kept, size))
    print(f"{alpha:>6}{1 - alpha:>10.0%}{kept:>8.1%}{size:>11.2f}")

# %%
# The first five
# --------------
# With ``k=5`` a set holds nine in ten of the first five, on average over queries. The
# five items of highest score hold fewer: the promise says how many more to look at.
five = TopSetRanker(model, k=5, alpha=0.1, random_state=0)
five.fit(past.data, past.target, qid=past.qid)
results = five.evaluate(new.data, new.target, qid=new.qid)
print(f"{results.mean_size:.1f} items hold {results.share:.1%} of the first five")

# %%
# Beside as many items of every list
# ----------------------------------
# *Coverage* is the share of sets that hold a best item. The other line takes as many
# items of every query. Both need more items for a higher
# share; where queries differ, sets of different sizes need fewer on average.
display = TopSetDisplay.from_estimator(
    rankers[0.1], new.data, new.target, qid=new.qid, name="sets"
)
display.ax_.set_title("Sets that hold a best item (point: alpha = 0.1)")
plt.show()
