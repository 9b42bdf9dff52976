"""How far the coverage of new queries is from what was asked for.

A threshold that accepts 70 % of the calibration pairs accepts 70 % of the pairs of new
queries only up to what queries differ by. Here a trained ranker is calibrated on ever
more validation queries, drawn at random, and the coverage of the test queries is looked
at. The band is what the sampling of queries alone does: 95 % of the differences between
that many calibration queries and these test queries.

    python coverage_error.py                        # simulated
    python coverage_error.py --data MQ2008 OHSUMED  # folders of FoldN
"""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from lightgbm import LGBMRanker
from sklearn.utils import resample
from tqdm import tqdm

from skrank_abstain import BALToR
from skrank_abstain.datasets import load_letor, make_ranking
from skrank_abstain.pairs import group_queries
from skrank_abstain.scorers import fit_ranker

COVERAGE = 0.7
N_QUERIES = (6, 12, 24, 48, 96, 192)
STYLES = {
    "bradley_terry": ("#0072B2", "o"),
    "graded_relevance": ("#009E73", "D"),
    "feature_aware_relevance": ("#D55E00", "v"),
}
Part = tuple[np.ndarray, np.ndarray, np.ndarray]


def parts_of(fold: Path | None, seed: int) -> list[Part]:
    """Return training, validation and test queries."""
    if fold is None:
        sizes = enumerate((200, 200, 400))
        parts = [make_ranking(n, random_state=10 * seed + k) for k, n in sizes]
    else:
        bunch = load_letor(fold)
        parts = [bunch.train, bunch.validation, bunch.test]
    return [(p.data, np.asarray(p.target, dtype=float), p.qid) for p in parts]


def draw(part: Part, n_queries: int, seed: int) -> Part:
    """Return some of the queries."""
    queries = np.unique(part[2])
    chosen = resample(queries, replace=False, n_samples=n_queries, random_state=seed)
    rows = np.isin(part[2], chosen)
    return part[0][rows], part[1][rows], part[2][rows]


def errors(parts: list[Part], n_draws: int, bar: Any) -> list[tuple[Any, ...]]:
    """Return (tie model, queries, error, what sampling does, inside) per draw."""
    train, validation, (X, y, qid) = parts
    model = fit_ranker(
        LGBMRanker(verbose=-1, random_state=0),
        train[0],
        train[1],
        group_queries(train[2], train[2].size),
    )
    rows = []
    for n_queries in N_QUERIES:
        if n_queries > np.unique(validation[2]).size:
            break
        for seed in range(n_draws):
            calibration = draw(validation, n_queries, seed)
            if np.ptp(calibration[1]) == 0:
                continue  # nothing to learn from queries without a relevant item
            for name in STYLES:
                ranker = BALToR(
                    model,
                    coverage=COVERAGE,
                    tie_model=name,
                    loss="zero_one",
                    random_state=0,
                )
                ranker.fit(calibration[0], calibration[1], qid=calibration[2])
                totals = ranker.evaluate(X, y, qid=qid)
                # The error of a ratio of two sums over queries, linearised.
                rest = totals.accepted - totals.coverage * totals.pairs
                of_one = np.std(rest) / np.mean(totals.pairs)
                sampling = of_one * np.sqrt(1 / n_queries + 1 / totals.pairs.size)
                low, high = ranker.coverage_interval_
                inside = low <= totals.coverage <= high
                error = totals.coverage - COVERAGE
                rows.append((name, n_queries, error, sampling, inside))
            bar.update()
    return rows


def table(rows: list[tuple[Any, ...]]) -> dict[tuple[str, int], np.ndarray]:
    """Return mean error, its spread, that of sampling, share inside, by model and n."""
    groups: dict[tuple[str, int], list[Any]] = {}
    for name, n_queries, *numbers in rows:
        groups.setdefault((name, n_queries), []).append(numbers)
    found = {}
    for key, numbers in groups.items():
        error, sampling, inside = np.array(numbers, dtype=float).T
        spread = np.sqrt(np.mean(error**2))
        of_queries = np.sqrt(np.mean(sampling**2))
        found[key] = np.array([error.mean(), spread, of_queries, inside.mean()])
    return found


def plot(results: dict[str, dict[tuple[str, int], np.ndarray]], path: Path) -> None:
    """Draw mean errors, their spread, and the band, one panel per collection."""
    figure, axes = plt.subplots(
        1,
        len(results),
        figsize=(5.2 * len(results), 3.8),
        squeeze=False,
        sharey=True,
        layout="constrained",
    )
    for ax, (collection, found) in zip(axes[0], results.items(), strict=True):
        sizes = list(dict.fromkeys(n for _, n in found))
        band = np.array([1.96 * found["graded_relevance", n][2] for n in sizes])
        ax.fill_between(sizes, -band, band, color="#009E73", alpha=0.12, lw=0)
        for k, (name, (colour, marker)) in enumerate(STYLES.items()):
            mean, spread = np.array([found[name, n][:2] for n in sizes]).T
            beside = np.array(sizes) * 1.06 ** (k - 1)
            style = {"color": colour, "marker": marker, "ms": 5, "lw": 1.2}
            ax.errorbar(beside, mean, 1.96 * spread, label=name, capsize=3, **style)
        ax.axhline(0, color="#555555", lw=0.8)
        ax.set(xscale="log", title=collection, xlabel="calibration queries")
        ax.set_xticks(sizes, [str(n) for n in sizes], minor=False)
        ax.minorticks_off()
    axes[0, 0].set_ylabel(f"coverage of new queries less {COVERAGE:g}")
    handles = axes[0, 0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=3, frameon=False)
    # A legend may be wider than the panels of one collection.
    figure.savefig(path, dpi=120, bbox_inches="tight")
    plt.close(figure)


def main(argv: list[str] | None = None) -> dict[str, Any]:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, nargs="+", default=[], help="FoldN inside")
    parser.add_argument("--draws", type=int, default=20, help="per size and fold")
    parser.add_argument("--smoke", action="store_true", help="one fold, two draws")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    parser.add_argument("--out", type=Path, default=Path("out"))
    args = parser.parse_args(argv)

    n_draws = 2 if args.smoke else args.draws
    results = {}
    for folder in args.data or [None]:
        folds: list[Any] = [None] * (1 if args.smoke else 5)
        if folder is not None:
            folds = sorted(p for p in folder.glob("Fold*") if p.is_dir())
        collection = folder.resolve().name if folder else "simulated"
        rows = []
        with tqdm(desc=collection, disable=args.quiet, unit="draw") as bar:
            for k, fold in enumerate(folds):
                rows += errors(parts_of(fold, k), n_draws, bar)
        results[collection] = table(rows)
        print(f"\n{collection}: coverage of the test queries, {COVERAGE:g} asked for\n")
        print("| tie model | queries | mean error | spread | by sampling | inside |")
        print("|---|---|---|---|---|---|")
        for (name, n), (mean, spread, sampling, inside) in sorted(
            results[collection].items(), key=lambda row: list(STYLES).index(row[0][0])
        ):
            print(
                f"| {name} | {n} | {mean:+.3f} | {spread:.3f} | {sampling:.3f} "
                f"| {inside:.0%} |"
            )
    args.out.mkdir(parents=True, exist_ok=True)
    plot(results, args.out / "coverage_error.png")
    return results


if __name__ == "__main__":
    main()
