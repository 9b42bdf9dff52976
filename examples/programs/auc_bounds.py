"""Count the examples it takes until a bound on the AUC says anything.

Redraws Figure 1 of Agarwal, Har-Peled and Roth (2005): two bounds on how far the
empirical AUC of any linear ranking function of one feature can be from its expectation,
against the sample size, for several shares of positives. Beside them, what is measured
on simulated samples, and how often confidence intervals of the AUC hold the true value.

Run it with ``python auc_bounds.py``; it takes a few minutes.
"""

# %%
import math
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import ndtr, ndtri
from sklearn.metrics import roc_auc_score
from tqdm import tqdm

from skrank_abstain.theory import (
    auc_confidence_interval,
    auc_sample_size,
    auc_test_set_bound,
    auc_uniform_bound,
    auc_uniform_bound_freund,
    log_rank_shatter_linear,
    log_threshold_shatter_linear,
)

DELTA = 0.01
SHARES = (0.5, 0.3, 0.1, 0.01)
# From the top down; name, function of m and n, colour, line style.
BOUNDS = {
    "all rankers, Freund et al.": (
        partial(
            auc_uniform_bound_freund,
            log_shatter=partial(log_threshold_shatter_linear, n_features=1),
        ),
        "#D55E00",
        "--",
    ),
    "all rankers, Agarwal et al.": (
        partial(
            auc_uniform_bound,
            log_shatter=partial(log_rank_shatter_linear, n_features=1),
        ),
        "#0072B2",
        "-",
    ),
    "best of 20 on a test set": (
        partial(auc_test_set_bound, n_rankers=20),
        "#CC79A7",
        (0, (5, 1)),
    ),
    "one ranker on a test set": (auc_test_set_bound, "#009E73", "-."),
}


# %%
# The first sample size with a bound of one half. Guessing has an expected AUC of one
# half: a larger bound cannot even tell a perfect result from luck.
def first_at_half(bound: Callable[..., float], share: float) -> int:
    return sum(auc_sample_size(0.5, bound, delta=DELTA, positive_share=share))


# %%
# The largest deviation over all linear functions of one feature. There are three
# rankings: upwards and downwards deviate equally, and all ties do not deviate at all.
# The feature is noise here, so that the expected AUC is one half.
def measured_deviation(m: int, n: int, n_samples: int, seed: int) -> float:
    rng = np.random.default_rng(seed)
    positive = np.arange(m + n) < m
    deviations = np.empty(n_samples)
    for sample in range(n_samples):
        deviations[sample] = abs(roc_auc_score(positive, rng.random(m + n)) - 0.5)
    return float(np.quantile(deviations, 1 - DELTA))


def print_deviations(measured: dict[float, dict[int, float]]) -> None:
    print(f"\nDeviation that is exceeded in {DELTA:.0%} of the samples, and its bounds")
    names = ["measured", *BOUNDS]
    print(f"{'positives':>10} {'examples':>9} " + " ".join(f"{n:>28}" for n in names))
    for share, points in measured.items():
        for size, value in points.items():
            m = round(share * size)
            bounds = [bound(m, size - m, delta=DELTA) for bound, *_ in BOUNDS.values()]
            print(
                f"{share:>10.0%} {size:>9,} "
                + " ".join(f"{number:>28.3f}" for number in (value, *bounds))
            )


