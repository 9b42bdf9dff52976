"""Is what is called 30 % true three times in ten? Every tie model, on test queries.

A ranker is trained on the training queries of each fold, tie models are fitted on the
validation queries, and the pairs of all test queries are pooled. Pairs are put into ten
bins by the predicted probability of an outcome; the calibration error is the mean
distance of prediction and frequency over the bins, weighted by pairs. Its interval is
a bootstrap over queries. Errors of a model that is right would not be zero: frequencies
scatter, by what the last column says.

    python pair_reliability.py                        # simulated
    python pair_reliability.py --data MQ2008 OHSUMED  # folders of FoldN
"""

from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from folds import folds_of
from lightgbm import LGBMRanker
from tqdm import tqdm

from skrank_abstain import BALToR
from skrank_abstain.displays import PairReliabilityDisplay
from skrank_abstain.pairs import group_queries
from skrank_abstain.scorers import fit_ranker
from skrank_abstain.tie_models import BradleyTerry

TIE_MODELS = {
    "bradley_terry (counts)": BradleyTerry(calibration="counts"),
    "bradley_terry": "bradley_terry",
    "isotonic_difference": "isotonic_difference",
    "graded_relevance": "graded_relevance",
    "feature_aware_relevance": "feature_aware_relevance",
}
OUTCOMES = ("higher-scored preferred", "tie", "lower-scored preferred")
N_BINS, N_RESAMPLES = 10, 500


def predictions(fold: Any, bar: Any) -> Iterator[tuple[str, Any]]:
    """Yield probabilities in the direction of the scores, outcomes, gaps and query."""
    train, vali, test = fold.train, fold.validation, fold.test
    queries = group_queries(train.qid, train.qid.size)
    y = np.asarray(train.target, dtype=float)
    ranker = LGBMRanker(verbose=-1, random_state=0)
    model = fit_ranker(ranker, train.data, y, queries)
    truth = np.asarray(test.target, dtype=float)
    for name, tie_model in TIE_MODELS.items():
        selective = BALToR(model, tie_model=tie_model, loss="zero_one", random_state=0)
        selective.fit(vali.data, vali.target, qid=vali.qid)
        pairs = selective.predict_pairs(test.data, qid=test.qid)
        scores = selective.predict(test.data)
        difference = scores[pairs.left] - scores[pairs.right]
        label = np.sign(truth[pairs.left] - truth[pairs.right]).astype(int)
        yield name, (label, pairs.proba, difference, pairs.qid)
        bar.update()


def calibration_error(
    proba: np.ndarray, happened: np.ndarray, query: np.ndarray
) -> np.ndarray:
    """Return the error, its interval over queries, and that of a model that is right.

    Parameters
    ----------
    proba, happened : ndarray of shape (n_pairs,)
    query : ndarray of shape (n_pairs,), int
    """
    edges = np.unique(np.quantile(proba, np.linspace(0, 1, N_BINS + 1)[1:-1]))
    cell = query * N_BINS + np.searchsorted(edges, proba, side="right")
    n_queries = query.max() + 1

    def by_query(values: np.ndarray) -> np.ndarray:
        return np.bincount(cell, values, n_queries * N_BINS).reshape(n_queries, N_BINS)

    n_pairs, excess = by_query(np.ones(proba.size)), by_query(happened - proba)
    rng = np.random.default_rng(0)
    drawn = rng.multinomial(n_queries, np.full(n_queries, 1 / n_queries), N_RESAMPLES)
    total = drawn @ n_pairs.sum(axis=1)
    errors = np.abs(drawn @ excess).sum(axis=1) / total
    # A query's excess with its sign turned or not is what a right model would show.
    signs = rng.choice([-1.0, 1.0], (N_RESAMPLES, n_queries))
    by_chance = np.abs(signs @ excess).sum(axis=1) / proba.size
    found = np.abs(excess.sum(axis=0)).sum() / proba.size
    return np.array([found, *np.quantile(errors, [0.025, 0.975]), by_chance.mean()])


def measure(pooled: dict[str, list[Any]]) -> dict[str, np.ndarray]:
    """Return errors of shape (3, 4) by tie model, outcomes as in ``OUTCOMES``."""
    found = {}
    for name, folds in pooled.items():
        columns = []
        first = 0
        for label, proba, difference, qid in folds:
            code = group_queries(qid, len(qid)).codes + first
            first = code.max() + 1
            up = (difference >= 0)[:, None]
            along = np.where(up, proba[:, ::-1], proba)
            outcome = 1 - np.where(up[:, 0], label, -label)
            columns.append((along, outcome, code))
        along, outcome, code = (np.concatenate(c) for c in zip(*columns, strict=True))
        found[name] = np.array(
            [calibration_error(along[:, k], outcome == k, code) for k in range(3)]
        )
    return found


def plot(pooled: dict[str, dict[str, list[Any]]], path: Path) -> None:
    """Draw a reliability diagram for each collection and three of the models."""
    names = ["bradley_terry", "graded_relevance", "feature_aware_relevance"]
    figure, axes = plt.subplots(
        len(pooled),
        len(names),
        figsize=(4.0 * len(names), 3.0 * len(pooled) + 0.4),
        squeeze=False,
        layout="constrained",
    )
    for row, (collection, found) in zip(axes, pooled.items(), strict=True):
        for ax, name in zip(row, names, strict=True):
            label, proba, difference = (
                np.concatenate([fold[k] for fold in found[name]]) for k in range(3)
            )
            qid = [f"{k} {q}" for k, fold in enumerate(found[name]) for q in fold[3]]
            PairReliabilityDisplay.from_predictions(
                label, proba, difference, qid=qid, ax=ax
            )
            handles = ax.get_legend_handles_labels()
            ax.get_legend().remove()
            ax.set_title(f"{collection}, {name}")
    figure.legend(*handles, loc="outside lower center", ncols=4, frameon=False)
    figure.savefig(path, dpi=100)
    plt.close(figure)


def main(argv: list[str] | None = None) -> dict[str, Any]:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, nargs="+", default=[], help="FoldN inside")
    parser.add_argument("--smoke", action="store_true", help="two small folds")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    parser.add_argument("--out", type=Path, default=Path("out"))
    args = parser.parse_args(argv)

    pooled: dict[str, dict[str, list[Any]]] = {}
    results = {}
    for folder in args.data or [None]:
        collection = folder.resolve().name if folder else "simulated"
        found: dict[str, list[Any]] = {name: [] for name in TIE_MODELS}
        with tqdm(desc=collection, disable=args.quiet, unit="model") as bar:
            for _, fold in folds_of(folder, args.smoke):
                for name, columns in predictions(fold, bar):
                    found[name].append(columns)
        pooled[collection], results[collection] = found, measure(found)
        print(f"\n{collection}: calibration error of the pairs of test queries\n")
        print("| tie model | outcome | error | 95 % | by chance |")
        print("|---|---|---|---|---|")
        for name, errors in results[collection].items():
            for outcome, (error, low, high, chance) in zip(
                OUTCOMES, errors, strict=True
            ):
                print(
                    f"| {name} | {outcome} | {error:.3f} | {low:.3f} to {high:.3f} "
                    f"| {chance:.3f} |"
                )
    args.out.mkdir(parents=True, exist_ok=True)
    plot(pooled, args.out / "pair_reliability.png")
    return results


if __name__ == "__main__":
    main()
