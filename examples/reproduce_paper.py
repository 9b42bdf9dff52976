"""The protocol of the BALToR paper (arXiv:2505.23437) on any folder of folds.

For every FoldN folder a ranker with default parameters is trained on train.txt, the
threshold is set on vali.txt, and test.txt is evaluated: accuracy on accepted pairs
(Q1), coverage (Q2) and the share of each true label among accepted pairs (Q3), for
conditional risk, entropy and random abstention. Mean and standard deviation over folds
go to the terminal, every number to CSV, the three figures to PNG.

    python examples/reproduce_paper.py --data MQ2008 --ranker xgboost
"""

import csv
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from tqdm import tqdm

from skrank_abstain import BALToR
from skrank_abstain.baselines import entropy_abstention, random_abstention
from skrank_abstain.datasets import load_letor
from skrank_abstain.metrics import class_acceptance, selective_accuracy_score
from skrank_abstain.pairs import group_queries, pair_labels
from skrank_abstain.scorers import fit_ranker
from skrank_abstain.tie_models import (
    BradleyTerry,
    FeatureAwareRelevance,
    GradedRelevance,
    IsotonicDifference,
    ThurstoneMosteller,
)

TIE_MODELS = {
    "bt-counts": BradleyTerry(calibration="counts"),
    "tm-counts": ThurstoneMosteller(calibration="counts"),
    "bt-ml": BradleyTerry(),
    "tm-ml": ThurstoneMosteller(),
    "davidson-ml": BradleyTerry(ties="davidson"),
    "isotonic": IsotonicDifference(),
    "graded": GradedRelevance(),
    "features": FeatureAwareRelevance(),
}
RULES = ("risk", "entropy", "random")
COVERAGES = (1.0, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.6, 0.5)
STYLES = {
    "risk": ("#0072B2", "o-"),
    "entropy": ("#D55E00", "s--"),
    "random": ("#555555", "^:"),
}
LABELS = {"share_right": -1, "share_tie": 0, "share_left": 1}
MEASURES = ("accuracy", "coverage", *LABELS)

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


def cluster_error(accepted: np.ndarray, qid: np.ndarray) -> float:
    """Return the standard error of a share of pairs when queries are the sample."""
    codes = np.unique(qid, return_inverse=True)[1]
    deviations = np.bincount(codes, weights=accepted - accepted.mean())
    return float(np.sqrt((deviations**2).sum()) / accepted.size)


def evaluate_fold(folder: Path, args: Namespace) -> Iterator[Row]:
    """Yield one row per tie model, rule and target coverage."""
    fold = load_letor(folder)
    train, vali, test = fold.train, fold.validation, fold.test
    model = fit_ranker(
        make_ranker(args.ranker),
        train.data,
        train.target.astype(float),
        group_queries(train.qid, train.qid.size),
    )
    for name in args.tie_models:
        # numpy's linear quantile, as published; theta is counted on vali.txt.
        ranker = BALToR(model, tie_model=TIE_MODELS[name], quantile="linear")
        ranker.fit(vali.data, vali.target, qid=vali.qid)
        calibration = ranker.predict_pairs(vali.data, qid=vali.qid)
        for target in args.coverages:
            at_target = ranker.at_coverage(target)
            decisions = at_target.predict_pairs(test.data, qid=test.qid)
            truth = pair_labels(test.target, decisions.left, decisions.right)
            rules = {
                "risk": decisions.accepted,
                "entropy": entropy_abstention(
                    calibration.proba,
                    decisions.proba,
                    coverage=target,
                    quantile="linear",
                ),
                "random": random_abstention(
                    len(decisions), coverage=target, random_state=0
                ),
            }
            # The threshold varies with the calibration queries too.
            error = np.hypot(
                cluster_error(decisions.accepted, decisions.qid),
                cluster_error(
                    at_target.predict_pairs(vali.data, qid=vali.qid).accepted,
                    calibration.qid,
                ),
            )
            for rule, accepted in rules.items():
                shares = class_acceptance(truth, accepted)
                yield {
                    "collection": args.data.name,
                    "ranker": args.ranker,
                    "fold": folder.name,
                    "tie_model": name,
                    "rule": rule,
                    "target": target,
                    "accuracy": selective_accuracy_score(
                        truth, decisions.label, accepted
                    ),
                    "coverage": accepted.mean(),
                    **dict(zip(LABELS, shares, strict=True)),
                    "coverage_error": error if rule == "risk" else np.nan,
                }


def summarise(rows: list[Row]) -> list[Row]:
    """Return mean and standard deviation over folds."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        key = (
            row["collection"],
            row["ranker"],
            row["tie_model"],
            row["rule"],
            row["target"],
        )
        groups.setdefault(key, []).append(row)
    table = []
    for key, members in groups.items():
        line: Row = dict(
            zip(
                ("collection", "ranker", "tie_model", "rule", "target"),
                key,
                strict=True,
            )
        )
        for measure in MEASURES:
            values = np.array([row[measure] for row in members])
            line[measure] = values.mean()
            line[f"{measure}_sd"] = values.std(ddof=1) if values.size > 1 else 0.0
        table.append(line)
    return table


def print_table(table: list[Row]) -> None:
    """Print accuracy and coverage per target, one line per tie model and rule."""
    targets = sorted({row["target"] for row in table}, reverse=True)
    for measure, title in (
        ("accuracy", "Accuracy on accepted pairs (mean ± sd over folds)"),
        ("coverage", "Coverage on test queries (mean ± sd over folds)"),
    ):
        print(f"\n{title}, by target coverage")
        print(f"{'':22}" + "".join(f"{target:>13.0%}" for target in targets))
        for name, rule in dict.fromkeys((r["tie_model"], r["rule"]) for r in table):
            cells = {
                row["target"]: f"{row[measure]:.3f} ±{row[f'{measure}_sd']:.3f}"
                for row in table
                if (row["tie_model"], row["rule"]) == (name, rule)
            }
            print(
                f"{name + ' ' + rule:22}" + "".join(f"{cells[t]:>13}" for t in targets)
            )


def write_csv(path: Path, rows: list[Row]) -> None:
    """Write rows as CSV."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        for row in rows:
            writer.writerow(
                {
                    key: f"{value:.6f}" if isinstance(value, float) else value
                    for key, value in row.items()
                }
            )