# %%
# How often does an interval of 95 % hold the true value? Scores of positives are normal
# around a mean above that of the negatives, so that the true AUC is known.
def item_sample(
    m: int, n: int, auc: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    y = np.repeat([1, 0], [m, n])
    return y, rng.normal(math.sqrt(2) * ndtri(auc) * y)


# In queries the scores also share a level, and the ranker is better in some queries.
def query_sample(
    n_queries: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    qid = np.repeat(np.arange(n_queries), rng.integers(4, 20, n_queries))
    y = (rng.random(qid.size) < 0.3).astype(int)
    level = rng.normal(scale=2, size=n_queries)
    quality = rng.normal(1.2, 0.5, size=n_queries)
    return y, rng.normal(level[qid] + quality[qid] * y), qid


QUERY_AUC = float(ndtr(1.2 / math.sqrt(2 + 0.5**2)))


def item_coverage(
    m: int, n: int, auc: float, method: str, n_samples: int
) -> dict[str, object]:
    rng = np.random.default_rng(0)
    results = []
    for sample in range(n_samples):
        y, scores = item_sample(m, n, auc, rng)
        results.append(
            auc_confidence_interval(y, scores, method=method, random_state=sample)
        )
    return summary(f"{m} and {n} items", auc, method, results)


def query_coverage(n_queries: int, method: str, n_samples: int) -> dict[str, object]:
    rng = np.random.default_rng(0)
    results = []
    for sample in range(n_samples):
        y, scores, qid = query_sample(n_queries, rng)
        results.append(
            auc_confidence_interval(
                y, scores, qid=qid, method=method, random_state=sample
            )
        )
    return summary(f"{n_queries} queries", QUERY_AUC, method, results)


def summary(
    name: str, auc: float, method: str, results: list[tuple[float, float, float]]
) -> dict[str, object]:
    _, low, high = np.array(results).T
    return {
        "sample": name,
        "auc": auc,
        "method": method,
        "covered": float(((low <= auc) & (auc <= high)).mean()),
        "width": float((high - low).mean()),
    }


def print_coverage(rows: list[dict]) -> None:
    print(
        f"\n{'sample':>20} {'true AUC':>9} {'method':>11} {'covered':>8} {'width':>6}"
    )
    for row in rows:
        print(
            f"{row['sample']:>20} {row['auc']:>9.3f} {row['method']:>11} "
            f"{row['covered']:>8.1%} {row['width']:>6.3f}"
        )


# %%
def draw(measured: dict[float, dict[int, float]], path: Path) -> None:
    figure, axes = plt.subplots(
        1, len(SHARES), figsize=(12, 3.8), sharey=True, layout="constrained"
    )
    for ax, share in zip(axes, SHARES, strict=True):
        sizes = np.unique(np.geomspace(100, 1e5, 120).round().astype(int))
        positives = np.maximum(np.round(share * sizes).astype(int), 1)
        for name, (bound, colour, style) in BOUNDS.items():
            values = [
                bound(int(m), int(size - m), delta=DELTA)
                for m, size in zip(positives, sizes, strict=True)
            ]
            ax.plot(sizes, values, color=colour, ls=style, lw=2, label=name)
        points = measured[share]
        ax.plot(
            [*points.keys()],
            [*points.values()],
            color="#000000",
            marker="o",
            markersize=4,
            ls="none",
            label="measured",
        )
        ax.axhline(0.5, color="#777777", ls=":", lw=1)
        ax.set(xscale="log", ylim=(0, 1), title=f"{share:.0%} positives")
        ax.set_xlabel("examples")
    axes[0].set_ylabel("difference of sample and expected AUC")
    axes[0].text(1.1e5, 0.51, "guessing", color="#555555", ha="right", fontsize=8)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, ncols=5, loc="outside lower center")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)


# %%
def main(argv: Sequence[str] | None = None) -> dict[str, list[dict]]:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="seconds, few samples")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    parser.add_argument("--out", type=Path, default=Path("out"), help="for the figure")
    options = parser.parse_args(argv)

    thresholds = []
    print("Examples until the bound is one half, linear functions of one feature")
    print(f"{'positives':>10} " + " ".join(f"{name:>28}" for name in BOUNDS))
    for share in SHARES:
        row = {name: first_at_half(bound[0], share) for name, bound in BOUNDS.items()}
        thresholds.append({"share": share, **row})
        print(f"{share:>10.0%} " + " ".join(f"{size:>28,}" for size in row.values()))

    n_samples, n_intervals = (200, 20) if options.smoke else (2000, 1000)
    sizes = (300, 3000) if options.smoke else (100, 300, 1000, 3000, 10_000, 30_000)
    cells = [(share, size) for share in SHARES for size in sizes]
    measured: dict[float, dict[int, float]] = {share: {} for share in SHARES}
    for share, size in tqdm(cells, "deviations", disable=options.quiet):
        m = round(share * size)
        measured[share][size] = measured_deviation(m, size - m, n_samples, seed=size)
    print_deviations(measured)

    coverage = []
    item_cases = [
        (sample, auc, method)
        for sample in ((10, 10), (30, 30), (30, 300))
        for auc in (0.7, 0.95)
        for method in ("delong", "bootstrap", "hoeffding")
    ]
    for sample, auc, method in tqdm(item_cases, "items", disable=options.quiet):
        coverage.append(item_coverage(*sample, auc, method, n_intervals))
    query_cases = [
        (q, method) for q in (20, 100) for method in ("cluster", "bootstrap")
    ]
    for n_queries, method in tqdm(query_cases, "queries", disable=options.quiet):
        coverage.append(query_coverage(n_queries, method, n_intervals))
    print_coverage(coverage)

    path = options.out / "auc_bounds.png"
    draw(measured, path)
    print(f"\nFigure: {path}")
    return {"thresholds": thresholds, "coverage": coverage}


if __name__ == "__main__":
    main()
