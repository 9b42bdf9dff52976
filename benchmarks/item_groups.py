"""How evenly groups of items are decided, with one threshold and with one for each two.

    python benchmarks/item_groups.py --data MQ2008 OHSUMED  # folders of FoldN
    python benchmarks/item_groups.py                           # simulated folds
    python benchmarks/item_groups.py --gaps    # intervals of the largest gap alone
    python benchmarks/item_groups.py --smoke                   # seconds

LightGBM's LambdaMART with default parameters learns from half of the training queries
of each fold, the other half and the validation queries calibrate it, so that there are
enough for every two groups, and the test queries measure it. A group is what
lies above the median of one feature; each feature takes its turn. The gap is the
largest coverage of two groups less the smallest, in the test queries of a fold and in
those of all folds together; the loss is that of a decided pair ("misranking").
Standard errors of the last two columns are over folds.

Then groups that are alike: items of new simulated queries get their group by lot, so
that every gap is 0, and what is counted is how often the interval of the largest gap
in a report holds 0.
"""

import json
import re
from argparse import ArgumentParser
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from lightgbm import LGBMRanker
from sklearn.linear_model import Ridge
from tqdm import tqdm

from skrank_abstain import BALToR
from skrank_abstain.datasets import load_letor, make_ranking
from skrank_abstain.pairs import group_queries
from skrank_abstain.scorers import fit_ranker

COVERAGE = 0.6
#: Of groups that are alike: shares of the items.
SHARES = {
    "two alike": (0.5, 0.5),
    "two, one of them rare": (0.9, 0.1),
    "three": (1 / 3, 1 / 3, 1 / 3),
    "five": (0.2, 0.2, 0.2, 0.2, 0.2),
}
MEASURES = (
    *("gap of a fold, one threshold", "gap of a fold, by groups"),
    *("gap of all folds, one threshold", "gap of all folds, by groups"),
    *("loss, one threshold", "loss added by groups"),
)


def folds_of(folder: Path | None, smoke: bool) -> list[Any]:
    """Return the parts of each fold."""
    if folder is not None:
        paths = sorted(path for path in folder.glob("Fold*") if path.is_dir())
        return [load_letor(path) for path in paths]
    sizes = {"train": 30, "validation": 100, "test": 100}
    return [
        SimpleNamespace(
            **{
                name: make_ranking(n_queries=size, n_items=20, random_state=10 * k + j)
                for j, (name, size) in enumerate(sizes.items())
            }
        )
        for k in range(2 if smoke else 5)
    ]


def part_of(data: Any, rows: np.ndarray) -> SimpleNamespace:
    """Return some rows of a collection."""
    return SimpleNamespace(
        data=data.data[rows], target=data.target[rows], qid=np.asarray(data.qid)[rows]
    )


def joined(one: Any, other: Any) -> SimpleNamespace:
    """Return two collections as one; their queries are different ones."""
    both = np.concatenate
    n = max(group_queries(one.qid, len(one.target)).codes) + 1
    codes = [group_queries(each.qid, len(each.target)).codes for each in (one, other)]
    return SimpleNamespace(
        data=both([one.data, other.data]),
        target=both([one.target, other.target]),
        qid=both([codes[0], codes[1] + n]),
    )


def measured(fold: Any, hidden: bool) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """Return counts and losses by feature, with one threshold and by groups.

    Counts are decided pairs and pairs of three cells, shape (2, 2, 3).
    """
    new = fold.test
    codes = group_queries(fold.train.qid, len(fold.train.target)).codes
    train, other = (part_of(fold.train, codes % 2 == half) for half in (0, 1))
    known = joined(other, fold.validation)
    queries = group_queries(train.qid, len(train.target))
    booster = LGBMRanker(verbose=-1, n_jobs=1)
    model = fit_ranker(booster, train.data, train.target, queries)
    plain = BALToR(model, coverage=COVERAGE, random_state=0)
    plain.fit(known.data, known.target, qid=known.qid)
    pairs = plain.predict_pairs(new.data, qid=new.qid)
    loss = plain.evaluate(new.data, new.target, qid=new.qid).selective_risk
    found = {}
    for feature in tqdm(range(new.data.shape[1]), disable=hidden, leave=False):
        middle = np.median(known.data[:, feature])
        groups = [each.data[:, feature] > middle for each in (known, new)]
        # Groups of hardly any items say nothing about a rule for groups.
        if not all(0.2 < group.mean() < 0.8 for group in groups):
            continue
        X, Z = (
            np.column_stack([each.data, group])
            for each, group in zip((known, new), groups, strict=True)
        )
        ranker = BALToR(model, coverage=COVERAGE, groups=-1, random_state=0)
        ranker.fit(X, known.target, qid=known.qid)
        made = ranker.predict_pairs(Z, qid=new.qid)
        cell = groups[1][pairs.left].astype(int) + groups[1][pairs.right]
        counts = [
            [np.bincount(cell[each.accepted], minlength=3), np.bincount(cell)]
            for each in (pairs, made)
        ]
        spent = ranker.evaluate(Z, new.target, qid=new.qid).selective_risk
        found[feature] = np.array(counts), np.array([loss, spent - loss])
    return found


