"""What is promised about new items and whole queries: whether it holds, its worth.

    python benchmarks/queries.py --data DIR   # where folders of FoldN lie; an hour
    python benchmarks/queries.py              # simulated queries alone
    python benchmarks/queries.py --smoke      # a minute

Simulated: the sets of freshly calibrated rankers hold a best item, or all but a share
alpha of the first k, in a large population, on average over draws; a certified bound on
the loss is broken there in at most delta of the draws. In the rows "promised" is the
largest share of broken promises and "measured" what was found. Then, on real folds,
sets beside a fixed number of items, NDCG@10 of the queries kept, and test rows that are
scrambled column by column among sound ones: ranker and detector are trained on the
training queries, calibrated on the validation queries, and read off the test queries.
"""

import json
import warnings
from argparse import ArgumentParser
from collections.abc import Iterator
from itertools import chain, product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.covariance import EllipticEnvelope
from sklearn.ensemble import IsolationForest
from sklearn.linear_model import Ridge
from sklearn.neighbors import LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tqdm import tqdm

from skrank_abstain import BALToR
from skrank_abstain.concentration import novelty_pvalues
from skrank_abstain.datasets import load_letor
from skrank_abstain.pairs import group_queries
from skrank_abstain.queries import QueryRiskRanker, TopSetDisplay, TopSetRanker
from skrank_abstain.scorers import fit_ranker

ALPHA, MAX_RISK, DELTA = 0.1, 0.1, 0.1
#: Queries on which a draw is judged.
POPULATION = 1500
#: Of the real folds.
ALPHAS, SHARES = (0.1, 0.2), (1.0, 0.7, 0.5)
#: Of rows that are scrambled, and of false alarms.
STRANGE, LEVEL = 0.1, 0.05
DETECTORS = {
    "EllipticEnvelope": EllipticEnvelope(support_fraction=1.0),
    "LocalOutlierFactor": make_pipeline(
        StandardScaler(), LocalOutlierFactor(novelty=True)
    ),
    "IsolationForest": IsolationForest(random_state=0),
}
TIE_MODELS = ("graded_relevance", "feature_aware_relevance")

Data = tuple[np.ndarray, np.ndarray, np.ndarray]
Row = dict[str, Any]


