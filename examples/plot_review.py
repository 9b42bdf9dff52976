"""What a few answers are worth: share of the pairs asked against pairs that are right.

A ranker is trained and calibrated, and reviewers answer questions about new queries:
those that `review(...).ask` chooses, the riskiest pairs, or pairs at random. They are
simulated by the labels and err at a given rate, which is estimated from their answers
alone. After each round everything that was said goes into a new review.

    python examples/plot_review.py                           # simulated folds
    python examples/plot_review.py --data MQ2008 OHSUMED     # folders of FoldN
"""

import csv
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from tqdm import tqdm

from skrank_abstain import BALToR
from skrank_abstain.datasets import load_letor, make_ranking
from skrank_abstain.pairs import group_queries, pair_labels
from skrank_abstain.scorers import fit_ranker

ERRORS = (0.0, 0.1)
STRATEGIES = {
    "pairs": ("#0072B2", "-", "o"),
    "top": ("#D55E00", "-", "v"),
    "riskiest": ("#CC79A7", "--", "^"),
    "random": ("#555555", ":", "s"),
    "labels replaced": ("#999999", "-.", "x"),
}
WORDS = np.array(["right", "same", "left"])

Row = dict[str, Any]


def folds_of(folder: Path | None, smoke: bool) -> Iterator[tuple[str, Any]]:
    """Yield the name and the parts of each fold."""
    if folder is not None:
        for path in sorted(p for p in folder.glob("Fold*") if p.is_dir()):
            yield path.name, load_letor(path)
        return
    for k in range(1 if smoke else 3):
        sizes = {"train": 100, "validation": 60, "test": 6 if smoke else 60}
        parts = {
            name: make_ranking(n_queries=size, n_items=20, random_state=10 * k + j)
            for j, (name, size) in enumerate(sizes.items())
        }
        yield f"Fold{k + 1}", SimpleNamespace(**parts)


def calibrated(fold: Any, ranker: str) -> BALToR:
    """Train on the training queries, calibrate on the validation queries."""
    train, vali = fold.train, fold.validation
    if ranker == "xgboost":
        from xgboost import XGBRanker

        model: Any = XGBRanker(n_estimators=100, max_depth=4, n_jobs=2)
    else:
        from lightgbm import LGBMRanker

        model = LGBMRanker(n_jobs=2, verbose=-1)
    queries = group_queries(train.qid, train.qid.size)
    y = np.asarray(train.target, dtype=float)
    trained = fit_ranker(model, train.data, y, queries)
    ranker_ = BALToR(trained, tie_model="graded_relevance", random_state=0)
    return ranker_.fit(vali.data, vali.target, qid=vali.qid)


def answer(truth: np.ndarray, error: float, rng: np.random.Generator) -> np.ndarray:
    """Return what a reviewer says; half of the errors about an order say a tie."""
    wrong = rng.random(truth.size) < error
    other = np.where(rng.random(truth.size) < 0.5, -1, 1)
    mistaken = np.where(truth == 0, other, np.where(other > 0, -truth, 0))
    return np.where(wrong, mistaken, truth)


def ndcg(review: Any, y: np.ndarray, qid: np.ndarray) -> float:
    """Return the mean NDCG@10 of the review's ranking, over queries that have one."""
    ranking = review.ranking()
    found = []
    for query in np.unique(qid):
        of_query = ranking.qid == query
        gain = 2.0 ** y[ranking.item_id[of_query]] - 1
        discount = (
            1 / np.log2(np.arange(2, gain.size + 2)) * (np.arange(gain.size) < 10)
        )
        best = (np.sort(gain)[::-1] * discount).sum()
        if best > 0:
            found.append((gain * discount).sum() / best)
    return float(np.mean(found))


