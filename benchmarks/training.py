"""What two estimators cost beyond their parts: labels by votes, and near pairs.

    python benchmarks/training.py            # minutes
    python benchmarks/training.py --smoke    # seconds

The first table compares `ThresholdDecompositionRanker.fit` with fitting the same
classifiers to the same rows and weights in a plain loop, the second the neighbour
search of `DistanceAbstainer.evaluate` with looking at every pair. Both sides of a
ratio run in turn, in one process, on one thread, and their results are asserted
to be identical. The data are simulated.
"""

import json
import os
import time
from argparse import ArgumentParser
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, ClassVar
from unittest.mock import patch

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import scale
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from skrank_abstain.distance import (
    DistanceAbstainer,
    _abstainer,
    pair_feature_distances,
)
from skrank_abstain.multilabel import ThresholdDecompositionRanker

N_LABELS = 14
CLASSIFIER = LogisticRegression(max_iter=1000)
#: Shares of pairs that are near.
NEAR = (0.001, 0.05, 0.25)
#: Queries, items of each, features, norm.
SHAPES = (
    (20, 256, 10, 2.0),
    (5, 1_000, 45, np.inf),
    (5, 1_000, 45, 2.0),
    (1, 5_000, 10, np.inf),
    (1, 20_000, 2, 2.0),
)


class Recorder(ClassifierMixin, BaseEstimator):
    """Learns nothing and keeps what it was given to learn from."""

    given: ClassVar[list[tuple[Any, ...]]] = []

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "Recorder":
        """Keep the arguments."""
        self.given.append((X, y, sample_weight))
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the same for all."""
        return np.full((len(X), 2), 0.5)


class Scored(BaseEstimator):
    """A trained ranker whose scores are the first feature: nothing of it is timed."""

    def fit(self, X: Any = None, y: Any = None) -> "Scored":
        """Learn nothing."""
        self.fitted_ = True
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the scores."""
        return X[:, 0]


def problems_of(params: dict[str, Any], X: Any, y: Any) -> list[tuple[Any, ...]]:
    """Return rows, targets and weights of every classifier that ``fit`` trains."""
    Recorder.given.clear()
    ThresholdDecompositionRanker(Recorder(), **params).fit(X, y)
    return Recorder.given.copy()


def fit_alone(problems: list[tuple[Any, ...]]) -> list[Any]:
    """Fit a clone to each problem."""
    return [
        clone(CLASSIFIER).fit(rows, target, sample_weight=weight)
        for rows, target, weight in problems
    ]


def in_turn(tasks: dict[str, Callable[[], Any]], repeats: int) -> dict[str, Any]:
    """Return the median seconds of each task, and what each returned last."""
    seconds: dict[str, list[float]] = {name: [] for name in tasks}
    results: dict[str, Any] = {}
    for _ in range(repeats):
        for name, task in tasks.items():
            start = time.perf_counter()
            results[name] = task()
            seconds[name].append(time.perf_counter() - start)
    return {
        "seconds": {name: float(np.median(of)) for name, of in seconds.items()},
        "results": results,
    }


def compare_votes(smoke: bool, quiet: bool) -> list[dict[str, Any]]:
    """Time the ranker and its classifiers; data as large as yeast's training file."""
    X, y = make_multilabel_classification(
        n_samples=150 if smoke else 1500,
        n_features=100,
        n_classes=N_LABELS,
        n_labels=4,
        random_state=0,
    )
    X = scale(X)
    # 0/1 targets on the rows as they are: what shared ranks replace.
    hard = problems_of({"thresholds": "rank", "ties": "index", "p": 3}, X, y)
    settings: list[dict[str, Any]] = [
        {},
        {"thresholds": "rank", "ties": "index", "p": 3},
        {"thresholds": "rank", "ties": "share", "p": 3},
    ]
    rows = []
    for params in tqdm(settings, desc="votes", disable=quiet):
        problems = problems_of(params, X, y)
        ranker = ThresholdDecompositionRanker(CLASSIFIER, **params)
        tasks = {
            "ranker": partial(ranker.fit, X, y),
            "alone": partial(fit_alone, problems),
        }
        if params.get("ties") == "share":
            tasks["hard"] = partial(fit_alone, hard)
        timed = in_turn(tasks, 3 if smoke else 41)
        seconds, results = timed["seconds"], timed["results"]
        fitted = [model for of_labels in ranker.estimators_ for model in of_labels]
        fitted = [model for model in fitted if not isinstance(model, float)]
        assert len(fitted) == len(problems)
        for model, other in zip(fitted, results["alone"], strict=True):
            np.testing.assert_array_equal(model.coef_, other.coef_)
        row = {
            "section": "votes",
            "parameters": params,
            "classifiers": len(problems),
            "fit_s": seconds["ranker"],
            "alone_s": seconds["alone"],
            "ratio": seconds["ranker"] / seconds["alone"],
        }
        if "hard" in seconds:
            row["hard_classifiers"] = len(hard)
            row["hard_s"] = seconds["hard"]
            row["hard_ratio"] = seconds["ranker"] / seconds["hard"]
        rows.append(row)
    return rows


