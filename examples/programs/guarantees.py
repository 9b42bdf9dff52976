"""Promised against achieved: guarantees for pairs that depend on each other.

A ranker that is good on some queries and poor on others is calibrated again and again
on freshly drawn queries, and each time its true selective risk, or its true coverage,
is looked up in a large population. Methods that treat pairs as the sample fail far
more often than they say; methods that treat queries as the sample keep their word.

    python guarantees.py            # some minutes
    python guarantees.py --smoke    # seconds
"""

import csv
import warnings
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import beta
from sklearn.base import BaseEstimator
from tqdm import tqdm

from skrank_abstain import BALToR, RiskControlledRanker
from skrank_abstain.pairs import pair_labels

MAX_RISK, DELTA, COVERAGE = 0.35, 0.1, 0.7
STYLES = {
    "pairs, binomial": ("#D55E00", "s"),
    "queries, betting": ("#0072B2", "o"),
    "quantile": ("#E69F00", "s"),
    "hierarchical": ("#0072B2", "o"),
}


class FirstColumn(BaseEstimator):
    """A trained ranker whose score is in the data already."""

    def fit(self, X: Any, y: Any) -> "FirstColumn":
        """Learn nothing."""
        self.fitted_ = True
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the first column."""
        return np.asarray(X)[:, 0]


def draw(n_queries: int, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Draw queries of 5 to 30 items that the ranker orders well, or hardly."""
    sizes = rng.integers(5, 31, n_queries)
    qid = np.repeat(np.arange(n_queries), sizes)
    quality = rng.choice([0.3, 1.0, 3.0], n_queries)[qid]
    utility = rng.normal(size=qid.size)
    score = quality * utility + rng.normal(size=qid.size)
    shift = rng.normal(0, 0.7, n_queries)[qid]
    y = np.searchsorted([0.5, 1.5], utility + shift).astype(float)
    return score[:, None], y, qid


def by_pairs(
    X: np.ndarray, y: np.ndarray, qid: np.ndarray, tie_model: str, seed: int
) -> BALToR:
    """Take the largest threshold whose binomial bound over *pairs* allows it: wrong."""
    codes = np.random.default_rng(seed).permutation(int(qid.max()) + 1)
    tuning = (codes < 0.3 * codes.size)[qid]
    ranker = BALToR(FirstColumn().fit(X, y), tie_model=tie_model, loss="zero_one")
    ranker.fit(X[tuning], y[tuning], qid=qid[tuning])
    decisions = ranker.predict_pairs(X[~tuning], qid=qid[~tuning])
    wrong = decisions.label != pair_labels(y[~tuning], decisions.left, decisions.right)
    best = 0.01
    for coverage in np.arange(0.02, 1.01, 0.02):
        accepted = ranker.at_coverage(min(coverage, 1.0)).abstain(
            X[~tuning], qid=qid[~tuning]
        )
        errors, n = int(wrong[~accepted].sum()), int((~accepted).sum())
        if errors < n and beta.ppf(1 - DELTA, errors + 1, n - errors) <= MAX_RISK:
            best = min(coverage, 1.0)
    return ranker.at_coverage(best)


def balanced(totals: Any) -> tuple[float, float]:
    """Return coverage and selective risk, each query counting alike."""
    pairs = np.maximum(totals.pairs, 1)
    accepted = (totals.accepted / pairs).mean()
    wrong = ((totals.accepted - totals.correct) / pairs).mean()
    return accepted, wrong / accepted if accepted > 0 else 0.0


