"""
Train, calibrate and decide on a Dask cluster
=============================================

The queries lie in partitions: LightGBM trains on some, the threshold comes from others,
and the pairs of new ones are decided where they lie. Nothing but numbers of pairs and
small samples comes back to this process, and the calibrated ranker is the one that one
machine would have given, to the last bit. It takes
``pip install -e ".[dask,lightgbm,plot]"``.
"""

# %%
# A cluster, and frames on it
# ---------------------------
# Each partition holds whole queries. Yours come from files, by ``dd.read_parquet``.
import warnings

import dask.dataframe as dd
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster
from lightgbm import DaskLGBMRanker

from skrank_abstain import BALToR
from skrank_abstain.datasets import make_ranking
from skrank_abstain.partitions import calibrate, check_partitions, deferred, evaluate

# Two workers in this process. For processes of their own, the default, a script has to
# be guarded as for multiprocessing; of a real cluster Client takes the address.
cluster = LocalCluster(
    n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0"
)
client = Client(cluster)


def partition(seed):
    data = make_ranking(n_queries=20, n_items=40, random_state=seed)
    frame = pd.DataFrame(data.data).add_prefix("feature_")
    frame["relevance"] = data.target
    frame["query"] = [f"{seed}-{query}" for query in data.qid]
    frame["item"] = [f"item {k}" for k in range(len(frame))]
    return frame


train, past, new = (
    dd.from_map(partition, range(first, first + 4)) for first in (0, 4, 8)
)

# %%
# Train
# -----
# LightGBM takes a query that lies in two partitions without a word, so look before.
# What it does say is how its workers find each other.
check_partitions(train, qid="query")
sizes = train.map_partitions(
    lambda part: part.groupby("query", sort=False).size().reset_index(drop=True),
    meta=pd.Series(dtype=np.int64),
)
features = [name for name in train.columns if name.startswith("feature_")]
model = DaskLGBMRanker(client=client, n_estimators=50, verbose=-1)
with warnings.catch_warnings():
    warnings.filterwarnings("ignore", "Parameter n_jobs will be ignored")
    model.fit(train[features], train["relevance"], group=sizes)

# %%
# Calibrate
# ---------
# What :func:`~skrank_abstain.partitions.calibrate` gives is an ordinary fitted ranker:
# the one of one machine that holds all rows.
unfitted = BALToR(model, coverage=0.7, random_state=0)
columns = {"label": "relevance", "qid": "query"}
ranker = calibrate(unfitted, past, **columns)
rows = past.compute()
alone = unfitted.fit(rows[features], rows["relevance"], qid=rows["query"])
print(f"{ranker.n_pairs_:,} pairs of {ranker.n_queries_} queries, calibrated")
print(f"  on the cluster: threshold {ranker.threshold_}")
print(f"  on one machine: threshold {alone.threshold_}")

# %%
# Evaluate
# --------
# Sums over the pairs of each partition come back.
table = []
for coverage in (0.3, 0.5, 0.7, 0.9, 1.0):
    totals = evaluate(ranker.at_coverage(coverage), new, **columns)
    table.append((coverage, totals.coverage, totals.selective_risk, totals.yardstick))
names = ["asked for", "decided", "wrong order", "by a coin"]
found = pd.DataFrame(table, columns=names)
print(found.round(3).to_string(index=False))

# %%
# Decide
# ------
# The riskiest pairs among the first three of each query are for people. The list is a
# lazy frame, made where the queries lie.
todo = deferred(ranker, new, qid="query", item_id="item", within_top=3)
print(todo[["qid", "left_id", "right_id", "risk"]].head().to_string(index=False))

client.close()
cluster.close()

# %%
# In a picture
# ------------
# The fewer new pairs are decided, the fewer of them are in the wrong order.
_, ax = plt.subplots(figsize=(5.5, 4), layout="constrained")
ax.plot(found["decided"], found["wrong order"], marker="o", color="#0072B2")
ax.set(
    xlabel="share of new pairs that is decided",
    ylabel="share of these in the wrong order",
    title="Fewer pairs decided, fewer wrong orders",
)
plt.show()
