"""
Which lists should a person look at?
====================================

A search engine answers every query, and some answers are poor. Before any feedback is
seen, a ranker expects an NDCG of each list, and leaves the lists of which it expects
least to a person: abstention on whole queries.
"""

# %%
# About half of the lists
# -----------------------
# Any scikit-learn regressor scores items. The queries of MQ2008 are used where they are
# at hand (the folder that holds them in the variable SKRANK_DATA), simulated ones
# otherwise.
import os
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank_abstain.datasets import load_letor, make_ranking
from skrank_abstain.queries import QueryRiskDisplay, QueryRiskRanker

folder = Path(os.environ.get("SKRANK_DATA", "data"), "MQ2008", "Fold1")
if folder.exists():
    fold = load_letor(folder)
    train, past, new = fold.train, fold.validation, fold.test
else:
    train, past, new = (
        make_ranking(300, n_items=(5, 20), random_state=k) for k in range(3)
    )

model = make_pipeline(StandardScaler(), Ridge()).fit(train.data, train.target)
ranker = QueryRiskRanker(model, metric="ndcg@10", coverage=0.5, random_state=0)
ranker.fit(past.data, past.target, qid=past.qid)
lists = ranker.accept_queries(new.data, qid=new.qid)
print(
    f"{lists.accepted.sum()} of {len(lists)} lists are shown, the others are checked:"
)
print(lists.to_frame().query("not accepted").head(3))

# %%
# Are the lists that are kept the better ones?
# --------------------------------------------
# ``score`` is the mean metric of the lists kept, where this share is asked for. One
# ranker per metric: what is a good list depends on what it is used for.
print(f"{'metric':14}{'all':>8}{'70 %':>8}{'50 %':>8}")
rankers, found = {}, {}
for metric in ("ndcg@10", "mrr", "precision@3"):
    found[metric] = []
    for coverage in (1.0, 0.7, 0.5):
        ranker = QueryRiskRanker(
            model, metric=metric, coverage=coverage, random_state=0
        ).fit(past.data, past.target, qid=past.qid)
        found[metric].append(ranker.score(new.data, new.target, qid=new.qid))
    rankers[metric] = ranker
    print(f"{metric:14}" + "".join(f"{value:>8.3f}" for value in found[metric]))

# %%
# The loss, one minus the metric, as fewer lists are kept, from right to left. The
# dotted lines are what lists left out by lot would do. Few lists are left at the left
# end, and the curves are rough there.
_, ax = plt.subplots(figsize=(5.5, 5.5), layout="constrained")
for metric, ranker in rankers.items():
    QueryRiskDisplay.from_estimator(
        ranker, new.data, new.target, qid=new.qid, name=metric, ax=ax
    )
ax.set_ylabel("1 - metric of the accepted queries, lower is better")
ax.set_title("Lists that are kept lose less")

# %%
# A bound on the loss
# -------------------
# With ``max_risk`` the threshold is certified: the expected loss of the accepted lists
# is at most the bound, with probability 0.9 over the calibration queries. Where these
# are too few to certify anything, no list is accepted, and a warning says so.
bound = round(0.9 * (1 - found["ndcg@10"][0]), 3)
certified = QueryRiskRanker(model, max_risk=bound, random_state=0)
with warnings.catch_warnings():
    warnings.filterwarnings("ignore", "No threshold could be certified")
    certified.fit(past.data, past.target, qid=past.qid)
print(f"1 - ndcg@10 at most {bound:g}: certified: {certified.certified_}")
shown = certified.accept_queries(new.data, qid=new.qid).accepted
print(f"{shown.mean():.0%} of the new lists are accepted", end="")
if shown.any():
    loss = 1 - certified.score(new.data, new.target, qid=new.qid)
    print(f"; their 1 - ndcg@10 is {loss:.3f}")
plt.show()
