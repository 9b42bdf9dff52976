"""Ask a clinician, take the answers back, and get a better order of patients.

A ranker has ordered ten clinic days, 780 pairs of patients. Two reviewers are asked a
few questions a round; a review chooses them, takes the answers back, estimates how
often each reviewer errs, and says what the next question is worth. Here the labels
stand in for the reviewers: one is wrong in 5 % of the cases, the other in 20 %.

    python examples/plot_09_review_loop.py
    python examples/plot_09_review_loop.py --data MQ2008/Fold1    # curves of a fold, too
"""

# %%
import warnings
from argparse import ArgumentParser
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from lightgbm import LGBMRanker
from tqdm import tqdm

from skrank_abstain import BALToR
from skrank_abstain.datasets import load_letor, load_triage
from skrank_abstain.displays import RankIntervalDisplay, ReviewCurveDisplay
from skrank_abstain.pairs import pair_labels
from skrank_abstain.review import review_curve

ERROR = {"Ann": 0.05, "Bo": 0.20}
WORDS = np.array(["right", "same", "left"])
N_ROUNDS, PER_ROUND = 8, 20
BUDGETS = {"triage": [0, 0.02, 0.05, 0.1, 0.2], "letor": [0, 0.005, 0.01, 0.025]}

Answers = list[dict[str, Any]]


# %%
# What a person would do with a list of questions. Half of the wrong answers about an
# order turn it around, the others call the two the same.
def reviewers(questions: Any, truth: np.ndarray, rng: np.random.Generator) -> Answers:
    """Return what two people say who know the truth, and err."""
    said = []
    for pair, label in zip(questions, truth.tolist(), strict=True):
        name = ("Ann", "Bo")[len(said) % 2]
        if rng.random() < ERROR[name]:
            label = rng.choice([other for other in (-1, 0, 1) if other != label])
        said.append(
            {
                "qid": pair.qid,
                "left": pair.left_id,
                "right": pair.right_id,
                "label": WORDS[label + 1],
                "reviewer": name,
            }
        )
    return said


# %%
# The loop. All answers so far are the only state: the next review takes them all.
def ask_in_rounds(
    ranker: BALToR, X: Any, y: Any, day: Any, rounds: int, quiet: bool
) -> tuple[Any, list[dict[str, float]]]:
    """Return the last review, and what each round found."""
    rng = np.random.default_rng(0)
    names = np.array([f"patient {row}" for row in range(len(y))])
    answers: Answers = []
    rows = []
    for _ in tqdm(range(rounds + 1), desc="rounds", disable=quiet):
        review = ranker.review(X, day, item_id=names, answers=answers)
        pairs = review.decisions
        truth = pair_labels(y, pairs.left, pairs.right)
        questions = review.ask(PER_ROUND)
        rows.append(
            {
                "answers": len(answers),
                "right": float(np.mean(pairs.label == truth)),
                "expected": review.expected_accuracy,
                "best": float(questions.value[0]),
                **review.reviewer_error_,
            }
        )
        truth = pair_labels(y, questions.left, questions.right)
        answers += reviewers(questions, truth, rng)
    return review, rows


def curves(axes: Any, ranker: BALToR, items: Any, budgets: Any, quiet: bool) -> Any:
    """Draw what chosen questions are worth beside any; return the numbers."""
    found = {}
    for objective in tqdm(("pairs", "top", "random"), desc="curves", disable=quiet):
        curve = found[objective] = review_curve(
            ranker, *items, budgets=budgets, objective=objective, random_state=0
        )
        share, right, ndcg = curve["share"], curve["accuracy"], curve["ndcg"]
        expected = curve["expected_accuracy"]
        draw = partial(ReviewCurveDisplay.from_predictions, share, name=objective)
        draw(right, expected=expected, ax=axes[0])
        draw(ndcg, metric="ndcg", ax=axes[1])
    return found