def evaluate(ranker: Any, X: Any, y: Any, qid: Any, limit: float) -> Any:
    """Evaluate, searching up to this share of near pairs."""
    with patch.object(_abstainer, "_NEAR_SHARE", limit):
        return ranker.evaluate(X, y, qid=qid)


def compare_search(smoke: bool, quiet: bool) -> list[dict[str, Any]]:
    """Time `evaluate` with the search and without."""
    rows = []
    shapes = [(1, *shape[1:]) for shape in SHAPES[:3]] if smoke else SHAPES
    steps = tqdm(total=len(shapes) * len(NEAR), desc="near pairs", disable=quiet)
    for n_queries, n_items, n_features, norm in shapes:
        rng = np.random.default_rng(0)
        qid = np.repeat(np.arange(n_queries), n_items)
        X = rng.normal(size=(qid.size, n_features))
        y = rng.integers(0, 3, qid.size)
        some = rng.integers(0, qid.size, (2, 20_000 if smoke else 1_000_000))
        left, right = some[:, some[0] != some[1]]
        distance = pair_feature_distances(X, left, right, norm=norm)
        for share in NEAR:
            gamma = float(np.quantile(distance, share))
            ranker = DistanceAbstainer(
                Scored().fit(), gamma=gamma, norm=norm, scale=None
            ).fit(X[:99], y[:99], qid=0)

            # At all shares of near pairs there is a search, and at none.
            tasks = {
                name: partial(evaluate, ranker, X, y, qid, limit)
                for name, limit in (("search", 1.0), ("every", -1.0))
            }
            timed = in_turn(tasks, 3 if smoke or n_items > 10_000 else 9)
            seconds, results = timed["seconds"], timed["results"]
            for name, values in vars(results["every"]).items():
                np.testing.assert_array_equal(
                    getattr(results["search"], name), values, err_msg=name
                )
            rows.append(
                {
                    "section": "near pairs",
                    "queries": n_queries,
                    "items": n_items,
                    "features": n_features,
                    "norm": norm if np.isfinite(norm) else "max",
                    "share": share,
                    "near": 1.0 - results["every"].coverage,
                    "search_s": seconds["search"],
                    "every_s": seconds["every"],
                    "ratio": seconds["every"] / seconds["search"],
                }
            )
            steps.update()
    steps.close()
    return rows


def print_votes(rows: list[dict[str, Any]]) -> None:
    """Print a markdown table."""
    print("\n| `ThresholdDecompositionRanker` | classifiers | fit / alone | aim |")
    print("|---|---|---|---|")
    for row in rows:
        params = {k: v for k, v in row["parameters"].items() if k != "p"}
        name = ", ".join(f'`{k}="{v}"`' for k, v in params.items()) or "default"
        ratio = f"{row['fit_s']:.3f} s / {row['alone_s']:.3f} s = {row['ratio']:.2f}"
        print(f"| {name} | {row['classifiers']} | {ratio} | ≤ 1.2 |")
        if "hard_s" in row:
            ratio = f"{row['fit_s']:.3f} s / {row['hard_s']:.3f} s"
            print(
                f"| the same, against 0/1 targets | {row['hard_classifiers']} | "
                f"{ratio} = {row['hard_ratio']:.2f} | |"
            )


def print_search(rows: list[dict[str, Any]]) -> None:
    """Print a markdown table."""
    heads = " | ".join(f"{share:.1%} near".replace(".0%", "%") for share in NEAR)
    print(f"\n| queries | items of each | features | norm | {heads} |")
    print("|---|---|---|---|" + "---|" * len(NEAR))
    for first in range(0, len(rows), len(NEAR)):
        group = rows[first : first + len(NEAR)]
        cells = " | ".join(
            f"{row['every_s']:#.3g} s / {row['search_s']:#.3g} s = "
            + (f"{row['ratio']:.0f}" if row["ratio"] > 20 else f"{row['ratio']:.1f}")
            for row in group
        )
        row = group[0]
        norm = row["norm"] if row["norm"] == "max" else f"{row['norm']:g}"
        print(
            f"| {row['queries']} | {row['items']:,} | {row['features']} | {norm} | "
            f"{cells} |"
        )


def main(argv: list[str] | None = None) -> list[dict[str, Any]]:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="small sizes, seconds")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    parser.add_argument("--out", type=Path, default=Path("out"))
    args = parser.parse_args(argv)
    load = [os.getloadavg()[0]]
    with threadpool_limits(1):
        votes = compare_votes(args.smoke, args.quiet)
        search = compare_search(args.smoke, args.quiet)
    load.append(os.getloadavg()[0])
    if args.smoke:
        print("\nSmoke sizes: the aims are for the full sizes.")
    print_votes(votes)
    print_search(search)
    print(
        f"\nOne thread; {os.cpu_count()} cores with a load of {load[0]:.1f} before and "
        f"{load[1]:.1f} after."
    )
    rows = votes + search
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "training.json").write_text(
        json.dumps(
            {"threads": 1, "cores": os.cpu_count(), "load": load, "rows": rows},
            indent=1,
        )
    )
    return rows


if __name__ == "__main__":
    main()
