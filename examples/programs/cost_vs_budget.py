"""A price or a budget, a distance or a risk: four ways to leave pairs to a person.

BALToR is given a share of pairs to decide, Chow's rule a price of asking, and both give
up the pairs of highest risk. The distance rule gives up the pairs whose items are near
each other in feature space. All of them count the same loss: a pair in the wrong order
costs 1, an order for a tied pair costs nothing. For every fold the ranker is trained on
the training queries, every threshold is chosen on the validation queries, and the test
queries say what it was worth.

    python cost_vs_budget.py                      # simulated folds
    python cost_vs_budget.py --data OHSUMED       # a folder of FoldN
"""

import csv
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from folds import folds_of
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tqdm import tqdm

from skrank_abstain import BALToR, CostAbstainer
from skrank_abstain.distance import DistanceAbstainer
from skrank_abstain.pairs import group_queries
from skrank_abstain.scorers import fit_ranker

#: Rows predicted, columns true: -1, 0, +1. The misranking loss of the distance rule.
MISRANKING = [[0, 0, 1], [0.5, 0, 0.5], [1, 0, 0]]
COVERAGES = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
COSTS = (0.04, 0.06, 0.08, 0.1, 0.11, 0.12, 0.13, 0.14, 0.15, 0.16, 0.18, 0.2)
STYLES = {
    "BALToR": ("#0072B2", "-", ""),
    "Chow": ("#E69F00", "", "o"),
    "distance, max norm": ("#D55E00", "--", ""),
    "distance, 2-norm": ("#009E73", "-.", ""),
}

Row = dict[str, Any]


def make_ranker(name: str) -> Any:
    """Return an untrained ranker with default parameters."""
    if name == "ridge":
        return make_pipeline(StandardScaler(), Ridge())
    from lightgbm import LGBMRanker

    return LGBMRanker(verbose=-1)


def measure(ranker: Any, part: Any) -> dict[str, float]:
    """Return coverage and errors on labelled queries."""
    totals = ranker.evaluate(part.data, part.target, qid=part.qid)
    pairs, accepted = totals.pairs.sum(), totals.accepted.sum()
    misranked = accepted - totals.accepted_tied.sum() - totals.ordered.sum()
    return {
        "coverage": accepted / pairs,
        "misranked": misranked / pairs,
        "ordered": totals.ordered.sum() / pairs,
    }


def at_coverage(ranker: DistanceAbstainer, coverage: float) -> DistanceAbstainer:
    """Return the distance rule that decides at least so many validation pairs."""
    curve = ranker.loss_curve_
    enough = np.flatnonzero(curve.coverage >= coverage)
    return ranker.at_gamma(curve.gamma[enough[-1] if enough.size else 0])


def evaluate(fold: Any, ranker: str) -> Iterator[Row]:
    """Yield one row per rule and setting."""
    train, vali, test = fold.train, fold.validation, fold.test
    queries = group_queries(train.qid, train.qid.size)
    y = np.asarray(train.target, dtype=float)
    model = fit_ranker(make_ranker(ranker), train.data, y, queries)

    def calibrated(rule: Any) -> Any:
        return rule.fit(vali.data, vali.target, qid=vali.qid)

    # The difference of two scores against a distance: a model of the difference.
    options = {"tie_model": "bradley_terry", "loss": MISRANKING}
    budget = calibrated(BALToR(model, **options))
    price = calibrated(CostAbstainer(model, **options))
    near = {
        "distance, max norm": calibrated(DistanceAbstainer(model)),
        "distance, 2-norm": calibrated(DistanceAbstainer(model, norm=2)),
    }
    for coverage in COVERAGES:
        rules = {"BALToR": budget.at_coverage(coverage)}
        rules |= {name: at_coverage(rule, coverage) for name, rule in near.items()}
        for name, rule in rules.items():
            row = {"rule": name, "given": "coverage", "value": coverage}
            yield {**row, **measure(rule, test)}
    for cost in COSTS:
        chow = price.at_cost(cost)
        rules = {"Chow": chow}
        if chow.coverage_ > 0:  # the budget that this price buys
            rules["BALToR"] = budget.at_coverage(chow.coverage_)
        rules |= {name: rule.at_cost(cost) for name, rule in near.items()}
        for name, rule in rules.items():
            row = {"rule": name, "given": "cost", "value": cost}
            yield {**row, **measure(rule, test)}


def average(rows: list[Row]) -> list[Row]:
    """Return means over folds of shares of pairs, and the ratios of these means."""
    numbers = ("coverage", "misranked", "ordered")
    n_folds = len({row["fold"] for row in rows})
    means = []
    for key in dict.fromkeys((r["rule"], r["given"], r["value"]) for r in rows):
        mine = [r for r in rows if (r["rule"], r["given"], r["value"]) == key]
        if len(mine) < n_folds:  # a price that buys nothing has no budget
            continue
        mean = {name: float(np.mean([r[name] for r in mine])) for name in numbers}
        with np.errstate(invalid="ignore"):
            error = np.divide(mean["misranked"], mean["coverage"])
            auc = np.divide(mean["ordered"], mean["ordered"] + mean["misranked"])
        row = {"rule": key[0], "given": key[1], "value": key[2], **mean}
        means.append({**row, "error": error, "auc": auc})
    return means


