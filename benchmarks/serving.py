"""What a request costs: predict_pairs on one query against the model's own predict.

    python benchmarks/serving.py            # a minute
    python benchmarks/serving.py --smoke    # seconds

Both are timed in turn, in one process, on the same rows; the figure is the ratio of
their medians. The first request of a process, which loads compiled code, is reported
apart, and so is the first of an installation, which compiles it. An ensemble's
``predict`` is compared with its booster's by the least seconds of the processor.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from skrank_abstain import BALToR
from skrank_abstain.datasets import make_ranking
from skrank_abstain.pairs import group_queries
from skrank_abstain.scorers import RankerEnsemble, fit_ranker

N_ITEMS, N_FEATURES = 100, 46
#: Queries of 40 items that an ensemble scores at a time.
ENSEMBLE_QUERIES = {"request": 1, "batch": 75}


def make_model(library: str) -> Any:
    """Return an untrained ranker with default parameters."""
    if library == "xgboost":
        from xgboost import XGBRanker

        return XGBRanker(n_jobs=1)
    if library == "catboost":
        from catboost import CatBoostRanker

        quiet = {"verbose": False, "thread_count": 1, "allow_writing_files": False}
        return CatBoostRanker(loss_function="LambdaMart", **quiet)
    from lightgbm import LGBMRanker

    return LGBMRanker(n_jobs=1, verbose=-1)


def fit(library: str) -> tuple[Any, np.ndarray]:
    """Return a fitted BALToR and the rows of one request."""
    train = make_ranking(n_queries=200, n_features=N_FEATURES, random_state=0)
    queries = group_queries(train.qid, train.qid.size)
    model = fit_ranker(
        make_model(library), train.data, train.target.astype(float), queries
    )
    vali = make_ranking(n_queries=100, n_features=N_FEATURES, random_state=1)
    ranker = BALToR(model, tie_model="bradley_terry")
    ranker.fit(vali.data, vali.target, qid=vali.qid)
    request = make_ranking(
        n_queries=1, n_items=N_ITEMS, n_features=N_FEATURES, random_state=2
    ).data
    return ranker, request


def first_request(library: str, cache: str | None = None) -> float:
    """Return the seconds of the first predict_pairs of a fresh process.

    ``cache`` is an empty folder where nothing is compiled yet.
    """
    code = (
        "import pickle, sys, time\n"
        "ranker, X = pickle.load(sys.stdin.buffer)\n"
        "ranker.estimator_.predict(X)\n"
        "start = time.perf_counter()\n"
        "ranker.predict_pairs(X, qid=0)\n"
        "print(time.perf_counter() - start)\n"
    )
    import pickle

    out = subprocess.run(
        [sys.executable, "-c", code],
        input=pickle.dumps(fit(library)),
        env={**os.environ, **({"NUMBA_CACHE_DIR": cache} if cache else {})},
        capture_output=True,
        check=True,
    )
    return float(out.stdout)


def compiling_request(library: str) -> float:
    """Return the seconds of the very first predict_pairs of an installation."""
    with tempfile.TemporaryDirectory() as folder:
        return first_request(library, folder)


def compare(library: str, repeats: int) -> dict[str, Any]:
    """Time both calls in turn, so that noise hits both alike."""
    ranker, X = fit(library)
    model = ranker.estimator_
    own, pairs = [], []
    for _ in range(repeats):
        start = time.perf_counter()
        model.predict(X)
        middle = time.perf_counter()
        ranker.predict_pairs(X, qid=0)
        own.append(middle - start)
        pairs.append(time.perf_counter() - middle)
    skip = repeats // 10  # warm up
    return {
        "library": library,
        "predict_ms": 1e3 * float(np.median(own[skip:])),
        "predict_pairs_ms": 1e3 * float(np.median(pairs[skip:])),
        "ratio": float(np.median(pairs[skip:]) / np.median(own[skip:])),
        "first_request_ms": 1e3 * first_request(library),
        "compiling_request_ms": 1e3 * compiling_request(library),
    }


def compare_ensemble(library: str, repeats: int) -> dict[str, Any]:
    """Time an ensemble and its booster in turn, on a request and on a batch."""
    train = make_ranking(n_queries=200, n_features=N_FEATURES, random_state=0)
    ensemble = RankerEnsemble(make_model(library))
    ensemble.fit(train.data, train.target, qid=train.qid)
    booster, row = ensemble.ranker_, {"library": library}
    for what, n_queries in ENSEMBLE_QUERIES.items():
        size = {"n_queries": n_queries, "n_items": 40, "n_features": N_FEATURES}
        data = make_ranking(**size, random_state=2)
        times = []
        for _ in range(repeats if what == "request" else 20):
            start = time.process_time()
            booster.predict(data.data)
            middle = time.process_time()
            ensemble.predict(data.data, qid=data.qid)
            times.append((middle - start, time.process_time() - middle))
        own, whole = 1e3 * np.min(times, axis=0)
        row |= {
            f"{what}_own_ms": own,
            f"{what}_ms": whole,
            f"{what}_ratio": whole / own,
        }
    return row


def import_ratio(repeats: int) -> tuple[float, float]:
    """Return the seconds of ``import sklearn`` and of ``import skrank_abstain``.

    Each is the shortest of fresh processes; what scikit-learn imports only when its
    estimators are used counts for both.
    """
    seconds: dict[str, list[float]] = {"sklearn": [], "skrank_abstain": []}
    for _ in range(repeats):
        for module, times in seconds.items():
            code = (
                "import time; start = time.perf_counter(); import "
                f"{module}; print(time.perf_counter() - start)"
            )
            out = subprocess.run(
                [sys.executable, "-c", code], capture_output=True, check=True
            )
            times.append(float(out.stdout))
    return min(seconds["sklearn"]), min(seconds["skrank_abstain"])


def main(argv: list[str] | None = None) -> list[dict[str, Any]]:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="few repetitions")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    parser.add_argument("--out", type=Path, default=Path("out"))
    args = parser.parse_args(argv)
    repeats = 20 if args.smoke else 1000
    rows = [
        compare(library, repeats)
        for library in tqdm(("xgboost", "lightgbm"), disable=args.quiet)
    ]
    print(f"\nOne request: {N_ITEMS} items of one query, all their pairs")
    print(
        f"{'library':<10} {'predict':>11} {'predict_pairs':>14} {'ratio':>7} "
        f"{'target':>7} {'first request':>14} {'compiling':>12}"
    )
    for row in rows:
        print(
            f"{row['library']:<10} {row['predict_ms']:>8.2f} ms "
            f"{row['predict_pairs_ms']:>11.2f} ms {row['ratio']:>7.2f} {'<= 2':>7} "
            f"{row['first_request_ms']:>11.0f} ms"
            f"{row['compiling_request_ms']:>10.0f} ms"
        )
    print("\nAn ensemble / its booster: a query of 40 items (target <= 4), a batch")
    for library in tqdm(("xgboost", "lightgbm", "catboost"), disable=args.quiet):
        row = compare_ensemble(library, repeats)
        rows.append(row)
        cells = [
            f"{row[f'{what}_ms']:.2f} / {row[f'{what}_own_ms']:.2f} ms = "
            f"{row[f'{what}_ratio']:.1f}"
            for what in ("request", "batch")
        ]
        print(f"{library:<10}", *(f"{cell:>28}" for cell in cells))
    sklearn, ours = import_ratio(3 if args.smoke else 10)
    print(
        f"\nimport skrank_abstain / import sklearn: {ours:.2f} s / {sklearn:.2f} s = "
        f"{ours / sklearn:.2f}, target <= 1.5"
    )
    rows.append({"import_sklearn_s": sklearn, "import_ratio": ours / sklearn})
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "serving.json").write_text(json.dumps(rows, indent=1))
    return rows


if __name__ == "__main__":
    main()
