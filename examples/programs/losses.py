"""Which loss? Three on the same scores: what is decided, and what it is worth.

With ``loss="zero_one"`` a tie is an answer like the others, and where most pairs are
ties, ties are what is surest. With ``loss="misranking"`` an order of two equally
relevant items is free. A matrix can make it a mistake, and a tie no answer: then clear
orders are decided first. For every fold a ranker with default parameters is trained on
the training queries, the threshold is set on the validation queries, and the test
queries are counted.

    python losses.py                          # simulated folds
    python losses.py --data MQ2008 OHSUMED    # folders of FoldN
"""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from folds import folds_of
from lightgbm import LGBMRanker
from tqdm import tqdm

from skrank_abstain import BALToR

COVERAGES = (0.9, 0.7, 0.5)
LOSSES = {
    "zero_one": "zero_one",
    "misranking": "misranking",
    "clear_order": "clear_order",
}
COLUMNS = (
    "decided",
    "as a tie",
    "as an order",
    "wrong orders",
    "places fixed",
    "top 5",
    "right there",
    "right by score",
)


def compare(fold: Any) -> dict[tuple[str, float], list[float]]:
    """Return a row for each loss and coverage asked for."""
    train, vali, test = fold.train, fold.validation, fold.test
    sizes = np.unique(train.qid, return_counts=True)[1]
    model = LGBMRanker(verbose=-1, n_jobs=1)
    order = np.argsort(train.qid, kind="stable")
    model.fit(train.data[order], train.target[order], group=sizes)
    rows = {}
    values = pd.DataFrame({"y": test.target, "score": model.predict(test.data)})
    ranks = values.groupby(np.asarray(test.qid)).rank("min", ascending=False)
    # Of items tied for the fifth place each is right.
    right, by_score = (ranks <= 5).to_numpy().T
    in_top = np.minimum(np.unique(test.qid, return_counts=True)[1], 5).sum()
    for name, loss in LOSSES.items():
        ranker = BALToR(model, loss=loss)
        ranker.fit(vali.data, vali.target, qid=vali.qid)
        for coverage in COVERAGES:
            at = ranker.at_coverage(coverage)
            totals = at.evaluate(test.data, test.target, qid=test.qid)
            best, worst = at.rank_intervals(test.data, qid=test.qid).T
            pairs, placed = totals.pairs.sum(), worst <= 5
            of_placed = right[placed].mean() if placed.any() else np.nan
            rows[name, coverage] = [
                totals.coverage,
                totals.answered_tie.sum() / pairs,
                totals.answered_order.sum() / pairs,
                totals.misranking_rate,
                float((best == worst).mean()),
                placed.sum() / in_top,
                of_placed,
                right[by_score].mean(),
            ]
    return rows


def main() -> dict[str, dict[tuple[str, float], Any]]:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, nargs="*", default=[None])
    parser.add_argument("--smoke", action="store_true", help="two small folds")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    args = parser.parse_args()
    tables = {}
    for folder in args.data:
        name = "simulated" if folder is None else folder.name
        folds = tqdm(list(folds_of(folder, args.smoke)), desc=name, disable=args.quiet)
        rows = [compare(fold) for _, fold in folds]
        means = {
            key: pd.DataFrame([row[key] for row in rows]).mean() for key in rows[0]
        }
        print(f"\n{name}: mean over folds\n")
        print(f"| loss | asked for | {' | '.join(COLUMNS)} |")
        print("|" + "---|" * (2 + len(COLUMNS)))
        for (loss, coverage), mean in means.items():
            cells = " | ".join(f"{value:.1%}" for value in mean)
            print(f"| {loss} | {coverage:.0%} | {cells} |")
        tables[name] = means
    return tables


if __name__ == "__main__":
    main()