def choose(
    review: Any, strategy: str, n: int, asked: set[Any], rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of the next pairs to ask about."""
    if strategy in ("pairs", "top"):
        questions = review.ask(n, objective=strategy)
        return questions.left, questions.right
    pairs = review.decisions
    order = rng.permutation(len(pairs))
    if strategy != "random":
        order = order[np.argsort(-pairs.risk[order], kind="stable")]
    rows = zip(pairs.left[order].tolist(), pairs.right[order].tolist(), strict=True)
    new: list[tuple[int, int]] = []
    for pair in rows:
        if len(new) == n:
            break
        if pair not in asked:
            new.append(pair)
    left, right = np.array(new, dtype=np.int64).reshape(-1, 2).T
    return left, right


def simulate(
    ranker: BALToR,
    test: Any,
    strategy: str,
    error: float,
    shares: list[float],
    rounds: int,
) -> Iterator[Row]:
    """Yield what is right after each share of the pairs was asked."""
    X, y, qid = test.data, np.asarray(test.target, dtype=float), test.qid
    rng = np.random.default_rng(0)
    review = ranker.review(X, qid)
    start = review
    n_pairs = len(review.decisions)
    truth = pair_labels(y, review.decisions.left, review.decisions.right)
    said: dict[tuple[int, int], int] = {}
    for share in shares:
        goal = round(share * n_pairs)
        step = max(1, -(-(goal - len(said)) // rounds))
        while len(said) < goal:
            base = start if strategy == "labels replaced" else review
            left, right = choose(
                base, strategy, min(step, goal - len(said)), set(said), rng
            )
            if not left.size:
                break
            labels = answer(pair_labels(y, left, right), error, rng)
            pairs = zip(left.tolist(), right.tolist(), strict=True)
            said |= dict(zip(pairs, labels.tolist(), strict=True))
            rows = np.array([*said]).T
            words = WORDS[np.array([*said.values()]) + 1]
            answers = {"left": rows[0], "right": rows[1], "label": words}
            if strategy != "labels replaced":
                review = ranker.review(X, qid, answers=answers)
        label = review.decisions.label.copy()
        if strategy == "labels replaced":
            decided = review.decisions
            for k, pair in enumerate(
                zip(decided.left.tolist(), decided.right.tolist(), strict=True)
            ):
                label[k] = said.get(pair, label[k])
        yield {
            "strategy": strategy,
            "error": error,
            "share": share,
            "right": float(np.mean(label == truth)),
            "expected": review.expected_accuracy,
            "ndcg": ndcg(review, y, qid),
            "estimated_error": review.reviewer_error_.get("reviewer", np.nan),
        }


def average(rows: list[Row], what: str, strategy: str, error: float) -> list[float]:
    """Return the mean over folds at each share."""
    return [
        float(
            np.mean(
                [
                    row[what]
                    for row in rows
                    if (row["strategy"], row["error"], row["share"])
                    == (strategy, error, share)
                ]
            )
        )
        for share in dict.fromkeys(row["share"] for row in rows)
    ]


def print_table(title: str, rows: list[Row]) -> None:
    """Print what is right, and the NDCG, by share of the pairs asked."""
    print(f"\n{title}: mean over folds; pairs right, below it expected, then NDCG@10")
    shares = dict.fromkeys(row["share"] for row in rows)
    print(f"{'questions':18}{'error':>6}" + "".join(f"{s:>8.2%}" for s in shares))
    for strategy in dict.fromkeys(row["strategy"] for row in rows):
        for error in ERRORS:
            for k, what in enumerate(("right", "expected", "ndcg")):
                head = f"{strategy:18}{error:>6.0%}" if k == 0 else " " * 24
                means = average(rows, what, strategy, error)
                print(head + "".join(f"{mean:>8.3f}" for mean in means))


def plot(results: dict[str, list[Row]], path: Path) -> None:
    """Draw pairs right and NDCG against the share of the pairs asked."""
    figure, axes = plt.subplots(
        len(results), 2, figsize=(10, 3.6 * len(results)), squeeze=False
    )
    for line, (title, rows) in zip(axes, results.items(), strict=True):
        shares = list(dict.fromkeys(row["share"] for row in rows))
        for ax, what in zip(line, ("right", "ndcg"), strict=True):
            for strategy, (colour, dashes, marker) in STRATEGIES.items():
                if what == "ndcg" and strategy == "labels replaced":
                    continue  # labels of pairs move no item
                ax.plot(
                    np.sqrt(shares),
                    average(rows, what, strategy, ERRORS[-1]),
                    color=colour,
                    ls=dashes,
                    marker=marker,
                    ms=4,
                    label=strategy,
                )
            ax.set_xticks(np.sqrt(shares), [f"{share:.1%}" for share in shares])
            ax.set_xlabel("share of the pairs asked (root scale)")
            ax.grid(color="#dddddd", lw=0.5)
        line[0].set(ylabel="share of all pairs right", title=title)
        line[1].set(ylabel="NDCG@10", title=f"{ERRORS[-1]:.0%} of the answers wrong")
    axes[0, 0].legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main(argv: list[str] | None = None) -> dict[str, list[Row]]:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, nargs="+", default=[None])
    parser.add_argument("--ranker", choices=["xgboost", "lightgbm"], default="xgboost")
    shares = [0.0, 0.005, 0.01, 0.025, 0.05]
    parser.add_argument("--shares", type=float, nargs="+", default=shares)
    parser.add_argument("--rounds", type=int, default=8, help="between two shares")
    parser.add_argument("--smoke", action="store_true", help="one small fold")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    parser.add_argument("--out", type=Path, default=Path("out"))
    args = parser.parse_args(argv)
    results = {}
    for folder in args.data:
        title = "simulated" if folder is None else folder.name
        rows: list[Row] = []
        for name, fold in folds_of(folder, args.smoke):
            ranker = calibrated(fold, args.ranker)
            runs = [(s, error) for s in STRATEGIES for error in ERRORS]
            for run in tqdm(runs, desc=f"{title} {name}", disable=args.quiet):
                made = simulate(ranker, fold.test, *run, args.shares, args.rounds)
                rows.extend(row | {"fold": name} for row in made)
        print_table(title, rows)
        results[title] = rows
    args.out.mkdir(parents=True, exist_ok=True)
    with (args.out / "review.csv").open("w", newline="") as file:
        every = [
            row | {"data": title} for title, rows in results.items() for row in rows
        ]
        writer = csv.DictWriter(file, fieldnames=list(every[0]))
        writer.writeheader()
        writer.writerows(every)
    plot(results, args.out / "review.png")
    print(f"\nTable and figure: {args.out / 'review'}.*")
    return results


if __name__ == "__main__":
    main()
