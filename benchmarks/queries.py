"""What is promised about whole queries: whether it is kept, and what it is worth.

    python benchmarks/queries.py --data MQ2008 OHSUMED    # folders of FoldN; an hour
    python benchmarks/queries.py                          # simulated queries alone
    python benchmarks/queries.py --smoke                  # a minute

Simulated: the sets of freshly calibrated rankers hold a best item in a share 1 - alpha
of a large population, on average over draws; a certified bound on the loss is broken
there in at most delta of the draws. Then, on real folds, sets beside a fixed number of
items, and NDCG@10 of the queries kept: a ranker is trained on the training queries,
calibrated on the validation queries, and read off the test queries.
"""

import json
import warnings
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tqdm import tqdm

from skrank_abstain.datasets import load_letor
from skrank_abstain.pairs import group_queries
from skrank_abstain.queries import QueryRiskRanker, TopSetDisplay, TopSetRanker
from skrank_abstain.scorers import fit_ranker

ALPHA, MAX_RISK, DELTA = 0.1, 0.1, 0.1
#: Of the real folds.
ALPHAS, SHARES = (0.1, 0.2), (1.0, 0.7, 0.5)
TIE_MODELS = ("graded_relevance", "feature_aware_relevance")

Data = tuple[np.ndarray, np.ndarray, np.ndarray]


class FirstColumn(BaseEstimator):
    """A trained ranker whose score is in the data already."""

    def fit(self, X: Any, y: Any) -> "FirstColumn":
        """Learn nothing."""
        self.fitted_ = True
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the first column."""
        return np.asarray(X)[:, 0]


def draw(n_queries: int, seed: int) -> Data:
    """Draw queries of 4 to 12 items that the ranker orders well, or hardly."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(4, 13, n_queries)
    qid = np.repeat(np.arange(n_queries), sizes)
    quality = rng.choice([0.3, 1.0, 3.0], n_queries)[qid]
    utility = rng.normal(size=qid.size)
    score = quality * utility + rng.normal(size=qid.size)
    shift = rng.normal(0, 0.7, n_queries)[qid]
    y = np.searchsorted([0.5, 1.5], utility + shift).astype(float)
    return score[:, None], y, qid