def summed_up(folds: list[Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return the measures, means over features, and standard errors of the losses."""
    features = sorted(set.intersection(*(set(fold) for fold in folds)))
    counts = np.array([[fold[k][0] for k in features] for fold in folds])
    of_fold = np.ptp(counts[:, :, :, 0] / counts[:, :, :, 1], axis=3)
    every = counts.sum(axis=0)
    of_all = np.ptp(every[:, :, 0] / every[:, :, 1], axis=2)
    loss = np.array([np.mean([fold[k][1] for k in features], axis=0) for fold in folds])
    error = loss.std(axis=0, ddof=1) / np.sqrt(len(folds))
    means = of_fold.mean(axis=(0, 1)), of_all.mean(axis=0), loss.mean(axis=0)
    return np.concatenate(means), error


def gaps_of_equals(n_draws: int) -> Iterator[dict[str, Any]]:
    """Yield how often the interval of the largest gap holds 0, by groups and queries.

    Of coverage, discordance and loss: the share, its standard error, and the number of
    draws with such an interval.
    """
    known = make_ranking(n_queries=200, random_state=0)
    ranker = BALToR(Ridge(), coverage=COVERAGE, random_state=0)
    ranker.fit(known.data, known.target, qid=known.qid)
    rng = np.random.default_rng(1)
    for (name, shares), n_queries in product(SHARES.items(), (30, 60, 200)):
        held = []
        for _ in range(n_draws):
            seed = int(rng.integers(2**31))
            new = make_ranking(n_queries=n_queries, random_state=seed)
            groups = rng.choice(len(shares), size=new.qid.size, p=shares)
            page = ranker.report(new.data, new.target, qid=new.qid, groups=groups)
            [line] = [each for each in page.splitlines() if "largest gap |" in each]
            ends = [re.search(r"\((\S+) to", cell) for cell in line.split(" | ")[5:]]
            held.append([np.nan if low is None else float(low[1]) <= 0 for low in ends])
        share, n = np.nanmean(held, axis=0), np.sum(~np.isnan(held), axis=0)
        error = np.sqrt(share * (1 - share) / n)
        row: dict[str, Any] = {"groups": name, "queries": n_queries}
        for k, what in enumerate(("coverage", "discordance", "loss")):
            row[what] = round(float(share[k]), 3), round(float(error[k]), 3), int(n[k])
        yield row


def main() -> None:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, nargs="*", default=[None])
    parser.add_argument("--out", type=Path, default=Path("out"))
    parser.add_argument("--gaps", action="store_true", help="intervals of gaps alone")
    parser.add_argument("--draws", type=int, default=400, help="of groups alike")
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--quiet", action="store_true")
    args = parser.parse_args()
    results: dict[str, Any] = {}
    for folder in [] if args.gaps else args.data:
        folds = folds_of(folder, args.smoke)
        hidden = args.quiet
        found = [measured(fold, hidden) for fold in tqdm(folds, disable=hidden)]
        mean, error = summed_up(found)
        name = "simulated" if folder is None else folder.name
        results[name] = dict(zip(MEASURES, mean.tolist(), strict=True))
        cells = [f"{each:.3f}" for each in mean[:4]]
        cells += [f"{m:.4f} ({e:.4f})" for m, e in zip(mean[4:], error, strict=True)]
        if not args.quiet:
            print(f"| {name} | {' | '.join(cells)} |")
    results["largest gap"] = []
    for row in gaps_of_equals(2 if args.smoke else args.draws):
        results["largest gap"].append(row)
        if not args.quiet:
            print(row, flush=True)
    args.out.mkdir(parents=True, exist_ok=True)
    path = args.out / "item_groups.json"
    path.write_text(json.dumps(results, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
