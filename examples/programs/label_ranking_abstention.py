"""Rankings of labels that stop where they are unsure: fewer orders, more of them right.

Each sample ranks all labels, as each person of the sushi data ranks ten kinds of sushi.
Three rankers are compared: the same ranking for everybody (labels by mean relevance,
Borda's count), linear scores, and a random forest. Around each of them
SelectiveMultilabelRanker leaves open the pairs of labels that it is least sure of, and
beside it as many pairs are left open by lot.

    python label_ranking_abstention.py                     # simulated
    python label_ranking_abstention.py --data DIR/*.txt    # minutes

Penalties and leaf sizes are chosen by cross-validation on the training samples.
"""

import csv
import warnings
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, RepeatedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils import Bunch
from tqdm import tqdm

from skrank_abstain.metrics import correctness_completeness_score
from skrank_abstain.multilabel import (
    LinearMultilabelRanker,
    SelectiveMultilabelRanker,
    load_label_ranking,
    multilabel_loss,
)

COVERAGES = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
PRINTED = (1.0, 0.8, 0.6, 0.4, 0.2)
STYLES = {
    "constant (Borda)": ("#555555", "s"),
    "linear": ("#0072B2", "o"),
    "forest": ("#D55E00", "^"),
}

Row = dict[str, Any]


