"""How often places with a confidence hold, and how wide they are.

    python benchmarks/places.py --data MQ2008 OHSUMED     # folders of FoldN
    python benchmarks/places.py                           # 500 simulated draws, minutes
    python benchmarks/places.py --smoke                   # seconds

On folders LightGBM's LambdaMART with default parameters learns from the training
queries of each fold, the validation queries calibrate it, the test queries measure it.
Simulated queries have 2 to 60 items, four grades and, "discrete", scores rounded to
whole numbers; 20 or 60 of them calibrate. Standard errors are over folds or draws.
"""

import json
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from lightgbm import LGBMRanker
from sklearn.linear_model import LinearRegression
from tqdm import tqdm

from skrank_abstain import BALToR
from skrank_abstain.datasets import load_letor
from skrank_abstain.pairs import group_queries
from skrank_abstain.scorers import fit_ranker

CONFIDENCES = (0.8, 0.9)


def world(seed: int, n_queries: int, *, discrete: bool) -> tuple[Any, ...]:
    """Return scores, relevance and queries."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 61, n_queries)
    qid = np.repeat(np.arange(n_queries), sizes)
    score = rng.normal(size=qid.size)
    shift = np.repeat(rng.normal(scale=0.5, size=n_queries), sizes)
    noise = rng.logistic(scale=0.7, size=qid.size)
    y = np.clip(np.floor(1.5 * score + shift + noise + 1), 0, 3)
    return (score.round() if discrete else score)[:, None], y, qid


def simulated(n_draws: int, n_queries: int, *, discrete: bool) -> Iterator[Any]:
    """Yield a calibrated ranker and new queries for each draw."""
    model = LinearRegression(fit_intercept=False).fit([[1.0]], [1.0])
    for draw in range(n_draws):
        known = world(2 * draw + 1, n_queries, discrete=discrete)
        yield (
            BALToR(model, boundary="randomize", random_state=0).fit(*known),
            world(2 * draw + 2, 20, discrete=discrete),
        )


def folds_of(folder: Path) -> Iterator[Any]:
    """Yield a calibrated ranker and the test queries of each fold."""
    for path in sorted(path for path in folder.glob("Fold*") if path.is_dir()):
        fold = load_letor(path)
        train, known, new = fold.train, fold.validation, fold.test
        queries = group_queries(train.qid, len(train.target))
        booster = LGBMRanker(verbose=-1, n_jobs=1)
        model = fit_ranker(booster, train.data, train.target, queries)
        ranker = BALToR(model, random_state=0)
        yield (
            ranker.fit(known.data, known.target, qid=known.qid),
            (new.data, new.target, new.qid),
        )


def measured(cases: Any) -> dict[str, str]:
    """Return the share held and the mean width, by confidence."""
    found: dict[float, list[Any]] = {each: [] for each in CONFIDENCES}
    for ranker, (X, y, qid) in cases:
        for each, rows in found.items():
            places = ranker.evaluate_places(X, y, qid, confidence=each)
            rows.append(np.nanmean(places, axis=1))
    said = {}
    for each, rows in found.items():
        mean = np.mean(rows, axis=0)
        error = np.std(rows, axis=0, ddof=1) / np.sqrt(len(rows))
        said[f"{each}: held, width"] = ", ".join(
            f"{m:.3f} ({e:.3f})" for m, e in zip(mean, error, strict=True)
        )
    return said


def main() -> None:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, nargs="*", default=[])
    parser.add_argument("--out", type=Path, default=Path("out"))
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--quiet", action="store_true")
    args = parser.parse_args()
    n_draws = 5 if args.smoke else 500
    results = {}
    for folder in args.data:
        results[folder.name] = measured(tqdm(folds_of(folder), disable=args.quiet))
    if not args.data:
        for n_queries in (20, 60):
            for discrete in (False, True):
                cases = simulated(n_draws, n_queries, discrete=discrete)
                name = (
                    f"{n_queries} queries, {'discrete' if discrete else 'continuous'}"
                )
                bar = tqdm(cases, total=n_draws, desc=name, disable=args.quiet)
                results[name] = measured(bar)
    args.out.mkdir(parents=True, exist_ok=True)
    text = json.dumps(results, indent=1)
    (args.out / "places.json").write_text(text + "\n", encoding="utf-8")
    if not args.quiet:
        print(text)


if __name__ == "__main__":
    main()
