"""The protocol of the BALToR paper (arXiv:2505.23437) on any folder of folds.

For every FoldN folder LambdaMART with the library's default parameters is trained on
train.txt, the threshold is set on vali.txt, and test.txt is evaluated: accuracy on
accepted pairs (Q1), coverage (Q2) and the share of each true label among accepted pairs
(Q3), for conditional risk, entropy and random abstention. Mean and standard deviation
over folds go to the terminal, every number to CSV, the figures to PNG: one for each
question, and the densities of risk and entropy on the first fold's calibration pairs
(the paper's Figure 5).

    python reproduce_paper.py --data MQ2008 --ranker xgboost

The paper has MQ2007, OHSUMED and MSLR-WEB30K; unpack them and name the folder that
holds Fold1 to Fold5. Pairs are worked through in blocks of whole queries, so that
WEB30K needs memory for its features (5 GB) and the probabilities of the calibration
pairs (1.5 GB), and hours for all tie models.

The text leaves open the quantile (here numpy's linear one), the part that theta is
counted on (vali.txt), the scale of the scores (1) and what the counts make of
Thurstone's margin (both readings: tm-counts and tm-rate).
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
from skrank_abstain.baselines import ConfidenceThreshold, entropy
from skrank_abstain.datasets import load_letor
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
    "tm-rate": ThurstoneMosteller(calibration="counts", margin="tie_rate"),
    "bt-ml": BradleyTerry(),
    "tm-ml": ThurstoneMosteller(),
    "davidson-ml": BradleyTerry(ties="davidson"),
    "isotonic": IsotonicDifference(),
    "graded": GradedRelevance(),
    "features": FeatureAwareRelevance(),
}
# The paper's models, whose densities are drawn.
DENSITIES = ("bt-counts", "tm-counts", "tm-rate")
RULES = ("risk", "entropy", "random")
COVERAGES = (1.0, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.6, 0.5)
STYLES = {
    "risk": ("#0072B2", "o-"),
    "entropy": ("#D55E00", "s--"),
    "random": ("#555555", "^:"),
}
LABELS = {"share_right": -1, "share_tie": 0, "share_left": 1}
MEASURES = ("accuracy", "coverage", *LABELS)
BLOCK = 5_000_000

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

    # YetiRank is the default of CatBoost; the paper names LambdaMART.
    return CatBoostRanker(
        loss_function="LambdaMart", verbose=False, allow_writing_files=False
    )


def blocks(part: Any) -> Iterator[slice]:
    """Yield rows of whole queries, about BLOCK pairs at a time."""
    # LETOR's files keep the rows of a query together.
    ends = np.append(np.flatnonzero(np.diff(part.qid)) + 1, part.qid.size)
    sizes = np.diff(ends, prepend=0)
    block = np.cumsum(sizes * (sizes - 1) // 2) // BLOCK
    start = 0
    for end in ends[np.append(np.flatnonzero(np.diff(block)), -1)]:
        yield slice(start, int(end))
        start = int(end)


def decide(ranker: Any, part: Any) -> Iterator[tuple[Any, np.ndarray]]:
    """Yield the decisions about all pairs and their true labels, block by block."""
    for rows in blocks(part):
        decisions = ranker.predict_pairs(part.data[rows], qid=part.qid[rows])
        y = part.target[rows]
        yield decisions, pair_labels(y, decisions.left, decisions.right)


def accepted_by_query(accepted: np.ndarray, qid: np.ndarray) -> np.ndarray:
    """Return pairs and accepted pairs of each query, shape (n_queries, 2)."""
    codes = np.unique(qid, return_inverse=True)[1]
    return np.stack([np.bincount(codes), np.bincount(codes, weights=accepted)], axis=1)


def cluster_error(totals: list[np.ndarray]) -> float:
    """Return the standard error of a coverage when queries are the sample."""
    pairs, accepted = np.concatenate(totals).T
    deviations = accepted - pairs * accepted.sum() / pairs.sum()
    return float(np.sqrt((deviations**2).sum()) / pairs.sum())


def calibrate_fold(folder: Path, args: Namespace) -> tuple[Any, dict[str, BALToR]]:
    """Return the data of a fold and one calibrated ranker per tie model."""
    fold = load_letor(folder)
    train, vali = fold.train, fold.validation
    model = fit_ranker(
        make_ranker(args.ranker),
        train.data,
        train.target.astype(float),
        group_queries(train.qid, train.qid.size),
    )
    return fold, {
        name: BALToR(
            model, tie_model=TIE_MODELS[name], loss="zero_one", quantile="linear"
        ).fit(vali.data, vali.target, qid=vali.qid)
        for name in args.tie_models
    }


def evaluate(
    ranker: BALToR, fold: Any, target: float, by_entropy: ConfidenceThreshold
) -> list[Row]:
    """Return one row per rule."""
    at_target = ranker.at_coverage(target)
    random = np.random.RandomState(0)
    counts = {rule: np.zeros(4) for rule in RULES}  # right answers, labels -1, 0, +1
    n_pairs, queries = 0, []
    for decisions, truth in decide(at_target, fold.test):
        n_pairs += truth.size
        queries.append(accepted_by_query(decisions.accepted, decisions.qid))
        rules = {
            "risk": decisions.accepted,
            "entropy": by_entropy.accept(-entropy(decisions.proba)),
            "random": random.random_sample(len(decisions)) < target,
        }
        for rule, accepted in rules.items():
            counts[rule][0] += (accepted & (decisions.label == truth)).sum()
            counts[rule][1:] += np.bincount(truth[accepted] + 1, minlength=3)
    # The threshold varies with the calibration queries too.
    calibration = [
        accepted_by_query(decisions.accepted, decisions.qid)
        for decisions, _ in decide(at_target, fold.validation)
    ]
    error = np.hypot(cluster_error(queries), cluster_error(calibration))
    return [
        {
            "rule": rule,
            "target": target,
            "accuracy": right / labels.sum(),
            "coverage": labels.sum() / n_pairs,
            **dict(zip(LABELS, labels / labels.sum(), strict=True)),
            "coverage_error": error if rule == "risk" else np.nan,
        }
        for rule, (right, *rest) in counts.items()
        for labels in [np.array(rest)]
    ]


def calibration_proba(ranker: BALToR, fold: Any) -> np.ndarray:
    """Return the probabilities of the calibration pairs."""
    blocked = [decisions.proba for decisions, _ in decide(ranker, fold.validation)]
    return np.concatenate(blocked)


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


def _panels(
    names: list[str], n_rows: int, title: str, args: Namespace
) -> tuple[Any, np.ndarray]:
    figure, axes = plt.subplots(
        n_rows,
        len(names),
        figsize=(2.9 * len(names), 0.8 + 2.4 * n_rows),
        sharex=True,
        sharey="row",
        squeeze=False,
        layout="constrained",
    )
    figure.suptitle(f"{title}: {args.data.name}, {args.ranker}")
    for name, panel in zip(names, axes[0], strict=True):
        panel.set_title(name)
    return figure, axes


def plot_lines(table: list[Row], measure: str, title: str, args: Namespace) -> Any:
    """Plot a measure against the target coverage, one panel per tie model."""
    title = f"{title} (mean over folds ± standard deviation)"
    figure, axes = _panels(args.tie_models, 1, title, args)
    for name, panel in zip(args.tie_models, axes[0], strict=True):
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
        panel.set_xlabel("target coverage")
        if measure == "coverage":
            panel.axhline(0, color="black", lw=0.8, ls=":")
    figure.legend(*panel.get_legend_handles_labels(), loc="outside right center")
    labels = {"coverage": "coverage minus target", "accuracy": "share right"}
    axes[0, 0].set_ylabel(labels[measure])
    return figure


def plot_classes(table: list[Row], args: Namespace) -> Any:
    """Plot the share of each true label among accepted pairs, a row per rule."""
    rules = RULES[:2]  # chance takes its share of each label
    figure, axes = _panels(args.tie_models, 2, "True labels of accepted pairs", args)
    names = {"share_right": "right", "share_tie": "tie", "share_left": "left"}
    styles = {
        "right": {"color": "#E69F00", "hatch": "//"},
        "tie": {"color": "#CCCCCC"},
        "left": {"color": "#56B4E9", "hatch": "\\\\"},
    }
    for rule, line in zip(rules, axes, strict=True):
        for name, panel in zip(args.tie_models, line, strict=True):
            rows = [r for r in table if (r["tie_model"], r["rule"]) == (name, rule)]
            rows.sort(key=lambda row: row["target"])
            position, bottom = np.arange(len(rows)), np.zeros(len(rows))
            for key, label in names.items():
                height = np.array([row[key] for row in rows])
                style = {"edgecolor": "white", "lw": 0, "label": label} | styles[label]
                panel.bar(position, height, bottom=bottom, **style)
                bottom += height
            ticks = [f"{row['target']:g}" for row in rows]
            panel.set_xticks(position, ticks, rotation=90)
        line[0].set_ylabel(f"share of pairs\naccepted by {rule}")
    for panel in axes[-1]:
        panel.set_xlabel("target coverage")
    handles, labels = panel.get_legend_handles_labels()
    # As they are stacked, the uppermost first.
    figure.legend(handles[::-1], labels[::-1], loc="outside right center")
    return figure


def densities(proba: np.ndarray) -> dict[str, tuple[np.ndarray, float]]:
    """Return for risk and entropy their density and the value at the smallest gap.

    Each as a share of the largest value that it can have.
    """
    measured = {
        "risk": (1 - proba.max(axis=1)) / (2 / 3),
        "entropy": entropy(proba) / np.log(3),
    }
    nearest = np.argmax(proba[:, 1])  # the surest tie
    return {
        rule: (np.histogram(values, 60, (0, 1), density=True)[0], values[nearest])
        for rule, values in measured.items()
    }


def plot_densities(measured: dict[str, Any], title: str, args: Namespace) -> Any:
    """Plot how risk and entropy are spread over calibration pairs."""
    figure, axes = _panels(list(measured), 2, title, args)
    for panels, both in zip(axes.T, measured.values(), strict=True):
        for panel, (rule, (heights, nearest)) in zip(panels, both.items(), strict=True):
            edges = np.linspace(0, 1, heights.size + 1)
            panel.stairs(heights, edges, fill=True, color=STYLES[rule][0])
            panel.axvline(nearest, color="black", lw=1, ls="--")
        panels[-1].set_xlabel("share of the largest value")
    for rule, panel in zip(both, axes[:, 0], strict=True):
        panel.set_ylabel(f"density of the {rule}")
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
    figures: dict[str, Any] = {}
    for folder in tqdm(folders, desc=f"{args.data.name}, {args.ranker}", unit="fold"):
        fold, rankers = calibrate_fold(folder, args)
        drawn = {}
        for name, ranker in rankers.items():
            proba = calibration_proba(ranker, fold)
            if not figures and name in DENSITIES:
                drawn[name] = densities(proba)
            rules = [
                ConfidenceThreshold(target, quantile="linear").fit(-entropy(proba))
                for target in args.coverages
            ]
            del proba
            common = {
                "collection": args.data.name,
                "ranker": args.ranker,
                "fold": folder.name,
                "tie_model": name,
            }
            for target, rule in zip(args.coverages, rules, strict=True):
                rows += [common | row for row in evaluate(ranker, fold, target, rule)]
        if drawn:
            title = f"Calibration pairs of {folder.name}"
            figures["densities"] = plot_densities(drawn, title, args)
    table = summarise(rows)
    print_table(table)

    args.out.mkdir(parents=True, exist_ok=True)
    stem = f"{args.data.name}_{args.ranker}"
    write_csv(args.out / f"{stem}_folds.csv", rows)
    write_csv(args.out / f"{stem}.csv", table)
    figures |= {
        "accuracy": plot_lines(table, "accuracy", "Accuracy on accepted pairs", args),
        "coverage": plot_lines(table, "coverage", "Coverage on test queries", args),
        "classes": plot_classes(table, args),
    }
    for name, figure in figures.items():
        figure.savefig(args.out / f"{stem}_{name}.png", dpi=120)
        plt.close(figure)
    print(f"\nTables and figures: {args.out / stem}*")
    return rows


if __name__ == "__main__":
    main()