def _panels(table: list[Row], title: str, band: str = "") -> tuple[Any, dict[str, Any]]:
    names = list(dict.fromkeys(row["tie_model"] for row in table))
    figure, axes = plt.subplots(
        1,
        len(names),
        figsize=(3.2 * len(names), 3.4),
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    first = table[0]
    figure.suptitle(f"{title}: {first['collection']}, {first['ranker']}{band}")
    for name, panel in zip(names, axes[0], strict=True):
        panel.set(title=name, xlabel="target coverage")
    return figure, dict(zip(names, axes[0], strict=True))


def plot_lines(table: list[Row], measure: str, title: str) -> Any:
    """Plot a measure against the target coverage, one panel per tie model."""
    figure, panels = _panels(table, title, " (mean over folds ± standard deviation)")
    for name, panel in panels.items():
        for rule in RULES:
            rows = [r for r in table if (r["tie_model"], r["rule"]) == (name, rule)]
            target, mean, sd = (
                np.array([r[key] for r in rows])
                for key in ("target", measure, f"{measure}_sd")
            )
            if measure == "coverage":
                mean = mean - target
            colour, line = STYLES[rule]
            panel.plot(target, mean, line, ms=4, color=colour, label=rule)
            panel.fill_between(
                target, mean - sd, mean + sd, color=colour, alpha=0.15, lw=0
            )
        if measure == "coverage":
            panel.axhline(0, color="black", lw=0.8, ls=":")
    figure.legend(*panel.get_legend_handles_labels(), loc="outside right center")
    labels = {"coverage": "coverage minus target", "accuracy": "share right"}
    next(iter(panels.values())).set_ylabel(labels[measure])
    return figure


def plot_classes(table: list[Row]) -> Any:
    """Plot the share of each true label among accepted pairs (risk rule)."""
    figure, panels = _panels(table, "True labels of accepted pairs")
    names = {"share_right": "right", "share_tie": "tie", "share_left": "left"}
    styles = {
        "right": {"color": "#E69F00", "hatch": "//"},
        "tie": {"color": "#CCCCCC"},
        "left": {"color": "#56B4E9", "hatch": "\\\\"},
    }
    for name, panel in panels.items():
        rows = [r for r in table if (r["tie_model"], r["rule"]) == (name, "risk")]
        rows.sort(key=lambda row: row["target"])
        position, bottom = np.arange(len(rows)), np.zeros(len(rows))
        for key, label in names.items():
            height = np.array([row[key] for row in rows])
            style = {"edgecolor": "white", "lw": 0, "label": label} | styles[label]
            panel.bar(position, height, bottom=bottom, **style)
            bottom += height
        panel.set_xticks(position, [f"{row['target']:g}" for row in rows], rotation=90)
    handles, labels = panel.get_legend_handles_labels()
    # As they are stacked, the uppermost first.
    figure.legend(handles[::-1], labels[::-1], loc="outside right center")
    next(iter(panels.values())).set_ylabel("share of accepted pairs")
    return figure


def main(argv: list[str] | None = None) -> list[Row]:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="has Fold1, Fold2, …")
    parser.add_argument(
        "--ranker", choices=("xgboost", "lightgbm", "catboost"), default="xgboost"
    )
    parser.add_argument("--folds", type=int, nargs="+", help="numbers; default: all")
    parser.add_argument(
        "--tie-models", nargs="+", choices=TIE_MODELS, default=list(TIE_MODELS)
    )
    parser.add_argument("--coverages", type=float, nargs="+", default=list(COVERAGES))
    parser.add_argument("--out", type=Path, default=Path("out"))
    args = parser.parse_args(argv)

    args.data = args.data.resolve()
    folders = sorted(folder for folder in args.data.glob("Fold*") if folder.is_dir())
    if args.folds:
        folders = [f for f in folders if f.name in {f"Fold{n}" for n in args.folds}]
    if not folders:
        parser.error(f"--data must hold the folders Fold1, Fold2, …, got {args.data}")
    rows: list[Row] = []
    for folder in tqdm(folders, desc=f"{args.data.name}, {args.ranker}", unit="fold"):
        rows.extend(evaluate_fold(folder, args))
    table = summarise(rows)
    print_table(table)

    args.out.mkdir(parents=True, exist_ok=True)
    stem = f"{args.data.name}_{args.ranker}"
    write_csv(args.out / f"{stem}_folds.csv", rows)
    write_csv(args.out / f"{stem}.csv", table)
    figures = {
        "accuracy": plot_lines(table, "accuracy", "Accuracy on accepted pairs"),
        "coverage": plot_lines(table, "coverage", "Coverage on test queries"),
        "classes": plot_classes(table),
    }
    for name, figure in figures.items():
        figure.savefig(args.out / f"{stem}_{name}.png", dpi=120)
        plt.close(figure)
    print(f"\nTables and figures: {args.out / stem}*")
    return rows


if __name__ == "__main__":
    main()