class FirstColumn(BaseEstimator):
    """A trained ranker whose score is in the data already."""

    def fit(self, X: Any, y: Any) -> "FirstColumn":
        """Learn nothing."""
        self.fitted_ = True
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the first column."""
        return np.asarray(X)[:, 0]


TRAINED = FirstColumn().fit(None, None)


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


def draw_of_queries(n_queries: int, seed: int, tuning_size: float = 0.15) -> Data:
    """Draw until so many queries, for the set alone, have items that differ.

    A share ``tuning_size`` of all fit the tie model; those whose items are all equal
    stand aside.
    """
    return draw(round(n_queries / (1 - tuning_size) / 0.9) + 2, seed)


def row_of(values: list[Any], power: str, **said: Any) -> Row:
    """Return a row from a value of each draw or fold."""
    error = np.std(values) / np.sqrt(len(values))
    row = {"for_whom": "4 to 12 items, simulated", "before": "", **said}
    measured = {"measured": round(float(np.mean(values)), 4)}
    return {**row, **measured, "se": round(float(error), 4), "power": power}


def best_items(n_draws: int, sizes: tuple[int, ...] = (20, 100, 500)) -> Iterator[Row]:
    """Yield rows of sets that hold a best item, by number of queries."""
    for n_queries in sizes:
        missed, size = [], []
        for seed in range(n_draws):
            sets = TopSetRanker(TRAINED, alpha=ALPHA, random_state=seed)
            calibrated(sets, draw_of_queries(n_queries, seed))
            # A population for each draw: what is peculiar to one averages out.
            X, y, qid = draw(POPULATION, 2**31 + seed)
            found = sets.evaluate(X, y, qid=qid)
            missed.append(1 - found.share)
            size.append(found.mean_size)
        yield row_of(
            missed,
            f"mean size {np.mean(size):.2f}",
            what="sets without a best item",
            size=f"{n_queries} queries set the threshold",
            promised=ALPHA,
        )


def first_items(
    n_draws: int, sizes: tuple[int, ...] = (20, 100, 500), k: int = 3
) -> Iterator[Row]:
    """Yield rows of sets that hold the first k, beside the first k by score."""
    for n_queries in sizes:
        missed, plain, size = [], [], []
        for seed in range(n_draws):
            sets = TopSetRanker(TRAINED, k=k, alpha=ALPHA, random_state=seed)
            calibrated(sets, draw_of_queries(n_queries, seed))
            X, y, qid = draw(POPULATION, 2**31 + seed)
            found = sets.evaluate(X, y, qid=qid)
            missed.append(1 - found.share)
            size.append(found.mean_size)
            # With so large an alpha a set is no larger than it must be.
            least = sets.at_alpha(0.9).evaluate(X, y, qid=qid)
            plain.append(1 - least.share)
        yield row_of(
            missed,
            f"mean size {np.mean(size):.2f}; the first {k} by score miss "
            f"{np.mean(plain):.3f}",
            what=f"share of the first {k} that sets miss",
            size=f"{n_queries} queries set the threshold",
            promised=ALPHA,
        )


def bounds_of_lists(
    n_draws: int, sizes: tuple[int, ...] = (20, 100, 500)
) -> Iterator[Row]:
    """Yield rows of certified bounds on 1 - NDCG@10 of the queries kept."""
    for n_queries in sizes:
        broken, kept, every = [], [], []
        for seed in range(n_draws):
            options = {"max_risk": MAX_RISK, "delta": DELTA, "random_state": seed}
            ranker = QueryRiskRanker(TRAINED, **options)
            calibrated(ranker, draw_of_queries(n_queries, seed, 0.3))
            X, y, qid = draw(POPULATION, 2**31 + seed)
            found = ranker.evaluate(X, y, qid=qid)
            # Where nothing is accepted the risk is NaN, and no bound is broken.
            broken.append(found.selective_risk > MAX_RISK)
            kept.append(found.coverage)
            every.append(found.full_risk)
        yield row_of(
            broken,
            f"kept {np.mean(kept):.2f}; 1 - NDCG@10 of all {np.mean(every):.3f}",
            what=f"bound of {MAX_RISK:g} on 1 - NDCG@10 broken",
            size=f"{n_queries} queries certify",
            promised=DELTA,
        )


def novel_items(n_draws: int, sizes: tuple[int, ...] = (20, 100, 500)) -> Iterator[Row]:
    """Yield rows of usual items of new queries that are called novel.

    Items of one query are alike: 20 normal numbers around a normal middle that is three
    times as wide. Beside the p-values stand those that take each item for a query.
    """
    n_items, n_new = 20, 20
    for n_queries in sizes:
        found = []
        for seed in range(n_draws):
            rng = np.random.default_rng(seed)
            middle = 3 * rng.normal(size=(n_queries + n_new, 1))
            values = middle + rng.normal(size=(n_queries + n_new, n_items))
            known, new = values[:n_queries].ravel(), values[n_queries:].ravel()
            queries = np.repeat(np.arange(n_queries), n_items)
            found.append(
                [
                    (novelty_pvalues(new, known, code) <= ALPHA + 1e-12).mean()
                    for code in (queries, np.arange(known.size))
                ]
            )
        by_query, by_item = zip(*found, strict=True)
        yield row_of(
            list(by_query),
            "",
            what="usual items called novel",
            for_whom="items of one query are alike",
            size=f"{n_queries} queries",
            promised=ALPHA,
            before=f"items taken for queries: {np.mean(by_item):.3f}",
        )


def first_items_of(folder: Path, rankers: list[str], n_folds: int) -> Iterator[Row]:
    """Yield rows of sets that hold the first k on the test queries of each fold."""
    folds = [load_letor(path) for path in sorted(folder.glob("Fold*"))[:n_folds]]
    for name in rankers:
        models = [trained(fold.train, name) for fold in folds]
        for k, alpha in product((5, 10), ALPHAS):
            missed, other = [], []
            for fold, model in zip(folds, models, strict=True):
                vali, test = (
                    (part.data, np.asarray(part.target, dtype=float), part.qid)
                    for part in (fold.validation, fold.test)
                )
                sets = TopSetRanker(model, k=k, alpha=alpha, random_state=0)
                found = calibrated(sets, vali).evaluate(*test[:2], qid=test[2])
                least = sets.at_alpha(0.9).evaluate(*test[:2], qid=test[2])
                missed.append(1 - found.share)
                other.append([found.mean_size, least.share, found.n_items.mean()])
            size, plain, n_items = np.mean(other, axis=0)
            yield row_of(
                missed,
                f"mean size {size:.1f} of {n_items:.0f}; the first {k} by score miss "
                f"{1 - plain:.3f}",
                what=f"share of the first {k} that sets miss",
                for_whom=f"{folder.name}, {name}",
                size=f"{len(folds)} folds",
                promised=alpha,
            )


def scrambled(X: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return X with a tenth of the rows drawn column by column, and which they are."""
    rng = np.random.default_rng(seed)
    X, strange = X.copy(), rng.random(X.shape[0]) < STRANGE
    rows = rng.integers(0, X.shape[0], (int(strange.sum()), X.shape[1]))
    X[strange] = X[rows, np.arange(X.shape[1])]
    return X, strange