def run(
    n_queries: int, tie_model: str, seed: int, population: tuple[np.ndarray, ...]
) -> Iterator[dict[str, Any]]:
    """Yield what each method promised and what it does in the population."""
    rng = np.random.default_rng(seed)
    X, y, qid = draw(n_queries, rng)
    model = FirstColumn().fit(X, y)
    rankers: dict[str, Any] = {"pairs, binomial": by_pairs(X, y, qid, tie_model, seed)}
    ranker = RiskControlledRanker(
        model,
        max_risk=MAX_RISK,
        delta=DELTA,
        bound="loss",
        tuning_size=0.3,
        tie_model=tie_model,
        loss="zero_one",
        random_state=seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        rankers["queries, betting"] = ranker.fit(X, y, qid=qid)
    for name, ranker in rankers.items():
        coverage, risk = balanced(ranker.evaluate(*population[:2], qid=population[2]))
        yield {
            "what": "risk",
            "method": name,
            "n_queries": n_queries,
            "coverage": coverage,
            "achieved": risk,
            "failed": risk > MAX_RISK,
            "silent": coverage == 0,
        }
    for name in ("quantile", "hierarchical"):
        guarantee = "hierarchical" if name == "hierarchical" else None
        ranker = BALToR(
            model,
            coverage=COVERAGE,
            tie_model=tie_model,
            loss="zero_one",
            coverage_guarantee=guarantee,
            random_state=seed,
        ).fit(X, y, qid=qid)
        coverage, _ = balanced(ranker.evaluate(*population[:2], qid=population[2]))
        yield {
            "what": "coverage",
            "method": name,
            "n_queries": n_queries,
            "coverage": coverage,
            "achieved": coverage,
            "failed": coverage < COVERAGE,
            "silent": False,
        }


def print_table(rows: list[dict[str, Any]]) -> None:
    """Print the share of failures, by method and number of queries."""
    print(
        f"\nBound on the risk {MAX_RISK:g}, to fail in at most {DELTA:.0%} of the "
        f"draws; coverage {COVERAGE:.0%}, to hold on average over draws"
    )
    print(
        f"{'method':28}{'queries':>8}{'failed':>9}{'decides nothing':>17}"
        f"{'mean coverage':>15}{'mean risk of the rest':>23}"
    )
    for key in dict.fromkeys((r["what"], r["method"], r["n_queries"]) for r in rows):
        mine = [r for r in rows if (r["what"], r["method"], r["n_queries"]) == key]
        mean = {
            name: np.mean([float(row[name]) for row in mine])
            for name in ("failed", "silent", "coverage")
        }
        deciding = [row["achieved"] for row in mine if not row["silent"]]
        risk = f"{np.mean(deciding):.3f}" if deciding and key[0] == "risk" else ""
        failed = f"{mean['failed']:.1%}" if key[0] == "risk" else ""
        print(
            f"{key[1]:28}{key[2]:>8}{failed:>9}{mean['silent']:>17.1%}"
            f"{mean['coverage']:>15.3f}{risk:>23}"
        )


def plot(rows: list[dict[str, Any]], path: Path) -> None:
    """Draw what was achieved in every draw against what was promised."""
    sizes = sorted({row["n_queries"] for row in rows})
    panels = {
        "risk": (MAX_RISK, "true selective risk", "risk bound"),
        "coverage": (COVERAGE, "true coverage", "target coverage"),
    }
    figure, axes = plt.subplots(1, 2, figsize=(11, 3.8), layout="constrained")
    rng = np.random.default_rng(0)
    for ax, (what, (target, label, name)) in zip(axes, panels.items(), strict=True):
        methods = list(dict.fromkeys(r["method"] for r in rows if r["what"] == what))
        for k, method in enumerate(methods):
            for j, size in enumerate(sizes):
                values = np.array(
                    [
                        row["achieved"]
                        for row in rows
                        if (row["what"], row["method"], row["n_queries"])
                        == (what, method, size)
                        and not row["silent"]
                    ]
                )
                place = j * (len(methods) + 1) + k
                jitter = place + rng.uniform(-0.28, 0.28, values.size)
                colour, marker = STYLES[method]
                ax.scatter(
                    jitter,
                    values,
                    s=10,
                    alpha=0.5,
                    color=colour,
                    marker=marker,
                    lw=0,
                    label=method if j == 0 else None,
                )
                if what == "coverage" and values.size:
                    ax.hlines(values.mean(), place - 0.4, place + 0.4, color="black")
        ax.axhline(target, color="#555555", ls="--", lw=1, label=name)
        middle = (len(methods) - 1) / 2
        ax.set_xticks([j * (len(methods) + 1) + middle for j in range(len(sizes))])
        ax.set_xticklabels([str(size) for size in sizes])
        ax.set(xlabel="calibration queries", ylabel=label)
        ax.legend(
            loc="upper center",
            bbox_to_anchor=(0.5, -0.18),
            ncols=2,
            frameon=False,
            markerscale=2,
        )
    axes[0].set_title(f"Draws that decide; above the line: broken, {DELTA:.0%} allowed")
    axes[1].set_title("Draws; bar: their mean (the truth is known to 0.003)")
    figure.savefig(path, dpi=120, bbox_inches="tight")
    plt.close(figure)


def main(argv: list[str] | None = None) -> list[dict[str, Any]]:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tie-model", default="graded_relevance")
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--queries", type=int, nargs="+", default=[60, 200, 800])
    parser.add_argument("--smoke", action="store_true", help="a few draws")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    parser.add_argument("--out", type=Path, default=Path("out"))
    args = parser.parse_args(argv)
    if args.smoke:
        args.draws, args.queries = 5, [60, 200]
    # Many answers are ties here, and a tie is an answer like the others.
    warnings.filterwarnings("ignore", "Nearly all accepted pairs are ties")
    population = draw(1000 if args.smoke else 5000, np.random.default_rng(2**31))
    rows: list[dict[str, Any]] = []
    draws = [(n, seed) for n in args.queries for seed in range(args.draws)]
    for n_queries, seed in tqdm(draws, desc="draws", disable=args.quiet):
        rows.extend(run(n_queries, args.tie_model, seed, population))
    print_table(rows)
    args.out.mkdir(parents=True, exist_ok=True)
    with (args.out / "guarantees.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    plot(rows, args.out / "guarantees.png")
    print(f"\nTable and figure: {args.out / 'guarantees'}.*")
    return rows


if __name__ == "__main__":
    main()
