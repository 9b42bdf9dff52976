"""Learn from comparisons with ties, and leave the close ones to a person.

Tasters compare the wines of a session two by two: the left one is better, the right one
is, or they are alike. A logistic regression learns which wine wins;
PairwiseRankerClassifier makes probabilities of win, tie and loss of it, and says which
comparisons it would rather not call. The answers are simulated, so the true
probabilities are known, and with them the best that anyone could do.

Run it with ``python examples/plot_13_pairwise_classifier.py``; it takes a few seconds.
"""

# %%
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import CalibrationDisplay
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank_abstain import PairwiseRankerClassifier
from skrank_abstain.datasets import make_ranking
from skrank_abstain.pairs import enumerate_pairs, group_queries, pair_labels

COVERAGES = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2)
STYLES = {
    "right is better": {"color": "#D55E00", "marker": "s"},
    "alike": {"color": "#009E73", "marker": "o"},
    "left is better": {"color": "#0072B2", "marker": "^"},
}


# %%
# A row holds two wines, [left | right]; the label is 1 where left is better, -1 where
# right is, 0 where they are alike. "left", "right" and "same" would do as well: labels
# are read by what they mean. All wines of a session are compared.
def taste(n_sessions: int, seed: int):
    wines = make_ranking(
        n_sessions,
        n_items=6,
        n_features=8,
        n_grades=4,
        signal=3.0,
        random_state=seed,
    )
    left, right = enumerate_pairs(group_queries(wines.qid, wines.qid.size))
    swap = np.random.default_rng(seed).random(left.size) < 0.5
    left, right = np.where(swap, right, left), np.where(swap, left, right)
    X = np.hstack([wines.data[left], wines.data[right]])
    y = pair_labels(wines.target, left, right)
    return X, y, wines.qid[left], wines.pair_proba(left, right)


# %%
# Sessions stay whole in every split, since their comparisons share wines.
def fit(seed: int) -> PairwiseRankerClassifier:
    X, y, session, _ = taste(200, seed)
    model = make_pipeline(StandardScaler(), LogisticRegression())
    classifier = PairwiseRankerClassifier(model, random_state=0)
    return classifier.fit(X, y, qid=session)


# %%
# The sure ones first. The best possible calls the comparisons of the lowest true risk.
def table_of(classifier, X, y, truth) -> list[dict]:
    surest = np.sort(1 - truth.max(axis=1))
    table = []
    for coverage in COVERAGES:
        sure = classifier.at_coverage(coverage)
        decided = ~sure.abstain(X)
        table.append(
            {
                "coverage": coverage,
                "decided": float(decided.mean()),
                "accuracy": sure.score(X, y),
                "best": float(1 - surest[: max(decided.sum(), 1)].mean()),
            }
        )
    return table


def print_table(table: list[dict]) -> None:
    print("New sessions, comparisons of two wines")
    print(
        f"{'asked for':>10} {'decided':>9} {'right among decided':>21} "
        f"{'best possible':>15}"
    )
    for row in table:
        print(
            f"{row['coverage']:>10.0%} {row['decided']:>9.1%} "
            f"{row['accuracy']:>21.1%} {row['best']:>15.1%}"
        )


# %%
# Where the model says 70 %, is it right in 70 % of the cases? One curve per answer. The
# largest probabilities of "alike" are somewhat too large: poor wines are more often
# alike than middling ones, which a model of the difference of two scores cannot see.
def draw(classifier, X, y, table: list[dict], path: Path) -> None:
    figure, (reliable, price) = plt.subplots(
        1, 2, figsize=(9, 4.2), layout="constrained"
    )
    proba = classifier.pair_proba(X)  # right, tie, left, whatever the labels are
    for k, (answer, style) in enumerate(STYLES.items()):
        CalibrationDisplay.from_predictions(
            y == k - 1,
            proba[:, k],
            n_bins=8,
            strategy="quantile",
            name=answer,
            ax=reliable,
            markersize=5,
            **style,
        )
    reliable.set(
        xlabel="predicted probability of the answer",
        ylabel="share of comparisons with it",
        title="How probable, and how often so",
    )
    reliable.legend(frameon=False)

    decided = [row["decided"] for row in table]
    for name, key, colour, style in (
        ("best possible", "best", "#555555", "--"),
        ("classifier", "accuracy", "#0072B2", "-o"),
    ):
        values = [row[key] for row in table]
        price.plot(decided, values, style, color=colour, markersize=4, label=name)
    price.set(
        xlabel="share of comparisons decided",
        ylabel="share right among decided",
        title="Fewer answers, better answers",
    )
    price.legend(frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)
    print(f"\nFigure: {path}")


# %%
def main(argv: Sequence[str] | None = None) -> list[dict]:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0, help="of the simulated answers")
    parser.add_argument("--out", type=Path, default=Path("out"), help="for the figure")
    options = parser.parse_args(argv)

    classifier = fit(options.seed)
    X, y, _, truth = taste(300, options.seed + 1)
    table = table_of(classifier, X, y, truth)
    print_table(table)
    print(
        f"\nLog loss {log_loss(y, classifier.predict_proba(X)):.3f}; with the true "
        f"probabilities it would be {log_loss(y, truth):.3f}."
    )

    # %%
    # `predict` always answers. `abstain` says which answers to leave to a person.
    half = classifier.at_coverage(0.5)
    doubtful = np.flatnonzero(half.abstain(X))[:3]
    print("Comparisons for a person, for instance:")
    for right, tie, left in half.pair_proba(X[doubtful]):
        print(f"  left better {left:.0%}, alike {tie:.0%}, right better {right:.0%}")

    draw(classifier, X, y, table, options.out / "pairwise_classifier.png")
    return table


if __name__ == "__main__":
    main()