def accuracy_of(decisions: Any, y: np.ndarray, among: Any = True) -> float:
    """Return the share of right labels among decided pairs."""
    some = decisions.accepted & among
    right = decisions.label == np.sign(y[decisions.left] - y[decisions.right])
    return float(right[some].mean()) if some.any() else float("nan")


def measure_novelty(
    fold: Any, model: Any, detector: Any, seed: int
) -> dict[str, float]:
    """Return what a detector finds of scrambled rows, and what is decided then."""
    vali, test = fold.validation, fold.test
    detector = clone(detector).fit(fold.train.data)
    ranker = BALToR(
        model,
        coverage=0.6,
        loss="zero_one",
        novelty=detector,
        novelty_level=LEVEL,
        random_state=0,
    ).fit(vali.data, vali.target, qid=vali.qid)
    y = np.asarray(test.target, dtype=float)
    X, strange = scrambled(np.asarray(test.data), seed)
    novel = ranker.novelty_pvalues(X) <= LEVEL + 1e-12
    decided = ranker.predict_pairs(X, qid=test.qid)
    without = ranker.set_params(novelty=None).fit(vali.data, vali.target, qid=vali.qid)
    plain = without.predict_pairs(X, qid=test.qid)
    sound = ~(strange[plain.left] | strange[plain.right])
    return {
        "power": float(novel[strange].mean()),
        "false alarms": float(novel[~strange].mean()),
        "accuracy": accuracy_of(decided, y),
        "of sound pairs": accuracy_of(decided, y, sound),
        "without novelty": accuracy_of(plain, y),
        "coverage": decided.coverage,
    }


def measure_detectors(folds: list[Any], models: dict[str, Any]) -> list[dict[str, Any]]:
    """Print means over the folds."""
    print(f"\na tenth of the test rows scrambled column by column, level {LEVEL:g}")
    rows = []
    for ranker, trained_models in models.items():
        for name, detector in DETECTORS.items():
            each = [
                measure_novelty(fold, model, detector, seed)
                for seed, (fold, model) in enumerate(
                    zip(folds, trained_models, strict=True)
                )
            ]
            mean = {key: float(np.mean([r[key] for r in each])) for key in each[0]}
            if not rows:
                print(
                    f"{'ranker':10}{'detector':20}" + "".join(f"{k:>17}" for k in mean)
                )
            print(
                f"{ranker:10}{name:20}" + "".join(f"{v:>17.3f}" for v in mean.values()),
                flush=True,
            )
            rows.append({"ranker": ranker, "detector": name, **mean})
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
        shown = TopSetDisplay.from_estimator(found, *test[:2], qid=test[2])
        row[f"size {alpha}"], row[f"coverage {alpha}"] = shown.point
        k = conformal_k(
            TopSetDisplay.from_estimator(found, *vali[:2], qid=vali[2]), differ, alpha
        )
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
        row[f"ndcg {share}"] = found.score(*test[:2], qid=test[2])
        row[f"kept {share}"] = found.accept_queries(
            test[0], qid=test[2]
        ).accepted.mean()
    return row


def collections_of(paths: list[Path]) -> list[Path]:
    """Return the folders that hold folds: those named, or those in them."""
    found = []
    for path in paths:
        own = [path] if any(path.glob("Fold*")) else sorted(path.iterdir())
        found += [folder for folder in own if any(folder.glob("Fold*"))]
    return found


def measure(
    folder: Path, rankers: list[str], n_folds: int
) -> dict[str, list[dict[str, Any]]]:
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
    every = {name: [trained(fold.train, name) for fold in folds] for name in rankers}
    for ranker, models in every.items():
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
    return {"lists": rows, "novelty": measure_detectors(folds, every)}


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
        for folder in collections_of(args.data)
    }
    rows = [
        first_items_of(folder, args.rankers, 1 if args.smoke else 5)
        for folder in collections_of(args.data)
    ]
    rows += [
        promise(args.draws, tuple(args.queries))
        for promise in (best_items, first_items, bounds_of_lists, novel_items)
    ]
    results["promises"] = []
    for row in tqdm(chain(*rows), desc="promises", disable=args.quiet):
        results["promises"].append(row)
        print(row, flush=True)
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "queries.json").write_text(json.dumps(results, indent=1) + "\n")
    return results


if __name__ == "__main__":
    main()
