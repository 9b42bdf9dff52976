"""How often places with a confidence hold, and how wide they are.

    python benchmarks/places.py --data MQ2008 OHSUMED     # folders of FoldN
    python benchmarks/places.py                           # 500 simulated draws, minutes
    python benchmarks/places.py --smoke                   # seconds

On folders LightGBM's LambdaMART with default parameters learns from the training
queries of each fold, the validation queries calibrate it, the test queries measure it.
Simulated queries have 2 to 60 items, four grades and, "discrete", scores rounded to
whole numbers; 20 or 60 of them calibrate. Standard errors are over folds or draws. In
the rows "promised" is the largest share of items whose places may miss the true one.
"""

import json
from argparse import ArgumentParser
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from lightgbm import LGBMRanker
from sklearn.linear_model import LinearRegression

from skrank_abstain import BALToR
from skrank_abstain.datasets import load_letor
from skrank_abstain.pairs import group_queries
from skrank_abstain.scorers import fit_ranker

Row = dict[str, Any]
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
        X, y, qid = world(2 * draw + 1, n_queries, discrete=discrete)
        yield (
            BALToR(model, boundary="randomize", random_state=0).fit(X, y, qid=qid),
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


def broken_ties(y: Any, qid: Any, seed: int) -> Any:
    """Return the true place of each item if equal ones come in random order."""
    random = np.random.default_rng(seed).random(len(y))
    order = np.lexsort((random, -np.asarray(y), qid))
    start = np.unique(np.asarray(qid)[order], return_index=True)[1]
    place = np.empty(len(y), dtype=int)
    sizes = np.diff(start, append=len(y))
    place[order] = 1 + np.arange(len(y)) - np.repeat(start, sizes)
    return place


def measured(cases: Any, **said: Any) -> Iterator[Row]:
    """Yield a row for each confidence."""
    found: dict[float, list[Any]] = {each: [] for each in CONFIDENCES}
    for seed, (ranker, (X, y, qid)) in enumerate(cases):
        place = broken_ties(y, qid, seed)
        query = np.unique(qid, return_inverse=True)[1]
        for each, rows in found.items():
            held, width = ranker.evaluate_places(X, y, qid=qid, confidence=each)
            best, worst = ranker.rank_intervals(X, qid=qid, confidence=each).T
            inside = (best <= place) & (place <= worst)
            share = np.bincount(query, inside) / np.bincount(query)
            # Places of the only item of a query always hold.
            several = np.isfinite(held)
            rows.append([held[several].mean(), width[several].mean(), share.mean()])
    for each, rows in found.items():
        held, width, strict = np.mean(rows, axis=0)
        error = np.std(rows, axis=0, ddof=1)[0] / np.sqrt(len(rows))
        yield {
            "what": f"places with a confidence of {each} miss the true one",
            **said,
            "promised": round(1 - each, 4),
            "measured": round(float(1 - held), 4),
            "se": round(float(error), 4),
            "power": f"width {width:.3f} of the query; ties in random order: "
            f"{strict:.3f} held",
            "before": "",
        }


def places(n_draws: int, sizes: tuple[int, ...] = (20, 60)) -> Iterator[Row]:
    """Yield rows of simulated queries, by their number and kind of scores."""
    for n_queries in sizes:
        for discrete in (False, True):
            kind = "discrete" if discrete else "continuous"
            yield from measured(
                simulated(n_draws, n_queries, discrete=discrete),
                for_whom=f"2 to 60 items, {kind} scores",
                size=f"{n_queries} calibration queries",
            )


def places_of(folder: Path) -> Iterator[Row]:
    """Yield the rows of the folds of a collection."""
    said = {"for_whom": f"{folder.name}, LightGBM", "size": "five folds"}
    yield from measured(folds_of(folder), **said)


def main() -> None:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, nargs="*", default=[])
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--out", type=Path, default=Path("out"))
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--quiet", action="store_true")
    args = parser.parse_args()
    rows = []
    found = [places_of(folder) for folder in args.data]
    for row in chain(*(found or [places(5 if args.smoke else args.draws)])):
        rows.append(row)
        if not args.quiet:
            print(row, flush=True)
    args.out.mkdir(parents=True, exist_ok=True)
    text = json.dumps(rows, indent=1)
    (args.out / "places.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
