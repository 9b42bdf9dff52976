"""
Decide better with an ensemble
==============================

Boosters are trained for the top of a list. A ranker that decides pairs needs more: its
gaps must say which pairs are sure, all the way down the list. ``RankerEnsemble`` adds
to the booster's score the grades that classifiers expect, of the features and of the
features relative to their query.
"""

# %%
# Queries with a level of their own
# ---------------------------------
# In these simulated queries each feature has a level of the query, as measurements of
# one clinic have that of its device. Only differences within the query tell items
# apart. MQ2008 is taken instead where ``SKRANK_DATA`` names its folder.
import os
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from lightgbm import LGBMRanker, early_stopping

from skrank_abstain import BALToR
from skrank_abstain.datasets import load_letor, make_ranking
from skrank_abstain.displays import RiskCoverageDisplay
from skrank_abstain.scorers import RankerEnsemble

folder = Path(os.environ.get("SKRANK_DATA", "data"), "MQ2008", "Fold1")
if folder.exists():
    fold = load_letor(folder)
    train, past, new = fold.train, fold.validation, fold.test
else:
    train, past, new = (make_ranking(200, random_state=k) for k in range(3))
    for k, part in enumerate((train, past, new)):
        _, query = np.unique(part.qid, return_inverse=True)
        levels = np.random.default_rng(k).normal(size=(200, part.data.shape[1]))
        part.data = part.data + levels[query]

# %%
# Three rankers
# -------------
# A booster with its defaults; one that stops when the validation queries gain nothing;
# and an ensemble around the latter. A fitted ranker stays as it is: only the two
# classifiers are trained.
warnings.filterwarnings("ignore", "The argument 'eval_set'")  # new names since 4.7
sizes, past_sizes = (
    np.unique(part.qid, return_counts=True)[1] for part in (train, past)
)
plain = LGBMRanker(n_jobs=1, verbose=-1)
plain.fit(train.data, train.target, group=sizes)
stopped = LGBMRanker(n_estimators=500, learning_rate=0.05, n_jobs=1, verbose=-1)
stopped.fit(
    *(train.data, train.target),
    group=sizes,
    eval_set=[(past.data, past.target)],
    eval_group=[past_sizes],
    callbacks=[early_stopping(50, verbose=False)],
)
ensemble = RankerEnsemble(stopped).fit(train.data, train.target, qid=train.qid)

# %%
# What 60 % of the pairs are worth
# --------------------------------
# All three decide the same share of the pairs of new queries. The ensemble decides more
# of them as they are.
models = {"booster": plain, "early stopping": stopped, "ensemble": ensemble}
rankers = {
    name: BALToR(model, coverage=0.6, loss="zero_one", random_state=0).fit(
        past.data, past.target, qid=past.qid
    )
    for name, model in models.items()
}
totals = {
    name: ranker.evaluate(new.data, new.target, qid=new.qid)
    for name, ranker in rankers.items()
}
for name, found in totals.items():
    print(f"{name:15} {found.coverage:.1%} decided, {found.accuracy:.1%} of them right")

# %%
# At every coverage
# -----------------
_, ax = plt.subplots(figsize=(5.5, 4.4), layout="constrained")
for name, ranker in rankers.items():
    RiskCoverageDisplay.from_estimator(
        ranker, new.data, new.target, qid=new.qid, name=name, ax=ax
    )
ax.set_title("An ensemble makes fewer mistakes at every coverage")

# %%
# One item needs its list
# -----------------------
# The ensemble compares an item with the others of its query. An item that is served
# alone has no such features, and another candidate changes the scores of all: pass the
# whole list, and name its query. ``context=False`` makes an ensemble without them.
first = new.qid == new.qid[0]
together = ensemble.predict(new.data[first], qid=0)
alone = ensemble.predict(new.data[first][:1], qid=0)
print(f"the first item: {together[0]:+.2f} with its list, {alone[0]:+.2f} alone")
try:
    ensemble.predict(new.data[first])
except ValueError as error:
    print(error)
plt.show()
