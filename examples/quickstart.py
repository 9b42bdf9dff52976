"""Order patients by urgency, and say which pairs a clinician should look at.

A LambdaMART ranker orders the patients of a clinic day by urgency. BALToR decides the
pairs it can order reliably and hands the rest to a person. The patients are
scikit-learn's diabetes data; the clinic days are a synthetic grouping.

Run it with ``python examples/quickstart.py``; it takes a few seconds.
"""

# %%
from argparse import ArgumentParser
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from lightgbm import LGBMRanker

from skrank_abstain import BALToR, PairDecisions
from skrank_abstain.datasets import load_triage
from skrank_abstain.metrics import coverage_score, selective_accuracy_score
from skrank_abstain.pairs import pair_labels

COVERAGES = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3)


# %%
# One row per patient, one query per clinic day. The ranker never sees the last days.
def main() -> list[tuple[float, float, float]]:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("out"), help="for the figure")
    out = parser.parse_args().out

    patients = load_triage()
    X, y, day = patients.data, patients.target, patients.qid
    later = day >= 24

    # BALToR trains the ranker on three quarters of the earlier days and calibrates on
    # the rest, so that the threshold is set on patients the ranker has not seen.
    ranker = BALToR(
        LGBMRanker(
            n_estimators=40, learning_rate=0.05, num_leaves=5, n_jobs=1, verbose=-1
        ),
        coverage=0.6,
        calibration_size=0.3,
        random_state=0,
    )
    ranker.fit(X[~later], y[~later], qid=day[~later])

    # %%
    # One day in order. An item keeps its place for certain where the decided pairs, and
    # what follows from them, leave one rank; else they leave a range of ranks.
    today = day == 30
    names = [f"patient {row}" for row in np.flatnonzero(today)]
    print("Day 30, most urgent first")
    for item in ranker.ranking(X[today], item_id=names).to_dicts():
        left_open = f"could be {item['best']} to {item['worst']}" * item["open"]
        print(f"{item['place']:>4}  {item['item_id']:<13}{left_open}".rstrip())
    decisions = ranker.predict_pairs(X[today], item_id=names)
    print("To know the first three for certain, ask a clinician:")
    for pair in decisions.deferred(deciding_top=3):
        print(f"      {pair.left_id} or {pair.right_id}?")

    # %%
    # Selective accuracy: how often the decided pairs are right.
    table = []
    print("\nLater clinic days, pairs of patients of one day")
    print(f"{'asked for':>10} {'orders':>8} {'ties':>7} {'right among decided':>21}")
    for coverage in COVERAGES:
        decisions = ranker.at_coverage(coverage).predict_pairs(X[later], qid=day[later])
        truth = pair_labels(y[later], decisions.left, decisions.right)
        row = (
            coverage,
            coverage_score(decisions.accepted),
            selective_accuracy_score(truth, decisions.label, decisions.accepted),
        )
        table.append(row)
        orders, called_ties = decisions.decided_order, decisions.decided_tie
        print(
            f"{row[0]:>10.0%} {orders.mean():>8.1%} {called_ties.mean():>7.1%} "
            f"{row[2]:>21.1%}"
        )
    ties = np.mean(truth == 0)
    print(
        f"{ties:.1%} of the pairs are ties (the same fifth of progression); always "
        "answering so would be right as often."
    )

    # %%
    # What goes to a person, most doubtful first.
    decisions = ranker.predict_pairs(
        X[later], qid=day[later], item_id=np.flatnonzero(later)
    )

    def describe(row: int) -> str:
        age, bmi, glucose = X[row, 0], X[row, 2], X[row, 9]
        return f"patient {row} ({age:.0f} years, BMI {bmi:.1f}, glucose {glucose:.0f})"

    print(
        f"\n{decisions.abstained.sum()} of {len(decisions)} pairs go to a clinician. "
        "Two of the most doubtful and the least doubtful:"
    )

    def ask(pairs: PairDecisions) -> None:
        for pair in pairs:
            print(
                f"  Day {pair.qid}: {describe(pair.left_id)}\n"
                f"    or {describe(pair.right_id)}?\n"
                f"    The first: {pair.p_left:.1%}, the second: {pair.p_right:.1%}, "
                f"equally urgent: {pair.p_tie:.1%}."
            )

    ask(decisions.deferred().take(np.array([0, 1, -1])))
    print("The surest of the pairs that the model decides:")
    ask(decisions.take(np.array([np.argmin(decisions.risk)])))

    # %%
    # The price of an answer for every pair.
    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    _, actual, accuracy = np.array(table).T
    axes.plot(actual, accuracy, marker="o", color="#0072B2", label="BALToR")
    axes.axhline(accuracy[0], color="#555555", ls="--", label="random abstention")
    axes.set(
        xlabel="share of pairs decided",
        ylabel="share right among decided",
        title="Fewer answers, better answers (ten days, one split)",
    )
    axes.legend(frameon=False)
    out.mkdir(parents=True, exist_ok=True)
    figure.savefig(out / "quickstart.png", dpi=120)
    print(f"\nFigure: {out / 'quickstart.png'}")
    return table


if __name__ == "__main__":
    main()