def series(means: list[Row], rule: str, given: str, *names: str) -> list[np.ndarray]:
    """Return columns of the rows of one rule."""
    mine = [row for row in means if (row["rule"], row["given"]) == (rule, given)]
    return [np.array([row[name] for row in mine]) for name in names]


def print_tables(title: str, means: list[Row]) -> None:
    """Print what each rule does at a share of pairs, and at a price."""
    print(f"\n{title}: mean over folds, test queries")
    print("misranked share of the decided pairs, and AUC, by the share asked for")
    print(f"{'rule':22}" + "".join(f"{c:>9.0%}" for c in COVERAGES))
    for rule in STYLES:
        error, auc = series(means, rule, "coverage", "error", "auc")
        if error.size:
            print(f"{rule:22}" + "".join(f"{value:>9.4f}" for value in error))
            print(" " * 22 + "".join(f"{value:>9.3f}" for value in auc))
    print("coverage, and misranked share plus price of asking, by the price")
    shown = [cost for cost in COSTS if round(100 * cost) % 2 == 0]
    print(f"{'rule':22}" + "".join(f"{cost:>9.2f}" for cost in shown))
    for rule in STYLES:
        cost, coverage, wrong = series(
            means, rule, "cost", "value", "coverage", "misranked"
        )
        both = dict(zip(cost, zip(coverage, wrong, strict=True), strict=True))
        known = [(c, *both.get(c, (np.nan, np.nan))) for c in shown]
        print(f"{rule:22}" + "".join(f"{share:>9.3f}" for _, share, _ in known))
        print(
            " " * 22 + "".join(f"{w + c * (1 - share):>9.4f}" for c, share, w in known)
        )


def plot(means: list[Row], title: str, path: Path) -> None:
    """Draw errors by coverage, coverage by price, and what is saved by price."""
    figure, axes = plt.subplots(1, 3, figsize=(12.6, 4.0), layout="constrained")
    everything = series(means, "BALToR", "coverage", "misranked")[0][0]
    for rule, (colour, line, marker) in STYLES.items():
        style = {
            "color": colour,
            "ls": line,
            "marker": marker,
            "ms": 4.5,
            "label": rule,
        }
        given = "cost" if rule == "Chow" else "coverage"
        coverage, error = series(means, rule, given, "coverage", "error")
        some = coverage >= 0.05
        axes[0].plot(coverage[some], error[some], **style)
        cost, coverage, wrong = series(
            means, rule, "cost", "value", "coverage", "misranked"
        )
        axes[1].plot(cost, coverage, **style)
        best = np.minimum(cost, everything)
        bill = wrong + cost * (1 - coverage)
        axes[2].plot(cost, 1000 * (best - bill), **style)
    trivial = {"color": "#777777", "lw": 1, "ls": ":"}
    axes[0].axhline(everything, **trivial)
    nothing = axes[2].axhline(0, label="ask all, or decide all", **trivial)
    axes[0].set(
        xlabel="share of pairs decided",
        ylabel="misranked share of decided pairs",
        title="Risk by coverage",
        xlim=(1.02, 0.05),
    )
    axes[1].set(
        xlabel="price of asking",
        ylabel="share of pairs decided",
        title="The coverage that a price buys",
    )
    axes[2].set(
        xlabel="price of asking",
        ylabel="saved per 1000 pairs",
        title="Saved against asking all or deciding all",
    )
    for ax in axes[1:]:
        ax.set_xticks([0.04, 0.08, 0.12, 0.16, 0.2])
    handles = [*axes[0].get_legend_handles_labels()[0], nothing]
    figure.legend(handles=handles, loc="outside lower center", ncols=5, frameon=False)
    figure.suptitle(title)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main(argv: list[str] | None = None) -> list[Row]:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with FoldN inside")
    parser.add_argument("--ranker", choices=("lightgbm", "ridge"), default="lightgbm")
    parser.add_argument("--smoke", action="store_true", help="two small folds")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    parser.add_argument("--out", type=Path, default=Path("out"))
    args = parser.parse_args(argv)
    found = args.data is not None and any(args.data.glob("Fold*"))
    if args.data is not None and not found:
        print(f"{args.data} holds no folders Fold1, ...: simulated folds instead")
    folder = args.data if found and not args.smoke else None
    title = f"{folder.resolve().name if folder else 'simulated'}, {args.ranker}"
    rows: list[Row] = []
    folds = list(folds_of(folder, args.smoke, n_features=5))
    settings = len(COVERAGES) * 3 + len(COSTS) * 4
    total = len(folds) * settings
    with tqdm(total=total, desc=title, unit="setting", disable=args.quiet) as progress:
        for name, fold in folds:
            for row in evaluate(fold, args.ranker):
                rows.append({"fold": name, **row})
                progress.update()
    means = average(rows)
    print_tables(title, means)
    args.out.mkdir(parents=True, exist_ok=True)
    with (args.out / "cost_vs_budget.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    plot(means, title, args.out / "cost_vs_budget.png")
    print(f"\nTable and figure: {args.out / 'cost_vs_budget'}.*")
    return rows


if __name__ == "__main__":
    main()