def calibrated(ranker: Any, data: Data) -> Any:
    """Fit without a word: that nothing is certified is counted here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return ranker.fit(data[0], data[1], qid=data[2])


def query_metric(data: Data) -> np.ndarray:
    """Return NDCG@10 of the lists by the first column."""
    ranker = QueryRiskRanker(FirstColumn().fit(None, None), coverage=1.0)
    return calibrated(ranker, draw(50, 0)).query_metric(*data)


def draw_of_queries(n_queries: int, seed: int) -> Data:
    """Draw until so many queries, for the set alone, have items that differ.

    30 % more fit the tie model; those whose items are all equal stand aside.
    """
    return draw(round(n_queries / 0.7 / 0.9) + 2, seed)


def simulate(n_draws: int, sizes: list[int], quiet: bool) -> list[dict[str, Any]]:
    """Print what was promised and what was kept, by number of queries."""
    model = FirstColumn().fit(None, None)
    X, y, qid = draw(1500, 2**31)
    # By query: whether items differ, and which of them are best.
    highest = np.maximum.reduceat(y, start := np.unique(qid, return_index=True)[1])
    differ = highest > np.minimum.reduceat(y, start)
    is_best = y == highest[qid]
    loss = 1 - query_metric((X, y, qid))
    rows = []
    print(
        f"\nsets, alpha={ALPHA:g}; bound {MAX_RISK:g} on 1 - NDCG@10, which is ", end=""
    )
    print(f"{np.nanmean(loss):.3f} for all queries, delta={DELTA:g}")
    print(f"{'queries':>8}{'coverage':>10}{'error':>8}{'size':>7}", end="")
    print(f"{'broken':>9}{'error':>8}{'certified':>11}{'kept':>7}")
    for n_queries in sizes:
        covered, size, broken, kept, certified = [], [], [], [], []
        title = f"{n_queries} queries"
        for seed in tqdm(range(n_draws), desc=title, disable=quiet):
            past = draw_of_queries(n_queries, seed)
            ranker = calibrated(
                TopSetRanker(model, alpha=ALPHA, random_state=seed), past
            )
            inside = ranker.predict_set(X, qid=qid)
            held = np.logical_or.reduceat(inside & is_best, start)
            covered.append(held[differ].mean())
            size.append(np.add.reduceat(inside, start, dtype=int)[differ].mean())
            risk = calibrated(
                QueryRiskRanker(
                    model, max_risk=MAX_RISK, delta=DELTA, random_state=seed
                ),
                past,
            )
            certified.append(risk.certified_)
            accepted = risk.accept_queries(X, qid=qid)
            kept.append(accepted.mean())
            true = np.nanmean(loss[accepted]) if risk.certified_ else 0.0
            broken.append(true > MAX_RISK)
        row = {
            "n_queries": n_queries,
            "coverage": np.mean(covered),
            "coverage_error": np.std(covered) / np.sqrt(n_draws),
            "size": np.mean(size),
            "broken": np.mean(broken),
            "broken_error": np.std(broken) / np.sqrt(n_draws),
            "certified": np.mean(certified),
            "kept": np.mean(kept),
        }
        rows.append({name: float(value) for name, value in row.items()})
        print(
            f"{n_queries:>8}{row['coverage']:>10.3f}{row['coverage_error']:>8.3f}"
            f"{row['size']:>7.2f}{row['broken']:>9.3f}{row['broken_error']:>8.3f}"
            f"{row['certified']:>11.2f}{row['kept']:>7.2f}",
            flush=True,
        )
    return rows


def make_ranker(name: str) -> Any:
    """Return an untrained ranker."""
    if name == "ridge":
        return make_pipeline(StandardScaler(), Ridge())
    if name == "lightgbm":
        from lightgbm import LGBMRanker

        return LGBMRanker(n_jobs=1, verbose=-1)
    if name == "catboost":
        from catboost import CatBoostRanker

        return CatBoostRanker(thread_count=1, verbose=False, allow_writing_files=False)
    from xgboost import XGBRanker

    return XGBRanker(n_jobs=1)


def trained(part: Any, ranker: str) -> Any:
    """Return a ranker that is trained on the queries of a part."""
    queries, y = group_queries(part.qid, part.qid.size), np.asarray(part.target, float)
    return fit_ranker(make_ranker(ranker), part.data, y, queries)


def conformal_k(display: TopSetDisplay, n_queries: int, alpha: float) -> int:
    """Return how many items hold a best one with the same promise as the sets.

    From all validation queries: a fixed number of items has no tie model to fit.
    """
    enough = display.fixed_coverage * n_queries >= (1 - alpha) * (n_queries + 1) - 1e-9
    return int(np.argmax(enough)) if enough.any() else enough.size - 1


def measure_fold(fold: Any, model: Any, tie_model: str) -> dict[str, float]:
    """Return what sets and kept queries are worth on the test queries of a fold."""
    vali, test = (
        (part.data, np.asarray(part.target, dtype=float), part.qid)
        for part in (fold.validation, fold.test)
    )
    options = {"tie_model": tie_model, "random_state": 0}
    differ = sum(np.ptp(vali[1][vali[2] == q]) > 0 for q in np.unique(vali[2]))
    row: dict[str, float] = {}
    for alpha in ALPHAS:
        found = calibrated(TopSetRanker(model, alpha=alpha, **options), vali)
        shown = TopSetDisplay.from_estimator(found, *test)
        row[f"size {alpha}"], row[f"coverage {alpha}"] = shown.point
        k = conformal_k(TopSetDisplay.from_estimator(found, *vali), differ, alpha)
        k = min(k, shown.fixed_size.size - 1)
        row[f"k {alpha}"] = shown.fixed_size[k]
        row[f"coverage of k {alpha}"] = shown.fixed_coverage[k]
        # Where both cover the same: what the order of items is worth, whatever the
        # luck of the calibration.
        row[f"size at {alpha}"] = np.interp(1 - alpha, shown.coverage, shown.size)
        row[f"k at {alpha}"] = np.interp(
            1 - alpha, shown.fixed_coverage, shown.fixed_size
        )
    for share in SHARES:
        found = calibrated(QueryRiskRanker(model, coverage=share, **options), vali)
        row[f"ndcg {share}"] = found.score(*test)
        row[f"kept {share}"] = found.accept_queries(test[0], test[2]).mean()
    return row


def measure(folder: Path, rankers: list[str], n_folds: int) -> list[dict[str, Any]]:
    """Print means over the folds of a collection."""
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    mpl.use("Agg")
    folds = [load_letor(path) for path in sorted(folder.glob("Fold*"))[:n_folds]]
    print(f"\n{folder.name}: mean over {len(folds)} folds")
    print(
        "sets: coverage, size; k: the same of a fixed number; =: both at one coverage"
    )
    print(f"{'ranker':10}{'tie model':24}", end="")
    print(
        "".join(f"{f'alpha={a}: sets':>16}{'k':>13}{'=':>13}" for a in ALPHAS), end=""
    )
    print("".join(f"{f'NDCG, kept {share:.0%}':>17}" for share in SHARES))
    rows = []
    for ranker in rankers:
        models = [trained(fold.train, ranker) for fold in folds]
        for tie_model in TIE_MODELS:
            each = [
                measure_fold(fold, model, tie_model)
                for fold, model in zip(folds, models, strict=True)
            ]
            plt.close("all")
            mean = {name: float(np.mean([r[name] for r in each])) for name in each[0]}
            text = "".join(
                f"{mean[f'coverage {a}']:>9.3f}{mean[f'size {a}']:>7.2f}"
                f"{mean[f'coverage of k {a}']:>6.3f}{mean[f'k {a}']:>7.2f}"
                f"{mean[f'size at {a}']:>6.2f}{mean[f'k at {a}']:>7.2f}"
                for a in ALPHAS
            )
            text += "".join(
                f"{mean[f'ndcg {s}']:>11.3f}{mean[f'kept {s}']:>6.2f}" for s in SHARES
            )
            print(f"{ranker:10}{tie_model:24}{text}", flush=True)
            rows.append({"ranker": ranker, "tie_model": tie_model, **mean})
    return rows


def main(argv: list[str] | None = None) -> dict[str, Any]:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, nargs="+", default=[])
    parser.add_argument(
        "--rankers", nargs="+", default=["xgboost", "lightgbm", "catboost", "ridge"]
    )
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--queries", type=int, nargs="*", default=[20, 100, 500])
    parser.add_argument("--smoke", action="store_true", help="a few draws, one fold")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    parser.add_argument("--out", type=Path, default=Path("out"))
    args = parser.parse_args(argv)
    if args.smoke:
        args.draws, args.queries, args.rankers = 5, [20, 100], ["ridge"]
    results: dict[str, Any] = {
        folder.name: measure(folder, args.rankers, 1 if args.smoke else 5)
        for folder in args.data
    }
    results["simulated"] = simulate(args.draws, args.queries, args.quiet)
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "queries.json").write_text(json.dumps(results, indent=1) + "\n")
    return results


if __name__ == "__main__":
    main()