def simulated() -> Bunch:
    """Return 300 samples that rank five labels by noisy linear utilities."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    utility = X @ rng.normal(size=(4, 5)) + np.arange(5) / 2 + rng.normal(size=(300, 5))
    return Bunch(
        data=X,
        target=utility.argsort(axis=1).argsort(axis=1),
        feature_names=list("abcd"),
        categories={},
    )


def make_rankers(table: Bunch, n_trees: int) -> dict[str, Any]:
    """Return untrained rankers of labels; the choices are made when they are fitted."""
    texts = [table.feature_names.index(name) for name in table.categories]
    numbers = [k for k in range(table.data.shape[1]) if k not in texts]
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", min_frequency=20), texts),
        (StandardScaler(), numbers),
    )
    scorer = make_scorer(multilabel_loss, loss="pairwise", greater_is_better=False)
    linear = GridSearchCV(
        make_pipeline(columns, LinearMultilabelRanker()),
        {"linearmultilabelranker__alpha": [0.001, 0.01, 0.1]},
        scoring=scorer,
        cv=3,
    )
    forest = GridSearchCV(
        make_pipeline(columns, RandomForestRegressor(n_trees, random_state=0)),
        {"randomforestregressor__min_samples_leaf": [1, 5, 25]},
        scoring=scorer,
        cv=3,
    )
    rankers = (DummyRegressor(strategy="mean"), linear, forest)
    return dict(zip(STYLES, rankers, strict=True))


def evaluate(table: Bunch, ranker: Any, train: Any, test: Any, seed: int) -> list[Row]:
    """Return correctness and completeness at each coverage, chosen and by lot."""
    X, y = table.data, table.target
    # No two labels are equally relevant: a model of ties would be in the way.
    selective = SelectiveMultilabelRanker(
        clone(ranker), tie_model="bradley_terry", loss="zero_one", random_state=seed
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        # Where no order of the calibration samples is wrong, which is good news.
        warnings.filterwarnings("ignore", "The maximum-likelihood tie model does not")
        selective.fit(X[train], y[train])
    whole = selective.at_coverage(1.0).predict_pairs(X[test])
    relevance = selective.to_items(X[test], y[test]).y
    truth = np.sign(relevance[whole.left] - relevance[whole.right]).astype(int)
    rows = []
    for coverage in COVERAGES:
        chosen = selective.at_coverage(coverage)
        by_lot = np.random.RandomState(seed).random_sample(len(whole)) < coverage
        for rule, values in {
            "least sure": chosen.correctness_completeness(X[test], y[test]),
            "by lot": correctness_completeness_score(truth, whole.label, by_lot),
        }.items():
            rows.append(
                {
                    "left_open": rule,
                    "coverage": coverage,
                    "correctness": float(values[0]),
                    "completeness": float(values[1]),
                }
            )
    return rows


def run(
    name: str, table: Bunch, n_trees: int, splits: Any, quiet: bool
) -> Iterator[Row]:
    """Yield the rows of all splits and rankers."""
    jobs = [
        (k, train, test, ranker)
        for k, (train, test) in enumerate(splits.split(table.data))
        for ranker in STYLES
    ]
    rankers = make_rankers(table, n_trees)
    for k, train, test, ranker in tqdm(jobs, desc=name, disable=quiet):
        for row in evaluate(table, rankers[ranker], train, test, k):
            yield {"data": name, "ranker": ranker, "split": k, **row}


def summary(rows: list[Row], **keys: Any) -> dict[str, tuple[float, float]]:
    """Return mean and standard deviation over splits of what ``keys`` select."""
    mine = [row for row in rows if all(row[k] == v for k, v in keys.items())]
    return {
        name: (
            float(np.nanmean([row[name] for row in mine])),
            float(np.nanstd([row[name] for row in mine])),
        )
        for name in ("correctness", "completeness")
    }


def print_table(name: str, table: Bunch, rows: list[Row], n_splits: int) -> None:
    """Print correctness, and the completeness below it."""
    n_samples, n_labels = table.target.shape
    print(
        f"\n{name}: {n_samples} samples, {n_labels} labels. Correctness (right less "
        "wrong orders, over both) when\nthis share of the label pairs is to be "
        "decided; mean ± standard deviation over "
        f"{n_splits} test folds;\nbelow it, completeness: the share that was ordered"
    )
    print(f"{'ranker':18}{'left open':12}" + "".join(f"{c:>15.0%}" for c in PRINTED))
    for ranker in STYLES:
        for rule in ("least sure", "by lot"):
            cells = [
                summary(rows, ranker=ranker, left_open=rule, coverage=c)
                for c in PRINTED
            ]
            right = (
                f"{c['correctness'][0]:.3f} ± {c['correctness'][1]:.3f}" for c in cells
            )
            print(f"{ranker:18}{rule:12}" + "".join(f"{text:>15}" for text in right))
            share = (f"{c['completeness'][0]:.3f}        " for c in cells)
            print(" " * 30 + "".join(f"{text:>15}" for text in share))


def plot(results: dict[str, list[Row]], path: Path) -> None:
    """Draw correctness against completeness, one panel per data set."""
    n_columns = min(len(results), 2)
    n_rows = -(-len(results) // n_columns)
    figure, axes = plt.subplots(
        n_rows,
        n_columns,
        figsize=(max(4.6 * n_columns, 6.4), 3.4 * n_rows + 0.5),
        squeeze=False,
        layout="constrained",
    )
    for ax in axes.flat[len(results) :]:
        ax.remove()
    for ax, (name, rows) in zip(axes.flat, results.items(), strict=False):
        for ranker, (colour, marker) in STYLES.items():
            for rule, line in {"least sure": "-", "by lot": ":"}.items():
                cells = [
                    summary(rows, ranker=ranker, left_open=rule, coverage=c)
                    for c in COVERAGES
                ]
                x = np.array([cell["completeness"][0] for cell in cells])
                mean, spread = np.array([cell["correctness"] for cell in cells]).T
                by_lot = rule == "by lot"
                ax.plot(
                    x,
                    mean,
                    color=colour,
                    ls=line,
                    marker=None if by_lot else marker,
                    ms=4,
                    label="as many by lot" if by_lot else ranker,
                )
                if not by_lot:
                    ax.fill_between(
                        x, mean - spread, mean + spread, color=colour, alpha=0.15, lw=0
                    )
        ax.set(title=name, xlim=(1.03, 0), ylim=(None, 1.03))
        ax.set(xlabel="completeness: label pairs ordered", ylabel="correctness")
        ax.grid(alpha=0.3)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main(argv: list[str] | None = None) -> list[Row]:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--data", type=Path, nargs="+", default=[], help="label-ranking tables (.txt)"
    )
    parser.add_argument("--repeats", type=int, default=2, help="of 5-fold splits")
    parser.add_argument("--smoke", action="store_true", help="two folds, few trees")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    parser.add_argument("--out", type=Path, default=Path("out"))
    args = parser.parse_args(argv)
    n_folds, repeats, n_trees = (2, 1, 10) if args.smoke else (5, args.repeats, 100)
    splits = RepeatedKFold(n_splits=n_folds, n_repeats=repeats, random_state=0)
    tables = {path.stem: load_label_ranking(path) for path in args.data}
    results = {}
    for name, table in (tables or {"simulated": simulated()}).items():
        results[name] = list(run(name, table, n_trees, splits, args.quiet))
        print_table(name, table, results[name], n_folds * repeats)
    rows = [row for mine in results.values() for row in mine]
    args.out.mkdir(parents=True, exist_ok=True)
    with (args.out / "label_ranking_abstention.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    plot(results, args.out / "label_ranking_abstention.png")
    print(f"\nTable and figure: {args.out / 'label_ranking_abstention'}.*")
    return rows


if __name__ == "__main__":
    main()
