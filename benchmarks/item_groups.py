"""How evenly groups of items are decided, with one threshold and with one for each two.

    python benchmarks/item_groups.py --data MQ2008 OHSUMED  # folders of FoldN
    python benchmarks/item_groups.py                           # simulated folds
    python benchmarks/item_groups.py --gaps    # intervals of the largest gap alone
    python benchmarks/item_groups.py --sites --data MQ2008 OHSUMED   # warnings of sites
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

With --sites the groups are of queries: how many draws warn of a site. Sites by lot
differ by chance only: on simulated queries, and on the test queries of each folder,
scored by the model of their fold. Then one of three hospitals is bad: its grades are
noisier, those of the others as noisy as where the ranker was calibrated.
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
from skrank_abstain.report._content import warnings_of_groups
from skrank_abstain.report._shares import ReportData
from skrank_abstain.scorers import fit_ranker
from skrank_abstain.selection import PairTotals

COVERAGE = 0.6
#: Of groups that are alike: shares of the items.
SHARES = {
    "two alike": (0.5, 0.5),
    "two, one of them rare": (0.9, 0.1),
    "three": (1 / 3, 1 / 3, 1 / 3),
    "five": (0.2, 0.2, 0.2, 0.2, 0.2),
}
#: Queries of each site.
SITES = {
    "two of 20": [20] * 2,
    "two, 75 and 25": [75, 25],
    "two, 90 and 10": [90, 10],
    "three of 5": [5] * 3,
    "three of 20": [20] * 3,
    "three of 50": [50] * 3,
    "three, 45, 45 and 10": [45, 45, 10],
    "five of 20": [20] * 5,
    "ten of 5": [5] * 10,
    "ten of 10": [10] * 10,
    "ten of 50": [50] * 10,
    "ten, one of 5, nine of 50": [50] * 9 + [5],
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


def scored(folder: Path) -> SimpleNamespace:
    """Return all queries of a folder with one feature, the score of a model."""
    parts = []
    for fold in folds_of(folder, smoke=False):
        train, test = fold.train, fold.test
        booster = LGBMRanker(verbose=-1, n_jobs=1)
        queries = group_queries(train.qid, len(train.target))
        score = fit_ranker(booster, train.data, train.target, queries).predict(
            test.data
        )
        parts.append((score[:, None], test.target, np.asarray(test.qid)))
    data, target, qid = (np.concatenate(each) for each in zip(*parts, strict=True))
    return SimpleNamespace(data=data, target=target, qid=qid)


def hospitals(n_queries: int, rng: Any, bad: float | None = None) -> SimpleNamespace:
    """Return queries of three hospitals in turn, of which the last may be bad."""
    qid = np.repeat(np.arange(3 * n_queries), 14)
    data = rng.normal(size=(qid.size, 4))
    noise = np.where(rng.random(qid.size) < 0.5, 1.2, 0.4)
    if bad is not None:
        noise[qid % 3 == 2] = bad
    latent = data[:, 0] + 0.5 * data[:, 1] + noise * rng.normal(size=qid.size)
    return SimpleNamespace(data=data, target=np.digitize(latent, [0, 1, 2]), qid=qid)


def sites_warned_of(totals: PairTotals, code: np.ndarray) -> set[int]:
    """Return the sites that a report would warn of, from the totals of all queries.

    A report itself draws curves too, and is a hundred times slower.
    """
    names = range(code.max() + 1)
    nothing: Any = None
    data = ReportData(nothing, nothing, labelled=True, rows=nothing, groups=nothing)
    sums = [(str(k), totals.times(code == k)) for k in names]
    vars(data).update(totals=totals, by_group=sums, by_better=[], of_queries=True)
    found = " ".join(warnings_of_groups(data))
    return {k for k in names if f"in the wrong order in group {k}," in found}


def warnings_of_sites(
    folders: list[Path | None], n_draws: int
) -> Iterator[dict[str, Any]]:
    """Yield in how many draws a report warns of a site, by lot and bad ones."""
    rng = np.random.default_rng(2)
    identity = Ridge().fit([[-1e3], [1e3]], [-1e3, 1e3])
    for folder in [None, *filter(None, folders)]:
        data = make_ranking(n_queries=2000, random_state=1)
        known, model = make_ranking(n_queries=200, random_state=0), Ridge()
        if folder is not None:
            known = data = scored(folder)
            model = identity
        ranker = BALToR(model, coverage=COVERAGE, random_state=0)
        ranker.fit(known.data, known.target, qid=known.qid)
        totals = ranker.evaluate(data.data, data.target, qid=data.qid)
        for name, sizes in SITES.items():
            if sum(sizes) > totals.qid.size:
                continue
            code = np.repeat(np.arange(len(sizes)), sizes)
            warned = 0
            for _ in range(n_draws):
                drawn = rng.choice(totals.qid.size, size=code.size, replace=False)
                warned += bool(sites_warned_of(totals.of_queries(drawn), code))
            where = "simulated" if folder is None else folder.name
            yield {"data": where, "sites": name, "warned": warned / n_draws}
    known = hospitals(50, rng)
    ranker = BALToR(Ridge(), coverage=COVERAGE, random_state=0)
    ranker.fit(known.data, known.target, qid=known.qid)
    for bad, n_queries in product((3.0, 2.0, 1.5), (10, 20, 60)):
        code = np.arange(3 * n_queries) % 3
        found, wrong = [], []
        for _ in range(n_draws):
            new = hospitals(n_queries, rng, bad)
            totals = ranker.evaluate(new.data, new.target, qid=new.qid)
            found.append(sites_warned_of(totals, code))
            wrong.append([totals.times(code == k).discordance for k in range(3)])
        yield {
            "noise of the bad one": bad,
            "wrong orders": np.mean(wrong, axis=0).round(3).tolist(),
            "queries": n_queries,
            "warned": float(np.mean([2 in each for each in found])),
            "warned of another": float(np.mean([bool(each - {2}) for each in found])),
        }


def main() -> None:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, nargs="*", default=[None])
    parser.add_argument("--out", type=Path, default=Path("out"))
    parser.add_argument("--gaps", action="store_true", help="intervals of gaps alone")
    parser.add_argument("--sites", action="store_true", help="warnings of sites alone")
    parser.add_argument("--draws", type=int, default=400, help="of groups alike")
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--quiet", action="store_true")
    args = parser.parse_args()
    results: dict[str, Any] = {}
    for folder in [] if args.gaps or args.sites else args.data:
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
    n_draws = 2 if args.smoke else args.draws
    rows: dict[str, Iterator[dict[str, Any]]] = {}
    if not args.sites:
        rows["largest gap"] = gaps_of_equals(n_draws)
    if args.sites or args.smoke:
        rows["warnings of sites"] = warnings_of_sites(args.data, n_draws)
    for name, found in rows.items():
        results[name] = []
        for row in found:
            results[name].append(row)
            if not args.quiet:
                print(row, flush=True)
    args.out.mkdir(parents=True, exist_ok=True)
    path = args.out / "item_groups.json"
    path.write_text(json.dumps(results, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
