"""A ranker that is trained, calibrated and asked on a Dask cluster.

The queries lie in partitions: LightGBM trains on some, the threshold comes from others,
and the pairs of new ones are decided where they lie. Nothing but numbers of pairs and
small samples comes back to this process, and the calibrated ranker is the one that one
machine would have given, to the last bit.

    python examples/plot_17_dask.py            # two local processes, a minute
    python examples/plot_17_dask.py --smoke    # a few queries, on threads
"""

import warnings
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import dask.dataframe as dd
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster
from lightgbm import DaskLGBMRanker
from tqdm import tqdm

from skrank_abstain import BALToR
from skrank_abstain.datasets import make_ranking
from skrank_abstain.partitions import calibrate, check_partitions, deferred, evaluate

COVERAGES = [0.3, 0.5, 0.7, 0.9, 1.0]


def partition(seed: int, n_queries: int) -> pd.DataFrame:
    """Return the rows of some queries; yours come from files."""
    data = make_ranking(n_queries=n_queries, n_items=40, random_state=seed)
    frame = pd.DataFrame(data.data).add_prefix("feature_")
    frame["relevance"] = data.target
    frame["query"] = [f"{seed}-{query}" for query in data.qid]
    frame["item"] = [f"item {k}" for k in range(len(frame))]
    return frame


def train(frame: Any, client: Client) -> DaskLGBMRanker:
    """Train LightGBM on whole queries."""
    # LightGBM takes a query that lies in two partitions without a word.
    check_partitions(frame, "query")
    sizes = frame.map_partitions(
        lambda part: part.groupby("query", sort=False).size().reset_index(drop=True),
        meta=pd.Series(dtype=np.int64),
    )
    features = [name for name in frame.columns if name.startswith("feature_")]
    warnings.filterwarnings("ignore", "Parameter n_jobs will be ignored")
    model = DaskLGBMRanker(client=client, n_estimators=50, verbose=-1)
    return model.fit(frame[features], frame["relevance"], group=sizes)


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--out", default="out")
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--quiet", action="store_true")
    args = parser.parse_args()
    n_queries = 20 if args.smoke else 200
    cluster = LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=not args.smoke,
        dashboard_address=None,
    )
    steps = tqdm(total=4, disable=args.quiet, desc="train")
    with cluster, Client(cluster) as client:
        training, past, new = (
            dd.from_map(partition, range(first, first + 4), n_queries=n_queries)
            for first in (0, 4, 8)
        )
        model = train(training, client)
        steps.update()
        steps.set_description("calibrate")
        ranker = calibrate(
            BALToR(model, coverage=0.7, random_state=0),
            past,
            label="relevance",
            qid="query",
            coverages=COVERAGES,
        )
        steps.update()
        steps.set_description("evaluate")
        reached = [
            evaluate(ranker.at_coverage(c), new, label="relevance", qid="query")
            for c in COVERAGES
        ]
        steps.update()
        steps.set_description("decide")
        # The riskiest pairs among the first three of each query, for people.
        todo = deferred(ranker, new, qid="query", item_id="item", within_top=3)
        shown = todo[["qid", "left_id", "right_id", "risk"]].head(5)
        steps.update()
    steps.close()

    low, high = ranker.coverage_interval_
    print(
        f"calibrated on {ranker.n_pairs_:,} pairs of {ranker.n_queries_} queries; of "
        f"new pairs {low:.0%} to {high:.0%} are expected to be decided\n"
    )
    print("asked  decided  right of these")
    for asked, totals in zip(COVERAGES, reached, strict=True):
        print(f"{asked:5.0%}  {totals.coverage:7.1%}  {totals.accuracy:14.1%}")
    print(f"\nfor a person, for example:\n{shown.to_string(index=False)}")

    figure, ax = plt.subplots(figsize=(5, 3.6), layout="constrained")
    x = [totals.coverage for totals in reached]
    ax.plot(x, [totals.accuracy for totals in reached], marker="o", color="#0072B2")
    ax.set(
        xlabel="share of new pairs that is decided",
        ylabel="share of these that is right",
        title="Evaluated on the cluster",
    )
    ax.spines[["top", "right"]].set_visible(False)
    out = Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    figure.savefig(out / "plot_dask.png", dpi=150)
    print(f"\nwrote {out / 'plot_dask.png'}")


if __name__ == "__main__":
    main()
