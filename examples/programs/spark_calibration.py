"""A ranker that is trained, calibrated and asked on Spark.

XGBoost trains on a Spark frame, the threshold comes from another, and the pairs of new
queries are decided by the executors. It needs Java 17 and ``pip install -e
".[spark]"``.

    python spark_calibration.py            # local[2], a minute or two
    python spark_calibration.py --smoke
"""

import os
import sys
from argparse import ArgumentParser

# Before Spark starts: its workers are to be this Python, and find each other here.
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")

import pandas as pd
from pyspark.sql import DataFrame, SparkSession
from xgboost.spark import SparkXGBRanker

from skrank_abstain import BALToR
from skrank_abstain.datasets import make_ranking
from skrank_abstain.partitions import calibrate, deferred, evaluate


def queries(spark: SparkSession, seed: int, n_queries: int) -> DataFrame:
    """Return labelled queries, each in one partition; yours come from tables."""
    data = make_ranking(n_queries=n_queries, n_items=30, random_state=seed)
    frame = pd.DataFrame(data.data).add_prefix("feature_")
    frame["relevance"] = data.target.astype(float)
    # XGBoost on Spark takes numbers for queries, and refuses texts.
    frame["query"] = data.qid.astype(int)
    frame["item"] = [f"item {k}" for k in range(len(frame))]
    return spark.createDataFrame(frame).repartition(4, "query")


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--out", default="out")
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--quiet", action="store_true")
    args = parser.parse_args()
    n_queries = 40 if args.smoke else 400
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", str(not args.quiet).lower())
        .config("spark.sql.shuffle.partitions", "4")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    try:
        training, past, new = (queries(spark, seed, n_queries) for seed in range(3))
        features = [name for name in training.columns if name.startswith("feature_")]
        model = SparkXGBRanker(
            features_col=features,
            label_col="relevance",
            qid_col="query",
            n_estimators=30,
            num_workers=2,
        ).fit(training)
        ranker = calibrate(
            BALToR(model, coverage=0.7, random_state=0),
            past.drop("item"),
            label="relevance",
            qid="query",
        )
        totals = evaluate(ranker, new, label="relevance", qid="query")
        todo = deferred(ranker, new, qid="query", item_id="item", within_top=3)
        shown = todo.select("qid", "left_id", "right_id", "risk").limit(5).toPandas()
    finally:
        spark.stop()
    print(
        f"calibrated on {ranker.n_pairs_:,} pairs of {ranker.n_queries_} queries\n"
        f"of {totals.pairs.sum():,.0f} new pairs {totals.coverage:.1%} are decided, "
        f"{totals.discordance:.1%} of those that differ in the wrong order\n\n"
        f"for a person, for example:\n{shown.to_string(index=False)}"
    )


if __name__ == "__main__":
    main()