def main(argv: list[str] | None = None) -> dict[str, Any]:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="a fold of LETOR, for its curves")
    parser.add_argument("--smoke", action="store_true", help="two rounds, no more")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    parser.add_argument("--out", type=Path, default=Path("out"), help="for the figures")
    args = parser.parse_args(argv)
    args.out.mkdir(parents=True, exist_ok=True)

    patients = load_triage()
    X, y, day = patients.data, patients.target, patients.qid
    later = day >= 24
    model = LGBMRanker(
        n_estimators=40, learning_rate=0.05, num_leaves=5, n_jobs=1, verbose=-1
    )
    ranker = BALToR(model, coverage=0.6, calibration_size=0.3, random_state=0)
    ranker.fit(X[~later], y[~later], qid=day[~later])
    new = X[later], y[later], day[later]

    # %%
    # More answers, more pairs right; the review knows about how many without labels.
    rounds = 2 if args.smoke else N_ROUNDS
    review, rows = ask_in_rounds(ranker, *new, rounds, args.quiet)
    n_pairs, n_days = len(review.decisions), np.unique(new[2]).size
    print(f"{n_pairs} pairs of {n_days} days, asked in rounds of {PER_ROUND}")
    print("answers  pairs right  expected  errs: Ann   Bo   best question, in pairs")
    for row in rows:
        errs = [f"{row[name]:.2f}" if name in row else "   -" for name in ERROR]
        print(
            f"{row['answers']:7}{row['right']:13.3f}{row['expected']:10.3f}"
            f"{errs[0]:>11}{errs[1]:>6}{row['best']:>13.1f}"
        )

    # %%
    # One day before and after: a place is certain where the bar is short.
    figure, (curve_axes, day_axes) = plt.subplots(
        2, 2, figsize=(10, 9), layout="constrained"
    )
    budgets = BUDGETS["triage"][:3] if args.smoke else BUDGETS["triage"]
    found = curves(curve_axes, ranker, new, budgets, args.quiet)
    before = ranker.review(new[0], new[2], item_id=np.arange(len(new[1])))
    n_answers = rows[-1]["answers"]
    titles = ("before", f"after {n_answers} answers about {n_days} days")
    for ax, title, shown in zip(day_axes, titles, (before, review), strict=True):
        # The ranking names the items of a day in order, as "patient 83" or 83.
        ranking = shown.ranking()
        names = ranking.item_id[ranking.qid == 30].tolist()
        rows_of_day = [int(str(name).split()[-1]) for name in names]
        RankIntervalDisplay.from_predictions(
            shown.rank_intervals()[rows_of_day],
            relevance=new[1][rows_of_day],
            places=np.arange(1, len(rows_of_day) + 1),
            item_names=[str(row) for row in rows_of_day],
            ax=ax,
        )
        ax.set(title=f"day 30, {title}", ylabel="patient, first place on top")
    path = args.out / "review_loop.png"
    figure.savefig(path, dpi=120)
    plt.close(figure)
    print(f"Figure: {path}")

    if args.data is not None:
        fold = load_letor(args.data)
        model = LGBMRanker(n_jobs=2, verbose=-1)
        with warnings.catch_warnings():
            # Documents that nobody wants are alike: most decisions are ties here.
            warnings.filterwarnings("ignore", "Nearly all accepted pairs are ties")
            model.fit(
                fold.train.data,
                fold.train.target,
                group=np.unique(fold.train.qid, return_counts=True)[1],
            )
            vali = fold.validation
            ranker = BALToR(model, random_state=0)
            ranker.fit(vali.data, vali.target, qid=vali.qid)
        test = (fold.test.data, fold.test.target, fold.test.qid)
        figure, axes = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
        curves(axes, ranker, test, BUDGETS["letor"], args.quiet)
        path = args.out / "review_loop_letor.png"
        figure.savefig(path, dpi=120)
        plt.close(figure)
        print(f"Figure: {path}")
    return {"rounds": rows, "curves": found}


if __name__ == "__main__":
    main()
