"""Which tie model? All of them on the same scores, with the evidence beside them.

For every fold a ranker with default parameters is trained on the training queries, each
tie model is fitted on the validation queries, and the test queries are evaluated: log
loss of the pairs, area under the risk-coverage curve, one minus the loss, which is the
accuracy under zero_one, and coverage at falling targets, and the seconds of the fit.
Nothing is chosen by the test queries.

    python tie_models.py                           # simulated folds
    python tie_models.py --data MQ2008 OHSUMED     # folders of FoldN
    python tie_models.py --loss misranking         # the loss of most rankers
"""

import csv
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from folds import folds_of
from tqdm import tqdm

from skrank_abstain import BALToR
from skrank_abstain.metrics import neg_aurc_scorer, pairwise_log_loss
from skrank_abstain.pairs import group_queries
from skrank_abstain.scorers import fit_ranker
from skrank_abstain.tie_models import BradleyTerry

TIE_MODELS = {
    "bradley_terry (counts)": BradleyTerry(calibration="counts"),
    "bradley_terry": "bradley_terry",
    "davidson": "davidson",
    "thurstone_mosteller": "thurstone_mosteller",
    "isotonic_difference": "isotonic_difference",
    "graded_relevance": "graded_relevance",
    "feature_aware_relevance": "feature_aware_relevance",
}
COVERAGES = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5)
STYLES = {
    "bradley_terry (counts)": ("#555555", ":", "s"),
    "bradley_terry": ("#0072B2", "-", "o"),
    "isotonic_difference": ("#CC79A7", "--", "^"),
    "graded_relevance": ("#009E73", "-", "D"),
    "feature_aware_relevance": ("#D55E00", "-", "v"),
}

Row = dict[str, Any]


def make_ranker(name: str) -> Any:
    """Return an untrained ranker with the library's default parameters."""
    if name == "xgboost":
        from xgboost import XGBRanker

        return XGBRanker()
    if name == "lightgbm":
        from lightgbm import LGBMRanker

        return LGBMRanker(verbose=-1)
    from catboost import CatBoostRanker

    return CatBoostRanker(verbose=False, allow_writing_files=False)


def evaluate(
    fold: Any, ranker: str, tie_models: dict[str, Any], loss: str
) -> Iterator[Row]:
    """Yield one row per tie model."""
    train, vali, test = fold.train, fold.validation, fold.test
    queries = group_queries(train.qid, train.qid.size)
    y = np.asarray(train.target, dtype=float)
    model = fit_ranker(make_ranker(ranker), train.data, y, queries)
    labelled = test.data, test.target
    for name, tie_model in tie_models.items():
        start = time.perf_counter()
        selective = BALToR(model, tie_model=tie_model, loss=loss)
        selective.fit(vali.data, vali.target, qid=vali.qid)
        seconds = time.perf_counter() - start
        pairs = selective.predict_pairs(test.data, qid=test.qid)
        label = np.sign(test.target[pairs.left] - test.target[pairs.right])
        row: Row = {
            "tie_model": name,
            "log_loss": pairwise_log_loss(label, pairs.proba),
            "aurc": -neg_aurc_scorer(selective, *labelled, qid=test.qid),
            "fit_s": seconds,
        }
        profile = selective.risk_profile(*labelled, qid=test.qid)
        errors = np.append(0, profile.coverage * profile.selective_risk)
        for target in COVERAGES:
            totals = selective.at_coverage(target).evaluate(*labelled, qid=test.qid)
            row[f"kept_{target:g}"] = 1 - totals.selective_risk
            row[f"coverage_{target:g}"] = totals.coverage
            lost = np.interp(target, np.append(0, profile.coverage), errors)
            row[f"exact_{target:g}"] = 1 - lost / target
        yield row


def average(rows: list[Row]) -> dict[str, dict[str, float]]:
    """Return the mean over folds of every number, by tie model."""
    numbers = [key for key, value in rows[0].items() if isinstance(value, float)]
    return {
        name: {
            key: float(np.mean([row[key] for row in rows if row["tie_model"] == name]))
            for key in numbers
        }
        for name in dict.fromkeys(row["tie_model"] for row in rows)
    }


