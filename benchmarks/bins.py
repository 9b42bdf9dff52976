"""What the order inside a bin of the default tie model is worth, by calibration size.

    python benchmarks/bins.py --data MQ2008 OHSUMED    # folders of FoldN; minutes
    python benchmarks/bins.py                          # simulated; a minute
    python benchmarks/bins.py --smoke                  # seconds

A ranker is calibrated on few queries of 8 items and decides all pairs of new ones,
under the default loss. Beside it stands the ranker that calls two items of one bin a
tie, with the risk of that answer: the same probabilities, the same quantile.
"""

import json
import warnings
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm
from xgboost import XGBRanker

from skrank_abstain import BALToR
from skrank_abstain.datasets import load_letor, make_ranking
from skrank_abstain.pairs import PairDecisions, group_queries, pair_labels
from skrank_abstain.scorers import ScoreColumn, fit_ranker

#: Calibration queries, items of each, target coverage.
QUERIES, N_ITEMS, COVERAGE = (3, 6, 12, 25, 100), 8, 0.8
SHOWN = ("in one bin", "loss", "risk", "coverage")


def worlds(folder: Path | None, smoke: bool) -> Iterator[tuple[Any, ...]]:
    """Yield scores, relevance and queries to calibrate on, and those to decide."""
    if folder is None:
        for seed in range(2 if smoke else 20):
            sides = [
                make_ranking(n_queries, N_ITEMS, n_grades=4, random_state=2 * seed + k)
                for k, n_queries in enumerate((100, 200))
            ]
            yield tuple(
                (d.utility + 0.5 * d.data[:, 0], d.target, d.qid) for d in sides
            )
        return
    for path in sorted(p for p in folder.glob("Fold*") if p.is_dir()):
        fold = load_letor(path)
        train, y = fold.train, np.asarray(fold.train.target, dtype=float)
        model = XGBRanker(n_estimators=100, max_depth=4, n_jobs=1)
        queries = group_queries(train.qid, train.qid.size)
        model = fit_ranker(model, train.data, y, queries)
        sides = [
            (model.predict(side.data), side.target, side.qid)
            for side in (fold.validation, fold.test)
        ]
        for seed in range(1 if smoke else 20):
            rng = np.random.default_rng(seed)
            kept = (some_items(qid, rng) for _, _, qid in sides)
            yield tuple(
                tuple(array[rows] for array in side)
                for side, rows in zip(sides, kept, strict=True)
            )


def some_items(qid: Any, rng: np.random.Generator) -> Any:
    """Return rows of `N_ITEMS` items of each query that has them, in random order."""
    names = rng.permutation(np.unique(qid))
    rows = (rng.permutation(np.flatnonzero(qid == name)) for name in names)
    return np.concatenate([each[:N_ITEMS] for each in rows if each.size >= N_ITEMS])


def compare(calibration: Any, new: Any, n_queries: int) -> dict[str, list[float]]:
    """Return what `SHOWN` names, with ties and with orders inside the bins."""
    score, y, qid = calibration
    some = np.isin(qid, qid[np.sort(np.unique(qid, return_index=True)[1])][:n_queries])
    ranker = BALToR(ScoreColumn(), coverage=COVERAGE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ranker.fit(score[some, None], y[some], qid=qid[some])
    known = ranker.predict_pairs(score[some, None], qid=qid[some])
    decided, risks = ranker.predict_pairs(new[0][:, None], qid=new[2]), {}
    truth = pair_labels(new[1], decided.left, decided.right)

    def inside(scores: Any, pairs: PairDecisions) -> Any:
        bins = ranker.tie_model_.bins(scores)
        return bins[pairs.left] == bins[pairs.right]

    found: dict[str, list[float]] = {name: [] for name in SHOWN}
    for as_ties in (True, False):
        sides = (score[some], known), (new[0], decided)
        risks, label = [], decided.label
        for scores, pairs in sides:
            tied = inside(scores, pairs) & as_ties
            risks.append(np.where(tied, 1 - pairs.proba[:, 1], pairs.risk))
        label = np.where(tied, 0, label)
        threshold = np.quantile(risks[0], COVERAGE, method="inverted_cdf")
        loss, accepted = label != truth, risks[1] <= threshold
        loss = loss & (truth != 0)
        found["in one bin"].append(float(inside(new[0], decided).mean()))
        found["loss"].append(float(loss.mean()))
        found["risk"].append(float(loss[accepted].mean()))
        found["coverage"].append(float(accepted.mean()))
    return found


def main(argv: list[str] | None = None) -> dict[str, Any]:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, nargs="+", default=[None])
    parser.add_argument("--smoke", action="store_true", help="few repetitions")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    parser.add_argument("--out", type=Path, default=Path("out"))
    args = parser.parse_args(argv)
    results: dict[str, Any] = {}
    for folder in args.data:
        title = "simulated" if folder is None else folder.name
        runs = [
            {n: compare(*world, n) for n in QUERIES}
            for world in tqdm(worlds(folder, args.smoke), title, disable=args.quiet)
        ]
        print(f"\n{title}: {len(runs)} worlds; ties inside bins -> orders")
        rows = {}
        for n in QUERIES:
            both = {name: np.array([run[n][name] for run in runs]) for name in SHOWN}
            change = np.diff(both["loss"], axis=1)
            error = float(change.std() / np.sqrt(len(runs)))
            mean = {name: each.mean(axis=0).tolist() for name, each in both.items()}
            rows[n] = mean | {"error": error}
            cells = [f"{mean['in one bin'][0]:.1%} in one bin"] + [
                f"{name} {mean[name][0]:.4f} -> {mean[name][1]:.4f}"
                for name in SHOWN[1:]
            ]
            print(
                f"{n:4} queries: {', '.join(cells)}, {change.mean():+.4f} ± {error:.4f}"
            )
        results[title] = rows
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "bins.json").write_text(json.dumps(results, indent=1) + "\n")
    return results


if __name__ == "__main__":
    main()
