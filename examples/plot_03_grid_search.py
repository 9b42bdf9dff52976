"""Choose the model, the tie model and the coverage in one search.

An abstention costs a person's time, a wrong answer costs more. Once the price of an
abstention is named, in units of a wrong answer, GridSearchCV finds the coverage, the
tie model and the size of the trees that cost least. The patients are scikit-learn's
diabetes data; the clinic days are a synthetic grouping.

Run it with ``python examples/plot_03_grid_search.py``; it takes a few seconds.
"""

# %%
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt
from lightgbm import LGBMRanker
from sklearn import config_context
from sklearn.model_selection import GridSearchCV, GroupKFold

from skrank_abstain import BALToR
from skrank_abstain.datasets import load_triage
from skrank_abstain.metrics import selective_accuracy_scorer, selective_utility
from skrank_abstain.tie_models import BradleyTerry

COVERAGES = (0.1, 0.3, 0.5, 0.75, 1.0)
LEAVES = (4, 16)
TIE_MODELS = {
    "maximum likelihood": BradleyTerry(),
    "counts": BradleyTerry(calibration="counts"),
}
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")


# %%
# What a search has to be told: the parameters, the price, and which rows belong to one
# clinic day. With metadata routing, `qid` reaches the splitter, `fit` and the scorers.
def search_on(X, y, day, cost: float) -> GridSearchCV:
    ranker = BALToR(
        LGBMRanker(n_estimators=20, learning_rate=0.1, n_jobs=1, verbose=-1),
        prefit=False,  # train inside each fold
        calibration_size=0.3,
        random_state=0,
    )
    grid = {
        "coverage": COVERAGES,
        "tie_model": list(TIE_MODELS.values()),
        "estimator__num_leaves": LEAVES,
    }
    with config_context(enable_metadata_routing=True):
        return GridSearchCV(
            ranker,
            grid,
            scoring={
                "utility": selective_utility(cost),
                "accuracy": selective_accuracy_scorer,
            },
            refit="utility",
            cv=GroupKFold(3).set_split_request(groups="qid"),
            error_score="raise",
        ).fit(X, y, qid=day)


# %%
# One row per candidate.
def table_of(search: GridSearchCV) -> list[dict]:
    names = {repr(model): name for name, model in TIE_MODELS.items()}
    results = search.cv_results_
    return [
        {
            "leaves": params["estimator__num_leaves"],
            "tie_model": names[repr(params["tie_model"])],
            "coverage": params["coverage"],
            "utility": float(results["mean_test_utility"][k]),
            "spread": float(results["std_test_utility"][k]),
            "accuracy": float(results["mean_test_accuracy"][k]),
            "chosen": bool(k == search.best_index_),
        }
        for k, params in enumerate(results["params"])
    ]


def print_table(table: list[dict], cost: float) -> None:
    print(f"Three folds of earlier days; an abstention costs {cost:g} wrong answers")
    print(
        f"{'leaves':>6} {'tie model':>20} {'coverage':>9} {'utility':>9} "
        f"{'+/-':>6} {'right among decided':>20}"
    )
    for row in sorted(table, key=lambda row: -row["utility"]):
        print(
            f"{row['leaves']:>6} {row['tie_model']:>20} {row['coverage']:>9.0%} "
            f"{row['utility']:>9.3f} {row['spread']:>6.3f} {row['accuracy']:>20.1%}"
            + ("  <- chosen" if row["chosen"] else "")
        )


# %%
# Accuracy among the decided pairs is no guide: it is best where next to nothing is
# decided. The utility has its optimum inside. The tie model matters where ties are
# predicted: among the close pairs, which only a high coverage reaches.
def draw(table: list[dict], cost: float, path: Path) -> None:
    figure, axes = plt.subplots(1, 2, figsize=(9, 4), sharex=True, layout="constrained")
    curves = [(leaves, name) for name in TIE_MODELS for leaves in LEAVES]
    for colour, (leaves, name) in zip(COLOURS, curves, strict=True):
        rows = [
            row for row in table if (row["leaves"], row["tie_model"]) == (leaves, name)
        ]
        for ax, value in zip(axes, ("accuracy", "utility"), strict=True):
            ax.plot(
                [row["coverage"] for row in rows],
                [row[value] for row in rows],
                color=colour,
                marker="o" if leaves == LEAVES[0] else "s",
                ls="-" if leaves == LEAVES[0] else "--",
                markersize=4,
                lw=3 if colour in COLOURS[:2] else 1.2,  # where curves coincide
                label=f"{name}, {leaves} leaves",
            )
    (chosen,) = (row for row in table if row["chosen"])
    axes[1].plot(
        chosen["coverage"],
        chosen["utility"],
        marker="o",
        markersize=14,
        markerfacecolor="none",
        markeredgecolor="#555555",
        markeredgewidth=1.5,
        ls="none",
        label="chosen",
    )
    axes[1].axhline(1 - cost, color="#555555", ls=":", label="ask about every pair")
    axes[0].set(
        xlabel="coverage asked for",
        ylabel="share right among decided",
        title="Always best where least is decided",
    )
    axes[1].set(
        xlabel="coverage asked for",
        ylabel=f"utility, abstention at {cost:g}",
        title="Has an optimum inside",
    )
    handles, labels = axes[1].get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, ncols=3, loc="outside lower center")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)
    print(f"\nFigure: {path}")


# %%
# The search sees the earlier days alone; the later ones say what its choice is worth.
def main(argv: Sequence[str] | None = None) -> list[dict]:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--cost", type=float, default=0.4, help="of an abstention, an error being 1"
    )
    parser.add_argument("--out", type=Path, default=Path("out"), help="for the figure")
    options = parser.parse_args(argv)

    patients = load_triage(n_grades=3)  # low, medium and high urgency
    X, y, day = patients.data, patients.target, patients.qid
    later = day >= 24
    search = search_on(X[~later], y[~later], day[~later], options.cost)
    table = table_of(search)
    print_table(table, options.cost)

    ranker = search.best_estimator_
    utility = selective_utility(options.cost)
    print("\nLater days, pairs of patients of one day")
    for name, model in (
        ("chosen", ranker),
        ("the same, every pair decided", ranker.at_coverage(1.0)),
    ):
        decided = model.predict_pairs(X[later], qid=day[later]).coverage
        right = model.score(X[later], y[later], qid=day[later])
        value = utility(model, X[later], y[later], qid=day[later])
        print(
            f"  {name}: utility {value:.3f}, {decided:.1%} decided, {right:.1%} right"
        )
    print(f"  ask a person about every pair: utility {1 - options.cost:.3f}")

    draw(table, options.cost, options.out / "grid_search.png")
    return table


if __name__ == "__main__":
    main()