def print_table(title: str, means: dict[str, dict[str, float]]) -> None:
    """Print one minus the loss, and coverage below it."""
    print(f"\n{title}: mean over folds; 1 - loss, and below it the coverage")
    print(
        f"{'tie model':24}{'log loss':>9}{'AURC':>7}{'fit s':>7}"
        + "".join(f"{target:>8.0%}" for target in COVERAGES)
    )
    for name, mean in means.items():
        kept = (f"{mean[f'kept_{c:g}']:>8.3f}" for c in COVERAGES)
        coverage = (f"{mean[f'coverage_{c:g}']:>8.3f}" for c in COVERAGES)
        print(
            f"{name:24}{mean['log_loss']:>9.3f}{mean['aurc']:>7.3f}"
            f"{mean['fit_s']:>7.2f}" + "".join(kept)
        )
        print(" " * 47 + "".join(coverage))


def plot(
    results: dict[tuple[str, str], dict[str, dict[str, float]]], path: Path
) -> None:
    """Draw one minus the loss against coverage, one panel per collection and ranker."""
    collections = list(dict.fromkeys(collection for collection, _ in results))
    rankers = list(dict.fromkeys(ranker for _, ranker in results))
    figure, axes = plt.subplots(
        len(collections),
        len(rankers),
        figsize=(3.4 * len(rankers) + 1.6, 3.0 * len(collections) + 0.4),
        squeeze=False,
        sharey="row",
        layout="constrained",
    )
    for (collection, ranker), means in results.items():
        ax = axes[collections.index(collection), rankers.index(ranker)]
        for name, (colour, line, marker) in STYLES.items():
            kept = [means[name][f"exact_{c:g}"] for c in COVERAGES]
            ax.plot(COVERAGES, kept, color=colour, ls=line, marker=marker, label=name)
        ax.set(title=f"{collection}, {ranker}", xlabel="coverage")
        ax.invert_xaxis()
    for row in axes:
        row[0].set_ylabel("1 - loss of accepted pairs")
    handles = axes[0, 0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=3, frameon=False)
    # A legend may be wider than the panels of one collection.
    figure.savefig(path, dpi=120, bbox_inches="tight")
    plt.close(figure)


def main(argv: list[str] | None = None) -> list[Row]:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, nargs="+", default=[], help="FoldN inside")
    parser.add_argument(
        "--rankers",
        nargs="+",
        choices=("xgboost", "lightgbm", "catboost"),
        default=["lightgbm"],
    )
    parser.add_argument("--loss", default="zero_one", help="misranking, clear_order")
    parser.add_argument("--smoke", action="store_true", help="two small folds")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    parser.add_argument("--out", type=Path, default=Path("out"))
    args = parser.parse_args(argv)

    rows: list[Row] = []
    results = {}
    for folder in args.data or [None]:
        collection = folder.resolve().name if folder else "simulated"
        for ranker in args.rankers:
            folds = list(folds_of(folder, args.smoke))
            if not folds:
                parser.error(f"--data must hold the folders Fold1, …, got {folder}")
            mine: list[Row] = []
            label = f"{collection}, {ranker}"
            for name, fold in tqdm(folds, desc=label, unit="fold", disable=args.quiet):
                for row in evaluate(fold, ranker, TIE_MODELS, args.loss):
                    where = {"collection": collection, "ranker": ranker, "fold": name}
                    mine.append({**where, **row})
            results[collection, ranker] = average(mine)
            print_table(label, results[collection, ranker])
            rows += mine
    args.out.mkdir(parents=True, exist_ok=True)
    with (args.out / "tie_models.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    plot(results, args.out / "tie_models.png")
    print(f"\nTable and figure: {args.out / 'tie_models'}.*")
    return rows


if __name__ == "__main__":
    main()
